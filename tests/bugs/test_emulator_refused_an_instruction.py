"""R33: the emulator's usual processor has no adcx and adox: right code failed, or the test was left out."""

from __future__ import annotations

import pytest
from shipped import instructions, kernel

from asmgen.passes import Options, compile_kernel
from emulate.campaign import job
from emulate.machine import EmulationError, Machine

INPUTS = ((1, 2, 3, 4), (5, 6, 7, 8))


def machine(features: frozenset[str]) -> Machine:
    made = job(kernel("curve25519_4x64", "mul"), Options("amd64"))
    return Machine(made.target, made.code, made.entry, made.kernel.signature, features, stack=made.stack)


def test_the_processor_has_what_the_routine_says() -> None:
    made = compile_kernel(kernel("curve25519_4x64", "mul"), Options("amd64"))
    names = {each.row.mnemonic for each in instructions(made)}
    assert {"mulx", "adcx", "adox"} <= names and made.features == {"bmi2", "adx"}
    (out,) = machine(made.features).call(INPUTS)
    value, a, b = (sum(word << 64 * i for i, word in enumerate(words)) for words in (out, *INPUTS))  # type: ignore[arg-type]
    assert (value - a * b) % (2**255 - 19) == 0


@pytest.mark.parametrize("features", [frozenset(), frozenset({"bmi2"})])
def test_what_it_has_not_is_named(features: frozenset[str]) -> None:
    with pytest.raises(EmulationError, match="invalid with features .*, or a trap"):
        machine(features).call(INPUTS)

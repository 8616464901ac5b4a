"""Ours beside other people's routines: the file of their figures, the table, and that ours are no longer."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from sizes import sizes

from asmgen import against
from asmgen.against import NAMES, Entry, entries, peers, summary, table
from asmgen.cli import main
from asmgen.contracts import Element
from asmgen.diff import mca
from asmgen.errors import UsageError
from asmgen.scripts import find, shipped

#: The fewest instructions known on arm64, by the file.
FEWEST = {
    "curve25519": (101, 79), "p256": (114, 92), "secp256k1": (101, 79), "p448": (287, 205), "p384": (276, 218),
    "p521": (384, 239),
}  # fmt: skip


def test_the_file_of_figures() -> None:
    """Each line is of a field and a core that we have, and no line stands there twice."""
    fields = set()
    for script in shipped():
        contract = find([script])[0].signature.outputs[0].contract
        assert isinstance(contract, Element)
        fields.add(contract.field.name)
    found = peers()
    assert {entry.field for entry in found} == fields and {entry.op for entry in found} == {"mul", "sqr"}
    assert len({(entry.group, entry.by) for entry in found}) == len(found)
    for entry in found:
        assert entry.cycles or entry.instructions
        cores = {"zen4-measured"} if entry.target == "amd64" else set(mca.MODELLED["arm64"])
        assert set(entry.cycles) <= cores and all(10 < cycles < 1000 for cycles in entry.cycles.values())
    for field, (mul, sqr) in FEWEST.items():
        for op, fewest in (("mul", mul), ("sqr", sqr)):
            known = [entry.instructions for entry in found if entry.group == ("arm64", field, op)]
            assert min(count for count in known if count) == fewest


def test_no_more_instructions_than_any_other() -> None:
    """On arm64, of what is fully reduced where others are; only p448 and p521 are held against it in loose limbs."""
    best: dict[tuple[str, str], list[int]] = {}
    for function in find([]):
        if function.name not in NAMES:
            continue
        contract = function.signature.outputs[0].contract
        assert isinstance(contract, Element)
        if contract.value_max < contract.field.modulus or contract.field.name in ("p448", "p521"):
            key = contract.field.name, NAMES[function.name]
            best.setdefault(key, []).append(sizes(function, "arm64").instructions)
    for field, (mul, sqr) in FEWEST.items():
        assert min(best[field, "mul"]) <= mul and min(best[field, "sqr"]) <= sqr, field


def test_entries_of_one_script() -> None:
    """Ours first in each group, with contract and counts; the summary counts groups in which ours are no worse."""
    found = entries(find(["p256"]), ["arm64"])
    assert [entry.by for entry in found if entry.mine] == ["p256.mul", "p256.sqr"]
    assert found[0].mine and found[0].reduced and found[0].products == 40
    assert found[0].instructions == sizes(find(["p256.mul"])[0], "arm64").instructions
    assert {entry.group for entry in found} == {("arm64", "p256", "mul"), ("arm64", "p256", "sqr")}
    assert "instructions 2 of 2" in list(summary(found))
    if mca.found()[0]:
        assert set(found[0].cycles) == {"neoverse-n1", "neoverse-v1", "neoverse-v2", "cortex-a55"}
        assert 20 < found[0].cycles["neoverse-v1"] < 35


def test_what_the_summary_counts() -> None:
    def entry(by: str, instructions: int | None, cycles: dict[str, float], mine: bool) -> Entry:
        return Entry("arm64", "f", "mul", by, True, instructions, None, cycles, mine)

    rows = [
        entry("s.mul", 100, {"neoverse-n1": 50.0, "cortex-a55": 9.0}, True),
        entry("s.mul_canon", 110, {"neoverse-n1": 40.0}, True),
        entry("a", 99, {"neoverse-n1": 45.0}, False),
        entry("b", None, {"neoverse-n1": 40.0}, False),
    ]
    assert list(summary(rows)) == ["instructions 0 of 1", "neoverse-n1 1 of 1"]
    assert list(table(rows).columns[4].cells) == ["+1", "+11", "", ""]


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mca, "found", lambda: (None, "no modelled cycles: said for a test"))
    done = CliRunner().invoke(main, ["list", "--against", "secp256k1_4x64"])
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.output.splitlines()]
    assert ["secp256k1", "mul,", "arm64", "secp256k1_4x64.mul", "yes", "101", "+0", "42"] in lines
    assert ["secp256k1_4x64.sqr_loose", "no", "75", "-4", "30"] in lines
    assert "instructions 2 of 2" in done.output and "said for a test" in done.output


def test_what_has_no_counterpart() -> None:
    with pytest.raises(UsageError, match="no figures of other people"):
        entries(find(["p256.add"]), ["arm64"])
    done = CliRunner().invoke(main, ["list", "--against", "--json"])
    assert done.exit_code == 2 and "give one of the two" in done.output
    assert against.PEERS.is_file()

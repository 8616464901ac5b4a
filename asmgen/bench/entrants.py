"""Who takes part: ours twice, our own C by compilers, OpenSSL's, and whatever the user names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from asmgen.bench import openssl
from asmgen.bench.timer import THROUGHPUT, Routine, routine
from asmgen.contracts import Element, Signature
from asmgen.diff.body import Body, of_image, ours
from asmgen.diff.calls import groups
from asmgen.diff.image import load
from asmgen.diff.layout import Layout, parse
from asmgen.diff.same import same
from asmgen.diff.sources import EMULATED, Source, Wishes, layout_of, sources
from asmgen.diff.thunk import wrapped
from asmgen.errors import AsmgenError, UsageError
from asmgen.function import Function
from asmgen.passes import Options
from asmgen.scripts import directory
from asmgen.scripts import load as load_script
from emulate.compilers import found as compilers
from emulate.inputs import Input

OURS, AGAIN, CALLS = "asmgen", "asmgen, again", "asmgen sqr, calls"
#: Repetitions in a call of a routine that takes a count: its figures are for one of them.
REPETITIONS = 50
#: Inputs on which other people's code is compared with the kernel before it is run.
VECTORS = 256


@dataclass(frozen=True)
class Entry:
    """A routine to time, what else is the very same code, and whose it is: "ours", "compiled" or "other"."""

    routine: Routine
    kind: str
    equal: tuple[str, ...] = ()


@dataclass(frozen=True)
class Field:
    """All that are timed in turn for one kernel, ours first and second, and why others are not there."""

    function: Function
    entries: tuple[Entry, ...]
    failed: tuple[tuple[str, str], ...]


def modes(signature: Signature) -> dict[str, int | None]:
    """The argument that takes the result of the call before, by mode: either of two inputs that are like the first
    output, of more the first; and none for independent calls, unless the loop is inside and waits for itself."""
    made: dict[str, int | None] = {}
    if signature.outputs and isinstance(first := signature.outputs[0].contract, Element):
        alike = [
            index for index, each in enumerate(signature.inputs)
            if isinstance(each.contract, Element) and each.contract.words == first.words
        ]  # fmt: skip
        for index in alike[: 2 if len(alike) == 2 else 1]:
            name = f"latency by {signature.inputs[index].name}" if len(alike) > 1 else "latency"
            made[name] = len(signature.outputs) + index
    return made if made and unit(signature)[0] > 1 else {**made, THROUGHPUT: None}


def unit(signature: Signature) -> tuple[int, str]:
    """How many of what its figures are for are in a call."""
    counted = any(each.contract.kind == "count" for each in signature.inputs)
    return (REPETITIONS, "repetition") if counted else (1, "call")


def inputs(signature: Signature) -> tuple[Input, ...]:
    """What a kernel is called on."""
    made = groups(signature, 1)[0][0]
    return tuple(
        REPETITIONS if each.contract.kind == "count" else value
        for each, value in zip(signature.inputs, made, strict=True)
    )


def fields(kernels: Sequence[Function], wishes: Wishes) -> Iterator[Field]:
    """Who takes part for each of these kernels of one script, on amd64."""
    usual = replace(wishes, against=(), layout="")
    compiled = sources(kernels, "amd64", usual) if wishes.compilers or compilers("amd64") else []
    named = sources(kernels, "amd64", wishes) if wishes.against else []
    for function in kernels:
        yield _field(function, compiled, named, wishes)


#: A routine and the bytes of its code, which tell whether two are the same.
Made = tuple[Routine, bytes]


def _field(function: Function, compiled: Sequence[Source], named: Sequence[Source], wishes: Wishes) -> Field:
    mine = _ours(function, OURS, wishes)
    if mine is None:
        return Field(function, (), ((OURS, "takes more arguments than the timer passes"),))
    entries = [Entry(mine[0], "ours"), Entry(replace(mine[0], name=AGAIN), "ours")]
    makers: list[tuple[str, str, Callable[[], Made | None]]] = []
    makers += [(each.name, "compiled", partial(_compiled, function, each)) for each in compiled]
    makers += [(each.name, "other", partial(_named, function, each, wishes)) for each in named]
    makers += [("OpenSSL", "other", partial(_openssl, function, wishes))]
    makers += [(CALLS, "ours", partial(_calls, function, wishes))]
    failed: list[tuple[str, str]] = []
    known: dict[bytes, int] = {}
    for name, kind, make in makers:
        try:
            made = make()
        except UsageError:
            raise
        except AsmgenError as error:
            failed.append((name, str(error)))
            continue
        if made is None:
            continue
        at = known.setdefault(made[1], len(entries))
        if at == len(entries):
            entries.append(Entry(made[0], kind))
        else:
            entries[at] = replace(entries[at], equal=(*entries[at].equal, made[0].name))
    return Field(function, tuple(entries), tuple(failed))


def _ours(function: Function, name: str, wishes: Wishes) -> Made | None:
    return _made(function.signature, name, ours(function, Options("amd64", wishes.features)))


def _made(signature: Signature, name: str, body: Body, layout: Layout | None = None) -> Made | None:
    """A body of the kernel's signature; None for one that takes too many arguments."""
    given = inputs(signature)
    made = routine(
        name, body, layout.inputs(signature, given) if layout else given, modes=modes(signature),
        units=unit(signature)[0], order=layout.arguments if layout else None,
    )  # fmt: skip
    return None if made is None else (made, body.text)


def _compiled(function: Function, source: Source) -> Made | None:
    body = source.body(function)
    return None if body is None else _made(function.signature, source.name, body)


def _named(function: Function, source: Source, wishes: Wishes) -> Made | None:
    body = source.body(function)
    if body is None:
        return None
    name = source.name + _checked(function, body)
    return _made(function.signature, name, body, layout_of(function.signature, wishes))


def _openssl(function: Function, wishes: Wishes) -> Made | None:
    peer = openssl.PEERS.get(function.signature.script, {}).get(function.name)
    path = openssl.library()
    if peer is None or path is None or Path(function.file).parent != directory().resolve():
        return None
    like = load_script(Path(function.file)).kernels[peer.like] if peer.like else function
    layout = parse(peer.layout, like.signature) if peer.layout else None
    again = bool(peer.like) and not peer.counts
    name = f"{openssl.version(path)} {peer.symbol}{', calls' if again else ''}"
    image = load(path, peer.symbol, Options("amd64", wishes.features).instruction_sets)
    plain = of_image(name, image, layout.signature if layout else like.signature, EMULATED["amd64"])
    body = wrapped(plain, layout.arguments if layout else None)
    name += _checked(like, body)
    if peer.counts and layout is not None:
        order = tuple((REPETITIONS,) if isinstance(each, tuple) else each for each in layout.arguments)
        layout = replace(layout, arguments=order)
    made = _made(like.signature, name, body, layout)
    if made is None or not peer.counts:
        return made
    return replace(made[0], units=REPETITIONS), made[1]


def _calls(function: Function, wishes: Wishes) -> Made | None:
    """Calls of our own sqr where the kernel has the loop inside."""
    square = load_script(Path(function.file)).kernels.get("sqr") if function.name == "square_n" else None
    return None if square is None else _ours(square, CALLS, wishes)


def _checked(function: Function, body: Body) -> str:
    """What is to be added to its name. Other people's code is run on the CPU only when it is the kernel's function: for
    elements below p at least, in buffers of their own at least."""
    found = same(function, body, VECTORS)
    if found.first is not None and not found.narrower and found.wrong > found.shared:
        raise AsmgenError(
            f"{body.name} is not the function of {function.name}: {found.first.reason} ({found.first.aliasing})",
            hint="--layout tells of arguments in another order or other limbs",
        )
    if found.first is None:
        return ""
    return " (below p only)" if found.narrower else " (separate buffers only)"

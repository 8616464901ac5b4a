"""Which files are to be made: one set for each script, target and feature set."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from asmgen import scripts
from asmgen.emit.names import checked_prefix
from asmgen.emit.origin import Origin
from asmgen.errors import UsageError
from asmgen.function import Function
from asmgen.passes import FEATURES, Options
from asmgen.passes.plans import GENERIC
from asmgen.program import closure


@dataclass(frozen=True)
class Unit:
    """The files of one script for one target and feature set."""

    origin: Origin
    options: Options
    kernels: tuple[Function, ...]


def units(
    selectors: Sequence[str],
    targets: Sequence[str],
    out: Path,
    *,
    prefix: str = "",
    features: str = "default",
    visible: bool = False,
    core: str = GENERIC,
    planned: bool = True,
) -> list[Unit]:
    """What is to be made; with `visible` a shared object exports the routines. Plans for `core` are replayed, unless
    `planned` is off; files for another core than the generic one have its name.

    A selector that names one kernel narrows a file to it; routines that a file in `out` has already are made anew along
    with it, and so are variants for other feature sets when `features` is "default". Raises UsageError for a feature
    set that none of the targets has, and for two scripts of one name.
    """
    checked_prefix(prefix)
    chosen: dict[str, list[Function]] = {}
    for kernel in scripts.find(selectors):
        chosen.setdefault(kernel.file, []).append(kernel)
    names = [kernels[0].signature.script for kernels in chosen.values()]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two scripts are named {name}: their files would be the same", hint="rename one of them")
    if not any(features in FEATURES[target] for target in targets):
        known = sorted({each for target in targets for each in FEATURES[target]})
        raise UsageError(f"{' and '.join(targets)} have no feature set {features}", hint=" or ".join(known))
    return [
        _unit(kernels, Options(target, variant, core=core, planned=planned), out, prefix, visible)
        for kernels in chosen.values()
        for target in targets
        for variant in FEATURES[target]
        if variant == features
        or (features == "default" and _path(out, kernels[0], Options(target, variant, core=core)).exists())
    ]


def _stem(kernel: Function, options: Options) -> str:
    variant = [] if options.features == "default" else [options.features]
    variant += [] if options.core == GENERIC else [options.core.replace("-", "_")]
    return "_".join([kernel.signature.script, *variant])


def _path(out: Path, kernel: Function, options: Options) -> Path:
    return out / options.target / f"{_stem(kernel, options)}.S"


def _unit(kernels: Sequence[Function], options: Options, out: Path, prefix: str, visible: bool) -> Unit:
    first = kernels[0]
    scope = first.function.__globals__
    whole = [kernel for kernel in scope.values() if isinstance(kernel, Function) and kernel.file == first.file]
    there = _present(_path(out, first, options))
    asked = [kernel for kernel in whole if kernel in kernels or kernel.signature.symbol in there]
    needed = closure(asked)  # a program stands in one file with what it calls
    taken = [kernel for kernel in whole if kernel in needed]
    called = {callee for kernel in taken for callee in closure([kernel])[1:]}
    named = [kernel for kernel in taken if kernel not in called]
    origin = Origin(
        script=first.signature.script,
        file=os.path.basename(first.file),
        about=scope.get("__doc__") or "",
        command=_command(named, len(taken) == len(whole), options, prefix, visible),
        target=options.target,
        stem=_stem(first, options),
        prefix=prefix,
        visible=visible,
    )
    return Unit(origin, options, tuple(taken))


def _present(path: Path) -> frozenset[str]:
    """The symbols, without prefix, of the routines in an assembly file that was written before."""
    try:
        return frozenset(re.findall(r"^SYMBOL\((\w+)\):$", path.read_text(), flags=re.M))
    except (OSError, ValueError):
        return frozenset()


def _command(kernels: Sequence[Function], whole: bool, options: Options, prefix: str, visible: bool) -> str:
    """The command that makes the files from nothing."""
    path = Path(kernels[0].file)
    name, mark = (path.stem, ".") if path.parent == scripts.directory().resolve() else (path.name, ":")
    words = [name] if whole else [f"{name}{mark}{kernel.name}" for kernel in kernels]
    words += ["--target", options.target]
    if options.features != "default":
        words += ["--features", options.features]
    if options.core != GENERIC:
        words += ["--core", options.core]
    if not options.planned:
        words += ["--no-plan"]
    if prefix:
        words += ["--prefix", prefix]
    if visible:
        words += ["--visible"]
    return " ".join(["asmgen build", *words])

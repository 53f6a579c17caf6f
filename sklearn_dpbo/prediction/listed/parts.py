"""Parts of a fitted model, listed as predicting row by row or not (zone: public).

The parts of a model that are not listed are cut out of it when it is pickled for counting. They
then predict each unit by itself (`separately`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import copy
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

from ...records.pickles import PicklesByName, PicklesByValue, dumped, packed, reduced_tensors
from .listed import is_estimator, why_unlisted
from .networks import is_mappable, without_workers

_NAMES = {"sklearn": "scikit-learn"}  # packages that are installed by another name


class Parts(NamedTuple):
    """Parts of a model: listed and mapped ones as (package, class), unlisted ones in words."""

    listed: tuple[tuple[str, str], ...] = ()
    unlisted: tuple[str, ...] = ()
    mapped: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of_all(cls, several: Iterable[Parts]) -> Parts:
        """Collect the parts of several models, each once."""
        columns = zip(*several, strict=True)
        return cls(*(tuple(dict.fromkeys(chain(*column))) for column in columns))

    def condition(self, prediction: str, unit: str) -> str:
        """Write, for a report, the condition on which these parts predict record by record."""
        if prediction == "separate":
            return (
                f"none for predictions: each {unit} was predicted alone, beside public records, by "
                "a copy of the model"
            )
        unlisted = ", ".join(self.unlisted)
        trusted = [f"listed for {names}" for names in _by_package(self.listed)]
        trusted += [
            f"by construction of torch.vmap ({_version('torch')}) for {names}"
            for names in _by_package(self.mapped)
        ]
        if unlisted and prediction == "together":
            trusted.append(f'by the user\'s word, prediction="together", for {unlisted}')
        conditions = []
        if trusted:
            alone = "a model's prediction for a record depends on that record alone"
            conditions.append(f"{alone}: {', '.join(trusted)}")
        if unlisted and prediction == "auto":
            conditions.append(f"{unit} by {unit}: {unlisted}")
        return "; ".join(conditions)


def _by_package(parts: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield the classes of each package, with its version, in words."""
    for package in dict.fromkeys(package for package, _ in parts):
        names = ", ".join(name for home, name in parts if home == package)
        yield f"{names} ({_version(package)})"


def _version(package: str) -> str:
    version = getattr(sys.modules[package], "__version__", "")
    return f"{_NAMES.get(package, package)} {version}"


class CutOut(NamedTuple):
    """Stands for a part that was cut out; its `key` identifies the part and its input."""

    pickled: bytes
    key: bytes

    def __reduce__(self) -> Any:
        return CutOut, tuple(self)


class Network(NamedTuple):
    """Stands for a network whose module is mapped over rows by torch.vmap."""

    pickled: bytes

    def __reduce__(self) -> Any:
        return Network, tuple(self)


class Step(NamedTuple):
    """Stands for a step of a pipeline that has parts cut out."""

    pickled: bytes

    def __reduce__(self) -> Any:
        return Step, tuple(self)


class Cut(NamedTuple):
    """A model, pickled as it is and `without` its unlisted parts (b"" if none), and all parts."""

    pickled: bytes
    without: bytes
    parts: Parts


def cut(model: Any, prediction: str, maps: bool = False) -> Cut:
    """Pickle a model, and cut out its unlisted parts.

    Each part is the smallest estimator, with all that it holds, that is not listed. If `prediction`
    is "together", nothing is cut out; if it is "separate", the whole model is. With `maps`,
    networks are mapped over rows instead, if they can be.
    """
    pickled, parts = _pickled(model)
    if prediction == "together" or not (prediction == "separate" or parts.unlisted):
        return Cut(pickled, b"", parts)
    if prediction == "separate" or (why_unlisted(model) and not (maps and is_mappable(model))):
        whole = CutOut(_for_calls(model, pickled), blake2b(pickled).digest())
        return Cut(pickled, packed(whole), Parts((), parts.unlisted[:1]))
    if not hasattr(model, "steps"):
        return Cut(pickled, *_pickled(model, lambda: pickled, maps))
    # Step by step: then the key of a part depends on the steps up to its own only, and candidates
    # that differ in later steps share its outputs.
    pipeline = copy(model)
    pipeline.steps = list(model.steps)
    all_parts = [Parts((_name(model),))]
    steps_so_far = []
    for i, (name, step) in enumerate(model.steps):
        steps_so_far.append(step)
        without, parts = _pickled(step, partial(packed, steps_so_far), maps)
        all_parts.append(parts)
        if parts.unlisted or parts.mapped:
            pipeline.steps[i] = name, Step(without)
    return Cut(pickled, packed(pipeline), Parts.of_all(all_parts))


def _pickled(
    model: Any, before: Callable[[], bytes] | None = None, maps: bool = False
) -> tuple[bytes, Parts]:
    """Pickle a model, and find its parts; with `before`, the unlisted ones are cut out.

    `before` returns bytes that determine these parts and their inputs; keys are made of them. They
    are public, so no protected record determines which outputs candidates share.
    """
    for kind in (PicklesByName, PicklesByValue):
        walk = _Walk(before, maps)
        with suppress(Exception):  # of classes and functions that are not found by name
            pickled = dumped(model, walk.reduced, kind)
            return pickled, Parts(tuple(walk.listed), tuple(walk.unlisted), tuple(walk.mapped))
    packed(model)  # its error tells why it cannot be pickled
    raise TypeError(f"the parts of {type(model).__name__} cannot be determined")


class _Walk:
    """Walk through a model while it is pickled, which collects its parts and cuts them out."""

    def __init__(self, before: Callable[[], bytes] | None, maps: bool) -> None:
        self.before = before
        self.maps = maps
        self.listed: dict[tuple[str, str], None] = {}
        self.unlisted: dict[str, None] = {}
        self.mapped: dict[tuple[str, str], None] = {}
        self.n_cut = 0

    def reduced(self, o: Any) -> Any:
        """Reduce an object for pickle: to a stand-in for an unlisted part, or as usual."""
        if not is_estimator(o):
            return reduced_tensors(o)
        if self.maps and is_mappable(o):
            self.mapped[_name(o)] = None
            return Network, (packed(o),)
        reason = why_unlisted(o)
        if reason:
            self.unlisted[reason] = None
        elif hasattr(o, "get_params") and not type(o).__name__.startswith("_"):
            self.listed[_name(o)] = None
        if not reason or self.before is None:
            return reduced_tensors(o)
        self.n_cut += 1
        key = blake2b(b"%d" % self.n_cut + self.before()).digest()
        return CutOut, (_for_calls(o), key)


def _for_calls(part: Any, pickled: bytes = b"") -> bytes:
    """Pickle a part (unless it is pickled already), to be called on one unit at a time."""
    return packed(without_workers(part)) if is_mappable(part) else pickled or packed(part)


def _name(estimator: Any) -> tuple[str, str]:
    cls = type(estimator)
    return cls.__module__.partition(".")[0], cls.__name__

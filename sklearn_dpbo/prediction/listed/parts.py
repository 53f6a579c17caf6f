"""Which parts of a fitted model are listed as predicting row by row, and which not (zone: public).

The parts of a model that are not listed are cut out of it when it is pickled for counting; then
they predict each unit by itself (`separately`).
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

_NAMES = {"sklearn": "scikit-learn"}  # where a package is installed by another name


class Parts(NamedTuple):
    """The parts of a model: listed and mapped ones by package and class, others in words."""

    listed: tuple[tuple[str, str], ...] = ()
    unlisted: tuple[str, ...] = ()
    mapped: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of_all(cls, several: Iterable[Parts]) -> Parts:
        """Return the parts of several models, each once."""
        columns = zip(*several, strict=True)
        return cls(*(tuple(dict.fromkeys(chain(*column))) for column in columns))

    def condition(self, prediction: str, unit: str) -> str:
        """Say, for a report, on which condition models of these parts predict record by record."""
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
        alone = "a model's prediction for a record depends on that record alone: "
        texts = [alone + ", ".join(trusted)] * bool(trusted)
        if unlisted and prediction == "auto":
            texts.append(f"{unit} by {unit}: {unlisted}")
        return "; ".join(texts)


def _by_package(parts: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield the names of classes, with the version of the package that they are from."""
    for package in dict.fromkeys(package for package, _ in parts):
        names = ", ".join(name for home, name in parts if home == package)
        yield f"{names} ({_version(package)})"


def _version(package: str) -> str:
    version = getattr(sys.modules[package], "__version__", "")
    return f"{_NAMES.get(package, package)} {version}"


class CutOut(NamedTuple):
    """Stands for a part that was cut out, and a key: what it and its input follow from."""

    pickled: bytes
    key: bytes

    def __reduce__(self) -> Any:
        return CutOut, tuple(self)


class Network(NamedTuple):
    """Stands for a network whose module torch.vmap maps over rows."""

    pickled: bytes

    def __reduce__(self) -> Any:
        return Network, tuple(self)


class Step(NamedTuple):
    """Stands for a step of a pipeline, of which parts were cut out."""

    pickled: bytes

    def __reduce__(self) -> Any:
        return Step, tuple(self)


def cut(model: Any, prediction: str, maps: bool = False) -> tuple[bytes, bytes, Parts]:
    """Return a model pickled as it is, and with its unlisted parts cut out; and what they are.

    Each part is the smallest that is not listed: an estimator with all that it holds. The second
    is empty if nothing is cut out. Nothing is if they predict "together", and all if "separate".
    If the model `maps` networks, those that can be are mapped over rows in place of that.
    """
    pickled, parts = _pickled(model)
    if prediction == "together" or not (prediction == "separate" or parts.unlisted):
        return pickled, b"", parts
    if prediction == "separate" or (why_unlisted(model) and not (maps and is_mappable(model))):
        alone = CutOut(_for_calls(model, pickled), blake2b(pickled).digest())
        return pickled, packed(alone), Parts((), parts.unlisted[:1])
    if not hasattr(model, "steps"):
        return pickled, *_pickled(model, lambda: pickled, maps)
    # Step by step: then the key of a part names the steps up to its own, and candidates that differ
    # in later ones share what it returns.
    pipeline, several = copy(model), [Parts((_name(model),))]
    pipeline.steps, before = list(model.steps), []
    for i, (name, step) in enumerate(model.steps):
        before.append(step)
        without, parts = _pickled(step, partial(packed, before), maps)
        several.append(parts)
        if parts.unlisted or parts.mapped:
            pipeline.steps[i] = name, Step(without)
    return pickled, packed(pipeline), Parts.of_all(several)


def _pickled(
    model: Any, before: Callable[[], bytes] | None = None, maps: bool = False
) -> tuple[bytes, Parts]:
    """Return a model pickled, and its parts; the unlisted ones cut out if keys are to be made.

    `before` returns what these parts and their inputs follow from. It is public: so no protected
    record decides what candidates share.
    """
    for kind in (PicklesByName, PicklesByValue):
        walk = _Walk(before, maps)
        with suppress(Exception):  # of classes and functions that are not found by name
            pickled = dumped(model, walk.reduced, kind)
            return pickled, Parts(tuple(walk.listed), tuple(walk.unlisted), tuple(walk.mapped))
    packed(model)  # says why it cannot be pickled
    raise TypeError(f"the parts of {type(model).__name__} cannot be told")


class _Walk:
    """Notes which parts of a model are listed, and says how each object is pickled."""

    def __init__(self, before: Callable[[], bytes] | None, maps: bool) -> None:
        self.before = before
        self.maps = maps
        self.listed: dict[tuple[str, str], None] = {}
        self.unlisted: dict[str, None] = {}
        self.mapped: dict[tuple[str, str], None] = {}
        self.n_cut = 0

    def reduced(self, o: Any) -> Any:
        """Return what stands for an unlisted part, or leave it to pickle."""
        if not is_estimator(o):
            return reduced_tensors(o)
        if self.maps and is_mappable(o):
            self.mapped[_name(o)] = None
            return Network, (packed(o),)
        why = why_unlisted(o)
        if why:
            self.unlisted[why] = None
        elif hasattr(o, "get_params") and not type(o).__name__.startswith("_"):
            self.listed[_name(o)] = None
        if not why or self.before is None:
            return reduced_tensors(o)
        self.n_cut += 1
        key = blake2b(b"%d" % self.n_cut + self.before()).digest()
        return CutOut, (_for_calls(o), key)


def _for_calls(part: Any, pickled: bytes = b"") -> bytes:
    """Return a part, that may be pickled already, to be called on one unit at a time."""
    return packed(without_workers(part)) if is_mappable(part) else pickled or packed(part)


def _name(estimator: Any) -> tuple[str, str]:
    cls = type(estimator)
    return cls.__module__.partition(".")[0], cls.__name__

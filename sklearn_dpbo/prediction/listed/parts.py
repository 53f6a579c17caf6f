"""Which parts of a fitted model are listed as predicting row by row, and which not (zone: public).

The parts of a model that are not listed are cut out of it when it is pickled for counting; then
they predict each unit by itself (`separately`).
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from copy import copy
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import cloudpickle

from ...records.pickles import packed
from .listed import is_estimator, why_unlisted

_NAMES = {"sklearn": "scikit-learn"}  # where a package is installed by another name


class Parts(NamedTuple):
    """The parts of a model: the listed ones by package and class, the others in words."""

    listed: tuple[tuple[str, str], ...] = ()
    unlisted: tuple[str, ...] = ()

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
        trusted = []
        unlisted = ", ".join(self.unlisted)
        for package in dict.fromkeys(package for package, _ in self.listed):
            names = ", ".join(name for home, name in self.listed if home == package)
            version = getattr(sys.modules[package], "__version__", "")
            trusted.append(f"listed for {names} ({_NAMES.get(package, package)} {version})")
        if unlisted and prediction == "together":
            trusted.append(f'by the user\'s word, prediction="together", for {unlisted}')
        alone = "a model's prediction for a record depends on that record alone: "
        texts = [alone + ", ".join(trusted)] * bool(trusted)
        if unlisted and prediction == "auto":
            texts.append(f"{unit} by {unit}: {unlisted}")
        return "; ".join(texts)


class CutOut(NamedTuple):
    """Stands for a part that was cut out, and a key: what it and its input follow from."""

    pickled: bytes
    key: bytes

    def __reduce__(self) -> Any:
        return CutOut, tuple(self)


class Step(NamedTuple):
    """Stands for a step of a pipeline, of which parts were cut out."""

    pickled: bytes

    def __reduce__(self) -> Any:
        return Step, tuple(self)


def cut(model: Any, prediction: str) -> tuple[bytes, bytes, Parts]:
    """Return a model pickled as it is, and with its unlisted parts cut out; and what they are.

    Each part is the smallest that is not listed: an estimator with all that it holds. The second
    is empty if nothing is cut out. Nothing is if they predict "together", and all if "separate".
    """
    pickled, parts = _pickled(model)
    if prediction == "together" or not (prediction == "separate" or parts.unlisted):
        return pickled, b"", parts
    if prediction == "separate" or why_unlisted(model):
        alone = CutOut(pickled, blake2b(pickled).digest())
        return pickled, packed(alone), Parts((), parts.unlisted[:1])
    if not hasattr(model, "steps"):
        return pickled, *_pickled(model, lambda: pickled)
    # Step by step: then the key of a part names the steps up to its own, and candidates that differ
    # in later ones share what it returns.
    pipeline, several = copy(model), [Parts((_name(model),))]
    pipeline.steps, before = list(model.steps), []
    for i, (name, step) in enumerate(model.steps):
        before.append(step)
        without, parts = _pickled(step, partial(packed, before))
        several.append(parts)
        if parts.unlisted:
            pipeline.steps[i] = name, Step(without)
    return pickled, packed(pipeline), Parts.of_all(several)


def up_to_unlisted(model: Any, pickled: bytes) -> bytes:
    """Return, pickled, the steps up to the last one that is not listed, or the whole model."""
    if not hasattr(model, "steps") or why_unlisted(model):
        return pickled
    steps = [step for _, step in model.steps]
    last = max((i for i, step in enumerate(steps) if _pickled(step)[1].unlisted), default=-1)
    return packed(steps[: last + 1])


def _pickled(model: Any, before: Callable[[], bytes] | None = None) -> tuple[bytes, Parts]:
    """Return a model pickled, and its parts; the unlisted ones cut out if keys are to be made.

    `before` returns what these parts and their inputs follow from. It is public: so no protected
    record decides what candidates share.
    """
    for kind in (_ByName, _ByValue):
        file, walk = io.BytesIO(), _Walk(before)
        with suppress(Exception):  # of classes and functions that are not found by name
            kind(file, walk.reduced).dump(model)
            return file.getvalue(), Parts(tuple(walk.listed), tuple(walk.unlisted))
    packed(model)  # says why it cannot be pickled
    raise TypeError(f"the parts of {type(model).__name__} cannot be told")


class _Walk:
    """Notes which parts of a model are listed, and says how each object is pickled."""

    def __init__(self, before: Callable[[], bytes] | None) -> None:
        self.before = before
        self.listed: dict[tuple[str, str], None] = {}
        self.unlisted: dict[str, None] = {}
        self.n_cut = 0

    def reduced(self, o: Any) -> Any:
        """Return the `CutOut` of an unlisted part, or leave it to pickle."""
        if not is_estimator(o):
            return NotImplemented
        why = why_unlisted(o)
        if why:
            self.unlisted[why] = None
        elif hasattr(o, "get_params") and not type(o).__name__.startswith("_"):
            self.listed[_name(o)] = None
        if not why or self.before is None:
            return NotImplemented
        self.n_cut += 1
        key = blake2b(b"%d" % self.n_cut + self.before()).digest()
        return CutOut, (packed(o), key)


def _name(estimator: Any) -> tuple[str, str]:
    cls = type(estimator)
    return cls.__module__.partition(".")[0], cls.__name__


class _ByName(pickle.Pickler):
    """Pickles each object as `reduced` says, else as usual."""

    def __init__(self, file: io.BytesIO, reduced: Callable[[Any], Any]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._reduced = reduced

    def reducer_override(self, o: Any) -> Any:
        """Return how to make an object anew, or leave it to pickle."""
        return self._reduced(o)


class _ByValue(_ByName, cloudpickle.Pickler):
    """Pickles also classes and functions that are not found by name."""

    def reducer_override(self, o: Any) -> Any:
        """Return how to make an object anew, or leave it to pickle."""
        how = self._reduced(o)
        return cloudpickle.Pickler.reducer_override(self, o) if how is NotImplemented else how

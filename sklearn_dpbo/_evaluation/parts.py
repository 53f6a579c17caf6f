"""Which parts of a fitted model are listed as predicting row by row, and which not (zone: public).

The parts of a model that are not listed are cut out of it when it is pickled for counting; then
they predict each unit by itself (`separately`).
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import cloudpickle

from .._data.pickles import packed
from .listed import why_unlisted

__all__ = ["METHODS", "CutOut", "Parts", "cut", "is_estimator"]

# What is called on rows.
METHODS = (
    "predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples",
    "transform", "inverse_transform",
)  # fmt: skip
_ROW_BY_ROW = "a model's prediction for a record depends on that record alone"
# Where a package is installed by another name.
_NAMES = {"sklearn": "scikit-learn", "sklearn_dpbo": "sklearn-dpbo", "imblearn": "imbalanced-learn"}


class Parts(NamedTuple):
    """What of a model is listed, by package and class, and what is not, in words."""

    listed: tuple[tuple[str, str], ...] = ()
    unlisted: tuple[str, ...] = ()

    @classmethod
    def of_all(cls, several: Iterable[Parts]) -> Parts:
        """Return the parts of several models, each once."""
        columns = zip(*several, strict=True)
        return cls(*(tuple(dict.fromkeys(chain(*column))) for column in columns))

    def condition(self, prediction: str, unit: str) -> str:
        """Return what a report says of how models that consist of these parts predict."""
        if prediction == "separate":
            return (
                f"none for predictions: each {unit} was predicted alone, beside public records, by "
                "a copy of the model"
            )
        by_package: dict[str, list[str]] = {}
        for package, name in self.listed:
            by_package.setdefault(package, []).append(name)
        listed = ", ".join(
            f"{', '.join(names)} ({_NAMES.get(package, package)} {_version(package)})"
            for package, names in by_package.items()
        )
        unlisted = ", ".join(self.unlisted)
        trusted = [f"listed for {listed}"] * bool(listed)
        if prediction == "together":
            word = f'by the user\'s word (prediction="together") for {unlisted}'
            trusted += [word] * bool(unlisted)
            unlisted = ""
        texts = [f"{_ROW_BY_ROW}: {', '.join(trusted)}"] * bool(trusted)
        return "; ".join(texts + [f"{unit} by {unit}: {unlisted}"] * bool(unlisted))


def _version(package: str) -> str:
    return str(getattr(sys.modules.get(package), "__version__", ""))


class CutOut(NamedTuple):
    """What stands for a part that was cut out: the part, and what it and its input follow from."""

    pickled: bytes
    key: bytes


def cut(model: Any, whole: bool = False) -> tuple[bytes, bytes, Parts]:
    """Return a model pickled as it is, and with its unlisted parts, or all of it, cut out.

    The second one is empty if nothing was cut out. Each part is the smallest that is not listed: an
    estimator with all that it holds.
    """
    for kind in (_Cut, _CutByValue):
        file = io.BytesIO()
        pickler = kind(file, protocol=pickle.HIGHEST_PROTOCOL)
        pickler.start(model, whole)
        with suppress(Exception):  # of classes and functions that are not found by name
            pickler.dump(model)
            parts = Parts(tuple(pickler.listed), tuple(pickler.unlisted))
            if pickler.n_parts:
                return packed(model), file.getvalue(), parts
            return file.getvalue(), b"", parts
    return packed(model), b"", Parts()  # raises why


class _Cutting:
    """Puts a `CutOut` in the place of each part that is not listed."""

    def start(self, model: Any, whole: bool) -> None:
        self.model, self.whole = model, whole
        self.listed: dict[tuple[str, str], None] = {}
        self.unlisted: dict[str, None] = {}
        steps = [] if why_unlisted(model) else getattr(model, "steps", [])
        self.steps = [step for _, step in steps]
        self.step, self.n_parts = 0, 0

    def reducer_override(self, o: Any) -> Any:
        """Return how to make a part anew, or leave it to pickle."""
        if is_estimator(type(o)):
            why = why_unlisted(o)
            self.step = max([self.step, *(i + 1 for i, s in enumerate(self.steps) if s is o)])
            if why or (self.whole and o is self.model):
                self.unlisted |= {why: None} if why else {}
                self.n_parts += 1
                return CutOut, (packed(o), self.key())
            package = type(o).__module__.partition(".")[0]
            self.listed[package, type(o).__name__] = None
        return getattr(super(), "reducer_override", lambda _: NotImplemented)(o)

    def key(self) -> bytes:
        """Return what the input of a part, and the part, follow from: all public.

        Of a pipeline that is the steps up to the one that it is in; else the whole model.
        """
        before = self.steps[: self.step] or self.model
        return blake2b(packed((before, self.n_parts))).digest()


class _Cut(_Cutting, pickle.Pickler):
    pass


class _CutByValue(_Cutting, cloudpickle.Pickler):
    pass


def is_estimator(kind: type) -> bool:
    return any(hasattr(kind, name) for name in METHODS) and not issubclass(kind, type)

"""Events that distinguish two sets of runs, and the bounds they give (zone: public)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

__all__ = ["Event", "as_tables", "choose_events", "epsilon_lower_bound"]

Floats: TypeAlias = NDArray[np.float64]
# Returns a number for each output in a table.
Score: TypeAlias = Callable[[Floats], Floats]
# Returns an event in words, given the threshold of its score.
Text: TypeAlias = Callable[[float], str]

# Columns with at most this many distinct values are compared with each of them.
_FEW_VALUES = 16
# Larger numbers count as this one, and NaN as minus twice this number.
_HUGE = 1e30
# Number of folds in the cross-validation of learnt scores.
_FOLDS = 4
# Number of columns that an event names.
_FEW_NAMES = 6
# Largest number of thresholds to try on a score.
_MAX_THRESHOLDS = 512


@dataclass(frozen=True)
class Event:
    """The event ``score(outputs) >= threshold``.

    `score` returns a number for each output of a table. `bound`, of epsilon, is on the runs that
    chose the event, and so too large.
    """

    text: str
    score: Score
    threshold: float
    bound: float

    def count(self, table: Floats) -> int:
        """Return in how many outputs of a table the event occurred."""
        return int((self.score(table) >= self.threshold).sum())


def epsilon_lower_bound(
    k: ArrayLike, k_neighbour: ArrayLike, n: int, *, delta: float, tail: float
) -> Floats:
    """Return a lower bound of epsilon if an event occurred k and k' times in n runs each.

    ``ln((p - delta) / p')`` with the lower Clopper-Pearson bound p of P(E) and the upper one p' of
    P'(E), each of which fails with probability `tail`; -inf where ``p <= delta``.
    """
    k, k_neighbour = np.asarray(k), np.asarray(k_neighbour)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(k > 0, beta.ppf(tail, k, n - k + 1), 0.0)
        q = np.where(k_neighbour < n, beta.ppf(1 - tail, k_neighbour + 1, n - k_neighbour), 1.0)
        return np.where(p > delta, np.log((p - delta) / q), -math.inf)


@dataclass(frozen=True)
class Column:
    """One column of a table of outputs; `labels`: what 0, 1, ... stand for, None for numbers."""

    name: str
    labels: list[str] | None


def as_tables(
    outputs: Sequence[Any], outputs_neighbour: Sequence[Any]
) -> tuple[list[Column], Floats, Floats]:
    """Return (columns, table, table of the neighbour) of outputs as in `audit_mechanism`.

    Anything that is not a number becomes the rank of its repr among those of the same column.
    """
    rows = [_as_dict(output) for output in [*outputs, *outputs_neighbour]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    encoded = [_as_numbers([row.get(name) for row in rows]) for name in names]
    columns = [Column(name, labels) for name, (_, labels) in zip(names, encoded, strict=True)]
    table = np.empty((len(rows), 0))
    if encoded:
        table = np.column_stack([numbers for numbers, _ in encoded])
    return columns, table[: len(outputs)], table[len(outputs) :]


def _as_dict(output: Any) -> dict[str, Any]:
    if isinstance(output, dict):
        return output
    if isinstance(output, str) or np.ndim(output) == 0:
        return {"output": output}
    return {f"output[{i}]": value for i, value in enumerate(np.ravel(np.asarray(output, object)))}


def _as_numbers(values: list[Any]) -> tuple[Floats, list[str] | None]:
    """Return (numbers, labels), with labels as in `Column`."""
    if all(isinstance(v, Real) for v in values):
        # Decision trees accept neither NaN nor numbers beyond single precision.
        numbers = np.clip(np.array(values, dtype=float), -_HUGE, _HUGE)
        return np.nan_to_num(numbers, nan=-2 * _HUGE), None
    labels, position = np.unique([repr(v) for v in values], return_inverse=True)
    return position.astype(float), labels.tolist()


def choose_events(
    columns: Sequence[Column],
    table: Floats,
    table_neighbour: Floats,
    n_events: int,
    *,
    delta: float,
    tail: float,
) -> list[Event]:
    """Return the events with the largest bounds on these runs, each with a different score.

    Scores are each column and its negative; equality with one value, for columns of few values; and
    the probability, by a discriminant and by a tree, that an output is from the first table.
    """
    found = []
    for text, score in _plain_scores(columns, np.concatenate([table, table_neighbour])):
        seen = score(table), score(table_neighbour)
        found.append((_best_threshold(*seen, delta, tail), text, score))
    for text, score, seen in _learnt_scores(columns, table, table_neighbour):
        found.append((_best_threshold(*seen, delta, tail), text, score))
    found.sort(key=lambda each: -each[0][0])
    return [
        Event(text(threshold), score, threshold, bound)
        for (bound, threshold), text, score in found[:n_events]
    ]


def _plain_scores(columns: Sequence[Column], both: Floats) -> Iterator[tuple[Text, Score]]:
    """Yield the scores of `choose_events` that are of one column, with their texts."""
    for j, column in enumerate(columns):
        values = np.unique(both[:, j])
        if len(values) == 1:
            continue
        if column.labels is None:
            yield from _inequalities(j, column.name)
        if len(values) <= _FEW_VALUES:
            for value in values:
                label = f"{value:g}" if column.labels is None else column.labels[int(value)]
                yield _equality(j, value, f"{column.name} = {label}")


def _learnt_scores(
    columns: Sequence[Column], table: Floats, table_neighbour: Floats
) -> Iterator[tuple[Text, Score, tuple[Floats, Floats]]]:
    """Yield scores that are learnt, with texts, and cross-validated values on both tables."""
    both = np.concatenate([table, table_neighbour])
    n, first = len(table), np.arange(len(both)) < len(table)
    for name, model, used in _models(columns, both):
        X = both[:, used]
        p = cross_val_predict(model, X, first, cv=_FOLDS, method="predict_proba")[:, 1]
        yield *_probability(name, columns, model.fit(X, first), used), (p[:n], p[n:])


def _models(columns: Sequence[Column], both: Floats) -> Iterator[tuple[str, Any, list[int]]]:
    """Yield the name of a classifier, the classifier, and the columns it is learnt from."""
    varied = np.flatnonzero(np.ptp(both, axis=0) > 0).tolist()
    largest = np.abs(both).max(axis=0)
    numbers = [j for j in varied if columns[j].labels is None and largest[j] < _HUGE]
    if len(numbers) > 1:
        linear = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        yield "a linear discriminant", make_pipeline(StandardScaler(), linear), numbers
    if varied:
        leaf = max(1, len(both) // 80)
        tree = DecisionTreeClassifier(max_leaf_nodes=16, min_samples_leaf=leaf, random_state=0)
        yield "a decision tree", tree, varied


def _probability(
    name: str, columns: Sequence[Column], model: Any, used: list[int]
) -> tuple[Text, Score]:
    """Return the probability, by a model, that an output is from the first table, and its text."""
    names = ", ".join(columns[j].name for j in used[:_FEW_NAMES])
    more = f" and {len(used) - _FEW_NAMES} more" * (len(used) > _FEW_NAMES)
    return (
        lambda x: f"probability by {name} on {names}{more} >= {x:.2f}",
        lambda t: model.predict_proba(t[:, used])[:, 1],
    )


def _inequalities(j: int, name: str) -> Iterator[tuple[Text, Score]]:
    """Yield column j and its negative, with their texts."""
    yield lambda x: f"{name} >= {x:.6g}", lambda t: t[:, j]
    yield lambda x: f"{name} <= {-x:.6g}", lambda t: -t[:, j]


def _equality(j: int, value: float, text: str) -> tuple[Text, Score]:
    """Return the score 1 where column j has this value, 0 elsewhere, with its text."""
    return lambda _: text, lambda t: (t[:, j] == value).astype(float)


def _best_threshold(
    scores: Floats, scores_neighbour: Floats, delta: float, tail: float
) -> tuple[float, float]:
    """Return (bound, threshold) of the threshold with the largest bound."""
    thresholds = np.unique(np.concatenate([scores, scores_neighbour]))
    if len(thresholds) > _MAX_THRESHOLDS:
        thresholds = thresholds[np.linspace(0, len(thresholds) - 1, _MAX_THRESHOLDS).astype(int)]
    n = len(scores)
    k, k_neighbour = (
        n - np.searchsorted(np.sort(s), thresholds, side="left") for s in (scores, scores_neighbour)
    )
    values = epsilon_lower_bound(k, k_neighbour, n, delta=delta, tail=tail)
    best = int(np.argmax(values))
    return float(values[best]), float(thresholds[best])

"""Events that distinguish two sets of runs, and the bounds they give (zone: public)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ..privacy.float_errors import ignore_float_errors
from ._report import Floats

# Returns a number for each output in a table.
Score: TypeAlias = Callable[[Floats], Floats]

# Parts of outputs with at most this many distinct values are compared with each of them.
_FEW_VALUES = 16
# Larger numbers count as this one, and NaN as minus twice this number.
_HUGE = 1e30
# Number of folds in the cross-validation of learnt scores.
_FOLDS = 4
# Largest number of thresholds to try on a score.
_MAX_THRESHOLDS = 512


class OutputTables(NamedTuple):
    """Outputs on a data set and on its neighbour, as tables of shape (n_runs, n_columns)."""

    names: list[str]
    table: Floats
    neighbour: Floats


@dataclass(frozen=True)
class Event:
    """The event ``score(outputs) >= threshold``.

    `score` computes a number for each row of a table of outputs. `bound` is a lower bound of
    epsilon on the runs that chose the event, and so is too large.
    """

    text: str
    score: Score
    threshold: float
    bound: float


def epsilon_lower_bound(
    k: ArrayLike, k_neighbour: ArrayLike, n: int, *, delta: float, tail: float
) -> Floats:
    """Bound epsilon from below if an event occurred k and k' times in n runs each.

    ``ln((p - delta) / p')`` with the lower Clopper-Pearson bound p of P(E) and the upper one p' of
    P'(E), each of which fails with probability `tail`; -inf where ``p <= delta``.
    """
    k = np.asarray(k)
    k_neighbour = np.asarray(k_neighbour)
    with ignore_float_errors():
        p = np.where(k > 0, beta.ppf(tail, k, n - k + 1), 0.0)
        q = np.where(k_neighbour < n, beta.ppf(1 - tail, k_neighbour + 1, n - k_neighbour), 1.0)
        return np.where(p > delta, np.log((p - delta) / q), -math.inf)


def as_tables(outputs: Sequence[Any], neighbour: Sequence[Any]) -> OutputTables:
    """Convert outputs, as in `audit_mechanism`, to tables of numbers.

    A part of the outputs that is always a number becomes a column. If a part has few values, each
    value also becomes a column, named "[part = value]", of 0 and 1. Constant columns are left out.
    """
    rows = [_as_dict(output) for output in [*outputs, *neighbour]]
    columns: dict[str, Floats] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        columns |= _columns(name, [row.get(name) for row in rows])
    columns = {name: numbers for name, numbers in columns.items() if np.ptp(numbers) > 0}
    table = np.column_stack([np.empty((len(rows), 0)), *columns.values()])
    return OutputTables([*columns], table[: len(outputs)], table[len(outputs) :])


def _as_dict(output: Any) -> dict[str, Any]:
    if isinstance(output, dict):
        return output
    if isinstance(output, str) or np.ndim(output) == 0:
        return {"output": output}
    return {f"output[{i}]": value for i, value in enumerate(np.ravel(np.asarray(output, object)))}


def _columns(name: str, values: list[Any]) -> dict[str, Floats]:
    """Convert one part of all outputs to columns, by their names."""
    labels: NDArray[Any]
    if all(isinstance(v, Real) for v in values):
        # Decision trees accept neither NaN nor numbers beyond single precision.
        clipped = np.clip(np.array(values, dtype=float), -_HUGE, _HUGE)
        labels, position = np.unique(np.nan_to_num(clipped, nan=-2 * _HUGE), return_inverse=True)
        columns = {name: labels[position]}
    else:
        labels, position = np.unique([repr(v) for v in values], return_inverse=True)
        columns = {f"rank of {name}": position.astype(float)}
    if len(labels) <= _FEW_VALUES:
        columns |= {
            f"[{name} = {label}]": (position == i).astype(float) for i, label in enumerate(labels)
        }
    return columns


def choose_event(
    names: Sequence[str], table: Floats, neighbour: Floats, *, delta: float, tail: float
) -> Event:
    """Choose the event with the largest bound on these runs.

    Its score is a column, the negative of a column, or the probability, according to a discriminant
    or a tree, that an output is from the first table.
    """
    events = []
    for candidate in (*_plain(names, table, neighbour), *_learnt(table, neighbour)):
        bound, threshold = _best_threshold(*candidate.values, delta=delta, tail=tail)
        text = f"{candidate.text} {candidate.sign * threshold:.6g}"
        events.append(Event(text, candidate.score, threshold, bound))
    same = Event("all outputs are the same", lambda t: np.zeros(len(t)), 1.0, 0.0)
    return max(events, key=lambda event: event.bound, default=same)


class Candidate(NamedTuple):
    """A score that may define an event.

    `text`: what is compared, and how; `sign`: -1 if the score is the negative of what the text
    names; `values`: of the score, on both tables.
    """

    text: str
    sign: int
    score: Score
    values: tuple[Floats, Floats]


def _column(table: Floats, j: int, sign: int) -> Floats:
    return sign * table[:, j]


def _plain(names: Sequence[str], *tables: Floats) -> Iterator[Candidate]:
    """Yield each column, and its negative."""
    for j, name in enumerate(names):
        for sign, relation in ((1, ">="), (-1, "<=")):
            score = partial(_column, j=j, sign=sign)
            values = score(tables[0]), score(tables[1])
            yield Candidate(f"{name} {relation}", sign, score, values)


def _probability(table: Floats, model: Any, used: NDArray[np.bool_]) -> Floats:
    probability: Floats = model.predict_proba(table[:, used])[:, 1]
    return probability


def _learnt(*tables: Floats) -> Iterator[Candidate]:
    """Yield learnt scores, with cross-validated values."""
    both = np.concatenate(tables)
    n = len(tables[0])
    is_first = np.arange(len(both)) < n
    discriminant = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    leaf = max(1, len(both) // 80)
    tree = DecisionTreeClassifier(max_leaf_nodes=16, min_samples_leaf=leaf, random_state=0)
    moderate = np.abs(both).max(axis=0) < _HUGE
    for name, model, used in (
        ("a linear discriminant", make_pipeline(StandardScaler(), discriminant), moderate),
        ("a decision tree", tree, np.ones_like(moderate)),
    ):
        if used.any():
            X = both[:, used]
            p = cross_val_predict(model, X, is_first, cv=_FOLDS, method="predict_proba")[:, 1]
            score = partial(_probability, model=model.fit(X, is_first), used=used)
            yield Candidate(f"probability by {name} >=", 1, score, (p[:n], p[n:]))


def _best_threshold(
    scores: Floats, scores_neighbour: Floats, *, delta: float, tail: float
) -> tuple[float, float]:
    """Return (bound, threshold) for the threshold with the largest bound."""
    thresholds = np.unique(np.concatenate([scores, scores_neighbour]))
    if len(thresholds) > _MAX_THRESHOLDS:
        thresholds = thresholds[np.linspace(0, len(thresholds) - 1, _MAX_THRESHOLDS).astype(int)]
    n = len(scores)
    k, k_neighbour = (
        n - np.searchsorted(np.sort(s), thresholds, side="left") for s in (scores, scores_neighbour)
    )
    bounds = epsilon_lower_bound(k, k_neighbour, n, delta=delta, tail=tail)
    best = int(np.argmax(bounds))
    return float(bounds[best]), float(thresholds[best])

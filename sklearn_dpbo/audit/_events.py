"""Events that tell two sets of runs apart, and what they prove (zone: public)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real

import numpy as np
from scipy.stats import beta
from sklearn.tree import DecisionTreeClassifier

__all__ = ["Event", "as_tables", "choose_events", "epsilon_lower_bound"]

# So many different values, and a column is compared with each of them.
_FEW = 16
# The most thresholds that are tried on a score.
_MOST_THRESHOLDS = 512


@dataclass(frozen=True)
class Event:
    """``score(outputs) >= threshold``.

    Parameters
    ----------
    text : str
        The event, in words.
    score : callable
        Of a table of outputs, one number for each.
    threshold : float
    """

    text: str
    score: Callable[[np.ndarray], np.ndarray]
    threshold: float

    def count(self, table: np.ndarray) -> int:
        """Return how often it came about."""
        return int((self.score(table) >= self.threshold).sum())


def epsilon_lower_bound(k, k_neighbour, n: int, *, delta: float, tail: float) -> np.ndarray:
    """Return what epsilon is at least, if an event came about k and k' times in n runs each.

    (epsilon, delta)-privacy says ``P(E) <= e^epsilon P'(E) + delta``, so
    ``epsilon >= ln((p - delta) / p')``. Here p is the lower Clopper-Pearson bound of P(E) and p'
    the upper one of P'(E); each fails with probability `tail`. -inf where ``p <= delta``.
    """
    k, k_neighbour = np.asarray(k), np.asarray(k_neighbour)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(k > 0, beta.ppf(tail, k, n - k + 1), 0.0)
        q = np.where(k_neighbour < n, beta.ppf(1 - tail, k_neighbour + 1, n - k_neighbour), 1.0)
        return np.where(p > delta, np.log((p - delta) / q), -math.inf)


@dataclass(frozen=True)
class Column:
    """What one part of an output is called.

    Parameters
    ----------
    name : str
    labels : list of str or None
        What 0, 1, ... stand for, if it is no number.
    """

    name: str
    labels: list[str] | None


def as_tables(outputs: list, outputs_neighbour: list):
    """Return (columns, table, table of the neighbour) of outputs of any kind.

    An output is a number, a text, a sequence or a dict of them. What is no number becomes the
    position of its repr among all of that column.
    """
    rows = [_as_dict(output) for output in [*outputs, *outputs_neighbour]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    found = [_as_numbers([row.get(name) for row in rows]) for name in names]
    columns = [Column(name, labels) for name, (_, labels) in zip(names, found, strict=True)]
    table = np.column_stack([values for values, _ in found]) if found else np.empty((len(rows), 0))
    return columns, table[: len(outputs)], table[len(outputs) :]


def _as_dict(output) -> dict:
    if isinstance(output, dict):
        return output
    if isinstance(output, str) or np.ndim(output) == 0:
        return {"output": output}
    return {f"output[{i}]": value for i, value in enumerate(np.ravel(np.asarray(output, object)))}


def _as_numbers(values: list):
    """Return (numbers, what they stand for or None)."""
    if all(isinstance(v, Real) for v in values):
        # A tree takes neither NaN nor infinity.
        numbers = np.array(values, dtype=float)
        return np.nan_to_num(numbers, nan=-2e30, posinf=1e30, neginf=-1e30), None
    labels, position = np.unique([repr(v) for v in values], return_inverse=True)
    return position.astype(float), labels.tolist()


def choose_events(columns, table, table_neighbour, n_events: int, **bound) -> list[Event]:
    """Return the events that promise the largest bounds, each along another score.

    Scores are the columns, up and down; equality with one of few values; and what a decision tree
    says of which table an output is from. The threshold is the best on these runs, which must not
    be used again for the bound itself.
    """
    found = []
    for text, score in _scores(columns, table, table_neighbour):
        value, threshold = _best_threshold(score(table), score(table_neighbour), **bound)
        found.append((value, Event(text(threshold), score, threshold)))
    found.sort(key=lambda pair: -pair[0])
    return [event for _, event in found[:n_events]]


def _scores(columns, table, table_neighbour):
    """Yield (the event in words, as a function of the threshold; the score of a table)."""
    both = np.concatenate([table, table_neighbour])
    if both.shape[1] == 0:
        return
    for j, column in enumerate(columns):
        values = np.unique(both[:, j])
        if len(values) == 1:
            continue
        if column.labels is None:
            yield partial("{} >= {:.6g}".format, column.name), lambda t, j=j: t[:, j]
            yield lambda x, c=column: f"{c.name} <= {-x:.6g}", lambda t, j=j: -t[:, j]
        if len(values) <= _FEW:
            for value in values:
                label = f"{value:g}" if column.labels is None else column.labels[int(value)]
                text = f"{column.name} = {label}"
                yield (
                    lambda _, text=text: text,
                    lambda t, j=j, v=value: (t[:, j] == v).astype(float),
                )
    n = len(table)
    tree = DecisionTreeClassifier(max_leaf_nodes=16, min_samples_leaf=max(1, n // 40))
    tree.set_params(random_state=0).fit(both, np.arange(len(both)) < n)
    if tree.tree_.node_count > 1:
        used = [
            c.name for c, share in zip(columns, tree.feature_importances_, strict=True) if share
        ]
        text = f"what a decision tree makes of {', '.join(used)}"
        yield lambda x: f"{text} >= {x:.2f}", lambda t: tree.predict_proba(t)[:, 1]


def _best_threshold(scores, scores_neighbour, **bound) -> tuple[float, float]:
    """Return (bound, threshold)."""
    thresholds = np.unique(np.concatenate([scores, scores_neighbour]))
    if len(thresholds) > _MOST_THRESHOLDS:
        thresholds = thresholds[np.linspace(0, len(thresholds) - 1, _MOST_THRESHOLDS).astype(int)]
    n = len(scores)
    k, k_neighbour = (
        n - np.searchsorted(np.sort(s), thresholds, side="left") for s in (scores, scores_neighbour)
    )
    values = epsilon_lower_bound(k, k_neighbour, n, **bound)
    best = int(np.argmax(values))
    return float(values[best]), float(thresholds[best])

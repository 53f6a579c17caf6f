"""How far one unit moves whatever is counted, as a share of the sensitivity that is declared.

`moves` lists all that can get noise, by construction: from the names of scores, the designs of
evaluations and comparisons, thresholds, the tables of learners, and curators. For each it looks for
the worst neighbours: data sets of m units, of which one is replaced by any other, from extreme
ones on, uphill. A metric for whose records there are no extremes here is an error.
"""

import itertools
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.learners import PrivateRidge, _columns, _counts, _gradients, _rows, _tables
from sklearn_dpbo.learners._blocks import Blocks
from sklearn_dpbo.learners._ridge import _STEPS as RIDGE_STEPS
from sklearn_dpbo.metrics._agreement import Agreement
from sklearn_dpbo.metrics._errors import Moments
from sklearn_dpbo.metrics._histogram import ScoreHistogram
from sklearn_dpbo.metrics._make import NAMES
from sklearn_dpbo.metrics._metrics import gradient
from sklearn_dpbo.metrics._pairs import Pairs
from sklearn_dpbo.metrics._queries import ClassSizes, Confusion, MeanOf
from sklearn_dpbo.metrics._ranking import RankedConfusion, linear
from sklearn_dpbo.metrics._registry import OF_MATRIX
from sklearn_dpbo.metrics._response import Predictions, Responses
from sklearn_dpbo.metrics.evaluations._design import METHODS, evaluation_of
from sklearn_dpbo.papers.kharkovskii2020 import GaussianCurator, _curators
from sklearn_dpbo.papers.kharkovskii2020._calibration import gaussian_sigma
from sklearn_dpbo.prediction.secret_fits import count_labels
from sklearn_dpbo.prediction.threshold_curve import LabelGains
from sklearn_dpbo.privacy import mechanisms
from sklearn_dpbo.privacy.float_errors import ignore_float_errors
from sklearn_dpbo.privacy.mechanisms import Mechanisms
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.records.subgroups import Subgroups
from sklearn_dpbo.records.units import Units

NAN, INF = math.nan, math.inf
LARGEST_GROUP = 50
# Values of each parameter that a score has: some of them with much, and with little, weight.
PARAMS = {
    "alpha": [{"alpha": 0.9}],
    "beta": [{"beta": 0.3}, {"beta": 3.0}],
    "cost_matrix": [{"cost_matrix": [[0, 1], [3, 0]]}],
    "k": [{"k": 1}],
    "weights": [{}, {"weights": "linear"}, {"weights": "quadratic"}],
}


class Move(NamedTuple):
    """The farthest that a unit moved what is counted, by the sensitivity; and where it did."""

    name: str
    ratio: float
    where: Any


# ------------------------------------------------------------------ records
class Universe:
    """Extreme records: labels, responses of a method, and of each the number of its subgroup."""

    def __init__(self, y, response, classes, n_subgroups=1):
        cases = list(itertools.product(y, response, range(n_subgroups)))
        self.y = np.array([label for label, *_ in cases])
        self.response = np.array([each for _, each, _ in cases])
        self.subgroups = np.array([number for *_, number in cases])
        self.classes = None if classes is None else np.arange(classes)


NUMBERS = [NAN, -1e9, 0.0, 0.4, 1.0, 7.0]
UNKNOWN = 9


def universe(method, K, n_subgroups=1):
    """Return extreme records for K classes, or for numbers if K is None, by what responds."""
    if K is None:
        return Universe(NUMBERS, NUMBERS, None)
    certain, even = np.eye(K).tolist(), [1 / K] * K
    responses = {
        "predict": [*range(K), UNKNOWN],
        "predict_proba": [*certain, even, [NAN] * K, np.roll(np.linspace(0, 2 / K, K), 1).tolist()],
        "decision_function": [-INF, -1.0, 0.2, 3.0, NAN]
        if K == 2
        else [*certain, [-1.0] * K, [NAN] * K],
    }
    return Universe([*range(K), UNKNOWN], responses[method], K, n_subgroups)


class Counted:
    """What a query counts of a universe, and of records that cannot be predicted."""

    def __init__(self, query, records, levels=False):
        self.query = query
        with ignore_float_errors():
            values = [query.record_values(records.y, records.response, records.classes)] * 2
        with suppress(NotImplementedError):  # an answer of a model that fails is a cell of another
            values[1] = query.lowest_values(records.y, len(records.y))
        y, subgroups = np.tile(records.y, 2), np.tile(records.subgroups, 2)
        values = np.concatenate(values)
        # Only queries of the order of scores read labels again.
        read = y if isinstance(query, Pairs) else 0 * subgroups
        cells = np.column_stack([values.reshape(len(y), -1), read, subgroups]).astype(float)
        _, first = np.unique(cells, axis=0, return_index=True)
        self.values, self.y, self.subgroups = values[first], y[first], subgroups[first]
        self.statistics = getattr(query, "statistics_of_all", query.statistics)

    def __call__(self, rows, unit, m):
        units = Units(m, unit, self.subgroups[rows])
        return np.atleast_1d(self.statistics(self.values[rows], self.y[rows], units))

    def __len__(self):
        return len(self.y)


def distance(tables):
    """The largest sum of absolute differences of two rows; of several tables, of any."""
    found = np.array(tables)
    if found.shape[-1] == 1:
        return float(np.ptp(found, axis=0).max())
    return max(float(np.abs(found - one).sum(axis=-1).max()) for one in found)


def replaced_units(n, grouped, rng):
    """Return units that replace each other, as rows of the universe."""
    if not grouped:
        return [[i] for i in range(n)]
    blocks = [[i] * k for i, k in enumerate(rng.choice([1, 3, LARGEST_GROUP], n))]
    return [*blocks, rng.integers(n, size=2).tolist(), rng.integers(n, size=7).tolist()]


def furthest(counted, m, grouped, tries, steps, seed=0):
    """Climb to data sets of m units, one of which moves the integers furthest; as a ratio."""
    rng, n = np.random.default_rng(seed), len(counted)
    blocks = replaced_units(n, grouped, rng)
    declared = counted.query.sensitivity(Units(m, np.arange(m) if grouped else None))

    def moved(others):
        own = [np.array([*others, *block]) for block in blocks]
        units = [np.minimum(np.arange(len(rows)), m - 1) if grouped else None for rows in own]
        return distance([counted(*pair, m) for pair in zip(own, units, strict=True)]) / declared

    def start():
        shares = rng.dirichlet(np.full(n, 0.05))
        return rng.choice(n, m - 1, p=shares)

    def change(others):
        some = rng.random(m - 1) < rng.choice([1.0 / m, 0.1, 0.5])
        return np.where(some, rng.integers(n), others)

    return climb(moved, [start() for _ in range(tries)], change, steps)


def climb(height, starts, change, steps):
    """Return the greatest height, and where: from the best of starts, uphill by changes."""
    best, at = max(((height(start), i) for i, start in enumerate(starts)))
    at = starts[at]
    for _ in range(steps):
        other = change(at)
        if (found := height(other)) >= best:
            best, at = found, other
    return best, at


def searched(name, query, records, sizes, effort):
    """Yield the furthest moves of a query, for single records and groups of any size."""
    counted = Counted(query, records)
    if isinstance(query, Pairs):  # whose worst neighbours are rarer
        effort = 5 * effort[0], 10 * effort[1]
    # Rankings of matrices meet groups as shares of a record, in `rankings`.
    of_groups = (False,) if isinstance(query, RankedConfusion) and effort[0] < 9 else (False, True)
    for m, grouped in itertools.product(sizes, of_groups):
        ratio, where = furthest(counted, m, grouped, *effort)
        numbers, times = np.unique(where, return_counts=True)
        where = {"m": m, "grouped": grouped, **dict(zip(numbers.tolist(), times.tolist()))}
        yield Move(name, ratio, where)


# ------------------------------------------------------------------ scores
def parameters(name):
    """Return sets of parameters for a score."""
    known = NAMES[name].params
    return next((PARAMS[key] for key in PARAMS if key in known), [{}])


SKEWED = {
    2: np.repeat([0, 1], [7, 2]),
    3: np.repeat([0, 1, 2], [7, 2, 1]),
    None: np.arange(1.0, 10.0),
}


def prepared(name):
    """Yield every kind of scorer of this name that a choice or a release uses, with its records."""
    made = 0
    for K, params in itertools.product(SKEWED, parameters(name)):
        y = SKEWED[K]
        if K == 2 and "pos_label" in NAMES[name].params:
            params = {**params, "pos_label": 1}
        with suppress(ValueError, TypeError):  # of labels of another kind
            scorer = make_private_scorer(name, **params).prepare(y)
            records = universe(scorer.response_method[0], K)
            scorer.query.record_values(records.y, records.response, records.classes)
            if (K is None) == (scorer.task == "regression"):
                made += 1
                yield scorer, records, y, K
    assert made, f"{name}: labels of no kind suit it"


def public_of(records, y, K):
    """Predictions of a fair model for public records y."""
    if K is None:
        return Predictions(y, y + np.resize([0.5, -1.0], len(y)), None)
    classes, other = np.arange(K), np.roll(y, 1)
    if records.response.ndim == 2:
        return Predictions(y, 0.7 * np.eye(K)[y] + 0.3 * np.eye(K)[other], classes)
    labels = records.response.dtype.kind == "i"
    return Predictions(y, other if labels else y + np.linspace(0, 1.5, len(y)), classes)


def queries_of(scorer, records, y, K, m):
    """Yield what a choice compares candidates by, and what is released of m units."""
    units, public = Units.of(m), public_of(records, y, K)
    chosen = scorer.choice(public) if scorer.choice_uses_public else scorer
    yield chosen.query
    if chosen.first is not None:
        n = sum(chosen.first.sizes)
        for scale in (1e-3, 1e3 * m):
            noisy = NoisyCounts((m - 1, *[0] * (n - 2), 1), scale)
            found = [each.query for each in chosen.adapt(noisy, units).faithful(units)]
            yield from (found[:1] if scale < 1 else found[-1:])
    yield from (each.query for each in scorer.faithful(units))
    for epsilon in (1.0, 1e3):
        yield scorer.release(lambda _: public, m, epsilon).counts
        if scorer.learns_bounds:
            bounded = scorer.with_bounds(y, [public], epsilon * m, epsilon * m)
            yield from (bounded.query, bounded.counts)
    with suppress(ValueError):  # some need public predictions
        yield scorer.release(None, m, 1.0).counts


def queries(wide=False):
    """All queries of all scores."""
    effort = (40, 60) if wide else (2, 2)
    for name in NAMES:
        for scorer, records, y, K in prepared(name):
            for m in (1, 2, 3, 25, 400) if wide else (6,):
                found = {query: None for query in queries_of(scorer, records, y, K, max(m, 2))}
                for query in found:
                    kind = f"{name}: {type(query).__name__}"
                    yield from searched(kind, query, records, (m,), effort)


# ------------------------------------------------------------------ rankings
def class_sizes(K, m, wide):
    """Yield confusion matrices of m units that rankings are made for; C has classes of any size."""
    least = min(0.9, m / (K + 1))
    rare = np.append(m - least * (K - 1), np.full(K - 1, least))
    yield np.full((K, K), m / K**2)
    yield 0.9 * np.diag(rare) + np.outer(rare, np.full(K, 0.1 / K))
    yield np.outer(np.roll(rare, 1), np.append(0.9, np.full(K - 1, 0.1 / (K - 1))))
    if wide:
        yield np.outer(rare, np.full(K, 1 / K))


def gradients(wide, sizes):
    """Yield the means of gains that are slopes of metrics, by their name, and K and m."""
    for name, metric in OF_MATRIX.items():
        for params, K, m in itertools.product(parameters(name), (2, 3, 5)[: 2 + wide], sizes):
            if metric.of_one and K > 2:
                continue
            own = params | ({"positive": 1} if metric.of_one else {})
            of = partial(metric.function, undefined=0.0, **own)
            label = f"{name} {params or ''}".strip()
            for M in class_sizes(K, m, wide):
                for C in (M, np.roll(M, 1, axis=1)):
                    yield f"{label}, mean", linear(gradient(of, C)), K, m


def all_rankings(wide, sizes):
    """Yield the first and the last ranking of each metric, by its name, and K and m."""
    for name, metric in OF_MATRIX.items():
        if not callable(metric.order):
            continue
        for params, K, m in itertools.product(parameters(name), (2, 3, 5)[: 2 + wide], sizes):
            if metric.of_one and K > 2:
                continue
            own = params | ({"positive": 1} if metric.of_one else {})
            for M in class_sizes(K, m, wide):
                found = list(metric.order(M, **own))
                own_name = f"{name} {params or ''}".strip()
                yield own_name, found[0], K, m
                if len(found) > 1:
                    yield f"{own_name}, least noise", found[-1], K, m


def extreme_matrices(K, m, rng):
    """Confusion matrices of m - 1 records: all in one or two cells, or drawn."""
    some = [0, *(z for z in 3 ** np.arange(8) if z < m), m // 2]
    pairs = list(itertools.product(range(K * K), repeat=2))
    for i in rng.permutation(len(pairs))[:28]:
        for z in rng.choice(some, 3 if K == 2 else 1):
            C = np.zeros(K * K)
            np.add.at(C, list(pairs[i]), [m - 1 - z, z])
            yield C.reshape(K, K)
    yield rng.dirichlet(np.full(K * K, 0.2)).reshape(K, K) * (m - 1)


def rankings(wide=False):
    """All functions of the confusion matrix by which candidates are compared."""
    rng = np.random.default_rng(0)
    sizes = [(2, 9, 100, 400, 3000) if wide else (2, 400), (5,)]
    own = itertools.chain(*(all_rankings(wide, each) for each in sizes))
    for name, ranking, K, m in itertools.chain(own, gradients(wide, (2, 400))):
        known = np.eye(K * K).reshape(-1, K, K)
        known = [*known, *rng.dirichlet(np.full(K * K, 0.3), 2).reshape(-1, K, K)]
        # A record of unknown label is an error of the class after the predicted one, and more.
        units = [(unit, 0.0) for unit in known]
        units += [
            (np.roll(np.diag(row), 1, axis=0), more)
            for row, more in zip(np.eye(K), ranking.of_unknown, strict=True)
        ]

        def moved(C, ranking=ranking, units=units):
            return np.ptp([ranking(C + unit) + more for unit, more in units]) / ranking.width

        def change(C, K=K):
            C, (i, j) = C.copy().ravel(), rng.integers(K * K, size=2)
            z = np.floor(C[i] * rng.choice([1.0, 0.3, 1 / max(C[i], 1)]))
            C[i] -= z
            C[j] += z
            return C.reshape(K, K)

        starts = list(extreme_matrices(K, m, rng))
        yield Move(name, *climb(moved, starts, change, 400 if wide else 12))


def slopes(wide=False):
    """The slopes of rankings, entry by entry: 1, and what they exceed their bounds by.

    As a share of the width.
    """
    rng, h = np.random.default_rng(1), 2.0**-8
    for name, ranking, K, m in all_rankings(wide, (2, 30, 1000)):
        if not ranking.low.any():  # bounds of what two units add, not of slopes
            continue
        cells, worst = np.eye(K * K).reshape(-1, K, K) * h, (0.0, None)
        for k in range(60 if wide else 6):
            C = rng.dirichlet(np.full(K * K, rng.choice([0.1, 1.0]))).reshape(K, K) * (m - h)
            C = np.rint(C) if k % 2 else C
            C *= max(1.0, (m - 1) / max(C.sum(), 1e-9))
            if not C.any():
                continue
            found = np.array([ranking.value(C + d) - ranking.value(C) for d in cells]) / h
            found = found.reshape(K, K)
            beyond = [float((found - ranking.high).max()), float((ranking.low - found).max())]
            off = max(beyond) / ranking.width
            worst = max(worst, (off, C.tolist()), key=lambda each: each[0])
        yield Move(f"{name}, slopes", 1 + worst[0], (m, worst[1]))


# ------------------------------------------------------------------ evaluations, comparisons
def designs(wide=False):
    """All that evaluations, comparisons and splits of one table count."""
    effort, sizes = ((40, 60), (1, 2, 30, 400)) if wide else ((2, 3), (5,))
    levels = Subgroups({"a": ("x",), "b": ("y",)}, ("a", "b"))
    for K, subgroups in itertools.product((2, 3, None), (None, levels)):
        if K is None and subgroups is not None:
            continue
        rows = universe("predict_proba", K)
        y = np.resize(np.arange(9.0) if K is None else np.arange(K), 60)
        public = Predictions(y, y + np.resize([0.5, -1.0], 60), None)
        public = public if K is None else public_of(rows, y, K)
        labels = public.response if K is None else public.response.argmax(axis=1)
        answers = {"predict": labels} | ({"predict_proba": public.response} if K else {})
        found = evaluation_of(
            Responses(y, public.classes, answers), m=30, epsilon=1.0, subgroups=subgroups
        )
        for query in found._parts:
            method = next(name for name in query.response_method if name in answers)
            records = universe(method, K, 1 if subgroups is None else subgroups.n)
            kind = f"evaluation of {K}: {type(query).__name__}" + ", subgroups" * bool(subgroups)
            yield from searched(kind, query, records, sizes, effort)
    for K, by_class in itertools.product((2, 3), (False, True)):
        classes = np.arange(K)
        cut = ScoreHistogram(((0.5,),), classes, (1,), METHODS)
        for parts in [(Confusion(classes),) * 2, (cut, cut)][: 4 - K]:
            query = Agreement(parts, classes, by_class)
            yield from searched(f"comparison of {K}", query, pairs_of(parts[0], K), sizes, effort)
    yield from labels_of_one_table()


def pairs_of(part, K):
    """Records, to which two models respond with what `part` counts."""
    records = universe("predict" if isinstance(part, Confusion) else "decision_function", K)
    cells = part.record_values(records.y, records.response, records.classes).reshape(-1)
    found = Universe([0], [0], K)
    cases = [
        (y, a, b)
        for (y, a), (z, b) in itertools.product(zip(records.y, cells, strict=True), repeat=2)
        if y == z
    ]
    found.y, *both = np.array(sorted(set(cases))).T
    found.response, found.subgroups = np.stack(both, axis=1), np.zeros_like(found.y)
    return found


class Table(NamedTuple):
    """What `count_labels` needs of a table that was divided."""

    y_val: Any
    units_val: Units
    labels: Any = np.arange(3.0)
    classes: bool = True


def labels_of_one_table():
    """Labels of the second part of a table."""
    for classes, sizes in itertools.product((True, False), ([1, 1, 1], [2, 1, 50], [1, 2, 3])):
        found = []
        for label in (0.0, 1.0, 2.0, 9.0, NAN):
            y = np.repeat([0.0, 1.0, label], sizes)
            units = Units(3, np.repeat(np.arange(3), sizes) if max(sizes) > 1 else None)
            found.append(count_labels(Table(y, units, classes=classes)))
        move = distance([each._open()[0] for each in found]) / found[0].sensitivity
        yield Move("labels of one table", move, (classes, sizes))


class AtThresholds(LabelGains):
    """A query of labels, at several thresholds of the response."""

    def __init__(self, scorer, query):
        super().__init__(scorer.counts, ("decision_function",))
        object.__setattr__(self, "query", query)
        self.__dict__["sensitivity"] = query.sensitivity

    def statistics_of_all(self, values, y, units):
        return self.statistics_at([-1.0, 0.0, 1.0, 9.0], values, y, units, self.query)


def thresholds(wide=False):
    """What thresholds are compared by, and what is released at one."""
    records, names = universe("decision_function", 2), ("accuracy", "weighted_accuracy", "f1")
    for name in NAMES if wide else names:
        for scorer, *_, K in prepared(name):
            if K == 2 and scorer.response_method == ("predict",):
                for query in (scorer.query, scorer.counts):
                    kind = f"threshold: {type(query).__name__}"
                    yield from searched(kind, AtThresholds(scorer, query), records, (6,), (2, 4))


# ------------------------------------------------------------------ learners
NUMBERS_OF_COLUMNS = np.array([0, 1, -1, 0.5, 5.0, NAN, INF, -INF, 1e308, 1e-300, 3.0])


def norm(a, b=0):
    """The Euclidean distance of two tables of integers of any size."""
    return math.sqrt(float(((a - np.asarray(b)).astype(object) ** 2).sum()))


def neighbours(n_tables, rng):
    """Yield a number of columns, a unit's rows, and two tables that differ in these rows."""
    for k in range(n_tables):
        d, grouped = 1 + k % 3, k % 2
        unit, own = (np.array([0, 0, 0, 1, 2, 2]), 3) if grouped else (None, 1)
        A = rng.choice(NUMBERS_OF_COLUMNS, (6, d))
        B = np.vstack([rng.choice(NUMBERS_OF_COLUMNS, (own, d)), A[own:]])
        if k < 8:  # in one cell of each table, or in as many others as there are
            A[:] = B[:] = 5.0
            B[:own] = 0.0 if k < 4 else NAN
        yield d, own, unit, A, B


def rows_of(X, unit, y=None):
    return _rows.Rows(X, np.zeros(len(X)) if y is None else y, unit, {})


@ignore_float_errors()
def tables_of_columns(wide=False):
    """Counts of sizes, of places, of norms, and of frequent values."""
    for d, own, unit, A, B in neighbours(400 if wide else 60, np.random.default_rng(0)):
        pair, where = [rows_of(X, unit) for X in (A, B)], (A.tolist(), B.tolist(), unit)
        scaling = _rows.Scaling(np.zeros(d), np.full(d, 2.0), 1.0, 2.5)
        scaling = replace(scaling, tails=[1.0, 4.0][own > 1])
        place = np.zeros(d), np.full(d, 2.0), np.full(d, 3)
        for pairs in (False, True):
            counts = (
                partial(_counts.size_counts, pairs=pairs),
                *[lambda rows: _counts.cell_counts(rows, *place)] * 2,
                lambda rows: _counts.target_counts(replace(rows, y=rows.X[:, 0]), 0.0, 2.0),
                lambda rows: _counts.norm_counts(rows, scaling, d),
            )
            declared, _ = _tables.tables(10_000 if pairs else 10, d, 0.3)
            for (kind, (most, _)), count in zip(declared.items(), counts, strict=True):
                name = f"{kind}{' and pairs' * (pairs and kind == 'sizes')}"
                yield Move(f"columns: {name}", norm(*map(count, pair)) / most, where)
        if not np.isfinite(B[:own]).all():
            continue
        values = {j: np.array(["a", "b"]) for j in range(d)}
        codes = [
            replace(rows, X=np.nan_to_num(rows.X) % 3 * 2 % 3 // 1, occurring=values)
            for rows in pair
        ]
        one, other = (_columns.value_counts(rows) for rows in codes)
        moved = math.hypot(*[one.get(k, 0) - other.get(k, 0) for k in one.keys() | other.keys()])
        yield Move("columns: frequent values", moved / math.sqrt(2 * d), where)


@ignore_float_errors()
def sums_of_learners(wide=False):
    """Rows within a ball, sums of their products, and gradients."""
    rng, largest = np.random.default_rng(0), _rows.IntegerRows.sensitivity
    for k, (d, own, unit, A, B) in enumerate(neighbours(300 if wide else 50, rng)):
        sizes = None if unit is None else np.bincount(unit)[unit]
        norms = np.geomspace(0.1, 2.4, 5)
        scaling = _rows.Scaling(np.zeros(d), np.ones(d), norms[k % 5], [1.0, 2.5][k % 2])
        scaling = replace(scaling, tails=[1.0, 4.0][k % 3 == 0])
        where, drawn = (A.tolist(), B.tolist(), unit), np.random.RandomState(k)
        blocks = Blocks.draw(np.full(d, 1 / d), d, [0.0, 0.1, 0.66, 1.0][k % 4], (6, 7), 5, drawn)
        for functions in (None, blocks):
            parts = _gradients.blocks_of(np.vstack([A, B]), scaling, functions)
            squares = _rows.squared_norms(parts)
            yield Move("rows in the unit ball", squares.max() * (1 - 1e-12), where)
            W = rng.normal(size=(1 + k % 3, sum(part.shape[1] for part in parts) + 1))
            for loss, y in ((_gradients.Logistic(), k % 3), (_gradients.Squared(0.0, 1.0), 1.0)):
                if len(W) == 2 or (len(W) == 3 and loss != _gradients.Logistic()):
                    continue
                totals = []
                for X, label in ((A, y), (B, -1)):
                    labels = np.resize([label, 0], 6) * (loss == _gradients.Logistic())
                    labels = np.where(np.arange(6) < own, label, labels * 0)
                    objective = _gradients.Objective(scaling, functions, loss, 1 + k % 2)
                    rows = _gradients.GradientRows(rows_of(X, unit, labels), objective)
                    clip, batches = [1e-3, 0.5][k % 2], range(1 + k % 2)
                    totals.append(
                        [_gradients.gradient(rows, (k % 7) * W, clip, b) for b in batches]
                    )
                moves = [norm(*batch) for batch in zip(*totals, strict=True)]
                # A unit is in one batch alone.
                yield Move("gradients", sum(moves) / largest, where)
        factors = rng.choice(NUMBERS_OF_COLUMNS, (2, 6, 2))
        factors[1, own:] = factors[0, own:]
        if k < 20:  # the longest rows, in opposite directions
            long = 1.0 if k < 10 else 3.0  # of a group, too long together alone
            factors[:, :own] = np.array([[[long, 0.0]], [[-long, 0.0]]])
            A[:own] = B[:own] = np.eye(d)[0]
        totals = [
            _rows.IntegerRows([np.nan_to_num(np.clip(X, -1, 1))], sizes).total(
                np.zeros((2, d)), lambda _, f=f: f
            )
            for X, f in zip((A, B), factors, strict=True)
        ]
        yield Move("sums of products", norm(*totals) / largest, where)
        for X, steps in itertools.product((A, np.clip(A, -1, 1)), (1, 100, 2**20)):
            squares = (_rows.integer_rows(X, steps, unit).astype(object) ** 2).sum(axis=1)
            of_units = np.bincount(unit if own > 1 else np.arange(6), squares.astype(float))
            yield Move("integer rows", of_units.max() / (steps + 1) ** 2, where)


@ignore_float_errors()
def release_of_ridge(wide=False):
    """The integers of a ridge, whatever rows and targets a unit has."""
    for k, (d, own, unit, A, B) in enumerate(
        neighbours(60 if wide else 12, np.random.default_rng(0))
    ):
        if k == 0:  # what moves them furthest
            A = np.eye(6, 2) * (np.arange(6) < 1)[:, None]
            targets = np.array([1.0, *[0] * 5])
            pair = [(A, targets), (np.roll(A, 1, axis=1), -targets)]
        else:
            pair = [(X, np.resize([s, 0.5], 6) * s) for X, s in ((A, 1.0), (B, -1.0))]
            pair[1][1][own:] = pair[0][1][own:]
        model = PrivateRidge(y_bounds=(-1, 1), bounds=(-1, 1), max_norm=1.0)
        seen = []
        keep = lambda table: seen.append(table._open()) or seen[-1]  # noqa: E731
        with (
            patch.object(Mechanisms, "tables", lambda *_, keep=keep, **__: keep),
            patch.object(mechanisms, "gdp_within", lambda *_: 1.0),
        ):
            scales = [model.fit(X, y, unit).noise_ * RIDGE_STEPS**2 for X, y in pair]
        yield Move("ridge", norm(*seen) / min(scales), (pair, unit))


def curators(wide=False):
    """The rows of a curator, by the distance that its noise is for."""
    rng, loss = np.random.default_rng(0), (0.7, 1e-4)
    for k in range(200 if wide else 30):
        d, longest = 1 + k % 3, [None, 0.5, 0.1][k % 3]
        X = rng.normal(0, 1, (4, d)) * 10.0 ** rng.integers(-3, 3)
        Y = X.copy()
        far = rng.normal(size=d)
        Y[0] = X[0] + far / np.linalg.norm(far) * (1 if longest is None else 100)
        if longest:
            X[0] = -Y[0]
        released = []
        with patch.object(_curators.Spending, "tables", lambda *_, **__: Unchanged()):
            for rows in (X, Y):
                curator = GaussianCurator(*loss, max_norm=longest).fit(rows)
                released.append(curator.released_)
        distance_of_noise = curator.sigma_ / gaussian_sigma(*loss, 1.0)
        moved = float(np.linalg.norm(released[0] - released[1])) / distance_of_noise
        yield Move(f"curator, {longest or 'any'} norm", moved, (X.tolist(), Y.tolist()))


class Unchanged:
    """In the place of a mechanism: it adds no noise."""

    loss = None

    def __call__(self, table):
        return table._open()


# ------------------------------------------------------------------ sums that are the same for all
def sums(wide=False):
    """Sums of means and of moments, with steps of all kinds: the worst pairs of a grid."""
    rng, at = np.random.default_rng(0), np.arange(-64, 65) / 64
    for k in range(300 if wide else 40):
        steps = [int(2 ** rng.uniform(1, 20)) for _ in range(rng.choice([4, 5, 7]))]
        if len(steps) == 7:
            steps[5:] = np.minimum(steps[5:], steps[:2]).tolist()
        query, zero = Moments(0.0, 1.0, 1.0, tuple(steps)), np.zeros(len(at))
        errors, labels = (
            distance(query.record_values(y, p, None)) for y, p in ((zero, at), (at, at))
        )
        ratio = (errors + labels) / query.sensitivity(Units.of(1))
        yield Move("moments", ratio, steps)
    for steps, rows in itertools.product((1, 2, 3, 7, 64), (1, 2, 3)):
        query = MeanOf(None, (0.0, 1.0), steps=steps, spread=True)
        cells = list(itertools.product(range(steps + 1), repeat=rows if steps < 8 else 1))
        cells = [np.array(each) for each in cells]
        unit = None if rows == 1 else np.zeros(len(cells[0]), dtype=int)
        found = [query.statistics(each, None, Units(1, unit)) for each in cells]
        ratio = distance(found) / query.sensitivity(Units(1, unit))
        yield Move("gains with their spread", ratio, (steps, rows))
    classes = ClassSizes(np.arange(2), ("predict",)), universe("predict", 2)
    yield from searched("class sizes", *classes, (2, 12), (4, 4))


AREAS = {
    "rankings": (rankings, ["metrics/_ranking.py", "metrics/_metrics.py", "metrics/_registry.py"]),
    "slopes": (slopes, ["metrics/_ranking.py"]),
    "sums": (sums, ["metrics/_errors.py", "metrics/_queries.py", "records/units.py"]),
    "queries": (queries, ["metrics/", "records/units.py"]),
    "designs": (designs, ["metrics/", "records/units.py", "prediction/secret_fits.py"]),
    "thresholds": (thresholds, ["prediction/threshold_curve.py", "search/_threshold.py"]),
    "columns": (tables_of_columns, ["learners/_co", "learners/_tables.py"]),
    "learners": (sums_of_learners, ["learners/"]),
    "ridge": (release_of_ridge, ["learners/_ridge.py", "learners/_rows.py"]),
    "curators": (curators, ["papers/kharkovskii2020/"]),
}  # fmt: skip


def moves(files=None, wide=False) -> Iterator[Move]:
    """Yield the furthest moves, of what these files of the package count; None: of all."""
    for area, own in AREAS.values():
        if files is None or any(name.startswith(part) for name in files for part in own):
            yield from area(wide)


def furthest_by_name(area, wide=False):
    """Return the furthest move of each name in an area."""
    best = {}
    for move in AREAS[area][0](wide):
        if move.name not in best or not move.ratio <= best[move.name].ratio:
            best[move.name] = move
    return best


if __name__ == "__main__":
    import sys
    import time

    for area in sys.argv[1:] or AREAS:
        start = time.process_time()
        for name, move in furthest_by_name(area).items():
            print(f"{area:12} {move.ratio:8.4f} {name}")
        print(f"{area}: {time.process_time() - start:.1f} s of CPU")

"""How far one unit moves what is released, as a part of the declared sensitivity.

Each function yields such parts over few extreme data sets, and what they are of; more than 1 breaks
the guarantee. They judge mutants, so they have to be quick rather than thorough.
"""

import itertools
import math

import numpy as np

from sklearn_dpbo.learners import _counts, _ridge, _rows, _tables
from sklearn_dpbo.metrics import _agreement, _errors, _histogram, _pairs, _queries, _variance
from sklearn_dpbo.metrics._ranking import RankedConfusion, linear
from sklearn_dpbo.metrics._registry import OF_MATRIX
from sklearn_dpbo.metrics.evaluations import _design
from sklearn_dpbo.privacy.float_errors import ignore_float_errors
from sklearn_dpbo.records.units import Units

NAN = math.nan
TWO, THREE = np.arange(2), np.arange(3)
PARAMS = {"fbeta": [{"beta": 0.5}, {"beta": 3.0}], "cohen_kappa": [{}, {"weights": "quadratic"}]}
PARAMS |= {"fbeta_macro": [{"beta": 0.3}, {"beta": 3.0}]}


# ---------------------------------------------------------------- rankings of matrices
def of_rankings():
    """Of functions of the confusion matrix: all corners of matrices of 2 and of 100 records."""
    rng = np.random.default_rng(0)
    for name, metric in OF_MATRIX.items():
        if not callable(metric.order):
            continue
        sizes = (2, 2), (2, 100), (3, 100)
        for params, (K, m) in itertools.product(PARAMS.get(name, [{}]), sizes):
            if not (K == 3 and metric.of_one):
                own = params | ({"positive": 1} if metric.of_one else {})
                yield from of_ranking(name, metric, own, K, m, rng)
    query = RankedConfusion(TWO, linear(np.eye(2) / 3))
    yield from of_query(query, 20, list(itertools.product((0, 1, 9), repeat=2)), rng)


def of_ranking(name, metric, params, K, m, rng):
    """Of the rankings for even classes, and for rare ones."""
    units = np.eye(K * K).reshape(-1, K, K)
    sizes = np.array([m - 0.9 * (K - 1), *[0.9] * (K - 1)])
    for M in (np.full((K, K), 1.0), np.diag(sizes) + 1e-3, np.outer(sizes, np.ones(K)))[: 5 - K]:
        found = list(metric.order(M * m / M.sum(), **params))
        for ranking, C in itertools.product({found[0], found[-1]}, corners(K, m - 1, rng)):
            raised = [ranking(C + unit) for unit in units]
            yield (max(raised) - min(raised)) / ranking.width, (name, params, m, C.tolist())


def corners(K, m, rng):
    """Matrices of m records: in one or two cells, and some that are drawn."""
    for k, other in itertools.product(range(K * K), repeat=2):
        for n in {0, 1, m // 2} if K == 2 else {1}:
            C = np.zeros(K * K)
            C[k] += m - n
            C[other] += n
            yield C.reshape(K, K)
    for _ in range(4):
        yield rng.multinomial(m, rng.dirichlet(np.full(K * K, 0.1))).reshape(K, K)


# ---------------------------------------------------------------- queries
def of_query(query, m, records, rng, tries=8):
    """Replace one of m units, of one record or several, by units of any record."""
    y, response = (np.array(column) for column in zip(*records, strict=True))
    values = query.record_values(y, response, None)
    for sizes in ([1] * m, [1] * (m - 1) + [3], [2] * (m - 1) + [5], [7] * (m - 1) + [2]):
        grouped, own = max(sizes) > 1, sizes[-1]
        units = Units.of(sum(sizes), np.repeat(np.arange(m), sizes) if grouped else None)
        chosen = [[i] * own for i in range(len(y))] + [rng.integers(len(y), size=own).tolist()]
        for _ in range(tries):
            counts = rng.multinomial(sum(sizes) - own, rng.dirichlet(np.full(len(y), 0.1)))
            others = rng.permutation(np.repeat(np.arange(len(y)), counts)).tolist()
            found = np.array([
                query.statistics(values[[*others, *rows]], y[[*others, *rows]], units)
                for rows in chosen
            ], dtype=float)  # fmt: skip
            moved = np.abs(found[:, None] - found).sum(axis=-1).max()
            yield moved / query.sensitivity(units), (query, m, sizes[-1])
    if not isinstance(query, _agreement.Agreement):
        assert np.shape(query.lowest_values(y, len(y))) == np.shape(values)


EYE = [*map(tuple, np.eye(3)), (1 / 3,) * 3, (NAN,) * 3]
SCORES = [list(itertools.product((0, 1, 9), (0.1, 0.3, 0.9, NAN))),
          list(itertools.product((0, 1, 2, 9), EYE))]  # fmt: skip
ERRORS = list(itertools.product((-9.0, -0.6, 0.0, 1.0, NAN), (-9.0, -1.0, 0.3, 1.0, NAN)))
LABELS = list(itertools.product((0, 1, 2, 9), (0, 1, 2, 9)))
# The responses are cells of a confusion matrix, whose row is the label's.
BOTH = [((0, 1, 2, 9)[row], (3 * row + i, 3 * row + j))
        for row, i, j in itertools.product(range(4), range(3), range(3))]  # fmt: skip


def of_orders():
    """Of what depends on the order of scores."""
    one, all_of_three = (TWO, (1,)), (THREE, (0, 1, 2))
    queries = [
        (_pairs.Pairs(*one, (0.3,), 0.6), SCORES[0]), (_pairs.Pairs(*one, (0.5,)), SCORES[0]),
        (_pairs.PairCounts(*one, (0.5,)), SCORES[0]),
        (_pairs.PrecisionSum(*one, (0.1,)), SCORES[0]),
        (_pairs.PairCounts(*one, (0.3,), 0.6), SCORES[0]),
        (_pairs.Pairs(*all_of_three, (1 / 3,) * 3), SCORES[1]),
        (_pairs.MeanArea(*all_of_three, (0.01, 0.01, 0.98)), SCORES[1]),
        (_pairs.MeanArea(*all_of_three, (1 / 3,) * 3), SCORES[1]),
    ]  # fmt: skip
    yield from of_queries(queries, (1, 2, 3, 30))


def of_sums():
    """Of sums over records and of counts."""
    gain, right = lambda y, r, _: -abs(y - r), lambda y, r, _: (y == r) * 1.0  # noqa: E731
    grid, histogram = _queries.GRID, _histogram.ScoreHistogram
    bins = (0.3, 0.6)
    queries = [
        (_errors.Moments(0.5, 0.5, 1.0, _design._STEPS), ERRORS),
        (_errors.Moments(0.0, 1.0, 2.0, _design._STEPS[:5]), ERRORS),
        (_errors.Moments(0.0, 1.0, 1.0, _variance._STEPS), ERRORS),
        (_variance.ErrorVariance(0.0, 1.0, 1.0, (grid,) * 4), ERRORS),
        (_errors.ErrorHistogram((0.5, 8.0)), ERRORS),
        (_queries.MeanOf(gain, (-1.0, 0.0)), ERRORS),
        (_queries.MeanOf(gain, (-1.0, 0.0), spread=True), ERRORS),
        (_queries.MeanOf(right, (0.0, 1.0), steps=1), LABELS),
        (_queries.Confusion(THREE), LABELS),
        (_queries.ClassSizes(THREE, ("predict",)), LABELS),
        (histogram((bins,), TWO, (1,), ("p",)), SCORES[0]),
        (histogram((bins,) * 3, THREE, (0, 1, 2), ("p",)), SCORES[1]),
        (_agreement.Agreement((), THREE), BOTH), (_agreement.Agreement((), THREE, False), BOTH),
    ]  # fmt: skip
    yield from of_queries(queries, (1, 2, 30))


def of_queries(queries, sizes):
    """Of each query, for so many units."""
    rng = np.random.default_rng(0)
    for m, (query, records) in itertools.product(sizes, queries):
        yield from of_query(query, m, records, rng, tries=3)


# ---------------------------------------------------------------- tables of learners
ANY = np.array([0, 1, -1, 0.5, 0.7, NAN, np.inf, -np.inf, 1e308, 1e-300, 3.0, 1 / 3])


def norm(a, b):
    """The Euclidean distance of two tables of integers."""
    return math.sqrt(((a.astype(object) - b.astype(object)) ** 2).sum())


@ignore_float_errors()
def of_learners():
    """Of what learners count and sum: one unit of six rows, or of three groups, is replaced."""
    rng = np.random.default_rng(0)
    for case in range(48):
        unit = np.array([0, 0, 0, 1, 2, 2]) if case % 2 else None
        own = slice(0, 3 if case % 2 else 1)
        A, y = rng.choice(ANY, (6, 1 + case % 3)), np.clip(np.nan_to_num(rng.choice(ANY, 6)), -1, 1)
        B, z = A.copy(), y.copy()
        B[own], z[own] = rng.choice(ANY, B[own].shape), rng.choice([1.0, -1.0])
        if case < 16:
            A[own], B[own], y[own], z[own] = 5.0, 0.0, 1.0, -1.0
            A[own, 1:] = 1e300
        pair = _rows.Rows(A, y, unit, {}), _rows.Rows(B, z, unit, {})
        yield from of_counts(pair, A.shape[1])
        yield from of_products(pair, A.shape[1])
        yield from of_factors(pair, rng, case < 16)


def of_counts(pair, d):
    """Of the tables that say where values lie, for few records and for many."""
    zeros, ones, two = np.zeros(d), np.ones(d), np.full(d, 2)
    for m in (10, 10**6):
        declared, pairs = _tables.tables(m, d, 0.3)
        scaling = _rows.Scaling(zeros, ones, reach=2.5)
        counts = [
            lambda rows, pairs=pairs: _counts.size_counts(rows, pairs),
            *[lambda rows, w=w: _counts.cell_counts(rows, zeros, ones * w, two) for w in (1, 0.1)],
            lambda rows, scaling=scaling: _counts.norm_counts(rows, scaling, d),
        ]
        for i, (count, (sensitivity, _)) in enumerate(zip(counts, declared, strict=True)):
            yield norm(*map(count, pair)) / sensitivity, ("table", i, m)


def of_products(pair, d):
    """Of the sums that a ridge releases, and of the rows that they are made of."""
    steps = (_ridge._STEPS, _ridge._STEPS // 2, _ridge._STEPS // 2)
    b, c = (steps[0] + 1) ** 2, (steps[1] + 1) ** 2
    scaling = _rows.Scaling(np.zeros(d), np.ones(d), reach=2.5)
    sums = [_rows.sums_of_products(rows, scaling, steps) for rows in pair]
    yield norm(*sums) / math.sqrt((b + 2 * c) ** 2 + b**2), "sums of products"
    for rows in pair:
        length = np.sqrt((scaling.rows(rows.X) ** 2).sum(axis=1)).max()
        yield length - 1e-12, "rows in the unit ball"
        squares = (_rows.integer_rows(rows.X, 100, rows.unit).astype(object) ** 2).sum(axis=1)
        of_unit = squares if rows.unit is None else np.add.reduceat(squares, [0, 3, 4])
        yield max(of_unit) / 101**2, "integer rows"


def of_factors(pair, rng, opposite):
    """Of the sums of gradients."""
    factors = [rng.choice(ANY, (6, 2)) for _ in pair]
    own = slice(0, 3 if pair[0].unit is not None else 1)
    factors[1][own.stop :] = factors[0][own.stop :]
    tables = [np.clip(np.nan_to_num(rows.X), -1, 1) for rows in pair]
    if opposite:
        for sign, table, factor in zip((1, -1), tables, factors, strict=True):
            table[own], factor[own] = np.eye(table.shape[1])[0], [sign, 0.0]
    totals = [
        _rows.IntegerRows([table], rows.sizes).total(factor)
        for table, rows, factor in zip(tables, pair, factors, strict=True)
    ]
    yield norm(*totals) / _rows.IntegerRows.sensitivity, "sums of gradients"


CHECKS = (of_rankings, of_orders, of_sums, of_learners)

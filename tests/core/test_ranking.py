"""How candidates are ranked where there is little noise: like the metric, and moved as promised."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import (
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
)
from sklearn_dpbo.metrics._metrics import AVERAGES
from sklearn_dpbo.metrics._pairs import MeanArea, PrecisionSum
from sklearn_dpbo.metrics._queries import GRID, ClassSizes, Confusion
from sklearn_dpbo.metrics._ranking import RankedConfusion, linear
from sklearn_dpbo.metrics._registry import OF_MATRIX
from sklearn_dpbo.metrics._response import Predictions
from sklearn_dpbo.metrics._variance import ErrorVariance
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.records.units import Units

# Parameters, where there are.
PARAMS = {
    "fbeta": [{"beta": 0.5}, {"beta": 2.0}],
    "cohen_kappa": [{}, {"weights": "quadratic"}],
    **{f"fbeta_{average}": [{"beta": 3.0}] for average in AVERAGES},
}
# Metrics whose order depends on the sizes of classes in another way than a weight for each.
FAITHFUL = [
    (name, params)
    for name, metric in OF_MATRIX.items()
    if callable(metric.order)
    for params in PARAMS.get(name, [{}])
]
IDS = ["-".join([name, *map(str, params.values())]) for name, params in FAITHFUL]
# With numbers of classes and of records: those of one class are for two classes.
CASES = [
    pytest.param(name, params, K, most, id=f"{K}-{most}-{label}")
    for (name, params), label in zip(FAITHFUL, IDS, strict=True)
    for K, most in [(2, 7), (3, 3)]
    if K == 2 or not OF_MATRIX[name].of_one
]


def own(name, params):
    """What functions of a metric get beside a matrix."""
    return params | ({"positive": 1} if OF_MATRIX[name].of_one else {})


def rankings(name, M, **params):
    return OF_MATRIX[name].order(M, **own(name, params))


def matrices(K, m):
    """All confusion matrices of m records."""
    for cells in itertools.combinations_with_replacement(range(K * K), m):
        yield np.bincount(cells, minlength=K * K).reshape(K, K).astype(float)


def rise(ranking, C, unit):
    return ranking(C + unit) - ranking(C)


# ---------------------------------------------------------------- sensitivity
@pytest.mark.parametrize(("name", "params", "K", "most"), CASES)
def test_one_more_record_raises_a_ranking_by_the_width_at_most(name, params, K, most, rng):
    """Brute force: all matrices, for class sizes that are right, and for others."""
    units = np.eye(K * K).reshape(-1, K, K)
    for m in (2, most):
        M = rng.uniform(0.1, 3, (K, K))
        M *= m / M.sum()
        for ranking in itertools.islice(rankings(name, M, **params), 4):
            for C in matrices(K, m - 1):
                rises = [rise(ranking, C, unit) for unit in units]
                assert min(rises) > -1e-9 and max(rises) < ranking.width * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(FAITHFUL), st.integers(2, 4))
def test_a_group_raises_a_ranking_by_no_more_than_a_record(seed, metric, K):
    rng = np.random.default_rng(seed)
    name, params = metric
    K = 2 if OF_MATRIX[name].of_one else K
    m = int(rng.integers(2, 200))
    M = rng.dirichlet(np.full(K * K, 0.3)).reshape(K, K) * m + 1e-3
    C = rng.dirichlet(np.full(K * K, 0.2)).reshape(K, K) * (m - 1)
    for ranking in rankings(name, M, **params):
        for share in (1.0, 0.05):
            unit = rng.dirichlet(np.full(K * K, share)).reshape(K, K)
            assert -1e-6 < rise(ranking, C, unit) / ranking.width < 1 + 1e-6


def test_a_tiny_beta_divides_by_nothing():
    (ranking,) = rankings("fbeta", np.array([[240.0, 10], [10, 240]]), beta=1e-9)
    all_right = np.array([[250.0, 0], [10, 240]])
    rises = [rise(ranking, all_right, unit) for unit in np.eye(4).reshape(-1, 2, 2)]
    assert min(rises) > -1e-9 and max(rises) < ranking.width * (1 + 1e-9)


@pytest.mark.parametrize("m", [2, 20])
def test_matrices_of_released_shares_are_of_all_units(m):
    """Shares are at least half a unit each; kappa's width needs that all add up to 1."""
    scorer = make_private_scorer("cohen_kappa").prepare(np.arange(50))
    shares = np.zeros(50)
    shares[0] = 1.0
    assert scorer.of_shares(shares, m).matrix.sum() == pytest.approx(1)
    ranks = make_private_scorer("roc_auc_ovr").prepare(np.arange(50)).of_shares(shares, m)
    assert min(ranks.shares) > 0 and max(ranks.shares) < 1


def test_one_candidate_is_no_reason_to_take_any_noise():
    """Where the number of models is secret, copies of one candidate are compared."""
    scorer = adapted("f1", np.array([[800, 100], [50, 50]]))
    assert scorer.for_choice(Units.of(1000), 1, 0.1) is scorer


def test_the_width_of_f1_is_reached():
    """More noise than needed would be no defect of privacy, but one of utility."""
    (ranking,) = rankings("f1", np.array([[80.0, 10.0], [10.0, 10.0]]))
    assert ranking.width == pytest.approx(1 / 20)
    none = np.array([[80.0, 0.0], [19.0, 0.0]])
    assert rise(ranking, none, np.array([[0.0, 0], [0, 1]])) == pytest.approx(1 / 20)


@pytest.mark.parametrize("kind", [PrecisionSum, MeanArea])
def test_one_record_moves_rankings_of_orders_by_the_sensitivity_at_most(kind):
    """Brute force: all orders with ties of up to 5 records, each replaced by any other."""
    classes, ends = np.arange(2 if kind is PrecisionSum else 3), 3
    largest = 0.0
    for m in (2, 4, 5) if kind is PrecisionSum else (2, 3):
        units = Units.of(m)
        shares = (0.4,) if kind is PrecisionSum else (0.2, 0.3, 0.5)
        positives = (1,) if kind is PrecisionSum else (0, 1, 2)
        query = kind(classes, positives, shares)
        records = [
            (y, s)
            for y in classes
            for s in itertools.product(range(ends), repeat=1 if kind is PrecisionSum else 2)
        ]

        def statistic(some):
            y = np.array([label for label, _ in some])
            s = np.array([[*score, 1.0][: len(positives)] for _, score in some], dtype=float)
            return query.statistics(s, y, units)[0]

        for others in itertools.combinations_with_replacement(records, m - 1):
            found = [statistic([*others, record]) for record in records]
            assert min(found) >= 0 and max(found) <= query.largest(units)
            largest = max(largest, (max(found) - min(found)) / query.sensitivity(units))
    assert 0.5 < largest <= 1


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([PrecisionSum, MeanArea]))
def test_a_group_moves_rankings_of_orders_by_the_sensitivity_at_most(seed, kind):
    rng = np.random.default_rng(seed)
    binary = kind is PrecisionSum
    K, n = (2, 30) if binary else (3, 30)
    positives, shares = ((1,), (0.3,)) if binary else ((0, 1, 2), (0.2, 0.3, 0.5))
    query = kind(np.arange(K), positives, shares)
    groups = rng.integers(0, 8, n)
    groups[:8] = np.arange(8)
    units = Units.of(n, groups)
    statistics = []
    y, s = rng.integers(0, K, n), rng.integers(0, 9, (n, len(positives))).astype(float)
    for _ in range(2):
        mine = groups == 3
        y[mine] = rng.integers(0, K)
        s[mine] = rng.choice([-1.0, 99.0], (mine.sum(), len(positives)))
        statistics.append(query.statistics(s, y, units)[0])
    assert abs(statistics[0] - statistics[1]) <= query.sensitivity(units)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 9), st.booleans())
def test_one_unit_moves_the_variance_of_errors_by_the_sensitivity_at_most(seed, m, grouped):
    rng = np.random.default_rng(seed)
    query = ErrorVariance(0.0, 1.0, 1.0, (GRID,) * 4)
    groups = np.repeat(np.arange(m), 2) if grouped else np.arange(m)
    units = Units.of(len(groups), groups if grouped else None)
    errors = rng.choice([-1.0, 0.3, 1.0, rng.uniform(-2, 2)], len(groups))
    statistics = []
    for _ in range(2):
        errors[groups == 0] = rng.choice([-1.0, 1.0, rng.uniform(-2, 2)], (groups == 0).sum())
        values = query.record_values(errors, np.zeros(len(errors)), None)
        statistics.append(query.statistics(values, errors, units)[0])
    assert abs(statistics[0] - statistics[1]) <= query.sensitivity(units)
    assert min(statistics) >= 0 and max(statistics) <= query.largest(units)


def test_the_width_of_the_variance_of_errors_is_reached():
    query, units = ErrorVariance(0.0, 1.0, 1.0, (GRID,) * 4), Units.of(1000)
    alike, other = -np.ones(1000), np.r_[1.0, -np.ones(999)]
    moved = [
        query.statistics(query.record_values(e, np.zeros(1000), None), e, units)[0]
        for e in (alike, other)
    ]
    assert 0.99 * query.sensitivity(units) < moved[0] - moved[1] <= query.sensitivity(units)


def test_rounding_leaves_a_step_to_spare():
    ranking = linear(np.array([[1.0, 0.0], [0.0, 1.0]]) / 3)
    query, units = RankedConfusion(np.arange(2), ranking), Units.of(1000)
    y = np.arange(1000) % 2
    right = query.record_values(y, y, None)
    wrong = query.record_values(y, np.r_[1 - y[:1], y[1:]], None)
    moved = query.statistics(right, y, units)[0] - query.statistics(wrong, y, units)[0]
    assert GRID - 1 <= moved <= GRID + 1 < query.sensitivity(units) == GRID + 2


# ---------------------------------------------------------------- the order
def adapted(name, C, **params):
    """The score, once a matrix has been released without noise."""
    y, predicted = (np.repeat(i.ravel(), C.ravel().astype(int)) for i in np.indices(C.shape))
    scorer = make_private_scorer(name, **params).prepare(y)
    scorer = scorer.choice(Predictions(y, predicted, None))
    return scorer.adapt(without_unknown(C, 1e-6), Units.of(len(y)))


def without_unknown(C, scale):
    """A released confusion matrix; no record has an unknown label."""
    return NoisyCounts((*C.ravel().astype(int), *[0] * len(C)), scale)


@pytest.mark.parametrize(("name", "params", "K", "_"), CASES)
def test_without_noise_candidates_are_ranked_as_the_metric_ranks_them(name, params, K, _, rng):
    sizes = rng.integers(5, 400, K)
    rates = rng.dirichlet(np.ones(K), (60, K))
    every = [np.array(list(map(rng.multinomial, sizes, each))) for each in rates]
    scorer, units = adapted(name, every[0], **params), Units.of(int(sizes.sum()))
    chosen = scorer.for_choice(units, len(every), 1e9)
    exact = OF_MATRIX[name].of(np.array(every, dtype=float), None, **own(name, params))
    ranks = []
    for C in every:
        y, predicted = (np.repeat(i.ravel(), C.ravel()) for i in np.indices(C.shape))
        values = chosen.query.record_values(y, predicted, None)
        ranks.append(chosen.query.statistics(values, y, units)[0])
    order = np.argsort(ranks)
    assert np.diff(exact[order]).min() > -1e-4
    if "micro" not in name:  # and not by a line: its best is another
        assert chosen.query.ranking.slope != 0 and chosen is not scorer


def test_with_much_noise_candidates_are_ranked_by_the_line():
    scorer, units = adapted("f1", np.array([[800, 100], [50, 50]])), Units.of(1000)
    assert scorer.for_choice(units, 8, 0.1) is scorer
    assert scorer.for_choice(units, 8, 100.0) is not scorer


def test_average_precision_and_area_are_those_of_scikit_learn(rng):
    y, s = (rng.random(400) < 0.2).astype(int), np.round(rng.normal(size=400), 1)
    units = Units.of(400)
    scorer = make_private_scorer("average_precision").prepare(y)
    scorer = replace(scorer, adapted=True).for_choice(units, 8, 1e9)
    assert isinstance(scorer.query, PrecisionSum)
    values = scorer.query.record_values(y, s, None)
    (statistic,) = scorer.query.statistics(values, y, units)
    total = statistic * scorer.line(units)[1] * y.sum()
    exact = metrics.average_precision_score(y, s) * y.sum()
    assert total - math.log1p(400) * (y == 0).sum() == pytest.approx(exact, abs=1e-3)
    y, s = rng.integers(0, 3, 400), rng.dirichlet(np.ones(3), 400)
    scorer = make_private_scorer("roc_auc_ovr").prepare(y)
    scorer = replace(scorer, adapted=True).for_choice(units, 8, 1e9)
    values = scorer.query.record_values(y, s, None)
    (statistic,) = scorer.query.statistics(values, y, units)
    exact = metrics.roc_auc_score(y, s, multi_class="ovr")
    assert statistic * scorer.line(units)[1] == pytest.approx(exact, abs=1e-4)


# ---------------------------------------------------------------- what is released first
@pytest.mark.parametrize(("scale", "near"), [(1e-3, 0.01), (1e4, None)])
def test_released_counts_replace_public_ones_as_far_as_noise_says(scale, near):
    y = np.repeat([0, 1], [900, 100])
    scorer = make_private_scorer("f1").prepare(y).choice(Predictions(y, y, None))
    M = np.array([[500, 100], [100, 300]])
    found = scorer.adapt(without_unknown(M, scale), Units.of(1000))
    expected = M if near else np.array([[900, 0], [0, 100]])
    assert found.matrix * 1000 == pytest.approx(expected, abs=near or 2)
    assert found.shares == pytest.approx(expected.sum(axis=1) / 1000, abs=5e-3)


def test_sizes_of_classes_are_counted():
    query = ClassSizes(np.array(["a", "b"]), ("predict",))
    y = np.array(["a", "b", "b", "unknown"])
    values = query.record_values(y, np.zeros(4), None)
    assert query.statistics(values, y, Units.of(4)) == (1, 2, 1)
    assert query.sensitivity(Units.of(4)) == 2 == Confusion(query.classes).sensitivity(Units.of(4))


def searched(data, grid, scoring, epsilon=10.0):
    X, y, X_val, y_val = data
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": grid}, epsilon=epsilon, scoring=scoring
    )
    return search.fit(X, y, X_val=X_val, y_val=y_val)


def purposes(result):
    return [loss.purpose for loss in result.privacy_.spends]


def test_counts_for_the_choice_are_released_first_and_shown(two_classes):
    search = searched(two_classes, [1e-4, 1.0], "f1")
    first, choice, score = search.privacy_.spends
    assert first.purpose == "confusion matrix, to compare candidates by"
    assert first.epsilon == pytest.approx(0.6) and choice.epsilon == pytest.approx(5.4)
    assert first.epsilon + choice.epsilon + score.epsilon <= 10
    assert search.choice_counts_.sum() == pytest.approx(len(two_classes[3]), abs=30)
    assert "choice_counts_" in str(search.privacy_.to_dict()["released"])


@pytest.mark.parametrize(
    ("grid", "scoring", "epsilon"),
    [([1.0], "f1", 10.0), ([1e-4, 1.0], "f1", 0.1), ([1e-4, 1.0], "accuracy", 10.0)],
    ids=["one candidate", "few records", "accuracy"],
)
def test_nothing_is_released_for_a_choice_that_does_not_need_it(
    two_classes, grid, scoring, epsilon
):
    search = searched(two_classes, grid, scoring, epsilon)
    assert search.choice_counts_ is None
    assert not any("compare" in purpose for purpose in purposes(search))


def test_thresholds_and_objectives_release_counts_first(two_classes, objective_of):
    X, y, X_val, y_val = two_classes
    tuned = PrivateThresholdClassifier(LogisticRegression(), epsilon=10.0)
    tuned.fit(X, y, X_val=X_val, y_val=y_val)
    assert tuned.choice_counts_.shape == (2, 2)
    objective = objective_of(scoring="f1", epsilon=1000.0, n_calls=2)
    for C in (1e-4, 1.0):
        objective({"C": C})
    assert objective.best().params == {"C": 1.0}
    assert "confusion matrix, to compare candidates by" in purposes(objective)

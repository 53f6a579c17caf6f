"""How candidates are ranked where there is little noise: like the metric, and moved as promised."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import (
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
)
from sklearn_dpbo.metrics._metrics import AVERAGES
from sklearn_dpbo.metrics._pairs import PrecisionSum
from sklearn_dpbo.metrics._queries import GRID, ClassSizes, Confusion
from sklearn_dpbo.metrics._ranking import RankedConfusion, linear, matthews_rankings
from sklearn_dpbo.metrics._registry import OF_MATRIX
from sklearn_dpbo.metrics._response import Predictions
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


# ---------------------------------------------------------------- special cases
@pytest.mark.slow
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


@pytest.mark.first(9)
@pytest.mark.parametrize(("name", "params", "K", "_"), CASES)
def test_without_noise_candidates_are_ranked_as_the_metric_ranks_them(name, params, K, _, rng):
    sizes = rng.integers(5, 400, K)
    rates = rng.dirichlet(np.ones(K), (60, K))
    every = [np.array(list(map(rng.multinomial, sizes, each))) for each in rates]
    scorer, units = adapted(name, every[0], **params), Units.of(int(sizes.sum()))
    chosen = scorer.for_choice(units, len(every), 1e9)
    exact = OF_MATRIX[name].function(np.array(every, dtype=float), None, **own(name, params))
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


@pytest.mark.slow
def test_thresholds_release_counts_first(two_classes):
    X, y, X_val, y_val = two_classes
    tuned = PrivateThresholdClassifier(LogisticRegression(), epsilon=10.0)
    tuned.fit(X, y, X_val=X_val, y_val=y_val)
    assert tuned.choice_counts_.shape == (2, 2)


def test_an_unknown_label_moves_a_ranking_as_little_as_others():
    """Also where the lowest slopes of classes lie further apart than those of one class."""
    ranking = linear(np.array([[1.0, 0.0], [11.0, 10.0]]))
    query, units = RankedConfusion(classes=np.arange(2), ranking=ranking), Units(3)
    rest = np.array([1, 0, 0, 1, 0, 0])
    found = [query.of_counts(rest + cell, units)[0] for cell in np.eye(6, dtype=np.int64)]
    assert np.ptp(found) <= query.sensitivity(units)


def test_matthews_moves_no_further_than_declared_where_classes_are_not_predicted():
    """With the highest floor: of four classes, what two columns differ by is more than of two."""
    *_, ranking = matthews_rankings(np.full((4, 4), 0.75))
    C = np.diag([0.0, 7.0, 0.0, 1.0])
    C[0, 3] = 3.0
    moved = np.ptp([ranking(C + unit.reshape(4, 4)) for unit in np.eye(16)])
    assert moved <= ranking.width


def test_tables_of_labels_have_cells_of_unknown_ones_unless_they_are_left_out():
    query = Confusion(np.arange(2))
    assert query.sizes == (6,) and replace(query, unknown=False).sizes == (4,)
    assert query.statistics(np.array([0, 4, 5]), np.zeros(3), Units(3)) == (1, 0, 0, 0, 1, 1)

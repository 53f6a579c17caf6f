"""The sum of g (1 - g) beside the sum of gains g: what it is, and that it costs nothing."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import PrivateBayesSearchCV, PrivateThresholdClassifier, make_private_scorer
from sklearn_dpbo.metrics._queries import GRID, MeanOf, spread_of
from sklearn_dpbo.records.units import Units


def sums(values, units, steps=GRID):
    counted = MeanOf(None, (0.0, 1.0), steps=steps, spread=True)
    return np.array(counted.statistics(np.array(values), None, units))


def test_on_the_grid_of_the_package_sum_and_difference_never_fall():
    """For two gains k > k', |dk| + |dh| is the change of k + h or of k - h: at most G in all."""
    k = np.arange(GRID + 1)
    h = spread_of(k, GRID)
    for path in (k + h, k - h):
        assert np.diff(path).min() >= 0 and (path[0], path[-1]) == (0, GRID)
    assert abs(h - k * (1 - k / GRID)).max() <= 0.5 + 1e-9


def test_the_second_sum_is_that_of_the_means_of_units():
    g, groups = np.array([0.1, 0.7, 0.4, 1.0, 0.0]), [0, 0, 1, 2, 2]
    k = np.rint(g * GRID).astype(np.int64)
    assert list(sums(k, Units.of(5)) / GRID) == pytest.approx([2.2, (g * (1 - g)).sum()])
    means = np.array([0.4, 0.4, 0.5])
    found = sums(k, Units.of(5, groups)) / GRID
    assert list(found) == pytest.approx([1.3, (means * (1 - means)).sum()])


@pytest.mark.parametrize(
    ("scoring", "groups", "n"),
    [("accuracy", False, 1), ("accuracy", True, 2), ("neg_brier_score", False, 2)],
)
def test_a_search_releases_it_unless_every_gain_is_at_a_bound(two_classes, scoring, groups, n):
    X, y, X_val, y_val = two_classes
    search = PrivateBayesSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0]}, scoring=scoring, epsilon=1.0, refit=False
    )
    groups_val = np.arange(len(y_val)) // 2 if groups else None
    search.fit(X, y, X_val=X_val, y_val=y_val, groups_val=groups_val)
    (score,) = [each for each in search.privacy_.spends if "score" in each.purpose]
    assert score.mechanism == "discrete Laplace noise" + " on 2 counts" * (n - 1)


def test_it_is_no_part_of_what_ranks_candidates():
    scorer = make_private_scorer("neg_brier_score").prepare([0, 1])
    assert not scorer.query.spread and scorer.counts.spread
    root = make_private_scorer("neg_root_mean_squared_error").prepare(np.arange(9.0))
    assert not root.query.spread and not root.with_bounds(np.arange(9.0), (), 9, 9).query.spread


def test_a_threshold_releases_it(two_classes):
    X, y, X_val, y_val = two_classes
    cost = make_private_scorer("neg_cost", cost_matrix=[[0, 1], [5, 0]])
    tuned = PrivateThresholdClassifier(LogisticRegression(), scoring=cost, thresholds=16)
    tuned.fit(X, y, X_val=X_val, y_val=y_val)
    assert tuned.privacy_.spends[-1].mechanism == "discrete Laplace noise on 2 counts"

"""Scores after a choice: where they lie in the population; and a choice without a score."""

from dataclasses import replace

import numpy as np
import pytest
from few import few
from scipy.stats import beta, binom, norm
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo import PrivateBayesSearchCV, PrivateThresholdClassifier, make_private_scorer
from sklearn_dpbo.metrics._of_counts import ConfusionScore
from sklearn_dpbo.metrics._population import population_interval
from sklearn_dpbo.prediction.secret_fits import SecretFit
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.privacy.runs import Composed, Repeated
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.search._one_table import Plan
from sklearn_dpbo.strategies import WorstCase
from sklearn_dpbo.testing import seeded_noise

NOISELESS = 1e-3  # a scale of noise that is always 0
ACCURACY = make_private_scorer("accuracy").prepare([0, 1])
BRIER = make_private_scorer("neg_brier_score").prepare([0, 1])


def after_choice(k, m, T, scale=NOISELESS):
    return population_interval(ACCURACY, Units.of(m), NoisyCounts((int(k),), scale), T)


@pytest.mark.parametrize(("k", "m", "T"), [(0, 30, 1), (17, 30, 8), (30, 30, 64), (480, 500, 256)])
def test_without_noise_of_gains_of_0_and_1_it_is_the_interval_of_clopper_and_pearson(k, m, T):
    """After a choice, with half of the probability that the lower end may miss by."""
    outside = 0.025 / T if T == 1 else 0.0125 / T
    low = beta.ppf(outside, k, m - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, m - k) if k < m else 1.0
    assert after_choice(k, m, T) == pytest.approx((low, high), abs=1e-9)


def missed_below(lows, p, m, T, noise):
    """The probability that the lower ends for noisy counts from -r to m + r exceed p.

    All T candidates have the probability p to be right, independently: the worst case.
    """
    chosen = np.diff(binom.cdf(np.arange(m + 1), m, p) ** T, prepend=0.0)  # of the largest of T
    return np.convolve(chosen, noise)[lows > p].sum()


@pytest.mark.first(1)
@pytest.mark.parametrize(("m", "scale"), [(20, 2.5), (150, 0.5), (150, 5.0)])
@pytest.mark.parametrize("T", few([8, 1_000], 1_000))
def test_the_luckiest_of_equal_candidates_is_covered_exactly(m, scale, T):
    """The lower end is: not if the noise joins the sampling error in quadrature."""
    reach = int(12 * scale) + 3
    z, k = np.arange(-reach, reach + 1), np.arange(-reach, m + reach + 1)
    noise = np.exp(-abs(z) / scale)
    lows = np.array([after_choice(x, m, T, scale)[0] for x in k])
    share, apart = np.clip(k, 0, m) / m, NoisyCounts((0,), scale).interval(0.95)[0][1] / m
    alone = beta.ppf(0.025 / T, np.maximum(k.clip(0, m), 1e-9), m - k.clip(0, m) + 1)
    for ends, misses in ((lows, False), (share - np.hypot(share - alone, apart), True)):
        found = [missed_below(ends, p, m, T, noise / noise.sum()) for p in np.linspace(0, 1, 51)]
        assert (max(found) > 0.025) == misses


@pytest.mark.slow
@pytest.mark.parametrize("T", [1, 64])
def test_the_upper_end_misses_no_more_often_for_a_choice(T):
    """Even if the choice has noise: of candidates of different quality, whatever they have."""
    m, n, scale, rng = 100, 20_000, 3.0, np.random.default_rng(0)
    p = np.linspace(0.7, 0.8, T)
    counts = rng.binomial(m, p, (n, T))
    chosen = np.argmax(counts + rng.exponential(5.0, (n, T)), axis=1)
    noise = NoisyCounts((0,), scale).noise(n, rng)[:, 0]
    highs = np.array([after_choice(x, m, 1, scale)[1] for x in range(-60, 161)])
    assert (np.diff(highs) >= -1e-12).all(), "the proof needs ends that rise with the count"
    released = counts[np.arange(n), chosen] + noise
    assert np.mean(highs[released + 60] < p[chosen]) <= 0.025 + 3 * np.sqrt(0.025 / n)


def of_gains(g, T=1, scale=NOISELESS, scorer=BRIER):
    """The interval for the mean of these gains in [0, 1]."""
    G, g = 2**20, np.asarray(g)
    counts = round(g.sum() * G), round((g * (1 - g)).sum() * G)
    found = population_interval(scorer, Units.of(len(g)), NoisyCounts(counts, scale * G), T)
    return np.array(found) + 1


def test_the_second_sum_says_how_precise_a_mean_is(rng):
    g = rng.beta(8, 2, 2_000)
    low, high = of_gains(g)
    assert high - low == pytest.approx(2 * 1.96 * g.std() / np.sqrt(len(g)), rel=0.05)
    worst = np.repeat([1.0, 0.0], [1_600, 400])  # of the same mean
    assert np.ptp(of_gains(worst)) > 2 * (high - low)


def test_noise_in_the_second_sum_never_shortens_the_interval_to_nothing(rng):
    for mean in (0.0, 0.5, 1.0):
        low, high = of_gains(np.full(300, mean), scale=50.0)
        assert 0 <= low <= mean <= high <= 1 and high - low > 0.1


def test_only_the_lower_end_depends_on_the_choice(rng):
    g = rng.beta(8, 2, 500)
    ends = np.array([of_gains(g, T) for T in (1, 8, 64, 256)])
    assert (np.diff(ends[:, 0]) < 0).all() and np.ptp(ends[:, 1]) == 0


def test_nothing_is_claimed_after_a_choice_among_an_unknown_number():
    assert np.isnan(after_choice(5, 10, None)).all()


@pytest.mark.parametrize("name", ["f1", "roc_auc", "matthews_corrcoef"])
def test_scores_of_counts_have_a_longer_lower_end_after_a_choice(name, rng):
    y = rng.integers(0, 2, 400)
    scorer = make_private_scorer(name).prepare(y)
    if name == "roc_auc":
        scorer = scorer.release()  # pairs
        counts = (int(0.9 * 2 * 200 * 200), scorer.counts._times(Units.of(400)) * 200, 0)
    else:
        counts = (160, 40, 30, 170, 0, 0)
    T = (1, 8, 64)
    noisy = NoisyCounts(counts, NOISELESS)
    (one, some, many) = (population_interval(scorer, Units.of(400), noisy, n) for n in T)
    assert many[0] < some[0] < one[0] < one[1] == many[1]
    below = [scorer.value(counts, Units.of(400)) - low for low, _ in (one, many)]
    further = norm.ppf(0.0125 / 64) / norm.ppf(0.025)
    assert below[1] / below[0] == pytest.approx(further, rel=0.15)
    others = population_interval(scorer, Units.of(400), noisy, 64, selects=False)
    assert others[1] > many[1], "luck may have moved a score that does not select either way"


def test_accuracy_from_a_confusion_matrix_is_as_precise_as_one_count():
    counted = ConfusionScore.of("accuracy", {}).prepare([0, 1])
    noisy = NoisyCounts((400, 100, 100, 400, 0, 0), NOISELESS)
    found = population_interval(counted, Units.of(1_000), noisy, 64)
    assert found == pytest.approx(after_choice(800, 1_000, 64), abs=0.004)


# ------------------------------------------------------------------ as searches release it
def searched(two_classes, **kwargs):
    X, y, X_val, y_val = two_classes
    grid = {"C": list(np.geomspace(0.1, 10, kwargs.pop("n", 4)))}
    search = PrivateBayesSearchCV(LogisticRegression(), grid, epsilon=5.0, **kwargs)
    return search.fit(X, y, X_val=X_val, y_val=y_val)


def test_a_search_counts_the_candidates_that_were_validated(two_classes):
    with seeded_noise(0):
        search = searched(two_classes)
    units, (loss,) = Units.of(150), [s for s in search.privacy_.spends if "score" in s.purpose]
    noisy = NoisyCounts((round(150 * search.best_score_),), 1 / loss.epsilon)
    found = search.best_score_population_interval_
    assert found == pytest.approx(population_interval(search.scorer_, units, noisy, 4))
    low, high = search.best_score_interval_
    assert found[0] < low and high < found[1]


@pytest.mark.slow
def test_all_metrics_and_releases_have_one(two_classes):
    search = searched(two_classes, scoring=["accuracy", "f1"], refit="f1")
    intervals = search.best_score_population_intervals_
    assert list(intervals) == ["f1", "accuracy"]
    assert intervals["f1"] == search.best_score_population_interval_
    found = searched(two_classes, release="all").best_score_population_interval_
    assert 0 <= found[0] < found[1] <= 1


@pytest.mark.slow
def test_an_evaluation_after_a_choice_has_longer_intervals_at_both_ends(two_classes):
    with seeded_noise(0):
        evaluation = searched(two_classes, release="evaluation").evaluation_
    assert evaluation._n_compared == 4
    assert "chosen on the same records" in repr(evaluation)
    alone = replace(evaluation, _n_compared=1)
    assert "chosen on the same records" not in repr(alone)
    for name in ("accuracy", "roc_auc", "brier_score"):
        (value, low, high), (_, a, b) = (each.score(name) for each in (evaluation, alone))
        assert low < a < value < b < high or (low < a and b == high == 1)
        assert evaluation.score(name, interval="records") == alone.score(name, interval="records")


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["r2", "explained_variance"])
def test_the_variance_explained_has_an_interval_that_contains_the_one_for_the_records(rng, scoring):
    X = rng.standard_normal((2_300, 2))
    y = X[:, 0] + 0.5 * rng.standard_normal(2_300)
    search = PrivateBayesSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, scoring=scoring, epsilon=20.0)
    with seeded_noise(0):
        search.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    low, high = search.best_score_population_interval_
    a, b = search.best_score_interval_
    assert low + 0.02 < a <= b < high - 0.02
    assert low < 0.8 < high  # of the population


def test_the_card_shows_the_interval_for_the_population_first(two_classes):
    search = searched(two_classes)
    low, high = search.best_score_population_interval_
    assert f"(95 % for the population: {low:.4g} to {high:.4g}; for these records: " in (
        search._privacy_card()
    )
    assert "best_score_, best_score_population_interval_, best_score_interval_" in (
        search.privacy_.released
    )


def test_every_different_threshold_counts(two_classes):
    X, y, X_val, y_val = two_classes
    tuned = PrivateThresholdClassifier(LogisticRegression(), scoring="accuracy", epsilon=5.0)
    lows = []
    for thresholds in ([0.5, 0.5, 0.5001], [0.5, *np.linspace(0.4999, 0.5001, 200)]):
        tuned.set_params(thresholds=thresholds)
        tuned.fit(X, y, X_val=X_val, y_val=y_val)
        lows.append(tuned.best_score_ - tuned.best_score_population_interval_[0])
    assert lows[1] > 1.3 * lows[0]


def test_models_of_one_table_count_as_often_as_they_are_fitted():
    fits = tuple(SecretFit({"C": c}, ({"a": 1}, {"a": 2})) for c in (1, 2, 3))
    assert Plan(fits, Composed(3), 1.0, 0.0).n_compared == 6
    assert Plan(fits, Repeated.of_mean(24), 1.0, 0.0).n_compared == pytest.approx(48)


# ------------------------------------------------------------------ a choice without a score
def test_without_a_score_all_of_epsilon_pays_for_the_choice(two_classes):
    search = searched(two_classes, strategy=WorstCase("none", score_share=0))
    (loss,) = search.privacy_.spends
    assert loss.purpose == "choice of the candidate" and loss.epsilon == 5.0
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    for name in ("best_score_", "best_score_interval_", "best_score_population_interval_"):
        assert not hasattr(search, name)
        with pytest.raises(AttributeError, match=rf"{name}.*no score was released.*score_share=0"):
            getattr(search, name)
    with pytest.raises(AttributeError, match='evaluation_: .*release="evaluation" adds one'):
        _ = search.evaluation_
    assert "none released" in search._privacy_card()
    released = search.privacy_.released
    assert "No score is released" in released and "best_score_" not in released


def test_scores_of_unfitted_searches_are_missing_for_that_reason():
    with pytest.raises(AttributeError, match="not fitted"):
        _ = PrivateBayesSearchCV(LogisticRegression(), {}).best_score_


@pytest.mark.parametrize(
    "asked",
    [
        {"release": "all"},
        {"release": "evaluation"},
        {"scoring": ["accuracy", "f1"], "refit": "f1"},
    ],
)
def test_without_a_score_nothing_that_needs_one_is_accepted(two_classes, asked):
    with pytest.raises(ValueError, match="score_share=0 releases no score"):
        searched(two_classes, strategy=WorstCase(score_share=0), **asked)

"""Intervals of released scores contain the score on these very records, in 95 % of releases."""

import math
from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.metrics import _intervals
from sklearn_dpbo.metrics._histogram import ScoreHistogram, n_bins
from sklearn_dpbo.metrics._response import Predictions
from sklearn_dpbo.metrics._scorers import score_and_interval
from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.records.units import Units

R = 100


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    """Simulate a quarter of the noise, to save time."""
    monkeypatch.setattr(_intervals, "_N_DRAWS", 1000)


def released(scorer, y, response, classes, epsilon, *, claimed=1.0, runs=R):
    """Release the counts many times; yield (score, interval), as if the noise had another scale."""
    units = Units.of(len(y))
    counts = scorer.counts
    exact = counts.statistics(counts.record_values(y, response, classes), y, units)
    scale = counts.sensitivity(units) / epsilon
    draw = SeededNoise(0).discrete_laplace(scale)
    for _ in range(runs):
        noisy = NoisyCounts(tuple(draw(list(exact))), scale * claimed)
        yield score_and_interval(scorer, units, noisy)


def coverage(scorer, y, response, classes, epsilon, **kwargs):
    exact = scorer.exact(Predictions(y, response, classes))
    found = list(released(scorer, y, response, classes, epsilon, **kwargs))
    return np.mean([low - 1e-9 <= exact <= high + 1e-9 for _, (low, high) in found])


def least(runs=R):
    """What 95 % may look like in so many runs."""
    return 0.95 - 3.5 * math.sqrt(0.95 * 0.05 / runs)


def labels_and_predictions(m, prevalence, recall, false_positives, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(m) < prevalence).astype(int)
    p = np.where(y == 1, recall, false_positives)
    return y, (rng.random(m) < p).astype(int)


@pytest.mark.first(1)
@pytest.mark.parametrize("unknown", [0, 5, 80])
def test_intervals_beside_unknown_labels(unknown):
    """A few that the noise may hide count as none: weighted F1 is shifted most."""
    y, predicted = labels_and_predictions(1_500, 0.4, 0.8, 0.2)
    scorers = {name: make_private_scorer(name).prepare(y) for name in ("f1", "f1_weighted")}
    y[:unknown] = 7
    found = {
        name: coverage(scorer, y, predicted, np.arange(2), 0.8) for name, scorer in scorers.items()
    }
    assert found["f1"] >= least()
    assert found["f1_weighted"] >= (0.8 if unknown == 5 else least())


CASES = {
    "good": (1_000, 0.2, 0.8, 0.05, 0.4),
    "rare": (4_000, 0.01, 0.5, 0.01, 0.4),
    "poor": (1_000, 0.5, 0.5, 0.45, 0.1),
    "perfect": (1_000, 0.2, 1.0, 0.0, 0.1),
    "no positives": (1_000, 0.0, 0.0, 0.01, 0.4),
    "nothing predicted": (1_000, 0.2, 0.0, 0.0, 0.4),
    "large": (16_000, 0.05, 0.7, 0.05, 1.0),
    "small": (60, 0.3, 0.8, 0.2, 1.0),
}
# Intervals of all metrics are made in one way; these are one of each form.
METRICS = ["f1", "precision", "matthews_corrcoef", "balanced_accuracy", "f1_macro"]


QUICK = [(name, case) for name in ("f1", "matthews_corrcoef") for case in ("rare", "small")]
EVERY = [  # a third of what takes longer is slow: each metric, and each case
    pytest.param(
        name,
        case,
        marks=[]
        if (name, case) in QUICK
        else pytest.mark.soak
        if (i + j) % 3
        else pytest.mark.slow,
    )
    for i, name in enumerate(METRICS)
    for j, case in enumerate(CASES)
]


@pytest.mark.parametrize(("name", "case"), EVERY)
@pytest.mark.filterwarnings("ignore")
def test_intervals_of_the_confusion_matrix_cover(name, case):
    m, prevalence, recall, fpr, epsilon = CASES[case]
    y, predicted = labels_and_predictions(m, prevalence, recall, fpr)
    classes = np.array([0, 1])
    scorer = make_private_scorer(name).prepare(classes)
    assert coverage(scorer, y, predicted, classes, epsilon) >= least()


@pytest.mark.parametrize("name", ["f1_macro", "balanced_accuracy"])
def test_intervals_of_several_classes_cover(name):
    rng = np.random.default_rng(0)
    y = rng.choice(5, 3_000, p=[0.4, 0.3, 0.2, 0.08, 0.02])
    predicted = np.where(rng.random(3_000) < 0.7, y, rng.integers(0, 5, 3_000))
    scorer = make_private_scorer(name).prepare(y)
    assert coverage(scorer, y, predicted, np.arange(5), 0.4) >= least()


@pytest.mark.parametrize("name", ["f1", "matthews_corrcoef", "f1_macro"])
def test_intervals_do_not_cover_if_there_is_twice_the_noise(name):
    y, predicted = labels_and_predictions(1_000, 0.2, 0.8, 0.05)
    scorer = make_private_scorer(name).prepare(y)
    assert coverage(scorer, y, predicted, np.array([0, 1]), 0.4, claimed=0.5) < 0.9


def scores_of(m, prevalence, shift, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(m) < prevalence).astype(int)
    return y, rng.normal(size=m) + shift * y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "m", "prevalence", "shift", "epsilon", "shared"),
    [
        ("roc_auc", 1_000, 0.3, 1.5, 0.4, False),
        ("roc_auc", 4_000, 0.1, 1.5, 0.4, False),  # from pairs
        pytest.param("roc_auc", 16_000, 0.3, 0.5, 1.0, False, marks=pytest.mark.slow),
        pytest.param("roc_auc", 4_000, 0.1, 1.5, 0.4, True, marks=pytest.mark.slow),
        pytest.param("roc_auc", 1_000, 0.1, 0.0, 0.1, True, marks=pytest.mark.slow),
        ("average_precision", 1_000, 0.3, 1.5, 0.4, True),
        pytest.param("average_precision", 4_000, 0.1, 1.5, 0.4, True, marks=pytest.mark.slow),
        pytest.param("average_precision", 4_000, 0.1, 1.5, 3.0, True, marks=pytest.mark.slow),
    ],
)
def test_intervals_of_areas_cover(name, m, prevalence, shift, epsilon, shared):
    classes = np.array([0, 1])
    public = Predictions(*scores_of(1_000, prevalence, shift, seed=1), classes)
    y, scores = scores_of(m, prevalence, shift)
    scorer = make_private_scorer(name).prepare(public.y)
    scorer = scorer.release(lambda _: public, m, epsilon, () if shared else None)
    assert coverage(scorer, y, scores, classes, epsilon, runs=R // 2) >= least(R // 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
def test_intervals_of_areas_cover_where_a_class_is_rare_in_public(name, monkeypatch):
    """Twenty public records of a class say what bins hide, and there is next to no noise.

    When bins parted at these records, and only how the protected ones vary was allowed for, 30 % of
    the intervals of the average precision covered it, and 48 % of those of the area.
    """
    epsilon = 1e6
    monkeypatch.setattr(_intervals, "_N_DRAWS", 500)
    classes, found = np.array([0, 1]), []
    for seed in range(0, 24, 2):
        public = Predictions(*scores_of(200, 0.1, 1.5, seed=seed + 1), classes)
        y, scores = scores_of(4_000, 0.1, 1.5, seed=seed)
        scorer = make_private_scorer(name).prepare(public.y)
        scorer = scorer.release(lambda _: public, 4_000, epsilon, ())
        found.append(coverage(scorer, y, scores, classes, epsilon, runs=1))
    assert np.mean(found) >= 0.9


def test_intervals_of_areas_do_not_cover_if_there_is_twice_the_noise():
    classes = np.array([0, 1])
    public = Predictions(*scores_of(1_000, 0.3, 1.5, seed=1), classes)
    y, scores = scores_of(4_000, 0.3, 1.5)
    scorer = make_private_scorer("roc_auc").prepare(public.y)
    scorer = scorer.release(lambda _: public, 4_000, 0.4)
    assert coverage(scorer, y, scores, classes, 0.4, claimed=0.5) < 0.9


def errors_of(m, noise, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(5, 2, m)
    return y, y + rng.normal(0, noise, m)


@pytest.mark.parametrize("name", ["r2", "explained_variance", "neg_root_mean_squared_error"])
@pytest.mark.parametrize(
    ("m", "noise", "epsilon"),
    [
        (1_000, 1.0, 0.4),
        pytest.param(4_000, 0.5, 1.0, marks=pytest.mark.slow),
        pytest.param(1_000, 3.0, 0.4, marks=pytest.mark.slow),
    ],
)
def test_intervals_of_regressors_cover(name, m, noise, epsilon):
    public = Predictions(*errors_of(1_000, noise, seed=1), None)
    y, predicted = errors_of(m, noise)
    scorer = make_private_scorer(name).prepare(public.y)
    scorer = scorer.release(lambda _: public, m, epsilon)
    assert coverage(scorer, y, predicted, None, epsilon) >= least()


@pytest.mark.parametrize("name", ["r2", "neg_root_mean_squared_error"])
def test_intervals_of_regressors_do_not_cover_if_there_is_twice_the_noise(name):
    public = Predictions(*errors_of(1_000, 1.0, seed=1), None)
    y, predicted = errors_of(1_000, 1.0)
    scorer = make_private_scorer(name).prepare(public.y)
    scorer = scorer.release(lambda _: public, 1_000, 0.2)
    assert coverage(scorer, y, predicted, None, 0.2, claimed=0.4) < 0.9


# ---------------------------------------------------------------- bins by rows of the training set
@cache
def overfitted(kind):
    """Public responses to rows that a model was fitted on, and those to other records."""
    rng = np.random.default_rng(0)
    y = (rng.random(3_500) < 0.15).astype(int)
    X = rng.normal(size=(3_500, 4)) + 0.9 * y[:, None] * [1, 0.6, 0.3, 0]
    model = kind.fit(X[:1_000], y[:1_000])
    response, classes = model.predict_proba(X), np.array([0, 1])
    return [Predictions(y[k], response[k], classes) for k in (slice(1_000), slice(1_000, None))]


@pytest.mark.first(2)
@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
@pytest.mark.parametrize(
    "kind",
    [
        RandomForestClassifier(40, random_state=0),
        HistGradientBoostingClassifier(max_iter=60, random_state=0),
    ],
    ids=["forest", "boosting"],
)
@pytest.mark.parametrize("epsilon", [pytest.param(0.1, marks=pytest.mark.slow), 1.0, 1e3])
def test_areas_of_bins_by_rows_that_a_model_was_fitted_on(name, kind, epsilon):
    """Without noise, the interval is what bins hide: it contains the score, and is short."""
    public, protected = overfitted(kind)
    units = Units.of(len(protected.y))
    scorer = make_private_scorer(name).prepare(public.y)
    histogram = ScoreHistogram.at(
        public, scorer.classes, (1,), scorer.response_method, n_bins(units.m, epsilon)
    )
    scorer = scorer.release(lambda _: public, units.m, epsilon, (histogram,))
    values = histogram.record_values(protected.y, protected.response, None)
    counts = histogram.statistics(values, protected.y, units)
    exact = scorer.exact(protected)
    low, high = scorer.interval(NoisyCounts(counts, 1e-9), units, 0.95)
    assert low <= exact <= high
    assert high - low <= {0.1: 0.12, 1.0: 0.06, 1e3: 0.03}[epsilon]
    if epsilon > 1:  # less noise smooths nothing
        assert abs(scorer.value(counts, units) - exact) <= 0.01

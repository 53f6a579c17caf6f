"""Intervals of evaluations cover the numbers of the records, and their noise is what it should be.

The numbers that must be covered are scikit-learn's, without bins.
"""

import numpy as np
import pytest
from evaluations import Known
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    mean_absolute_error,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
    roc_curve,
    root_mean_squared_error,
)

from sklearn_dpbo.metrics import _intervals
from sklearn_dpbo.metrics.evaluations._curves import calibration, tpr_at
from sklearn_dpbo.records.subgroups import Subgroups

N_RUNS = 100
# An interval that covers 95 % fails this once in 50,000 runs of the test.
FEWEST = int(binom.ppf(2e-5, N_RUNS, 0.95))


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch):
    """Simulate a quarter of the noise, to save time."""
    monkeypatch.setattr(_intervals, "_N_DRAWS", 1000, raising=False)


def two_classes(m, prevalence, rng):
    def draw(n):
        y = (rng.random(n) < prevalence).astype(int)
        return np.stack([rng.standard_normal(n) + 1.3 * y, rng.standard_normal(n)], axis=1), y

    return draw(1000), draw(m)


def binary_truth(model, X, y):
    p, label = model.predict_proba(X)[:, 1], model.predict(X)
    return {
        "accuracy": accuracy_score(y, label),
        "precision": precision_score(y, label, zero_division=0),
        "recall": recall_score(y, label),
        "f1": f1_score(y, label),
        "roc_auc": roc_auc_score(y, p),
        "average_precision": average_precision_score(y, p),
        "brier_score": brier_score_loss(y, p),
        "prevalence": y.mean(),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "m, epsilon, prevalence",
    [
        (1000, 0.5, 0.1),
        (300, 2.0, 0.5),
        (1000, 0.5, 0.5),
        (4000, 0.5, 0.1),
        (4000, 2.0, 0.3),
    ],
)
def test_intervals_of_a_classifier_cover(m, epsilon, prevalence, rng):
    public, protected = two_classes(m, prevalence, rng)
    model = LogisticRegression().fit(*public)
    known = Known(model, public, protected, epsilon)
    covered = known.covered(binary_truth(model, *protected), N_RUNS)
    assert min(covered.values()) >= FEWEST, covered


def test_intervals_of_a_regressor_cover(rng):
    X = rng.standard_normal((5000, 2))
    y = X @ [3.0, 1.0] + rng.standard_normal(5000)
    public, (X_val, y_val) = (X[:1000], y[:1000]), (X[1000:], y[1000:])
    model = LinearRegression().fit(*public)
    predicted = model.predict(X_val)
    known = Known(model, public, (X_val, y_val), 1.0)
    truth = {
        "r2": r2_score(y_val, predicted),
        "mean_absolute_error": mean_absolute_error(y_val, predicted),
        "root_mean_squared_error": root_mean_squared_error(y_val, predicted),
        "mean_error": np.mean(y_val - predicted),
    }
    covered = known.covered(truth, N_RUNS)
    assert min(covered.values()) >= FEWEST, covered


def test_twice_the_noise_is_not_covered(rng):
    """The pair of the tests above: they notice intervals of half the length."""
    public, protected = two_classes(1000, 0.5, rng)
    model = LogisticRegression().fit(*public)
    known = Known(model, public, protected, 0.5)
    truth = binary_truth(model, *protected)
    covered = known.covered({name: truth[name] for name in ("accuracy", "recall")}, N_RUNS, 2.0)
    assert max(covered.values()) < FEWEST, covered


def test_what_bins_hide_of_the_brier_score_lies_in_its_interval(rng):
    """Without noise: public probabilities of a model that was fitted on them are not those."""
    public, (X, y) = two_classes(2000, 0.3, rng)
    model = RandomForestClassifier(30, max_depth=8, random_state=0).fit(*public)
    known = Known(model, public, (X, y), epsilon=1e6)
    value, low, high = known.fresh(rng).score("brier_score", interval="records")
    exact = brier_score_loss(y, model.predict_proba(X)[:, 1])
    assert low <= exact <= high and low < value < high


# ------------------------------------------------------------------ for the population
def of_population(draw, m, epsilon, rng):
    """Yield a model, exact scores of the population, and evaluations of new samples."""
    X, y, _ = draw(1000, rng)
    model = LogisticRegression().fit(X, y)
    population = draw(200_000, rng)

    def evaluations(n):
        for _ in range(n):
            X_val, y_val, groups = draw(m, rng)
            yield Known(model, (X, y), (X_val, y_val), epsilon, groups).fresh(rng)

    return model, population, evaluations(N_RUNS)


def scores_of_population(model, X, y, groups):
    w = None if groups is None else 1 / np.bincount(groups)[groups]
    label, p = model.predict(X), model.predict_proba(X)
    if p.shape[1] > 2:
        return {
            "accuracy": accuracy_score(y, label),
            "f1_macro": f1_score(y, label, average="macro"),
            "roc_auc_ovr": roc_auc_score(y, p, multi_class="ovr"),
        }
    return {
        "accuracy": accuracy_score(y, label, sample_weight=w),
        "f1": f1_score(y, label, sample_weight=w),
        "roc_auc": roc_auc_score(y, p[:, 1], sample_weight=w),
        "average_precision": average_precision_score(y, p[:, 1], sample_weight=w),
        "brier_score": brier_score_loss(y, p[:, 1], sample_weight=w),
    }


def apart(prevalence, distance):
    def draw(n, rng):
        y = (rng.random(n) < prevalence).astype(int)
        return np.stack([rng.standard_normal(n) + distance * y, rng.standard_normal(n)], axis=1), y

    return lambda n, rng: (*draw(n, rng), None)


def three(n, rng):
    y = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    return rng.standard_normal((n, 3)) + 1.5 * np.eye(3)[y], y, None


def patients(n, rng):
    """Each of n groups has 1 to 8 records and a risk of its own."""
    groups = np.repeat(np.arange(n), rng.integers(1, 9, n))
    risk = rng.standard_normal(n)[groups]
    y = (risk + 0.5 * rng.standard_normal(len(groups)) > 0.8).astype(int)
    return np.stack([risk + 0.5 * y, rng.standard_normal(len(y))], axis=1), y, groups


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "m", "epsilon"),
    [
        (apart(0.1, 2), 5000, 5.0),  # areas
        (apart(0.02, 2), 1000, 5.0),  # a rare class
        (apart(0.3, 5), 1000, 1.0),  # a nearly perfect model
        (three, 5000, 5.0),
        (patients, 300, 5.0),
    ],
    ids=["areas", "rare", "perfect", "three classes", "groups"],
)
def test_intervals_cover_the_population(draw, m, epsilon, rng):
    model, population, evaluations = of_population(draw, m, epsilon, rng)
    exact = scores_of_population(model, *population)
    hits = dict.fromkeys(exact, 0)
    for evaluation in evaluations:
        for name, value in exact.items():
            _, low, high = evaluation.score(name)
            hits[name] += low <= value <= high
    assert min(hits.values()) >= FEWEST, hits


@pytest.mark.slow
def test_bands_calibration_and_matrices_cover_the_population(rng):
    """At each point by itself; without the sampling error, hardly half of them do."""
    model, (X, y, _), evaluations = of_population(apart(0.3, 2), 4000, 5.0, rng)
    s, matrix = model.predict_proba(X)[:, 1], confusion_matrix(y, model.predict(X))
    fpr, tpr, _ = roc_curve(y, s)
    at, hits = np.array([0.1, 0.3, 0.6]), {"population": [], "records": []}
    for evaluation in evaluations:
        mean, groups = evaluation._groups(None, 5)
        place = groups[np.searchsorted(evaluation._edges(0), s, side="right")]
        share = np.bincount(place, weights=y) / np.bincount(place)
        exact = [np.interp(at, fpr, tpr), share, 4000 * matrix / len(y)]
        for interval in hits:
            bands = [
                evaluation._band(lambda n, _, e=evaluation: tpr_at(e._tables(n)[0], at), interval),
                evaluation._band(
                    lambda n, u, e=evaluation, of=(mean, groups): calibration(
                        e._tables(n)[0], *of, u
                    )[0],
                    interval,
                ),
                evaluation.confusion_matrix_interval(interval=interval),
            ]
            inside = zip(exact, bands, strict=True)
            hits[interval].append([np.mean((e >= a) & (e <= b)) for e, (a, b) in inside])
    # Points of one kind depend on each other: so this is less strict than for independent ones.
    assert np.mean(hits["population"], axis=0).min() >= 0.9
    assert np.mean(hits["records"], axis=0).max() < 0.8


# ------------------------------------------------------------ subgroups
SIZES = {"a": 100, "b": 300, "c": 1_000, "d": 3_000}


@pytest.mark.slow
@pytest.mark.parametrize(("prevalence", "epsilon"), [(0.5, 1.0), (0.1, 5.0)])
def test_intervals_of_subgroups_hold_for_the_population(prevalence, epsilon):
    """And those of differences, all at once: there are none in the population."""
    rng, m, n = np.random.default_rng(0), sum(SIZES.values()), 60
    public, population = two_classes(200_000, prevalence, rng)
    model = LogisticRegression().fit(*public)
    X, y = population
    truth = {
        "recall": recall_score(y, model.predict(X)),
        "roc_auc": roc_auc_score(y, model.predict_proba(X)[:, 1]),
    }
    subgroups = Subgroups({"size": tuple(SIZES)}, ("size",))
    hits = {(name, size): 0 for name in truth for size in (*SIZES, "differences")}
    for _ in range(n):
        values = rng.choice(list(SIZES), m, p=np.array(list(SIZES.values())) / m)
        own = two_classes(m, prevalence, rng)[1]
        case = Known(model, public, own, epsilon, values=values, subgroups=subgroups)
        found = case.fresh(rng)
        for name, exact in truth.items():
            for (size,), each in found._by("size").items():
                if size in SIZES:
                    score = each.score(name)
                    hits[name, size] += score.low <= exact <= score.high
            gaps = found.group_differences(name)
            hits[name, "differences"] += ((gaps.low <= 0) & (gaps.high >= 0)).all()
    assert min(hits.values()) >= binom.ppf(1e-5, n, 0.94), hits

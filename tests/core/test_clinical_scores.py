"""Numbers of clinical papers: without noise, those of scikit-learn and of their definitions."""

import numpy as np
import pytest
from evaluations import Known
from scipy.special import expit, logit
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, precision_score, recall_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from sklearn_dpbo.metrics.evaluations._clinical import calibration_fit

EXACT = 1e7  # an epsilon at which there is no noise
FOREST = RandomForestClassifier(50, min_samples_leaf=3, random_state=0)
UNPENALISED = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1_000)


@pytest.fixture(scope="module")
def split():
    X, y = make_classification(3_600, 6, n_informative=4, weights=[0.7], flip_y=0.1, random_state=3)
    return (X[:600], y[:600]), (X[600:], y[600:])


def evaluated(model, split, epsilon=EXACT, **kwargs):
    return Known(model.fit(*split[0]), *split, epsilon, **kwargs).fresh(np.random.default_rng(0))


@pytest.fixture(scope="module")
def overconfident(split):
    """An evaluation of naive Bayes, its probabilities and the labels."""
    model, (X_val, y_val) = GaussianNB(), split[1]
    evaluation = evaluated(model, split, thresholds=(0.2, 0.5))
    return evaluation, model.predict_proba(X_val)[:, 1], y_val


@pytest.mark.parametrize("threshold", [None, 0.2])
def test_numbers_of_labels_are_those_of_sklearn(overconfident, threshold):
    evaluation, p, y = overconfident
    predicted = p >= (threshold or 0.5)
    for name, exact in [
        ("sensitivity", recall_score(y, predicted)),
        ("specificity", recall_score(y, predicted, pos_label=0)),
        ("ppv", precision_score(y, predicted)),
        ("npv", precision_score(y, predicted, pos_label=0)),
    ]:
        estimate = evaluation.score(name, threshold=threshold)
        assert estimate.value == pytest.approx(exact, abs=1e-6), name
        assert estimate.low < exact < estimate.high


def test_calibration_is_that_of_a_regression_on_logits_up_to_binning(overconfident):
    evaluation, p, y = overconfident
    x = logit(np.clip(p, 1e-4, 1 - 1e-4))
    slope = UNPENALISED.fit(x[:, None], y).coef_.item()
    assert slope < 0.8  # overconfident
    estimate = evaluation.score("calibration_slope")
    assert estimate.value == pytest.approx(slope, abs=0.005)
    assert estimate.low < slope < estimate.high
    # in the large: as many positive records as the shifted probabilities say
    estimate = evaluation.score("calibration_intercept")
    assert expit(x + estimate.value).mean() == pytest.approx(y.mean(), abs=1e-3)


@pytest.mark.parametrize("gamma", [0.3, 1.0, 2.0])
def test_fit_is_an_unpenalised_logistic_regression_of_bins(gamma, rng):
    p, n = rng.beta(0.5, 0.5, 30), rng.integers(5, 60, 30)
    x = logit(np.clip(p, 1e-4, 1 - 1e-4))
    positive = rng.binomial(n, expit(0.4 + gamma * x))
    table = np.array([[n - positive, positive]], dtype=float)
    theirs = UNPENALISED.fit(np.r_[x, x][:, None], np.repeat([0, 1], 30), table.ravel())
    assert calibration_fit(table, p, True) == pytest.approx(theirs.coef_.item(), rel=1e-6)
    (a,) = calibration_fit(table, p, False)
    assert n @ expit(a + x) == pytest.approx(positive.sum(), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("m", [1_000, 5_000])
@pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression(), FOREST], ids=str)
def test_what_bins_hide_is_less_than_the_documentation_says(model, m):
    X, y = make_classification(8_000, 20, n_informative=8, weights=[0.8], random_state=1)
    model.fit(X[:1_000], y[:1_000])
    public, protected = ((X[a:b], y[a:b]) for a, b in ((1_000, 2_000), (3_000, 3_000 + m)))
    known = Known(model, public, protected, epsilon=1.0)
    (histogram,), (means, *_) = known.design._parts, known.design._moments[0]
    binned = histogram.tables(np.array([known.exact[0]], dtype=float))[0]
    p, labels = model.predict_proba(protected[0])[:, 1], protected[1]
    exact = np.array([[labels == 0, labels == 1]], dtype=float)
    for slope, most in ((True, (0.06, 0.02)), (False, (0.02, 0.02))):
        (found,), (own,) = calibration_fit(binned, means, slope), calibration_fit(exact, p, slope)
        assert found == pytest.approx(own, abs=most[m == 5_000])


def test_of_separated_classes_the_slope_is_undefined():
    separated, p = np.array([[[9.0, 0.0], [0.0, 7.0]]]), np.array([0.2, 0.8])
    for undefined in (-np.inf, np.inf):
        assert calibration_fit(separated, p, True, undefined) == undefined
    assert np.isnan(calibration_fit(separated, p, True))


def test_net_benefit_follows_its_definition(overconfident):
    evaluation, p, y = overconfident
    benefit, treat_all, thresholds = evaluation.decision_curve()
    assert ((thresholds > 0) & (thresholds < 1)).all() and (np.diff(thresholds) > 0).all()
    for t, found, everyone in list(zip(thresholds, benefit, treat_all, strict=True))[::20]:
        (_, fp), (_, tp) = confusion_matrix(y, p >= t)
        assert found == pytest.approx((tp - fp * t / (1 - t)) / len(y), abs=1e-6)
        assert everyone == pytest.approx(y.mean() - (1 - y.mean()) * t / (1 - t), abs=1e-6)
    estimate = evaluation.score("net_benefit", threshold=0.2)
    (i,) = np.flatnonzero(thresholds == 0.2)
    assert estimate.low < estimate.value < estimate.high
    assert estimate.value == pytest.approx(benefit[i], abs=1e-12)


def test_errors_say_what_is_missing(overconfident, split):
    evaluation, _, _ = overconfident
    for name in ("calibration_slope", "calibration_intercept"):
        with pytest.raises(ValueError, match="depends on no threshold"):
            evaluation.score(name, threshold=0.2)
    for name in ("npv", "net_benefit", "calibration_slope"):
        with pytest.raises(ValueError, match="depends on no label"):
            evaluation.score(name, label=1)
    labels = evaluated(LinearSVC(), split)
    assert 0 < float(labels.score("specificity")) < 1
    for name in ("calibration_slope", "net_benefit"):
        with pytest.raises(ValueError, match="not probabilities"):
            labels.score(name)
    with pytest.raises(ValueError, match="not probabilities"):
        labels.decision_curve()
    (X, y), (X_val, y_val) = split
    three = ((X, y + (X[:, 0] > 1)), (X_val, y_val + (X_val[:, 0] > 1)))
    evaluation = evaluated(GaussianNB(), three)
    for name in ("sensitivity", "net_benefit", "calibration_slope"):
        with pytest.raises(ValueError, match="for two classes; there are 3"):
            evaluation.score(name)

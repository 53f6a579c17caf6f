"""Outsourced optimisation: the curator's release, the modeler and their messages."""

import contextlib
import json
import math
import warnings

import mpmath
import numpy as np
import pytest
from distributions import chi_square_p
from dp_accounting.pld import common
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss
from hypothesis import given
from hypothesis import strategies as st
from reconstruction import reconstruct_from_projection
from scipy.stats import kstest, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from sklearn_dpbo.audit import audit_mechanism
from sklearn_dpbo.exceptions import PrivacyWarning
from sklearn_dpbo.papers.kharkovskii2020 import (
    CuratorSide,
    GaussianCurator,
    Modeler,
    ModelerSide,
    delta_of_gaussian,
    gaussian_sigma,
    optimize,
)
from sklearn_dpbo.papers.kharkovskii2020 import _curators as curators
from sklearn_dpbo.papers.kharkovskii2020.published import ProjectionCurator
from sklearn_dpbo.privacy.noise import Noise, SeededNoise
from sklearn_dpbo.testing import seeded_noise

pytestmark = pytest.mark.filterwarnings("ignore:ProjectionCurator has no privacy guarantee")
KNOWN = dict(length_scale=0.3, noise=0.01, prior_mean=0.0, prior_scale=1.0)


@pytest.fixture
def X(rng):
    return rng.standard_normal((60, 3))


# ------------------------------------------------------------ calibration
@pytest.mark.first(5)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.01, 0.3])
def test_gaussian_sigma_equals_that_of_dp_accounting(epsilon, delta):
    """Compare with another library, and with the definition."""
    sigma = gaussian_sigma(epsilon, delta)
    guarantee = common.DifferentialPrivacyParameters(epsilon, delta)
    other = GaussianPrivacyLoss.from_privacy_guarantee(guarantee).standard_deviation
    assert sigma == pytest.approx(other, rel=1e-4)
    assert delta_of_gaussian(sigma, epsilon) <= delta < delta_of_gaussian(0.999 * sigma, epsilon)
    assert gaussian_sigma(epsilon, delta, 2.5) == pytest.approx(2.5 * sigma)


@pytest.mark.slow
@given(
    epsilon=st.floats(-9, 3).map(lambda e: 10**e),
    delta=st.floats(-200, -0.01).map(lambda d: 10**d),
)
def test_delta_at_gaussian_sigma_is_never_above_delta(epsilon, delta):
    """Compute delta with 60 digits, so that differences and tails lose none that matter."""
    sigma = gaussian_sigma(epsilon, delta)
    assert delta_of_gaussian(sigma, epsilon) <= delta
    with mpmath.workdps(60):
        a, b = 1 / (2 * mpmath.mpf(sigma)), mpmath.mpf(epsilon) * mpmath.mpf(sigma)
        exact = mpmath.ncdf(a - b) - mpmath.exp(epsilon) * mpmath.ncdf(-a - b)
        assert exact <= delta


# ------------------------------------------------------------ the private curator
def curated(X, seed=0, **params):
    with contextlib.nullcontext() if seed is None else seeded_noise(seed):
        return GaussianCurator(**params).fit(X)


@pytest.mark.parametrize("seed", [0, None], ids=["seeded", "OpenDP"])
def test_curator_noise_is_normal_and_half_of_it_is_detected(seed, monkeypatch):
    X = np.random.default_rng(0).standard_normal((500, 2))

    def p():
        c = curated(X, seed)
        return kstest((c.released_ - X).ravel() / gaussian_sigma(1.0, 1e-5), "norm").pvalue

    assert p() > 1e-6
    right = curators.gaussian_sigma
    monkeypatch.setattr(curators, "gaussian_sigma", lambda *args: right(*args) / 2)
    assert p() < 1e-6


@pytest.mark.first(1)
@pytest.mark.parametrize("source", [Noise, lambda: SeededNoise(0)], ids=["opendp", "seed"])
@pytest.mark.parametrize("scale", [0.7, 3.0])
def test_discrete_gaussian_noise_has_its_distribution(source, scale):
    drawn = np.array(source().discrete_gaussian(scale)([5] * 20_000)) - 5
    z = np.arange(-30, 31)
    pmf = np.exp(-(z**2) / (2 * scale**2))
    if source is not Noise:  # seeded: rounded normal noise, equal at the scales in use
        pmf = norm.cdf(z + 0.5, scale=scale) - norm.cdf(z - 0.5, scale=scale)
    assert chi_square_p(np.bincount(drawn + 30, minlength=61), pmf / pmf.sum()) > 1e-6


def test_rows_longer_than_max_norm_are_clipped(X):
    tall = X.copy()
    tall[0] *= 1e6
    c = curated(tall, epsilon=10.0, delta=0.5, max_norm=1.0)
    assert np.linalg.norm(c.released_, axis=1).max() < 2


@pytest.mark.slow
@given(d=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_clipping_does_not_increase_distances(d, seed):
    X = 3 * np.random.default_rng(seed).standard_normal((2, d))
    Y = GaussianCurator(max_norm=2.0)._bounded(X)
    assert np.linalg.norm(Y[0] - Y[1]) <= np.linalg.norm(X[0] - X[1]) + 1e-12


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (dict(epsilon=0.0), "epsilon must be"),
        (dict(delta=0.0), r"delta must be in \(0, 1\)"),
        (dict(distance=0), "distance must be positive"),
        (dict(max_norm=-1), "max_norm must be None or positive"),
        (dict(distance=1e-50, max_norm=1.0), "too small for max_norm"),
    ],
)
def test_invalid_parameters_of_the_curator_raise(X, params, message):
    c = GaussianCurator(**params)
    with pytest.raises(ValueError, match=message):
        c.fit(X)
    assert not hasattr(c, "released_")


# ------------------------------------------------------------ an audit


def audit(n, epsilon=2.0, delta=0.05):
    """Audit rows that differ by 1, projected on the direction between them.

    Each of n rows has noise of its own: one release has as many draws.
    """
    projected = []
    for seed, shift in enumerate((0.6, 0.0)):
        X = np.tile([shift, shift * 4 / 3], (n, 1))  # 0.6, 0.8: norm 1
        c = curated(X, seed, epsilon=epsilon, delta=delta)
        projected.append(iter(c.released_ @ [0.6, 0.8]))
    report = audit_mechanism(lambda outputs: next(outputs), projected, n, delta=delta)
    return report.epsilon_lower_bound


@pytest.mark.slow
def test_audit_of_the_curator_does_not_exceed_epsilon_and_detects_half_the_noise(monkeypatch):
    assert 1.0 <= audit(4000) <= 2.0
    right = curators.gaussian_sigma
    monkeypatch.setattr(curators, "gaussian_sigma", lambda *args: right(*args) / 2)
    assert audit(4000) > 2.0


# ------------------------------------------------------------ the published curator
@pytest.mark.parametrize(("epsilon", "branch"), [(1e4, "if"), (0.1, "else")])
def test_published_curator_follows_the_paper_line_by_line(X, epsilon, branch):
    c = ProjectionCurator(epsilon, 1e-5, n_components=5, random_state=3).fit(X)
    centred = X - X.mean(axis=0)
    omega = 16 * math.sqrt(5 * math.log(2e5)) * math.log(16 * 5 * 1e5) / epsilon
    M = np.random.RandomState(3).standard_normal((3, 5))
    U, S, Vt = np.linalg.svd(centred)
    assert (S.min() >= omega) == (branch == "if")
    if branch == "else":
        bigger = np.zeros((60, 3))
        np.fill_diagonal(bigger, np.sqrt(S**2 + omega**2))
        centred = U @ bigger @ Vt
    assert c.released_ == pytest.approx(centred @ M / math.sqrt(5), rel=1e-9, abs=1e-9)
    assert c.omega_ == pytest.approx(omega)
    assert c.guarantee_ is None


def test_published_curator_chooses_at_most_10_000_columns(X):
    c = ProjectionCurator(1e9, 1e-5, random_state=0).fit(X)
    assert c.n_components_ == 10_000 and c.released_.shape == (60, 10_000)


def test_published_curator_warns_that_it_has_no_guarantee(X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ProjectionCurator().fit(X)
    assert [w.category for w in caught] == [PrivacyWarning]
    assert "no privacy guarantee" in str(caught[0].message)


# ------------------------------------------------------------ the attack
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 100.0])
@pytest.mark.parametrize(("n", "d", "r"), [(60, 3, 3), (500, 5, 12), (2000, 2, 10)])
def test_attack_reconstructs_the_published_release_from_a_few_known_rows(epsilon, n, d, r, rng):
    X = 10 * rng.standard_normal((n, d))
    released = ProjectionCurator(epsilon, 1e-5, n_components=r, random_state=0).fit(X).released_
    known = rng.choice(n, d + 2, replace=False)
    estimate = reconstruct_from_projection(released, X[known], known)
    assert np.abs(estimate - X).max() < 1e-9 * np.abs(X).max() * 10


# ------------------------------------------------------------ the modeler
def outcome(Z):
    return lambda row: float(np.sin(3 * Z[row, 0]) - (Z[row, 1:] ** 2).sum())


def rows_asked_for(m, n_iter, X, process, prior_mean=0.0, repeat=False):
    """Return the rows, each of which has the largest bound by scikit-learn's process."""
    rows = []
    for t in range(1, n_iter + 1):
        if rows:
            process.fit(X[rows], [outcome(X)(row) - prior_mean for row in rows])
        mean, std = process.predict(X, return_std=True)
        bound = mean + math.sqrt(m.beta(t)) * std
        if not repeat:
            bound[rows] = -np.inf
        row = m.ask()
        assert bound[row] == pytest.approx(bound.max(), abs=1e-8)
        rows.append(row)
        m.tell(row, outcome(X)(row))
    return rows


def test_modeler_asks_for_the_rows_of_gp_ucb(X):
    """Compare each row asked for with scikit-learn's process and the formula of beta_t."""
    known = dict(length_scale=0.8, noise=0.1, prior_mean=0.2, prior_scale=1.5, delta_ucb=0.1)
    rows = rows_asked_for(
        Modeler(X, n_iter=20, **known), 20, X,
        GaussianProcessRegressor(ConstantKernel(1.5**2) * RBF(0.8), alpha=0.15**2, optimizer=None),
        prior_mean=0.2,
    )  # fmt: skip
    assert optimize(X, outcome(X), 20, **known).rows == rows


def test_rows_may_be_asked_for_again_as_in_the_paper(X):
    X, known = X[:5], dict(length_scale=0.8, noise=0.5, prior_mean=0.0, prior_scale=1.0)
    m = Modeler(X, n_iter=12, repeat=True, **known)
    process = GaussianProcessRegressor(RBF(0.8), alpha=0.25, optimizer=None)
    assert len(set(rows_asked_for(m, 12, X, process, repeat=True))) < 6
    batch = [m.ask() for _ in range(30)]
    m.tell(batch[:-1], np.ones(29))
    assert m.pending == batch[-1:] and len(m.rows) == 41


def test_input_noise_gives_the_process_with_the_mean_kernel(X):
    """Compare with the mean kernel in scikit-learn: a smooth part and white noise of each row."""
    s, scale = 0.4, 0.9
    m = Modeler(X, input_noise=s, n_iter=9, **(KNOWN | dict(length_scale=scale, noise=0.1)))
    share = (1 + 2 * s**2 / scale**2) ** -1.5
    kernel = ConstantKernel(share) * RBF(math.sqrt(scale**2 + 2 * s**2)) + WhiteKernel(1 - share)
    rows_asked_for(m, 9, X, GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None))


@pytest.mark.parametrize("known", [{}, KNOWN])
def test_a_modeler_that_is_told_what_another_was_goes_on_like_it(X, known):
    first, again = optimize(X, outcome(X), 12, **known), Modeler(X, n_iter=30, **known)
    again.tell(first.rows, first.values)
    batch = [first.ask() for _ in range(4)]
    assert len(set(batch)) == 4 and [again.ask() for _ in range(4)] == batch


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (dict(Z=[[1.0, np.nan]]), "array of finite numbers"),
        (dict(length_scale=0), "length_scale must be None or positive"),
        (dict(delta_ucb=1), r"delta_ucb must be in \(0, 1\)"),
        (dict(input_noise=-0.1), "input_noise must be 0 or more"),
        (dict(n_iter=61), "n_iter=61 exceeds 60, the number of rows"),
        (dict(prior_scale=1.0), "give all of"),
    ],
)
def test_invalid_parameters_of_the_modeler_raise(X, params, message):
    with pytest.raises(ValueError, match=message):
        Modeler(**({"Z": X, "n_iter": 10} | params))


def test_invalid_outcomes_raise_and_are_not_recorded(X):
    m = Modeler(X, n_iter=10)
    with pytest.raises(ValueError, match="there is no outcome yet"):
        m.best()
    first, a, b = (m.ask() for _ in range(3))
    m.tell(first, 1.0)
    for rows, values, message in [
        (60, 1.0, "numbered from 0 to 59"),
        (first, 2.0, "already has an outcome"),
        (a, math.nan, "finite number"),
        ([a, a], [1.0, 1.0], "already has an outcome"),
        ([a, b], [1.0], "found 1 for 2 rows"),
        ([a, b], [1.0, math.inf], "finite number"),
    ]:
        with pytest.raises(ValueError, match=message):
            m.tell(rows, values)
    assert (m.rows, m.pending) == ([first], [a, b])


# ------------------------------------------------------------ messages
def test_two_sides_by_messages_find_the_same_as_one_process(X):
    c, f = curated(X), outcome(X)
    hospital = CuratorSide(c, f)
    table = hospital.answer({"type": "table"})
    company = ModelerSide(json.loads(json.dumps(table)), 14)
    while hospital.result is None:
        answer = hospital.answer(json.loads(json.dumps(company.ask())))
        if answer is not None:
            company.tell(json.loads(json.dumps(answer)))
    together = optimize(c, f, 14)
    assert company.modeler.rows == together.rows
    assert hospital.result == together.best()
    assert set(table) == {"type", "version", "rows", "input_noise"}
    assert not [x for x in X.ravel() if repr(float(x))[:12] in json.dumps(table)]


@pytest.mark.parametrize(
    "message",
    [{"type": "ask", "rows": rows} for rows in ([60], [True], ["1"], [1.5], None, [0] * 101)]
    + [None, [], {"type": "tell", "rows": [1]}, {"type": "best"}, {"type": "terms"}]
    + [{"type": "done", **what} for what in ({"row": "x", "value": 1.0}, {"row": 0, "value": ""})],
)
def test_invalid_messages_to_a_curator_raise(X, message):
    with pytest.raises(ValueError, match="found|at most 100"):
        CuratorSide(curated(X), outcome(X)).answer(message)


def test_lost_messages_are_sent_again_and_no_row_is_evaluated_twice(X):
    evaluated = []

    def oracle(row):
        evaluated.append(row)
        return outcome(X)(row) if len(evaluated) <= 6 else math.nan

    hospital = CuratorSide(curated(X), oracle)
    company = ModelerSide(hospital.table(), 6)
    while hospital.result is None:
        question = company.ask()
        assert company.ask() == question, "the first question is repeated"
        answers = [hospital.answer(question) for _ in range(2)]
        if answers[0] is not None:
            assert answers[0] == answers[1]
            company.tell(answers[0])
    assert len(evaluated) == len(set(evaluated)) == 6
    other = next(row for row in range(60) if row not in evaluated)
    with pytest.raises(ValueError, match="is nan, not a finite number"):
        hospital.answer({"type": "ask", "rows": [other]})

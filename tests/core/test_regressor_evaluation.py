"""Evaluations of regressors: what is clipped is named, and quantiles are those of all errors."""

import json
import math

import numpy as np
import pytest
from evaluations import Known
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, median_absolute_error, root_mean_squared_error

from sklearn_dpbo import private_evaluation
from sklearn_dpbo.metrics._errors import ErrorHistogram, Moments
from sklearn_dpbo.metrics.evaluations._design import _STEPS
from sklearn_dpbo.metrics.evaluations._regressor import _quantile, _share_within
from sklearn_dpbo.records.units import Units

pytestmark = [
    pytest.mark.usefixtures("seeded"),
    pytest.mark.filterwarnings("ignore"),
]
ERRORS = ["mean_absolute_error", "root_mean_squared_error"]


def problem(rng, sigma, m=2_000):
    """A fitted model, public records, and skewed protected ones, in units of 1000."""
    X = rng.normal(size=(600 + m, 1))
    y = 1000 * np.exp(0.6 * X[:, 0]) * rng.lognormal(0, sigma, 600 + m)
    model = LinearRegression().fit(X[:600], y[:600])
    return model, (X[:600], y[:600]), (X[600:], y[600:])


def evaluated(model, public, protected, epsilon=1e7, **kwargs):
    X, y = public
    return private_evaluation(model, *protected, X=X, y=y, epsilon=epsilon, **kwargs)


@pytest.mark.parametrize("sigma", [0.5, 1.5])
def test_without_noise_quantiles_and_shares_are_those_of_all_errors(sigma, rng):
    model, public, (X, y) = problem(rng, sigma)
    error = np.abs(y - model.predict(X))
    tolerance = float(np.round(np.median(error)))
    evaluation = evaluated(model, public, (X, y), thresholds=[tolerance])
    exact = {
        "median_absolute_error": median_absolute_error(y, model.predict(X)),
        "quantile_absolute_error": np.quantile(error, 0.9),
        "share_clipped": np.mean(error > evaluation.largest_error),
    }
    for name, number in exact.items():
        value, low, high = evaluation.score(name, interval="records")
        assert low - 1e-9 <= number <= high + 1e-9, name
        assert value == pytest.approx(number, rel=0.03)
    estimate = evaluation.score("share_within", tolerance=tolerance, interval="records")
    assert tuple(estimate) == pytest.approx((np.mean(error <= tolerance),) * 3)
    low, high = evaluation.score("quantile_absolute_error", q=0.2, interval="records")[1:]
    assert low <= np.quantile(error, 0.2) <= high


@settings(max_examples=100)
@given(
    st.lists(st.floats(0.01, 9), min_size=1, max_size=5, unique=True),
    st.lists(st.floats(0, 20), min_size=1, max_size=30),
    st.floats(0.01, 0.99),
    st.floats(0, 12),
)
def test_ends_contain_what_bins_hide(edges, errors, q, size):
    edges, errors = tuple(sorted(edges)), np.array(errors)
    cells = ErrorHistogram(edges).record_values(errors, np.zeros(len(errors)), None)
    counts = np.bincount(cells, minlength=len(edges) + 1)[None].astype(float)
    for function, x, exact in [
        (_quantile, q, np.quantile(errors, q, method="inverted_cdf")),
        (_share_within, size, np.mean(errors <= size)),
    ]:
        low, value, high = (
            function(edges, counts, x, end)[0] for end in (-math.inf, None, math.inf)
        )
        # A share of exactly q may be reached a bin earlier, by rounding.
        assert low <= value + 1e-9 and value <= high + 1e-9
        assert low <= exact + 1e-9
        assert exact <= high + 1e-9 or math.isclose(q * len(errors) % 1, 0, abs_tol=1e-9)


def test_an_error_that_is_not_a_number_is_the_largest():
    cells = ErrorHistogram((1.0, 2.0)).record_values(
        np.array([0.0, 1.0, 1.5, 2.0, 9.0, np.nan, np.inf]), np.zeros(7), None
    )
    assert cells.tolist() == [0, 0, 1, 1, 2, 2, 2]


def test_clipped_numbers_are_named_and_others_have_a_lower_end_alone(rng):
    model, public, (X, y) = problem(rng, 1.5)
    evaluation, predicted = evaluated(model, public, (X, y)), model.predict(X)
    assert evaluation.score("share_clipped").high > 0.01
    bound = f"{evaluation.largest_error:.4g}"
    exact = {"mean_absolute_error": mean_absolute_error(y, predicted)}
    exact["root_mean_squared_error"] = root_mean_squared_error(y, predicted)
    scores = json.loads(evaluation.to_json())["scores"]
    for name in ERRORS:
        value, low, high = evaluation.score(name, clipped=False)
        assert low < value < exact[name] < high == math.inf
        assert (value, low) == evaluation.score(name)[:2]
        note = f"errors above {bound} counted as {bound}; if not: {low:.4g} to inf"
        assert scores[name]["note"] == note
        for shown in (repr(evaluation), evaluation._repr_html_()):
            assert f"{evaluation.score(name)}, {note}" in shown
    assert scores["r2"]["note"] == f"errors above {bound} counted as {bound}"
    assert "note" not in scores["median_absolute_error"]
    gain = evaluation.score("neg_mean_absolute_error", clipped=False)
    assert gain.low == -math.inf
    for name in ("r2", "mean_error", "share_clipped"):
        with pytest.raises(ValueError, match="without clipping is not known"):
            evaluation.score(name, clipped=False)


def test_if_hardly_anything_is_clipped_no_lower_ends_are_shown(rng):
    model, public, protected = problem(rng, 0.1)
    evaluation = evaluated(model, public, protected, largest_error=1e5)
    assert "counted as 1e+05" in repr(evaluation) and "if not" not in repr(evaluation)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("accuracy", {}, "score takes one of"),
        ("quantile_absolute_error", {"q": 1.0}, "q must be"),
        ("share_within", {"tolerance": -1.0}, "tolerance must be"),
        ("mean_error", {"interval": "both"}, "interval must be"),
    ],
)
def test_wrong_arguments_are_named(name, options, message, rng):
    model, public, protected = problem(rng, 0.5, 300)
    evaluation = evaluated(model, public, protected)
    with pytest.raises(ValueError, match=message):
        evaluation.score(name, **options)
    with pytest.raises(ValueError, match="must be from 0 up"):
        evaluated(model, public, protected, thresholds=[-1.0])
    with pytest.raises(ValueError, match="a regressor takes no pos_label"):
        evaluated(model, public, protected, pos_label=1)


# ------------------------------------------------------------------ the population
def test_deviations_of_sums_are_those_of_their_terms(rng):
    y, response = rng.normal(0.3, 0.5, 500), rng.normal(0.1, 0.4, 500)
    sums, units = Moments(0.0, 1.0, 1.0, _STEPS), Units.of(500)
    values = sums.record_values(y, response, None)
    deviations = sums.sampling_deviations(np.array(sums.statistics(values, y, units)), units)
    expected = values.std(axis=0) * math.sqrt(500)
    assert np.abs(deviations[:5]) == pytest.approx(expected[:5], rel=1e-4)
    assert (deviations[5:] == 0).all()
    # Large errors, small variance of labels: the ratio moves as far as it can.
    mean_t, mean_e = values[:, 2].mean(), values[:, 3].mean()
    assert np.sign(deviations[:5]).tolist() == [1, -1, np.sign(mean_t), -np.sign(mean_e), 1]
    without = Moments(0.0, 1.0, 1.0, _STEPS[:4])
    wider = without.sampling_deviations(np.array(sums.statistics(values, y, units))[:4], units)
    assert abs(wider[0]) > abs(deviations[0]) and abs(wider[1]) > abs(deviations[1])


def covered(rng, epsilon, factor=1.0, interval="population", m=1_000, n=60, sigma=1.0):
    """How often intervals contain the population's number: of new records, and new noise."""
    model, public, _ = problem(rng, sigma, 1)
    _, _, (X, y) = problem(rng, sigma, 100_000)
    hits = dict.fromkeys(
        ["root_mean_squared_error", "mean_absolute_error", "mean_error", "r2", "share_clipped",
         "median_absolute_error", "quantile_absolute_error"], 0,
    )  # fmt: skip
    for _ in range(n):
        rows = rng.integers(len(y), size=m)
        known = Known(model, public, (X[rows], y[rows]), epsilon)
        evaluation, error = known.fresh(rng, factor), y - model.predict(X)
        c, sums = evaluation.largest_error, evaluation._parts[0]
        e, t = np.clip(error, -c, c), np.clip(y - sums.centre, -sums.c_y, sums.c_y)
        exact = {
            "root_mean_squared_error": np.sqrt(np.mean(e**2)),
            "mean_absolute_error": np.mean(abs(e)),
            "mean_error": np.mean(e),
            "r2": 1 - np.mean(e**2) / np.var(t),
            "share_clipped": np.mean(abs(error) > c),
            "median_absolute_error": np.median(abs(error)),
            "quantile_absolute_error": np.quantile(abs(error), 0.9),
        }
        for name, number in exact.items():
            _, low, high = evaluation.score(name, interval=interval)
            hits[name] += low <= number <= high
    return {name: count / n for name, count in hits.items()}


@pytest.mark.parametrize(
    ("m", "epsilon", "sigma", "n"),
    [
        (1_000, 5.0, 1.0, 60),
        pytest.param(300, 1.0, 1.5, 400, marks=pytest.mark.slow),
        pytest.param(300, 5.0, 1.0, 400, marks=pytest.mark.slow),
        pytest.param(1_000, 1.0, 1.0, 400, marks=pytest.mark.slow),
        pytest.param(5_000, 5.0, 1.5, 400, marks=pytest.mark.slow),
    ],
)
def test_intervals_contain_the_number_of_the_population(m, epsilon, sigma, n, rng):
    shares = covered(rng, epsilon, m=m, n=n, sigma=sigma)
    assert min(shares.values()) >= (0.85 if n == 60 else 0.9), shares


@pytest.mark.slow
def test_without_sampling_error_they_do_not(rng):
    shares = covered(rng, 50.0, interval="records", n=40)
    assert max(shares[name] for name in (*ERRORS, "mean_error", "share_clipped")) < 0.7, shares


@pytest.mark.slow
def test_nor_with_half_of_the_noise_that_there_is(rng):
    shares = covered(rng, 0.5, factor=2.0, n=40)
    assert max(shares[name] for name in ("mean_absolute_error", "mean_error")) < 0.9, shares

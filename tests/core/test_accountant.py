"""What the package says that releases cost, checked by another accountant: `accountant.py`."""

import math
from fractions import Fraction

import mpmath
import pytest
from accountant import (
    DELTAS,
    MARGIN,
    cost_of_fits,
    delta_of_gdp,
    drawn,
    log_delta_of_zcdp,
    total,
)
from few import few
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import (
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    private_comparison,
    private_evaluation,
)
from sklearn_dpbo.privacy import gdp
from sklearn_dpbo.privacy.gdp import epsilon_of_gdp, gdp_within
from sklearn_dpbo.privacy.rounding import divide, round_down, round_up
from sklearn_dpbo.privacy.runs import COMPOSITIONS, Composed, FitGuarantee
from sklearn_dpbo.privacy.zcdp import epsilon_of_zcdp, zcdp_within
from sklearn_dpbo.strategies import WorstCase

# ---------------------------------------------------------------- one parameter
# From the smallest delta that a float can hold to the largest one.
extreme_deltas = st.one_of(
    st.floats(-323, 0, exclude_max=True).map(lambda d: 10**d),
    st.floats(-15, 0, exclude_max=True).map(lambda d: 1 - 10**d),
).filter(lambda d: 0 < d < 1)
extreme_epsilons = st.floats(-30, 9).map(lambda e: 10**e)


@settings(max_examples=15)
@given(extreme_epsilons, extreme_deltas)
@example(1e-7, 1e-100)
@example(1e-12, 1e-30)
@example(1.0, 5e-324)
@example(1e-30, 1e-300)
@example(1.0, 1 - 2**-53)
def test_gdp_conversions_are_never_below_the_exact_ones(epsilon, delta):
    mu = gdp_within(epsilon, delta)
    assert mu > 0 and delta_of_gdp(mu, epsilon) <= delta
    if epsilon > 1e-8 and delta < 0.999:  # but nearly the exact ones
        assert delta_of_gdp(mu * (1 + 1e-3), epsilon) > delta
    assert delta_of_gdp(mu, epsilon) <= gdp.delta_of_gdp(mu, epsilon) * (1 + 1e-9) + 5e-324
    assert epsilon_of_gdp(mu, delta) == 0 or delta_of_gdp(mu, epsilon_of_gdp(mu, delta)) >= delta


@pytest.mark.slow
@settings(max_examples=40)
@given(extreme_epsilons, extreme_deltas)
@example(1.0, 5e-324)
@example(1e-30, 1e-30)
@example(1.0, 1 - 2**-53)
def test_zcdp_conversions_are_never_below_the_exact_ones(epsilon, delta):
    rho = zcdp_within(epsilon, delta)
    assert rho > 0
    with mpmath.workdps(60):
        least = mpmath.log(delta)
        assert log_delta_of_zcdp(rho, epsilon) <= least
        if delta < 0.999:  # but nearly the exact one
            assert log_delta_of_zcdp(rho * (1 + 1e-6), epsilon) > least
        found = epsilon_of_zcdp(rho, delta)
        assert found == 0 or log_delta_of_zcdp(rho, found) >= least


@given(st.fractions(), st.floats(1e-300, 1e300), st.fractions(0, 1))
def test_fractions_are_rounded_to_the_side_that_they_say(x, whole, share):
    low, high = round_down(x), round_up(x)
    assert low <= x <= high and high in (low, math.nextafter(low, math.inf))
    part, rest = divide(whole, share)
    assert part == round_down(Fraction(whole) * share)
    assert rest == round_down(Fraction(whole) * (1 - share))


# ---------------------------------------------------------------- several fits
TOTALS = [(each, 1.0, 1e-6) for each in COMPOSITIONS] + [(each, 6.0, 1e-3) for each in COMPOSITIONS]
TOTALS += [("pure", 0.5, 0.0)]


@pytest.mark.parametrize("n", [1, 4, 100])
@pytest.mark.parametrize("factor", [1, 2])
@pytest.mark.parametrize(("composition", "epsilon", "delta"), TOTALS)
def test_n_fits_cost_all_of_the_total_and_no_more(composition, factor, n, epsilon, delta):
    fit = FitGuarantee(composition, factor)
    each, delta_each = Composed(n).each(fit, epsilon, delta)
    cost = cost_of_fits(composition, factor, n, each, delta_each)
    if composition == "approximate":
        assert cost == pytest.approx((epsilon, delta), rel=MARGIN)
        assert cost[0] <= epsilon and cost[1] <= delta
    elif composition == "pure":
        rho = (factor * each) ** 2 * n / 2
        by_zcdp = delta and DELTAS["zCDP"](rho, epsilon)
        nearly = delta and DELTAS["zCDP"](rho * (1 + MARGIN), epsilon)
        assert cost <= epsilon or by_zcdp <= delta
        assert cost >= epsilon * (1 - MARGIN) and (not delta or nearly > delta or n < 100)
    else:
        assert DELTAS[composition](cost, epsilon) <= delta * (1 + MARGIN)
        assert DELTAS[composition](cost * (1 + MARGIN), epsilon) > delta


@pytest.mark.parametrize("composition", few(COMPOSITIONS, *({*COMPOSITIONS} - {"zCDP"})))
def test_replacement_is_two_steps_of_adding_or_removing(composition):
    epsilon, delta = 1.0, 0.0 if composition == "pure" else 1e-6
    found = FitGuarantee(composition, 2).of_replacement(epsilon, 1e-6)
    cost = cost_of_fits(composition, 2, 1, epsilon, delta)
    if composition in DELTAS:
        assert DELTAS[composition](cost, found[0]) == pytest.approx(delta, rel=MARGIN)
        assert found[1] == delta
    else:
        assert found == pytest.approx((cost, 0.0) if composition == "pure" else cost)
    assert FitGuarantee(composition).of_replacement(epsilon, 1e-6) == (epsilon, delta)


# ---------------------------------------------------------------- what was drawn
def spent(name, epsilon, data):
    """Spend epsilon by an entry point; return its report."""
    X, y, X_val, y_val = data
    public, val = {"X": X, "y": y}, {"X_val": X_val, "y_val": y_val}
    model, own = LogisticRegression(), {"epsilon": epsilon, "random_state": 0}
    grid = {"C": [1e-3, 0.1, 1.0]}
    if name == "threshold":
        tuned = PrivateThresholdClassifier(model, epsilon=epsilon, thresholds=32)
        return tuned.fit(**public, **val).privacy_
    if name == "evaluation":
        return private_evaluation(model.fit(X, y), **val, **public, epsilon=epsilon).privacy_
    if name == "comparison":
        pair = model.fit(X, y), LogisticRegression(C=1e-3).fit(X, y)
        return private_comparison(*pair, **val, **public, epsilon=epsilon).privacy_
    asked = {
        "search": {}, "f1": {"scoring": "f1"}, "area": {"scoring": "roc_auc"},
        "all scores": {"release": "all"}, "report": {"release": "evaluation"},
        "several scores": {"scoring": ["accuracy", "f1"], "refit": "accuracy"},
        "large share": {"strategy": WorstCase(score_share=0.7)},
        "all scores with delta": {"release": "all", "delta": 1e-6},
        "no score": {"strategy": WorstCase(score_share=0)},
    }[name]  # fmt: skip
    search = PrivateBayesSearchCV(model, grid, **asked, **own)
    return search.fit(**public, **val).privacy_


@pytest.mark.first(5)
@pytest.mark.parametrize("epsilon", few([0.7, 40.0]))
@pytest.mark.parametrize("name", [
    "search", "f1", "area", "all scores", "report", "several scores", "large share", "no score",
    "threshold", "evaluation", "comparison", "all scores with delta",
])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_noise_that_is_drawn_costs_what_is_charged(name, epsilon, seeded, two_classes):
    """Each draw by its scale and sensitivity; all together, and each part of the report."""
    with drawn() as costs:
        report = spent(name, epsilon, two_classes)
    charged = math.fsum(loss.epsilon for loss in report.spends)
    cost = total(costs, 1e-6)
    assert costs and cost <= charged * (1 + MARGIN) and charged <= epsilon
    assert cost == pytest.approx(epsilon, rel=1e-3)

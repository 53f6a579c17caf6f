"""What several private fits cost: exact distributions, another library's numbers, hand-worked ones.

Values of dp-accounting 0.6.0 are of its `RepeatAndSelectDpEvent` and `compute_epsilon`.
"""

import math
from decimal import Context, Decimal, localcontext
from functools import cache, partial
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from distributions import permute_and_flip_pmf
from few import few
from scipy.integrate import trapezoid
from scipy.stats import norm

from sklearn_dpbo.privacy.gdp import delta_of_gdp, gdp_within
from sklearn_dpbo.privacy.runs import BITS, COMPOSITIONS, FitGuarantee, Repeated
from sklearn_dpbo.privacy.zcdp import _log_delta, zcdp_within

ETAS = (-0.5, 0.0, 0.5, 1.0, 3.0)
GAMMAS = (1e-3, 0.03, 0.3, 0.9)


# ------------------------------------------------------------------ the number of runs
@cache
def pmf(repetition):
    """Return P(K = 1), P(K = 2), ..., from the definition, until almost all is there."""
    eta, gamma = repetition.eta, repetition.gamma
    k = np.arange(1, 50_000)
    # (1 - gamma)^k times (k + eta - 1) ... eta / k!, of which eta is a factor of all.
    logs = k * math.log1p(-gamma) + np.cumsum(np.log(np.append(1.0, (k[1:] + eta - 1) / k[1:])))
    p = np.exp(logs)
    return p[: np.searchsorted(np.cumsum(p), (1 - 1e-14) * p.sum()) + 1] / p.sum()


@pytest.mark.parametrize("repetition", [Repeated.of_mean(5, -0.5), Repeated.of_mean(24, 1.0)])
def test_draw_ends_where_numbers_are_rounded_down(repetition):
    assert repetition.mean < repetition.draw(lambda n: n - 1) < 2_000 * repetition.mean


@pytest.mark.parametrize(
    ("mean", "eta"),
    [
        *[(1.001, 1.0), (5, -0.5), (24, 0.0), (24, 1.0), (400, 1.0)],
        pytest.param(10_000, 1.0, marks=pytest.mark.slow),
    ],
)
def test_number_of_runs_has_its_distribution_up_to_2_to_the_minus_100(mean, eta):
    """For all that `n_fits` may be; with floats of 53 bits it would be 2^-42 at a mean of 400."""
    repetition, distance = Repeated.of_mean(mean, eta), Decimal(0)
    before, left = 0, Decimal(1)
    with localcontext(Context(prec=120)):
        gamma, eta = Decimal(repetition.gamma), Decimal(eta)
        first = -1 / gamma.ln() if eta == 0 else eta / ((-eta * gamma.ln()).exp() - 1)
        p = (1 - gamma) * first
        for k, most in enumerate(repetition.cumulated(), 1):
            distance += abs(Decimal(most - before) / 2**BITS - p)
            left -= p
            p *= (1 - gamma) * (k + eta) / (k + 1)
            before = most
        assert before == 2**BITS and (distance + left) / 2 < Decimal(2) ** -100


every_repetition = pytest.mark.parametrize(
    "repetition", [Repeated(eta, gamma) for eta in ETAS for gamma in GAMMAS], ids=str
)


@every_repetition
def test_mean_number_of_runs_is_that_of_the_distribution(repetition):
    p = pmf(repetition)
    mean = float(p @ np.arange(1, len(p) + 1))
    assert repetition.mean == pytest.approx(mean, rel=1e-6)
    assert Repeated.of_mean(mean, repetition.eta).gamma == pytest.approx(repetition.gamma, rel=1e-5)


@every_repetition
def test_number_of_runs_is_drawn_by_inversion(repetition):
    total = np.cumsum(pmf(repetition))
    for u in (0.0, 0.0917, 0.517, 0.893, 0.9991):
        expected = 1 + np.searchsorted(total, u)
        assert repetition.draw(lambda n, u=u: int(u * n)) == expected


@pytest.mark.parametrize("mean", [1.0, 0.5, math.inf, math.nan])
def test_a_mean_number_of_runs_of_one_or_less_is_refused(mean):
    with pytest.raises(ValueError, match="the mean number of runs must be above 1"):
        Repeated.of_mean(mean)


# ------------------------------------------------------------------ exact: the best of K runs
def best(repetition, q):
    """Return the distribution of the best of K outputs, each of which has probabilities q.

    Outputs are in the order of their scores: P(best <= j) is the sum over K of P(K) F(j)^K.
    """
    p, F = pmf(repetition), np.cumsum(q)
    powers = np.minimum(F, 1.0)[:, None] ** np.arange(1, len(p) + 1)
    return np.diff(powers @ p, prepend=0.0)


def neighbours(epsilon):
    """Yield pairs of distributions of three outputs whose ratios are within exp(+-epsilon).

    One becomes more probable by all of exp(epsilon), another less probable, the third has the rest.
    """
    e = math.exp(epsilon)
    for rare, rarer in product((0.3, 0.02), (0.1, 1e-6)):
        for up, down in ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)):
            q, other = np.full(3, np.nan), np.full(3, np.nan)
            q[[up, down]] = rare, rarer
            other[[up, down]] = rare * e, rarer / e
            q[np.isnan(q)], other[np.isnan(other)] = 1 - rare - rarer, 1 - rare * e - rarer / e
            if other.min() > 0 and np.abs(np.log(q / other)).max() <= epsilon * (1 + 1e-12):
                yield q, other


def hockey_stick(q, other, epsilons):
    """Return the privacy profile of a pair: the larger delta of both directions."""
    e = np.exp(np.asarray(epsilons, dtype=float))[..., None]
    both = [np.maximum(a - e * b, 0).sum(axis=-1) for a, b in ((q, other), (other, q))]
    return np.maximum(*both)


def largest_ratio(repetition, epsilon):
    pairs = [[best(repetition, each) for each in pair] for pair in neighbours(epsilon)]
    return max(float(np.abs(np.log(q / other)).max()) for q, other in pairs)


EXACT = [Repeated(eta, gamma) for eta in ETAS for gamma in (0.01, 0.3, 0.9)]


def pure(repetition, epsilon):
    """Return the epsilon of the best of runs that have this one."""
    return (2 + repetition.eta) * epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("repetition", EXACT, ids=str)
def test_pure_bound_holds_for_the_best_of_many_runs(repetition, epsilon):
    """Runs of twice the epsilon break it, if there are many."""
    bound = pure(repetition, epsilon)
    assert repetition.each(FitGuarantee("pure"), bound, 0.0) == pytest.approx((epsilon, 0.0))
    assert largest_ratio(repetition, epsilon) <= bound * (1 + 1e-9)
    if repetition.gamma < 0.1:
        assert largest_ratio(repetition, 2 * epsilon) > bound


@pytest.mark.first(1)
@pytest.mark.parametrize("eta", [0.0, 1.0, 3.0])
def test_pure_bound_is_nearly_attained(eta):
    """By an output that becomes rarer while better ones become more frequent."""
    repetition = Repeated(eta, 1e-3)
    assert largest_ratio(repetition, 0.1) > 0.9 * pure(repetition, 0.1)


@pytest.mark.parametrize("repetition", EXACT, ids=str)
def test_profile_of_the_best_of_many_runs_is_within_the_bound(repetition):
    """The bound is of the profile of one run, whatever that is."""
    for q, other in neighbours(0.8):
        pair = best(repetition, q), best(repetition, other)
        for epsilon in (0.3, 1.0, 2.0, 3.0):
            bound = repetition.delta(epsilon, partial(hockey_stick, q, other))
            assert hockey_stick(*pair, epsilon) <= bound + 1e-12


def delta_of_best_gaussian(repetition, mu, epsilon):
    """Return the delta of the best of K runs that give a number, N(0, 1) or N(mu, 1), itself.

    The best has the density q(y) E[K F(y)^(K - 1)], for the distribution F of one run.
    """
    eta, gamma = repetition.eta, repetition.gamma
    y = np.linspace(-12, 12 + mu, 200_001)

    def density(shift):
        above = gamma + (1 - gamma) * norm.sf(y - shift)  # 1 - (1 - gamma) F
        return norm.pdf(y - shift) * repetition.mean * (above / gamma) ** -(eta + 1)

    a, b = density(0.0), density(mu)
    assert trapezoid(a, y) == pytest.approx(1, abs=1e-6)
    return max(trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), y) for p, q in ((a, b), (b, a)))


@pytest.mark.parametrize("eta", [0.0, 1.0])
def test_the_best_of_gaussian_runs_is_as_private_as_declared(eta):
    """With half of the noise it is not."""
    repetition, epsilon, delta = Repeated.of_mean(24, eta), 1.0, 1e-6
    mu = repetition.mu_within(epsilon, delta)
    assert delta_of_best_gaussian(repetition, mu, epsilon) <= delta
    assert delta_of_best_gaussian(repetition, 2 * mu, epsilon) > delta
    rho = repetition.rho_within(epsilon, delta)
    assert delta_of_best_gaussian(repetition, math.sqrt(2 * rho), epsilon) <= delta


# ------------------------------------------------------------------ exact: which model is chosen
KINDS = np.array([0.9, 0.07, 0.03])
SCORES = (7, 1, 4)
NUMBERS = {
    "K=1": np.eye(5)[0],
    "K=5": np.eye(5)[4],
    "logarithmic": pmf(Repeated(0.0, 0.1))[:5] / pmf(Repeated(0.0, 0.1))[:5].sum(),
    "geometric": pmf(Repeated(1.0, 0.3))[:5] / pmf(Repeated(1.0, 0.3))[:5].sum(),
}


def chosen(numbers, kinds, scores, epsilon):
    """Return how probable it is that a model of each kind is chosen by permute-and-flip.

    K models are fitted with probability numbers[K - 1], each of which is of kind j with probability
    kinds[j] and has the score scores[j].
    """
    found = np.zeros(len(kinds))
    for K in np.flatnonzero(numbers) + 1:
        for models in combinations_with_replacement(range(len(kinds)), K):
            counts = np.bincount(models, minlength=len(kinds))
            orders = math.factorial(K) / math.prod(map(math.factorial, counts))
            weight = numbers[K - 1] * orders * np.prod(kinds**counts)
            each = permute_and_flip_pmf([scores[j] for j in models], epsilon, 1)
            np.add.at(found, list(models), weight * each)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_choice_costs_the_evaluated_records_epsilon_once_however_many_models(name):
    """One of these records moves each score by 1 at most, of all kinds of models together."""
    numbers, epsilon = NUMBERS[name], 1.0

    def largest(each):
        given = chosen(numbers, KINDS, SCORES, each)
        moved = [np.add(SCORES, moves) for moves in product((-1, 0, 1), repeat=3)]
        return max(
            np.abs(np.log(chosen(numbers, KINDS, scores, each) / given)).max() for scores in moved
        )

    assert largest(epsilon) <= epsilon * (1 + 1e-12)
    if name == "K=5":  # where one model is fitted at times, there is no choice
        assert largest(2 * epsilon) > epsilon


def winner(numbers, kinds, scores, epsilon):
    """Return how probable each kind is as that of the run with the largest noisy score.

    P(j) is the integral over x of kinds[j] f(x - scores[j]) sum over K of P(K) K F(x)^(K - 1): f is
    the density of exponential noise of scale 2 / epsilon, F the distribution of a run's score.
    """
    scale = 2 / epsilon
    edges = np.append(np.unique(scores), max(scores) + scale * np.arange(1, 41))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    x = (middle[:, None] + half[:, None] * nodes).ravel()
    above = np.maximum(x[:, None] - np.array(scores), 0) / scale
    F = -np.expm1(-above) @ kinds
    K = np.arange(1, len(numbers) + 1)
    others = F[:, None] ** (K - 1) @ (numbers * K)
    density = np.where(x[:, None] > np.array(scores), np.exp(-above), 0.0) / scale * kinds
    return (half[:, None] * weights).ravel() * others @ density


def test_permute_and_flip_chooses_the_run_with_the_largest_noisy_score():
    """So each run has its own noisy score, as the bound for repeated runs needs it."""
    for numbers in NUMBERS.values():
        given = numbers, KINDS, SCORES, 1.5
        np.testing.assert_allclose(chosen(*given), winner(*given), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5])
@pytest.mark.parametrize("repetition", [Repeated(0.0, 0.05), Repeated(1.0, 0.05)], ids=str)
def test_choice_costs_the_fitted_records_what_repetition_does(repetition, epsilon):
    """One of these records changes how probable a kind of model is, by exp(epsilon) at most."""

    def largest(each):
        pairs = [
            [winner(pmf(repetition), kinds, (3, 40, 80), 2.0) for kinds in pair]
            for pair in neighbours(each)
        ]
        return max(float(np.abs(np.log(q / other)).max()) for q, other in pairs)

    bound = pure(repetition, epsilon)
    assert largest(epsilon) <= bound
    assert largest(2 * epsilon) > bound


# ------------------------------------------------------------------ another library's numbers
@pytest.mark.parametrize(
    ("mean", "eta", "epsilon", "delta", "rho", "of_more_orders"),
    [
        (5, 0.0, 1.0, 1e-6, 0.010271166, 0.010272179),
        (10, 0.0, 1.0, 1e-6, 0.008922469, 0.008923668),
        (32, 0.0, 1.0, 1e-6, 0.007432458, 0.007433792),
        (10, 1.0, 1.0, 1e-6, 0.006176880, 0.006177824),
        (5, 0.5, 3.0, 1e-6, 0.074723525, 0.074742753),
        (16, 0.0, 8.0, 1e-6, 0.480141287, 0.480218668),
    ],
)
def test_rho_of_repeated_runs_is_at_least_that_of_dp_accounting(
    mean, eta, epsilon, delta, rho, of_more_orders
):
    """Its bound is by Renyi divergences, which is nearly as good for runs that have no other."""
    found = Repeated.of_mean(mean, eta).rho_within(epsilon, delta)
    assert 0.9999 * of_more_orders < found < 1.05 * rho


# ------------------------------------------------------------------ what each fit has
REPETITIONS = [Repeated.of_mean(mean, eta) for mean, eta in ((2, 0.0), (16, -0.5), (5, 1.0))]


@pytest.mark.parametrize("factor", few([1, 2], 2))
@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("repetition", REPETITIONS, ids=str)
def test_repeated_fits_never_cost_more_than_the_total(repetition, composition, factor):
    epsilon, delta, fit = 4.0, 1e-6, FitGuarantee(composition, factor)
    one = repetition.each(fit, epsilon, delta)
    assert (one[1] == 0) == (composition == "pure")
    each, delta_each = fit.of_replacement(*one)
    if composition in ("GDP", "zCDP"):
        rho = zcdp_within(each, delta_each)
        profile = {
            "GDP": lambda e: delta_of_gdp(gdp_within(each, delta_each), e),
            "zCDP": np.vectorize(lambda e: math.exp(min(_log_delta(rho, e), 0.0))),
        }[composition]
        assert repetition.delta(epsilon, profile) <= delta * (1 + 1e-6)
    else:
        more = math.log(math.exp(each) + (1 / repetition.gamma - 1) * delta_each)
        assert each + (1 + repetition.eta) * more <= epsilon
        assert repetition.mean * delta_each <= delta

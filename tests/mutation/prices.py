"""What releases cost: numbers that mutants must not make more generous than the package does.

The sign of a number says whether a larger (1) or a smaller one (-1) promises too much, or any other
one (0).
"""

import gc
import itertools
import math
from fractions import Fraction
from functools import _lru_cache_wrapper, partial

import numpy as np
from accountant import drawn

from sklearn_dpbo.learners import _tables
from sklearn_dpbo.privacy import gdp, mechanisms, profiles, rounding, runs, zcdp
from sklearn_dpbo.privacy.accounting import Budget, PrivacyLoss
from sklearn_dpbo.privacy.sensitive import Secret, Sensitive
from sklearn_dpbo.privacy.spending import Part, Spending
from sklearn_dpbo.testing import seeded_noise

REPEATED = runs.Repeated(1.0, 0.08), runs.Repeated(0.0, 0.02), runs.Repeated(-0.5, 0.01)


def forget():
    """Empty all caches, in which there are numbers of the package as it is."""
    for cached in [each for each in gc.get_objects() if type(each) is _lru_cache_wrapper]:
        cached.cache_clear()


def prices():
    """Yield name, number and sign, the quick ones first."""
    for part in (
        of_conversions,
        of_fractions,
        of_budgets,
        of_draws,
        of_tables,
        of_fits,
        of_profiles,
        of_numbers,
    ):
        for name, number, sign in part():
            yield (part.__name__, *name), float(number), sign


def of_conversions():
    """Between epsilon, delta and one parameter."""
    for e, d in ((0.1, 1e-6), (1.0, 1e-2), (8.0, 1e-9)):
        yield ("mu", e, d), gdp.gdp_within(e, d), 1
        yield ("rho", e, d), zcdp.zcdp_within(e, d), 1
        for mu in (0.03, 0.8, 4.0):
            yield ("delta", mu, e), gdp.delta_of_gdp(mu, e), -1
    for mu, d in ((0.05, 1e-6), (1.0, 1e-5), (3.0, 1e-3)):
        yield ("epsilon of mu", mu, d), gdp.epsilon_of_gdp(mu, d), 1
        yield ("epsilon of rho", mu, d), zcdp.epsilon_of_zcdp(mu, d), 1


def of_fractions():
    """Rounding, and shares."""
    for x in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 2), Fraction(-1, 3)):
        yield ("down", x), exceeds(rounding.round_down(x), x), 0
        yield ("up", x), exceeds(rounding.round_up(x), x), 0
    for whole, share in ((1.0, 1 / 3), (0.7, 0.1), (3.0, 0.5)):
        part, rest = rounding.divide(whole, share)
        yield ("part", whole), exceeds(part, Fraction(whole) * Fraction(share)), 0
        yield ("rest", whole), exceeds(part + Fraction(rest), Fraction(whole)), 0


def exceeds(x, y):
    """Return the sign of x - y, exactly."""
    return (Fraction(x) > y) - (Fraction(x) < y)


def of_budgets():
    """What is left, and which charges are refused."""
    with seeded_noise(0):
        for epsilon, delta in ((1.0, 0.0), (0.3, 1e-6)):
            spending = Spending.begin(None, epsilon, delta, what="", mechanism="", unit="record")
            budget = spending._budget
            for i, share in enumerate((0.1, 0.3, 0.5)):
                for sort, number in (
                    ("share", spending.share(share)), ("delta", spending.share_of_delta(share)),
                    ("kept", spending.all_but(share)), ("left", budget.epsilon_left),
                    ("delta left", budget.delta_left),
                    ("spent", -budget.spent[0]), ("delta spent", -budget.spent[1]),
                ):  # fmt: skip
                    yield (sort, epsilon, i), number, 1
                budget.charge(PrivacyLoss(epsilon / 4, delta / 4, "", ""))
            other = spending.of_other_records()
            yield ("other", epsilon), other.epsilon, 1
            yield ("other delta", epsilon), other.delta, 1
    for left in ((0.5, 0.0), (1.0, 1e-7), (1.0, 1e-6)):
        yield ("refused", left), refused(Budget(*left), PrivacyLoss(1.0, 1e-6, "", "")), -1


def refused(budget, loss):
    """Return whether a charge, or the same once more, is refused: 0, 1 or 2 times."""
    n = 0
    for _ in range(2):
        try:
            budget.charge(loss)
        except Exception:
            n += 1
    return n


def of_draws():
    """The noise of draws."""
    for n, e, d, pure in itertools.product(
        (1, 5, 300), (0.3, 4.0), (0.0, 1e-6), (2**0.5, math.inf)
    ):
        if d or pure < math.inf:
            price = mechanisms.Price.shared(n, e, d, pure)
            yield ("delta", n, e, d, pure), price.delta, -1
            for sensitivity in (1, 2**20, 0.1):
                yield ("scale", n, e, d, pure, sensitivity), price.scale(sensitivity), -1
    yield ("rounded up",), exceeds(mechanisms._scale(1.0, 3.0), Fraction(1, 3)), 0


def of_mechanisms():
    """What each mechanism draws costs, and what it charges."""
    with seeded_noise(0), drawn() as costs:
        spending = Spending.begin(None, 8.0, 1e-6, what="", mechanism="", unit="record")
        counts, own = Sensitive([[5, 1], [3, 9]], 3), {"purpose": ""}
        scores = counts.measured(lambda table: table[:, :1], 3)
        spending.select(scores, 0.3, **own)
        spending.draw_exponentially(scores, 0.4, **own)
        models = spending.privately_fitted(mechanisms.Price(2, 0.5), "", "")
        spending.best_of(models, Secret(["a", "b"]), scores, 0.2, among="", **own)
        spending.release(counts, 0.7, **own)
        for n, delta in ((3, 0.0), (300, 1e-7)):
            price = mechanisms.Price.shared(n, 0.9, delta, math.sqrt(2))
            answers = spending.answers(price, **own)
            answers(counts), answers(counts)
        price = mechanisms.Price.shared(2, 0.6, 1e-7, math.inf)
        tables = spending.tables(price, [3.0, 5.0], delta=2e-7, **own)
        yield ("series",), tables.loss.delta, -1
        for table in (np.zeros((2, 2), dtype=int), {"a": 4, "b": 5}):
            tables(Secret(table))
        parts = [Part(counts, weight, "", "") for weight in (1, Fraction(1, 2), 3)]
        spending.release_each(parts)
    for i, (kind, cost) in enumerate(costs):
        yield (kind, i), cost, 1
    for i, loss in enumerate(spending.spent.spends):
        yield ("charged", i), loss.epsilon, -1
        yield ("charged delta", i), loss.delta, -1
    yield ("left",), spending.share(), 1


def of_tables():
    """How the tables of a learner share their budget."""
    for m, d, mu in ((100, 1, 0.1), (10_000, 8, 0.2), (10**6, 3, 1.0)):
        declared, pairs = _tables.tables(m, d, mu)
        yield ("pairs", m), pairs, 0
        for i, (moved, _) in enumerate(declared):
            yield ("moved", m, i), moved, -1
        yield ("share", m), max(1.0, sum(share for _, share in declared)), 1  # the rest is others'
    for std, n, delta in ((3.0, 2, 1e-6), (100.0, 1, 1e-9)):
        yield ("least count", std), _tables.least_count(std, n, delta), -1


def of_fits():
    """What each of several fits may cost."""
    for composition, factor in itertools.product(runs.COMPOSITIONS, (1, 2)):
        fit, delta = runs.FitGuarantee(composition, factor), 1e-6
        of = composition, factor
        for j, number in enumerate(fit.of_replacement(0.7, 1e-5)):
            yield ("replacement", *of, j), number, -1
        for n, (e, d) in itertools.product((1, 3), ((1.0, 1e-6), (4.0, 1e-3))):
            for j, number in enumerate(runs.Composed(n).each(fit, e, d)):
                yield ("composed", *of, n, e, j), number, 1
        # Rho takes seconds: the quickest distribution alone.
        for repeated in REPEATED[: 1 if composition == "zCDP" else 3]:
            for j, number in enumerate(repeated.each(fit, 1.0, delta)):
                yield ("repeated", *of, repeated, j), number, 1


def of_profiles():
    """What fits with a declared profile cost, and the setting that this leads to."""
    tail = lambda e: 1e-4 + 0.3 * np.exp(-3 * e)  # noqa: E731
    for (i, h), factor in itertools.product(
        enumerate((partial(gdp.delta_of_gdp, 0.8), tail)), (1, 2)
    ):
        profile = profiles.profile_of_all([h], factor)
        for e in (0.0, 0.4, 2.0, 5.0):
            yield ("profile", i, factor, e), profile(e), -1
        yield ("epsilon of profile", i, factor), profiles.epsilon_of_profile(profile, 0.03), -1
        for n, e in itertools.product((1, 2, 3), (0.5, 2.0)):
            yield ("delta of n", i, factor, n, e), profiles.delta_of_n(profile, n, e), -1
    for is_noise in (True, False):
        delta_of = lambda x, k=is_noise: math.exp(-x if k else -1 / x)  # noqa: E731
        found = profiles.setting_within(delta_of, 1e-3, "sigma", is_noise=is_noise)
        yield ("setting", is_noise), found, -1 if is_noise else 1


def of_numbers():
    """How many fits are made."""
    for repeated in REPEATED:
        yield ("mean", repeated), repeated.mean, 0
        for i in range(12):
            number = repeated.draw(lambda n, i=i: int((i + 0.5) / 12 * n))
            yield ("number", repeated, i), number, 0
    for mean, eta in ((24.0, 1.0), (6.0, 0.0)):
        yield ("of mean", mean), runs.Repeated.of_mean(mean, eta).mean, 0
    for n, n_settings in ((2, 9), (4, 4), (5, 5), (24, 60), (24, 3)):
        yield ("runs", n, n_settings), runs.runs_of(n, n_settings).mean, 0

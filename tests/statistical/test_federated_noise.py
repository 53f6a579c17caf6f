"""Votes, sums and intervals of several sites have the distributions that the theorem states.

Right noise fails a test once in a million runs; half of it fails each of them.
"""

import itertools
import math

import numpy as np
import pytest
from distributions import chi_square_p, discrete_laplace_pmf, permute_and_flip_pmf
from federated import Rounds, records, search_of
from scipy.stats import binom

from sklearn_dpbo import PrivateFederatedSearch
from sklearn_dpbo._privacy.accounting import Budget
from sklearn_dpbo._privacy.noise import Noise, SeededNoise
from sklearn_dpbo._privacy.noisy_counts import NoisyCounts
from sklearn_dpbo._privacy.sensitive import Sensitive
from sklearn_dpbo.audit import audit_mechanism, cases
from sklearn_dpbo.federated._pooled import budget_of_all, choose_together

ALPHA = 1e-6
EPSILON, SHARE = 1.0, 0.4
# Exact counts of three candidates, by site; and how many records it has.
COUNTS = {"north": [4, 6, 5], "south": [7, 3, 6], "west": [2, 2, 4]}
M = {"north": 8, "south": 9, "west": 5}
HELD = {name: records(COUNTS[name], M[name]) for name in COUNTS}


class HalfNoise(SeededNoise):
    """Of half the scale that it is asked for."""

    def permute_and_flip(self, scale):
        return super().permute_and_flip(scale / 2)

    def discrete_laplace(self, scale):
        return super().discrete_laplace(scale / 2)


def winners(epsilon, weights):
    """Exact probabilities of the plurality's winner: all combinations of votes."""
    pmf = {
        name: permute_and_flip_pmf(counts, epsilon * (1 - SHARE), 1)
        for name, counts in COUNTS.items()
    }
    found = np.zeros(3)
    for votes in itertools.product(range(3), repeat=len(M)):
        ballot = dict(zip(M, votes, strict=True))
        units = np.array([sum(M[name] for name in M if ballot[name] == c) for c in range(3)])
        number = np.bincount(votes, minlength=3)
        # The first of the best: by weight, then by units.
        key = units if weights == "units" else 100 * number + units
        found[np.argmax(key)] += math.prod(pmf[name][ballot[name]] for name in M)
    return found


def drawn(search, n, noise):
    rounds = Rounds(search, HELD)
    return [rounds.round(noise) for _ in range(n)]


@pytest.mark.parametrize("weights", ["units", "equal"])
@pytest.mark.parametrize(
    "source",
    [
        pytest.param(lambda: SeededNoise(1), id="seed"),
        pytest.param(Noise, id="opendp", marks=pytest.mark.slow),
    ],
)
def test_plurality_has_its_exact_distribution(weights, source):
    search = search_of(epsilon=EPSILON, finalists=1, weights=weights)
    found = drawn(search, 2000, source())
    best = np.bincount([c.released().best for c, _ in found], minlength=3)
    assert chi_square_p(best, winners(EPSILON, weights)) > ALPHA
    assert chi_square_p(best, winners(2.5 * EPSILON, weights)) < ALPHA


def test_votes_of_sites_are_independent_and_each_has_its_exact_distribution():
    found = drawn(search_of(epsilon=EPSILON), 2000, SeededNoise(2))
    votes = np.array([[c.released().votes[name] for name in M] for c, _ in found])
    joint = np.bincount(votes @ [9, 3, 1], minlength=27)

    def pmf(epsilon):
        several = [permute_and_flip_pmf(COUNTS[name], epsilon * (1 - SHARE), 1) for name in M]
        return np.einsum("i,j,k->ijk", *several).ravel()

    assert chi_square_p(joint, pmf(EPSILON)) > ALPHA
    assert chi_square_p(joint, pmf(2 * EPSILON)) < ALPHA


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scoring", "finalists"), [("accuracy", 1), ("accuracy", 2), ("balanced_accuracy", 2)]
)
def test_released_sums_have_the_noise_of_all_sites(finalists, scoring):
    """Each count has noise of scale t D / (epsilon score_share), and sums have that of k sites."""
    search = search_of(epsilon=EPSILON, finalists=finalists, scoring=scoring)
    D = 1 if scoring == "accuracy" else 2
    # A confusion matrix: y is always 1, so its second row has the wrong and the right ones.
    exact = {
        (name, c): [COUNTS[name][c]]
        if D == 1
        else [0, 0, M[name] - COUNTS[name][c], COUNTS[name][c]]
        for name in M
        for c in range(3)
    }
    alone, sums, t = [], [], None
    for coordinator, told in drawn(search, 1000 if D == 1 else 150, SeededNoise(3)):
        counted = [(name, a) for name, a in told if a["what"] == "counts"]
        t = len(counted[0][1]["candidates"])
        if t < finalists:
            continue
        noise = [
            np.array(answer["counts"]) - [exact[name, c] for c in answer["candidates"]]
            for name, answer in counted
        ]
        alone += [z for each in noise for z in each.ravel()]
        sums += np.sum(noise, axis=0).ravel().tolist()
    z = np.arange(-80, 81)

    def p_values(scale):
        pmf = discrete_laplace_pmf(z, scale)
        total = np.convolve(np.convolve(pmf, pmf), pmf)[160:-160]
        for found, expected in ((alone, pmf), (sums, total)):
            observed = np.bincount(np.clip(found, -80, 80) + 80, minlength=161)
            expected[[0, -1]] += (1 - expected.sum()) / 2
            yield chi_square_p(observed, expected)

    scale = finalists * D / (EPSILON * SHARE)
    assert min(p_values(scale)) > ALPHA
    assert max(p_values(scale / 2)) < ALPHA and max(p_values(2 * scale)) < ALPHA


def test_half_of_the_noise_is_detected():
    found = drawn(search_of(epsilon=EPSILON, finalists=1), 2000, HalfNoise(4))
    votes = np.bincount([c.released().votes["south"] for c, _ in found], minlength=3)
    pmf = permute_and_flip_pmf(COUNTS["south"], EPSILON * (1 - SHARE), 1)
    assert chi_square_p(votes, pmf) < ALPHA


def test_a_trusted_coordinator_draws_once_from_the_sums():
    search = search_of(epsilon=EPSILON, trust="coordinator")
    rounds = Rounds(search, HELD)
    holdings = {name: site._holding for name, site in rounds.sites.items()}
    noise, best, errors = SeededNoise(5), [], []
    total = np.sum([COUNTS[name] for name in M], axis=0)
    for _ in range(1500):
        budget = budget_of_all([Budget(EPSILON) for _ in M])
        # Evaluated before: the sums alone are drawn from.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sklearn_dpbo.federated._pooled.evaluate", lambda _: None)
            found = choose_together(rounds.plan, holdings, budget, noise)
        best.append(found.best)
        errors.append(round(found.scores[found.best][0] * 22) - total[found.best])
    observed = np.bincount(best, minlength=3)
    pmf = permute_and_flip_pmf(total.tolist(), EPSILON * (1 - SHARE), 1)
    assert chi_square_p(observed, pmf) > ALPHA
    assert chi_square_p(observed, permute_and_flip_pmf(total.tolist(), 2 * EPSILON, 1)) < ALPHA
    # Within the score's bounds only: 22 records, and noise of scale 2.5.
    inside = np.abs(errors) <= 3
    share = discrete_laplace_pmf(np.arange(-3, 4), 1 / (EPSILON * SHARE)).sum()
    assert abs(inside.mean() - share) < 5 / math.sqrt(len(errors))


# ------------------------------------------------------------------ intervals
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("scale", [0.05, 0.4, 3.0])
def test_interval_of_a_sum_is_the_shortest_that_covers(k, scale):
    """Against the distribution by convolution: enough, and one count less is not enough."""
    pmf = discrete_laplace_pmf(np.arange(-400, 401), scale)
    total = np.array([1.0])
    for _ in range(k):
        total = np.convolve(total, pmf)
    middle = len(total) // 2
    for confidence in (0.5, 0.95, 0.999):
        ((low, high),) = NoisyCounts((0,), scale, draws=k).interval(confidence)
        assert -low == high

        def inside(t):
            return total[middle - t : middle + t + 1].sum()

        assert inside(high) >= confidence - 1e-12
        assert high == 0 or inside(high - 1) < confidence


@pytest.mark.parametrize("scale", [2.0, 1e6])
def test_simulated_noise_of_sums_lies_in_their_intervals_as_often_as_stated(scale, rng):
    noisy = NoisyCounts((0, 0), scale, draws=4)
    ((low, high), _) = noisy.interval(1 - 2 * 0.1)  # each alone: 90 %
    z = noisy.noise(60_000, rng)[:, 0]
    covered = int(np.sum((z >= low) & (z <= high)))
    assert binom.sf(covered, len(z), 0.89) < 1e-6  # no less than 90 %, and hardly more
    assert scale < 10 or binom.cdf(covered, len(z), 0.91) < 1e-6


def test_intervals_of_all_finalists_hold_together():
    """So the interval of the best holds, although the best is chosen by the same noise."""
    search = search_of(epsilon=EPSILON, finalists=3)
    total = np.sum([COUNTS[name] for name in M], axis=0) / 22
    held = []
    for coordinator, _ in drawn(search, 1200, SeededNoise(6)):
        found = coordinator.released()
        low, high = found.scores[found.best][1]
        held.append(low <= total[found.best] <= high)
    assert binom.cdf(sum(held), len(held), 0.95) > 1e-6


def test_sums_of_noise_of_two_scales_are_covered_by_the_larger(rng):
    small, large = NoisyCounts((0,), 2.0), NoisyCounts((0,), 5.0)
    both = NoisyCounts.added([small, large])
    assert (both.draws, both.scale) == (2, 5.0)
    ((low, high),) = both.interval(0.9)
    z = small.noise(4000, rng) + large.noise(4000, rng)
    assert np.mean((z >= low) & (z <= high)) > 0.9


# ------------------------------------------------------------------ privacy
def test_neighbours_of_one_site_move_the_sum_by_the_larger_sensitivity():
    """By enumeration: all values of one unit at one site, the other site as it is."""
    for a, b in itertools.product(range(4), range(3)):
        others = Sensitive([[5]], 2)
        moved = [
            Sensitive([[value]], 3).pooled(others, largest=100)._open()[0, 0]
            for value in (a, a + b)
        ]
        assert abs(moved[1] - moved[0]) <= 3
    assert Sensitive([[1]], 3).pooled(others, largest=9).sensitivity == 3
    assert others.pooled(Sensitive([[1]], 3), largest=9).sensitivity == 3


def audited(noise, n, **params):
    """Audit all that is released, on neighbours that differ in one record of one site."""
    train, *pair = cases.opposed_models(9)
    search = PrivateFederatedSearch(
        cases.ConstantClassifier(), {"label": [0, 1]}, epsilon=2.0, score_share=0.5, finalists=2
    )
    rounds = [Rounds(search, {"north": here, "south": pair[0]}, train) for here in pair]

    def output(i):
        coordinator, told = rounds[i].round(noise)
        found = coordinator.released()
        north, south = (dict(zip(a["candidates"], a["counts"], strict=True)) for _, a in told[2:])
        counts = [c[0] for each in (north, south) for c in (each.get(0, [-9]), each.get(1, [-9]))]
        return [found.best, *found.votes.values(), *counts]

    return audit_mechanism(output, (0, 1), n, epsilon=2.0, **params)


@pytest.mark.soak
@pytest.mark.parametrize("bug", [False, True])
def test_audit_refutes_the_claim_if_and_only_if_the_noise_is_halved(bug):
    noise = HalfNoise(9) if bug else SeededNoise(8)
    report = audited(noise, 3000, confidence=0.95 if bug else 1 - 1e-7)
    assert report.refuted == bug, str(report)

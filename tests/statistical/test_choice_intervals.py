"""Coverage of intervals for the population after a choice, where luck alone decides.

All T candidates are equally good in the population, and err independently. The choice and the
release are those of a search, on statistics that are drawn here.
"""

from dataclasses import replace

import numpy as np
import pytest

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.metrics._population import population_interval
from sklearn_dpbo.metrics._queries import spread_of
from sklearn_dpbo.privacy.accounting import Budget
from sklearn_dpbo.privacy.mechanisms import Mechanisms
from sklearn_dpbo.privacy.noise import noise_source
from sklearn_dpbo.privacy.sensitive import Sensitive
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.testing import seeded_noise

GRID = 2**20
ACCURACY = make_private_scorer("accuracy").prepare([0, 1])
BRIER = make_private_scorer("neg_brier_score").prepare([0, 1])
F1 = make_private_scorer("f1").prepare([0] * 7 + [1] * 3)
# Of true negatives, false positives, false negatives and true positives.
CELLS = np.array([0.63, 0.07, 0.06, 0.24])


def of_labels(p):
    """Counts of correct records, of T candidates that are right with probability p."""
    return ACCURACY, p, lambda m, T, rng: rng.binomial(m, p, (T, 1)), 1


def of_gains(draw, mean):
    """The sums of gains g and of g (1 - g)."""

    def sums(m, T, rng):
        k = np.rint(draw((T, m), rng) * GRID).astype(np.int64)
        return np.stack([k.sum(axis=1), spread_of(k, GRID).sum(axis=1)], axis=1)

    return BRIER, mean - 1, sums, GRID


def of_matrices():
    """Confusion matrices, of candidates with an F1 of 0.787."""
    exact = 2 * CELLS[3] / (2 * CELLS[3] + CELLS[1] + CELLS[2])

    def draw(m, T, rng):
        return np.hstack([rng.multinomial(m, CELLS, T), np.zeros((T, 2), dtype=np.int64)])

    return F1, exact, draw, 2  # no label is unknown


def rare(size, rng):
    """Gains near 1, but for a few of 0."""
    return np.where(rng.random(size) < 0.005, 0.0, 1 - 0.02 * rng.random(size))


CASES = {
    "right with .8": of_labels(0.8),
    "right with .97": of_labels(0.97),
    "gains Beta(8, 2)": of_gains(lambda size, rng: rng.beta(8, 2, size), 0.8),
    "losses Beta(.15, 4)": of_gains(lambda size, rng: 1 - rng.beta(0.15, 4, size), 4 / 4.15),
    "rare losses of 1": of_gains(rare, 0.995 * 0.99),
    "f1": of_matrices(),
}


def coverage(case, T, m, epsilon, n, known=None, claimed=1.0):
    """The share of n intervals that contain the population's score.

    `known` is the number of candidates that intervals allow for; `claimed`, which part of the noise
    they know of.
    """
    scorer, exact, draw, sensitivity = CASES[case]
    units, rng, covered = Units.of(m), np.random.default_rng(0), 0
    with seeded_noise(0):
        for _ in range(n):
            counts = draw(m, T, rng)
            values = counts[:, :1] if scorer is not F1 else ranks(counts)
            mechanisms = Mechanisms(Budget(epsilon), noise_source())
            steps = sensitivity if scorer is not F1 else GRID
            chosen = mechanisms.select(Sensitive(values, steps), 0.6 * epsilon, purpose="a test")
            table = Sensitive(counts[[chosen]], sensitivity)
            noisy = mechanisms.release_counts(table, 0.39 * epsilon, purpose="a test")
            noisy = replace(noisy, scale=claimed * noisy.scale)
            low, high = population_interval(scorer, units, noisy, known or T)
            covered += low <= exact <= high
    return covered / n


def ranks(counts):
    """F1 in steps: about what the choice compares, where a record moves F1 by 2 / m at most."""
    f1 = 2 * counts[:, 3] / (2 * counts[:, 3] + counts[:, 1] + counts[:, 2])
    return np.rint(f1 * counts[0].sum() / 4 * GRID).astype(np.int64)[:, None]


@pytest.mark.slow
def test_the_luckiest_of_64_equal_candidates_is_covered():
    assert coverage("right with .8", 64, 500, 1.0, 200) >= 0.93
    assert coverage("right with .8", 64, 500, 1.0, 200, known=1) < 0.7


def test_intervals_that_know_half_of_the_noise_fail():
    assert coverage("right with .97", 1, 500, 0.2, 200) >= 0.92
    assert coverage("right with .97", 1, 500, 0.2, 200, claimed=0.5) < 0.9


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("T", "m", "epsilon"),
    [
        pytest.param(64, 500, 1.0, marks=pytest.mark.slow),
        *(
            pytest.param(*each, marks=pytest.mark.soak)
            for each in ((1, 500, 1.0), (64, 2_000, 5.0), (256, 500, 1.0))
        ),
    ],
)
def test_coverage_after_a_choice(case, T, m, epsilon):
    assert coverage(case, T, m, epsilon, 400) >= 0.93 - 0.02  # two standard errors


@pytest.mark.slow
@pytest.mark.parametrize("case", ["right with .8", "gains Beta(8, 2)", "f1"])
def test_intervals_that_do_not_know_of_the_choice_fail(case):
    assert coverage(case, 64, 2_000, 5.0, 300, known=1) < 0.6

"""How good a private choice can be: the limit, and how near permute-and-flip comes to it."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from distributions import permute_and_flip_pmf
from scipy.optimize import linprog

PROOFS = Path(__file__).parents[2] / "docs" / "explanation" / "proofs.md"


def largest_chance(T, epsilon, n_leads):
    """P_k: the largest chance of a candidate that is 2k ahead, k = 0, 1, ..."""
    P = [1 / T]
    for _ in range(n_leads - 1):
        P.append(min(math.exp(epsilon) * P[-1], 1 - math.exp(-epsilon) * (1 - P[-1])))
    return np.array(P)


def chance_by_permute_and_flip(T, epsilon, n_leads):
    """The leader is accepted if it is reached: after each number of others with equal chance."""
    others = np.exp(-epsilon * np.arange(n_leads))
    return np.array([np.mean((1 - a) ** np.arange(T)) for a in others])


def chance_by_exponential_mechanism(T, epsilon, n_leads):
    weight = np.exp(epsilon * np.arange(n_leads))
    return weight / (weight + T - 1)


def worst_regret(chance, T, epsilon):
    """The largest mean regret, in counts divided by epsilon."""
    leads = 2 * np.arange(math.ceil(40 / epsilon))
    return epsilon * (leads * (1 - chance(T, epsilon, len(leads)))).max()


def table(T, m, i, k):
    """Return who gets which record right, shape (m, T): candidate i is 2k ahead."""
    right = np.arange(m)[:, None] % T != np.arange(T)
    own = np.flatnonzero(~right[:, i])[:k]
    right[own] = ~right[own]
    return right


def test_tables_are_neighbours_and_their_counts_those_of_the_proof():
    T, m = 4, 20
    for i in range(T):
        for k in range(5):
            before, after = table(T, m, i, k), table(T, m, i, k + 1)
            assert (before != after).any(axis=1).sum() == 1
            lead = before[:, [i]].sum(axis=0) - np.delete(before.sum(axis=0), i)
            assert (lead == 2 * k).all()
    assert (table(T, m, 0, 0) == table(T, m, 3, 0)).all()


@pytest.mark.parametrize(("T", "epsilon"), [(2, 1.0), (3, 0.5), (4, 1.0)])
def test_no_choice_is_better_than_the_limit(T, epsilon):
    """All private choices on these tables are the points of a polytope: a linear programme."""
    n_leads = math.ceil(4 / epsilon) + 1
    tables = [(i, k) for i in range(T) for k in range(n_leads)]
    n = len(tables) * T + 1  # chances of each choice on each table, and the worst regret
    rows = []
    for i, k in tables:
        for o in range(T):
            here, there = tables.index((i, k)) * T + o, tables.index((i, max(k - 1, 0))) * T + o
            pairs = [(here, there, epsilon), (there, here, epsilon)] if k else [(here, o, 0.0)]
            for a, b, loss in pairs:  # at k = 0 the tables of all candidates are the same
                row = np.zeros(n)
                row[a] += 1
                row[b] -= math.exp(loss)
                rows.append(row)
        row = np.zeros(n)
        row[[tables.index((i, k)) * T + o for o in range(T) if o != i]] = 2 * k
        row[-1] = -1
        rows.append(row)
    sums = np.zeros((len(tables), n))
    for t in range(len(tables)):
        sums[t, t * T : (t + 1) * T] = 1
    best = linprog(np.eye(n)[-1], rows, np.zeros(len(rows)), sums, np.ones(len(tables)))
    leads = 2 * np.arange(n_leads)
    limit = (leads * (1 - largest_chance(T, epsilon, n_leads))).max()
    assert best.status == 0 and best.fun == pytest.approx(limit, rel=1e-6)


@pytest.mark.parametrize("k", [0, 1, 3])
def test_chance_by_permute_and_flip_is_that_of_the_enumerated_mechanism(k):
    T, epsilon = 6, 0.7
    scores = [2 * k] + (T - 1) * [0]
    enumerated = permute_and_flip_pmf(scores, epsilon, 1)[0]
    assert chance_by_permute_and_flip(T, epsilon, k + 1)[k] == pytest.approx(enumerated)


def test_published_regrets_are_those_computed():
    line = r"^\| {} \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$"
    for name, chance in {
        "every ε-DP choice: at least": largest_chance,
        "permute-and-flip": chance_by_permute_and_flip,
        "exponential mechanism": chance_by_exponential_mechanism,
    }.items():
        (figures,) = re.findall(line.format(name), PROOFS.read_text(), re.MULTILINE)
        computed = [worst_regret(chance, T, 0.3) for T in (8, 64, 1024)]
        assert list(map(float, figures)) == [round(regret, 2) for regret in computed]


@pytest.mark.parametrize("epsilon", [0.03, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("T", [2, 8, 64, 1024])
def test_both_mechanisms_keep_to_the_limit(T, epsilon):
    limit = worst_regret(largest_chance, T, epsilon)
    flip = worst_regret(chance_by_permute_and_flip, T, epsilon)
    assert limit <= flip * (1 + 1e-9)
    assert flip <= worst_regret(chance_by_exponential_mechanism, T, epsilon)


@pytest.mark.parametrize("T", [8, 64])
def test_permute_and_flip_exceeds_the_limit_over_all_tables_by_as_much_as_published(T):
    """Theorem 2 of the page on planning: the worst lead may be any number."""
    line = rf"^\| T = {T} \| (\d+) % \| (\d+) % \| (\d+) % \|$"
    (published,) = re.findall(line, PROOFS.read_text(), re.MULTILINE)
    leads = np.linspace(0.01, 20, 100_000)
    a = np.exp(-leads)
    worst = (2 * leads * (1 - (1 - (1 - a) ** T) / (T * a))).max()
    epsilons = np.linspace(0.02, 2.0, 397)
    above = [worst / worst_regret(largest_chance, T, epsilon) - 1 for epsilon in epsilons]
    assert min(above) > 0
    for most, percent in zip((0.3, 1.0, 2.0), published, strict=True):
        assert -0.02 < max(np.array(above)[epsilons <= most]) - int(percent) / 100 <= 0

"""Planning: the formulas of the bounds, their inversion, and the mechanisms they bound."""

import itertools
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from sklearn_dpbo import plan_search
from sklearn_dpbo.metrics._queries import GRID
from sklearn_dpbo.planning._bounds import (
    GRID_STEPS,
    quantile_of_choice,
    tail_of_choice,
)
from sklearn_dpbo.planning._plan import three_digits
from sklearn_dpbo.search._utility import mean_of_choice


# ---------------------------------------------------------------- formulas
def brute_force(distances):
    """Return P(i is chosen) by permute-and-flip, summed over all orders.

    `distances` are those from the best score, divided by the noise scale.
    """
    n, chosen = len(distances), np.zeros(len(distances))
    for order in itertools.permutations(range(n)):
        tails = 1.0
        for i in order:
            heads = math.exp(-distances[i])
            chosen[i] += tails * heads / math.factorial(n)
            tails *= 1 - heads
    return chosen


@pytest.mark.slow
@given(st.lists(st.floats(0, 12), min_size=1, max_size=4), st.floats(0.01, 14))
def test_bounds_of_the_choice_hold_for_all_scores_and_are_attained(distances, t):
    distances = np.array([0.0, *distances])
    chosen, n = brute_force(distances), len(distances)
    assert chosen[distances >= t].sum() <= tail_of_choice(n, t) * (1 + 1e-9)
    assert chosen @ distances <= mean_of_choice(n) * (1 + 1e-6)
    worst = brute_force([0.0] + [t] * (n - 1))
    assert tail_of_choice(n, t) == pytest.approx(worst[1:].sum(), rel=1e-9)


@given(st.integers(2, 10**6), st.floats(0, 60))
def test_tail_of_choice_is_accurate_and_below_the_bound_of_lemma_1(n, t):
    tail = tail_of_choice(n, t)
    assert 0 <= tail <= min(1.0, n * math.exp(-t) / 2)
    with mpmath.workdps(60):
        p = mpmath.exp(-t)
        direct = 1 - (1 - (1 - p) ** n) / (n * p)
        assert tail == pytest.approx(float(direct), rel=1e-9, abs=1e-13)


def test_bounds_equal_independent_formulas():
    b = plan_search(2000, 64, 1.0)
    p = brentq(lambda p: 1 - (1 - (1 - p) ** 64) / (64 * p) - 0.05, 1e-9, 1)
    steps = -math.log(p) * 2 / 0.6
    assert b.regret == (math.ceil(steps) - 1) / 2000
    noise, a = 0, math.exp(-0.4)
    while 2 * a ** (noise + 1) / (1 + a) > 0.05:
        noise += 1
    assert b.score_error == noise / 2000
    assert b.sampling_error == pytest.approx(1.959964 / 2 / math.sqrt(2000), rel=1e-6)
    assert b.expected_regret <= 2 / (2000 * 0.6) * math.log(64)
    alone = plan_search(100, 1, 1.0)  # there is no choice, and the score gets all of epsilon
    assert (alone.regret, alone.expected_regret, alone.epsilon_score) == (0, 0, 1.0)


def test_bounds_without_counts_include_the_error_of_rounding():
    counts, fine = plan_search(500, 10, 1.0), plan_search(500, 10, 1.0, counts=False)
    assert GRID_STEPS == GRID
    t = quantile_of_choice(10, 1 - 0.95)
    assert fine.regret == pytest.approx(t * 2 / 0.6 / 500 + 2 / GRID, abs=1e-8)
    assert 0 < fine.regret - counts.regret < 1 / 500
    # On a fine grid the noise is nearly continuous: P(|Z| > x) = e^-x.
    assert fine.score_error == pytest.approx(math.log(20) / 0.4 / 500 + 1 / GRID, rel=1e-5)


# ---------------------------------------------------------------- inversion
LARGEST = {"m": 10**6, "n_iter": 10**4, "epsilon": 50.0}


@pytest.mark.first(1)
@pytest.mark.parametrize("missing", LARGEST)
@settings(max_examples=60)
@given(
    m=st.integers(1, 10**6),
    n_iter=st.integers(2, 10**4),
    epsilon=st.floats(1e-3, 50),
    targets=st.tuples(st.floats(1e-4, 0.5), st.floats(1e-4, 0.5)),
    which=st.sampled_from([(1, 0), (0, 1), (1, 1)]),
    confidence=st.sampled_from([0.5, 0.95, 0.999999]),
    counts=st.booleans(),
)  # fmt: skip
def test_a_plan_finds_the_smallest_search_that_meets_the_targets(
    missing, targets, which, **numbers
):
    regret, error = targets
    numbers |= {
        "target_regret": regret if which[0] else None,
        "target_score_error": error if which[1] else None,
    }
    try:
        plan = plan_search(**numbers | {missing: None})
    except ValueError as unreachable:  # two candidates are too many
        assert missing == "n_iter" and "even with n_iter=2" in str(unreachable)
        assert not plan_search(**numbers | {"n_iter": 2}).meets_targets
        return
    assert plan.meets_targets and plan.solved_for == missing
    cheaper = {
        "m": max(plan.m - 1, 1),
        "n_iter": min(plan.n_iter + 1, 10**6),
        "epsilon": max(plan.epsilon * (1 - 1e-11), 1e-9),
    }[missing]
    assert (
        cheaper == getattr(plan, missing) or not replace(plan, **{missing: cheaper}).meets_targets
    )


@pytest.mark.slow
@given(
    m=st.integers(1, 10**7), n_iter=st.integers(1, 10**5), epsilon=st.floats(1e-3, 50),
    score_share=st.floats(0.05, 0.95), counts=st.booleans(),
)  # fmt: skip
def test_bounds_are_monotone_and_never_exceed_the_score_range(**numbers):
    here = plan_search(**numbers)
    errors = ("regret", "expected_regret", "score_error")
    for better in ({"m": here.m + 1}, {"epsilon": 1.1 * here.epsilon}):
        there = replace(here, **better)
        assert all(getattr(there, name) <= getattr(here, name) for name in errors)
    assert replace(here, n_iter=here.n_iter + 1).regret >= here.regret
    wide = replace(here.errors, score_range=3.0)
    assert replace(here, errors=wide).regret == pytest.approx(3 * here.regret)
    assert max(here.regret, here.score_error, here.sampling_error) <= 1


# ---------------------------------------------------------------- what a plan shows
def test_plan_prints_its_guarantees():
    plan = plan_search(epsilon=1.0, target_regret=0.01, target_score_error=0.05)
    text = " ".join(str(plan).split())
    for part in ("2,100 validation records", "m (targets: regret <= 0.01, score_error <= 0.05)",
                 "within about 0.0214 of that on the population", "(Theorem 3)"):  # fmt: skip
        assert part in text
    assert [three_digits(x) for x in (0.01, 0.010001, 1.635104, 123.4, 0.0)] == [
        "0.01", "0.0101", "1.64", "124", "0",
    ]  # fmt: skip


def test_plan_with_all_three_numbers_says_what_they_guarantee():
    assert "nothing (targets: none)" in str(plan_search(2000, 64, 1.0))
    assert not plan_search(2000, 64, 1.0, target_regret=0.01).meets_targets
    assert plan_search(2200, 64, 1.0, target_regret=0.01).meets_targets


# ---------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"target_regret": 0.1}, "m and epsilon missing"),
        ({"m": 10, "scoring": "f1"}, "pass scoring and class_shares.* together"),
        ({"m": 10, "class_shares": {0: 0.5, 1: 0.5}}, "pass scoring and class_shares"),
        ({"m": 10}, "found neither"),
        ({"m": 10, "target_regret": 1.0}, "below 1; found 1.0"),
        ({"m": 10, "target_regret": -0.1}, "above 0"),
        ({"epsilon": 1.0, "target_regret": 1e-6, "counts": False}, "out of reach"),
        ({"m": 10, "target_score_error": 1e-7, "counts": False}, "even with epsilon=1e"),
        ({"m": 10, "n_iter": 1, "target_regret": 0.1}, "no choice"),
        ({"m": 10, "epsilon": 1.0, "n_iter": None, "target_score_error": 0.1}, "score_error="),
        ({"epsilon": 1e-9, "target_regret": 1e-5}, "even with m=1e"),
        ({"m": 1.5, "target_regret": 0.1}, "m must be a whole number from 1 up; found 1.5"),
        ({"epsilon": 0.0, "target_regret": 0.1}, "epsilon must be a finite number"),
        ({"m": 10, "target_regret": 0.1, "confidence": 1.0}, "confidence must be in"),
        ({"m": 10, "target_regret": 0.1, "score_share": 1.0}, "score_share must be in"),
        ({"m": 10, "target_regret": 0.1, "score_range": 0.0}, "score_range must be a positive"),
        ({"m": 10, "target_regret": 0.1, "counts": 1}, "counts must be True or False"),
    ],
)  # fmt: skip
def test_invalid_or_unreachable_plans_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        plan_search(**params)

"""Utilities compared with running the algorithms; the configurator with its distribution."""

import itertools
import math
import signal
import traceback
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_dpbo.papers.balcan2018 import (
    Graph,
    IndependentSet,
    Knapsack,
    KnapsackItems,
    OutwardRotation,
    PiecewiseConstant,
    PrivateConfigurator,
    QuadraticProgram,
    SLinear,
    piecewise_utility,
    uniform_grid,
)
from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.testing import seeded_noise

N_PARAMETERS = 300

# ---------------------------------------------------------------- step functions

whole = st.integers(-5, 5)
steps = st.lists(st.tuples(st.integers(-2, 12), whole), max_size=12)


@pytest.mark.slow
@given(st.lists(st.tuples(whole, steps), min_size=1, max_size=6), st.integers(1, 30))
def test_sums_and_runs_of_step_functions_are_exact(parts, size):
    functions = [PiecewiseConstant.from_jumps((0, 10), f, *zip(*j, strict=True) if j else ([], []))
                 for f, j in parts]  # fmt: skip
    total = PiecewiseConstant.total(functions)
    rho = np.linspace(0, 10, 53)
    jumps = [jump for _, some in parts for jump in some]
    first = sum(f for f, _ in parts)
    assert total(rho).tolist() == [first + sum(by for at, by in jumps if at <= r) for r in rho]
    assert total.values.dtype.kind == "i"
    assert (np.diff(total.values) != 0).all(), "the value does not change at a breakpoint"

    grid = uniform_grid((0, 10), size)
    starts, values = total.runs(grid)
    assert starts[0] == 0 and (np.diff(starts) > 0).all()
    assert (np.repeat(values, np.diff(np.append(starts, size))) == total(grid)).all()
    assert (total.on(grid)(grid) == total(grid)).all()


@pytest.mark.parametrize(
    ("interval", "breakpoints", "values", "says"),
    [
        ((0, 1), [0.5], [1], "n breakpoints must separate n"),
        ((0, 1), [0.5, 0.2], [1, 2, 3], "increasing"),
        ((0, 1), [1.5], [1, 2], "within the interval"),
        ((0, 1), [0.5], [1, math.nan], "finite numbers"),
        ((1, 1), [], [1], "low < high"),
    ],
)
def test_malformed_step_function_raises(interval, breakpoints, values, says):
    with pytest.raises(ValueError, match=says):
        PiecewiseConstant(interval, breakpoints, values)


# ---------------------------------------------------------------- families


def plain_knapsack(x, rho):
    with np.errstate(over="ignore"):
        score = [v / s**rho for v, s in zip(x.values, x.sizes, strict=True)]
    left, taken = x.capacity, 0.0
    for i in sorted(range(len(score)), key=lambda i: (-score[i], i)):
        if x.sizes[i] <= left:
            left, taken = left - x.sizes[i], taken + x.values[i]
    return taken


def plain_independent_set(x, rho):
    neighbours = {i: set() for i in range(len(x.weights))}
    for i, j in x.edges.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    left, taken = set(neighbours), 0.0
    while left:

        def score(i):
            return x.weights[i] / (1 + len(neighbours[i] & left)) ** rho

        best = max(sorted(left), key=score)
        taken += x.weights[best]
        left -= {best} | neighbours[best]
    return taken


def plain_rotation(x, gamma, family):
    n, total = len(x.A), 0.0
    for Z in family._directions(x):
        y = [x.vectors[i] @ Z[:n] * math.cos(gamma) + Z[n + i] * math.sin(gamma) for i in range(n)]
        signs = [1 if v >= 0 else -1 for v in y]
        total += sum(x.A[i, j] * signs[i] * signs[j] for i in range(n) for j in range(n))
    return total / family.n_directions


def plain_s_linear(x, s, family):
    n, total = len(x.A), 0.0
    for Z in family._directions(x):
        phi = [max(-1.0, min(1.0, x.vectors[i] @ Z[:n] / s)) for i in range(n)]
        total += sum(
            x.A[i, j] * (1 if i == j else phi[i] * phi[j]) for i in range(n) for j in range(n)
        )
    return total / family.n_directions


def knapsacks():
    """Those that the draws of small integers do not cover."""
    rng = np.random.default_rng(0)
    for n in (5, 12):
        sizes = rng.uniform(1, 10, n)
        yield KnapsackItems(sizes * rng.lognormal(0, 1, n), sizes, sizes.sum() / 3)
    yield KnapsackItems([], [], 1)
    yield KnapsackItems([1e-300, 1e300, 1], [1e-9, 1e9, 1], 2e9)  # scores overflow


def graphs():
    rng = np.random.default_rng(1)
    for p in (0.3, 0.7):
        edges = np.argwhere(np.triu(rng.random((14, 14)) < p, 1))
        yield Graph(rng.lognormal(0, 1, 14) * (1 + rng.integers(0, 3, 14)), edges)
        yield Graph(rng.integers(1, 4, 14), edges)  # duplicated weights
    yield Graph([], [])
    yield Graph([0, 0, 1], [[0, 1], [1, 2], [1, 2]])  # weights 0, an edge given twice


def programmes():
    rng = np.random.default_rng(2)
    for n in (1, 3, 9):
        A = rng.standard_normal((n, n))
        yield with_vectors(QuadraticProgram(A), rng)
    yield with_vectors(QuadraticProgram(np.zeros((4, 4))), rng)
    yield with_vectors(QuadraticProgram(np.ones((5, 5))), rng, same=True)


def with_vectors(x, rng, same=False):
    """Set random unit vectors: the rounding is defined for any, not only for the relaxation's."""
    U = rng.standard_normal((1 if same else len(x.A), len(x.A)))
    U = np.repeat(U, len(x.A), axis=0) if same else U
    vars(x)["vectors"] = U / np.linalg.norm(U, axis=1, keepdims=True)
    return x


def objective(family, x, utility):
    """Return the objective of which a utility is the share."""
    low, high = family._range(x)
    return low + utility * (high - low)


ROTATION, S_LINEAR = OutwardRotation(n_directions=3), SLinear(n_directions=2, random_state=5)
CASES = [
    *((Knapsack(), x, plain_knapsack, (-1, 4)) for x in knapsacks()),
    *((IndependentSet(), x, plain_independent_set, (-1, 4)) for x in graphs()),
    *((ROTATION, x, lambda x, g: plain_rotation(x, g, ROTATION), (0, math.pi / 2))
      for x in programmes()),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("family", "x", "plain", "interval"), CASES)
def test_piecewise_utility_equals_running_the_algorithm(family, x, plain, interval, rng):
    u = piecewise_utility(family, x, interval)
    b = np.asarray(family.breakpoints(x))
    rho = rng.uniform(*interval, N_PARAMETERS)
    rho = rho[[not len(b) or np.abs(b - r).min() > 1e-9 for r in rho]]
    assert len(rho) > N_PARAMETERS / 2
    expected = np.array([plain(x, r) for r in rho])
    assert objective(family, x, u(rho)) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert [family.utility(x, r) for r in rho[:9]] == pytest.approx(u(rho[:9]), rel=1e-12)


@pytest.mark.first(2)
@pytest.mark.parametrize("x", list(programmes()))
def test_s_linear_rounding_equals_its_formula(x, rng):
    family = S_LINEAR
    borders = np.abs(family._coordinates(x)[0]).ravel()
    s = np.concatenate([rng.uniform(1e-3, 5, N_PARAMETERS), borders])
    expected = [plain_s_linear(x, r, family) for r in s]
    found = objective(family, x, family.utilities(x, s))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    u, grid = piecewise_utility(family, x, (0, 5), 64), uniform_grid((0, 5), 64)
    assert u(grid) == pytest.approx(family.utilities(x, grid), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: KnapsackItems([1, 2], [1, 0], 3), "sizes must be positive"),
        (lambda: KnapsackItems([1, -2], [1, 1], 3), "values must be numbers from 0 up"),
        (lambda: KnapsackItems([1], [1], -1), "capacity"),
        (lambda: Graph([1, 2], [[0, 2]]), "numbered from 0"),
        (lambda: QuadraticProgram([["1.25 EUR"]]), "square matrix"),
        (lambda: KnapsackItems(["1.25 EUR"], [1], 1), "values must be numbers"),
        (lambda: Graph([1, 2], ["1.25"]), "pairs of node numbers"),
    ],
)
def test_malformed_instance_raises(make, says):
    with pytest.raises(ValueError, match=says):
        make()


# ---------------------------------------------------------------- the relaxation


def best_signs(A):
    return max(np.array(x) @ A @ np.array(x) for x in itertools.product((-1, 1), repeat=len(A)))


@pytest.mark.parametrize("seed", range(1))
def test_relaxation_is_an_upper_bound_and_rounding_is_close_to_it(seed):
    pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((8, 8)) < 0.5, 1).astype(float)
    A = -(W + W.T)  # a maximum cut
    x = QuadraticProgram(A)
    U = x.vectors
    assert np.linalg.norm(U, axis=1) == pytest.approx(1, abs=1e-12)
    relaxed, best = (A * (U @ U.T)).sum(), best_signs(A)
    assert relaxed >= best - 1e-5 * np.abs(A).sum()
    # The expected share of the best cut is at least 0.878 (Goemans and Williamson, 1995).
    total = np.abs(A).sum()
    rounded = OutwardRotation(n_directions=500).utility(x, 0.0)
    assert 2 * total * rounded >= 0.86 * (relaxed + total)
    # At pi / 2 the signs are independent and uniform: the objective is 0 on average.
    coins = OutwardRotation(n_directions=2000).utility(x, math.pi / 2)
    assert abs(2 * coins - 1) * total < 6 * math.sqrt(2 * (A**2).sum() / 2000)


# ---------------------------------------------------------------- the configurator


class Steps:
    """A user's family: instances are numbers; the utility is 1 from the number on, else 0."""

    def breakpoints(self, instance):
        return [instance]

    def utility(self, instance, parameter):
        return float(parameter >= instance)


class OnGrid(Steps):
    interval = (0, 1)

    def breakpoints(self, instance):
        return None


def configurator(family=None, **params):
    params = {"epsilon": 1.0, "utility_bound": 1.0, "grid_size": 64} | params
    if not hasattr(family, "interval"):
        params.setdefault("interval", (0, 1))
    return PrivateConfigurator(family or Steps(), **params)


def test_configurator_with_a_users_family_releases_parameter_score_and_report():
    c = configurator(epsilon=5.0).fit(np.full(200, 0.3))
    assert 0.3 <= c.best_parameter_ <= 1
    assert c.best_parameter_ in uniform_grid((0, 1), 64)
    low, high = c.best_score_interval_
    assert 0 <= low <= c.best_score_ <= high <= 1 and c.best_score_ > 0.95
    assert c.n_instances_ == 200 and c.privacy_.epsilon == 5.0
    assert [loss.epsilon for loss in c.privacy_.spends] == pytest.approx([4.0, 1.0])
    said = c.privacy_.details()
    for part in ("200 instances of the sample", "one instance is replaced",
                 "best_parameter_, best_score_", "Laplace"):  # fmt: skip
        assert part in said


def test_without_a_score_the_choice_spends_all_of_epsilon():
    c = configurator().fit([0.5] * 9)
    c.set_params(score_share=0).fit([0.5] * 9)
    assert not hasattr(c, "best_score_")  # nor that of the first fit
    assert [loss.epsilon for loss in c.privacy_.spends] == [1.0]
    assert "best_score_" not in c.privacy_.released


@pytest.mark.parametrize("family", [Steps(), OnGrid()])
def test_integers_and_scale_of_the_draw_are_those_of_the_theorem(family, monkeypatch):
    drawn = {}

    def exponential_mechanism(self, scale):
        return lambda scores: drawn.update(scale=scale, scores=scores) or 0

    monkeypatch.setattr(SeededNoise, "exponential_mechanism", exponential_mechanism)
    sample, grid = [0.1, 0.35, 0.35, 0.8], uniform_grid((0, 1), 8)
    with seeded_noise(0):
        configurator(family, epsilon=4.0, score_share=0.5, grid_size=8).fit(sample)
    assert drawn["scores"] == [2**20 * sum(rho >= x for x in sample) for rho in grid]
    assert drawn["scale"] == 2 * 2**20 / 2.0


# ---------------------------------------------------------------- invalid input, and leaks


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number"),
        ({"utility_bound": 0}, "utility_bound must be a positive"),
        ({"interval": (2, 1)}, "low < high"),
        ({"interval": None}, "interval is missing"),
        ({"grid_size": 2**21}, "grid_size"),
        ({"score_share": 1}, "score_share"),
        ({"invalid": "ignore"}, "invalid must be"),
        ({"family": Knapsack}, "such as Knapsack()"),
        ({"family": SLinear(), "interval": (-1, 1)}, "s is positive"),
        ({"interval": (1, 1 + 1e-14)}, "floating point has no 64 numbers"),
        ({"score_share": 1 - 2**-53}, "score_share must be"),
    ],
)
def test_invalid_parameters_of_the_configurator_raise(params, says):
    c = configurator().set_params(**params)
    with pytest.raises(ValueError, match=says):
        c.fit([0.5])
    assert not hasattr(c, "privacy_")


class Talkative(Steps):
    """Prints, warns of and raises a secret of the instance."""

    def utility(self, instance, parameter):
        print("SECRET 0.77")
        warnings.warn("SECRET 0.77")
        if instance == 0.77:
            raise RuntimeError("SECRET 0.77")
        return super().utility(instance, parameter)


class Outside(Steps):
    def utility(self, instance, parameter):
        return 1.5 if instance == 0.77 else -0.5 if instance == 0.78 else 1.0


INVALID = [(Talkative(), 0.77, 0), (Outside(), 0.77, 1), (Outside(), 0.78, 0)]


@pytest.mark.first(2)
@pytest.mark.parametrize(("family", "bad", "_"), INVALID)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_error_of_an_invalid_instance_does_not_reveal_it(family, bad, _, n_jobs, capfd, recwarn):
    c = configurator(family, n_jobs=n_jobs)
    with pytest.raises(ValueError, match="no utility in") as caught:
        c.fit([0.25] * 8 + [bad])
    said = "".join(traceback.format_exception(caught.value))
    assert "0.77" not in said and "SECRET" not in said and "1.5" not in said
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    frames = [f.f_locals for f, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert not any(isinstance(v, PiecewiseConstant) for f in frames for v in f.values())
    assert not hasattr(c, "privacy_")
    assert "SECRET" not in "".join(capfd.readouterr())
    assert not [w for w in recwarn if "SECRET" in str(w.message)]


@pytest.mark.parametrize(("family", "bad", "expected"), INVALID)
def test_invalid_zero_counts_failures_as_0_and_clips_utilities(family, bad, expected):
    c = configurator(family, invalid="zero", epsilon=1e4, interval=(0.8, 1)).fit([bad] * 10)
    assert c.best_score_ == pytest.approx(expected, abs=0.01)
    assert "without a utility" not in c.privacy_.details()


def test_keyboard_interrupt_is_raised_without_its_message():
    class Interrupted(Steps):
        def utility(self, instance, parameter):
            signal.raise_signal(signal.SIGINT)
            raise ValueError("SECRET")

    with pytest.raises(KeyboardInterrupt) as caught:
        configurator(Interrupted()).fit([0.1] * 3)
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))


# ---------------------------------------------------------------- isolation of instances


class TossesForInstances:
    """A family whose utility is a draw; instance 5.0 draws twice."""

    interval = (0.0, 1.0)

    def breakpoints(self, instance):
        return [0.5]

    def utility(self, instance, parameter):
        draws = np.random.rand(2 if instance == 5.0 else 1)
        return float(draws[0] > parameter)


@pytest.mark.filterwarnings("ignore")
def test_an_instance_tells_no_other_of_a_family_how_often_it_drew():
    totals = []
    for instances in ([1.0] * 20, [5.0, *[1.0] * 19]):
        with seeded_noise(0):
            c = PrivateConfigurator(TossesForInstances(), utility_bound=1.0, epsilon=1e6)
            totals.append(c.fit(instances).best_score_)
    assert abs(totals[0] - totals[1]) <= 1 / 20 + 1e-4

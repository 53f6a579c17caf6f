"""`PrivateConfigurator`: an algorithm's parameter, from protected instances (zone: released)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.parallel import Parallel, delayed

from ...prediction.calls import Calls
from ...privacy.checks import check_number
from ...privacy.float_errors import ignore_float_errors
from ...privacy.frames import ClearFrames
from ...privacy.ledger._ledger import PrivacyLedger
from ...privacy.report._report import PrivacyReport, report_of
from ...privacy.sensitive import Secret
from ...privacy.spending import Spending
from ...privacy.suppress_output import drop_errors, hold_interrupts, suppress_output
from ...records.pickles import fresh, packed
from ._families import check_family, utility_on
from ._piecewise import PiecewiseConstant, check_interval, uniform_grid

# Integers that a utility is rounded to: 0, ..., _STEPS.
_STEPS = 2**20
# How far above H or below 0 a utility may lie through rounding errors, as a share of H.
_TOLERANCE = 1e-9
# Instances whose utilities are added up at a time; bounds memory.
_CHUNK = 32
_CONFIDENCE = 0.95

T = TypeVar("T")


class PrivateConfigurator(BaseEstimator):
    """Tune an algorithm's parameter on sensitive instances, with pure epsilon-DP.

    The exponential mechanism selects the parameter from a public grid of G points, ::

        P(rho) proportional to exp(epsilon_1 |S| U(S, rho) / (2 H)),

    where U(S, rho) is the mean utility over the sample S. It can be computed exactly, because it is
    constant between the instances' critical points. Then the mean utility of the selected parameter
    is released with discrete Laplace noise at epsilon_2; epsilon_1 + epsilon_2 = epsilon. For
    errata of Balcan, Dick and Vitercik (2018) and proofs see the documentation, "Tune an algorithm
    on sensitive instances: Balcan et al. (2018)".

    Parameters
    ----------
    family : Family
        The algorithm: `Knapsack`, `IndependentSet`, `OutwardRotation`, `SLinear`, or any object
        with methods ``breakpoints(instance)`` and ``utility(instance, parameter)``; see `Family`.
    epsilon : float
        Total privacy loss of everything that is released.
    utility_bound : float
        H: utilities lie in [0, H], for every possible instance. By default the families of this
        package use shares of an upper bound, so H = 1.
    interval : tuple (low, high) of float, default=None
        Range of the parameter. None means the family's `interval`.
    grid_size : int, default=2**16
        G, at most 2**20. The grid consists of the centres of G cells of equal width.
    score_share : float, default=0.2
        Share of epsilon for the score, in [0, 1). With 0 no score is released.
    invalid : {"raise", "zero"}, default="raise"
        How to treat an instance whose utility cannot be computed or leaves [0, H]. "raise" stops
        before anything is released; the guarantee does not cover *that* it raises, so only the
        owner of the instances may see the error. "zero" clips utilities to [0, H], and counts 0 if
        they cannot be computed: the guarantee then holds for instances of any kind.
    n_jobs : int or None, default=None
        Parallel jobs over instances, as in joblib.
    ledger : PrivacyLedger or None, default=None
        The ledger that is charged epsilon before the first release.

    Attributes
    ----------
    best_parameter_ : float
        A point of the grid (private).
    best_score_ : float
        Mean utility of the sample at `best_parameter_`, with noise (private); if score_share > 0.
    best_score_interval_ : tuple of float
        Contains that mean without noise with probability 95 % (private).
    n_instances_ : int
        Size of the sample (public).
    privacy_ : PrivacyReport
        The privacy report: print it.

    See Also
    --------
    excess_utility_bound : Bound on the utility that the selected parameter loses.
    sklearn_dpbo.PrivateThresholdClassifier : The same mechanism for a decision threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dpbo.papers.balcan2018 import Knapsack, KnapsackItems, PrivateConfigurator
    >>> rng = np.random.default_rng(0)
    >>> instances = []
    >>> for _ in range(200):
    ...     sizes = rng.uniform(1, 10, size=20)
    ...     values = sizes * rng.lognormal(0, 0.5, size=20)
    ...     instances.append(KnapsackItems(values, sizes, capacity=30))
    >>> configurator = PrivateConfigurator(Knapsack(), epsilon=1.0, utility_bound=1.0)
    >>> configurator.fit(instances).best_parameter_  # doctest: +SKIP
    1.0612
    """

    best_parameter_: float
    best_score_: float
    best_score_interval_: tuple[float, float]
    n_instances_: int
    privacy_: PrivacyReport

    def __init__(
        self,
        family: Any,
        *,
        epsilon: float,
        utility_bound: float,
        interval: Any = None,
        grid_size: int = 2**16,
        score_share: float = 0.2,
        invalid: str = "raise",
        n_jobs: int | None = None,
        ledger: PrivacyLedger | None = None,
    ) -> None:
        self.family = family
        self.epsilon = epsilon
        self.utility_bound = utility_bound
        self.interval = interval
        self.grid_size = grid_size
        self.score_share = score_share
        self.invalid = invalid
        self.n_jobs = n_jobs
        self.ledger = ledger

    @ignore_float_errors()
    def fit(self, instances: Any, y: Any = None) -> Self:
        """Choose the parameter.

        Parameters
        ----------
        instances : sequence
            The sample S. It is protected, except its length. Instances are pickled, and `fit` uses
            a copy of each.
        y : ignored
            For scikit-learn's conventions.
        """
        interval = self._validate()
        instances = list(instances)
        if not instances:
            raise ValueError("the sample is empty: pass at least one instance")
        grid = uniform_grid(interval, int(self.grid_size))
        grid.setflags(write=False)
        spending = Spending.begin(
            self.ledger,
            self.epsilon,
            what="choice and score of a parameter",
            mechanism=f"{type(self).__name__}, {type(self.family).__name__}",
            unit="record",  # of the sample: an instance
        )
        spending.warn_if_weak(len(instances), "instance")
        total = self._total(instances, interval, grid)
        if total is None:
            raise ValueError(
                f"an instance has no utility in [0, {self.utility_bound:g}] for some parameter in "
                "the interval, or the family failed on it; which one and why is withheld. Nothing "
                "was released. Check instances that you may see with piecewise_utility(family, "
                'instance, interval), increase utility_bound, or pass invalid="zero"'
            )

        index = spending.draw_exponentially(
            total.measured(partial(_column_of_totals, grid=grid), _STEPS),
            spending.all_but(float(self.score_share)),
            purpose="choice of the parameter",
        )
        fitted: dict[str, Any] = {
            "best_parameter_": float(grid[index]),
            "n_instances_": len(instances),
        }
        if self.score_share > 0:
            fitted |= self._score(total, grid[index], len(instances), spending)
        fitted["privacy_"] = self._privacy_report(fitted, spending)
        kept = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        self.__dict__ = {**kept, **fitted}  # at once: an interrupted `fit` mixes nothing
        return self

    @ClearFrames()
    def _total(
        self, instances: list[Any], interval: tuple[float, float], grid: NDArray[np.float64]
    ) -> Secret | None:
        """Sum the instances' utilities, in steps; None if one of them is invalid."""
        replaces_invalid = self.invalid == "zero"
        family = packed(self.family, by_value=True)
        integer_utility = partial(
            _integer_utility,
            interval=interval,
            grid=grid,
            H=float(self.utility_bound),
            clips=replaces_invalid,
        )
        zero = PiecewiseConstant(interval, np.empty(0), np.zeros(1, dtype=np.int64))
        chunk = min(_CHUNK, max(1, len(instances) // (4 * effective_n_jobs(self.n_jobs))))
        with suppress_output(descriptors=False):
            pickled = _pickled(instances)
            totals = Parallel(n_jobs=self.n_jobs)(
                delayed(_total_of)(
                    pickled[i : i + chunk],
                    family,
                    integer_utility,
                    zero if replaces_invalid else None,
                )
                for i in range(0, len(pickled), chunk)
            )
        return None if None in totals else Secret(PiecewiseConstant.total(totals))

    def _score(
        self, total: Secret, parameter: float, n_instances: int, spending: Spending
    ) -> dict[str, Any]:
        """Release the mean utility of the chosen parameter, with its interval, as attributes."""
        exact = total.measured(partial(_total_at, parameter=parameter), _STEPS)
        noisy = spending.release(exact, purpose="mean utility of the chosen parameter")
        largest_total = _STEPS * n_instances

        def mean_utility(count: float) -> float:
            return float(self.utility_bound) * min(max(count / largest_total, 0.0), 1.0)

        ((low, high),) = noisy.interval(_CONFIDENCE)
        (count,) = noisy.counts
        return {
            "best_score_": mean_utility(count),
            "best_score_interval_": (mean_utility(low), mean_utility(high)),
        }

    def _privacy_report(self, fitted: dict[str, Any], spending: Spending) -> PrivacyReport:
        not_protected = (
            "the number of instances; the time that it took; and whatever else is computed from "
            "the instances, including another run of this fit"
        )
        if self.invalid == "raise":
            not_protected += (
                "; and whether there is an instance without a utility, which raises an error"
            )
        return report_of(
            spending.spent,
            title="Differentially private algorithm configuration",
            unit="instance",
            m=fitted["n_instances_"],
            data="sample",
            protected="as given to fit",
            not_protected=not_protected,
            condition=(
                "an instance's utility depends on that instance, the parameter and public facts "
                "alone, and computing it leaves no traces"
            ),
            released=", ".join(name for name in fitted if name.startswith("best_")),
        )

    def _validate(self) -> tuple[float, float]:
        """Return the interval, or raise ValueError for an invalid parameter."""
        check_number("epsilon", self.epsilon, "a finite number from 1e-9 up", lambda v: v >= 1e-9)
        check_number(
            "utility_bound", self.utility_bound, "a positive number", lambda v: float(v) > 0
        )
        check_number("score_share", self.score_share, "in [0, 1)", lambda v: 0 <= v <= 1 - 1e-6)
        grid_sizes = "a whole number, 2 to 2**20", lambda v: 2 <= v <= 2**20, Integral
        check_number("grid_size", self.grid_size, *grid_sizes)
        if self.invalid not in ("raise", "zero"):
            raise ValueError(f"invalid must be 'raise' or 'zero'; found {self.invalid!r}")
        check_number("n_jobs", self.n_jobs, "not 0", lambda n: n != 0, Integral, optional=True)
        interval = self.interval
        if interval is None:
            interval = getattr(self.family, "interval", None)
        if interval is None:
            raise ValueError("interval is missing: pass interval=(low, high)")
        interval = check_interval(interval)
        check_family(self.family, interval)
        return interval


def _pickled(instances: list[Any]) -> list[bytes | None]:
    """Pickle each instance; None for one that cannot be pickled, as its error would reveal it."""
    pickles: list[bytes | None] = [None for _ in instances]
    isolated = drop_errors()
    for i, instance in enumerate(instances):
        with isolated:
            pickles[i] = packed(instance, by_value=True)
    return pickles


def _total_of(
    instances: list[bytes | None],
    family: bytes,
    integer_utility: Callable[..., PiecewiseConstant | None],
    replacement: PiecewiseConstant | None,
) -> PiecewiseConstant | None:
    """Sum the instances' utilities in steps; `replacement` stands for an invalid one.

    The result is None if an instance is invalid and there is no replacement.
    """
    with suppress_output(), hold_interrupts():
        calls = Calls(family)
        utilities = [calls(partial(integer_utility, x)) or replacement for x in instances]
        valid = [u for u in utilities if u is not None]
        return PiecewiseConstant.total(valid) if len(valid) == len(utilities) else None


def _integer_utility(
    instance: bytes,
    family: Any,
    *,
    interval: tuple[float, float],
    grid: NDArray[np.float64],
    H: float,
    clips: bool,
) -> PiecewiseConstant | None:
    """Round an instance's utility to {0, ..., _STEPS} on the grid; None if it leaves [0, H]."""
    u = utility_on(family, fresh(instance), interval, grid)
    outside = (u.values < -_TOLERANCE * H) | (u.values > (1 + _TOLERANCE) * H)
    if outside.any() and not clips:
        return None
    clipped = PiecewiseConstant(u.interval, u.breakpoints, np.clip(u.values, 0, H))
    return clipped.quantized(H, _STEPS).on(grid)


def _column_of_totals(total: PiecewiseConstant, grid: NDArray[np.float64]) -> Any:
    return total(grid)[:, None]


def _total_at(total: PiecewiseConstant, parameter: float) -> list[list[int]]:
    return [[int(total(parameter))]]

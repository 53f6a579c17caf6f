"""The search in which every record of one table is protected (zone: boundary)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._data.divided_table import DividedTable
from .._data.split import Training
from .._evaluation.evaluator import Evaluator
from .._evaluation.secret_fits import SecretFit, SecretModel, count_labels, fit_secretly
from .._privacy.accounting import CHOICE, Budget
from .._privacy.checks import check_number
from .._privacy.frames import ClearFrames
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import Noise
from .._privacy.runs import Composed, Repeated, Runs
from .._privacy.sensitive import Sensitive
from .._space.space import SearchSpace, divide
from ..learners._declaration import PrivateTraining
from ._base import Candidate, Release, Strategy
from ._proposals import Domain
from ._release import release_scores
from ._utility import noise_hints

__all__ = ["OneTable", "Plan"]

_ACCOUNTING = ("auto", "compose", "repeat")
# With more fits, a random number of them is better.
_COMPOSED = 4
# From this number of records times epsilon on, noise is small enough to fit many models.
_LARGE = 10_000
# Labels whose noisy count is below this many noise scales are taken to be absent.
_CLEAR = 3


@dataclass(frozen=True)
class Plan:
    """Models that may be fitted, how many of them, and the epsilon and delta of each."""

    fits: tuple[SecretFit, ...]
    runs: Runs
    epsilon: float
    delta: float

    def draw(self, noise: Noise) -> list[SecretFit]:
        """Return the fits to make."""
        if not isinstance(self.runs, Repeated):
            return list(self.fits)
        number = self.runs.draw(noise.uniform)
        return [self.fits[noise.uniform(len(self.fits))] for _ in range(number)]

    @property
    def params(self) -> tuple[dict[str, Any], ...]:
        """Parameters of all candidates."""
        return tuple({**each.params, **member} for each in self.fits for member in each.members)

    @property
    def has_one_model(self) -> bool:
        """Whether there is no choice: all of epsilon then pays for the score."""
        return isinstance(self.runs, Composed) and len(self.params) == 1

    @property
    def among(self) -> str:
        """What is chosen from, in words."""
        if isinstance(self.runs, Repeated):
            return "models of " + self.runs.number
        return f"{len(self.params):,} models"

    @property
    def in_bits(self) -> str:
        """What sampling the number of fits adds to delta, in words."""
        if isinstance(self.runs, Composed):
            return ""
        return "; the number of fits comes from 53 bits: (1 + e^epsilon) 2^-50 beside delta"

    def in_words(self, name: str) -> str:
        """Return how many models of this name are fitted, and how private each is."""
        each = f"epsilon={self.epsilon:.3g}" + f", delta={self.delta:.3g}" * (self.delta > 0)
        return f"{self.runs.number} of {name}, with {each}"

    def position(self, fit: SecretFit, member: int) -> int:
        """Return which of `params` these are."""
        before = itertools.takewhile(lambda each: each is not fit, self.fits)
        return sum(len(each.members) for each in before) + member


class OneTable(Strategy):
    """Protects every record of one table; the fitted model may also be published.

    This is the strategy of ``protect="all"``. The table is split by row number, or by group, into
    two parts. Models that train privately are fitted on the first part and compared on the second
    by permute-and-flip; then the score of the chosen model is released. A record lies in one part
    only, so each part can spend all of epsilon. All fits share the epsilon of the first part, in
    one of two ways:

    * ``"compose"``: a fixed number of fits, of which all models could be published.
    * ``"repeat"``: a random number of fits, each of a random candidate, of which only the best is
      released. The number stays secret. Whatever it is, the fits cost less than five composed
      ones, but it may be one.

    The estimator's own parameters are the first candidate, if `param_grid` has them.

    Parameters
    ----------
    accounting : {"auto", "compose", "repeat"}, default="auto"
        As above. "auto" composes up to four fits, and repeats if there are more.
    n_fits : int or None, default=None
        Number of fits; with "repeat", on average. None derives it from the number of records and
        epsilon: 24 if their product is 10,000 or more, else 2 to 4. Models that cost no further
        privacy, such as those of `PrivateRidge` with another `alpha`, are not counted.
    eta : float, default=1.0
        Shape of the distribution of the number of fits (Papernot and Steinke, 2022); above -1, and
        10 at most.
        With a smaller one, the fits cost less, and a single fit is more likely.
    score_share : float, default=0.4
        Share of the second part's epsilon for the released score.
    label_share : float, default=0.05
        Share of the second part's epsilon for label frequencies, if the score needs them. In
        (0, 1 - score_share).
    test_size : float or None, default=None
        Share of the records (or groups) in the second part. None is 0.2 if their number times
        epsilon is 10,000 or more. Else it is 0.1, because models then lose more from fewer records.
    """

    def __init__(
        self,
        accounting: str = "auto",
        n_fits: int | None = None,
        eta: float = 1.0,
        score_share: float = 0.4,
        label_share: float = 0.05,
        test_size: float | None = None,
    ) -> None:
        self.accounting = accounting
        self.n_fits = n_fits
        self.eta = eta
        self.score_share = score_share
        self.label_share = label_share
        self.test_size = test_size

    protects = "all"

    @property
    def released(self) -> str:
        return "best_params_, best_index_, best_score_, best_score_interval_ and best_estimator_"

    def check(self, budget: Budget) -> None:
        """Raise ValueError if a parameter makes no sense."""
        if self.accounting not in _ACCOUNTING:
            raise ValueError(f"accounting is one of {_ACCOUNTING}; found {self.accounting!r}")
        self._check("n_fits", "a whole number from 1 up", lambda n: n >= 1, Integral, optional=True)
        self._check("eta", "above -1, and 10 at most", lambda v: -1 < v <= 10)
        for name in ("score_share", "label_share", "test_size"):
            optional = name == "test_size"
            self._check(name, "strictly between 0 and 1", lambda v: 0 < v < 1, optional=optional)
        check_number(
            "score_share + label_share",
            self.score_share + self.label_share,
            "less than 1, as the choice needs the rest",
            lambda v: v <= 1 - 1e-6,
        )

    def n_val(self, n_units: int, epsilon: float) -> int:
        """Return how many units are in the second part."""
        default = 0.2 if n_units * epsilon >= _LARGE else 0.1
        return round(n_units * (default if self.test_size is None else float(self.test_size)))

    def runs(
        self, training: PrivateTraining, n_settings: int, n_units: int, budget: Budget
    ) -> tuple[Runs, float, float]:
        """Return how often models are fitted on `n_units`; epsilon and delta of each."""
        epsilon, delta, fit = budget.epsilon, budget.delta, training.fit
        if fit.composition != "pure" and delta == 0:
            raise ValueError(
                f"delta is 0, and the noise of the estimator needs more (its guarantee is of kind "
                f"{fit.composition}): pass delta=1e-6, for example; far less than 1 divided by the "
                "number of records"
            )
        n_fits = self.n_fits or default_fits(n_units, epsilon)
        n = min(n_fits, n_settings)
        composes = {"compose": True, "repeat": False, "auto": n <= _COMPOSED}[self.accounting]
        runs: Runs = Composed(n) if composes else Repeated.of_mean(max(n_fits, 1 + 1e-3), self.eta)
        each = runs.each(fit, epsilon, delta)
        if not each[0] > 0:  # with so large a delta, any epsilon would allow more than they have
            raise ValueError(
                f"no epsilon is small enough for each of {n_fits} fits that have "
                f"epsilon={epsilon:g} and delta={delta:g} together: use a smaller delta, or "
                "OneTable(n_fits=...)"
            )
        return runs, *each

    def plan(
        self,
        space: SearchSpace,
        training: PrivateTraining,
        n_units: int,
        budget: Budget,
        *,
        n_iter: int,
        first: Mapping[str, Any],
        rng: np.random.Generator,
    ) -> Plan:
        """Choose what is fitted of a table of `n_units` with this budget for all fits.

        The first candidate has the values of `first`, where these are searched.
        """
        # Of each dict of the space, parameters of a fit, and those whose other values cost nothing.
        free = set(training.from_release)
        grids = [
            (
                {k: v for k, v in grid.items() if k not in free},
                {k: v for k, v in grid.items() if k in free},
            )
            for grid in space.grids
        ]
        n_settings = int(min(n_iter, sum(SearchSpace(each).n_points for each, _ in grids)))
        runs, epsilon, delta = self.runs(training, n_settings, n_units, budget)
        n = runs.n if isinstance(runs, Composed) else n_settings
        fits = []
        spaces = [SearchSpace(each) for each, _ in grids]
        for outer, share, (_, own) in zip(
            spaces, divide(n, [each.n_points for each in spaces]), grids, strict=True
        ):
            points = Domain.of(outer, [outer.own_points(first), outer.fill(share, rng)]).points
            inner = SearchSpace(own)
            members = inner.params(inner.fill(max(1, n_iter // n), rng))
            fits += [
                SecretFit(params, members) for params in outer.params(points.take(slice(share)))
            ]
        return Plan(tuple(fits), runs, epsilon, delta)

    def frequent_labels(self, table: DividedTable, mechanisms: Mechanisms) -> NDArray[np.float64]:
        """Release how frequent each label is; returns shares of shape (n_labels,)."""
        epsilon = mechanisms.budget.epsilon * self.label_share
        counts = count_labels(table)
        noisy = mechanisms.release_counts(counts, epsilon, purpose="how frequent the labels are")
        found = np.array(noisy.counts, dtype=float)
        found[found < _CLEAR * noisy.scale] = 0.0
        if found.sum() == 0:
            found = np.ones(len(found))
        shares: NDArray[np.float64] = found / found.sum()
        return shares

    def search(
        self,
        plan: Plan,
        table: DividedTable,
        oracle: Evaluator,
        mechanisms: Mechanisms,
    ) -> tuple[Release, Any]:
        """Fit, choose, release; also return the chosen model. The caller has charged the fits."""
        epsilon = mechanisms.budget.epsilon_beside(self.score_share)
        units, n = oracle.problem.units, len(plan.params)
        oracle.select_by(oracle.scorer.for_choice(units, n, epsilon))
        model, statistic = _choose(plan, table.training, oracle, epsilon, mechanisms)
        index = plan.position(model.fit, model.member)
        params, estimator = plan.params[index], model.estimator()
        oracle.add(params, oracle.make_model(check=False)(estimator))
        scores = release_scores(params, statistic, oracle, mechanisms).scores
        hints: tuple[str, ...] = ()
        if len(plan.params) > 1:
            hints = noise_hints(oracle.scorer, units, (), epsilon=epsilon)
        # If the number of fits is secret, so is which were made.
        validated = None if isinstance(plan.runs, Repeated) else True
        candidates = tuple(Candidate(each, validated) for each in plan.params)
        return Release(candidates, index, scores, hints=hints), estimator


@ClearFrames()
def _choose(
    plan: Plan, training: Training, oracle: Evaluator, epsilon: float, mechanisms: Mechanisms
) -> tuple[SecretModel, Sensitive]:
    """Fit in secret; return the model chosen, and its statistic.

    The number of models, and the position of this one, stay in this frame: an exception would show
    the frames of callers.
    """
    models, statistics = fit_secretly(plan.draw(mechanisms.noise), training, oracle)
    if plan.has_one_model:
        return mechanisms.open_only(models), statistics
    i, model = mechanisms.best_of(models, statistics, epsilon, purpose=CHOICE, among=plan.among)
    return model, statistics.take(i)


def default_fits(n_units: int, epsilon: float) -> int:
    """Return how many models to fit: more if fits have less noise."""
    if n_units * epsilon >= _LARGE:
        return 24
    return int(np.clip(np.rint(_COMPOSED * n_units * epsilon / _LARGE), 2, _COMPOSED))

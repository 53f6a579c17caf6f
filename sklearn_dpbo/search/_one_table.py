"""Fit models of one protected table, and choose among them (zone: boundary).

Models that train privately are fitted on the first part of the table and compared on the second by
permute-and-flip. All fits share the budget of the first part, in one of two ways. A few fits
compose. Otherwise a random number of fits is made, each of a random candidate, and only the best is
released: the number stays secret, and all fits together cost less than five composed ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learners._declaration import PrivateTraining, profile_of_setting
from ..prediction.record_owner import TableOwner
from ..prediction.secret_fits import SecretFit, SecretModel
from ..prediction.session import Session
from ..privacy.accounting import CHOICE
from ..privacy.frames import ClearFrames
from ..privacy.mechanisms import Series
from ..privacy.profiles import epsilon_of_profile, setting_within
from ..privacy.runs import BITS, MOST_COMPOSED, Runs, runs_of
from ..privacy.sensitive import Sensitive
from ..privacy.spending import Spending
from ._proposals import Domain
from ._release import Design, release_scores
from ._space import SearchSpace, divide
from ._strategy import Candidate, Release
from ._utility import constant_hints, noise_hints

# Share of the second part's epsilon for label frequencies, if the score needs them.
LABEL_SHARE = 0.05
# From this number of records times epsilon on, noise is small enough to fit many models.
_LARGE = 10_000
# Labels whose noisy count is below this many noise scales count as absent.
_CLEAR = 3


@dataclass(frozen=True)
class Plan:
    """The possible fits, the number of them to make, and the epsilon and delta of each.

    `settings` are the parameters of the estimator that give each fit this privacy.
    """

    fits: tuple[SecretFit, ...]
    runs: Runs
    epsilon: float
    delta: float
    settings: Mapping[str, float] = field(default_factory=dict)

    def draw(self, draw_number: Callable[[int], int]) -> list[SecretFit]:
        """Draw the fits to make; all of them if their number is public."""
        if not self.runs.secret:
            return list(self.fits)
        number = self.runs.draw(draw_number)
        return [self.fits[draw_number(len(self.fits))] for _ in range(number)]

    @property
    def params(self) -> tuple[dict[str, Any], ...]:
        """Parameters of all candidates."""
        return tuple({**fit.params, **member} for fit in self.fits for member in fit.members)

    @property
    def has_one_model(self) -> bool:
        """True if there is no choice, so that all of epsilon pays for the score."""
        return not self.runs.secret and len(self.params) == 1

    @property
    def n_compared(self) -> float:
        """Number of models that are compared; its mean if it is secret."""
        if not self.runs.secret:
            return len(self.params)
        return self.runs.mean * max(len(fit.members) for fit in self.fits)

    @property
    def among(self) -> str:
        """Words for the models that the choice is made among."""
        if self.runs.secret:
            return "models of " + self.runs.number
        return f"{len(self.params):,} models"

    @property
    def in_bits(self) -> str:
        """Words for the delta added by drawing the number of fits from a limited number of bits."""
        if not self.runs.secret:
            return ""
        return f"; the number of fits comes from {BITS} bits: (1 + e^epsilon) 2^-100 beside delta"

    def in_words(self, name: str) -> str:
        """Describe the fits: their number, the estimator's name, and the privacy of each."""
        privacy = [f"epsilon={self.epsilon:.3g}"]
        if self.delta > 0:
            privacy.append(f"delta={self.delta:.3g}")
        privacy += [
            f"{key}={value:.4g}"
            for key, value in self.settings.items()
            if value not in (self.epsilon, self.delta)
        ]
        return f"{self.runs.number} of {name}, with {', '.join(privacy)}"

    def position(self, fit: SecretFit, member: int) -> int:
        """Return the position in `params` of a member of a fit."""
        before = itertools.takewhile(lambda earlier: earlier is not fit, self.fits)
        return sum(len(earlier.members) for earlier in before) + member


def held_out(n_units: int, epsilon: float, share: float | None = None) -> int:
    """Return the number of units in the second part, to compare models on.

    `share` of all units; by default a fifth, or a tenth of a small table, whose models lose more.
    """
    return round(n_units * (share or (0.2 if n_units * epsilon >= _LARGE else 0.1)))


def default_fits(n_units: int, epsilon: float) -> int:
    """Return the number of models to fit by default: more if fits have less noise."""
    if n_units * epsilon >= _LARGE:
        return 24
    return int(np.clip(np.rint(MOST_COMPOSED * n_units * epsilon / _LARGE), 2, MOST_COMPOSED))


def plan_fits(
    space: SearchSpace,
    training: PrivateTraining,
    epsilon: float,
    delta: float,
    *,
    n_fits: int,
    n_candidates: int,
    first: Mapping[str, Any],
    declared: Callable[[SecretFit], PrivateTraining],
    rng: np.random.Generator,
) -> Plan:
    """Choose the fits, for this epsilon and delta of all of them together.

    The first candidate has the values of `first` for the parameters that are searched. Parameters
    that cost nothing once a model is fitted (`from_release`) give each fit several members.
    `declared` returns the declaration of privacy of a fit.
    """
    free = set(training.from_release)
    outer_spaces = [
        SearchSpace({k: v for k, v in grid.items() if k not in free}) for grid in space.grids
    ]
    n_settings = int(min(n_candidates, sum(outer.n_points for outer in outer_spaces)))
    runs = runs_of(n_fits, n_settings)
    n = n_settings if runs.secret else int(runs.mean)
    fits = []
    shares = divide(n, [outer.n_points for outer in outer_spaces])
    for outer, share, grid in zip(outer_spaces, shares, space.grids, strict=True):
        points = Domain.of(outer, [outer.own_points(first), outer.fill(share, rng)]).points
        inner = SearchSpace({k: v for k, v in grid.items() if k in free})
        members = inner.params(inner.fill(max(1, n_candidates // n), rng))
        fits += [SecretFit(params, members) for params in outer.params(points.take(slice(share)))]
    if training.composition != "pure" and delta == 0:
        raise ValueError(
            "delta is 0, but the guarantee of the estimator, of kind "
            f"{training.composition}, needs a positive delta: pass delta=1e-6, for example; it "
            "should be far less than 1 divided by the number of records"
        )
    planned = Plan(tuple(fits), runs, epsilon, delta)
    if training.profile is not None:
        return _with_profiles(planned, training, [declared(fit) for fit in fits])
    return _with_parameters(planned, training, n_fits)


def _with_parameters(whole: Plan, training: PrivateTraining, n_fits: int) -> Plan:
    """Divide the epsilon and delta of all fits among them, as parameters of the estimator."""
    epsilon, delta = whole.runs.each(training.fit, whole.epsilon, whole.delta)
    if not epsilon > 0:  # with so large a delta, any epsilon would allow more than they have
        raise ValueError(
            f"no epsilon is small enough for each of {n_fits} fits that have "
            f"epsilon={whole.epsilon:g} and delta={whole.delta:g} together: use a smaller delta, "
            "or another n_fits"
        )
    settings = {training.epsilon: epsilon}
    if training.delta is not None:
        settings[training.delta] = delta
    return replace(whole, epsilon=epsilon, delta=delta, settings=settings)


def _with_profiles(whole: Plan, training: PrivateTraining, declared: list[PrivateTraining]) -> Plan:
    """Find the setting (of noise, say) with which all fits keep the epsilon and delta together."""
    alike = [declaration for declaration in declared if declaration == training]
    # `with_budget` refuses candidates that declare something else.
    profile_of = partial(profile_of_setting, alike or [training])
    setting = setting_within(
        lambda value: whole.runs.delta(whole.epsilon, profile_of(value)),
        whole.delta,
        training.setting,
        is_noise=training.noise_multiplier is not None,
    )
    epsilon = epsilon_of_profile(profile_of(setting), whole.delta)
    return replace(whole, epsilon=epsilon, settings={training.setting: setting})


def frequent_labels(table: TableOwner, spending: Spending) -> NDArray[np.float64]:
    """Release the share of units with each label, shape (n_labels,)."""
    epsilon = spending.epsilon * LABEL_SHARE
    counts = table.count_labels()
    noisy = spending.release(counts, epsilon, purpose="how frequent the labels are")
    frequent = np.array(noisy.counts, dtype=float)
    frequent[frequent < _CLEAR * noisy.scale] = 0.0
    if frequent.sum() == 0:
        frequent = np.ones(len(frequent))
    shares: NDArray[np.float64] = frequent / frequent.sum()
    return shares


def search_table(
    plan: Plan, session: Session, models: Series[Any], score_share: float
) -> tuple[Release, Any]:
    """Fit models, choose one and release its scores; also return the fitted estimator.

    `models` opens the chosen model, as it was charged for all fits.
    """
    epsilon = session.all_but(score_share)
    candidates = session.candidates
    units = session.units
    n = len(plan.params)
    candidates.select_by(candidates.scorer.for_choice(units, n, epsilon))
    model, statistic = _choose(plan, session, epsilon, models)
    index = plan.position(model.fit, model.member)
    params = plan.params[index]
    estimator = model.estimator()
    candidates.design = Design.of(candidates, session.share())
    candidates.add(params, candidates.make_model(check=False)(estimator))
    released = release_scores(params, statistic, session, plan.n_compared)
    hints = noise_hints(candidates.scorer, units, (), epsilon=epsilon) if n > 1 else ()
    # If the number of fits is secret, so is which were made.
    validated = None if plan.runs.secret else True
    listed = tuple(Candidate(params, validated) for params in plan.params)
    hints += released.hints
    if not released.unknown:
        hints += constant_hints(candidates, [score.score for score in released.scores])
    shown = released._replace(hints=hints, scorers=()).shown
    return Release(listed, index, **shown), estimator


@ClearFrames()
def _choose(
    plan: Plan, session: Session, epsilon: float, models: Series[Any]
) -> tuple[SecretModel, Sensitive]:
    """Fit models in secret, and choose one; return it with its statistic.

    The number of models, and the position of the chosen one, stay in this frame, which is cleared
    if an exception is raised.
    """
    candidates = session.candidates
    fits = plan.draw(session.draw_number)
    fitted, statistics = session.fit_secretly(fits, candidates.options, candidates.scorer.query)
    if plan.has_one_model:
        return session.open_only(models, fitted), statistics
    i, model = session.best_of(
        models, fitted, statistics, epsilon, purpose=CHOICE, among=plan.among
    )
    return model, statistics.take(i)

"""Warnings of noise that hides the differences between candidates (zone: released).

They use public and released facts only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import stdtrit

from ..exceptions import LowUtilityWarning
from ..metrics._precision import Width, sampling_deviation, warn_of_expected_width, wide_hint
from ..metrics._queries import MeanOf
from ..metrics._response import Responses
from ..metrics._scorers import PrivateScorer, Score
from ..metrics._unknown import named
from ..prediction.candidates import Candidates
from ..prediction.session import Session
from ..privacy.float_errors import ignore_float_errors
from ..privacy.warn import warn
from ..records.tables import dense
from ..records.units import Units
from ._release import Design, expected_widths

# With fewer public scores than this, differences between candidates are assumed to be a share of
# the largest possible one.
_FEWEST, _ASSUMED_SPREAD = 3, 0.1
# What the reader should conclude.
_CONSEQUENCES = {
    "choice": "best_params_ may be hardly better than a candidate picked at random",
    "prior": "public scores decide: best_params_ is about the best one within the training set",
    "score": "best_score_ does not rank them: best_score_interval_ says how good it is",
}
# Lowest score, by the number of classes, of the best constant prediction: of the most frequent
# class, or of equal probabilities.
_OF_A_CONSTANT: dict[str, Callable[[int], float]] = {
    "accuracy": lambda K: 1 / K,
    "neg_brier_score": lambda K: -0.25 if K == 2 else 1 / K - 1,
    "neg_log_loss": lambda K: -math.log(K),
}
# A larger factor than this is not told: nobody has so many more records.
_MOST_TIMES = 1000
# How often data that are alike are said to differ, at most.
_FALSE_ALARMS = 0.01
# Clipping changes a score much by this part of what candidates differ by.
_MUCH = 10
# Scores that large losses matter less to, by a part of the name.
_OTHERS = {"squared": "neg_mean_absolute_error", "r2": "neg_mean_absolute_error"}
_OTHERS |= {"log_loss": "neg_brier_score", "explained": "neg_mean_absolute_error"}
# Half the width of an interval of 95 %, in standard deviations.
_HALF_WIDTH = 1.96


def tail_of_choice(n: float, t: float) -> float:
    """Return the largest probability that permute-and-flip misses the best of n by t or more.

    It is ``1 - (1 - (1 - p)^n) / (n p)`` with ``p = e^-t`` (Theorem 1).
    """
    p = math.exp(-t)
    if n * p < 1e-3:  # the first terms of the series, because the formula would cancel
        terms = 0.0
        term = -1.0
        for j in range(1, 5):
            term *= -(n - j) * p / j
            terms += term / (j + 1)
        return terms
    missed = 1.0 if p == 1.0 else -math.expm1(n * math.log1p(-p))
    return max(0.0, 1 - missed / (n * p))


@lru_cache(maxsize=1024)
def mean_of_choice(n: float) -> float:
    """Return the largest expected regret of permute-and-flip, in units of the noise scale."""
    if n == 1:
        return 0.0
    end = math.log(n) + 5
    minimum = minimize_scalar(
        lambda t: -t * tail_of_choice(n, t), bounds=(0.0, end), options={"xatol": 1e-10}
    )
    return -float(minimum.fun)


def scale_of_choice(scorer: PrivateScorer, units: Units, epsilon: float) -> float:
    """Return the noise scale of a choice, in units of the score."""
    return 2 * scorer.query.sensitivity(units) * scorer.line(units)[1] / epsilon


def likely_regret(scorer: PrivateScorer, units: Units, n: int, epsilon: float) -> float:
    """Return what the noise of a choice among n costs at most, but for half of `_FALSE_ALARMS`."""
    times = math.log(n) + math.log(2 / _FALSE_ALARMS)
    return scale_of_choice(scorer, units, epsilon) * times


def largest_loss(scorer: PrivateScorer, units: Units, n: float, epsilon: float) -> float:
    """Return how much the noise of a choice among n models costs on average, at most.

    In units of the score of these units: Theorem 1 of "What noise costs". A random number of models
    may be given by its mean, as the largest loss is concave in it.
    """
    scorer = scorer.for_choice(units, math.ceil(n), epsilon)
    return scale_of_choice(scorer, units, epsilon) * mean_of_choice(n)


def warn_of_low_utility(hints: Sequence[str]) -> None:
    """Warn once results are set: a user may turn warnings into errors."""
    for hint in hints:
        warn(hint, LowUtilityWarning)


def warn_of_wide_intervals(
    session: Session,
    responses: Responses | None,
    share: float,
    n_released: int = 1,
) -> bool:
    """Warn, before anything is charged, if scores will have wide intervals; return whether.

    `responses` are those of a candidate to public records, which means alone do not need. `share`
    of epsilon is for the scores of `n_released` candidates.
    """
    own = session.candidates
    if responses is None and (own.report or not all(each.is_mean for each in own.scorers)):
        return False
    delta = session.delta if n_released > 1 else 0.0
    return warn_of_expected_width(
        lambda epsilon: expected_widths(own, responses, share * epsilon, delta, n_released),
        session.units,
        session.epsilon,
    )


def released_hints(
    candidates: Candidates,
    scores: Sequence[Score],
    public_scores: Sequence[float],
    *,
    compares: bool,
) -> tuple[str, ...]:
    """Say if an interval is wide or, where candidates are compared, hides how they differ."""
    widths = [Width.of(*pair) for pair in zip(candidates.scorers, scores, strict=True)]
    if hint := wide_hint(widths):
        return (hint,)
    units = candidates.problem.units
    return compares * noise_hints(candidates.scorer, units, public_scores, interval=scores[0][1])


@ignore_float_errors()
def clipping_hints(
    session: Session, answers: Sequence[Responses], share: float, n_released: int
) -> tuple[str, ...]:
    """Say if clipping changes a score much, or which candidate is best, on public rows.

    Much is a tenth of what candidates differ by, and a quarter of the interval that is expected of
    a score with this share of epsilon for so many candidates.
    """
    own = session.candidates
    learn = [k for k, scorer in enumerate(own.scorers) if scorer.learns_bounds]
    if not learn:
        return ()
    delta = session.delta if n_released > 1 else 0.0
    widths = expected_widths(own, answers[0], share * session.epsilon, delta, n_released)
    design = Design.of(own, share * session.epsilon / n_released)
    # An evaluation has bounds of its own.
    released = design.by_answers(answers[0]).scorers if design.queries else own.scorers
    hints = (
        _clipping_hint(
            scorer, answers, widths[k]().width, selects=k == 0, grows=scorer is own.scorers[k]
        )
        for k, scorer in enumerate(released)
        if k in learn
    )
    return next(((hint,) for hint in hints if hint), ())


def _clipping_hint(
    scorer: PrivateScorer,
    answers: Sequence[Responses],
    width: float,
    *,
    selects: bool,
    grows: bool,
) -> str:
    public = [answer(scorer.response_method) for answer in answers]
    theirs = np.array([scorer.of_scikit_learn(each) for each in public])
    if np.isnan(theirs).all():
        return (
            f"scikit-learn has no {scorer.name} of any candidate within the training set, as "
            f"losses or predictions are infinite. They count as others: {scorer.clipping}. "
            "Nothing has been charged yet"
        )
    best, much = int(np.nanargmax(theirs)), float(np.nanstd(theirs)) / _MUCH
    ours, query = scorer.exact(public[best]), cast(MeanOf, scorer.query)
    compared = [query.clipped(each.y, each.response, each.classes).mean() for each in public]
    lost = selects * float(theirs[best] - theirs[int(np.argmax(compared))])
    if abs(ours - theirs[best]) <= max(much, width / 4) and not lost > much:
        return ""
    loses = f". The choice among candidates may lose {lost:.2g} by it" * (lost > 0)
    other = next((f", or use {_OTHERS[part]!r}" for part in _OTHERS if part in scorer.name), "")
    remedy = (
        "More (validation) records or a larger epsilon raise the bound. You may give another one "
        f"(make_private_scorer){other}"
        if grows
        else f"That is the bound of the evaluation. Pass release='best', whose bound grows{other}"
    )
    return (
        f"{scorer.name} is {ours:.4g} with large losses clipped, and {theirs[best]:.4g} as "
        "scikit-learn computes it, for the best candidate within the training set: "
        f"{scorer.clipping}. That cuts off {scorer.share_cut_off(public[best]):.0%} of the "
        f"sum{loses}. {remedy}. Nothing has been charged yet"
    )


def constant_hints(candidates: Candidates, scores: Sequence[Score]) -> tuple[str, ...]:
    """Say if a score is lower than some constant prediction has on any records of known labels.

    These scores are means, whose counts do not show unknown labels.
    """
    for scorer, (released, (low, high)) in zip(candidates.scorers, scores, strict=True):
        y = dense(candidates.problem.training.y)
        if scorer.name not in _OF_A_CONSTANT or y.ndim > 1:
            continue
        classes = np.unique(y)
        constant = _OF_A_CONSTANT[scorer.name](len(classes))
        if high < constant:
            return (
                f"{scorer.name} is {released:.3g} ({low:.3g} to {high:.3g}), but some constant "
                f"prediction has at least {constant:.3g} if all labels are among those of the "
                f"training set, {named(classes)}. Either labels of validation records are missing "
                "or coded otherwise, or many records cannot be predicted (a value is missing, "
                "say), or the model predicts worse than a constant",
            )
    return ()


class Inside(NamedTuple):
    """Scores of candidates within the training set, and of how many rows they are.

    `chosen` is the score of the candidate that was chosen; NaN if it is not among them.
    `responses` are those of a good one.
    """

    scores: Sequence[float]
    chosen: float
    n: int
    responses: Responses | None


def shift_hints(
    candidates: Candidates, score: Score, inside: Inside, regret: float
) -> tuple[str, ...]:
    """Say if a released score contradicts those within the training set.

    If the data are alike, the two scores of one of these candidates differ so much with a
    probability of 1 %, about: a union bound over all of them, whatever chooses. If the one that was
    chosen is not among them, it is as good on the validation set as the best of them, but for
    `regret`: what the noise of the choice, and public scores in it, cost.
    """
    scorer, m = candidates.scorer, candidates.problem.units.m
    known = [value for value in inside.scores if math.isfinite(value)]
    if not known or not (scorer.is_mean or inside.responses):
        return ()
    released, (low, high) = score
    is_known = math.isfinite(inside.chosen)
    public = inside.chosen if is_known else max(known)
    gap = abs(public - released) if is_known else public - released - regret
    # Noise reaches as far as the end of the interval on the side of the public score.
    noise = 2 * (high - released if public > released else released - low)
    if not gap > noise:
        return ()
    n_rarest, deviation = _deviation(scorer, released, public, inside, m)
    times = float(stdtrit(max(1, n_rarest - 1), 1 - _FALSE_ALARMS / 2 / len(known)))
    if gap <= math.hypot(times * deviation * math.sqrt(1 / inside.n + 1 / m), noise):
        return ()
    whose = "" if is_known else ", of another candidate,"
    return (
        f"The validation set differs from the training set by more than chance: {scorer.name} is "
        f"{released:.3g} ({low:.3g} to {high:.3g}) there and {public:.3g}{whose} within the "
        "training set. Unless that was to be expected, compare how rows and labels are joined, and "
        "labels coded. Candidates that were found within the training set may not suit the "
        "validation set: WorstCase(guidance='none', prior_weight=0) leaves public scores out",
    )


def _deviation(
    scorer: PrivateScorer, released: float, public: float, inside: Inside, m: int
) -> tuple[int, float]:
    """Return the size of the rarest public class, and the deviation of a score of one record.

    The deviation of a score of n records is this by sqrt(n). That of a mean between a and b is
    sqrt((mean - a) (b - mean)) at most; of other scores, it is estimated by resampling.
    """
    n = inside.n
    if scorer.is_mean or inside.responses is None:
        pooled = (n * public + m * released + sum(scorer.bounds)) / (n + m + 2)
        low, high = scorer.bounds
        return n, math.sqrt(max(0.0, (pooled - low) * (high - pooled)))
    predictions = inside.responses(scorer.response_method)
    if predictions.classes is None:
        return n, sampling_deviation(scorer, predictions)
    n_rarest = int(np.unique(predictions.y, return_counts=True)[1].min())
    # Scores of all samples may be the same: one record of the rarest class may still change it.
    least = scorer.score_range / n_rarest * math.sqrt(n)
    return n_rarest, max(sampling_deviation(scorer, predictions), least)


def noise_hints(
    scorer: PrivateScorer,
    units: Units,
    public_scores: Sequence[float],
    *,
    epsilon: float | None = None,
    interval: tuple[float, float] = (0.0, 0.0),
    prior: bool = False,
) -> tuple[str, ...]:
    """Say if noise hides differences: of a choice at epsilon, or of a score in its interval.

    With a `prior`, public scores decide the choice then.
    """
    what, noise = "score", (interval[1] - interval[0]) / 2 / _HALF_WIDTH
    if epsilon is not None:
        what, noise = "choice", scale_of_choice(scorer, units, epsilon)
    known = np.array([score for score in public_scores if np.isfinite(score)])
    spread = _ASSUMED_SPREAD * scorer.score_range
    how = "assumed: a tenth of the score's range, as too few scores are public"
    if len(known) >= _FEWEST:
        spread = float(np.std(known))
        how = f"measured: {len(known)} scores within the training set"
        if spread <= 1e-12 * scorer.score_range:
            return (
                f"All {len(known)} candidates that were scored within the training set have the "
                f"same {scorer.name} there, {known[0]:.3g}: neither more records nor a larger "
                "epsilon tells them apart. Search another space or, if they predict one class, "
                "tune a decision threshold",
            ) * (what == "choice")
    if noise <= spread:
        return ()
    size = f"a standard deviation of {noise:.2g}" if np.isfinite(noise) else "no known limit"
    # Noise is in proportion to 1 / (epsilon m).
    times = noise / max(spread, 1e-300)
    much = f" (about {times:.2g} times as much of either)" if times < _MOST_TIMES else ""
    return (
        f"The noise of the {what} is larger than the differences between candidates, so "
        f"{_CONSEQUENCES['prior' if prior else what]}. In units of {scorer.name} the noise has "
        f"{size}, and candidates differ by {spread:.2g} ({how}). If that matters, use more "
        f"(validation) records, of a rare class especially, or a larger epsilon{much}; plan_search "
        "computes how many",
    )

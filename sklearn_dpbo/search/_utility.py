"""Warnings of results that noise, clipping or wrong data make useless (zone: released).

They use public and released facts only. Functions called `..._hints` return texts of warnings.
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

# With fewer public scores than this,
_FEWEST = 3
# the standard deviation of candidates' scores is assumed to be this share of the score's range.
_ASSUMED_SPREAD = 0.1
# Conclusions for the reader.
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
# Larger factors than this are left out of messages: nobody has so many more records.
_MOST_TIMES = 1000
# Largest probability that data that are alike are said to differ.
_FALSE_ALARMS = 0.01
# Clipping changes a score much if by more than the differences between candidates divided by this.
_MUCH = 10
# Scores that depend less on large losses, by a part of the name.
_OTHERS = {"squared": "neg_mean_absolute_error", "r2": "neg_mean_absolute_error"}
_OTHERS |= {"log_loss": "neg_brier_score", "explained": "neg_mean_absolute_error"}
# Half the width of an interval of 95 %, in standard deviations.
_HALF_WIDTH = 1.96


def tail_of_choice(n: float, t: float) -> float:
    """Bound the probability that permute-and-flip misses the best of n by t noise scales or more.

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
    """Return the scale of a choice's noise, in units of the score."""
    return 2 * scorer.query.sensitivity(units) * scorer.line(units)[1] / epsilon


def likely_regret(scorer: PrivateScorer, units: Units, n: int, epsilon: float) -> float:
    """Bound the regret of a choice among n, up to a probability of half of `_FALSE_ALARMS`.

    In units of the score.
    """
    times = math.log(n) + math.log(2 / _FALSE_ALARMS)
    return scale_of_choice(scorer, units, epsilon) * times


def largest_loss(scorer: PrivateScorer, units: Units, n: float, epsilon: float) -> float:
    """Bound the expected regret of a choice among n models, in units of the score.

    See Theorem 1 of "What noise costs". If the number of models is random, n may be its mean, as
    the bound is concave in it.
    """
    scorer = scorer.for_choice(units, math.ceil(n), epsilon)
    return scale_of_choice(scorer, units, epsilon) * mean_of_choice(n)


def warn_of_low_utility(hints: Sequence[str]) -> None:
    """Warn with each hint. Call it once results are set, as warnings may be turned into errors."""
    for hint in hints:
        warn(hint, LowUtilityWarning)


def warn_of_wide_intervals(
    session: Session,
    responses: Responses | None,
    share: float,
    n_released: int = 1,
) -> bool:
    """Warn, before any charge, if scores will have wide intervals; return True if so.

    `responses` are those of a candidate to public records; scores that are means do not need them.
    The scores of `n_released` candidates share the `share` of epsilon.
    """
    candidates = session.candidates
    only_means = all(scorer.is_mean for scorer in candidates.scorers) and not candidates.report
    if responses is None and not only_means:
        return False
    delta = session.delta if n_released > 1 else 0.0
    return warn_of_expected_width(
        lambda epsilon: expected_widths(candidates, responses, share * epsilon, delta, n_released),
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
    """Return a hint if an interval is wide or, with `compares`, hides how candidates differ."""
    widths = [Width.of(*pair) for pair in zip(candidates.scorers, scores, strict=True)]
    if hint := wide_hint(widths):
        return (hint,)
    if not compares:
        return ()
    units = candidates.problem.units
    return noise_hints(candidates.scorer, units, public_scores, interval=scores[0][1])


@ignore_float_errors()
def clipping_hints(
    session: Session, answers: Sequence[Responses], share: float, n_released: int
) -> tuple[str, ...]:
    """Return a hint if clipping changes a score much, or which candidate is best, on public rows.

    Much is more than a tenth of the standard deviation of candidates' scores, and than a quarter
    of the expected interval, for `n_released` candidates that share the `share` of epsilon.
    """
    candidates = session.candidates
    scorers = candidates.scorers
    learning = [k for k, scorer in enumerate(scorers) if scorer.learns_bounds]
    if not learning:
        return ()
    delta = session.delta if n_released > 1 else 0.0
    widths = expected_widths(candidates, answers[0], share * session.epsilon, delta, n_released)
    design = Design.of(candidates, share * session.epsilon / n_released)
    # An evaluation clips at bounds of its own.
    released = design.by_answers(answers[0]).scorers if design.queries else scorers
    hints = (
        _clipping_hint(
            scorer, answers, widths[k]().width, selects=k == 0, grows=scorer is scorers[k]
        )
        for k, scorer in enumerate(released)
        if k in learning
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
    """Return the hint for one score, or "".

    `width` is that of its expected interval; `selects` is True if it chooses the candidate, and
    `grows` if its bound grows with epsilon and records.
    """
    public = [answer(scorer.response_method) for answer in answers]
    unclipped_scores = np.array([scorer.of_scikit_learn(predictions) for predictions in public])
    if np.isnan(unclipped_scores).all():
        return (
            f"scikit-learn has no {scorer.name} of any candidate within the training set, as "
            f"losses or predictions are infinite. They count as others: {scorer.clipping}. "
            "Nothing has been charged yet"
        )
    best = int(np.nanargmax(unclipped_scores))
    unclipped = unclipped_scores[best]
    clipped = scorer.exact(public[best])
    much = float(np.nanstd(unclipped_scores)) / _MUCH
    query = cast(MeanOf, scorer.query)
    ranking = [query.clipped(p.y, p.response, p.classes).mean() for p in public]
    lost = float(unclipped - unclipped_scores[int(np.argmax(ranking))]) if selects else 0.0
    if abs(clipped - unclipped) <= max(much, width / 4) and not lost > much:
        return ""
    loses = f". The choice among candidates may lose {lost:.2g} by it" if lost > 0 else ""
    robust = next((f", or use {_OTHERS[part]!r}" for part in _OTHERS if part in scorer.name), "")
    remedy = (
        "More (validation) records or a larger epsilon raise the bound. You may give another one "
        f"(make_private_scorer){robust}"
        if grows
        else f"That is the bound of the evaluation. Pass release='best', whose bound grows{robust}"
    )
    return (
        f"{scorer.name} is {clipped:.4g} with large losses clipped, and {unclipped:.4g} as "
        "scikit-learn computes it, for the best candidate within the training set: "
        f"{scorer.clipping}. That cuts off {scorer.share_cut_off(public[best]):.0%} of the "
        f"sum{loses}. {remedy}. Nothing has been charged yet"
    )


def constant_hints(candidates: Candidates, scores: Sequence[Score]) -> tuple[str, ...]:
    """Return a hint if a score is below that of the best constant prediction for any labels.

    Only for means, whose counts do not show unknown labels.
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
    """Scores of candidates within the training set, each computed on n rows.

    `chosen` is the score of the chosen candidate; NaN if it is not among them. `responses` are
    those of a good candidate.
    """

    scores: Sequence[float]
    chosen: float
    n: int
    responses: Responses | None


def shift_hints(
    candidates: Candidates, score: Score, inside: Inside, regret: float
) -> tuple[str, ...]:
    """Return a hint if a released score contradicts those within the training set.

    If the two sets are alike, a public and a released score of any candidate differ so much with a
    probability of about 1 %, by a union bound over candidates: however one was chosen. A chosen
    candidate without a public score is compared with the best public score: on the validation set
    it is at most `regret` worse, which is the cost of noise and of public scores in the choice.
    """
    scorer = candidates.scorer
    m = candidates.problem.units.m
    public_scores = [value for value in inside.scores if math.isfinite(value)]
    if not public_scores or not (scorer.is_mean or inside.responses):
        return ()
    released, (low, high) = score
    is_known = math.isfinite(inside.chosen)
    public = inside.chosen if is_known else max(public_scores)
    gap = abs(public - released) if is_known else public - released - regret
    # Noise reaches as far as the end of the interval on the side of the public score.
    noise = 2 * (high - released if public > released else released - low)
    if not gap > noise:
        return ()
    n_rarest, deviation = _deviation(scorer, released, public, inside, m)
    times = float(stdtrit(max(1, n_rarest - 1), 1 - _FALSE_ALARMS / 2 / len(public_scores)))
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

    The standard deviation of a score of n records is that divided by sqrt(n). For a mean between a
    and b it is at most sqrt((mean - a) (b - mean)); for other scores, it is estimated by
    resampling.
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
    # Resampled scores may all be equal although one record of the rarest class changes the score.
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
    """Return a hint if noise is larger than the differences between candidates.

    The noise is that of a choice at `epsilon` or, if it is None, of a score with this `interval`.
    With `prior`, public scores decide such a choice.
    """
    if epsilon is None:
        release = "score"
        noise = (interval[1] - interval[0]) / 2 / _HALF_WIDTH
    else:
        release = "choice"
        noise = scale_of_choice(scorer, units, epsilon)
    scores = np.array([score for score in public_scores if np.isfinite(score)])
    spread = _ASSUMED_SPREAD * scorer.score_range
    source = "assumed: a tenth of the score's range, as too few scores are public"
    if len(scores) >= _FEWEST:
        spread = float(np.std(scores))
        source = f"measured: {len(scores)} scores within the training set"
        if spread <= 1e-12 * scorer.score_range:
            if release == "score":
                return ()
            return (
                f"All {len(scores)} candidates that were scored within the training set have the "
                f"same {scorer.name} there, {scores[0]:.3g}: neither more records nor a larger "
                "epsilon tells them apart. Search another space or, if they predict one class, "
                "tune a decision threshold",
            )
    if noise <= spread:
        return ()
    size = f"a standard deviation of {noise:.2g}" if np.isfinite(noise) else "no known limit"
    # Noise is in proportion to 1 / (epsilon m).
    times = noise / max(spread, 1e-300)
    much = f" (about {times:.2g} times as much of either)" if times < _MOST_TIMES else ""
    return (
        f"The noise of the {release} is larger than the differences between candidates, so "
        f"{_CONSEQUENCES['prior' if prior else release]}. In units of {scorer.name} the noise has "
        f"{size}, and candidates differ by {spread:.2g} ({source}). If that matters, use more "
        f"(validation) records, of a rare class especially, or a larger epsilon{much}; plan_search "
        "computes how many",
    )

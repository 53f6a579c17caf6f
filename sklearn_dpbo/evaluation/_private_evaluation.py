"""`private_evaluation`: one release of a fitted model's errors (zone: released)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from .._counting.companions import spread_rows
from .._counting.evaluator import counted, table_and_model
from .._counting.fitting import check_prediction, without_callbacks
from .._counting.suppress_output import without_autologging
from .._data.split import hold_out
from .._data.tables import take_rows
from .._data.units import Units, unit_name
from .._privacy.accounting import warn_of_weak_guarantee
from .._privacy.checks import as_floats, check_number
from .._privacy.mechanisms import Mechanisms
from .._privacy.noise import noise_source
from .._privacy.rounding import round_down
from .._privacy.warn import warn
from ..exceptions import LowUtilityWarning
from ..ledger._budget import budget_on
from ..ledger._ledger import PrivacyLedger
from ..report._report import report_of_validation_set
from ..scoring._precision import Width, warn_of_expected_width, wide_hint
from ..scoring._response import Responses
from ._base import Evaluation
from ._design import METHODS, check_task, design_of

__all__ = ["private_evaluation"]

# Public records that say where bins lie, and the share of them that may have clipped errors.
_MOST_RECORDS, _OFTEN = 2**12, 0.01
_NOT_PROTECTED = (
    "the public records X and y, and whatever the model was fitted on; the schema of the "
    "validation set (number of units, columns, dtypes); the duration of the evaluation; and "
    "whatever else is computed from the validation records, including another evaluation"
)


def private_evaluation(
    estimator: Any,
    X_val: Any,
    y_val: Any,
    *,
    X: Any,
    y: Any,
    epsilon: float,
    groups_val: Any = None,
    ledger: PrivacyLedger | None = None,
    pos_label: Any = None,
    thresholds: Any = (),
    largest_error: float | None = None,
    prediction: str = "auto",
) -> Any:
    """Evaluate a fitted model on protected records: numbers and figures, all from one release.

    The release is pure epsilon-DP with respect to one record (or group of records) of the
    validation set:

    * Classifier, two classes: the numbers of records of each class with a score in each of about
      ``sqrt(m epsilon) / 1.5`` (10 to 50) public bins. A record is in one bin, so replacing it
      changes two counts by 1: an L1 sensitivity of 2.
    * Classifier, K > 2 classes: half of epsilon for the confusion matrix (a record is in one cell:
      2), half for K histograms of one class against the rest (in one bin of each: 2 K).
    * Regressor: the sums of e^2, t^2, abs(e) / 2, t / 4, e / 4 and 31/64 [abs(e) = 1], for errors
      e and labels t clipped to [-1, 1], in steps of 2^-20. Together they change by at most 3.5, and
      12 steps for rounding: by 1 + 1/2 + 1/4 + 31/64 if e changes from 0 to 1, and by 1 + 17/64 if
      t changes from -1/8 to 1.

    With groups, the records of a group share the weight of one record.

    Scores are scikit-learn's if every label is one that the model knows. A record with another
    label counts as an error: in the matrix of K > 2 classes as of the class after the predicted
    one, in a histogram as of the negative class with the highest score. For two classes this lowers
    accuracy as in scikit-learn, and all other scores in another way.

    Parameters
    ----------
    estimator : estimator object
        A fitted classifier or regressor. It must predict each row independently, which is checked
        on X, and it must be picklable.
    X_val : array-like of shape (n_val, n_features)
        The validation set, protected.
    y_val : array-like of shape (n_val,)
        Labels of X_val, also protected.
    X : array-like of shape (n_samples, n_features)
        Public records: if possible, records that the estimator was not fitted on, otherwise its
        training set. The predictions of at most 4,096 of them place the bins. Some of them are
        predicted together with the protected records.
    y : array-like of shape (n_samples,)
        Labels of X.
    epsilon : float
        Privacy loss of the whole evaluation.
    groups_val : array-like of shape (n_val,), default=None
        Group of each validation record. All records of a group (such as a patient) are then one
        privacy unit.
    ledger : PrivacyLedger or None, default=None
        The ledger to which epsilon is charged, before noise is generated.
    pos_label : object, default=None
        The positive class of two; None is the second in sorted order.
    thresholds : array-like of float, default=()
        Additional thresholds for the score of the positive class, chosen without looking at the
        validation data. Without them, the edges of the bins are the available thresholds.
    largest_error : float, default=None
        Larger errors of a regressor count as this, and the noise is proportional to it. Choose it
        without looking at the validation data. None is twice the 95 % quantile of the absolute
        errors on X, or the 99 % quantile if that is larger: too small if the model was fitted on X
        and overfits, as ``score("share_clipped")`` then shows.
    prediction : {"auto", "together", "separate"}, default="auto"
        How the validation set is predicted; as for `PrivateBayesSearchCV`.

    Returns
    -------
    evaluation : ClassifierEvaluation or RegressorEvaluation

    Raises
    ------
    ValueError
        If a parameter is invalid, or predictions are not made row by row. Nothing is released or
        spent then.

    See Also
    --------
    PrivateBayesSearchCV : Evaluates the chosen candidate with ``release="evaluation"``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn_dpbo import private_evaluation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_val, y, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
    >>> model = LogisticRegression(solver="liblinear").fit(X, y)
    >>> evaluation = private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=1.0)
    >>> evaluation.score("roc_auc")  # doctest: +SKIP
    0.975 (95 %: 0.9322 to 1)
    """
    check_number("epsilon", epsilon, "a finite number from 1e-9 up", lambda e: e >= 1e-9)
    check_number("largest_error", largest_error, "above 0", lambda c: c > 0, optional=True)
    check_prediction(prediction)
    chosen = as_floats(thresholds)
    if chosen is None or chosen.ndim != 1:
        raise ValueError(f"thresholds must be a list of finite numbers; found {thresholds!r}")
    check_is_fitted(estimator)
    check_task(estimator, y)
    if is_regressor(estimator) and (pos_label is not None or len(chosen)):
        raise ValueError("pos_label and thresholds are for classifiers of two classes")
    noise = noise_source()
    mechanism = f"private_evaluation, {type(estimator).__name__}"
    budget = budget_on(
        ledger,
        epsilon,
        what="evaluation of a model",
        mechanism=mechanism,
        unit=unit_name(groups_val),
        estimator=estimator,
    )
    if X_val is None:
        raise ValueError("X_val and y_val, the protected records, are required; found None")
    split: dict[str, Any] = {"cv": None, "rng": np.random.RandomState(0), "split_params": {}}
    protected = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
    problem = hold_out(estimator, X, y, {}, **split, **protected)
    warn_of_weak_guarantee(budget, problem.units.m, problem.units.name)
    with without_autologging():
        model, X, y = without_callbacks(estimator), problem.training.X, problem.training.y
        rows = spread_rows(X, y, _MOST_RECORDS)
        asked = [("predict",), *([] if is_regressor(model) else [METHODS])]
        public = Responses.of(model, take_rows(X, rows), take_rows(y, rows), asked)
        design = design_of(
            public,
            m=problem.units.m,
            epsilon=budget.epsilon,
            thresholds=tuple(chosen.tolist()),
            pos_label=pos_label,
            largest_error=largest_error,
        )
        _warn_if_clipped(design, public)
        if hint := design._labels_hint():
            warn(hint)
        warned = _warn_of_wide_intervals(design, public, problem.units, budget.epsilon)
        table, model = table_and_model(model, design._parts, problem, prediction)
        tables = [counted(table, model.asked(part), part) for part in design._parts]
    mechanisms = Mechanisms(budget, noise)
    noisy = tuple(
        mechanisms.release_counts(
            table,
            round_down(Fraction(budget.epsilon_left) / (len(tables) - i)),
            purpose="evaluation of the model",
            detail=part.what if len(tables) > 1 else "",
        )
        for i, (table, part) in enumerate(zip(tables, design._parts, strict=True))
    )
    report = report_of_validation_set(
        problem,
        mechanisms,
        model.parts.condition(prediction, problem.units.name),
        title="Differentially private evaluation of a model",
        not_protected=_NOT_PROTECTED,
        released="the evaluation: all numbers and figures follow from the same released counts",
    )
    evaluation = design._released(noisy, problem.units, report)
    hint = "" if warned else wide_hint([evaluation._width(name) for name in design._names])
    if hint := evaluation._clipped_hint() or hint:
        try:
            warn(hint, LowUtilityWarning)
        except LowUtilityWarning as error:
            error.add_note(f"This had been released and paid for:\n{evaluation!r}")
            raise
    return evaluation


def _warn_of_wide_intervals(
    design: Evaluation, public: Responses, units: Units, epsilon: float
) -> bool:
    """Warn, before anything is charged, if a number will have a wide interval."""

    def expect(epsilon: float) -> list[Callable[[], Width]]:
        expected = design._expected(public, units, epsilon)
        return [partial(expected._width, name) for name in design._names]

    return warn_of_expected_width(expect, units, epsilon)


def _warn_if_clipped(design: Evaluation, public: Responses) -> None:
    """Warn of a largest error that more than a few public errors exceed."""
    for part in design._parts:
        of = public(part.response_method)
        clipped = part.share_clipped(of.y, of.response, of.classes)
        if clipped > _OFTEN:
            warn(
                f"{clipped:.1%} of the errors on X exceed {part.c_e:.4g}, and count as that: "
                "released errors will be smaller than real ones. Choose a larger largest_error",
            )

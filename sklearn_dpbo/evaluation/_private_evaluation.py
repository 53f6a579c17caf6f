"""`private_evaluation`: one release about a fitted model (zone: released)."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from ..metrics._response import Responses
from ..metrics.evaluations._base import Evaluation
from ..metrics.evaluations._design import METHODS, check_task, evaluation_of
from ..privacy.checks import as_floats, check_number
from ..privacy.float_errors import ignore_float_errors
from ..privacy.ledger._ledger import PrivacyLedger
from ..privacy.suppress_output import without_autologging
from ..privacy.warn import warn
from ..records.subgroups import Subgroups
from ._release import open_session, released, will_be_wide

# Share of public records with clipped errors from which on there is a warning.
_OFTEN = 0.01


@ignore_float_errors()
def private_evaluation(
    estimator: Any,
    X_val: Any,
    y_val: Any,
    *,
    X: Any,
    y: Any,
    epsilon: float,
    groups_val: Any = None,
    subgroups_val: Any = None,
    subgroups: Any = None,
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
    * Regressor: two thirds of epsilon for the sums of e^2, e^2 (1 - e^2), t^2, t^2 (1 - t^2),
      abs(e) / 2, e / 4 and 27/128 t, for errors e and labels t clipped to [-1, 1], in steps of
      2^-20. Together they change by at most 3.0203: by 1 + 1/2 + 1/4 if e changes from 0 to 1, and
      by 1.2703 if t changes from -3/8 to 1. One third for a histogram of absolute errors (2).

    With groups, the records of a group share the weight of one record.

    Scores are scikit-learn's if the model knows every label. Records with other labels have cells
    of their own. If there are more than noise explains, the evaluation says how many, and metrics
    of the confusion matrix count them as errors; curves, areas and calibration leave them out.

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
    subgroups_val : table of n_val rows, default=None
        Protected columns that say which subgroup each validation record is in: a frame that has the
        columns of `subgroups`, or one column. Scores of a classifier are then also released by
        subgroup, see `ClassifierEvaluation.by_group`. The release is one table of subgroups and
        bins. A record is in one cell of it, whatever its subgroup, so the sensitivity stays the
        same. Counts of all records are sums over the G subgroups: their noise is sqrt(G) times as
        large.
    subgroups : dict of str to list, default=None
        The levels of each of these columns: texts, numbers, or bands (low, high) with low <= x <
        high, as in ``{"sex": ["f", "m"], "age": [(18, 65), (65, None)]}``; None is an open end.
        Levels are public: do not read them from protected records. All other values count as
        "other".
    ledger : PrivacyLedger or None, default=None
        The ledger to which epsilon is charged, before noise is generated.
    pos_label : object, default=None
        The positive class of two; None is the second in sorted order.
    thresholds : array-like of float, default=()
        Additional thresholds for the score of the positive class of two; of a regressor, for
        absolute errors, from 0 up. Choose them without looking at the validation data. Without
        them, the edges of the bins are the available thresholds.
    largest_error : float, default=None
        Larger errors of a regressor count as this, and the noise is proportional to it. Choose it
        without looking at the validation data. None is twice the 95 % quantile of the absolute
        errors on X, or the 99 % quantile if that is larger. This is too small if the model was
        fitted on X and overfits; ``score("share_clipped")`` shows it.
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
    check_number("largest_error", largest_error, "above 0", lambda c: c > 0, optional=True)
    edges = as_floats(thresholds)
    if edges is None or edges.ndim != 1:
        raise ValueError(f"thresholds must be a list of finite numbers; found {thresholds!r}")
    check_is_fitted(estimator)
    levels = Subgroups.of(subgroups, subgroups_val)
    check_task(estimator, y, levels)
    if is_regressor(estimator) and (pos_label is not None or (edges < 0).any()):
        raise ValueError(
            "a regressor takes no pos_label, and its thresholds, for absolute errors, must be from "
            f"0 up; found pos_label={pos_label!r}, thresholds={edges.tolist()}"
        )
    what = "evaluation of a model"
    session = open_session(
        estimator, X, y, epsilon=epsilon, ledger=ledger, prediction=prediction, what=what,
        mechanism=f"private_evaluation, {type(estimator).__name__}",
        models={"estimator": estimator},
        X_val=X_val, y_val=y_val, groups_val=groups_val, subgroups_val=subgroups_val,
        subgroups=levels,
    )  # fmt: skip
    with without_autologging():
        methods = [("predict",)] if is_regressor(estimator) else [("predict",), METHODS]
        public = session.answers_of(estimator, methods)
        design = evaluation_of(
            public,
            m=session.units.m,
            epsilon=session.epsilon,
            thresholds=tuple(edges.tolist()),
            pos_label=pos_label,
            largest_error=largest_error,
            subgroups=levels,
        )
        _warn_if_clipped(design, public)
        if hint := design._labels_hint():
            warn(hint)
        wide = will_be_wide(design, public, session.units, session.epsilon)
        model = session.ask(estimator, *design._parts, prediction=prediction)
        tables = [session.count(model.asked(part), part) for part in design._parts]
    condition = model.parts.condition(prediction, session.units.name)
    return released(design, tables, session, what, condition=condition, warned=wide)


def _warn_if_clipped(design: Evaluation, public: Responses) -> None:
    """Warn if more than a share _OFTEN of public errors exceed the largest error."""
    for part in design._parts:
        predictions = public(part.response_method)
        clipped = part.share_clipped(predictions.y, predictions.response, predictions.classes)
        if clipped > _OFTEN:
            warn(
                f"{clipped:.1%} of the errors on X exceed {part.c_e:.4g}, and count as that: "
                "released errors will be smaller than real ones. Choose a larger largest_error",
            )

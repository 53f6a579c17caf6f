"""`private_comparison`: one release about two models (zone: released)."""

from __future__ import annotations

from typing import Any

from ..metrics.evaluations._comparison import ModelComparison
from ..metrics.evaluations._designed_comparison import comparison_of
from ..prediction.listed.parts import Parts
from ..privacy.float_errors import ignore_float_errors
from ..privacy.ledger._ledger import PrivacyLedger
from ..privacy.suppress_output import without_autologging
from ._release import open_session, released, will_be_wide


@ignore_float_errors()
def private_comparison(
    model_a: Any,
    model_b: Any,
    X_val: Any,
    y_val: Any,
    *,
    X: Any,
    y: Any,
    epsilon: float,
    groups_val: Any = None,
    ledger: PrivacyLedger | None = None,
    scoring: Any = None,
    pos_label: Any = None,
    thresholds: Any = (),
    prediction: str = "auto",
) -> ModelComparison:
    """Compare two fitted classifiers on protected records, by one release.

    The release is one table: for each class, the numbers of records that both models predict
    correctly, only the first, only the second, or neither. For two classes that is the joint table
    of label, first and second prediction. A record lies in one cell, so replacing it changes two
    counts by 1: an L1 sensitivity of 2, and pure epsilon-DP with respect to one record (or group of
    records) of the validation set. With groups, the records of a group share the weight of one
    record.

    Two good models predict most records alike. A difference computed from their joint table is
    therefore more precise than one from two separate evaluations, which would also have to share
    epsilon.

    Parameters
    ----------
    model_a, model_b : estimator object
        Fitted classifiers of the same classes; both may be the same one, with two `thresholds`.
        Each must predict each row independently, which is checked on X, and be picklable.
    X_val : array-like of shape (n_val, n_features)
        The validation set, protected. Neither model may be fitted on it.
    y_val : array-like of shape (n_val,)
        Labels of X_val, also protected. Records with an unknown or a missing label form one more
        class, which both models predict wrongly.
    X : array-like of shape (n_samples, n_features)
        Public records, such as a training set. Some of them are predicted together with the
        protected records.
    y : array-like of shape (n_samples,)
        Labels of X.
    epsilon : float
        Privacy loss of the whole comparison.
    groups_val : array-like of shape (n_val,), default=None
        Group of each validation record. All records of a group (such as a patient) are then one
        privacy unit.
    ledger : PrivacyLedger or None, default=None
        The ledger to which epsilon is charged, before noise is generated.
    scoring : str, PrivateScorer or scikit-learn scorer, default=None
        The main score; `ModelComparison.score` lists the names. None shows several. With "accuracy"
        (or a micro average) only this score is released, from four counts for all classes together;
        the noise of the difference is then smaller by a factor of the square root of the number of
        classes. All other scores are computed from the counts of each class.
    pos_label : object, default=None
        The positive class of two; None is the second in sorted order.
    thresholds : array-like of shape (2,), default=()
        For two classes: scores of the positive class (by `predict_proba`, or else
        `decision_function`) from which on `model_a` and `model_b` predict it. Choose them without
        looking at the validation data. If empty, the models predict by `predict`.
    prediction : {"auto", "together", "separate"}, default="auto"
        How the validation set is predicted; as for `PrivateBayesSearchCV`.

    Returns
    -------
    comparison : ModelComparison

    Raises
    ------
    ValueError
        If a parameter is invalid, or predictions are not made row by row. Nothing is released or
        spent then.

    See Also
    --------
    private_evaluation : Evaluates one model, with curves and calibration.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn_dpbo import private_comparison
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_val, y, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
    >>> old = DecisionTreeClassifier(max_depth=1).fit(X, y)
    >>> new = LogisticRegression(solver="liblinear").fit(X, y)
    >>> comparison = private_comparison(old, new, X_val, y_val, X=X, y=y, epsilon=1.0)
    >>> comparison.score("accuracy")  # doctest: +SKIP
    0.0452 (95 %: 0.006 to 0.0836)
    """
    design = comparison_of(model_a, model_b, y, scoring, pos_label, thresholds)
    what = "comparison of two models"
    session = open_session(
        model_b, X, y, epsilon=epsilon, ledger=ledger, prediction=prediction, what=what,
        mechanism=f"private_comparison, {design.model_a} and {design.model_b}",
        models={"model_a": model_a, "model_b": model_b}, X_val=X_val, y_val=y_val,
        groups_val=groups_val,
    )  # fmt: skip
    (query,) = design._parts
    with without_autologging():
        pairs = list(zip((model_a, model_b), query.parts, strict=True))
        answers = [session.answers_of(model, [part.response_method]) for model, part in pairs]
        wide = will_be_wide(design, query.public(answers), session.units, session.epsilon)
        models = [session.ask(model, part, prediction=prediction) for model, part in pairs]
        table = session.count_jointly(models, query)
    parts = Parts.of_all(model.parts for model in models)
    condition = parts.condition(prediction, session.units.name)
    comparison: ModelComparison = released(
        design, [table], session, what, condition=condition, warned=wide
    )
    return comparison

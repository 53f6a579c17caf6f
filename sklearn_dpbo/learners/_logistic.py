"""Logistic regression by gradient descent with noise (zone: boundary)."""

from __future__ import annotations

from typing import Any

from ._descent import DescentClassifier


class PrivateLogisticRegression(DescentClassifier):
    """Logistic regression that is (epsilon, delta)-private for each training record.

    It is fitted by full-batch gradient descent from 0, with momentum (Bassily, Smith and Thakurta,
    FOCS 2014; Polyak, 1964). The gradient of each record's loss is clipped to a norm, rounded to
    integers and summed; discrete Gaussian noise is added to the sum. All steps together are
    mu-GDP for the largest mu that implies (epsilon, delta).

    Clipping decreases with the noise. Let r be the fourth root of the number of records times mu,
    divided by 20,000, but at least 1. Columns and gradients are clipped at r times the usual
    bounds, the share of shortened rows is divided by r, and there are r times as many steps.

    Parameters
    ----------
    C : float, default=1.0
        Inverse regularisation strength, as in scikit-learn's `LogisticRegression`, for rows that
        are scaled to a norm of at most 1. Such rows are shorter than standardised rows, so the same
        C is a stronger penalty. With many records, a C of at least the number of columns is similar
        to scikit-learn's default after a `StandardScaler`. C is multiplied by the square of
        `reach_`, because a larger reach makes usual rows shorter.
    epsilon, delta : float, default=1.0 and 1e-6
        The fitted model is (epsilon, delta)-private; delta in (0, 1).
    clip : float, default=None
        Norm to which a record's gradient is clipped; the noise is proportional to it. None is
        0.56 times r. At 0.56 only wrongly predicted records are clipped; much smaller values favour
        frequent labels.
    max_iter : int, default=None
        Number of steps; the noise of each step grows with the square root of this number. None is
        60 times r.
    learning_rate : float, default=None
        Step size. With larger or more steps the model moves further from 0 and has more noise.
        None takes steps as large as the noise allows, from public numbers: about 4 for 5,000
        records at epsilon = 1, in proportion to both, and at most 12. With more than two classes
        the limit is 6 divided by the share of the largest class, if this share is below one half.
    bounds : tuple of two floats or arrays, default=None
        Lowest and highest value of each column of numbers, chosen without looking at the data.
        Values are clipped at them. Noisy counts find where most values lie within the bounds, or,
        without bounds, also how large values are. They use at most a quarter of the budget (in mu
        squared).
    categories : dict, default=None
        All values that a column can have, by its name (of an array, its position), as in
        ``{"ward": ["north", "south"]}``. Text must be declared, and whole numbers, such as codes,
        may be. The declared values become public: take them from a code book, not from the records.
        Columns of a pandas dtype with categories need no declaration. Each value becomes an
        indicator, as do missing values; other values are 0 in all indicators. ``{"ward":
        "frequent"}`` releases the texts or numbers that many records have (of a group, the first
        record counts), for a tenth of the budget (in mu squared) and an eighth of delta;
        `privacy_` says how many records make a value frequent. A search then composes fits by their
        epsilon and delta only.
    max_norm : float, default=None
        Scaled rows with a larger norm are shortened to it. None takes the norm that, according to
        noisy counts, one row in five exceeds (or one in 5 r). With both `bounds` and `max_norm`
        nothing is counted: columns are scaled from the bounds to [-1, 1] (columns between 0 and 1
        are not scaled), and the descent has the whole budget.
    classes : array-like, default=None
        All labels, which are public. None uses the labels in y, which then become public.
    ledger : PrivacyLedger or None, default=None
        The ledger to which (epsilon, delta) is charged, before noise is generated.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients of the columns, in their units, and then of the indicators of categories, in
        the order of `get_feature_names_out`, as all arrays below (private). They are exact for rows
        that are neither clipped nor shortened.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept (private).
    center_, scale_ : ndarray of shape (n_features,)
        Columns are scaled to ``(x - center_) / scale_``, and clipped to [-`reach_`, `reach_`]
        (private). Without bounds, `scale_` is about 2.5 standard deviations.
    reach_ : float
        r, or 1 with `bounds` and `max_norm` (public).
    clip_ : float
        The norm to which gradients are clipped (public).
    categories_ : dict
        Values of each column of categories, by its position (public; private if "frequent").
    max_norm_ : float
        Rows of scaled columns with a larger norm are shortened to it (private).
    unresolved_ : ndarray of int
        Positions of columns whose range the noisy counts did not find (private): pass `bounds`.
    n_iter_ : int
    privacy_ : PrivacyReport
        The privacy report; print it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        clip: float | None = None,
        max_iter: int | None = None,
        learning_rate: float | None = None,
        bounds: Any = None,
        categories: Any = None,
        max_norm: float | None = None,
        classes: Any = None,
        ledger: Any = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.delta = delta
        self.clip = clip
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.bounds = bounds
        self.categories = categories
        self.max_norm = max_norm
        self.classes = classes
        self.ledger = ledger

    @staticmethod
    def search_space() -> dict[str, list[Any]]:
        """Return parameters and values to search over, as `param_distributions`.

        A fit without a search uses all of epsilon: a search often costs more than it gains.
        """
        return {"max_iter": [30, None, 120], "clip": [0.4, None, 0.8]}

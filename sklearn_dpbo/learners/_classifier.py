"""A classifier of straight and curved functions of the columns (zone: boundary)."""

from __future__ import annotations

from typing import Any

from ._curved import Curved
from ._descent import DescentClassifier


class PrivateClassifier(Curved, DescentClassifier):
    """Classifier that is (epsilon, delta)-private for each training record, good without tuning.

    The model is linear in four kinds of functions, and is fitted by noisy gradient descent as
    `PrivateLogisticRegression` is: the columns themselves; smooth functions of each column; random
    trees, whose splits are drawn without the records and so cost no privacy; and random waves
    (Rahimi and Recht, NeurIPS 2007). The noise does not grow with the number of functions, because
    the functions of a record together have a bounded norm. With few records the model is nearly
    linear.

    Parameters
    ----------
    epsilon, delta : float, default=1.0 and 1e-6
        The fitted model is (epsilon, delta)-private; delta in (0, 1).
    classes : array-like, default=None
        All labels, which are public. None uses the labels in y, which then become public.
    bounds : tuple of two floats or arrays, default=None
        Lowest and highest value of each column of numbers, chosen without looking at the data; as
        in `PrivateLogisticRegression`.
    categories : dict, default=None
        All values that a column can have, as in `PrivateLogisticRegression`.
    curved : float, default=None
        Share of the curved functions in the squared norm of a record, from 0, a linear model, to 1.
        None is a public rule: the number of records per class times mu, divided by 1,100, and by
        the square of d / 50 if there are d > 50 columns and indicators; at most 0.66. A share below
        0.05 counts as 0.
    n_trees : int, default=None
        Number of random trees, of depths 3 to 6. None is 40; with a long descent (see `max_iter`)
        up to 120, and fewer for more than two classes, which take longer. Depths are 5 to 8 if the
        number of records per class times mu is 150,000 or more.
    C, clip, max_iter : float, float and int, default=1.0, None and None
        As in `PrivateLogisticRegression`. If one class is rare, a `clip` of 0.8 to 1.1 gives better
        probabilities. If the number of records times mu is 5,000 or more, the descent is long: 150
        steps instead of 60, with a momentum of 0.97 instead of 0.9. `C` is then multiplied by the
        number of records per class times mu, divided by 500, if that is above 1.
    max_norm : float, default=None
        As in `PrivateLogisticRegression`.
    random_state : int, RandomState instance or None, default=None
        Seed of the trees and waves. It is not secret, and does not affect the noise.
    ledger : PrivacyLedger or None, default=None
        The ledger to which (epsilon, delta) is charged, before noise is generated.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    curved_ : float
        The share of curved functions (public).
    bins_, tree_columns_, tree_thresholds_, frequencies_ : ndarray
        Parameters of the curved functions: features of 32 bins, column and threshold of each tree
        at each level, and frequencies of waves (public: drawn without the records).
    coef_ : ndarray of shape (1 or n_classes, n_functions)
        Coefficients of all functions (private).
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept (private).
    coef_noise_std_ : float
        Bound on the standard deviation of the noise in a coefficient; proven for a quadratic loss
        (private: it follows from the first step).
    categories_ : dict
        Values of each column of categories, by its position (public; private if "frequent").
    center_, scale_, max_norm_, unresolved_ : ndarray of shape (n_features,), float and ndarray
        How rows are scaled, as in `PrivateLogisticRegression` (private).
    reach_, clip_ : float
        How far columns and gradients reach, as in `PrivateLogisticRegression` (public). Curved
        functions are constant beyond 1.
    n_iter_ : int
    privacy_ : PrivacyReport
        The privacy report; print it.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (`n_features_in_`,)

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn_dpbo.learners import PrivateClassifier
    >>> X, y = make_moons(3000, noise=0.1, random_state=0)
    >>> model = PrivateClassifier(epsilon=1.0, delta=1e-6, classes=[0, 1])
    >>> model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:])  # doctest: +SKIP
    0.925
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        classes: Any = None,
        bounds: Any = None,
        categories: Any = None,
        curved: float | None = None,
        n_trees: int | None = None,
        C: float = 1.0,
        clip: float | None = None,
        max_iter: int | None = None,
        max_norm: float | None = None,
        random_state: Any = None,
        ledger: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.bounds = bounds
        self.categories = categories
        self.curved = curved
        self.n_trees = n_trees
        self.C = C
        self.clip = clip
        self.max_iter = max_iter
        self.max_norm = max_norm
        self.random_state = random_state
        self.ledger = ledger

    @staticmethod
    def search_space() -> dict[str, list[Any]]:
        """Return parameters and values to search over, as `param_distributions`.

        A fit without a search uses all of epsilon: a search often costs more than it gains.
        """
        return {"curved": [0.0, 0.33, 0.66], "max_iter": [None, 120]}

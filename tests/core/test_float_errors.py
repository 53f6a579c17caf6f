"""No number of a protected record raises or warns, whatever errors a user has numpy raise.

Each entry point that computes with protected numbers gets tables with one odd number. The user has
floating-point errors of numpy and scipy raised, and warnings turned into errors.
"""

import contextlib
import warnings
from pathlib import Path

import numpy as np
import pytest
from few import few
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

import sklearn_dpbo
from sklearn_dpbo import (
    PrivateBayesSearchCV,
    PrivateTableSearchCV,
    PrivateThresholdClassifier,
    private_comparison,
    private_evaluation,
)
from sklearn_dpbo.exceptions import LowUtilityWarning, PrivacyWarning
from sklearn_dpbo.learners import (
    PrivateClassifier,
    PrivateLogisticRegression,
    PrivateRegressor,
    PrivateRidge,
)
from sklearn_dpbo.privacy.float_errors import ignore_float_errors
from sklearn_dpbo.testing import seeded_noise

# Squares of the first underflow, those of the second, too, which is not normal itself; and so on.
ODD = [1e-170, 5e-324, -0.0, 1e160, -1.7e308, np.inf, -np.inf, np.nan]
# By default several in one table, of which none hides in a sum what another does.
EACH = {"small": (1e-170, 5e-324, -0.0, 1e160), "large": (-1.7e308, np.inf, np.nan)}
TYPES = [np.float32, np.float16, np.longdouble]
N = 60
# Files that still have contexts of their own.
MILD = {"bounds": (-3, 3), "max_norm": 1.0}


@contextlib.contextmanager
def strict():
    """Raise all floating-point errors, and all warnings but those that are public or released."""
    with (
        np.errstate(all="raise"),
        special.errstate(all="raise"),
        warnings.catch_warnings(),
        seeded_noise(0),
    ):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LowUtilityWarning)
        warnings.simplefilter("ignore", PrivacyWarning)
        warnings.filterwarnings("ignore", "Not known to treat each record|The bounds of")
        yield


class FirstColumn(RegressorMixin, BaseEstimator):
    """Predicts a multiple of the first column; it computes with records as users' models do."""

    def __init__(self, times=1.0):
        self.times = times

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0] * self.times


class Sigmoid(ClassifierMixin, BaseEstimator):
    """Probabilities by the first column."""

    def __init__(self, times=1.0):
        self.times = times

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0] * self.times

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-self.decision_function(X)))
        return np.column_stack([1 - p, p])


def table(odd, dtype=np.float64, in_y=False):
    """A table, of which one cell or label is odd, or several are; labels whose mean is 0."""
    y = np.tile([-1.0, 1.0], N // 2)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (N, 2)) + y[:, None]
    X = X.astype(dtype)
    with np.errstate(all="ignore"):
        (y if in_y else X[:, 0])[7 : 7 + np.size(odd)] = odd
    return X, y


def learner(make, **params):
    def run(X, y):
        model = make(epsilon=1.0, delta=1e-6, **params)
        y = y if "y_bounds" in params else y > 0
        model.fit(X, y, np.arange(len(X)) // 2)
        model.predict(X)
        getattr(model, "predict_proba", model.predict)(X)
        return model

    return run


def public(labels=False):
    X, y = table(0.5)
    return X[:40], (y[:40] > 0 if labels else y[:40])


def searched(estimator, **params):
    def run(X, y):
        labels = isinstance(estimator, Sigmoid)
        search = PrivateBayesSearchCV(estimator, {"times": [0.0, 1.0]}, epsilon=5.0, **params)
        search.fit(*public(labels), X_val=X, y_val=y > 0 if labels else y)

    return run


def evaluated(estimator):
    def run(X, y):
        X_train, y_train = public(isinstance(estimator, Sigmoid))
        y = y > 0 if isinstance(estimator, Sigmoid) else y
        fitted = estimator.fit(X_train, y_train)
        repr(private_evaluation(fitted, X, y, X=X_train, y=y_train, epsilon=2.0))

    return run


def compared(X, y):
    X_train, y_train = public(labels=True)
    models = [Sigmoid(times).fit(X_train, y_train) for times in (-1.0, 1.0)]
    repr(private_comparison(*models, X, y > 0, X=X_train, y=y_train, epsilon=2.0))


def tuned(X, y):
    search = PrivateThresholdClassifier(Sigmoid(), scoring="f1", thresholds=9, epsilon=2.0)
    search.fit(*public(labels=True), X_val=X, y_val=y > 0)


def one_table(make, scoring, **params):
    def run(X, y):
        y = y if "y_bounds" in params else y > 0
        model, kinds = make(**params, **MILD), {"scoring": scoring, "random_state": 0}
        PrivateTableSearchCV(model, {"max_norm": [0.5, 1.0]}, epsilon=5.0, **kinds).fit(X, y)

    return run


FITS = {
    "logistic": learner(PrivateLogisticRegression, classes=[False, True], max_iter=3, **MILD),
    "classifier": learner(PrivateClassifier, classes=[False, True], max_iter=3, **MILD),
    "regressor": learner(PrivateRegressor, y_bounds=(-2, 2), max_iter=3, **MILD),
    "ridge": learner(PrivateRidge, y_bounds=(-2, 2), **MILD),
    "logistic, counted": learner(PrivateLogisticRegression, classes=[False, True], max_iter=3),
    "classifier, counted": learner(PrivateClassifier, classes=[False, True], max_iter=3),
    "regressor, counted": learner(PrivateRegressor, y_bounds=(-2, 2), max_iter=3),
    "ridge, counted": learner(PrivateRidge, y_bounds=(-2, 2)),
}
OTHERS = {
    **{
        f"search by {name}": searched(FirstColumn(), scoring=name)
        for name in ("r2", "explained_variance", "neg_mean_squared_error")
    },
    "search by log loss": searched(Sigmoid(), scoring="neg_log_loss"),
    "search by AUC": searched(Sigmoid(), scoring="roc_auc"),
    "search of all": searched(FirstColumn(), scoring="r2", release="all"),
    "search and evaluation": searched(FirstColumn(), scoring="r2", release="evaluation"),
    "search of classes and evaluation": searched(Sigmoid(), release="evaluation"),
    "evaluation of a regressor": evaluated(FirstColumn()),
    "evaluation of a classifier": evaluated(Sigmoid()),
    "comparison": compared,
    "threshold": tuned,
    "one table, ridge": one_table(PrivateRidge, "r2", y_bounds=(-2, 2)),
    "one table, logistic": one_table(PrivateLogisticRegression, "roc_auc", classes=[False, True]),
}


# By default one of each kind, of sums, ranks and classes.
QUICK = {
    *FITS, "search by r2", "search by log loss", "comparison", "threshold",
    "evaluation of a regressor", "one table, ridge",
}  # fmt: skip
CASES = [
    pytest.param(name, odd, id=f"{name}-{kind}", marks=() if name in QUICK else pytest.mark.slow)
    for name in [*FITS, *OTHERS]
    for kind, odd in EACH.items()
]
CASES += [
    pytest.param(name, odd, marks=pytest.mark.soak) for name in [*FITS, *OTHERS] for odd in ODD
]


@pytest.mark.first(12)
@pytest.mark.parametrize("in_y", [False, True], ids=["in X", "in y"])
@pytest.mark.parametrize(("name", "odd"), CASES)
def test_an_odd_number_raises_nothing(name, odd, in_y):
    X, y = table(odd, in_y=in_y)
    with strict():
        (FITS | OTHERS)[name](X, y)


@pytest.mark.first(8)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("name", FITS)
def test_an_odd_number_of_another_type_raises_nothing(name, dtype):
    X, y = table((1e-170, -1.7e308, np.nan), dtype)
    with strict():
        FITS[name](X, y)


@pytest.mark.parametrize("dtype", ["1e4000", "1e-4000"])
def test_numbers_that_only_longer_floats_hold_raise_nothing(dtype):
    X, y = table(np.longdouble(dtype), np.longdouble)
    for run in FITS.values():
        with strict():
            run(X, y)


@pytest.mark.parametrize("odd", [1e-170, 2e308, -1.7e308])
def test_labels_that_are_read_as_classes_raise_what_they_always_raise(odd):
    X, y = table(odd, in_y=True)
    search = PrivateTableSearchCV(PrivateLogisticRegression(max_iter=1, **MILD), None)
    said = []
    for context in (contextlib.nullcontext, strict):
        with context(), pytest.raises(ValueError, match="continuous|infinity") as caught:
            search.fit(X, y)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("epsilon", few([1e-3, 1e4]))
@pytest.mark.parametrize("classifies", [False, True])
def test_what_follows_from_released_numbers_raises_nothing(classifies, epsilon):
    X, y = table(1e-170)
    estimator, (X_train, y_train) = Sigmoid() if classifies else FirstColumn(), public(classifies)
    with strict():
        data = {"X": X_train, "y": y_train, "epsilon": epsilon}
        fitted = estimator.fit(X_train, y_train)
        evaluation = private_evaluation(fitted, X, y > 0 if classifies else y, **data)
        assert repr(evaluation) and evaluation.to_json() and len(evaluation.table())


# --------------------------------------------------------------------- whose errors are ignored
class Notes(FirstColumn):
    """Notes which errors are raised while it is fitted."""

    def fit(self, X, y):
        self.seen_ = np.geterr(), special.geterr()
        return super().fit(X, y)


def test_public_fits_of_users_have_their_settings_which_last():
    X, y = table(1e-170, in_y=True)
    with strict():
        own = np.geterr(), special.geterr()
        search = PrivateBayesSearchCV(Notes(), {"times": [0.5, 1.0]}, scoring="r2", epsilon=5.0)
        search.fit(*public(), X_val=X, y_val=y)
        assert search.best_estimator_.seen_ == own
        assert (np.geterr(), special.geterr()) == own
        with pytest.raises(ValueError, match="y_bounds"):
            PrivateRidge().fit(X, y)
        assert (np.geterr(), special.geterr()) == own


def test_the_context_ignores_all_errors_as_a_statement_and_as_a_decorator():
    @ignore_float_errors()
    def odd():
        return np.float64(1e-300) * 1e-300, 1 / np.zeros(1), special.loggamma(np.zeros(1))

    with strict():
        odd()
        with ignore_float_errors():
            odd()
        with pytest.raises(FloatingPointError):
            np.float64(1e-300) * 1e-300


def test_there_is_one_context():
    """Others, each around a few lines, leave out the lines beside them."""
    package = Path(sklearn_dpbo.__file__).parent
    with_own = [path for path in package.rglob("*.py") if "errstate" in path.read_text()]
    assert {path.name for path in with_own} == {"float_errors.py"}


def test_warnings_name_the_line_that_calls_a_learner(seeded):
    X, y = table(0.5)
    with pytest.warns(LowUtilityWarning) as caught:
        PrivateRidge(y_bounds=(-2, 2), epsilon=1e-3).fit(X, y)
    assert {each.filename for each in caught if each.category is LowUtilityWarning} == {__file__}

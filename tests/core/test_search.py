"""`PrivateBayesSearchCV` as users of `GridSearchCV` expect it."""

import pickle
import warnings
from contextvars import Context
from importlib.util import find_spec

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import loguniform
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.datasets import make_multilabel_classification
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    PredefinedSplit,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateTableSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
)
from sklearn_dpbo.exceptions import InvalidParameterError, PrivacyWarning
from sklearn_dpbo.learners import PrivateLogisticRegression
from sklearn_dpbo.strategies import WorstCase
from sklearn_dpbo.testing import seeded_noise

pytestmark = [
    pytest.mark.usefixtures("seeded"),
    pytest.mark.filterwarnings("ignore:No X_val and no cv"),
]


def search_over(estimator=None, grid=None, **params):
    estimator = LogisticRegression() if estimator is None else estimator
    grid = {"C": [0.01, 0.1, 1.0]} if grid is None else grid
    # At this epsilon the noise is below one record, so the result is the non-private one.
    params = {"epsilon": 1000.0, "random_state": 0} | params
    return PrivateBayesSearchCV(estimator, grid, **params)


def fitted(data, *args, groups_val=None, **params):
    X, y, X_val, y_val = data
    search = search_over(*args, **params)
    return search.fit(X, y, X_val=X_val, y_val=y_val, groups_val=groups_val)


# ---------------------------------------------------------------- the scikit-learn contract


def test_clone_copies_nested_parameters_and_no_results(two_classes):
    search = search_over(SVC(), {"C": [1]}, strategy=WorstCase(score_share=0.4))
    search.set_params(estimator__gamma=0.5, epsilon=2.0, strategy__score_share=0.6)
    copy = clone(search)
    assert copy.get_params()["estimator__gamma"] == 0.5
    assert copy.epsilon == 2.0 and copy.strategy.score_share == 0.6
    assert copy.estimator is not search.estimator
    assert not hasattr(clone(fitted(two_classes)), "best_params_")


def test_result_equals_grid_search_when_epsilon_is_large(two_classes):
    X, y, X_val, y_val = two_classes
    grid = {"C": [1e-4, 1e-2, 1.0], "fit_intercept": [True, False]}
    ours = fitted(two_classes, grid=grid)
    split = PredefinedSplit(np.repeat([-1, 0], 150))
    both = np.concatenate([X, X_val]), np.concatenate([y, y_val])
    theirs = GridSearchCV(LogisticRegression(), grid, cv=split, refit=False).fit(*both)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    scores = theirs.cv_results_["mean_test_score"]
    assert scores[ours.best_index_] == scores.max()
    assert ours.best_score_ == pytest.approx(scores.max())
    assert ours.best_params_ == ours.cv_results_["params"][ours.best_index_]


def test_fits_with_default_hold_out_use_the_remaining_rows_only(two_classes):
    seen = []

    class Recorder(LogisticRegression):
        def fit(self, X, y):
            seen.append(len(X))
            return super().fit(X, y)

    X, y, _, _ = two_classes
    search_over(Recorder()).fit(X, y)
    assert seen == [112] * 3, "the winner is not fitted again"


def test_methods_and_attributes_are_delegated_to_best_estimator(two_classes):
    X, y, X_val, y_val = two_classes
    search = fitted(two_classes, make_pipeline(StandardScaler(), SVC()),
                    {"svc__C": [1.0]})  # fmt: skip
    best = search.best_estimator_
    assert np.array_equal(search.predict(X_val), best.predict(X_val))
    assert np.array_equal(search.decision_function(X_val), best.decision_function(X_val))
    assert search.score(X_val, y_val) == best.score(X_val, y_val)
    assert np.array_equal(search.classes_, [0, 1]) and search.n_features_in_ == 5
    assert not hasattr(search, "predict_proba") and not hasattr(search, "transform")
    reducer = fitted(two_classes, make_pipeline(PCA(2)), {"pca__whiten": [True, False]},
                     scoring=make_private_scorer(lambda y, z: z[:, 0], bounds=(-3, 3),
                                                 response_method="transform"))  # fmt: skip
    assert reducer.transform(X).shape == (150, 2)
    assert reducer.inverse_transform(reducer.transform(X)).shape == X.shape


def test_unfitted_search_has_no_fitted_attributes():
    search = search_over()
    for attribute in ("classes_", "n_features_in_", "best_params_", "best_estimator_"):
        assert not hasattr(search, attribute)
    assert hasattr(search, "predict") and not hasattr(search, "transform")
    with pytest.raises(NotFittedError):
        search.predict([[1]])
    with pytest.raises(NotFittedError):
        search.score([[1]], [1])


def test_methods_without_refit_raise_attribute_error(two_classes):
    search = fitted(two_classes, refit=False)
    assert search.best_params_ in search.cv_results_["params"]
    for attribute in ("best_estimator_", "predict", "classes_", "n_features_in_"):
        assert not hasattr(search, attribute)
    with pytest.raises(AttributeError) as caught:
        search.predict([[1]])
    assert "refit=False: predict needs a model" in str(caught.value.__cause__)
    with pytest.raises(AttributeError, match="refit=False: score needs a model"):
        search.score([[1]], [1])


def test_tags_are_those_of_the_estimator(two_classes):
    assert is_classifier(search_over()) and is_regressor(search_over(Ridge()))
    assert search_over(SVC(kernel="precomputed")).__sklearn_tags__().input_tags.pairwise


def test_cv_results_contain_public_columns_only(two_classes):
    grid = [{"kernel": ["linear"]}, {"kernel": ["rbf"], "gamma": [0.1, 1.0]}]
    search = fitted(two_classes, SVC(), grid)
    assert set(search.cv_results_) == {
        "mean_fit_time", "std_fit_time", "params", "fit_error", "param_kernel", "param_gamma",
        "validated", "public_score",
    }  # fmt: skip
    assert search.cv_results_["validated"].all()
    for column in ("public_score", "mean_fit_time", "std_fit_time"):
        assert np.isnan(search.cv_results_[column]).all()
    table = pd.DataFrame(search.cv_results_)
    assert len(table) == 3
    assert search.cv_results_["param_gamma"].mask.tolist() == [True, False, False]
    assert search.cv_results_["param_gamma"].tolist() == [None, 0.1, 1.0]


@pytest.mark.parametrize("dump", [pickle.dumps, None])
def test_unpickled_search_has_same_result_and_predictions(two_classes, dump, tmp_path):
    search = fitted(two_classes)
    if dump:
        copy = pickle.loads(dump(search))
    else:
        joblib.dump(search, tmp_path / "search")
        copy = joblib.load(tmp_path / "search")
    assert copy.best_params_ == search.best_params_
    assert copy.privacy_.details() == search.privacy_.details()
    assert np.array_equal(copy.predict(two_classes[2]), search.predict(two_classes[2]))


# --------------------------------------------------------------------------- types of input
FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcde")),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcde")),
    "sparse": sp.csr_matrix,
    "sparse array": sp.csc_array,
    "list": lambda X: X.tolist(),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("own", [True, False])
def test_table_types_give_the_same_result(two_classes, kind, own):
    X, y, X_val, y_val = two_classes
    convert = FRAMES[kind]
    params = dict(epsilon=20.0)
    plain, other = search_over(**params), search_over(**params)
    if own:
        plain.fit(X, y, X_val=X_val, y_val=y_val)
        other.fit(convert(X), y, X_val=convert(X_val), y_val=y_val)
    else:
        plain.fit(X, y)
        other.fit(convert(X), y)
    assert other.best_score_ == plain.best_score_ and other.best_index_ == plain.best_index_
    assert np.array_equal(other.predict(convert(X_val)), plain.predict(X_val))
    names = list("abcde") if kind in ("pandas", "polars") else []
    assert list(getattr(other, "feature_names_in_", [])) == names


def test_multilabel_accuracy_counts_records_with_all_labels_right():
    X, Y = make_multilabel_classification(300, n_classes=3, random_state=0)
    data = X[:200], Y[:200], X[200:], Y[200:]
    search = fitted(data, KNeighborsClassifier(), {"n_neighbors": [1, 5]})
    expected = search.best_estimator_.score(X[200:], Y[200:])
    assert search.best_score_ == pytest.approx(expected)


def test_error_of_custom_gain_is_raised(two_classes):
    for wrong in (lambda y, p: 0.5, lambda y, p: y.nonsense):
        scoring = make_private_scorer(wrong, bounds=(0, 1))
        with pytest.raises((ValueError, AttributeError), match="array of one number|nonsense"):
            fitted(two_classes, scoring=scoring)


@pytest.mark.slow
def test_precomputed_kernel_gives_the_same_score(two_classes):
    X, y, X_val, y_val = two_classes
    plain = fitted(two_classes, SVC(kernel="linear"), {"C": [0.1, 1.0]})
    given = fitted((X @ X.T, y, X_val @ X.T, y_val), SVC(kernel="precomputed"), {"C": [0.1, 1.0]})
    assert given.best_score_ == plain.best_score_
    held_out = search_over(SVC(kernel="precomputed"), {"C": [0.1, 1.0]}).fit(X @ X.T, y)
    assert held_out.best_score_ == search_over(SVC(kernel="linear"), {"C": [0.1, 1.0]}).fit(
        X, y).best_score_  # fmt: skip


def test_empty_grid_evaluates_the_estimator_itself(two_classes):
    search = fitted(two_classes, grid={}, epsilon=1.0)
    assert search.best_params_ == {} and search.cv_results_["params"] == [{}]
    assert [loss.epsilon for loss in search.privacy_.spends] == [1.0]


# ----------------------------------------------------------------- privacy reports and noise


def test_seeded_noise_warns_and_privacy_report_says_not_private(two_classes):
    with pytest.warns(PrivacyWarning, match="NOT private") as caught, seeded_noise(0):
        search = fitted(two_classes, epsilon=1.0)
    assert caught[0].filename == __file__
    assert "NONE" in str(search.privacy_) and "NOT PRIVATE" in repr(search.privacy_)
    with seeded_noise(0):
        again, other = (fitted(two_classes, epsilon=1.0) for _ in range(2))
    assert again.best_score_ == search.best_score_ != other.best_score_


def test_random_state_does_not_seed_the_noise(two_classes):
    found = {Context().run(fitted, two_classes, epsilon=0.1).best_score_ for _ in range(8)}
    assert len(found) > 1


@pytest.mark.parametrize("kind", [int, np.int64, np.float32])
def test_epsilons_of_any_number_type_are_spent_exactly(two_classes, kind):
    report = fitted(two_classes, epsilon=kind(3), refit=False).privacy_
    assert sum(loss.epsilon for loss in report.spends) == pytest.approx(3)
    assert report.epsilon == 3


# -------------------------------------------------------------------------- invalid input
BAD = [
    (dict(epsilon=0), "epsilon must be a finite number from 1e-9 up; found 0"),
    (dict(epsilon=-1.0), "epsilon must be a finite number"),
    (dict(epsilon=float("nan")), "epsilon must be a finite number"),
    (dict(epsilon=float("inf")), "epsilon must be a finite number"),
    (dict(epsilon="1"), r"found '1' \(str\)"),
    (dict(epsilon=True), "epsilon must be a finite number"),
    (dict(epsilon=5e-324), "epsilon must be a finite number from 1e-9"),
    (dict(delta=1.0), r"delta must be in \[0, 1\)"),
    (dict(delta=-1e-9), r"delta must be in \[0, 1\)"),
    (dict(n_iter=0), "n_iter must be None or a whole number"),
    (dict(n_iter=2.5), "n_iter must be None or a whole number"),
    (dict(timeout=0), "timeout must be None or a positive number of seconds"),
    (dict(timeout="60"), "timeout must be"),
    (dict(grid=[]), "param_grid"),
    (dict(grid={"C": []}), "'C'.* is empty"),
    (dict(grid={"CC": [1]}), "cannot be set on.*Valid parameters are"),
    (dict(scoring="rand_score"), "cannot be made private"),
    (dict(scoring=max), "no proven sensitivity"),
    (dict(verbose="loud"), "verbose must be 0 or more"),
    (dict(refit="auc"), "refit='auc' names no score"),
    (dict(cv=5), "cv=5 cannot be used"),
    (dict(strategy="bayes"), "strategy must be 'worst_case' or a strategy object"),
    (dict(strategy=WorstCase), r"such as WorstCase\("),
    (dict(strategy=WorstCase(score_share=1)), r"score_share must be in \[0, 1\)"),
    (dict(error_score="ignore"), "error_score"),
    (dict(estimator=3), "estimator must be an object with a fit method"),
    (dict(estimator=Pipeline), r"Pass an object: estimator=Pipeline\(\)"),
]


@pytest.mark.parametrize(("params", "message"), BAD)
def test_invalid_parameters_raise_value_error_before_any_fit(two_classes, params, message):
    class Never(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError("fitted")

    X, y, _, _ = two_classes
    search = search_over(Never()).set_params(**{
        {"grid": "param_grid"}.get(k, k): v for k, v in params.items()
    })  # fmt: skip
    with pytest.raises(ValueError, match=message):
        search.fit(X, y)
    assert not [name for name in vars(search) if name.endswith("_")]


@pytest.mark.parametrize(
    "params",
    [
        dict(n_iter="8"), dict(refit=[]), dict(verbose="loud"), dict(param_grid=3),
        dict(param_grid=[3]), dict(param_grid={"C": 3}), dict(param_grid={"C": "abc"}),
        dict(strategy=3), dict(estimator=KMeans()), dict(estimator=IsolationForest()),
    ],
)  # fmt: skip
def test_what_has_a_wrong_type_is_a_type_error_too_as_in_scikit_learn(two_classes, params):
    X, y, X_val, y_val = two_classes
    for error in (TypeError, ValueError, InvalidParameterError):
        with pytest.raises(error):
            search_over().set_params(**params).fit(X, y, X_val=X_val, y_val=y_val)


def test_a_call_without_records_names_the_method_and_what_was_released(two_classes):
    search = fitted(two_classes)
    with pytest.raises(TypeError, match=r"PrivateBayesSearchCV.score\(\) .* best_score_"):
        search.score()
    with pytest.raises(TypeError, match=r"^predict_proba\(\) missing 1 required .*'X'"):
        search.predict_proba()
    assert search.n_splits_ == 1


@pytest.mark.parametrize(
    "estimator", [search_over(), PrivateThresholdClassifier(DummyClassifier())]
)
def test_positional_validation_set_raises_type_error(two_classes, estimator):
    X, y, X_val, y_val = two_classes
    with pytest.raises(TypeError, match="positional arguments"):
        estimator.fit(X, y, X_val, y_val)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("param_distributions", "param_grid"),
        ("search_spaces", "param_grid"),
        ("n_trials", "n_iter"),
    ],
)
@pytest.mark.parametrize("search", [PrivateBayesSearchCV, PrivateTableSearchCV])
def test_parameters_by_their_names_in_other_libraries_are_refused_with_the_own_name(
    search, name, own
):
    with pytest.raises(TypeError, match=f"{search.__name__} calls {name} {own}: write {own}="):
        search(SVC(), **{name: {"C": [1.0]}})
    with pytest.raises(TypeError, match="unexpected keyword argument 'bounds'"):
        search(SVC(), {}, bounds=1)


def refused_before_a_charge(two_classes, tmp_path, error, message, kind):
    """Search with tables and labels of this kind."""
    ledger = PrivacyLedger(tmp_path / "budget.db", "records", 5000.0, create=True)
    X, y, X_val, y_val = map(kind, two_classes)
    for search in (
        search_over(Ridge(), {"alpha": [0.1, 1.0]}, ledger=ledger),
        PrivateThresholdClassifier(LogisticRegression(), ledger=ledger),
    ):
        with pytest.raises(error, match=message):
            search.fit(X, y, X_val=X_val, y_val=y_val)
    assert not ledger.history


@pytest.mark.parametrize("missing", ["pandas", "pyarrow"])
def test_polars_without_what_reads_it_is_refused_before_a_charge(
    two_classes, tmp_path, missing, monkeypatch
):
    def to_pandas(self):
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    for kind in (pl.DataFrame, pl.Series):
        monkeypatch.setattr(kind, "to_pandas", to_pandas)
    message = f"tables of polars .* {missing} is not installed: pip install pandas pyarrow"
    for kind in (pl.DataFrame, lambda table: pl.Series(table) if table.ndim == 1 else table):
        path = tmp_path / str(kind == pl.DataFrame)
        path.mkdir()
        refused_before_a_charge(two_classes, path, ImportError, message, kind)


class ArrayOfOtherLibrary:
    def __init__(self, values):
        self._values, self.shape, self.ndim = values, values.shape, values.ndim

    def __array__(self, dtype=None, copy=None):
        return self._values

    def __len__(self):
        return len(self._values)

    def __dlpack__(self):
        raise NotImplementedError


def test_arrays_that_models_would_not_predict_are_refused_before_a_charge(
    two_classes, tmp_path, monkeypatch
):
    """scikit-learn refuses to predict arrays of another library than a model was fitted on."""
    if find_spec("sklearn.externals.array_api_compat") is None:  # before scikit-learn 1.7
        pytest.importorskip("array_api_compat")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with config_context(array_api_dispatch=True):
        message = r"those of test_search: pass np.asarray\(X\)"
        refused_before_a_charge(two_classes, tmp_path, ValueError, message, ArrayOfOtherLibrary)
    X, y, X_val, y_val = map(ArrayOfOtherLibrary, two_classes)
    search = search_over(LogisticRegression(), {"C": [0.1, 1.0]}).fit(
        X, y, X_val=X_val, y_val=y_val
    )
    assert len(search.predict(X_val)) == len(y_val)


@pytest.mark.parametrize("error_score", [np.nan, 1.0])
def test_failed_candidate_is_never_selected(two_classes, error_score):
    with pytest.warns(FitFailedWarning, match="2 of 3"):
        search = fitted(two_classes, LinearSVC(), {"C": [-1.0, 1.0, -2.0]}, error_score=error_score)
    assert search.best_params_ == {"C": 1.0}
    assert search.cv_results_["fit_error"][1] is None
    assert "InvalidParameterError" in search.cv_results_["fit_error"][0]
    assert [loss.epsilon for loss in search.privacy_.spends] == [1000.0], (
        "there was no choice to pay for"
    )


@pytest.mark.slow
def test_values_that_a_part_of_the_training_set_does_not_have_are_warned_of():
    """What fails on them fails on validation records, too, where nothing may be said of it."""
    X = pd.DataFrame({"code": np.arange(400) % 37 + 100 * (np.arange(400) % 11 == 0)})
    y = np.arange(400) % 2
    model = make_pipeline(OneHotEncoder(), LogisticRegression())
    search = search_over(model, {"logisticregression__C": [0.1, 1.0]}, scoring="f1")
    with pytest.warns(FitFailedWarning, match="count as wrong.*handle_unknown='ignore'.*unknown"):
        search.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])


@pytest.mark.slow
def test_verbose_prints_one_line_per_candidate(two_classes, capsys):
    fitted(two_classes, verbose=2)
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 3 and out[0] == "[1/3] {'C': 0.01}: fitted to be validated"
    fitted(two_classes, grid={"C": loguniform(1e-3, 1e3)}, n_iter=9, verbose=1)
    lines = [line.rpartition(": ") for line in capsys.readouterr().out.splitlines()]
    explored, validated = "explored within the training set", "fitted to be validated"
    assert [state for *_, state in lines] == [explored] * 3 + [validated] * 6
    fitted(two_classes, scoring="f1", verbose=1)  # which looks at how good candidates predict
    lines = [line.rpartition(": ") for line in capsys.readouterr().out.splitlines()]
    assert [state for *_, state in lines] == [explored] * 3 + [validated] * 3
    assert [line[0].split()[0] for line in lines[:4]] == ["[1/3]", "[2/3]", "[3/3]", "[4/6]"]


def test_fit_without_records_raises_value_error(two_classes):
    learner = PrivateLogisticRegression(bounds=(-1, 1))
    for search in (search_over(learner), PrivateTableSearchCV(learner)):
        with pytest.raises(ValueError, match="X is None|found NoneType"):
            search.fit(None, two_classes[1])


def test_score_of_the_validation_set_warns(two_classes):
    X, y, X_val, y_val = two_classes
    search = pickle.loads(pickle.dumps(search_over())).fit(X, y, X_val=X_val, y_val=y_val)
    table = PrivateTableSearchCV(PrivateLogisticRegression(classes=[0, 1])).fit(X, y)
    for fitted, records, labels in ((search, X_val, y_val), (table, X, y)):
        with pytest.warns(PrivacyWarning, match="score\\(\\) of protected records is exact"):
            fitted.score(records, labels)
    again = pickle.loads(pickle.dumps(search))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert search.score(X_val.copy(), y_val) == again.score(X_val, y_val)
        search.score(X, y)


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1", "roc_auc", "accuracy"])
def test_missing_labels_raise_an_error_that_names_the_score(scoring, two_classes):
    X, _, X_val, _ = two_classes
    search = PrivateBayesSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring=scoring)
    with pytest.raises(ValueError, match=f"'{scoring}' compares predictions with y"):
        search.fit(X, X_val=X_val)

"""Gradient boosting with early stopping, and MLflow's autologging, as their users know them."""

import contextlib
import inspect

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import PrivateBayesSearchCV, PrivateThresholdClassifier, public
from sklearn_dpbo.prediction import candidates, record_owner
from sklearn_dpbo.privacy import suppress_output
from sklearn_dpbo.search import _explore
from sklearn_dpbo.search import _threshold as threshold_module
from sklearn_dpbo.strategies import WorstCase

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("seeded"),
    pytest.mark.filterwarnings("ignore:No X_val and no cv"),
    pytest.mark.filterwarnings("ignore:.*y_pred.*:FutureWarning"),  # in mlflow
    pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated"),  # lightgbm 4.7
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # lightgbm 4.6
]

# One array: rows to train on, rows to stop early with, protected rows.
X_ALL, Y_ALL = make_classification(480, 5, n_informative=3, flip_y=0.1, random_state=0)
X, Y, X_STOP, Y_STOP = X_ALL[:240], Y_ALL[:240], X_ALL[240:320], Y_ALL[240:320]
X_VAL, Y_VAL = X_ALL[320:], Y_ALL[320:]
WEIGHT = np.linspace(0.5, 1.5, 240)
MOST_TREES = 60


def search_over(estimator, grid, **params):
    shared = {"epsilon": 1000.0, "random_state": 0, "error_score": "raise"}
    return PrivateBayesSearchCV(estimator, grid, **shared | params)


# ------------------------------------------------------------------------------- early stopping
def marked(fit_params):
    """Mark lists (of tables or callbacks) as public."""
    return {k: public(v) if isinstance(v, list) else v for k, v in fit_params.items()}


class XGBoost:
    """How users of xgboost stop early."""

    stop = {"verbose": False}
    rate = "learning_rate"

    @staticmethod
    def make():
        return xgboost.XGBClassifier(
            n_estimators=MOST_TREES, max_depth=2, n_jobs=1, early_stopping_rounds=2
        )

    @staticmethod
    def n_trees(fitted):
        return fitted.best_iteration + 1


class LightGBM:
    """How users of lightgbm stop early."""

    stop = {"callbacks": [lightgbm.early_stopping(2, verbose=False)]}
    rate = "learning_rate"

    @staticmethod
    def make():
        return lightgbm.LGBMClassifier(
            n_estimators=MOST_TREES, max_depth=2, n_jobs=1, verbose=-1, min_child_samples=5
        )

    @staticmethod
    def n_trees(fitted):
        return fitted.best_iteration_


class CatBoost:
    """How users of catboost stop early."""

    stop = {"early_stopping_rounds": 2, "verbose": False}
    rate = "learning_rate"

    @staticmethod
    def make():
        catboost = pytest.importorskip("catboost")
        return catboost.CatBoostClassifier(
            iterations=MOST_TREES, depth=2, thread_count=1, allow_writing_files=False, random_seed=0
        )

    @staticmethod
    def n_trees(fitted):
        return fitted.best_iteration_ + 1


LIBRARIES = pytest.mark.parametrize("library", [XGBoost, LightGBM, CatBoost])
SPACES = {
    "list": {"param_grid": [0.3, 1.0]},
    "distribution": {
        "param_grid": loguniform(0.5, 1.0), "n_iter": 10, "strategy": WorstCase(guidance="public"),
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("library", "space"),
    [(XGBoost, "list"), (LightGBM, "distribution"), (CatBoost, "list")],
)
def test_the_best_estimator_is_stopped_early_by_the_rows_of_eval_set(library, space):
    params = dict(SPACES[space])
    grid = {library.rate: params.pop("param_grid")}
    search = search_over(library.make(), grid, **params)
    fit_params = library.stop | {"eval_set": [(X_STOP, Y_STOP)], "sample_weight": WEIGHT}
    search.fit(X, Y, X_val=X_VAL, y_val=Y_VAL, **marked(fit_params))
    if space == "distribution":
        assert (~np.isnan(search.cv_results_["public_score"])).any(), "nothing was explored"
    alone = library.make().set_params(**search.best_params_).fit(X, Y, **fit_params)
    best = search.best_estimator_
    assert 1 <= library.n_trees(best) < MOST_TREES
    assert library.n_trees(best) == library.n_trees(alone)
    assert np.array_equal(best.predict_proba(X_VAL), alone.predict_proba(X_VAL))
    assert search.best_score_ == pytest.approx(alone.score(X_VAL, Y_VAL), abs=0.02)
    unweighted = library.make().set_params(**search.best_params_)
    unweighted.fit(X, Y, **library.stop, eval_set=[(X_STOP, Y_STOP)])
    assert not np.array_equal(best.predict_proba(X_VAL), unweighted.predict_proba(X_VAL))


@pytest.mark.parametrize(
    ("library", "table"),
    [(XGBoost, pd.DataFrame), (LightGBM, np.asarray), (CatBoost, pd.DataFrame)],
)
def test_a_step_of_a_pipeline_is_stopped_early(library, table):
    # The step gets what the step before it makes of the training rows: so has eval_set to be.
    scaler = StandardScaler().fit(X)
    pipe = Pipeline([("scale", StandardScaler()), ("model", library.make())])
    search = search_over(pipe, {f"model__{library.rate}": [0.3, 1.0]})
    step = {f"model__{name}": value for name, value in library.stop.items()}
    step["model__eval_set"] = [(scaler.transform(X_STOP), Y_STOP)]
    search.fit(table(X), Y, X_val=table(X_VAL), y_val=Y_VAL, **marked(step))
    assert 1 <= library.n_trees(search.best_estimator_[-1]) < MOST_TREES


@LIBRARIES
def test_a_threshold_is_tuned_for_an_estimator_that_is_stopped_early(library):
    model = library.make().set_params(**{library.rate: 1.0})
    tuned = PrivateThresholdClassifier(model, epsilon=1000.0)
    fit_params = library.stop | {"eval_set": [(X_STOP, Y_STOP)]}
    tuned.fit(X, Y, X_val=X_VAL, y_val=Y_VAL, **marked(fit_params))
    assert 1 <= library.n_trees(tuned.estimator_) < MOST_TREES


@pytest.mark.parametrize("n", [80, 160], ids=["other", "as many as X_val"])
def test_a_pool_of_catboost_has_to_be_marked(n):
    catboost = pytest.importorskip("catboost")
    search = search_over(CatBoost.make(), {"learning_rate": [0.3, 1.0]})
    pool = catboost.Pool(X_VAL[:n], Y_VAL[:n])
    with pytest.raises(ValueError, match="'eval_set' may hold records"):
        search.fit(X, Y, X_val=X_VAL, y_val=Y_VAL, eval_set=pool)
    pool = catboost.Pool(X_ALL[240 : 240 + n], Y_ALL[240 : 240 + n])
    search.fit(X, Y, eval_set=public(pool), **CatBoost.stop)
    assert 1 <= CatBoost.n_trees(search.best_estimator_) < MOST_TREES


@pytest.mark.skipif(
    "eval_X" not in inspect.signature(lightgbm.LGBMClassifier.fit).parameters,
    reason="lightgbm before 4.7 has no eval_X",
)
def test_eval_x_of_lightgbm_has_to_be_marked():
    search = search_over(LightGBM.make(), {"learning_rate": [0.3, 1.0]})
    validation = {"X_val": X_VAL, "y_val": Y_VAL} | marked(LightGBM.stop)
    search.fit(X, Y, **validation, eval_X=public(X_STOP), eval_y=public(Y_STOP))
    assert search.best_estimator_.best_iteration_ < MOST_TREES
    for rows in (X_VAL, (X_VAL[:50],)):
        with pytest.raises(ValueError, match="'eval_X' may hold records"):
            search.fit(X, Y, **validation, eval_X=rows, eval_y=public(Y_STOP))


# --------------------------------------------------------------------- MLflow's autologging
@pytest.fixture
def tracked(tmp_path, monkeypatch):
    """Autologging of scikit-learn, lightgbm and xgboost; yields a function that lists the runs."""
    # Here, as it takes seconds: every run of any test imports this file.
    import mlflow
    import mlflow.lightgbm
    import mlflow.sklearn
    import mlflow.xgboost

    # mlflow-skinny has no database backend.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    flavors = (mlflow.sklearn, mlflow.lightgbm, mlflow.xgboost)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    for flavor in flavors:
        flavor.autolog(log_models=False, silent=True)
    try:
        yield lambda: mlflow.search_runs(output_format="list", search_all_experiments=True)
    finally:
        for flavor in flavors:
            flavor.autolog(disable=True, silent=True)
        while mlflow.active_run():
            mlflow.end_run()
        mlflow.set_tracking_uri(before)


def digests(runs):
    """Return the digests of all data sets in these runs."""
    return {data.dataset.digest for run in runs for data in run.inputs.dataset_inputs}


def logistic_search(n_jobs=None, **params):
    return search_over(LogisticRegression(), {"C": [0.01, 1.0]}, n_jobs=n_jobs, **params)


SEARCHES = {
    "list": logistic_search,
    "distribution": lambda **params: search_over(
        LogisticRegression(), {"C": loguniform(0.01, 1)}, n_iter=6, **params
    ),
    "pipeline": lambda **params: search_over(
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [0.01, 1.0]}, **params,
    ),
    "separate": lambda **params: logistic_search(prediction="separate", **params),
    "lightgbm": lambda **params: search_over(
        LightGBM.make().set_params(n_estimators=3), {"learning_rate": [0.3, 1.0]}, **params
    ),
    "xgboost": lambda **params: search_over(
        XGBoost.make().set_params(n_estimators=3, early_stopping_rounds=None),
        {"learning_rate": [0.3, 1.0]}, **params,
    ),
}  # fmt: skip


def fit_search(kind, n_jobs=None):
    # joblib changes its setting when the object is made, not when the block begins.
    with joblib.parallel_config("threading", n_jobs=n_jobs) if n_jobs else contextlib.nullcontext():
        return SEARCHES[kind](n_jobs=n_jobs).fit(X, Y, X_val=X_VAL, y_val=Y_VAL)


def assert_autologging_works(tracked):
    n = len(tracked())
    LogisticRegression().fit(X, Y).predict(X_STOP)
    assert len(tracked()) == n + 1


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_search_logs_no_run(tracked, kind):
    fit_search(kind)
    assert tracked() == []


def test_autologging_works_again_after_a_search_that_failed(tracked):
    search = search_over(LogisticRegression(), {"C": [-1.0]})
    with pytest.raises(ValueError, match="'C' parameter"):
        search.fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    assert tracked() == []
    assert_autologging_works(tracked)


def logged_with(tracked, estimator, X_val):
    """Return digests and metrics that are logged when the estimator is fitted, without times."""
    before = {run.info.run_id for run in tracked()}
    clone(estimator).fit(X, Y, X_val=X_val, y_val=Y_VAL)
    logged = [run for run in tracked() if run.info.run_id not in before]
    metrics = sorted(str(sorted(run.data.metrics.items())) for run in logged)
    return sorted(digests(logged)), metrics


def depends_on_validation_set(tracked, estimator):
    """Whether autologging tells two validation sets apart."""
    found, other = (logged_with(tracked, estimator, X_val) for X_val in (X_VAL, -X_VAL))
    return found != other


@contextlib.contextmanager
def without_suspension():
    """Let autologging go on during searches."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (candidates, record_owner, _explore, suppress_output, threshold_module):
            patch.setattr(module, "without_autologging", contextlib.nullcontext)
        yield


def threshold(estimator=None):
    estimator = LogisticRegression() if estimator is None else estimator
    return PrivateThresholdClassifier(estimator, epsilon=1000.0, random_state=0)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("kind", ["list", "distribution"])
def test_runs_would_be_logged_without_suspension(tracked, kind, n_jobs):
    """The tests above can fail."""
    with without_suspension():
        fit_search(kind, n_jobs)
    assert tracked()


@pytest.mark.parametrize("make", [logistic_search, threshold])
def test_what_is_logged_would_depend_on_protected_records_without_suspension(tracked, make):
    """The tests beside this one can fail."""
    with without_suspension():
        assert depends_on_validation_set(tracked, make())


def test_what_a_threshold_logs_does_not_depend_on_protected_records(tracked):
    assert not depends_on_validation_set(tracked, threshold())
    assert len(tracked()) <= 2, "there is one fit for each validation set, on public records"
    assert_autologging_works(tracked)


def test_a_pipeline_that_ends_in_a_search_logs_training_data_alone(tracked):
    """The pipeline itself is autologged: what it logs follows from its training set."""
    pipe = Pipeline([("nothing", "passthrough"), ("search", logistic_search())])
    pipe.fit(X, Y, search__X_val=X_VAL, search__y_val=Y_VAL)
    found = digests(tracked())
    pipe.fit(X, Y, search__X_val=-X_VAL, search__y_val=Y_VAL)
    assert digests(tracked()) == found

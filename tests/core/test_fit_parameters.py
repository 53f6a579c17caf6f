"""Fit parameters, weights, pipelines, bounds and groups, as users of other estimators know them."""

import functools
import warnings
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupShuffleSplit, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
    public,
)
from sklearn_dpbo.exceptions import PrivacyWarning
from sklearn_dpbo.prediction.candidates import Candidates
from sklearn_dpbo.prediction.fitting import FitOptions
from sklearn_dpbo.privacy.ledger import _budget
from sklearn_dpbo.records.fit_parameters import check_fit_params, unmarked
from sklearn_dpbo.records.split import Problem, Training
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.strategies import WorstCase

pytestmark = [
    pytest.mark.usefixtures("seeded"),
    pytest.mark.filterwarnings("ignore:No X_val and no cv"),
]

# One array: rows to train on, rows to stop early with, protected rows.
X_ALL, Y_ALL = make_classification(400, 5, n_informative=3, flip_y=0.05, random_state=0)
# The first column is the number of the row; protected rows are known by it.
X_ALL[:, 0] = np.arange(400) / 400
TRAIN, STOP, VAL = slice(200), slice(200, 260), slice(260, 400)
X, Y, X_STOP, Y_STOP = X_ALL[TRAIN], Y_ALL[TRAIN], X_ALL[STOP], Y_ALL[STOP]
X_VAL, Y_VAL = X_ALL[VAL], Y_ALL[VAL]
FITS = []


def rows_of(X):
    """Return which rows of X_ALL these are."""
    return np.rint(np.asarray(X)[:, 0] * 400).astype(int)


class Stopped(LogisticRegression):
    """Keeps the arguments of `fit`, which returns None."""

    def fit(self, X, y, sample_weight=None, eval_set=None, rows=None, names=None):
        FITS.append(dict(X=X, y=y, weight=sample_weight, eval_set=eval_set, rows=rows, names=names))
        super().fit(X, y, sample_weight)


@pytest.fixture(autouse=True)
def _no_fits_yet():
    FITS.clear()


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(tmp_path / "budget.db", "patients", 1e6, create=True)


def search_over(estimator=None, grid=None, **params):
    estimator = Stopped() if estimator is None else estimator
    grid = {"C": [0.01, 1.0]} if grid is None else grid
    shared = {"epsilon": 1000.0, "random_state": 0, "error_score": "raise"}
    shared["prediction"] = "together"
    return PrivateBayesSearchCV(estimator, grid, **shared | params)


def tuner(estimator=None, **params):
    estimator = Stopped() if estimator is None else estimator
    return PrivateThresholdClassifier(
        estimator,
        **{"epsilon": 1000.0, "prediction": "together", "thresholds": 9} | params,
    )


BOTH = pytest.mark.parametrize("make", [search_over, tuner])


# ------------------------------------------------------------- what reaches the estimator's fit
@pytest.mark.first(1)
@pytest.mark.parametrize(
    "params",
    [
        {"grid": {"C": [0.01, 1.0]}},
        {
            "grid": {"C": loguniform(0.01, 1)},
            "n_iter": 8,
            "strategy": WorstCase(guidance="public"),
        },
    ],
    ids=["list", "distribution"],
)
@pytest.mark.parametrize("held_out", [False, True])
def test_eval_set_reaches_each_fit_as_it_is_and_weights_follow_the_rows(params, held_out):
    eval_set = [(X_STOP, Y_STOP)]
    validation = {} if held_out else {"X_val": X_VAL, "y_val": Y_VAL}
    search = search_over(**params)
    search.fit(X, Y, **validation, eval_set=public(eval_set), sample_weight=1 + X[:, 0])
    sizes = {len(each["X"]) for each in FITS}
    assert sizes <= ({150, 120} if held_out else {200, 160})
    assert len(sizes) == (2 if "strategy" in params else 1), "exploration cuts the training set"
    for each in FITS:
        ((X_seen, y_seen),) = each["eval_set"]
        assert np.array_equal(X_seen, X_STOP) and np.array_equal(y_seen, Y_STOP)
        assert np.array_equal(each["weight"], 1 + each["X"][:, 0])
    assert not any(np.isin(rows_of(each["X"]), np.arange(260, 400)).any() for each in FITS)


@pytest.mark.first(1)
@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize(
    "grid", [{"C": [0.01, 1.0]}, {"C": loguniform(0.01, 1)}], ids=["list", "distribution"]
)
def test_ragged_lists_follow_the_rows_if_there_is_one_entry_for_each(grid, held_out):
    rows = [[i] * (i % 3) for i in range(200)]
    names = [["a"], ["b", "c"], []]
    validation = {} if held_out else {"X_val": X_VAL, "y_val": Y_VAL}
    search_over(grid=grid, n_iter=6).fit(X, Y, **validation, rows=rows, names=public(names))
    for each in FITS:
        assert each["names"] == names
        assert [len(entry) for entry in each["rows"]] == [i % 3 for i in rows_of(each["X"])]


# ------------------------------------------------------- what may hold records is marked as public
class Records:
    """Like skorch's ``predefined_split(Dataset(X, y))`` and CatBoost's ``Pool``."""

    def __init__(self, X, y):
        self.X, self.y = X.copy(), y.copy()


class Dataset(Records):
    """Like torch's: it has a length and entries, and gives them to nobody in folds."""

    def __len__(self):
        return len(X)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


FRAME, FRAME_VAL = (pd.DataFrame(X, columns=list("abcde")) for X in (X_ALL, X_VAL))
MAY_HOLD_RECORDS = {
    "the records": [(X_VAL, Y_VAL)],
    "mask of a frame": [(FRAME[FRAME["a"] >= 260 / 400], Y_VAL)],
    "head of a frame": (FRAME_VAL.head(100), Y_VAL[:100]),
    "object of a library": Records(X_VAL, Y_VAL),
    "dataset as long as X": Dataset(X_VAL, Y_VAL),
    "sparse": sp.csr_matrix(X_VAL),
    "dict": {"valid": [(X_VAL, Y_VAL)]},
    "list of numbers": X_VAL[0].tolist(),
    "lambda": lambda env: X_VAL.mean(),
    "function": np.mean,
    "partial": functools.partial(len, X_VAL),
    "bound method": Records(X_VAL, Y_VAL).__repr__,
    "public records": [(X_STOP, Y_STOP)],
}


SETTINGS = [3, 0.5, True, np.float32(1), np.True_, "logloss", b"raw", None]
SAYS = r"'eval_set' may hold records.*stop early.*pass eval_set=public\(...\)"


@pytest.mark.parametrize("kind", MAY_HOLD_RECORDS)
def test_what_may_hold_records_has_to_be_marked(kind):
    value = MAY_HOLD_RECORDS[kind]
    with pytest.raises(ValueError, match=SAYS):
        check_fit_params({"eval_set": value}, len(X))
    marked = {"eval_set": public(value)}
    check_fit_params(marked, len(X))
    assert unmarked(marked)["eval_set"] is value


def test_all_arguments_that_have_to_be_marked_are_named_at_once():
    given = {"eval_set": [(X_STOP, Y_STOP)], "verbose": 0, "base": X_STOP[0], "callbacks": [len, 1]}
    says = (
        r"parameters 'eval_set', 'base', 'callbacks' may hold records, as they have not .* \(found "
        r"list with 1 entries, ndarray with 5 entries, list with 2 entries\).* in them, .*"
        r"pass eval_set=public\(...\), base=public\(...\), callbacks=public\(...\), with public"
    )
    with pytest.raises(ValueError, match=says):
        check_fit_params(given, len(X))


def test_plain_settings_need_no_mark():
    given = {f"setting_{i}": value for i, value in enumerate(SETTINGS)}
    check_fit_params(given, len(X))
    assert unmarked(given) == given


@pytest.mark.first(2)
@BOTH
@pytest.mark.parametrize("held_out", [False, True])
def test_unmarked_records_are_refused_before_anything_is_fitted_or_charged(make, held_out, ledger):
    validation = {} if held_out else {"X_val": X_VAL, "y_val": Y_VAL}
    with pytest.raises(ValueError, match=SAYS):
        make(ledger=ledger).fit(X, Y, **validation, eval_set=[(X_STOP, Y_STOP)])
    assert not FITS and not ledger.history
    make().fit(X, Y, **validation, eval_set="logloss")
    assert FITS and all(each["eval_set"] == "logloss" for each in FITS)


def test_arguments_for_a_step_of_a_pipeline_and_routed_ones_are_refused(ledger):
    pipe = Pipeline([("scale", StandardScaler()), ("model", Stopped())])
    search = search_over(pipe, {"model__C": [0.01, 1.0]}, ledger=ledger)
    with pytest.raises(ValueError, match="'model__eval_set' may hold records"):
        search.fit(X, Y, X_val=X_VAL, y_val=Y_VAL, model__eval_set=[(X_VAL, Y_VAL)])
    with sklearn.config_context(enable_metadata_routing=True):
        search = search_over(Stopped().set_fit_request(eval_set=True), ledger=ledger)
        with pytest.raises(ValueError, match="'eval_set' may hold records"):
            search.fit(X, Y, X_val=X_VAL, y_val=Y_VAL, eval_set=[(X_VAL, Y_VAL)])
    assert not FITS and not ledger.history


# ----------------------------------------------------------------------- weights of the score
def weights(n):
    return np.linspace(0.1, 2, n)


@pytest.mark.slow
@BOTH
def test_cross_validation_routes_weights_to_fits_and_scores(make):
    with sklearn.config_context(enable_metadata_routing=True):
        tuned = make(Stopped().set_fit_request(sample_weight=True))
        tuned.set_score_request(sample_weight=True)
        weight = 1 + X[:, 0]
        scores = cross_val_score(
            tuned, X, Y, cv=3, params={"sample_weight": weight}, error_score="raise"
        )
        tuned.set_score_request(sample_weight=False)
        unweighted = cross_val_score(
            tuned, X, Y, cv=3, params={"sample_weight": weight}, error_score="raise"
        )
    assert FITS and all(np.array_equal(each["weight"], 1 + each["X"][:, 0]) for each in FITS)
    assert scores.shape == (3,) and not np.allclose(scores, unweighted, atol=1e-6)


def wanted(scoring):
    """Return the accuracy as a scorer of scikit-learn that requests weights, in this container."""
    with sklearn.config_context(enable_metadata_routing=True):
        return scoring(make_scorer(accuracy_score).set_score_request(sample_weight=True))


WEIGHTED = {
    "requested": wanted(lambda scorer: scorer),
    "requested by another name": wanted(lambda s: s.set_score_request(sample_weight="importance")),
    "in a list": wanted(lambda scorer: ["f1", scorer]),
    "in a dict": wanted(lambda scorer: {"ours": "f1", "theirs": scorer}),
    "fixed": make_scorer(accuracy_score, sample_weight=weights(140)),
}


@pytest.mark.parametrize("kind", WEIGHTED)
def test_scorers_that_ask_for_weights_are_refused(kind, ledger):
    refit = "ours" if kind == "in a dict" else kind != "in a list" or "f1"
    search = search_over(scoring=WEIGHTED[kind], refit=refit, ledger=ledger)
    with pytest.raises(
        ValueError, match="weights are used for fits, not for scores.*Pass them to fit"
    ) as caught:
        search.fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    assert not FITS and not ledger.history
    assert str(weights(140)[5])[:6] not in str(caught.value), "weights may be protected"


def test_weights_of_a_fit_that_the_default_score_requests_are_refused(ledger):
    with sklearn.config_context(enable_metadata_routing=True):
        model = Stopped().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = search_over(model, ledger=ledger)
        with pytest.raises(ValueError, match=r"requests \['sample_weight'\]: sample weights are"):
            search.fit(X, Y, sample_weight=weights(200))
        assert not FITS and not ledger.history
        model.set_score_request(sample_weight=False)
        assert search.fit(X, Y, sample_weight=weights(200)).best_params_


# ------------------------------------------------------------------- estimators of users' own


# --------------------------------------------------------------------------------------- bounds


class Constant(RegressorMixin, BaseEstimator):
    """Predicts one number, and keeps a number of each row that it predicts."""

    predicted = []

    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y):
        return self

    def predict(self, X):
        type(self).predicted += X[:, 1].tolist()
        return np.full(len(X), self.value)


@pytest.fixture
def predicted():
    Constant.predicted.clear()
    return Constant.predicted


def absolute_error(low=-1.0):
    return make_private_scorer("neg_mean_absolute_error", bounds=(low, 0))


def error_search(values=(0.0, 1.0), **params):
    return search_over(Constant(), {"value": list(values)}, scoring=absolute_error(), **params)


def test_bounds_that_clip_most_training_gains_warn_before_protected_records_are_predicted(
    predicted,
):
    far = np.full(200, 50.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The bounds of", category=UserWarning)
        with pytest.raises(UserWarning, match=r"clip the gains of 100%.*Choose wider bounds"):
            error_search().fit(X, far, X_val=X_VAL, y_val=np.zeros(140))
    assert predicted and not np.isin(predicted, X_VAL[:, 1]).any(), "protected ones came first"


def test_bounds_are_not_warned_of_once_protected_records_have_been_predicted():
    """Which candidates come later may depend on protected records, if guidance is private."""
    training = Training(X, np.zeros(200))
    problem = Problem(training, Units.of(140, None), "a test")
    scorer = absolute_error().prepare(training.y)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="The bounds of")
        candidates = Candidates(FitOptions(Constant()), problem, (scorer,))
        candidates.fit(({"value": 0.0},))
        candidates.fit(({"value": 50.0},))
        with pytest.raises(UserWarning, match="The bounds of"):
            Candidates(FitOptions(Constant()), problem, (scorer,)).fit(({"value": 50.0},))


# --------------------------------------------------------------------------------------- groups
@BOTH
def test_groups_for_the_splitter_warn_that_records_are_protected_one_by_one(make):
    groups = np.arange(200) // 4
    cv = GroupShuffleSplit(1, test_size=0.25, random_state=0)
    with pytest.warns(PrivacyWarning, match=r"each \*record\* by itself.*groups_val=") as caught:
        tuned = make(cv=cv).fit(X, Y, groups=groups)
    found = [each for each in caught if "groups=" in str(each.message)]
    assert len(found) == 1 and found[0].filename == __file__
    assert tuned.privacy_.unit == "record"
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="groups=")
        tuned = make(cv=cv).fit(X, Y, groups_val=groups)
    assert tuned.privacy_.unit == "group"


# ------------------------------------------------------------------------------------ pipelines
AS_FRAME = functools.partial(pd.DataFrame, columns=list("abcde"))


@BOTH
@pytest.mark.parametrize(
    ("table", "steps"),
    [(np.asarray, 0), (AS_FRAME, 0), (np.asarray, 1)],
    ids=["array", "frame", "nested"],
)
def test_a_last_step_refuses_raw_validation_records_beside_transformed_ones(
    make, table, steps, ledger
):
    last, prefix = make(ledger=ledger), "tune__"
    for _ in range(steps):
        last, prefix = Pipeline([("nothing", "passthrough"), ("tune", last)]), "tune__" + prefix
    pipe = Pipeline([("scale", StandardScaler()), ("tune", last)])
    says = (
        r"steps \['scale'\] of the pipeline have transformed X, and X_val came as it was: "
        r".*\(make_pipeline\(...\), ...\)"
    )
    with pytest.raises(ValueError, match=says):
        pipe.fit(table(X), Y, **{f"{prefix}X_val": table(X_VAL), f"{prefix}y_val": Y_VAL})
    assert not FITS and not ledger.history


@pytest.mark.first(1)
@BOTH
def test_a_last_step_gets_validation_records_that_the_pipeline_transforms(make):
    with sklearn.config_context(enable_metadata_routing=True):
        step = make().set_fit_request(X_val=True, y_val=True)
        pipe = Pipeline([("scale", StandardScaler()), ("tune", step)], transform_input=["X_val"])
        pipe.fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    scaler = StandardScaler().fit(X)
    alone = make().fit(scaler.transform(X), Y, X_val=scaler.transform(X_VAL), y_val=Y_VAL)
    assert pipe[-1].best_score_ == alone.best_score_


# -------------------------------------------------------------------------- times in the ledger
class Clock(datetime):
    """Time that stands still but for fits and predictions."""

    hour_now = 0

    @classmethod
    def now(cls, tz=None):
        return datetime(2030, 1, 1, cls.hour_now % 24, tzinfo=UTC)


class Slow(LogisticRegression):
    """Takes hours to fit and to predict."""

    def fit(self, X, y):
        Clock.hour_now += 1
        return super().fit(X, y)

    def predict_proba(self, X):
        Clock.hour_now += 1
        return super().predict_proba(X)

    def predict(self, X):
        Clock.hour_now += 1
        return super().predict(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda **kw: search_over(Slow(), **kw),
        lambda **kw: tuner(Slow(), **kw),
    ],
    ids=["search", "threshold"],
)
def test_charges_are_stamped_before_anything_is_fitted_or_predicted(make, ledger, monkeypatch):
    monkeypatch.setattr(_budget, "datetime", Clock)
    monkeypatch.setattr(Clock, "hour_now", 0)
    make(ledger=ledger).fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    assert Clock.hour_now > 2, "nothing took any time"
    assert ledger.history
    assert {row["time"] for row in ledger.history} == {"2030-01-01T00:00:00+00:00"}

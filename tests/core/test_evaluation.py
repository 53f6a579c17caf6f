"""Evaluation: each candidate is fitted and predicts once, without output, record by record."""

import sys
import threading
import warnings
from collections import Counter

import numpy as np
import pytest
from evaluators import HeldOut, evaluated
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo.exceptions import BatchDependentError
from sklearn_dpbo.prediction.fitting import FitOptions
from sklearn_dpbo.prediction.listed.row_by_row import RowByRowCheck
from sklearn_dpbo.privacy.suppress_output import suppress_output
from sklearn_dpbo.records.split import Training
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.search._explore import report_failures


def problem_of(data, groups=None):
    X, y, X_val, y_val = data
    units = Units.of(len(y_val), groups)
    return HeldOut.given(Training(X, y), X_val, y_val, units)


def evaluate(
    estimator, problem, candidate_params=({},), scoring="accuracy", error_score=np.nan, **kw
):
    scorer = make_private_scorer(scoring) if isinstance(scoring, str) else scoring
    options = FitOptions(estimator, error_score, **kw)
    session = problem.session(options, [scorer.prepare(problem.training.y)])
    found = evaluated(session, candidate_params)
    report_failures(found.fit_errors)
    return found


def counts(evaluation):
    return evaluation.statistics._open()[:, 0].tolist()


class Threshold(ClassifierMixin, BaseEstimator):
    """Predicts [x_0 > threshold], and may misbehave on rows whose last feature is large."""

    calls = 0

    def __init__(self, threshold=0.0, misbehave=None):
        self.threshold = threshold
        self.misbehave = misbehave

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        type(self).calls += 1
        bad = X[:, -1] > 100
        if self.misbehave == "raise" and bad.any():
            raise RuntimeError(f"bad rows {np.flatnonzero(bad)} in {X[bad]}")
        if self.misbehave == "warn":
            warnings.warn(f"secret {X[0, 0]}", stacklevel=1)
            print("secret", X[0, 0])
            print("secret", X[0, 0], file=sys.stderr)
        if self.misbehave == "normalise":
            X = X - X.mean(axis=0)
        if self.misbehave == "random":
            return np.random.default_rng().choice(self.classes_, len(X))
        return self.classes_[(X[:, 0] > self.threshold).astype(int)]


@pytest.fixture
def spoilt(two_classes):
    """Three validation records that `Threshold(misbehave="raise")` cannot predict."""
    X, y, X_val, y_val = two_classes
    X_val = X_val.copy()
    X_val[[3, 70, 149], -1] = 1000
    return X, y, X_val, y_val


def test_only_records_that_cannot_be_predicted_count_as_wrong(spoilt):
    X, y, X_val, y_val = spoilt
    estimator = Threshold(misbehave="raise").fit(X, y)
    alone = []
    for i in range(150):
        try:
            alone.append(int(estimator.predict(X_val[[i]])[0] == y_val[i]))
        except RuntimeError:
            alone.append(0)
    assert counts(evaluate(estimator, problem_of(spoilt))) == [sum(alone)]
    assert alone[3] == alone[70] == alone[149] == 0


def test_only_groups_that_cannot_be_predicted_count_as_wrong(spoilt):
    X, y, X_val, y_val = spoilt
    groups = np.arange(150) % 50
    right = Threshold().fit(X, y).predict(X_val) == y_val
    right[np.isin(groups, groups[[3, 70, 149]])] = False
    found = evaluate(Threshold(misbehave="raise"), problem_of(spoilt, groups))
    means = np.bincount(groups, right) / 3
    assert counts(found)[0] == np.floor(means * 2**20 + 0.5).sum()


@pytest.mark.parametrize("misbehave", ["normalise", "random"])
def test_batch_dependent_predictions_are_refused(two_classes, misbehave):
    with pytest.raises(BatchDependentError, match="Threshold predicts .* differently"):
        evaluate(Threshold(misbehave=misbehave), problem_of(two_classes))


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_output_and_warnings_of_validation_predictions_are_suppressed(two_classes, capfd, n_jobs):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X, y, X_val, y_val = two_classes
        X_val = X_val.copy()
        X_val[0, 0] = 54321.0
        evaluate(Threshold(misbehave="warn"), problem_of((X, y, X_val, y_val)), [{}] * 3,
                 n_jobs=n_jobs)  # fmt: skip
    captured = capfd.readouterr()
    text = captured.out + captured.err + "".join(str(w.message) for w in caught)
    assert "54321" not in text
    if n_jobs == 1:
        assert text.count("secret") > 3, "output about training records is public and is shown"


def test_suppression_is_shared_by_threads_and_ends_with_the_last(capsys):
    inside, leave = threading.Event(), threading.Event()

    def other():
        with suppress_output():
            inside.set()
            leave.wait(5)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(5)
    with suppress_output():
        print("hidden")
    print("hidden as well, because the other thread still suppresses output")
    leave.set()
    thread.join()
    print("shown")
    assert capsys.readouterr().out == "shown\n"


class FailsAt(Threshold):
    """Fails to fit at some thresholds."""

    def fit(self, X, y):
        if self.threshold in (1, 3):
            raise RuntimeError(f"cannot fit at {self.threshold}")
        return super().fit(X, y)


GRID = tuple({"threshold": t} for t in range(5))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_failed_fits_warn_and_are_left_out(two_classes, n_jobs):
    told = r"2 of 5 candidates failed.*RuntimeError: cannot fit at 1"
    with pytest.warns(Warning, match=told), parallel_config("threading"):
        found = evaluate(FailsAt(), problem_of(two_classes), GRID, n_jobs=n_jobs)
    assert found.fitted == [0, 2, 4]
    assert found.fit_errors[3] == "RuntimeError: cannot fit at 3"


class Times(LogisticRegression):
    """Returns probabilities times a factor: of all records, or of those with a large value."""

    def __init__(self, factor=1.0, above=-np.inf):
        super().__init__()
        self.factor, self.above = factor, above

    def predict_proba(self, X):
        return super().predict_proba(X) * np.where(X[:, :1] > self.above, self.factor, 1.0)


@pytest.mark.parametrize("scoring", ["neg_brier_score", "neg_log_loss"])
def test_a_candidate_whose_response_is_no_probabilities_fails(two_classes, scoring):
    problem = problem_of(two_classes)
    with pytest.warns(FitFailedWarning, match="must return probabilities of all classes"):
        found = evaluate(Times(), problem, [{"factor": 3.0}, {"factor": 1.0}], scoring)
    assert found.fitted == [1]
    ranked = evaluate(Times(), problem, [{"factor": 3.0}], "roc_auc")  # only the order counts
    assert ranked.fitted == [0]


def test_error_score_raise_shows_frames_of_fit_only(two_classes):
    with pytest.raises(RuntimeError, match="cannot fit at 1") as caught:
        evaluate(FailsAt(), problem_of(two_classes), GRID, error_score="raise")
    names = [entry.name for entry in caught.traceback]
    assert names[-1] == "fit" and "_map" not in names and "_evaluate" not in names


def test_error_if_all_fits_fail_names_the_first(two_classes):
    with pytest.raises(ValueError, match=r"All 2 candidates failed.*no privacy.*cannot fit at 1"):
        evaluate(FailsAt(), problem_of(two_classes), (GRID[1], GRID[3]))


@pytest.mark.slow
def test_scikit_learn_configuration_reaches_workers(rng):
    import pandas as pd
    import sklearn
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    X = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    y = (X["a"] > 0).to_numpy().astype(int)
    model = make_pipeline(
        StandardScaler(), FunctionTransformer(lambda d: d[["a", "b"]]), LogisticRegression()
    )
    problem = problem_of((X, y, X, y))
    with sklearn.config_context(transform_output="pandas"):
        found = [counts(evaluate(model, problem, [{}] * 3, n_jobs=n)) for n in (1, 2)]
    assert found[0] == found[1]


class Counting(Threshold):
    """Counts what is done to candidates."""

    done = Counter()

    def __init__(self, threshold=0.0, misbehave=None):
        self.done["cloned"] += 1
        super().__init__(threshold, misbehave)

    def __getstate__(self):
        self.done["pickled"] += 1
        return super().__getstate__()

    def __setstate__(self, state):
        self.done["unpickled"] += 1
        super().__setstate__(state)

    def fit(self, X, y):
        self.done["fitted"] += 1
        return super().fit(X, y)

    def predict(self, X):
        self.done["predicted"] += 1
        return super().predict(X)


def test_what_one_more_candidate_takes(two_classes, monkeypatch):
    """The model predicts companions, copies these in the place of protected records, and those.

    With `prediction="together"`, the check of the user's word comes on top.
    """
    monkeypatch.setattr(RowByRowCheck, "check", lambda *_: None)
    found = []
    for n in (10, 20):
        Counting.done.clear()
        grid = [{"threshold": t / n} for t in range(n)]
        evaluate(Counting(), problem_of(two_classes), grid)
        found.append(Counter(Counting.done))
    each = {name: (found[1][name] - found[0][name]) / 10 for name in found[0]}
    assert each == {"cloned": 1, "fitted": 1, "pickled": 1, "unpickled": 2, "predicted": 3}


# ---------------------------------------------------------------- what runs when
NOTED = []


class Noting(LogisticRegression):
    """Notes what runs, and of how many rows."""

    def fit(self, X, y, sample_weight=None):
        NOTED.append(("fit", len(X)))
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        NOTED.append(("predict_proba", len(X)))
        return super().predict_proba(X)

    def predict(self, X):
        NOTED.append(("predict", len(X)))
        return super().predict(X)

    def decision_function(self, X):
        NOTED.append(("decision_function", len(X)))
        return super().decision_function(X)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(dict(scoring="average_precision"), marks=pytest.mark.slow),
        pytest.param(dict(scoring="f1", release="evaluation"), marks=pytest.mark.slow),
        pytest.param(dict(scoring="f1", release="all"), marks=pytest.mark.slow),
        dict(scoring=["roc_auc", "average_precision", "accuracy"], refit="roc_auc"),
    ],
    ids=["areas", "evaluation", "all", "several"],
)
@pytest.mark.filterwarnings("ignore")
def test_after_protected_predictions_nothing_runs_but_these(two_classes, options):
    """Whatever the release needs of public records was asked before."""
    X, y, X_val, y_val = two_classes
    NOTED.clear()
    search = PrivateBayesSearchCV(
        Noting(),
        {"C": np.logspace(-3, 3, 40).tolist()},
        epsilon=9.0,
        n_iter=12,
        prediction="together",
        **options,
    )
    search.fit(X, y, X_val=X_val, y_val=y_val)
    with_companions = len(X_val) + 16
    first = next(i for i, (_, n) in enumerate(NOTED) if n == with_companions)
    assert {n for _, n in NOTED[first:]} == {with_companions}
    assert "fit" not in {what for what, _ in NOTED[first:]}

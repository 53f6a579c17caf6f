"""One call of a user's code for one record, and public rows that take the way of protected ones."""

import decimal
import pickle
import signal

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from test_protected_values import statistics

from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
    private_evaluation,
)
from sklearn_dpbo.metrics import _errors, _gains, _pairs
from sklearn_dpbo.metrics._agreement import Agreement
from sklearn_dpbo.metrics._gains import Custom
from sklearn_dpbo.metrics._histogram import ScoreHistogram
from sklearn_dpbo.metrics._make import NAMES
from sklearn_dpbo.metrics._queries import ClassSizes, Confusion, MeanOf
from sklearn_dpbo.metrics._ranking import RankedConfusion
from sklearn_dpbo.metrics._variance import ErrorVariance
from sklearn_dpbo.prediction import rehearsal
from sklearn_dpbo.prediction.calls import query_for_protected
from sklearn_dpbo.prediction.direct_responses import AsNumbers
from sklearn_dpbo.prediction.listed.listed import LISTED
from sklearn_dpbo.prediction.secret_pipelines import _TransformedRows
from sklearn_dpbo.prediction.threshold_curve import LabelGains
from sklearn_dpbo.privacy.suppress_output import hold_interrupts
from sklearn_dpbo.records.pickles import Copier, packed

pytestmark = pytest.mark.filterwarnings("ignore")


# ---------------------------------------------------------------------- gains


class Relative:
    """The error as a part of the mean error until now, which it keeps."""

    def __init__(self):
        self.total, self.n = 0.0, 0

    def __call__(self, y, response):
        error = np.abs(y - response)
        self.total, self.n = self.total + float(error[0]), self.n + 1
        return -error / max(self.total / self.n, 1e-9)


def keeps_in_a_closure():
    seen = []

    def gain(y, response):
        seen.append(abs(float((y - response)[0])))
        return -np.abs(y - response) / max(np.mean(seen), 1e-9)

    return gain


def tosses(y, response):
    draws = 1 + int(y[0] > 1e5)  # as many as the record wants
    return -np.random.rand(draws)[:1]


def sets_numpy(y, response):
    gain = -np.exp(np.full(1, -1e3) + 0 * response)
    if y[0] > 1e5:
        np.seterr(all="raise")
    return gain


def sets_scipy(y, response):
    gain = np.clip(-special.loggamma(np.zeros(1)), -1, 0)
    if y[0] > 1e5:
        special.seterr(all="raise")
    return gain


def sets_decimals(y, response):
    gain = -np.ones(1) * float(decimal.Decimal(1) / 3 * 3)
    if y[0] > 1e5:
        decimal.getcontext().prec = 1
    return gain


def sets_sklearn(y, response):
    gain = -np.ones(1) * (not sklearn.get_config()["assume_finite"])
    if y[0] > 1e5:
        sklearn.set_config(assume_finite=True)
    return gain


SETS = [sets_numpy, sets_scipy, sets_decimals, sets_sklearn]
STATEFUL = [Relative(), keeps_in_a_closure(), tosses, *SETS]


@pytest.mark.parametrize("gain", STATEFUL, ids=lambda gain: getattr(gain, "__name__", "Relative"))
def test_a_gain_tells_no_record_of_another(gain):
    """The tree predicts its training rows exactly, so that no public gain shows the state."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    train, val, y_val = (X[:200], y[:200]), X[200:], y[200:]
    scorer = make_private_scorer(gain, bounds=(-2, 0))
    if gain in (tosses, *SETS):  # public rows toss dice, too: the count itself is looked at
        query = query_for_protected(pickle.dumps(MeanOf(Custom(gain), (-2.0, 0.0))))
        response = np.zeros(100)
        a, b = (query.record_values(y, response, None) for y in (y_val, np.r_[1e6, y_val[1:]]))
        assert np.array_equal(a[1:], b[1:])
        return
    found = []
    for labels in (y_val, np.r_[1e6, y_val[1:]]):
        for prediction in ("auto", "separate"):
            tree = DecisionTreeRegressor(random_state=0)
            raw, sensitivity = statistics(tree, train, (val, labels), scorer, prediction=prediction)
            found.append(raw[0, 0])
    assert found[0] == found[1] and found[2] == found[3]
    assert abs(found[0] - found[2]) <= sensitivity


def test_a_gain_that_shows_its_state_on_public_rows_is_refused_before_the_charge(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=300)
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", 1.0, create=True)
    search = PrivateBayesSearchCV(
        DecisionTreeRegressor(max_depth=2),
        {"min_samples_leaf": [1, 5]},
        scoring=make_private_scorer(Relative(), bounds=(-2, 0)),
        ledger=ledger,
    )
    message = r"gain -1 in .*gain -0\.\d+ directly.*must not keep anything.*Nothing has been"
    with pytest.raises(ValueError, match=message):
        search.fit(X[:200], y[:200], X_val=X[200:].copy(), y_val=y[200:].copy())
    assert not ledger.history


class OnlyTheFirst:
    """Counts the first records that it gets, and no later ones."""

    def __init__(self):
        self.n = 0

    def __call__(self, y, response):
        self.n += 1
        return (y == response).astype(float) * (self.n <= 2)


def test_what_a_gain_keeps_of_public_rows_reaches_no_protected_record():
    """Else all of these, as all rehearsed ones, would count as a late record, and be paid for."""
    X, y = table()
    gain = OnlyTheFirst()
    search = PrivateBayesSearchCV(
        LogisticRegression(), {}, scoring=make_private_scorer(gain, bounds=(0, 1))
    )
    message = "has the gain 1 in the place of .*the gain 0 directly.*must not keep"
    with pytest.raises(ValueError, match=message):
        search.fit(X, y, X_val=X.copy(), y_val=y)
    assert gain.n == 0


def test_a_gain_that_fails_for_a_record_gives_it_the_lowest():
    def gain(y, response):
        if y[0] > 2:
            raise RuntimeError("patient 4711")
        return 1 - np.abs(y - response)

    query = MeanOf(Custom(gain), (0.0, 1.0))
    isolated = query_for_protected(pickle_by_value(query))
    y, response = np.array([1.0, 3.0, 1.0]), np.ones(3)
    values = isolated.record_values(y, response, None)
    assert values[1] == 0 and (values[[0, 2]] == query.steps).all()


def pickle_by_value(value):
    import cloudpickle

    return cloudpickle.dumps(value)


class Sums(MeanOf):
    def record_values(self, y, response, classes):
        return np.full(len(response), int(np.sum(response)))


@pytest.mark.parametrize("query", [Sums(None, (0.0, 1.0)), MeanOf(Sums(None, (0.0, 1.0)), (0, 1))])
def test_only_listed_queries_count_all_records_at_once(query):
    with pytest.raises(TypeError, match="not known to count each record by itself"):
        query_for_protected(pickle_by_value(query))


ODD = [np.nan, np.inf, -np.inf, 1e308, 1e-170, 5e-324, -0.0]


@pytest.mark.parametrize(
    "name", sorted(set(NAMES) - {"roc_auc_ovr"})
)  # that one is of three classes
def test_a_replaced_record_changes_the_values_of_no_other(name):
    """Of each metric, what is counted for the choice and for the score."""
    rng = np.random.default_rng(0)
    needs = {"beta": 2} if "beta" in NAMES[name].params else {}
    needs |= {"cost_matrix": [[0, 1], [2, 0]]} if name == "neg_cost" else {}
    needs |= {"k": 1} if name == "top_k_accuracy" else {}
    scorer = make_private_scorer(name, **needs)
    of_numbers = scorer.task == "regression"
    y = rng.uniform(1, 2, 60) if of_numbers else np.arange(60) % 2
    scorer = scorer.prepare(y)
    classes = None if of_numbers else np.array([0, 1])
    scores = rng.uniform(0, 1, 60)
    responses = {
        "predict": y.copy() if of_numbers else (scores > 0.5).astype(int),
        "decision_function": scores,
        "predict_proba": np.stack([1 - scores, scores], axis=1),
    }
    for query in filter(None, (scorer.query, scorer.counts)):
        assert_counts_each_by_itself(query, y, responses[query.response_method[0]], classes)


def assert_counts_each_by_itself(query, y, response, classes):
    """Replace one record: the values of all others stay, bit by bit."""
    query = query_for_protected(pickle.dumps(query))
    with np.errstate(all="ignore"):
        values = query.record_values(y, response.copy(), classes)
        for odd in ODD:
            labels, other = y.astype(float), response.astype(response.dtype)
            labels[7] = odd
            other[7] = odd if other.dtype.kind == "f" else -1
            moved = query.record_values(labels, other, classes)
            assert np.array_equal(np.delete(values, 7, 0), np.delete(moved, 7, 0)), odd


TWO, SCORES = np.array([0, 1]), np.random.default_rng(0).uniform(0, 1, 60)
BOTH, LABELS = np.stack([1 - SCORES, SCORES], axis=1), (SCORES > 0.5).astype(int)
OF_LABELS, OF_SCORES = (
    Confusion(TWO),
    {
        cls.__name__: (cls(TWO, (1,), (0.5,)), SCORES)
        for cls in (_pairs.Pairs, _pairs.PairCounts, _pairs.MeanArea, _pairs.PrecisionSum)
    },
)
# By name, a query of each listed class, or with a gain of it; and a response.
QUERIES = {
    "Agreement": (Agreement((OF_LABELS, OF_LABELS), TWO), np.stack([LABELS, 1 - LABELS], axis=1)),
    "AsNumbers": (AsNumbers((), None, ("predict",)), SCORES),
    "ClassSizes": (ClassSizes(TWO, ("predict",)), LABELS),
    "Confusion": (OF_LABELS, LABELS),
    "ErrorHistogram": (_errors.ErrorHistogram((0.1, 0.5)), SCORES),
    "ErrorVariance": (ErrorVariance(0.0, 1.0, 1.0, (2**20,) * 4), SCORES),
    "LabelGains": (LabelGains(OF_LABELS, ("predict_proba",)), BOTH),
    "MeanOf": (MeanOf(_gains.Named("accuracy", {}), (0.0, 1.0)), LABELS),
    "Moments": (_errors.Moments(0.0, 1.0, 1.0, (2**20,) * 7), SCORES),
    "Named": (MeanOf(_gains.Named("neg_log_loss", {}), (-4.0, 0.0)), BOTH),
    "OfCell": (MeanOf(_gains.OfCell(np.eye(2), TWO), (0.0, 1.0)), LABELS),
    "RankedConfusion": (RankedConfusion(TWO, ranking=None), LABELS),
    "ScoreHistogram": (ScoreHistogram(((0.2, 0.5),), TWO, (1,), ("predict_proba",)), BOTH),
    "_TransformedRows": (_TransformedRows((2,)), BOTH),
    **OF_SCORES,
}


@pytest.mark.parametrize("name", [line.name for line in LISTED.values() if line.kind == "F"])
def test_a_listed_query_counts_each_record_by_itself(name):
    query, response = QUERIES[name]
    assert name in (type(query).__name__, type(getattr(query, "gain", None)).__name__)
    assert_counts_each_by_itself(query, np.arange(60) % 2, response, TWO)


# ---------------------------------------------------------------------- interrupts


class Interrupts(ClassifierMixin, BaseEstimator):
    """Does something at one record, and notes how many records it predicts."""

    predicted = 0

    def __init__(self, how="signal"):
        self.how = how

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        Interrupts.predicted += 1
        if (np.asarray(X) > 100).any():
            if self.how == "signal":
                signal.raise_signal(signal.SIGINT)
            else:
                raise KeyboardInterrupt
        return (np.asarray(X)[:, 0] > 0).astype(int)


@pytest.mark.parametrize("how", ["signal", "exception"])
def test_an_interrupt_takes_effect_after_the_table(how):
    X = np.linspace(-1, 1, 60)[:, None]
    y = (X[:, 0] > 0).astype(int)
    search = PrivateBayesSearchCV(Interrupts(how), {}, epsilon=1e6)
    counted = []
    for value in (0.5, 1e6):
        X_val = X.copy()
        X_val[3] = value
        Interrupts.predicted = 0
        if how == "signal" and value > 100:
            with pytest.raises(KeyboardInterrupt):
                search.fit(X, y, X_val=X_val, y_val=y)
        else:
            try:
                search.fit(X, y, X_val=X_val, y_val=y)
            except KeyboardInterrupt:
                pytest.fail("one record ends the search")
            assert search.best_score_ > 0.9
        counted.append(Interrupts.predicted)
    # The odd record is predicted once more, by itself.
    assert counted[0] <= counted[1] <= counted[0] + 2 or how == "signal"
    assert counted[1] > 60, "all records are predicted before"


def test_a_handler_of_interrupts_is_restored_and_called_once():
    calls = []
    usual = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    try:
        with hold_interrupts(), hold_interrupts():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            assert not calls
        assert calls == [1]
        signal.raise_signal(signal.SIGINT)
        assert calls == [1, 1]
    finally:
        signal.signal(signal.SIGINT, usual)


# ---------------------------------------------------------------------- rehearsal


def table(n=80, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, (X[:, 0] > 0).astype(int)


class ByTypeOfColumn(FunctionTransformer):
    def transform(self, X):
        return X.to_numpy(dtype=float, na_value=0.0) * (-1 if X.dtypes.iloc[0].kind == "f" else 1)


@pytest.mark.parametrize("what", ["search", "threshold", "evaluation"])
def test_a_model_that_reads_the_form_of_its_table_is_refused_before_the_charge(what, tmp_path):
    """Nullable numbers become floats, and so a step that asks for their type gets another one."""
    X, y = table()
    frame = pd.DataFrame(np.rint(X * 10), columns=list("abc")).astype("Int64")
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", 1.0, create=True)
    model = make_pipeline(ByTypeOfColumn(), LogisticRegression()).fit(frame, y)
    given = {"epsilon": 1.0, "ledger": ledger}
    held_out = frame.copy()
    with pytest.raises(ValueError, match=r"gives .* for row \d+ of X, but .*Nothing has been cha"):
        if what == "search":
            PrivateBayesSearchCV(model, {}, **given).fit(frame, y, X_val=held_out, y_val=y)
        elif what == "threshold":
            PrivateThresholdClassifier(model, **given).fit(frame, y, X_val=held_out, y_val=y)
        else:
            private_evaluation(model, held_out, y, X=frame, y=y, **given)
    assert not ledger.history


class OfLetters(DecisionTreeClassifier):
    """Predicts another letter for rows that are read as floats: only of the last classes."""

    def predict(self, X):
        letters = super().predict(X).astype(object)
        far = (letters > "v") & (np.asarray(X).dtype.kind == "f")
        return np.where(far, "a", letters)


def test_a_class_that_no_companion_has_is_compared_too():
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz") * 4)
    X = np.arange(26 * 4)[:, None] % 26
    search = PrivateBayesSearchCV(OfLetters(), {}, prediction="together")
    with pytest.raises(ValueError, match=r"gives [w-z] for row \d+ of X, but a for the same row"):
        search.fit(X, letters, X_val=X.astype(float), y_val=letters)


class Random(LogisticRegression):
    """Predicts by dice of its own, which nobody can seed."""

    def predict(self, X):
        return np.random.default_rng().integers(0, 2, len(X))


class Tied(LogisticRegression):
    """Rounding decides the label: it depends on the number of rows."""

    def decision_function(self, X):
        return np.zeros(len(X)) + (1e-12 if len(X) == 32 else -1e-12) + 0 * X[:, 0]

    def predict_proba(self, X):
        return super().predict_proba(X)

    def predict(self, X):
        far = np.asarray(X)[:, 1] > 1
        return np.where(far, 1, (self.decision_function(X) > 0).astype(int))


@pytest.mark.parametrize("model", [Random(), Tied()], ids=["dice", "rounding"])
def test_dice_and_rounding_are_no_difference(model):
    X, y = table()
    if isinstance(model, Random):
        search = PrivateBayesSearchCV(model, {}, prediction="separate")
        search.fit(X, y, X_val=X.copy(), y_val=y)
        assert np.isfinite(search.best_score_)
        return
    raw, _ = statistics(model, (X, y), (X.copy(), y), prediction="auto")
    assert raw.shape == (1, 1)


def test_the_warning_says_how_long_single_calls_will_take(monkeypatch):
    ticks = iter(range(0, 10_000, 2))
    monkeypatch.setattr(rehearsal, "perf_counter", lambda: next(ticks))
    X, y = table()
    step = FunctionTransformer(lambda X: X + 0.0)
    search = PrivateBayesSearchCV(make_pipeline(step, LogisticRegression()), {})
    # A call of 2 s for 4 rows: .5 s each.
    with pytest.warns(UserWarning, match="of its own, about 40 s in all for 1 candidates"):
        search.fit(X, y, X_val=X.copy(), y_val=y)


SCRIPT = """
import functools

class Own:
    def __init__(self):
        self.seen = []

def remembers(x, seen=[]):
    seen.append(x)
    return len(seen)

def named_as_if_it_were_not_local():
    seen = []
    @functools.wraps(remembers)
    def remember(x):
        seen.append(x)
        return len(seen)
    return remember

class Opens(Own):
    def __setstate__(self, state):
        import threading
        self.lock = threading.Lock()
"""


def test_copies_share_classes_of_a_script_and_nothing_else():
    """In a process that the script does not run in; there, classes are shared by their names."""
    script = {"__name__": "__main__"}
    exec(SCRIPT, script)
    functions = script["remembers"], script["named_as_if_it_were_not_local"]()
    copier = Copier(packed([script["Own"](), *functions], by_value=True))
    copies = [copier.copy() for _ in range(3)]
    assert len({type(copy[0]) for copy in copies}) == 1 and copier._shared
    for own, *remembering in copies:
        assert own.seen == [] and [remember(1) for remember in remembering] == [1, 1]
        own.seen.append(1)


def test_what_cannot_be_pickled_again_is_copied_as_it_was():
    script = {"__name__": "__main__"}
    exec(SCRIPT, script)
    copier = Copier(packed(script["Opens"](), by_value=True))
    assert copier.copy().lock is not copier.copy().lock

"""A search keeps no raw validation score, anywhere that a user can look.

The validation sets have a size for which every correct count is a number that cannot occur by
accident (it, and the score that it makes, are searched for as numbers and as text), and the noise
is far larger than those numbers.
"""

import gc
import io
import logging
import pickle
import re
import traceback
import types

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import FitFailedWarning

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo._privacy.sensitive import Secret, Sensitive
from sklearn_dpbo.strategies import WorstCase

M = 15_485_863 // 1000  # 15,485
# What each candidate gets right: recognisable, and far from each other.
COUNTS = {0: 7_717, 1: 9_311, 2: 12_923, 3: 4_243}
# Noise of millions of counts: a released number is a raw one by accident once in 100,000 runs.
EPSILON = 1e-7


class Known(ClassifierMixin, BaseEstimator):
    """Gets ``COUNTS[which]`` validation records right; the first feature is the record number."""

    def __init__(self, which=0, fail=None, letter="a"):
        self.which = which
        self.fail = fail
        self.letter = letter

    def fit(self, X, y):
        if self.fail == "fit" and self.which == 3:
            raise RuntimeError("cannot fit this one")
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        if len(X) > 1000 and self.fail == "interrupt" and self.which == 2:
            raise KeyboardInterrupt
        if self.fail == "predict" and (X[:, 0] == M - 1).any():
            raise RuntimeError(f"{(X[:, 0] < COUNTS[self.which]).sum()} of {len(X)}")
        return (X[:, 0] < COUNTS[self.which]).astype(int)

    def predict_proba(self, X):
        p = self.predict(X)
        return np.stack([1 - p, p], axis=1).astype(float)


def data():
    train = np.stack([np.linspace(0, M, 40), np.zeros(40)], axis=1)
    val = np.stack([np.arange(M), np.zeros(M)], axis=1)
    return dict(X=train, y=np.arange(40) % 2), dict(X_val=val, y_val=np.ones(M, dtype=int))


def secrets(scoring, fail):
    """The raw statistics, and the raw scores, that must not be found."""
    counts = [c for which, c in COUNTS.items() if not (fail == "fit" and which == 3)]
    return {*counts, *(M - c for c in counts)} if scoring == "accuracy" else {*counts}


def search_of(**params):
    grid = {"which": list(COUNTS)}
    if "strategy" in params:  # guided: a space too large to be evaluated whole, noise of 12 counts
        grid["letter"] = list("abcdefghijklmnopqrstuvwxyz")
        params = dict(epsilon=0.2, n_iter=16, noise_random_state=1, random_state=0) | params
    params = dict(epsilon=EPSILON, n_iter=4) | params
    return PrivateBayesSearchCV(Known(fail=params.pop("fail", None)), grid, **params)


def numbers_of(counts):
    scores = {c / M for c in counts}
    return counts | scores | {s - 1 for s in scores}


def found_in_text(text, counts):
    """The secrets among the numbers of a text; digits inside a longer number are no finding.

    A fit time of 0.0077171 s holds the digits of a count by accident.
    """
    without_separators = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    numbers = re.findall(r"(?<![\d.])\d+(?:\.\d+)?", f"{text} {without_separators}")
    scores = tuple(repr(c / M)[:9] for c in counts)
    whole = {str(c) for c in counts}
    return [n for n in numbers if n.partition(".")[0] in whole or n.startswith(scores)]


def walk(thing, seen, depth=0):
    """Yield everything reachable from an object through attributes, containers and arrays.

    A `Sensitive` or `Secret` is shut (see its own tests); that none is kept is tested apart.
    """
    shut = types.ModuleType | type | Sensitive | Secret
    if id(thing) in seen or depth > 12 or isinstance(thing, shut):
        return
    seen[id(thing)] = thing
    yield thing
    if isinstance(thing, dict):
        inside = [*thing.keys(), *thing.values()]
    elif isinstance(thing, np.ndarray):
        inside = thing.ravel().tolist() if thing.size < 10_000 else []
    elif isinstance(thing, list | tuple | set | frozenset):
        inside = list(thing)
    elif isinstance(thing, types.FunctionType):
        inside = [c.cell_contents for c in thing.__closure__ or ()] + list(thing.__defaults__ or ())
    else:
        inside = list(getattr(thing, "__dict__", {}).values())
        slots = [s for k in type(thing).__mro__ for s in getattr(k, "__slots__", ())]
        mangled = [f"_{k.__name__}{s}" for k in type(thing).__mro__ for s in slots]
        inside += [getattr(thing, s) for s in [*slots, *mangled] if hasattr(thing, s)]
    for each in inside:
        yield from walk(each, seen, depth + 1)


def is_number(v):
    return isinstance(v, int | float | np.number) and not isinstance(v, bool)


def found_in(thing, counts):
    wanted = np.array(sorted(numbers_of(counts)))
    numbers = [float(v) for v in walk(thing, {}) if is_number(v)]
    return [v for v in numbers if np.abs(wanted - v).min() < 1e-9]


def test_the_walker_finds_what_is_there():
    """The test must be able to fail: plant a score in each kind of hiding place."""
    search = search_of()
    counts = secrets("accuracy", None)
    score = COUNTS[1] / M
    holder = Known()
    holder.hidden = {"deep": [np.array([0.0, score])]}
    for planted in (holder, lambda: score, (1, {"a": {COUNTS[2]}}), np.array([COUNTS[0]])):
        search.planted_ = planted
        assert found_in(search, counts)
    del search.planted_
    assert not found_in(search, counts)


def test_the_reader_finds_a_secret_in_a_text():
    counts = secrets("accuracy", None)
    for shown in (
        "7717",
        "7,717 right",
        "12,7717,9",
        "[7717]",
        "x=7717.0",
        f"{7717 / M:.7f}",
        f"({7717 / M})",
    ):
        assert found_in_text(f"of them: {shown}.", counts), shown
    for shown in ("0.0077171", "77170", "17717", "1e-7", "loky-37717"):
        assert not found_in_text(f"took {shown} s", counts), shown


SETTINGS = [
    dict(),
    dict(n_jobs=2),
    dict(fail="predict"),
    dict(fail="fit"),
    dict(refit=False),
    dict(scoring="neg_brier_score"),
    dict(scoring=make_private_scorer("neg_log_loss")),
    dict(scoring="roc_auc"),
    dict(groups=True),
    dict(strategy=WorstCase("public")),
    dict(strategy=WorstCase("private")),
    dict(strategy=WorstCase("both"), n_jobs=2),
    dict(strategy=WorstCase("private"), fail="fit"),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: str(s)[:40])
@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.filterwarnings("always")
def test_nothing_raw_is_kept_printed_or_logged(settings, backend, capfd, caplog, recwarn):
    settings = dict(settings)
    groups = np.arange(M) if settings.pop("groups", False) else None
    scoring = settings.get("scoring", "accuracy")
    counts = secrets(scoring, settings.get("fail"))
    if settings.get("fail") == "predict":
        counts |= {c - 1 for c in counts}
    caplog.set_level(logging.DEBUG)
    public, protected = data()
    search = search_of(verbose=10, **settings)
    get_reusable_executor().shutdown()  # workers of another test print to where that looked
    with joblib.parallel_config(backend):
        search.fit(**public, **protected, groups_val=groups)

    assert not found_in(vars(search), counts)
    assert b"Sensitive" not in pickle.dumps(search)
    text = io.StringIO()
    for shown in (repr(search), str(search), search._repr_html_(), str(search.privacy_)):
        print(shown, file=text)
    for shown in (search.privacy_._repr_html_(), repr(vars(search)), str(search.cv_results_)):
        print(shown, file=text)
    captured = capfd.readouterr()
    shown = text.getvalue() + captured.out + captured.err + caplog.text
    shown += "".join(str(w.message) for w in recwarn)
    assert not found_in_text(shown, counts)
    assert "which" in captured.out, "verbose=10 says something"
    if scoring != "roc_auc":  # whose released score may be any ratio
        pickled = pickle.loads(pickle.dumps(search))
        assert not found_in(vars(pickled), counts)
        raw = pickle.dumps(search)
        assert not [c for c in counts if c > 4096 and c.to_bytes(8, "little") in raw]


def frames_of(error):
    """All that a debugger could show of an exception: frames, their callers, causes, contexts.

    Frames of this file and of the test runner, which know the counts themselves, are left out.
    """
    seen = {}
    while error is not None:
        for frame, _line in traceback.walk_tb(error.__traceback__):
            while frame is not None and not frame.f_code.co_name.startswith("test_"):
                if frame.f_code.co_filename != __file__:
                    seen[id(frame)] = dict(frame.f_locals)
                frame = frame.f_back
        seen[id(error)] = (error.args, getattr(error, "__notes__", []))
        error = error.__cause__ or error.__context__
    return list(seen.values())


@pytest.mark.parametrize("fail", ["interrupt", "fit"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("guidance", [None, "private"])
def test_an_exception_holds_no_raw_score(fail, n_jobs, guidance):
    public, protected = data()
    params = dict(error_score="raise") if fail == "fit" else {}
    if guidance:  # a batch at a time: what fails comes after others have been counted and drawn by
        params["strategy"] = WorstCase(guidance, batch_size=1)
    search = search_of(fail=fail, n_jobs=n_jobs, **params)
    with pytest.raises((KeyboardInterrupt, RuntimeError)) as caught:
        search.fit(**public, **protected)
    counts = secrets("accuracy", None)
    seen = frames_of(caught.value)
    assert seen
    assert not found_in(seen, counts)
    text = "".join(traceback.format_exception(caught.value))
    assert not found_in_text(text, counts)


def test_an_interrupt_after_draws_holds_no_raw_score_and_sets_nothing():
    class Late(Known):
        calls = 0

        def predict(self, X):
            Late.calls += len(X) > 1000
            if Late.calls == 10:
                raise KeyboardInterrupt
            return super().predict(X)

    public, protected = data()
    search = search_of(strategy=WorstCase("private", batch_size=1))
    search.estimator = Late()
    with pytest.raises(KeyboardInterrupt) as caught:
        search.fit(**public, **protected)
    seen = frames_of(caught.value)
    assert any("_select" in str(frame) or "PrivateGuide" in str(frame) for frame in seen)
    assert not found_in(seen, secrets("accuracy", None))
    assert not hasattr(search, "best_params_")


@pytest.mark.filterwarnings("error::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_warning_made_an_error_holds_no_raw_score(n_jobs):
    public, protected = data()
    with pytest.raises(FitFailedWarning) as caught:
        search_of(fail="fit", n_jobs=n_jobs).fit(**public, **protected)
    seen = frames_of(caught.value)
    assert seen
    assert not found_in(seen, secrets("accuracy", "fit"))


@pytest.mark.filterwarnings("ignore")
def test_no_raw_count_survives_anywhere_after_the_fit():
    """Not even unreachable from the search: no live int64 array holds the counts."""
    public, protected = data()
    search_of().fit(**public, **protected)
    gc.collect()
    rest = [o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.size == len(COUNTS)]
    assert not [o for o in rest if sorted(o.ravel().tolist()) == sorted(COUNTS.values())]

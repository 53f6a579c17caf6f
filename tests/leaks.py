"""Validation sets with recognisable raw scores, and functions that look for these scores.

The validation set has a size for which every count of correct predictions is a number that hardly
occurs by accident. Tests look for the counts, and for the scores that they make, as numbers and in
text. The noise is much larger than those numbers, so that no released score passes for a raw one.
"""

import re
import signal
import traceback
import types
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.privacy.sensitive import Secret, Sensitive

TESTS = Path(__file__).parent
M = 15_485_863 // 1000  # 15,485
# Correct predictions of each candidate: recognisable, and far from each other.
COUNTS = {0: 7_717, 1: 9_311, 2: 12_923, 3: 4_243}
# Noise of millions of counts: a released number equals a raw one once in 100,000 runs.
EPSILON = 1e-7


class Known(ClassifierMixin, BaseEstimator):
    """Predicts ``COUNTS[which]`` validation records right; the first feature is the row number."""

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
        if len(X) >= M and self.fail == "interrupt" and self.which == 2:
            signal.raise_signal(signal.SIGINT)
        if self.fail == "predict" and (X[:, 0] == M - 1).any():
            raise RuntimeError(f"{(X[:, 0] < COUNTS[self.which]).sum()} of {len(X)}")
        return (X[:, 0] < COUNTS[self.which]).astype(int)

    def predict_proba(self, X):
        p = self.predict(X)
        return np.stack([1 - p, p], axis=1).astype(float)


def data():
    """Return the arguments of `fit` for the training set and for the validation set."""
    train = np.stack([np.linspace(0, M, 40), np.zeros(40)], axis=1)
    val = np.stack([np.arange(M), np.zeros(M)], axis=1)
    return dict(X=train, y=np.arange(40) % 2), dict(X_val=val, y_val=np.ones(M, dtype=int))


def secrets(scoring, fail):
    """Return the raw counts that must not be found."""
    counts = [c for which, c in COUNTS.items() if not (fail == "fit" and which == 3)]
    return {*counts, *(M - c for c in counts)} if scoring == "accuracy" else {*counts}


def search_of(**params):
    """Return a search over `Known`."""
    grid = {"which": list(COUNTS)}
    # Guided: a space too large to be evaluated whole, noise of 12 counts. That is 0 in one draw of
    # thirty, and the released score then is the raw one: tests that look for it are seeded.
    if "strategy" in params:
        grid["letter"] = list("abcdefghijklmnopqrstuvwxyz")
        params = dict(epsilon=0.2, n_iter=16, random_state=0) | params
    params = dict(epsilon=EPSILON, n_iter=4, prediction="together") | params
    return PrivateBayesSearchCV(Known(fail=params.pop("fail", None)), grid, **params)


def numbers_of(counts):
    """Return the counts, the scores that they make, and these scores less one."""
    scores = {c / M for c in counts}
    return counts | scores | {s - 1 for s in scores}


def found_in_text(text, counts):
    """Return the secrets among the numbers of a text.

    Digits inside a longer number or word do not count: a fit time of 0.0077171 s, or the address
    of an object (0x7fd6174ab), contains the digits of a count by accident.
    """
    without_separators = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    numbers = re.findall(r"(?<![\w.])\d+(?:\.\d+)?", f"{text} {without_separators}")
    scores = tuple(repr(c / M)[:9] for c in counts)
    whole = {str(c) for c in counts}
    return [n for n in numbers if n.partition(".")[0] in whole or n.startswith(scores)]


def walk(thing, seen, depth=0):
    """Yield everything reachable from an object through attributes, containers and arrays.

    The walk does not enter a `Sensitive` or `Secret`: `core/test_sensitive.py` tests that they
    cannot be read, and other tests look for kept ones.
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
    """Return the numbers reachable from an object that equal a raw count or score."""
    wanted = np.array(sorted(numbers_of(counts)))
    numbers = [float(v) for v in walk(thing, {}) if is_number(v)]
    return [v for v in numbers if np.abs(wanted - v).min() < 1e-9]


def is_of_tests(frame):
    """Whether a frame runs code of these tests, which contain the counts themselves."""
    return TESTS in Path(frame.f_code.co_filename).parents


def frames_of(error):
    """Return what a debugger could show of an exception: frames, their callers, causes, contexts.

    Frames of tests and their callers (the test runner) are left out: tests know the counts.
    """
    seen = {}
    while error is not None:
        for frame, _line in traceback.walk_tb(error.__traceback__):
            while frame is not None and not frame.f_code.co_name.startswith("test_"):
                if not is_of_tests(frame):
                    seen[id(frame)] = dict(frame.f_locals)
                frame = frame.f_back
        seen[id(error)] = (error.args, getattr(error, "__notes__", []))
        error = error.__cause__ or error.__context__
    return list(seen.values())

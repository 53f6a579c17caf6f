"""Kills, full disks, errors and interrupts at any place.

In all cases a ledger is never overspent; nothing is released (no fitted attribute, no line)
without a durable charge before it; no raw validation score is in an exception.

Processes that are killed run in a helper process: this file as a script, which imports everything
once and forks. Counts are printed (``-n 0 -s``).
"""

import ast
import contextlib
import gc
import itertools
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from interrupting import no_signal_is_handled
from leaks import (
    COUNTS,
    EPSILON,
    Known,
    M,
    data,
    found_in,
    found_in_text,
    frames_of,
    search_of,
    secrets,
)
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import ShuffleSplit

import sklearn_dpbo
from sklearn_dpbo import (
    PrivacyLedger,
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
)
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.privacy import mechanisms
from sklearn_dpbo.privacy import suppress_output as suppress_output
from sklearn_dpbo.strategies import WorstCase
from sklearn_dpbo.testing import seeded_noise

SLOW, SOAK = pytest.mark.slow, pytest.mark.soak
HERE = Path(__file__).parent
TESTS, ROOT = HERE.parent, HERE.parents[1]
PACKAGE = str(Path(sklearn_dpbo.__file__).parent)
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
]


# ---------------------------------------------------------------- a helper process


class Cut(ClassifierMixin, BaseEstimator):
    """Predicts whether the first column exceeds a; its fit takes next to no time."""

    def __init__(self, a=0.5):
        self.a = a

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] > self.a).astype(int)


def small_search(ledger, epsilon=0.1):
    return PrivateBayesSearchCV(Cut(), {"a": [0.2, 0.5, 0.8]}, epsilon=epsilon, ledger=ledger,
                                prediction="together")  # fmt: skip


def fit_small(ledger, **params):
    X = np.linspace(0, 1, 20)[:, None]
    y = (X[:, 0] > 0.4).astype(int)
    return small_search(ledger, **params).fit(X, y, X_val=X.copy(), y_val=y)


def helper(*args):
    """Run `kills` in a process of its own; return its result (by JSON)."""
    path = os.pathsep.join(map(str, [ROOT, TESTS, HERE]))
    done = subprocess.run(
        [sys.executable, __file__, *map(str, args)],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def fork(function, *args) -> int:
    """Run a function in a child of this process; return the process id."""
    sys.stdout.flush()
    if (child := os.fork()) != 0:
        return child
    try:
        function(*args)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def fit_until_refused(ledger, results):
    """Write a line after each released result."""
    with open(results, "a") as file:
        while True:
            try:
                score = fit_small(ledger).best_score_
            except BudgetExceededError:
                return
            file.write(f"{score}\n")
            file.flush()


def results_in(folder) -> int:
    return sum(path.read_bytes().count(b"\n") for path in Path(folder).glob("results*"))


# ---------------------------------------------------------------- kills


def kills(folder, n, seed):
    """Kill one of three processes that fit with one ledger, at a random moment, n times."""
    rng, n = random.Random(int(seed)), int(n)
    ledger = PrivacyLedger(f"{folder}/budget.db", "patients", n, create=True)
    children = [fork(fit_until_refused, ledger, f"{folder}/results{i}") for i in range(3)]
    idle = 0
    for k in range(n):
        time.sleep(rng.uniform(0.0, 0.06))
        while results_in(folder) < k // 6:  # a busy machine takes its time
            time.sleep(0.01)
        i = rng.randrange(3)
        os.kill(children[i], signal.SIGKILL)
        idle += os.waitpid(children[i], 0)[1] != signal.SIGKILL
        seen, history = results_in(folder), PrivacyLedger(ledger.path, "patients").history
        assert len(history) >= seen, f"{seen} results for {len(history)} charges"
        spent = sum(Fraction(str(entry["epsilon"])) for entry in history)
        assert spent == Fraction(len(history), 10) <= n
        children[i] = fork(fit_until_refused, ledger, f"{folder}/results{i}")
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    seen, charged = results_in(folder), len(ledger.history)
    return {"kills": n + 3, "idle": idle, "charges": charged, "results": seen}


@pytest.mark.parametrize("n", [pytest.param(20, marks=SLOW), pytest.param(80, marks=SOAK)])
def test_kill_costs_at_most_one_charge_and_nothing_is_released_without_one(tmp_path, n):
    counts = helper(tmp_path, n, 1)
    print("\nkilled:", counts)
    assert counts["kills"] >= n and counts["idle"] == 0
    assert counts["results"] <= counts["charges"] <= counts["results"] + counts["kills"]
    assert counts["results"] >= 3, "children released results"


# ---------------------------------------------------------------- what holds after any fault


@contextlib.contextmanager
def drawing():
    """Collect the draws that are made meanwhile."""
    drawn, draw = [], mechanisms._draw
    mechanisms._draw = lambda *args: drawn.append(1) or draw(*args)
    try:
        yield drawn
    finally:
        mechanisms._draw = draw


@pytest.fixture
def new_ledger(tmp_path):
    """Return a function that opens a new ledger, by a copy of an empty one."""
    first = PrivacyLedger(
        tmp_path / "first.db", "patients", 100, 1e-2, unit="row within 1", create=True
    )

    def make():
        return PrivacyLedger(shutil.copy(first.path, tmp_path / "copy.db"), "patients")

    return make


def outcome_of(estimator, run, ledger, counts):
    """Run a fit that may fail; assert what must hold afterwards; return how it ended."""
    error, stdout = None, sys.stdout
    with drawing() as drawn:
        try:
            run(estimator)
        except BaseException as raised:
            error = raised
        finally:
            sys.settrace(None)
    assert sys.stdout is stdout and suppress_output._suppression.depth == 0, "still suppressed"
    assert gc.isenabled()
    fitted = [name for name in vars(estimator) if name.endswith("_")]
    charges = len(ledger.history)
    assert charges <= 1
    assert charges or not drawn, "drawn and not charged"
    assert charges == 1 or not fitted, "released and not charged"
    assert error is not None or fitted
    ledger.charge(0.001, what="afterwards")  # it is not locked, though `error` keeps frames
    if error is not None and counts:
        assert not found_in(frames_of(error), counts), repr(error)
        assert not found_in_text("".join(traceback.format_exception(error)), counts)
    return error, bool(fitted), charges, len(drawn)


# ---------------------------------------------------------------- errors at every stage

FAULT = {"stage": None, "kind": None, "seen": 0, "large": 0}


def fault(stage, *, at=1):
    """Raise the planted error the n-th time that this stage is reached."""
    if FAULT["stage"] == stage:
        FAULT["seen"] += 1
        if FAULT["seen"] == at:
            raise FAULT["kind"]("a planted fault")


class Faulty(Known):
    """Predicts as `Known`; fails at the planted stage."""

    def __sklearn_clone__(self):
        fault("clone", at=4)
        return super().__sklearn_clone__()

    def set_params(self, **params):
        fault("set_params", at=3)
        return super().set_params(**params)

    def fit(self, X, y):
        fault("first fit")
        fault("third fit", at=3)
        return super().fit(X, y)

    def predict(self, X):
        fault("probe")  # the first prediction is of public rows
        if len(X) >= M:
            FAULT["large"] += 1
            fault("predict", at=2)
        return super().predict(X)


def faulty_gain(y, response):
    fault("gain of a probe")
    if FAULT["large"] >= 2:  # the first large batch is one of the check
        fault("gain", at=2)
    return (y == response).astype(float)


class FaultySplit(ShuffleSplit):
    def split(self, X, y=None, groups=None):
        fault("split")
        return super().split(X, y, groups)


class FaultyPoints(list):
    def __iter__(self):
        fault("initial points", at=2)
        return super().__iter__()


STAGES = {
    "clone": {}, "set_params": {}, "first fit": {}, "third fit": {}, "probe": {}, "predict": {},
    "gain of a probe": {}, "gain": {},
    "split": dict(guidance="public"),
    "initial points": dict(guidance="none"),
}  # fmt: skip
FAILED_FITS = ("first fit", "third fit", "probe", "gain of a probe")
KINDS = [RuntimeError, KeyboardInterrupt, SystemExit]


def faulty_search(ledger, stage, guidance=None, **params):
    if guidance is not None:
        cut = FaultySplit(1, test_size=0.4, random_state=0)
        params["strategy"] = WorstCase(
            guidance,
            public_cv=cut,
            initial_points=FaultyPoints([{"which": 0, "letter": "a"}]),
        )
    if "gain" in stage:
        params["scoring"] = make_private_scorer(faulty_gain, bounds=(0, 1))
    search = search_of(ledger=ledger, **params)
    search.estimator = Faulty()
    return search


@pytest.mark.first(3)
@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        pytest.param(stage, kind, marks=pytest.mark.slow if i % 4 else ())
        for i, (stage, kind) in enumerate(itertools.product(STAGES, KINDS))
    ],
)
def test_error_at_any_stage_keeps_ledger_and_reveals_no_raw_score(stage, kind, new_ledger):
    for error_score in (np.nan, "raise"):
        FAULT.update(stage=stage, kind=kind, seen=0, large=0)
        ledger = new_ledger()
        search = faulty_search(ledger, stage, error_score=error_score, **STAGES[stage])
        public, protected = data()
        try:
            counts = secrets("gain" if "gain" in stage else "accuracy", None)
            error, fitted, charges, _ = outcome_of(
                search, lambda s: s.fit(**public, **protected), ledger, counts
            )
        finally:
            FAULT.update(stage=None)
        assert FAULT["seen"] > 0, "the stage was reached"
        # A search goes on only if one candidate's fit or one record's prediction fails.
        if stage in ("predict", "gain"):
            assert fitted
        elif stage in FAILED_FITS and error_score != "raise":
            assert fitted == issubclass(kind, Exception)
        else:
            assert isinstance(error, kind) and not fitted
        assert charges == fitted


# ---------------------------------------------------------------- interrupts at any line


def may_be_interrupted(frame) -> bool:
    """Whether a signal is to arrive at this line, and what it does need not be excused."""
    cleanup = frame.f_lineno in lines_of_cleanup(frame.f_code.co_filename)
    return not (cleanup or no_signal_is_handled(frame))


@cache
def lines_of_cleanup(path) -> set[int]:
    """Return the lines of `finally` and `except`, which can be interrupted as well.

    Python code cannot prevent that in general. Afterwards the ledger may stay locked for this
    process, so that nothing more can be charged or drawn; or logging stay switched off.
    """
    blocks = []
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if isinstance(node, ast.Try):
            blocks += [*node.finalbody, *node.handlers]
    return {line for block in blocks for line in range(block.lineno, block.end_lineno + 1)}


class Lines:
    """A trace function that counts executed lines of the package; sends SIGINT at the k-th."""

    def __init__(self, k=None):
        self.k = k
        self.places = []

    def __call__(self, frame, event, arg):
        return self._line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def _line(self, frame, event, arg):
        if event == "line" and may_be_interrupted(frame):
            self.places.append((frame.f_code.co_filename[len(PACKAGE) + 1 :], frame.f_lineno))
            if len(self.places) == self.k:
                signal.raise_signal(signal.SIGINT)
        return self._line


def run_search(search):
    public, protected = data()
    search.fit(**public, **protected)


def fits(name, ledger):
    """Return an estimator, a function that fits it, and the numbers that must not be found."""
    counts = secrets("accuracy", None)
    if name in ("none", "public"):
        params = {} if name == "none" else {"strategy": WorstCase(name, batch_size=4)}
        return search_of(ledger=ledger, **params), run_search, counts
    tuned = PrivateThresholdClassifier(
        Known(1), epsilon=EPSILON, scoring="accuracy", thresholds=64, ledger=ledger,
        prediction="together",
    )  # fmt: skip
    return tuned, run_search, {COUNTS[1], M - COUNTS[1]}


@pytest.mark.skipif(sys.gettrace() is not None, reason="another tool, such as coverage, traces")
@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("none", 4),
        *(pytest.param(name, 8, marks=SLOW) for name in ("none", "public", "threshold")),
        *(pytest.param(name, 60, marks=SOAK) for name in ("none", "public", "threshold")),
    ],
)
def test_interrupt_at_any_line_keeps_ledger_and_reveals_no_raw_score(name, n, new_ledger):
    """Half of the places are drawn among all executed lines, half among distinct lines."""

    def interrupted_at(k):
        ledger = new_ledger()
        estimator, run, counts = fits(name, ledger)
        lines = Lines(k)

        def traced(estimator):
            stdout = sys.stdout
            with seeded_noise(0):  # which is not 0: the released score would be the raw one
                sys.settrace(lines)
                try:
                    run(estimator)
                finally:
                    sys.settrace(None)
                    # An interrupt within a line that switches output may leave it off.
                    for shared in (suppress_output._suppression, suppress_output._redirection):
                        shared.depth = 0
                        shared._stack.close()
                    sys.stdout = stdout

        return lines.places, outcome_of(estimator, traced, ledger, counts)

    interrupted_at(None)  # imports and caches run in the first fit only
    places, (error, fitted, charges, _) = interrupted_at(None)
    assert error is None and fitted and charges == 1
    rng = random.Random(n)
    different = list({place: k for k, place in enumerate(places, 1)}.values())
    chosen = rng.sample(range(1, len(places) + 1), n // 2)
    chosen += rng.sample(different, min(n - n // 2, len(different)))
    ends = Counter()
    for k in chosen:
        where, (error, fitted, charges, drawn) = interrupted_at(k)
        if len(where) < k:
            ends["not reached"] += 1
        elif error is None:
            ends["swallowed, and fitted"] += 1
        else:
            assert type(error) is KeyboardInterrupt, (where[-1], error)
            ends["fitted" if fitted else "drawn" if drawn else "charged" * charges or "free"] += 1
    print(f"\n{name}: {len(places)} lines, {len(different)} different; {dict(ends)}")
    assert ends["not reached"] + ends["swallowed, and fitted"] <= len(chosen) / 4


def test_interrupt_inside_a_suppression_is_raised_there_and_restores_output():
    def state():
        streams, filters = (sys.stdout, sys.stderr), list(warnings.filters)
        return streams, filters, logging.root.manager.disable, random.getstate()

    reached, before = [], state()
    with pytest.raises(KeyboardInterrupt), suppress_output.suppress_output():
        signal.raise_signal(signal.SIGINT)
        reached.append("later")
    assert not reached and state() == before


if __name__ == "__main__":
    print(json.dumps(kills(*sys.argv[1:])))

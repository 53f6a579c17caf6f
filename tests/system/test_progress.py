"""Callbacks and progress bars receive what is public of a search, in order, and nothing else."""

import sys
import threading
from importlib.util import find_spec
from typing import ClassVar

import joblib
import numpy as np
import pytest
from leaks import (
    COUNTS,
    Known,
    M,
    data,
    found_in,
    found_in_text,
    frames_of,
    is_number,
    is_of_tests,
    search_of,
    secrets,
    walk,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from test_kusner2015 import NOISY, known_data
from test_kusner2015 import search_of as gp_search_of

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV
from sklearn_dpbo.papers.kusner2015 import GPNoisy
from sklearn_dpbo.prediction import progress
from sklearn_dpbo.prediction.progress import CallbackSupportMixin, with_callbacks
from sklearn_dpbo.strategies import WorstCase

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn_dpbo.exceptions.GuaranteeAssumptionWarning"
)
has_callbacks = find_spec("sklearn.callback") is not None
needs_callbacks = pytest.mark.skipif(not has_callbacks, reason="scikit-learn before 1.9")


CANDIDATE, REFIT = "candidate-split-evaluation", "refit-with-best-params"


class Spy:
    """A callback that keeps its arguments and the local variables of all frames that call it."""

    def __init__(self, raises=None, at=None, asks_to_stop=False):
        self.events, self.frames, self.raises, self.at = [], [], raises, at
        self.asks_to_stop = asks_to_stop

    def record(self, hook, estimator, context, **facts):
        self.events.append((hook, context.task_name, context.task_id, facts, estimator, context))
        frame = sys._getframe(2)
        while frame is not None and not frame.f_code.co_name.startswith("test_"):
            if not is_of_tests(frame):
                self.frames.append(dict(frame.f_locals))
            frame = frame.f_back
        if (hook, context.task_name) == self.at:
            raise self.raises

    def setup(self, estimator, context):
        self.record("setup", estimator, context)

    def teardown(self, estimator, context):
        self.record("teardown", estimator, context)

    def on_fit_task_begin(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        facts = dict(X=X, y=y, metadata=metadata, fitted_estimator=fitted_estimator)
        self.record("begin", estimator, context, **facts)

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        facts = dict(X=X, y=y, metadata=metadata, fitted_estimator=fitted_estimator)
        self.record("end", estimator, context, **facts)
        return self.asks_to_stop

    def of(self, hook, task):
        return [event for event in self.events if event[:2] == (hook, task)]

    @property
    def order(self):
        return [event[:3] for event in self.events]

    @property
    def given(self):
        """All objects reachable from its arguments; without those of the frames."""
        return [*walk([event[3:] for event in self.events], {id(self): self})]

    @property
    def leaks(self):
        """Raw scores among the arguments or in the frames, as numbers or in texts."""
        counts = secrets("accuracy", None)
        things = [*self.given, *walk(self.frames, {id(self): self})]
        in_texts = [found_in_text(thing, counts) for thing in things if isinstance(thing, str)]
        return found_in([t for t in things if is_number(t)], counts) + sum(in_texts, [])

    @property
    def tables(self):
        """Tables of validation records among the arguments."""
        return [a for a in self.given if isinstance(a, np.ndarray) and a.size >= M]


BACKENDS = [
    ("sequential", 1),
    *(pytest.param(name, 2, marks=pytest.mark.slow) for name in ("loky", "threading", "pool")),
]


# ------------------------------------------------------------ what callbacks receive, and when
@needs_callbacks
@pytest.mark.parametrize(("backend", "n_jobs"), BACKENDS)
def test_callbacks_are_called_for_each_fit_and_for_no_prediction(n_jobs, backend):
    public, protected = data()
    spy = Spy()
    search = search_of(n_jobs=n_jobs, fail="fit", refit=True)
    with joblib.parallel_config(backend), pytest.warns(match="1 of 4 candidates failed"):
        search.set_callbacks(spy).fit(**public, **protected)
    fits = [(hook, CANDIDATE, i) for i in range(4) for hook in ("begin", "end")]
    refit = [(hook, REFIT, 1) for hook in ("begin", "end")]
    assert spy.order == [
        ("setup", "fit", 0), ("begin", "fit", 0), ("begin", "search", 0), *fits,
        ("end", "search", 0), *refit, ("end", "fit", 0), ("teardown", "fit", 0),
    ]  # fmt: skip
    assert all(not any(facts.values()) for _, _, _, facts, _, _ in spy.events)
    assert len({event[-1].init_time for event in spy.events}) == 1
    assert spy.events[-2][4].best_params_ == search.best_params_, (
        "the search is fitted when the last hook is called"
    )
    assert not [name for name in vars(search) if name.startswith("_callback")]


@needs_callbacks
@pytest.mark.parametrize("refit", [True, False])
def test_tasks_are_those_of_grid_search(refit):
    def path(task):
        return [] if task is None else [*path(task.parent), task.task_name]

    def tasks_of(spy):
        totals = {event[1]: event[-1].max_subtasks for event in spy.events}
        return [(event[0], path(event[-1])) for event in spy.events], totals

    public, protected = data()
    ours, theirs = Spy(), Spy()
    search = search_of(refit=refit)
    search.set_callbacks(ours).fit(**public, **protected)
    grid = GridSearchCV(search.estimator, search.param_grid, cv=ShuffleSplit(1), refit=refit)
    grid.set_callbacks(theirs).fit(**public)
    assert tasks_of(ours) == tasks_of(theirs)


@pytest.mark.first(1)
@needs_callbacks
@pytest.mark.parametrize("guidance", ["none", "public"])
def test_callbacks_hear_of_every_fit_with_every_guidance(guidance, seeded):
    public, protected = data()
    spy = Spy()
    search_of(strategy=WorstCase(guidance, public_scores="none")).set_callbacks(spy).fit(
        **public, **protected
    )
    assert len(spy.of("end", CANDIDATE)) == 16
    assert not spy.leaks and not spy.tables


@needs_callbacks
def test_secret_candidates_are_not_reported_to_callbacks():
    """Only the first candidate is public."""
    spy, inner = Spy(), Spy()
    search = gp_search_of(GPNoisy(**NOISY), estimator=WatchedPath(), n_iter=8)
    search.estimator.set_callbacks(inner)
    search.set_callbacks(spy).fit(**known_data())
    assert len(spy.of("end", CANDIDATE)) == 1
    assert len([event for event in inner.events if event[0] == "setup"]) == 1


# ------------------------------------------------------------ no raw scores
@needs_callbacks
@pytest.mark.parametrize(
    ("backend", "n_jobs", "params"),
    [
        ("sequential", 1, dict(fail="fit")),
        ("threading", 2, dict(fail="predict")),
        pytest.param("loky", 2, {}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_callbacks_and_their_frames_receive_no_raw_score(n_jobs, backend, params):
    public, protected = data()
    spy = Spy()
    search = search_of(n_jobs=n_jobs, **params).set_callbacks(spy)
    with joblib.parallel_config(backend):
        search.fit(**public, **protected)
    assert len(spy.of("end", CANDIDATE)) >= 4
    assert spy.frames
    assert not spy.leaks and not spy.tables


class TheLast:
    def get_n_splits(self, X=None, y=None, groups=None):
        return 1

    def split(self, X, y=None, groups=None):
        yield np.arange(40), np.arange(40, 40 + M)


@needs_callbacks
def test_callbacks_do_not_receive_held_out_part_of_X():
    """X contains the validation records in this case."""
    public, protected = data()
    X = np.concatenate([public["X"], protected["X_val"]])
    y = np.concatenate([public["y"], protected["y_val"]])
    spy = Spy()
    search_of(cv=TheLast()).set_callbacks(spy).fit(X, y)
    assert not spy.leaks and not spy.tables


@needs_callbacks
def test_spy_detects_planted_raw_scores(monkeypatch):
    """The tests above must be able to fail: raw scores are planted."""
    public, protected = data()
    right = progress.Progress.fitted

    def in_words(self, params, fit, how):
        right(self, params, fit._replace(error=f"{COUNTS[0]} right"), how)

    def in_a_variable(self, params, fit, how):
        self.raw = COUNTS[0]
        right(self, params, fit, how)

    for planted in (in_words, in_a_variable):
        monkeypatch.setattr(progress.Progress, "fitted", planted)
        spy = Spy()
        search_of().set_callbacks(spy).fit(**public, **protected)
        assert spy.leaks


class Watched(CallbackSupportMixin, Known):
    """Has callbacks; keeps its predictions in attributes and reports them."""

    @with_callbacks
    def fit(self, X, y):
        context = self._init_callback_context()
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        super().fit(X, y)
        context.call_on_fit_task_end(
            estimator=self, X=X, y=y, reconstruction_attributes=lambda: {"classes_": self.classes_}
        )
        self.context = context
        return self

    def predict(self, X):
        self.labels = super().predict(X)
        self.right = int(self.labels.sum())
        for callback in getattr(self, "_skl_callbacks", []):
            callback.on_fit_task_end(self, self.context, X=X)
        return self.labels


class WatchedPath(CallbackSupportMixin, type(gp_search_of(GPNoisy(**NOISY)).estimator)):
    @with_callbacks
    def fit(self, X, y):
        self._init_callback_context()
        return super().fit(X, y)


@needs_callbacks
@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_callbacks_of_estimator_receive_training_records_only(backend):
    public, protected = data()
    spy = Spy()
    search = search_of(n_jobs=2)
    search.estimator = Watched().set_callbacks(spy)
    with joblib.parallel_config(backend):
        search.fit(**public, **protected)
    fits = [facts["X"] for hook, *_, facts, _, _ in spy.events if hook == "begin"]
    assert len(fits) == 4 and all(np.array_equal(X, public["X"]) for X in fits)
    assert not spy.tables
    numbers = [thing for thing in spy.given if is_number(thing)]
    assert not found_in(numbers, secrets("accuracy", None))


# ------------------------------------------------------------ exceptions
BEFORE = [("setup", "fit"), ("begin", "fit"), ("begin", CANDIDATE), ("end", CANDIDATE)]
AFTER = [("end", "search"), ("begin", REFIT), ("end", "fit"), ("teardown", "fit")]
CASES = [(RuntimeError, 1, at) for at in BEFORE + AFTER]
CASES += [(KeyboardInterrupt, 1, at) for at in (BEFORE[-1], AFTER[-1])]
# With workers only one hook: after an exception joblib kills them and starts new ones.
CASES += [
    pytest.param(kind, 2, ("end", CANDIDATE), marks=pytest.mark.slow)
    for kind in (RuntimeError, KeyboardInterrupt)
]


@pytest.mark.first(2)
@needs_callbacks
@pytest.mark.parametrize(("kind", "n_jobs", "at"), CASES)
def test_exception_in_callback_loses_no_charge_and_reveals_no_raw_score(
    kind, n_jobs, at, tmp_path, seeded
):
    raised = kind("no more")
    public, protected = data()
    ledger = PrivacyLedger(tmp_path / "budget.db", "records", 1.0, create=True)
    spy = Spy(raised, at)
    search = search_of(strategy=WorstCase("public"), n_jobs=n_jobs, ledger=ledger)
    search.set_callbacks(spy)
    with pytest.raises(kind) as caught:
        search.fit(**public, **protected)
    assert caught.value is raised
    assert bool(ledger.history) == (at not in BEFORE), "a draw needs a charge"
    notes = "".join(getattr(raised, "__notes__", []))
    assert "best_params_=" not in notes
    assert hasattr(search, "best_params_") == (at in AFTER)
    if (kind, at[0]) != (KeyboardInterrupt, "teardown"):  # scikit-learn does not catch it there
        assert not [name for name in vars(search) if name.startswith("_callback")]
    assert spy.order[-1] == ("teardown", "fit", 0)
    assert not spy.leaks and not spy.tables
    assert not found_in(frames_of(caught.value), secrets("accuracy", None))
    shown = [entry.name for entry in caught.traceback]
    assert at[0] in ("setup", "teardown") or f"on_fit_task_{at[0]}" in shown, (
        "the traceback shows the hook that raised"
    )


# ------------------------------------------------------------ scikit-learn's callbacks


@needs_callbacks
@pytest.mark.parametrize(
    ("backend", "n_jobs", "guidance"), [("sequential", 1, "none"), ("threading", 2, "public")]
)
def test_scikit_learn_progress_bar_shows_all_candidates(
    n_jobs, backend, guidance, monkeypatch, capsys
):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar, _progressbar

    monitors = []
    run = _progressbar.RichProgressMonitor.run
    monkeypatch.setattr(
        _progressbar.RichProgressMonitor, "run", lambda self: monitors.append(self) or run(self)
    )
    public, protected = data()
    strategy = WorstCase(guidance, public_scores="none")
    search = search_of(strategy=strategy, n_jobs=n_jobs).set_callbacks(ProgressBar())
    with joblib.parallel_config(backend):
        search.fit(**public, **protected)
    (monitor,) = monitors
    root, shown = monitor.root_rich_task, capsys.readouterr().out
    bar = root.children[0]
    assert bar.total == 16 and sorted(bar.children) == list(range(16))
    assert bar.progress == 1 and root.progress == 1
    assert "PrivateBayesSearchCV - fit" in shown and "PrivateBayesSearchCV - search #0" in shown


# ------------------------------------------------------------ verbose
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_lines_of_fits(capfd, n_jobs):
    public, protected = data()
    search_of(verbose=1, n_jobs=n_jobs).fit(**public, **protected)
    lines = [f"[{i + 1}/4] {{'which': {i}}}: fitted to be validated\n" for i in range(4)]
    assert capfd.readouterr() == ("".join(lines), "")


# ------------------------------------------------------------ thresholds


# ------------------------------------------------------------ where fits are made
class Where(LogisticRegression):
    """Remembers in which threads it was fitted and has predicted, and of how many records."""

    seen: ClassVar = []

    def fit(self, X, y):
        self.seen.append(("fit", threading.current_thread().name))
        return super().fit(X, y)

    def predict(self, X):
        self.seen.append((len(X), threading.current_thread().name))
        return super().predict(X)


@pytest.mark.parametrize("cheap", [True, False])
def test_cheap_fits_and_counts_stay_in_the_process(cheap, monkeypatch, two_classes):
    """Of the explored candidates, a first batch says how long a fit takes."""
    monkeypatch.setattr(progress, "_OVERHEAD", 1e9 if cheap else 0.0)
    X, y, X_val, y_val = two_classes
    grid = {"C": np.geomspace(0.1, 10, 40).tolist()}
    Where.seen.clear()
    search = PrivateBayesSearchCV(Where(), grid, n_iter=12, random_state=0, prediction="together")
    with joblib.parallel_config("threading", n_jobs=2):
        search.set_params(refit=False, strategy=WorstCase("public")).fit(
            X, y, X_val=X_val, y_val=y_val
        )
    main = threading.current_thread().name
    fits = [name == main for what, name in Where.seen if what == "fit"]
    counts = [name == main for what, name in Where.seen if what != "fit" and what >= len(y_val)]
    assert len(fits) == 12 and not any(fits[:2]) and any(fits[2:4]) == cheap
    assert len(counts) >= 8 and all(counts[-8:]) == cheap

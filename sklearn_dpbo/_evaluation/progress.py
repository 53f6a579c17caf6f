"""Progress bars, and scikit-learn's callbacks where it has them (zone: public).

What passes through here is public or released: how many settings are tried, which, and why a fit
failed. Callbacks hear of candidates in their order, whichever finishes first, and a bar shows
counts and no times; so *what* is told does not depend on the validation set, only *when* does.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Generator, Iterable
from functools import partial

from joblib.parallel import get_active_backend
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]  # the same name on purpose
        """There are no callbacks to set."""

    def with_callbacks(method):
        """Return the method: nothing is to be torn down."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "Progress",
    "as_they_finish",
    "call_hook",
    "progress_bar",
    "watched",
]

# No time, no rate: a notebook keeps what a bar has shown.
_FORMAT = "{l_bar}{bar}| {n_fmt}/{total_fmt}"


def progress_bar(steps: Iterable, total: int, what: str, *, shown: bool) -> Iterable:
    """Return the steps, with a bar while they are taken if it is to be `shown`.

    Raises
    ------
    ImportError
        If there is no library to draw it.
    """
    if not shown:
        return steps
    try:
        tqdm = _tqdm()
    except ImportError as error:
        raise ImportError(
            'a progress bar takes tqdm: pip install "sklearn_dpbo[progress]"'
        ) from error
    return tqdm(steps, total=total, desc=what)


def _tqdm():
    """Return the kind of bar that this place can show; ImportError if there is none."""
    with warnings.catch_warnings():  # of notebooks without ipywidgets, where it is made of text
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm
    return tqdm


def as_they_finish(function: Callable, tasks: list[tuple], n_jobs, pre_dispatch) -> Generator:
    """Yield (number, ``function(*task)``) of each task: all at the end, if joblib must wait."""
    backend, _ = get_active_backend()
    stepwise = getattr(backend, "supports_return_generator", False)
    found = Parallel(
        n_jobs=n_jobs,
        pre_dispatch=pre_dispatch,
        return_as="generator_unordered" if stepwise else "list",
    )(delayed(_numbered)(i, function, *task) for i, task in enumerate(tasks))
    try:
        for each in found:  # noqa: UP028 (`yield from` would close it, and be heard)
            yield each
    finally:
        if stepwise:
            with warnings.catch_warnings():  # of tasks that nobody waits for any more
                warnings.simplefilter("ignore")
                found.close()


def _numbered(i: int, function: Callable, *task):
    # Not a tuple of them: Dask looks for what it has among the arguments themselves.
    return i, function(*task)


@contextlib.contextmanager
def watched(estimator, n_steps: int, n_candidates: int | None = None, verbose: int = 0):
    """Set up an estimator's callbacks, and a bar if it is asked for; take them down at the end.

    Parameters
    ----------
    estimator : estimator
        Its callbacks are called with it.
    n_steps : int
        Of its fit.
    n_candidates : int or None
        If the first step is a search: the most candidates that it tries.
    verbose : int
        1 shows a bar, if there is tqdm to draw it.
    """
    with contextlib.ExitStack() as stack:
        stack.callback(_tear_down, estimator)
        bar = _bar(n_candidates) if n_candidates is not None and verbose == 1 else None
        if bar is not None:
            stack.callback(bar.close)
        progress = Progress(estimator, n_steps, n_candidates, bar, verbose)
        yield progress
        progress.end()


# scikit-learn offers what has to happen after a fit as a decorator only.
_tear_down = with_callbacks(lambda _estimator: None)


def _bar(total: int):
    """Return a bar, or None if there is nothing to draw one."""
    try:
        tqdm = _tqdm()
    except ImportError:
        return None
    # Drawn at each step: how often it is drawn should not tell how long the steps took.
    return tqdm(total=total, bar_format=_FORMAT, mininterval=0, miniters=1)


class Progress:
    """Tells those who asked how far a fit is. Without arguments, tells nobody.

    Parameters
    ----------
    estimator, n_steps, n_candidates, verbose
        As `watched` takes them.
    bar : tqdm or None
    """

    def __init__(self, estimator=None, n_steps=0, n_candidates=None, bar=None, verbose=0):
        self._estimator, self._bar, self._verbose = estimator, bar, verbose
        self._root, self._search, self._n_told = None, None, 0
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=n_steps)
            self._begin(self._root)
            if n_candidates is not None:
                self._search = self._within(self._root, "search", n_candidates)
                self._begin(self._search)

    # ------------------------------------------------------------ candidates
    def candidates(self, settings: tuple[dict, ...], task: str, what: str) -> _Candidates:
        """Say that these candidates are next; return what is to hear of each that is finished.

        Parameters
        ----------
        settings : tuple of dict
            Public, or released.
        task : str
            A name for callbacks.
        what : str
            What is done with ``{}``, in words.
        """
        self._n_told += len(settings)  # fits that settle a timeout come on top of n_candidates
        if self._bar is not None:
            self._bar.total = max(self._bar.total, self._n_told)
            self._bar.set_description(what.format("candidates"))
        elif self._verbose > 0:
            print(what.format(f"{len(settings)} candidates"))
        if self._search is None:
            return _Candidates(self, [])
        self._search.max_subtasks = max(self._search.max_subtasks, self._n_told)
        told = [(self._within(self._search, task), setting) for setting in settings]
        for context, setting in told:
            self._begin(context, metadata=partial(_facts, setting))
        return _Candidates(self, told)

    def searched(self) -> None:
        """Say that there are no more candidates (fewer, perhaps, than there could have been)."""
        if self._bar is not None and (n := self._bar.n) < self._bar.total:
            self._bar.reset(n)
            self._bar.update(n)
        if self._search is not None:
            self._end(self._search)

    def advance(self) -> None:
        """Say that one more candidate is finished, whichever it is."""
        if self._bar is not None:
            self._bar.update()

    # ------------------------------------------------------------ steps
    @contextlib.contextmanager
    def step(self, task: str, hand_to=None):
        """Say that a step of the fit begins, and that it has ended.

        Parameters
        ----------
        task : str
        hand_to : estimator or None
            Is given those callbacks that are meant for the estimators inside too.
        """
        if self._root is None:
            yield
            return
        context = self._within(self._root, task)
        with contextlib.ExitStack() as stack:
            if hand_to is not None:
                stack.enter_context(context.propagate_callback_context(hand_to))
            self._begin(context)
            yield
        self._end(context)

    def end(self) -> None:
        """Say that the fit has ended well."""
        if self._root is not None:
            self._end(self._root)

    # ------------------------------------------------------------ contexts
    def _within(self, parent, task: str, n: int = 0):
        context = parent.subcontext(task_name=task, max_subtasks=n)
        # Some begin after the validation set was used: when is not to be kept with them.
        context.init_time = parent.init_time
        return context

    def _begin(self, context, **facts) -> None:
        call_hook(context.call_on_fit_task_begin, estimator=self._estimator, **facts)

    def _end(self, context, **facts) -> None:
        # What callbacks return, "stop", is not heeded: they have a clock.
        call_hook(context.call_on_fit_task_end, estimator=self._estimator, **facts)


class _Candidates:
    """Some candidates of a search, which finish in any order and are told of in theirs."""

    def __init__(self, progress: Progress, told: list):
        self._progress, self._told = progress, told
        self._errors: dict[int, str | None] = {}
        self._next = 0

    def finished(self, i: int, error: str | None) -> None:
        """Say that candidate i is finished, or why its fit failed; what is said twice counts once.

        Where fits are kept, candidates are finished when they are fitted.
        """
        if i in self._errors:
            return
        self._progress.advance()
        self._errors[i] = error
        while self._next < len(self._told) and self._next in self._errors:
            context, setting = self._told[self._next]
            error = self._errors[self._next]
            self._next += 1
            self._progress._end(context, metadata=partial(_facts, setting, fit_error=error))


def _facts(setting: dict, **rest) -> dict:
    """Return a setting as a copy: whoever writes into it must not change what is tried."""
    return {"params": {k: clone(v, safe=False) for k, v in setting.items()}, **rest}


def call_hook(hook: Callable, **facts) -> None:
    """Call a hook of callbacks: what a traceback shows from here on is the user's."""
    hook(**facts)

"""Progress bars, and scikit-learn's callbacks where it has them (zone: public).

What passes through here is public or released: how many candidates are tried, which, and why a fit
failed. Callbacks hear of candidates in their order, whichever finishes first, and a bar shows
counts but no times. So *what* they hear does not depend on the validation set, only *when* does.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from typing import Any

from joblib.parallel import get_active_backend
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from .broadcast import Broadcast
from .shared_context import without_warnings
from .workers import begun, limited, limited_results

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]  # the same name on purpose
        """There are no callbacks to set."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method: there is nothing to tear down."""
        return method


__all__ = [
    "CallbackSupportMixin",
    "Listener",
    "Progress",
    "as_they_finish",
    "call_hook",
    "progress_bar",
    "watched",
]

# Callbacks of searches that have predicted protected records: by identity, while they live; and
# those that cannot be referred to weakly, for ever.
_after_validation: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_after_validation_kept: dict[int, Any] = {}
# Seconds to wait for a task before joblib is left to look for results.
_PROMPT = 0.1
# No time, no rate: a notebook keeps what a bar has shown.
_FORMAT = "{l_bar}{bar}| {n_fmt}/{total_fmt}"


def progress_bar(steps: Iterable[Any], total: int, what: str, *, shown: bool) -> Iterable[Any]:
    """Return the steps, with a bar while they are taken if `shown`.

    Raises
    ------
    ImportError
        If no library is installed that draws it.
    """
    if not shown:
        return steps
    try:
        tqdm = _tqdm()
    except ImportError as error:
        raise ImportError(
            'a progress bar takes tqdm: pip install "sklearn_dpbo[progress]"'
        ) from error
    bar: Iterable[Any] = tqdm(steps, total=total, desc=what)
    return bar


def _tqdm() -> Any:
    """Return the kind of bar that fits a terminal or a notebook; ImportError without tqdm."""
    with without_warnings():  # of notebooks without ipywidgets, which get a bar of text
        from tqdm.auto import tqdm
    return tqdm


class _PromptParallel(Parallel):
    """Can wait for the end of a task, which joblib looks for every 10 ms: a small fit takes less.

    Of tasks that fail only joblib hears.
    """

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._ended = threading.Event()

    def print_progress(self) -> None:
        """Say that a task has ended; joblib calls this, perhaps in another thread."""
        self._ended.set()
        super().print_progress()

    def wait_for(self, n: int) -> None:
        """Return when n tasks have ended, after a while, or if fewer were begun."""
        self._ended.clear()
        if self.n_completed_tasks < n <= self.n_dispatched_tasks:
            self._ended.wait(_PROMPT)


def as_they_finish(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    pre_dispatch: Any,
    sent: Broadcast,
    secret: bool = False,
    limit: float | None = None,
) -> Generator[Any, None, None]:
    """Yield ``function(*task)`` of each task as it finishes; all at the end if joblib must wait.

    Parameters
    ----------
    function : callable
        What tasks call.
    tasks : iterable of tuple
        Its arguments.
    n_jobs, pre_dispatch
        As joblib takes them.
    sent : Broadcast
        What all tasks have among their arguments.
    secret : bool, default=False
        Then joblib does not print how many there are, even if it has been told to be verbose.
    limit : float or None, default=None
        Seconds after which a task is ended with its process; see `check_backend`.

    Raises
    ------
    TimeoutError
        If a task was ended.
    """
    backend, _ = get_active_backend()
    stepwise = getattr(backend, "supports_return_generator", False)
    parallel = _PromptParallel(
        n_jobs=n_jobs,
        pre_dispatch=pre_dispatch,
        return_as="generator_unordered" if stepwise else "list",
        **({"verbose": 0} if secret else {}),
    )
    if limit is not None:
        function = limited(function, limit)

    def start() -> Any:
        return parallel(delayed(function)(*task) for task in tasks)

    if not stepwise:
        yield from start()
        return
    with begun(start) as found:
        results = found if limit is None else limited_results(found, limit)
        for n in itertools.count(1):
            # joblib takes back memory maps, and waits 100 ms if a worker holds them yet.
            if not sent.mapped:
                parallel.wait_for(n)
            try:
                yield next(results)  # not a variable: callbacks can inspect frames
            except StopIteration:
                return


@contextlib.contextmanager
def watched(
    estimator: Any, n_steps: int, n_candidates: int | None = None, verbose: int = 0
) -> Iterator[Progress]:
    """Set up an estimator's callbacks, and a bar if it is asked for; take them down at the end.

    Parameters
    ----------
    estimator : estimator
        Its callbacks are called with it.
    n_steps : int
        How many steps its fit has.
    n_candidates : int or None
        If the first step is a search, the most candidates that it tries.
    verbose : int
        1 shows a bar, if tqdm is installed.
    """
    with contextlib.ExitStack() as stack:
        stack.callback(_tear_down, estimator)
        bar = _bar(n_candidates) if n_candidates is not None and verbose == 1 else None
        if bar is not None:
            stack.callback(bar.close)
        progress = Progress(estimator, n_steps, n_candidates, bar, verbose)
        yield progress
        progress.end()


# scikit-learn offers the clean-up after a fit as a decorator only.
_tear_down = with_callbacks(lambda _estimator: None)


def _bar(total: int) -> Any:
    """Return a bar, or None without tqdm."""
    try:
        tqdm = _tqdm()
    except ImportError:
        return None
    # Drawn at each step, so that how often it is drawn does not tell how long the steps took.
    return tqdm(total=total, bar_format=_FORMAT, mininterval=0, miniters=1)


class Progress:
    """Reports how far a fit is, to a bar and to callbacks. Without arguments, to nobody.

    Parameters
    ----------
    estimator, n_steps, n_candidates, verbose
        As `watched` takes them.
    bar : tqdm or None
        The bar, if one is shown.
    """

    def __init__(
        self,
        estimator: Any = None,
        n_steps: int = 0,
        n_candidates: int | None = None,
        bar: Any = None,
        verbose: int = 0,
    ) -> None:
        self._estimator, self._bar, self._verbose = estimator, bar, verbose
        self._root: Any = None
        self._search: Any = None
        self._n_announced = 0
        self._asked_to_stop = False
        self._callbacks = getattr(estimator, "_skl_callbacks", [])
        # What a callback asks for now may follow from how long protected records took before.
        self._unaware = not any(map(_has_seen_validation, self._callbacks))
        if hasattr(estimator, "_init_callback_context"):
            self._root = estimator._init_callback_context(max_subtasks=n_steps)
            self._begin(self._root)
            if n_candidates is not None:
                self._search = self._within(self._root, "search", n_candidates)
                self._begin(self._search)

    # ------------------------------------------------------------ candidates
    @property
    def asked_to_stop(self) -> bool:
        """Whether a callback has asked to stop when a candidate had been explored."""
        return self._asked_to_stop

    def candidates(
        self,
        candidate_params: tuple[dict[str, Any], ...],
        task: str,
        what: str,
        *,
        may_stop: bool = False,
    ) -> Listener:
        """Announce the next candidates; return the listener for each that is finished.

        Parameters
        ----------
        candidate_params : tuple of dict
            Public, or released.
        task : str
            A name for callbacks.
        what : str
            What is done with ``{}``, in words.
        may_stop : bool, default=False
            Whether callbacks may ask to stop. Not where protected records are predicted, nor ever
            after: they may have a clock.
        """
        if not may_stop:
            for callback in self._callbacks:
                _sees_validation(callback)
        # Fits that settle a timeout come on top of n_candidates.
        self._n_announced += len(candidate_params)
        if self._bar is not None:
            self._bar.total = max(self._bar.total, self._n_announced)
            self._bar.set_description(what.format("candidates"))
        elif self._verbose > 0:
            print(what.format(f"{len(candidate_params)} candidates"))
        if self._search is None:
            return Listener(self, [], may_stop)
        self._search.max_subtasks = max(self._search.max_subtasks, self._n_announced)
        announced = [(self._within(self._search, task), params) for params in candidate_params]
        for context, params in announced:
            self._begin(context, metadata=partial(_facts, params))
        return Listener(self, announced, may_stop)

    def searched(self) -> None:
        """Report that there are no more candidates, perhaps fewer than were announced."""
        if self._bar is not None and (n := self._bar.n) < self._bar.total:
            self._bar.reset(n)
            self._bar.update(n)
        if self._search is not None:
            self._end(self._search)

    def advance(self) -> None:
        """Report that one more candidate is finished, whichever it is."""
        if self._bar is not None:
            self._bar.update()

    # ------------------------------------------------------------ steps
    @contextlib.contextmanager
    def step(self, task: str, hand_to: Any = None) -> Iterator[None]:
        """Report the begin and the end of a step of the fit.

        Parameters
        ----------
        task : str
            A name for callbacks.
        hand_to : estimator or None
            An estimator that gets those callbacks that are meant for estimators inside, too.
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
        """Report that the fit has ended well."""
        if self._root is not None:
            self._end(self._root)

    # ------------------------------------------------------------ contexts
    def _within(self, parent: Any, task: str, n: int = 0) -> Any:
        context = parent.subcontext(task_name=task, max_subtasks=n)
        # Some begin after the validation set was used: do not keep when that was.
        context.init_time = parent.init_time
        return context

    def _begin(self, context: Any, **facts: Any) -> None:
        call_hook(context.call_on_fit_task_begin, estimator=self._estimator, **facts)

    def _end(self, context: Any, *, may_stop: bool = False, **facts: Any) -> None:
        asked = call_hook(context.call_on_fit_task_end, estimator=self._estimator, **facts)
        self._asked_to_stop |= may_stop and self._unaware and bool(asked)


class Listener:
    """Hears of candidates as they finish, in any order, and reports them in theirs.

    Parameters
    ----------
    progress : Progress
        Where to report to.
    announced : list of (context, dict)
        scikit-learn's callback context of each candidate, and its parameters.
    may_stop : bool
        As in `Progress.candidates`.
    """

    def __init__(
        self, progress: Progress, announced: list[tuple[Any, dict[str, Any]]], may_stop: bool
    ) -> None:
        self._progress, self._announced, self._may_stop = progress, announced, may_stop
        self._errors: dict[int, str | None] = {}
        self._next = 0

    def finished(self, i: int, error: str | None) -> None:
        """Report that candidate i is finished, or why its fit failed; only the first call counts.

        Where fits are kept, candidates are finished when they are fitted.
        """
        if i in self._errors:
            return
        self._progress.advance()
        self._errors[i] = error
        while self._next < len(self._announced) and self._next in self._errors:
            context, params = self._announced[self._next]
            error = self._errors[self._next]
            self._next += 1
            facts = partial(_facts, params, fit_error=error)
            self._progress._end(context, may_stop=self._may_stop, metadata=facts)


def _sees_validation(callback: Any) -> None:
    try:
        _after_validation[id(callback)] = callback
    except TypeError:
        _after_validation_kept[id(callback)] = callback


def _has_seen_validation(callback: Any) -> bool:
    known = (_after_validation, _after_validation_kept)
    return any(each.get(id(callback)) is callback for each in known)


def _facts(params: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """Return copies of parameters: a callback that writes into them must not change the search."""
    return {"params": {k: clone(v, safe=False) for k, v in params.items()}, **rest}


def call_hook(hook: Callable[..., Any], **facts: Any) -> Any:
    """Call a hook of a callback; from this frame on, tracebacks show the user's code."""
    return hook(**facts)

"""Progress of fits, which are public: scikit-learn's callbacks and printed lines (zone: public).

Predictions of protected records are not reported, nor is any duration, because protected records
can slow down later fits.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from ..privacy.noise import seed_noise, seeds_here

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]  # the same name on purpose
        """Base class without callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method, as there are no callbacks to tear down."""
        return method


# Seconds that it takes to send work to workers, about; shorter work is done in this process.
_OVERHEAD = 0.05


def worth_handing_over(seconds: float) -> bool:
    """Return True if workers would save time on work of this duration; NaN: unknown, so True."""
    return not seconds < _OVERHEAD


def in_parallel(
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    batch_size: int | str = "auto",
) -> Generator[Any, None, None]:
    """Yield ``function(*task)`` for each task in order, as soon as joblib's backend can.

    With the default `batch_size`, joblib chooses by durations how many tasks it sends at once, and
    pools of workers count the tasks that they get.
    """
    seeds = seeds_here()  # joblib may draw tasks in other threads
    seeded = ((next(seeds), function, task) for task in tasks)
    return _calls(_run, seeded, n_jobs, batch_size)


def in_shares(
    function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> list[Any]:
    """Return ``function(*task)`` for each task in order; the number of tasks is secret.

    Each worker gets one share of the tasks, which may be empty, because pools of workers count the
    tasks that they get, and exist longer than this call.
    """
    seeds = seeds_here()
    seeded = [(next(seeds), function, task) for task in tasks]
    n = effective_n_jobs(n_jobs)
    shares = list(_calls(_run_all, ((seeded[i::n],) for i in range(n)), n_jobs, 1))
    return [shares[k % n][k // n] for k in range(len(tasks))]


def _calls(
    function: Callable[..., Any],
    arguments: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    batch_size: int | str,
) -> Generator[Any, None, None]:
    stepwise = getattr(get_active_backend()[0], "supports_return_generator", False)
    return_as = "generator" if stepwise else "list"
    # With verbose, joblib would print times.
    run = Parallel(n_jobs=n_jobs, verbose=0, return_as=return_as, batch_size=batch_size)
    yield from run(delayed(function)(*args) for args in arguments)


def _run(seed: tuple[int, ...] | None, function: Callable[..., Any], task: tuple[Any, ...]) -> Any:
    with seed_noise(seed):
        return function(*task)


def _run_all(seeded: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [_run(*seeded_task) for seeded_task in seeded]


class Progress:
    """Reports each fit to an estimator's callbacks and, if `verbose`, prints a line."""

    def __init__(self, estimator: Any = None, n_fits: int = 0, verbose: int = 0) -> None:
        self._estimator = estimator
        self._verbose = verbose
        self._n_fits = n_fits
        self._n_fitted = 0
        self._seconds = 0.0
        self._root = None
        self._search = None
        self._refits = bool(n_fits and getattr(estimator, "refit", False))
        if hasattr(estimator, "_init_callback_context"):
            n_tasks = (n_fits > 0) + self._refits
            self._root = estimator._init_callback_context(max_subtasks=n_tasks)
            call_hook(self._root.call_on_fit_task_begin, estimator=estimator)
            self._search = self._begin("search", self._root, n_fits) if n_fits else None

    def expect(self, n: int) -> None:
        """Expect n more fits, possibly more than were planned."""
        self._n_fits = max(self._n_fits, self._n_fitted + n)

    def n_jobs(self, n_fits: int, n_jobs: int | None) -> int | None:
        """Return `n_jobs`, or 1 if workers would not save time on n fits of the usual duration."""
        seconds = n_fits * self._seconds / self._n_fitted if self._n_fitted else math.nan
        return n_jobs if worth_handing_over(seconds) else 1

    def fitted(self, params: dict[str, Any], fit: Any, purpose: str) -> None:
        """Report that a candidate has been fitted for a purpose, in words; `fit` is a `Fit`."""
        self._n_fitted += 1
        self._seconds += fit.seconds
        if self._verbose:
            state = "failed" if fit.error else purpose
            print(f"[{self._n_fitted}/{self._n_fits}] {params}: {state}", flush=True)
        if self._search is not None:
            self._search.max_subtasks = self._n_fits
            self._end(self._begin("candidate-split-evaluation", self._search))

    def end(self) -> None:
        """Report that the search has ended without an error, and has its model and its result."""
        if self._search is not None:
            self._end(self._search)
            if self._refits:
                self._end(self._begin("refit-with-best-params", self._root))
        if self._root is not None:
            self._end(self._root)

    def _begin(self, name: str, parent: Any, n_subtasks: int = 0) -> Any:
        """Tell that a task of this name, one of GridSearchCV's, begins; all have the same time."""
        task = parent.subcontext(task_name=name, max_subtasks=n_subtasks)
        task.init_time = parent.init_time
        call_hook(task.call_on_fit_task_begin, estimator=self._estimator)
        return task

    def _end(self, task: Any) -> None:
        call_hook(task.call_on_fit_task_end, estimator=self._estimator)


@contextlib.contextmanager
def watched(estimator: Any, n_fits: int = 0, verbose: int = 0) -> Iterator[Progress]:
    """Set up an estimator's callbacks, and tear them down at the end."""
    try:
        progress = Progress(estimator, n_fits, verbose)
        yield progress
        progress.end()
    finally:
        _tear_down(estimator)


# scikit-learn offers the clean-up after a fit as a decorator only.
_tear_down = with_callbacks(lambda _estimator: None)


def call_hook(hook: Callable[..., Any], **facts: Any) -> Any:
    """Call a hook of a callback; tracebacks below this frame are of the user's code."""
    return hook(**facts)

"""Many runs on two data sets, and the bound of epsilon that follows (zone: public)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from .._data.tables import dense, n_rows
from .._params import check_number
from ._events import as_tables, choose_events, epsilon_lower_bound
from ._report import AuditReport

__all__ = [
    "Fitting",
    "check",
    "check_neighbours",
    "differing",
    "fits_on",
    "report_on",
    "runs_on",
    "seeds_from",
]

_N_CHUNKS = 100
# Failure probability of bounds that only decide which data sets get more runs.
_ROUGH = 0.1


class Fitting(Protocol):
    """Fits an estimator, and returns what is compared."""

    def __call__(self, data: tuple[Any, ...], seed: int | None, /) -> Any:
        """Return the output of one fit, whose noise has this seed."""


def runs_on(
    pair: Sequence[Any], mechanism: Callable[[Any], Any], n: int, n_jobs: int | None, progress: bool
) -> tuple[list[Any], list[Any]]:
    """Return the outputs of n runs on each of two data sets."""
    calls = [delayed(_repeat)(mechanism, pair[side], part) for side, part in _chunks(n)]
    return _collect(calls, n_jobs, progress)


def fits_on(
    pair: Sequence[Any],
    fitting: Fitting,
    seeds: Sequence[int | None],
    n_jobs: int | None,
    progress: bool,
) -> tuple[list[Any], list[Any]]:
    """Return the outputs of fits on each of two data sets; each fit takes the next seed."""
    calls = [
        delayed(_repeat_fit)(fitting, pair[side], [seeds[2 * i + side] for i in part])
        for side, part in _chunks(len(seeds) // 2)
    ]
    return _collect(calls, n_jobs, progress)


def _repeat(mechanism: Callable[[Any], Any], data: Any, part: NDArray[np.int64]) -> list[Any]:
    return [mechanism(data) for _ in part]


def _repeat_fit(fitting: Fitting, data: tuple[Any, ...], seeds: list[int | None]) -> list[Any]:
    return [fitting(data, seed) for seed in seeds]


def _chunks(n: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield (which data set, which of its runs), alternating between the data sets."""
    for part in np.array_split(np.arange(n), min(_N_CHUNKS, n)):
        yield 0, part
        yield 1, part


def _collect(
    calls: Sequence[Any], n_jobs: int | None, progress: bool
) -> tuple[list[Any], list[Any]]:
    """Make the calls of `_chunks`, and return the outputs on each data set."""
    # Not every backend of joblib can return a generator.
    results = Parallel(n_jobs=n_jobs, return_as="generator" if progress else "list")(calls)
    outputs: tuple[list[Any], list[Any]] = ([], [])
    if progress:
        from tqdm.auto import tqdm

        results = tqdm(results, total=len(calls), desc="audit")
    for i, result in enumerate(results):
        outputs[i % 2].extend(result)
    return outputs


def report_on(
    subject: str,
    outputs: tuple[list[Any], list[Any]],
    epsilon: float | None,
    delta: float,
    confidence: float,
    n_events: int,
) -> AuditReport:
    """Choose events on the first half of the runs, and bound epsilon on the second half."""
    columns, *tables = as_tables(*outputs)
    n = len(tables[0])
    half = n // 2
    # Two directions, n_events events in each, and two bounds for each event.
    tail = (1 - confidence) / (4 * n_events)
    found = []
    for one, other in (tables, tables[::-1]):
        for event in choose_events(
            columns, one[:half], other[:half], n_events, delta=delta, tail=tail
        ):
            k, k_other = event.count(one[half:]), event.count(other[half:])
            bound = float(epsilon_lower_bound(k, k_other, n - half, delta=delta, tail=tail))
            scores = event.score(one[half:]), event.score(other[half:])
            found.append((bound, event.text, (k, k_other), scores, event.threshold))
    if not found:
        zeros = np.zeros(n - half)
        found = [(0.0, "all outputs are the same", (0, 0), (zeros, zeros), 0.0)]
    bound, text, counts, scores, threshold = max(found, key=lambda each: each[0])
    bound = max(0.0, bound)
    return AuditReport(
        subject, epsilon, delta, bound, confidence, n, text, counts, scores, threshold
    )


def rough_bound(outputs: tuple[list[Any], list[Any]], delta: float) -> float:
    """Return a rough lower bound of epsilon: too large, as the same runs choose the event."""
    columns, *tables = as_tables(*outputs)
    found = []
    for one, other in (tables, tables[::-1]):
        found += choose_events(columns, one, other, 1, delta=delta, tail=_ROUGH)
    return max((event.bound for event in found), default=0.0)


def seeds_from(random_state: int | None, n: int, below: int = 2**62) -> list[int | None]:
    """Return n seeds, or n times None without a `random_state`."""
    if random_state is None:
        return [None] * n
    return [*np.random.default_rng(random_state).integers(below, size=n).tolist()]


def check_neighbours(data: Any, neighbour: Any) -> None:
    """Raise ValueError unless the data sets are neighbours: others would refute any mechanism."""
    for part in (data, neighbour):
        if not isinstance(part, tuple | list) or len(part) not in (2, 3):
            raise ValueError("each data set must be (X, y) or (X, y, groups)")
    if len(data) != len(neighbour) or len({n_rows(x) for x in (*data, *neighbour)}) != 1:
        raise ValueError(
            "neighbouring data sets must have the same number of rows, and both or neither have "
            "groups"
        )
    differ = np.zeros(n_rows(data[0]), dtype=bool)
    for a, b in zip(data, neighbour, strict=True):
        differ |= differing(a, b)
    n_units, unit = int(differ.sum()), "record"
    if len(data) == 3:
        if differing(data[2], neighbour[2]).any():
            raise ValueError(
                "neighbouring data sets must have the same groups: which rows belong to whom is "
                "public"
            )
        n_units, unit = len(set(np.asarray(dense(data[2]))[differ].tolist())), "group"
    if n_units > 1:
        raise ValueError(
            f"neighbouring data sets must differ in one {unit}; these differ in {n_units}"
        )


def differing(a: Any, b: Any) -> NDArray[np.bool_]:
    """Return which rows of two tables differ; NaN equals NaN."""
    a, b = (np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=object) for x in (a, b))
    same = np.frompyfunc(lambda x, y: x == y or (x != x and y != y), 2, 1)(a, b).astype(bool)
    differing: NDArray[np.bool_] = ~same.reshape(len(same), -1).all(axis=1)
    return differing


def check(n: Any, epsilon: Any, delta: Any, confidence: Any, n_events: Any) -> None:
    """Raise ValueError if a parameter of an audit is out of its range."""
    check_number("n", n, "a whole number from 100 up", lambda n: n >= 100, Integral)
    check_number("epsilon", epsilon, "0 and up", lambda e: e >= 0, optional=True)
    check_number("delta", delta, "in [0, 1)", lambda d: 0 <= d < 1)
    check_number("confidence", confidence, "in (0.5, 1)", lambda c: 0.5 < c < 1)
    check_number("n_events", n_events, "1 or more", lambda k: k >= 1, Integral)

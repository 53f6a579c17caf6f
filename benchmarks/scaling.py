"""Claim: a private search uses workers as well as RandomizedSearchCV does, on every backend.

Both sides get the same candidates, estimator, split, backend and workers, in turn, in one process.
"Beside the fit" is what a candidate costs a worker beside its own fit and prediction, which are
timed alone, in this process, without a search: workers * wall time / candidates - that.
A cluster is started once per number of workers, and one run warms it, before anything is timed.

    python benchmarks/scaling.py [--workers 1 2] [--backends loky threading dask]
        [--json scaling.json] [--markdown scaling.md]
"""

import argparse
import contextlib
import json
import os
import statistics
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import RandomizedSearchCV
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import PrivateBayesSearchCV

# name: (estimator, grid, training records, validation records, repeats)
CASES = {
    "LogisticRegression, m = 2,000": (
        LogisticRegression(), {"C": np.geomspace(1e-3, 1e3, 64).tolist()}, 2_000, 2_000, 21,
    ),
    "DecisionTree, m = 200,000": (
        DecisionTreeClassifier(random_state=0), {"max_depth": list(range(2, 18))},
        5_000, 200_000, 9,
    ),
}  # fmt: skip
BACKENDS = ("loky", "threading", "dask")


def private(estimator, grid, X, y, n, n_jobs):
    search = PrivateBayesSearchCV(estimator, grid, n_jobs=n_jobs, refit=False)
    return lambda: search.fit(X[:n], y[:n], X_val=X[n:], y_val=y[n:])


def randomized(estimator, grid, X, y, n, n_jobs):
    rows = np.arange(len(X))
    (values,) = grid.values()
    search = RandomizedSearchCV(
        estimator, grid, n_iter=len(values), n_jobs=n_jobs, refit=False, scoring="accuracy",
        cv=[(rows[:n], rows[n:])],
    )  # fmt: skip
    return lambda: search.fit(X, y)


SIDES = {"private": private, "randomized": randomized}


def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def alone(estimator, grid, X, y, n):
    """Fit and score each candidate once, without any search."""
    ((name, values),) = grid.items()
    for value in values:
        model = clone(estimator).set_params(**{name: value}).fit(X[:n], y[:n])
        accuracy_score(y[n:], model.predict(X[n:]))


@contextlib.contextmanager
def started(backend, workers):
    """A joblib backend with so many workers."""
    with contextlib.ExitStack() as stack:
        if backend == "dask":
            from distributed import Client, LocalCluster

            cluster = stack.enter_context(
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
            )
            stack.enter_context(Client(cluster)).wait_for_workers(workers)
        stack.enter_context(joblib.parallel_config(backend))
        yield


def measure(name, backend, workers, repeats):
    estimator, grid, n, m, default_repeats = CASES[name]
    X, y = make_classification(n + m, 20, n_informative=8, flip_y=0.05, random_state=0)
    (values,) = grid.values()
    times = {"alone": [], **{side: [] for side in SIDES}}
    with started(backend, workers):
        runs = {side: make(estimator, grid, X, y, n, workers) for side, make in SIDES.items()}
        for run in runs.values():
            run()
        for i in range(repeats or default_repeats):
            times["alone"].append(seconds(lambda: alone(estimator, grid, X, y, n)))
            for side in list(runs)[:: 1 if i % 2 else -1]:  # neither is always first
                times[side].append(seconds(runs[side]))
    ratios = [p / r for p, r in zip(times["private"], times["randomized"], strict=True)]
    middle = {side: statistics.median(found) for side, found in times.items()}
    beside = {
        side: 1e3
        * statistics.median(
            (workers * t - a) / len(values)
            for t, a in zip(times[side], times["alone"], strict=True)
        )
        for side in SIDES
    }
    return {
        "case": name, "backend": backend, "workers": workers, "candidates": len(values),
        "alone_s": middle["alone"], "private_s": middle["private"],
        "randomized_s": middle["randomized"], "ratio": statistics.median(ratios),
        "ratios": [min(ratios), max(ratios)], "beside_ms": beside, "seconds": times,
    }  # fmt: skip


HEAD = """| case | backend | workers | fits alone, s | RandomizedSearchCV, s | private, s \
| ratio (range) | beside the fit, ms per candidate: RandomizedSearchCV | private |
|---|---|---|---|---|---|---|---|---|"""


def line(r):
    return (
        f"| {r['case']} | {r['backend']} | {r['workers']} | {r['alone_s']:.2f} "
        f"| {r['randomized_s']:.2f} | {r['private_s']:.2f} "
        f"| {r['ratio']:.2f} ({r['ratios'][0]:.2f} to {r['ratios'][1]:.2f}) "
        f"| {r['beside_ms']['randomized']:.1f} | {r['beside_ms']['private']:.1f} |"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=list(BACKENDS))
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    options = parser.parse_args()
    print(HEAD)
    rows = []
    for name in options.cases:
        for backend in options.backends:
            for workers in options.workers:
                rows.append(measure(name, backend, workers, options.repeats))
                print(line(rows[-1]), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    if options.markdown:
        with open(options.markdown, "w") as file:
            print(HEAD, *map(line, rows), sep="\n", file=file)


if __name__ == "__main__":
    main()

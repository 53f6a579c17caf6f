"""Claim: a private search takes no longer than RandomizedSearchCV, and no more memory.

Both sides get the same candidates, estimator, split and n_jobs, in turn, in one process; only the
time of the noise library's import is taken apart (a first small search). refit=False on both.

With --guided, the private search chooses its candidates itself (`guidance="public"`), and
RandomizedSearchCV draws its own from the same space: end to end, the same number of fits.

    python benchmarks/overhead.py [--guided] [--json overhead.json]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterSampler, RandomizedSearchCV
from sklearn.svm import SVC

from sklearn_dpbo import PrivateBayesSearchCV

# name: (estimator, distributions, training records, validation records, candidates, repeats)
CASES = {
    "LogisticRegression, m = 1,000": (
        LogisticRegression(), {"C": loguniform(1e-3, 1e3)}, 1_000, 1_000, 64, 40,
    ),
    "HistGradientBoosting, m = 20,000": (
        HistGradientBoostingClassifier(random_state=0),
        {"learning_rate": loguniform(0.02, 0.5), "max_leaf_nodes": [7, 15, 31]},
        10_000, 20_000, 16, 10,
    ),
    "SVC, m = 100,000": (
        SVC(), {"C": loguniform(0.1, 100), "gamma": loguniform(1e-3, 1e-1)}, 2_000, 100_000, 4, 6,
    ),
}  # fmt: skip


def problem(name):
    estimator, space, n_train, m, n_candidates, _ = CASES[name]
    X, y = make_classification(n_train + m, 20, n_informative=8, flip_y=0.05, random_state=0)
    candidates = list(ParameterSampler(space, n_candidates, random_state=0))
    return estimator, [{k: [v] for k, v in c.items()} for c in candidates], X, y, n_train


def private(name, n_jobs):
    estimator, grid, X, y, n = problem(name)
    search = PrivateBayesSearchCV(estimator, grid, n_iter=len(grid), n_jobs=n_jobs, refit=False)
    return lambda: search.fit(X[:n], y[:n], X_val=X[n:], y_val=y[n:])


def randomized(name, n_jobs):
    estimator, grid, X, y, n = problem(name)
    rows = np.arange(len(X))
    search = RandomizedSearchCV(
        estimator, grid, n_iter=len(grid), n_jobs=n_jobs, refit=False, cv=[(rows[:n], rows[n:])],
        scoring="accuracy",
    )  # fmt: skip
    return lambda: search.fit(X, y)


def guided(name, n_jobs):
    estimator, _, X, y, n = problem(name)
    _, space, *_ = CASES[name]
    search = PrivateBayesSearchCV(
        estimator, space, n_iter=GUIDED_FITS, n_jobs=n_jobs, refit=False, random_state=0
    )
    return lambda: search.fit(X[:n], y[:n], X_val=X[n:], y_val=y[n:])


def unguided(name, n_jobs):
    estimator, _, X, y, n = problem(name)
    _, space, *_ = CASES[name]
    rows = np.arange(len(X))
    search = RandomizedSearchCV(
        estimator, space, n_iter=GUIDED_FITS, n_jobs=n_jobs, refit=False, random_state=0,
        cv=[(rows[:n], rows[n:])], scoring="accuracy",
    )  # fmt: skip
    return lambda: search.fit(X, y)


GUIDED_FITS = 64
SIDES = {"private": private, "randomized": randomized}
GUIDED_SIDES = {"private": guided, "randomized": unguided}


def seconds(run):
    """Wall time, and processor time of this process (all of it, if n_jobs is 1)."""
    start, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - cpu


def peak_memory(sides, side, name, n_jobs):
    """Peak proportional set size of a fresh process and its workers, in MiB."""
    import psutil

    flags = ["--guided"] if sides is GUIDED_SIDES else []
    once = ["--once", side, name, str(n_jobs)]
    process = subprocess.Popen([sys.executable, __file__, *flags, *once])
    root, peak = psutil.Process(process.pid), 0
    while process.poll() is None:
        total = 0
        try:
            for each in [root, *root.children(recursive=True)]:
                total += each.memory_full_info().pss
        except psutil.Error:
            continue
        peak = max(peak, total)
        time.sleep(0.02)
    return peak / 2**20


def noise_library_seconds():
    """What a first search costs more than a second one: the import of the noise library."""
    run = private("LogisticRegression, m = 1,000", 1)
    return seconds(run)[0] - seconds(run)[0]


def measure(names, sides, repeats=None):
    rows = []
    for name in names:
        for n_jobs in (1, 2):
            runs = {side: make(name, n_jobs) for side, make in sides.items()}
            for run in runs.values():
                run()  # warm the workers
            times = {side: [] for side in sides}
            for i in range(repeats or CASES[name][-1]):
                for side in list(runs)[:: 1 if i % 2 else -1]:  # neither is always first
                    times[side].append(seconds(runs[side]))
            wall, cpu = (
                [p[i] / r[i] for p, r in zip(times["private"], times["randomized"], strict=True)]
                for i in (0, 1)
            )
            memory = {side: peak_memory(sides, side, name, n_jobs) for side in sides}
            rows.append({
                "case": name, "n_jobs": n_jobs,
                "private_s": statistics.median(t[0] for t in times["private"]),
                "randomized_s": statistics.median(t[0] for t in times["randomized"]),
                "ratio": statistics.median(wall), "ratios": [min(wall), max(wall)],
                "cpu_ratio": statistics.median(cpu) if n_jobs == 1 else None,
                "private_MiB": memory["private"], "randomized_MiB": memory["randomized"],
                "memory_ratio": memory["private"] / memory["randomized"],
            })  # fmt: skip
            show(rows[-1])
    return rows


def show(r):
    print(
        f"| {r['case']} | {r['n_jobs']} | {r['randomized_s']:.2f} | {r['private_s']:.2f} "
        f"| {r['ratio']:.2f} ({r['ratios'][0]:.2f} to {r['ratios'][1]:.2f}) "
        f"| {'' if r['cpu_ratio'] is None else format(r['cpu_ratio'], '.2f')} "
        f"| {r['randomized_MiB']:.0f} | {r['private_MiB']:.0f} | {r['memory_ratio']:.2f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--guided", action="store_true")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--json")
    parser.add_argument("--once", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        side, name, n_jobs = options.once
        (GUIDED_SIDES if options.guided else SIDES)[side](name, int(n_jobs))()
        return
    load = noise_library_seconds()
    print(f"Import of the noise library, once per process: {load:.2f} s\n")
    print("| case | n_jobs | RandomizedSearchCV, s | private, s | ratio (range) | CPU "
          "| RandomizedSearchCV, MiB | private, MiB | ratio |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    rows = measure(options.cases, GUIDED_SIDES if options.guided else SIDES, options.repeats)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"noise_library_s": load, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()

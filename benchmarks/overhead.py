"""Claim: a private search takes no longer than RandomizedSearchCV, on any backend, nor more memory.

Both sides get the same candidates, estimator, split, backend and number of workers, in turn, in one
process; refit=False on both. "Beside the fit" is what a candidate costs a worker beside its own fit
and prediction, which are timed without a search: workers * wall time / candidates - that. A cluster
is started once, and one run warms it.

With --guided, the private search chooses its candidates itself (`guidance="public"`), and
RandomizedSearchCV draws its own from the same space: end to end, the same number of fits.

With --scoring f1 or the like, candidates are also fitted on four fifths of the training set.

    python benchmarks/overhead.py [--backends loky threading dask] [--workers 1 2] [--guided]
        [--scoring f1] [--memory] [--json overhead.json]
"""

import contextlib
import statistics
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec

from harness import in_turn, median_and_range, parser_of, print_head, print_row, save, seconds

# isort: split
import joblib
import numpy as np
import pandas as pd
from scipy.stats import loguniform, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import ParameterSampler, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.exceptions import LowUtilityWarning, PrivacyWarning


def logs(X):
    """A function of one's own, which is called on one record at a time."""
    return np.sign(X) * np.log1p(np.abs(X))


def ratios(X):
    """A function of one's own that makes new columns of a frame."""
    return X.assign(ratio=X["x0"] / (1 + X["x1"].abs()), high=(X["x2"] > 0).astype(int)).fillna(0)


class OwnClassifier(ClassifierMixin, BaseEstimator):
    """A class of one's own: the nearest mean, each pulled towards that of all."""

    def __init__(self, pull=0.0):
        self.pull = pull

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        means = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        self.means_ = (1 - self.pull) * means + self.pull * X.mean(axis=0)
        return self

    def predict(self, X):
        squares = ((X[:, None] - self.means_) ** 2).sum(axis=-1)
        return self.classes_[squares.argmin(axis=1)]


def stack():
    parts = [("tree", DecisionTreeClassifier(max_depth=4)), ("bayes", GaussianNB())]
    return StackingClassifier(parts, LogisticRegression(), cv=3)


C = {"C": loguniform(1e-3, 1e3)}
# name: (estimator, distributions, training records, validation records, candidates, repeats)
CASES = {
    "LogisticRegression, m = 1,000": (LogisticRegression(), C, 1_000, 1_000, 64, 8),
    "SVC in a pipeline, m = 2,000": (
        make_pipeline(StandardScaler(), SVC()),
        {"svc__C": loguniform(0.1, 100), "svc__gamma": loguniform(1e-3, 1e-1)},
        1_000, 2_000, 8, 2,
    ),
    "AdaBoost, m = 1,000": (
        AdaBoostClassifier(n_estimators=20, random_state=0),
        {"learning_rate": loguniform(0.02, 2)}, 1_000, 1_000, 8, 2,
    ),
    "RandomForest, m = 1,000": (
        RandomForestClassifier(n_estimators=25, random_state=0),
        {"max_features": loguniform(0.05, 1)}, 1_000, 1_000, 8, 2,
    ),
    "stacking, m = 1,000": (
        stack(), {"final_estimator__C": loguniform(1e-3, 1e3)}, 1_000, 1_000, 8, 2,
    ),
    "HistGradientBoosting, m = 2,000": (
        HistGradientBoostingClassifier(max_iter=20, random_state=0),
        {"learning_rate": loguniform(0.02, 0.5)}, 2_000, 2_000, 8, 2,
    ),
    "own function before neighbours, m = 1,000": (
        make_pipeline(FunctionTransformer(logs), StandardScaler(), KNeighborsClassifier()),
        {"kneighborsclassifier__n_neighbors": list(range(1, 33))}, 1_000, 1_000, 32, 2,
    ),
    "own function before LogisticRegression, m = 100,000": (
        make_pipeline(FunctionTransformer(logs), StandardScaler(), LogisticRegression()),
        {f"logisticregression__{name}": values for name, values in C.items()},
        2_000, 100_000, 32, 1,
    ),
    "own classifier, m = 1,000": (
        make_pipeline(StandardScaler(), OwnClassifier()),
        {"ownclassifier__pull": uniform()}, 1_000, 1_000, 32, 2,
    ),
    "own function before LogisticRegression, m = 20,000": (
        make_pipeline(FunctionTransformer(logs), StandardScaler(), LogisticRegression()),
        {f"logisticregression__{name}": values for name, values in C.items()},
        2_000, 20_000, 16, 2,
    ),
    "own function of frames before LogisticRegression, m = 1,000": (
        make_pipeline(FunctionTransformer(ratios), StandardScaler(), LogisticRegression()),
        {f"logisticregression__{name}": values for name, values in C.items()},
        1_000, 1_000, 16, 2,
    ),
    "own function of frames before LogisticRegression, m = 20,000": (
        make_pipeline(FunctionTransformer(ratios), StandardScaler(), LogisticRegression()),
        {f"logisticregression__{name}": values for name, values in C.items()},
        2_000, 20_000, 16, 1,
    ),
    "own classifier, m = 20,000": (
        make_pipeline(StandardScaler(), OwnClassifier()),
        {"ownclassifier__pull": uniform()}, 1_000, 20_000, 16, 1,
    ),
    "HistGradientBoosting, m = 20,000": (
        HistGradientBoostingClassifier(random_state=0),
        {"learning_rate": loguniform(0.02, 0.5), "max_leaf_nodes": [7, 15, 31]},
        10_000, 20_000, 16, 10,
    ),
    "SVC, m = 100,000": (
        SVC(), {"C": loguniform(0.1, 100), "gamma": loguniform(1e-3, 1e-1)}, 2_000, 100_000, 4, 6,
    ),
    "DecisionTree, m = 200,000": (
        DecisionTreeClassifier(random_state=0), {"max_depth": list(range(2, 18))},
        5_000, 200_000, 16, 9,
    ),
    "LogisticRegression, m = 1,000,000": (LogisticRegression(), C, 1_000, 1_000_000, 4, 3),
}  # fmt: skip
if find_spec("skorch"):
    from skorch_network import network

    rates = {"lr": loguniform(1e-3, 1e-1)}
    CASES["network of skorch, m = 5,000"] = network(), rates, 2_000, 5_000, 8, 2
# What is run unless cases are named.
QUICK = list(CASES)[:9]
GUIDED_FITS = 64


def runs_of(name, n_jobs, guided, scoring="accuracy"):
    """Return the two searches, and the fits and predictions alone, as functions to be timed."""
    estimator, space, n, m, n_iter, _ = CASES[name]
    X, y = make_classification(n + m, 20, n_informative=8, flip_y=0.05, random_state=0)
    if "of frames" in name:
        X = pd.DataFrame(X).add_prefix("x")
    settings = list(ParameterSampler(space, n_iter, random_state=0))
    shared = dict(n_iter=n_iter, n_jobs=n_jobs, refit=False, scoring=scoring)
    if guided:
        shared |= dict(n_iter=GUIDED_FITS, random_state=0)
    elif len(space) == 1:
        space = {name: [setting[name] for setting in settings] for name in space}
    else:
        space = [{k: [v] for k, v in setting.items()} for setting in settings]
    rows = np.arange(n + m)
    private = PrivateBayesSearchCV(estimator, space, **shared)
    randomized = RandomizedSearchCV(estimator, space, cv=[(rows[:n], rows[n:])], **shared)

    def alone():
        for setting in settings:
            model = clone(estimator).set_params(**setting).fit(X[:n], y[:n])
            accuracy_score(y[n:], model.predict(X[n:]))

    return {
        "private": lambda: private.fit(X[:n], y[:n], X_val=X[n:], y_val=y[n:]),
        "randomized": lambda: randomized.fit(X, y),
        "alone": alone,
    }


def peak_memory(side, name, n_jobs, guided):
    """Peak proportional set size of a fresh process and its workers, in MiB."""
    import psutil

    flags = ["--guided"] if guided else []
    process = subprocess.Popen([sys.executable, __file__, *flags, "--once", side, name, n_jobs])
    root, peak = psutil.Process(process.pid), 0
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            tree = [root, *root.children(recursive=True)]
            peak = max(peak, sum(each.memory_full_info().pss for each in tree))
        time.sleep(0.02)
    return peak / 2**20


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


def measure(name, backend, workers, options):
    with started(backend, workers):
        repeats = options.repeats or CASES[name][-1]
        runs = runs_of(name, workers, options.guided, options.scoring)
        times = in_turn(runs, repeats, warm=workers > 1)
    ratios = times["private"] / times["randomized"]
    median = {side: statistics.median(each[:, 0]) for side, each in times.items()}
    n = GUIDED_FITS if options.guided else CASES[name][4]
    row = {
        "case": name, "backend": backend, "workers": workers, "seconds": median,
        "ratios": ratios[:, 0].tolist(),
        "cpu_ratio": statistics.median(ratios[:, 1]) if workers == 1 else None,
        "beside_ms": {
            side: 1e3 / n * statistics.median(workers * times[side][:, 0] - times["alone"][:, 0])
            for side in ("randomized", "private")
        },
    }  # fmt: skip
    if options.memory:
        row["MiB"] = {
            side: peak_memory(side, name, str(workers), options.guided)
            for side in ("randomized", "private")
        }
    return row


HEAD = [
    "case", "backend", "workers", "fits alone, s", "RandomizedSearchCV, s", "private, s",
    "ratio (range)", "CPU", "beside the fit, ms per candidate: RandomizedSearchCV", "private",
    "MiB: RandomizedSearchCV", "private",
]  # fmt: skip


def show(r):
    seconds, memory = r["seconds"], r.get("MiB", {"randomized": np.nan, "private": np.nan})
    print_row([
        r["case"], r["backend"], r["workers"],
        *(f"{seconds[side]:.2f}" for side in ("alone", "randomized", "private")),
        median_and_range(r["ratios"]), "" if r["cpu_ratio"] is None else f"{r['cpu_ratio']:.2f}",
        *(f"{beside:.1f}" for beside in r["beside_ms"].values()),
        *(f"{size:.0f}" for size in memory.values()),
    ])  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=QUICK)
    parser.add_argument("--backends", nargs="+", default=["loky"])
    parser.add_argument("--workers", nargs="+", type=int)
    parser.add_argument("--guided", action="store_true")
    parser.add_argument("--scoring", default="accuracy")
    parser.add_argument("--memory", action="store_true", help="also the peak of fresh processes")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--once", nargs=3, help="SIDE CASE WORKERS: run one search, and no more")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "Not known to treat each record independently")
    warnings.simplefilter("ignore", PrivacyWarning)  # of fits without a ledger
    warnings.simplefilter("ignore", LowUtilityWarning)
    if options.once:
        side, name, workers = options.once
        runs_of(name, int(workers), options.guided)[side]()
        return
    first = runs_of("LogisticRegression, m = 1,000", 1, guided=False)["private"]
    load = seconds(first)[0] - seconds(first)[0]
    print(f"Import of the noise library, once per process: {load:.2f} s")
    print_head(HEAD)
    rows = []
    for name in options.cases:
        for backend in options.backends:
            for workers in options.workers or ([1, 2] if name == QUICK[0] else [1]):
                rows.append(measure(name, backend, workers, options))
                show(rows[-1])
    save({"noise_library_s": load, "rows": rows}, options.json)


if __name__ == "__main__":
    main()

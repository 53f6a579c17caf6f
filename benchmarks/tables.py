"""Fit a pool of settings of each problem once, and keep all predictions.

Searches then replay them: a setting gets the predictions of the nearest setting of the pool, so
that thousands of searches, ours and others', cost little and all see the same surface.

    python benchmarks/tables.py FOLDER [--pool 600] [--problems spam digits]
"""

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from joblib import Parallel, delayed
from problems import ALL
from scipy.spatial import cKDTree
from scipy.stats import qmc
from sklearn.base import clone

INNER_SHARE = 0.8


def unit_of(space, setting):
    """Coordinates in the unit cube: ranks of distributions, one-hot (of length 1) for lists."""
    row = []
    for name, axis in space.items():
        if isinstance(axis, list):
            row += [float(v is setting[name] or v == setting[name]) / 2**0.5 for v in axis]
        else:
            row.append(float(axis.cdf(setting[name])))
    return row


def setting_at(space, u):
    """The setting at this point of the unit cube."""
    setting = {}
    for (name, axis), x in zip(space.items(), u, strict=True):
        if isinstance(axis, list):
            setting[name] = axis[int(x * len(axis))]
        else:
            value = float(axis.ppf(x))
            setting[name] = int(value) if hasattr(axis.dist, "pmf") else value
    return setting


@dataclass
class Table:
    """Predictions of a pool of settings: fitted on all training rows, and on four fifths."""

    space: dict
    settings: list
    full_val: np.ndarray
    full_test: np.ndarray
    inner_val: np.ndarray
    inner_held_out: np.ndarray
    inner_rows: np.ndarray  # training rows that the inner models were fitted on
    held_out: np.ndarray  # the others

    def __post_init__(self):
        self.tree = cKDTree([unit_of(self.space, s) for s in self.settings])

    def nearest(self, setting):
        return int(self.tree.query(unit_of(self.space, setting))[1])


def _predict(problem, setting, inner, held_out):
    X, y = problem.train
    full = clone(problem.estimator).set_params(**setting).fit(X, y)
    part = clone(problem.estimator).set_params(**setting).fit(X[inner], y[inner])
    return (full.predict(problem.val[0]), full.predict(problem.test[0]),
            part.predict(problem.val[0]), part.predict(X[held_out]))  # fmt: skip


def build(problem, n_pool):
    u = qmc.Sobol(len(problem.space), rng=np.random.default_rng(7)).random(n_pool)
    settings = [setting_at(problem.space, row) for row in np.clip(u, 1e-9, 1 - 1e-9)]
    n = len(problem.train[1])
    order = np.random.default_rng(8).permutation(n)
    inner, held_out = np.split(order, [int(INNER_SHARE * n)])
    found = Parallel(n_jobs=2, batch_size=4)(
        delayed(_predict)(problem, s, inner, held_out) for s in settings
    )
    return settings, inner, held_out, [np.array(part) for part in zip(*found, strict=True)]


def load(name, folder, n_pool=600):
    """Return (problem, table), from the folder if they are kept there."""
    problem = ALL[name](np.random.default_rng(0))
    file = Path(folder) / f"{name}-{n_pool}.npz"
    if not file.exists():
        settings, inner, held_out, predictions = build(problem, n_pool)
        small = [p.astype(np.float32 if problem.bounds else np.int8) for p in predictions]
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, inner=inner, held_out=held_out,
                            settings=np.array(settings, dtype=object),
                            **{f"p{i}": p for i, p in enumerate(small)})  # fmt: skip
    z = np.load(file, allow_pickle=True)
    return problem, Table(problem.space, list(z["settings"]), z["p0"], z["p1"], z["p2"], z["p3"],
                          z["inner"], z["held_out"])  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--pool", type=int, default=600)
    parser.add_argument("--problems", nargs="+", choices=list(ALL), default=list(ALL))
    options = parser.parse_args()
    for name in options.problems:
        start = time.perf_counter()
        problem, table = load(name, options.folder, options.pool)
        y = problem.val[1]
        gains = -np.abs(table.full_val - y) if problem.bounds else table.full_val == y
        score = gains.mean(axis=1)
        print(f"{problem.name}: {time.perf_counter() - start:.0f} s; validation score of the pool: "
              f"best {score.max():.4f}, median {np.median(score):.4f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()

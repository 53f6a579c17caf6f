"""Fit a pool of settings of each problem once, and keep all predictions.

Searches then replay them: a setting gets the predictions of the nearest setting of the pool, so
that thousands of searches, ours and others', cost little and all see the same surface. The
estimator's own setting is kept, too; it is one of the pool if it lies in the space.

    python benchmarks/tables.py FOLDER [--pool 600] [--problems spam digits held-out]
"""

import time
import warnings
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

from harness import parser_of

# isort: split

import numpy as np
from joblib import Parallel, delayed
from problems import ALL, names_of
from scipy.spatial import cKDTree
from scipy.stats import qmc, rankdata
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score, balanced_accuracy_score, f1_score

INNER_SHARE = 0.8
RANKINGS = ("roc_auc", "average_precision")
OF_CLASSES = {
    "average_precision": average_precision_score,
    "balanced_accuracy": balanced_accuracy_score,
    "f1": f1_score,
}
PARTS = ("full_val", "full_test", "full_train", "inner_val", "inner_train")


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


def own_setting(problem):
    """What the estimator has for the parameters that are searched."""
    params = problem.estimator.get_params()
    return {name: params[name] for name in problem.space}


def lies_in(space, setting):
    """Whether a search of the space may try the setting."""
    return all(_is_on(axis, setting[name]) for name, axis in space.items())


def _is_on(axis, value):
    if isinstance(axis, list):
        return value in axis
    low, high = axis.support()
    return isinstance(value, Real) and bool(low <= value <= high)


def response(problem, model, X):
    """What is kept of a model: labels or values; what ranks the records, for areas under curves."""
    if problem.scoring not in RANKINGS:
        return model.predict(X)
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1]


def scores(problem, responses, y, groups=None):
    """The score of each row of responses; each unit counts once."""
    if problem.scoring == "roc_auc":
        n, positive = len(y), y == 1
        above = rankdata(responses, axis=1)[:, positive].mean(axis=1) - (positive.sum() + 1) / 2
        return above / (n - positive.sum())
    if problem.scoring in OF_CLASSES:
        return np.array([OF_CLASSES[problem.scoring](y, found) for found in responses])
    gain = 1 - np.minimum(abs(responses - y), 1) if problem.bounds else responses == y
    if groups is None:
        return gain.mean(axis=1)
    _, unit, size = np.unique(groups, return_inverse=True, return_counts=True)
    return gain @ (1 / size[unit] / len(size))


@dataclass
class Table:
    """Responses of models, fitted on all training rows (full) and on four fifths (inner).

    One row for each of `settings`, of which the last is the estimator's own.
    """

    space: dict
    settings: list
    full_val: np.ndarray
    full_test: np.ndarray
    full_train: np.ndarray
    inner_val: np.ndarray
    inner_train: np.ndarray
    inner_rows: np.ndarray  # training rows that the inner models were fitted on

    def __post_init__(self):
        self.own = self.settings[-1]
        self.pool = self.settings if lies_in(self.space, self.own) else self.settings[:-1]
        self.tree = cKDTree([unit_of(self.space, s) for s in self.pool])

    def nearest(self, setting):
        if setting == self.own:
            return len(self.settings) - 1
        return int(self.tree.query(unit_of(self.space, setting))[1])


def _responses(problem, setting, inner):
    """In the order of `PARTS`."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = problem.train
    full = clone(problem.estimator).set_params(**setting).fit(X, y)
    part = clone(problem.estimator).set_params(**setting).fit(X[inner], y[inner])
    asked = [(full, problem.val[0]), (full, problem.test[0]), (full, X),
             (part, problem.val[0]), (part, X)]  # fmt: skip
    return [response(problem, model, rows) for model, rows in asked]


def build(problem, n_pool):
    u = qmc.Sobol(len(problem.space), rng=np.random.default_rng(7)).random(n_pool)
    settings = [setting_at(problem.space, row) for row in np.clip(u, 1e-9, 1 - 1e-9)]
    settings.append(own_setting(problem))
    n = len(problem.train[1])
    inner = np.random.default_rng(8).permutation(n)[: int(INNER_SHARE * n)]
    found = Parallel(n_jobs=2, batch_size=4)(
        delayed(_responses)(problem, s, inner) for s in settings
    )
    return settings, inner, [np.array(part) for part in zip(*found, strict=True)]


def load(name, folder, n_pool=600):
    """Return (problem, table), from the folder if they are kept there."""
    problem = ALL[name](np.random.default_rng(0))
    file = Path(folder) / f"{name}-{n_pool}-and-own.npz"
    if not file.exists():
        settings, inner, found = build(problem, n_pool)
        labels = problem.bounds is None and problem.scoring not in RANKINGS
        small = [part.astype(np.int8 if labels else np.float32) for part in found]
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, inner=inner, settings=np.array(settings, dtype=object),
                            **dict(zip(PARTS, small, strict=True)))  # fmt: skip
    z = np.load(file, allow_pickle=True)
    return problem, Table(problem.space, list(z["settings"]), *(z[part] for part in PARTS),
                          z["inner"])  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("folder")
    parser.add_argument("--pool", type=int, default=600)
    parser.add_argument("--problems", nargs="+", default=list(ALL),
                        help='names, or "tuned", "held-out" and "shifted"')  # fmt: skip
    options = parser.parse_args()
    # Shifts share the table of their problem.
    for name in dict.fromkeys(name.partition("/")[0] for name in names_of(options.problems)):
        start = time.perf_counter()
        problem, table = load(name, options.folder, options.pool)
        found = scores(problem, table.full_val, problem.val[1], problem.groups)
        pool, inside = found[: len(table.pool)], lies_in(table.space, table.own)
        print(f"{problem.name}: {time.perf_counter() - start:.0f} s; validation score of the pool: "
              f"best {pool.max():.4f}, median {np.median(pool):.4f}; of the own setting "
              f"({'' if inside else 'not '}in the space): {found[-1]:.4f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()

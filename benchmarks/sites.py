"""Claim: what it costs that no site hands over its records, in regret and in the released score.

    python benchmarks/sites.py [--repeats 200] [--json sites.json]

Real records (forest cover, lodgepole pine or not): 16 settings of gradient boosting are fitted once
on 2,000 training records. A repetition deals 1,000 other records to each of five sites; epsilon is
1. "votes" is `docs/examples/several_sites.py`; "scores" adds up noisy scores of all settings; "one
place" is a search that has all records.

* regret: score of the best setting on all sites' records, less that of the chosen one;
* error: absolute difference of the released score from the chosen setting's, without noise.
"""

import argparse
import json
import os
import warnings
from pathlib import Path

import numpy as np
import stored
from sklearn.ensemble import HistGradientBoostingClassifier

from sklearn_dpbo import PrivateBayesSearchCV, PrivateObjective
from sklearn_dpbo.strategies import WorstCase

DATA = Path(os.environ.get("SKLEARN_DPBO_DATA", Path(__file__).parents[1] / "shared" / "data"))
GRID = {"learning_rate": [0.02, 0.05, 0.1, 0.3], "max_leaf_nodes": [4, 8, 16, 31]}
N_TRAIN, M, N_SITES = 2_000, 1_000, 5
MODEL, SETTINGS = stored.StoredClassifier("cover"), [{"candidate": i} for i in range(16)]


def search(y, rows, **params):
    """A setting, and its score."""
    X_val, y_val = columns(y, rows)
    chosen = PrivateBayesSearchCV(
        MODEL, {"candidate": list(range(16))}, refit=False, prediction="together", **params
    ).fit(*columns(y, range(N_TRAIN)), X_val=X_val, y_val=y_val)
    return chosen.best_params_["candidate"], chosen.best_score_


def scores(y, rows, settings, epsilon, delta=0.0):
    """Noisy scores of these settings."""
    objective = PrivateObjective(
        MODEL, *columns(y, range(N_TRAIN)), *columns(y, rows), epsilon=epsilon, delta=delta,
        n_calls=len(settings), best_share=0.001, prediction="together",
    )  # fmt: skip
    return np.array([objective(setting) for setting in settings])


def columns(y, rows):
    return np.array(rows)[:, None], y[list(rows)]


def one_place(y, sites):
    return search(y, np.concatenate(sites), strategy=WorstCase("none"))


def votes(y, sites):
    mostly_choice = WorstCase("none", score_share=0.01)
    given = [search(y, rows, epsilon=0.6, strategy=mostly_choice)[0] for rows in sites]
    winner = int(np.bincount(given).argmax())
    return winner, np.mean([scores(y, rows, [SETTINGS[winner]], 0.4)[0] for rows in sites])


def added(y, sites, delta=0.0):
    total = np.mean([scores(y, rows, SETTINGS, 1.0, delta) for rows in sites], axis=0)
    return int(total.argmax()), total.max()


METHODS = {
    "one place": one_place,
    "votes": votes,
    "scores": added,
    "scores, delta = 1e-6": lambda y, sites: added(y, sites, 1e-6),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    z = np.load(DATA / "covertype_60k.npz")
    order = np.random.default_rng(5).permutation(len(z["y"]))
    X, y = z["X"][order].astype(float), (z["y"][order] == 2).astype(int)
    boosting = HistGradientBoostingClassifier(random_state=0)
    stored.GRIDS["cover"] = grid = stored.fit_grid(boosting, GRID, X, y, n_train=N_TRAIN)
    right = (grid.full > 0.5) == y
    found = {method: [] for method in METHODS}
    for seed in range(options.repeats):
        rng = np.random.default_rng([seed, 7])
        rows = rng.choice(np.arange(N_TRAIN, len(y)), N_SITES * M, replace=False)
        exact = right[:, rows].mean(axis=1)
        for method, run in METHODS.items():
            best, score = run(y, np.split(rows, N_SITES))
            found[method].append((exact.max() - exact[best], abs(score - exact[best])))
    for method, pairs in found.items():
        (regret, error), se = np.mean(pairs, axis=0), np.std(pairs, axis=0) / len(pairs) ** 0.5
        print(f"{method}: regret {regret:.4f} ± {se[0]:.4f}, error {error:.4f} ± {se[1]:.4f}")
    if options.json:
        Path(options.json).write_text(json.dumps(found))


if __name__ == "__main__":
    main()

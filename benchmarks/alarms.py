"""Claim: searches say that the validation set differs if labels are wrong, and not if all is well.

    python benchmarks/alarms.py [--repeats 4] [--json alarms.json]     # about 10 minutes
    python benchmarks/alarms.py --quick                                # half a minute

*Healthy* searches have training and validation sets that are drawn at random from the same table.
*Wrong* ones have other validation labels: "shuffled" as by a wrong join, "swapped" classes, other
"codes" (1 and 2 for 0 and 1), or other "shares" (two of three negative records are left out).

Each of three tables of two classes and two of regression is searched with a grid of 8 trees, with
16 draws of a logistic or a ridge regression, and with the grid where two records each are a group;
m = 2,000, epsilon = 1. An alarm is a `LowUtilityWarning` that the sets differ, that labels are not
those of the training set, or that some constant is better. Nothing is tuned here; the rate of false
alarms that the hints allow for is 1 %.

The table has alarms / searches of each score. Other shares alone change no AUC.
"""

import warnings
from pathlib import Path

from harness import parser_of, print_table, save

# isort: split
import numpy as np
import pandas as pd
from scipy.stats import loguniform
from scores import census, elevation, houses, ponderosa, spam
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.exceptions import LowUtilityWarning, PrivacyWarning
from sklearn_dpbo.testing import seeded_noise

RESULTS = Path(__file__).parent / "results"
N_TRAIN, M, EPSILON, N_DRAWN = 1_500, 2_000, 1.0, 16
CLASSES = ["accuracy", "f1", "roc_auc", "average_precision", "cohen_kappa", "neg_log_loss"]
NUMBERS = ["r2", "neg_mean_absolute_error"]
TABLES = {census: CLASSES, spam: CLASSES, ponderosa: CLASSES, houses: NUMBERS, elevation: NUMBERS}
GRID = {"max_depth": [2, 4, 6, 8], "min_samples_leaf": [5, 50]}
SETTINGS = ("grid", "draws", "groups")
# Parts of what is said.
ALARMS = (
    "The validation set differs from the training set", "some constant prediction has",
    "have labels that the training set does not have",
)  # fmt: skip


def shuffled(X, y, rng):
    return X, rng.permutation(y)


def swapped(X, y, rng):
    return X, 1 - y


def codes(X, y, rng):
    return X, y + 1


def shares(X, y, rng):
    kept = (y == 1) | (rng.random(len(y)) < 1 / 3)
    return X[kept], y[kept]


WRONG = {"shuffled": shuffled, "swapped": swapped, "codes": codes, "shares": shares}


def search_of(setting, classifies, scoring, seed):
    common = {"scoring": scoring, "epsilon": EPSILON, "random_state": seed, "refit": False}
    if setting != "draws":
        tree = DecisionTreeClassifier if classifies else DecisionTreeRegressor
        return PrivateBayesSearchCV(tree(random_state=0), GRID, **common)
    model, name = (
        (LogisticRegression(max_iter=300), "logisticregression__C")
        if classifies
        else (Ridge(), "ridge__alpha")
    )
    line = make_pipeline(StandardScaler(), model)
    return PrivateBayesSearchCV(line, {name: loguniform(1e-3, 1e3)}, n_iter=N_DRAWN, **common)


def alarm(X, y, scoring, setting, kind, seed):
    """Return whether a search says that something is wrong."""
    rng = np.random.default_rng([seed, len(y)])
    rows = rng.permutation(len(y))[: N_TRAIN + M]
    train, val = rows[:N_TRAIN], rows[N_TRAIN:]
    X_val, y_val = X[val], y[val]
    if kind != "healthy":
        X_val, y_val = WRONG[kind](X_val, y_val, rng)
    groups = {"groups_val": np.arange(len(y_val)) // 2} if setting == "groups" else {}
    search = search_of(setting, len(np.unique(y)) == 2, scoring, seed)
    with warnings.catch_warnings(record=True) as caught, seeded_noise(seed):
        warnings.simplefilter("always", LowUtilityWarning)
        search.fit(X[train], y[train], X_val=X_val, y_val=y_val, **groups)
    texts = [str(each.message) for each in caught if each.category is LowUtilityWarning]
    return any(part in text for text in texts for part in ALARMS)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="small: to see that it runs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    options.repeats = 1 if options.quick else options.repeats
    tables = {spam: CLASSES[:2], elevation: NUMBERS[:1]} if options.quick else TABLES
    rows = []
    for make, names in tables.items():
        problem = make()
        for kind in ("healthy", *WRONG):
            if kind not in ("healthy", "shuffled") and names[0] in NUMBERS:
                continue
            repeats = options.repeats if kind == "healthy" else max(1, options.repeats // 3)
            for setting in SETTINGS:
                for scoring in names:
                    for seed in range(repeats):
                        found = alarm(problem.X, problem.y, scoring, setting, kind, seed)
                        rows.append(
                            {"table": make.__name__, "setting": setting, "score": scoring,
                             "labels": kind, "seed": seed, "alarm": int(found)}
                        )  # fmt: skip
    frame = pd.DataFrame(rows)
    of = frame.groupby(["score", "labels"], sort=False)["alarm"].agg(["sum", "count"])
    cells = (of["sum"].astype(str) + " / " + of["count"].astype(str)).unstack(fill_value="")
    cells = cells[["healthy", *(kind for kind in WRONG if kind in cells)]]
    print_table(["score", *cells], [[name, *row] for name, row in cells.iterrows()])
    save(rows, options.json)
    if not options.quick:
        frame.to_csv(RESULTS / "alarms.csv", index=False)


if __name__ == "__main__":
    main()

"""Claims: what privacy costs in utility and time, for a parameter and for a decision threshold.

    python benchmarks/configuration.py [--part families rotations time threshold]
                                       [--json configuration.json] [--csv thresholds.csv]
    python benchmarks/configuration.py --quick

* families: regret of `PrivateConfigurator` on its own sample, mean utility of the best parameter
  of the grid minus that of the private choice; beside the theorem's bound, with the sample's own
  dispersion and the best width. Compared with the algorithm's default parameter (rho = 1,
  gamma = 0, the smallest s), the best parameter of an independent public sample, and the sample's
  best parameter without privacy; all of them on a fresh test sample, too.
* rotations: critical points of rotations of 12 variables in the fullest window of width
  1 / sqrt(n), and what `rotation_dispersion_bound` says beforehand; then the bounds on the utility
  lost with either, the expected one, and what the paper's abstract prints.
* time: seconds of one fit of `PrivateConfigurator`.
* threshold: `PrivateThresholdClassifier` and scikit-learn's `TunedThresholdClassifierCV`, on the
  same validation set and the same fitted classifier. Regret is the score of the best of all
  possible thresholds minus that of the one chosen, on the validation set and on a test set (there
  against the best for the test set, which nobody knows).

epsilon is that of the whole fit, score included. For regrets, noise is seeded, which is quicker and
has the same distribution; where time is measured, it is not.
"""

import csv
import time
import warnings
from dataclasses import dataclass
from functools import partial

from harness import parser_of, save

# isort: split

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from problems import DATA, codes, parts
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_dpbo import PrivateThresholdClassifier, make_private_scorer
from sklearn_dpbo.papers.balcan2018 import (
    Graph,
    IndependentSet,
    Knapsack,
    KnapsackItems,
    OutwardRotation,
    PrivateConfigurator,
    QuadraticProgram,
    SLinear,
    dispersion,
    excess_utility_bound,
    expected_utility_bound,
    piecewise_utility,
    rotation_dispersion_bound,
    uniform_grid,
)
from sklearn_dpbo.papers.balcan2018.published import (
    published_excess_utility_bound,
    published_rotation_rate,
)
from sklearn_dpbo.testing import seeded_noise

EPSILONS = [0.1, 1, 10]


def table(heads, rows):
    """Print a Markdown table."""
    print("\n| " + " | ".join(heads) + " |" + "\n" + "|---" * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(x if isinstance(x, str) else f"{x:.4g}" for x in row) + " |")


def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


# Instances. A parameter matters where few large items or nodes decide: hence heavy tails.


def knapsack(rng, n=50):
    """Sizes lognormal(0, 2); value = size^1.5 times lognormal(0, 0.5); room for a third."""
    sizes = rng.lognormal(0, 2, n)
    return KnapsackItems(sizes**1.5 * rng.lognormal(0, 0.5, n), sizes, sizes.sum() / 3)


def graph(rng, n=50):
    """Preferential attachment, 2 edges per node; weight = (1 + degree) times lognormal(0, 0.5)."""
    ends, edges = [0, 1], []
    for node in range(2, n):
        for other in set(rng.choice(ends, 2).tolist()):
            edges.append((node, other))
            ends += [node, other]
    degree = np.bincount(np.ravel(edges), minlength=n)
    return Graph((1 + degree) * rng.lognormal(0, 0.5, n), edges)


def cut(rng, n=12):
    """Maximum cut of a graph with half of all edges, of weights lognormal(0, 1)."""
    W = np.triu((rng.random((n, n)) < 0.5) * rng.lognormal(0, 1, (n, n)), 1)
    return QuadraticProgram(-W - W.T)


@dataclass
class Case:
    family: object
    draw: object  # of a generator, to an instance
    default: float  # the nearest point of the grid counts
    sizes: tuple
    grid_size: int = 2**16


CASES = {
    "Knapsack, 50 items": Case(Knapsack(), knapsack, 1.0, (50, 200, 1000)),
    "IndependentSet, 50 nodes": Case(IndependentSet(), graph, 1.0, (50, 200, 1000)),
    "OutwardRotation, 12 variables": Case(OutwardRotation(), cut, 0.0, (50, 200)),
    # As many values per instance as the grid has points: a smaller one.
    "SLinear, 12 variables": Case(SLinear(), cut, 0.0, (50, 200), 2**12),
}


class Known:
    """The family of instances whose utility is known: they are their utilities."""

    def breakpoints(self, u):
        return u.breakpoints

    def utility(self, u, parameter):
        return float(u(parameter))

    def utilities(self, u, parameters):
        return u(parameters)


def utilities(case, n, seed):
    """Draw n instances, and compute what they are worth on the whole interval."""
    rng = np.random.default_rng(seed)
    args = case.family.interval, case.grid_size
    return Parallel(n_jobs=2, batch_size=16)(
        delayed(piecewise_utility)(case.family, case.draw(rng), *args) for _ in range(n)
    )


def mean_on(us, grid):
    total = np.zeros(len(grid))
    for u in us:
        total += u(grid)
    return total / len(us)


def private_choice(us, case, epsilon, seed):
    warnings.simplefilter("ignore")
    configurator = PrivateConfigurator(
        Known(), epsilon=epsilon, utility_bound=1.0, interval=case.family.interval,
        grid_size=case.grid_size,
    )  # fmt: skip
    with seeded_noise(seed):
        return configurator.fit(us).best_parameter_


def least_bound(us, case, epsilon):
    """The theorem's bound for the best of 50 widths; the draw has 0.8 of epsilon."""
    low, high = case.family.interval
    bounds = [
        excess_utility_bound(
            len(us), epsilon=0.8 * epsilon, utility_bound=1.0, interval=(low, high), width=width,
            k=dispersion(us, width, public=True), grid_size=case.grid_size,
        )
        for width in (high - low) * np.geomspace(1.001 / case.grid_size, 1, 50)
    ]  # fmt: skip
    return min(bounds)


def family_rows(name, quick):
    case = CASES[name]
    sizes, draws, repeats = ((50,), 2, 4) if quick else (case.sizes, 4, 20)
    most = max(sizes)
    grid = uniform_grid(case.family.interval, case.grid_size)
    pool = utilities(case, draws * most, 0)
    public, test = (mean_on(utilities(case, most, seed), grid) for seed in (1, 2))
    default, fixed = abs(grid - case.default).argmin(), public.argmax()
    rows = []
    for size in sizes:
        samples = [pool[i * most : i * most + size] for i in range(draws)]
        means = [mean_on(us, grid) for us in samples]
        for epsilon in EPSILONS:
            chosen = Parallel(n_jobs=2)(
                delayed(private_choice)(us, case, epsilon, 1000 * i + seed)
                for i, us in enumerate(samples) for seed in range(repeats)
            )  # fmt: skip
            at = np.searchsorted(grid, chosen).reshape(draws, repeats)
            regret = np.array([u.max() - u[k] for u, k in zip(means, at, strict=True)])
            rows.append({
                "family": name, "n": size, "epsilon": epsilon, "regret": regret.mean(),
                "regret_se": regret.std() / regret.size**0.5,
                "regret_95": np.quantile(regret, 0.95),
                "bound": np.mean([least_bound(us, case, epsilon) for us in samples]),
                "regret_default": np.mean([u.max() - u[default] for u in means]),
                "regret_public": np.mean([u.max() - u[fixed] for u in means]),
                "test": test[at].mean(), "test_default": test[default],
                "test_public": test[fixed],
                "test_empirical": np.mean([test[u.argmax()] for u in means]),
                "best_public": grid[fixed], "chosen": np.median(chosen),
            })  # fmt: skip
    return rows


def shown(row, column):
    """A bound above H = 1 says nothing."""
    return "> 1" if column == "bound" and row[column] > 1 else f"{row[column]:.4f}"


def families(quick, _data):
    rows = []
    for name in list(CASES)[:: 3 if quick else 1]:
        start = time.perf_counter()
        rows += family_rows(name, quick)
        took, best = time.perf_counter() - start, rows[-1]["best_public"]
        print(f"{name}: {took:.0f} s; best of the public sample {best:.3f}", flush=True)
    columns = ("regret", "regret_default", "regret_public", "regret_95", "bound", "test",
               "test_default", "test_public", "test_empirical")  # fmt: skip
    table(
        ["family", "instances", "ε", "regret, private", "default", "best of a public sample",
         "95 % quantile, private", "bound", "test utility, private", "default",
         "best of a public sample", "best of the sample"],
        [[r["family"], f"{r['n']:,}", f"{r['epsilon']:g}", *(shown(r, c) for c in columns)]
         for r in rows],
    )  # fmt: skip
    return rows


def rotation_row(n, pool, n_variables=12, epsilon=1.0):
    """Bounds for a choice at epsilon among n instances."""
    interval, width = OutwardRotation().interval, 1 / n**0.5
    samples = [pool[i : i + n] for i in range(0, len(pool), n)]
    found = max(dispersion(us, width, public=True) for us in samples)
    known = rotation_dispersion_bound(n, n_variables, width, beta=0.025)
    of = dict(epsilon=epsilon, utility_bound=1.0, width=width)
    exact = dict(of, interval=interval, beta=0.05)
    share = dict(of, width=width / (interval[1] - interval[0]))
    return {
        "n": n, "k": found, "k_bound": known,
        "bound": excess_utility_bound(n, k=found, **exact),
        "bound_beforehand": excess_utility_bound(n, k=known, **dict(exact, beta=0.025)),
        "expected_beforehand": expected_utility_bound(n, k=known, **dict(exact, beta=0.025)),
        "printed": published_excess_utility_bound(n, k=found, **share),
        "rate": published_rotation_rate(n, n_variables, epsilon=epsilon, utility_bound=1.0),
    }  # fmt: skip


def rotations(quick, _data):
    sizes = (50, 200) if quick else (50, 200, 1000, 4000)
    pool = utilities(CASES["OutwardRotation, 12 variables"], max(sizes), 3)
    rows = [rotation_row(n, pool) for n in sizes]
    heads = ["instances", "k, largest found", "k, beforehand", "bound, k found", "beforehand",
             "expected utility, beforehand", "printed, k found", "printed rate"]  # fmt: skip
    table(heads, [[f"{x:,}" if isinstance(x, int) else f"{x:.3f}" for x in r.values()]
                  for r in rows])  # fmt: skip
    return rows


# What is timed: (name, family, instances as the generator draws them, how many).
TIMED = [
    ("Knapsack, 100 items", Knapsack(), partial(knapsack, n=100), 1000),
    ("IndependentSet, 50 nodes", IndependentSet(), graph, 1000),
    ("OutwardRotation, 40 variables", OutwardRotation(), partial(cut, n=40), 100),
    ("SLinear, 40 variables", SLinear(), partial(cut, n=40), 100),
]


def times(quick, _data):
    rows = []
    for name, family, draw, n in TIMED:
        n, rng = n // 20 if quick else n, np.random.default_rng(0)
        instances = [draw(rng) for _ in range(n)]
        configurator = PrivateConfigurator(family, epsilon=1.0, utility_bound=1.0, n_jobs=2)
        configurator.fit(instances[:2])  # starts the workers
        took = seconds(partial(configurator.fit, instances))
        rows.append({"family": name, "n": n, "seconds": took})
        print(f"{name}: {took:.1f} s", flush=True)
    table(["family", "instances", "seconds"],
          [[r["family"], f"{r['n']:,}", f"{r['seconds']:.1f}"] for r in rows])  # fmt: skip
    return rows


# The cost of a missed positive, in false alarms.
MISS = 8


def mean_cost(y, predicted):
    return np.mean(np.where(y == 1, MISS * (predicted == 0), predicted == 1))


SCORINGS = {  # ours, and scikit-learn's
    "accuracy": ("accuracy", "accuracy"),
    "balanced accuracy": ("balanced_accuracy", "balanced_accuracy"),
    "cost": (
        make_private_scorer("neg_cost", cost_matrix=[[0, 1], [MISS, 0]]),
        make_scorer(mean_cost, greater_is_better=False),
    ),
}


def worth(scoring, y):
    """What predicting the first class is worth for each record, and predicting the second."""
    if scoring == "cost":
        return -MISS * (y == 1.0), -1.0 * (y == 0)
    share = np.bincount(y) / len(y)
    weight = 1 / (2 * share[y]) if scoring == "balanced accuracy" else 1.0
    return weight * (y == 0), weight * (y == 1)


def regrets(p, y, scoring, thresholds):
    """The best score of any threshold on the probabilities p, minus the score of each of these."""
    first, second = worth(scoring, y)
    order = np.argsort(p)
    p = p[order]
    # scores[k]: the k lowest are predicted to be of the first class.
    scores = (second.sum() + np.concatenate([[0], np.cumsum((first - second)[order])])) / len(y)
    possible = np.concatenate([[True], p[1:] > p[:-1], [True]])
    return scores[possible].max() - scores[np.searchsorted(p, thresholds, side="left")]


def linear(categories, numbers):
    some = OneHotEncoder(min_frequency=50, handle_unknown="infrequent_if_exist")
    columns = make_column_transformer((some, categories), (StandardScaler(), numbers))
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


def of_frame(X, y, n_train, m, seed=0):
    """(train, pool of validation records, test) of codes; and the models."""
    numeric = np.array([X[c].dtype.kind in "if" and not c.endswith("_id") for c in X])
    models = {
        "logistic regression": linear(np.flatnonzero(~numeric), np.flatnonzero(numeric)),
        "boosting": HistGradientBoostingClassifier(random_state=0),
    }
    return parts(codes(X), y, n_train, m, np.random.default_rng(seed)), models


def readmission():
    """Readmitted within 30 days (11 %), by encounter."""
    frame = pd.read_csv(DATA / "diabetes130.csv.gz", keep_default_na=False)
    y = (frame["readmitted"] == "<30").to_numpy().astype(int)
    return of_frame(
        frame.drop(columns=["readmitted", "encounter_id", "patient_nbr"]), y, 20_000, 60_000
    )


def adult():
    """Income over 50,000 dollars (24 %)."""
    frame = pd.read_csv(DATA / "adult.csv.gz", keep_default_na=False)
    y = (frame["income"] == ">50K").to_numpy().astype(int)
    return of_frame(frame.drop(columns=["income", "split"]), y, 10_000, 25_000)


def synthetic():
    """Synthetic, 11 % positives, 5 % of labels drawn anew."""
    X, y = make_classification(320_000, 20, n_informative=8, weights=[0.91], flip_y=0.05,
                               class_sep=0.7, random_state=0)  # fmt: skip
    return of_frame(pd.DataFrame(X).add_prefix("x"), y, 20_000, 200_000)


# name: (data, numbers of validation records)
DATA_SETS = {
    "readmission": (readmission, (1_000, 3_000, 10_000, 30_000)),
    "adult": (adult, (1_000, 3_000, 10_000)),
    "synthetic": (synthetic, (1_000, 3_000, 10_000, 30_000, 100_000)),
}


class Said(ClassifierMixin, BaseEstimator):
    """Says what the only column of X says: probabilities that were computed before."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def peer(estimator, scoring):
    return TunedThresholdClassifierCV(
        FrozenEstimator(estimator), cv="prefit", refit=False, scoring=SCORINGS[scoring][1]
    )


def one_repetition(said, m, scoring, seed, with_peer):
    """Regrets on the validation and the test set: ours by epsilon, scikit-learn's, of 0.5."""
    warnings.simplefilter("ignore")
    (p_train, y_train), (p_pool, y_pool), (p_test, y_test) = said
    rows = np.random.default_rng(seed).choice(len(y_pool), m, replace=False)
    p_val, y_val = p_pool[rows], y_pool[rows]
    estimator = Said().fit(p_train[:, None], y_train)
    thresholds = [
        seeded_noise(1000 * (i + 1) + seed)(PrivateThresholdClassifier(
            FrozenEstimator(estimator), epsilon=epsilon, scoring=SCORINGS[scoring][0],
            prediction="together",
        ).fit)(p_train[:, None], y_train, X_val=p_val[:, None], y_val=y_val).best_threshold_
        for i, epsilon in enumerate(EPSILONS)
    ]  # fmt: skip
    chosen = np.nan
    if with_peer:
        chosen = peer(estimator, scoring).fit(p_val[:, None], y_val).best_threshold_
    thresholds = np.array([*thresholds, chosen, 0.5])
    found = np.array([regrets(p, y, scoring, thresholds)
                      for p, y in ((p_val, y_val), (p_test, y_test))])  # fmt: skip
    found[:, np.isnan(thresholds)] = np.nan
    return found


METHODS = [*(f"ε = {epsilon:g}" for epsilon in EPSILONS), "scikit-learn", "0.5"]


def fitted(cut, models):
    """Name and what the fitted model says of each part, model by model."""
    for name, model in models.items():
        model = clone(model).fit(*cut[0])
        yield name, [(model.predict_proba(X)[:, 1], y) for X, y in cut]


def regret_rows(label, said, sizes, repeats):
    """scikit-learn is slow on large validation sets, and sees fewer of them."""
    rows = []
    for scoring in SCORINGS:
        for m in sizes:
            enough = repeats if m <= 10_000 else 5
            found = Parallel(n_jobs=2)(
                delayed(one_repetition)(said, m, scoring, seed, seed < enough)
                for seed in range(repeats)
            )
            mean = np.nanmean(found, axis=0)
            rows.append({"case": label, "scoring": scoring, "m": m,
                         "validation": dict(zip(METHODS, mean[0].tolist(), strict=True)),
                         "test": dict(zip(METHODS, mean[1].tolist(), strict=True))})  # fmt: skip
    return rows


def threshold(quick, data):
    rows = []
    for name in ["adult"] if quick else data:
        make, sizes = DATA_SETS[name]
        sizes, repeats = (sizes[:2], 2) if quick else (sizes, 20)
        cut, models = make()
        for model_name, said in fitted(cut, models):
            rows += regret_rows(f"{name}, {model_name}", said, sizes, repeats)
    for part in ("validation", "test"):
        print(f"\nRegret on the {part} set")
        table(["case", "scoring", "m", *METHODS],
              [[r["case"], r["scoring"], f"{r['m']:,}", *(f"{x:.4f}" for x in r[part].values())]
               for r in rows])  # fmt: skip
    return rows


def write_thresholds(rows, path):
    """Write the regrets on the test set to a CSV file, a row for each case, metric and m."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "scoring", "m", *METHODS])
        writer.writerows(
            [r["case"], r["scoring"], r["m"], *(f"{x:.4f}" for x in r["test"].values())]
            for r in rows
        )


PARTS = {"families": families, "rotations": rotations, "time": times, "threshold": threshold}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--data", nargs="+", choices=list(DATA_SETS), default=list(DATA_SETS),
                        help="of the part threshold")  # fmt: skip
    parser.add_argument("--csv", help="file for the regrets of the part threshold")
    parser.add_argument("--quick", action="store_true", help="few and small: does it run?")
    options = parser.parse_args()
    results = {}
    for part in options.part:
        results[part] = PARTS[part](options.quick, options.data)
        save(results, options.json)
    if options.csv:
        write_thresholds(results["threshold"], options.csv)


if __name__ == "__main__":
    main()

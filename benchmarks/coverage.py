"""Claim: how often 95 % intervals contain the number that they are for, and how wide they are.

    python benchmarks/coverage.py PART [--repetitions 500] [--quick]

Each repetition draws new records and new noise (without a seed). Intervals for the population must
contain its number, computed by scikit-learn from 400,000 further records; those for the records,
the number of these records. The model is fitted once per setting, on 2,000 public records which
place the bins, too: intervals are for a given model and given bins. Each kind of problem is
measured with few records and much noise, with many and little, and between: (m, epsilon) of
(300, .5), (1,000, 1) and (5,000, 5). A repetition takes .1 to .3 s of processor time (a search
among 16 candidates .06 to .15 s, four subgroups .9 s), most of it for 4,000 simulated draws for
each interval: 500 repetitions of a part are 10 to 60 minutes of one core. Each row is written as
soon as it is known, so that a part may be stopped.

A part prints a table and writes ``results/coverage_PART.csv``. The standard error of a coverage of
.95 is .010 for 500 repetitions.

* groups: scores of subgroups of about 100, 300, 1,000 and 3,000 records, and all differences of two
  of them, at once;
* evaluation: scores of `private_evaluation`: two classes that a logistic regression tells apart
  well (distance 2), or nearly always (5); three classes; groups as units, of 1 to 8 records with
  effects of their own.
* choice: `best_score_population_interval_` after a search among T candidates that are equally good
  in the population, and whose errors are independent: the worst case, as luck alone decides.
* means: the same for means of gains of other distributions, of one candidate and of 16.
* comparison: differences by `private_comparison`, and by two evaluations with epsilon / 2 each,
  whose intervals are combined in quadrature (a tenth of the repetitions): of a logistic regression
  and one with a feature more, of a tree and a logistic regression, of two thresholds of one model.
* regression: scores of a regressor's `private_evaluation`, for errors that are normal, lognormal
  (sigma 1 and 1.5), and groups as units, of which half of the records are alike. Means are those of
  clipped errors; "unclipped" are the lower ends for the others.
"""

import csv
import math
import os
import warnings
from functools import partial
from pathlib import Path

from harness import mean_and_error, parser_of, print_head, print_row, save

# isort: split
import numpy as np
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import PrivateBayesSearchCV, private_comparison, private_evaluation
from sklearn_dpbo.exceptions import LowUtilityWarning, PrivacyWarning
from sklearn_dpbo.strategies import WorstCase

RESULTS = Path(__file__).parent / "results"
SETTINGS = [(5_000, 5.0), (1_000, 1.0), (300, 0.5)]
N_PUBLIC, N_POPULATION = 2_000, 400_000
INTERVALS = ("population", "records")


def summary(part, setting, repetitions):
    """Return rows for a part: coverage and width of each score and kind of interval.

    `setting` is a dict of columns; each repetition is a dict from (score, kind of interval) to
    (low, high, the number that the interval is for).
    """
    rows = []
    for score, kind in repetitions[0]:
        low, high, exact = np.array([each[score, kind] for each in repetitions]).T
        coverage, error = mean_and_error((low - 1e-9 <= exact) & (exact <= high + 1e-9))
        row = {"part": part, "score": score, **setting, "interval": kind}
        row |= {"repetitions": len(repetitions), "coverage": f"{coverage:.3f}"}
        rows.append(
            row | {"standard_error": f"{error:.3f}", "median_width": f"{np.median(high - low):.4f}"}
        )
    return rows


# ------------------------------------------------------------------ evaluations
def two_classes(n, rng, prevalence, distance):
    y = (rng.random(n) < prevalence).astype(int)
    X = rng.standard_normal((n, 2))
    X[:, 0] += distance * y
    return X, y, None


def three_classes(n, rng, shares):
    y = rng.choice(3, n, p=shares)
    return rng.standard_normal((n, 3)) + 1.5 * np.eye(3)[y], y, None


def stays(n, rng):
    """Records of n patients: each has 1 to 8, and a risk of their own."""
    groups = np.repeat(np.arange(n), rng.integers(1, 9, n))
    risk = rng.standard_normal(n)[groups]
    y = (risk + 0.5 * rng.standard_normal(len(groups)) > 0.8).astype(int)
    X = rng.standard_normal((len(groups), 2))
    X[:, 0] += risk + 0.5 * y
    return X, y, groups


def exact_scores(model, X, y, groups):
    """Return scikit-learn's scores by name; records of a group share the weight of one."""
    w = None if groups is None else 1 / np.bincount(groups)[groups]
    p, label, K = model.predict_proba(X), model.predict(X), len(model.classes_)
    several = {} if K == 2 else {"average": "macro"}
    macro = "_macro" * (K > 2)
    options = {"sample_weight": w}
    scores = {
        "accuracy": metrics.accuracy_score(y, label, **options),
        f"recall{macro}": metrics.recall_score(y, label, zero_division=0, **several, **options),
        f"f1{macro}": metrics.f1_score(y, label, zero_division=0, **several, **options),
    }
    if K > 2:
        one_hot = np.eye(K)[y]
        return scores | {
            "roc_auc_ovr": metrics.roc_auc_score(y, p, multi_class="ovr", **options),
            "brier_score": np.average(((p - one_hot) ** 2).sum(axis=1), weights=w),
        }
    return scores | {
        "roc_auc": metrics.roc_auc_score(y, p[:, 1], **options),
        "average_precision": metrics.average_precision_score(y, p[:, 1], **options),
        "brier_score": metrics.brier_score_loss(y, p[:, 1], **options),
        "prevalence": np.average(y, weights=w),
    }


def evaluations(part, draw, setting, m, epsilon, n, rng):
    """Return rows for one kind of problem, m units and an epsilon."""
    X, y, _ = draw(N_PUBLIC, rng)
    model = LogisticRegression().fit(X, y)
    population = exact_scores(model, *draw(N_POPULATION, rng))
    repetitions = []
    while len(repetitions) < n:
        X_val, y_val, groups = draw(m, rng)
        if len(np.unique(y_val)) < len(model.classes_):
            continue  # scikit-learn has no area then
        evaluation = private_evaluation(
            model, X_val, y_val, X=X, y=y, epsilon=epsilon, groups_val=groups
        )
        repetitions.append(
            {
                (name, "population"): (*evaluation.score(name)[1:], exact)
                for name, exact in population.items()
            }
        )
    return summary(part, {"setting": setting, "m": m, "epsilon": epsilon}, repetitions)


def of_evaluations(n, quick):
    """Yield rows for scores of evaluations."""
    kinds = {
        f"prevalence {share:g}, distance {distance}": lambda n, rng, share=share, d=distance: (
            two_classes(n, rng, share, d)
        )
        for share, distance in ((0.1, 2), (0.1, 5), (0.5, 2), (0.02, 2))
    }
    kinds["three classes"] = lambda n, rng: three_classes(n, rng, (0.6, 0.3, 0.1))
    kinds["groups"] = stays
    rng = np.random.default_rng(0)
    for m, epsilon in SETTINGS[:1] if quick else SETTINGS:
        for setting, draw in kinds.items():
            yield from evaluations("evaluation", draw, setting, m, epsilon, n, rng)


# ------------------------------------------------------------------ after a choice
class Column(ClassifierMixin, BaseEstimator):
    """A candidate that has been fitted elsewhere: its scores are a column of X."""

    def __init__(self, candidate=0):
        self.candidate = candidate

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        p = np.asarray(X)[:, self.candidate]
        return np.stack([1 - p, p], axis=1)

    def predict(self, X):
        return (np.asarray(X)[:, self.candidate] >= 0.5).astype(int)


def right_or_wrong(y, T, rng, accuracy):
    """Scores of T candidates that predict the right label with this probability."""
    right = rng.random((len(y), T)) < accuracy
    return np.where(right, y[:, None], 1 - y[:, None]).astype(float)


def graded(y, T, rng):
    """Scores that are higher for positive records; as they should be at a prevalence of .3."""
    log_odds = 2 * (rng.standard_normal((len(y), T)) + 2 * y[:, None] - 1) + np.log(0.3 / 0.7)
    return 1 / (1 + np.exp(-log_odds))


def with_losses(y, T, rng, losses):
    """Probabilities whose Brier losses are these."""
    off = np.sqrt(losses((len(y), T), rng))
    return np.where(y[:, None] == 1, 1 - off, off)


def after_choices(part, setting, scoring, scores, prevalence, m, epsilon, T, n, rng):
    """Return rows for one kind of candidates."""
    y = (rng.random(N_POPULATION) < prevalence).astype(int)
    population = scores(y, 1, rng)
    exact = metrics.get_scorer(scoring)(Column().fit(None, None), population, y)
    y_public = np.arange(400) % 2
    public = scores(y_public, T, rng)
    repetitions = []
    while len(repetitions) < n:
        y_val = (rng.random(m) < prevalence).astype(int)
        search = PrivateBayesSearchCV(
            Column(), {"candidate": list(range(T))}, scoring=scoring, epsilon=epsilon,
            strategy=WorstCase("none", prior_weight=0), prediction="together", refit=False,
        )  # fmt: skip
        search.fit(public, y_public, X_val=scores(y_val, T, rng), y_val=y_val)
        low, high = search.best_score_population_interval_
        repetitions.append(
            {
                (scoring, "population"): (low, high, exact),
                (scoring, "records"): (*search.best_score_interval_, exact),
            }
        )
    columns = {"setting": setting, "m": m, "epsilon": epsilon, "candidates": T}
    return summary(part, columns, repetitions)


def of_choices(n, quick):
    """Yield rows for scores of the best of T equal candidates."""
    rng = np.random.default_rng(0)
    for accuracy in (0.8, 0.97):
        draw = partial(right_or_wrong, accuracy=accuracy)
        for T in (16,) if quick else (8, 64):
            size = (0.5, 500, 1.0, T, n, rng)
            yield from after_choices("choice", f"right with {accuracy:g}", "accuracy", draw, *size)
    for scoring in ("f1", "roc_auc", "average_precision"):
        for m, epsilon in ((500, 1.0),) if quick else ((500, 1.0), (2_000, 5.0)):
            size = (0.3, m, epsilon, 16, n, rng)
            yield from after_choices("choice", "graded", scoring, graded, *size)


def of_means(n, quick):
    """Yield rows for means of Brier losses of several distributions."""
    rng = np.random.default_rng(0)
    losses = {
        "losses Beta(2, 8)": lambda size, rng: rng.beta(2, 8, size),
        "losses Beta(.5, 3)": lambda size, rng: rng.beta(0.5, 3, size),
        "losses Beta(.15, 4)": lambda size, rng: rng.beta(0.15, 4, size),
        "losses of 1 (2 %), else below .05": lambda size, rng: np.where(
            rng.random(size) < 0.02, 1.0, 0.05 * rng.random(size)
        ),
    }
    sizes = [(500, 1.0)] if quick else [(300, 1.0), (2_000, 5.0)]
    for setting, draw in losses.items():
        for m, epsilon in sizes:
            for T in (1, 16):
                scores = partial(with_losses, losses=draw)
                size = (0.5, m, epsilon, T, n, rng)
                yield from after_choices("means", setting, "neg_brier_score", scores, *size)


# ------------------------------------------------------------------ comparisons
def three_features(n, rng, prevalence):
    y = (rng.random(n) < prevalence).astype(int)
    return rng.standard_normal((n, 3)) + np.array([1.2, 1.0, 0.5]) * y[:, None], y


def first_two(X):
    return X[:, :2]


def labels_of(model, X, threshold):
    return (model.predict_proba(X)[:, 1] >= threshold).astype(int)


def scores_of_labels(y, label):
    """Return scikit-learn's scores of two classes by name."""
    (tn, fp), (fn, tp) = metrics.confusion_matrix(y, label, labels=[0, 1])
    return {
        "accuracy": (tp + tn) / len(y),
        "balanced_accuracy": (tp / (tp + fn) + tn / (tn + fp)) / 2,
        "recall": tp / (tp + fn),
        "specificity": tn / (tn + fp),
        "precision": metrics.precision_score(y, label, zero_division=0),
        "f1": metrics.f1_score(y, label, zero_division=0),
        "net_benefit": (tp - fp * 0.3 / 0.7) / len(y),
    }


def compared(models, thresholds, X, y):
    """Return the exact differences, b minus a."""
    each = zip(models, thresholds, strict=True)
    a, b = (scores_of_labels(y, labels_of(model, X, t)) for model, t in each)
    return {name: b[name] - a[name] for name in a}


def of_two_evaluations(evaluations, thresholds, name):
    """Return the interval of a difference, from two releases."""
    a, b = (e.score(name, threshold=t) for e, t in zip(evaluations, thresholds, strict=True))
    value = b.value - a.value
    low = value - math.hypot(b.value - b.low, a.high - a.value)
    return low, value + math.hypot(b.high - b.value, a.value - a.low)


def comparisons(models, thresholds, draw, setting, n, rng):
    """Return rows for two models, with m and epsilon of the setting."""
    public, m = dict(zip("Xy", draw(N_PUBLIC, rng), strict=True)), setting["m"]
    population = compared(models, thresholds, *draw(N_POPULATION, rng))
    both, separate = [], []
    for i in range(n):
        records = draw(m, rng)
        given = public | {"epsilon": setting["epsilon"]}
        of = {"population": population, "records": compared(models, thresholds, *records)}
        row = {}
        for scoring in (None, "accuracy"):
            comparison = private_comparison(
                *models, *records, thresholds=thresholds, scoring=scoring, **given
            )
            for name in population if scoring is None else ["accuracy"]:
                at = {"threshold": 0.3} if name == "net_benefit" else {}
                for kind in INTERVALS:
                    low_high = comparison.score(name, interval=kind, **at)[1:]
                    row[name + " alone" * bool(scoring), kind] = (*low_high, of[kind][name])
        both.append(row)
        if i % 10 == 0:
            given["epsilon"] /= 2
            two = [
                private_evaluation(model, *records, thresholds=[t], **given)
                for model, t in zip(models, thresholds, strict=True)
            ]
            separate.append(
                {
                    (name, "population, of two evaluations"): (
                        *of_two_evaluations(two, thresholds, name),
                        population[name],
                    )
                    for name in population
                    if name not in ("specificity", "net_benefit")
                }
            )
    return [row for each in (both, separate) for row in summary("comparison", setting, each)]


def of_comparisons(n, quick):
    """Yield rows for differences between two models."""
    rng, pairs = np.random.default_rng(0), []
    for prevalence in (0.3, 0.1):
        X, y = three_features(N_PUBLIC, rng, prevalence)
        fewer = make_pipeline(FunctionTransformer(first_two), LogisticRegression()).fit(X, y)
        tree, new = DecisionTreeClassifier(max_depth=3).fit(X, y), LogisticRegression().fit(X, y)
        kinds = {
            "a feature more": ((fewer, new), (0.5, 0.5)),
            "tree, logistic regression": ((tree, new), (0.3, 0.3)),
            "one model, thresholds .5 and .3": ((new, new), (0.5, 0.3)),
        }
        pairs += [(name, prevalence, *pair) for name, pair in kinds.items()]
    for m, epsilon in SETTINGS[:1] if quick else SETTINGS:
        for name, prevalence, models, thresholds in pairs:

            def draw(n, rng, prevalence=prevalence):
                return three_features(n, rng, prevalence)

            where = {"setting": f"{name}, prevalence {prevalence:g}", "m": m, "epsilon": epsilon}
            yield from comparisons(models, thresholds, draw, where, n, rng)


# ------------------------------------------------------------------ regressors
class Stored(RegressorMixin, BaseEstimator):
    """Predicts its only feature."""

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return X[:, 0]


def normal(n, rng):
    X = rng.standard_normal((n, 1))
    return X, X[:, 0] + 0.6 * rng.standard_normal(n), None


def lognormal(n, rng, sigma):
    X = np.exp(0.6 * rng.standard_normal((n, 1)))
    return X * np.exp(sigma**2 / 2), X[:, 0] * rng.lognormal(0, sigma, n), None


def visits(n, rng):
    """Records of n patients: each has 1 to 8, and about half of them are as the first."""
    groups = np.repeat(np.arange(n), rng.integers(1, 9, n))
    X, y, _ = normal(len(groups), rng)
    own = np.where(
        rng.random(len(groups)) < 0.5, np.searchsorted(groups, groups), np.arange(len(y))
    )
    return X[own], y[own], groups


def exact_numbers(sums, X, y, groups):
    """Return the numbers that are named by the evaluation with these sums; and without clipping."""
    w = np.ones(len(y)) if groups is None else 1 / np.bincount(groups)[groups]
    c, error = sums.c_e, y - X[:, 0]
    e, t = np.clip(error, -c, c), np.clip(y - sums.centre, -sums.c_y, sums.c_y)
    order = np.argsort(abs(error))
    share, sizes = np.cumsum(w[order]) / w.sum(), abs(error)[order]
    mean = partial(np.average, weights=w)
    return {
        "r2": 1 - mean(e**2) / mean((t - mean(t)) ** 2),
        "explained_variance": 1 - mean((e - mean(e)) ** 2) / mean((t - mean(t)) ** 2),
        "mean_absolute_error": mean(abs(e)),
        "root_mean_squared_error": mean(e**2) ** 0.5,
        "mean_error": mean(e),
        "median_absolute_error": sizes[np.searchsorted(share, 0.5)],
        "quantile_absolute_error": sizes[np.searchsorted(share, 0.9)],
        "share_within": mean(abs(error) <= c / 4),
        "share_clipped": mean(abs(error) > c),
        "unclipped mean_absolute_error": mean(abs(error)),
        "unclipped root_mean_squared_error": mean(error**2) ** 0.5,
    }


def regressions(draw, setting, m, epsilon, n, rng):
    """Return rows for errors of one kind, m units and an epsilon."""
    X, y, _ = draw(N_PUBLIC, rng)
    model, beyond, repetitions = Stored().fit(X, y), draw(N_POPULATION, rng), []
    for _ in range(n):
        X_val, y_val, groups = draw(m, rng)
        evaluation = private_evaluation(
            model, X_val, y_val, X=X, y=y, epsilon=epsilon, groups_val=groups,
            prediction="together",
        )  # fmt: skip
        sums = evaluation._parts[0]
        if not repetitions:
            population = exact_numbers(sums, *beyond)
        of = {"population": population, "records": exact_numbers(sums, X_val, y_val, groups)}

        def ends(name, kind, evaluation=evaluation, tolerance=sums.c_e / 4):
            unclipped, name = name.startswith("unclipped "), name.removeprefix("unclipped ")
            options = {"tolerance": tolerance, "clipped": not unclipped, "interval": kind}
            return evaluation.score(name, **options)[1:]

        repetitions.append(
            {
                (name, kind): (*ends(name, kind), of[kind][name])
                for name in population
                for kind in INTERVALS
            }
        )
    columns = {"setting": setting, "m": m, "epsilon": epsilon}
    return summary("regression", columns, repetitions)


def of_regressions(n, quick):
    """Yield rows for evaluations of regressors."""
    kinds = {"normal": normal, "groups": visits}
    kinds |= {
        f"lognormal, sigma {sigma:g}": lambda n, rng, sigma=sigma: lognormal(n, rng, sigma)
        for sigma in (1.0, 1.5)
    }
    rng = np.random.default_rng(0)
    for m, epsilon in SETTINGS[:1] if quick else SETTINGS:
        for setting, draw in kinds.items():
            yield from regressions(draw, setting, m, epsilon, n, rng)


# ------------------------------------------------------------------ subgroups
SUBGROUPS = {"about 100": 100, "about 300": 300, "about 1,000": 1_000, "about 3,000": 3_000}
OF_SUBGROUPS = ("accuracy", "recall", "roc_auc", "selection_rate")


def of_subgroups(n, quick):
    """Yield rows for scores of subgroups, which do not differ in the population."""
    rng = np.random.default_rng(0)
    for prevalence in (0.5, 0.1):
        for epsilon in (1.0,) if quick else (1.0, 0.5, 5.0):
            yield from by_subgroup(prevalence, epsilon, n, rng)


def by_subgroup(prevalence, epsilon, n, rng):
    """Return rows for one prevalence and an epsilon: of each subgroup, and of all differences."""
    X, y, _ = two_classes(N_PUBLIC, rng, prevalence, 2)
    model, names = LogisticRegression().fit(X, y), list(SUBGROUPS)
    large = two_classes(N_POPULATION, rng, prevalence, 2)
    exact = exact_scores(model, *large)
    exact["selection_rate"] = model.predict(large[0]).mean()
    m = sum(SUBGROUPS.values())
    repetitions = []
    for _ in range(n):
        X_val, y_val, _ = two_classes(m, rng, prevalence, 2)
        own = rng.choice(names, m, p=np.array([*SUBGROUPS.values()]) / m)
        evaluation = private_evaluation(
            model, X_val, y_val, X=X, y=y, epsilon=epsilon, subgroups_val=own,
            subgroups={"group": names},
        )  # fmt: skip
        repetitions.append(found := {})
        for score in OF_SUBGROUPS:
            rows = evaluation.by_group(score).set_index("group")
            for name in names:
                low, high = rows.loc[name, ["low", "high"]]
                found[f"{score}, {name}", "population"] = (low, high, exact[score])
            # No difference is outside of its interval if 0 is in the intersection of all of them.
            gaps = evaluation.group_differences(score)
            found[f"{score}, all differences", "population"] = (gaps.low.max(), gaps.high.min(), 0)
    return summary("groups", {"prevalence": prevalence, "m": m, "epsilon": epsilon}, repetitions)


# Functions of the number of repetitions, and whether a few settings are enough; they yield rows.
PARTS = {
    "choice": of_choices,
    "comparison": of_comparisons,
    "evaluation": of_evaluations,
    "groups": of_subgroups,
    "means": of_means,
    "regression": of_regressions,
}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="few settings, and 20 repetitions")
    arguments = parser.parse_args()
    for category in (LowUtilityWarning, PrivacyWarning):
        warnings.simplefilter("ignore", category)
    n = 20 if arguments.quick else arguments.repetitions
    path = RESULTS / f"coverage_{arguments.part}.csv"
    rows = []
    with open(os.devnull if arguments.quick else path, "w", newline="") as file:
        for row in PARTS[arguments.part](n, arguments.quick):
            if not rows:
                print_head(row)
                table = csv.DictWriter(file, row, lineterminator="\n")
                table.writeheader()
            rows.append(row)
            print_row(row.values())
            table.writerow(row)
            file.flush()
    save(rows, arguments.json)


if __name__ == "__main__":
    main()

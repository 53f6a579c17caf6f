"""Claim: how often 95 % intervals contain the number that they are for, and how wide they are.

    python benchmarks/coverage.py evaluation [--repetitions 500] [--quick]

Each repetition draws new records and new noise (without a seed). Intervals for the population must
contain its number, computed by scikit-learn from 400,000 further records; those for the records,
the number of these records. The model is fitted once per setting, on 2,000 public records which
place the bins, too: intervals are for a given model and given bins.

A part prints a table and writes ``results/coverage_PART.csv``. The standard error of a coverage of
.95 is .010 for 500 repetitions.

* evaluation: scores of `private_evaluation`: two classes that a logistic regression tells apart
  well (distance 2), or nearly always (5); three classes; groups as units, of 1 to 8 records with
  effects of their own.
"""

import csv
import os
import warnings
from itertools import product
from pathlib import Path

from harness import mean_and_error, parser_of, print_head, print_row, save

# isort: split
import numpy as np
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from sklearn_dpbo import private_evaluation
from sklearn_dpbo.exceptions import LowUtilityWarning, PrivacyWarning

RESULTS = Path(__file__).parent / "results"
SIZES, EPSILONS = (300, 1_000, 5_000), (0.5, 1.0, 5.0)
# All (m, epsilon), most different ones first: a run that is stopped has these.
FIRST = [(1_000, 1.0), (300, 0.5), (5_000, 5.0)]
SETTINGS = [*FIRST, *sorted({*product(SIZES, EPSILONS)} - {*FIRST})]
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
        "balanced_accuracy": metrics.balanced_accuracy_score(y, label, **options),
        f"precision{macro}": metrics.precision_score(
            y, label, zero_division=0, **several, **options
        ),
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
        of = {"population": population, "records": exact_scores(model, X_val, y_val, groups)}
        repetitions.append(
            {
                (name, kind): (*evaluation.score(name, interval=kind)[1:], of[kind][name])
                for name in population
                for kind in INTERVALS
            }
        )
    return summary(part, {"setting": setting, "m": m, "epsilon": epsilon}, repetitions)


def of_evaluations(n, quick):
    """Yield rows for scores of evaluations."""
    kinds = {
        f"prevalence {share:g}, distance {distance}": lambda n, rng, share=share, d=distance: (
            two_classes(n, rng, share, d)
        )
        for distance, shares in ((2, (0.5, 0.1, 0.02)), (5, (0.5, 0.1)))
        for share in shares
    }
    kinds["three classes"] = lambda n, rng: three_classes(n, rng, (0.6, 0.3, 0.1))
    kinds["groups"] = stays
    rng = np.random.default_rng(0)
    for m, epsilon in SETTINGS[:1] if quick else SETTINGS:
        for setting, draw in kinds.items():
            yield from evaluations("evaluation", draw, setting, m, epsilon, n, rng)


# Functions of the number of repetitions, and whether a few settings are enough; they yield rows.
PARTS = {"evaluation": of_evaluations}


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

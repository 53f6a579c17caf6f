"""Claim: what an evaluation, and a private learner, say of a rare outcome (8 % of the records).

    python benchmarks/rare_outcome.py [--repetitions 10] [--quick]

Made-up records, whose classes overlap; the model was fitted on 3,000 public ones.

* evaluation: half widths of the 95 % intervals for the population, means over repeated noise, by
  the number m of protected records; the sensitivity is that from a risk of 10 % on.
* learners: AUC on 95,500 other records of learners that are trained on m = 1,500, mean (lowest,
  highest), and the mean of the risks that they predict.

It prints tables and writes ``results/rare_outcome.csv`` and ``results/rare_outcome_learners.csv``.
"""

import csv
import warnings
from pathlib import Path

from harness import parser_of, print_table, save

# isort: split
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from sklearn_dpbo import private_evaluation
from sklearn_dpbo.exceptions import LowUtilityWarning, PrivacyWarning
from sklearn_dpbo.learners import PrivateClassifier, PrivateLogisticRegression

RESULTS = Path(__file__).parent / "results"
SCORES = {
    "prevalence": {},
    "roc_auc": {},
    "recall": {"threshold": 0.1},
    "specificity": {"threshold": 0.1},
    "precision": {"threshold": 0.1},
    "average_precision": {},
    "calibration_slope": {},
    "brier_score": {},
}
NO_NOISE = 1000.0
M = 1_500


def records():
    """Return 3,000 public records, and protected and fresh ones: 7.9 % are positive."""
    X, y = make_classification(
        100_000, 10, n_informative=5, weights=[0.93], flip_y=0.02, class_sep=0.9, random_state=1
    )
    return (X[:3_000], y[:3_000]), (X[3_000:], y[3_000:])


def evaluations(repetitions, sizes):
    (X, y), (X_all, y_all) = records()
    model = LogisticRegression().fit(X, y)
    for m in sizes:
        for epsilon in (1.0, 5.0, NO_NOISE):
            intervals = []
            for _ in range(repetitions if epsilon < NO_NOISE else 1):
                evaluation = private_evaluation(
                    model, X_all[:m], y_all[:m], X=X, y=y, epsilon=epsilon, thresholds=[0.1]
                )
                found = [evaluation.score(name, **how) for name, how in SCORES.items()]
                intervals.append([(score.value, score.low, score.high) for score in found])
            values, low, high = np.moveaxis(np.array(intervals), 2, 0)
            widths = (high - low).mean(axis=0) / 2
            yield [m, f"{epsilon:g}", *(f"{width:.3f}" for width in widths)]
            if m == M:
                spread = zip(values.min(axis=0), values.max(axis=0), strict=True)
                yield [m, f"{epsilon:g}: values", *(f"{a:.3f} to {b:.3f}" for a, b in spread)]


def learners(repetitions):
    _, (X, y) = records()
    train, fresh = slice(M), slice(M, None)
    ways = {
        "logistic regression without privacy": LogisticRegression(),
        "boosting without privacy": HistGradientBoostingClassifier(random_state=0),
    }
    for epsilon in (1.0, 5.0):
        own = {"classes": [0, 1], "epsilon": epsilon, "delta": 1e-6}
        ways |= {
            f"PrivateClassifier, ε = {epsilon:g}": PrivateClassifier(**own),
            f"PrivateLogisticRegression, ε = {epsilon:g}": PrivateLogisticRegression(**own),
            f"PrivateLogisticRegression(clip=1), ε = {epsilon:g}": PrivateLogisticRegression(
                **own, clip=1.0
            ),
        }
    for way, model in ways.items():
        figures = []
        for _ in range(repetitions if "ε" in way else 1):
            risk = model.fit(X[train], y[train]).predict_proba(X[fresh])[:, 1]
            figures.append((roc_auc_score(y[fresh], risk), risk.mean()))
        (areas, risks) = np.transpose(figures)
        yield [way, *(f"{area:.3f}" for area in (areas.mean(), areas.min(), areas.max())),
               f"{risks.mean():.3f}"]  # fmt: skip


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="two repetitions")
    options = parser.parse_args()
    repetitions = 2 if options.quick else options.repetitions
    warnings.simplefilter("ignore", PrivacyWarning)
    warnings.simplefilter("ignore", LowUtilityWarning)
    sizes = (M, 3_000, 6_000, 12_000)
    tables = {
        "rare_outcome": (["m", "epsilon", *SCORES], list(evaluations(repetitions, sizes))),
        "rare_outcome_learners": (
            ["way", "AUC", "lowest", "highest", "mean risk"],
            list(learners(repetitions)),
        ),
    }
    for name, (head, rows) in tables.items():
        print_table(head, rows)
        if not options.quick:
            with (RESULTS / f"{name}.csv").open("w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([head, *rows])
    save({name: rows for name, (_, rows) in tables.items()}, options.json)

"""Claim: how often intervals of clinical numbers contain them, and what recalibration changes.

    python benchmarks/clinical.py coverage [--repetitions 120] [--quick]
    python benchmarks/clinical.py recalibration [--repetitions 12] [--quick]

* coverage: of predictive values, net benefit, calibration slope and intercept, for a logistic
  regression and for naive Bayes on columns that depend on each other; the population's numbers are
  those of 400,000 further records.
* recalibration: the Brier score on fresh records, in percent of that of the model as it is, with
  the released intercept added to the logit of its probabilities; and for comparison with
  `CalibratedClassifierCV` on the public training set. Protected and fresh records lack 60 % of
  their positives ("shift"), or none.

A part prints a table and writes ``results/clinical_PART.csv``.
"""

import csv
import warnings
from pathlib import Path

from harness import mean_and_error, parser_of, print_table, save

# isort: split
import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, confusion_matrix
from sklearn.naive_bayes import GaussianNB

from sklearn_dpbo import private_evaluation
from sklearn_dpbo.exceptions import LowUtilityWarning, PrivacyWarning

RESULTS = Path(__file__).parent / "results"
MODELS = {"logistic": LogisticRegression(), "naive Bayes": GaussianNB()}


def logits(p):
    return logit(np.clip(p, 1e-4, 1 - 1e-4))


# ------------------------------------------------------------------ coverage
def records(n, rng, prevalence):
    """Two classes, and two columns that depend on each other: naive Bayes is overconfident."""
    y = (rng.random(n) < prevalence).astype(int)
    X = rng.standard_normal((n, 2))
    X[:, 0] += 2 * y
    X[:, 1] += 0.7 * X[:, 0]
    return X, y


def exact_numbers(model, X, y):
    p = model.predict_proba(X)[:, 1]
    (tn, fp), (fn, tp) = confusion_matrix(y, p >= 0.5)
    slope = LogisticRegression(C=np.inf, tol=1e-8).fit(logits(p)[:, None], y).coef_.item()
    intercept = brentq(lambda a: expit(logits(p) + a).mean() - y.mean(), -15, 15)
    return {
        "specificity": tn / (tn + fp), "npv": tn / (tn + fn), "net_benefit": (tp - fp) / len(y),
        "calibration_slope": slope, "calibration_intercept": intercept,
    }  # fmt: skip


def coverage(n, quick):
    """Yield rows: a model, a prevalence, m and epsilon, and a number."""
    rng = np.random.default_rng(0)
    settings = [(0.5, 1_000, 1.0), (0.1, 1_000, 1.0), (0.1, 5_000, 1.0), (0.5, 5_000, 5.0)]
    for name, model in MODELS.items():
        for prevalence, m, epsilon in settings[:1] if quick else settings:
            X, y = records(2_000, rng, prevalence)
            population = exact_numbers(model.fit(X, y), *records(400_000, rng, prevalence))
            found = {number: [] for number in population}
            for _ in range(n):
                X_val, y_val = records(m, rng, prevalence)
                evaluation = private_evaluation(model, X_val, y_val, X=X, y=y, epsilon=epsilon)
                for number in found:
                    found[number].append(evaluation.score(number)[1:])
            for number, ends in found.items():
                low, high = np.transpose(ends)
                within = (low <= population[number]) & (population[number] <= high)
                mean, error = mean_and_error(within)
                yield {
                    "model": name, "prevalence": prevalence, "m": m, "epsilon": epsilon,
                    "number": number, "coverage": f"{mean:.3f}", "standard_error": f"{error:.3f}",
                    "median_width": f"{np.median(high - low):.3f}",
                }  # fmt: skip


# ------------------------------------------------------------------ recalibration
def recalibration(n, quick):
    """Yield rows: a model, whether classes have other shares, m and epsilon."""
    X, y = make_classification(30_000, 20, n_informative=8, weights=[0.8], random_state=1)
    models = MODELS | {"forest": RandomForestClassifier(min_samples_leaf=3, random_state=0)}
    rng = np.random.default_rng(0)
    for name, model in models.items():
        model.fit(X[:1_000], y[:1_000])
        peer = CalibratedClassifierCV(model, ensemble=False).fit(X[:1_000], y[:1_000])
        for shift in (True, False):
            share = 0.4 if shift else 1.0
            kept = 1_000 + np.flatnonzero((y[1_000:] == 0) | (rng.random(29_000) < share))
            fresh, pool = kept[:8_000], kept[8_000:]
            p, other = (each.predict_proba(X[fresh])[:, 1] for each in (model, peer))
            before = brier_score_loss(y[fresh], p)
            for m in (1_000,) if quick else (1_000, 5_000):
                for epsilon in (1.0,) if quick else (0.5, 1.0, 3.0):
                    after = []
                    for _ in range(n):
                        val = rng.choice(pool, m, replace=False)
                        evaluation = private_evaluation(
                            model, X[val], y[val], X=X[:1_000], y=y[:1_000], epsilon=epsilon
                        )
                        a = evaluation.score("calibration_intercept").value
                        after.append(brier_score_loss(y[fresh], expit(logits(p) + a)) / before)
                    peers = brier_score_loss(y[fresh], other) / before
                    yield {
                        "model": name, "shift": shift, "m": m, "epsilon": epsilon,
                        "brier_percent": f"{100 * np.mean(after):.1f}",
                        "worst_percent": f"{100 * np.max(after):.1f}",
                        "CalibratedClassifierCV_percent": f"{100 * peers:.1f}",
                    }  # fmt: skip


PARTS = {"coverage": (coverage, 120), "recalibration": (recalibration, 12)}


def main():
    parser = parser_of(__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--repetitions", type=int)
    parser.add_argument("--quick", action="store_true", help="few settings, and 10 repetitions")
    arguments = parser.parse_args()
    for category in (LowUtilityWarning, PrivacyWarning):
        warnings.simplefilter("ignore", category)
    measure, usual = PARTS[arguments.part]
    rows = list(measure(10 if arguments.quick else arguments.repetitions or usual, arguments.quick))
    print_table(rows[0], [row.values() for row in rows])
    if not arguments.quick:
        with open(RESULTS / f"clinical_{arguments.part}.csv", "w", newline="") as file:
            table = csv.DictWriter(file, rows[0], lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    save(rows, arguments.json)


if __name__ == "__main__":
    main()

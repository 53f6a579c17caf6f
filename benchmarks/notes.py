"""Claim: what free text is worth to a private learner, hashed or looked up in a public word list.

    python benchmarks/notes.py [--repetitions 3] [--quick]

Made-up records: an age, a ward, and a note of 12 words that mean nothing, out of 300, and some of
six that do. Accuracy on 20,000 fresh records of `PrivateTableSearchCV` with `PrivateClassifier` at
epsilon = 1, means over repeated noise, and of logistic regression without privacy, which learns
from the same columns.

It prints a table and writes ``results/notes.csv``.
"""

import csv
import warnings
from pathlib import Path

from harness import parser_of, print_table, save

# isort: split
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_dpbo import PrivateTableSearchCV
from sklearn_dpbo.learners import PrivateClassifier

RESULTS = Path(__file__).parent / "results"
EFFECTS = {
    "syncope": 1.6, "sepsis": 1.4, "dyspnoea": 1.0, "fever": 0.7, "stable": -0.9, "mobile": -0.7,
}  # fmt: skip
SHARES = {
    "syncope": 0.08, "sepsis": 0.05, "dyspnoea": 0.15, "fever": 0.2, "stable": 0.35, "mobile": 0.3,
}  # fmt: skip
N_FRESH = 20_000


def records(n):
    """Return n patients with notes, and whether they were readmitted."""
    rng = np.random.default_rng(0)
    has = {word: rng.random(n) < share for word, share in SHARES.items()}
    fillers = (rng.random((n, 12)) ** 2 * 300).astype(int)
    notes = [
        " ".join([word for word in has if has[word][i]] + [f"w{k}" for k in fillers[i]])
        for i in range(n)
    ]
    age, ward = rng.integers(18, 90, n), rng.choice(["north", "south"], n)
    risk = (age - 60) / 30 - 0.3 + 0.5 * (ward == "north")
    risk = risk + sum(effect * has[word] for word, effect in EFFECTS.items())
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "yes", "no")
    return pd.DataFrame({"age": age, "ward": ward, "note": notes}), y


def columns(note):
    """Return a step that makes numbers of all columns, and of the note by this transformer."""
    wards = OneHotEncoder(
        categories=[["north", "south"]], sparse_output=False, handle_unknown="ignore"
    )
    return make_column_transformer(
        (note, "note"), (wards, ["ward"]), remainder="passthrough", sparse_threshold=0
    )


WAYS = {
    "without the note": columns("drop"),
    "64 hashed columns": columns(HashingVectorizer(n_features=64)),
    "256 hashed columns": columns(HashingVectorizer(n_features=256)),
    "a public list of six words": columns(
        FrozenEstimator(CountVectorizer(vocabulary=[*EFFECTS], binary=True).fit([""]))
    ),
}


def accuracies(repetitions, sizes):
    for n in sizes:
        X, y = records(n + N_FRESH)
        for way, step in WAYS.items():
            private = []
            for _ in range(repetitions):
                learner = PrivateClassifier(classes=["no", "yes"])
                search = PrivateTableSearchCV(make_pipeline(step, learner), epsilon=1.0)
                private.append(search.fit(X[:n], y[:n]).score(X[n:], y[n:]))
            ordinary = make_pipeline(step, LogisticRegression(max_iter=2_000))
            exact = ordinary.fit(X[:n], y[:n]).score(X[n:], y[n:])
            yield [n, way, *(f"{x:.3f}" for x in (np.mean(private), min(private), max(private))),
                   f"{exact:.3f}"]  # fmt: skip


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one repetition with 2,000 records")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    repetitions, sizes = (1, [2_000]) if options.quick else (options.repetitions, [4_000, 20_000])
    head = ["records", "note", "accuracy", "lowest", "highest", "without privacy"]
    rows = list(accuracies(repetitions, sizes))
    print_table(head, rows)
    if not options.quick:
        with (RESULTS / "notes.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *rows])
    save(rows, options.json)

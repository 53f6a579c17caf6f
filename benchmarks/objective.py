"""Claim: what private scores for an optimiser of one's own cost, beside the whole search.

    python benchmarks/objective.py TABLES [--repeats 40] [--json objective.json]
    python benchmarks/objective.py TABLES --shares 0.3 0.5 0.7   # of epsilon, for best()

All searches get the same epsilon and delta, and T settings. Optimisers see only what
`PrivateObjective` returns; `best()` chooses. Beside them is `PrivateBayesSearchCV`, without
guidance, and as it is by default (it learns from the training set, too). Shares were tuned on
"spam" and "digits"; the table is of problems that were held out. Tables as in `utility.py`.

Regret: the validation score of the pool's best setting less that of the chosen one. Score error:
the absolute difference of the released score from the chosen one's.
"""

import argparse
import json
import warnings

from utility_cases import Case  # first: it sets the number of threads

# isort: split
import numpy as np
from joblib import Parallel, delayed
from utility_peers import at_indices

from sklearn_dpbo import PrivateBayesSearchCV, PrivateObjective
from sklearn_dpbo.strategies import WorstCase

TUNED, HELD_OUT = ["spam", "digits"], ["spam_neighbours", "spam_copies", "spam_network"]
DELTA = 1e-6


def with_optuna(sampler):
    def optimise(case, objective, T, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(
            direction="maximize", sampler=getattr(optuna.samplers, sampler)(seed=seed)
        )

        def suggest(trial):
            return at_indices(case, [
                trial.suggest_int(name, 0, len(axis) - 1) if isinstance(axis, list)
                else trial.suggest_float(name, 0, 1) for name, axis in case.space.items()
            ])  # fmt: skip

        study.optimize(objective.optuna(suggest), n_trials=T)

    return optimise


def with_skopt(case, objective, T, seed):
    """The Gaussian process is told the noise."""
    from skopt import gp_minimize
    from skopt.space import Integer, Real

    axes = [Integer(0, len(axis) - 1) if isinstance(axis, list) else Real(0.0, 1.0)
            for axis in case.space.values()]  # fmt: skip
    gp_minimize(
        lambda u: -objective(at_indices(case, u)), axes, n_calls=T, random_state=seed,
        noise=objective.noise_std_**2,
    )  # fmt: skip


OPTIMISERS = {
    "random": with_optuna("RandomSampler"),
    "Optuna TPE": with_optuna("TPESampler"),
    "scikit-optimize GP": with_skopt,
}
SEARCHES = {
    "search, none": WorstCase("none"),
    "search, default": WorstCase(),
}


def run(name, folder, method, epsilon, T, seed, share):
    """(regret, error of the released score, standard deviation of a call's noise)."""
    warnings.simplefilter("ignore")
    case = Case(name, folder)
    if method in SEARCHES:
        strategy = SEARCHES[method]
        if strategy.guidance == "public":
            strategy.set_params(public_cv=case.cut)
        search = PrivateBayesSearchCV(
            case.estimator(), case.space, epsilon=epsilon, delta=DELTA, n_iter=T,
            strategy=strategy, scoring=case.scoring, random_state=seed, refit=False,
        ).fit(**case.data)  # fmt: skip
        chosen, released, std = search.best_params_, search.best_score_, np.nan
    else:
        data = dict(case.data)
        rows = (data.pop("X"), data.pop("y"), data.pop("X_val"), data.pop("y_val"))
        objective = PrivateObjective(
            case.estimator(), *rows, scoring=case.scoring, epsilon=epsilon, delta=DELTA,
            n_calls=T, best_share=share, random_state=seed, **data,
        )  # fmt: skip
        OPTIMISERS[method](case, objective, T, seed)
        chosen, released, _ = objective.best()
        std = objective.noise_std_
    score = case.score(chosen)
    return case.pool.max() - score, abs(released - score), std


def mean_and_error(values):
    values = np.array(values)
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", help="the folder of tables.py")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.3, 1, 3, 10])
    parser.add_argument("--settings", type=int, default=32, help="T")
    parser.add_argument("--shares", type=float, nargs="+", help="tune best_share")
    parser.add_argument("--problems", nargs="+")
    parser.add_argument("--methods", nargs="+", default=[*OPTIMISERS, *SEARCHES])
    parser.add_argument("--json")
    options = parser.parse_args()
    results = []
    for name in options.problems or (TUNED if options.shares else HELD_OUT):
        case = Case(name, options.tables)
        print(f"\n{case.name}, m = {case.m:,}, T = {options.settings}; a uniform pick has regret "
              f"{case.pool.max() - case.pool.mean():.4f}", flush=True)  # fmt: skip
        for epsilon in options.epsilons:
            for method in options.methods:
                for share in options.shares or [0.7]:
                    found = Parallel(n_jobs=2)(
                        delayed(run)(
                            name, options.tables, method, epsilon, options.settings, seed, share
                        )
                        for seed in range(options.repeats)
                    )
                    regret, error, std = (mean_and_error(each) for each in zip(*found, strict=True))
                    results.append({"problem": name, "epsilon": epsilon, "method": method,
                                    "share": share, "regret": regret, "score_error": error,
                                    "noise_std": std[0]})  # fmt: skip
                    print(f"epsilon {epsilon:4g}  {method:20s} {share:<4} "
                          f"regret {regret[0]:.4f} +- {regret[1]:.4f}  score error "
                          f"{error[0]:.4f} +- {error[1]:.4f}  noise of a call {std[0]:.4f}",
                          flush=True)  # fmt: skip
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"repeats": options.repeats, "delta": DELTA, "T": options.settings,
                       "results": results}, file, indent=1)  # fmt: skip


if __name__ == "__main__":
    main()

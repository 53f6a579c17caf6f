"""Claim: what privacy costs in accuracy, on real data, over epsilon.

For each problem, T candidates are fitted once and their predictions kept; then every search
replays them, so that many repetitions cost little. The non-private reference is
RandomizedSearchCV on the same candidates and the same validation set.

    python benchmarks/utility.py [--repeats 50] [--json utility.json] [--problems spam digits]

Figures are accuracies (by patient where patients are the units), means over repetitions:

* regret: validation accuracy of the best candidate minus that of the chosen one;
* test loss: the same on a test set, against the candidate that RandomizedSearchCV chose (negative
  where the private choice was better);
* score error: |best_score_ - validation accuracy of the chosen candidate|.
"""

import argparse
import json
import warnings

import numpy as np
from joblib import Parallel, delayed
from problems import ALL
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import ParameterSampler, RandomizedSearchCV

from sklearn_dpbo import PrivateBayesSearchCV
from sklearn_dpbo.strategies import WorstCase

EPSILONS = [0.1, 0.3, 1, 3, 10]
SHARES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7]
PREDICTIONS: dict = {}


class Replay(ClassifierMixin, BaseEstimator):
    """Gives the predictions that candidate `which` made; the only feature is the row number."""

    def __init__(self, which=0):
        self.which = which

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return PREDICTIONS["rows"][self.which][X[:, 0]]


def predictions_of(estimator, setting, problem):
    model = clone(estimator).set_params(**setting).fit(*problem.train)
    return model.predict(problem.val[0]), model.predict(problem.test[0])


def prepare(make, n_candidates):
    """Fit all candidates; return (problem, replay arguments, validation and test accuracies)."""
    problem = make(np.random.default_rng(0))
    settings = list(ParameterSampler(problem.space, n_candidates, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Parallel(n_jobs=2)(
            delayed(predictions_of)(problem.estimator, s, problem) for s in settings
        )
    on_val, on_test = (np.array(part) for part in zip(*found, strict=True))
    y_val, m = problem.val[1], len(problem.val[1])
    PREDICTIONS["rows"] = on_val
    # Training rows are only needed for their labels and for the check of predictions.
    data = dict(X=np.arange(40)[:, None], y=y_val[:40], X_val=np.arange(m)[:, None], y_val=y_val,
                groups_val=problem.groups)  # fmt: skip
    val = (on_val == y_val) @ weights(problem.groups, m)
    test = (on_test == problem.test[1]) @ weights(problem.test_groups, on_test.shape[1])
    return problem, data, val, test


def weights(groups, n):
    """Weights of records that make each unit count the same."""
    if groups is None:
        return np.full(n, 1 / n)
    _, unit, size = np.unique(groups, return_inverse=True, return_counts=True)
    return 1 / size[unit] / len(size)


def search_once(data, n_candidates, epsilon, **strategy):
    search = PrivateBayesSearchCV(
        Replay(), {"which": list(range(n_candidates))}, epsilon=epsilon, n_iter=n_candidates,
        strategy=WorstCase(**strategy), refit=False,
    )  # fmt: skip
    search.fit(**data)
    return search.best_index_, search.best_score_


def non_private_choice(data, n_candidates):
    """RandomizedSearchCV over the same candidates, by the same score, without privacy."""
    X = np.concatenate([data["X"], data["X_val"]])
    y = np.concatenate([data["y"], data["y_val"]])
    split = [(np.arange(40), np.arange(40, len(y)))]
    weight = weights(data["groups_val"], len(data["y_val"]))

    def score(model, X, y):
        return (model.predict(X) == y) @ weight

    search = RandomizedSearchCV(Replay(), {"which": list(range(n_candidates))}, scoring=score,
                                n_iter=n_candidates, cv=split, refit=False)  # fmt: skip
    return search.fit(X, y).best_params_["which"]


def measure(data, val, test, reference, epsilon, repeats, **strategy):
    runs = [search_once(data, len(val), epsilon, **strategy) for _ in range(repeats)]
    chosen, released = np.array([r[0] for r in runs]), np.array([r[1] for r in runs])
    return {
        "epsilon": epsilon, **strategy,
        "regret": float((val.max() - val[chosen]).mean()),
        "regret_p90": float(np.quantile(val.max() - val[chosen], 0.9)),
        "test_loss": float((test[reference] - test[chosen]).mean()),
        "score_error": float(np.abs(released - val[chosen]).mean()),
    }  # fmt: skip


def study(name, n_candidates, repeats):
    problem, data, val, test = prepare(ALL[name], n_candidates)
    reference = non_private_choice(data, n_candidates)
    m = len(data["y_val"]) if problem.groups is None else len(np.unique(problem.groups))
    head = {
        "problem": problem.name, "m": m, "best": float(val.max()),
        "uniform_regret": float((val.max() - val).mean()),
        "uniform_test_loss": float((test[reference] - test).mean()),
        "randomized_regret": float(val.max() - val[reference]),
    }  # fmt: skip
    rows = [measure(data, val, test, reference, e, repeats) for e in EPSILONS]
    shares = [measure(data, val, test, reference, 1, repeats, score_share=s) for s in SHARES]
    return {**head, "over_epsilon": rows, "over_share": shares}


def show(result):
    print(
        f"\n{result['problem']}: m = {result['m']:,}, best {result['best']:.4f}; a uniform pick "
        "has "
        f"regret {result['uniform_regret']:.4f} (test loss {result['uniform_test_loss']:.4f}), "
        f"RandomizedSearchCV {result['randomized_regret']:.4f} (0)\n"
    )
    print("| epsilon | share | regret | 90 % of regrets below | test loss | score error |")
    print("|---|---|---|---|---|---|")
    for r in result["over_epsilon"] + result["over_share"]:
        share = r.get("score_share", "default")
        print(f"| {r['epsilon']} | {share} | {r['regret']:.4f} | {r['regret_p90']:.4f} "
              f"| {r['test_loss']:+.4f} | {r['score_error']:.4f} |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--candidates", type=int, default=64)
    parser.add_argument("--problems", nargs="+", choices=list(ALL), default=list(ALL))
    parser.add_argument("--json")
    options = parser.parse_args()
    results = []
    for name in options.problems:
        results.append(study(name, options.candidates, options.repeats))
        show(results[-1])
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()

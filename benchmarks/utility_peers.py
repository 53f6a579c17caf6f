"""Other searches, which see exact validation scores: the settings that each tries, in order."""

from functools import partial

import numpy as np
import tables


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

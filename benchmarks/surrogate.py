"""Claims: the optimiser costs next to nothing, and finds as much as its peers do.

    python benchmarks/surrogate.py [--parts speed quality] [--json surrogate.json]
    python benchmarks/surrogate.py --parts quality --optimisers "Optuna GP" BoTorch

Speed: seconds for T suggestions on a free objective, over a finite set of candidates with a fixed
kernel; peers learn kernel parameters, so speed is to be read together with quality.

Quality: best value of four functions after 50 or 100 evaluations, and CPU seconds of them. Ours
goes through the search's public interface. "Exploration" is the default guidance, which learns
kernel parameters from scores within the training set: the search fits three times as many
candidates, of which a third explore, and the CPU seconds are those of all. The functions
are those of the literature, with their usual bounds scaled to the unit cube; Ackley's optimum is
its centre, so that nothing may start there: the estimator's own parameters, which a search may try
first, are a corner.
"""

import time
import tracemalloc
import warnings

from harness import parser_of, save

# isort: split

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import uniform
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo.papers.kusner2015 import Kernel, UpperConfidenceBound
from sklearn_dpbo.search._surrogate import Surrogate
from sklearn_dpbo.strategies import WorstCase

LENGTH_SCALE, NOISE = 0.3, 1e-4


# ---------------------------------------------------------------- test functions, to be minimised
def branin(u):
    x, y = 15 * u[0] - 5, 15 * u[1]
    inner = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    return inner**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10


def hartmann6(u):
    A = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
                  [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])  # fmt: skip
    P = 1e-4 * np.array([[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
                         [2348, 1451, 3522, 2883, 3047, 6650],
                         [4047, 8828, 8732, 5743, 1091, 381]])  # fmt: skip
    return -np.array([1, 1.2, 3, 3.2]) @ np.exp(-(A * (u - P) ** 2).sum(axis=1))


def levy(u):
    w = 1 + (20 * u - 11) / 4
    middle = (w[:-1] - 1) ** 2 * (1 + 10 * np.sin(np.pi * w[:-1] + 1) ** 2)
    last = (w[-1] - 1) ** 2 * (1 + np.sin(2 * np.pi * w[-1]) ** 2)
    return np.sin(np.pi * w[0]) ** 2 + middle.sum() + last


def ackley(u):
    x = 32.768 * (2 * u - 1)
    return (20 + np.e - 20 * np.exp(-0.2 * np.sqrt(np.mean(x**2)))
            - np.exp(np.mean(np.cos(2 * np.pi * x))))  # fmt: skip


# name: (function, dimension, optimum, bounds of its negative, evaluations)
FUNCTIONS = {
    "Branin": (branin, 2, 0.397887, (-309, 0), 50),
    "Hartmann-6": (hartmann6, 6, -3.32237, (0, 3.4), 100),
    "Levy-4": (levy, 4, 0, (-266, 0), 50),
    "Ackley-5": (ackley, 5, 0, (-22.4, 0), 100),
}


def smooth(u):
    return float(np.sin(5 * u).sum())


# ---------------------------------------------------------------- speed
def ours(domain, T):
    n, d = domain.shape
    model = Surrogate.on(domain, Kernel("matern52", np.full(d, LENGTH_SCALE)), NOISE, capacity=T)
    acquisition, free = UpperConfidenceBound(2.0), np.zeros(n)
    for _ in range(T):
        index = int(np.argmax(acquisition(model.mean, model.std, None) + free))
        free[index] = -np.inf
        model = model.condition(index, smooth(domain[index]))


def refitted(domain, T):
    d = domain.shape[1]
    picked, free = [0], np.zeros(len(domain))
    for _ in range(T):
        kernel = Matern(np.full(d, LENGTH_SCALE), nu=2.5)
        model = GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None)
        model.fit(domain[picked], [smooth(u) for u in domain[picked]])
        mean, std = model.predict(domain, return_std=True)
        free[picked] = -np.inf
        picked.append(int(np.argmax(mean + 2 * std + free)))


def scikit_optimize(d, T, seed=0, function=smooth):
    from skopt import Optimizer

    optimizer, found = Optimizer([(0.0, 1.0)] * d, random_state=seed), []
    for _ in range(T):
        u = optimizer.ask()
        found.append(function(np.array(u)))
        optimizer.tell(u, found[-1])
    return min(found)


def optuna_search(d, T, seed=0, function=smooth, sampler="TPESampler"):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed))
    study.optimize(
        lambda trial: function(np.array([trial.suggest_float(f"x{i}", 0, 1) for i in range(d)])),
        n_trials=T,
    )
    return study.best_value


def clock(run):
    start, cpu = time.perf_counter(), time.process_time()
    run()
    return time.process_time() - cpu, time.perf_counter() - start


def peak_multiple(domain, T):
    """Peak memory in multiples of one array of candidates by T."""
    tracemalloc.start()
    ours(domain, T)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * len(domain) * T)


def speed(T, T_slow, repeats):
    print(f"\nCPU seconds for T = {T} suggestions (slow peers: {T_slow}, beside ours at as many)\n")
    print("| optimiser | d | candidates | T | CPU s | wall s | times ours at 1,024 | at 100,000 |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for d in (2, 6):
        mine = {}
        for n in (1_024, 100_000):
            domain = np.random.default_rng(0).random((n, d))
            for length in sorted({T, T_slow}):
                runs = [clock(lambda D=domain, t=length: ours(D, t)) for _ in range(repeats)]
                mine[n, length] = np.median(runs, axis=0)
            rows.append(row("this package", d, n, T, mine[n, T], mine))
            rows[-1]["memory"] = peak_multiple(domain, T)
            show(rows[-1])
            if n == 1_024 or T_slow >= T:
                rows.append(
                    row(
                        "sklearn GP, refitted",
                        d,
                        n,
                        T,
                        clock(lambda D=domain: refitted(D, T)),
                        mine,
                    )
                )
                show(rows[-1])
        for name, run, length in (
            ("Optuna TPE", lambda D=d: optuna_search(D, T), T),
            ("Optuna GP", lambda D=d: optuna_search(D, T, sampler="GPSampler"), T),
            ("scikit-optimize GP", lambda D=d: scikit_optimize(D, T_slow), T_slow),
        ):
            rows.append(row(name, d, None, length, clock(run), mine))
            show(rows[-1])
    return rows


def row(name, d, n, T, seconds, mine):
    ratios = [seconds[0] / mine[k, T][0] if (k, T) in mine else None for k in (1_024, 100_000)]
    return {"optimiser": name, "d": d, "candidates": n, "T": T, "cpu_s": seconds[0],
            "wall_s": seconds[1], "ratios": ratios}  # fmt: skip


def show(r):
    ratios = " | ".join("" if x is None else f"{x:,.3g}" for x in r["ratios"])
    memory = f" (memory {r['memory']:.2f} arrays)" if "memory" in r else ""
    size = "" if r["candidates"] is None else f"{r['candidates']:,}"
    print(f"| {r['optimiser']}{memory} | {r['d']} | {size} | {r['T']} | {r['cpu_s']:.3f} "
          f"| {r['wall_s']:.3f} | {ratios} |", flush=True)  # fmt: skip


# ---------------------------------------------------------------- quality
class Function(RegressorMixin, BaseEstimator):
    """Predicts the function's value at its parameters, whatever the record."""

    def __init__(self, name="Branin", x0=0.0, x1=0.0, x2=0.0, x3=0.0, x4=0.0, x5=0.0):
        self.name = name
        self.x0, self.x1, self.x2, self.x3, self.x4, self.x5 = x0, x1, x2, x3, x4, x5

    def fit(self, X, y):
        return self

    def value(self):
        function, d, *_ = FUNCTIONS[self.name]
        return function(np.array([getattr(self, f"x{i}") for i in range(d)]))

    def predict(self, X):
        return np.full(len(X), self.value())


def negative(y, predicted):
    return -predicted


def our_search(name, n_iter, seed, strategy):
    _, d, _, bounds, _ = FUNCTIONS[name]
    search = PrivateBayesSearchCV(
        Function(name), {f"x{i}": uniform(0, 1) for i in range(d)}, epsilon=1e6, n_iter=n_iter,
        strategy=strategy, random_state=seed, refit=False,
        scoring=make_private_scorer(negative, bounds=bounds), prediction="together",
    )  # fmt: skip
    search.fit(np.zeros((10, 1)), np.zeros(10), X_val=np.zeros((1000, 1)), y_val=np.zeros(1000))
    return search


def exploration(name, T, seed, batch_size):
    search = our_search(name, 3 * T, seed, WorstCase(batch_size=batch_size))
    return -np.nanmax([*search.cv_results_["public_score"], -np.inf])


def random_search(name, T, seed):
    function, d, *_ = FUNCTIONS[name]
    return min(function(u) for u in np.random.default_rng(seed).random((T, d)))


def botorch_search(name, T, seed):
    """BoTorch's standard model and acquisition for one objective without noise."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    function, d, *_ = FUNCTIONS[name]
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    X = torch.quasirandom.SobolEngine(d, scramble=True, seed=seed).draw(min(2 * d + 2, T))
    X = X.double()
    y = torch.tensor([[-function(u.numpy())] for u in X], dtype=torch.double)
    bounds = torch.tensor([[0.0] * d, [1.0] * d], dtype=torch.double)
    while len(X) < T:
        model = SingleTaskGP(X, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        u, _ = optimize_acqf(
            LogExpectedImprovement(model, y.max()), bounds, q=1, num_restarts=10, raw_samples=512
        )
        X = torch.cat([X, u])
        y = torch.cat([y, torch.tensor([[-function(u[0].numpy())]], dtype=torch.double)])
    return -float(y.max())


# Functions of (name of the function, T, seed) to the best value.
OPTIMISERS = {
    "exploration, batches of 1": lambda f, T, s: exploration(f, T, s, 1),
    "exploration, batches of 8": lambda f, T, s: exploration(f, T, s, 8),
    "random": random_search,
    "Optuna TPE": lambda f, T, s: optuna_search(FUNCTIONS[f][1], T, s, FUNCTIONS[f][0]),
    "Optuna GP": lambda f, T, s: optuna_search(FUNCTIONS[f][1], T, s, FUNCTIONS[f][0], "GPSampler"),
    "scikit-optimize GP": lambda f, T, s: scikit_optimize(FUNCTIONS[f][1], T, s, FUNCTIONS[f][0]),
    "BoTorch": botorch_search,
}


def best_value(optimiser, function, seed):
    """(best value, CPU seconds) of one run."""
    warnings.simplefilter("ignore")
    run = OPTIMISERS[optimiser]
    run(function, 2, seed)  # imports are not timed
    start = time.process_time()
    value = run(function, FUNCTIONS[function][-1], seed)
    return value, time.process_time() - start


def quality(optimisers, seeds):
    print(f"\nBest value: mean (standard error) over {seeds} seeds; CPU seconds of a run\n")
    heads = [f"{name}, T = {T} ({best})" for name, (*_, best, _, T) in FUNCTIONS.items()]
    print("| optimiser | " + " | ".join(heads) + " |\n" + "|---" * (len(heads) + 1) + "|")
    rows = []
    for optimiser in optimisers:
        cells = []
        for function in FUNCTIONS:
            runs = Parallel(n_jobs=2)(
                delayed(best_value)(optimiser, function, seed) for seed in range(seeds)
            )
            values, seconds = np.transpose(runs)
            error = values.std(ddof=1) / seeds**0.5 if seeds > 1 else np.nan
            cells.append(f"{values.mean():.4f} ({error:.4f}); {seconds.mean():.2f} s")
            rows.append({"optimiser": optimiser, "function": function, "T": FUNCTIONS[function][-1],
                         "values": list(values), "cpu_s": list(seconds)})  # fmt: skip
        print(f"| {optimiser} | " + " | ".join(cells) + " |", flush=True)
    return rows


def main():
    parser = parser_of(__doc__)
    parser.add_argument(
        "--parts", nargs="+", choices=["speed", "quality"], default=["speed", "quality"]
    )
    parser.add_argument("--T", type=int, default=200)
    parser.add_argument(
        "--slow-T", type=int, default=200, help="of scikit-optimize and large refits"
    )
    parser.add_argument("--repeats", type=int, default=3, help="of our timings")
    parser.add_argument("--seeds", type=int, default=10, help="of quality")
    parser.add_argument(
        "--optimisers", nargs="+", choices=list(OPTIMISERS), default=list(OPTIMISERS),
        help="of quality",
    )  # fmt: skip
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    if "speed" in options.parts:
        results["speed"] = speed(options.T, options.slow_T, options.repeats)
    if "quality" in options.parts:
        results["quality"] = quality(options.optimisers, options.seeds)
    save(results, options.json)


if __name__ == "__main__":
    main()

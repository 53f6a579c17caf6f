"""Claim: what optimisation by row number loses on released tables (Kharkovskii et al., ICML 2020).

    python benchmarks/outsourced.py [--runs 50] [--problems gp loans houses branin]
                                    [--json outsourced.json] [--figure outsourced.png]
    python benchmarks/outsourced.py --scale    # seconds and memory of the modeler, and nothing else
    python benchmarks/outsourced.py --thresholds    # s_min of our rows and of the paper's tables

Simple regret after T outcomes, averaged over runs: the published curator (`ProjectionCurator`,
which has no guarantee), the sound one (`GaussianCurator`), GP-UCB on the rows themselves, and rows
picked at random. As in the paper: rows are centred and scaled to a largest norm of 25, neighbours
differ by 1 in one row, the modeler has the kernel of the original rows, and delta_ucb = 0.05 (so
delta' = 0.025, its Theorem 3). Each run begins with five random rows. Noise of the sound curator is
seeded here, which is quicker and has the same distribution.

* gp: a 100 x 100 grid, functions drawn from a Gaussian process (noise variance 1e-5), T = 50. The
  paper's l = 1.25 is taken to be that of rows of norm 5, before scaling (6.25 after): with 1.25
  after scaling (`gp_rough`), the square has 800 length-scales squared, and nobody gets anywhere.
* loans: LendingClub 2007 to 2011, 36,000 loans, T = 50, logarithm of the return. Rows are the
  logarithms of the three columns, standardised, and have one length-scale: columns divided by a
  length-scale each have an s_min from 68 to 250, as it is learnt on this or that part of the loans.
  The kernel is learnt on 4,000 loans, a minute or two; the one learnt on 400 (`loans_rough`) has a
  length-scale of 0.27 standard deviations instead of 9.
* houses: King County, 2,004 places, logarithm of the price per square metre, lowest, T = 100. A
  stand-in for the paper's Singapore data: figures are not comparable, orders are.
* branin: a 100 x 100 grid on its domain, T = 50.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from functools import cache

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from problems import DATA
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from sklearn_dpbo.papers.kharkovskii2020 import GaussianCurator, optimize
from sklearn_dpbo.papers.kharkovskii2020.bounds import projection_threshold
from sklearn_dpbo.papers.kharkovskii2020.published import ProjectionCurator
from sklearn_dpbo.testing import seeded_noise

NORM = 25.0
# Random rows that each run begins with; they count.
START = 5
JOBS = int(os.environ.get("JOBS", "2"))


@dataclass
class Problem:
    """Rows, outcomes (or a function that draws them), and what the modeler knows."""

    X: np.ndarray
    draw: object  # of a generator, to outcomes of all rows
    model: dict
    T: int
    delta: float
    # ln epsilon: {r: the paper's regret}
    tables: dict = field(default_factory=dict)
    # (r, values of ln epsilon) of the paper's Figure 2
    figure: tuple = (15, ())


def scaled(X):
    """Rows about 0, the longest of norm 25; and the factor."""
    X = X - X.mean(axis=0)
    factor = NORM / np.linalg.norm(X, axis=1).max()
    return X * factor, factor


def grid(low, high, n=100):
    axes = [np.linspace(a, b, n) for a, b in zip(low, high, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)


def learnt(X, y, *, each_column=True, n=400):
    """Rows divided by learnt length-scales, and the rest of the kernel, by maximum likelihood."""
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    some = np.random.default_rng(0).choice(len(X), n, replace=False)
    # Bounded, so that no column is lost and no prior is without scale.
    lengths = np.ones(X.shape[1] if each_column else 1)
    smooth = ConstantKernel(1.0, (0.1, 10)) * RBF(lengths, (0.05, 5 if each_column else 50))
    kernel = smooth + WhiteKernel(0.5, (1e-4, 1))
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    found = process.fit(X[some], y[some]).kernel_
    length = found.k1.k2.length_scale
    X, factor = scaled(X / length) if each_column else scaled(X)
    length = factor if each_column else factor * float(length)
    scale = float(np.sqrt(found.k1.k1.constant_value) * y[some].std())
    noise = float(np.sqrt(found.k2.noise_level / found.k1.k1.constant_value))
    return X, dict(length_scale=length, noise=noise, prior_mean=float(y.mean()), prior_scale=scale)


def gp_rough():
    return gp(1.25)


def gp(length_scale=6.25):
    X, _ = scaled(grid((0, 0), (1, 1)))
    axis = np.unique(X[:, 0])
    K = np.exp(-0.5 * (axis[:, None] - axis) ** 2 / length_scale**2)
    root = np.linalg.cholesky(K + 1e-9 * np.eye(100))

    def draw(rng):  # the covariance is a Kronecker product of the two axes'
        return (root @ rng.standard_normal((100, 100)) @ root.T).ravel()

    model = dict(length_scale=length_scale, noise=1e-5**0.5, prior_mean=0.0, prior_scale=1.0)
    tables = {
        1.1: {3: 0.073, 6: 0.038, 8: 0.018, 10: 0.014, 15: 0.118, 20: 0.137},
        1.3: {3: 0.091, 9: 0.009, 12: 0.019, 15: 0.008, 20: 0.127, 30: 0.134},
        1.5: {5: 0.05, 10: 0.021, 15: 0.003, 20: 0.002, 30: 0.094, 50: 0.142},
    }
    return Problem(X, draw, model, 50, 1e-5, tables, (10, (0.0, 0.5, 0.9, 1.1)))


def loans_rough():
    return loans(400)


@cache
def loans(n=4000):
    frame = pd.read_csv(DATA / "lendingclub_2007_2011.csv.gz").dropna(subset="annual_inc")
    frame = frame[(frame["funded_amnt_inv"] > 0) & (frame["roi"] > -1)].sample(
        36_000, random_state=0
    )
    y = np.log(1 + frame["roi"].to_numpy())
    columns = frame[["funded_amnt_inv", "int_rate", "annual_inc"]].to_numpy(float)
    X, model = learnt(np.log(columns), y, each_column=False, n=n)
    tables = {
        2.7: {3: 0.083, 6: 0.088, 8: 0.078, 10: 0.069, 15: 0.081, 20: 0.076},
        2.9: {3: 0.091, 9: 0.076, 12: 0.078, 15: 0.077, 20: 0.1, 30: 0.096},
        3.1: {5: 0.097, 10: 0.091, 15: 0.069, 20: 0.084, 30: 0.104, 50: 0.127},
    }
    return Problem(X, lambda rng: y, model, 50, 1e-5, tables, (15, (0.0, 1.0, 2.0, 2.9)))


def houses():
    frame = pd.read_csv(DATA / "kc_house.csv.gz").query("subset2004 == 1")
    y = -np.log(frame["price_per_sqm"].to_numpy())
    X, model = learnt(frame[["long", "lat"]].to_numpy(float), y)
    tables = {
        2.6: {3: 0.682, 6: 0.516, 8: 0.495, 10: 0.485, 15: 0.485, 20: 0.493},
        2.8: {3: 0.567, 9: 0.553, 12: 0.479, 15: 0.453, 20: 0.493, 30: 0.52},
        3.0: {5: 0.591, 10: 0.523, 15: 0.486, 20: 0.482, 30: 0.489, 50: 0.488},
    }
    return Problem(X, lambda rng: y, model, 100, 1e-4, tables, (15, (0.5, 1.0, 2.0, 2.8)))


def branin():
    X = grid((-5, 0), (10, 15))
    a, b = X.T
    y = -((b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6) ** 2
          + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10)  # fmt: skip
    y = (y - y.mean()) / y.std()
    X, model = learnt(X, y)
    return Problem(X, lambda rng: y, model | {"noise": max(model["noise"], 1e-2)}, 50, 1e-5,
                   {}, (10, (0.0, 0.5, 0.9, 1.1)))  # fmt: skip


PROBLEMS = {f.__name__: f for f in (gp, gp_rough, loans, loans_rough, houses, branin)}


def release(problem, method, log_epsilon, r, seed):
    if method == "rows":
        return problem.X
    epsilon = float(np.exp(log_epsilon))
    if method == "published":
        return ProjectionCurator(epsilon, problem.delta, r, random_state=seed).fit(problem.X)
    with seeded_noise(seed):
        return GaussianCurator(epsilon, problem.delta).fit(problem.X)


def regret(problem, method, log_epsilon, r, seed):
    """Simple regret after 1, ..., T outcomes, of one run."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([seed, 1])
    y = problem.draw(rng)
    noise = problem.model["noise"] * problem.model["prior_scale"]
    observed = y + noise * rng.standard_normal(len(y)) if len(problem.X) == 10_000 else y
    if method == "random":
        rows = rng.choice(len(y), problem.T, replace=False)
    else:
        released = release(problem, method, log_epsilon, r, seed)
        start = rng.choice(len(y), START, replace=False)
        found = optimize(released, observed.__getitem__, problem.T, start=start, **problem.model)
        rows = found.rows
    return y.max() - np.maximum.accumulate(y[rows])


def study(problem, runs, *setting):
    """Mean and standard error of the regret after each outcome."""
    found = Parallel(n_jobs=JOBS)(delayed(regret)(problem, *setting, seed) for seed in range(runs))
    return np.mean(found, axis=0), np.std(found, axis=0) / len(found) ** 0.5


def run(name, runs):
    start, problem = time.perf_counter(), PROBLEMS[name]()
    s_min = np.linalg.svd(problem.X, compute_uv=False).min()
    results = []

    def add(method, log_epsilon=None, r=None, paper=None):
        means, errors = study(problem, runs, method, log_epsilon, r)
        mean, error = float(means[-1]), float(errors[-1])
        row = {"problem": name, "method": method, "log_epsilon": log_epsilon, "r": r,
               "regret": mean, "se": error, "paper": paper}  # fmt: skip
        if method == "published":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row["omega"] = release(problem, method, log_epsilon, r, 0).omega_
            row["if_branch"] = bool(s_min >= row["omega"])
        results.append(row)
        fits = {True: " (s_min >= omega)", False: ""}[row.get("if_branch", False)]
        at = "" if log_epsilon is None else f" eps = e^{log_epsilon}"
        at += "" if r is None else f" r = {r}{fits}"
        said = f", paper {paper}" if paper else ""
        print(f"{name}: {method}{at}: {mean:.4f} +- {error:.4f}{said}", flush=True)

    add("rows")
    add("random")
    for log_epsilon, table in problem.tables.items():
        for r, paper in table.items():
            add("published", log_epsilon, r, paper)
        add("sound", log_epsilon)
    r, log_epsilons = problem.figure
    done = {(x["method"], x["log_epsilon"], x["r"]) for x in results}
    for log_epsilon in log_epsilons:
        if ("published", log_epsilon, r) not in done:
            add("published", log_epsilon, r)
        if ("sound", log_epsilon, None) not in done:
            add("sound", log_epsilon)
    print(f"{name}: {len(problem.X):,} rows, s_min = {s_min:.0f}, sigma_y = "
          f"{problem.model['prior_scale']:.3g}; {time.perf_counter() - start:.0f} s")  # fmt: skip
    return results


SIZES = [(36_000, 50), (1_000_000, 100)]


def measure(n, T):
    """Seconds and peak memory (MiB) of T questions over n rows of 3 columns, in this process."""
    import resource

    Z = np.random.default_rng(0).random((n, 3))
    start = time.perf_counter()
    optimize(Z, lambda row: -((Z[row] - 0.4) ** 2).sum(), T, length_scale=0.3, noise=0.05,
             prior_mean=-0.3, prior_scale=0.3)  # fmt: skip
    seconds = time.perf_counter() - start
    print(f"{seconds:.2f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")


def show_scale():
    print("| rows | columns | outcomes | seconds | peak memory, MiB |\n" + "|---" * 5 + "|")
    for n, T in SIZES:
        command = [sys.executable, __file__, "--measure", str(n), str(T)]
        seconds, peak = subprocess.check_output(command, text=True).split()
        print(f"| {n:,} | 3 | {T} | {seconds} | {peak} |", flush=True)


# The largest r with s_min >= omega in the paper's three tables of each data set, in their order.
LARGEST = (10, 15, 20)


def show_thresholds():
    """Which s_min the paper's tables imply, and which r the formula gives for ours."""
    print("| problem | our s_min | ε | r that fits, paper's | by the formula, at our s_min "
          "| s_min if it is the largest r | s_min if it is the largest in the table |\n"
          + "|---" * 7 + "|")  # fmt: skip
    for name in ("gp", "loans", "houses"):
        problem = PROBLEMS[name]()
        s_min = np.linalg.svd(problem.X, compute_uv=False).min()
        for (log_epsilon, table), r in zip(problem.tables.items(), LARGEST, strict=True):
            omega = {
                k: projection_threshold(float(np.exp(log_epsilon)), problem.delta, k)
                for k in range(1, 101)
            }
            ours = sum(value <= s_min for value in omega.values())
            after = min(k for k in table if k > r)
            print(f"| {name} | {s_min:.1f} | e^{log_epsilon} | {r} | {ours} "
                  f"| {omega[r]:.1f} to {omega[r + 1]:.1f} "
                  f"| {omega[r]:.1f} to {omega[after]:.1f} |")  # fmt: skip


def tables_of(results):
    """Markdown tables, one per problem and epsilon."""
    for name in dict.fromkeys(x["problem"] for x in results):
        mine = [x for x in results if x["problem"] == name]
        flat = {x["method"]: x["regret"] for x in mine if x["log_epsilon"] is None}
        print(f"\n{name}: GP-UCB on the rows {flat['rows']:.4f}, random {flat['random']:.4f}")
        print("\n| ε | r | s_min ≥ ω | published | paper | sound |\n|---|---|---|---|---|---|")
        sound = {x["log_epsilon"]: x for x in mine if x["method"] == "sound"}
        for x in (x for x in mine if x["method"] == "published"):
            other = sound[x["log_epsilon"]]
            print(f"| e^{x['log_epsilon']} | {x['r']} | {'yes' if x['if_branch'] else 'no'} "
                  f"| {x['regret']:.4f} ± {x['se']:.4f} | {x['paper'] or ''} "
                  f"| {other['regret']:.4f} ± {other['se']:.4f} |")  # fmt: skip


def panels(results):
    """A figure, and its panels with their problems; the rough kernels have none."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = [x for x in dict.fromkeys(x["problem"] for x in results) if not x.endswith("_rough")]
    shape = -(-len(names) // 2), 2
    figure, axes = plt.subplots(*shape, figsize=(9, 3.6 * shape[0]), layout="constrained",
                                squeeze=False)  # fmt: skip
    for axis in axes.flat[len(names) :]:
        axis.remove()
    return figure, list(zip(axes.flat, names, strict=False))


def draw(results, path):
    """Regret after all outcomes over ε."""
    figure, parts = panels(results)
    for axis, name in parts:
        r = PROBLEMS[name]().figure[0]
        mine = [x for x in results if x["problem"] == name]
        for method, label in (
            ("published", f"published, r = {r}: no guarantee"),
            ("sound", "sound"),
        ):
            points = sorted(
                (np.exp(x["log_epsilon"]), x["regret"], x["se"])
                for x in mine if x["method"] == method and x["r"] in (None, r)
            )  # fmt: skip
            axis.errorbar(*zip(*points, strict=True), marker=".", capsize=3, label=label)
        for method, style in (("rows", "--"), ("random", ":")):
            value = next(x["regret"] for x in mine if x["method"] == method)
            axis.axhline(value, color="grey", ls=style, label=method)
        axis.set(xscale="log", xlabel="ε", ylabel="simple regret", title=name)
        axis.legend(fontsize=7)
        axis.grid(alpha=0.3)
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--scale", action="store_true", help="measure time and memory only")
    parser.add_argument("--thresholds", action="store_true", help="compare s_min and r only")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--json")
    parser.add_argument("--figure")
    options = parser.parse_args()
    if options.measure:
        measure(*map(int, options.measure))
        return
    if options.scale:
        show_scale()
        return
    if options.thresholds:
        show_thresholds()
        return
    results = [row for name in options.problems for row in run(name, options.runs)]
    tables_of(results)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)
    if options.figure:
        draw(results, options.figure)


if __name__ == "__main__":
    main()

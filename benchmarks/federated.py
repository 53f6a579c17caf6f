"""Claim: what it costs that no site has to trust anyone, in regret and in the released score.

    python benchmarks/federated.py [--repeats 300] [--whole 40] [--json federated.json]
    python benchmarks/federated.py --only "5 alike" "3 that differ"

Real records (forest cover, lodgepole pine or not): 64 settings of gradient boosting are fitted once
on 2,000 training records and predict the other 58,000. A repetition deals some of these to sites,
and each site's exact counts of right answers are computed. From there on everything is drawn by the
package's own means: votes and counts by its mechanisms, decisions by a `FederatedCoordinator`, to
which the sites' answers are told as messages. `--whole` repeats one case with
`PrivateFederatedSearch.fit`, which has to give the same figures.

* regret: score of the best setting on all sites' records, less that of the chosen one;
* score error: |released score - score without noise| of the chosen setting.

"Gaussian" and "Laplace" at each site release the counts of all settings from the same share of
epsilon, each site with noise of its own (delta = 10^-6, and none), and the largest sum wins.
"""

import argparse
import json
import os
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
import stored
from sklearn.ensemble import HistGradientBoostingClassifier

from sklearn_dpbo import PrivateFederatedSearch
from sklearn_dpbo._privacy.accounting import Budget
from sklearn_dpbo._privacy.mechanisms import Mechanisms
from sklearn_dpbo._privacy.noise import Noise
from sklearn_dpbo._privacy.sensitive import Sensitive
from sklearn_dpbo.exceptions import LowUtilityWarning
from sklearn_dpbo.objective import FederatedCoordinator
from sklearn_dpbo.papers.kharkovskii2020 import gaussian_sigma

DATA = Path(os.environ.get("SKLEARN_DPBO_DATA", Path(__file__).parents[1] / "shared" / "data"))
GRID = {"learning_rate": [0.02, 0.05, 0.1, 0.3], "max_leaf_nodes": [4, 8, 16, 31],
        "max_iter": [30, 100], "l2_regularization": [0.0, 10.0]}  # fmt: skip
N_TRAIN, DELTA, SHARE = 2_000, 1e-6, 0.4
EVEN = [0.2] * 5
# Name: shares of the records, and by how much sites are regions: 0 deals records at random, 1 by
# elevation (the first site has the lowest ground), others mix.
SITES = {
    "5 alike": (EVEN, 0.0),
    "5 of sizes 50:20:15:10:5": ([0.5, 0.2, 0.15, 0.1, 0.05], 0.0),
    "5 of sizes 80:5:5:5:5": ([0.8, 0.05, 0.05, 0.05, 0.05], 0.0),
    "5 that differ some": (EVEN, 0.5),
    "5 that differ": (EVEN, 1.0),
    "5 that differ, 50:20:15:10:5": ([0.5, 0.2, 0.15, 0.1, 0.05], 1.0),
    "5 that differ, 80:5:5:5:5": ([0.8, 0.05, 0.05, 0.05, 0.05], 1.0),
    "3 alike": ([1 / 3] * 3, 0.0),
    "3 that differ": ([1 / 3] * 3, 1.0),
    "20 alike": ([0.05] * 20, 0.0),
}
SIZES, EPSILONS = (5_000, 50_000), (0.3, 1.0)
METHODS = ["one place", "votes", "Gaussian at each site", "Laplace at each site", "uniform"]


def load():
    """X, y of all records, shuffled, the training set first; what each setting gets right."""
    z = np.load(DATA / "covertype_60k.npz")
    order = np.random.default_rng(5).permutation(len(z["y"]))
    X, y = z["X"][order].astype(float), (z["y"][order] == 2).astype(int)
    grid = stored.fit_grid(
        HistGradientBoostingClassifier(random_state=0), GRID, X, y, n_train=N_TRAIN
    )
    stored.GRIDS["cover"] = grid
    return X[:, 0], y, (grid.full > 0.5) == y


def deal(elevation, shares, region, m, rng):
    """Record numbers of each site."""
    rows = rng.choice(np.arange(N_TRAIN, len(elevation)), m, replace=False)
    rank = elevation[rows].argsort().argsort() / m
    rows = rows[np.argsort(region * rank + (1 - region) * rng.random(m))]
    return np.split(rows, np.rint(np.cumsum(shares)[:-1] * m).astype(int))


def vote_for(counts, epsilon):
    """The candidate chosen by permute-and-flip."""
    mechanisms = Mechanisms(Budget(epsilon, 0.0), Noise())
    return mechanisms.select(Sensitive(counts[:, None], 1), epsilon, purpose="a vote")


def noisy_counts(counts, epsilon):
    mechanisms = Mechanisms(Budget(epsilon, 0.0), Noise())
    table = Sensitive(counts[None], len(counts))
    return mechanisms.release_counts(table, epsilon, purpose="counts").counts


def told(search, counts, m, epsilon):
    """Let sites with these counts answer the coordinator; return the fitted search."""
    names = [f"site {j}" for j in range(len(m))]
    coordinator = FederatedCoordinator(search, np.zeros((2, 1)), [0, 1], sites=names)
    tell = {"type": "tell", "version": 1}
    for name, N, size in zip(names, counts, m, strict=True):
        vote = {"candidate": vote_for(N, epsilon * (1 - SHARE)), "failed": [], "m": int(size)}
        coordinator.tell(name, {**tell, "what": "vote", **vote, "unit": "record"})
    for name, N in zip(names, counts, strict=True):
        finalists = coordinator.ask(name)["candidates"]
        noisy = noisy_counts(N[finalists], epsilon * SHARE)
        answer = {"candidates": finalists, "counts": [[int(c)] for c in noisy]}
        coordinator.tell(name, {**tell, "what": "counts", **answer})
    return coordinator.result()


def once(method, counts, m, epsilon, rng):
    """Return the chosen setting, and the released score or NaN."""
    (k, n), total = counts.shape, counts.sum(axis=0)
    if method == "votes":
        search = PrivateFederatedSearch(
            stored.StoredClassifier("cover"), {"candidate": list(range(n))}, epsilon=epsilon,
            refit=False,
        )  # fmt: skip
        found = told(search, counts, m, epsilon)
        return found.best_index_, found.best_score_
    if method == "one place":
        best = vote_for(total, epsilon * (1 - SHARE))
        (noisy,) = noisy_counts(total[[best]], epsilon * SHARE)
        return best, noisy / m.sum()
    if method == "uniform":
        return int(rng.integers(n)), np.nan
    if method.startswith("Gaussian"):
        sigma = gaussian_sigma(epsilon * (1 - SHARE), DELTA, np.sqrt(n))
        noise = np.rint(sigma * rng.standard_normal((k, n)))
    else:
        p = -np.expm1(-epsilon * (1 - SHARE) / n)
        noise = rng.geometric(p, (k, n)) - rng.geometric(p, (k, n))
    return int((total + noise.sum(axis=0)).argmax()), np.nan


def run(elevation, right, name, m, epsilon, repeats):
    shares, region = SITES[name]
    regrets, errors = ({method: [] for method in METHODS} for _ in range(2))
    for seed in range(repeats):
        rng = np.random.default_rng([seed, m])
        sites = deal(elevation, shares, region, m, rng)
        counts = np.array([right[:, rows].sum(axis=1) for rows in sites])
        sizes, total = np.array([len(rows) for rows in sites]), counts.sum(axis=0)
        for method in METHODS:
            best, score = once(method, counts, sizes, epsilon, rng)
            regrets[method].append((total.max() - total[best]) / m)
            errors[method].append(abs(score - total[best] / m))
    return [
        {"sites": name, "m": m, "epsilon": epsilon, "method": method, "repeats": repeats,
         **summary("regret", regrets[method]), **summary("score_error", errors[method])}
        for method in METHODS
    ]  # fmt: skip


def summary(what, found):
    return {what: float(np.mean(found)), f"{what}_se": float(np.std(found) / len(found) ** 0.5)}


def whole(elevation, y, right, repeats, m=5_000, epsilon=1.0):
    """The first case with the estimator itself, from records to results."""
    warnings.simplefilter("ignore", LowUtilityWarning)
    numbers = np.arange(len(y))[:, None]
    regrets, errors = [], []
    for seed in range(repeats):
        sites = deal(elevation, EVEN, 0.0, m, np.random.default_rng([seed, m]))
        search = PrivateFederatedSearch(
            stored.StoredClassifier("cover"), {"candidate": list(range(len(right)))},
            epsilon=epsilon, refit=False,
        )  # fmt: skip
        records = {f"site {j}": (numbers[rows], y[rows]) for j, rows in enumerate(sites)}
        search.fit(numbers[:N_TRAIN], y[:N_TRAIN], sites=records)
        total = right[:, np.concatenate(sites)].sum(axis=1)
        regrets.append((total.max() - total[search.best_index_]) / m)
        errors.append(abs(search.best_score_ - total[search.best_index_] / m))
    return {"sites": "5 alike", "m": m, "epsilon": epsilon, "repeats": repeats,
            "method": "votes: fit", **summary("regret", regrets),
            **summary("score_error", errors)}  # fmt: skip


def show(rows, what="regret", methods=METHODS):
    heads = ["sites", "m", "ε", *methods]
    print(f"\n{what}\n\n| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for case in dict.fromkeys((row["sites"], row["m"], row["epsilon"]) for row in rows):
        of = {r["method"]: r for r in rows if (r["sites"], r["m"], r["epsilon"]) == case}
        cells = [f"{of[x][what]:.4f} ± {of[x][what + '_se']:.4f}" for x in methods]
        print(f"| {case[0]} | {case[1]:,} | {case[2]} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--whole", type=int, default=40)
    parser.add_argument("--only", nargs="+", choices=list(SITES), default=list(SITES))
    parser.add_argument("--json")
    options = parser.parse_args()
    elevation, y, right = load()
    share = right[:, N_TRAIN:].mean(axis=1)
    print(f"{len(share)} settings: best {share.max():.4f}, median {np.median(share):.4f}")
    rows = []
    for name in options.only:
        for m in SIZES:
            for epsilon in EPSILONS:
                rows += run(elevation, right, name, m, epsilon, options.repeats)
                show(rows[-len(METHODS) :])
    print("\n==== all")
    show(rows)
    show(rows, "score_error", ["one place", "votes"])
    if options.whole:
        rows.append(whole(elevation, y, right, options.whole))
        print("\nfit, 5 alike:")
        show(rows[-1:], methods=["votes: fit"])
        show(rows[-1:], "score_error", ["votes: fit"])
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

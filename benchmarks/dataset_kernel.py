"""Claim: where the likelihood of the dataset kernel k1 really peaks (Kusner et al. 2015, Figure 1).

    python benchmarks/dataset_kernel.py [--train 4000] [--json kernel.json] [--figure kernel.png]
    python benchmarks/dataset_kernel.py --paper   # 36,603 training records: 2.5 hours of a core

As in section 6 of the arXiv text: 100 SVM settings (C and the width of the kernel) of a Sobol
sequence, trained on forest cover; for each validation size m, 100 validation sets and a neighbour
of each; the likelihood of k1 over all pairs. The paper looks at k1 from .05 to .95 in steps of .05;
we also look at 1 - k1 from 1 down to 1e-12.

The paper does not say which observation noise it assumed, and where the peak lies depends on it, so
it is shown for two: learnt by the marginal likelihood of the mean scores, and next to none.

The likelihood of all pairs is a product, as if validation sets were independent. Each is drawn
without replacement from the records that no model was trained on, so two of them share records: of
two sets of m records from a pool of n, m^2 / n on average. Forest cover has 581,012 records, of
which the 60,000 of the stored copy leave 56,000 (23,397 with --paper): sets of 15,000 share 4,018
(9,616); in the paper's pool it would have been 413. Each figure is printed.
"""

import time

from harness import load, parser_of, save

# isort: split

import numpy as np
from joblib import Parallel, delayed
from problems import DATA
from scipy.stats import loguniform, qmc
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_dpbo.papers.kusner2015 import estimate_dataset_kernel, neighbouring_scores
from sklearn_dpbo.papers.kusner2015._dataset_kernel import PAPER_GRID
from sklearn_dpbo.papers.kusner2015.bounds import NoisyBounds

SIZES = [1000, 2000, 3000, 5000, 15000]
N_SETTINGS, N_PAIRS = 100, 100
AXES = {"C": loguniform(1e-3, 1e4), "gamma": loguniform(1e-6, 10)}
NOISES = {"learnt": None, "next to none": 1e-4}
CHANGES = {"add_or_remove": "one added or removed (paper)", "replace": "one replaced"}


def gains_of(setting, train, pool):
    """Which records of the pool a model of this setting gets right."""
    model = make_pipeline(StandardScaler(), SVC(**setting, cache_size=500)).fit(*train)
    return model.predict(pool[0]) == pool[1]


def all_gains(n_train, n_settings, seed, n_jobs=2):
    """Which of the records that were not trained on each setting's model gets right."""
    z = np.load(DATA / "covertype_60k.npz")
    order = np.random.default_rng(seed).permutation(len(z["y"]))
    X, y = z["X"].astype(np.float64)[order], z["y"][order]
    train, pool = (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])
    u = qmc.Sobol(2, rng=np.random.default_rng(seed)).random_base2(7)[:n_settings]
    settings = [
        {k: float(a.ppf(x)) for (k, a), x in zip(AXES.items(), row, strict=True)} for row in u
    ]
    gains = Parallel(n_jobs=n_jobs)(delayed(gains_of)(s, train, pool) for s in settings)
    return u, np.array(gains)


def study(u, gains, m, change, noise, seed):
    pairs = neighbouring_scores(gains, m, N_PAIRS, np.random.default_rng(seed), change=change)
    found = estimate_dataset_kernel(*pairs, u, noise=NOISES[noise])
    paper = np.isin(found.grid, PAPER_GRID)
    on_paper = found.grid[paper][np.argmax(found.log_likelihood[paper])]
    c = [NoisyBounds(64, 256, 0.05, k1, 0.1, 1.0).c for k1 in (on_paper, found.k1)]
    return {
        "m": m, "shared": m**2 / gains.shape[1], "change": change, "noise": noise,
        "sigma": found.noise,
        "prior_scale": found.prior_scale, "length_scale": found.kernel.length_scale.tolist(),
        "k1_on_paper_grid": float(on_paper), "one_minus_k1": float(1 - found.k1),
        "c_points": [100 * found.prior_scale * x for x in c],
        "grid": found.grid.tolist(), "log_likelihood": found.log_likelihood.tolist(),
    }  # fmt: skip


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    shown = [r for r in results if r["change"] == "add_or_remove"]
    for r in shown:
        k1, value = np.array(r["grid"]), np.array(r["log_likelihood"])
        style = {"label": f"m = {r['m']:,}"}
        if r["noise"] == "learnt":
            inside = np.isin(k1, PAPER_GRID)
            axes[0].plot(k1[inside], value[inside] / N_PAIRS, ".-", **style)
            axes[1].plot(1 - k1, (value - value.max()) / N_PAIRS, **style)
        else:
            axes[2].plot(1 - k1, (value - value.max()) / N_PAIRS, **style)
    axes[0].set(title="The paper's grid (noise learnt)", xlabel="$k_1$")
    axes[1].set(title="Up to 1 (noise learnt)", xlabel="$1 - k_1$", xscale="log")
    axes[2].set(title="Up to 1 (next to no noise)", xlabel="$1 - k_1$", xscale="log")
    for axis in axes:
        axis.set_ylabel("log-likelihood per pair")
        axis.grid(alpha=0.3)
    for axis in axes[1:]:
        axis.set_ylabel("log-likelihood per pair, less the largest")
        axis.invert_xaxis()
    axes[1].set_ylim(-80, 5)
    axes[2].set_ylim(-4000, 250)
    axes[0].legend()
    figure.savefig(path, dpi=120)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--train", type=int, default=4000)
    parser.add_argument("--paper", action="store_true", help="train on 36,603 records")
    parser.add_argument("--settings", type=int, default=N_SETTINGS)
    parser.add_argument("--figure", help="draw the likelihoods here (PNG)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--redraw", help="JSON of an earlier run: draw it, and nothing else")
    options = parser.parse_args()
    if options.redraw:
        draw(load(options.redraw)["results"], options.figure)
        return
    start = time.perf_counter()
    n_train = 36_603 if options.paper else options.train
    u, gains = all_gains(n_train, options.settings, options.seed, options.jobs)
    print(f"{options.settings} SVMs on {n_train:,} records: {time.perf_counter() - start:.0f} s; "
          f"accuracy {gains.mean(1).min():.3f} to {gains.mean(1).max():.3f}")  # fmt: skip
    print("\n| neighbour | noise | sigma | m | shared by two sets | k1 on the paper's grid | its c "
          "| 1 - k1 at the peak | its c |")  # fmt: skip
    print("|---" * 9 + "|")
    results = []
    for change, name in CHANGES.items():
        for noise in NOISES:
            for m in SIZES:
                r = study(u, gains, m, change, noise, options.seed)
                results.append(r)
                c = r["c_points"]
                print(f"| {name} | {noise} | {r['sigma']:.2g} | {m:,} "
                      f"| {r['shared']:,.0f} "
                      f"| {r['k1_on_paper_grid']:.2f} | {c[0]:.1f} "
                      f"| {r['one_minus_k1']:.1e} | {c[1]:.2g} |", flush=True)  # fmt: skip
    print("\nc in points of accuracy, for 256 settings and delta = 0.05; "
          f"{time.perf_counter() - start:.0f} s in all")  # fmt: skip
    save({"train": n_train, "results": results}, options.json)
    if options.figure:
        draw(results, options.figure)


if __name__ == "__main__":
    main()

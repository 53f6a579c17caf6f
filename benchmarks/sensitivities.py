"""Claim: how much noise the mechanisms need on the same problem, in points of accuracy.

    python benchmarks/sensitivities.py [--json sensitivities.json] [--figure sensitivities.png]

SVMs on forest cover, as in `dataset_kernel.py` (1,000 training records, 64 settings). Kernel, noise
and k1 are learnt from public pairs for each m. All of epsilon = 1 and delta = 0.05 is spent on a
setting and a score, by each strategy's default shares (halves for the algorithms of Kusner et al.).
Shown are the scales of the noise: of the Laplace noise on the score, and of the choice, which
prefers one setting to another by exp(difference / scale).
"""

import dataset_kernel as kernel  # first: it sets the number of threads
from harness import parser_of, save

# isort: split
import numpy as np
from scipy.stats import qmc

from sklearn_dpbo.papers.kusner2015 import estimate_dataset_kernel, neighbouring_scores
from sklearn_dpbo.papers.kusner2015.bounds import (
    CandidateBounds,
    LipschitzBounds,
    NoiseFreeBounds,
    NoisyBounds,
    information_gain_bound,
)
from sklearn_dpbo.papers.kusner2015.published import PublishedNoisyBounds

EPSILON, DELTA, T, LAMBDA = 1.0, 0.05, 64, 256
SIZES = [500, 1000, 2000, 5000, 15000, 50000, 150000]


def scales(u, gains, m):
    """{(mechanism, "score" or "choice"): scale in points of accuracy}."""
    half, delta = EPSILON / 2, DELTA / 2
    pairs = neighbouring_scores(gains, m, 100, np.random.default_rng(0))
    noisy = estimate_dataset_kernel(*pairs, u)
    exact = estimate_dataset_kernel(*pairs, u, noise=1e-5)
    domain = qmc.Sobol(2, rng=np.random.default_rng(0)).random(LAMBDA)
    gamma = information_gain_bound(domain, noisy.kernel, noisy.noise, T)
    free = NoiseFreeBounds(T, LAMBDA, delta, exact.k1, 2, 0.0, 1.0)  # A = 0: nothing for regret
    rows = {
        ("WorstCase", "score"): 1 / (0.4 * EPSILON * m),
        ("WorstCase", "choice"): 2 / (0.6 * EPSILON * m),
        ("GPNoiseFree, if its regret were 0", "score"): free.sensitivity * exact.prior_scale / half,
        ("GPNoiseFree", "choice"): 2 * free.sensitivity_of_mean * exact.prior_scale / half,
    }
    for name, kind in (("GPNoisy", NoisyBounds), ("PublishedGPNoisy", PublishedNoisyBounds)):
        b = kind(T, LAMBDA, delta, noisy.k1, noisy.noise, gamma)
        rows[name, "score"] = b.sensitivity_of_maximum * noisy.prior_scale / half
        rows[name, "choice"] = 2 * b.sensitivity_of_mean * noisy.prior_scale / half
    alone = CandidateBounds(T, LAMBDA, DELTA, noisy.k1)
    scale = 2 * alone.sensitivity_of_mean * noisy.prior_scale / EPSILON
    rows["GPNoisy(score_share=0)", "choice"] = scale
    for low, high in ((0.001, 1.0), (0.9, 1.0), (0.999, 1.0)):
        b = LipschitzBounds(m, (low, high), 1.0, 1.0, lowest_at_zero=True)
        rows[f"LipschitzConvex, ramp, λ in [{low:g}, {high:g}]", "score"] = b.sensitivity / EPSILON
    return {key: 100 * value for key, value in rows.items()}


def draw(found, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", sharey=True)
    for axis, what in zip(axes, ("score", "choice"), strict=True):
        for name, kind in next(iter(found.values())):
            if kind == what:
                values = [row[name, kind] for row in found.values()]
                axis.loglog(list(found), values, ".-", label=name)
        axis.axhline(100, color="grey", ls=":")
        axis.annotate("the whole range of accuracy", (SIZES[0], 115), color="grey", fontsize=8)
        axis.set(xlabel="validation records m", title=f"Noise of the {what}, ε = 1")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, loc={"score": "lower left", "choice": "center right"}[what])
    axes[0].set_ylabel("scale of the noise, points of accuracy")
    figure.savefig(path, dpi=120)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--train", type=int, default=1000)
    parser.add_argument("--settings", type=int, default=64)
    parser.add_argument("--figure")
    options = parser.parse_args()
    u, gains = kernel.all_gains(options.train, options.settings, seed=0)
    found = {m: scales(u, gains, m) for m in SIZES}
    print("| mechanism | noise of the | " + " | ".join(f"m = {m:,}" for m in SIZES) + " |")
    print("|---" * (len(SIZES) + 2) + "|")
    for name, what in next(iter(found.values())):
        cells = " | ".join(f"{row[name, what]:.2g}" for row in found.values())
        print(f"| {name} | {what} | {cells} |")
    save({m: {" ".join(k): v for k, v in r.items()} for m, r in found.items()}, options.json)
    if options.figure:
        draw(found, options.figure)


if __name__ == "__main__":
    main()

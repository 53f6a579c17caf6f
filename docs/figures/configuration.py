"""Draw the picture of the page on configuration: python docs/figures/configuration.py."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from sklearn_dpbo.papers.balcan2018 import (
    Knapsack,
    KnapsackItems,
    PiecewiseConstant,
    piecewise_utility,
    uniform_grid,
)

HERE = Path(__file__).parent
STEPS, GRID = 2**20, 2**12
rng = np.random.default_rng(0)


def knapsack():
    """30 items; the larger, the more valuable per size."""
    sizes = rng.uniform(1, 10, 30)
    return KnapsackItems(sizes**1.3 * rng.lognormal(0, 0.4, 30), sizes, sizes.sum() / 4)


def draw(interval=(0, 3), n=200):
    """Save one instance's utility, the sample's mean with critical points, and the density."""
    utilities = [piecewise_utility(Knapsack(), knapsack(), interval, GRID) for _ in range(n)]
    total = PiecewiseConstant.total([u.quantized(1.0, STEPS) for u in utilities])
    grid = uniform_grid(interval, GRID)
    mean = total(grid) / (STEPS * n)
    figure, axes = plt.subplots(3, 1, figsize=(7, 7), sharex=True, layout="constrained")
    for u in utilities[:3]:
        axes[0].plot(grid, u(grid), drawstyle="steps-post", lw=1.2)
    axes[0].set_ylabel("utility of\nthree instances")
    axes[1].plot(grid, mean, color="black", lw=1)
    axes[1].set_ylabel(f"mean utility of\n{n} instances")
    points = np.concatenate([u.breakpoints for u in utilities])
    axes[1].plot(points, np.full(len(points), mean.min()), "|", ms=8, alpha=0.3)
    axes[1].set_title(f"{len(points):,} critical points", fontsize=9, loc="right")
    for epsilon in (0.3, 1, 3):
        weight = np.exp(epsilon * n * (mean - mean.max()) / 2)
        density = weight / weight.mean() / (interval[1] - interval[0])
        axes[2].plot(grid, density, lw=1, label=f"epsilon = {epsilon:g}")
    axes[2].set_ylabel("density of the\nselected value")
    axes[2].set_ylim(bottom=0)
    axes[2].set_xlabel("exponent $\\rho$")
    axes[2].legend(frameon=False)
    figure.savefig(HERE / "knapsack.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    draw()

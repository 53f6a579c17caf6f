"""Draw the picture of the page on choosing epsilon: ``python docs/figures/epsilon.py``.

It sets the bounds of `plan_search` beside the measured regrets of the page of benchmarks ("Over
epsilon"), less those at epsilon = 10: what is left there is what a search without noise misses,
too.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from sklearn_dpbo import plan_search

HERE = Path(__file__).parent
SIZE = (5.6, 3.5)
# docs/reference/benchmarks.md, "Over epsilon": records, and the mean regrets at each epsilon.
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
MEASURED = {
    2000: (0.0037, 0.0031, 0.0017, 0.0003, 0.0001),
    1078: (0.0111, 0.0094, 0.0025, 0.0004, 0.0003),
    5000: (0.0082, 0.0047, 0.0040, 0.0040, 0.0040),
    2440: (0.0112, 0.0080, 0.0049, 0.0049, 0.0047),
    3000: (0.0084, 0.0048, 0.0029, 0.0028, 0.0028),
    900: (0.0063, 0.0065, 0.0045, 0.0020, 0.0018),
}


def draw_regret():
    """Draw bounds and measured regrets against the product of epsilon and records."""
    figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
    products = np.geomspace(80, 20_000, 60)
    bounds = [plan_search(int(p), 64, 1.0) for p in products]
    ax.plot(products, [b.regret for b in bounds], label="bound, with probability 95 %")
    ax.plot(products, [b.expected_regret for b in bounds], "--", label="bound, on average")
    for m, regrets in MEASURED.items():
        label = "measured, six problems" if m == 2000 else None
        cost = np.subtract(regrets[:-1], regrets[-1])
        shown = cost > 0
        ax.plot(np.multiply(m, EPSILONS[:-1])[shown], cost[shown], "k.", label=label)
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="epsilon times validation records",
        ylabel="accuracy lost by the choice",
        title="What privacy costs a choice among 64",
    )
    ax.grid(alpha=0.3)
    ax.legend(loc="lower left")
    figure.savefig(HERE / "epsilon_m.png", dpi=110)


if __name__ == "__main__":
    draw_regret()

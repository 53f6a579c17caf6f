"""Draw the picture of the page on choosing epsilon: ``python docs/figures/epsilon.py``.

It sets the bounds of `plan_search` beside the measured regrets in
``benchmarks/results/hold_out_tuned_on.csv``, less those at epsilon = 10: what is left there is what
a search without noise misses, too.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from sklearn_dpbo import plan_search

HERE = Path(__file__).parent
sys.path.append(str(HERE.parents[1] / "benchmarks"))

from printed import by  # noqa: E402

SIZE = (5.6, 3.5)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


def draw_regret():
    """Draw bounds and measured regrets against the product of epsilon and records."""
    figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
    products = np.geomspace(80, 20_000, 60)
    bounds = [plan_search(int(p), 64, 1.0) for p in products]
    ax.plot(products, [b.regret for b in bounds], label="bound, with probability 95 %")
    ax.plot(products, [b.expected_regret for b in bounds], "--", label="bound, on average")
    rows = by("hold_out_tuned_on", "problem").drop("mean")
    cost = rows[["ε = 0.1", "0.3", "1", "3"]].sub(rows["10"], axis=0).to_numpy()
    product = np.outer(rows["m"], EPSILONS[:-1])
    ax.plot(product[cost > 0], cost[cost > 0], "k.", label=f"measured, {len(rows)} problems")
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

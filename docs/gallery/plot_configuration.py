"""
Configure an algorithm on confidential instances
================================================

Choose the parameter of a greedy knapsack algorithm on problem instances that must stay
confidential. The instances are simulated, so that the picture can show some.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_dpbo.papers.balcan2018 import (
    Knapsack,
    KnapsackItems,
    PrivateConfigurator,
    piecewise_utility,
)

# %%
# The algorithm packs items in the order of value / size\ :sup:`s` and skips those that do not fit.
rng = np.random.default_rng(0)


def instance():
    """20 items; large items have more value per size."""
    sizes = rng.uniform(1, 10, size=20)
    return KnapsackItems(sizes**1.3 * rng.lognormal(0, 0.4, size=20), sizes, sizes.sum() / 4)


sensitive = [instance() for _ in range(2_000)]
configurator = PrivateConfigurator(Knapsack(), epsilon=1.0, utility_bound=1.0, interval=(0, 3))
configurator.fit(sensitive)

low, high = configurator.best_score_interval_
print(f"parameter {configurator.best_parameter_:.3f}")
print(f"utility {configurator.best_score_:.3f} (95 % without noise: {low:.3f} to {high:.3f})")

# %%
# Public instances: the utility of one instance is a step function; the mean of many is nearly
# smooth.
public = [piecewise_utility(Knapsack(), instance(), (0, 3)) for _ in range(200)]
grid = np.linspace(0, 3, 601)
figure, (top, bottom) = plt.subplots(2, 1, sharex=True, layout="constrained")
for utility in public[:3]:
    top.plot(grid, utility(grid), drawstyle="steps-post", lw=1)
top.set(ylabel="utility of three\npublic instances")
bottom.plot(grid, np.mean([utility(grid) for utility in public], axis=0), color="0.2")
bottom.axvline(configurator.best_parameter_, color="crimson", label="chosen privately")
bottom.set(xlabel="s", ylabel="mean utility of 200\npublic instances")
bottom.legend()

# %%
# The privacy report:
configurator.privacy_

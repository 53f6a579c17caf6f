"""Draw the picture that shared links show (docs/_static/social_card.png, 1200 x 630)."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

BLUE, LIGHT, ORANGE = "#1f4e8c", "#8fc1ff", "#ffb347"

figure = plt.figure(figsize=(12, 6.3), facecolor=BLUE)
figure.text(0.06, 0.8, "sklearn_dpbo", color="white", size=54, weight="bold")
figure.text(0.06, 0.68, "Hyper-parameter search with differential privacy", color="white", size=30)
figure.text(
    0.06, 0.6, "works like GridSearchCV; the results may be published", color=LIGHT, size=23
)

# A score along a parameter, the noise around it, and the chosen candidate.
ax = figure.add_axes((0.06, 0.07, 0.88, 0.46))
x = np.linspace(0, 1, 400)
score = 0.55 * np.exp(-(((x - 0.64) / 0.17) ** 2)) + 0.25 * np.exp(-(((x - 0.2) / 0.1) ** 2))
ax.fill_between(x, score - 0.08, score + 0.08, color=LIGHT, alpha=0.45, lw=0)
ax.plot(x, score, color="white", lw=4)
ax.plot(x[score.argmax()], score.max(), "o", color=ORANGE, ms=24)
ax.axis("off")
figure.savefig(Path(__file__).parents[1] / "_static" / "social_card.png", dpi=100)

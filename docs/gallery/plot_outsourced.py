"""
Outsourced optimisation: by row numbers
=======================================

One side holds a table, and can find out what a row is worth; the other side optimises, and sees
neither. It is given the rows with noise, once, and asks for outcomes by row number.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo.outsourced import GaussianCurator, Modeler

# %%
# The side that holds the data: body mass index and blood pressure of patients. How their disease
# progresses can be found out, one patient at a time.
patients = load_diabetes(as_frame=True, scaled=False)
rows, outcome = patients.data[["bmi", "bp"]], patients.target.to_numpy()
X = StandardScaler().fit_transform(rows)

# %%
# Nobody is to tell whether a row lies here or 0.1 standard deviations away.
curator = GaussianCurator(epsilon=1.0, delta=1e-4, distance=0.1)
Z = curator.fit_transform(X)
print(f"released: {len(Z)} rows with noise of deviation {curator.sigma_:.2f}")

# %%
# The side that optimises: for whom does it progress fastest? Outcomes are handed over as they are.
n_iter = 60
modeler = Modeler(Z, input_noise=curator.sigma_, n_iter=n_iter)
for _ in range(n_iter):
    row = modeler.ask()
    modeler.tell(row, outcome[row])
row, value = modeler.best()
rank = int((outcome > value).sum()) + 1
print(f"after {n_iter} questions: row {row}, outcome {value:.0f}, rank {rank} of {len(outcome)}")

# %%
# Left: what is true, which only the holder of the data could draw, and what was released. Right:
# the best outcome so far, and what asking in random order gives (the mean of 200 orders).
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
left.scatter(*Z.T, s=3, color="0.7", label="released")
left.scatter(*X.T, s=3, color="tab:blue", label="true")
left.set(xlabel=rows.columns[0], ylabel=rows.columns[1])
left.legend(markerscale=4)
rng = np.random.default_rng(0)
orders = [np.maximum.accumulate(rng.permutation(outcome)[:n_iter]) for _ in range(200)]
asked = np.arange(1, n_iter + 1)
right.plot(asked, np.maximum.accumulate(modeler.values), color="crimson", label="by the modeler")
right.plot(asked, np.mean(orders, axis=0), color="0.5", label="in random order")
right.set(xlabel="questions", ylabel="best outcome so far")
right.legend()

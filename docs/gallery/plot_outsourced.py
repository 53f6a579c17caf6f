"""
Outsource the optimisation of confidential data
===============================================

One party, the curator, holds a table and can measure the outcome of a row. Another party, the
modeler, optimises. It receives the rows once, with noise, and asks for outcomes by row number.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo.papers.kharkovskii2020 import GaussianCurator, Modeler

# %%
# The curator holds body mass index and blood pressure of patients. The progression of the disease
# can be measured, one patient at a time.
patients = load_diabetes(as_frame=True, scaled=False)
rows, outcome = patients.data[["bmi", "bp"]], patients.target.to_numpy()
X = StandardScaler().fit_transform(rows)

# %%
# The noise hides where a row lies up to a distance of 0.1 standard deviations.
curator = GaussianCurator(epsilon=1.0, delta=1e-4, distance=0.1)
Z = curator.fit_transform(X)
print(f"released: {len(Z)} rows with noise of standard deviation {curator.sigma_:.2f}")

# %%
# The modeler looks for the patient with the fastest progression. Outcomes have no noise.
n_iter = 40
modeler = Modeler(Z, input_noise=curator.sigma_, n_iter=n_iter)
for _ in range(n_iter):
    row = modeler.ask()
    modeler.tell(row, outcome[row])
row, value = modeler.best()
rank = int((outcome > value).sum()) + 1
print(f"after {n_iter} queries: row {row}, outcome {value:.0f}, rank {rank} of {len(outcome)}")

# %%
# Left: the true rows, which only the curator could plot, and the released rows. Right: the best
# outcome so far, and the same for rows in random order (mean of 200 orders).
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
left.scatter(*Z.T, s=3, color="0.7", label="released")
left.scatter(*X.T, s=3, color="tab:blue", label="true")
left.set(xlabel=rows.columns[0], ylabel=rows.columns[1])
left.legend(markerscale=4)
rng = np.random.default_rng(0)
orders = [np.maximum.accumulate(rng.permutation(outcome)[:n_iter]) for _ in range(200)]
asked = np.arange(1, n_iter + 1)
right.plot(asked, np.maximum.accumulate(modeler.values), color="crimson", label="modeler")
right.plot(asked, np.mean(orders, axis=0), color="0.5", label="random order")
right.set(xlabel="queries", ylabel="best outcome so far")
right.legend()

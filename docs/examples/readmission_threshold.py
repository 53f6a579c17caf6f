"""When to call a patient back: a decision threshold from hospital records not to be exposed.

python docs/examples/readmission_threshold.py FOLDER

FOLDER holds diabetes130.csv.gz, the 101,766 stays of "Diabetes 130-US Hospitals for Years
1999-2008" (UCI Machine Learning Repository no. 296). 11 % of the stays end in a readmission within
30 days: so few that a classifier which is right as often as possible hardly ever predicts one.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from sklearn_dpbo import PrivateThresholdClassifier, make_private_scorer

folder = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("SKLEARN_DPBO_DATA", ".")
stays = pd.read_csv(Path(folder) / "diabetes130.csv.gz", keep_default_na=False)
X = stays.drop(columns=["encounter_id", "patient_nbr", "readmitted", "diag_1", "diag_2", "diag_3"])
y = (stays["readmitted"] == "<30").astype(int)

# Three hospitals, say: one has patients who agreed to be trained on, one wants a threshold for its
# own patients, and the third shows what that is worth. No patient is in two of them.
patients = np.random.default_rng(0).permutation(stays["patient_nbr"].unique())
train, sensitive, test = (
    stays["patient_nbr"].isin(part) for part in np.split(patients[:45_000], [15_000, 30_000])
)
encode = make_column_transformer(
    (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        make_column_selector(dtype_exclude="number"),
    ),
    remainder="passthrough",
)
model = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=40, random_state=0))
model.fit(X[train], y[train])

# A call after a stay costs 1; a readmission that nobody had called about costs 8.
scoring = make_private_scorer("neg_cost", cost_matrix=[[0, 1], [8, 1]])
tuned = PrivateThresholdClassifier(FrozenEstimator(model), epsilon=1.0, scoring=scoring)
tuned.fit(
    X[train],
    y[train],
    X_val=X[sensitive],
    y_val=y[sensitive],
    # All stays of a patient are protected together, and count as their mean.
    groups_val=stays["patient_nbr"][sensitive],
)

low, high = (-bound for bound in reversed(tuned.best_score_interval_))
print(f"Call from a probability of   {tuned.best_threshold_:.3f}")
print(
    f"Cost per patient, privately  {-tuned.best_score_:.3f} (without noise {low:.3f} to {high:.3f})"
)
for name, classifier in (("threshold 0.5", model), ("tuned threshold", tuned)):
    called = classifier.predict(X[test])
    cost = pd.Series(np.where(called == 1, 1, np.where(y[test] == 1, 8, 0)))
    cost = cost.groupby(stays["patient_nbr"][test].to_numpy()).mean().mean()
    print(
        f"Third hospital, {name:<16}  cost per patient {cost:.3f}; "
        f"{called.mean():.0%} called, {called[y[test] == 1].mean():.0%} of those who come back"
    )
print()
print(tuned.privacy_)

"""Tune a support vector classifier on tumour records that must not be exposed.

python docs/examples/breast_cancer.py
"""

from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn_dpbo import PrivateBayesSearchCV

# In practice the two sets come from different places: the training set is not protected.
X, y = load_breast_cancer(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, train_size=200, random_state=0)

search = PrivateBayesSearchCV(
    make_pipeline(StandardScaler(), SVC()),
    {"svc__C": loguniform(1e-2, 1e4), "svc__gamma": loguniform(1e-5, 1)},
    epsilon=1.0,
    n_iter=64,
    random_state=0,
)
search.fit(X_train, y_train, X_val=X_val, y_val=y_val)  # X_val, y_val: protected

low, high = search.best_score_interval_
print(f"Best candidate       {search.best_params_}")
print(f"Validation accuracy  {search.best_score_:.3f} (95 % interval: {low:.3f} to {high:.3f})")
print()
print(search.privacy_)

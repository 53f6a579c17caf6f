"""Parts of scikit-learn's interface that several estimators share (zone: released)."""

"""What makes an estimator behave as scikit-learn's do (zone: released)."""

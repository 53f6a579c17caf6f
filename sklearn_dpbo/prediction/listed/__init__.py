"""List of estimators trusted to predict row by row; calls of all others (zone: sensitive)."""

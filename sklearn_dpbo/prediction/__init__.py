"""Fit candidates on the training set, and count their predictions in secret (zone: sensitive)."""

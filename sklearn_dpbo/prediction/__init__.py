"""Fit candidates on the training set, count what they predict in secret (zone: sensitive)."""

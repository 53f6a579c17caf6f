"""Fit candidates on the training set, score them on protected records (zone: sensitive)."""

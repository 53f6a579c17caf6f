"""Attacks and checks that anyone can run (zone: public)."""

from __future__ import annotations

import numpy as np

__all__ = ["reconstruct_from_projection"]


def reconstruct_from_projection(Z, known_rows, known_indices) -> np.ndarray:
    """Estimate all rows behind a released table from a few that are known.

    If the columns of ``[Z 1]`` span those of X, as for a table that was projected linearly, then
    ``X = [Z 1] B``. B is fitted to the known rows by least squares, in coordinates of the column
    space of Z, and applied to all. With q directions in that space, q + 1 rows in general position
    are enough.

    Parameters
    ----------
    Z : array-like of shape (n_rows, n_components)
        The released table.
    known_rows : array-like of shape (n_known, n_features)
        Rows of X that are known.
    known_indices : array-like of int, shape (n_known,)
        Where they stand.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        The estimate.

    Raises
    ------
    ValueError
        If shapes do not match.
    """
    Z, known = np.asarray(Z, dtype=float), np.asarray(known_rows, dtype=float)
    index = np.asarray(known_indices)
    if Z.ndim != 2 or known.ndim != 2 or index.shape != (len(known),):
        raise ValueError(
            "Z and known_rows are tables, and known_indices has one entry for each known row; "
            f"found shapes {Z.shape}, {known.shape} and {index.shape}"
        )
    centred = Z - Z.mean(axis=0)
    U, S, _ = np.linalg.svd(centred, full_matrices=False)
    kept = 1e-10 * S.max(initial=0.0) < S
    scores = np.column_stack([U[:, kept] * np.sqrt(len(Z)), np.ones(len(Z))])
    B, *_ = np.linalg.lstsq(scores[index], known, rcond=None)
    return scores @ B

"""An attack on released tables that are linear projections (zone: public)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["reconstruct_from_projection"]


def reconstruct_from_projection(
    Z: ArrayLike, known_rows: ArrayLike, known_indices: ArrayLike
) -> NDArray[np.float64]:
    """Estimate all rows behind a released table from a few known rows.

    If the columns of ``[Z 1]`` span those of X, as for a linear projection, then ``X = [Z 1] B``.
    B is fitted to the known rows by least squares, in coordinates of the column space of Z, and
    applied to all rows. If that space has q dimensions, q + 1 rows in general position are enough.

    Parameters
    ----------
    Z : array-like of shape (n_rows, n_components)
        The released table.
    known_rows : array-like of shape (n_known, n_features)
        The known rows of X.
    known_indices : array-like of int, shape (n_known,)
        Positions of the known rows in X, from 0 to n_rows - 1.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
    """
    Z, known = np.asarray(Z, dtype=float), np.asarray(known_rows, dtype=float)
    index = np.asarray(known_indices)
    if Z.ndim != 2 or known.ndim != 2 or not Z.size or index.shape != (len(known),):
        raise ValueError(
            "Z and known_rows must be tables, and known_indices have an entry for each known row; "
            f"found shapes {Z.shape}, {known.shape} and {index.shape}"
        )
    if not (np.isfinite(Z).all() and np.isfinite(known).all()):
        raise ValueError("all numbers of Z and known_rows must be finite")
    if index.dtype.kind not in "iu" or not ((index >= 0) & (index < len(Z))).all():
        raise ValueError(
            f"known_indices must be row numbers, 0 to {len(Z) - 1}; found {index!r:.100}"
        )
    U, S, _ = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    kept = np.finfo(float).eps * max(Z.shape) * S.max(initial=0.0) < S
    scores = np.column_stack([U[:, kept] * np.sqrt(len(Z)), np.ones(len(Z))])
    if np.linalg.matrix_rank(scores[index]) < scores.shape[1]:
        raise ValueError(
            f"{len(index)} known rows are not enough: the columns of Z span {kept.sum()} "
            f"dimensions, which take {kept.sum() + 1} different rows in general position"
        )
    B, *_ = np.linalg.lstsq(scores[index], known, rcond=None)
    X: NDArray[np.float64] = scores @ B
    return X

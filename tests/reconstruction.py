"""An attack on released tables that are linear projections."""

import numpy as np


def reconstruct_from_projection(Z, known_rows, known_indices):
    """Estimate all rows X behind a released table Z from q + 1 known ones in general position.

    If the columns of ``[Z 1]`` span those of X, as for a linear projection, then ``X = [Z 1] B``. B
    is fitted by least squares, in coordinates of the column space of Z, which has q dimensions.
    """
    U, S, _ = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    kept = np.finfo(float).eps * max(Z.shape) * S.max() < S
    scores = np.column_stack([U[:, kept] * np.sqrt(len(Z)), np.ones(len(Z))])
    return scores @ np.linalg.lstsq(scores[known_indices], known_rows, rcond=None)[0]

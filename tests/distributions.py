"""Probabilities of the mechanisms' results, and the test that compares draws with them."""

import itertools
import math

import numpy as np
from scipy.stats import chisquare


def permute_and_flip_pmf(scores, epsilon, sensitivity):
    """Enumerate all orders: P(i) = mean over orders of P(i is the first that is accepted)."""
    accept = np.exp(epsilon * (np.array(scores) - max(scores)) / (2 * sensitivity))
    pmf = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for i in order:
            pmf[i] += reached * accept[i] / len(orders)
            reached *= 1 - accept[i]
    return pmf


def discrete_laplace_pmf(z, scale):
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** np.abs(z)


def chi_square_p(observed, pmf):
    """P-value; cells that are expected less than ten times are taken together."""
    expected = pmf * observed.sum()
    rare = expected < 10
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1e-9:
        observed, expected = observed[:-1], expected[:-1]
    return chisquare(observed, expected * observed.sum() / expected.sum()).pvalue

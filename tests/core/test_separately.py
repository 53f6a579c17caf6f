"""What is not listed is called on one unit at a time: the values are those of each unit alone."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo._data.split import hold_out
from sklearn_dpbo._evaluation.evaluator import Evaluator
from sklearn_dpbo._evaluation.fitting import FitOptions
from sklearn_dpbo._evaluation.suppress_output import suppress_output

M = 60


def oracle_of(model, train, val, groups=None, prediction="auto", scoring="accuracy"):
    problem = hold_out(
        model, *train, {}, cv=None, rng=None, X_val=copy.copy(val[0]), y_val=val[1],
        groups_val=groups, split_params={},
    )  # fmt: skip
    scorer = make_private_scorer(scoring).prepare(problem.training.y)
    return Evaluator(FitOptions(model, "raise", prediction=prediction), problem, (scorer,))


def values_of(model, train, val, **params):
    """The values of all records, in the sight of the whole package."""
    oracle = oracle_of(model, train, val, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle(({},))
    found = oracle.model(next(iter(oracle._models._kept.values()))[0])
    with suppress_output():
        return oracle.table.values(found, oracle.scorer.query)


def table(n, seed=0):
    """A frame of two columns of numbers and one of texts."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": np.round(rng.normal(size=n), 1), "b": rng.integers(0, 4, n)})
    return frame.assign(
        t=pd.Series(np.array(["x", "yy", "z"])[rng.integers(3, size=n)], dtype=object)
    )


def labels(frame, seed=2):
    noise = np.random.default_rng(seed).normal(size=len(frame))
    return (frame["a"] + 0.5 * frame["b"] + 0.8 * noise > 0.7).to_numpy().astype(int)


TRAIN, VAL = table(300), table(M, seed=1)
Y, Y_VAL = labels(TRAIN), labels(VAL, seed=3)


# ------------------------------------------------------------ what once moved many predictions
def moved(model, train, val, neighbour):
    """How many more correct predictions there are with one other record."""
    scores = [values_of(model, train, each).sum() for each in (val, neighbour)]
    return abs(int(scores[0]) - int(scores[1]))


@pytest.mark.filterwarnings("ignore")
def test_a_cell_that_changes_the_type_of_a_column_moves_its_own_count():
    glassbox = pytest.importorskip("interpret.glassbox")
    rng = np.random.default_rng(0)
    cells = np.round(rng.normal(size=600), 1).astype(object)
    cells[:4], cells[4:8] = True, "unknown"
    y = (np.arange(600) < 4) | (rng.random(600) < 0.1)
    X = np.column_stack([cells, rng.normal(size=600).astype(object)])
    val = np.column_stack([np.full(M, True, dtype=object), np.zeros(M, dtype=object)])
    val[0, 0] = 0.3
    neighbour = val.copy()
    neighbour[0, 0] = "unknown"
    model = glassbox.ExplainableBoostingClassifier(
        interactions=0, outer_bags=1, max_rounds=50, n_jobs=1
    )
    y_val = np.ones(M, dtype=int)
    assert moved(model, (X, y.astype(int)), (val, y_val), (neighbour, y_val)) <= 1


@pytest.mark.filterwarnings("ignore")
def test_draws_that_are_dealt_to_the_rows_in_order_move_one_count():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + rng.normal(size=(300, 1))
    y = (X[:, 0] > 0).astype(int)
    holes = X.copy()
    holes[rng.random(X.shape) < 0.3] = -9999
    neighbour = holes[:M].copy()
    neighbour[0] = np.where(holes[0] == -9999, 0.0, -9999)
    neighbour[0, 0] = -9999 if holes[0, 0] != -9999 else 0.0
    imputer = IterativeImputer(
        missing_values=-9999, sample_posterior=True, random_state=0, max_iter=2
    )
    model = make_pipeline(imputer, LogisticRegression())
    train = holes, y
    first = values_of(model, train, (holes[:M], y[:M]))
    other = values_of(model, train, (neighbour, y[:M]))
    assert np.array_equal(first[1:], other[1:])


@pytest.mark.parametrize("metric", ["l1", "l2"])
def test_a_sparse_table_with_one_cell_moves_one_prediction(metric):
    rng = np.random.default_rng(0)
    X = np.zeros((400, 5))
    X[:40, 0] = rng.integers(1, 4, 40)
    y = rng.integers(0, 2, 400)
    rows = rng.permutation(400)
    train = sparse.csr_matrix(X[rows]), y[rows]
    val = np.zeros((M, 5))
    neighbour = val.copy()
    neighbour[0, 0] = 1
    labels = np.ones(M, dtype=int)
    found = [
        values_of(KNeighborsClassifier(metric=metric), train, (sparse.csr_matrix(each), labels))
        for each in (val, neighbour)
    ]
    assert np.array_equal(found[0][1:], found[1][1:])

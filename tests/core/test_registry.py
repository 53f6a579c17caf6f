"""Each entry of a metric is complete, true of its function, and that of scikit-learn."""

import itertools
import runpy
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from few import few
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import (
    PrivateBayesSearchCV,
    make_private_scorer,
    private_comparison,
    private_evaluation,
)
from sklearn_dpbo.metrics import _metrics
from sklearn_dpbo.metrics._gains import GAINS, Gain
from sklearn_dpbo.metrics._make import NAMES, _reference, references
from sklearn_dpbo.metrics._registry import METRICS, OF_MATRIX, OfMatrix
from sklearn_dpbo.metrics._response import Predictions
from sklearn_dpbo.metrics._scorers import score_and_interval
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.testing import seeded_noise

# Of each parameter that a score needs, an example.
NEEDED = {"beta": 2.0, "cost_matrix": [[0, 1], [3, 0]], "k": 1}


def needed(name):
    return {key: NEEDED[key] for key in NAMES[name].params if key in NEEDED}


def matrices(K, m):
    """All confusion matrices of m records."""
    for cells in itertools.combinations_with_replacement(range(K * K), m):
        yield np.bincount(cells, minlength=K * K).reshape(K, K).astype(float)


def theirs(scorer, C, params):
    """What scikit-learn computes of the labels that a confusion matrix counts."""
    y, predicted = (np.repeat(i.ravel(), C.ravel().astype(int)) for i in np.indices(C.shape))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return scorer._sign * scorer._score_func(y, predicted, **scorer._kwargs | params)


# ------------------------------------------------------------ what is wrong with an entry
def problems(name, metric):
    """Say what is wrong with the entry of a metric of the confusion matrix; nothing if it is true.

    By all matrices of up to 3 records of two classes, and by some of three.
    """
    if metric.order not in ("fixed", "by sizes") and not callable(metric.order):
        return [f"order: {metric.order!r}"]
    if metric.follows not in ("correct", "recalls", "matrix"):
        return [f"follows: {metric.follows!r}"]
    known = {**NEEDED, "positive": 1}
    params = {key: known[key] for key in metric.params if key in known}
    own = params | ({"positive": 1} if metric.of_one else {})
    tables = [C for m in range(1, 4) for C in matrices(2, m)]
    rng = np.random.default_rng(0)
    if not metric.of_one:
        tables += [1.0 * rng.multinomial(m, np.ones(9) / 9).reshape(3, 3) for m in [2, 4, 30] * 5]
    values = [float(metric.function(C, None, **own)) for C in tables]
    found = [*_wrong_bounds(metric, tables, values, own), *_wrong_rank(metric, own, rng)]
    found += _wrong_follows(metric, tables, own)
    try:
        scorer = _reference(name, metric)
    except ValueError:
        return [*found, "reference: scikit-learn has no scorer of this name"]
    if scorer is not None:
        exact = [theirs(scorer, C, params) for C in tables]
        differ = [
            not np.isclose(a, b) for a, b in zip(values, exact, strict=True) if np.isfinite(b)
        ]
        found += ["reference: scikit-learn's value is another"] * any(differ)
    return found


def _wrong_bounds(metric, tables, values, own):
    low, high = metric.bounds
    if not np.allclose([min(values), max(values)], [low, high]):
        yield f"bounds: {metric.bounds}, but values are from {min(values):.3g} to {max(values):.3g}"
    ends = [float(metric.function(C, end, **own)) for C in tables for end in metric.bounds]
    if not (np.isfinite(ends).all() and low - 1e-9 <= min(ends) <= max(ends) <= high + 1e-9):
        yield "function: where it is undefined, it is no number within the bounds"
    noisy = np.array([[[3.0, -1.0], [1.0, -1.0]], [[0.0, -2.0], [2.0, 0.0]]])
    if not all(np.isfinite(metric.function(noisy, end, **own)).all() for end in metric.bounds):
        yield "function: of negative counts, it is no number"


def _wrong_follows(metric, tables, own):
    """Matrices with the same numbers of correct predictions have the same value."""
    of = {"correct": lambda C: (np.trace(C), C.sum()), "matrix": lambda C: C.tobytes()}
    of["recalls"] = lambda C: (C.shape, *np.diagonal(C), *C.sum(axis=1))
    i, j = np.indices((3, 3))
    other_errors = [C[i, -(i + j) % 3] for C in tables if len(C) == 3]
    seen = {}
    for C in tables + other_errors:
        value = float(metric.function(C, None, **own))
        if not np.isclose(seen.setdefault(of[metric.follows](C), value), value):
            yield f"follows: from more than {metric.follows!r}"
            return


def _wrong_rank(metric, own, rng):
    K = 2 if metric.of_one else 3
    if callable(metric.order):
        yield from _wrong_slopes(metric, own, rng)
        return
    weights = []
    for share in (0.0, 0.5, 0.9, 0.2):  # of correct predictions, at least
        sizes = rng.integers(5, 400, K) if metric.order == "fixed" else np.array([40, 300, 90])[:K]
        C = sizes[:, None] * (share * np.eye(K) + (1 - share) * rng.dirichlet(np.ones(K), K))
        G = _metrics.gradient(lambda C: metric.function(C, None, **own), C)
        G -= G.mean(axis=1, keepdims=True)
        weights.append(G / np.linalg.norm(G))
    if not np.allclose(weights, weights[0], atol=0.02):  # half a record is added to each cell
        yield f"order: other weights of cells than {metric.order!r}"


def _wrong_slopes(metric, own, rng):
    """Two records more raise a ranking by numbers that differ by its width at most.

    All of them from 0 on, where slopes bound each by itself; and a ranking lies in [0, m width].
    """
    for K, m in [(2, 2), (2, 5)] if metric.of_one else [(2, 2), (2, 5), (3, 2)]:
        units = np.eye(K * K).reshape(-1, K, K)
        M = rng.uniform(0.1, 3, (K, K))
        for ranking in itertools.islice(metric.order(M * m / M.sum(), **own), 4):
            for C in matrices(K, m - 1):
                rises = np.array([ranking(C + unit) - ranking(C) for unit in units])
                least = 0.0 if ranking.low.any() else rises.min()
                rises = np.append(rises - least, ranking(C + units[-1]) / m)
                if not ((rises > -1e-9) & (rises < ranking.width * (1 + 1e-9))).all():
                    yield "order: a record moves a ranking by more than its bounds say"
                    return
        M = rng.uniform(5, 40, (K, K))
        score = derivative(lambda C: metric.function(C, None, **own), M)
        for ranking in itertools.islice(metric.order(M, **own), 4):
            value = derivative(ranking.value, M)
            if (score * value).sum() / (value**2).sum() != pytest.approx(ranking.slope, rel=0.02):
                yield "order: the score has another slope with respect to a ranking than it says"
                return


def derivative(function, M, step=1e-4):
    """By each cell, less its mean over a class: candidates have classes of the same sizes."""
    cells = np.eye(M.size).reshape(-1, *M.shape) * step
    rises = [(float(function(M + d)) - float(function(M - d))) / 2 / step for d in cells]
    found = np.reshape(rises, M.shape)
    return found - found.mean(axis=1, keepdims=True)


# Averages weighted otherwise have the entries of those that are not.
@pytest.mark.first(6)
@pytest.mark.parametrize(
    "name", few(OF_MATRIX, *(n for n in OF_MATRIX if not n.endswith(("_micro", "_weighted"))))
)
def test_an_entry_is_true(name):
    assert not problems(name, OF_MATRIX[name])


# ------------------------------------------------------------ entries that are not
def balanced(**changed):
    return replace(OF_MATRIX["balanced_accuracy"], **changed)


def matthews(**changed):
    return replace(OF_MATRIX["matthews_corrcoef"], **changed)


def narrow(M, positive):
    """Rankings that claim half of their slopes."""
    for ranking in OF_MATRIX["f1"].order(M, positive):
        yield replace(ranking, low=ranking.low / 2, high=ranking.high / 2)


def steep(M, positive):
    """Rankings of which the score is said to rise twice as much."""
    for ranking in OF_MATRIX["f1"].order(M, positive):
        yield replace(ranking, slope=2 * ranking.slope)


PLANTED = {
    "twice the slope": (replace(OF_MATRIX["f1"], order=steep), "order: the score has another"),
    "signed, within 0 and 1": (matthews(bounds=(0.0, 1.0)), "bounds: (0.0, 1.0), but values are"),
    "never so low": (balanced(bounds=(-1.0, 1.0)), "bounds: (-1.0, 1.0), but values are from 0"),
    "another reference": (balanced(reference="accuracy"), "reference: scikit-learn's value"),
    "no reference": (balanced(reference=""), "reference: scikit-learn has no scorer"),
    "of correct ones": (balanced(follows="correct"), "follows: from more than 'correct'"),
    "of recalls": (matthews(follows="recalls"), "follows: from more than 'recalls'"),
    "of nothing": (balanced(follows="right"), "follows: 'right'"),
    "fixed order": (balanced(order="fixed"), "order: other weights of cells than 'fixed'"),
    "order by sizes": (matthews(order="by sizes"), "order: other weights of cells than 'by sizes'"),
    "no order": (balanced(order=None), "order: None"),
    "half of the noise": (replace(OF_MATRIX["f1"], order=narrow), "order: a record moves"),
    "undefined": (
        balanced(function=lambda C, end: _metrics.balanced_accuracy(C, end and 2 * end)),
        "function: where it is undefined",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", PLANTED)
def test_an_entry_that_is_not_true_is_reported(what):
    metric, said = PLANTED[what]
    assert [each for each in problems("planted", metric) if each.startswith(said)]


def test_an_incomplete_entry_is_no_entry():
    with pytest.raises(TypeError, match="'follows' and 'order'"):
        OfMatrix((0.0, 1.0), _metrics.accuracy)
    with pytest.raises(TypeError, match="'bounds'"):
        OfMatrix(function=_metrics.accuracy, follows="correct", order="fixed")


# ------------------------------------------------------------ all scores
def widest(name):
    """Parameters with which nothing is clipped."""
    known = NAMES[name]
    wide = {"bounds": (-1e6, 0.0)} if getattr(known, "constant", None) else {}
    return wide | ({"largest_error": 1e3} if "largest_error" in known.params else {})


@pytest.mark.parametrize(
    "name", ["cohen_kappa", "informedness", "matthews_corrcoef", "explained_variance", "r2"]
)
def test_a_signed_metric_is_released_as_negative(name):
    metric = METRICS[name]
    scorer = make_private_scorer(name, **dict.fromkeys({*metric.params} & {"largest_error"}, 1.0))
    assert scorer.bounds == metric.bounds and scorer.bounds[0] <= -1 < scorer.bounds[1] == 1
    y = np.repeat([0, 1], 50)
    scorer, units = scorer.prepare(y), Units.of(100)
    values = scorer.counts.record_values(y, 1 - y, np.array([0, 1]))
    counts = scorer.counts.statistics(values, y, units)
    theirs = references()[name]
    exact = theirs._score_func(y, 1 - y, **theirs._kwargs)
    assert scorer.value(counts, units) == pytest.approx(exact) and exact <= -1
    noisy = NoisyCounts(tuple(counts), 1e-3)
    assert score_and_interval(scorer, units, noisy)[1][1] < -0.9


def test_only_own_gains_have_no_reference():
    own = {"neg_cost", "normalized_sigmoid", "ramp", "weighted_accuracy"}
    assert {*GAINS} - {*references()} == own
    assert all(references()[name]._sign == (-1 if name.startswith("neg_") else 1)
               for name in references())  # fmt: skip


@pytest.mark.parametrize("name", sorted(references()))
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**31), n=st.integers(6, 40))
def test_a_score_is_that_of_scikit_learn_and_within_its_bounds(name, seed, n):
    rng, reference = np.random.default_rng(seed), references()[name]
    scorer = make_private_scorer(name, **needed(name), **widest(name))
    K = 3 if name == "roc_auc_ovr" or (name in OF_MATRIX and not OF_MATRIX[name].of_one) else 2
    y, classes = np.r_[np.arange(K), rng.integers(K, size=n - K)], np.arange(K)
    if scorer.task == "regression":
        y, response, classes = rng.gamma(2, size=n) + 0.1, rng.gamma(2, size=n) + 0.1, None
    elif "predict" in scorer.response_method:
        response = rng.integers(K, size=n)
    else:
        response = rng.dirichlet(np.ones(K), n)
    found = scorer.prepare(y).exact(Predictions(y, response, classes))
    of_one = ("average_precision", "neg_brier_score", "roc_auc")
    one = "predict_proba" in scorer.response_method and name in of_one
    given = response[:, 1] if one or name == "top_k_accuracy" else response
    params = {key: value for key, value in needed(name).items() if key != "cost_matrix"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = reference._sign * reference._score_func(y, given, **reference._kwargs | params)
    assert found == pytest.approx(exact, rel=1e-6, abs=1e-12)
    low, high = scorer.bounds
    assert low <= found <= high


def wrong_bounds(name):
    """Whether gains that no user bounds lie beyond those of the entry, or never reach them."""
    scorer, rng = make_private_scorer(name, **needed(name)), np.random.default_rng(0)
    y, code = np.arange(200) % 2, rng.integers(2, size=200)
    response = {
        "predict": code,
        "predict_proba": np.eye(2)[code],
        "decision_function": rng.normal(0, 50, 200),
    }[scorer.response_method[0]]
    gains = scorer.prepare(y).query.unclipped(y, response, np.arange(2))
    return not np.allclose([gains.min(), gains.max()], scorer.prepare(y).bounds)


BOUNDED = [name for name, gain in GAINS.items() if not gain.constant]


@pytest.mark.parametrize("name", BOUNDED)
def test_gains_have_the_bounds_of_their_entries(name, monkeypatch):
    assert not wrong_bounds(name)
    monkeypatch.setitem(GAINS, name, replace(GAINS[name], bounds=(-5.0, 5.0)))
    assert wrong_bounds(name)
    monkeypatch.setitem(GAINS, name, replace(GAINS[name], bounds=(0.2, 0.5)))
    assert wrong_bounds(name)


def test_the_page_lists_all_metrics():
    script = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "figures" / "scores.py"))
    assert script["PAGE"].read_text() == script["page"](), "run: python docs/figures/scores.py"


# ------------------------------------------------------------ a new entry, and nothing else
def doubled(C, undefined):
    """Twice the balanced accuracy less 1: from -1 to 1."""
    return 2 * _metrics.balanced_accuracy(C, undefined and max(undefined, 0.0)) - 1


def right_or_wrong(y, response, classes):
    """1 for a correct prediction, -1 for a wrong one."""
    return np.where(y == response, 1.0, -1.0)


ADDED = {
    "doubled": (
        OF_MATRIX, OfMatrix((-1.0, 1.0), doubled, "recalls", "by sizes", reference=None),
    ),
    "right_or_wrong": (GAINS, Gain(right_or_wrong, (-1.0, 1.0))),
}  # fmt: skip


@pytest.fixture(params=ADDED)
def added(request, monkeypatch):
    """Name of a signed metric that has an entry, which the tables of all names repeat."""
    registry, entry = ADDED[request.param]
    for table in (registry, NAMES, *([METRICS] if registry is OF_MATRIX else [])):
        monkeypatch.setitem(table, request.param, entry)
    return request.param


def test_a_metric_that_has_an_entry_alone_is_released_with_its_sign(added):
    """The first column predicts 15 % of each class correctly, the second one 85 %."""
    assert added not in OF_MATRIX or not problems(added, OF_MATRIX[added])
    y_val = np.repeat([0.0, 1.0], 2000)
    right = np.arange(4000) % 20 < 3
    X_val = np.stack([np.where(right, y_val, 1 - y_val), np.where(right, 1 - y_val, y_val)], axis=1)
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 25)
    bad, good = (DecisionTreeClassifier(max_depth=1).fit(X, column) for column in X.T)
    data = {"X": X, "y": X[:, 0], "epsilon": 10.0}
    with warnings.catch_warnings(), seeded_noise(0):
        warnings.simplefilter("ignore")
        search = PrivateBayesSearchCV(
            bad, {"max_depth": [1]}, n_iter=1, epsilon=10.0, scoring=added, random_state=0
        ).fit(X, X[:, 0], X_val=X_val, y_val=y_val)
        low, high = search.best_score_interval_
        assert -0.75 < low < search.best_score_ < high < -0.65
        if added in OF_MATRIX:  # what follows from released matrices
            estimate = private_evaluation(bad, X_val, y_val, **data).score(added)
            assert -0.75 < estimate.low < estimate.value < estimate.high < -0.65
            gain = private_comparison(bad, good, X_val, y_val, **data).score(added)
            assert 1.3 < gain.low < gain.value < gain.high < 1.5

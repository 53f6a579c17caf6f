"""Audits of models that train privately, of what several of them cost, and of the whole search.

Nothing is refuted as it is; everything is with half of the noise. Noise is Gaussian, so that delta
is large: of a small one, thousands of fits show little.
"""

import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state

from sklearn_dpbo import PrivacyLedger, PrivateTableSearchCV
from sklearn_dpbo.audit import audit_estimator, training_neighbours
from sklearn_dpbo.learners import (
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateTraining,
)
from sklearn_dpbo.privacy import runs
from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.records.divided_table import DividedTable
from sklearn_dpbo.search import _table

EPSILON, DELTA = 2.0, 0.2
CLAIM = {"epsilon": EPSILON, "delta": DELTA}
# Rows at the bounds of both columns, labels, and two ways to group them.
X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]] * 2)
y = np.array([1, 0] * 4)
PAIRS, HALVES = np.arange(8) // 2, np.arange(8) // 4
NEIGHBOURS = training_neighbours(X[:, :1], y)["another label"]


def confidence(bug):
    """True claims are hardly ever refuted by accident; to detect a bug, 95 % are enough."""
    return 1 - 1e-7 if bug is None else 0.95


@pytest.fixture
def weaker(monkeypatch):
    """Divide the noise by a number."""

    def divide(factor):
        for name in ("permute_and_flip", "discrete_laplace", "discrete_gaussian"):
            right = getattr(SeededNoise, name)
            monkeypatch.setattr(SeededNoise, name, divided(right, factor))

    def divided(right, factor):
        return lambda self, scale: right(self, scale / factor)

    return divide


# ------------------------------------------------------------------ audit_estimator
# Nothing is released to scale by, and the first step shows most in the intercept.
SCALED = {"bounds": (-1, 1), "max_norm": 10.0}


def logistic(kind=PrivateLogisticRegression, **params):
    """Return a model on which the guarantee is nearly tight: all gradients are clipped."""
    params = (
        {"max_iter": 4, "clip": 0.25, "learning_rate": 1e-3, "C": 1e6} | SCALED | CLAIM | params
    )
    return kind(**params)


class HalfTheNoise(PrivateLogisticRegression):
    def _tables(self, records, n, sensitivity, *others):
        return super()._tables(records, n, sensitivity / 2, *others)


class AddedOrRemoved(HalfTheNoise):
    """Half of the noise is what a record needs that is added or removed."""

    def private_training(self):
        return PrivateTraining("zCDP", neighbours="add-or-remove-one", classes="classes")


class IgnoresGroups(PrivateLogisticRegression):
    def fit(self, X, y, groups=None):
        return super().fit(X, y)


SLOW = pytest.mark.slow


def each_week(*values):
    return pytest.param(*values, marks=pytest.mark.soak)


@pytest.mark.parametrize(
    ("kind", "groups", "n", "refuted"),
    [
        pytest.param(HalfTheNoise, None, 600, True, marks=SLOW),
        each_week(PrivateLogisticRegression, None, 600, False),
        each_week(AddedOrRemoved, None, 400, False),
        each_week(PrivateLogisticRegression, HALVES, 400, False),
        each_week(IgnoresGroups, HALVES, 400, True),
    ],
)
def test_audit_of_an_estimator_finds_what_is_declared_wrongly(kind, groups, n, refuted):
    """If a record is added or removed, half of the noise is enough: twice as much is claimed."""
    report = audit_estimator(
        logistic(kind, max_iter=1), X, y, n, groups=groups, confidence=0.95, random_state=0
    )
    assert report.refuted == refuted, str(report)
    claim = logistic(kind).private_training().fit.of_replacement(EPSILON, DELTA)
    assert (report.epsilon, report.delta) == claim
    assert (report.epsilon > EPSILON) == (kind is AddedOrRemoved)


class NoisyMean(RegressorMixin, BaseEstimator):
    """Predicts the mean of targets, which are cut off at -1 and 1, with Laplace noise."""

    def __init__(self, epsilon=2.0, random_state=None):
        self.epsilon = epsilon
        self.random_state = random_state

    def private_training(self):
        return PrivateTraining("pure", delta=None)

    def clipped(self, y):
        return np.clip(np.nan_to_num(y), -1, 1)

    def fit(self, X, y):
        noise = np.random.default_rng(self.random_state).laplace(scale=2 / self.epsilon)
        self._mean = (self.clipped(y).sum() + noise) / len(y)
        return self

    def predict(self, X):
        return np.full(len(X), self._mean)


class ClipsNothing(NoisyMean):
    def clipped(self, y):
        return np.asarray(y)


class RefusesMissing(NoisyMean):
    def fit(self, X, y):
        if np.isnan(X).any():
            raise ValueError("a number is missing")
        return super().fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "refuted", "pair"),
    [
        (NoisyMean, False, "another label|two columns|far targets"),  # the same to this model
        (ClipsNothing, True, "far targets"),
        (RefusesMissing, True, "missing numbers"),
    ],
)
def test_audit_of_an_estimator_tries_records_that_should_be_clipped(kind, refuted, pair):
    """Of what the model keeps nothing is public: its predictions tell."""
    report = audit_estimator(kind(), X, y * 2.0 - 1, 400, random_state=0)
    assert report.refuted == refuted and re.fullmatch(f"{kind.__name__}, ({pair})", report.subject)
    assert (report.epsilon, report.delta) == (2.0, 0.0) and report.epsilon_lower_bound > 1


@pytest.mark.slow
def test_audit_of_an_estimator_is_reproducible_and_leaves_it_unchanged():
    model = logistic()
    before = model.get_params()
    given = {"pairs": {"mine": NEIGHBOURS}, "random_state": 1}
    one, other = (audit_estimator(model, X[:, :1], y, 100, **given) for _ in "ab")
    assert one.evidence == other.evidence and model.get_params() == before
    assert not hasattr(model, "coef_")


@pytest.mark.slow
def test_audit_of_an_estimator_compares_what_output_returns_on_given_pairs():
    report = audit_estimator(
        logistic(), X[:, :1], y, 100, pairs={"mine": NEIGHBOURS},
        output=lambda model: model.intercept_[0], n_jobs=2,
    )  # fmt: skip
    assert report.subject == "PrivateLogisticRegression, mine" and "[0]" not in report.event


def test_errors_on_the_given_training_set_are_raised():
    with pytest.raises(ValueError, match="a number is missing"):
        audit_estimator(RefusesMissing(), np.full_like(X, np.nan), y, pairs={"same": ((X, y),) * 2})


@pytest.mark.parametrize(
    ("model", "params", "message"),
    [
        (NoisyMean(), {"groups": PAIRS}, "protects single records, not groups"),
        (BaseEstimator(), {}, "does not protect the records"),
        (logistic(), {"n": 99}, "n must be a whole number from 100 up"),
        (logistic(), {"pairs": {"two": ((X, y), (X, 1 - y))}}, "differ in one record; .* in 8"),
    ],
)
def test_invalid_parameters_of_audit_estimator_are_refused(model, params, message):
    with pytest.raises(ValueError, match=message):
        audit_estimator(model, X, y, **params)


def test_an_estimator_with_a_ledger_is_refused(tmp_path):
    model = logistic(ledger=PrivacyLedger(tmp_path / "l.db", "a", 1.0, create=True))
    with pytest.raises(ValueError, match="no ledger can pay for"):
        audit_estimator(model, X, y)


@pytest.mark.parametrize("groups", [None, [0, 1, 1, 2]])
def test_training_neighbours_differ_in_one_unit(groups):
    table = [[-1.0, 5.0], [1.0, 6.0], [0.0, 7.0], [0.5, 5.5]]
    pairs = training_neighbours(table, [0.0, 3.0, 3.0, 9.0], groups, regression=True)
    unit = [1] if groups is None else [1, 2]
    assert set(pairs) > {"another label", "two columns", "missing numbers", "far targets"}
    for data, neighbour in pairs.values():
        others = np.setdiff1d(np.arange(4), unit)
        for part, other, given in zip(data, neighbour, (table, [0, 3, 3, 9], groups), strict=False):
            np.testing.assert_array_equal(part[others], other[others])
            np.testing.assert_array_equal(part[others], np.asarray(given)[others])
        assert len(data) == len(neighbour) == (2 if groups is None else 3)
    (corner, a), (same, b) = (each[:2] for each in pairs["another label"])
    assert corner[1].tolist() == same[1].tolist() == [1, 7] and (a[1], b[1]) == (0, 9)


@pytest.mark.parametrize(
    ("table", "labels", "message"),
    [
        ([["a"], ["b"]], [0, 1], "X must be a table of numbers"),
        ([1.0, 2.0], [0, 1], "X must be a table of numbers"),
        ([[1.0], [2.0]], [0, 1, 2], "X must be a table of numbers"),
        ([[1.0], [2.0]], [1, 1], r"y must have two labels or more; found only \[1\]"),
    ],
)
def test_training_neighbours_of_other_tables_are_refused(table, labels, message):
    with pytest.raises(ValueError, match=message):
        training_neighbours(table, np.array(labels))


# ------------------------------------------------------------------ learners
def gram_difference(model):
    """Return the released sums, along the direction in which the neighbours "two columns" differ.

    No pair of records differs by more. It would take more runs if the direction were learnt.
    """
    rows = np.array([[1.0, 0.0, 1.0, -1.0], [0.0, 1.0, 1.0, 1.0]])
    first, last = (np.outer(row, row)[:3] for row in rows)
    noise = np.array([1.0, 1.0, 2.0, 2.0])
    return float((model.gram_ / np.outer(noise[:3], noise) ** 2 * np.triu(first - last)).sum())


UNIT = {"bounds": (-1, 1), "max_norm": 1.0} | CLAIM
LEARNERS = {
    "logistic": (logistic(max_iter=1), "another label", None, 1000),
    "ridge": (PrivateRidge(y_bounds=(-1, 1), **UNIT), "two columns", gram_difference, 1500),
}


@pytest.mark.parametrize("bug", [None, "noise halved"])
@pytest.mark.parametrize(
    "groups",
    [
        pytest.param(None, id="records", marks=SLOW),
        pytest.param(PAIRS, id="groups", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("name", LEARNERS)
def test_audit_refutes_a_learner_if_and_only_if_its_noise_is_halved(name, groups, bug, weaker):
    model, pair, output, n = LEARNERS[name]
    if bug is not None:
        weaker(2)
    neighbours = training_neighbours(X, y * 2 - 1, groups)
    report = audit_estimator(
        model, X, y * 2 - 1, n if bug else 1000, groups=groups, pairs={pair: neighbours[pair]},
        output=output, confidence=confidence(bug), random_state=0,
    )  # fmt: skip
    assert report.refuted == (bug is not None), str(report)


# ------------------------------------------------------------------ several fits


# ------------------------------------------------------------------ whole searches
@pytest.fixture
def quick(monkeypatch):
    """Leave out what is tried on made-up records before a search: it draws nothing."""
    monkeypatch.setattr(_table, "try_out", lambda *_: None)


def cut(units, test_size=0.5):
    """Return the rows of both parts of a table of which these are the groups."""
    rng = np.random.default_rng(check_random_state(0).randint(2**31 - 1, size=4))
    rows = np.arange(len(units), dtype=float)[:, None]
    labels = np.array([0, 1])
    table = DividedTable.divide(
        rows, rows[:, 0] % 2, units, labels, True, lambda m: round(test_size * m), rng, {}
    )
    return table.training.X[:, 0].astype(int), table.X_val[:, 0].astype(int)


@pytest.fixture(autouse=True)
def _halves(monkeypatch):
    """Both parts of a table are equally large."""
    monkeypatch.setattr(_table, "held_out", lambda n_units, **_: round(0.5 * n_units))


def search(model, grid, delta=DELTA, **params):
    return PrivateTableSearchCV(
        model, grid, epsilon=EPSILON, delta=delta, random_state=0, prediction="together", **params
    )


def replaced_label(table, labels, units, unit):
    """Return the table and a neighbour in which one unit has another label."""
    other = labels.copy()
    other[units == unit] = 1 - labels[units == unit]
    return (table, labels, units), (table, other, units)


def audited(tuned, pair, n, bug):
    grouped = len(set(pair[0][2])) < len(pair[0][2])
    pair = pair if grouped else [data[:2] for data in pair]
    return audit_estimator(
        tuned, *pair[0][:2], n, groups=pair[0][2] if grouped else None,
        pairs={"one label": pair}, confidence=confidence(bug), random_state=0,
    )  # fmt: skip


UNITS = {"records": np.arange(16), "groups": np.arange(32) // 2}


# Groups are audited with a bug alone: learners' audits have both.
CASES = [("records", None), ("records", "noise"), ("groups", "noise")]


@pytest.mark.soak  # thousands of searches
@pytest.mark.parametrize(("units", "bug"), CASES)
@pytest.mark.parametrize(("accounting", "factor", "n"), [("compose", 2, 1000), ("repeat", 4, 600)])
def test_audit_of_a_search_of_which_a_fitted_record_changes(
    accounting, factor, n, units, bug, weaker, quick, monkeypatch
):
    """One fit, and half of the noise; or two on average, repeated, and a quarter.

    Of several fits only one is released, so that less noise would still be within the claim.
    """
    fitted, held_out = cut(UNITS[units])
    table, labels = np.ones((len(UNITS[units]), 1)), UNITS[units] % 2
    table[held_out, 0] = np.linspace(-1, 1, len(held_out))  # the more to the right, the better
    labels[held_out] = 1
    pair = replaced_label(table, labels, UNITS[units], UNITS[units][fitted[0]])
    if bug is not None:
        weaker(factor)
    if accounting == "repeat":
        monkeypatch.setattr(runs, "MOST_COMPOSED", 0)
    tuned = search(logistic(max_iter=1), {"C": [1e6]}, n_fits=1 if accounting == "compose" else 2)
    report = audited(tuned, pair, n, bug)
    assert report.refuted == (bug is not None), str(report)

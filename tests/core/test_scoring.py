"""Scores equal scikit-learn's; one unit moves statistic and counts by at most the sensitivity."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.metrics._labels import encode
from sklearn_dpbo.metrics._make import resolve_scorer
from sklearn_dpbo.metrics._pairs import PairCounts
from sklearn_dpbo.metrics._queries import total_weight
from sklearn_dpbo.records.units import Units

CLASSES = np.array(["a", "b", "c"])


def statistics(counted, y, response, groups=None, classes=CLASSES):
    """The integers of a scorer, or of what it releases, and the units."""
    counted, units = getattr(counted, "query", counted), Units.of(len(y), groups)
    return counted.statistics(counted.record_values(y, response, classes), y, units), units


def score(scorer, y, response, groups=None, classes=CLASSES):
    """The score of the counts that are released, without noise."""
    return scorer.value(*statistics(scorer.counts, y, response, groups, classes))


@pytest.fixture
def labels(rng):
    y = rng.choice(CLASSES, 200, p=[0.5, 0.3, 0.2])
    proba = rng.dirichlet([1, 1, 1], 200)
    return y, proba, CLASSES[proba.argmax(axis=1)]


def prepared(name, y=CLASSES, **params):
    return make_private_scorer(name, **params).prepare(y)


def test_log_loss_equals_scikit_learn_within_the_bounds_and_is_clipped_to_them(labels):
    y, proba, _ = labels
    proba = 0.7 * proba + 0.1
    ours = score(prepared("neg_log_loss"), y, proba)
    assert ours == pytest.approx(-metrics.log_loss(y, proba, labels=CLASSES), abs=1e-5)
    certain = np.tile([1.0, 0.0, 0.0], (200, 1))
    right = (y == "a").mean()
    assert score(prepared("neg_log_loss"), y, certain) == pytest.approx(
        (1 - right) * math.log(0.01), abs=1e-5
    )


@pytest.mark.parametrize("name", ["neg_brier_score", "neg_log_loss"])
@pytest.mark.parametrize("row", [(3, 0, 0), (-0.2, 0.6, 0.6), (0.9, 0, 0), (1, 1e-4, 0)])
def test_a_row_that_is_no_probabilities_has_the_lowest_gain(labels, name, row):
    y, proba, _ = labels
    query, other = prepared(name).query, proba.copy()
    other[3] = row
    expected = query.record_values(y, proba, CLASSES)
    expected[3] = 0
    assert (query.record_values(y, other, CLASSES) == expected).all()
    query.check(proba)
    with pytest.raises(ValueError, match="for 1 of 200 public records"):
        query.check(other)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_probabilities_may_be_rounded(labels, kind):
    y, proba, _ = labels
    query, rounded = prepared("neg_log_loss").query, proba.astype(kind)
    rounded *= 1 + 4 * np.finfo(kind).eps
    query.check(rounded)
    assert np.allclose(
        query.record_values(y, rounded, CLASSES), query.record_values(y, proba, CLASSES), atol=9
    )


# ------------------------------------------------------- pairs of many groups
def _hits(y, predicted):
    return (y == predicted) * 1.0


@pytest.mark.slow
def test_pairs_of_any_number_of_groups_fit_into_64_bits(rng):
    m = 2**20
    y, s = np.arange(m) % 2, rng.normal(size=m) + np.arange(m) % 2
    counts, units = PairCounts(np.arange(2), (1,), (0.5,)), Units(m, np.arange(m))
    found = counts.statistics(s[:, None], y, units)
    share = float(counts.area(np.array(found, dtype=float), units))
    assert share == pytest.approx(metrics.roc_auc_score(y, s), abs=1e-9)
    for m in (2**20 - 1, 2**20 + 1, 3 * 2**20, 2**29):
        assert 2 * total_weight(Units(m, np.empty(0, dtype=int))) ** 2 <= 2**62


# ------------------------------------------------------------------------------ units
@given(
    groups=st.one_of(
        st.lists(st.sampled_from(own), min_size=1, max_size=30)
        for own in (["p", "q", "r", "7", "é"], [7, 3, -1, 2**70], [7.0, 3.0, -1.0, 0.0])
    )
)
def test_each_unit_has_the_rows_mean_and_weight_of_one_group(groups):
    units = Units.of(len(groups), np.array(groups, dtype=object))
    assert units.m == len(set(groups))
    seen = [units.rows(u, u + 1).tolist() for u in range(units.m)]
    assert sorted(sum(seen, [])) == list(range(len(groups)))
    assert all(len({groups[i] for i in rows}) == 1 for rows in seen)
    weights = units.record_weights(10)
    assert all(weights[rows].sum() == 10 for rows in seen)
    values = np.arange(len(groups))
    for mean, rows in zip(units.mean(values), seen, strict=True):
        assert mean == math.floor(values[rows].mean() + 0.5)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1.0, np.nan], "missing values"),
        (["a", None], "missing values"),
        (pd.Categorical(["a", None]), "missing values"),
        ([[1, 2], [1, 2]], "of one type.*found list"),
        ([("p", np.nan), ("p", np.nan)], "of one type.*found tuple"),  # unequal, and no NaN
        (["1", 1], "of one type.*found int, str"),
        ([1, 1.0], "of one type.*found float, int"),
        ([1, True], "of one type.*found bool, int"),
        (np.array([True, False]), "of one type.*found bool"),
        (pd.Categorical([True, False]), "of one type.*found bool"),
        ([0.1 + 0.2, 0.3], "whole numbers.*found float"),
        (np.array([2.0**53, 2.0**53 + 1]), "below 2.53.*found float"),
        ([np.inf, 1.0], "whole numbers.*found float"),
        (np.array(["2020", "2021"], dtype="datetime64[ns]"), r"found datetime64.*astype\(str\)"),
        (pd.Series(pd.to_datetime(["2020", "2021"])), r"found Timestamp.*astype\(str\)"),
        ([Fraction(1), Fraction(2)], "of one type.*found Fraction"),
        ("Jane Doe", "one entry for each row; found str"),
    ],
)
def test_units_refuse_groups_that_are_not_labels_of_one_type(groups, message):
    with pytest.raises(ValueError, match=message) as refused:
        Units.of(2, groups)
    assert not any(label in str(refused.value) for label in ("Jane", "2020", "2021", "9007"))


@pytest.mark.parametrize(
    "groups",
    [
        ["p", "q", "p"],
        [b"p", b"q", b"p"],
        np.array(["p", "q", "p"]),
        np.array(["p", "q", "p"], dtype=object),
        pd.Series(["p", "q", "p"], dtype="string"),
        pd.Series(["p", "q", "p"], dtype="category"),
        pd.Series([3, 5, 3], dtype="Int64"),
        pd.Series([3.0, 5.0, 3.0]),
        pd.Categorical([3, 5, 3]),
        [np.int8(3), 5, np.int64(3)],
        np.array([3, 5, 3], dtype=np.float16),
        np.array([3, 5, 3], dtype=np.longdouble),
        [2**70, 2**70 + 1, 2**70],
        pd.DataFrame({"patient": [3, 5, 3]}),
    ],
    ids=lambda groups: f"{type(groups).__name__} {getattr(groups, 'dtype', '')}",
)
def test_units_take_labels_of_one_type_in_all_their_forms(groups):
    assert Units.of(3, groups).labels.tolist() == [0, 1, 0]


# -------------------------------------------------------- invalid scores and arguments
@pytest.mark.parametrize(
    ("estimator", "scoring", "message"),
    [
        (LogisticRegression(), print, r"no proven sensitivity.*make_private_scorer\(gain"),
        (LogisticRegression(), "F1", "'F1' is not a score; did you mean 'f1'"),
        (LogisticRegression(), "zz", r"'zz' is not a score.*make_private_scorer\(gain"),
        (LogisticRegression(), "rand_score", "cannot be made private. Use a name"),
        (LogisticRegression(), ["accuracy"], "takes one score here"),
        (LogisticRegression(), {"a": "accuracy"}, "takes one score here"),
        (KMeans(), None, "make_private_scorer"),
        (Ridge(), "accuracy", "for classifiers"),
    ],
)
def test_a_score_that_cannot_be_used_is_refused_and_the_message_says_what_to_use(
    estimator, scoring, message
):
    with pytest.raises(ValueError, match=message):
        resolve_scorer(scoring, estimator)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(gain=_hits), "needs bounds"),
        (dict(gain=_hits, bounds=(1, 1)), "a < b"),
        (dict(gain=_hits, bounds=(0, math.inf)), "finite"),
        (dict(gain=_hits, bounds=(-1.7e308, 1.7e308)), "finite"),
        (dict(gain=_hits, bounds=3), "needs bounds"),
        (dict(gain=_hits, bounds=(0, 1), k=2), "no parameters"),
        (dict(gain="accuracy", bounds=(0, 1)), "bounds of its own"),
        (dict(gain="f1", bounds=(0, 1)), "bounds of its own"),
        (dict(gain="accuracy", response_method="predict"), "leave it out"),
        (dict(gain="top_k_accuracy", n=3), "'top_k_accuracy' has no parameters \\['n'\\]"),
        (dict(gain="neg_mean_pinball_loss", bounds=(-1, 0), alpha=2), "quantile"),
        (dict(gain="neg_root_mean_squared_error", bounds=(0, 1)), "gains are negative"),
        (dict(gain=17, bounds=(0, 1)), "no proven sensitivity"),
        (dict(gain="fbeta"), r"needs beta: make_private_scorer\('fbeta', beta=2\)"),
        (dict(gain="fbeta", beta=-1), "beta"),
        (dict(gain="cohen_kappa", weights="cubic"), "weights"),
        (dict(gain="r2", largest_error=-1), "largest_error"),
    ],
)
def test_make_private_scorer_refuses_invalid_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_private_scorer(**arguments)


def test_prepare_refuses_labels_that_the_score_does_not_fit():
    with pytest.raises(ValueError, match="does not support 3 classes, as in y: use 'roc_auc_ovr'"):
        prepared("roc_auc", CLASSES)
    for k in (0, 3, 2.5, "2", True):
        with pytest.raises(ValueError, match="k must be a number of classes below 3"):
            prepared("top_k_accuracy", k=k)
    with pytest.raises(ValueError, match=r"a weight for each label of y, \['a', 'b', 'c'\]"):
        prepared("weighted_accuracy", class_weight={"a": 1})
    with pytest.raises(ValueError, match="none negative"):
        prepared("weighted_accuracy", class_weight={"a": 1, "b": 1, "c": -1})
    for C in (None, [[0, 1], [1, 0]], np.ones((3, 3)), [[0, 1], [1]], np.full((3, 3), np.nan)):
        with pytest.raises(ValueError, match="cost_matrix must be a square table"):
            prepared("neg_cost", cost_matrix=C)
    for name in (
        "balanced_accuracy",
        "weighted_accuracy",
        "neg_brier_score",
        "neg_log_loss",
        "top_k_accuracy",
    ):
        with pytest.raises(ValueError, match="one label per record"):
            prepared(name, np.zeros((5, 2)))


@pytest.mark.parametrize("name", ["f1", "f1_macro", "matthews_corrcoef", "roc_auc", "roc_auc_ovr"])
def test_labels_of_one_class_are_refused_without_naming_a_metric_that_refuses_them(name):
    with pytest.raises(ValueError, match="two classes or more, and y has one class only$"):
        prepared(name, np.zeros(5, dtype=int))


def test_a_scorer_needs_records():
    with pytest.raises(ValueError, match="needs at least one record; X has 0 rows$"):
        make_private_scorer("accuracy")(None, np.zeros((0, 2)), np.zeros(0))
    with pytest.raises(ValueError, match=r"one label per record; X has 3 rows, and y has shape"):
        make_private_scorer("accuracy")(None, np.zeros((3, 2)), np.zeros(2))


def test_a_gain_that_does_not_return_one_number_per_record_is_refused():
    scorer = make_private_scorer(lambda y, p: 0.5, bounds=(0, 1))
    with pytest.raises(ValueError, match="array of one number"):
        scorer.query.record_values(np.zeros(3), np.zeros(3), None)


def test_a_callable_gain_gets_the_second_column_of_binary_probabilities():
    scorer = make_private_scorer(
        lambda y, p: p * (p.shape == (1,)), bounds=(0, 1), response_method="predict_proba"
    )
    response = np.tile([0.75, 0.25], (4, 1))
    values = scorer.query.record_values(np.zeros(4), response, np.array([0, 1]))
    assert (values == scorer.query.steps // 4).all()


def test_a_prepared_scorer_keeps_the_number_of_training_classes(rng):
    """Training has three classes and the rows have two: this is the three-class Brier score."""

    class Model:
        classes_ = CLASSES

        def predict_proba(self, X):
            return np.tile([0.2, 0.5, 0.3], (len(X), 1))

    y = np.array(["a", "b"])
    fitted = prepared("neg_brier_score")
    expected = -np.mean([0.8**2 + 0.5**2 + 0.3**2, 0.2**2 + 0.5**2 + 0.3**2])
    assert fitted(Model(), np.zeros((2, 1)), y) == pytest.approx(expected, abs=1e-5)


def test_the_repr_of_a_scorer_is_the_call_that_made_it():
    assert repr(make_private_scorer("top_k_accuracy", k=3)) == (
        "make_private_scorer('top_k_accuracy', k=3)"
    )
    assert repr(make_private_scorer("accuracy")) == "make_private_scorer('accuracy')"


class EqualToEverything:
    """A label whose comparisons are inconsistent."""

    def __eq__(self, other):
        return True

    def __lt__(self, other):
        return True

    __gt__ = __lt__

    def __hash__(self):
        return hash(2)


class Incomparable:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("cannot be compared")


ODD_LABELS = [
    float("nan"),
    None,
    "b",
    2,
    2.0,
    True,
    EqualToEverything(),
    Incomparable(),
    (1, 2),
    np.float64(3),
    10**400,
]


@settings(max_examples=40)
@given(st.lists(st.sampled_from([0, 1, 2, 3, *ODD_LABELS]), min_size=1, max_size=8))
def test_the_position_of_a_label_does_not_depend_on_other_labels(labels):
    """Regression test: sorted search with a label without order changed those of other records."""
    y = np.empty(len(labels), dtype=object)
    y[:] = labels
    for classes in (np.arange(4), np.array(["a", "b"]), np.array(["a", "b"], dtype=object)):
        alone = [encode(y[[i]], classes)[0] for i in range(len(y))]
        assert encode(y, classes).tolist() == alone
        assert all(0 <= position < len(classes) or position == -1 for position in alone)
    for y, classes in ((np.array([0.0, np.nan, 2.0, 7.0]), np.arange(3)),
                       (np.array(["b", "c", "a"]), np.array(["a", "b"]))):  # fmt: skip
        alone = [encode(y[[i]], classes)[0] for i in range(len(y))]
        assert encode(y, classes).tolist() == alone


ZERO_INFLATED = np.array([0.0] * 399 + [5.0])


@pytest.mark.parametrize(
    "name",
    [
        "neg_mean_absolute_error",
        "neg_mean_squared_error",
        "neg_root_mean_squared_error",
        "neg_mean_squared_log_error",
        "neg_root_mean_squared_log_error",
        "neg_mean_absolute_percentage_error",
        "r2",
    ],
)
def test_bounds_learnt_of_labels_that_are_nearly_all_the_same_have_a_width(name):
    """An exact prediction got 0/0 steps, which is a huge integer; all others got 0."""
    scorer = make_private_scorer(name).prepare(ZERO_INFLATED)
    a, b = scorer.query.bounds
    assert a < b
    y, units = np.zeros(3), Units.of(3)
    for predicted in (np.zeros(3), np.array([0.0, 0.5, 9.0]), np.array([np.nan, np.inf, -1.0])):
        values = scorer.query.record_values(y, predicted, None)
        assert ((values >= 0) & (values <= scorer.query.sensitivity(units))).all()
    best, worst = (scorer.query.record_values(y, np.full(3, v), None)[0] for v in (0.0, 9.0))
    assert best > worst

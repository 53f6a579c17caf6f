"""A search that protects every record of one table: the flow, from parameters to the report."""

import math
import warnings
from contextvars import Context

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    f1_score,
    roc_auc_score,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler

from sklearn_dpbo import PrivacyLedger, PrivateTableSearchCV, make_private_scorer
from sklearn_dpbo.exceptions import BatchDependentError, BudgetExceededError
from sklearn_dpbo.learners import (
    PrivateClassifier,
    PrivateLogisticRegression,
    PrivateRegressor,
    PrivateRidge,
)
from sklearn_dpbo.privacy import runs
from sklearn_dpbo.records.divided_table import DividedTable
from sklearn_dpbo.testing import seeded_noise

pytestmark = [
    pytest.mark.usefixtures("seeded"),
    pytest.mark.filterwarnings("ignore::sklearn_dpbo.exceptions.LowUtilityWarning"),
]

# So much epsilon that noise is far below one record.
FREE = {"epsilon": 1e7, "delta": 0.5}
# One release for all of them.
RIDGE, ALPHAS = PrivateRidge(y_bounds=(0, 1)), {"alpha": [0.01, 0.1, 1.0]}
# A fit for each.
QUICK, STRENGTHS = PrivateLogisticRegression(max_iter=3), {"C": [0.01, 0.1, 1.0]}


def table(n=300, d=2):
    X = np.random.default_rng(0).uniform(-1, 1, (n, d))
    return X, (X[:, 0] + 0.3 * X[:, 1] > 0.2).astype(int)


def search_of(estimator=QUICK, grid=STRENGTHS, **params):
    params = {"epsilon": 2.0, "delta": 1e-6, "random_state": 0} | params
    return PrivateTableSearchCV(estimator, grid, **params)


@pytest.fixture
def accounted(monkeypatch):
    """Return what sets how fits are accounted for, whatever their number."""
    return lambda how: monkeypatch.setattr(runs, "MOST_COMPOSED", {"compose": 99, "repeat": 0}[how])


@pytest.fixture
def cut(monkeypatch):
    """The tables that were divided, in two parts."""
    found, divide = [], DividedTable.divide.__func__

    def spied(cls, *args):
        found.append(divide(cls, *args))
        return found[-1]

    monkeypatch.setattr(DividedTable, "divide", classmethod(spied))
    return found


# ------------------------------------------------------------------------- the result
@pytest.mark.parametrize("accounting", ["compose", "repeat"])
def test_the_best_model_of_the_first_part_is_chosen_and_scored_on_the_second(
    accounting, cut, accounted
):
    accounted(accounting)
    X, _ = table()
    y = 0.5 + X @ [0.3, 0.1] + 0.03 * np.random.default_rng(1).normal(size=len(X))
    grid = {"columns": [[1], [0, 1]], "alpha": [1e-6]}
    search = search_of(RIDGE, grid, **FREE).fit(X, y)
    (parts,) = cut
    assert (len(parts.training.X), len(parts.X_val)) == (240, 60)
    assert search.best_params_ == {"columns": [0, 1], "alpha": 1e-6}
    model = search.best_estimator_
    assert search.best_score_ == pytest.approx(model.score(parts.X_val, parts.y_val), abs=1e-3)
    assert search.best_score_ > 0.9
    low, high = search.best_score_interval_
    assert low - 1e-5 <= model.score(parts.X_val, parts.y_val) <= high + 1e-5
    alone = clone(model).set_params(**FREE)
    alone.fit(parts.training.X, parts.training.y)
    assert model.coef_ == pytest.approx(alone.coef_, abs=1e-3), "never refitted on all records"


@pytest.mark.parametrize(("size", "n_val"), [(None, 30), (0.4, 120)])
def test_the_second_part_has_the_share_of_records_that_is_asked_for(size, n_val, cut):
    search = search_of(grid=None, epsilon=1.0, test_size=size).fit(*table())
    (parts,) = cut
    assert len(parts.X_val) == n_val and len(parts.training.X) == 300 - n_val
    assert search.privacy_.m == 300


@pytest.mark.parametrize("grid", [None, {}])
def test_one_candidate_is_not_paid_for_as_a_choice(grid, accounted):
    search = search_of(grid=grid, epsilon=1.0).fit(*table(1000))
    assert [loss.epsilon for loss in search.privacy_.spends] == [1.0, 1.0]
    assert search.best_params_ == {} and search.best_score_interval_[0] > 0.8
    accounted("repeat")
    repeated = search_of(grid=grid, epsilon=1.0, n_fits=2).fit(*table())
    assert [loss.epsilon for loss in repeated.privacy_.spends] == [1.0, 0.6, 0.4]


def test_a_model_of_one_class_is_warned_of_where_labels_are_scored():
    X, y = pd.DataFrame(table(2000)[0], columns=["a", "b"]), np.arange(2000) % 20 == 0
    grid = {"max_iter": [20]}
    for scoring, warned in {"accuracy": True, "roc_auc": False}.items():
        search = search_of(PrivateLogisticRegression(classes=[False, True]), grid, scoring=scoring)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search.fit(X, y)
        found = [str(each.message) for each in caught if "predicts one value" in str(each.message)]
        assert bool(found) == warned and not any("feature names" in str(c.message) for c in caught)


@pytest.mark.parametrize("accounting", ["compose", "repeat"])
def test_both_parts_spend_the_whole_budget_which_is_charged_once(accounting, tmp_path, accounted):
    accounted(accounting)
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", 2.0, delta=1e-5, create=True)
    search = search_of(grid={"max_norm": [0.5, 1.0, 2.0]}, n_fits=3, ledger=ledger)
    Context().run(search.fit, *table())
    assert (ledger.spent["epsilon"], ledger.spent["delta"]) == (2.0, 1e-6)
    assert len(ledger.history) == 1
    first, *second = search.privacy_.spends
    assert (first.epsilon, first.delta) == (2.0, 1e-6)
    assert first.purpose == "training of models"
    assert sum(loss.epsilon for loss in second) == pytest.approx(2.0)
    assert {loss.delta for loss in second} == {0.0}
    assert [loss.purpose for loss in second] == [
        "choice of the candidate", "score of the chosen candidate"
    ]  # fmt: skip
    with pytest.raises(BudgetExceededError):
        search_of(ledger=ledger).fit(*table())


class Witness(PrivateLogisticRegression):
    """Tells how large the tables are that it is fitted on, and what had been charged."""

    ledger_, seen = None, []

    def fit(self, X, y, groups=None):
        charged = None if Witness.ledger_ is None else Witness.ledger_.spent["epsilon"]
        Witness.seen.append((len(X), charged))
        return super().fit(X, y, groups=groups)


@pytest.fixture
def witness(tmp_path):
    Witness.seen.clear()
    Witness.ledger_ = PrivacyLedger(
        tmp_path / "budget.db", "patients", 10.0, delta=1e-3, create=True
    )
    yield Witness
    Witness.ledger_ = None


def test_the_ledger_is_charged_before_anything_is_fitted_on_records(witness):
    search_of(witness(), ledger=witness.ledger_).fit(*table())
    made_up = [charged for n, charged in witness.seen if n != 270]
    real = [charged for n, charged in witness.seen if n == 270]
    assert made_up and set(made_up) == {0.0}
    assert real and set(real) == {2.0}


def test_the_report_is_of_all_records_and_on_the_model_too():
    X, y = table()
    pipeline = make_pipeline(Normalizer(), make_pipeline("passthrough", QUICK))
    grid = {"pipeline__privatelogisticregression__max_norm": [0.5, 1.0]}
    for search in (
        search_of(grid={"C": [0.1, 1.0]}),
        search_of(pipeline, grid),
    ):
        model = search.fit(X, y).best_estimator_
        while isinstance(model, Pipeline):
            model = model[-1]
        assert model.privacy_ is search.privacy_
        assert model.epsilon < search.epsilon, "one of several fits"
        report = search.privacy_
        assert (report.epsilon, report.delta, report.m) == (2.0, 1e-6, 300)
        assert "270 records" in report.protected and "other 30" in report.protected
        assert [each["of"] for each in report.to_dict()["spent"]] == [
            "the first part", "the second part", "the second part"
        ]  # fmt: skip
        assert "(100 % of the first part)" in report.details()
        assert "best_estimator_" in report.released
        assert ("other steps" in report.condition) == isinstance(search.estimator, Pipeline)


@pytest.mark.parametrize("pipeline", [False, True])
def test_groups_are_protected_as_wholes_and_lie_in_one_part(pipeline, cut):
    X, y = table()
    groups = np.random.default_rng(1).integers(0, 60, 300)
    estimator, grid = RIDGE, ALPHAS
    if pipeline:
        estimator = make_pipeline(Normalizer(), estimator)
        grid = {"privateridge__max_norm": [0.5, 1.0]}
    search = search_of(estimator, grid).fit(X, y, groups=groups)
    m = len(set(groups.tolist()))
    assert (search.privacy_.unit, search.privacy_.m) == ("group", m)
    (parts,) = cut
    of_row = {row.tobytes(): group for row, group in zip(X, groups, strict=True)}
    first, second = ({of_row[row.tobytes()] for row in p} for p in (parts.training.X, parts.X_val))
    assert not first & second and len(first | second) == m
    model = search.best_estimator_[-1] if pipeline else search.best_estimator_
    assert model.gram_[2, 2] == parts.units.m


@pytest.mark.slow
def test_frames_go_through_pipelines_with_given_categories():
    X, y = table(400)
    colour = np.array(["red", "green", "blue"])[np.arange(400) % 3]
    frame = pd.DataFrame({"a": X[:, 0], "colour": pd.Series(colour, dtype=object)})
    y = np.where(colour == "red", "yes", "no")
    encode = OneHotEncoder(
        categories=[["blue", "green", "red"]], sparse_output=False, handle_unknown="ignore"
    )
    pipeline = make_pipeline(
        make_column_transformer((encode, ["colour"]), (FunctionTransformer(), ["a"])),
        PrivateLogisticRegression(max_iter=20, max_norm=2.0),
    )
    search = search_of(pipeline, {"privatelogisticregression__C": [0.1, 1.0]}, **FREE)
    search.fit(frame, y)
    assert search.score(frame, y) > 0.95
    assert set(search.predict(frame.assign(colour="red"))) == {"yes"}
    assert search.feature_names_in_.tolist() == ["a", "colour"]


# ------------------------------------------------------------------------- scores


def test_several_scores_are_released_of_one_model(cut):
    scoring = ["accuracy", "f1", "roc_auc"]
    search = search_of(scoring=scoring, refit="f1", **FREE).fit(*table(600))
    (parts,) = cut
    predicted = search.predict(parts.X_val)
    decided = search.decision_function(parts.X_val)
    expected = {
        "accuracy": accuracy_score(parts.y_val, predicted),
        "f1": f1_score(parts.y_val, predicted),
        "roc_auc": roc_auc_score(parts.y_val, decided),
    }
    assert search.best_scores_.keys() == expected.keys()
    for name in scoring:
        assert search.best_scores_[name] == pytest.approx(expected[name], abs=0.02), name
    assert search.best_score_ == search.best_scores_["f1"]


@pytest.mark.first(1)
@pytest.mark.parametrize("scoring", ["f1", "roc_auc", "neg_brier_score", "balanced_accuracy"])
def test_scores_that_depend_on_how_frequent_labels_are_pay_for_that(scoring):
    search = search_of(grid={"C": [1.0]}, scoring=scoring)
    *_, first = [loss.purpose for loss in search.fit(*table()).privacy_.spends[:2]]
    assert (first == "how frequent the labels are") == (scoring != "neg_brier_score")
    assert sum(loss.epsilon for loss in search.privacy_.spends[1:]) <= 2.0 * (1 + 1e-12)


def gain(y, predicted):
    if np.max(y) > 1:
        raise ValueError("an odd target")
    return (np.rint(y) == np.rint(predicted)).astype(float)


def test_a_record_that_a_gain_cannot_value_changes_no_other(cut, monkeypatch):
    """Also of models that follow from one release."""
    from sklearn_dpbo.privacy.mechanisms import Mechanisms

    X, y = table()
    compared, best_of = [], Mechanisms.best_of

    def spied(self, models, fitted, scores, *args, **params):
        compared.append((scores._open().copy(), scores.sensitivity))
        return best_of(self, models, fitted, scores, *args, **params)

    monkeypatch.setattr(Mechanisms, "best_of", spied)
    scorer = make_private_scorer(gain, bounds=(0, 1))
    search = search_of(RIDGE, ALPHAS, scoring=scorer)
    with seeded_noise(0):
        search.fit(X, y)
    held_out = {row.tobytes() for row in cut[0].X_val}
    y[next(i for i, row in enumerate(X) if row.tobytes() in held_out)] = 7
    with seeded_noise(0):
        search.fit(X, y)
    (before, sensitivity), (after, _) = compared
    assert before.shape == (3, 1)
    assert (np.abs(before - after) <= sensitivity).all() and (before != after).any()


@pytest.mark.slow
@pytest.mark.parametrize("scoring", [None, pytest.param("roc_auc", marks=pytest.mark.slow)])
def test_an_evaluation_converges_to_that_of_the_second_part(scoring, cut):
    X, y = table(2000)
    estimator = PrivateLogisticRegression(classes=[0, 1])
    search = search_of(estimator, None, scoring=scoring, release="evaluation", **FREE).fit(X, y)
    (parts,) = cut
    predicted, y_val = search.predict(parts.X_val), parts.y_val
    risks = search.predict_proba(parts.X_val)[:, 1]
    exact = {
        "accuracy": accuracy_score(y_val, predicted), "f1": f1_score(y_val, predicted),
        "roc_auc": roc_auc_score(y_val, risks), "brier_score": brier_score_loss(y_val, risks),
    }  # fmt: skip
    for name, value in exact.items():
        close = 1e-4 if name in ("accuracy", "f1") else 5e-3
        assert search.evaluation_.score(name).value == pytest.approx(value, abs=close), name
    assert "evaluation_" in search.privacy_.released
    assert sum(loss.epsilon for loss in search.privacy_.spends[1:]) <= FREE["epsilon"] * (1 + 1e-9)


# ------------------------------------------------------------------------- as in scikit-learn


@pytest.mark.slow
def test_seeds_decide_all_and_workers_nothing(accounted):
    accounted("repeat")
    X, y = table()
    pipeline = make_pipeline(Normalizer(), RIDGE)
    grid = {"privateridge__max_norm": [0.5, 1.0]}

    def found(seed=0, **params):
        search = search_of(pipeline, grid, n_fits=3, **params)
        with seeded_noise(seed):
            search.fit(X, y)
        return search.best_params_, search.best_score_, search.best_estimator_[-1].gram_.tolist()

    assert found() == found() == found(n_jobs=2)
    assert found() != found(seed=1)


def test_fits_of_one_search_have_different_noise():
    """Global generators are restored after each fit; what it drew must not come again."""
    Drawing.drawn.clear()
    grid = {"max_norm": [0.5, 1.0, 2.0]}
    search_of(Drawing(), grid, n_fits=3).fit(*table())
    drawn = [number for n, number in Drawing.drawn if n == 270]
    assert len(set(drawn)) == len(drawn) == 3
    assert np.random.random() not in drawn, "nobody can draw it again"


class Drawing(PrivateLogisticRegression):
    """Draws from the global generator."""

    drawn = []

    def fit(self, X, y, groups=None):
        Drawing.drawn.append((len(X), np.random.random()))
        return super().fit(X, y, groups=groups)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_search_is_no_step_after_one_that_has_learnt_from_all_records(depth):
    pipeline = make_pipeline(StandardScaler(), search_of())
    if depth == 2:
        pipeline = make_pipeline(StandardScaler(), make_pipeline("passthrough", search_of()))
    with pytest.raises(ValueError, match=r"\['standardscaler'\].*have learnt from X"):
        pipeline.fit(*table())


# ------------------------------------------------------------------------- what is refused
def centred(X):
    return X - X.mean(axis=0)


def wrong_inputs():
    X, y = table()
    model = QUICK
    piped = Pipeline([("step", "passthrough"), ("model", model)])
    other = PrivateClassifier()
    yield "list", {}, {"X": X.tolist()}, "these declare what they hold"
    yield "lengths", {}, {"y": y[:-1]}, "inconsistent numbers of samples"
    yield "two outputs", {}, {"y": np.stack([y, y], axis=1)}, "y should be a 1d array"
    yield "one class", {}, {"y": np.zeros(300)}, "two or more classes"
    yield "lengths of groups", {}, {"groups": y[:-1]}, "entries for"
    yield "validation set", {}, {"X_val": X}, "X_val"
    yield "weights", {}, {"sample_weight": y}, "sample_weight"
    yield "delta", {"delta": 0.0}, {}, "delta is 0, but the guarantee of the estimator"
    yield "not private", {"estimator": LogisticRegression(), "grid": {"C": [1]}}, {}, "does not pro"
    scaled = Pipeline([("step", StandardScaler()), ("model", model)])
    yield "learns", {"estimator": scaled, "grid": {"model__C": [1]}}, {}, "'step'.*learns .*from"
    steps = {"step": [Normalizer(), StandardScaler()]}
    yield "may learn", {"estimator": piped, "grid": steps}, {}, "'step'.*learns .*from"
    yield "epsilon", {"grid": {"epsilon": [9]}}, {}, r"changes \['epsilon'\]"
    yield "classes", {"grid": {"classes": [[1, 0]]}}, {}, r"changes \['classes'\]"
    nested = {"grid": {"model__epsilon": [9]}, "estimator": piped}
    yield "nested epsilon", nested, {}, r"changes \['model__epsilon'\]"
    whole = {"grid": {"model": [PrivateLogisticRegression(epsilon=100)]}, "estimator": piped}
    yield "whole model", whole, {}, r"changes \['model__epsilon', 'model__classes'\]"
    two = {"grid": {"model": [model, other]}, "estimator": piped}
    yield "two models", two, {}, "another kind of guarantee|which the search sets itself"
    yield "ledger", {"grid": {"ledger": [object()]}}, {}, "give the ledger to the search"
    yield (
        "fails",
        {"grid": {"C": [-1.0]}},
        {},
        "C must.*fails on made-up records.*nothing was spent",
    )
    batch = Pipeline([("step", FunctionTransformer(centred)), ("model", model)])
    yield (
        "batch",
        {"estimator": batch, "grid": {"model__C": [1]}, "prediction": "together"},
        {},
        "differently beside",
    )
    yield "release", {"release": "all"}, {}, '"best" or "evaluation"'
    yield "share", {"score_share": 0.97}, {}, "score_share must be less than 0.95"
    yield "no share", {"score_share": 0.0}, {}, "score_share must be in"
    yield "fits", {"n_fits": 0}, {}, "n_fits must be None or"
    yield "size", {"test_size": 1.0}, {}, "test_size must be None or a share"
    yield "empty part", {"test_size": 1e-3}, {}, "cannot be cut into two parts"
    yield "large delta", {"delta": 0.4, "epsilon": 1e-3, "grid": {"max_norm": [1, 2]}}, {}, "a smal"


WRONG = list(wrong_inputs())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "data", "message"), [each[1:] for each in WRONG], ids=[each[0] for each in WRONG]
)
def test_wrong_input_is_refused_before_anything_is_charged(params, data, message, tmp_path):
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", 10.0, delta=0.9, create=True)
    params = {"estimator": QUICK, "grid": STRENGTHS, "ledger": ledger} | params
    X, y = table()
    search = search_of(params.pop("estimator"), params.pop("grid")).set_params(**params)
    with pytest.raises((ValueError, TypeError, BatchDependentError), match=message):
        search.fit(**{"X": X, "y": y} | data)
    assert not any(ledger.spent.values())
    assert not hasattr(search, "best_params_")


# ------------------------------------------------------------------------- before anything is spent
@pytest.mark.parametrize(
    "grid",
    [
        {"max_norm": [1, 2, 3, -1]},
        pytest.param({"max_norm": [1.0, *range(2, 40), -3]}, marks=pytest.mark.slow),
    ],
)
def test_all_values_are_tried_before_anything_is_spent(grid, witness, accounted):
    accounted("compose")
    search = search_of(witness(), grid, ledger=witness.ledger_, n_fits=40)
    with pytest.raises(ValueError, match="fails on made-up records"):
        search.fit(*table())
    assert witness.ledger_.spent["epsilon"] == 0


def warned_by(search):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(*table())
    return " ".join(str(each.message) for each in caught)


@pytest.mark.parametrize(("n_fits", "few"), [(None, True), (2, False)])
def test_a_warning_says_what_a_search_costs(n_fits, few):
    said = warned_by(search_of(grid={"max_norm": [1, 2, 3]}, n_fits=n_fits))
    assert ("2 of 3 candidates are fitted" in said) == few
    assert "2 fits of PrivateLogisticRegression, with epsilon=1." in said
    # Of two models t noise scales apart, the worse one is chosen with a probability of e^-t / 2, so
    # that 1 / (2 e) scales are lost at most. A scale is 2 / epsilon of the choice.
    lost = 2 / (0.6 * 2.0) / (2 * math.e) / 30
    assert f"on 30 records, loses up to {lost:.2g} of accuracy on average" in said


@pytest.mark.parametrize("grid", [None, ALPHAS])
def test_no_warning_of_a_search_with_a_single_fit(grid):
    assert "A search costs" not in warned_by(search_of(RIDGE, grid))


def test_a_warning_of_a_search_by_another_metric_has_no_number():
    said = warned_by(search_of(grid={"max_norm": [1, 2]}, scoring="f1"))
    assert "A search costs accuracy" in said and "noise of the choice among" not in said


@pytest.mark.parametrize(("epsilon", "warns"), [(0.5, True), (50.0, False)])
def test_a_regression_whose_score_will_say_nothing_is_told_so_before_the_charge(epsilon, warns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 3))
    y = np.clip(0.5 + 0.1 * X[:, 0], 0, 1)
    said = []
    for scoring in ("r2", "neg_mean_absolute_error"):
        search = PrivateTableSearchCV(
            PrivateRegressor(y_bounds=(0, 1), max_iter=2), epsilon=epsilon, scoring=scoring
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search.fit(X, y)
        said.append(" ".join(str(each.message) for each in caught))
    assert ("(r2: its whole range), if targets have a deviation of a sixth" in said[0]) == warns
    assert "if targets have" not in said[1], "it can be told without"


def test_a_model_that_was_dropped_is_not_to_be_fitted_again():
    search = search_of(refit=False).fit(*table())
    assert "best_estimator_" not in search.privacy_.released
    with pytest.raises(AttributeError) as caught:
        search.predict(table()[0])
    said = str(caught.value.__cause__ or caught.value)
    assert "another fit on protected ones costs again" in said


def test_text_targets_are_refused_by_their_type_before_anything_is_spent(tmp_path):
    X, y = table()
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", 10.0, delta=1e-3, create=True)
    search = search_of(RIDGE, ALPHAS, scoring="r2", ledger=ledger)
    with pytest.raises(ValueError, match="y holds text instead of numbers"):
        search.fit(X, np.where(y, "Jane Doe", "1"))
    assert ledger.spent["epsilon"] == 0


# ------------------------------------------------------------------------- kinds of tables
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["groups", "mostly zeros", "several classes", "regression"])
def test_a_search_of_any_kind_of_table_comes_to_a_model_and_a_score_in_workers(kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 4))
    groups = None
    if kind == "groups":
        groups = np.repeat(np.arange(200), 3)
    elif kind == "mostly zeros":
        X *= rng.random(X.shape) < 0.2
    y = np.digitize(X[:, 0], [-0.3, 0.3] if kind == "several classes" else [0.0])
    scaled = {"bounds": (-1, 1), "max_norm": 1.0}
    model = PrivateLogisticRegression(classes=np.unique(y), **scaled)
    if kind == "regression":
        y, model = X[:, 0], PrivateRegressor(y_bounds=(-1, 1), n_trees=5, **scaled)
    search = search_of(model, {"C": [1e-6, 100.0]}, n_jobs=2, **FREE).fit(X, y, groups=groups)
    assert search.best_params_ == {"C": 100.0}
    assert search.best_score_ > 0.8
    assert search.score(X, y) > 0.8
    assert search.privacy_.m == (200 if kind == "groups" else 600)


def test_a_sparse_table_is_refused_before_anything_is_spent(tmp_path):
    X, y = table()
    ledger = PrivacyLedger(tmp_path / "budget.db", "patients", 10.0, delta=1e-3, create=True)
    with pytest.raises(ValueError, match=r"found a sparse table.*X\.toarray\(\)"):
        search_of(ledger=ledger).fit(csr_array(X), y)
    assert ledger.spent["epsilon"] == 0

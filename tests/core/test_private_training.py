"""What is asked of estimators that train privately, and of the pipelines that they stand in."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from sklearn_dpbo import PrivateTableSearchCV
from sklearn_dpbo.learners import (
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateTraining,
)
from sklearn_dpbo.learners._private_training import private_training, what_learns
from sklearn_dpbo.prediction.secret_fits import refitted
from sklearn_dpbo.prediction.secret_pipelines import fit_last_step
from sklearn_dpbo.records.split import Training
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.testing import seeded_noise

pytestmark = pytest.mark.usefixtures("seeded")

MODEL = PrivateLogisticRegression()


# ------------------------------------------------------------------------- the protocol
def test_our_models_declare_what_they_guarantee():
    for model in (MODEL, PrivateRidge(y_bounds=(-1, 1))):
        training = private_training(model)
        assert (training.composition, training.neighbours) == ("GDP", "replace-one")
        assert training.fit.factor == 1
        assert (training.epsilon, training.delta, training.groups) == ("epsilon", "delta", "groups")
        params = model.get_params()
        assert {training.classes, training.target_bounds} - {None} <= params.keys()
        assert {*training.from_release} <= params.keys()
    assert private_training(PrivateRidge(y_bounds=(-1, 1))).target_bounds == "y_bounds"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"composition": "renyi"}, "composition must be in .*'renyi'"),
        ({"composition": "zCDP", "neighbours": "bounded"}, "neighbours must be in .*'bounded'"),
        ({"composition": "GDP", "delta": None}, "'GDP' needs a delta"),
        ({"composition": "profile"}, "must be a function.*found.*profile=None"),
        ({"composition": "profile", "profile": 1.5}, "must be a function.*found.*profile=1.5"),
        ({"composition": "GDP", "profile": len}, "None otherwise"),
        ({"composition": "GDP", "noise_multiplier": "sigma"}, "None otherwise; found 'sigma'"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        PrivateTraining(**params)


def test_a_replacement_is_two_steps_of_adding_or_removing():
    assert PrivateTraining("pure", delta=None, neighbours="add-or-remove-one").fit.factor == 2


def test_a_pipeline_has_the_names_of_its_last_step_at_any_depth():
    inner = make_pipeline(Normalizer(), PrivateRidge())
    found = private_training(Pipeline([("a", "passthrough"), ("b", inner)]))
    name = "b__privateridge__"
    assert found.epsilon == f"{name}epsilon" and found.groups == f"{name}groups"
    assert found.target_bounds == f"{name}y_bounds" and found.classes is None
    assert found.from_release == tuple(f"{name}{p}" for p in ("alpha", "columns", "n_components"))
    assert found.epsilon in Pipeline([("a", "passthrough"), ("b", inner)]).get_params()
    found = private_training(make_pipeline(Normalizer(), MODEL))
    assert found.classes == "privatelogisticregression__classes" and found.target_bounds is None


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        BaggingClassifier(MODEL),
        FrozenEstimator(PrivateLogisticRegression()),  # has all that is inside of it
        make_pipeline(Normalizer(), LogisticRegression()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_what_does_not_train_privately_is_refused_with_what_does(estimator):
    with pytest.raises(ValueError, match=r"does not protect the records.*Use Private\w+"):
        private_training(estimator)


# ------------------------------------------------------------------------- steps before
FIXED = OneHotEncoder(categories=[["a"]], sparse_output=False, handle_unknown="ignore")
ORDINAL = OrdinalEncoder(categories=[["a"]], handle_unknown="use_encoded_value", unknown_value=-1)


@pytest.mark.parametrize(
    "step",
    [
        None,
        "passthrough",
        Normalizer(),
        FunctionTransformer(np.tanh),
        FrozenEstimator(StandardScaler()),
        PolynomialFeatures(interaction_only=True),
        FIXED,
        ORDINAL,
        make_pipeline(Normalizer(), FIXED),
        FeatureUnion([("a", Normalizer()), ("b", "drop")]),
        ColumnTransformer([("a", FIXED, ["x"]), ("b", "drop", [1])], remainder=Normalizer()),
    ],
    ids=lambda step: str(step)[:30],
)
def test_steps_that_follow_from_their_parameters_are_taken(step):
    assert what_learns(step) is None
    private_training(Pipeline([("step", step), ("model", MODEL)]))


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        SimpleImputer(strategy="constant"),
        OneHotEncoder(),
        clone(FIXED).set_params(categories="auto"),
        clone(FIXED).set_params(min_frequency=2),
        clone(FIXED).set_params(max_categories=2),
        clone(FIXED).set_params(drop="first"),
        clone(FIXED).set_params(sparse_output=True),
        clone(FIXED).set_params(handle_unknown="error"),
        OrdinalEncoder(),
        clone(ORDINAL).set_params(categories="auto"),
        clone(ORDINAL).set_params(handle_unknown="error", unknown_value=None),
        make_pipeline(Normalizer(), StandardScaler()),
        FeatureUnion([("a", Normalizer()), ("b", StandardScaler())]),
        ColumnTransformer([("a", FIXED, ["x"])], remainder=StandardScaler()),
    ],
    ids=lambda step: str(step)[:50],
)
def test_steps_that_learn_from_records_are_refused(step):
    found = what_learns(step)
    assert not isinstance(found, Pipeline | FeatureUnion | ColumnTransformer)
    with pytest.raises(
        ValueError, match=rf"'step' of the pipeline learns.*: {type(found).__name__}"
    ):
        private_training(Pipeline([("step", step), ("model", MODEL)]))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_pipeline_protects_as_its_last_step_does(n):
    steps = [(f"step{i}", Normalizer()) for i in range(n)]
    whole = private_training(Pipeline([*steps, ("model", MODEL)]))
    assert whole == private_training(MODEL)._within("model")
    with pytest.raises(ValueError, match="LogisticRegression does not protect"):
        private_training(Pipeline([*steps, ("model", LogisticRegression())]))


def test_a_pipeline_is_refitted_at_its_last_step():
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    y = (X[:, 0] > 0).astype(int)
    ridge = PrivateRidge(y_bounds=(0, 1))
    inner = make_pipeline(FunctionTransformer(), ridge)
    pipeline = Pipeline([("a", Normalizer()), ("b", inner)]).fit(X, y)
    before = pipeline[-1][-1].coef_.copy()
    found = refitted(pipeline, {"b__privateridge__alpha": 100.0})
    assert found[-1][-1].alpha == 100.0 and pipeline[-1][-1].alpha == 1.0
    assert np.abs(found[-1][-1].coef_).sum() < np.abs(before).sum()
    assert (pipeline[-1][-1].coef_ == before).all()


# ------------------------------------------------------------------------- fits of pipelines
class Seen(ClassifierMixin, BaseEstimator):
    """Keeps what it is fitted on."""

    def fit(self, X, y, groups=None):
        self.X_, self.y_, self.groups_ = X, y, groups
        return self


MADE_UP = Training(np.random.default_rng(0).uniform(-1, 1, (64, 2)), np.arange(64) % 2)
RECORDS = Training(
    np.random.default_rng(1).uniform(5, 6, (30, 2)), np.arange(30) % 2,
    {"seen__groups": np.arange(30)},
)  # fmt: skip


def fitted(*steps, X=RECORDS.X, made_up=MADE_UP, prediction="together"):
    pipeline = make_pipeline(*steps, Seen())
    training = Training(X, RECORDS.y, RECORDS.fit_params)
    return fit_last_step(pipeline, training, made_up, prediction)


@pytest.mark.parametrize("prediction", ["auto", "together", "separate"])
def test_the_last_step_is_fitted_on_what_the_others_make_of_the_records(prediction):
    found = fitted(Normalizer(), FunctionTransformer(lambda X: X[:, :1] * 2), prediction=prediction)
    expected = Normalizer().transform(RECORDS.X)[:, :1] * 2
    assert np.allclose(found[-1].X_, expected, rtol=1e-15)
    assert (found[-1].y_ == RECORDS.y).all() and (found[-1].groups_ == np.arange(30)).all()
    assert found[:-1].transform(RECORDS.X) == pytest.approx(expected)


class Scaler(TransformerMixin, BaseEstimator):
    """Learns after all, and says that it does not."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.mean_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def test_steps_before_the_last_see_made_up_records_in_fit():
    assert what_learns(Scaler()) is None
    found = fitted(Scaler())
    assert np.allclose(found[0].mean_, MADE_UP.X.mean(axis=0))
    assert np.allclose(found[-1].X_, RECORDS.X - MADE_UP.X.mean(axis=0))


class Keeper:
    """A function that keeps what it was called with."""

    def __init__(self):
        self.seen = []

    def __call__(self, X):
        self.seen.append(np.array(X))
        return X


def test_steps_that_keep_what_they_transform_are_released_without_it():
    found = fitted(FunctionTransformer(Keeper()))
    seen = pickle.loads(pickle.dumps(found[0].func)).seen
    assert max(np.abs(X).max() for X in seen) <= 1, "all of it is made up"
    assert (found[-1].X_ == RECORDS.X).all()


def zeros_where_missing(X):
    if np.isnan(X).any():
        raise ValueError(f"found {X}")
    return X * 2


@pytest.mark.parametrize("step", [Normalizer(), FunctionTransformer(zeros_where_missing)])
def test_a_record_that_cannot_be_transformed_counts_as_zeros_and_changes_no_other(step):
    X = RECORDS.X.copy()
    before = fitted(step)[-1].X_
    X[[4, 17]] = np.nan
    found = fitted(step, X=X)[-1].X_
    others = ~np.isin(np.arange(30), [4, 17])
    assert (found[~others] == 0).all()
    assert (found[others] == before[others]).all()


def test_frames_stay_frames_and_text_columns_are_encoded():
    X = pd.DataFrame({"n": RECORDS.X[:, 0], "t": pd.Series(["a", "b", "new"] * 10, dtype=object)})
    made_up = pd.DataFrame({"n": MADE_UP.X[:, 0], "t": pd.Series(["", "a"] * 32, dtype=object)})
    encode = OneHotEncoder(categories=[["a", "b"]], sparse_output=False, handle_unknown="ignore")
    texts = make_column_selector(dtype_include=object)
    step = ColumnTransformer([("t", encode, texts)], remainder=FunctionTransformer())
    step.set_output(transform="pandas")
    found = fitted(step, X=X, made_up=Training(made_up, MADE_UP.y))[-1].X_
    assert isinstance(found, pd.DataFrame)
    assert found.columns.tolist() == ["t__t_a", "t__t_b", "remainder__n"]
    assert found.iloc[:3, :2].to_numpy().tolist() == [[1, 0], [0, 1], [0, 0]]


def test_sparse_steps_give_arrays_and_steps_that_give_texts_are_refused():
    assert (fitted(FunctionTransformer(csr_matrix))[-1].X_ == RECORDS.X).all()
    with pytest.raises(ValueError, match="must return numbers"):
        fitted(FunctionTransformer(lambda X: np.asarray(X).astype(str)))


def test_text_that_steps_pass_on_is_named_with_what_to_do():
    """A note is hashed, and the ward beside it, of which nobody thought, is not a number."""
    own = {"age": RECORDS.X[:, 0], "ward": ["north", "south", "x"] * 10, "note": ["a b"] * 30}
    others = {"age": MADE_UP.X[:, 0], "ward": ["", "a"] * 32, "note": ["", "a"] * 32}
    records, made_up = pd.DataFrame(own), Training(pd.DataFrame(others), MADE_UP.y)
    hashed = (HashingVectorizer(n_features=4), "note")
    step = make_column_transformer(hashed, remainder="passthrough", sparse_threshold=0)
    says = r"columns \['ward', 'note'\], which are no numbers.*OneHotEncoder.*HashingVectorizer"
    with pytest.raises(ValueError, match=says):
        fitted(step, X=records, made_up=made_up)
    wards = OneHotEncoder(
        categories=[["north", "south"]], sparse_output=False, handle_unknown="ignore"
    )
    step = make_column_transformer(hashed, (wards, ["ward"]), remainder="passthrough")
    found = fitted(step, X=records, made_up=made_up)[-1].X_
    assert found.shape == (30, 7) and found[:3, 4:6].tolist() == [[1, 0], [0, 1], [0, 0]]


# ------------------------------------------------------------------------- labels and tables


def test_a_missing_label_is_no_class():
    X = MADE_UP.X
    for labels in ([0.0, 1.0, np.nan] * 21, ["no", "yes", None] * 21):
        for y in (labels, np.array(labels, dtype=object), pd.Series(labels)):
            model = PrivateLogisticRegression(max_iter=1).fit(X[:63], y)
            assert model.classes_.tolist() == labels[:2]


def test_types_that_are_no_numbers_are_refused_whatever_the_values():
    X = pd.DataFrame({"a": MADE_UP.X[:, 0], "b": pd.Series(["1", "2"] * 32, dtype=object)})
    with pytest.raises(
        ValueError, match=r"columns \['b'\] are neither numbers.*Free text .* HashingVectorizer"
    ):
        PrivateRidge(y_bounds=(-1, 1)).fit(X, MADE_UP.y)
    with pytest.raises(ValueError, match="y holds text instead of numbers"):
        PrivateRidge(y_bounds=(-1, 1)).fit(MADE_UP.X, np.full(64, "1.5"))
    X["b"] = pd.Categorical([1, 2] * 32)
    X["c"] = pd.array([1, None] * 32, dtype="Int64")
    PrivateRidge(y_bounds=(-1, 1)).fit(X, MADE_UP.y)


@pytest.mark.filterwarnings("ignore")
def test_cells_of_an_array_of_objects_that_are_no_numbers_are_missing():
    coefficients = []
    for cell in (np.nan, None, "Jane Doe", object()):
        X = MADE_UP.X.astype(object)
        X[3, 0] = cell
        with seeded_noise(0):
            coefficients.append(PrivateRidge(y_bounds=(-1, 1)).fit(X, MADE_UP.y).coef_)
    assert all(np.array_equal(each, coefficients[0]) for each in coefficients)


# ------------------------------------------------------------------------- odd tables and groups
def test_the_size_of_a_group_does_not_change_the_numbers_of_others():
    """Else a group that is replaced would change who is in which part of the table."""
    for ids in (["late", *map(str, range(20)), "late", "früh"], [2**70, *range(20), 2**70, -1]):
        numbers = dict(zip(ids, Units.of(len(ids), ids).labels.tolist(), strict=True))
        fewer = dict(zip(ids[1:], Units.of(len(ids) - 1, ids[1:]).labels.tolist(), strict=True))
        assert fewer == numbers


@pytest.mark.parametrize(
    "X",
    [
        np.array([["1", "2"], ["Jane Doe", "3"]]),
        np.array([[b"1"], [b"Jane Doe"]]),
        np.array([[1 + 0j, 2], [3, 4]]),
        np.array(["Jane Doe", "John Doe"]),
        pd.DataFrame({"a": ["Jane Doe", "3"]}),
    ],
    ids=["texts", "bytes", "complex", "one dimension", "text in a frame"],
)
def test_messages_about_tables_quote_no_record(X):
    with pytest.raises(ValueError, match=r"\w") as caught:
        PrivateLogisticRegression().fit(X, [0, 1])
    assert "Jane" not in str(caught.value) and "3" not in str(caught.value)


@pytest.mark.parametrize(
    ("classes", "y"),
    [([0, 1], np.array(["no", "yes"] * 32)), (["no", "yes"], np.array([0, 1] * 32)),
     (["no", "yes"], np.array([b"no", b"yes"] * 32))],
)  # fmt: skip
def test_classes_that_can_never_occur_are_refused(classes, y):
    with pytest.raises(ValueError, match="no label would match any"):
        PrivateLogisticRegression(classes=classes).fit(MADE_UP.X, y)


@pytest.mark.parametrize("what", ["X", "y", "bytes"])
def test_messages_do_not_tell_how_long_a_text_is(what):
    """An array of texts has the width of the longest one."""
    messages = []
    for text in ("yes", "Jane Doe, not asked"):
        column = np.array(["no", text] * 32)
        X, y = (column.reshape(-1, 1), MADE_UP.y) if what == "X" else (MADE_UP.X, column)
        y = column.astype(bytes) if what == "bytes" else y
        for estimator in (
            PrivateLogisticRegression(classes=[0, 1]),
            PrivateTableSearchCV(PrivateLogisticRegression(classes=[0, 1])),
        ):
            with pytest.raises(ValueError, match="text|bytes|number") as caught:
                estimator.fit(X, y)
            messages.append(str(caught.value))
    assert messages[:2] == messages[2:]


def test_bounds_of_the_target_have_to_be_given():
    with pytest.raises(ValueError, match=r"give y_bounds=\(low, high\).*found None"):
        PrivateRidge().fit(MADE_UP.X, MADE_UP.y)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([(0, 1)] * 3, "two arrays of length 3: the lowest"),
        (([0, 0], [1, 1, 1]), "two arrays of length 3: the lowest"),
        ((4, -4), r"found \(4, -4\)"),
        ((0, None), r"found \(0, None\)"),
    ],
)
def test_bounds_that_are_none_are_refused(bounds, message):
    with pytest.raises(ValueError, match=message):
        PrivateLogisticRegression(bounds=bounds).fit(np.zeros((4, 3)), [0, 1, 0, 1])

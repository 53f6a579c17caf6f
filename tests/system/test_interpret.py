"""interpret's private boosting in a search on one table."""

import logging
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from sklearn_dpbo import PrivateTableSearchCV
from sklearn_dpbo.learners import PrivateTraining
from sklearn_dpbo.learners._private_training import private_training
from sklearn_dpbo.privacy import runs
from sklearn_dpbo.privacy.runs import gdp_within

pytestmark = pytest.mark.slow
interpret = pytest.importorskip("interpret.privacy")

RNG = np.random.default_rng(0)
N = 2000
X = RNG.uniform(-1, 1, (N, 3))
Y = (X[:, 0] + 0.1 * RNG.normal(size=N) > 0).astype(int)
BOUNDS = [(-1, 1)] * 3
BETTER_THAN_CHANCE = 0.65  # models of this few rounds have .74 to .97
GRID = {"max_leaves": [2, 3], "learning_rate": [0.05, 0.2]}


def boosting(**params):
    shared = {"feature_types": ["continuous"] * 3, "privacy_bounds": BOUNDS, "max_rounds": 10}
    return interpret.DPExplainableBoostingClassifier(**shared | params)


def search_over(estimator=None, grid=None, **params):
    shared = {"epsilon": 8.0, "delta": 1e-6, "random_state": 0}
    estimator = boosting() if estimator is None else estimator
    return PrivateTableSearchCV(estimator, GRID if grid is None else grid, **shared | params)


# ----------------------------------------------------------------------------------- in a search
@pytest.mark.parametrize("accounting", ["compose", "repeat"])
@pytest.mark.parametrize("labels", [Y, np.array(["no", "yes"])[Y], Y.astype(bool)])
def test_a_search_chooses_and_keeps_a_model(accounting, labels, monkeypatch):
    monkeypatch.setattr(runs, "MOST_COMPOSED", {"compose": 4, "repeat": 0}[accounting])
    search = search_over(n_fits=3).fit(X, labels)
    model = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (model.predict(X) == labels).mean() > BETTER_THAN_CHANCE
    assert abs(search.best_score_ - (model.predict(X) == labels).mean()) < 0.1
    assert model.learning_rate == search.best_params_["learning_rate"]
    assert model.epsilon < search.epsilon / 2  # each replacement is two steps
    report = search.privacy_.details()
    assert "add-or-remove-one" in report and "not exact" in report and "both classes" in report


def test_categories_get_numbers_in_a_pipeline():
    table = pd.DataFrame({"number": X[:, 0], "letter": np.where(X[:, 1] > 0, "a", "b")})
    codes = OrdinalEncoder(
        categories=[["a", "b"]], handle_unknown="use_encoded_value", unknown_value=-1
    )
    columns = ColumnTransformer([("codes", codes, ["letter"])], remainder="passthrough")
    model = boosting(feature_types=["continuous"] * 2, privacy_bounds=[(-1, 1)] * 2)
    grid = {"dpexplainableboostingclassifier__max_bins": [8, 16]}
    search = search_over(make_pipeline(columns, model), grid).fit(table, Y)
    assert (search.predict(table) == Y).mean() > BETTER_THAN_CHANCE


def test_fits_are_silent(capfd, caplog):
    """But for those on made-up records."""
    caplog.set_level(logging.DEBUG)
    said = []
    for n_fits in (1, 4):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search_over(n_fits=n_fits).fit(X, Y)
        assert not [each for each in caught if issubclass(each.category, UserWarning)]
        assert capfd.readouterr() == ("", "")
        heard = [each.getMessage() for each in caplog.records if "interpret" in each.name]
        said.append(heard.count("Start boosting"))
        caplog.clear()
    assert said == [1, 4], "each is tried once on made-up records"


def test_an_error_does_not_say_what_a_record_lacks():
    missing = X.copy()
    missing[:20] = np.nan
    with pytest.raises(ValueError, match="could not be fitted") as error:
        search_over().fit(missing, Y)
    assert "missing values" not in str(error.value)


# -------------------------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"random_state": 0}, "seeds the noise"),
        ({"feature_types": None}, "feature_types"),
        ({"feature_types": ["continuous", "nominal", "continuous"]}, "OrdinalEncoder"),
        ({"privacy_bounds": None}, "privacy_bounds"),
        ({"privacy_bounds": BOUNDS[:2]}, "3 pairs"),
        ({"privacy_bounds": [(-1, 1), (-1, np.nan), (-1, 1)]}, "privacy_bounds"),
        ({"privacy_bounds": [(-1, 1), (1, -1), (-1, 1)]}, "privacy_bounds"),
        ({"bin_budget_frac": 0.0}, "bin_budget_frac"),
        ({"learning_rate": 1e300}, "learning_rate"),
    ],
)
def test_what_would_show_records_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        search_over(boosting(**params)).fit(X, Y)


def test_a_candidate_that_would_show_records_is_refused():
    with pytest.raises(ValueError, match="seeds the noise"):
        search_over(grid={"random_state": [None, 0]}).fit(X, Y)


def test_what_its_guarantee_does_not_reach_is_refused():
    with pytest.raises(ValueError, match="epsilon of a fit"):
        search_over(epsilon=500.0).fit(X, Y)
    with pytest.raises(ValueError, match="delta of a fit"):
        search_over(delta=1e-15).fit(X, Y)
    with pytest.raises(ValueError, match="protects single records and no groups"):
        search_over().fit(X, Y, groups=np.arange(N) // 2)


def test_a_subclass_and_the_regressor_are_not_taken_for_it():
    class Other(interpret.DPExplainableBoostingClassifier):
        pass

    shared = {"feature_types": ["continuous"], "privacy_bounds": [(0, 1)]}
    for estimator in (Other(**shared), interpret.DPExplainableBoostingRegressor(**shared)):
        with pytest.raises(ValueError, match="does not declare how"):
            private_training(estimator)


@pytest.mark.parametrize("labels", [Y.astype(float), np.arange(N) % 3])
def test_labels_that_it_does_not_keep_are_found_before_anything_is_spent(labels):
    with pytest.raises(ValueError, match="nothing was spent"):
        search_over().fit(X, labels)


# ---------------------------------------------------------------------------- what is said of it
def test_what_it_declares():
    found = private_training(boosting())
    assert isinstance(found, PrivateTraining)
    assert (found.composition, found.neighbours) == ("GDP", "add-or-remove-one")
    assert found.groups is None and found.classes is None and not found.from_release


@pytest.mark.parametrize("composition", ["gdp", "classic"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-2, 1e-6), (1.0, 1e-12), (10.0, 1e-2)])
@pytest.mark.parametrize("share", [1e-2, 0.1, 0.9])
def test_all_of_a_fit_is_gaussian_differentially_private(composition, epsilon, delta, share):
    def mu(noise):
        """Of histograms of three columns, and of 2 rounds of 3 trees of 2 bags."""
        histograms = math.sqrt(3) / (noise * model.noise_scale_binning_)
        return math.hypot(histograms, math.sqrt(12) * 0.05 / (noise * model.noise_scale_boosting_))

    model = boosting(
        epsilon=epsilon, delta=delta, composition=composition, bin_budget_frac=share,
        max_rounds=2, outer_bags=2, learning_rate=0.05, validation_size=0.1, n_jobs=1,
    )  # fmt: skip
    model.fit(X, Y)
    assert mu(1.0) <= gdp_within(epsilon, delta)
    if composition == "gdp":
        assert mu(0.5) > gdp_within(epsilon, delta)


def noisy_sum(model):
    """The only sum of gradients in a model of one tree with one leaf."""
    return -float(np.ravel(model.intercept_)[0]) * model.bin_weights_[0].sum()


def test_the_noise_is_what_it_says():
    """In 300 models of one leaf; a count of all records and a sum of gradients follow from each."""
    one = {"feature_types": ["continuous"], "privacy_bounds": [(-1, 1)], "max_bins": 3}
    tree = {"max_rounds": 1, "max_leaves": 1, "learning_rate": 1.0, "n_jobs": 1}
    models = [boosting(**one, **tree).fit(X[:, :1], Y) for _ in range(300)]
    sums = np.array([noisy_sum(model) for model in models]) - (0.5 - Y).sum()
    counts = np.array([model.bin_weights_[0].sum() for model in models]) - N  # in four cells
    for found, scale in [
        (sums, models[0].noise_scale_boosting_),
        (counts, 2 * models[0].noise_scale_binning_),
    ]:
        assert abs(found.mean()) < 5 * scale / math.sqrt(300)
        assert 0.8 < found.std() / scale < 1.2  # five standard errors; half the noise has 0.5

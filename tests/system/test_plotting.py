"""Plots: what they show, what they refuse, and that they change no global state."""

import subprocess
import sys
import warnings
from copy import copy
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform, randint, uniform
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import PrivateBayesSearchCV, PrivateThresholdClassifier
from sklearn_dpbo.learners import (
    PrivateClassifier,
    PrivateLogisticRegression,
    PrivateRegressor,
)
from sklearn_dpbo.papers.kusner2015 import GPNoisy
from sklearn_dpbo.testing import seeded_noise

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from sklearn_dpbo.plotting import ScoreDisplay, SearchPathDisplay, ShapeDisplay  # noqa: E402
from sklearn_dpbo.plotting._parameters import ParameterAxis  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn_dpbo.exceptions.GuaranteeAssumptionWarning"
)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.standard_normal(200) > 0.3).astype(int)
    return dict(X=X[:100], y=y[:100], X_val=X[100:], y_val=y[100:])


def fitted(data, estimator, grid, **params):
    search = PrivateBayesSearchCV(estimator, grid, **{"random_state": 0, "refit": False, **params})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        return search.fit(**data)


@pytest.fixture(scope="module")
def conditional(data):
    C, gamma = loguniform(1e-2, 1e2), loguniform(1e-4, 1)
    grid = [
        {"kernel": ["linear"], "C": C},
        {"kernel": ["rbf"], "C": C, "gamma": gamma},
        {"kernel": ["poly"], "C": C, "gamma": ["scale", "auto"], "degree": [2, 3]},
    ]
    return fitted(data, SVC(), grid, n_iter=24)


@pytest.fixture(scope="module")
def mixed(data):
    """A search over numbers and categories, with one value whose fit fails."""
    grid = {
        "max_features": ["sqrt", None, 0.5, -1.0], "max_depth": randint(2, 9),
        "class_weight": [None, "balanced"],
    }  # fmt: skip
    return fitted(data, DecisionTreeClassifier(random_state=0), grid, epsilon=20.0, n_iter=24)


@pytest.fixture(scope="module")
def gp(data):
    grid, strategy = {"C": loguniform(1e-2, 1e2)}, GPNoisy(n_candidates=16)
    return fitted(data, SVC(), grid, strategy=strategy, delta=0.05, n_iter=12)


def offsets(collection):
    return np.asarray(collection.get_offsets()).reshape(-1, 2)


def labels(texts):
    return [text.get_text() for text in texts]


# ---------------------------------------------------------------- axes of parameters
@pytest.mark.parametrize(
    ("values", "scale", "marks"),
    [
        (loguniform(1e-3, 1e3), "log", []),
        (uniform(0, 1), "linear", []),
        (uniform(1, 99), "linear", []),
        (randint(1, 1000), "linear", []),
        ([0.01, 0.1, 1, 10], "log", []),
        ([1, 2, 3, 4, 50], "log", []),
        ([1, 25, 50, 75, 100], "linear", []),
        ([-1, 0, 10], "linear", []),
        ([0.1, None], "linear", ["None"]),
        ([True, (8, 8), np.mean, "a\n b"], "linear", ["True", "(8, 8)", "mean", "a b"]),
    ],
)
def test_an_axis_has_numbers_on_their_scale_and_other_values_beside_them(values, scale, marks):
    drawn = values.rvs(30, random_state=0).tolist() if hasattr(values, "rvs") else values
    column = np.ma.masked_all(len(drawn) + 1, dtype=object)
    for i, value in enumerate(drawn):
        column[i] = value
    axis = ParameterAxis.of("p", column, [{"p": values}, {"q": [1]}])
    assert (axis.scale, list(axis.marks)) == (scale, [*marks, "not set"])
    numbers = np.array(drawn[: len(drawn) - len(marks)], dtype=float)
    np.testing.assert_array_equal(axis.positions[: len(numbers)], numbers)
    beside = axis.positions[len(numbers) :]
    assert beside.tolist() == list(axis.marks.values())
    assert (beside < numbers.min()).all() if len(numbers) else beside.tolist() == [0, 1, 2, 3, 4]


def drawn_ticks(low, high):
    """Return the labels of a logarithmic axis, and whether two of them overlap."""
    values = loguniform(low, high)
    column = np.ma.array([low, high, *values.rvs(20, random_state=0)], dtype=object)
    axis = ParameterAxis.of("p", column, [{"p": values}])
    figure, ax = plt.subplots(figsize=(4, 3))
    ax.scatter(axis.positions, axis.positions)
    axis.apply(ax, "x")
    figure.canvas.draw()
    texts = [t for t in ax.get_xticklabels(which="both") if t.get_text() and t.get_visible()]
    inside = [t for t in texts if ax.get_xlim()[0] <= t.get_position()[0] <= ax.get_xlim()[1]]
    boxes = [t.get_window_extent() for t in inside]
    return labels(inside), any(a.x1 > b.x0 for a, b in pairwise(sorted(boxes, key=lambda b: b.x0)))


@pytest.mark.first(1)
@pytest.mark.parametrize("ends", [(3, 40), (0.02, 0.9), (0.1, 3), (1, 20), (1e-2, 1e4)])
def test_ticks_of_logarithmic_axes_do_not_overlap(ends):
    shown, overlap = drawn_ticks(*ends)
    assert 3 <= len(shown) <= 7 and not overlap, shown


# ---------------------------------------------------------------- candidates
def test_the_search_path_shows_the_released_candidates_and_public_scores(conditional):
    results = conditional.cv_results_
    display = SearchPathDisplay.from_search(conditional, "gamma", "C")
    n, explored = len(results["params"]), ~results["validated"]
    np.testing.assert_array_equal(display.y.positions, results["param_C"].astype(float))
    assert not display.ax_.lines  # between candidates
    assert len(offsets(display.explored_)) == explored.sum()
    np.testing.assert_array_equal(display.explored_.get_array(), results["public_score"][explored])
    assert len(offsets(display.validated_)) == n - explored.sum() - 1
    assert offsets(display.chosen_)[0, 1] == conditional.best_params_["C"]
    assert {"scale", "auto", "not set"} >= set(display.x.marks) >= {"not set"}
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert display.colorbar_.ax.get_ylabel() == "accuracy within the training set"
    most_varied = SearchPathDisplay.from_search(conditional)
    assert (most_varied.x.name, most_varied.y.name) == ("C", "gamma")


@pytest.mark.slow
def test_a_search_path_in_one_parameter_is_drawn_over_the_candidate_number(mixed):
    display = SearchPathDisplay.from_search(mixed, y="max_features")
    assert display.x.positions.tolist() == list(range(1, 25))
    assert set(display.y.marks) == {"sqrt", "None"}
    failed = [e is not None for e in mixed.cv_results_["fit_error"]]
    assert 0 < sum(failed) == len(offsets(display.failed_))
    assert set(offsets(display.failed_)[:, 1]) == {-1.0}
    weights = SearchPathDisplay.from_search(mixed, "class_weight").ax_.get_yticklabels()
    assert set(labels(weights)) == {"None", "balanced"}


def test_what_is_not_there_cannot_be_drawn(conditional, gp):
    with pytest.raises(ValueError, match=r"has the parameters \['C'.*found \['c'\]"):
        SearchPathDisplay.from_search(conditional, "c")
    with pytest.raises(ValueError, match="GPNoisy.*does not release which candidates"):
        SearchPathDisplay.from_search(gp, "C")
    alone = copy(gp)
    del alone.best_score_, alone.best_score_interval_
    with pytest.raises(ValueError, match="alone has released no score.*leave it out"):
        ScoreDisplay.from_estimator({"both": gp, "alone": alone})
    with pytest.raises(ValueError, match="found none"):
        ScoreDisplay.from_estimator({})
    unfitted = PrivateBayesSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]})
    for draw in (SearchPathDisplay.from_search, ScoreDisplay.from_estimator):
        with pytest.raises(NotFittedError):
            draw(unfitted)


# ---------------------------------------------------------------- released numbers
@pytest.mark.slow
def test_scores_of_several_searches_and_estimators_are_drawn(conditional, gp, data):
    display = ScoreDisplay.from_estimator({"a": conditional, "b": gp})
    np.testing.assert_array_equal(display.scores, [conditional.best_score_, gp.best_score_])
    assert labels(display.ax_.get_yticklabels()) == ["a", "b"]
    assert display.score_name == "accuracy"
    assert ScoreDisplay.from_estimator(gp).names == ["PrivateBayesSearchCV"]
    tuned = PrivateThresholdClassifier(LogisticRegression()).fit(**data)
    two = ScoreDisplay.from_estimator([tuned, gp])
    assert (two.names, two.score_name) == (["estimator 1", "estimator 2"], "score")
    assert two.scores.tolist() == [tuned.best_score_, gp.best_score_]


def test_several_scores_of_one_search_have_a_row_each(data):
    search = fitted(
        data, KNeighborsClassifier(), {"n_neighbors": [1, 3]}, refit="accuracy",
        scoring=["accuracy", "neg_brier_score"],
    )  # fmt: skip
    display = ScoreDisplay.from_estimator(search)
    assert display.names == ["accuracy", "neg_brier_score"]
    assert display.scores == list(search.best_scores_.values())
    assert ScoreDisplay.from_estimator({"one": search}).scores.tolist() == [search.best_score_]


# ---------------------------------------------------------------- shape functions
@pytest.fixture(scope="module")
def wide():
    """A table with eight columns, of which the last ones matter."""
    X = np.random.default_rng(0).uniform(-1, 1, (3000, 8))
    return pd.DataFrame(X, columns=list("abcdefgh")), X[:, 7] + X[:, 6] ** 2


def test_shapes_of_the_columns_that_matter_are_drawn_with_the_band_of_the_noise(wide):
    X, y = wide
    with seeded_noise(0):
        model = PrivateRegressor(epsilon=8.0, max_iter=20, random_state=0).fit(X, y)
    display = ShapeDisplay.from_estimator(model)
    assert len(display.axes_) == len(display.lines_) == 6
    assert [*display.shapes][0] == display.axes_[0].get_xlabel() == "h"
    shape = model.shape_function("h")
    np.testing.assert_array_equal(display.lines_[0].get_xydata().T[1], shape.change)
    np.testing.assert_array_equal(display.of_columns_[0].get_ydata(), shape.of_column)
    low, high = display.bands_[0].get_datalim(display.axes_[0].transData).intervaly
    assert low == pytest.approx((shape.change - 1.96 * shape.noise_std).min())
    assert high == pytest.approx((shape.change + 1.96 * shape.noise_std).max())
    assert display.axes_[0].get_ylabel() == "change of the prediction"


def test_shapes_of_given_columns_and_values_are_drawn_on_given_axes(wide):
    X, y = wide
    model = PrivateClassifier(classes=["no", "yes", "so"], max_iter=3, n_trees=3)
    model.fit(X, np.array(["no", "yes", "so"])[np.digitize(y, [0, 1])])
    figure, axes = plt.subplots(1, 2)
    display = ShapeDisplay.from_estimator(
        model, [0, "h"], target="so", custom_values={"h": [0, 1]}, axes=axes
    )
    assert [*display.shapes] == ["a", "h"] and display.figure_ is figure
    assert display.lines_[1].get_xdata().tolist() == [0, 1]
    assert axes[0].get_ylabel() == "change of the\nlog-odds of so"
    with pytest.raises(ValueError, match=r"target must be one of \['no', 'so', 'yes'\]"):
        ShapeDisplay.from_estimator(model, ["a"])
    with pytest.raises(ValueError, match="found PrivateLogisticRegression"):
        ShapeDisplay.from_estimator(PrivateLogisticRegression(max_iter=1).fit(X, y > 0))


def test_bars_and_names_of_many_categories_have_room_side_by_side():
    codes = [f"code {i}" for i in range(50)]
    X = pd.DataFrame({"code": np.resize(codes, 200)})
    model = PrivateRegressor(categories={"code": codes}, y_bounds=(0, 1), max_iter=3, n_trees=3)
    display = ShapeDisplay.from_estimator(model.fit(X, np.zeros(200)))
    (ax,) = display.axes_
    width = ax.get_position().width * display.figure_.get_figwidth() * 72  # in points
    assert 50 * display.bands_[0].get_linewidth()[0] < width
    assert 50 * ax.get_xticklabels()[0].get_fontsize() < width


# ---------------------------------------------------------------- all displays
def all_displays(search):
    """Return a function for each display, which draws it on given or new axes."""
    return [
        lambda ax=None: SearchPathDisplay.from_search(search, ax=ax),
        lambda ax=None: ScoreDisplay.from_estimator(search, ax=ax),
    ]


def test_given_axes_are_used_and_pyplot_state_is_unchanged(conditional):
    plt.close("all")  # of other tests
    mine, other = plt.figure(), plt.figure()
    before = dict(matplotlib.rcParams)
    current = plt.gca()
    for i, draw in enumerate(all_displays(conditional), 1):
        ax = mine.add_subplot(3, 1, i)
        display = draw(ax)
        assert display.ax_ is ax and display.figure_ is mine
    assert plt.gcf() is other and plt.gca() is current
    assert plt.get_fignums() == [mine.number, other.number]
    assert dict(matplotlib.rcParams) == before


@pytest.mark.slow
def test_matplotlib_is_imported_by_plots_only_and_named_where_it_lacks(gp, monkeypatch):
    code = (
        "import sys, sklearn_dpbo, sklearn_dpbo.plotting; "
        "assert not any(m.startswith('matplotlib') for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"sklearn_dpbo\[plots\]"):
        ScoreDisplay.from_estimator(gp)

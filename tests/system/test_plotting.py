"""Plots: what they show, what they refuse, and that they change no global state."""

import warnings
from copy import copy

import numpy as np
import pytest
from scipy.stats import loguniform, randint, uniform
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_dpbo import (
    PrivateBayesSearchCV,
    PrivateThresholdClassifier,
    plan_search,
)
from sklearn_dpbo.papers.kusner2015 import GPNoisy, UnitBall

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from sklearn_dpbo.plotting import (  # noqa: E402
    PrivacyUtilityDisplay,
    ScoreDisplay,
    SearchPathDisplay,
)
from sklearn_dpbo.plotting._parameters import ParameterAxis  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn_dpbo.exceptions.GuaranteeAssumptionWarning"
)
CONDITIONAL = [
    {"kernel": ["linear"], "C": loguniform(1e-2, 1e2)},
    {"kernel": ["rbf", "sigmoid"], "C": loguniform(1e-2, 1e2), "gamma": loguniform(1e-4, 1)},
    {"kernel": ["poly"], "C": loguniform(1e-2, 1e2), "gamma": ["scale", "auto"], "degree": [2, 3]},
]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.standard_normal(300) > 0.3).astype(int)
    return X[:150], y[:150], {"X_val": X[150:], "y_val": y[150:]}


def fitted(data, estimator, grid, **params):
    X, y, val = data
    search = PrivateBayesSearchCV(estimator, grid, **{"random_state": 0, "n_iter": 24, **params})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        return search.fit(X, y, **val)


@pytest.fixture(scope="module")
def conditional(data):
    return fitted(data, SVC(), CONDITIONAL, refit=False, n_iter=36)


@pytest.fixture(scope="module")
def mixed(data):
    """A search over distributions, ordered and unordered lists, and one value whose fit fails."""
    grid = {
        "max_features": ["sqrt", None, 0.5, -1.0], "max_depth": randint(2, 9),
        "min_samples_leaf": [1, 10, 100], "ccp_alpha": uniform(0, 0.01),
        "class_weight": [None, "balanced"],
    }  # fmt: skip
    return fitted(data, DecisionTreeClassifier(random_state=0), grid, epsilon=20.0)


@pytest.fixture(scope="module")
def gp(data):
    return fitted(
        data, SVC(), {"C": loguniform(1e-2, 1e2)}, strategy=GPNoisy(n_candidates=16), delta=0.05,
        n_iter=12,
    )  # fmt: skip


@pytest.fixture(scope="module")
def score_only(data):
    linear = make_pipeline(UnitBall(), LogisticRegression(fit_intercept=False, tol=1e-8))
    grid = {"logisticregression__C": loguniform(0.01, 1)}
    return fitted(data, linear, grid, strategy="lipschitz", scoring="ramp", n_iter=5, refit=False)


def offsets(collection):
    return np.asarray(collection.get_offsets()).reshape(-1, 2)


# ---------------------------------------------------------------- axes of parameters
@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (loguniform(1e-3, 1e3), "log"),
        (uniform(0, 1), "linear"),
        (uniform(1, 99), "linear"),
        (randint(1, 1000), "linear"),
        ([0.01, 0.1, 1, 10], "log"),
        ([1, 2, 3, 4, 50], "log"),
        ([1, 25, 50, 75, 100], "linear"),
        ([-1, 0, 10], "linear"),
        (["a", "b"], "category"),
        ([True, False], "category"),
        ([0.1, None], "category"),
    ],
)
def test_the_scale_of_an_axis_follows_the_distribution_or_list(values, scale):
    drawn = values.rvs(5, random_state=0) if hasattr(values, "rvs") else values
    column = np.ma.MaskedArray(np.array([*drawn, None], dtype=object))
    column.mask = [False] * len(drawn) + [True]
    axis = ParameterAxis.of("p", column, {"p": values})
    assert axis.scale == scale
    assert np.isfinite(axis.positions).all()
    assert axis.marks[-1][1] == "not set"
    if scale != "category":
        np.testing.assert_array_equal(axis.positions[:-1], np.array(drawn, dtype=float))
        assert axis.positions[-1] < axis.positions[:-1].min()


def test_categories_are_drawn_in_the_order_of_the_list(data):
    values = [(8, 8), None, "auto", np.mean, SVC(C=2.0)]
    column = np.ma.MaskedArray(np.empty(3, dtype=object), mask=False)
    for i, j in enumerate((4, 1, 0)):
        column[i] = values[j]
    axis = ParameterAxis.of("p", column, [{"p": values}, {"q": [1]}])
    assert axis.positions.tolist() == [4, 1, 0]
    assert [label for _, label in axis.marks] == ["(8, 8)", "None", "auto", "mean", "SVC(C=2.0)"]


# ---------------------------------------------------------------- candidates
def test_the_search_path_shows_the_released_candidates_and_public_scores(conditional):
    results = conditional.cv_results_
    display = SearchPathDisplay.from_search(conditional, "gamma", "C")
    n, explored = len(results["params"]), ~results["validated"]
    assert len(display.path_.get_xdata()) == n
    np.testing.assert_array_equal(display.path_.get_ydata(), results["param_C"].astype(float))
    assert len(offsets(display.explored_)) == explored.sum()
    np.testing.assert_array_equal(display.explored_.get_array(), results["public_score"][explored])
    assert len(offsets(display.validated_)) == n - explored.sum() - 1
    best = conditional.best_params_
    assert offsets(display.chosen_)[0, 1] == best["C"]
    numeric = [isinstance(p.get("gamma"), float) for p in results["params"]]
    xs = display.path_.get_xdata()
    assert xs[~np.array(numeric)].max() < xs[numeric].min()  # marks are beside the numbers
    assert {label for _, label in display.x.marks} == {"scale", "auto", "not set"}
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert display.colorbar_.ax.get_ylabel() == "accuracy within the training set"


def test_a_search_path_in_one_parameter_is_drawn_over_the_candidate_number(mixed):
    display = SearchPathDisplay.from_search(mixed, y="max_features")
    assert display.path_.get_xdata().tolist() == list(range(1, 25))
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["sqrt", "None", "0.5", "-1.0"]
    failed = [e is not None for e in mixed.cv_results_["fit_error"]]
    assert 0 < sum(failed) == len(offsets(display.failed_))
    assert set(offsets(display.failed_)[:, 1]) == {3.0}


def test_a_search_path_without_names_is_drawn_in_the_two_most_varied_parameters(mixed, conditional):
    display = SearchPathDisplay.from_search(conditional)
    assert (display.x.name, display.y.name) == ("C", "gamma")
    with pytest.raises(ValueError, match=r"has the parameters \['C'.*found 'c'"):
        SearchPathDisplay.from_search(conditional, "c")


def test_a_search_without_public_scores_is_drawn_without_colorbar(data):
    search = fitted(data, SVC(), {"C": [0.1, 1.0, 10.0]})
    display = SearchPathDisplay.from_search(search)
    assert display.colorbar_ is None and len(offsets(display.validated_)) == 2
    assert [t.get_text() for t in display.legend_.get_texts()] == ["validated", "chosen"]


def test_score_that_is_not_released_cannot_be_drawn(gp):
    alone = copy(gp)
    del alone.best_score_, alone.best_score_interval_
    with pytest.raises(ValueError, match="alone has released no score.*leave it out"):
        ScoreDisplay.from_estimator({"both": gp, "alone": alone})


def test_candidates_that_are_not_released_cannot_be_drawn(gp, score_only):
    with pytest.raises(ValueError, match="GPNoisy.*does not release which candidates"):
        SearchPathDisplay.from_search(gp, "C")
    with pytest.raises(ValueError, match="lipschitz.*released a score but no candidate"):
        SearchPathDisplay.from_search(score_only)


# ---------------------------------------------------------------- released numbers
def test_privacy_utility_curves_agree_with_the_search_and_the_plan(conditional, data, gp):
    display = PrivacyUtilityDisplay.from_search(conditional)
    assert (np.diff(display.regret) <= 0).all() and (np.diff(display.score_error) <= 0).all()
    epsilon, regret, score_error = display.point
    assert epsilon == 1.0
    low, high = conditional.best_score_interval_
    assert score_error >= (high - low) / 2 - 1e-12
    plan = plan_search(epsilon=1.0, target_regret=0.01)
    display = plan.plot(epsilon=[0.5, 1.0, 2.0])
    assert display.regret[1] == plan.regret == display.point[1]
    assert "m = 2,100" in display.ax_.get_ylabel()
    with pytest.raises(ValueError, match="cover searches with strategy='worst_case'"):
        PrivacyUtilityDisplay.from_search(gp)


def test_scores_of_several_searches_and_estimators_are_drawn(conditional, score_only, gp, data):
    display = ScoreDisplay.from_search({"a": conditional, "b": gp})
    np.testing.assert_array_equal(display.scores, [conditional.best_score_, gp.best_score_])
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["a", "b"]
    assert display.score_name == "accuracy"
    assert ScoreDisplay.from_search([conditional, score_only]).score_name == "score"
    assert ScoreDisplay.from_search(score_only).names == ["PrivateBayesSearchCV"]
    with pytest.raises(ValueError, match="found none"):
        ScoreDisplay.from_search({})
    X, y, val = data
    tuned = PrivateThresholdClassifier(LogisticRegression()).fit(X, y, **val)
    assert ScoreDisplay.from_estimator(tuned).scores.tolist() == [tuned.best_score_]
    assert ScoreDisplay.from_estimator({"a": tuned, "b": gp}).names == ["a", "b"]


def test_several_scores_of_one_search_have_a_row_each(data):
    X, y, val = data
    search = PrivateBayesSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": [1, 3]},
        scoring=["accuracy", "neg_brier_score"],
        refit="accuracy",
    ).fit(X, y, **val)
    display = ScoreDisplay.from_search(search)
    assert display.names == ["accuracy", "neg_brier_score"]
    assert display.scores == list(search.best_scores_.values())
    assert ScoreDisplay.from_estimator(search).names == display.names
    assert ScoreDisplay.from_search({"one": search}).scores.tolist() == [search.best_score_]
    assert ScoreDisplay.from_estimator([search, search]).names == ["estimator 1", "estimator 2"]


# ---------------------------------------------------------------- all displays
def all_displays(search):
    """Return a function for each display, which draws it on given or new axes."""
    return [
        lambda ax=None: SearchPathDisplay.from_search(search, ax=ax),
        lambda ax=None: PrivacyUtilityDisplay.from_search(search, ax=ax),
        lambda ax=None: ScoreDisplay.from_search(search, ax=ax),
    ]


@pytest.mark.parametrize(
    "draw",
    [
        SearchPathDisplay.from_search,
        PrivacyUtilityDisplay.from_search,
        ScoreDisplay.from_search,
    ],
)
def test_an_unfitted_search_cannot_be_drawn(draw):
    with pytest.raises(NotFittedError):
        draw(PrivateBayesSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}))


def test_given_axes_are_used_and_pyplot_state_is_unchanged(conditional):
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


def test_without_axes_each_plot_makes_one_figure(conditional):
    for draw in all_displays(conditional):
        display = draw()
        assert len(plt.get_fignums()) == 1
        assert display.plot() is display and len(plt.get_fignums()) == 2
        plt.close("all")


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_text_has_the_colour_of_the_style_and_fits_in_the_figure(conditional, style):
    with plt.style.context(style):
        for draw in all_displays(conditional):
            display = draw()
            display.figure_.canvas.draw()
            page = display.figure_.bbox
            texts = [display.ax_.xaxis.label, display.ax_.yaxis.label]
            texts += getattr(display, "texts_", [])
            if hasattr(display, "legend_"):
                texts += display.legend_.get_texts()
            for text in filter(lambda t: t.get_text(), texts):
                assert text.get_color() == matplotlib.rcParams["text.color"]
                box = text.get_window_extent()
                assert page.x0 - 1 <= box.x0 and box.x1 <= page.x1 + 1, text
                assert page.y0 - 1 <= box.y0 and box.y1 <= page.y1 + 1, text


def test_importing_the_package_does_not_import_matplotlib():
    import subprocess
    import sys

    code = (
        "import sys, sklearn_dpbo, sklearn_dpbo.plotting; "
        "assert not any(m.startswith('matplotlib') for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_error_says_what_to_install(conditional, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"sklearn_dpbo\[plots\]"):
        ScoreDisplay.from_search(conditional)

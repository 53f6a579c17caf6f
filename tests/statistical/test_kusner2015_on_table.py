"""The algorithms of Kusner et al. (2015) where every record of one table is protected."""

import itertools
import math
import pickle

import numpy as np
import pytest
from leaks import found_in, found_in_text, frames_of
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import check_random_state
from test_kusner2015 import draws, half_the_noise  # noqa: F401

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV
from sklearn_dpbo._data.divided_table import DividedTable
from sklearn_dpbo.acquisition import ExpectedImprovement
from sklearn_dpbo.exceptions import GuaranteeAssumptionWarning
from sklearn_dpbo.papers.kusner2015 import GPNoiseFree, GPNoisy, LipschitzConvex, UnitBall
from sklearn_dpbo.papers.kusner2015._gp import ASSUMPTION_1_ON_TABLE
from sklearn_dpbo.papers.kusner2015.bounds import LipschitzBounds, NoiseFreeBounds
from sklearn_dpbo.papers.kusner2015.published import PublishedGPNoisy, PublishedLipschitzConvex

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn_dpbo.exceptions.GuaranteeAssumptionWarning"
)

GIVEN = dict(k0=0.9, k1=0.99, length_scale=0.3, prior_mean=0.8, prior_scale=0.1)
NOISY = GPNoisy(noise=0.2, **GIVEN)
FREE = GPNoiseFree(A=0.05, tau=0.5, max_level=2, **GIVEN)
CANDIDATE = LipschitzConvex(candidate_share=0.5)
LAMBDA, N, M = 0.01, 500, 125


def logistic(**params):
    params = dict(fit_intercept=False, solver="newton-cholesky", tol=1e-12) | params
    return LogisticRegression(**params)


def model(radius=1.0, **params):
    return make_pipeline(UnitBall(radius=radius), logistic(**params))


SPACE = {"logisticregression__C": [1 / (N * LAMBDA)]}


def search_of(strategy, estimator=None, space=None, **params):
    params = dict(
        epsilon=4.0, delta=0.2 if isinstance(strategy, GPNoisy | GPNoiseFree) else 0.0, n_iter=4,
        refit=False, random_state=0, noise_random_state=0, scoring="ramp", protect="all",
    ) | params  # fmt: skip
    estimator = model() if estimator is None else estimator
    space = SPACE if space is None else space
    params = {"prediction": "together"} | params
    return PrivateBayesSearchCV(estimator, space, strategy=strategy, **params)


def fitted(strategy, data=None, **params):
    return search_of(strategy, **params).fit(*(plain_data() if data is None else data))


def plain_data(n=N + M):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (n, 3))
    return X, (X[:, 0] + 0.2 * rng.standard_normal(n) > 0).astype(int)


def parts(n):
    """Return the row numbers of both parts, as a search with random_state=0 cuts the table."""
    rng = np.random.default_rng(check_random_state(0).randint(2**31 - 1, size=4))
    y = np.arange(n) % 2
    rows = np.arange(n, dtype=float)[:, None]
    table = DividedTable.divide(rows, y, None, [0, 1], True, lambda m: round(0.2 * m), rng)
    return [np.ravel(part).astype(int) for part in (table.training.X, table.X_val)]


def worst_neighbours():
    """Return two tables that differ in one training record, and move the model far.

    All training records but one are (1, 0), so that the model is long in this direction and flat
    in the other; the one is on its wrong side, to the left or to the right. The validation records
    are such that this is what their margins depend on.
    """
    training, validation = parts(N + M)
    X = np.zeros((N + M, 2))
    X[training] = [1.0, 0.0]
    X[validation] = [0.15, math.sqrt(1 - 0.15**2)]
    X[training[1]] *= -1
    y = np.ones(N + M, dtype=int)
    y[training[1]] = 0  # -(1, 0) of the other class: the same as the others
    one, other = X.copy(), X.copy()
    one[training[0]] = [-0.5, math.sqrt(0.75)]
    other[training[0]] = [-0.5, -math.sqrt(0.75)]
    return (one, y), (other, y)


# ------------------------------------------------------------ the bound on the minimiser
def minimiser(X, y, lam):
    return logistic(C=1 / (len(X) * lam)).fit(X, y).coef_[0]


def test_no_training_record_moves_minimiser_by_more_than_bound(rng):
    """Brute force: each record of small tables gets each of 8 directions, and both classes."""
    angles = np.arange(8) * np.pi / 4
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    closest = 0.0
    for lam, n in [(0.03, 6), (0.3, 6), (3.0, 4)]:
        X = circle[rng.integers(8, size=n)] * rng.uniform(0.5, 1, (n, 1))
        y = np.arange(n) % 2
        w, bound = minimiser(X, y, lam), 2 / (n * lam)
        for i, row, label in itertools.product(range(n), circle, (0, 1)):
            X_, y_ = X.copy(), y.copy()
            X_[i], y_[i] = row, label
            if 0 < y_.sum() < n:
                closest = max(closest, np.linalg.norm(w - minimiser(X_, y_, lam)) / bound)
    assert 0.4 < closest <= 1


def test_bounds_of_minimiser_and_score_are_attained_by_more_than_half():
    models = []
    training, validation = parts(N + M)
    for X, y in worst_neighbours():
        w = minimiser(X[training], y[training], LAMBDA)
        models.append((w, np.clip(X[validation] @ w, 0, 1).mean()))
    (w, ramp), (v, other_ramp) = models
    bound = 2 / (N * LAMBDA)
    assert bound / 2 < np.linalg.norm(w - v) <= bound
    L = 1.0
    bounds = LipschitzBounds(M, (LAMBDA, LAMBDA), L, 1.0, lowest_at_zero=True, n=N)
    assert bounds.sensitivity / 2 < abs(ramp - other_ramp) <= bounds.sensitivity
    validation_only = LipschitzBounds(M, (LAMBDA, LAMBDA), L, 1.0, lowest_at_zero=True)
    assert abs(ramp - other_ramp) > validation_only.sensitivity


@pytest.mark.parametrize("strategy", [LipschitzConvex(), CANDIDATE])
def test_noise_covers_training_record_and_half_the_noise_does_not(
    strategy,
    draws,  # noqa: F811
    monkeypatch,
):
    space = {"logisticregression__C": [1 / (N * LAMBDA), 1 / (N * LAMBDA * 1.0001)]}
    n_releases = 1 + strategy.releases_candidate

    def covered():
        """Whether each release has noise for what differs between neighbours."""
        draws.clear()
        for data in worst_neighbours():
            fitted(strategy, data, space=space)
        assert len(draws) == 2 * n_releases
        pairs = zip(draws[:n_releases], draws[n_releases:], strict=True)
        for (kind, scale, value), (_, same, neighbour) in pairs:
            assert scale == same
            moved = np.abs(np.subtract(value, neighbour)).max()
            yield moved * (2 if kind == "flip" else 1) / scale <= 4.0 / n_releases

    assert all(covered())
    half_the_noise(monkeypatch)
    assert not any(covered())


# ------------------------------------------------------------ Algorithms 1 and 2
def svc(strategy, **params):
    space = {"C": loguniform(1e-2, 1e2)}
    return fitted(strategy, estimator=SVC(), space=space, scoring="accuracy", **params)


@pytest.mark.parametrize(("k0", "k1"), [(0.9, 0.99), (0.99, 0.9)])
def test_gp_bounds_take_smaller_correlation_of_neighbouring_tables(k0, k1, draws):  # noqa: F811
    found = []
    for kernels in (dict(k0=k0, k1=k1), dict(k0=0.9, k1=0.9), dict(k0=0.99, k1=0.99)):
        draws.clear()
        for strategy in (clone(NOISY).set_params(n_candidates=8), FREE):
            svc(clone(strategy).set_params(**kernels))
        found.append([(scale, np.ravel(values).tolist()) for _, scale, values in draws])
    assert found[0] == found[1]
    # What is drawn over is in units of the sensitivity: either the scale or the values differ.
    assert all(one != other for one, other in zip(found[1], found[2], strict=True))
    delta = NoiseFreeBounds(4, 5, 0.1, 0.9, 1, 0.05, 0.5).sensitivity
    assert found[0][-1][0] == pytest.approx(math.ceil(delta * 0.1 * M) / 2.0)


def test_gp_strategies_release_candidate_alone_on_table(draws):  # noqa: F811
    """At the whole budget, with c at the smaller correlation, and also by a score that is no mean.

    Scores are observed as they are: the made-up records that stand for a training set have no part
    in them.
    """
    shared = dict(acquisition=ExpectedImprovement(), score_share=0)
    for strategy in (clone(NOISY).set_params(n_candidates=8, **shared),
                     clone(FREE).set_params(A=None, tau=None, **shared)):  # fmt: skip
        search = fitted(strategy, estimator=SVC(), space={"C": loguniform(1e-2, 1e2)},
                        scoring="roc_auc", noise_random_state=None)  # fmt: skip
        report = search.privacy_
        assert report.assumption == ASSUMPTION_1_ON_TABLE
        assert [(s.epsilon, s.delta) for s in report.spends] == [(4.0, 0.2)]
        assert not hasattr(search, "best_score_") and not hasattr(search, "best_estimator_")
        with pytest.raises(ValueError, match="releases no model.*refit=False"):
            svc(strategy, refit=True)
    assert not draws, "noise that is not seeded"


def test_score_that_is_no_mean_is_observed_exactly_on_table(draws):  # noqa: F811
    X, y = plain_data()
    space = {"C": [0.001, 0.1, 10.0]}
    fitted(NOISY, estimator=SVC(), space=space, scoring="roc_auc", n_iter=3)
    training, validation = parts(N + M)
    scores = [
        roc_auc_score(
            y[validation],
            SVC(C=C).fit(X[training], y[training]).decision_function(X[validation]),
        )
        for C in space["C"]
    ]
    assert min(abs(np.array(scores) * 2**20 - draws[1][2])) <= 1


# ------------------------------------------------------------ what is released
EVERY = pytest.mark.parametrize(
    "strategy",
    [LipschitzConvex(), CANDIDATE, NOISY, FREE],
    ids=["lipschitz", "lipschitz, candidate", "noisy", "noise free"],
)
SPACE_C = {"logisticregression__C": loguniform(0.05, 1.0)}


@EVERY
def test_report_names_every_record_and_what_the_guarantee_rests_on(strategy):
    with pytest.warns(GuaranteeAssumptionWarning) as warned:
        search = fitted(strategy, space=SPACE_C, noise_random_state=None)
    (warning,) = [w for w in warned if w.category is GuaranteeAssumptionWarning]
    assert warning.filename == __file__
    report = search.privacy_
    text = " ".join(report.details().split())
    assert "every record of X and y" in text
    assert (report.m, report.data, report.unit) == (N + M, "table", "record")
    assert report.assumption == strategy.assumption_on_table != strategy.assumption
    assert {loss.assumption for loss in report.spends} == {report.assumption}
    assert "best_estimator_" not in report.released
    assert sum(loss.epsilon for loss in report.spends) <= 4.0
    assert strategy.protects == "validation", "the strategy that was given is not changed"


@EVERY
def test_no_model_is_kept(strategy):
    search = fitted(strategy, space=SPACE_C)
    assert not hasattr(search, "best_estimator_")
    assert hasattr(search, "best_params_") == strategy.releases_candidate
    low, high = search.best_score_interval_
    assert 0 <= low <= search.best_score_ <= high <= 1
    with pytest.raises(ValueError, match="releases no model.*refit=False"):
        fitted(strategy, refit=True)


def raw_statistics(estimator, space, data):
    """Return the statistics of candidates, fitted on one part and evaluated on the other."""
    training, validation = parts(N + M)
    X, y = data
    found = set()
    for params in space:
        fit = clone(estimator).set_params(**params).fit(X[training], y[training])
        u = fit.decision_function(X[validation]) * np.where(y[validation] == 1, 1, -1)
        found.add(int(np.rint(np.clip(u, 0, 1) * 2**20).sum()))
    return found


@EVERY
def test_nothing_of_either_part_is_kept(strategy, capfd):
    search = fitted(strategy, space=SPACE_C, verbose=10, epsilon=0.01)
    secrets = raw_statistics(model(), search.cv_results_["params"][:32], plain_data())
    assert secrets
    kept = {name: v for name, v in vars(search).items() if not name.startswith("best_score")}
    assert not found_in(kept, secrets)
    columns = search.cv_results_
    assert np.isnan(columns["mean_fit_time"]).all()
    assert np.isnan(columns["public_score"]).all()
    assert set(columns["fit_error"]) == {None}
    assert not any("fitted" in line for line in capfd.readouterr().out.splitlines())
    X, pickled = plain_data()[0], pickle.dumps(search)
    for rows in parts(N + M):
        assert X[rows[0]].tobytes() not in pickled


class Talks(ClassifierMixin, BaseEstimator):
    """Tells what it is fitted on, by all means, and fails for some parameters."""

    def __init__(self, x=0.0, fails=False):
        self.x, self.fails = x, fails

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        if len(X) == N:
            print(f"the first of {X[0, 0]!r}")
            if self.fails:
                raise RuntimeError(f"the first of {X[0, 0]!r}")
        return self

    def predict(self, X):
        return (X[:, 0] > self.x).astype(int)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("strategy", [NOISY, FREE], ids=["noisy", "noise free"])
def test_failing_and_talking_fits_of_gp_strategies_are_not_reported(strategy, fails, capfd):
    space = {"x": loguniform(0.01, 0.1)}
    search = fitted(strategy, estimator=Talks(fails=fails), space=space, scoring="accuracy")
    shown = capfd.readouterr()
    assert "the first" not in shown.out + shown.err
    assert set(search.cv_results_["fit_error"]) == {None}
    assert search.cv_results_["validated"].mask.all()


@pytest.mark.parametrize("strategy", [LipschitzConvex(), CANDIDATE])
def test_lipschitz_ends_without_saying_why_if_training_records_cannot_be_used(
    strategy, tmp_path, recwarn
):
    """A record with a missing cell; what the search has announced to spend is spent."""
    X, y = plain_data()
    training, _ = parts(N + M)
    X[training[7]] = np.nan
    ledger = PrivacyLedger(tmp_path / "ledger.jsonl", "table", epsilon=10.0, create=True)
    with pytest.raises(ValueError, match="is withheld") as error:
        fitted(strategy, (X, y), ledger=ledger, noise_random_state=None, random_state=0)
    assert any("count as spent" in note for note in error.value.__notes__)
    assert ledger.spent["epsilon"] == 4
    text = str(error.value) + "".join(map(str, recwarn))
    assert "nan" not in text.lower().replace("nan_to_num", "")
    assert error.value.__context__ is None
    secrets = raw_statistics(model(), [{}], plain_data())
    assert not found_in(frames_of(error.value), secrets)
    assert not found_in_text(text, secrets)

    filled = make_pipeline(FunctionTransformer(np.nan_to_num), *(step for _, step in model().steps))
    assert 0 <= fitted(strategy, (X, y), estimator=filled).best_score_ <= 1


def test_path_leaves_out_fits_that_have_not_converged_and_fixed_candidates_do_not(
    monkeypatch,
    draws,  # noqa: F811
):
    """Theorem 7 holds for any path; a fixed candidate has to be the minimiser."""

    def refuses_some(estimator, training):
        if len(training.X) == N and estimator[-1].C > 0.5:
            raise ValueError("not converged")

    monkeypatch.setattr("sklearn_dpbo.papers.kusner2015._lipschitz.check_converged", refuses_some)
    space = {"logisticregression__C": [0.1, 0.2, 1.0, 2.0]}
    fitted(LipschitzConvex(), space=space)
    ((_, _, best),) = draws
    some = raw_statistics(model(), [{"logisticregression__C": C} for C in (0.1, 0.2)], plain_data())
    assert min(abs(best - each) for each in some) <= N
    with pytest.raises(ValueError, match="is withheld"):
        fitted(CANDIDATE, space=space)
    assert len(draws) == 1


def test_budget_is_charged_once_and_not_for_wrong_parameters(tmp_path):
    ledger = PrivacyLedger(tmp_path / "ledger.jsonl", "table", epsilon=10.0, create=True)
    fitted(CANDIDATE, ledger=ledger, noise_random_state=None)
    assert ledger.spent["epsilon"] == 4
    slow = model(solver="lbfgs", tol=1e-2, max_iter=3)
    with pytest.raises(ValueError, match="(?s)made-up records.*nothing spent.*Set tol=1e-8"):
        fitted(CANDIDATE, estimator=slow, ledger=ledger, noise_random_state=None)
    assert ledger.spent["epsilon"] == 4


# ------------------------------------------------------------ what is refused
@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (make_pipeline(UnitBall(), logistic()), "largest norm.*UnitBall a public radius"),
        (make_pipeline(StandardScaler(), UnitBall(1.0), logistic()), r"\['standardscaler'\] learn"),
        (
            make_pipeline(UnitBall(1.0), LinearSVC(loss="hinge", fit_intercept=False)),
            "hinge loss is not known.*LogisticRegression",
        ),
        (model(fit_intercept=True), "intercept"),
        (logistic(), "norm 1 at most"),
    ],
)
def test_estimators_of_which_the_bound_does_not_hold_are_refused(estimator, message, draws):  # noqa: F811
    (name,) = [name for name in estimator.get_params() if name == "C" or name.endswith("__C")]
    with pytest.raises(ValueError, match=message):
        fitted(CANDIDATE, estimator=estimator, space={name: [0.1, 1.0]})
    assert not draws


def test_what_is_not_covered_raises_value_error(draws):  # noqa: F811
    X, y = plain_data()
    with pytest.raises(ValueError, match="single records .no groups."):
        search_of(CANDIDATE).fit(X, y, groups=np.arange(len(X)) // 2)
    with pytest.raises(ValueError, match="takes classifiers"):
        fitted(NOISY, estimator=Ridge(), space={"alpha": [1.0]}, scoring=None)
    with pytest.raises(ValueError, match="how frequent the labels are"):
        fitted(CANDIDATE, scoring="weighted_accuracy")
    with pytest.raises(ValueError, match=r"no public records to learn \['k0'\]"):
        svc(clone(NOISY).set_params(k0=None))
    with pytest.raises(ValueError, match=r"learn \['length_scale', 'prior_mean'\]"):
        svc(clone(FREE).set_params(length_scale=None, prior_mean=None))
    with pytest.raises(ValueError, match="k0 is None or in"):
        svc(clone(NOISY).set_params(k0=2))
    for strategy in (PublishedGPNoisy(noise=0.2, **GIVEN), PublishedLipschitzConvex()):
        with pytest.raises(ValueError, match="works with protect='validation'"):
            fitted(strategy)
    assert not draws


def test_validation_set_alone_is_protected_as_before_if_k0_is_given(draws):  # noqa: F811
    X, y = plain_data()
    scales = []
    for strategy in (NOISY, clone(NOISY).set_params(k0=None)):
        search = search_of(strategy, SVC(), {"C": [0.1, 1.0]}, protect="validation",
                           scoring="accuracy")  # fmt: skip
        search.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
        scales.append([scale for _, scale, _ in draws])
        draws.clear()
    assert scales[0] == scales[1]
    assert "Assumption 1" in search.privacy_.assumption
    assert "k0" not in search.privacy_.assumption

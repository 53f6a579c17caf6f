"""Seeded runs of every public entry point, whose results `tests/golden.json` stores.

``PYTHONPATH=. python tests/golden.py tests/golden.json`` writes them (to another file, to compare
by hand): only when a released number, report, warning or error is meant to change.
"""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from recorded import forms, record, report, with_ledger, write
from scipy.sparse import csr_array
from scipy.stats import uniform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sklearn_dpbo
from sklearn_dpbo import (
    PrivateBayesSearchCV,
    PrivateTableSearchCV,
    PrivateThresholdClassifier,
    make_private_scorer,
    private_comparison,
    private_evaluation,
)
from sklearn_dpbo.learners import (
    PrivateClassifier,
    PrivateLogisticRegression,
    PrivateRegressor,
    PrivateRidge,
)
from sklearn_dpbo.papers.balcan2018 import (
    Graph,
    IndependentSet,
    Knapsack,
    KnapsackItems,
    PrivateConfigurator,
)
from sklearn_dpbo.papers.kharkovskii2020 import (
    CuratorSide,
    GaussianCurator,
    ModelerSide,
    optimize,
)
from sklearn_dpbo.papers.kharkovskii2020.published import ProjectionCurator
from sklearn_dpbo.papers.kusner2015 import GPNoiseFree, GPNoisy, LipschitzConvex, UnitBall
from sklearn_dpbo.papers.kusner2015.published import (
    ArxivGPNoiseFree,
    ArxivGPNoisy,
    PublishedGPNoisy,
    PublishedLipschitzConvex,
)
from sklearn_dpbo.strategies import WorstCase

# Models here are computed in closed form: iterations would end elsewhere on other CPUs.
N = 1200
H = N // 2
X, y = make_classification(N, 6, weights=[0.7], class_sep=0.7, random_state=0)
X3, y3 = make_classification(N, 6, n_informative=4, n_classes=3, random_state=1)
XR, yR = make_regression(N, 5, noise=9, random_state=2)
yR = yR / 50
GROUPS = np.arange(H) // 3
SEX = np.where(np.arange(H) % 2, "f", "m")


def halves(X, y, **more):
    """Return training and validation set, as `fit` takes them."""
    return {"X": X[:H], "y": y[:H], "X_val": X[H:], "y_val": y[H:], **more}


def released(fitted, *names):
    """Return the attributes that there are of those named, and the report."""
    found = {name: getattr(fitted, name) for name in names if hasattr(fitted, name)}
    return found | report(fitted.privacy_)


def _in_rows(scores):
    """Return scores with each value, its intervals and more as a row, and the names of columns."""
    if not isinstance(scores, dict) or not all(isinstance(v, dict) for v in scores.values()):
        return scores
    rows = {name: list(score.values()) for name, score in scores.items()}
    return rows | {"of columns": sorted({tuple(score) for score in scores.values()})}


def of_evaluation(evaluation):
    """Return numbers of an evaluation or comparison, what else its text says, and its report."""
    numbers = {k: _in_rows(v) for k, v in evaluation.to_dict().items() if k != "privacy"}
    text = [line for line in repr(evaluation).splitlines() if "95 %:" not in line]
    return {"numbers": numbers, "text": text, **report(evaluation.privacy_)}


# ---------------------------------------------------------------- validation sets


def threshold(model=None, groups=None, ledger=None, data=None, **params):
    tuned = PrivateThresholdClassifier(
        GaussianNB() if model is None else model, random_state=0, ledger=ledger, **params
    )
    tuned.fit(**halves(X, y) if data is None else data, groups_val=groups)
    return released(
        tuned,
        "best_threshold_",
        "best_score_",
        "best_score_interval_",
        "best_score_population_interval_",
        "choice_counts_",
    )


coarse = partial(threshold, thresholds=256)


def evaluation(model=None, data=(X, y), ledger=None, **params):
    model = (GaussianNB() if model is None else model).fit(data[0][:H], data[1][:H])
    params = {"epsilon": 1.0, **halves(*data), **params}
    return of_evaluation(private_evaluation(model, **params, ledger=ledger))


def by_subgroup():
    model = GaussianNB().fit(X[:H], y[:H])
    levels = {"sex": ["f", "m"]}
    found = private_evaluation(
        model, **halves(X, y), epsilon=1.0, subgroups_val=SEX, subgroups=levels
    )
    more = {"by_group": found.by_group("recall"), "gaps": found.group_differences("recall")}
    return of_evaluation(found) | more


def comparison(data=(X, y), ledger=None, **params):
    a, b = DecisionTreeClassifier(max_depth=2, random_state=0), GaussianNB()
    models = [model.fit(data[0][:H], data[1][:H]) for model in (a, b)]
    params = {"epsilon": 1.0, **halves(*data), **params}
    return of_evaluation(private_comparison(*models, **params, ledger=ledger))


def search(
    model=None, grid=None, data=(X, y), fit=None, ledger=None, epsilon=1.0, split=True, **params
):
    """Search on a validation set; `fit` has more arguments of `fit`."""
    model = GaussianNB() if model is None else model
    grid = SMOOTHING if grid is None else grid
    params = {"epsilon": epsilon, "random_state": 0, "ledger": ledger, **params}
    given = halves(*data) if split else {"X": data[0], "y": data[1]}
    found = PrivateBayesSearchCV(model, grid, **params).fit(**given, **(fit or {}))
    return of_search(found)


SMOOTHING = {"var_smoothing": [1e-9, 0.1, 1.0, 10.0]}
TREES = {"max_depth": [1, 2, 3, 4, 5], "min_samples_leaf": [1, 5, 20, 50]}


def of_search(found):
    """Return what a search of either kind released."""
    shown = released(found, *OF_SEARCH)
    shown["cv_results_"] = {
        k: v for k, v in found.cv_results_.items() if "time" not in k and "param_" not in k
    }
    if hasattr(found, "evaluation_"):
        shown["evaluation_"] = of_evaluation(found.evaluation_)["numbers"]
    scorers = found.scorer_.values() if found.multimetric_ else [found.scorer_]
    return shown | {"scorers": [(scorer.name, scorer.clipping) for scorer in scorers]}


OF_SEARCH = (
    "best_params_",
    "best_index_",
    "best_score_",
    "best_score_interval_",
    "best_score_population_interval_",
    "best_scores_",
    "best_score_intervals_",
    "best_score_population_intervals_",
    "choice_counts_",
)


class BatchDependent(ClassifierMixin, BaseEstimator):
    """Predicts by the mean of all records that it is given."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        above = X[:, 0] > X[:, 0].mean()
        return np.column_stack([~above, above]).astype(float)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def squared(X):
    return np.hstack([X, X**2])


def own_gain(y_true, predicted):
    return np.where(y_true == predicted, 1.0, np.where(y_true == 1, -1.0, 0.0))


OWN_CODE = make_pipeline(FunctionTransformer(squared), GaussianNB())
OWN_SCORER = make_private_scorer(own_gain, bounds=(-1, 1))
PRIOR = dict(k1=0.999, length_scale=0.3, prior_mean=0.6, prior_scale=0.1)
LINEAR = make_pipeline(
    StandardScaler(), UnitBall(), LogisticRegression(fit_intercept=False, tol=1e-8, max_iter=5000)
)
secret = partial(search, DecisionTreeClassifier(random_state=0), delta=0.01, n_iter=6)
in_secret = partial(secret, TREES, epsilon=4.0)
lattice = partial(search, grid={"var_smoothing": uniform(0.001, 1)}, delta=0.01, n_iter=6)
of_lattice = partial(GPNoiseFree, max_level=3)
lipschitz = partial(
    search,
    LINEAR,
    {"logisticregression__C": [0.01, 0.03, 0.1, 0.3, 1.0]},
    scoring="ramp",
    n_iter=3,
    refit=False,
)

# ---------------------------------------------------------------- one table


def fitted(learner, data, groups=None, ledger=None, **params):
    """Fit a learner; what is released of it are its arrays and its report."""
    params = {"epsilon": 1.0, "delta": 1e-6, **params}
    model = learner(**params, ledger=ledger).fit(*data, groups=groups)
    names = ("intercept_", "center_", "scale_", "max_norm_", "categories_", "noise_", "coef_std_")
    more = ("coef_noise_std_", "unresolved_", "y_center_", "y_scale_", "clip_")
    shown = {"coef_": model.coef_.ravel()[:20], "norm": np.linalg.norm(model.coef_)}
    return shown | released(model, *names, *more) | {"columns": model.get_feature_names_out()[:4]}


logistic = partial(fitted, PrivateLogisticRegression, (X, y), classes=[0, 1], max_iter=5)
ridge = partial(fitted, PrivateRidge, (XR, yR), y_bounds=(-6, 6))
small = {"n_trees": 2, "max_iter": 4, "random_state": 0}
classifier = partial(fitted, PrivateClassifier, (X[:, :2], y), classes=[0, 1], **small)
regressor = partial(fitted, PrivateRegressor, (XR[:, :2], yR), y_bounds=(-6, 6), **small)
TOWNS = np.column_stack([X[:, :2], np.arange(N) % 3])
IN_GROUPS = np.arange(N) // 2


def table(model=None, grid=None, data=(X, y), groups=None, ledger=None, epsilon=1.0, **params):
    if model is None:
        model = PrivateLogisticRegression(bounds=(-5, 5), max_iter=3, classes=[0, 1])
    params = {"delta": 1e-6, "random_state": 0, "ledger": ledger, **params}
    found = PrivateTableSearchCV(model, grid, epsilon=epsilon, **params).fit(*data, groups=groups)
    return of_search(found) | {"coef_": found.best_estimator_.coef_}


NORMS = {"max_norm": [0.5, 1.0, 2.0]}

# ---------------------------------------------------------------- papers


def curator(curated=GaussianCurator, ledger=None, **params):
    if curated is GaussianCurator:
        params = {"max_norm": 0.5, "ledger": ledger, **params}
    found = curated(**params).fit(XR[:200])  # of full rank
    names = ("sigma_", "privacy_", "guarantee_", "n_components_", "omega_")
    shown = {name: getattr(found, name) for name in names if hasattr(found, name)}
    return shown | {"released_": found.released_[:3]}


PRIOR_OF_ROWS = dict(length_scale=1.0, noise=0.1, prior_mean=0.0, prior_scale=1.0)


def outsourced():
    curated = GaussianCurator(epsilon=20.0, max_norm=0.5).fit(X[:60])
    modeler = optimize(curated, lambda row: float(X[row, 0]), 5, start=[3], **PRIOR_OF_ROWS)
    return {"rows": modeler.rows, "best": modeler.best()}


def in_messages():
    curated = CuratorSide(GaussianCurator(epsilon=20.0).fit(X[:60]), lambda row: float(X[row, 0]))
    other, sent = ModelerSide(curated.table(), 4, **PRIOR_OF_ROWS), []
    while curated.result is None:
        sent.append(other.ask())
        if (answer := curated.answer(sent[-1])) is not None:
            other.tell(answer)
    return {"sent": sent, "result": curated.result}


def knapsacks(n=40):
    rng = np.random.default_rng(0)
    for _ in range(n):
        sizes = rng.uniform(1, 9, size=10)
        yield KnapsackItems(sizes * rng.lognormal(0, 0.5, size=10), sizes, capacity=20)


def graphs(n=40):
    rng = np.random.default_rng(0)
    for _ in range(n):
        yield Graph(
            rng.uniform(size=6), [(i, j) for i in range(6) for j in range(i) if (i + j) % 3]
        )


def configurator(family=None, instances=knapsacks, ledger=None, **params):
    family = Knapsack() if family is None else family
    params = {"utility_bound": 1.0, "epsilon": 1.0, "grid_size": 64, "ledger": ledger, **params}
    found = PrivateConfigurator(family, **params).fit(list(instances()))
    return released(found, "best_parameter_", "best_score_", "best_score_interval_")


# ---------------------------------------------------------------- texts of reports


def forms_of_threshold(ledger):
    tuned = PrivateThresholdClassifier(GaussianNB(), thresholds=99, ledger=ledger, random_state=0)
    return forms(tuned.fit(**halves(X, y), groups_val=GROUPS).privacy_)


def forms_of_search():
    found = PrivateBayesSearchCV(
        DecisionTreeClassifier(random_state=0),
        TREES,
        strategy=GPNoisy(noise=0.2, **PRIOR),
        epsilon=20.0,
        delta=0.01,
        n_iter=4,
        random_state=0,
    )
    return forms(found.fit(**halves(X, y)).privacy_)


def forms_of_table():
    model = PrivateLogisticRegression(bounds=(-5, 5), max_iter=3, classes=[0, 1])
    return forms(PrivateTableSearchCV(model, NORMS, n_fits=2, random_state=0).fit(X, y).privacy_)


# ---------------------------------------------------------------- the runs


def without_ledger():
    """Fit again and again: warnings count the fits of the process."""
    for run in (coarse, evaluation, comparison, search, ridge, table, curator):
        run()
    configurator()
    return {}


# Rows of other kinds; labels that no model knows, and records that none can predict.
FRAME = pd.DataFrame(X, columns=list("abcdef"))
NAMED = np.where(y == 1, "ill", "well").astype(object)
UNKNOWN, GAPS = NAMED.copy(), X.copy()
UNKNOWN[H::9], GAPS[H::7, 0] = "unknown", np.nan
ODD = (GAPS, UNKNOWN)

RUNS = {
    "threshold": threshold,
    **{
        f"threshold, {scoring}": partial(coarse, scoring=scoring)
        for scoring in ("f1", "accuracy", "matthews_corrcoef")
    },
    "threshold, groups": partial(coarse, groups=GROUPS),
    "threshold, small epsilon": partial(coarse, epsilon=0.05, score_share=0.3),
    "threshold, error in score_share": partial(coarse, score_share=0.0),
    "threshold, given ones": partial(threshold, thresholds=[0.1, 0.5], prediction="together"),
    "threshold, weak": partial(coarse, epsilon=20.0),
    "threshold, held out": partial(coarse, data={"X": X, "y": y}),
    "threshold, own code": partial(coarse, OWN_CODE),
    "threshold, odd records": partial(coarse, data=halves(*ODD)),
    "threshold, ledger": partial(with_ledger, coarse),
    "threshold, error in epsilon": partial(coarse, epsilon=-1),
    "threshold, error in groups": partial(coarse, groups=GROUPS[:5]),
    "threshold, error in predictions": partial(coarse, BatchDependent(), prediction="together"),
    "evaluation": evaluation,
    "evaluation, three classes": partial(evaluation, data=(X3, y3)),
    "evaluation, regressor": partial(evaluation, Ridge(), (XR, yR)),
    "evaluation, clipped": partial(evaluation, Ridge(), (XR, yR), largest_error=0.05),
    "evaluation, groups": partial(evaluation, groups_val=GROUPS),
    "evaluation, subgroups": by_subgroup,
    "evaluation, small epsilon": partial(evaluation, epsilon=0.01),
    "evaluation, weak": partial(evaluation, epsilon=30.0),
    "evaluation, own code": partial(evaluation, OWN_CODE, thresholds=(0.3,)),
    "evaluation, frame": partial(evaluation, data=(FRAME, NAMED)),
    "evaluation, sparse rows": partial(evaluation, Ridge(), (csr_array(XR), yR)),
    "evaluation, odd records": partial(evaluation, data=ODD),
    "evaluation, ledger": partial(with_ledger, evaluation),
    "evaluation, error in epsilon": partial(evaluation, epsilon=0),
    "evaluation, error in rows": partial(evaluation, X_val=None),
    "evaluation, error in predictions": partial(
        evaluation, BatchDependent(), prediction="together"
    ),
    "comparison": comparison,
    "comparison, three classes": partial(comparison, (X3, y3)),
    "comparison, accuracy": partial(comparison, scoring="accuracy"),
    "comparison, thresholds": partial(comparison, thresholds=(0.3, 0.4)),
    "comparison, groups": partial(comparison, groups_val=GROUPS),
    "comparison, small epsilon": partial(comparison, epsilon=0.01),
    "comparison, weak": partial(comparison, epsilon=30.0),
    "comparison, odd records": partial(comparison, ODD),
    "comparison, ledger": partial(with_ledger, comparison),
    "comparison by f1": partial(comparison, scoring="f1"),
    "comparison, error in scoring": partial(comparison, scoring="roc_auc"),
    **{f"search, {release}": partial(search, release=release) for release in ("best", "all")},
    "search, all, delta": partial(search, release="all", delta=1e-6, epsilon=2.0),
    "search, evaluation": partial(search, release="evaluation", scoring="f1"),
    "search, evaluation beside": partial(search, release="evaluation", scoring="accuracy"),
    "search, subgroups": partial(
        search,
        release="evaluation",
        fit={"subgroups_val": SEX, "subgroups": {"sex": ["f", "m"]}},
    ),
    "search, groups": partial(search, scoring="f1", fit={"groups_val": GROUPS}),
    "search, roc_auc": partial(search, scoring="roc_auc"),
    "search, several metrics": partial(search, scoring=["accuracy", "roc_auc"], refit="accuracy"),
    "search, regressor": partial(
        search,
        DecisionTreeRegressor(random_state=0),
        TREES,
        (XR, yR),
        scoring="neg_mean_absolute_error",
    ),
    "search, r2": partial(
        search, DecisionTreeRegressor(random_state=0), {"max_depth": [1, 4]}, (XR, yR)
    ),
    "search, own metric": partial(search, scoring=OWN_SCORER),
    "search, own code": partial(search, OWN_CODE, {"gaussiannb__var_smoothing": [0.1, 1.0]}),
    "search, public guidance": partial(
        search, DecisionTreeClassifier(random_state=0), TREES, n_iter=9
    ),
    "search, no guidance": partial(
        search,
        DecisionTreeClassifier(random_state=0),
        TREES,
        n_iter=6,
        strategy=WorstCase(guidance="none"),
    ),
    "search, without a score": partial(search, strategy=WorstCase(score_share=0.0)),
    "search, held out": partial(search, split=False),
    "search, frame": partial(search, data=(FRAME, NAMED), scoring="f1_macro", verbose=1),
    "search, odd records": partial(search, data=ODD, scoring="balanced_accuracy"),
    "search, ledger of parts": partial(with_ledger, search, part="women", parts=("women", "men")),
    "search, small epsilon": partial(search, epsilon=0.01),
    "search, weak": partial(search, epsilon=20.0, delta=0.01, release="all"),
    "search, ledger": partial(with_ledger, search),
    "search, ledger of patients": partial(
        with_ledger, partial(search, fit={"groups_val": GROUPS}), unit="patient"
    ),
    "search, ledger of another unit": partial(with_ledger, search, unit="patient"),
    "search, error in epsilon": partial(search, epsilon=float("nan")),
    "search, error in scoring": partial(search, scoring="silhouette"),
    "search, error in groups": partial(search, fit={"groups_val": GROUPS[:5]}),
    "search, error in fit": partial(search, fit={"eval_set": [(X, y)]}),
    "search, error as all candidates fail": partial(search, grid={"var_smoothing": [-1.0, -2.0]}),
    "search, one candidate fails": partial(search, grid={"var_smoothing": [0.1, -2.0]}),
    "search, error in predictions": partial(search, BatchDependent(), {}, prediction="together"),
    "GPNoisy": partial(in_secret, strategy=GPNoisy(noise=0.2, **PRIOR)),
    "GPNoisy, learnt": partial(in_secret, strategy=GPNoisy(), n_iter=18),
    "GPNoisy, without a score": partial(
        in_secret, strategy=GPNoisy(noise=0.2, score_share=0, **PRIOR)
    ),
    "GPNoisy, ledger": partial(
        with_ledger, partial(secret, TREES, strategy=GPNoisy(noise=0.2, **PRIOR)), delta=0.02
    ),
    "GPNoisy, ledger of worst cases": partial(
        with_ledger,
        partial(secret, TREES, strategy=GPNoisy(noise=0.2, **PRIOR)),
        worst_case_only=True,
        delta=0.02,
    ),
    "GPNoiseFree": partial(lattice, strategy=of_lattice(A=5.0, tau=0.5, **PRIOR)),
    "GPNoiseFree, without a score": partial(lattice, strategy=of_lattice(score_share=0, **PRIOR)),
    "GPNoiseFree, error in A": partial(lattice, strategy=GPNoiseFree()),
    "LipschitzConvex": partial(lipschitz, strategy=LipschitzConvex()),
    "LipschitzConvex, groups": partial(
        lipschitz, strategy=LipschitzConvex(), fit={"groups_val": GROUPS}
    ),
    "LipschitzConvex, error in metric": partial(
        search,
        LINEAR,
        {"logisticregression__C": [0.1, 1.0]},
        refit=False,
        strategy=LipschitzConvex(),
    ),
    "logistic": logistic,
    "logistic, bounds": partial(logistic, bounds=(-5, 5), max_norm=2.0),
    "logistic, groups": partial(logistic, groups=IN_GROUPS),
    "logistic, categories": partial(
        fitted,
        PrivateLogisticRegression,
        (TOWNS, y),
        classes=[0, 1],
        max_iter=5,
        categories={2: "frequent"},
    ),
    "logistic, weak": partial(logistic, epsilon=20.0, delta=0.01),
    "logistic, ledger": partial(with_ledger, logistic),
    "logistic, error in bounds": partial(logistic, bounds=(5, -5)),
    "ridge": ridge,
    "ridge, bounds": partial(ridge, bounds=(-4, 4)),
    "ridge, groups": partial(ridge, groups=IN_GROUPS),
    "ridge, ledger": partial(with_ledger, ridge),
    "ridge, error in y_bounds": partial(ridge, y_bounds=None),
    "classifier": classifier,
    "classifier, groups": partial(classifier, groups=IN_GROUPS),
    "classifier, bounds": partial(classifier, bounds=(-5, 5)),
    "classifier, three classes": partial(
        fitted, PrivateClassifier, (X3[:, :2], y3), classes=[0, 1, 2], **small
    ),
    "regressor": regressor,
    "regressor, categories": partial(
        fitted, PrivateRegressor, (TOWNS, yR), categories={2: "frequent"}, **small
    ),
    "regressor, groups": partial(regressor, groups=IN_GROUPS, bounds=(-4, 4)),
    "table": table,
    "table, few fits": partial(table, grid=NORMS, n_fits=2, verbose=1),
    "table, odd records": partial(table, data=(np.where(X > 2, np.nan, X), y)),
    "table, secret number of fits": partial(table, grid=NORMS, n_fits=6),
    "table, evaluation": partial(table, release="evaluation"),
    "table, groups": partial(table, grid=NORMS, groups=IN_GROUPS, epsilon=4.0),
    "table, f1": partial(table, grid=NORMS, scoring="f1", epsilon=4.0),
    "table, ridge": partial(
        table, PrivateRidge(y_bounds=(-6, 6)), {"alpha": [0.1, 1.0, 10.0]}, (XR, yR)
    ),
    "table, weak": partial(table, epsilon=20.0, delta=0.01),
    "table, ledger": partial(with_ledger, table),
    "table, error in model": partial(table, GaussianNB()),
    "table, error in delta": partial(table, delta=2),
    "curator": curator,
    "curator, any rows": partial(curator, max_norm=None, distance=0.5),
    "curator, weak": partial(curator, epsilon=20.0, delta=0.01),
    "curator, ledger": partial(with_ledger, curator, unit="row within 1"),
    "curator, ledger of another unit": partial(with_ledger, curator),
    "curator, error in delta": partial(curator, delta=0.0),
    "curator, projection": partial(curator, ProjectionCurator, n_components=3, random_state=0),
    "modeler": outsourced,
    "modeler, messages": in_messages,
    "configurator": configurator,
    "configurator, graphs": partial(configurator, IndependentSet(), graphs, utility_bound=6.0),
    "configurator, weak": partial(configurator, epsilon=20.0),
    "configurator, without a score": partial(configurator, score_share=0.0),
    "configurator, ledger": partial(with_ledger, configurator),
    "configurator, ledger of another unit": partial(with_ledger, configurator, unit="instance"),
    "configurator, error in epsilon": partial(configurator, epsilon=0),
    "report, groups and ledger": partial(with_ledger, forms_of_threshold, unit="patient"),
    "report, assumption": forms_of_search,
    "report, one table": forms_of_table,
    "without a ledger": without_ledger,
    "search, two jobs": partial(search, n_jobs=2, release="evaluation"),
    "PublishedGPNoisy": partial(in_secret, strategy=PublishedGPNoisy(noise=0.2, **PRIOR)),
    "ArxivGPNoisy": partial(in_secret, strategy=ArxivGPNoisy(noise=0.2, **PRIOR)),
    "ArxivGPNoiseFree": partial(
        lattice, strategy=ArxivGPNoiseFree(A=5.0, tau=0.5, max_level=3, **PRIOR)
    ),
    "PublishedLipschitzConvex": partial(lipschitz, strategy=PublishedLipschitzConvex()),
}
SLOW = ("search, two jobs",)


if __name__ == "__main__":
    # The module by its name: texts name where a user's code is from.
    import golden

    print("runs of", sklearn_dpbo.__file__)
    write(Path(sys.argv[1]), {name: record(run) for name, run in golden.RUNS.items()})

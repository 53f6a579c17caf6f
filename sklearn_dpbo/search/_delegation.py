"""Delegation to the inner estimator, as in scikit-learn's meta-estimators (zone: released)."""

from __future__ import annotations

import sys
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..exceptions import PrivacyWarning
from ..learners._private_training import what_learns
from ..metrics._make import NO_WEIGHTS, selecting_scorer
from ..metrics._scorers import PrivateScorer
from ..prediction.session import Session
from ..privacy.report._report import PrivacyReport
from ..privacy.spending import Spending
from ..privacy.warn import warn
from ..records.remembered import was_scored_on
from ._parameters import check_named
from ._released import SearchResult


def delegate(name: str, summary: str) -> Any:
    """Make a method that calls the fitted estimator's method of the same name."""

    def method(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self._delegate(name), name)(X)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""{summary}

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records, passed on as they are.

        Returns
        -------
        result : what the fitted estimator's `{name}` returns
        """
    return available_if(lambda self: hasattr(self._delegate(name), name))(method)


def _attribute(name: str, what: str) -> property:
    def get(self: Any) -> Any:
        check_is_fitted(self)  # raises an AttributeError, too
        return getattr(self._delegate(name), name)

    return property(get, doc=f"{what} of the fitted estimator.")


class Delegates(BaseEstimator):
    """Methods and attributes of a fitted estimator, and tags of ``estimator``."""

    estimator: Any

    predict_proba = delegate("predict_proba", "Predict class probabilities.")
    predict_log_proba = delegate("predict_log_proba", "Predict class log-probabilities.")
    decision_function = delegate("decision_function", "Return decision values.")
    classes_ = _attribute("classes_", "Class labels")
    n_features_in_ = _attribute("n_features_in_", "Number of features")
    feature_names_in_ = _attribute("feature_names_in_", "Names of features, if it had names,")

    def _delegate(self, name: str) -> Any:
        """Return the fitted estimator, or `estimator` before `fit`; may raise AttributeError."""
        return getattr(self, "estimator_", self.estimator)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags


class _IfReleased:
    """Attribute that a search may not have released; reading it then raises, and says why."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, search: Any, owner: type | None = None) -> Any:
        if search is None:
            return self
        check_is_fitted(search)
        raise AttributeError(f"{type(search).__name__} has no {self._name}: {self._why}")


_IF_RELEASED: Any = _IfReleased
_NO_SCORE = "no score was released, as all of epsilon paid for the choice (score_share=0)"


class DelegatesToBest(Delegates):
    """Methods and attributes of ``best_estimator_``, and tags of ``estimator``."""

    best_estimator_: Any
    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float = _IF_RELEASED(_NO_SCORE)
    best_score_interval_: tuple[float, float] = _IF_RELEASED(_NO_SCORE)
    best_score_population_interval_: tuple[float, float] = _IF_RELEASED(_NO_SCORE)
    evaluation_: Any = _IF_RELEASED('no evaluation was released; release="evaluation" adds one')
    cv_results_: dict[str, Any]
    privacy_: PrivacyReport
    released_: SearchResult
    scorer_: PrivateScorer

    predict = delegate("predict", "Predict with the best estimator.")
    score_samples = delegate("score_samples", "Score each record, e.g. its log-density.")
    transform = delegate("transform", "Transform with the best estimator.")
    inverse_transform = delegate("inverse_transform", "Undo `transform`.")
    # scikit-learn's diagram of a search: of `best_estimator_`, if there is one.
    _sk_visual_block_ = GridSearchCV._sk_visual_block_

    def _delegate(self, name: str) -> Any:
        if self.refit:
            return getattr(self, "best_estimator_", self.estimator)
        raise AttributeError(
            f"This {type(self).__name__} was made with refit=False: {name} needs a model. Fit one "
            "with clone(search.estimator).set_params(**search.best_params_), on records that need "
            "no protection: another fit on protected ones costs again"
        )

    def score(self, X: Any = None, y: Any = None, sample_weight: Any = None) -> float:
        """Return the score of the best estimator on data that need no protection.

        It is computed exactly, *without privacy*: do not publish the score on protected records,
        publish ``best_score_`` instead. Called with the object that `fit` had as X_val, it warns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Public records, or records of your own.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Their targets; None if the scoring needs none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the records. With metadata routing, other estimators pass them on if the
            search requests them (`set_score_request`) or, if `scoring` is None, its estimator does.

        Returns
        -------
        score : float
        """
        estimator = self._delegate("score")
        check_is_fitted(self)
        if X is None:
            raise TypeError(
                f"{type(self).__name__}.score() scores the best estimator on records that you "
                "pass, X and y; the score that was released is best_score_"
            )
        if was_scored_on(self, X):
            warn(
                "score() of protected records is exact, without privacy: publish best_score_ "
                "instead",
                PrivacyWarning,
            )
        return selecting_scorer(self)(estimator, X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        for name in ("classifier_tags", "regressor_tags", "transformer_tags"):
            setattr(tags, name, deepcopy(getattr(inner, name)))
        return tags


def public_generator(random_state: Any) -> np.random.Generator:
    """Make a generator of public randomness, seeded by a `random_state`."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))


def replace_fitted(estimator: Any, fitted: dict[str, Any]) -> None:
    """Replace all fitted attributes at once, so that an interrupted `fit` cannot mix old and new.

    Call it last in `fit`, after everything that may fail.
    """
    kept = {k: v for k, v in vars(estimator).items() if not k.endswith("_")}
    estimator.__dict__ = {**kept, **fitted}


def refuse_dispatch(X: Any) -> None:
    """Raise ValueError if scikit-learn would dispatch X to another library than numpy.

    Models are fitted on numpy's arrays, and would then refuse to predict those of the other.
    """
    of_other_library = hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray)
    if of_other_library and get_config()["array_api_dispatch"]:
        library = type(X).__module__.split(".")[0]
        raise ValueError(
            "models are fitted on numpy's arrays here and, with array_api_dispatch=True, would "
            f"refuse to predict those of {library}: pass np.asarray(X), here and to predict, or "
            "call sklearn.set_config(array_api_dispatch=False)"
        )


def refuse_steps_before(estimator: Any, *, protects_all: bool = False) -> None:
    """Raise ValueError if a pipeline that fits this estimator has transformed X, and not X_val.

    If `fit` protects all records (`protects_all`): if steps of the pipeline have learnt from X. A
    pipeline does not tell its steps that it fits them, so it is looked for among the callers.
    """
    fault = "transformed X, and X_val came as it was"
    if protects_all:
        fault = "learnt from X, which nothing protects"

    def harmless(step: Any) -> bool:
        return what_learns(step) is None if protects_all else step in (None, "passthrough")

    frame: Any = sys._getframe(1)
    while frame is not None:
        is_fit = frame.f_code.co_name.startswith("fit")
        if is_fit and isinstance(pipeline := frame.f_locals.get("self"), Pipeline):
            passed = "X_val" in (getattr(pipeline, "transform_input", None) or ())
            harmful = [name for name, step in pipeline.steps[:-1] if not harmless(step)]
            if harmful and (protects_all or not passed):
                raise ValueError(
                    f"the steps {harmful} of the pipeline have {fault}: search over the whole "
                    f"pipeline, {type(estimator).__name__}(make_pipeline(...), ...)"
                )
        frame = frame.f_back


class RoutesToEstimator:
    """Routes fit parameters to ``estimator`` and to the splitter ``cv``."""

    estimator: Any
    cv: Any
    scoring: Any
    random_state: Any

    def _hold_out(
        self, X: Any, y: Any, fit_params: dict[str, Any], spending: Spending, **validation: Any
    ) -> tuple[Session, np.random.Generator]:
        """Start the session that owns the validation set; also return a public generator.

        `validation` has the arguments X_val, y_val, ... of `fit`. If X_val is None, the validation
        set is held out from X.
        """
        check_named(self, fit_params)
        if X is None:
            raise ValueError("X is None: pass the records to fit on as X")
        refuse_dispatch(X)
        if validation["X_val"] is not None:
            refuse_steps_before(self)
        rng = check_random_state(self.random_state)
        params, split_params = self._route(fit_params)
        split = {"cv": self.cv, "rng": rng, "split_params": split_params}
        session = Session.holding(spending, self.estimator, X, y, params, **split, **validation)
        return session, public_generator(rng)

    def _route(self, fit_params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Divide fit parameters into those of the estimator and those of the splitter.

        Without metadata routing, "groups" is the splitter's, and all others are the estimator's.
        """
        if get_config()["enable_metadata_routing"] and fit_params:
            scores = self.scoring is None and get_routing_for_object(self.estimator)
            if scores and (requested := scores.consumes("score", fit_params)):
                names = sorted(requested)
                raise ValueError(f"the score of estimator requests {names}: {NO_WEIGHTS}")
            routed = process_routing(self, "fit", **fit_params)
            return routed["estimator"]["fit"], routed["splitter"]["split"]
        groups = {name: fit_params[name] for name in fit_params.keys() & {"groups"}}
        return {k: v for k, v in fit_params.items() if k not in groups}, groups

    def get_metadata_routing(self) -> Any:
        """Return the routing of metadata: to the estimator's `fit` and the splitter's `split`.

        Sample weights of `score` are requested if the estimator requests them, as in GridSearchCV;
        not if `scoring` is set, or if `set_score_request` of the search says otherwise.

        Returns
        -------
        routing : MetadataRouter
        """
        request = BaseEstimator.get_metadata_routing(self)
        scores = getattr(get_routing_for_object(self.estimator), "score", None)
        unset = request.score.requests.get("sample_weight") is None
        if self.scoring is None and unset and scores is not None:
            weights = scores.requests.get("sample_weight")
            request.score.add_request(param="sample_weight", alias=weights)
        router = MetadataRouter(owner=self).add_self_request(request)
        fits = MethodMapping().add(caller="fit", callee="fit")
        splits = MethodMapping().add(caller="fit", callee="split")
        router.add(estimator=self.estimator, method_mapping=fits)
        return router.add(splitter=self.cv, method_mapping=splits)

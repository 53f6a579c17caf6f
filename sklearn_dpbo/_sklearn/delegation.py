"""Delegation to the inner estimator, as in scikit-learn's meta-estimators (zone: released)."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..report._report import PrivacyReport
from ..scoring._make import NO_WEIGHTS, selecting_scorer
from ..scoring._scorers import PrivateScorer

__all__ = [
    "DelegatesToBest",
    "RoutesToEstimator",
    "attributes_of",
    "delegate",
    "replace_fitted",
]


def _best_has(attribute: str) -> Callable[[Any], bool]:
    """Return a check that the refitted estimator (the given one before `fit`) has an attribute."""

    def check(self: Any) -> bool:
        if not self.refit:
            again = (
                "the estimator refitted with best_params_. Refit it yourself with "
                "clone(search.estimator).set_params(**search.best_params_).fit(X_train, y_train)"
            )
            if getattr(self, "protect", None) == "all":
                again = "the model that was chosen, which was dropped. Another fit costs again"
            raise AttributeError(
                f"This {type(self).__name__} was made with refit=False: {attribute} needs {again}"
            )
        getattr(getattr(self, "best_estimator_", self.estimator), attribute)
        return True

    return check


def delegate(
    name: str,
    summary: str,
    *,
    to: str = "best_estimator_",
    check: Callable[[str], Callable[[Any], bool]] = _best_has,
) -> Any:
    """Return a method that calls the method of the same name of a fitted attribute.

    Parameters
    ----------
    name : str
        Name of the method.
    summary : str
        First line of its docstring.
    to : str, default="best_estimator_"
        The fitted attribute.
    check : callable, default=_best_has
        Takes the name and returns a condition for `available_if`.
    """

    def method(self: Any, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(getattr(self, to), name)(X)

    method.__name__ = name
    method.__doc__ = f"""{summary}

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records, passed on as they are.

        Returns
        -------
        result : what ``{to}.{name}(X)`` returns
        """
    return available_if(check(name))(method)


def attributes_of(fitted: str) -> tuple[Any, Any, Any]:
    """Return properties classes_, n_features_in_ and feature_names_in_ of a fitted attribute."""

    def delegated(name: str, what: str) -> property:
        def get(self: Any) -> Any:
            if not hasattr(self, fitted):
                raise AttributeError(f"{type(self).__name__} has no {name} without {fitted}")
            return getattr(getattr(self, fitted), name)

        return property(get, doc=f"{what} of ``{fitted}``.")

    return (
        delegated("classes_", "Class labels"),
        delegated("n_features_in_", "Number of features"),
        delegated("feature_names_in_", "Names of features, if it had names,"),
    )


def replace_fitted(estimator: Any, fitted: dict[str, Any]) -> None:
    """Replace all fitted attributes at once, so that an interrupted `fit` cannot mix old and new.

    Call it last in `fit`, after everything that may fail.
    """
    kept = {k: v for k, v in vars(estimator).items() if not k.endswith("_")}
    estimator.__dict__ = {**kept, **fitted}


class DelegatesToBest(BaseEstimator):
    """Methods and attributes of ``best_estimator_``, and tags of ``estimator``."""

    estimator: Any
    best_estimator_: Any
    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    best_score_interval_: tuple[float, float]
    cv_results_: dict[str, Any]
    privacy_: PrivacyReport
    scorer_: PrivateScorer

    predict = delegate("predict", "Predict with the best estimator.")
    predict_proba = delegate("predict_proba", "Predict class probabilities.")
    predict_log_proba = delegate("predict_log_proba", "Predict class log-probabilities.")
    decision_function = delegate("decision_function", "Return decision values.")
    score_samples = delegate("score_samples", "Score each record, e.g. its log-density.")
    transform = delegate("transform", "Transform with the best estimator.")
    inverse_transform = delegate("inverse_transform", "Undo `transform`.")

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> float:
        """Return the score of the best estimator on data that need no protection.

        It is computed exactly, *without privacy*: do not publish the score on the validation set,
        publish ``best_score_`` instead.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Public records, or records of your own.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Their targets; None if the scoring needs none.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the records. With metadata routing, other estimators pass them on if the
            search requests them (`set_score_request`) or, if `scoring` is None, its estimator does.
        **params : dict
            With metadata routing: the weights, by the name that they are requested by.

        Returns
        -------
        score : float
        """
        _best_has("fit")(self)
        check_is_fitted(self)
        if params:
            sample_weight = _requested_weights(self, params)
        return selecting_scorer(self)(self.best_estimator_, X, y, sample_weight)

    classes_, n_features_in_, feature_names_in_ = attributes_of("best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        tags.transformer_tags = deepcopy(inner.transformer_tags)
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags


class RoutesToEstimator:
    """Routes fit parameters to ``estimator`` and to the splitter ``cv``."""

    estimator: Any
    cv: Any
    scoring: Any

    def _route(self, fit_params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the fit parameters of "estimator" and of "splitter".

        Without metadata routing, "groups" is the splitter's and the rest the estimator's.
        """
        if get_config()["enable_metadata_routing"] and fit_params:
            scores = self.scoring is None and get_routing_for_object(self.estimator)
            if scores and (given := scores.consumes("score", fit_params)):
                raise ValueError(f"the score of estimator requests {sorted(given)}: {NO_WEIGHTS}")
            routed = process_routing(self, "fit", **fit_params)
            return {
                "estimator": routed["estimator"]["fit"],
                "splitter": routed["splitter"]["split"],
            }
        groups = {k: v for k, v in fit_params.items() if k == "groups"}
        rest = {k: v for k, v in fit_params.items() if k != "groups"}
        return {"estimator": rest, "splitter": groups}

    def get_metadata_routing(self) -> Any:
        """Return the routing of metadata: to the estimator's `fit` and the splitter's `split`.

        Returns
        -------
        routing : MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(_requests(self))
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )


def _requests(search: Any) -> Any:
    """Return what a search requests; weights of `score` as its estimator does, where that scores.

    As in GridSearchCV. What `set_score_request` of the search itself said has precedence.
    """
    own = BaseEstimator.get_metadata_routing(search)
    scores = getattr(get_routing_for_object(search.estimator), "score", None)
    unset = own.score.requests.get("sample_weight") is None
    if search.scoring is None and unset and scores is not None:
        requested = scores.requests.get("sample_weight")
        own.score.add_request(param="sample_weight", alias=requested)
    return own


def _requested_weights(search: Any, params: dict[str, Any]) -> Any:
    """Return the weights that were passed to `score` by the name that they are requested by."""
    if not get_config()["enable_metadata_routing"]:
        raise TypeError(
            f"{type(search).__name__}.score was given {sorted(params)}: it takes sample_weight "
            "alone, and other names only with scikit-learn's metadata routing enabled"
        )
    mapping = MethodMapping().add(caller="score", callee="score")
    router = MetadataRouter(owner=search).add(scorer=_requests(search), method_mapping=mapping)
    router.validate_metadata(method="score", params=params)
    return router.route_params(caller="score", params=params)["scorer"]["score"]["sample_weight"]

"""What a fitted search passes on to its best estimator, as `GridSearchCV` does (zone: released)."""

from __future__ import annotations

from copy import deepcopy

from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

__all__ = ["DelegatesToBest"]


def _best_has(attribute: str):
    """Return a check that the refitted (or, before `fit`, the given) estimator has this."""

    def check(self) -> bool:
        if not self.refit:
            raise AttributeError(
                f"This {type(self).__name__} was made with refit=False: {attribute} needs the "
                "estimator refitted with best_params_. Refit it yourself with "
                "clone(search.estimator).set_params(**search.best_params_).fit(X_train, y_train)"
            )
        getattr(getattr(self, "best_estimator_", self.estimator), attribute)
        return True

    return check


def _delegate(name: str, summary: str):
    def method(self, X):
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X)

    method.__name__ = name
    method.__doc__ = f"""{summary}

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        result : what ``best_estimator_.{name}(X)`` returns
        """
    return available_if(_best_has(name))(method)


class DelegatesToBest:
    """Methods and attributes of ``best_estimator_``, and tags of ``estimator``."""

    predict = _delegate("predict", "Predict with the best estimator.")
    predict_proba = _delegate("predict_proba", "Predict class probabilities.")
    predict_log_proba = _delegate("predict_log_proba", "Predict class log-probabilities.")
    decision_function = _delegate("decision_function", "Return decision values.")
    score_samples = _delegate("score_samples", "Score each record, e.g. its log-density.")
    transform = _delegate("transform", "Transform with the best estimator.")
    inverse_transform = _delegate("inverse_transform", "Undo `transform`.")

    def score(self, X, y=None) -> float:
        """Return the score of the best estimator on data that need no protection.

        It is computed exactly, *without privacy*: do not call it on the validation set and
        publish the result; that is what ``best_score_`` is for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None

        Returns
        -------
        score : float
        """
        _best_has("fit")(self)
        check_is_fitted(self)
        return self.scorer_(self.best_estimator_, X, y)

    def _of_best(self, attribute: str):
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no {attribute} before it is refitted")
        return getattr(self.best_estimator_, attribute)

    @property
    def classes_(self):
        """Class labels of the best estimator."""
        return self._of_best("classes_")

    @property
    def n_features_in_(self):
        """Number of features that the best estimator was fitted on."""
        return self._of_best("n_features_in_")

    @property
    def feature_names_in_(self):
        """Names of the features that the best estimator was fitted on, if it had names."""
        return self._of_best("feature_names_in_")

    def __sklearn_tags__(self):
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = deepcopy(inner.classifier_tags)
        tags.regressor_tags = deepcopy(inner.regressor_tags)
        tags.transformer_tags = deepcopy(inner.transformer_tags)
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags

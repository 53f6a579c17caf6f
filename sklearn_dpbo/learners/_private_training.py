"""Declarations of estimators, of pipelines and of other packages' models (zone: public)."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures
from sklearn.utils import get_tags

from ._declaration import PrivateTraining
from ._interpret import CLASSIFIER, boosting


def private_training(estimator: Any) -> PrivateTraining:
    """Return the estimator's declaration of its guarantee; ValueError if it has none."""
    if isinstance(estimator, Pipeline):
        for name, step in estimator.steps[:-1]:
            if (learner := what_learns(step)) is not None:
                raise ValueError(
                    f"the step {name!r} of the pipeline learns from the records that it is fitted "
                    f"on, or may do so, without protecting them: {learner!r}. Leave out "
                    "scalers and imputers: the learners of this package scale columns and fill in "
                    "missing numbers. For other steps, use public parameters: "
                    "OneHotEncoder(categories=[...], sparse_output=False, "
                    'handle_unknown="ignore"), OrdinalEncoder(categories=[...], '
                    'handle_unknown="use_encoded_value", unknown_value=-1), PolynomialFeatures, '
                    "FunctionTransformer, or a FrozenEstimator that was fitted on public records"
                )
        step, last = estimator.steps[-1]
        return private_training(last)._within(step)
    # Ask the class: a FrozenEstimator has all attributes of the estimator inside it.
    if callable(getattr(type(estimator), "private_training", None)):
        declared: PrivateTraining = estimator.private_training()
        return declared
    kind = type(estimator)
    if f"{kind.__module__}.{kind.__qualname__}" == CLASSIFIER:
        return boosting(estimator)
    regression = is_regressor(estimator)
    learner = "PrivateRegressor" if regression else "PrivateClassifier"
    raise ValueError(
        f"{kind.__name__} does not protect the records that it is fitted on, or does not declare "
        f"how. Use {learner} of sklearn_dpbo.learners; or give yours a method `private_training`: "
        'see "Your own private estimator" in the documentation'
    )


def what_learns(transformer: Any) -> Any:
    """Return the first part of a transformer that may learn from records; None if there is none."""
    from sklearn.compose import ColumnTransformer  # loads all linear models

    if transformer is None or isinstance(transformer, str | FrozenEstimator):
        return None
    if isinstance(transformer, Pipeline):
        parts = [step for _, step in transformer.steps]
    elif isinstance(transformer, ColumnTransformer):
        parts = [*(part for _, part, _ in transformer.transformers), transformer.remainder]
    elif isinstance(transformer, FeatureUnion):
        parts = [part for _, part in transformer.transformer_list]
    else:
        return None if _has_no_state(transformer) else transformer
    return next((part for part in map(what_learns, parts) if part is not None), None)


def _has_no_state(transformer: Any) -> bool:
    if isinstance(transformer, PolynomialFeatures):
        return True  # it learns the number of columns
    if isinstance(transformer, OneHotEncoder):
        plain = transformer.min_frequency is None and transformer.max_categories is None
        # (A ColumnTransformer's output is sparse or not depending on how many zeros there are.)
        dense = not transformer.sparse_output and transformer.drop is None
        ignores = transformer.handle_unknown in ("ignore", "warn")
        return plain and dense and ignores and not isinstance(transformer.categories, str)
    if isinstance(transformer, OrdinalEncoder):
        ignores = transformer.handle_unknown == "use_encoded_value"
        return ignores and not isinstance(transformer.categories, str)
    return not get_tags(transformer).requires_fit

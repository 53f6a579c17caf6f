"""How an estimator protects its training records (zone: public)."""

from __future__ import annotations

from copy import copy
from typing import Any

from sklearn.base import is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.utils import get_tags

from ._declaration import PrivateTraining
from ._interpret import CLASSIFIER, boosting

__all__ = ["learns_nothing", "private_training", "refitted"]


def private_training(estimator: Any) -> PrivateTraining:
    """Return how an estimator protects its training records."""
    if isinstance(estimator, Pipeline):
        for name, step in estimator.steps[:-1]:
            if not learns_nothing(step):
                raise ValueError(
                    f"the step {name!r} of the pipeline learns from the records that it is fitted "
                    f"on, or is not known not to ({step!r}), without protecting them. Transform "
                    "by public parameters instead: the `bounds` of a private learner, "
                    "OneHotEncoder(categories=[...], sparse_output=False, "
                    'handle_unknown="ignore"), OrdinalEncoder(categories=[...], '
                    'handle_unknown="use_encoded_value", unknown_value=-1), FunctionTransformer, '
                    "or a FrozenEstimator that was fitted on public records"
                )
        step, last = estimator.steps[-1]
        return private_training(last)._within(step)
    # Ask the class: a FrozenEstimator has all attributes of the estimator inside it.
    if callable(getattr(type(estimator), "private_training", None)):
        found: PrivateTraining = estimator.private_training()
        return found
    kind = type(estimator)
    if f"{kind.__module__}.{kind.__qualname__}" == CLASSIFIER:
        return boosting(estimator)
    regression = is_regressor(estimator)
    ours = "PrivateRidge" if regression else "PrivateLogisticRegression or PrivateRidgeClassifier"
    raise ValueError(
        f"{kind.__name__} does not protect the records that it is fitted on, or does not declare "
        f"how. Use {ours} of sklearn_dpbo.learners; or give yours a method `private_training`: see "
        '"Use private learners of other libraries" in the documentation'
    )


def refitted(estimator: Any, params: dict[str, Any]) -> Any:
    """Return a copy of a fitted estimator with other values of parameters in `from_release`."""
    found = copy(estimator)
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        own = {name.removeprefix(f"{step}__"): value for name, value in params.items()}
        found.steps = [*estimator.steps[:-1], (step, refitted(last, own))]
        return found
    return found.refitted(**params)


def learns_nothing(transformer: Any) -> bool:
    """Whether the parameters of a transformer alone decide what it does."""
    from sklearn.compose import ColumnTransformer  # loads all linear models

    if transformer is None or isinstance(transformer, str | FrozenEstimator):
        return True
    if isinstance(transformer, Pipeline):
        return all(learns_nothing(step) for _, step in transformer.steps)
    if isinstance(transformer, ColumnTransformer):
        parts = [*(part for _, part, _ in transformer.transformers), transformer.remainder]
        return all(map(learns_nothing, parts))
    if isinstance(transformer, FeatureUnion):
        return all(learns_nothing(part) for _, part in transformer.transformer_list)
    return _has_no_state(transformer)


def _has_no_state(transformer: Any) -> bool:
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

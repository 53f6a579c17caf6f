"""How an estimator protects its training records (zone: public)."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.utils import get_tags

from .._privacy.runs import COMPOSITIONS, Fit

__all__ = ["PrivateTraining", "learns_nothing", "private_training", "refitted"]

_NEIGHBOURS = {"replace-one": 1, "add-or-remove-one": 2}


@dataclass(frozen=True)
class PrivateTraining:
    """How an estimator protects its training records.

    An estimator returns it from a method `private_training` without arguments. It covers everything
    that the fitted estimator holds, because all of it is released. The declaration is believed: a
    search with ``protect="all"`` is only as private as the declaration is true. `audit_estimator`
    finds some that are false. Two mistakes are common. A fit must not fail because of a record,
    because the failure would reveal it. And the noise must differ from fit to fit: if a parameter
    seeds it, the method should raise ValueError.

    Parameters
    ----------
    composition : {"pure", "zCDP", "GDP", "approximate"}
        What a fit satisfies, besides being (epsilon, delta)-private for the given parameters.
        "pure": epsilon-private. "zCDP": rho-zCDP for some rho that implies (epsilon, delta) by
        Proposition 12 of Canonne, Kamath and Steinke (NeurIPS 2020). "GDP": mu-GDP for the mu that
        implies (epsilon, delta) by Corollary 1 of Dong, Roth and Su (2022). "approximate": nothing
        more; many models then cost much more.
    epsilon, delta : str
        Names of the parameters that set epsilon and delta of a fit. delta is None if there is no
        such parameter; only a "pure" guarantee does without.
    neighbours : {"replace-one", "add-or-remove-one"}
        The neighbouring data sets of the guarantee: one record replaced (the number of records is
        public), or one added or removed. A replacement is one of each, so twice as much is charged.
    groups : str or None
        The argument of `fit` that takes the group of each record, if all records of a group are
        then protected together; None if only single records are protected.
    classes : str or None
        The parameter that takes all labels, which are public; None if there is none. The labels
        of the records then decide what the model can predict.
    target_bounds : str or None
        The parameter with the lowest and the highest target of a regressor, as a pair; None if
        there is none.
    from_release : tuple of str
        Parameters that can be changed after the fit without further privacy loss: the fitted
        estimator has a method `refitted` that takes them by name and uses only what was released.
    condition : str or None
        A condition on the records, in words, for the privacy report, such as "no value is
        missing". None if the guarantee holds for all tables.
    noise : str
        Where the noise comes from, and how exact it is, for the privacy report.
    """

    composition: str
    epsilon: str = "epsilon"
    delta: str | None = "delta"
    neighbours: str = "replace-one"
    groups: str | None = None
    classes: str | None = None
    target_bounds: str | None = None
    from_release: tuple[str, ...] = ()
    condition: str | None = None
    noise: str = "not described"

    def __post_init__(self) -> None:
        if self.composition not in COMPOSITIONS:
            raise ValueError(f"composition is one of {COMPOSITIONS}; found {self.composition!r}")
        if self.neighbours not in _NEIGHBOURS:
            raise ValueError(f"neighbours is one of {[*_NEIGHBOURS]}; found {self.neighbours!r}")
        if self.delta is None and self.composition != "pure":
            raise ValueError(f"a guarantee of kind {self.composition!r} needs a delta; found None")

    @property
    def fit(self) -> Fit:
        """Cost of one fit, for neighbouring data sets in which one unit is replaced."""
        return Fit(self.composition, _NEIGHBOURS[self.neighbours])

    def within(self, step: str) -> PrivateTraining:
        """Return the same of a pipeline that has this estimator as its last step."""

        def inside(name: str | None) -> str | None:
            return None if name is None else f"{step}__{name}"

        return replace(
            self,
            epsilon=f"{step}__{self.epsilon}",
            delta=inside(self.delta),
            groups=inside(self.groups),
            classes=inside(self.classes),
            target_bounds=inside(self.target_bounds),
            from_release=tuple(f"{step}__{name}" for name in self.from_release),
        )


def private_training(estimator: Any) -> PrivateTraining:
    """Return how an estimator protects its training records."""
    if isinstance(estimator, Pipeline):
        for name, step in estimator.steps[:-1]:
            if (part := _learning(step)) is not None:
                raise ValueError(
                    f"the step {name!r} of the pipeline learns from the records that it is fitted "
                    f"on, or is not known not to ({part!r}), without protecting them. Transform "
                    "by public parameters instead: the `bounds` of a private learner, "
                    "OneHotEncoder(categories=[...], sparse_output=False, "
                    'handle_unknown="ignore"), OrdinalEncoder(categories=[...], '
                    'handle_unknown="use_encoded_value", unknown_value=-1), FunctionTransformer, '
                    "or a FrozenEstimator that was fitted on public records"
                )
        step, last = estimator.steps[-1]
        return private_training(last).within(step)
    # Of the class, because a FrozenEstimator has all attributes of the estimator inside it.
    if callable(getattr(type(estimator), "private_training", None)):
        found: PrivateTraining = estimator.private_training()
        return found
    if (known := _known(estimator)) is not None:
        return known(estimator)
    raise ValueError(
        f"{type(estimator).__name__} does not protect the records that it is fitted on, or does "
        f"not declare how. {_which(estimator)}; or give yours a method `private_training`: see "
        '"Use private learners of other libraries" in the documentation'
    )


def _known(estimator: Any) -> Callable[[Any], PrivateTraining] | None:
    """Return the declaration of a known estimator of another library, by its class name."""
    from ._interpret import KNOWN  # it needs `PrivateTraining`

    kind = type(estimator)
    return KNOWN.get(f"{kind.__module__}.{kind.__qualname__}")


def _which(estimator: Any) -> str:
    if is_regressor(estimator):
        return "Use PrivateRidge of sklearn_dpbo.learners"
    return (
        "Use PrivateLogisticRegression or PrivateRidgeClassifier of sklearn_dpbo.learners, or "
        "interpret's DPExplainableBoostingClassifier"
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
    return _learning(transformer) is None


def _learning(transformer: Any) -> Any:
    """Return a part of a transformer of which that is not known; None if there is none."""
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
    return next((found for part in parts if (found := _learning(part)) is not None), None)


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

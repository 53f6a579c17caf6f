"""Design of a comparison of two models, from public facts (zone: released)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ...privacy.checks import as_floats
from .._agreement import Agreement
from .._histogram import ScoreHistogram
from .._labels import position_of
from .._make import resolve_scorer
from .._queries import Cells, Confusion
from .._registry import OF_MATRIX
from .._scorers import PrivateScorer
from ._comparison import ModelComparison, determined
from ._design import METHODS, check_labels


def comparison_of(
    model_a: Any, model_b: Any, y: Any, scoring: Any, pos_label: Any, thresholds: Any
) -> ModelComparison:
    """Return the comparison to release for two models; ValueError if they are not comparable."""
    for model in (model_a, model_b):
        check_is_fitted(model)
        if not is_classifier(model):
            raise ValueError(f"only classifiers can be compared; found {type(model).__name__}")
        check_labels(model, y)
    classes = np.asarray(model_a.classes_)
    cuts = as_floats(thresholds)
    if not np.array_equal(classes, model_b.classes_):
        raise ValueError(
            f"model_a and model_b must have the same classes; found {classes.tolist()} and "
            f"{np.asarray(model_b.classes_).tolist()}"
        )
    if cuts is None or cuts.shape not in ((0,), (2,)):
        raise ValueError(
            "thresholds must be two numbers, for model_a and model_b, or empty; found "
            f"{thresholds!r}"
        )
    probable = any(hasattr(model, "predict_proba") for model in (model_a, model_b))
    if probable and not ((cuts >= 0) & (cuts <= 1)).all():
        raise ValueError(f"thresholds of probabilities must be in [0, 1]; found {thresholds!r}")
    if len(classes) > 2 and (pos_label is not None or len(cuts)):
        raise ValueError(f"pos_label and thresholds are for two classes; found {len(classes)}")
    positive = 1 if pos_label is None else position_of(pos_label, classes)
    parts: tuple[Cells, ...] = (Confusion(classes),) * 2
    names = [_name_of(model) for model in (model_a, model_b)]
    threshold = None
    if names[0] == names[1]:
        names = [f"model_{letter} ({name})" for letter, name in zip("ab", names, strict=True)]
    if len(cuts):
        names = [f"{name} (positive from {cut:g})" for name, cut in zip(names, cuts, strict=True)]
        threshold = float(cuts[0]) if cuts[0] == cuts[1] else None
        parts = tuple(ScoreHistogram(((c,),), classes, (positive,), METHODS) for c in cuts.tolist())
    query = Agreement(parts, classes)
    scorer = None if scoring is None else _determined(scoring, model_b, query)
    if scorer is not None and OF_MATRIX[scorer.name].follows == "correct":
        query = replace(query, by_class=False)
    comparison = ModelComparison((query,), {}, model_a=names[0], model_b=names[1])
    return replace(comparison, _positive=positive, _threshold=threshold, _scoring=scorer)


def _determined(scoring: Any, model: Any, table: Agreement) -> PrivateScorer:
    """Return the scorer, or raise ValueError if the joint table does not determine its score."""
    scorer = resolve_scorer(scoring, model)
    metrics = [name for name in determined(table) if name in OF_MATRIX]
    if scorer.custom or scorer.name not in metrics:
        raise ValueError(
            f"scoring={scoring!r} is not computed from the joint table of two models' predictions. "
            f"Of {len(table.classes)} classes, these are: {metrics}"
        )
    return scorer


def _name_of(model: Any) -> str:
    """Return the class of a model; of a pipeline, that of its last step."""
    return type(model[-1] if isinstance(model, Pipeline) else model).__name__

"""Reading of evaluations and comparisons from their `to_dict` (zone: released)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...privacy.report._json import require_equal
from ...privacy.report._report import PrivacyReport
from .._released import table_from_json
from ._base import Evaluation
from ._classifier import ClassifierEvaluation
from ._comparison import ModelComparison
from ._regressor import RegressorEvaluation

_BY_KIND: dict[str, Any] = {
    cls.kind: cls for cls in (ClassifierEvaluation, RegressorEvaluation, ModelComparison)
}
KINDS = tuple(_BY_KIND)


def read_evaluation(record: Mapping[str, Any], privacy: PrivacyReport | None = None) -> Evaluation:
    """Compute the evaluation from the counts of a record; its other numbers are not checked.

    In the record of a search, `privacy` is the report of the search.
    """
    privacy = PrivacyReport.from_dict(record["privacy"]) if privacy is None else privacy
    parts, noisy, units = zip(*map(table_from_json, record["tables"]), strict=True)
    design: Evaluation = _BY_KIND[record["kind"]]._of_design(record["design"], parts)
    if isinstance(design, ModelComparison):
        design = replace(design, model_a=record["model_a"], model_b=record["model_b"])
    return design._released(noisy, units[0], privacy, record["design"]["n_compared"])


def evaluation_from_dict(record: Mapping[str, Any]) -> Evaluation:
    """Return the evaluation whose `to_dict` is this record; ValueError if a number differs."""
    evaluation = read_evaluation(record)
    require_equal(evaluation.to_dict(), record, "record")
    return evaluation

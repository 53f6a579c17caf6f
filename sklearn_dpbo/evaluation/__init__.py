"""Evaluations of fitted models on protected records: numbers and figures (zone: released)."""

from ..metrics.evaluations._base import Estimate
from ..metrics.evaluations._classifier import ClassifierEvaluation
from ..metrics.evaluations._comparison import ModelComparison
from ..metrics.evaluations._regressor import RegressorEvaluation
from ._private_comparison import private_comparison
from ._private_evaluation import private_evaluation

__all__ = [
    "ClassifierEvaluation", "Estimate", "ModelComparison", "RegressorEvaluation",
    "private_comparison", "private_evaluation",
]  # fmt: skip

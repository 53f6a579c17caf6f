"""Evaluation of a fitted model on protected records: numbers and figures (zone: released)."""

from ._base import Estimate
from ._classifier import ClassifierEvaluation
from ._comparison import ModelComparison
from ._private_comparison import private_comparison
from ._private_evaluation import private_evaluation
from ._regressor import RegressorEvaluation

__all__ = [
    "ClassifierEvaluation", "Estimate", "ModelComparison", "RegressorEvaluation",
    "private_comparison", "private_evaluation",
]  # fmt: skip

"""Evaluations with fresh noise of a model whose exact counts are known."""

import math
from dataclasses import replace

import numpy as np

from sklearn_dpbo.metrics._response import Responses
from sklearn_dpbo.metrics.evaluations._design import METHODS, evaluation_of
from sklearn_dpbo.privacy.noisy_counts import NoisyCounts
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.report import PrivacyReport


def report_of(epsilon, m):
    texts = dict.fromkeys(
        ("title", "protected", "not_protected", "condition", "released", "noise"), "as in the test"
    )
    return PrivacyReport(
        epsilon=epsilon, delta=0.0, unit="record", m=m, data="validation set", assumption=None,
        spends=(), secure=True, **texts,
    )  # fmt: skip


def designed(model, X, y, **kwargs):
    """What is counted of a model, given public records."""
    asked = [("predict",), *([METHODS] if hasattr(model, "classes_") else [])]
    return evaluation_of(Responses.of(model, X, y, asked), **kwargs)


class Known:
    """A model, public records and protected ones.

    `fresh` returns an evaluation with noise of the right scale times `factor`.
    """

    def __init__(self, model, public, protected, epsilon, groups=None, values=None, **kwargs):
        X, y = protected
        self.units, self.epsilon = Units.of(len(y), groups), epsilon
        if values is not None:
            codes = kwargs["subgroups"].numbers(values, len(y))
            self.units = replace(self.units, subgroups=codes)
        self.design = designed(model, *public, m=self.units.m, epsilon=epsilon, **kwargs)
        self.exact = []
        for part in self.design._parts:
            method = next(name for name in part.response_method if hasattr(model, name))
            values = part.record_values(
                y, getattr(model, method)(X), getattr(model, "classes_", None)
            )
            self.exact.append(np.array(part.statistics(values, y, self.units)))

    def fresh(self, rng, factor=1.0):
        parts = self.design._parts
        noisy = []
        for part, exact in zip(parts, self.exact, strict=True):
            share = part.weight / sum(each.weight for each in parts)
            scale = factor * part.sensitivity(self.units) / share / self.epsilon
            p = -math.expm1(-1 / scale)
            noise = rng.geometric(p, len(exact)) - rng.geometric(p, len(exact))
            claimed = scale / factor
            noisy.append(NoisyCounts(tuple((exact + noise).tolist()), claimed))
        report = report_of(self.epsilon, self.units.m)
        return self.design._released(tuple(noisy), self.units, report)

    def covered(self, truth, n, factor=1.0, interval="records"):
        """How often intervals of numbers, by name, cover the truth, of n evaluations."""
        rng = np.random.default_rng(0)
        hits = dict.fromkeys(truth, 0)
        for _ in range(n):
            evaluation = self.fresh(rng, factor)
            for name, value in truth.items():
                estimate = evaluation.score(name, interval=interval)
                hits[name] += estimate.low <= value <= estimate.high
        return hits

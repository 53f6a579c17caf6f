"""No unit moves anything that gets noise further than is declared; and that is hardly too much.

`declared.py` lists what is counted, and looks for the worst neighbours. A bound that is never
reached would hide an error in it, as would a search that finds nothing.
"""

from dataclasses import replace

import declared
import pytest

from sklearn_dpbo.metrics._gains import GAINS
from sklearn_dpbo.metrics._make import NAMES
from sklearn_dpbo.metrics._registry import OF_MATRIX

pytestmark = pytest.mark.filterwarnings("ignore")

# How much of a bound is reached, where that is not nearly all of it.
REACHED = {
    "matthews_corrcoef, least noise": 0.92,
    "fbeta_macro {'beta': 0.3}": 0.92,
    "fbeta_macro {'beta': 3.0}": 0.85,
    "fbeta_weighted {'beta': 0.3}": 0.92,
    "fbeta_weighted {'beta': 3.0}": 0.85,
    "precision_macro": 0.74,
    "precision_macro, least noise": 0.94,
    "average_precision: Pairs": 0.6,
    "average_precision: PrecisionSum": 0.85,
    "explained_variance: ErrorVariance": 0.8,
    "roc_auc: PairCounts": 0.9,
}


def wrong(area, wide=False):
    """Say what a unit moves too far, and what it hardly moves."""
    for name, move in declared.furthest_by_name(area, wide).items():
        if not move.ratio <= 1 + 1e-9:
            yield f"{move.ratio:.4f} of what is declared: {name} {move.where}"
        if move.ratio < REACHED.get(name, 0.95):
            yield f"only {move.ratio:.4f} of what is declared: {name}"


@pytest.mark.parametrize("area", declared.AREAS)
def test_no_unit_moves_anything_further_than_declared(area):
    assert not list(wrong(area))


@pytest.mark.soak
@pytest.mark.parametrize("area", declared.AREAS)
def test_no_unit_does_after_a_longer_search(area):
    assert not list(wrong(area, wide=True))


def test_every_metric_is_searched(monkeypatch):
    ranked = {name for name, metric in OF_MATRIX.items() if callable(metric.order)}
    assert {each[0].split()[0].rstrip(",") for each in declared.all_rankings(False, (2,))} == ranked
    by_slopes = {move.name.split()[0].rstrip(",") for move in declared.slopes()}
    assert by_slopes == ranked - {"cohen_kappa", "matthews_corrcoef"}
    other = replace(GAINS["accuracy"], methods=("transform",))
    monkeypatch.setitem(NAMES, "accuracy", other)
    monkeypatch.setitem(GAINS, "accuracy", other)
    with pytest.raises(KeyError, match="transform"):
        list(declared.queries())

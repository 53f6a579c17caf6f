"""Audits: their bounds are true, and they detect bugs.

The audits of `benchmarks/audits.py` also run here: every mechanism as it is, and with planted bugs.
The noise need not be seeded, because the confidence is so high that a true claim is hardly ever
refuted by accident.
"""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, binom

from sklearn_dpbo import PrivacyLedger, PrivateBayesSearchCV
from sklearn_dpbo.audit import (
    ConstantClassifier,
    audit_mechanism,
    audit_search,
    opposed_models,
)
from sklearn_dpbo.audit._events import as_tables, choose_event, epsilon_lower_bound

SURE = 1 - 1e-7


def table_of_audits():
    path = Path(__file__).parents[2] / "benchmarks" / "audits.py"
    spec = importlib.util.spec_from_file_location("audits", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


AUDITS = table_of_audits()
QUICK = ["permute_and_flip", "noisy_counts", "noisy_rows"]
# Numbers of runs, where 4,000 would take long.
RUNS = {**dict.fromkeys(QUICK, 1000),
        "search, no guidance": 1500, "search, far targets": 400, "GPNoisy": 1000,
        "GPNoisy, candidate alone": 600, "GPNoiseFree": 1000, "LipschitzConvex": 1000}  # fmt: skip
# Here too few runs would find the bugs. Tests of the distributions do.
ELSEWHERE = ["configurator", "threshold", "search, public"]
# Bugs that so few runs find reliably, where others are tested with seeded noise. A sensitivity that
# is halved is half of the noise, of which the mechanisms' own rows tell.
DETECTED = {
    "search, no guidance": ("noise halved", "split forgotten"),
    "LipschitzConvex": ("sensitivity halved",),
}


def marks(name):
    # Thousands of draws or fits, of which there are exact tests; those of the distributions of
    # whole searches see half of the noise, too.
    return pytest.mark.slow if name == "noisy_counts" else pytest.mark.soak


EVERY = [
    pytest.param(name, bug, marks=marks(name))
    for name, row in AUDITS.ROWS.items()
    if name not in ELSEWHERE
    for bug in (None, *DETECTED.get(name, row.bugs))
]


@pytest.mark.parametrize(("name", "bug"), EVERY)
def test_audit_refutes_a_claim_if_and_only_if_a_bug_is_planted(name, bug):
    # Because of delta, one run cannot reach the confidence SURE. To detect a bug, 95 % are enough.
    # At 95 %, chance decides now and then, and a second or third audit mends that.
    sure = bug is None and not name.endswith("one run")
    for _ in range(1 if sure else 3):
        confidence = SURE if sure else 0.95
        report, _ = AUDITS.audited(name, bug, RUNS.get(name, 4000), confidence=confidence)
        if report.refuted == (bug is not None):
            break
    assert report.refuted == (bug is not None), str(report)


# ------------------------------------------------------------------ the bound
@pytest.mark.parametrize(("k", "k_neighbour", "n", "delta"), [(60, 20, 100, 0), (90, 3, 100, 0.1)])
def test_epsilon_lower_bound_uses_clopper_pearson_bounds(k, k_neighbour, n, delta):
    tail = 0.005
    p = beta.ppf(tail, k, n - k + 1)
    q = beta.ppf(1 - tail, k_neighbour + 1, n - k_neighbour)
    assert binom.sf(k - 1, n, p) == pytest.approx(tail)
    assert binom.cdf(k_neighbour, n, q) == pytest.approx(tail)
    expected = math.log((p - delta) / q)
    assert epsilon_lower_bound(k, k_neighbour, n, delta=delta, tail=tail) == pytest.approx(expected)


def test_epsilon_lower_bound_of_events_that_occur_never_or_always():
    k, other = np.array([0, 100, 0, 100]), np.array([0, 0, 100, 100])
    found = epsilon_lower_bound(k, other, 100, delta=0.0, tail=0.005)
    assert found[0] == found[2] == -math.inf
    assert found[1] == pytest.approx(math.log(0.005**0.01 / (1 - 0.005**0.01)))
    assert found[3] < 0


def coin(p, seed=0):
    rng = np.random.default_rng(seed)
    return lambda bit: int(rng.random() < (p if bit else 1 - p))


@pytest.mark.soak
def test_a_true_claim_is_refuted_no_more_often_than_the_confidence_allows():
    """At a confidence of 90 %, at most 10 % of audits refute a true claim."""
    claim = {"epsilon": math.log(3), "confidence": 0.9}
    refuted = sum(
        audit_mechanism(coin(0.75, seed), (0, 1), 200, **claim).refuted for seed in range(60)
    )
    assert refuted <= 15  # a binomial with 60 trials of 0.1 exceeds it once in 1,000 tests


@pytest.mark.slow
def test_events_need_other_runs_for_their_bound_than_for_their_choice():
    """On the runs that chose it, an event seems to distinguish even pure noise."""
    rng = np.random.default_rng(0)
    bound = {"delta": 0.0, "tail": 0.1 / 4}
    shown = np.zeros(2, dtype=int)
    for _ in range(40):
        names, p, q = as_tables(*rng.standard_normal((2, 200, 4)).tolist())
        event = choose_event(names, p[:100], q[:100], **bound)
        for i, part in enumerate((slice(None, 100), slice(100, None))):
            k = [int((event.score(table[part]) >= event.threshold).sum()) for table in (p, q)]
            shown[i] += epsilon_lower_bound(*k, 100, **bound) > 0
    assert shown[0] > 8 and shown[1] <= 6


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.6, 0.9])
def test_bound_of_randomized_response_is_close_to_its_epsilon(p):
    epsilon = math.log(p / (1 - p))
    report = audit_mechanism(coin(p, 1), (0, 1), 8000, epsilon=epsilon)
    assert epsilon - 0.25 < report.epsilon_lower_bound <= epsilon
    assert report.delta == 0 and not report.refuted
    assert audit_mechanism(coin(p, 1), (0, 1), 8000, epsilon=epsilon - 0.3).refuted


@pytest.mark.slow
@pytest.mark.parametrize(
    "output",
    [
        lambda bit: "yes" if bit else "no",
        lambda bit: None if bit else ("a", 1),
        lambda bit: {"a": bit, "b": "x"},
        lambda bit: [0.0, float("nan") if bit else 1.0],
        lambda bit: [3, math.inf if bit else -math.inf],
        lambda bit: np.array([[bit, 2], [3, 4]]),
    ],
)
def test_outputs_of_any_type_are_told_apart(output):
    flipped = coin(0.95)
    report = audit_mechanism(lambda bit: output(flipped(bit)), (0, 1), 200)
    assert report.epsilon_lower_bound > 1


def test_columns_that_only_differ_jointly_are_told_apart():
    """Each column alone has the same distribution on both data sets."""
    rng = np.random.default_rng(0)

    def parity(bit):
        x = int(rng.integers(2))
        return x, x ^ bit

    assert audit_mechanism(parity, (0, 1), 400).epsilon_lower_bound > 2


def test_constant_outputs_give_a_bound_of_zero():
    for constant in (1, "a", (), {}):
        report = audit_mechanism(lambda data, c=constant: c, (0, 1), 100, epsilon=0.0)
        assert report.epsilon_lower_bound == 0 and not report.refuted
        assert report.event == "all outputs are the same"


@pytest.mark.slow
def test_audits_run_in_parallel():
    """Each data set keeps its own outputs."""
    report = audit_mechanism(str, ("0", "1"), 100, n_jobs=2, subject="text")
    assert "text: epsilon is at least 2." in str(report) and "50 of 50 runs" in report.evidence


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n": 99}, "n must be a whole number from 100 up; found 99"),
        ({"n": 1e3}, "n must be a whole number"),
        ({"epsilon": -1.0}, "epsilon must be None or 0 and up"),
        ({"delta": 1.0}, r"delta must be in \[0, 1\)"),
        ({"confidence": 1.0}, r"confidence must be in \(0.5, 1\)"),
    ],
)
def test_invalid_parameters_of_audit_mechanism_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        audit_mechanism(coin(0.5), (0, 1), **{"n": 100} | params)


# ------------------------------------------------------------------ searches
def search(**params):
    return PrivateBayesSearchCV(ConstantClassifier(), {"label": [0, 1]}, epsilon=2.0, **params)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 4])
def test_bound_of_a_whole_search_is_below_its_epsilon_and_not_trivial(size):
    """Of records, or of groups of four."""
    train, (X, y), (_, other) = opposed_models(9)
    X, groups = np.repeat(X, size, axis=0), (np.repeat(np.arange(9), size),) * (size > 1)
    pair = [(X, np.repeat(labels, size), *groups) for labels in (y, other)]
    report = audit_search(search(), train, *pair, 200, random_state=0)
    assert 0.1 <= report.epsilon_lower_bound <= 2.0
    assert (report.epsilon, report.delta) == (2.0, 0.0)


@pytest.mark.slow
def test_audit_search_is_reproducible_with_a_seed_and_leaves_the_search_unchanged():
    s = search(random_state=None)
    before = s.get_params()
    given = {"random_state": 1, "output": lambda s: s.best_params_["label"]}
    found = [audit_search(s, *opposed_models(), 100, **given).evidence for _ in "ab"]
    assert found[0] == found[1] and "(output" in found[0]
    assert s.get_params() == before and not hasattr(s, "privacy_")


def test_validation_sets_that_are_not_neighbours_are_refused():
    train, (X, y), (_, other) = opposed_models()
    for held_out, neighbour, message in (
        ((X, y), (X, 1 - y), "differ in one record; these differ in 21"),
        ((X, y), (X[1:], y[1:]), "same number of rows"),
        ((X, y), (X, y, y), "both or neither have groups"),
        ((X, y, y), (X, other, other), "the same groups"),
        ((X, y, np.arange(21)), (X, 1 - y, np.arange(21)), "differ in one group; .* in 21"),
        (X, (X, y), "each data set must be"),
    ):
        with pytest.raises(ValueError, match=message):
            audit_search(search(), train, held_out, neighbour)


def test_audit_search_refuses_a_search_with_a_ledger(tmp_path):
    ledger = PrivacyLedger(tmp_path / "l.db", "a", 1.0, create=True)
    with pytest.raises(ValueError, match="no ledger can pay for: set ledger=None"):
        audit_search(search(ledger=ledger), *opposed_models())


def test_audit_report_prints_and_plots_the_bound():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    coins = audit_mechanism(coin(0.9), (0, 1), 400, epsilon=0.5, subject="a coin")
    for report in (coins, audit_mechanism(lambda bit: 1, (0, 1), 100)):
        ax = report.plot()
        assert f"at least {report.epsilon_lower_bound:.2f}" in ax.get_title()
        assert report.plot(ax) is ax
        plt.close(ax.figure)
    text = " ".join(str(coins).split())
    assert "Audit of a coin" in text and "THE CLAIM IS REFUTED" in text and "of 200 runs" in text

"""Sensitive values cannot be read; budgets add up exactly."""

import copy
import inspect
import json
import logging
import os
import pickle
import pprint
import traceback
import types
from fractions import Fraction
from functools import partial

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.privacy.accounting import Budget, weak_because
from sklearn_dpbo.privacy.rounding import round_down
from sklearn_dpbo.privacy.sensitive import Secret, Sensitive
from sklearn_dpbo.report import PrivacyLoss

SECRET = 727272


@pytest.fixture
def secret():
    return Sensitive([[SECRET], [1]], 1)


@pytest.mark.parametrize(
    "operation",
    [
        np.asarray, np.array, np.sum, np.max, list, tuple, len, int, float, complex, bool, sorted,
        pickle.dumps, copy.copy, copy.deepcopy, json.dumps, hash, joblib.hash,
        lambda s: s == s, lambda s: s < 3, lambda s: s[0], lambda s: SECRET in s,
        lambda s: s + 1, lambda s: range(s), lambda s: vars(s), lambda s: s.value,
        lambda s: f"{s:d}", lambda s: np.add(s, 1), lambda s: joblib.dump(s, "/dev/null"),
        *(partial(pickle.dumps, protocol=p) for p in range(6)), pickle._dumps, cloudpickle.dumps,
        memoryview, np.frombuffer, lambda s: [1, 2][s], lambda s: {s: 1},
        lambda s: {s}, lambda s: "%d" % s, lambda s: [*s],  # noqa: UP031
        lambda s: np.array([s], dtype=object).astype(int), np.random.default_rng,
        lambda s: pd.to_numeric(pd.Series([s], dtype=object)),
        lambda s: cloudpickle.dumps(lambda: s),
    ],
)  # fmt: skip
def test_ordinary_operations_do_not_read_sensitive(secret, operation):
    with pytest.raises((TypeError, AttributeError)) as caught:
        operation(secret)
    assert str(SECRET) not in str(caught.value)


def test_sensitive_is_not_printed_or_logged(secret, caplog):
    logging.getLogger("any").warning("found %s and %r", secret, secret)
    shown = [repr(secret), str(secret), f"{secret}", repr([secret]), caplog.text]
    shown += [
        pprint.pformat({"k": [secret]}, width=9),
        repr(inspect.getmembers(secret)),
    ]  # noqa: UP031
    try:
        raise ValueError(secret)
    except ValueError as error:
        with_locals = traceback.TracebackException.from_exception(error, capture_locals=True)
        shown += with_locals.format()
    assert all(str(SECRET) not in text for text in shown)
    assert "withheld" in repr(secret)


def test_rows_of_sensitive_keep_their_sensitivity():
    table = Sensitive([[1, 2], [3, 4], [5, 6]], 7)
    assert table.take([0, 2]).shape == (2, 2)
    assert table.take(1).sensitivity == 7
    assert table.take(2)._open().tolist() == [[5, 6]]


def test_tables_of_one_sensitivity_only_follow_each_other():
    both = Sensitive([[1]], 7).followed_by(Sensitive([[2], [3]], 7))
    assert both._open().tolist() == [[1], [2], [3]] and both.sensitivity == 7
    with pytest.raises(ValueError, match="of the same sensitivity"):
        both.followed_by(Sensitive([[4]], 8))


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, (1,), (1, 1), None])
def test_invalid_sensitivity_raises_value_error(sensitivity):
    with pytest.raises(ValueError, match="a sensitivity must be a positive integer"):
        Sensitive([[1]], sensitivity)


def test_secret_and_its_results_cannot_be_read():
    secret = Secret(np.array([[SECRET]]))
    for operation in (np.asarray, list, bool, pickle.dumps, copy.copy, lambda s: s == s):
        with pytest.raises(TypeError, match="Secret depends on protected records"):
            operation(secret)
    assert str(SECRET) not in f"{secret!r}{secret}"
    doubled = secret.then(lambda value: 2 * value)
    assert type(doubled) is Secret
    assert doubled.measured(lambda value: value, 4)._open().tolist() == [[2 * SECRET]]


def test_error_inside_secret_leaves_no_frame_with_the_value():
    def fail(value):
        raise ZeroDivisionError("of a computation")

    for work in (Secret(SECRET).then, lambda f: Secret(SECRET).measured(f, 1)):
        with pytest.raises(RuntimeError) as caught:
            work(fail)
        frames = [f for f, _ in traceback.walk_tb(caught.value.__traceback__)]
        assert fail.__code__ not in [f.f_code for f in frames]
        assert not [f for f in frames if SECRET in f.f_locals.values()]


def test_frames_that_are_still_running_cannot_be_reached_from_an_exception():
    """A generator that the computation leaves running cannot be cleared, only cut off."""
    running = []

    def fail(value):
        def generator():
            seen = value
            try:
                raise ZeroDivisionError
            except ZeroDivisionError as error:
                yield error, seen

        running.append(generator())
        raise next(running[0])[0]

    with pytest.raises(RuntimeError) as caught:
        Secret(SECRET).then(fail)
    tracebacks, variables = [caught.value.__traceback__], []
    while tracebacks:
        for frame, _ in traceback.walk_tb(tracebacks.pop()):
            if "running" not in frame.f_locals or frame.f_code is fail.__code__:  # not this test
                variables += frame.f_locals.values()
                tracebacks += [
                    v for v in frame.f_locals.values() if isinstance(v, types.TracebackType)
                ]
    assert SECRET not in [v for v in variables if isinstance(v, int)]


def loss(epsilon, delta=0.0):
    return PrivacyLoss(epsilon, delta, "a test", "no mechanism")


def test_budget_refuses_charge_that_exceeds_it_exactly():
    budget = Budget(1.0)
    with pytest.raises(BudgetExceededError):
        for _ in range(11):
            budget.charge(loss(0.1))
    # Ten times the float 0.1 is slightly more than 1, so the tenth charge is refused.
    assert len(budget.losses) == 9
    assert Fraction(budget.epsilon_left) <= 1 - 9 * Fraction(0.1)


@given(epsilon=st.floats(1e-6, 1e6), share=st.floats(0.001, 0.999))
def test_two_charges_never_exceed_the_budget(epsilon, share):
    budget = Budget(epsilon)
    budget.charge(loss(round_down(Fraction(epsilon) * (1 - Fraction(share)))))
    budget.charge(loss(budget.epsilon_left))
    spent = sum(Fraction(each.epsilon) for each in budget.losses)
    assert Fraction(epsilon) * (1 - Fraction(1, 2**50)) <= spent <= Fraction(epsilon)


def test_budget_refuses_charge_that_exceeds_delta():
    budget = Budget(1.0, 1e-5)
    budget.charge(loss(0.1, 1e-5))
    with pytest.raises(BudgetExceededError, match="delta"):
        budget.charge(loss(0.1, 1e-9))


@pytest.mark.parametrize(
    ("epsilon", "delta", "m", "said"),
    [
        (10, 0.0009, 1000, ""),
        (11, 0.0, 1000, "epsilon > 10"),
        (1, 0.001, 1000, "delta >= 1/1,000"),
        (11, 0.5, 3, "epsilon > 10 and delta >= 1/3"),
    ],
)
def test_a_guarantee_is_weak_from_these_numbers_on(epsilon, delta, m, said):
    assert weak_because(epsilon, delta, m) == said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_process_has_no_budget():
    budget = Budget(1.0)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        try:
            budget.charge(loss(0.1))
            os.write(write, b"charged")
        except BudgetExceededError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"forked process" in os.read(read, 1000)
    os.close(read)
    os.close(write)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 0), (-1, 0), (float("inf"), 0), (1, 1), (1, -1)]
)
def test_invalid_privacy_loss_raises_value_error(epsilon, delta):
    with pytest.raises(ValueError, match="found"):
        loss(epsilon, delta)

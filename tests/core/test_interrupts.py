"""Ctrl-C at any place of entering and leaving contexts that change the whole process."""

import contextlib
import logging
import os
import random
import signal
import sys
import threading
import warnings

import joblib
import numpy as np
import pytest
from interrupting import no_signal_is_handled

from sklearn_dpbo._evaluation import fitting, suppress_output
from sklearn_dpbo._privacy import interrupts

WATCHED = {module.__file__ for module in (contextlib, fitting, suppress_output)}
if hasattr(interrupts, "__file__"):
    WATCHED.add(interrupts.__file__)


class Interruptions:
    """A trace function that counts calls and lines of the contexts; sends SIGINT at the k-th.

    A call stands for the moment before the first line of a function, an ``__exit__``, say.
    """

    def __init__(self, k=None):
        self.k, self.places = k, []

    def __call__(self, frame, event, arg):
        if frame.f_code.co_filename not in WATCHED:
            return None
        self._reached(frame, event)
        return self._line

    def _line(self, frame, event, arg):
        if event == "line" and not no_signal_is_handled(frame):
            self._reached(frame, event)
        return self._line

    def _reached(self, frame, event):
        self.places.append((os.path.basename(frame.f_code.co_filename), frame.f_lineno, event))
        if len(self.places) == self.k:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)


def state():
    """What the contexts change: comparable, and all of it restored by them."""
    return {
        "streams": (sys.stdout, sys.stderr),
        "logging": logging.root.manager.disable,
        "filters": list(warnings.filters),
        "locked": suppress_output._suppression._lock.locked(),
        "showwarning": warnings.showwarning,
        "descriptors": [os.fstat(n)[:3] for n in (1, 2)],
        "depth": suppress_output._suppression.depth,
        "backend": type(joblib.parallel.get_active_backend()[0]),
        "handler": signal.getsignal(signal.SIGINT),
        "random": random.getstate(),
        "numpy": np.random.get_state()[1].tobytes(),
    }


CONTEXTS = {
    "all output": suppress_output.suppress_all_output,
    "threads": suppress_output.suppress_output,
    "autologging": fitting.without_autologging,
}


def pass_through(make, interruptions, inside=lambda: None):
    sys.settrace(interruptions)
    try:
        with make():
            inside()
    finally:
        sys.settrace(None)


@pytest.mark.skipif(sys.gettrace() is not None, reason="another tool, such as coverage, traces")
@pytest.mark.parametrize("name", CONTEXTS)
def test_interrupt_at_any_place_of_a_context_restores_the_process(name, capfd):
    counted = Interruptions()
    pass_through(CONTEXTS[name], counted)
    places = {place: k for k, place in reversed(list(enumerate(counted.places, 1)))}
    before, left_changed = state(), {}
    for place, k in places.items():
        with pytest.raises(KeyboardInterrupt):
            pass_through(CONTEXTS[name], Interruptions(k))
        after = state()
        if changed := [what for what in before if before[what] != after[what]]:
            left_changed[place] = changed
            _repair(before)
    assert len(places) > 20 and not left_changed


def _repair(before):
    """Leave what an interrupt has left half open, or locked, so that the next one is new."""
    for shared in (suppress_output._suppression, fitting.without_autologging):
        shared._lock = threading.Lock()
        shared._stack.close()
        shared.depth = 0
    signal.signal(signal.SIGINT, before["handler"])


def test_interrupt_inside_is_raised_there():
    def interrupt():
        signal.raise_signal(signal.SIGINT)
        reached.append("later")

    reached, before = [], state()
    with pytest.raises(KeyboardInterrupt), suppress_output.suppress_all_output():
        interrupt()
    assert not reached and state() == before


def nested(inner):
    """A context whose entering and leaving enters and leaves another one, with an interrupt."""

    @interrupts.uninterrupted
    def outer():
        steps = []
        with inner():
            signal.raise_signal(signal.SIGINT)
            steps.append("entered")
        try:
            yield steps
        finally:
            steps.append("left")
            seen.append(steps)

    seen = []
    return outer, seen


def test_nested_context_leaves_an_interrupt_to_the_outermost():
    outer, seen = nested(suppress_output.suppress_output)
    with pytest.raises(KeyboardInterrupt), outer():
        raise AssertionError("the block begins in spite of an interrupt")
    assert seen == [["entered", "left"]]


def test_contexts_leave_handlers_of_users_alone():
    calls = []
    theirs = signal.signal(signal.SIGINT, lambda *_: calls.append("theirs"))
    try:
        with suppress_output.suppress_output():
            signal.raise_signal(signal.SIGINT)
        assert calls == ["theirs"], "a handler that does not raise is called, and goes on"
        with suppress_output.suppress_output():
            kept = lambda *_: None  # noqa: E731
            signal.signal(signal.SIGINT, kept)
        assert signal.getsignal(signal.SIGINT) is kept
        for ignored in (signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(signal.SIGINT, ignored)
            with suppress_output.suppress_output():
                assert signal.getsignal(signal.SIGINT) is ignored
    finally:
        signal.signal(signal.SIGINT, theirs)


def test_contexts_work_in_other_threads():
    found = []

    def run():
        handler = signal.getsignal(signal.SIGINT)
        with suppress_output.suppress_output():
            found.append(signal.getsignal(signal.SIGINT) is handler)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [True]


def test_error_on_the_way_in_restores_the_handler():
    @interrupts.uninterrupted
    def failing():
        raise RuntimeError("planted")
        yield

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RuntimeError, match="planted"), failing():
        pass
    assert signal.getsignal(signal.SIGINT) is before

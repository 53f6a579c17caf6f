"""What a run shows beside its result: output, warnings, log lines and global state."""

import contextlib
import io
import logging
import random
import re
import sys
import tempfile
import warnings
from os import close, dup, dup2

import numpy as np


class Log(logging.Handler):
    def __init__(self):
        super().__init__(0)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def captured(seen):
    """Put output, warnings, log lines and the state of global things into a dict."""
    log, text, random_states = Log(), io.StringIO(), (np.random.get_state(), random.getstate())
    logging.getLogger().addHandler(log)
    np.random.seed(0), random.seed(0)
    with contextlib.ExitStack() as stack:
        stack.enter_context(np.errstate(all="warn"))
        said = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        file = stack.enter_context(tempfile.TemporaryFile())
        stack.enter_context(descriptors_to(file.fileno()))
        stack.enter_context(contextlib.redirect_stdout(text))
        stack.enter_context(contextlib.redirect_stderr(text))
        yield
        seen["errstate"], seen["filters"] = np.geterr(), len(warnings.filters)
        seen["disabled logging"] = logging.root.manager.disable
        sys.__stdout__.flush(), sys.__stderr__.flush()
        file.seek(0)
        seen["descriptors"] = without_addresses(file.read().decode())
    seen["output"] = without_addresses(text.getvalue())
    seen["warnings"] = [(w.category, without_addresses(str(w.message))) for w in said]
    seen["log"] = [without_addresses(line) for line in log.lines]
    seen["random"] = np.random.random(), random.random()
    logging.getLogger().removeHandler(log)
    np.random.set_state(random_states[0]), random.setstate(random_states[1])


@contextlib.contextmanager
def descriptors_to(target):
    """Send what goes to descriptors 1 and 2, and Python's first streams, to another one."""
    sys.__stdout__.flush(), sys.__stderr__.flush()
    first, kept = (sys.__stdout__, sys.__stderr__), (dup(1), dup(2))
    for place in (1, 2):
        dup2(target, place)
    # Buffered, as they are for a pipe or a file.
    sys.__stdout__, sys.__stderr__ = (open(place, "w", closefd=False) for place in (1, 2))
    try:
        yield
    finally:
        sys.__stdout__.close(), sys.__stderr__.close()
        sys.__stdout__, sys.__stderr__ = first
        for place, descriptor in zip((1, 2), kept, strict=True):
            dup2(descriptor, place)
            close(descriptor)


def without_addresses(text):
    """Return a text without what differs from run to run: addresses, and times of public calls."""
    return re.sub(r"0x[0-9a-f]+|about [0-9.e+-]+ s", "0x", text)

"""What a seeded run of the package shows, as JSON: numbers, reports, warnings, errors."""

import io
import json
import math
import os
import re
import tempfile
import warnings
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version

import numpy as np

from sklearn_dpbo import PrivacyLedger
from sklearn_dpbo.privacy import accounting
from sklearn_dpbo.testing import seeded_noise

# Public fits differ in their last digits between versions of these.
NUMERICAL = ("numpy", "scipy", "scikit-learn")
# What differs from run to run, or with versions that change no number.
_VARIES = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"(?<=sklearn_dpbo )\d+\.\d\S*"), "<version>"),
    (re.compile(r"(?<=OpenDP )\d+\.\d[^\s:]*"), "<version>"),
    (re.compile(re.escape(tempfile.gettempdir()) + r"/[^\s'\"]*"), "<file>"),
)
_DIGITS = 11  # that are stored of a number
_SHORT = 24  # JSON up to this length is stored where it occurs


def versions():
    """Return the versions that the numbers of public fits depend on."""
    return {name: version(name) for name in NUMERICAL}


def record(run, seed=7):
    """Return what a run shows, as JSON gives it back: in any order of runs, the same."""
    np.random.seed(0)
    earlier, token = accounting._fits[:], accounting._counting.set(True)
    accounting._fits.clear()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with seeded_noise(seed), redirect_stdout(io.StringIO()) as printed:
                shown = outcome(run)
    finally:
        accounting._fits[:] = earlier
        accounting._counting.reset(token)
    if printed.getvalue():
        shown["printed"] = printed.getvalue().splitlines()
    shown["warnings"] = [
        f"{each.category.__name__} at {os.path.basename(each.filename)}: {each.message}"
        for each in caught
        if "seeded_noise" not in str(each.message)
    ]
    return plain(shown)


def outcome(run, *args, **params):
    """Return what a run returns, or its error."""
    try:
        return run(*args, **params)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def report(privacy):
    """Return what a report says, as if its noise were secure: else it hides the guarantee.

    Its text follows from that: a digest will do, and `forms` has the whole of some.
    """
    said = replace(privacy, secure=True)
    facts = {name: fact for name, fact in said.to_dict().items() if fact is not None}
    own = {name: facts.pop(name) for name in ("epsilon", "delta", "weak", "spent") if name in facts}
    own["ledger"] = [[each["charge"], each["parts"]] for each in facts.pop("ledger")]
    digest = sha256(json.dumps(_lines(said.details())).encode()).hexdigest()[:12]
    return {"report": {**own, "said": facts, "details": digest, "secure": privacy.secure}}


def forms(privacy):
    """Return all texts of a report, by line, with the warning that its noise was seeded."""
    texts = {"details": privacy.details(), "print": str(privacy), "list": privacy.to_markdown()}
    texts |= {"secure": replace(privacy, secure=True).details(), "repr": repr(privacy)}
    return {name: _lines(text) for name, text in texts.items()}


def _lines(text):
    """Return the lines of a report's text, without what differs from run to run."""
    facts = re.sub(r"\n {4,}", " ", text).splitlines()  # that are longer than a line
    return plain([re.sub(r"charge (\d+) of \w+", r"charge \1 of <ledger>", fact) for fact in facts])


def with_ledger(run, part=None, **params):
    """Run three times, with a ledger, or part of one, of two charges of 1: the third is refused."""
    params = {"epsilon": 2.0, "delta": 1e-3, **params}
    with tempfile.TemporaryDirectory() as folder:
        ledger = PrivacyLedger(os.path.join(folder, "l"), "records", create=True, **params)
        of = ledger.part(part) if part else ledger
        runs = [outcome(run, ledger=of) for _ in range(3)]
        kept = [{k: v for k, v in entry.items() if k not in _OF_RUN} for entry in ledger.history]
        return {"second": runs[1], "third": runs[2], "history": kept, "left": ledger.left}


_OF_RUN = ("time", "hash", "who", "version")


def plain(value):
    """Return a value as JSON gives it back."""
    if isinstance(value, np.ma.MaskedArray):
        return plain(value.tolist())
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if value is None or isinstance(value, int):
        return value
    text = value if isinstance(value, str) else repr(value)
    for pattern, put in _VARIES:
        text = pattern.sub(put, text)
    return text


def differences(stored, found, path=""):
    """Yield a line for each difference; numbers may differ by rounding, as other CPUs round."""
    if isinstance(stored, dict) and isinstance(found, dict):
        for key in {**stored, **found}:
            pair = (each.get(key, "<nothing>") for each in (stored, found))
            yield from differences(*pair, f"{path}.{key}" if path else key)
    elif isinstance(stored, list) and isinstance(found, list) and len(stored) == len(found):
        for i, (a, b) in enumerate(zip(stored, found, strict=True)):
            yield from differences(a, b, f"{path}[{i}]")
    elif not _equal(stored, found):
        start = max(0, _n_alike(stored, found) - 40)
        stored, found = (x[start:] if isinstance(x, str) else x for x in (stored, found))
        yield f"{path}:\n    stored {stored!r:.200}\n    found  {found!r:.200}"


def _n_alike(a, b):
    """Return how many characters two texts begin with alike; 0 for other values."""
    texts = isinstance(a, str) and isinstance(b, str)
    return len(os.path.commonprefix([a, b])) if texts else 0


def _equal(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) or (a != a and b != b)
    return type(a) is type(b) and a == b


def write(path, recorded):
    """Write results by name, and once what several of them share."""
    counts = Counter(_parts(recorded))
    names = {part: _name(part) for part, n in counts.items() if n > 1 and len(part) > _SHORT}
    shared = {name: _shortened(json.loads(part), names, top=True) for part, name in names.items()}
    assert len(shared) == len(names)
    runs = {name: _shortened(run, names) for name, run in recorded.items()}
    parts = {"versions": versions(), "shared": dict(sorted(shared.items())), "runs": runs}
    lines = [f'"{key}": {_in_lines(part, 2)}' for key, part in parts.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def read(path):
    """Return the versions that a file was written with, and its results by name."""
    stored = json.loads(path.read_text())
    return stored["versions"], _expanded(stored["runs"], stored["shared"])


def _name(part):
    return "@" + sha256(part.encode()).hexdigest()[:6]


def _parts(value):
    """Yield the JSON of a value, and of all that is in it."""
    yield json.dumps(value)
    for each in _items(value):
        yield from _parts(each)


def _items(value):
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _mapped(value, change):
    """Return the value with each item of a list or dict changed."""
    if isinstance(value, dict):
        return {key: change(each) for key, each in value.items()}
    return [change(each) for each in value] if isinstance(value, list) else value


def _shortened(value, names, top=False):
    """Put names for shared parts; `top` is one of them itself."""
    if not top and (name := names.get(json.dumps(value))):
        return name
    return _mapped(value, lambda each: _shortened(each, names))


def _expanded(value, shared):
    """Undo `_shortened`."""
    if isinstance(value, str) and value in shared:
        value = shared[value]
    return _mapped(value, lambda each: _expanded(each, shared))


def _in_lines(value, depth):
    if not depth or not isinstance(value, dict):
        return json.dumps(value)
    lines = [f"{json.dumps(key)}: {_in_lines(each, depth - 1)}" for key, each in value.items()]
    return "{\n" + ",\n".join(lines) + "\n}"

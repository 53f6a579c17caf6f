"""A search keeps no raw validation score anywhere that a user can look."""

import gc
import io
import logging
import pickle
import traceback
from numbers import Real

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from leaks import COUNTS, Known, M, data, found_in, found_in_text, frames_of, search_of, secrets
from sklearn.exceptions import FitFailedWarning

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.strategies import WorstCase
from sklearn_dpbo.testing import seeded_noise


def test_found_in_finds_planted_scores():
    """Tests must be able to fail: scores are planted in different kinds of containers."""
    search = search_of()
    counts = secrets("accuracy", None)
    score = COUNTS[1] / M
    holder = Known()
    holder.hidden = {"deep": [np.array([0.0, score])]}
    for planted in (holder, lambda: score, (1, {"a": {COUNTS[2]}}), np.array([COUNTS[0]])):
        search.planted_ = planted
        assert found_in(search, counts)
    del search.planted_
    assert not found_in(search, counts)


def test_found_in_text_finds_scores_and_ignores_other_numbers():
    counts = secrets("accuracy", None)
    for shown in (
        "7717",
        "7,717 right",
        "12,7717,9",
        "[7717]",
        "x=7717.0",
        f"{7717 / M:.7f}",
        f"({7717 / M})",
    ):
        assert found_in_text(f"of them: {shown}.", counts), shown
    for shown in ("0.0077171", "77170", "17717", "1e-7", "loky-37717"):
        assert not found_in_text(f"took {shown} s", counts), shown


CASES = [
    dict(),
    dict(n_jobs=2),
    dict(fail="predict"),
    dict(fail="fit"),
    dict(refit=False),
    dict(scoring="neg_brier_score"),
    dict(scoring=make_private_scorer("neg_log_loss")),
    dict(scoring="roc_auc"),
    dict(groups=True),
    dict(strategy=WorstCase("public")),
]


@pytest.mark.first(4)
@pytest.mark.parametrize(
    ("case", "backend"),
    [
        *((case, "threading") for case in CASES),
        *(pytest.param(case, "loky", marks=pytest.mark.slow) for case in CASES if "n_jobs" in case),
    ],
    ids=lambda s: str(s)[:40],
)
@pytest.mark.filterwarnings("always")
def test_no_raw_score_is_kept_printed_or_logged(case, backend, capfd, caplog, recwarn):
    params = dict(case)
    groups = np.arange(M) if params.pop("groups", False) else None
    scoring = params.get("scoring", "accuracy")
    counts = secrets(scoring, params.get("fail"))
    if params.get("fail") == "predict":
        counts |= {c - 1 for c in counts}
    caplog.set_level(logging.DEBUG)
    public, protected = data()
    search = search_of(verbose=10, **params)
    get_reusable_executor().shutdown()  # workers of another test write to its captured output
    with joblib.parallel_config(backend), seeded_noise(3):
        search.fit(**public, **protected, groups_val=groups)

    assert not found_in(vars(search), counts)
    assert b"Sensitive" not in pickle.dumps(search)
    text = io.StringIO()
    for shown in (repr(search), str(search), search._repr_html_(), search.privacy_.details()):
        print(shown, file=text)
    for shown in (search.privacy_._repr_html_(), repr(vars(search)), str(search.cv_results_)):
        print(shown, file=text)
    captured = capfd.readouterr()
    shown = text.getvalue() + captured.out + captured.err + caplog.text
    shown += "".join(str(w.message) for w in recwarn)
    assert not found_in_text(shown, counts)
    assert "which" in captured.out, "verbose=10 prints candidates"
    if scoring != "roc_auc":  # a released AUC may be any ratio
        pickled = pickle.loads(pickle.dumps(search))
        assert not found_in(vars(pickled), counts)
        raw = pickle.dumps(search)
        assert not [c for c in counts if c > 4096 and c.to_bytes(8, "little") in raw]


@pytest.mark.parametrize("fail", ["interrupt", "fit"])
# An exception makes joblib kill its workers and start new ones, which takes seconds.
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_exception_contains_no_raw_score(fail, n_jobs):
    public, protected = data()
    params = dict(error_score="raise") if fail == "fit" else {}
    search = search_of(fail=fail, n_jobs=n_jobs, **params)
    with pytest.raises((KeyboardInterrupt, RuntimeError)) as caught:
        search.fit(**public, **protected)
    counts = secrets("accuracy", None)
    seen = frames_of(caught.value)
    assert seen
    assert not found_in(seen, counts)
    text = "".join(traceback.format_exception(caught.value))
    assert not found_in_text(text, counts)


@pytest.mark.filterwarnings("error::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_warning_raised_as_error_contains_no_raw_score(n_jobs):
    public, protected = data()
    with pytest.raises(FitFailedWarning) as caught:
        search_of(fail="fit", n_jobs=n_jobs).fit(**public, **protected)
    seen = frames_of(caught.value)
    assert seen
    assert not found_in(seen, secrets("accuracy", "fit"))


def arrays_alive():
    """All arrays that something refers to, reachable from the search or not.

    The garbage collector does not know arrays themselves, only what holds them.
    """
    gc.collect()
    held = (o for holder in gc.get_objects() for o in gc.get_referents(holder))
    arrays = (
        o for o in held if issubclass(type(o), np.ndarray)
    )  # `isinstance` may run a test's code
    return [array for array in arrays if array.size == len(COUNTS)]


def has_counts(array):
    values = array.ravel().tolist()
    # Other libraries keep arrays of None or of text, of which some cannot be sorted.
    numbers = all(isinstance(value, Real) for value in values)
    return numbers and sorted(values) == sorted(COUNTS.values())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_no_array_of_raw_counts_is_alive_after_fit():
    public, protected = data()
    search_of().fit(**public, **protected)
    assert not any(has_counts(array) for array in arrays_alive())
    planted = [np.array(list(COUNTS.values()), dtype) for dtype in (int, float, object)]
    found = {array.dtype for array in arrays_alive() if has_counts(array)}
    assert found == {array.dtype for array in planted}, "the test can fail"

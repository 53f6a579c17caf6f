"""A search keeps no raw validation score anywhere that a user can look."""

import gc
import io
import logging
import pickle
import traceback

import joblib
import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from leaks import COUNTS, Known, M, data, found_in, found_in_text, frames_of, search_of, secrets
from sklearn.exceptions import FitFailedWarning

from sklearn_dpbo import make_private_scorer
from sklearn_dpbo.strategies import WorstCase


def test_the_walker_finds_what_is_there():
    """The test must be able to fail: plant a score in each kind of hiding place."""
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


def test_the_reader_finds_a_secret_in_a_text():
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


SETTINGS = [
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
    dict(strategy=WorstCase("private")),
    dict(strategy=WorstCase("both"), n_jobs=2),
    dict(strategy=WorstCase("private"), fail="fit"),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: str(s)[:40])
@pytest.mark.parametrize("backend", ["loky", "threading"])
@pytest.mark.filterwarnings("always")
def test_nothing_raw_is_kept_printed_or_logged(settings, backend, capfd, caplog, recwarn):
    settings = dict(settings)
    groups = np.arange(M) if settings.pop("groups", False) else None
    scoring = settings.get("scoring", "accuracy")
    counts = secrets(scoring, settings.get("fail"))
    if settings.get("fail") == "predict":
        counts |= {c - 1 for c in counts}
    caplog.set_level(logging.DEBUG)
    public, protected = data()
    search = search_of(verbose=10, **settings)
    get_reusable_executor().shutdown()  # workers of another test print to where that looked
    with joblib.parallel_config(backend):
        search.fit(**public, **protected, groups_val=groups)

    assert not found_in(vars(search), counts)
    assert b"Sensitive" not in pickle.dumps(search)
    text = io.StringIO()
    for shown in (repr(search), str(search), search._repr_html_(), str(search.privacy_)):
        print(shown, file=text)
    for shown in (search.privacy_._repr_html_(), repr(vars(search)), str(search.cv_results_)):
        print(shown, file=text)
    captured = capfd.readouterr()
    shown = text.getvalue() + captured.out + captured.err + caplog.text
    shown += "".join(str(w.message) for w in recwarn)
    assert not found_in_text(shown, counts)
    assert "which" in captured.out, "verbose=10 says something"
    if scoring != "roc_auc":  # whose released score may be any ratio
        pickled = pickle.loads(pickle.dumps(search))
        assert not found_in(vars(pickled), counts)
        raw = pickle.dumps(search)
        assert not [c for c in counts if c > 4096 and c.to_bytes(8, "little") in raw]


@pytest.mark.parametrize("fail", ["interrupt", "fit"])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("guidance", [None, "private"])
def test_an_exception_holds_no_raw_score(fail, n_jobs, guidance):
    public, protected = data()
    params = dict(error_score="raise") if fail == "fit" else {}
    if guidance:  # a batch at a time: what fails comes after others have been counted and drawn by
        params["strategy"] = WorstCase(guidance, batch_size=1)
    search = search_of(fail=fail, n_jobs=n_jobs, **params)
    with pytest.raises((KeyboardInterrupt, RuntimeError)) as caught:
        search.fit(**public, **protected)
    counts = secrets("accuracy", None)
    seen = frames_of(caught.value)
    assert seen
    assert not found_in(seen, counts)
    text = "".join(traceback.format_exception(caught.value))
    assert not found_in_text(text, counts)


def test_an_interrupt_after_draws_holds_no_raw_score_and_sets_nothing():
    class Late(Known):
        calls = 0

        def predict(self, X):
            Late.calls += len(X) > 1000
            if Late.calls == 10:
                raise KeyboardInterrupt
            return super().predict(X)

    public, protected = data()
    search = search_of(strategy=WorstCase("private", batch_size=1))
    search.estimator = Late()
    with pytest.raises(KeyboardInterrupt) as caught:
        search.fit(**public, **protected)
    seen = frames_of(caught.value)
    assert "had been spent on private draws" in caught.value.__notes__[0]
    assert any("Guidance object" in str(frame) for frame in seen)
    assert not found_in(seen, secrets("accuracy", None))
    assert not hasattr(search, "best_params_")


@pytest.mark.filterwarnings("error::sklearn.exceptions.FitFailedWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_warning_made_an_error_holds_no_raw_score(n_jobs):
    public, protected = data()
    with pytest.raises(FitFailedWarning) as caught:
        search_of(fail="fit", n_jobs=n_jobs).fit(**public, **protected)
    seen = frames_of(caught.value)
    assert seen
    assert not found_in(seen, secrets("accuracy", "fit"))


@pytest.mark.filterwarnings("ignore")
def test_no_raw_count_survives_anywhere_after_the_fit():
    """Not even unreachable from the search: no live int64 array holds the counts."""
    public, protected = data()
    search_of().fit(**public, **protected)
    gc.collect()
    rest = [o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.size == len(COUNTS)]
    assert not [o for o in rest if sorted(o.ravel().tolist()) == sorted(COUNTS.values())]

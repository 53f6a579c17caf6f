"""Notebooks: HTML cards, privacy reports to publish, and the calls that users make."""

import html
import json
import re

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_dpbo import PrivateBayesSearchCV, PrivateThresholdClassifier
from sklearn_dpbo.privacy.report._card import card
from sklearn_dpbo.report import PrivacyLoss, PrivacyReport
from sklearn_dpbo.search._results import param_columns

GRID = {"logisticregression__C": [0.1, 1.0, 10.0], "logisticregression__tol": [1e-4, 1e-2]}


@pytest.fixture(scope="module")
def frames():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6]
    X, X_val, y, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
    return dict(X=X, y=y, X_val=X_val, y_val=y_val)


def fitted(frames, **params):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return PrivateBayesSearchCV(model, GRID, **{"epsilon": 2.0} | params).fit(**frames)


@pytest.fixture(scope="module")
def search(frames):
    return fitted(frames)


# ------------------------------------------------------------------ the privacy report
def report(secure=True, **changes):
    loss = PrivacyLoss(0.6, 0.0, "choice of <the> candidate", "permute & flip")
    facts = dict(
        title="Search <b>", epsilon=1.0, delta=0.0, unit="record", m=1234, data="validation set",
        protected="X_val as given", not_protected="the training set", assumption=None,
        condition="row by row", released="best_params_", spends=(loss, loss), noise="a library",
        secure=secure,
    )  # fmt: skip
    return PrivacyReport(**facts | changes)


def test_json_of_privacy_report_contains_its_numbers():
    found = json.loads(report().to_json())
    assert found == report().to_dict()
    expected = {"epsilon": 1.0, "delta": 0.0, "m": 1234, "unit": "record", "private": True,
                "warning": None}  # fmt: skip
    assert found.items() >= expected.items()
    (spent,) = found["spent"]
    assert spent["epsilon"] == 0.6 and spent["times"] == 2 and spent["share"] == 1.2
    assert json.loads(report(assumption="a prior").to_json())["assumption"] == "a prior"


def test_text_html_and_markdown_of_privacy_report_state_the_same_facts():
    facts = ("1,234 records", "epsilon = 1, delta = 0 (pure epsilon-DP, one record replaced)",
             "X_val as given",
             "the training set", "row by row", "a library",
             "permute & flip and 1 more")  # fmt: skip
    for text in (report().details(), report().to_html(), report().to_markdown()):
        plain = html.unescape(re.sub(r"<[^>]*>|[*>]", " ", text)).replace("\\", "")
        for fact in facts:
            assert fact in " ".join(plain.split()), (fact, text)


def test_every_format_of_privacy_report_says_not_private_for_seeded_noise():
    r = report(secure=False)
    for text in (str(r), r.details(), r.to_html(), r.to_markdown(), r.to_json()):
        assert "NOT PRIVATE: the noise was seeded" in text and "epsilon = 1, " not in text
    assert json.loads(r.to_json())["epsilon"] is None


def test_html_and_markdown_are_escaped_and_load_nothing():
    page = report().to_html() + card("<i>", [("<u>", ["<s>"])], warning="<script>")
    assert not re.search(r"<(b|i|u|s|the|script)>", page)
    assert "Search &lt;b&gt;" in page and "permute &amp; flip" in page
    assert not re.search(r"https?:|<script|<link| id=|url\(|src=|href=", page)
    text = report(released="best_params_ *and* <more>").to_markdown()
    assert r"best\_params\_ \*and\* \<more\>" in text


# ------------------------------------------------------------------ the card
@pytest.mark.slow
def test_fitted_search_shows_html_card(search):
    assert "sklearn-dpbo" not in clone(search)._repr_html_()
    shown = search._repr_html_()
    assert "sklearn-dpbo" in search._repr_mimebundle_()["text/html"]
    C = search.best_params_["logisticregression__C"]
    low, high = search.best_score_interval_
    for text in (f"logisticregression__C = {C:.4g}",
                 f"accuracy {search.best_score_:.4g} (95 % for the population: ",
                 f"for these records: {low:.4g} to {high:.4g})",
                 "epsilon = 2, delta = 0 (pure epsilon-DP, one record replaced)",
                 "best_estimator_: Pipeline", "StandardScaler"):  # fmt: skip
        assert text in shown, text
    assert "best_estimator_" not in clone(search)._repr_html_()
    assert "PrivateBayesSearchCV(" in repr(search)
    with config_context(display="text"):
        assert "text/html" not in search._repr_mimebundle_()
        with pytest.raises(AttributeError):
            search._repr_html_()


@pytest.mark.slow
def test_threshold_classifier_and_several_scores_show_html_cards(frames):
    tuned = PrivateThresholdClassifier(LogisticRegression()).fit(**frames)
    assert "Best threshold" in tuned._repr_html_() and "LogisticRegression" in tuned._repr_html_()
    shown = fitted(frames, scoring=["accuracy", "roc_auc"], refit="roc_auc")._repr_html_()
    assert re.search(r"<td>roc_auc \S+ \(95 %.*<br>accuracy \S+ \(95 %", shown)


# ------------------------------------------------------------------ usual calls


@pytest.mark.slow
def test_skops_lists_only_types_of_this_package(search):
    io = pytest.importorskip("skops.io")
    dumped = io.dumps(search)
    types = io.get_untrusted_types(data=dumped)
    assert all(name.startswith("sklearn_dpbo.") for name in types)
    assert io.loads(dumped, trusted=types).best_params_ == search.best_params_


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0.1, 1, 10], "f"),
        ([1, 2, 3], "i"),
        ([True, False], "b"),
        ([np.float32(0.5), 2.0], "f"),
        ([True, 1], "O"),
        ([1, None], "O"),
        ([1, 2**60 + 1, 0.5], "O"),
        (["a", "b"], "O"),
        ([10**400, 1], "O"),
    ],
)
def test_parameter_columns_have_numeric_dtype(values, kind):
    column = param_columns(tuple({"a": v} for v in values))["param_a"]
    assert column.dtype.kind == kind and column.tolist() == values
    with_gap = param_columns(({"a": values[0]}, {"b": 1}))["param_a"]
    assert with_gap.mask.tolist() == [False, True] and with_gap[0] == values[0]

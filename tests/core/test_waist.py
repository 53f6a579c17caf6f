"""Few modules can spend, open or hold what is protected; these lists name them, and why.

Who adds a module here says what it needs that for. `WAIST` is checked by name: it finds careless
lines, not those that hide (`getattr(counts, "_" + "open")`).
"""

import ast
import contextlib
import copy
import functools
import pickle
import re
import traceback
from fractions import Fraction
from threading import Barrier, BrokenBarrierError, Thread

import numpy as np
import pytest
from evaluators import HeldOut
from sklearn.linear_model import LogisticRegression
from test_architecture import modules, nodes_of

from sklearn_dpbo import PrivateBayesSearchCV, make_private_scorer
from sklearn_dpbo.exceptions import BudgetExceededError
from sklearn_dpbo.metrics._queries import Confusion
from sklearn_dpbo.prediction.fitting import FitOptions
from sklearn_dpbo.prediction.record_owner import Curve
from sklearn_dpbo.privacy.accounting import Budget
from sklearn_dpbo.privacy.mechanisms import COUNTS, Price
from sklearn_dpbo.privacy.noise import SeededNoise
from sklearn_dpbo.privacy.sensitive import Secret, Sensitive
from sklearn_dpbo.privacy.spending import Part, Spending
from sklearn_dpbo.records.split import Training
from sklearn_dpbo.records.units import Units
from sklearn_dpbo.strategies import WorstCase

ENTRY_POINTS = {
    "evaluation._private_comparison", "evaluation._private_evaluation", "evaluation._release",
    "search._delegation", "search._parameters", "search._search",
    "search._table", "search._threshold",
}  # fmt: skip
COUNTING = {"prediction.record_owner", "prediction.secret_fits"}
KUSNER = {f"papers.kusner2015.{name}" for name in ("_gp", "_gp_noise_free", "_gp_noisy")}
KUSNER |= {"papers.kusner2015._in_secret", "papers.kusner2015._lipschitz"}
OTHER_OPENERS = {
    "learners._base", "papers.balcan2018._configurator", "papers.kharkovskii2020._curators",
}  # fmt: skip

# By name: the modules that may have it as an attribute or import it.
WAIST = {
    # Budgets and noise: one place makes them, and mechanisms alone use them.
    "Budget": {"privacy.mechanisms", "privacy.spending"},
    "budget_without_ledger": {"privacy.spending"},
    "_budget": {"privacy.mechanisms", "privacy.spending", "prediction.record_owner"},
    "_samplers": {"privacy.mechanisms", "privacy.spending", "prediction.record_owner"},
    "Mechanisms": {"privacy.spending"},
    "noise_source": {"privacy.spending"},
    "SeededNoise": set(),
    "uncounted": {"audit._fits", "prediction.fitting"},
    "open_only": {"search._one_table"},
    "best_of": {"search._one_table"},
    "seed_noise": {"audit._fits", "prediction.progress", "testing"},
    # Prices and series: who says how much noise several draws get.
    "_series": {"privacy.mechanisms"},
    "Price": {
        "learners._tables", "papers.kharkovskii2020._curators",
        "search._release", "search._table",
        "report._contradictions",  # of what was released: how little noise epsilon allows
    },
    "begin": {
        "evaluation._release", "search._parameters", "search._table",
        "search._threshold", *OTHER_OPENERS,
    },
    "of_other_records": {"search._table"},
    "privately_fitted": {"search._table"},
    "Noise": {"privacy.mechanisms"},
    # What opens a value, or computes within one.
    "_open": {"privacy.mechanisms"},
    "_packed": {"privacy.sensitive"},
    "InTransit": COUNTING,
    "then": {
        "privacy.mechanisms", "prediction.record_owner", "prediction.secret_fits",
        "learners._records", *KUSNER,
    },
    "measured": {
        "privacy.sensitive", "prediction.record_owner", "papers.balcan2018._configurator",
        "papers.kusner2015._gp", "papers.kusner2015._lipschitz",
    },
    # Rows.
    "hold_out": {"prediction.record_owner"},
    "ProtectedRows": {
        "prediction.record_owner", "prediction.secret_pipelines", "prediction.protected_values",
    },
    "ProtectedTable": {
        *COUNTING, "prediction.secret_pipelines", "prediction.rehearsal",
    },
    "DividedTable": COUNTING,
    "SHARED": {"prediction.record_owner"},
    "fit_last_step": {"prediction.secret_fits"},
    "evaluate_in_secret": {"prediction.record_owner"},
    "gathered": {
        "privacy.sensitive", "prediction.record_owner", "prediction.secret_fits",
        "papers.kusner2015._gp", "papers.kusner2015._lipschitz",
    },
    "count_labels": {"prediction.record_owner", "search._one_table"},
    "evaluating": {"prediction.session"},
}  # fmt: skip
SAMPLERS = ("permute_and_flip", "exponential_mechanism", "discrete_laplace", "discrete_gaussian")
WAIST |= {name: {"privacy.mechanisms"} for name in SAMPLERS}
# A parameter, variable or attribute named X_val or y_val; entry points pass these on alone.
ROWS = ENTRY_POINTS | {
    "records.split", "records.canonical", "records.divided_table", "records.fit_parameters",
    "records.public_rows", "prediction.record_owner", "prediction.secret_fits", "audit._fits",
}  # fmt: skip


@functools.cache
def names_in(text):
    """Return the attributes and imported names of a module, and its variables and parameters."""
    used, held = set(), set()
    for node in nodes_of(text):
        if isinstance(node, ast.Attribute):
            used.add(node.attr)
            held.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Name):
            held.add(node.id)
        elif isinstance(node, ast.arg):
            held.add(node.arg)
    return used, held


# What looks at where a table lies, and at nothing in it; and what entry points pass rows on to.
_COMPARES_MEMORY = ("open_session", "remember_scored", "warn_if_fitted_on", "ref")


def passed_on(text):
    """Whether X_val and y_val are only passed on, to what holds rows, or compared with None."""
    tree = ast.parse(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        named = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            named = node.slice.value
        if named not in ("X_val", "y_val"):
            continue
        parent = parents[node]
        if isinstance(parent, ast.keyword):
            parent = parents[parent]
        called = isinstance(parent, ast.Call) and ast.unparse(parent.func)
        is_none = isinstance(parent, ast.Compare) and isinstance(parent.ops[0], ast.Is | ast.IsNot)
        in_dict = isinstance(parent, ast.Dict) and isinstance(node, ast.Name)
        if not (is_none or in_dict or called in _COMPARES_MEMORY):
            return False
    return True


def trespasses(module, text):
    """Say what a module has that the lists do not allow it."""
    used, held = names_in(text)
    found = {name for name, allowed in WAIST.items() if name in used and module not in allowed}
    found |= {name for name in ("X_val", "y_val") if name in held and module not in ROWS}
    if module in ENTRY_POINTS and not passed_on(text):
        found.add("X_val")
    # Of a private field of another class: a name of Python's, which no module writes.
    found |= {name for name in used | held if "__" in name.strip("_")}
    return found | (set() if module == "privacy.sensitive" else fields_of_others(text))


def fields_of_others(text):
    """Return mangled attributes of anything but self: a class of the same name could read them."""
    return {
        node.attr
        for node in nodes_of(text)
        if isinstance(node, ast.Attribute) and re.match("__.*[^_]$", node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    }  # fmt: skip


def side_effects(text):
    """Say where what is computed with a sealed value could leave something behind.

    It is a function of a module, or `partial` of one, and modules keep no lists or dicts.
    """
    tree = ast.parse(text)
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    functions |= {alias.asname or alias.name for node in imports for alias in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in ("then", "measured"):
            done = node.args[0]
            if isinstance(done, ast.Call) and ast.unparse(done.func) == "partial":
                done = done.args[0]
            if ast.unparse(done).split(".")[0] not in functions:
                yield ast.unparse(node)
    for node in tree.body:
        mutable = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, mutable):
            yield ast.unparse(node)


COMPUTING = {
    module for name in ("then", "measured") for module in WAIST[name]
    if not module.startswith("privacy") and module not in COUNTING
}  # fmt: skip


@pytest.mark.parametrize("module", sorted(COMPUTING))
def test_what_computes_with_a_sealed_value_can_leave_nothing_behind(module):
    text = modules()[module].read_text()
    assert not [*side_effects(text)]
    for line in (
        "x.then(seen.append)",
        "x.measured(lambda v: seen.append(v) or v, 1)",
        "_SEEN = []",
    ):
        assert len([*side_effects(f"{text}\n{line}\n")]) == 1


def test_no_module_spends_opens_or_holds_what_is_not_its_own():
    found = {m: trespasses(m, path.read_text()) for m, path in modules().items()}
    assert not {m: names for m, names in found.items() if names}


@pytest.mark.parametrize("name", WAIST)
def test_the_lists_name_no_module_that_does_not_need_it(name):
    texts = {module: path.read_text() for module, path in modules().items()}
    needs = {module for module, text in texts.items() if name in names_in(text)[0]}
    assert WAIST[name] <= needs


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("learners._ridge", "self.n_ = spending._samplers.discrete_gaussian(9)([5])"),
        ("learners._ridge", "self.n_ = Noise().discrete_gaussian(9)([5])"),
        ("search._worst_case", "hints += ('few',) * (np.ptp(statistics._packed()[0]) < 99)"),
        ("search._worst_case", "statistics.then(seen.append)"),
        ("search._worst_case", "from ..privacy.sensitive import InTransit"),
        ("search._worst_case", "session._RecordOwner__table.y.mean()"),
        ("search._worst_case", "statistics._Secret__value"),
        ("search._guidance", "Spending.begin(None, 1.0, what='', mechanism='', unit='')"),
        ("search._guidance", "self._session._budget._losses.clear()"),
        ("search._guidance", "y = problem.y_val"),
        ("search._table_models", "from ..records.split import hold_out"),
        ("papers.kusner2015._trace", "from ...prediction.protected_values import ProtectedTable"),
        ("search._results", "session.of_other_records().release(counts)"),
        (
            "search._results",
            "class Secret:\n    def of(self, other):\n        return other.__value",
        ),
        ("search._search", "mean = X_val.mean()"),
        ("search._search", "self.n_ = len(validation['X_val'])"),
        ("evaluation._release", "hints = rows['y_val'] > 0"),
        ("search._worst_case", "session._series(price, '', lambda s, v: v)(statistics)"),
        ("search._worst_case", "from ..privacy.noise import seed_noise"),
        ("metrics._scorers", "from ..privacy.mechanisms import Price"),
        ("metrics.evaluations._classifier", "from ..privacy.accounting import Budget"),
    ],
)
def test_a_careless_line_is_seen(module, line):
    text = modules()[module].read_text()
    assert not trespasses(module, text) and trespasses(module, f"{text}\n{line}\n")


# ---------------------------------------------------------------- sessions
@pytest.fixture
def held(two_classes):
    X, y, X_val, y_val = two_classes
    groups = np.arange(len(y_val)) // 2
    return HeldOut.given(Training(X, y), X_val, y_val, Units.of(len(y_val), groups))


@pytest.fixture
def session(held):
    scorer = make_private_scorer("accuracy").prepare(held.training.y)
    options = FitOptions(LogisticRegression(), prediction="auto")
    return held.session(options, [scorer])


def reachable(thing, seen, hidden=False):
    """Yield what attributes lead to; those that only the class itself can name if `hidden`."""
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    yield thing
    if isinstance(thing, dict):
        inner = thing.values()
    elif isinstance(thing, list | tuple | set):
        inner = thing
    else:
        inner = [
            v for name, v in getattr(thing, "__dict__", {}).items() if hidden or "__" not in name
        ]
        inner += [getattr(thing, name, None) for name in ("__self__", "func", "args", "keywords")]
    for each in inner:
        yield from reachable(each, seen, hidden)


def test_no_attribute_of_a_session_leads_to_a_protected_row(session, held):
    protected = (held.X_val, held.y_val, held.units.labels)
    arrays = [each for each in reachable(session, {}) if isinstance(each, np.ndarray)]
    assert arrays and not any(np.may_share_memory(a, own) for a in arrays for own in protected)
    arrays = [a for a in reachable(session.candidates, {}, True) if isinstance(a, np.ndarray)]
    assert arrays and not any(np.may_share_memory(a, own) for a in arrays for own in protected)
    assert "withheld" in repr(session) and str(held.X_val[0, 0]) not in repr(session)
    assert not [name for name in dir(session) if "__" in name]


@pytest.mark.parametrize("store", [copy.copy, copy.deepcopy, pickle.dumps])
def test_owners_of_rows_and_series_cannot_be_copied_or_stored(session, store):
    curve = Curve(None, None, None)
    for owner in (session, curve):
        with pytest.raises(TypeError, match="cannot be copied"):
            store(owner)
    with pytest.raises(TypeError, match="charged once"):
        store(session.answers(Price(2, 0.5), purpose="a test"))


def test_the_records_of_a_session_have_one_budget(session):
    with pytest.raises(TypeError, match="one budget"):
        session.of_other_records()


def test_a_query_of_ones_own_gets_no_label(session):
    seen = []

    class Peeks(Confusion):
        def statistics(self, values, y, units):
            seen.append(y)
            return super().statistics(values, y, units)

    query, params = Confusion(np.array([0, 1])), {"C": 1.0}
    session.candidates.report = (query,)
    session.candidates.fit((params,))
    session.counts(params, query)
    with pytest.raises(TypeError, match="not known to count"):
        session.counts(params, Peeks(np.array([0, 1])))
    assert not seen


def test_public_questions_come_before_the_first_count(session, held):
    estimator, query = (
        LogisticRegression().fit(held.training.X, held.training.y),
        Confusion(np.array([0, 1])),
    )
    model = session.ask(estimator, query, prediction="auto")
    params = {"C": 1.0}
    session.candidates.fit((params,))
    session.count(model, query)
    with pytest.raises(RuntimeError, match="public questions come first"):
        session.ask(estimator, query, prediction="auto")
    with pytest.raises(RuntimeError, match="public questions come first"):
        session.answers_of(estimator, [("predict",)])
    with pytest.raises(RuntimeError, match="public questions come first"):
        session.candidates.fit(({"C": 2.0},))
    session.compare([params], session.candidates.scorer.query)  # what was fitted counts


class FitsLate(WorstCase):
    """Fits another candidate once it has counted those of a usual search."""

    def run(self, task):
        released = super().run(task)
        task.candidates.fit(({"C": 77.0},))
        return released


def test_a_search_fits_nothing_after_its_first_count(two_classes):
    X, y, X_val, y_val = two_classes
    for strategy, late in ((WorstCase(), False), (FitsLate(), True)):
        search = PrivateBayesSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, strategy=strategy)
        with pytest.raises(RuntimeError, match="public") if late else contextlib.nullcontext():
            search.fit(X, y, X_val=X_val, y_val=y_val)


def test_nobody_can_tell_from_what_is_public_who_is_in_which_group(two_classes):
    X, y, X_val, y_val = two_classes
    held = HeldOut.by_arguments(
        LogisticRegression(), X, y, {}, cv=None, rng=None, X_val=X_val, y_val=y_val,
        groups_val=np.arange(len(y_val)) // 3, split_params={},
    )  # fmt: skip
    public, own = held.problem.units, held.units
    assert public.m == own.m == 50 and public.grouped and public.name == "group"
    assert len(public.labels) == 0 and len(own.labels) == 150


COUNTING_METHODS = ["count", "count_each", "count_jointly", "curve", "evaluating", "fit_secretly"]


@pytest.mark.parametrize("count", COUNTING_METHODS)
def test_each_way_to_count_ends_public_questions(session, held, count, monkeypatch):
    for name in ("_rows_of", "_values_of"):
        monkeypatch.setattr(f"sklearn_dpbo.prediction.record_owner.{name}", None)
    arguments = {"count_each": (None, None, 1), "evaluating": (None, None, None)}
    arguments["fit_secretly"] = (), None, None
    session.require_public()
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        getattr(session, count)(*arguments.get(count, (None, None)))
    with pytest.raises(RuntimeError):
        session.require_public()


# ---------------------------------------------------------------- spending
def counts():
    return Sensitive([[3, 5]], 2)


def test_the_second_part_cannot_be_spent_before_the_first():
    first = Spending(Budget(1.0), SeededNoise(0))
    second = first.of_other_records()
    with pytest.raises(BudgetExceededError, match="first part"):
        second.release(counts(), purpose="a test")
    first.release(counts(), 0.1, purpose="a test")
    with pytest.raises(BudgetExceededError, match="already"):
        first.of_other_records()
    second.release(counts(), purpose="a test")
    assert second.spent.spends[0].epsilon == 1.0 and len(first.spent.spends) == 1


def test_a_model_is_opened_once_and_only_if_its_fits_are_charged():
    spending = Spending(Budget(1.0), SeededNoise(0))
    models, fitted = spending.privately_fitted(Price(1, 0.7), "fits", "theirs"), Sensitive([[9]], 1)
    assert spending.spent.spends == ()
    models.charge()
    models.charge()
    (loss,) = spending.spent.spends
    assert (loss.epsilon, loss.purpose, loss.mechanism) == (0.7, "fits", "theirs")
    assert spending.open_only(models, fitted) == [9]
    with pytest.raises(BudgetExceededError):
        spending.open_only(models, fitted)
    too_much = spending.privately_fitted(Price(1, 0.7), "fits", "theirs")
    with pytest.raises(BudgetExceededError):
        spending.open_only(too_much, fitted)


def test_the_delta_of_the_noise_is_charged():
    spending = Spending(Budget(1.0, 1e-6), SeededNoise(0))
    price = Price.shared(50, 1.0, 1e-6, COUNTS)
    spending.answers(price, purpose="a test", delta=0.0)(counts())
    assert price.gaussian and spending.spent.spends[0].delta == 1e-6


def test_counts_are_not_opened_as_a_model_is():
    spending = Spending(Budget(1.0), SeededNoise(0))
    models = spending.privately_fitted(Price(1, 1e-9), "fits", "theirs")
    with pytest.raises(TypeError, match="counts must get noise"):
        models(counts())
    for n in (0, 1e-9, -1):
        with pytest.raises(ValueError, match="number of draws"):
            Price(n, 1.0)


def test_what_is_released_while_the_ledger_is_charged_counts():
    def charged():
        if not spending.spent.spends:
            spending.release(counts(), 0.7, purpose="by a handler of signals")

    budget = Budget(1.0, before_first=charged)
    budget.reserved = False
    spending = Spending(budget, SeededNoise(0))
    budget._before_first = lambda: budget.__dict__.update(_before_first=None) or charged()
    with pytest.raises(BudgetExceededError):
        spending.release(counts(), 0.7, purpose="a test")
    assert spending.spent.epsilon == 1.0 and len(spending.spent.spends) == 1


def test_parts_share_what_is_left_by_their_weights():
    spending = Spending(Budget(1.0), SeededNoise(0))
    spending.release(counts(), 0.25, purpose="before")
    parts = [Part(counts(), weight, "a test") for weight in (1, Fraction(2), 3)]
    spending.release_each(parts)
    losses = [loss.epsilon for loss in spending.spent.spends]
    assert losses == pytest.approx([0.25, 0.125, 0.25, 0.375]) and sum(losses) <= 1
    assert spending.share() < 1e-12


class Slow(int):
    """A number whose comparisons wait for those of another thread, if it may compare, too."""

    barrier: Barrier

    def _wait(self):
        with contextlib.suppress(BrokenBarrierError):
            self.barrier.wait(0.2)

    def __le__(self, other):
        result = int(self) <= other
        self._wait()
        return result

    def __sub__(self, other):
        slow = Slow(int(self) - other)
        slow.barrier = self.barrier
        return slow


def test_how_much_noise_a_table_gets_cannot_be_changed():
    table = counts()
    for name, value in (("sensitivity", 1), ("shape", (1, 1))):
        with pytest.raises(AttributeError):
            setattr(table, name, value)


@pytest.mark.parametrize("way", ["then", "measured"])
def test_an_error_says_nothing_of_what_it_was_raised_for(way):
    secret, more = Secret("patient 7"), (1,) * (way == "measured")
    with pytest.raises(RuntimeError, match="a computation with protected records") as caught:
        getattr(secret, way)(int, *more)
    assert "patient" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_two_threads_do_not_both_make_the_last_draw():
    spending = Spending(Budget(1.0), SeededNoise(0))
    series = spending.answers(Price.shared(1, 1.0, 0.0, COUNTS), purpose="a test")
    series.n_left = Slow(1)
    series.n_left.barrier = Barrier(2)
    drawn, refused = [], []

    def draw():
        try:
            drawn.append(series(counts()))
        except BudgetExceededError:
            refused.append(1)

    threads = [Thread(target=draw) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == len(refused) == 1
    assert len(spending.spent.spends) == 1
    series.n_left = -1
    with pytest.raises(BudgetExceededError):
        series(counts())

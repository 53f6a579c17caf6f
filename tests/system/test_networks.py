"""Networks of skorch are mapped over rows by torch.vmap: no record changes what another gets."""

import itertools
import math
import pickle
import subprocess
import sys
import warnings
from functools import partial
from threading import Event, Thread

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import VotingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

torch = pytest.importorskip("torch", reason="python -m pip install '.[networks]'")
skorch = pytest.importorskip("skorch", reason="python -m pip install '.[networks]'")

import modules  # noqa: E402
import operations  # noqa: E402
from modules import KINDS, D  # noqa: E402
from test_separately import values_of  # noqa: E402

from sklearn_dpbo import PrivateBayesSearchCV  # noqa: E402
from sklearn_dpbo.prediction.listed.networks import is_mappable, without_workers  # noqa: E402
from sklearn_dpbo.prediction.listed.operations import OPERATIONS, only_tried  # noqa: E402
from sklearn_dpbo.prediction.listed.parts import cut  # noqa: E402
from sklearn_dpbo.prediction.listed.stand_ins import _CHUNK, Mapped  # noqa: E402
from sklearn_dpbo.records.pickles import fresh, packed  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
ODD = 0.0, 1e30, np.nan, np.inf, -1e-42, 50.0
N = _CHUNK + 30
X = np.random.default_rng(0).normal(size=(N, D)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)


def net_of(module, cls=skorch.NeuralNetClassifier, **options):
    defaults = {"max_epochs": 1, "lr": 0.1, "verbose": 0, "train_split": None}
    if cls is skorch.NeuralNetClassifier:
        defaults |= {"criterion": torch.nn.CrossEntropyLoss, "classes": [0, 1]}
    torch.manual_seed(0)
    return cls(module, **defaults | options).initialize()


def n_changed(predict, odd=ODD, places=(0, _CHUNK - 1, _CHUNK, N - 1)):
    """How often another row changes its bits when one is replaced."""
    before, changed = predict(X), 0
    for place in places:
        others = np.arange(N) != place
        for value in odd:
            replaced = X.copy()
            replaced[place] = value
            after = predict(replaced)
            changed += before[others].tobytes() != after[others].tobytes()
    return changed


# ---------------------------------------------------------------- each row by itself
@pytest.mark.parametrize("name", [*KINDS["right"], *KINDS["mistake"]])
def test_replacing_a_row_changes_no_other(name):
    module = {**KINDS["right"], **KINDS["mistake"]}[name]
    assert n_changed(Mapped(packed(net_of(module))).predict_proba) == 0


@pytest.mark.parametrize("name", KINDS["right"])
def test_gives_what_skorch_gives(name):
    net = net_of(KINDS["right"][name])
    mapped = Mapped(packed(net)).predict_proba(X)
    if name == "Remembers":
        net.set_params(batch_size=N)
    assert np.allclose(mapped, net.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("name", KINDS["refused"])
def test_what_can_depend_on_other_rows_raises(name):
    with pytest.raises((RuntimeError, ValueError, NotImplementedError, IndexError)):
        Mapped(packed(net_of(KINDS["refused"][name]))).predict_proba(X)


@pytest.mark.first(3)
@pytest.mark.parametrize("name", KINDS["mistake"])
def test_plain_networks_with_these_mistakes_are_told_by_the_same_comparison(name):
    net = net_of(KINDS["mistake"][name], batch_size=N)
    assert n_changed(lambda X: net.predict_proba(X.copy())) > 0


@pytest.mark.parametrize("name", KINDS["not covered"])
def test_what_is_not_covered(name):
    """These move other rows: `threats.md` says so."""
    net = net_of(KINDS["not covered"][name])

    def predict(X):
        modules.LAST.clear()
        whole = X[: len(X) // _CHUNK * _CHUNK]
        return Mapped(packed(net)).predict_proba(np.concatenate([whole, whole]))

    global_rows = np.arange(_CHUNK) != 0
    replaced = X.copy()
    replaced[0] = 50.0
    before, after = (predict(rows).reshape(2, _CHUNK, -1) for rows in (X, replaced))
    again = before[1] != after[1] if name == "KeepsInAGlobal" else (before != after)[:, global_rows]
    assert again.any()


def named(seen):
    """Return a mode that notes the names of what is called."""

    class Named(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), options=None):
            seen.add(function.__name__)
            return function(*args, **(options or {}))

    return Named()


def mapped(operation, X):
    """Map a function of batches over rows, as networks are mapped."""
    operation = operation.eval() if isinstance(operation, torch.nn.Module) else operation
    with only_tried():
        return torch.vmap(lambda x: operation(x[None])[0], randomness="error")(X).detach()


def test_allowed_operations_keep_rows_apart_and_no_others_are_allowed():
    seen = {"_set_grad_enabled"}  # of skorch
    for shape, cases in operations.SHAPES.items():
        X = torch.randn(9, *shape, generator=torch.Generator().manual_seed(1))
        for name, operation in cases.items():
            before = mapped(operation, X)
            with named(seen), torch.no_grad():
                module = operation.eval() if isinstance(operation, torch.nn.Module) else operation
                module(X[:1])
            for place, odd in itertools.product((0, 4), (math.nan, math.inf, -1e30, 0.0, 50.0)):
                replaced, others = X.clone(), torch.arange(9) != place
                replaced[place] = odd
                after = mapped(operation, replaced)
                assert before[others].numpy().tobytes() == after[others].numpy().tobytes(), name
    assert seen == OPERATIONS


class OwnTensor(torch.Tensor):
    """A tensor that sees all rows where one is multiplied with it."""


class OwnMode(torch.utils._python_dispatch.TorchDispatchMode):
    """Sees all rows at once."""

    def __torch_dispatch__(self, function, types, args=(), options=None):
        return function(*args, **(options or {}))


def within_a_mode(x):
    with OwnMode():
        return x + 1


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        (lambda x: x.index_fill(-1, torch.tensor([0]), 1.0), "index_fill is not among"),
        (lambda x: x * torch.ones(8).as_subclass(OwnTensor), "a class of its own"),
        (within_a_mode, "sees all rows"),
        (lambda x: torch.nn.functional.embedding(torch.tensor([9]), x), "of the row itself"),
        (lambda x: torch.embedding(x, torch.tensor([9])), "of the row itself"),
        (lambda x: torch.bincount(x.long()[0])[None], "bincount is not among"),
        (lambda x: torch.linalg.lstsq(x, x).solution, "linalg_lstsq is not among"),
    ],
)
def test_operations_that_were_not_tried_are_refused(operation, why):
    with pytest.raises(RuntimeError, match=why):
        mapped(operation, torch.ones(3, 8))


def test_no_thread_unsets_what_another_one_needs():
    functorch, inside = torch._C._functorch, Event()

    def other():
        with only_tried():
            inside.set()

    thread = Thread(target=other)
    with only_tried():
        thread.start()
        assert not inside.wait(0.1) and not functorch._is_vmap_fallback_enabled()
    thread.join()
    assert inside.is_set() and functorch._is_vmap_fallback_enabled()


def test_what_is_set_for_operations_is_as_before():
    functorch, was = torch._C._functorch, torch._C._functorch._is_vmap_fallback_enabled()
    with pytest.raises(ZeroDivisionError), only_tried():
        assert not functorch._is_vmap_fallback_enabled()
        1 / 0  # noqa: B018
    assert functorch._is_vmap_fallback_enabled() == was


# ---------------------------------------------------------------- skorch's classes and steps
class Binary(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(D, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


class Three(torch.nn.Sequential):
    """Gives a second output, too, which skorch ignores."""

    def __init__(self):
        super().__init__(torch.nn.Linear(D, 3))

    def forward(self, x):
        return super().forward(x), x


NETS = {
    "three classes": partial(net_of, Three, classes=[0, 1, 2]),
    "own probabilities": partial(net_of, Three, predict_nonlinearity=lambda x: x.softmax(-1) / 2),
    "binary": partial(net_of, Binary, skorch.NeuralNetBinaryClassifier, threshold=0.4),
    "binary, BCELoss": partial(
        net_of, Binary, skorch.NeuralNetBinaryClassifier, criterion=torch.nn.BCELoss
    ),
    "regressor": partial(net_of, Binary, skorch.NeuralNetRegressor),
    "small batches": partial(net_of, Three, batch_size=7),
}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_methods_give_what_skorch_gives(name, method):
    net = NETS[name]()
    expected, came = (getattr(o, method)(X) for o in (net, Mapped(packed(net))))
    assert (came.dtype, came.shape) == (expected.dtype, expected.shape)
    assert np.allclose(came, expected, atol=1e-6)
    assert is_mappable(net) and cut(net, "auto", maps=True)[2].mapped


def test_sparse_rows_are_read_as_skorch_reads_them():
    net = net_of(modules.Perceptron)
    table = sparse.csr_matrix(X)
    assert np.allclose(
        Mapped(packed(net)).predict_proba(table), net.predict_proba(table), atol=1e-6
    )


class Loader(torch.utils.data.DataLoader):
    pass


class Rows(skorch.dataset.Dataset):
    pass


class Own(skorch.NeuralNetClassifier):
    pass


@pytest.mark.parametrize(
    "net",
    [
        partial(net_of, Three, iterator_valid=Loader), partial(net_of, Three, dataset=Rows),
        partial(net_of, Three, iterator_valid__shuffle=True),
        partial(net_of, Three, dataset__length=1), partial(net_of, Three, Own),
    ],
)  # fmt: skip
def test_other_networks_are_not_mapped(net):
    net = net()
    assert not is_mappable(net) and not cut(net, "auto", maps=True)[2].mapped


# ---------------------------------------------------------------- in searches
def search_of(estimator, n=40, prediction="auto", X=X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = PrivateBayesSearchCV(estimator, {}, epsilon=1.0, prediction=prediction)
        search.fit(X[:n], Y[:n], X_val=X[n:80], y_val=Y[n:80])
    texts = [str(w.message) for w in caught if "Not known to treat" in str(w.message)]
    return search.privacy_.condition, texts


def test_a_search_names_what_was_mapped():
    model = make_pipeline(StandardScaler(), net_of(modules.Perceptron))
    condition, warned = search_of(model)
    assert "listed for Pipeline, StandardScaler (scikit-learn" in condition
    assert "by construction of torch.vmap (torch 2" in condition
    assert f"for NeuralNetClassifier (skorch {skorch.__version__})" in condition
    assert not warned


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("MeanOfRows", "companions get something else"), ("HookOnAll", "companions get"),
        ("OwnRule", "custom_function_call is not among the operations that were tried"),
        ("Recurrent", "lstm is not among"), ("BranchesOnData", "__bool__ is not among"),
        ("Draws", "rand_like is not among"), ("AttentionToRows", "companions get"),
    ],
)  # fmt: skip
def test_what_cannot_be_mapped_is_called_one_by_one(name, why):
    module = next(kind[name] for kind in KINDS.values() if name in kind)
    condition, (warned,) = search_of(net_of(module))
    assert f"record by record: NeuralNetClassifier (torch.vmap: {why}" in condition
    assert why in warned


@pytest.mark.parametrize("prediction", ["together", "separate"])
def test_nothing_is_mapped_unless_asked(prediction):
    condition, _ = search_of(net_of(modules.Perceptron), prediction=prediction)
    assert "vmap" not in condition


@pytest.mark.slow
def test_the_package_is_imported_without_torch():
    code = "import sys, sklearn_dpbo; assert not {'torch', 'skorch'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_frames_are_not_mapped():
    """skorch passes each column to the module, by its name."""
    frame = pd.DataFrame(X, columns=list("abcdef"))
    condition, warned = search_of(net_of(Columns), X=frame)
    assert "record by record" in condition and warned


class Columns(modules.Module):
    kind = "frames"

    def forward(self, a, b, c, d, e, f):
        return self.out(torch.cat([a, b, c, d, e, f], 1))


def fitted_values(*args, **params):
    """The values of all records, by a network of the same first weights."""
    torch.manual_seed(0)
    return values_of(*args, **params)


def own_step(X):
    return np.sign(X) * np.sqrt(np.abs(X))


@pytest.mark.parametrize(
    "model",
    [
        lambda net: net,
        lambda net: make_pipeline(StandardScaler(), net),
        lambda net: make_pipeline(FunctionTransformer(own_step), net),
        lambda net: VotingClassifier([("a", net), ("b", net)], voting="soft"),
    ],
    ids=["alone", "after a listed step", "after a function", "two"],
)
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_values_are_those_of_records_called_one_by_one(model, scoring):
    train, val = (X[:60].copy(), Y[:60]), (X[60:100].copy(), Y[60:100])
    val[0][3] = np.nan
    model = model(net_of(modules.Perceptron))
    each, mapped = (
        fitted_values(model, train, val, scoring=scoring, prediction=prediction)
        for prediction in ("separate", "auto")
    )
    assert np.allclose(mapped, each, rtol=1e-5)


def test_a_record_that_makes_the_module_raise_counts_by_itself():
    train, val = (X[:60].copy(), Y[:60]), (X[60:100].copy(), Y[60:100])
    plain = fitted_values(net_of(Lookup), train, val)
    val[0][3] = 40.0  # there is no such category
    raising = fitted_values(net_of(Lookup), train, val)
    assert raising[3] == 0 and (np.delete(raising, 3) == np.delete(plain, 3)).all()


class Lookup(modules.Module):
    kind = "raises"

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(20, 1)

    def hidden(self, x):
        return self.table(x.abs().long()).squeeze(-1)


@pytest.mark.parametrize("name", KINDS["catches"])
def test_an_error_of_one_record_decides_nothing_for_another(name):
    """Also if the module catches it."""
    net = net_of(KINDS["catches"][name])
    mapped, odd = Mapped(packed(net)), X.copy()
    odd[3, 0] = 40.0
    assert np.allclose(mapped.predict_proba(X), net.predict_proba(X), atol=1e-6)
    assert (net.set_params(batch_size=N).predict_proba(odd)[4:] != net.predict_proba(X)[4:]).any()
    with pytest.raises(RuntimeError, match="was caught by the module"):
        mapped.predict_proba(odd)
    train, scoring = (X[:60], Y[:60]), "neg_log_loss"
    before, after = (
        fitted_values(net, train, (rows[:40], Y[:40]), scoring=scoring) for rows in (X, odd)
    )
    assert np.array_equal(np.delete(before, 3), np.delete(after, 3))


# ---------------------------------------------------------------- copies
TENSORS = {
    "float": torch.randn(3, 4), "half": torch.randn(3, 4).half(),
    "brain": torch.randn(5).bfloat16(),
    "complex": torch.randn(2, 2, dtype=torch.complex64), "bool": torch.tensor([True, False]),
    "scalar": torch.tensor(3), "empty": torch.empty(0, 3), "view": torch.randn(5, 6)[1:, ::2],
    "transposed": torch.randn(3, 4).T, "conjugate": torch.randn(3, dtype=torch.complex64).conj(),
    "gradient": torch.randn(3, requires_grad=True), "parameter": torch.nn.Parameter(torch.ones(3)),
    "frozen": torch.nn.Parameter(torch.ones(3), requires_grad=False),
    "sparse": torch.eye(3).to_sparse(), "nan": torch.tensor([np.nan, -0.0, 1e-42]),
}  # fmt: skip


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_are_copied_bit_by_bit(name):
    tensor = TENSORS[name]
    copy = fresh(packed([tensor]))[0]
    assert type(copy) is type(tensor) and copy.requires_grad == tensor.requires_grad
    assert (copy.dtype, copy.shape, copy.layout) == (tensor.dtype, tensor.shape, tensor.layout)
    if tensor.layout is torch.strided and not tensor.is_quantized:
        assert copy.stride() == tensor.stride() and copy.is_conj() == tensor.is_conj()
        same = (
            part.resolve_conj().contiguous().flatten() for part in (tensor.detach(), copy.detach())
        )
        one, other = (part.view(torch.uint8) if part.numel() else part for part in same)
        assert torch.equal(one, other)
    with torch.no_grad():
        copy.zero_()
    assert (
        name == "empty"
        or torch.equal(fresh(packed(tensor)).to_dense(), tensor.to_dense())
        or name == "nan"
    )


def test_a_parameter_in_two_places_stays_one():
    parameter = torch.nn.Parameter(torch.ones(2))
    one, other = fresh(packed([parameter, parameter]))
    assert one is other


def test_networks_are_copied_as_skorch_copies_them():
    net = net_of(modules.Normalised, optimizer=torch.optim.Adam).fit(X, Y)
    for copy in (fresh(packed(net)), fresh(packed(Own(modules.Normalised).initialize()))):
        assert vars(copy).keys() >= {"module_", "optimizer_", "history_", "callbacks_"}
    copy, slow = fresh(packed(net)), pickle.loads(pickle.dumps(net))
    assert vars(copy).keys() == vars(slow).keys() and copy.history == net.history
    assert copy.predict_proba(X).tobytes() == net.predict_proba(X).tobytes()
    owned = {id(parameter) for parameter in copy.module_.parameters()}
    assert {id(p) for group in copy.optimizer_.param_groups for p in group["params"]} == owned


def test_a_network_that_pickles_itself_does_so():
    copy = fresh(packed(PicklesItself(modules.Perceptron).initialize()))
    assert copy.restored


class PicklesItself(skorch.NeuralNetClassifier):
    def __setstate__(self, state):
        super().__setstate__(state)
        self.restored = True


def test_no_processes_are_started_for_one_record():
    options = {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 3}
    net = net_of(Three, **{f"iterator_valid__{name}": value for name, value in options.items()})
    alone = without_workers(net)
    assert alone.get_iterator(alone.get_dataset(X)).num_workers == 0
    assert net.get_iterator(net.get_dataset(X)).num_workers == 2
    plain = net_of(Three)
    assert alone.predict_proba(X).tobytes() == plain.predict_proba(X).tobytes()

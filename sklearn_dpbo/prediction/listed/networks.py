"""Networks of skorch that torch.vmap maps over rows (zone: public).

These are skorch's own classes that predict as skorch does, with its Dataset and torch's DataLoader:
what these do to rows is to make a tensor of them. Privacy does not rest on that: it is why a mapped
network gives what skorch gives (`Rehearsal`).
"""

from __future__ import annotations

import sys
from typing import Any

NETWORKS = frozenset({"NeuralNetBinaryClassifier", "NeuralNetClassifier", "NeuralNetRegressor"})
# Options of a DataLoader that change its speed alone, and those of processes switched off.
_SPEED = {"batch_size", "num_workers", "pin_memory", "persistent_workers", "prefetch_factor"}
_NO_PROCESSES = {"num_workers": 0, "persistent_workers": False, "prefetch_factor": None}


def is_mappable(o: Any) -> bool:
    """Check that an object is a network that predicts as skorch does, on the CPU."""
    skorch: Any = sys.modules.get("skorch")
    return (
        type(o).__name__ in NETWORKS
        and type(o) is getattr(skorch, type(o).__name__, None)
        and o.dataset is skorch.dataset.Dataset
        and o.iterator_valid is sys.modules["torch"].utils.data.DataLoader
        and not o.get_params_for("dataset")
        and o.get_params_for("iterator_valid").keys() <= _SPEED
        and str(o.device) == "cpu"
    )


def without_workers(net: Any) -> Any:
    """Return a network that starts no processes to load rows: for one row they take most time."""
    alone = object.__new__(type(net))
    vars(alone).update(vars(net))
    options = net.get_params_for("iterator_valid").keys() & _NO_PROCESSES.keys()
    vars(alone).update({f"iterator_valid__{name}": _NO_PROCESSES[name] for name in options})
    return alone


def plain_module(module: Any) -> Any:
    """Return the module that torch.compile made a faster one of, or the module itself."""
    return getattr(module, "_orig_mod", module)

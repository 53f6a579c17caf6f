"""The side that optimises over a released table, by row numbers (zone: released)."""

from __future__ import annotations

import hashlib
import math
import os
from numbers import Integral, Real
from typing import NamedTuple, overload

import numpy as np

from .._gp.likelihood import default_kernel, fit_kernel
from .._gp.surrogate import KERNEL_SHAPES, Kernel, Surrogate
from .._gp.threads import single_threaded

__all__ = ["Modeler"]

# Outcomes after which the kernel is learnt (again), if it is to be learnt.
_LEARN_AT = (5, 10, 20, 40, 80, 160, 320, 640)
_LEARNT = ("length_scale", "noise", "prior_mean", "prior_scale")
# Outcomes beyond this would overflow when they are squared.
_LARGEST = 1e100
# In single precision, less noise (in units of the process's variance) drowns in rounding errors.
_LEAST_NOISE_OF_SINGLE = 1e-3


class _Process(NamedTuple):
    """The process on Z: its length-scale and mean, and variances.

    Of what rows share, of what each has of its own, and of an outcome given what rows share.
    """

    length_scale: float
    mean: float
    shared: float
    own: float
    noise: float


class Modeler:
    """GP-UCB over the rows of a table: asks for outcomes by row number.

    PO-GP-UCB, the modeler part (Kharkovskii, Dai and Low, ICML 2020, Algorithm 2): ask for the row
    with the largest ``mean_t + sqrt(beta_t) std_t``, ``beta_t = 2 ln(n t^2 pi^2 / (6 delta_ucb))``,
    over a Gaussian process on the released table. No row is asked for twice.

    If the table has normal noise of known deviation s (`input_noise`), the process is over the
    rows without it: the squared exponential kernel of two different rows is replaced by its mean::

        E k(x, x') = (1 + 2 s^2 / l^2)^(-d/2) exp(-|z - z'|^2 / (2 (l^2 + 2 s^2))),

    while each row has variance 1.

    Parameters
    ----------
    Z : array-like of shape (n_rows, n_components)
        The released table.
    kernel : {"squared_exponential", "matern52", "matern32"}, default="squared_exponential"
        Only the first takes input_noise.
    length_scale : float, default=None
        In units of Z.
    noise : float, default=None
        Standard deviation of an outcome, in units of prior_scale.
    prior_mean, prior_scale : float, default=None
        Of outcomes. These four are all given, of the rows behind Z; or all learnt, by marginal
        likelihood of outcomes on Z, from the first 5, 10, 20, 40, ... of them.
    delta_ucb : float, default=0.05
        In (0, 1).
    input_noise : float, default=0.0
        Standard deviation of the noise on Z: the curator's `sigma_`.
    maximize : bool, default=True
    n_iter : int, default=100
        Outcomes to have room for; more are taken, at the cost of a copy.
    dtype : numpy.float64 or numpy.float32, default=numpy.float64
        float32 halves the memory, n_rows times n_iter numbers. The variance of an outcome is then
        taken to be a thousandth of the process's at least.

    Attributes
    ----------
    rows, values : list
        What was told, in order.
    pending : list of int
        What was asked, and not told yet.

    Raises
    ------
    ValueError
        If a parameter makes no sense.
    MemoryError
        If the machine has not enough memory for n_rows times n_iter numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dpbo.outsourced import Modeler
    >>> Z = np.linspace(0, 1, 50)[:, None]
    >>> modeler = Modeler(Z, length_scale=0.2, noise=0.01, prior_mean=0, prior_scale=1, n_iter=15)
    >>> for _ in range(15):
    ...     row = modeler.ask()
    ...     modeler.tell(row, -((Z[row, 0] - 0.3) ** 2))
    >>> modeler.best()[0]
    15
    """

    def __init__(
        self,
        Z,
        *,
        kernel="squared_exponential",
        length_scale=None,
        noise=None,
        prior_mean=None,
        prior_scale=None,
        delta_ucb=0.05,
        input_noise=0.0,
        maximize=True,
        n_iter=100,
        dtype=np.float64,
    ) -> None:
        Z = np.array(Z, dtype=np.float64)
        if Z.ndim != 2 or not Z.size or not np.isfinite(Z).all():
            raise ValueError(f"Z is a table of finite numbers; found shape {Z.shape}")
        if not isinstance(kernel, str) or kernel not in KERNEL_SHAPES:
            raise ValueError(f"kernel is one of {tuple(KERNEL_SHAPES)}; found {kernel!r}")
        known = dict(zip(_LEARNT, (length_scale, noise, prior_mean, prior_scale), strict=True))
        for name in ("length_scale", "noise", "prior_scale"):
            _check(name, known[name], lambda v: v > 0, "is None or positive", optional=True)
        _check("prior_mean", prior_mean, lambda v: True, "is None or a number", optional=True)
        if len({value is None for value in known.values()}) > 1:
            raise ValueError(f"give all of {_LEARNT}, or none of them; found {known}")
        _check("delta_ucb", delta_ucb, lambda v: 0 < v < 1, "lies in (0, 1)")
        _check("input_noise", input_noise, lambda v: v >= 0, "is 0 or more")
        _check("n_iter", n_iter, lambda v: v >= 1, "is 1 or more", kind=Integral)
        if input_noise > 0 and kernel != "squared_exponential":
            raise ValueError(
                f"the mean of {kernel!r} under input noise is not known; use "
                "'squared_exponential', or input_noise=0"
            )
        if not isinstance(maximize, bool | np.bool_):
            raise ValueError(f"maximize is True or False; found {maximize!r}")
        if dtype not in (np.float64, np.float32, "float64", "float32"):
            raise ValueError(f"dtype is numpy.float64 or numpy.float32; found {dtype!r}")
        if n_iter > len(Z):
            raise ValueError(f"n_iter={n_iter} is more than {len(Z)} rows: none is asked for twice")
        self._params = {
            "kernel": kernel,
            **{name: None if value is None else float(value) for name, value in known.items()},
            "delta_ucb": float(delta_ucb),
            "input_noise": float(input_noise),
            "maximize": bool(maximize),
            "n_iter": int(n_iter),
            "dtype": np.dtype(dtype).name,
        }
        _check_memory(len(Z) * n_iter * np.dtype(dtype).itemsize, Z.shape, n_iter)
        self._Z = Z
        self.rows: list[int] = []
        self.values: list[float] = []
        self.pending: list[int] = []
        self._model: Surrogate | None = None
        self._n_learnt = 0
        self._own_variance = 0.0

    # ------------------------------------------------------------ ask and tell
    @overload
    def ask(self, n: None = None) -> int: ...
    @overload
    def ask(self, n: int) -> list[int]: ...
    @single_threaded
    def ask(self, n: int | None = None) -> int | list[int]:
        """Return the number of the row whose outcome is wanted next, or a list of n of them.

        Rows of a batch, and rows asked for earlier and not told yet, count as if they had met the
        mean, which spreads the batch (Desautels, Krause and Burdick, JMLR 2014).

        Raises
        ------
        ValueError
            If there are not so many rows left.
        """
        wanted = 1 if n is None else n
        _check("n", wanted, lambda v: v >= 1, "is None or 1 or more", kind=Integral)
        left = len(self._Z) - len(self.rows) - len(self.pending)
        if wanted > left:
            raise ValueError(f"{wanted} rows were asked for, and {left} have not been asked yet")
        model = self._posterior()
        batch: list[int] = []
        for _ in range(wanted):
            if batch:
                model = model.condition(batch[-1])
            batch.append(self._next(model, batch))
        self.pending += batch
        return batch[0] if n is None else batch

    def tell(self, row, value) -> None:
        """Give the outcome of a row, or outcomes of a list of rows, asked for or not.

        Raises
        ------
        ValueError
            If a row is unknown or was told before, or a value is not a finite number. Then nothing
            is kept of it.
        """
        rows, values = [row], [value]
        if np.ndim(row):
            rows, values = list(row), list(np.atleast_1d(np.array(value, dtype=object)))
        if len(rows) != len(values):
            raise ValueError(f"{len(values)} outcomes were told for {len(rows)} rows")
        told = set(self.rows)
        for r, v in zip(rows, values, strict=True):
            self._check_row(r)
            if r in told:
                raise ValueError(f"the outcome of row {r} was told before")
            number = isinstance(v, Real) and not isinstance(v, bool)
            if not (number and abs(v) <= _LARGEST):
                raise ValueError(f"the outcome of row {r} is a finite number; found {v!r:.100}")
            told.add(r)
        self.rows += [int(r) for r in rows]
        self.values += [float(v) for v in values]
        self.pending = [row for row in self.pending if row not in told]

    def best(self) -> tuple[int, float]:
        """Return the row with the best outcome so far, and that outcome."""
        if not self.rows:
            raise ValueError("no outcome has been told yet")
        place = int((np.argmax if self._params["maximize"] else np.argmin)(self.values))
        return self.rows[place], self.values[place]

    def beta(self, t: int) -> float:
        """``beta_t = 2 ln(n t^2 pi^2 / (6 delta_ucb))``."""
        return 2 * math.log(len(self._Z) * t**2 * math.pi**2 / (6 * self._params["delta_ucb"]))

    # ------------------------------------------------------------ state
    def state(self) -> dict:
        """Return all but the table, in plain numbers, strings and lists (for JSON, say)."""
        return {
            "params": dict(self._params),
            "rows": list(self.rows),
            "values": list(self.values),
            "pending": list(self.pending),
            "table": _fingerprint(self._Z),
        }

    @classmethod
    def from_state(cls, Z, state: dict) -> Modeler:
        """Return a modeler that goes on where another stopped: it asks for the same rows.

        Raises
        ------
        ValueError
            If Z is not the table of that state.
        """
        modeler = cls(Z, **state["params"])
        if _fingerprint(modeler._Z) != state["table"]:
            raise ValueError("the state is of another table")
        modeler.tell(state["rows"], state["values"])
        pending = list(state["pending"])
        if len({*pending, *modeler.rows}) < len(pending) + len(modeler.rows):
            raise ValueError("the state has a row twice")
        for row in pending:
            modeler._check_row(row)
        modeler.pending = pending
        return modeler

    # ------------------------------------------------------------ the process
    def _check_row(self, row) -> None:
        whole = isinstance(row, Integral) and not isinstance(row, bool)
        if not (whole and 0 <= row < len(self._Z)):
            raise ValueError(f"rows are numbered 0 to {len(self._Z) - 1}; found {row!r}")

    def _next(self, model: Surrogate, batch: list[int]) -> int:
        asked = self.rows + self.pending + batch
        # Of a row that was not asked for, what it does not share with the others is not known.
        std = np.sqrt(model.variance + self._own_variance)
        bound = model.mean + math.sqrt(self.beta(len(asked) + 1)) * std
        bound[asked] = -np.inf
        return int(np.argmax(bound))

    def _posterior(self) -> Surrogate:
        """Return the process given all outcomes; pending rows count as if they met the mean."""
        n_learnt = 0
        if self._params["length_scale"] is None:
            n_learnt = max((t for t in _LEARN_AT if t <= len(self.rows)), default=0)
        if self._model is None or n_learnt > self._n_learnt:
            self._model, self._n_learnt = self._prior(n_learnt), n_learnt
        known = len(self._model.picked)
        self._model = self._model.condition_all(self.rows[known:], self._signed(known))
        return self._model.condition_all(self.pending)

    def _signed(self, first: int) -> list[float]:
        sign = 1.0 if self._params["maximize"] else -1.0
        return [sign * value for value in self.values[first:]]

    def _prior(self, n_learnt: int) -> Surrogate:
        """Return the process before any outcome, with parameters learnt from the first n_learnt."""
        learns = self._params["length_scale"] is None
        process = self._learnt(n_learnt) if learns else self._given()
        self._own_variance = process.own
        least = _LEAST_NOISE_OF_SINGLE if self._params["dtype"] == "float32" else 0.0
        return Surrogate.on(
            self._Z,
            Kernel(self._params["kernel"], process.length_scale, process.shared),
            max(process.noise, least * process.shared),
            process.mean,
            capacity=self._params["n_iter"],
            dtype=self._params["dtype"],
        )

    def _given(self) -> _Process:
        """Return the process on Z that follows from the one on the rows behind it."""
        variance, l2 = self._params["prior_scale"] ** 2, self._params["length_scale"] ** 2
        wider = l2 + 2 * self._params["input_noise"] ** 2
        shared = (l2 / wider) ** (self._Z.shape[1] / 2) * variance
        own = variance - shared
        noise = self._params["noise"] ** 2 * variance + own
        mean = self._params["prior_mean"] * (1.0 if self._params["maximize"] else -1.0)
        return _Process(math.sqrt(wider), mean, shared, own, noise)

    def _learnt(self, n: int) -> _Process:
        """Return the process on Z that makes the first n outcomes most likely."""
        width = float(np.ptp(self._Z, axis=0).max()) or 1.0
        one_length = np.zeros(self._Z.shape[1], dtype=int)
        if n == 0:
            kernel = default_kernel(self._params["kernel"], one_length)
            length = _only(kernel.length_scale) * width
            return _Process(length, 0.0, 1.0, 0.0, 0.01)
        seen, values = self._Z[self.rows[:n]] / width, np.array(self._signed(0)[:n])
        kernel, noise, mean = fit_kernel(seen, values, self._params["kernel"], one_length)
        length = _only(kernel.length_scale) * width
        # Behind Z the length-scale is shorter, and part of the noise is what each row has alone.
        l2 = max(length**2 - 2 * self._params["input_noise"] ** 2, 0.01 * length**2)
        share = (l2 / length**2) ** (self._Z.shape[1] / 2)
        own = min(kernel.variance * (1 / share - 1), noise)
        return _Process(length, mean, kernel.variance, own, noise)


def _only(length_scale) -> float:
    return float(np.ravel(length_scale)[0])


def _check(name, value, holds, expected, kind=Real, optional=False) -> None:
    if optional and value is None:
        return
    good = isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)
    if not (good and holds(value)):
        raise ValueError(f"{name} {expected}; found {value!r}")


def _check_memory(n_bytes: int, shape, n_iter: int) -> None:
    """Raise MemoryError before the system does, or worse."""
    available = _available_memory()
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{shape[0]:,} rows times n_iter={n_iter} outcomes take {n_bytes / 2**30:.1f} GiB, and "
            f"{available / 2**30:.1f} are available: use a smaller n_iter, or dtype=numpy.float32"
        )


def _available_memory() -> int | None:
    """Return the bytes that can be had, as far as the system says."""
    try:
        with open("/proc/meminfo") as lines:
            (kib,) = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return int(kib) * 1024
    except (OSError, ValueError):
        pass
    try:  # all there is, free or not
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _fingerprint(Z: np.ndarray) -> str:
    return hashlib.sha256(repr(Z.shape).encode() + np.ascontiguousarray(Z).tobytes()).hexdigest()

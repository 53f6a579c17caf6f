"""Bayesian optimisation over the rows of a released table (zone: released)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..._gp.likelihood import default_kernel, fit_kernel
from ..._gp.surrogate import KERNEL_SHAPES, Kernel, Surrogate, single_threaded
from ..._params import check_number
from .bounds import ucb_beta

__all__ = ["Modeler"]

# Numbers of outcomes at which unknown parameters are learnt again.
_LEARN_AT = (5, 10, 20, 40, 80, 160, 320, 640)
_LEARNT = ("length_scale", "noise", "prior_mean", "prior_scale")
# The square of a larger outcome would overflow.
_LARGEST = 1e100
# Smallest noise variance in single precision, as a share of the variance of the process: with less,
# rounding errors dominate.
_LEAST_NOISE_OF_SINGLE = 1e-3


class _Process(NamedTuple):
    """A Gaussian process of which a part (`shared`) is correlated, a part (`own`) is not.

    `length_scale`: of the correlated part, in units of Z; `mean`: prior mean of an outcome, or of
    its negative to minimise; `noise`: variance of an outcome given the correlated part.
    """

    length_scale: float
    mean: float
    shared: float
    own: float
    noise: float


class Modeler:
    """GP-UCB over the rows of a released table; asks for outcomes by row number.

    This is the modeler's part of PO-GP-UCB (Kharkovskii, Dai and Low, ICML 2020, Algorithm 2). It
    asks for the row with the largest ``mean_t + sqrt(beta_t) std_t`` under a Gaussian process on
    the released table, and for no row twice. With `input_noise`, the process is over the rows
    without noise: see the documentation, "Let another party optimise".

    Give all of `length_scale`, `noise`, `prior_mean` and `prior_scale`, for rows without the noise
    of the table. Or give none: they are learnt, by marginal likelihood of the first 5, 10, 20, 40,
    ... outcomes on Z.

    Parameters
    ----------
    Z : array-like of shape (n_rows, n_components)
        The released table.
    kernel : {"squared_exponential", "matern52", "matern32"}, default="squared_exponential"
        Shape of the kernel. With `input_noise`, only "squared_exponential" is possible.
    length_scale : float, default=None
        Length-scale of the kernel, in units of Z; positive, like the scales below.
    noise : float, default=None
        Standard deviation of an outcome given the function, in units of prior_scale.
    prior_mean, prior_scale : float, default=None
        Mean of an outcome and standard deviation of the function under the prior.
    delta_ucb : float, default=0.05
        Controls the exploration; in (0, 1). All upper bounds hold with probability 1 - delta_ucb /
        2.
    input_noise : float, default=0.0
        Standard deviation of the noise on Z (the curator's `sigma_`); 0 or more.
    maximize : bool, default=True
        Whether to look for the largest outcome. If False, the smallest is best.
    n_iter : int, default=100
        Number of outcomes to allocate memory for. More are possible, at the cost of a copy.
    dtype : numpy.float64 or numpy.float32, default=numpy.float64
        float32 halves the memory (n_rows times n_iter numbers); the noise then has at least a
        thousandth of the variance of the process.

    Attributes
    ----------
    rows, values : list
        Rows whose outcomes are known, in the order of `tell`, and their outcomes.
    pending : list of int
        Rows that were asked for and have no outcome yet.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_dpbo.papers.kharkovskii2020 import Modeler
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
        Z: ArrayLike,
        *,
        kernel: str = "squared_exponential",
        length_scale: float | None = None,
        noise: float | None = None,
        prior_mean: float | None = None,
        prior_scale: float | None = None,
        delta_ucb: float = 0.05,
        input_noise: float = 0.0,
        maximize: bool = True,
        n_iter: int = 100,
        dtype: DTypeLike = np.float64,
    ) -> None:
        Z = np.array(Z, dtype=np.float64)
        if Z.ndim != 2 or not Z.size or not np.isfinite(Z).all():
            raise ValueError(f"Z must be a 2d array of finite numbers; found shape {Z.shape}")
        if not isinstance(kernel, str) or kernel not in KERNEL_SHAPES:
            raise ValueError(f"kernel must be one of {tuple(KERNEL_SHAPES)}; found {kernel!r}")
        known = dict(zip(_LEARNT, (length_scale, noise, prior_mean, prior_scale), strict=True))
        for name in ("length_scale", "noise", "prior_scale"):
            check_number(name, known[name], "positive", lambda v: v > 0, optional=True)
        check_number("prior_mean", prior_mean, "a number", optional=True)
        if len({value is None for value in known.values()}) > 1:
            raise ValueError(f"give all of {_LEARNT}, or none of them; found {known}")
        check_number("delta_ucb", delta_ucb, "in (0, 1)", lambda v: 0 < v < 1)
        check_number("input_noise", input_noise, "0 or more", lambda v: v >= 0)
        check_number("n_iter", n_iter, "1 or more", lambda v: v >= 1, Integral)
        if input_noise > 0 and kernel != "squared_exponential":
            raise ValueError(
                f"the mean of kernel={kernel!r} under input noise has no closed form; use "
                "'squared_exponential', or input_noise=0"
            )
        if not isinstance(maximize, bool | np.bool_):
            raise ValueError(f"maximize must be True or False; found {maximize!r}")
        if dtype not in (np.float64, np.float32, "float64", "float32"):
            raise ValueError(f"dtype must be numpy.float64 or numpy.float32; found {dtype!r}")
        if n_iter > len(Z):
            raise ValueError(
                f"n_iter={n_iter} must be at most the {len(Z)} rows of Z, because no row is asked "
                "for twice"
            )
        self._params: dict[str, Any] = {
            "kernel": kernel,
            **{name: None if value is None else float(value) for name, value in known.items()},
            "delta_ucb": float(delta_ucb),
            "input_noise": float(input_noise),
            "maximize": bool(maximize),
            "n_iter": int(n_iter),
            "dtype": np.dtype(dtype).name,
        }
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
        """Return the number of the next row to evaluate, or a list of n of them.

        Pending rows and earlier rows of the batch count as if their outcome were the posterior
        mean, which spreads the batch (Desautels, Krause and Burdick, JMLR 2014).
        """
        check_number("n", n, "1 or more", lambda v: v >= 1, Integral, optional=True)
        wanted = 1 if n is None else n
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

    def tell(self, row: int | Sequence[int], value: float | Sequence[float]) -> None:
        """Record the outcome of a row, or the outcomes of several rows, whether asked for or not.

        Raises ValueError, and records nothing, if a row does not exist or has an outcome already,
        or if an outcome is not a finite number.
        """
        rows: list[Any] = list(np.atleast_1d(np.array(row, dtype=object)))
        values: list[Any] = list(np.atleast_1d(np.array(value, dtype=object)))
        if len(rows) != len(values):
            raise ValueError(
                f"tell needs one outcome per row; found {len(values)} for {len(rows)} rows"
            )
        known = set(self.rows)
        for r, v in zip(rows, values, strict=True):
            self._check_row(r)
            if r in known:
                raise ValueError(f"row {r} already has an outcome")
            expected = f"a finite number, at most {_LARGEST:g} in absolute value"
            check_number(f"the outcome of row {r}", v, expected, lambda v: abs(v) <= _LARGEST)
            known.add(r)
        self.rows += [int(r) for r in rows]
        self.values += [float(v) for v in values]
        self.pending = [row for row in self.pending if row not in known]

    def best(self) -> tuple[int, float]:
        """Return the row with the best outcome so far, and that outcome."""
        if not self.rows:
            raise ValueError("there is no outcome yet: call tell first")
        best = int(np.argmax(self._signed(0)))
        return self.rows[best], self.values[best]

    def beta(self, t: int) -> float:
        """Return ``beta_t = 2 ln(n t^2 pi^2 / (6 delta'))``, with t from 1 on."""
        return ucb_beta(len(self._Z), t, self._params["delta_ucb"] / 2)

    # ------------------------------------------------------------ state
    def state(self) -> dict[str, Any]:
        """Return the state, without the table, in types that JSON can represent."""
        return {
            "params": dict(self._params),
            "rows": list(self.rows),
            "values": list(self.values),
            "pending": list(self.pending),
            "table": _fingerprint(self._Z),
        }

    @classmethod
    def from_state(cls, Z: ArrayLike, state: dict[str, Any]) -> Modeler:
        """Return a modeler on the same table that continues from what `state` returned."""
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
    def _check_row(self, row: Any) -> None:
        n = len(self._Z)
        check_number("a row", row, f"numbered from 0 to {n - 1}", lambda r: 0 <= r < n, Integral)

    def _next(self, model: Surrogate, batch: list[int]) -> int:
        asked = self.rows + self.pending + batch
        # Outcomes of other rows say nothing about the part of a row that is independent of them.
        std = np.sqrt(model.variance + self._own_variance)
        bound = model.mean + math.sqrt(self.beta(len(asked) + 1)) * std
        bound[asked] = -np.inf
        return int(np.argmax(bound))

    def _posterior(self) -> Surrogate:
        """Return the process given all outcomes, pending rows at the posterior mean."""
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
        """Return the prior process; unknown parameters are learnt from n_learnt outcomes."""
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
        """Return the process on Z that follows from the given one on the rows without noise."""
        variance, l2 = self._params["prior_scale"] ** 2, self._params["length_scale"] ** 2
        wider = l2 + 2 * self._params["input_noise"] ** 2
        shared = (l2 / wider) ** (self._Z.shape[1] / 2) * variance
        own = variance - shared
        noise = self._params["noise"] ** 2 * variance + own
        mean = self._params["prior_mean"] * (1.0 if self._params["maximize"] else -1.0)
        return _Process(math.sqrt(wider), mean, shared, own, noise)

    def _learnt(self, n: int) -> _Process:
        """Return the process on Z under which the first n outcomes are most likely."""
        width = float(np.ptp(self._Z, axis=0).max()) or 1.0
        one_length = np.zeros(self._Z.shape[1], dtype=int)
        if n == 0:
            kernel = default_kernel(self._params["kernel"], one_length)
            length = _only(kernel.length_scale) * width
            return _Process(length, 0.0, 1.0, 0.0, 0.01)
        seen, values = self._Z[self.rows[:n]] / width, np.array(self._signed(0)[:n])
        kernel, noise, mean = fit_kernel(seen, values, self._params["kernel"], one_length)
        length = _only(kernel.length_scale) * width
        # Without the noise of Z the length-scale is shorter, and some of the noise that was learnt
        # is the independent part of each row.
        l2 = max(length**2 - 2 * self._params["input_noise"] ** 2, 0.01 * length**2)
        share = (l2 / length**2) ** (self._Z.shape[1] / 2)
        own = min(kernel.variance * (1 / share - 1), noise)
        return _Process(length, mean, kernel.variance, own, noise)


def _only(length_scale: float | NDArray[np.float64]) -> float:
    """Return the length-scale that all columns share."""
    return float(np.ravel(length_scale)[0])


def _fingerprint(Z: NDArray[np.float64]) -> str:
    return hashlib.sha256(repr(Z.shape).encode() + np.ascontiguousarray(Z).tobytes()).hexdigest()

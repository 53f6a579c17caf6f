"""What an estimator declares of how it protects its training records (zone: public)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..privacy.runs import COMPOSITIONS, FitGuarantee

_NEIGHBOURS = {"replace-one": 1, "add-or-remove-one": 2}


@dataclass(frozen=True)
class PrivateTraining:
    """How an estimator protects its training records.

    An estimator returns it from a method `private_training` without arguments. It covers everything
    that the fitted estimator holds, because all of it is released. The declaration is believed: a
    `PrivateTableSearchCV` is only as private as the declaration is true. `audit_estimator`
    finds some that are false. Two mistakes are common. A fit must not fail because of a record,
    because the failure would reveal it. And the noise must differ from fit to fit: if a parameter
    seeds it, the method should raise ValueError.

    Parameters
    ----------
    composition : {"pure", "zCDP", "GDP", "approximate"}
        What a fit satisfies, besides being (epsilon, delta)-private for the given parameters.
        "pure": epsilon-private. "zCDP": rho-zCDP for some rho that implies (epsilon, delta)
        (Canonne, Kamath and Steinke, NeurIPS 2020, Proposition 12). "GDP": mu-GDP for the mu that
        implies (epsilon, delta) (Dong, Roth and Su, 2022, Corollary 1). "approximate": nothing
        more; many models then cost much more.
    epsilon, delta : str
        Names of the parameters that set epsilon and delta of a fit. delta is None if there is no
        such parameter; only a "pure" guarantee does without.
    neighbours : {"replace-one", "add-or-remove-one"}
        The neighbouring data sets of the guarantee: one record replaced (the number of records is
        public), or one added or removed. A replacement is one of each, so twice as much is charged.
    groups : str or None
        The argument of `fit` that takes the groups of records to be protected together, if any.
    classes : str or None
        The parameter that takes all labels, which are public, if any. Without, the labels of the
        records decide what the model can predict.
    target_bounds : str or None
        The parameter with the lowest and the highest target of a regressor, as a pair, if any.
    from_release : tuple of str
        Parameters that can be changed after the fit without further privacy loss: the fitted
        estimator has a method `refitted` that takes them by name and uses only what was released.
    condition : str or None
        A condition on the records, in words, for the privacy report, such as "no value is
        missing". None if the guarantee holds for all tables.
    noise : str
        Where the noise comes from, and how exact it is, for the privacy report.
    """

    composition: str
    epsilon: str = "epsilon"
    delta: str | None = "delta"
    neighbours: str = "replace-one"
    groups: str | None = None
    classes: str | None = None
    target_bounds: str | None = None
    from_release: tuple[str, ...] = ()
    condition: str | None = None
    noise: str = "not described"

    def __post_init__(self) -> None:
        if self.composition not in COMPOSITIONS:
            raise ValueError(f"composition must be in {COMPOSITIONS}; found {self.composition!r}")
        if self.neighbours not in _NEIGHBOURS:
            raise ValueError(f"neighbours must be in {[*_NEIGHBOURS]}; found {self.neighbours!r}")
        if self.delta is None and self.composition != "pure":
            raise ValueError(f"a guarantee of kind {self.composition!r} needs a delta; found None")

    @property
    def fit(self) -> FitGuarantee:
        """Cost of one fit, for neighbouring data sets in which one unit is replaced."""
        return FitGuarantee(self.composition, _NEIGHBOURS[self.neighbours])

    def _within(self, step: str) -> PrivateTraining:
        """Return the same of a pipeline that has this estimator as its last step."""
        fields = ("epsilon", "delta", "groups", "classes", "target_bounds")
        names = {field: getattr(self, field) for field in fields}
        return replace(
            self,
            from_release=tuple(f"{step}__{name}" for name in self.from_release),
            **{field: name and f"{step}__{name}" for field, name in names.items()},
        )

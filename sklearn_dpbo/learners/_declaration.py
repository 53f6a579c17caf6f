"""What an estimator declares of how it protects its training records (zone: public)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..privacy.profiles import Profile, epsilon_of_profile, profile_of_all
from ..privacy.runs import COMPOSITIONS, FitGuarantee

_NEIGHBOURS = {"replace-one": 1, "add-or-remove-one": 2}
# The delta at which an audit tests a declared profile.
_AUDITED = 0.05


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
    composition : {"pure", "zCDP", "GDP", "approximate", "profile"}
        What a fit satisfies, besides being (epsilon, delta)-private for the given parameters.
        "pure": epsilon-private. "zCDP": rho-zCDP for some rho that implies (epsilon, delta)
        (Canonne, Kamath and Steinke, NeurIPS 2020, Proposition 12). "GDP": mu-GDP for the mu that
        implies (epsilon, delta) (Dong, Roth and Su, 2022, Corollary 1). "approximate": nothing
        more; many models then cost much more. "profile": what `profile` says, for all epsilon at
        once; this needs the least noise.
    epsilon, delta : str
        Names of the parameters that set epsilon and delta of a fit. delta is None if there is no
        such parameter; only a "pure" guarantee does without. With a profile, delta is not set, and
        epsilon only without `noise_multiplier`.
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
    profile : callable or None
        For "profile", and only then. ``profile(setting)`` returns the privacy profile of one fit
        with this value of the parameter that `noise_multiplier` (or `epsilon`) names: a function h
        of an array of increasing epsilons, 0 or larger, so that a fit is (epsilon, h(epsilon))-DP
        for each of them. It may depend on other parameters of the estimator: make it
        ``functools.partial(profile_of, ...)`` of a function outside the class, because the search
        calls equal ones only once for each of about 20 settings. All candidates get the same
        setting, with which the maximum of their profiles is private enough.
    noise_multiplier : str or None
        Name of the parameter that sets the noise of a fit with a profile: the larger, the more.
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
    profile: Callable[[float], Profile] | None = field(default=None, compare=False)
    noise_multiplier: str | None = None

    def __post_init__(self) -> None:
        if self.composition not in (kinds := (*COMPOSITIONS, "profile")):
            raise ValueError(f"composition must be in {kinds}; found {self.composition!r}")
        if callable(self.profile) != (self.composition == "profile"):
            raise ValueError(
                'composition="profile" needs a function as profile, and no other has one; found '
                f"composition={self.composition!r} and profile={self.profile!r:.100}"
            )
        if self.noise_multiplier is not None and self.profile is None:
            raise ValueError(
                "noise_multiplier names what a profile depends on; without a profile it must be "
                f"None; found {self.noise_multiplier!r}"
            )
        if self.neighbours not in _NEIGHBOURS:
            raise ValueError(f"neighbours must be in {[*_NEIGHBOURS]}; found {self.neighbours!r}")
        if self.delta is None and self.composition not in ("pure", "profile"):
            raise ValueError(f"a guarantee of kind {self.composition!r} needs a delta; found None")

    @property
    def fit(self) -> FitGuarantee:
        """Cost of one fit, for neighbouring data sets in which one unit is replaced."""
        return FitGuarantee(self.composition, _NEIGHBOURS[self.neighbours])

    def claim(self, params: Mapping[str, Any]) -> tuple[float, float]:
        """Return epsilon and delta of a fit with these parameters, for one unit replaced."""
        if self.profile is not None:
            profile = profile_of_setting([self], params[self.setting])
            return epsilon_of_profile(profile, _AUDITED), _AUDITED
        delta = 0.0 if self.delta is None else params[self.delta]
        return self.fit.of_replacement(params[self.epsilon], delta)

    @property
    def setting(self) -> str:
        """The parameter on which the profile depends."""
        return self.noise_multiplier or self.epsilon

    def _within(self, step: str) -> PrivateTraining:
        """Return the same of a pipeline that has this estimator as its last step."""
        fields = ("epsilon", "delta", "groups", "classes", "target_bounds", "noise_multiplier")
        names = {field: getattr(self, field) for field in fields}
        changed: dict[str, Any] = {k: name and f"{step}__{name}" for k, name in names.items()}
        from_release = tuple(f"{step}__{name}" for name in self.from_release)
        return replace(self, from_release=from_release, **changed)


def profile_of_setting(declared: Sequence[PrivateTraining], setting: float) -> Profile:
    """Return the largest profile of fits that declare these, for one unit replaced."""
    profiles = {_key(each.profile): each.profile for each in declared if each.profile is not None}
    at_setting = [profile(setting) for profile in profiles.values()]
    return profile_of_all(at_setting, _NEIGHBOURS[declared[0].neighbours])


def _key(function: Any) -> Any:
    """Return what is equal for equal functions, and for one function with equal arguments."""
    key = function
    if isinstance(function, partial):
        key = function.func, function.args, tuple(function.keywords.items())
    try:
        hash(key)
    except TypeError:
        return id(function)
    return key

"""Declaration of an estimator's privacy guarantee for its training records (zone: public)."""

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
    """Privacy guarantee of an estimator for its training records.

    An estimator returns it from a method `private_training` without arguments. It covers everything
    that the fitted estimator holds, because all of it is released. The declaration is not checked:
    if it is false, a `PrivateTableSearchCV` has no guarantee. `audit_estimator` finds some false
    declarations. Two mistakes are common. A fit must not fail because of a record, because the
    failure would reveal it. And the noise must differ from fit to fit: if a parameter seeds it, the
    method should raise ValueError.

    Parameters
    ----------
    composition : {"pure", "zCDP", "GDP", "approximate", "profile"}
        Guarantee of a fit, besides (epsilon, delta)-DP for its parameters. "pure": epsilon-DP.
        "zCDP": rho-zCDP for some rho that implies (epsilon, delta) (Canonne, Kamath and Steinke,
        NeurIPS 2020, Proposition 12). "GDP": mu-GDP for the mu that implies (epsilon, delta) (Dong,
        Roth and Su, 2022, Corollary 1). "approximate": no other guarantee; many models then cost
        much more. "profile": the privacy profile `profile`, for all epsilon at once; this needs the
        least noise.
    epsilon, delta : str
        Names of the parameters that set epsilon and delta of a fit. delta is None if there is no
        such parameter, which is possible for a "pure" guarantee. With a profile, the search sets no
        delta, and epsilon only if there is no `noise_multiplier`.
    neighbours : {"replace-one", "add-or-remove-one"}
        The neighbouring data sets of the guarantee: one record replaced (the number of records is
        public), or one added or removed. A replacement removes one record and adds another, so
        twice as much is charged.
    groups : str or None
        The argument of `fit` that takes the groups of records to be protected together, if any.
    classes : str or None
        The parameter that takes all labels, which are public, if any. Without it, the labels of the
        records determine what the model can predict.
    target_bounds : str or None
        The parameter that takes the lowest and the highest target of a regressor, if any.
    from_release : tuple of str
        Parameters that can be changed after the fit without further privacy loss: the fitted
        estimator has a method `refitted` that takes them by name and uses only released values.
    condition : str or None
        Condition on the records, in words, for the privacy report, such as "no value is missing".
        None if the guarantee holds for all tables.
    noise : str
        Source and precision of the noise, for the privacy report.
    profile : callable or None
        Required for "profile", None otherwise. ``profile(setting)`` returns the privacy profile of
        one fit in which the parameter named by `noise_multiplier` (or `epsilon`) has this value. A
        profile is a function h of an array of increasing epsilons, 0 or larger: a fit is (epsilon,
        h(epsilon))-DP for each of them. It may depend on other parameters of the estimator. Make it
        ``functools.partial(profile_of, ...)`` of a function outside the class, because the search
        calls equal profiles only once for each of about 20 settings. All candidates get the same
        setting, for which the maximum of their profiles is within the budget.
    noise_multiplier : str or None
        Name of the parameter that sets the noise of a fit with a profile; a larger value gives more
        noise.
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
                'profile must be a function if composition="profile", and None otherwise; found '
                f"composition={self.composition!r} and profile={self.profile!r:.100}"
            )
        if self.noise_multiplier is not None and self.profile is None:
            raise ValueError(
                "noise_multiplier is for composition='profile', and must be None otherwise; found "
                f"{self.noise_multiplier!r}"
            )
        if self.neighbours not in _NEIGHBOURS:
            raise ValueError(f"neighbours must be in {[*_NEIGHBOURS]}; found {self.neighbours!r}")
        if self.delta is None and self.composition not in ("pure", "profile"):
            raise ValueError(f"composition={self.composition!r} needs a delta; found None")

    @property
    def fit(self) -> FitGuarantee:
        """Cost of one fit, for the replacement of one unit."""
        return FitGuarantee(self.composition, _NEIGHBOURS[self.neighbours])

    def claim(self, params: Mapping[str, Any]) -> tuple[float, float]:
        """Return (epsilon, delta) of a fit with these parameters, for the replacement of a unit."""
        if self.profile is not None:
            profile = profile_of_setting([self], params[self.setting])
            return epsilon_of_profile(profile, _AUDITED), _AUDITED
        delta = 0.0 if self.delta is None else params[self.delta]
        return self.fit.of_replacement(params[self.epsilon], delta)

    @property
    def setting(self) -> str:
        """Name of the parameter on which the profile depends."""
        return self.noise_multiplier or self.epsilon

    def _within(self, step: str) -> PrivateTraining:
        """Return the declaration of a pipeline whose last step, of this name, is the estimator."""
        fields = ("epsilon", "delta", "groups", "classes", "target_bounds", "noise_multiplier")
        names = {field: getattr(self, field) for field in fields}
        prefixed: dict[str, Any] = {k: name and f"{step}__{name}" for k, name in names.items()}
        from_release = tuple(f"{step}__{name}" for name in self.from_release)
        return replace(self, from_release=from_release, **prefixed)


def profile_of_setting(declared: Sequence[PrivateTraining], setting: float) -> Profile:
    """Compute the maximum of the declared profiles, for the replacement of one unit."""
    functions = {_key(fit.profile): fit.profile for fit in declared if fit.profile is not None}
    profiles = [profile(setting) for profile in functions.values()]
    return profile_of_all(profiles, _NEIGHBOURS[declared[0].neighbours])


def _key(function: Any) -> Any:
    """Return a hashable key, equal for partials of the same function with equal arguments."""
    key = function
    if isinstance(function, partial):
        key = function.func, function.args, tuple(function.keywords.items())
    try:
        hash(key)
    except TypeError:
        return id(function)
    return key

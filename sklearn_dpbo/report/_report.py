"""The privacy statement of whatever was released (zone: released)."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import dataclass

from .._privacy.accounting import PrivacyLoss
from ._card import card

__all__ = ["PREDICTIONS_ROW_BY_ROW", "TRAINING_NOT_PROTECTED", "PrivacyReport"]

_SEEDED = (
    "NOT PRIVATE: the noise was seeded. Whoever knows the seed can take it off again. This is for "
    "tests only; do not publish it"
)

TRAINING_NOT_PROTECTED = (
    "the training set, on which {} was fitted; the schema of the validation set (number of units, "
    "columns, dtypes); the time that it took; and whatever else is computed from the validation "
    "records, this fit run again included"
)
PREDICTIONS_ROW_BY_ROW = (
    "a model's prediction for a record depends on that record alone (checked on training records)"
)


@dataclass(frozen=True)
class _Fact:
    """One fact of a statement: for readers as lines of text, for programs as values by name."""

    label: str
    lines: tuple[str, ...]
    values: dict
    detail: bool = False


@dataclass(frozen=True)
class PrivacyReport:
    """What was protected, how strongly, and on which assumption.

    ``print()`` shows it as text, a notebook as HTML; `to_markdown`, `to_html` and `to_json` give it
    a form to publish. All say the same.

    Parameters
    ----------
    title : str
        What it is the statement of.
    epsilon, delta : float
        What was spent: all of it is (epsilon, delta)-differentially private with respect to one
        unit.
    unit : str
        What neighbouring data differ in one of: "record", "group" or "instance".
    m : int
        Number of units.
    data : str
        What the units are part of: "validation set" or "sample".
    protected : str
        Where they came from.
    not_protected : str
    assumption : str or None
        What the guarantee rests on beside the condition; None for a worst-case guarantee.
    condition : str
        What has to hold in any case.
    released : str
        What may be published.
    spends : tuple of PrivacyLoss
        One entry per release.
    noise : str
        Where the noise came from.
    secure : bool
        False if the noise can be predicted; then nothing is guaranteed.
    """

    title: str
    epsilon: float
    delta: float
    unit: str
    m: int
    data: str
    protected: str
    not_protected: str
    assumption: str | None
    condition: str
    released: str
    spends: tuple[PrivacyLoss, ...]
    noise: str
    secure: bool

    @property
    def mechanism(self) -> str:
        """The mechanisms used, in order."""
        return ", then ".join(_how(losses) for losses in self._by_release().values())

    def to_dict(self) -> dict:
        """Return the statement as numbers, texts, and lists and dicts of them.

        Returns
        -------
        statement : dict
            With the keys "title", "private" (bool), "warning" (None if private), "epsilon" and
            "delta" (None if the noise was seeded: then there is no guarantee), "worst_case" (bool),
            "m", "unit", "data", "protected", "neighbours", "released", "not_protected",
            "assumption" (None if there is none), "condition", "spent" and "noise". "spent" is a
            list with an entry per kind of release: "release", "mechanism", "times", "epsilon",
            "delta", and "share", that of epsilon.
        """
        whole = {"title": self.title, "private": self.secure, "warning": self._warning or None}
        for fact in self._facts():
            whole |= fact.values
        return whole

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        """Return the statement as a fragment of HTML that needs nothing else."""
        rows = [(fact.label, fact.lines) for fact in self._facts()]
        return card(self.title, rows, warning=self._warning)

    _repr_html_ = to_html

    def to_markdown(self) -> str:
        """Return the statement as a Markdown list."""
        head = [] if self.secure else [f"> # {_marked_down(self._warning)}", ""]
        return "\n".join(
            [
                *head,
                f"**{_marked_down(self.title)}**",
                "",
                *(f"- **{f.label}**: {_marked_down('; '.join(f.lines))}" for f in self._facts()),
            ]
        )

    def __str__(self) -> str:
        lines = [self.title]
        if not self.secure:
            warning = textwrap.wrap(self._warning, 92)
            lines = ["!" * 100, *(f"!!! {line:<92} !!!" for line in warning), "!" * 100, *lines]
        for fact in self._facts():
            heading = fact.label
            for text in fact.lines:
                lines += textwrap.wrap(
                    text, 100, initial_indent=f"  {heading:<15}", subsequent_indent=" " * 17
                )
                heading = ""
        return "\n".join(lines)

    def __repr__(self) -> str:
        state = "" if self.secure else ", NOT PRIVATE: seeded noise"
        return (
            f"<PrivacyReport: epsilon={self.epsilon:g}, delta={self.delta:g}, "
            f"{self.m} {self.unit}s{state}; print() it for all>"
        )

    def _card(self, results) -> str:
        """Return the statement as HTML beneath results, with the details folded."""
        facts = self._facts()
        rows = [(fact.label, fact.lines) for fact in facts if not fact.detail]
        folded = [(fact.label, fact.lines) for fact in facts if fact.detail]
        return card(self.title, [*results, *rows], folded=folded, warning=self._warning)

    @property
    def _warning(self) -> str:
        return "" if self.secure else _SEEDED

    def _facts(self) -> list[_Fact]:
        """Return the statement: every form of it is made of this."""
        spent = self._spent()
        return [
            self._guarantee(),
            _Fact(
                "Protected",
                (f"{self.m:,} {self.unit}s of the {self.data} ({self.protected})",),
                {"m": self.m, "unit": self.unit, "data": self.data, "protected": self.protected},
            ),
            _text("Neighbours", self._neighbours(), detail=True),
            _text("Released", self.released, detail=True),
            _text("Not protected", self.not_protected),
            _Fact(
                "Assumption",
                (self.assumption or "none: it holds in the worst case",),
                {"assumption": self.assumption},
            ),
            _text("Condition", self.condition, detail=True),
            _Fact("Spent", tuple(_spend_text(each) for each in spent), {"spent": spent}),
            _text("Noise", self.noise, detail=True),
        ]

    def _guarantee(self) -> _Fact:
        worst_case = self.assumption is None
        if not self.secure:
            none = {"epsilon": None, "delta": None, "worst_case": False}
            return _Fact("Guarantee", ("NONE: the noise was seeded",), none)
        kind = "worst case" if worst_case else "under an assumption"
        return _Fact(
            "Guarantee",
            (f"epsilon = {self.epsilon:g}, delta = {self.delta:g} ({kind})",),
            {"epsilon": self.epsilon, "delta": self.delta, "worst_case": worst_case},
        )

    def _neighbours(self) -> str:
        one = "all the records of one group are"
        if self.unit != "group":
            one = f"one {self.unit} is"
        return f"{self.data}s in which {one} replaced"

    def _spent(self) -> list[dict]:
        """Return what was spent on what, in order; what was spent repeatedly, as one sum."""
        spent = []
        for release, losses in self._by_release().items():
            epsilon = sum(loss.epsilon for loss in losses)
            spent.append(
                {
                    "release": release,
                    "mechanism": _how(losses),
                    "times": len(losses),
                    "epsilon": epsilon,
                    "delta": sum(loss.delta for loss in losses),
                    "share": epsilon / self.epsilon,
                }
            )
        return spent

    def _by_release(self) -> dict[str, list[PrivacyLoss]]:
        of_release: dict[str, list[PrivacyLoss]] = {}
        for loss in self.spends:
            of_release.setdefault(loss.release, []).append(loss)
        return of_release


def _text(label: str, text: str, *, detail: bool = False) -> _Fact:
    return _Fact(label, (text,), {label.lower().replace(" ", "_"): text}, detail)


def _spend_text(spend: dict) -> str:
    return (
        f"epsilon = {spend['epsilon']:g} ({100 * spend['share']:.3g} %), delta = "
        f"{spend['delta']:g}: {spend['release']}, by {spend['mechanism']}"
    )


def _marked_down(text: str) -> str:
    """Return text that Markdown shows as it is: on one line, what means something there escaped."""
    return re.sub(r"([\\`*_\[\]<>&|~#$])", r"\\\1", " ".join(text.split()))


def _how(losses: list[PrivacyLoss]) -> str:
    first = losses[0]
    if len(losses) == 1:
        return first.mechanism
    return f"{first.mechanism} and {len(losses) - 1} more like it, one after another"

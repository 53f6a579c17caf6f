"""The privacy report of a release (zone: released)."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from .._card import Row, card
from .._privacy.accounting import TRAINING, PrivacyLoss, Receipt, weak_because
from .._privacy.mechanisms import Mechanisms

__all__ = ["PREDICTION_CONDITIONS", "TRAINING_NOT_PROTECTED", "PrivacyReport"]

_SEEDED = (
    "NOT PRIVATE: the noise was seeded. For tests only: do not publish it. Whoever knows the seed "
    "can remove the noise"
)

TRAINING_NOT_PROTECTED = (
    "the training set, on which {} was fitted; how long the fit took; the schema of the validation "
    "set (number of units, group identifiers, columns, dtypes); and whatever else is computed from "
    "the validation records, including another run of this fit"
)
_ROW_BY_ROW = (
    "a model's prediction for a record depends on that record alone (checked on training records)"
)
PREDICTION_CONDITIONS = {
    "auto": _ROW_BY_ROW + "; models with code of no known library predicted each unit alone",
    "together": _ROW_BY_ROW + ", also if the model has code of no known library",
    "separate": (
        "none for predictions: each unit was predicted alone, beside training records, by a "
        "copy of the model"
    ),
}
_SUMMARY_LINES, _SUMMARY_WIDTH = 7, 83  # below the title; of a text behind its label
_ANOTHER_RUN = "uses new noise, which random_state does not fix, and spends epsilon again"
_NOT_REPORTED = (
    "labels that are missing or that the training set does not have, and records that cannot be "
    "predicted: they count as wrong, and a message would reveal them. To see how the model copes "
    "with such records, compare score(X, y) on public ones"
)


@dataclass(frozen=True, eq=False)
class _Fact:
    """One fact of a report: as lines of text for readers, as named values for programs."""

    label: str
    lines: tuple[str, ...]
    values: dict[str, Any]
    detail: bool = False


@dataclass(frozen=True)
class PrivacyReport:
    """What was protected, how strongly, and on which assumption.

    ``print()`` shows a summary, `details` returns the whole text, and a notebook shows HTML;
    `to_markdown`, `to_html` and `to_json` return the report for publication. All forms but the
    summary have the same content.

    Parameters
    ----------
    title : str
        What the report is about.
    epsilon, delta : float
        What was spent: everything released together is (epsilon, delta)-differentially private
        with respect to one unit.
    unit, m : str, int
        What is replaced in neighbouring data ("record", "group" or "instance"), and their number.
    data, protected : str
        What the units are part of ("validation set" or "sample"), and where they came from.
    not_protected : str
        What the guarantee does not cover.
    assumption : str or None
        What the guarantee rests on in addition to the condition; None for a worst-case guarantee.
    condition : str
        What has to hold in any case.
    released : str
        What may be published.
    spends : tuple of PrivacyLoss
        One entry per charge, in order.
    noise, secure : str, bool
        Where the noise came from, and whether nobody can predict it: else there is no guarantee.
    receipts : tuple of Receipt, default=()
        Where the release was charged: one entry per charge of a ledger.
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
    receipts: tuple[Receipt, ...] = ()

    @classmethod
    def of(cls, mechanisms: Mechanisms, **facts: Any) -> Self:
        """Return the report of what these mechanisms released; facts are further parameters."""
        budget, noise = mechanisms.budget, mechanisms.noise
        spent = {
            "epsilon": budget.epsilon,
            "delta": budget.spent[1],
            "assumption": None,
            "spends": budget.losses,
            "noise": noise.description,
            "secure": noise.secure,
            "receipts": budget.receipts,
        }
        return cls(**(spent | facts))

    @classmethod
    def of_validation_set(
        cls, problem: Any, mechanisms: Mechanisms, prediction: str, **facts: Any
    ) -> Self:
        """Return the report of what these mechanisms released of a validation set."""
        return cls.of(
            mechanisms,
            unit=problem.units.name,
            m=problem.units.m,
            data="validation set",
            protected=problem.protected,
            condition=PREDICTION_CONDITIONS[prediction],
            **facts,
        )

    @property
    def mechanism(self) -> str:
        """The mechanisms used, in order."""
        return ", then ".join(_mechanism(losses) for losses in self._by_purpose().values())

    def to_dict(self) -> dict[str, Any]:
        """Return the report as numbers, texts, and lists and dicts of them.

        The keys are "title", "private" (bool), "warning" (None if private), "epsilon" and "delta"
        (None if the noise was seeded: then there is no guarantee), "worst_case" (bool), "weak" (why
        the guarantee promises little, or None), "m", "unit", "data", "protected", "neighbours",
        "released", "not_protected", "assumption" (or None), "condition", "not_reported" (of a
        validation set), "spent", "noise", "another_run" (unless the noise was seeded) and "ledger"
        (if one was charged: "ledger", "charge" and "head" of each charge, as in `Receipt`). "spent"
        lists, for each purpose, "purpose" (in words), "mechanism", "times", "epsilon", "delta",
        "share" (of the whole epsilon), and "of" (of one table, which part of it pays; else empty).
        """
        report = {"title": self.title, "private": self.secure, "warning": self._warning or None}
        for fact in self._facts():
            report |= fact.values
        return report

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        """Return the report as a self-contained HTML fragment."""
        rows = [(fact.label, fact.lines) for fact in self._facts()]
        return card(self.title, rows, warning=self._warning)

    _repr_html_ = to_html

    def to_markdown(self) -> str:
        """Return the report as a Markdown list."""
        lines = [] if self.secure else [f"> # {_escape_markdown(self._warning)}", ""]
        lines += [f"**{_escape_markdown(self.title)}**", ""]
        for fact in self._facts():
            lines.append(f"- **{fact.label}**: {_escape_markdown('; '.join(fact.lines))}")
        return "\n".join(lines)

    def details(self) -> str:
        """Return the whole report as text: print it."""
        lines = [self.title]
        if not self.secure:
            warning = textwrap.wrap(self._warning, 92)
            lines = ["!" * 100, *(f"!!! {line:<92} !!!" for line in warning), "!" * 100, *lines]
        for fact in self._facts():
            heading = fact.label
            for text in fact.lines:
                lines += textwrap.wrap(
                    text,
                    100,
                    initial_indent=f"  {heading:<15}",
                    subsequent_indent=" " * 17,
                    break_on_hyphens=False,
                )
                heading = ""
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return a summary of at most 8 lines."""
        lines = [f"{self.title} (in full: .details())"]
        lines += [] if self.secure else [f"!!! {self._warning.rpartition('. ')[0]} !!!"]
        return "\n".join([*lines, *(f"  {label:<15}{text}" for label, text in self._summary())])

    def _summary(self) -> list[tuple[str, str]]:
        """Return the facts that a reader needs first, each for one line."""
        facts = {fact.label: "; ".join(fact.lines) for fact in self._facts()}
        labels = ["Guarantee", "Protected", "Not protected"]
        labels += ["Released"] * self.secure + ["Assumption"] * (self.assumption is not None)
        lines = [(label, _first_clauses(facts[label])) for label in (*labels, "Condition")]
        if self.receipts:
            more = f", and {len(self.receipts) - 1} more" * (len(self.receipts) > 1)
            lines.append(
                ("Ledger", f"{_charge(self.receipts[0])}{more}; it has the sum of all fits")
            )
        if self.secure and len(lines) < _SUMMARY_LINES:
            lines.append(("Another run", _ANOTHER_RUN))
        return lines

    def __repr__(self) -> str:
        state = "" if self.secure else ", NOT PRIVATE: seeded noise"
        return (
            f"<PrivacyReport: epsilon={self.epsilon:g}, delta={self.delta:g}, "
            f"{self.m} {self.unit}s{state}; print() it, or its details()>"
        )

    def _card(self, results: Iterable[Row]) -> str:
        """Return the report as HTML beneath the rows of results, with the details folded."""
        facts = self._facts()
        rows = [(fact.label, fact.lines) for fact in facts if not fact.detail]
        folded = [(fact.label, fact.lines) for fact in facts if fact.detail]
        return card(self.title, [*results, *rows], folded=folded, warning=self._warning)

    @property
    def _warning(self) -> str:
        return "" if self.secure else _SEEDED

    def _facts(self) -> list[_Fact]:
        """Return the content that every form of the report is made of."""
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
            *self._not_reported(),
            _Fact("Spent", tuple(_spend_text(each) for each in spent), {"spent": spent}),
            _text("Noise", self.noise, detail=True),
            *([_text("Another run", _ANOTHER_RUN)] if self.secure else []),
            *self._charged(),
        ]

    def _guarantee(self) -> _Fact:
        if not self.secure:
            none = {"epsilon": None, "delta": None, "worst_case": False, "weak": None}
            return _Fact("Guarantee", ("NONE: the noise was seeded",), none)
        worst_case = self.assumption is None
        kind = "worst case" if worst_case else "if the assumption holds; else none"
        weak = weak_because(self.epsilon, self.delta, self.m)
        numbers = f"epsilon = {self.epsilon:g}, delta = {self.delta:g} ({kind})"
        return _Fact(
            "Guarantee",
            ((f"WEAK, as {weak}: " if weak else "") + numbers,),
            {
                "epsilon": self.epsilon,
                "delta": self.delta,
                "worst_case": worst_case,
                "weak": weak or None,
            },
        )

    def _not_reported(self) -> list[_Fact]:
        of_records = self.data == "validation set"
        return [_text("Not reported", _NOT_REPORTED, detail=True)] if of_records else []

    def _charged(self) -> list[_Fact]:
        """Return which charges of a ledger paid, so that `PrivacyLedger.verify` finds them."""
        if not self.receipts:
            return []
        lines = tuple(f"{_charge(r)}, {r.head}" for r in self.receipts)
        values = {"ledger": [receipt._asdict() for receipt in self.receipts]}
        return [_Fact("Ledger", lines, values, detail=True)]

    def _neighbours(self) -> str:
        one = "all the records of one group are" if self.unit == "group" else f"one {self.unit} is"
        return f"{self.data}s in which {one} replaced"

    def _spent(self) -> list[dict[str, Any]]:
        spent = []
        for purpose, losses in self._by_purpose().items():
            epsilon = sum(loss.epsilon for loss in losses)
            spent.append(
                {
                    "purpose": purpose,
                    "mechanism": _mechanism(losses),
                    "times": len(losses),
                    "epsilon": epsilon,
                    "delta": sum(loss.delta for loss in losses),
                    "share": epsilon / self.epsilon,
                    "of": self._part_of(losses[0]),
                }
            )
        return spent

    def _part_of(self, loss: PrivacyLoss) -> str:
        """Return which records pay for a loss, in words; "" for all of them."""
        if TRAINING not in [each.purpose for each in self.spends]:
            return ""
        return "the first part" if loss.purpose == TRAINING else "the second part"

    def _by_purpose(self) -> dict[str, list[PrivacyLoss]]:
        """Return the losses by purpose and detail, in words."""
        by_purpose: dict[str, list[PrivacyLoss]] = {}
        for loss in self.spends:
            by_purpose.setdefault(loss.release, []).append(loss)
        return by_purpose


def _text(label: str, text: str, *, detail: bool = False) -> _Fact:
    return _Fact(label, (text,), {label.lower().replace(" ", "_"): text}, detail)


def _spend_text(spend: dict[str, Any]) -> str:
    return (
        f"epsilon = {spend['epsilon']:g} ({100 * spend['share']:.3g} %{spend['of'] and ' of '}"
        f"{spend['of']}), delta = {spend['delta']:g}: {spend['purpose']}, by {spend['mechanism']}"
    )


def _charge(receipt: Receipt) -> str:
    return f"charge {receipt.charge} of {receipt.ledger}"


def _first_clauses(text: str) -> str:
    """Return what a text says first, on one line; dots stand for the rest."""
    if len(text) <= _SUMMARY_WIDTH:
        return text
    first, *rest = re.split(r";\s+(?![^(]*\))", text)  # not within brackets
    if len(first) > _SUMMARY_WIDTH - len("; ..."):
        first = re.sub(r"\s*\([^()]*\)", "", first)  # the details have all of it
    kept = first
    for clause in rest:
        if len(f"{kept}; {clause}; ...") > _SUMMARY_WIDTH:
            break
        kept = f"{kept}; {clause}"
    if len(kept) + len("; ...") > _SUMMARY_WIDTH:
        listed = kept[: _SUMMARY_WIDTH - 5].rpartition(", ")[0]
        return (
            f"{listed}, ..."
            if listed
            else textwrap.shorten(kept, _SUMMARY_WIDTH, placeholder=" ...")
        )
    return f"{kept}; ..."


def _escape_markdown(text: str) -> str:
    """Return the text on one line, with all characters escaped that mean something in Markdown."""
    return re.sub(r"([\\`*_\[\]<>&|~#$])", r"\\\1", " ".join(text.split()))


def _mechanism(losses: list[PrivacyLoss]) -> str:
    first = losses[0]
    if len(losses) == 1:
        return first.mechanism
    return f"{first.mechanism} and {len(losses) - 1} more like it, one after another"

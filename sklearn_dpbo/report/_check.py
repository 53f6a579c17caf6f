"""Checker of released files, by the rules of a policy (zone: released)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..exceptions import LedgerError
from ..privacy.ledger._ledger import PrivacyLedger
from ..privacy.report._report import PrivacyReport
from ..search._released import SEARCH, THRESHOLD
from ._load import load
from ._policy import Policy
from ._table_check import labels, wrong_rows

# Part of the kind of release, by what the charge was made for. Others are made for searches.
_KIND_OF = {
    "private_evaluation": "evaluation",
    "private_comparison": "comparison",
    "PrivateThresholdClassifier": THRESHOLD,
}


class Finding(NamedTuple):
    """Result of a rule for a release.

    Parameters
    ----------
    rule : str
        Name of the rule, as in the policy; or "file", "guarantee", "ledger" or "table".
    passed : bool
        Whether the release keeps the rule.
    found : str
        Observation, in words.
    """

    rule: str
    passed: bool
    found: str

    def __str__(self) -> str:
        """Return one line; texts of the file cannot begin another."""
        state = "pass" if self.passed else "FAIL"
        found = "".join(char if char.isprintable() else "?" for char in self.found)
        return f"{state}  {self.rule:<26}{found}"


def check(
    file: str | os.PathLike[str],
    policy: Any = None,
    *,
    tables: Iterable[str | os.PathLike[str]] = (),
    ledger: PrivacyLedger | None = None,
) -> list[Finding]:
    """Check the file of a release, as an output checker does.

    Every number in the file, and in a submitted table, is recomputed from the noisy counts in the
    file. The counts themselves are not signed: a file passes if its counts were changed, and all
    numbers with them. If you do not trust the analyst, make the release yourself.

    Parameters
    ----------
    file : str or path-like
        File with ``to_json`` of an evaluation, a comparison, ``search.released_`` or ``privacy_``.
    policy : str, path-like, dict or None, default=None
        The rules, in a TOML file or a dict: "epsilon", "epsilon_per_dataset", "epsilon_per_year",
        "delta_times_units", "fewest_units", "fewest_units_per_subgroup", "units", "assumptions" and
        "ledger". The documentation's page "Check an output" explains them.
    tables : iterable of str or path-like, default=()
        Submitted tables, as ``evaluation.table(...).to_csv(...)`` writes them; numbers may be
        rounded.
    ledger : PrivacyLedger or None, default=None
        The ledger that the release was charged to. Receipts are compared with it.

    Returns
    -------
    findings : list of Finding
        One for each rule. The release may leave if all of them passed.

    Raises
    ------
    ValueError
        If the policy is invalid. Errors of the file are findings.

    Examples
    --------
    >>> from sklearn_dpbo.report import check
    >>> findings = check("evaluation.json", {"epsilon": 1.0})  # doctest: +SKIP
    >>> all(finding.passed for finding in findings)  # doctest: +SKIP
    True
    """
    rules = Policy.of(policy)
    try:
        released = load(file)
    except Exception as error:  # whatever a file does to its reader, it is not let out
        why = " ".join(str(error).split()) or "it cannot be read"
        return [Finding("file", False, f"{type(error).__name__}: {why}")]
    report = released if isinstance(released, PrivacyReport) else released.privacy_
    counted = "holds no numbers" if released is report else "all numbers follow from its counts"
    findings = [
        Finding("file", True, f"intact: {counted}; made by {report.software}"),
        Finding("guarantee", report.secure, f"noise: {report.noise}"),
    ]
    findings += _of_report(report, rules)
    findings += _of_subgroups(released, rules)
    findings += _of_ledger(released, rules, ledger)
    for table in tables:
        findings += _of_table(released, table, rules.fewest_units_per_subgroup or 0)
    return findings


def _of_report(report: PrivacyReport, rules: Policy) -> Iterator[Finding]:
    """Check the rules for which the privacy report is enough."""
    if rules.epsilon is not None:
        text = f"{report.epsilon:g} (at most {rules.epsilon:g})"
        yield Finding("epsilon", report.epsilon <= rules.epsilon, text)
    if rules.delta_times_units is not None:
        limit = rules.delta_times_units / report.m
        text = f"delta {report.delta:g} (below {limit:.3g}, for {report.m:,} {report.unit}s)"
        yield Finding("delta_times_units", report.delta < limit, text)
    if rules.fewest_units is not None:
        text = f"{report.m:,} {report.unit}s (at least {rules.fewest_units:,})"
        yield Finding("fewest_units", report.m >= rules.fewest_units, text)
    if rules.units is not None:
        text = f"{report.unit} (one of {', '.join(rules.units)})"
        yield Finding("units", report.unit in rules.units, text)
    text = f"rests on: {report.assumption}" if report.assumption else "none"
    yield Finding("assumptions", rules.assumptions or report.assumption is None, text)


def _of_subgroups(released: Any, rules: Policy) -> Iterator[Finding]:
    """Check the noisy number of units in each combination of levels: the file shows them all."""
    fewest = rules.fewest_units_per_subgroup
    if fewest is None:
        return
    evaluation = getattr(released, "evaluation_", released)
    subgroups = getattr(evaluation, "_subgroups", None)
    if isinstance(released, PrivacyReport):
        text = "cannot be told of a privacy report alone"
        yield Finding("fewest_units_per_subgroup", False, text)
        return
    if subgroups is None:
        yield Finding("fewest_units_per_subgroup", True, "none is reported")
        return
    small = []
    for levels, subgroup in evaluation._by(None).items():
        if (size := round(subgroup._size.value)) < fewest:
            named = zip(subgroups.levels, levels, strict=True)
            name = ", ".join(f"{column}={level}" for column, level in named)
            small.append(f"{name} has about {size:,} (at least {fewest:,})")
    text = "; ".join(small) or f"each has {fewest:,} or more"
    yield Finding("fewest_units_per_subgroup", not small, text)


def _of_ledger(released: Any, rules: Policy, ledger: PrivacyLedger | None) -> Iterator[Finding]:
    """Check receipts against the ledger, and the sums of its charges."""
    report = released if isinstance(released, PrivacyReport) else released.privacy_
    limits = {"dataset": rules.epsilon_per_dataset, "year": rules.epsilon_per_year}
    needed = {f"epsilon_per_{name}" for name, limit in limits.items() if limit is not None}
    needed |= {"ledger"} if rules.ledger else set()
    if ledger is None:
        for rule in sorted(needed):
            yield Finding(rule, False, "needs the ledger: pass it")
        return
    problem = _failure(lambda: ledger.verify([report])) or _other_maker(released, report)
    text = problem or f"{len(report.receipts)} charge(s) of {ledger.dataset!r}"
    yield Finding("ledger", not problem, text)
    if problem:
        return
    charges = ledger.history
    if (limit := limits["dataset"]) is not None:
        yield _within("epsilon_per_dataset", charges, limit)
    if (limit := limits["year"]) is not None:
        numbers = {receipt.charge for receipt in report.receipts}
        years = {charge["time"][:4] for charge in charges if charge["number"] in numbers}
        in_years = [charge for charge in charges if charge["time"][:4] in years]
        yield _within("epsilon_per_year", in_years, limit, f" in {', '.join(sorted(years))}")


def _other_maker(released: Any, report: PrivacyReport) -> str:
    """Say if what was charged for makes releases of another kind, or return ""."""
    kind = getattr(released, "kind", "")
    for receipt in report.receipts:
        maker = receipt.mechanism.partition(",")[0]
        made = _KIND_OF.get(maker, SEARCH)
        # A search has an evaluation, which may be handed in alone.
        if kind and made not in kind and not (made == SEARCH and kind.startswith("evaluation")):
            return f"charge {receipt.charge} was made for {receipt.mechanism!r}: no {kind}"
    return ""


def _within(rule: str, charges: Sequence[Any], limit: float, when: str = "") -> Finding:
    """Compare the sum of charges, or the largest of any part of the data set, with a limit."""
    parts_of = [charge["parts"].split(", ") if charge["parts"] else [] for charge in charges]
    total = max(
        math.fsum(
            charge["epsilon"]
            for charge, parts in zip(charges, parts_of, strict=True)
            if not parts or name in parts
        )
        for name in {"", *(part for parts in parts_of for part in parts)}
    )
    text = f"{total:g} by {len(charges)} charge(s){when} (at most {limit:g})"
    return Finding(rule, total <= limit * (1 + 1e-12), text)


def _of_table(released: Any, path: str | os.PathLike[str], fewest: int) -> Iterator[Finding]:
    """Check all rows of a submitted table."""
    name = os.fspath(path)
    if isinstance(released, PrivacyReport):
        yield Finding("table", False, f"{name}: the file has no numbers to compare it with")
        return
    errors: list[str] = []
    problem = _failure(lambda: errors.extend(wrong_rows(released, path, fewest)))
    if problem or errors:
        yield Finding("table", False, f"{name}: {problem or '; '.join(errors)}")
        return
    named = labels(released, path)
    text = "every number follows from the released counts" + (f": {named}" if named else "")
    yield Finding("table", True, f"{name}: {text}")


def _failure(compute: Callable[[], Any]) -> str:
    """Return the error message of a step, on one line; "" if it does not fail."""
    try:
        compute()
    except (ValueError, TypeError, OSError, LedgerError) as error:
        return " ".join(str(error).split())
    return ""

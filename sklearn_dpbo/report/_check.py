"""A checker of released files, by the rules of a policy (zone: released)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..exceptions import LedgerError
from ..privacy.ledger._ledger import PrivacyLedger
from ..privacy.report._report import PrivacyReport
from ._load import load
from ._policy import Policy
from ._table_check import wrong_rows


class Finding(NamedTuple):
    """Whether a release keeps a rule, and what was found.

    Parameters
    ----------
    rule : str
        Name of the rule, as in the policy; or "file", "guarantee", "receipts" or "table".
    passed : bool
        Whether it is kept.
    found : str
        What was found, in words.
    """

    rule: str
    passed: bool
    found: str

    def __str__(self) -> str:
        return f"{'pass' if self.passed else 'FAIL'}  {self.rule:<26}{self.found}"


def check(
    file: str | os.PathLike[str],
    policy: Any = None,
    *,
    tables: Iterable[str | os.PathLike[str]] = (),
    ledger: PrivacyLedger | None = None,
) -> list[Finding]:
    """Check a file of what was released, as an output checker does.

    Every number in the file is computed anew from the noisy counts in it, and every number of a
    submitted table likewise. The counts themselves are not signed: a file whose counts were
    changed, and all numbers with them, passes. So let who trusts nobody make the release.

    Parameters
    ----------
    file : str or path-like
        What ``to_json`` of an evaluation, a comparison, ``search.released_`` or ``privacy_`` wrote.
    policy : str, path-like, dict or None, default=None
        The rules, in a TOML file or a dict: "epsilon", "epsilon_per_dataset", "epsilon_per_year",
        "delta_times_units", "fewest_units", "fewest_units_per_subgroup", "units", "assumptions" and
        "ledger". The documentation's page "Check an output" explains them.
    tables : iterable of str or path-like, default=()
        Submitted tables, as ``evaluation.table(...).to_csv(...)`` writes them, rounded or not.
    ledger : PrivacyLedger or None, default=None
        The ledger that the release was charged to. Receipts are compared with it.

    Returns
    -------
    findings : list of Finding
        One for each rule. The release may leave if all of them passed.

    Raises
    ------
    ValueError
        If the policy is none. What is wrong with the file is a finding.

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
    except (ValueError, OSError) as error:
        return [Finding("file", False, " ".join(str(error).split()))]
    report = released if isinstance(released, PrivacyReport) else released.privacy_
    counted = "holds no numbers" if released is report else "all numbers follow from its counts"
    findings = [
        Finding("file", True, f"intact: {counted}; made by {report.software}"),
        Finding("guarantee", report.secure, f"noise: {report.noise}"),
    ]
    findings += _of_report(report, rules)
    findings += _of_subgroups(released, rules)
    findings += _of_ledger(report, rules, ledger)
    for table in tables:
        findings += _of_table(released, table, rules.fewest_units_per_subgroup or 0)
    return findings


def _of_report(report: PrivacyReport, rules: Policy) -> Iterator[Finding]:
    """Check what a privacy report says alone."""
    if rules.epsilon is not None:
        found = f"{report.epsilon:g} (at most {rules.epsilon:g})"
        yield Finding("epsilon", report.epsilon <= rules.epsilon, found)
    if rules.delta_times_units is not None:
        most = rules.delta_times_units / report.m
        found = f"delta {report.delta:g} (below {most:.3g}, for {report.m:,} {report.unit}s)"
        yield Finding("delta_times_units", report.delta < most, found)
    if rules.fewest_units is not None:
        found = f"{report.m:,} {report.unit}s (at least {rules.fewest_units:,})"
        yield Finding("fewest_units", report.m >= rules.fewest_units, found)
    if rules.units is not None:
        found = f"{report.unit} (one of {', '.join(rules.units)})"
        yield Finding("units", report.unit in rules.units, found)
    rests_on = f"rests on: {report.assumption}" if report.assumption else "none"
    yield Finding("assumptions", rules.assumptions or report.assumption is None, rests_on)


def _of_subgroups(released: Any, rules: Policy) -> Iterator[Finding]:
    """Check the noisy numbers of units in subgroups, if something is reported by subgroup."""
    fewest = rules.fewest_units_per_subgroup
    evaluation = getattr(released, "evaluation_", released)
    subgroups = getattr(evaluation, "_subgroups", None)
    if fewest is None:
        return
    small = []
    for column in subgroups.levels if subgroups else ():
        for (level,), own in evaluation._by(column).items():
            if (size := round(own._size.value)) < fewest:
                small.append(f"{column}={level} has about {size:,} (at least {fewest:,})")
    all_large = f"each has {fewest:,} or more" if subgroups else "none is reported"
    yield Finding("fewest_units_per_subgroup", not small, "; ".join(small) or all_large)


def _of_ledger(
    report: PrivacyReport, rules: Policy, ledger: PrivacyLedger | None
) -> Iterator[Finding]:
    """Check receipts against the ledger, and the sums of its charges."""
    if rules.ledger:
        found = f"{len(report.receipts)} receipt(s)" if report.receipts else "never charged to one"
        yield Finding("ledger", bool(report.receipts), found)
    most = {"dataset": rules.epsilon_per_dataset, "year": rules.epsilon_per_year}
    if ledger is None:
        for name, limit in most.items():
            if limit is not None:
                yield Finding(f"epsilon_per_{name}", False, "needs the ledger: pass it")
        return
    problem = _failure(lambda: ledger.verify([report]))
    yield Finding("receipts", not problem, problem or f"charged to {ledger.dataset!r}")
    charges = ledger.history
    if (limit := most["dataset"]) is not None:
        yield _within("epsilon_per_dataset", charges, limit)
    if (limit := most["year"]) is not None:
        own = {receipt.charge for receipt in report.receipts}
        years = {each["time"][:4] for each in charges if each["number"] in own}
        in_years = [each for each in charges if each["time"][:4] in years]
        yield _within("epsilon_per_year", in_years, limit, f" in {', '.join(sorted(years))}")


def _within(rule: str, charges: Sequence[Any], limit: float, when: str = "") -> Finding:
    total = sum(charge["epsilon"] for charge in charges)
    found = f"{total:g} by {len(charges)} charge(s){when} (at most {limit:g})"
    return Finding(rule, total <= limit * (1 + 1e-12), found)


def _of_table(released: Any, path: str | os.PathLike[str], fewest: int) -> Iterator[Finding]:
    """Check a submitted table."""
    name = os.fspath(path)
    if isinstance(released, PrivacyReport):
        yield Finding("table", False, f"{name}: the file has no numbers to compare it with")
        return
    wrong: list[str] = []
    problem = _failure(lambda: wrong.extend(wrong_rows(released, path, fewest)))
    found = problem or "; ".join(wrong) or "every number follows from the released counts"
    yield Finding("table", not (problem or wrong), f"{name}: {found}")


def _failure(compute: Callable[[], Any]) -> str:
    """Return what a step says if it fails, on one line; an empty text if it does not."""
    try:
        compute()
    except (ValueError, OSError, LedgerError) as error:
        return " ".join(str(error).split())
    return ""

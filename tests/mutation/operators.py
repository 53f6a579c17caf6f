"""Mutants of a file: each a small change that a careless author could make to privacy code.

A mutant is named by its place, without line numbers: the function, the line of code, and what
changes in it. So `harmless.csv` still finds it after code has moved.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

PAIRS = (
    ("min", "max"), ("minimum", "maximum"), ("ceil", "floor"), ("round_up", "round_down"),
    ("argmax", "argmin"), ("cumsum", "cumprod"),
)  # fmt: skip
SWAPPED = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}
# Functions of which the first argument stays.
REMOVED = {
    "sqrt", "abs", "rint", "trunc", "clip", "nan_to_num", "hypot", "sorted", "round_down",
    "round_up", "floor", "ceil", "min", "max", "minimum", "maximum", "log1p", "set", "copy",
}  # fmt: skip
DROPPED_ARGUMENTS = {
    "sensitivity", "factor", "delta", "pure", "minlength", "threshold", "initial", "n_subgroups",
    "spread", "epsilon",
}  # fmt: skip
SIGNS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.FloorDiv: "/"}
COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
CONSTANTS = {"0": "1", "1": "2", "2": "1", "True": "False", "False": "True"}
# What says something, and computes nothing.
SILENT = {"warn", "cast", "TypeVar", "ContextVar", "getLogger", "dataclass"}


class Mutant(NamedTuple):
    """A file's `text` with a `change` in a `line` of a `function` ("" in none), number `at`."""

    file: str
    function: str
    line: str
    change: str
    operator: str
    at: int
    text: str

    @property
    def place(self) -> tuple[str, ...]:
        """What names it in `harmless.csv`."""
        return self.file, self.function, self.line, self.change


class Change(NamedTuple):
    """New text between two offsets."""

    operator: str
    first: int
    last: int
    new: str


class Source:
    """A text, and where its nodes are."""

    def __init__(self, text: str) -> None:
        self.text, self.lines = text, text.splitlines(True)
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the offsets of a node, whose columns are in bytes."""
        ends = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        return tuple(
            self._starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())
            for line, column in ends
        )

    def of(self, node: ast.AST) -> str:
        """Return the text of a node."""
        return self.text[slice(*self.span(node))]

    def between(self, left: ast.AST, right: ast.AST) -> tuple[int, int]:
        """Return the offsets of what is between two nodes."""
        return self.span(left)[1], self.span(right)[0]


def mutants(file: str, text: str) -> Iterator[Mutant]:
    """Yield all mutants of a file that compile, in the order of their places."""
    source, seen = Source(text), {}
    for function, node in computing(ast.parse(text)):
        for operator, first, last, new in changes(node, source):
            old, mutated = text[first:last], text[:first] + new + text[last:]
            line = source.lines[node.lineno - 1].strip()
            change = " ".join(f"{old.strip()} -> {new.strip() or 'nothing'}".split())
            if old == new or not compiles(mutated):
                continue
            key = function, line, change
            seen[key] = seen.get(key, 0) + 1
            change += f" (number {seen[key]})" * (seen[key] > 1)
            yield Mutant(file, function, line, change, operator, node.lineno, mutated)


def compiles(text: str) -> bool:
    """Whether a text is a program."""
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def computing(node: ast.AST, function: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes that compute, and the function that each is in; none of texts and errors."""
    for child in children(node):
        if isinstance(child, ast.JoinedStr | ast.Raise | ast.Import | ast.ImportFrom | ast.Assert):
            continue
        if isinstance(child, ast.Call) and called(child) in SILENT:
            continue
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from computing(child, f"{function}.{child.name}".lstrip("."))
        else:
            yield function, child
            yield from computing(child, function)


def children(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a node but for types, defaults, decorators and names that are listed."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.body
    if isinstance(node, ast.AnnAssign):
        return [node.value] if node.value else []
    targets = getattr(node, "targets", [])
    if targets and getattr(targets[0], "id", "") == "__all__":
        return []
    return list(ast.iter_child_nodes(node))


def called(call: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def says(node: ast.AST) -> bool:
    """Whether a node makes a text."""
    parts = list(ast.walk(node))
    return any(
        isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", 0), str)
        for part in parts
    )


def changes(node: ast.AST, source: Source) -> Iterator[Change]:
    """Yield the changes of one node."""
    for kind, change in CHANGES:
        if isinstance(node, kind):
            yield from change(node, source)


def of_call(node: ast.Call, source: Source) -> Iterator[Change]:
    """Another function, none, or without an argument."""
    name, end = called(node), source.span(node.func)[1]
    if name in SWAPPED:
        yield Change("function swapped", end - len(name), end, SWAPPED[name])
    if name in REMOVED and node.args:
        for argument in node.args[: 2 if name in ("min", "max", "minimum", "maximum") else 1]:
            if not isinstance(argument, ast.GeneratorExp | ast.Starred):
                yield Change("function removed", *source.span(node), f"({source.of(argument)})")
    for keyword in node.keywords:
        if keyword.arg in DROPPED_ARGUMENTS:
            first, last = source.span(keyword)
            last += source.text[last:].startswith(", ") * 2
            yield Change("argument dropped", first, last, "")
    for part in [*node.args, *(keyword.value for keyword in node.keywords)]:
        side = getattr(part, "value", None)
        if side == "left" or side == "right":
            other = {"left": '"right"', "right": '"left"'}[side]
            yield Change("side swapped", *source.span(part), other)


def of_sum(node: ast.BinOp, source: Source) -> Iterator[Change]:
    """Another sign, or without a factor."""
    if says(node):
        return
    between = source.between(node.left, node.right)
    text = source.text[slice(*between)]
    if sign := SIGNS.get(type(node.op)):
        yield Change("sign", *between, re.sub(r"\*\*|//|[-+*/]", sign, text, count=1))
    if isinstance(node.op, ast.Mult | ast.Div):
        yield Change("factor dropped", *source.span(node), source.of(node.left))
    if isinstance(node.op, ast.Mult):
        yield Change("factor dropped", *source.span(node), source.of(node.right))
    if isinstance(node.op, ast.BitAnd | ast.BitOr):
        other = text.translate(str.maketrans("&|", "|&"))
        yield Change("and for or", *between, other)


def of_comparison(node: ast.Compare, source: Source) -> Iterator[Change]:
    """With or without equality, or the opposite."""
    if len(node.ops) == 1:
        between = source.between(node.left, node.comparators[0])
        yield Change("comparison", *between, f" {COMPARISONS[type(node.ops[0])]} ")


def of_unary(node: ast.UnaryOp, source: Source) -> Iterator[Change]:
    """Without it."""
    yield Change("sign", *source.span(node), f"({source.of(node.operand)})")


def of_constant(node: ast.Constant, source: Source) -> Iterator[Change]:
    """A number nearby."""
    value = node.value
    if isinstance(value, int | float):
        nearby = repr(value * 2 if isinstance(value, float) else value + 1)
        yield Change("constant", *source.span(node), CONSTANTS.get(repr(value), nearby))


def of_condition(node: ast.If | ast.While | ast.IfExp, source: Source) -> Iterator[Change]:
    """A guard or an early return that never holds; else the opposite."""
    leaves = not isinstance(node, ast.IfExp) and isinstance(
        node.body[-1], ast.Return | ast.Raise | ast.Continue
    )
    if leaves:
        yield Change("guard dropped", *source.span(node.test), "False")
    else:
        yield Change("condition", *source.span(node.test), f"(not ({source.of(node.test)}))")


def of_both(node: ast.BoolOp, source: Source) -> Iterator[Change]:
    """One of several conditions."""
    for value in node.values:
        others = [source.of(other) for other in node.values if other is not value]
        word = " and " if isinstance(node.op, ast.And) else " or "
        yield Change("condition dropped", *source.span(node), f"({word.join(others)})")


def of_statement(node: ast.Expr | ast.AugAssign | ast.Assign, source: Source) -> Iterator[Change]:
    """Without a call, or a change of what there is: a charge, say."""
    changing = isinstance(node, ast.AugAssign) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )
    target = getattr(node, "targets", [None])[0]
    if changing or isinstance(target, ast.Subscript | ast.Attribute):
        yield Change("statement removed", *source.span(node), "pass")


CHANGES = (
    (ast.Call, of_call), (ast.BinOp, of_sum), (ast.Compare, of_comparison),
    (ast.UnaryOp, of_unary), (ast.Constant, of_constant),
    (ast.If | ast.While | ast.IfExp, of_condition), (ast.BoolOp, of_both),
    (ast.Expr | ast.AugAssign | ast.Assign, of_statement),
)  # fmt: skip

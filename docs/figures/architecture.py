"""Draw the parts of the package and the imports between them (docs/figures/architecture.png).

An arrow leads from a part to one that it imports. An import that follows from others (of what an
imported part imports) is left out. ``python docs/figures/architecture.py`` draws the picture anew,
and ``--text`` prints all imports instead.
"""

import ast
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "sklearn_dpbo"
ZONES = {
    "public": "#cfe8fc",
    "sensitive": "#f8cecc",
    "boundary": "#ffe6a8",
    "released": "#d5e8d4",
}
# Public import paths of what lies in other parts: they hold names alone.
PATHS = {"ledger", "scoring", "strategies"}
# Where the parts stand from left to right, so that few arrows cross.
COLUMNS = {
    "exceptions": 6.0, "privacy": 6.0, "records": 5.0, "metrics": 5.0, "learners": 7.0,
    "prediction": 4.0, "evaluation": 5.6, "search": 3.2, "planning": 1.4, "plotting": 2.8,
    "papers": 4.2, "audit": 5.6, "report": 7.2, "testing": 8.2,
}  # fmt: skip


def parts() -> dict[str, list[Path]]:
    """The modules of each part: a folder, or a module beside the folders."""
    found: dict[str, list[Path]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if name not in PATHS | {"__init__"}:
            found.setdefault(name, []).append(path)
    return found


def imported_by(path: Path) -> set[str]:
    """The parts that a module imports."""
    folder = path.relative_to(PACKAGE).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        names = node.module.split(".") if node.module else []
        if node.level:
            base = list(folder[: len(folder) - node.level + 1])
        elif names[:1] == ["sklearn_dpbo"]:
            base, names = [], names[1:]
        else:
            continue
        whole = base + names
        found |= {whole[0]} if whole else {alias.name for alias in node.names}
    return found


def imports() -> dict[str, set[str]]:
    """All parts, and the other parts that each imports."""
    every = parts()
    return {
        name: {other for path in paths for other in imported_by(path)} & set(every) - {name}
        for name, paths in every.items()
    }


def zone(name: str) -> str:
    """What the docstring of a part says."""
    path = PACKAGE / name / "__init__.py"
    path = path if path.exists() else PACKAGE / f"{name}.py"
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return next(zone for zone in ZONES if f"zone: {zone})" in text)


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The imports that do not follow from others."""

    def reachable(name: str) -> set[str]:
        return graph[name].union(*(reachable(other) for other in graph[name]))

    return {
        name: {
            other for other in others
            if not any(other in reachable(between) for between in others - {other})
        }
        for name, others in graph.items()
    }  # fmt: skip


def depths(graph: dict[str, set[str]]) -> dict[str, int]:
    """The length of the longest way from each part down to one that imports nothing."""
    found: dict[str, int] = {}

    def depth(name: str) -> int:
        if name not in found:
            found[name] = 1 + max(map(depth, graph[name]), default=-1)
        return found[name]

    for name in graph:
        depth(name)
    return found


def draw() -> None:
    """Write the picture, with the imports that it shows in its metadata."""
    import matplotlib.pyplot as plt

    graph = reduced(imports())
    depth = depths(graph)
    # A part that has no column yet stands at the right, to be given one.
    place = {name: (COLUMNS.get(name, 15.0), 1.5 * depth[name]) for name in graph}
    figure = plt.figure(figsize=(8, 8))
    ax = figure.add_axes((0, 0, 1, 1))
    for name, others in graph.items():
        for other in others:
            ax.annotate(
                "",
                xy=(place[other][0], place[other][1] + 0.3),
                xytext=(place[name][0], place[name][1] - 0.3),
                arrowprops={"arrowstyle": "-|>", "color": "0.45", "shrinkA": 0, "shrinkB": 0},
            )
    for name, (x, y) in place.items():
        box = {"boxstyle": "round,pad=0.45", "facecolor": ZONES[zone(name)], "edgecolor": "0.3"}
        ax.text(x, y, name, ha="center", va="center", fontsize=10, family="monospace", bbox=box)
    for label, color in ZONES.items():
        ax.scatter([], [], marker="s", s=120, color=color, edgecolor="0.3", label=label)
    ax.legend(loc="lower left", title="zone", frameon=False, labelspacing=1)
    xs, ys = zip(*place.values(), strict=True)
    ax.set_xlim(min(xs) - 1.4, max(xs) + 1.4)
    ax.set_ylim(min(ys) - 0.6, max(ys) + 0.6)
    ax.set_axis_off()
    shown = {name: sorted(others) for name, others in sorted(graph.items())}
    figure.savefig(HERE / "architecture.png", dpi=110, metadata={"Description": json.dumps(shown)})


if __name__ == "__main__":
    if "--text" in sys.argv:
        for part, others in imports().items():
            print(f"{part} ({zone(part)}): {', '.join(sorted(others)) or '-'}")
    else:
        draw()

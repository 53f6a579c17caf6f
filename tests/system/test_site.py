"""The site builds without warnings, its links lead to pages, and its examples run."""

import importlib
import inspect
import json
import os
import pydoc
import re
import shutil
import subprocess
import sys
import venv
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import chromium, faults, served
from conftest import DATA
from test_packaging import built

import sklearn_dpbo
from sklearn_dpbo.scoring import PrivateScorer
from sklearn_dpbo.strategies import Strategy

ROOT = Path(__file__).parents[2]
DOCS, FROZEN = ROOT / "docs", ROOT / "tests" / "public_names.txt"
EXTENSIONS = ("sphinx", "furo", "myst_nb", "numpydoc", "sphinx_gallery", "matplotlib")
BUILT = ("_build", "auto_gallery", "generated", "jupyter_execute")
# The reference lists all public names of these modules, apart from NOT_LISTED.
PUBLIC = (
    "sklearn_dpbo", "sklearn_dpbo.audit",
    "sklearn_dpbo.papers.balcan2018", "sklearn_dpbo.papers.balcan2018.published",
    "sklearn_dpbo.exceptions", "sklearn_dpbo.papers.kusner2015",
    "sklearn_dpbo.papers.kusner2015.bounds", "sklearn_dpbo.papers.kusner2015.published",
    "sklearn_dpbo.learners", "sklearn_dpbo.ledger",
    "sklearn_dpbo.papers.kharkovskii2020", "sklearn_dpbo.papers.kharkovskii2020.bounds",
    "sklearn_dpbo.papers.kharkovskii2020.published",
    "sklearn_dpbo.planning", "sklearn_dpbo.plotting", "sklearn_dpbo.report",
    "sklearn_dpbo.scoring", "sklearn_dpbo.strategies",
)  # fmt: skip
NOT_LISTED = {
    "bounds", "cases", "published",
}  # fmt: skip
# Findings of numpydoc that are errors. Those on wording, examples and cross-references are not.
MUST_NOT = {
    "GL05", "GL06", "GL07", "GL08", "GL09", "GL10", "SS01", "SS04", "PR01", "PR02", "PR03", "PR04",
    "PR05", "PR07", "PR10", "RT01", "YD01",
}  # fmt: skip


def need(*modules):
    for module in modules:
        pytest.importorskip(module, reason=f"no {module}: python -m pip install '.[docs]'")


def listed():
    """Full names on the reference page."""
    names, module = [], ""
    for line in (DOCS / "reference" / "api.md").read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   ([A-Za-z_.]+)$", line):
            names.append(f"{module}.{found[1]}")
    return names


class Page(HTMLParser):
    """Anchors and links of a page, and its first block of Python."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.code = {""}, [], ""
        self._open, self._found = 0, False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]
        if tag == "div" and (
            self._open or (not self._found and "highlight-python" in attributes.get("class", ""))
        ):
            self._open, self._found = self._open + 1, True

    def handle_endtag(self, tag):
        if tag == "div" and self._open:
            self._open -= 1

    def handle_data(self, data):
        if self._open:
            self.code += data


def dead_links(site):
    """Return (page, link) for links that lead to no file, or to no anchor in it."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else {""}
            if not target.is_file() or unquote(parts.fragment) not in anchors:
                dead.append((path.relative_to(site.resolve()).as_posix(), link))
    return dead


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="b.html#y">1</a><a href="#x">2</a><a href="b.html#z">3</a>'
        '<img src="c.png"><a href="https://example.org">4</a>'
    )
    (tmp_path / "b.html").write_text('<h1 id="y"></h1>')
    assert dead_links(tmp_path) == [("a.html", "b.html#z"), ("a.html", "c.png")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built once as the README says, from a copy, with the real data if there are any."""
    need(*EXTENSIONS)
    folder = tmp_path_factory.mktemp("site")
    copy, site = folder / "copy", folder / "html"
    shutil.copytree(DOCS, copy / "docs", ignore=shutil.ignore_patterns(*BUILT))
    for page in ROOT.glob("*.md"):
        shutil.copy(page, copy)
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    if DATA.exists():
        env["SKLEARN_DPBO_DATA"] = str(DATA)
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "2", "-b", "html"]
    done = subprocess.run([*build, "docs", site], cwd=copy, env=env, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return site


@pytest.mark.slow
def test_site_builds_without_warnings_and_examples_have_pictures(site):
    assert dead_links(site) == []
    for example in (DOCS / "gallery").glob("plot_*.py"):
        page = (site / "auto_gallery" / f"{example.stem}.html").read_text()
        assert "sphx-glr-script-out" in page or "output_html" in page, f"{example} shows nothing"
        assert f"sphx_glr_{example.stem}_001.png" in page, f"{example} has no picture"
        assert not re.search(r"\.py:\d+: \w+Warning", page), f"{example} shows a path"
        assert "matplotlib.axes" not in page and "Text(" not in page, f"{example} prints its plot"


@pytest.mark.slow
def test_first_example_of_the_site_runs_with_the_wheel_only(site, tmp_path):
    code = Page(site / "index.html").code
    assert "PrivateBayesSearchCV" in code
    script = tmp_path / "first.py"
    script.write_text(code)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / ("Scripts" if os.name == "nt" else "bin") / "python"
    wheel = built(ROOT, tmp_path)
    subprocess.run([python, "-m", "pip", "install", "-q", wheel], env=env, check=True)
    done = subprocess.run([python, script], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert not done.returncode and "gamma" in done.stdout, done.stderr


@pytest.mark.slow
def test_shared_links_have_a_description_and_a_picture(site):
    for page in ("index.html", "how_to/guide.html", "search.html"):
        text = (site / page).read_text()
        assert re.search(r'<meta name="description" content="[^"]{20,204}">', text), page
        picture = re.search(r'<meta property="og:image" content="([^"]+)">', text)[1]
        assert ((site / page).parent / picture).read_bytes().startswith(b"\x89PNG"), page
        assert 'href="' in text and "favicon.svg" in text, page


@pytest.mark.parametrize("others", [[], ["0.3", "0.1"]])
def test_versions_are_listed_where_there_are_several(others):
    jinja2 = pytest.importorskip("jinja2")
    template = jinja2.Template((DOCS / "_templates" / "sidebar" / "versions.html").read_text())
    html = template.render(version="0.2", versions=["0.2", *others], content_root="../")
    assert re.findall(r'href="([^"]+)"', html) == [f"../../{name}/index.html" for name in others]
    assert bool(html.strip()) == bool(others)


def test_list_of_versions_begins_with_this_one():
    assert json.loads((DOCS / "versions.json").read_text())[0] == sklearn_dpbo.__version__


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.mark.slow
def test_pages_fit_phones_and_are_legible_in_light_and_dark(site, browser):
    pages = [p.relative_to(site).as_posix() for p in sorted(site.rglob("*.html"))]
    pages = [page for page in pages if not page.startswith("_")]
    with served(site) as address:
        found = {page: faults(browser, address + page) for page in pages}
    assert len(pages) > 100
    assert not {page: faulty for page, faulty in found.items() if faulty}


# What each planted page does wrong, and what is said of it.
PLANTED = {
    "": None,
    "<p style='color: #777; background: #fff'>grey</p>": "rgb(119, 119, 119) on 255,255,255: 4.48",
    "<pre><span class='dim'>only dark</span></pre>": "dark: rgb(68, 68, 68) on 18,18,18",
    "<p style='opacity: 0.5'>faint</p>": "faint",
    "<div style='width: 391px'>wide</div>": "391 px wide on a screen of 390 px: <div",
    "<script>null.x</script>": "TypeError",
    "<img src='missing.png'>": "404",
    "<script src='https://example.org/x.js'></script>": "ERR_NAME_NOT_RESOLVED",
}


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED)
def test_faults_of_pages_are_found(planted, browser, tmp_path):
    (tmp_path / "page.html").write_text(
        "<!doctype html><meta charset=utf-8><link rel=icon href='data:,'><style>"
        "html { color-scheme: light dark } body { margin: 0; color: #222 } .dim { color: #444 }"
        "@media (prefers-color-scheme: dark) { body { background: #121212; color: #ddd } }"
        f"</style><body><p>text</p>{planted}"
    )
    with served(tmp_path) as address:
        found = faults(browser, address + "page.html")
    if PLANTED[planted] is None:
        assert found == []
    else:
        assert found and PLANTED[planted] in found[0], found


def test_reference_lists_all_public_names():
    names = {name.rpartition(".")[2] for name in listed()}
    for module in PUBLIC:
        exported = set(importlib.import_module(module).__all__)
        assert exported - NOT_LISTED <= names, f"{module}: docs/reference/api.md lacks some"


def interface():
    """Return a line for each public name, method and property, with parameters and defaults.

    Strategies and scorers are chosen, not called: their methods are not public.
    """
    lines = []
    for name in listed():
        found = pydoc.locate(name)
        lines.append(name + parameters(found))
        if isinstance(found, type) and not issubclass(found, (Strategy, PrivateScorer)):
            lines += [
                f"{name}.{member}{parameters(value)}"
                for member, value in inspect.getmembers(found)
                if not member.startswith("_") and in_package(value)
            ]
    return lines


def in_package(member):
    function = getattr(member, "fget", getattr(member, "func", member))  # of a (cached) property
    return (getattr(function, "__module__", None) or "").startswith("sklearn_dpbo")


def parameters(value):
    """Return the signature without types, or nothing for what is not called."""
    if not callable(value) or (isinstance(value, type) and issubclass(value, BaseException)):
        return ""
    signature = inspect.signature(value)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    bare = [p for p in bare if not p.name.startswith("_")]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))


def test_the_interface_is_the_one_that_was_frozen():
    """After a change that is meant: ``PYTHONPATH=.:tests python tests/system/test_site.py``."""
    assert interface() == FROZEN.read_text().splitlines()


# Variants have the parameters of the class that they name; evaluations are made by a function.
EXPLAINED_ELSEWHERE = (".kusner2015.published.", ".evaluation.", ".SearchResult")


@pytest.mark.slow
def test_docstrings_pass_numpydoc_validation():
    need("numpydoc")
    from numpydoc.validate import validate

    found = [
        (name, code, text)
        for name in listed()
        for code, text in validate(name)["errors"]
        if code in MUST_NOT
        and "'*args'" not in text  # of a protocol, which nobody instantiates
        and not (code == "PR01" and any(part in name for part in EXPLAINED_ELSEWHERE))
    ]
    assert not found


if __name__ == "__main__":
    FROZEN.write_text("\n".join(interface()) + "\n")

"""How the documentation is built: python -m sphinx -W --keep-going -b html docs docs/_build/html.

Needs `.[docs]` and no network; `-j 2` takes two cores. Pages are Markdown, readable as they are.
The examples in `gallery/` are executed: with the data in the folder that SKLEARN_DPBO_DATA names,
or with data that scikit-learn ships. Notebooks are shown as stored. SKLEARN_DPBO_SITE is the site's
address (https://.../), for links that have to be absolute; it may be missing.
"""

import json
import os
import sys
from pathlib import Path

import imagesize
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx_gallery.sorting import ExplicitOrder

import sklearn_dpbo

sys.path.insert(0, str(Path(__file__).parent))  # fresh_example

# Fits in the gallery are small: more threads of linear algebra than one only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

project = "sklearn_dpbo"
author = "the sklearn_dpbo developers"
version = release = sklearn_dpbo.__version__
language = "en"
extensions = [
    "myst_nb",  # pages (it brings myst-parser) and notebooks
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
# Read by the gallery, which makes pages of them; or no pages at all.
exclude_patterns = [
    "_build",
    "paper",
    "gallery",
    "examples",
    "figures/*.py",
    "auto_gallery/*.ipynb",
]
templates_path = ["_templates"]
default_role = "obj"  # names in single backquotes lead to the reference, if it has them
highlight_language = "text"

# -- Pages and notebooks
myst_heading_anchors = 4  # as repository viewers make them: guide.md#what-is-drawn
nb_execution_mode = "off"  # the tests execute them
myst_fence_as_directive = ["math"]  # as repository viewers show it
html_math_renderer = "mathml"  # which browsers read without a script

# Pages that include a file from above docs/, which links to others there by its own name.
_ABOVE = {
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}


def _link_to_pages(app, path, parent, content):
    """Links between files above docs/ lead to the pages that include them."""
    for file, page in _ABOVE.items():
        content[0] = content[0].replace(f"]({file})", f"](/{page})")


# -- Reference
autosummary_generate = True
autosummary_context = {"since": {}}  # names that are newer than 1.0, with their versions
autodoc_typehints = "none"  # types are in the docstrings, with shapes and units
numpydoc_show_class_members = False  # the template lists them, without scikit-learn's own
numpydoc_class_members_toctree = False


def _skip_inherited(app, what, name, member, skip, options):
    """Leave out what comes from scikit-learn or Python: its text links into its own manual."""
    function = getattr(member, "fget", None) or member
    module = getattr(function, "__module__", None) or ""
    return True if module.split(".")[0] not in ("", "sklearn_dpbo") else None


# -- Gallery
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    # The order of the guide.
    "within_subsection_order": ExplicitOrder(
        [
            "plot_spam.py",
            "plot_readmission.py",
            "plot_houses.py",
            "plot_claims.py",
            "plot_pipeline.py",
            "plot_threshold.py",
            "plot_evaluation.py",
            "plot_table_two.py",
            "plot_shapes.py",
            "plot_configuration.py",
            "plot_outsourced.py",
            "plot_ledger.py",
            "plot_audit.py",
            "*",
        ]
    ),
    # Lists of examples, at the end of the pages of the classes that they use.
    "doc_module": ("sklearn_dpbo",),
    "backreferences_dir": "auto_gallery/backreferences",
    "download_all_examples": False,
    "reset_modules": ("matplotlib", "fresh_example.reset"),
    "show_signature": False,
    "ignore_repr_types": r"matplotlib\.",  # legends and such, which a last line returns
    "abort_on_example_error": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "plot_gallery": "True",
}

# -- Theme
# Furo: one sidebar shows all pages in their order, on a phone too, and light or dark follows the
# reader's system without a script. (The other candidate, pydata-sphinx-theme, shows one section at
# a time and asks for a page above each; these pages stand side by side.)
html_theme = "furo"
html_title = "sklearn_dpbo"
pygments_dark_style = "github-dark"  # the theme's own underlines modules like links
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_favicon = "_static/favicon.svg"
html_baseurl = os.environ.get("SKLEARN_DPBO_SITE", "")
# Sites of several versions stand in folders beside each other; this list names them, newest first.
html_context = {
    "versions": json.loads(Path(__file__).with_name("versions.json").read_text()),
    "site_url": html_baseurl,
}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
_DESCRIPTION = "Hyper-parameter search with differential privacy and the scikit-learn interface."


def _short_sidebar(app, pagename, templatename, context, doctree):
    """List all pages, and of sections only the open one; names of the reference on its own page.

    A full tree in each of the generated pages takes half of the time that writing them does.
    """
    full, depth = context["toctree"], 1 if "/generated/" in pagename else 2
    context["toctree"] = lambda **how: full(**(how | {"collapse": True, "maxdepth": depth}))


def _describe(app, pagename, templatename, context, doctree):
    """Give search engines and shared links the first sentences of a page."""
    first = doctree and next(doctree.findall(nodes.paragraph), None)
    text = " ".join(first.astext().split()) if first else _DESCRIPTION
    context["description"] = text if len(text) <= 200 else text[:200].rsplit(" ", 1)[0] + " ..."


def _mark_wide_images(app, doctree, docname):
    """Give images whose legends would be too small on a phone a class: there they are scrolled."""
    for image in doctree.findall(nodes.image):
        width, _ = imagesize.get(Path(app.srcdir) / image["uri"])
        if width > 600:
            image["classes"].append("wide")


def _as_mathml(translator, node):
    """Write a formula as MathML."""
    block = isinstance(node, nodes.math_block)
    formula = tex2mathml(node.astext(), as_block=block)
    translator.body.append(f'<div class="formula">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app):
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_as_mathml, None), (_as_mathml, None))
    app.connect("doctree-resolved", _mark_wide_images)
    app.connect("html-page-context", _describe)
    app.connect("html-page-context", _short_sidebar, priority=400)  # the theme's handler: 500
    app.connect("autodoc-skip-member", _skip_inherited)
    app.connect("include-read", _link_to_pages)

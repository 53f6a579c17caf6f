"""How the documentation is built: python -m sphinx -W --keep-going -b html docs docs/_build/html.

Needs `.[docs]` and no network. Pages are Markdown, readable as they are; the examples in `gallery/`
and `notebooks/` are executed. Those that have real data to show look for them in the folder that
SKLEARN_DPBO_DATA names, and take what scikit-learn ships where it is not set.
"""

import os
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

import sklearn_dpbo

# Fits in the gallery are small: more threads of linear algebra than one only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Notebooks run in processes of their own, and are to import the same package.
_package = str(Path(sklearn_dpbo.__file__).parents[1])
os.environ["PYTHONPATH"] = os.pathsep.join([_package, os.environ.get("PYTHONPATH", "")]).strip(":")

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
exclude_patterns = ["_build", "gallery", "examples", "figures/*.py", "auto_gallery/*.ipynb"]
templates_path = ["_templates"]
default_role = "obj"  # names in single backquotes lead to the reference, if it has them
# Literal blocks of pages are formulas.
highlight_language = "text"

# -- Pages and notebooks
myst_heading_anchors = 4  # as repository viewers make them: guide.md#what-is-drawn
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True

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
            "plot_configuration.py",
            "plot_outsourced.py",
            "plot_ledger.py",
            "plot_audit.py",
            "*",
        ]
    ),
    "download_all_examples": False,
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
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False


def _short_sidebar(app, pagename, templatename, context, doctree):
    """List all pages, and of sections only the open one; names of the reference on its own page.

    A full tree in each of the generated pages takes half of the time that writing them does.
    """
    full, depth = context["toctree"], 1 if "/generated/" in pagename else 2
    context["toctree"] = lambda **how: full(**(how | {"collapse": True, "maxdepth": depth}))


def setup(app):
    """Called by Sphinx."""
    app.connect("html-page-context", _short_sidebar, priority=400)  # the theme's handler: 500
    app.connect("autodoc-skip-member", _skip_inherited)
    app.connect("include-read", _link_to_pages)

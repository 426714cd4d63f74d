"""Sphinx settings of the documentation site. assemble.py prepares the folder that Sphinx reads."""

project = "anabranch"
author = "the anabranch developers"
extensions = ["myst_parser"]
exclude_patterns = ["**/README.md"]

html_theme = "furo"
html_title = "anabranch"
html_extra_path = ["extra"]
html_show_copyright = False
html_theme_options = {
    "source_repository": "https://github.com/anabranch/anabranch/",
    "source_branch": "main",
    "source_directory": "docs/",
}

# Anchors as on GitHub, so that a link works in the repository and on the site.
myst_heading_anchors = 4
# Pages begin with a heading of the first level, but decision records and conformance lists may skip one.
suppress_warnings = ["myst.header"]
nitpicky = True

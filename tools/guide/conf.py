# SPDX-License-Identifier: MIT OR Apache-2.0
"""The settings of Sphinx for the guide. Fonts, scripts and the search are local: the site works from a disk."""

from pathlib import Path

from tools import products

project = "Thew"
author = copyright = "the authors of Thew"
release = products.version()

extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence"]
#: Headings get the anchors that code hosts give them.
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"Thew {release}"
html_static_path = [str(Path(__file__).with_name("static"))]
html_css_files = ["guide.css"]
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "friendly", "native"

#: The signature of a function breaks into a line for each parameter beyond this width.
add_module_names = False
maximum_signature_line_length = 90
python_use_unqualified_type_names = True
#: Headings list the classes and functions of a page; entries of every method would fill its contents.
toc_object_entries = False
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True

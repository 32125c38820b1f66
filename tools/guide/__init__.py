# SPDX-License-Identifier: MIT OR Apache-2.0
"""The guide as a static site: `docs/` in the chapters of `docs/chapters.toml`, with pages of the Python package's names.

Runs in the environment `docs` (Sphinx, MyST, griffe). `tools/docs.py` is its door.
"""

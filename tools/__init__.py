# SPDX-License-Identifier: MIT OR Apache-2.0
"""The steps of `build.py`, one file per concern. Plain Python, nothing to install first."""

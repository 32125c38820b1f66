# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `build.py` does, one file per concern. Plain Python, nothing to install first."""

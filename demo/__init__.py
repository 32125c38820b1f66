# SPDX-License-Identifier: MIT OR Apache-2.0
"""The demo that `build.py demo` runs inside a headless Blender."""

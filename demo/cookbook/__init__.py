# SPDX-License-Identifier: MIT OR Apache-2.0
"""The recipes of `docs/cookbook`, run headless: each is measured before and after, and leaves a picture."""

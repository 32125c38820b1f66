#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""rustc with a counter on every branch of the crate, for `build.py fuzz` (cargo's RUSTC_WORKSPACE_WRAPPER)."""

import os
import sys

COUNTERS = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    # Overflows and broken promises end an input too.
    "-Coverflow-checks=on",
    "-Cdebug-assertions=on",
]

words = sys.argv[1:]
crate = words[words.index("--crate-name") + 1] if "--crate-name" in words else ""
if crate == "thew":
    words += COUNTERS
if crate:
    words += ["--cfg", "thew_coverage"]
os.execvp(words[0], words)

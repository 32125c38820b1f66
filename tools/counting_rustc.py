#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""rustc with counters in this project's own code and in nothing else (cargo's RUSTC_WORKSPACE_WRAPPER).

THEW_COUNT selects them: "branches" of the crate, for `build.py fuzz`, or "lines", for `build.py coverage`.
"""

import os
import sys

BRANCHES = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    # Overflows and failed assertions end an input too.
    "-Coverflow-checks=on",
    "-Cdebug-assertions=on",
]

words = sys.argv[1:]
crate = words[words.index("--crate-name") + 1] if "--crate-name" in words else ""
if os.environ["THEW_COUNT"] == "lines":
    words += ["-Cinstrument-coverage"] if crate else []
else:
    words += BRANCHES if crate == "thew" else []
    words += ["--cfg", "thew_coverage"] if crate else []
os.execvp(words[0], words)

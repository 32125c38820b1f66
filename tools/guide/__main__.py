# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the site: `python -m tools.guide STUB SCRATCH TARGET [RUST]`, with the Python of the environment `docs`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from tools.guide.api import Reference
from tools.guide.stage import stage


def main(stub: str, scratch: str, target: str) -> int:
    """Stages the sources in `scratch` and builds the site in `target`. Any warning fails. Returns the exit status."""
    source = Path(scratch, "source")
    shutil.rmtree(source, ignore_errors=True)
    pages = Reference(Path(stub).read_text(encoding="utf-8")).write(source / "api")
    stage(source, api=tuple(f"api/{page}" for page in pages))
    own = str(Path(__file__).parent)
    words = ["-b", "html", "-q", "-W", "--keep-going", "-j", "auto", "-c", own, "-d", str(Path(scratch, "doctrees"))]
    return sphinx([*words, str(source), target])


sys.exit(main(*sys.argv[1:]))

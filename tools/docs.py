# SPDX-License-Identifier: MIT OR Apache-2.0
"""`docs`: the guide as a static site in dist/docs. `tools/guide` makes it, with Sphinx in an environment of its own.

Sphinx with MyST and Furo, because MkDocs had no release since 2024 and its offline search loads a script from elsewhere. This site asks
nothing of the network, and its search works from a disk.
"""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from tools import products
from tools.environments import DOCS
from tools.shell import DIST, ROOT, SCRATCH, BuildError, run, say

SITE = DIST / "docs"


def docs(wheel: Path | None = None) -> Path:
    """Makes the site from the pages in docs/ and a wheel's stub, and returns its folder. `wheel`: one that was built before."""
    given = wheel or products.wheel()
    try:
        with zipfile.ZipFile(given) as archive:
            stub = archive.read(products.STUB).decode()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise BuildError(f"{given} is no wheel of Thew: {error}. Leave --wheel out to build one.") from error
    build(stub, SITE)
    for target in ("target", "target/wheel/*"):
        for index in ROOT.glob(f"{target}/doc/thew/index.html"):
            shutil.copytree(index.parents[1], SITE / "rust", dirs_exist_ok=True)
    say(f"guide in {SITE / 'index.html'}")
    return SITE


def build(stub: str, site: Path, scratch: Path = SCRATCH / "docs") -> None:
    """Makes the site in a folder, from the text of a stub with docstrings. Raises BuildError for any warning."""
    python = DOCS.ensure().python
    shutil.rmtree(site, ignore_errors=True)
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "thew.pyi").write_text(stub, encoding="utf-8")
    run([python, "-m", "tools.guide", scratch / "thew.pyi", scratch, site])

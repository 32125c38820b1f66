# SPDX-License-Identifier: MIT OR Apache-2.0
"""What every figure's command line takes."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"


@dataclass(frozen=True)
class Options:
    """Where the picture goes, what renders it and how wide it is in pixels."""

    output: Path
    engine: str = "CYCLES"
    width: int = 1400


def options(name: str) -> Options:
    """From the command line; the picture is docs/images/NAME.jpg unless told otherwise."""
    parser = argparse.ArgumentParser(prog=f"examples.{name}")
    parser.add_argument("--output", type=Path, default=IMAGES / f"{name}.jpg", metavar="FILE.jpg")
    parser.add_argument(
        "--engine", choices=("CYCLES", "WORKBENCH"), default="CYCLES", help="WORKBENCH is the faster one"
    )
    parser.add_argument("--width", type=int, default=1400, help="pixels (default 1400)")
    given = parser.parse_args()
    return Options(given.output.resolve(), given.engine, given.width)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of `blender --command thew`, and their bounds."""

from __future__ import annotations

import argparse
import math
import sys
from typing import NoReturn

from ..bake import targets
from ..bake.clip_plans import CLIP_CHOICES
from ..bake.compressed import MAX_REGIONS
from ..bake.helper_checks import MAX_BONES, MAX_INFLUENCES
from ..logic.errors import Refusal
from ..saved.choices import BAKE_SPACES, METHODS
from ..saved.properties import ThewSettings


def count(word: str) -> int:
    """Parses a number of modes, within the setting's range."""
    number, setting = int(word), ThewSettings.bl_rna.properties["modes"]
    if not setting.hard_min <= number <= setting.hard_max:
        raise argparse.ArgumentTypeError(f"{number} modes: choose {setting.hard_min} to {setting.hard_max}")
    return number


def within(low: int, high: int, what: str):
    """Returns a parser of a number from `low` to `high`."""

    def parse(word: str) -> int:
        number = int(word)
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{number} {what}: choose {low} to {high}")
        return number

    return parse


def millimetres(word: str) -> float:
    """Parses a length above 0."""
    number = float(word)
    if not 0.0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{word} millimetres: choose more than 0")
    return number


def threads(word: str) -> int:
    """Parses a number of threads."""
    number = int(word)
    if not 1 <= number <= 1024:
        raise argparse.ArgumentTypeError(f"{number} threads: choose 1 to 1024")
    return number


class Parser(argparse.ArgumentParser):
    """A parser that ends with status 1 on wrong words: nothing was done. Status 2 means that some was."""

    def error(self, message: str) -> NoReturn:
        """Prints the usage and the fault, and exits."""
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


#: Options of one target alone.
OF_TARGETS = {
    "bones": "helper_bones", "influences": "helper_bones", "rest_error": "helper_bones", "error": "compressed", "regions": "compressed",
}  # fmt: skip


def check_together(given: argparse.Namespace) -> None:
    """Refuses options of `bake` that would be of no effect beside the others."""
    for name, target in OF_TARGETS.items():
        if getattr(given, name) is not None and given.target != target:
            raise Refusal(
                f"--{name.replace('_', '-')} is for the target {target}: give --target {target} too, or leave it out"
            )
    space = getattr(targets.target_by_key(given.target.upper()), "space", None)
    if given.space is not None and space is not None and given.space != space.lower():
        raise Refusal(f"The target {given.target} always bakes in {space.lower()} space: leave --space out")
    if given.actions and given.clips not in (None, "chosen"):
        raise Refusal(f"--actions chooses the clips: leave it or --clips {given.clips} out")
    if given.frames and (given.actions or given.clips not in (None, "scene")):
        raise Refusal("An action is baked over its own frames: leave --frames, or --actions and --clips, out")


def parser() -> argparse.ArgumentParser:
    """Returns the command's argument parser."""
    top = Parser(prog="blender --command thew", description="Flesh for rigged characters.")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("farm", help="do the jobs of a table (its words: farm run --help)", add_help=False)
    bake = commands.add_parser("bake", help="add flesh to the characters of a .blend and bake it to shape keys")
    export = commands.add_parser("export", help="write the characters of a .blend for `python -m thew simulate`")
    for command in (bake, export):
        command.add_argument("file", metavar="FILE", help="the .blend file")
        command.add_argument("--object", metavar="NAME", help="only this mesh")
        command.add_argument(
            "--frames", metavar=("A", "B"), nargs=2, type=int, help="first and last frame (the scene's range)"
        )
        command.add_argument(
            "--method",
            choices=[method[0] for method in METHODS],
            help="method that moves the flesh (as the file has it)",
        )
        command.add_argument(
            "--modes", metavar="N", type=count, help="number of modes, for the method modal (as the file has it)"
        )
        command.add_argument(
            "--set", metavar="NAME=VALUE", nargs="+", action="extend", default=[], dest="settings",
            help="settings by their names in Python, in place of the file's",
        )  # fmt: skip
        command.add_argument("--json", action="store_true", help="report each mesh as one line of JSON")
        command.add_argument("--threads", metavar="N", type=threads, help="number of threads (one for each processor)")
        command.add_argument(
            "--scripts", action="store_true", help="run the scripts and Python drivers in FILE, which may do anything"
        )
    diagnose = commands.add_parser("diagnose", help="print what a report of a fault needs; the file stays as it is")
    diagnose.add_argument("file", metavar="FILE", help="the .blend file")
    diagnose.add_argument(
        "--object", metavar="NAME", help="only this object (every mesh that has flesh or could have it)"
    )
    diagnose.add_argument(
        "--simulate", action="store_true", help="simulate first, so that times and warnings are there"
    )
    diagnose.add_argument("--paths", action="store_true", help="keep the folders of files in the text")
    diagnose.add_argument(
        "--scripts", action="store_true", help="run the scripts and Python drivers in FILE, which may do anything"
    )
    export.add_argument("--out", metavar="FOLDER", help="folder for the shots (beside FILE)")
    bake.add_argument(
        "--space", choices=[space[0].lower() for space in BAKE_SPACES],
        help="keys that act before the live armature, or that hold its motion too (as the file has it)",
    )  # fmt: skip
    bake.add_argument(
        "--finish", action="store_true", help="leave nothing of the flesh but the keys, ready to be exported"
    )
    bake.add_argument(
        "--target", choices=[key.lower() for key, *_ in targets.TARGET_ITEMS], default=targets.TARGET_ITEMS[0][0].lower(),
        help="form of the baked motion (shape_keys)",
    )  # fmt: skip
    bake.add_argument(
        "--clips", choices=[choice[0].lower() for choice in CLIP_CHOICES],
        help="the scene's range, the actions named by --actions, or all actions of each armature (scene)",
    )  # fmt: skip
    bake.add_argument(
        "--bones", metavar="N", type=within(1, MAX_BONES, "bones"),
        help="most helper bones of each mesh, for the target helper_bones (16)",
    )  # fmt: skip
    bake.add_argument(
        "--influences", metavar="N", type=within(1, MAX_INFLUENCES, "influences"),
        help="most bones of a vertex, for the target helper_bones (4)",
    )  # fmt: skip
    bake.add_argument(
        "--rest-error", metavar="MM", type=within(0, 10000, "millimetres"),
        help="most millimetres from the plain skin while helper bones rest, 0 for none, for the target helper_bones (3)",
    )  # fmt: skip
    bake.add_argument(
        "--error", metavar="MM", type=millimetres,
        help="largest distance of any vertex from the flesh, for the target compressed (2)",
    )  # fmt: skip
    bake.add_argument(
        "--regions", metavar="N", type=within(1, MAX_REGIONS, "regions"),
        help="parts of the mesh with keys of their own, for the target compressed (1)",
    )  # fmt: skip
    bake.add_argument("--actions", metavar="NAME", nargs="+", help="bake these actions, each over its own frames")
    bake.add_argument(
        "--clip", metavar="CLIP", nargs="+", help="bake these clips of exported shots; nothing is simulated"
    )
    bake.add_argument(
        "--out", metavar="FILE",
        help="the .blend to save with its files, or a folder for it, which a slash at the end makes (over FILE)",
    )  # fmt: skip
    bake.add_argument(
        "--look", action="store_true", help="write a few frames of the first body beside the result, for contact sheets"
    )
    return top

# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the recipes: `python -m demo.cookbook --output FOLDER [--only NAME …]` with a bpy's Python and the extension.

Writes `cookbook-NAME.jpg`, and into the file of `--measured` what was measured at the named place, mm, as added and as cooked.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from demo.characters import empty_scene
from demo.cookbook import dials, picture
from demo.cookbook.measuring import shapes, take
from demo.cookbook.recipes import RECIPES, Recipe
from demo.extension import enable


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--measured", type=Path, help="a JSON file; recipes that are not run keep their figures")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    archive = os.environ.get("THEW_ZIP")
    enable(Path(archive) if archive else None)
    former = options.measured.read_text() if options.measured and options.measured.is_file() else "{}"
    measured = json.loads(former)
    for recipe in RECIPES:
        if not options.only or recipe.name in options.only:
            measured[recipe.name] = cook(recipe, options.output)
            print(recipe.name, json.dumps(measured[recipe.name]), flush=True)
    if not options.only or "numbers" in options.only:
        measured["numbers"] = dials.measure()
    if options.measured:
        options.measured.write_text(json.dumps(measured, indent=1) + "\n")


def cook(recipe: Recipe, folder: Path) -> dict[str, object]:
    """Runs one recipe. Returns what was measured."""
    empty_scene()
    stage = recipe.character()
    scene = bpy.context.scene
    every = list(range(scene.frame_start, scene.frame_end + 1))
    plain = shapes(stage.meshes, every)
    bpy.ops.thew.add(whole=recipe.whole)
    added = take("as added", stage.flesh, stage.meshes, every)
    recipe.cook(stage)
    cooked = take("recipe", stage.flesh, stage.meshes, every)
    frame = every[cooked.liveliest(stage.place)]
    body = stage.meshes.index(stage.flesh)
    found = {
        "place": recipe.place,
        "before": round(recipe.measure(stage, added), 1),
        "after": round(recipe.measure(stage, cooked), 1),
        "frame": frame,
    }
    captions = ("plain skin", f"as added: {found['before']:.0f} mm", f"recipe: {found['after']:.0f} mm")
    rows = [(text, each[frame]) for text, each in zip(captions, (plain, added.shapes, cooked.shapes), strict=True)]
    looks = [picture.Shape(mesh) for mesh in stage.meshes]
    place = plain[frame][body][stage.place]
    picture.draw(looks, rows, place, recipe.angle, recipe.crop, folder / f"cookbook-{recipe.name}.jpg")
    return found


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # Blender 4.2 crashes at exit once an extension was enabled

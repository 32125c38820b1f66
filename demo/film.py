# SPDX-License-Identifier: MIT OR Apache-2.0
"""Joins rendered frames into an animated WebP: `python -m demo.film FOLDER FILE`, with a Python that has Pillow.

FOLDER holds the folders `plain` and `flesh` of `demo.showpiece`. A frame shows the plain skin above the same skin with flesh.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

LABELS = {"plain": "plain skin", "flesh": "with flesh"}
LASTS = 83
"""Milliseconds that a frame is shown: 12 a second."""
PAUSE = 900
"""Milliseconds of the last frame, before the film begins anew."""
QUALITY = 72
"""Quality of the WebP, of 100: a film of 42 frames stays below 600 kB."""


def join(folder: Path, target: Path) -> None:
    """Writes the film."""
    names = sorted(file.name for file in (folder / "plain").glob("*.png"))
    frames = [_frame([(folder / kind / name, text) for kind, text in LABELS.items()]) for name in names]
    times = [LASTS] * (len(frames) - 1) + [PAUSE]
    first, *others = frames
    first.save(target, save_all=True, append_images=others, duration=times, loop=0, quality=QUALITY, method=4)


def _frame(parts: list[tuple[Path, str]]) -> Image.Image:
    """Returns pictures above each other, each with its label in the lower left corner."""
    images = [_labelled(Image.open(file).convert("RGB"), text) for file, text in parts]
    whole = Image.new("RGB", (images[0].width, sum(image.height for image in images)))
    for number, image in enumerate(images):
        whole.paste(image, (0, number * image.height))
    return whole


def _labelled(image: Image.Image, text: str) -> Image.Image:
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=15)
    draw.text((10, image.height - 25), text, fill=(255, 255, 255), font=font, stroke_width=1, stroke_fill=(40, 38, 35))
    return image


if __name__ == "__main__":
    join(Path(sys.argv[1]), Path(sys.argv[2]))

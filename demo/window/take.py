# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the pictures of the documentation that show Blender's window. Run by `build.py pictures --window BLENDER`:

    blender --window-geometry 0 0 1600 900 --enable-event-simulate --python demo/window/take.py -- ZIP FOLDER [STORY …]

Needs a display and ImageMagick's `import`. Without names of stories it makes all pictures. Each story has a Blender of its own: one
that has registered the panels anew many times (`camera.Foldouts`) may crash.
"""

import os
import sys
import traceback
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from demo.window import camera, mouse
from demo.window.stories import STORIES

OWN = sys.argv.index("--") + 1
ZIP, FOLDER, *WANTED = sys.argv[OWN:]

#: Variable with the names of the stories that failed in the Blenders before this one.
FAILED = "THEW_STORIES_FAILED"


def run():
    """Goes through the first story of those that are named, or of all; then Blender begins anew with the others."""
    bpy.ops.extensions.package_install_files(filepath=ZIP, repo="user_default", enable_on_install=True, overwrite=True)
    bpy.context.preferences.view.show_splash = False
    bpy.context.preferences.system.use_region_overlap = False
    yield 1.0
    # Blender greets a new profile with its quick setup, which a press of Escape closes.
    mouse.send("MOUSEMOVE", "NOTHING", (300, 300))
    yield 0.3
    yield from mouse.press("ESC")

    def save(name: str, pixels) -> None:
        camera.save(pixels, Path(FOLDER) / name)

    stories = [story for story in STORIES if not WANTED or story.__name__ in WANTED]
    failed = os.environ.get(FAILED, "").split()
    for story in stories[:1]:
        print(story.__name__, flush=True)
        try:
            yield from story(save)
        except Exception:
            traceback.print_exc()
            failed.append(story.__name__)
    if stories[1:]:
        os.environ[FAILED] = " ".join(failed)
        sys.stdout.flush()
        left = [story.__name__ for story in stories[1:]]
        os.execv(bpy.app.binary_path, [*sys.argv[:OWN], ZIP, FOLDER, *left])
    print(f"not taken: {', '.join(failed)}" if failed else "all taken", flush=True)
    sys.stdout.flush()
    os._exit(bool(failed))


STEPS = run()


def step():
    """Goes on with the stories when a timer ticks. Returns the seconds until the next tick."""
    try:
        return next(STEPS)
    except Exception:
        traceback.print_exc()
        os._exit(1)


bpy.app.timers.register(step, first_interval=2.0, persistent=True)

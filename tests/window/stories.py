# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scripts for real windows have in common: a story in steps, what it looks at, and how it ends."""

import os
import sys
from pathlib import Path

import bpy

sys.path.insert(0, str(Path(__file__).parents[1] / "blender"))
wrong = []


def check(name: str, right: bool, more: str = "") -> None:
    """Reports whether a condition holds, and remembers a failure."""
    print(f"{'right' if right else 'WRONG'}: {name} {more}", flush=True)
    if not right:
        wrong.append(name)


def view3d() -> dict:
    """Returns the first 3D view, as `temp_override` takes it."""
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    return {"window": window, "area": area, "region": next(each for each in area.regions if each.type == "WINDOW")}


def install(archive: str) -> None:
    """Installs the extension and switches it on."""
    bpy.ops.extensions.package_install_files(
        filepath=archive, repo="user_default", enable_on_install=True, overwrite=True
    )


def tell(story) -> None:
    """Continues a story, which yields seconds to wait, at each timer tick; quits at its end, with 1 after a failure."""
    steps = story()

    def go():
        try:
            return next(steps)
        except StopIteration:
            pass
        except BaseException as error:
            import traceback

            traceback.print_exc()
            wrong.append(str(error))
        print("all right" if not wrong else f"wrong: {', '.join(wrong)}", flush=True)
        sys.stdout.flush()
        os._exit(bool(wrong))

    bpy.app.timers.register(go, first_interval=2.0, persistent=True)

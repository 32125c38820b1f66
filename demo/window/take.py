# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the pictures of the documentation that show Blender's window. Run by `build.py pictures --window BLENDER`:

    blender --window-geometry 0 0 1600 900 --enable-event-simulate --python demo/window/take.py -- ZIP FOLDER [STORY …]

Needs a display and ImageMagick's `import`. Without names of stories it makes all pictures.
"""

import os
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from assets import characters as own
from demo.extension import activate, addon, flesh_of
from demo.window import camera
from demo.window.camera import Foldouts, edit

ZIP, FOLDER, *WANTED = sys.argv[sys.argv.index("--") + 1 :]
#: Longest wait for a computation, s.
PATIENCE = 240.0
#: Where the mouse is as a dialog opens: the whole dialog then stands over the 3D view.
DIALOG_PLACE = (560, 620)
#: Point of the scene beside the character: looked at, it leaves nothing but the floor around a dialog.
EMPTY_PLACE = (30.0, 0.0, 0.74)
#: Steps of the mouse wheel from the top of the sidebar to the end of the list of bakes; more do nothing.
LIST_SCROLLS = 40


def wait_until_drawn():
    """Waits until the window has been drawn: events, then a redraw of every region."""
    yield 0.5
    camera.choose_tab()
    yield 0.7


def wait_until_ready(obj):
    """Waits until the flesh of an object has been built and its motion simulated."""
    until = time.monotonic() + PATIENCE
    while True:
        flesh = flesh_of(obj)
        if flesh is not None and flesh.condition.is_showable and not addon("scene.poses").silence_depth:
            return
        assert time.monotonic() < until, f"{obj.name} has no motion after {PATIENCE:g} s"
        yield 0.3


def wait_until_updated():
    """Waits until no live update waits or works."""
    until, queue = time.monotonic() + PATIENCE, addon("live.updates").state
    yield 1.0
    while queue.stepper is not None or queue.waiting:
        assert time.monotonic() < until, f"an update takes more than {PATIENCE:g} s"
        yield 0.3


def wait_until_still():
    """Waits until the 3D view looks the same twice: what has just been simulated is drawn late on a slow machine."""
    until, former = time.monotonic() + PATIENCE, None
    while True:
        pixels = camera.crop(camera.view3d()["region"])
        if former is not None and np.array_equal(former, pixels):
            return
        assert time.monotonic() < until, f"the view still changes after {PATIENCE:g} s"
        former = pixels
        yield 0.5


def clear_scene() -> None:
    """Removes all objects of the scene. Keeps the window's layout."""
    if bpy.context.object is not None and bpy.context.object.mode != "OBJECT":
        edit(bpy.ops.object.mode_set, mode="OBJECT")
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    for data in (bpy.data.meshes, bpy.data.armatures, bpy.data.actions):
        bpy.data.batch_remove(list(data))
    bpy.context.view_layer.update()


def bodo(clip: str, worn: bool = False):
    """Adds our biped in one of its clips, with larger eyes as meshes of their own if asked for."""
    clear_scene()
    armature, body = own.create("biped")
    own.use_action(armature, clip)
    if worn:
        for name, x in (("Eye L", 0.054), ("Eye R", -0.054)):
            bpy.ops.mesh.primitive_uv_sphere_add(segments=16, ring_count=10, radius=0.039, location=(x, -0.125, 1.385))
            _wear(bpy.context.object, name, armature, "head")
    activate(body)
    return armature, body


def _wear(obj, name: str, armature, bone: str) -> None:
    """Binds a mesh to one bone."""
    obj.name = name
    bpy.ops.object.transform_apply(location=True)
    obj.vertex_groups.new(name=bone).add(range(len(obj.data.vertices)), 1.0, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = armature


def add_biped(clip: str, cells: int = 12, worn: bool = False, **settings):
    """Adds our biped with flesh and its motion."""
    _, body = bodo(clip, worn)
    for name, value in settings.items():
        setattr(body.thew, name, value)
    edit(bpy.ops.thew.add, cells_across=cells)
    edit(bpy.ops.thew.simulate)
    yield from wait_until_ready(body)
    return body


# stories: each yields seconds to wait, and saves pictures by name ------------------------------------------------------------


def panels(save):
    """Takes the first screen, and each foldout."""
    body = yield from add_biped("walk", worn=True)
    bpy.context.scene.frame_set(14)
    camera.look((0.0, 0.0, 0.74), 2.0, 35.0)
    Foldouts.open("Look")
    yield from wait_until_drawn()
    save("panel.png", camera.screen())
    for label in ("Look", "Details", "Regions", "Contact", "Bake", "Advanced"):
        Foldouts.open(label)
        yield from wait_until_drawn()
        save(f"panel-{label.lower()}.png", camera.sidebar())
    body.thew.show_map = True
    Foldouts.open()
    yield from wait_until_drawn()
    save("panel-map.jpg", camera.crop(camera.view3d()["region"])[:, 150:-120])


def rigs(save):
    """Takes the foldout Rigs, with a breath under the chest that is keyed."""
    body = yield from add_biped("walk")
    edit(bpy.ops.thew.rig_add, template="RADIAL", bone="chest", name="Breath")
    rig = body.thew.rigs[0]
    start, end = bpy.context.scene.frame_start, bpy.context.scene.frame_end
    for frame, control in ((start, 0.0), ((start + end) // 2, 1.0), (end, 0.0)):
        rig.control = control
        rig.keyframe_insert("control", frame=frame)
    edit(bpy.ops.thew.simulate)
    yield from wait_until_ready(body)
    bpy.context.scene.frame_set((start + end) // 3)
    camera.look((0.0, 0.0, 0.74), 2.0, 35.0)
    Foldouts.open("Rigs")
    yield from wait_until_drawn()
    save("rigs-panel.jpg", camera.screen())
    save("panel-rigs.png", camera.sidebar())


def contacts(save):
    """Takes the contacts of a belly with thighs, drawn over the skin."""
    body = yield from add_biped("jump", use_contact=True)
    clip, flesh = bpy.context.scene, flesh_of(body)
    counts = [len(flesh.clip.contacts(frame)) for frame in range(clip.frame_end - clip.frame_start + 1)]
    clip.frame_set(clip.frame_start + int(np.argmax(counts)))
    body.thew.show_contacts = True
    camera.look((0.0, -0.1, 0.55), 1.0, 35.0, height=0.0)
    Foldouts.open()
    yield from wait_until_drawn()
    pixels = camera.crop(camera.view3d()["region"])
    save("panel-contacts.jpg", pixels[100:700, 200:980])


def modal(save):
    """Takes the foldout Advanced with the method Modal."""
    body = yield from add_biped("walk", method="modal")
    bpy.context.scene.frame_set(14)
    camera.look((0.0, 0.0, 0.74), 2.0, 60.0)
    Foldouts.open("Advanced")
    yield from wait_until_drawn()
    save("modal-panel.jpg", camera.screen())
    del body


def drag(save):
    """Takes modal flesh at rest, dragged, and held: three views beside each other."""
    body = yield from add_biped("walk", method="modal")
    bpy.context.scene.frame_set(1)
    camera.look((0.0, 0.0, 0.75), 1.75, 0.0, height=0.0, ortho=True)
    Foldouts.open()
    yield from wait_until_drawn()
    shots = []
    start, end = _at((0.12, -0.34, 0.8)), _at((0.34, -0.4, 0.92))
    shots.append(_middle())
    edit(bpy.ops.thew.modal_drag, "INVOKE_DEFAULT")
    yield 0.6
    yield from _pull(start, end)
    shots.append(_middle())
    _send("LEFTMOUSE", "RELEASE", end)
    yield 0.4
    yield from _press("ESC")
    shots.append(_middle())
    save("drag.png", np.concatenate(shots, axis=1))
    del body


def limbs(save):
    """Takes a limb of the biped: the foldout Limbs, and its handles while they are dragged."""
    armature, body = bodo("walk")
    armature.data.pose_position = "REST"
    camera.look((0.3, 0.0, 0.95), 0.75, 0.0, height=0.0, ortho=True)
    edit(bpy.ops.thew.limb_add, bones="upperarm.L\nforearm.L")
    Foldouts.open("Limbs")
    yield from wait_until_drawn()
    save("panel-limbs.png", camera.crop(camera.view3d()["area"])[80:, 350:])
    hubs = addon("edit.limbs").model_of(body.thew.limbs[0]).hubs
    edit(bpy.ops.thew.limb_drag, "INVOKE_DEFAULT")
    yield 0.8
    middle = hubs[len(hubs) // 2]
    start, end = _at(middle), _at(middle + np.array([0.04, 0.0, 0.05]))
    yield from _pull(start, end)
    _send("LEFTMOUSE", "RELEASE", end)
    yield 0.8
    save("limb-handles.png", camera.crop(camera.view3d()["area"])[80:, 350:])
    yield from _press("RET")


def take_keyframed(save):
    """Takes a sack that leaps through its shape keys: panel, curves, times, and a key that is modelled."""
    clear_scene()
    sack = _sack()
    camera.look((0.0, 0.0, 3.6), 20.0, 25.0)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 72
    edit(bpy.ops.thew.keyframed_add, frame_start=1.0, frame_end=72.0)
    settings = sack.thew.keyframed
    settings.show_curves, settings.show_arrows = True, True
    settings.active = 2
    scene.frame_set(36)
    Foldouts.open("Keyframed Flesh")
    yield from wait_until_drawn()
    yield 1.0
    save("keyframed-panel.png", camera.sidebar())
    save("keyframed-curves.png", camera.crop(camera.view3d()["region"])[60:])
    area = camera.view3d()["area"]
    area.ui_type = "DOPESHEET"
    yield 0.8
    save("keyframed-dopesheet.png", camera.crop(area)[:190, :900])
    area.ui_type = "VIEW_3D"
    yield 0.8
    settings.show_curves = False
    scene.frame_set(25)
    edit(bpy.ops.thew.keyframed_model, "INVOKE_DEFAULT")
    yield 1.0
    for corner in ((-2.2, 0.0, 1.0), (2.2, 0.0, 1.0)):
        for value in ("PRESS", "RELEASE"):
            _send("LEFTMOUSE", value, _at(corner), shift=True)
            yield 0.4
    yield from _pull(_at((1.9, 0.0, 4.2)), _at((3.6, 0.0, 5.2)))
    yield 0.8
    save("keyframed-model.png", camera.crop(camera.view3d()["region"])[60:])
    yield from _press("ESC")


def bakes(save):
    """Takes the dialog of a bake for two targets, and the list after all actions were baked into each."""
    body = yield from add_biped("walk")
    camera.look(EMPTY_PLACE, 8.0, 35.0)
    yield from _bake_as(body, lambda pixels: save("bake-dialog.png", pixels))
    addon("bake.remaking").choose(body, {"target": "HELPER_BONES", "bones": 16, "influences": 4})
    yield from _bake_as(body, lambda pixels: save("bake-helper-bones.png", pixels))
    Foldouts.open("Bake")
    yield from wait_until_drawn()
    _scroll_down()
    yield 0.7
    save("panel-bakes.png", camera.sidebar())


def lattice(save):
    """Takes a lattice by hand in edit mode, a corner of it moved into the belly: the sentence, and the red places."""
    body = yield from add_biped("walk", cells=8)
    body.find_armature().data.pose_position = "REST"
    camera.look((0.0, 0.0, 0.78), 2.1, 30.0)
    Foldouts.open("Lattice")
    yield from wait_until_drawn()
    edit(bpy.ops.thew.lattice_edit)
    corners = body.thew.hand_mesh.data.vertices
    belly = np.array([0.0, -0.45, 0.7])
    corner = min(corners, key=lambda vertex: np.linalg.norm(np.array(vertex.co) - belly))
    corner.co = (*corner.co[:1], -0.12, corner.co[2])
    with suppress(RuntimeError):  # the refusal is what is shown
        edit(bpy.ops.thew.lattice_use)
    edit(bpy.ops.object.mode_set, mode="EDIT")
    yield from wait_until_drawn()
    yield from wait_until_still()
    _scroll_down()
    yield 0.7
    save("lattice-by-hand.jpg", camera.crop(camera.view3d()["area"])[80:, 260:])
    edit(bpy.ops.object.mode_set, mode="OBJECT")


def pins(save):
    """Takes the foldout Pin, and a pin whose target lies farther than the flesh is shown."""
    body = yield from add_biped("walk")
    bpy.context.scene.frame_set(1)
    camera.look((0.0, 0.0, 0.74), 2.0, 50.0)
    Foldouts.open("Pin")
    yield from wait_until_drawn()
    edit(bpy.ops.thew.pin_point, vertex=_vertex_near(body, (0.0, -0.35, 0.7)))
    target = body.thew.pins[0].target
    place = target.matrix_world.copy()
    target.parent, target.parent_type, target.parent_bone = body.find_armature(), "BONE", "hips"
    target.matrix_world = place
    yield from wait_until_updated()
    yield from wait_until_drawn()
    save("panel-pin.png", camera.sidebar())
    target.matrix_world.translation.y -= 0.4
    yield from wait_until_updated()
    yield from wait_until_drawn()
    save("pin-short.jpg", camera.crop(camera.view3d()["area"])[80:, 260:])


def _vertex_near(body, place) -> int:
    """Returns the vertex of a mesh nearest to a place at rest."""
    places = np.empty(3 * len(body.data.vertices), np.float32)
    body.data.vertices.foreach_get("co", places)
    return int(np.argmin(np.linalg.norm(places.reshape(-1, 3) - np.array(place), axis=1)))


#: Joints of our biped that are clicked one after the other, as the bones whose heads or tails they are; a repeated one goes on from there.
CLICKED = (
    ("hips", "head"), ("chest", "head"), ("head", "head"), ("head", "tail"), ("chest", "head"), ("upperarm.L", "head"),
    ("forearm.L", "head"), ("hand.L", "tail"), ("hips", "head"), ("thigh.L", "head"), ("shin.L", "head"),
)  # fmt: skip


def clicking(save):
    """Takes a skeleton that is being clicked into our biped without its bones, with their images on the other side."""
    clear_scene()
    armature, body = own.create("biped")
    bones = armature.data.bones
    places = [np.array(getattr(bones[name], f"{end}_local")) for name, end in CLICKED]
    body.parent = None
    body.modifiers.clear()
    body.vertex_groups.clear()
    bpy.data.objects.remove(armature)
    bpy.context.view_layer.update()
    activate(body)
    camera.look((0.0, 0.0, 0.78), 1.9, 0.0, height=0.0, ortho=True)
    Foldouts.open()
    yield from wait_until_drawn()
    edit(bpy.ops.thew.skeleton_click, "INVOKE_DEFAULT")
    yield 0.8
    for place in places:
        at = _at(place)
        for kind, value in (("MOUSEMOVE", "NOTHING"), ("LEFTMOUSE", "PRESS"), ("LEFTMOUSE", "RELEASE")):
            _send(kind, value, at)
            yield 0.3
    yield from wait_until_still()
    save("skeleton-by-clicking.jpg", camera.crop(camera.view3d()["area"])[80:, 260:])
    yield from _press("ESC")


def _scroll_down() -> None:
    """Scrolls the sidebar to its end."""
    side = camera.view3d("UI")
    with bpy.context.temp_override(**side):
        for _ in range(LIST_SCROLLS):
            bpy.ops.view2d.scroll_down(page=False)
    side["region"].tag_redraw()


def _bake_as(body, take_dialog):
    """Opens the dialog of a bake with what was chosen last, takes it, accepts it, and waits for the bake."""
    Foldouts.open("Bake")
    yield from wait_until_drawn()
    _send("MOUSEMOVE", "NOTHING", DIALOG_PLACE)
    yield 0.3
    yield from wait_until_still()
    before, count = camera.screen(), len(body.thew.bakes)
    edit(bpy.ops.thew.bake_as, "INVOKE_DEFAULT")
    yield 1.5
    take_dialog(camera.changed(before, camera.view3d()["region"]))
    for value in ("PRESS", "RELEASE"):
        _send("RET", value, DIALOG_PLACE)
        yield 0.3
    until = time.monotonic() + PATIENCE
    while len(body.thew.bakes) == count:
        assert time.monotonic() < until, "no bake was made"
        yield 0.5


STORIES = (panels, rigs, contacts, modal, drag, limbs, take_keyframed, bakes, lattice, pins, clicking)


# mouse and helpers ------------------------------------------------------------------------------------------------------------


def _send(kind: str, value: str, point, **keys) -> None:
    window = bpy.context.window_manager.windows[0]
    window.event_simulate(type=kind, value=value, x=int(point[0]), y=int(point[1]), **keys)


def _press(key: str):
    """Presses and releases a key. The mouse moves last: tools begin with the window's last event."""
    for kind, value in ((key, "PRESS"), (key, "RELEASE"), ("MOUSEMOVE", "NOTHING")):
        _send(kind, value, (300, 300))
        yield 0.3
    yield 0.5


def _at(point) -> tuple[int, int]:
    """Returns where a point of the world is in the window."""
    from bpy_extras.view3d_utils import location_3d_to_region_2d

    found = camera.view3d()
    seen = location_3d_to_region_2d(found["region"], found["area"].spaces.active.region_3d, point)
    return round(found["region"].x + seen.x), round(found["region"].y + seen.y)


def _pull(start, end):
    """Presses the mouse at `start` and moves it to `end`, in steps."""
    _send("MOUSEMOVE", "NOTHING", start)
    yield 0.2
    _send("LEFTMOUSE", "PRESS", start)
    yield 0.2
    for part in np.linspace(0.2, 1.0, 5):
        _send("MOUSEMOVE", "NOTHING", (1.0 - part) * np.array(start) + part * np.array(end))
        yield 0.2


def _middle() -> np.ndarray:
    """Returns the middle of the 3D view, as wide as the character is."""
    pixels = camera.crop(camera.view3d()["region"])
    middle = pixels.shape[1] // 2
    return pixels[:, middle - 260 : middle + 260]


def _sack():
    """Builds the flour sack of the examples with four sculpted poses."""
    from examples import spacetime_sack

    shape = spacetime_sack.sack()
    mesh = bpy.data.meshes.new("Sack")
    mesh.from_pydata(shape.vertices.tolist(), [], shape.triangles.tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), bool))
    sack = bpy.data.objects.new("Sack", mesh)
    bpy.context.scene.collection.objects.link(sack)
    sack.shape_key_add(name="Basis")
    for name, points in spacetime_sack.poses(shape.vertices).items():
        key = sack.shape_key_add(name=name.capitalize(), from_mix=False)
        key.data.foreach_set("co", points.ravel())
        key.value = 0.0
    activate(sack)
    return sack


def run():
    """Goes through the stories; those that are named, or all."""
    bpy.ops.extensions.package_install_files(filepath=ZIP, repo="user_default", enable_on_install=True, overwrite=True)
    bpy.context.preferences.view.show_splash = False
    bpy.context.preferences.system.use_region_overlap = False
    yield 1.0
    # Blender greets a new profile with its quick setup, which a press of Escape closes.
    _send("MOUSEMOVE", "NOTHING", (300, 300))
    yield 0.3
    yield from _press("ESC")

    def save(name: str, pixels) -> None:
        camera.save(pixels, Path(FOLDER) / name)

    failed = []
    for story in STORIES:
        if WANTED and story.__name__ not in WANTED:
            continue
        print(story.__name__, flush=True)
        try:
            yield from story(save)
        except Exception:
            traceback.print_exc()
            failed.append(story.__name__)
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

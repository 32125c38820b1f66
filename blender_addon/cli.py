# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands without a window: bake, and export of characters to machines without Blender.

    blender --command thew bake FILE [--object NAME] [--frames A B] [--method M] [--modes N] [--space rest|posed]
                                     [--target T] [--clips scene|chosen|all] [--actions NAME ...] [--clip CLIP ...]
                                     [--error MM] [--regions N] [--bones N] [--influences N] [--rest-error MM]
                                     [--set NAME=VALUE ...] [--look] [--finish] [--scripts] [--json]
                                     [--threads N] [--out FILE|FOLDER]
    blender --command thew export FILE [--object NAME] [--frames A B] [--method M] [--modes N] [--set NAME=VALUE ...]
                                       [--scripts] [--json] [--threads N] [--out FOLDER]
    blender --command thew farm run TABLE --out FOLDER [...]
    blender --command thew diagnose FILE [--object NAME] [--simulate] [--paths] [--scripts]

`bake` adds flesh to every character as a whole, as one press in the window does. Its bodies are simulated and baked,
and other meshes on its armature ride along; keyframed flesh is baked as it is. Lines are printed for each mesh, and the
file is saved. `--clips all` bakes every action of each armature, `--actions` those that are named. With `--clip`, the
meshes that these files were made for are baked from them, and nothing is simulated. `export` writes
every body as a shot, which `python -m thew simulate` turns into a clip; the file stays as it is. `farm` does
the jobs of a table, each bake in a Blender of its own (`thew.farm`). `diagnose` prints what a report
of a fault needs, without the names of folders. The exit status is 0 if everything succeeded, 1 if nothing did,
2 if some meshes failed and the others were saved, and 130 if Ctrl-C or SIGTERM stopped it: then the .blend is as it was.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import bpy

from .bake import baking, finishing, targets
from .live import contact, diagnosing, jobs, shots, whole_character
from .live.session import register as fleshes
from .logic import session_log
from .logic.cuts import cut_text
from .logic.errors import Refusal, sentence
from .logic.native import EXPECTED_ERRORS, core
from .operators import command_interrupts, command_settings, command_words
from .operators.command_interrupts import finish
from .operators.command_meshes import clip_tasks, left_instances, meshes_for_clips, meshes_to_bake, shot_name
from .operators.command_places import ready_folder, ready_result, save_result
from .operators.command_reports import MeshReport, baked_line, keyframed_line, look_of, refused_line, write_look
from .scene import reading, record_paths
from .ui.bake_panel import played_bake


def bake_file(
    file: str | Path, name: str | None = None, frames: tuple[int, int] | None = None, out: str | Path | None = None,
    say=print, method: str | None = None, modes: int | None = None, space: str | None = None, finished: bool = False,
    scripts: bool = False, clips: list[str | Path] | None = None, target_key: str = targets.TARGETS[0].key,
    choice: str = "SCENE", actions: tuple[str, ...] = (), bones: int = 16, influences: int = 4,
    rest_error: float = 3.0, error: float = 2.0, regions: int = 1, settings: tuple[str, ...] = (), look: bool = False,
) -> list[MeshReport]:  # fmt: skip
    """Opens `file`, bakes every character mesh (or the one called `name`), and saves as `out` (or into it, if it is a folder) or over `file`.

    `method`, `modes`, `space` and `settings` (`NAME=VALUE`) replace the file's settings. `look`: a few frames of the first body are
    written beside the result (`write_look`).
    `finished`: of the flesh only the keys are left.
    `scripts`: the file's scripts and Python drivers run. `clips`: files of clips, each baked on the mesh that it was
    exported from, or a single one on `name`. `target_key`: the bake target. `choice`: an item of `CLIP_CHOICES`, with the names of
    chosen `actions`. `bones`, `influences`, `rest_error` in millimetres: of helper bones. `error` in millimetres, `regions`: of
    compressed keys. A mesh that cannot be baked gets a line that says why, and the others go on. Raises `Refusal` if a file cannot be
    opened, nothing could be baked, or the result cannot be saved; then files are as they were.
    """
    file = Path(file)
    changes = command_settings.parse(list(settings))
    if clips and (method is not None or modes is not None):
        raise Refusal("A clip is baked as it was simulated: leave out --method and --modes, or give them to export")
    if clips and choice != "SCENE":
        raise Refusal("A clip holds the scene's range: leave out --clips and --actions, or --clip")
    wanted = {
        "target_key": target_key, "clips": choice, "actions": actions, "bones": bones, "influences": influences,
        "rest_tolerance": 1e-3 * rest_error, "regions": regions,
    }  # fmt: skip
    if target_key == "COMPRESSED":
        wanted["tolerance"] = 1e-3 * error
    if frames is not None:
        wanted |= {"start": frames[0], "end": frames[1]}
    writes_files = getattr(targets.target_by_key(target_key), "writes_files", False)
    with ready_result(file, out, writes_files) as place:
        tasks = clip_tasks([Path(clip) for clip in clips or ()], name)
        open_file(file, scripts, say)
        record_paths.spare_played()
        scene, view_layer = bpy.context.scene, bpy.context.view_layer
        meshes, lines = meshes_for_clips(scene, tasks, name) if tasks else meshes_to_bake(scene, name), []
        configure(meshes, method, modes, changes)
        for obj in meshes if space is not None else ():
            obj.thew.bake_space = space
        failed = {} if tasks else add_flesh(meshes, scene, view_layer, say, name is None)
        meshes = [obj for obj in meshes if name is not None or not is_baked_with_body(obj, scene)]
        for obj in meshes:
            line = failed.get(obj.name) or bake_one(obj, scene, view_layer, tasks.get(obj.name), **wanted)
            line.file = str(place) if line.done else ""
            say(line)
            lines.append(line)
        looks = (look_of(obj) for obj, line in zip(meshes, lines, strict=True) if line.worst_frame)
        shown = next(looks, None) if look else None  # before finished flesh is gone
        for obj, line in zip(meshes, lines, strict=True) if finished else ():
            command_interrupts.check()
            if line.done:  # after all were baked: meshes that are simulated together need each other's flesh
                finish_one(obj, line, say)
        if not any(line.done for line in lines):
            raise Refusal(f"Nothing in {file} could be baked, so nothing was saved")
        command_interrupts.check()
        save_result(place)
        if shown is not None:
            write_look(shown, place.with_suffix(".look.npz"))
    return lines


def is_baked_with_body(obj, scene) -> bool:
    """Returns whether an object is baked along with the body that it rides on."""
    body = obj.thew.body if obj.thew.made.rides else None
    return body is not None and body.thew.made.flesh and body.name in scene.objects


def add_flesh(meshes: list[bpy.types.Object], scene, view_layer, say, characters: bool) -> dict[str, MeshReport]:
    """Adds flesh to all meshes before anything is simulated: those that are simulated together need each other's flesh.

    `characters`: treats whole characters, as one press in the window does, otherwise only the meshes. Returns, by name,
    the reports on meshes that get no flesh.
    """
    failed: dict[str, MeshReport] = {}
    for text in left_instances(scene) if characters else ():
        say(sentence(text))
    for obj in sorted(meshes, key=lambda obj: not whole_character.is_seen(obj, view_layer)):  # hidden meshes come last
        made, armature = obj.thew.made, reading.armature_of(obj)
        if made.flesh or made.rides or made.keyframed or obj.name in failed:
            continue
        try:
            if not characters or armature is None:
                finish(jobs.add(obj, scene, view_layer, simulate=False))
                continue
            view_layer.update()
            bare = whole_character.new_meshes(armature, scene, view_layer)
            taken = finish(whole_character.add(obj, scene, view_layer, simulate=False))
        except EXPECTED_ERRORS as error:
            failed[obj.name] = MeshReport(obj.name, sentence(str(error)), False)
            continue
        for text in taken.sentences():
            say(f"{obj.name}: {text}")
        known = {*taken.bodies, *(rider for rider, _ in taken.riders)}
        for other in (other for other in bare if obj in bare and other not in known):
            reason = taken.refused.get(other.name)
            text = f"keeps its plain skin: {reason or '--object gives it flesh of its own'}"
            failed[other.name] = MeshReport(other.name, text, False, left=reason is None)
    return failed


def finish_one(obj, line: MeshReport, say) -> None:
    """Finishes a bake. A failure is printed, and recorded in its `line`."""
    try:
        finishing.finish_bake(obj)
    except EXPECTED_ERRORS as error:
        line.done = False
        say(MeshReport(obj.name, sentence(str(error)), False))


def export_file(
    file: str | Path, name: str | None = None, frames: tuple[int, int] | None = None, out: str | Path | None = None,
    say=print, method: str | None = None, modes: int | None = None, scripts: bool = False, settings: tuple[str, ...] = (),
) -> list[MeshReport]:  # fmt: skip
    """Opens `file` and writes every character mesh (or the one called `name`) as a shot into the folder `out`, made if need be (`None`:
    beside the file).

    The other arguments are those of `bake_file`. `file` is not saved. A rider has no shot of its own.
    """
    file = Path(file)
    folder = Path(out) if out else file.parent
    changes = command_settings.parse(list(settings))
    with ready_folder(folder):
        open_file(file, scripts, say)
        return export_meshes(file, folder, name, frames, say, method, modes, changes)


def export_meshes(
    file: Path, folder: Path, name: str | None, frames: tuple[int, int] | None, say, method: str | None, modes: int | None, changes: dict
) -> list[MeshReport]:  # fmt: skip
    """Writes the shots of the opened `file` into a folder that is there; see `export_file`."""
    scene, view_layer = bpy.context.scene, bpy.context.view_layer
    lines, taken = [], set()
    meshes = meshes_to_bake(scene, name)
    configure(meshes, method, modes, changes)
    failed = add_flesh(meshes, scene, view_layer, say, name is None)
    # Riders are carried by their body.
    meshes = [obj for obj in meshes if name is not None or not obj.thew.made.rides]
    for obj in meshes:
        path = folder / shot_name(file, obj.name, taken)
        line = failed.get(obj.name) or export_one(obj, scene, view_layer, frames, path)
        say(line)
        lines.append(line)
    if not any(line.done for line in lines):
        raise Refusal(f"Nothing in {file} could be exported")
    return lines


def open_file(file: Path, scripts: bool, say) -> None:
    """Opens a .blend. Raises a `Refusal` if that fails."""
    if not os.path.isfile(
        file
    ):  # False for a name that is too long too, of which Path raises an error before Python 3.14
        raise Refusal(f"There is no file {file}: check its path")
    try:
        bpy.ops.wm.open_mainfile(filepath=str(file), load_ui=False, use_scripts=scripts)
    except RuntimeError as error:
        raise Refusal(f"Blender cannot open {file}: {error}") from error
    command_interrupts.check()  # Blender's reading itself cannot be stopped
    if bpy.app.autoexec_fail:
        say(f"{file.name}: its scripts and Python drivers did not run: give --scripts if you trust them")


def configure(meshes: list[bpy.types.Object], method: str | None, modes: int | None, changes: dict) -> None:
    """Replaces settings of the file by those on the command line."""
    for obj in meshes:
        if method is not None:
            obj.thew.method = method
        if modes is not None:
            obj.thew.modes = modes
        command_settings.apply(obj, bpy.context.scene, changes)
    if modes is not None and not any(obj.thew.method == "modal" for obj in meshes):
        raise Refusal("--modes is for the method modal: give --method modal too, or leave --modes out")


def export_one(obj, scene, view_layer, frames: tuple[int, int] | None, path: Path) -> MeshReport:
    """Writes the shot of a mesh with flesh and returns its report."""
    began = time.perf_counter()
    try:
        if obj.thew.made.rides:
            raise Refusal(f"“{obj.name}” rides on a body: export that one, and this is baked along with it")
        if obj.thew.made.keyframed:
            raise Refusal(f"“{obj.name}” moves through its shape keys, which needs no simulation: bake it")
        shot, left_out = finish(shots.export(obj, scene, view_layer, *(frames or (None, None))))
        shot.save(path)
    except EXPECTED_ERRORS as error:
        return MeshReport(obj.name, sentence(str(error)), False)
    seconds, size = time.perf_counter() - began, path.stat().st_size
    text = f"{path}: {len(shot)} poses, {size / 1e6:.1f} MB, {seconds:.1f} s"
    return MeshReport(obj.name, text, True, left_out, seconds, str(path))


def bake_one(obj, scene, view_layer, clip_task: baking.ClipTask | None = None, **wanted) -> MeshReport:
    """Adds flesh if necessary, bakes what is `wanted` (see `baking.bake`; from the clip of `clip_task`), and returns the report."""
    began = time.perf_counter()
    try:
        if not (obj.thew.made.flesh or obj.thew.made.rides or obj.thew.made.keyframed):
            finish(jobs.add(obj, scene, view_layer, simulate=False))
        if obj.thew.made.keyframed:
            wanted |= {"clips": "SCENE", "actions": ()}  # it moves through its shape keys, over the scene's frames
        baked = finish(baking.bake(obj, scene, view_layer, clip_task=clip_task, **wanted))
        if obj.thew.made.keyframed:
            return keyframed_line(obj, baked, time.perf_counter() - began)
        flesh = fleshes.state_of(obj.thew.body if obj.thew.made.rides else obj)
        notes = [sentence(text) for text in (*baked.figures, *baked.remarks)]
        if not (obj.thew.made.rides or baked.clips):
            notes += [sentence(text) for text in [cut_text(flesh.open_cuts)] if text] + contact.notes(flesh)
    except EXPECTED_ERRORS as error:
        return refused_line(obj, error)
    return baked_line(obj, baked, flesh, notes, time.perf_counter() - began)


def diagnose_file(arguments) -> int:
    """Prints the diagnosis of each character mesh of a file, or of the object called by name; returns the exit status."""
    try:
        open_file(Path(arguments.file), arguments.scripts, print)
        scene, view_layer = bpy.context.scene, bpy.context.view_layer
        for obj in meshes_to_bake(scene, arguments.object):
            if arguments.simulate and obj.thew.made.flesh:
                try:
                    finish(jobs.simulate(obj, scene, view_layer))
                except EXPECTED_ERRORS as error:
                    session_log.note_refusal(obj.name, sentence(str(error)))
            print(diagnosing.text_of(obj, bpy.context, arguments.paths, played_bake(obj)), flush=True)
    except EXPECTED_ERRORS as error:
        print(sentence(str(error)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130
    return 0


def main(words: list[str]) -> int:
    """Runs the command. Returns the exit status: 0 if everything succeeded, 1 if nothing did, 2 if some meshes failed, 130 if a
    signal stopped it.
    """
    if words[:1] == ["farm"]:
        return run_farm(words[1:])
    arguments = command_words.parser().parse_args(words)
    with command_interrupts.caught():
        return diagnose_file(arguments) if arguments.command == "diagnose" else bake_or_export(arguments)


def bake_or_export(arguments) -> int:
    """Runs `bake` or `export` with its parsed words; returns the exit status."""
    if arguments.threads is not None:
        # Both are read when the first parallel work starts; one that was there before would count instead.
        os.environ["THEW_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(arguments.threads)

    told = []

    def say(line: MeshReport | str) -> None:
        told.append(line)
        if not arguments.json:
            print(line, flush=True)
        elif isinstance(line, MeshReport):
            print(line.as_json(), flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    given = {
        "name": arguments.object, "frames": tuple(arguments.frames) if arguments.frames else None, "out": arguments.out,
        "method": arguments.method, "modes": arguments.modes, "scripts": arguments.scripts, "say": say,
        "settings": tuple(arguments.settings),
    }  # fmt: skip
    try:
        if arguments.command == "export":
            lines = export_file(arguments.file, **given)
        else:
            command_words.check_together(arguments)
            space = arguments.space and arguments.space.upper()
            numbers = {name: getattr(arguments, name) for name in command_words.OF_TARGETS}
            lines = bake_file(
                arguments.file,
                **given,
                space=space,
                finished=arguments.finish,
                clips=arguments.clip,
                target_key=arguments.target.upper(),
                choice="CHOSEN" if arguments.actions else (arguments.clips or "scene").upper(),
                actions=tuple(arguments.actions or ()),
                **{name: value for name, value in numbers.items() if value is not None},
                look=arguments.look,
            )
    except EXPECTED_ERRORS as error:
        reports = [line for line in told if isinstance(line, MeshReport)]
        if arguments.json and (not reports or any(line.done for line in reports)):  # failed meshes have said why
            print(MeshReport(arguments.object or arguments.file, sentence(str(error)), False).as_json(), flush=True)
        print(sentence(str(error)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            stopped_sentence(arguments, any(isinstance(line, MeshReport) and line.done for line in told)),
            file=sys.stderr,
        )
        return 130
    return 2 if any(not line.done and not line.left for line in lines) else 0


def stopped_sentence(arguments, some: bool) -> str:
    """Returns the sentence on a command that a signal stopped. `some`: whether a mesh was reported as done."""
    if arguments.command == "export":
        return f"Stopped; {'the reported shots are' if some else 'nothing was'} written."
    return "Stopped; nothing was written."


def run_farm(words: list[str]) -> int:
    """Runs the table of a farm. Its bakes run in Blenders like this one."""
    try:
        core()
        from thew.farm import command
    except (Refusal, ImportError) as error:
        print(sentence(str(error)), file=sys.stderr)
        return 1
    program = None if getattr(bpy.app, "module", False) else bpy.app.binary_path or None
    return command.main(words, "blender --command thew", program, str(Path(__file__).parent))


_command = None


def register() -> None:
    global _command
    _command = bpy.utils.register_cli_command("thew", main)


def unregister() -> None:
    global _command
    if _command is not None:
        bpy.utils.unregister_cli_command(_command)
        _command = None

# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist reads and presses around bakes: the dialog, the action buttons, baking again, and the sizes of what there is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from helpers import Layout, activate, part, play, refusal

FRAMES = range(1, 21)


@pytest.fixture
def acting(fleshed_character, tmp_path):
    """Builds (mesh, armature) with flesh and the actions Run and Hop, in a saved file."""
    body, armature = fleshed_character
    animation = part("scene.animation")
    armature.animation_data.action.name = "Run"
    other = armature.animation_data.action.copy()
    other.name = "Hop"
    for curve in animation.curves_of(other, animation.slots_of(other, "OBJECT")[0]):
        for point in curve.keyframe_points:
            point.co.y *= 0.5
    other.use_fake_user = True
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    activate(body)
    return body, armature


def dialog(**values):
    """Returns the dialog with these values, without a window."""
    cls = part("operators.bake_dialog").THEW_OT_bake_as
    names = (
        "draw",
        "lines",
        "other_clips",
        "clip_frames",
        "chosen_names",
        "values",
        "writes_files",
        "moves_bones",
        "bakes_others",
    )
    made = type("Dialog", (SimpleNamespace,), {name: vars(cls)[name] for name in names})
    defaults = {
        "target": "COMPRESSED",
        "clips": "ALL",
        "tolerance": 2.0,
        "name": "",
        "folder": "",
        "image": "EXR",
        "anew": False,
        "bones": 16,
        "influences": 4,
    }
    ticks = [SimpleNamespace(name=name, chosen=True) for name in ("Run", "Hop")]
    return made(**(defaults | {"ticks": ticks} | values))


def texts(**values) -> str:
    return " ".join(dialog(**values).lines(bpy.context))


def drawn(**values) -> list[str]:
    """Returns the fields of the dialog."""

    class Fields(Layout):
        def __getattr__(self, name):
            if name == "prop":
                return lambda _owner, field, **_options: self.seen.append(("prop", field, ""))
            if name in {"column", "row"}:
                return lambda **_options: Fields(self.seen, self.owners)
            return super().__getattr__(name)

    layout = Fields()
    made = dialog(**values)
    made.layout = layout
    made.draw(bpy.context)
    return [call[1] for call in layout.seen if call[0] == "prop"]


def test_dialog_tells_sizes_and_limits(acting):
    """Each form has its size before the bake, counted here anew, and what engines take of it."""
    body, _ = acting
    spans = [bpy.data.actions[name].frame_range for name in ("Run", "Hop")]
    vertices, frames = len(body.data.vertices), sum(round(last - first) + 1 for first, last in spans)
    assert f"{frames} frames of {vertices} vertices." in texts()
    assert "keys with normals" in texts() and "Filament" in texts()
    sizes = part("logic.bake_sizes")
    assert sizes.size_text(12 * frames * vertices) in texts(target="PC2") and "2 clips" in texts(target="PC2")
    assert f"{vertices} × {frames} texels" in texts(target="VERTEX_TEXTURE")
    assert "keys" not in texts(target="VERTEX_TEXTURE")
    assert sizes.size_text(6 * frames * vertices) in texts(target="VERTEX_TEXTURE")
    body.thew.store_tension = True
    assert sizes.size_text(8 * frames * vertices) in texts(target="VERTEX_TEXTURE")
    assert "4 bones a vertex" in texts(target="HELPER_BONES", influences=8)
    assert "4 bones a vertex" not in texts(target="HELPER_BONES")
    assert sizes.texture_limit_text(8193, 10) and not sizes.texture_limit_text(8192, 10)
    assert sizes.texture_limit_text(5000, 8193) and not sizes.texture_limit_text(4096, 8193)


def test_dialog_fields_of_each_form(acting):
    """A form shows its own fields: the error of compressed keys, the folder of files, the format of textures."""
    common = {"target", "clips", "name"}
    assert set(drawn()) == {*common, "tolerance"}
    assert set(drawn(target="SHAPE_KEYS")) == common
    assert set(drawn(target="MDD")) == {*common, "folder"}
    assert set(drawn(target="VERTEX_TEXTURE")) == {*common, "folder", "image"}
    assert dialog(target="VERTEX_TEXTURE", image="PNG", folder="//x").values()["image"] == "PNG"
    assert "tolerance" not in dialog(target="PC2").values()


def test_files_go_where_they_were(acting, tmp_path):
    """A clip that joins a cache goes to the folder of the others, and the panel states the bytes on the disk."""
    body, _ = acting
    folder = tmp_path / "elsewhere"
    chosen = {"target": "PC2", "clips": "CHOSEN"}
    assert bpy.ops.thew.bake(actions="Run", folder=str(folder), **chosen) == {"FINISHED"}
    assert bpy.ops.thew.bake(actions="Hop", **chosen) == {"FINISHED"}
    assert len(list(folder.glob("*.pc2"))) == 2
    size = sum(path.stat().st_size for path in folder.iterdir())
    text = part("ui.bake_panel").size_text(body, body.thew.bakes[0])
    assert text == f"2 PC2 files, 2 clips, {part('logic.bake_sizes').size_text(size)} on the disk"
    for path in folder.iterdir():
        path.unlink()
    assert "bake again" in part("ui.bake_panel").size_text(body, body.thew.bakes[0])


def test_action_buttons_bake_the_last_choice(acting):
    """This Action and All Actions take the form last chosen in the dialog, or join the bake of actions that plays."""
    body, _ = acting
    remaking = part("bake.remaking")
    assert remaking.action_values(body) == {"target": "COMPRESSED"}
    remaking.choose(body, {"target": "MDD", "name": "Film", "tolerance": 3.0, "folder": "", "image": "EXR"})
    values = remaking.action_values(body)
    assert (values["target"], values["name"]) == ("MDD", "Film")
    assert bpy.ops.thew.bake(clips="ALL", target="COMPRESSED", tolerance=1.0, name="Game") == {"FINISHED"}
    values = remaking.action_values(body)
    assert (values["target"], values["name"]) == ("COMPRESSED", "Game") and values["tolerance"] == pytest.approx(1.0)
    assert bpy.ops.thew.bake(clips="CHOSEN", actions="Hop", **values) == {"FINISHED"}
    assert [bake.name for bake in body.thew.bakes] == ["Game"] and len(body.thew.bakes[0].clips) == 2


def test_bake_again_shares_keys(acting):
    """Clips that were added one by one are baked anew in one press: fewer keys, all clips within the error."""
    body, _ = acting
    compressed = {"target": "COMPRESSED", "tolerance": 0.2, "clips": "CHOSEN"}
    assert bpy.ops.thew.bake(actions="Run", **compressed) == {"FINISHED"}
    assert bpy.ops.thew.bake(actions="Hop", **compressed) == {"FINISHED"}
    bake, panel = body.thew.bakes[0], part("ui.bake_panel")
    apart = len(bake.key_names)
    assert "one by one" in panel.shared_text(bake)
    assert "Hop" in texts(clips="CHOSEN", ticks=[SimpleNamespace(name="Run", chosen=True)])
    assert bpy.ops.thew.bake_again(name=bake.name) == {"FINISHED"}
    bake = body.thew.bakes[0]
    assert len(bake.key_names) < apart and panel.shared_text(bake) == ""
    assert sorted(clip.label for clip in bake.clips) == ["Hop", "Run"]
    assert all(clip.error <= 1.02 * 0.2e-3 for clip in bake.clips)


def test_bake_again_keeps_the_scene_clip(acting):
    """A bake of the scene's range and of actions keeps all clips with their frames when it is baked again."""
    body, _ = acting
    assert bpy.ops.thew.bake(frame_start=3, frame_end=9) == {"FINISHED"}
    assert bpy.ops.thew.bake(clips="CHOSEN", actions="Hop") == {"FINISHED"}
    before = [(clip.label, clip.start, clip.end) for clip in body.thew.bakes[0].clips]
    shown = play(body, range(3, 10))
    assert bpy.ops.thew.bake_again(name="Shape Keys") == {"FINISHED"}
    assert sorted(before) == sorted((clip.label, clip.start, clip.end) for clip in body.thew.bakes[0].clips)
    assert np.abs(play(body, range(3, 10)) - shown).max() < 1e-6
    bpy.data.actions.remove(bpy.data.actions["Hop"])
    assert bpy.ops.thew.bake_again(name="Shape Keys") == {"FINISHED"}
    assert sorted(clip.label for clip in body.thew.bakes[0].clips) == ["Hop", "Scene"]


def test_tooltips_of_bake_buttons(acting):
    """The tooltip of a button that bakes says what, in which form, and into which bake."""
    tooltip = part("operators.bake").describe_press
    values = {"target": "COMPRESSED", "clips": "ALL", "name": "", "actions": "", "tolerance": 2.0}
    text = tooltip(SimpleNamespace(**values))
    assert "every action" in text and "Compressed Keys within 2 mm" in text and "Bake As…" in text
    assert "“Hop”" in tooltip(SimpleNamespace(**(values | {"clips": "CHOSEN", "actions": "Hop"})))
    assert "into the bake “Game”" in tooltip(SimpleNamespace(**(values | {"name": "Game"})))


def test_removed_flesh_keeps_a_cache_in_words(acting):
    """After Remove the panel names a cache that stays, and deletes it with its files."""
    body, _ = acting
    assert bpy.ops.thew.bake(target="PC2") == {"FINISHED"}
    (path,) = part("scene.bake_files").files_of(body.thew.bakes[0].clips)
    assert bpy.ops.thew.remove() == {"FINISHED"}
    assert part("ui.panels").no_flesh_text(body) == "Keeps 1 PC2 file"
    assert bpy.ops.thew.remove(remove_baked_keys=True) == {"FINISHED"}
    assert not Path(path).exists() and not len(body.thew.bakes)


def test_full_disk_keeps_all_files(acting, monkeypatch):
    """If one of several files cannot be moved to its place, every earlier file and the bake stay as they were."""
    body, _ = acting
    bake_files = part("scene.bake_files")
    for target in ("PC2", "VERTEX_TEXTURE"):
        assert bpy.ops.thew.bake(target=target, clips="ALL", name=target) == {"FINISHED"}
        folder = bake_files.default_folder()
        before, shown = {path: path.read_bytes() for path in folder.iterdir()}, play(body, FRAMES)
        body.thew.softness = 0.9
        replace, calls = bake_files.os.replace, []

        def fails(source, place, replace=replace, calls=calls):
            calls.append(place)
            if len(calls) == 4:  # two moves a file: the first file is in its place, the second one is not
                raise OSError(28, "No space left on device")
            replace(source, place)

        monkeypatch.setattr(bake_files.os, "replace", fails)
        assert "No space left" in refusal(bpy.ops.thew.bake, target=target, clips="ALL", name=target)
        monkeypatch.undo()
        assert {path: path.read_bytes() for path in folder.iterdir()} == before
        body.thew.softness = 0.5
        assert np.array_equal(play(body, FRAMES), shown)
        assert len(body.thew.bakes[target].clips) == 2


@pytest.mark.parametrize("kept", [False, True])
def test_cache_is_replaced_before_an_export(acting, kept):
    """The check before an export offers shape keys in place of a point cache: those of another bake, else new ones of the same clips."""
    body, _ = acting
    if kept:
        assert bpy.ops.thew.bake(clips="ALL") == {"FINISHED"}
    assert bpy.ops.thew.bake(target="PC2", clips="ALL") == {"FINISHED"}
    inside = FRAMES[:-1]  # beyond the clip a cache holds its last shape, and keys show the plain skin
    shown = play(body, inside)
    settings = part("bake.traps").ExportSettings("EXPORT_SCENE_OT_fbx", {})

    def trap():
        found = part("bake.export_check").find_traps(bpy.context.scene.objects, settings)
        return next((each for each in found if each.key == "cache"), None)

    assert trap().remedy == ("Show “Shape Keys”" if kept else "Bake Compressed Keys")
    task = part("bake.mending").mend("cache", body, bpy.context.scene, bpy.context.view_layer, settings)
    assert "Body" in part("logic.tasks").finish(task)
    assert trap() is None and part("bake.export_check").plays_bake(body)
    playing = part("saved.bakes").playing(body)
    assert playing.name == ("Shape Keys" if kept else "Compressed Keys") and len(playing.clips) == 2
    off = np.abs(play(body, inside) - shown).max()
    assert off < (1e-6 if kept else 0.01)


def test_list_tells_limits_of_engines(acting):
    """The list says for the number of keys that a bake has what engines take."""
    body, _ = acting
    note = part("logic.bake_sizes").limit_note
    assert note(4) == "" and "8 without" in note(8) and "within the 256" in note(256) and "more keys than" in note(257)
    assert bpy.ops.thew.bake() == {"FINISHED"}
    layout = Layout()
    part("ui.bake_panel").draw_bakes(layout, body, 200)
    assert any("Within the 256 keys" in text for text in layout.read())


def test_export_cache_names_follow_the_format(acting, tmp_path):
    """The suggested file has the .blend's name and the format's ending, which changes along with the format."""
    suggested = part("bake.cache_export").suggested_path
    first = suggested("USD", "")
    assert first == str(tmp_path / "hero.usdc")
    assert suggested("ALEMBIC", first) == str(tmp_path / "hero.abc")
    assert suggested("USD", str(tmp_path / "hero.usda")) == str(tmp_path / "hero.usda")
    assert suggested("USD", str(tmp_path / "hero.v2")) == str(tmp_path / "hero.v2.usdc")
    assert (
        part("bake.cache_export").path_for(part("bake.cache_export").FORMATS["ALEMBIC"], first).name == "hero.usdc.abc"
    )


def test_panels_offer_caches_and_tension(acting):
    """The foldout Bake has a button for each format of Export Cache, Look has Tension, and File > Export has the caches too."""
    body, _ = acting
    panels, bake_panel = part("ui.panels"), part("ui.bake_panel")
    bake, look, menu = Layout(), Layout(), Layout()
    bake_panel.draw_bake(bake, bpy.context, body, 40)
    exports = [call for call in bake.seen if call[:2] == ("operator", "thew.export_cache")]
    assert [call[-1] for call in exports] == ["USD…", "Alembic…"]
    panels.draw_look(look, bpy.context, body, 40)
    assert ("prop", "store_tension", "") in look.seen
    assert any(call[:2] == ("operator", "thew.add_wrinkle_material") for call in look.seen)
    part("ui.export_panel").draw_menu(SimpleNamespace(layout=menu), bpy.context)
    assert any(call[:2] == ("operator", "thew.export_cache") for call in menu.seen)
    bpy.data.objects.remove(body)
    menu = Layout()
    part("ui.export_panel").draw_menu(SimpleNamespace(layout=menu), bpy.context)
    assert not menu.seen


def test_dialog_bakes_all_clips_of_helper_bones(acting):
    """Bones are fitted to all clips of a bake at once: the dialog bakes its other clips too, and says so."""
    body, _ = acting
    bones = {"target": "HELPER_BONES", "clips": "CHOSEN"}
    assert bpy.ops.thew.bake(actions="Run", bones=2, **bones) == {"FINISHED"}
    ticks = [SimpleNamespace(name=name, chosen=name == "Hop") for name in ("Run", "Hop")]
    made = dialog(ticks=ticks, bones=2, influences=4, **bones)
    assert "“Run” is baked anew too" in " ".join(made.lines(bpy.context))
    assert bpy.ops.thew.bake(**made.values()) == {"FINISHED"}
    assert sorted(clip.label for clip in body.thew.bakes["Helper Bones"].clips) == ["Hop", "Run"]

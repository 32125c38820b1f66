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
        "joined",
        "key_range",
        "chosen_clips",
        "wanted_name",
        "other_clips",
        "clip_frames",
        "chosen_names",
        "values",
        "writes_files",
        "moves_bones",
        "bakes_others",
        "unusable",
        "refused",
        "invoke",
        "execute",
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
        "overwrite": False,
        "regions": 1,
        "rest_error": 3.0,
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
    assert "above 0" in texts(tolerance=0.0) and "above 0" not in texts()
    assert "4 bones a vertex" in texts(target="HELPER_BONES", influences=8)
    assert "4 bones a vertex" not in texts(target="HELPER_BONES")
    assert sizes.texture_limit_text(8193, 10) and not sizes.texture_limit_text(8192, 10)
    assert sizes.texture_limit_text(5000, 8193) and not sizes.texture_limit_text(4096, 8193)


def test_dialog_fields_of_each_form(acting):
    """A form shows its own fields: the error of compressed keys, the folder of files, the format of textures."""
    common = {"target", "clips", "name"}
    assert set(drawn()) == {*common, "tolerance", "regions"}
    assert set(drawn(target="SHAPE_KEYS")) == common
    assert set(drawn(target="MDD")) == {*common, "folder"}
    assert set(drawn(target="VERTEX_TEXTURE")) == {*common, "folder", "image"}
    assert dialog(target="VERTEX_TEXTURE", image="PNG", folder="//x").values(bpy.context)["image"] == "PNG"
    assert "tolerance" not in dialog(target="PC2").values(bpy.context)


def opened(**given):
    """Returns the dialog as it opens, where a script gave these values."""
    made = dialog(**given)
    made.properties = SimpleNamespace(is_property_set=lambda name: name in given)
    made.ticks = type("Ticks", (list,), {"add": lambda self: self.append(SimpleNamespace(chosen=True)) or self[-1]})()
    manager = SimpleNamespace(invoke_props_dialog=lambda *_args, **_options: {"RUNNING_MODAL"})
    context = SimpleNamespace(view_layer=bpy.context.view_layer, scene=bpy.context.scene, window_manager=manager)
    assert made.invoke(context, None) == {"RUNNING_MODAL"}
    return made


def test_dialog_keeps_what_it_takes(acting, tmp_path):
    """A refused error or folder is told before, is not kept, and bakes nothing; values of scripts stay as they are given."""
    body, _ = acting
    choice, said = body.thew.bake_choice, []
    for refused in ({"tolerance": 0.0}, {"target": "PC2", "folder": str(tmp_path / "no" / "out")}):
        made = dialog(**refused)
        made.report = lambda _level, text: said.append(text)
        assert made.execute(bpy.context) == {"CANCELLED"} and choice.target == "" and not len(body.thew.bakes)
    assert "above 0" in said[0] and "does not exist" in said[1] and len(said) == 2
    assert "usually" not in texts(tolerance=0.0).lower() and "usually" in texts().lower()
    assert dialog(bones=7, target="HELPER_BONES", clips="CHOSEN").execute(bpy.context) == {"FINISHED"}
    assert choice.bones == 7 and opened().bones == 7 and opened().target == "HELPER_BONES" and opened().clips == "ALL"
    given = opened(bones=9, target="COMPRESSED", clips="SCENE", tolerance=1.0)
    assert (given.bones, given.target, given.clips, given.tolerance) == (9, "COMPRESSED", "SCENE", 1.0)
    choice.tolerance = 0.0  # of an earlier version
    assert opened().tolerance == 2.0


def test_error_in_the_scene(acting):
    """Where the character has another height in the scene than in reality, dialog and list tell the error in the scene too."""
    body, _ = acting
    panel, units = part("ui.bake_panel"), part("saved.units")
    body.thew.real_height = body.thew.made.longest_side
    assert "Real Size" not in texts() + texts(target="HELPER_BONES")
    body.thew.real_height = body.thew.made.longest_side / 5.0
    height = f"{body.thew.real_height:.3g} m"
    assert f"5 times as large as its Real Size of {height}: there an error of 2 mm looks like 10 mm." in texts()
    assert "there an error of 3 mm looks like 15 mm." in texts(target="HELPER_BONES")
    assert "Real Size" not in texts(target="HELPER_BONES", rest_error=0.0) + texts(target="PC2")
    live = play(body, FRAMES)
    assert bpy.ops.thew.bake(target="COMPRESSED", tolerance=1.0) == {"FINISHED"}
    clip = body.thew.bakes[0].clips[0]
    off = 1e3 * np.linalg.norm(play(body, FRAMES) - live, axis=2).max()
    assert off == pytest.approx(5e3 * clip.error, rel=0.05) and units.scene_scale(body) == pytest.approx(5.0)
    assert f"({5e3 * clip.error:.2g} mm in the scene)" in panel.clip_text(clip, units.scene_scale(body))
    assert "in the scene)" not in panel.clip_text(clip)
    body.thew.real_height = body.thew.made.longest_side / 500.0
    assert "e+" not in panel.clip_text(clip, units.scene_scale(body)) + texts()


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
    part("scene.file_states").forget()  # a second later
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
    assert "one by one" in panel.shared_text(body, bake)
    assert "Hop" in texts(clips="CHOSEN", ticks=[SimpleNamespace(name="Run", chosen=True)], overwrite=True)
    assert bpy.ops.thew.bake_again(name=bake.name) == {"FINISHED"}
    bake = body.thew.bakes[0]
    assert len(bake.key_names) < apart and panel.shared_text(body, bake) == ""
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
    assert "“Body” plays" in str(part("logic.tasks").finish(task))
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


@pytest.mark.parametrize("width", range(20, 45))
def test_panel_keeps_numbers_with_their_words(width):
    """No line of the panel breaks before a unit, in a range, or before the number of a frame."""
    text = "walk, 1 to 60, 2 mm off at frame 16 (4.39 MB)"
    lines = part("ui.layouts").wrap(text, width)
    assert " ".join(lines) == text and len(lines) > 1 and max(map(len, lines)) <= width
    assert all(any(whole in line for line in lines) for whole in ("1 to 60", "2 mm", "frame 16", "4.39 MB"))


def test_bake_clips_named():
    """Of many clips a sentence names the first ones, and tells the number of the others."""
    clip_words = part("bake.bake_records").clip_words
    clips = [SimpleNamespace(is_scene=number == 0, label=f"Clip {number}") for number in range(9)]
    assert clip_words(clips[:1]) == "its scene range" and clip_words(clips[1:3]) == "“Clip 1” and “Clip 2”"
    assert clip_words(clips[1:]) == "“Clip 1”, “Clip 2”, “Clip 3”, “Clip 4”, “Clip 5” and 3 more"


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
    assert bpy.ops.thew.bake(**made.values(bpy.context)) == {"FINISHED"}
    assert sorted(clip.label for clip in body.thew.bakes["Helper Bones"].clips) == ["Hop", "Run"]


def words(**values) -> str:
    """Returns the lines of the dialog on a bake of the same name."""
    made = dialog(**values)
    return " ".join(part("operators.bake_dialog").join_lines(bpy.context, made.joined(bpy.context)))


def test_dialog_says_what_it_replaces(acting):
    """A bake of the same name stays unless Replace is ticked, and the dialog says before OK which clips go, and under which name it writes."""
    body, _ = acting
    assert words() == "" and "overwrite" not in drawn()
    assert bpy.ops.thew.bake(**dialog().values(bpy.context)) == {"FINISHED"}
    first = body.thew.bakes["Compressed Keys"]
    amount = part("ui.bake_panel").size_text(body, first)
    assert "“Run”" in words() and "“Hop”" in words() and amount in words() and "“Compressed Keys.001” beside" in words()
    assert "overwrite" in drawn() and dialog().values(bpy.context)["name"] == "Compressed Keys.001"
    assert words(overwrite=True) == f"OK replaces “Run” and “Hop” in the bake “Compressed Keys” ({amount})."
    assert dialog(overwrite=True).values(bpy.context)["name"] == "Compressed Keys"
    keys = first.key_names
    assert bpy.ops.thew.bake(**dialog().values(bpy.context)) == {"FINISHED"}
    assert [bake.name for bake in body.thew.bakes] == ["Compressed Keys", "Compressed Keys.001"]
    assert body.thew.bakes[0].key_names == keys
    assert bpy.ops.thew.bake(**dialog(overwrite=True).values(bpy.context)) == {"FINISHED"}
    assert len(body.thew.bakes) == 2 and len(body.thew.bakes[0].clips) == 2


def test_dialog_estimates_by_frames(acting):
    """With frames at hand the dialog tells the number of keys by them, near what the bake then takes; else what is usual."""
    body, _ = acting
    estimate = part("bake.key_estimate")
    estimate.forget()
    assert "Usually" in texts()
    body.thew.use_scene_range, body.thew.frame_start, body.thew.frame_end = False, 1, 20
    assert bpy.ops.thew.simulate(frame_start=1, frame_end=20) == {"FINISHED"}
    estimate.forget()
    few, many, source = estimate.key_range(body, bpy.context.scene, None, 0.0005)
    assert source == "the live flesh"
    told = texts(clips="SCENE", tolerance=0.5)
    assert f"About {few} to {many} keys by the frames of the live flesh" in told
    assert bpy.ops.thew.bake(target="COMPRESSED", tolerance=0.5, frame_start=1, frame_end=20) == {"FINISHED"}
    taken = len(body.thew.bakes[-1].key_names)
    assert few - 1 <= taken <= many + 1
    assert bpy.ops.thew.bake(clips="ALL") == {"FINISHED"}
    estimate.forget()
    assert "by the frames of the bake “Shape Keys”" in texts(name="New")
    assert estimate.key_range(body, bpy.context.scene, {"Run", "Nothing"}, 0.001) is None
    first = estimate.key_range(body, bpy.context.scene, {"Run", "Hop"}, 0.01)
    assert first[1] <= estimate.key_range(body, bpy.context.scene, {"Run", "Hop"}, 0.0005)[1]
    assert "Usually" in texts(name="New", regions=8)


def test_singular_count():
    """The count is that of a mix of few shapes, and falls with the error allowed."""
    counts = part("logic.key_counts")
    rng = np.random.default_rng(5)
    rows = np.einsum("fk,knd->fnd", rng.normal(size=(30, 4)), rng.normal(size=(4, 50, 3)))
    assert counts.singular_count(rows, 1e-9) == 4 and counts.singular_count(rows, 1e9) == 0
    assert counts.singular_count(rows, 1.0) <= 4 and counts.spread(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert len(counts.moving_vertices(np.arange(1000.0))) == 300 and counts.moving_vertices(np.arange(9.0))[0] == 8


def test_dialog_names_bakes_of_other_kinds(acting):
    """Under the name of a bake of another kind the new one gets a free name, and a clip that is new joins without a word of replacing."""
    assert bpy.ops.thew.bake(target="COMPRESSED", clips="CHOSEN", actions="Run", name="Mine") == {"FINISHED"}
    assert "another kind" in words(target="PC2", name="Mine") and "overwrite" not in drawn(target="PC2", name="Mine")
    assert dialog(target="PC2", name="Mine").values(bpy.context)["name"] == "Mine.001"
    hop = [SimpleNamespace(name=name, chosen=name == "Hop") for name in ("Run", "Hop")]
    joins = {"name": "Mine", "clips": "CHOSEN", "ticks": hop}
    assert words(**joins) == "" and dialog(**joins).values(bpy.context)["name"] == "Mine"
    assert "keeps “Run”" in texts(**joins) and "“Run” is baked anew too" in texts(**joins, anew=True)
    assert words(name="Mine", clips="SCENE") == ""


#: Letters of a message that the status bar shows, with an object's name of four letters in it.
STATUS_LETTERS = 100


@pytest.mark.parametrize("target", ["SHAPE_KEYS", "COMPRESSED", "HELPER_BONES", "PC2", "MDD", "VERTEX_TEXTURE"])
def test_messages_are_short(acting, target):
    """The message of a bake fits into the status bar, with the largest error of its record first; all else is in the panel."""
    body, _ = acting
    foreign = bpy.data.actions.new("Elsewhere")
    baking, context = part("bake.baking"), bpy.context
    task = baking.bake(
        body, context.scene, context.view_layer, target_key=target, clips="ALL", bones=2, tolerance=0.003
    )
    result = part("logic.tasks").finish(task)
    bpy.data.actions.remove(foreign)
    text, bake = result.message(body), body.thew.bakes[-1]
    assert len(text) <= STATUS_LETTERS, text
    worst = max(clip.error for clip in bake.clips)
    if target in {"COMPRESSED", "HELPER_BONES"}:
        assert text.startswith(f"{1e3 * worst:.2g} mm off at most: “Body” plays ")
    else:
        assert text.startswith("“Body” plays ")
    layout = Layout()
    part("ui.bake_panel").draw_bakes(layout, body, 1000)
    part("ui.bake_panel").draw_remarks(layout, body, context.scene, 1000)
    shown = " ".join(layout.read())
    for detail in result.details:
        assert detail in shown or detail in map(part("logic.errors").sentence, result.figures), detail
    assert all(f"{1e3 * clip.error:.2g} mm off" in shown for clip in bake.clips if clip.error >= 1e-5)
    assert "e-" not in shown, "nothing is told in powers of ten"


def test_message_of_warnings_and_remarks(acting):
    """A message counts warnings and remarks, and the record keeps what was said once."""
    body, _ = acting
    body.name = "A Character With A Name Of Many Words"
    body.modifiers["Armature"].use_deform_preserve_volume = True
    baking, context = part("bake.baking"), bpy.context
    task = baking.bake(body, context.scene, context.view_layer, target_key="COMPRESSED", tolerance=0.003)
    result = part("logic.tasks").finish(task)
    text = result.message(body)
    assert "1 warning in the foldout Bake" in text and "preserves volume" in " ".join(result.details)
    assert len(text) <= STATUS_LETTERS + 20, text
    result.remarks.append("the clip was left out")
    assert "The clip was left out." in result.notes and "The clip was left out." in result.details
    body.thew.bakes[-1].notes = "\n".join(result.notes)
    layout = Layout()
    part("ui.bake_panel").draw_remarks(layout, body, context.scene, 1000)
    assert "The clip was left out." in layout.read()

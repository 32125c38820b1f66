# SPDX-License-Identifier: MIT OR Apache-2.0
"""Objects that have files travel to other processes by pickles: the same bits there, one body for all of it, damage named."""

import concurrent.futures
import copy
import copyreg
import hashlib
import multiprocessing
import pickle
import random
import re
import subprocess
import sys

import numpy as np
import pytest
import shapes
import thew


def swings(frames, reach=0.4):
    """Returns poses of a bending elbow."""
    return np.stack([shapes.bend(reach * np.sin(0.9 * frame)) for frame in range(frames)])


def aside(entries):
    """Returns maps that carry something past the arm."""
    maps = np.tile(np.eye(4), (entries, 1, 1))
    maps[:, 1, 3] = 3.0 + 0.1 * np.arange(entries)
    return maps


def shot_of_all(arm):
    """Returns a shot with everything that a shot may hold."""
    rig = thew.Rig(thew.Template("radial", radius=0.1, strength=3e4), thew.BoneGuide("upper"), name="Push")
    collider = thew.Collider(thew.Surface(*shapes.box()), aside(5), friction=0.3, thickness=0.01)
    return thew.Shot(
        arm.body,
        swings(5),
        24.0,
        [rig],
        np.linspace(0.0, 1.0, 5)[:, None],
        preroll=3,
        notes={"shot": "010"},
        contact=thew.Contact(friction=0.2),
        colliders=[collider],
        name="Arm",
        restarts=[3],
        pins=[thew.PinTrack(2, np.tile(arm.vertices[2], (5, 1)), np.linspace(0.0, 1.0, 5))],
        max_offset=0.3,
    )


def changed_motion():
    """Returns a motion through keyframes with changes."""
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.1], [0.0, 1.0, 0.0]])
    keys = np.stack([corners, corners * 1.1, corners])
    motion = thew.Spacetime(thew.Shell(corners, [[0, 1, 2], [0, 2, 3]]), keys, [0.0, 1.0, 2.0], stiffness=20.0)
    motion.insert(0.4, corners * 1.3)
    motion.partial(1.5, [1], corners[[1]] * 1.2)
    motion.soften(1, 5.0)
    return motion


def stored_objects(arm):
    """Returns an object of each class that is pickled by the bytes of files."""
    bar = thew.TetMesh.grid((2, 1, 1), (1.0, 0.5, 0.5))
    shot = shot_of_all(arm)
    return {
        "Body": arm.body.with_cell_stiffness(np.linspace(1.0, 2.0, len(arm.lattice.cells))),
        "Clip": shot.simulate(),
        "Collider": thew.Collider(thew.Surface(*shapes.box()), np.tile(np.eye(4), (2, 1, 1)), 0.3, 0.01),
        "ForceField": thew.ForceField("turbulence", [1.0, 2.0], aside(2), name="Gale", seed=3, max_radius=2.0),
        "Lattice": arm.lattice,
        "Modes": thew.modes(bar, 3, thew.Material(), fixed=[0, 1, 2, 3]),
        "Modes of flesh": thew.modes(arm.body, 3, fixed=[arm.body.node_count - 1]),
        "PinTrack": shot.pins[0],
        "Plane": thew.Collider.plane([0.0, 0.0, 0.1], [0.0, 1.0, 1.0], thickness=0.2),
        "Shell": thew.Shell(*shapes.box(), bending=np.linspace(1.0, 2.0, len(shapes.box()[0])), unit=0.3),
        "Shot": shot,
        "Spacetime": changed_motion(),
        "TetMesh": bar,
    }


def parts_of(thing):
    """Returns the function that restores an object, and its arguments: name, bytes, body."""
    return copyreg.dispatch_table[type(thing)](thing)


def fingerprint(thing):
    """Returns a hash of the numbers that an object gives: what it moves and holds, not how it is stored."""
    found = hashlib.sha256()

    def add(*numbers):
        for each in numbers:
            found.update(repr(np.asarray(each).dtype).encode() + np.ascontiguousarray(each).tobytes())

    match type(thing).__name__:
        case "Body":
            data, indices, starts = thing.stiffness(twist=True)
            add(data, indices, starts, *thing.mass(), thing.surface.vertices, thing.flesh, thing.lattice.vertices)
            add(thing.region_weights, thing.thickness, thing.bone_vertices)
        case "Clip":
            add(np.asarray(thing), thing.inverted_cells, thing.max_skin_deviations)
            found.update(repr((thing.notes, thing.body_names, thing.warnings, thing.settings)).encode())
        case "Collider":
            found.update(repr((thing, thing.friction, thing.thickness, thing.entries)).encode())
        case "ForceField":
            add(
                thing.accelerations(np.arange(12.0).reshape(4, 3), frame=1),
                thing.strength,
                thing.matrices,
                thing.max_radius,
            )
            found.update(repr((thing, thing.kind, thing.name, thing.seed)).encode())
        case "Lattice":
            add(thing.vertices, thing.used_bones, *thing.bone_edges, thing.bone_of_vertex)
            found.update(repr((thing.cells, thing.notes, thing.mirror_plane and thing.mirror_plane[1])).encode())
        case "Modes":
            add(
                thing.eigenvalues,
                thing.shapes,
                thing.rotations,
                thing.fixed,
                thing.displacements(np.linspace(0.1, 0.2, len(thing))),
            )
        case "PinTrack":
            add(thing.point, thing.targets, thing.strengths)
        case "Shell":
            add(thing.vertices, thing.triangles, thing.mass, thing.unit, thing.energy(thing.vertices * 1.1))
        case "Shot":
            add(thing.poses, thing.controls, *(pin.targets for pin in thing.pins), np.asarray(thing.simulate()))
            found.update(repr((thing.rigs, thing.settings, thing.notes, thing.restarts, thing.contact)).encode())
            found.update(repr((thing.name, thing.preroll, thing.cyclic, thing.colliders, thing.modes)).encode())
        case "Spacetime":
            t = np.linspace(-0.5, 2.5, 31)
            add(thing(t), thing.plain(t), thing.cost, thing.times)
        case "TetMesh":
            add(thing.vertices, thing.tets, thing.cubes)
        case name:
            raise AssertionError(name)
    return found.hexdigest()


@pytest.fixture(scope="module")
def stored(arm):
    """Makes the objects once."""
    return stored_objects(arm)


def test_pickle_keeps_numbers(stored):
    """A pickled object gives the same numbers, by every protocol."""
    for name, thing in stored.items():
        expected = fingerprint(thing)
        for protocol in (2, 4, pickle.HIGHEST_PROTOCOL):
            assert fingerprint(pickle.loads(pickle.dumps(thing, protocol))) == expected, (name, protocol)


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_other_processes_give_same_bits(stored, start):
    """An object sent to processes that were started afresh gives the same numbers there, and comes back."""
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip("no such start here")
    context = multiprocessing.get_context(start)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        there = dict(zip(stored, pool.map(fingerprint, stored.values()), strict=True))
        clip = pool.submit(thew.Shot.simulate, stored["Shot"]).result()
    assert there == {name: fingerprint(thing) for name, thing in stored.items()}
    np.testing.assert_array_equal(np.asarray(clip), np.asarray(stored["Clip"]))


def test_body_is_pickled_once(arm):
    """Shots, clips and modes of one body share it: in a pickle, and after it."""
    shot = thew.Shot(arm.body, swings(3), 24.0)
    clip, modes = shot.simulate(), thew.modes(arm.body, 2)
    assert shot.body is arm.body and clip.body is arm.body and shot.replace(rate=480.0).body is arm.body
    alone = len(pickle.dumps(arm.body))
    together = pickle.dumps([arm.body, shot, clip, modes, shot.replace(rate=480.0)])
    apart = sum(len(pickle.dumps(thing)) for thing in (shot, clip, modes))
    assert len(together) < apart - alone
    assert len(re.findall(rb"\x89THEW\r\n\x1a....body\0", together, re.DOTALL)) == 1
    body, again, shown, moving, other = pickle.loads(together)
    assert again.body is body and shown.body is body and other.body is body
    number = body.embed_surface(arm.surface)
    assert shown.positions(1, surface=number).shape == arm.vertices.shape
    assert fingerprint(moving) == fingerprint(modes)
    # Nobody else holds the body.
    del body, again, shown, moving, other
    shot, clip = pickle.loads(pickle.dumps((shot, clip)))
    assert shot.body is clip.body and shot.body is not arm.body


def test_shared_body_is_not_kept_alive(arm):
    """Bodies that shots return live no longer than those who use them."""
    import gc
    import weakref

    shot = pickle.loads(pickle.dumps(thew.Shot(arm.body, swings(2), 24.0)))
    body = weakref.ref(shot.body)
    gc.collect()
    assert body() is None
    first = shot.body
    assert shot.body is first


def test_damaged_pickles_are_refused(stored):
    """Damaged bytes of a pickled object raise StorageError, and never give another object."""
    chance = random.Random(7)
    for name, thing in stored.items():
        if name == "PinTrack":
            continue
        restore, (kind, data, *parts) = parts_of(thing)
        places = [0, 8, 12, 28, 36, 40, len(data) - 1, *(chance.randrange(len(data)) for _ in range(20))]
        for place in places:
            damaged = bytearray(data)
            damaged[place] ^= 1 << chance.randrange(8)
            with pytest.raises(thew.StorageError, match=r"a pickled thew\."):
                restore(kind, bytes(damaged), *parts)
        for cut in (b"", data[:20], data[:40], data[:-1], data + b"\0"):
            with pytest.raises(thew.StorageError):
                restore(kind, cut, *parts)


def test_foreign_pickles_are_refused(arm, stored):
    """Bytes of another kind, without their body or with another one get a sentence."""
    restore, (_, shot, body) = parts_of(stored["Shot"])
    _, (_, clip, _) = parts_of(stored["Clip"])
    with pytest.raises(thew.StorageError, match=r"holds a clip-of-body, not a shot-of-body"):
        restore("Shot", clip, body)
    with pytest.raises(thew.InputError, match="needs its body"):
        restore("Shot", shot)
    with pytest.raises(thew.InputError, match=r"no pickled thew\.Shoe"):
        restore("Shoe", shot)
    for wrong in ((1, shot), ("Shot", 1), ("Shot", shot, 1)):
        with pytest.raises((TypeError, thew.InputError)):
            restore(*wrong)
    surface, skeleton = thew.Surface(*shapes.box()), thew.Skeleton(["one"], [-1], [[0, 0, -0.2]], [[0, 0, 0.2]])
    weights = np.ones((len(surface.vertices), 1))
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=3)
    other = thew.Body(surface, skeleton, lattice, thew.Material(), region_weights=weights)
    for kind, data in (("Shot", shot), ("Clip", clip)):
        with pytest.raises(thew.StorageError, match="damaged"):
            restore(kind, data, other)


def test_copies(stored):
    """What never changes is its own copy; what may change is copied with all its changes."""
    for name in ("Body", "Lattice", "Shot", "Modes", "Shell", "TetMesh", "Collider", "PinTrack"):
        thing = stored[name]
        assert copy.copy(thing) is thing and copy.deepcopy(thing) is thing
    motion, clip = stored["Spacetime"], thew.simulate(stored["Body"], swings(3), 24.0)
    for copier in (copy.copy, copy.deepcopy):
        again = copier(motion)
        again.move(1, motion([0.4])[0] * 1.2)
        assert fingerprint(again) != fingerprint(motion)
        longer = copier(clip)
        assert longer.body is clip.body and fingerprint(longer) == fingerprint(clip)
        longer.extend(swings(2))
        assert len(longer) == len(clip) + 2


def test_extended_clip_comes_back(arm):
    """A clip that was pickled goes on as the one that was not."""
    clip = thew.simulate(arm.body, swings(6)[:3], 24.0)
    again = pickle.loads(pickle.dumps(clip))
    for each in (clip, again):
        each.extend(swings(6)[3:])
    np.testing.assert_array_equal(np.asarray(again), np.asarray(clip))
    np.testing.assert_array_equal(np.asarray(clip), np.asarray(thew.simulate(arm.body, swings(6), 24.0)))


@pytest.mark.parametrize("name", ["Modes", "Modes of flesh", "Shell", "Spacetime"])
def test_save_and_load(stored, tmp_path, name):
    """Modes, shells and motions come back from files, and damaged ones are named."""
    thing, path = stored[name], tmp_path / "file.thew"
    thing.save(path)
    assert fingerprint(type(thing).load(path)) == fingerprint(thing)
    data = bytearray(path.read_bytes())
    data[-3] ^= 4
    path.write_bytes(data)
    with pytest.raises(thew.StorageError, match="damaged"):
        type(thing).load(path)
    with pytest.raises(thew.StorageError, match="cannot be read"):
        type(thing).load(tmp_path / "missing")
    with pytest.raises(thew.StorageError, match="not a Thew file"):
        path.write_text("nothing of the kind")
        type(thing).load(path)


def test_import_needs_numpy_alone(tmp_path):
    """Importing, pickling and simulating take no module outside Python's own but numpy."""
    code = """
import sys
before = set(sys.modules)
import pickle, thew
import numpy
pickle.dumps(thew.TetMesh.grid((1, 1, 1), (1.0, 1.0, 1.0)))
foreign = {name.split(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
print(sorted(name for name in foreign if name not in ("numpy", "thew") and not name.startswith("_")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"

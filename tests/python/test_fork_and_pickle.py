# SPDX-License-Identifier: MIT OR Apache-2.0
"""Many processes: children that were forked work, what they are sent arrives whole, and nothing waits for itself."""

import copy
import dataclasses
import multiprocessing
import os
import pickle
import signal
import threading

import numpy as np
import pytest
import shapes
import thew

PATIENCE = 120.0


def run_in_fork(work, *given):
    """Returns the result of `work` in a forked child; a child that hangs is ended and fails the test."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def answer():
        try:
            theirs.send((None, work(*given)))
        except BaseException as error:
            theirs.send((error, None))

    child = context.Process(target=answer)
    child.start()
    if not ours.poll(PATIENCE):
        child.kill()
        child.join()
        pytest.fail("the child hangs")
    error, result = ours.recv()
    child.join(PATIENCE)
    if error is not None:
        raise error
    return result


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


@forks
@pytest.mark.parametrize("method", ["hyperelastic", "modal"])
def test_fork_simulates(arm, method):
    """A forked child simulates what its parent built, with the same result."""
    poses = np.stack([shapes.bend(angle) for angle in np.linspace(0.0, 0.5, 4)])

    def positions():
        return np.asarray(thew.simulate(arm.body, poses, 24.0, method=method, engine="cpu"))

    np.testing.assert_array_equal(run_in_fork(positions), positions())


@forks
def test_fork_grandchild(arm):
    """A child of a forked child works too."""

    def winding_number():
        return arm.surface.winding_number([[0.5, 0.0, 0.0]])

    np.testing.assert_array_equal(run_in_fork(lambda: run_in_fork(winding_number)), winding_number())


@forks
def test_fork_ctrl_c(arm):
    """Ctrl-C stops work in a forked child."""

    def interrupt_child():
        arrived = threading.Event()

        def handle(_number, _frame):
            arrived.set()
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, handle)

        def stop(_fraction, _stage):
            # Once: a second signal would meet whoever comes after the first is dealt with.
            if not arrived.is_set():
                os.kill(os.getpid(), signal.SIGINT)
            return arrived.wait(PATIENCE)

        with pytest.raises(KeyboardInterrupt):
            thew.Lattice.enclose(arm.surface, arm.skeleton, arm.weights, cells_across=20, progress=stop)
        return True

    assert run_in_fork(interrupt_child)


@forks
def test_fork_refuses_busy_object(arm):
    """An object that the parent was changing is refused in a child."""
    poses = np.stack([shapes.bend(angle) for angle in np.linspace(0.0, 0.5, 4)])
    clip = thew.simulate(arm.body, poses[:2], 24.0)
    answers = []

    def assert_refused():
        with pytest.raises(thew.InputError, match=r"forked.*'spawn'"):
            clip.extend(poses)
        return True

    def fork_meanwhile(_fraction, _stage):
        if not answers:
            answers.append(run_in_fork(assert_refused))
        return True

    clip.extend(poses[2:], progress=fork_meanwhile)
    assert answers == [True] and len(clip) == 4


def test_extend_refused_inside_progress(arm):
    """A clip cannot be extended from its own progress callable."""
    poses = np.stack([shapes.bend(angle) for angle in np.linspace(0.0, 0.5, 6)])
    clip = thew.simulate(arm.body, poses[:3], 24.0)
    messages, lengths = [], []

    def extend_again(_fraction, _stage):
        lengths.append(len(clip))  # looking is free
        with pytest.raises(thew.InputError, match=r"cannot be extended: .* until that one has returned") as refused:
            clip.extend(poses[3:])
        messages.append(str(refused.value))
        return True

    clip.extend(poses[3:], progress=extend_again)
    assert messages and set(lengths) == {3}
    np.testing.assert_array_equal(np.asarray(clip), np.asarray(thew.simulate(arm.body, poses, 24.0)))


def rig_objects(arm):
    """Returns templates, guides and rigs of every kind."""
    turned = np.eye(4)
    turned[:3, :3] = shapes.bend(0.3)[1][:3, :3]
    turned[:3, 3] = [0.3, 0.02, -0.01]
    bump = thew.Template("bump", radius=0.05, strength=2e4)
    torus = thew.Template("torus", ring_radius=0.06, tube_radius=0.02, strength=-1e3 / 3)
    guides = [
        thew.BoneGuide("arm.é", along=1 / 3, angle=0.1, distance=0.02, tilt=0.7),
        thew.BoneGuide(1),
        thew.SkinGuide(7, [0.2, 0.5, 0.3], depth=0.01, roll=1 / 7),
        thew.SkinGuide(3),
        thew.FreeGuide(turned, x=0.1, rz=1 / 3),
    ]
    samples = [(0.0, {"strength": 0.0}), (1.0, {"strength": 1 / 3, "radius": 0.04})]
    rigs = [thew.Rig(bump, guide, samples if i % 2 else None, name=f"Rig {i}") for i, guide in enumerate(guides)]
    muscle = thew.muscle(guides[0], guides[1], 1 / 30, contraction=1 / 3, bow=0.01, name="Biceps")
    return [bump, torus, *guides, *rigs, muscle]


def test_pickle_rigs(arm):
    """Rigs, templates and guides are pickled and copied exactly."""
    for thing in rig_objects(arm):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(thing, protocol))
            assert again == thing and repr(again) == repr(thing)
        assert copy.copy(thing) == thing and copy.deepcopy([thing]) == [thing]


def test_pickle_geometry(arm):
    """Materials, skeletons and surfaces are pickled and copied exactly."""
    material = thew.Material(1e4 / 3, 0.4321, 987.6)
    for copied in (pickle.loads(pickle.dumps(material)), copy.copy(material), copy.deepcopy(material)):
        assert repr(copied) == repr(material)
        assert (copied.young, copied.poisson, copied.density) == (material.young, material.poisson, material.density)
    for copied in (pickle.loads(pickle.dumps(arm.skeleton)), copy.deepcopy(arm.skeleton)):
        assert copied.names == arm.skeleton.names
        for name in ("parents", "heads", "tails"):
            np.testing.assert_array_equal(getattr(copied, name), getattr(arm.skeleton, name))
    for copied in (pickle.loads(pickle.dumps(arm.surface)), copy.deepcopy(arm.surface)):
        np.testing.assert_array_equal(copied.vertices, arm.surface.vertices)
        np.testing.assert_array_equal(copied.triangles, arm.surface.triangles)
        assert copied.volume == arm.surface.volume


def yields_of(given):
    """Measures yields at the top of the module, so that another process finds it."""
    surface, skeleton, weights, material, rig = given
    lattice = thew.Lattice.enclose(surface, skeleton, weights, cells_across=8)
    return rig.peak_displacements(thew.Body(surface, skeleton, lattice, material, region_weights=weights))


@pytest.mark.parametrize("start", multiprocessing.get_all_start_methods())
def test_pool_matches_one_process(arm, start):
    """A pool of processes gives the results of a single process."""
    bump = thew.Template("bump", radius=0.06, strength=1e4)
    rig = thew.Rig(bump, thew.BoneGuide(0, along=0.5, distance=0.05))
    given = (arm.surface, arm.skeleton, arm.weights, thew.Material(), rig)
    expected = yields_of(given)
    with multiprocessing.get_context(start).Pool(2) as pool:
        for result in pool.map(yields_of, [given] * 2):
            np.testing.assert_array_equal(result, expected)


def unpicklable_objects(arm):
    """Returns objects that are not pickled, by a part of the sentence that each gives."""
    simulation = thew.Simulation(arm.body, contact=thew.Contact())
    simulation.reset(shapes.bend(0.0))
    simulation.pin(0)
    bar = thew.TetMesh.grid((1, 1, 1), (1.0, 1.0, 1.0))
    modes = thew.modes(bar, 2, thew.Material(), fixed=[0, 1, 2, 3])
    return {
        "restore()": simulation,
        "of the same body": thew.Scene([arm.body]),
        "a thew.Contacts": simulation.contacts(),
        "a thew.Pin is": simulation.pins()[0],
        "a thew.Equilibrium": thew.Equilibrium(arm.body),
        "a thew.ModalSimulation": thew.ModalSimulation(modes, 0.01),
        "a thew.Deformer": thew.Deformer(modes, bar.vertices),
        "a thew.SurfaceReport": arm.surface.report(),
        "a thew.Correspondence": thew.Correspondence(arm.body, arm.body),
        "a thew.RigSpec": thew.templates()[0],
        "a thew.ParameterSpec": thew.guides()[0].parameters[0],
        "a thew.WigglySpline": thew.WigglySpline([0.0, 1.0], [0.0, 1.0], 1.0, 0.1),
    }


def test_unpicklable_explains(arm):
    """An object that is not pickled says what to do instead."""
    for said, thing in unpicklable_objects(arm).items():
        for refused in (pickle.dumps, *([] if hasattr(thing, "__copy__") else [copy.copy, copy.deepcopy])):
            with pytest.raises(TypeError) as error:
                refused(thing)
            assert said in str(error.value) and "not pickled" in str(error.value).replace("neither", "not")


def test_pickle_covers_every_class(arm):
    """Every class is either pickled or refuses with a sentence of Thew's."""
    import copyreg

    import test_pickling

    ready = {type(thing) for thing in rig_objects(arm)} | {type(thing) for thing in unpicklable_objects(arm).values()}
    ready |= {type(thing) for thing in test_pickling.stored_objects(arm).values()}
    for name in thew.__all__:
        kind = getattr(thew, name)
        if not isinstance(kind, type) or issubclass(kind, BaseException) or dataclasses.is_dataclass(kind):
            continue  # Python's own pickling serves plain data.
        methods = ("__getnewargs__", "__getnewargs_ex__")
        pickled = any(hasattr(kind, m) for m in methods) or "__reduce__" in vars(kind)
        assert pickled != (kind in copyreg.dispatch_table), name
        assert (
            pickled
            or kind in ready
            or name
            in (
                "Composite",
                "Compressed",
                "CorrespondenceReport",
                "HelperBones",
                "MRepFit",
                "MRepReport",
                "NonlinearSimulation",
                "RigFit",
                "SurfaceFitReport",
                "VertexTexture",
            )
        )


def test_copy_of_immutable(arm):
    """The copy of an immutable object is the object itself."""
    bar = thew.TetMesh.grid((1, 1, 1), (1.0, 1.0, 1.0))
    shot = thew.Shot(arm.body, shapes.bend(0.0)[None], 24.0)
    for thing in (arm.body, arm.body.lattice, bar, shot, thew.Contact(), thew.Shell(*shapes.box())):
        assert copy.copy(thing) is thing and copy.deepcopy(thing) is thing


def test_pickle_contact(arm):
    """The settings of a contact are pickled exactly."""
    contact = thew.Contact(False, 0.01, 0.2, np.arange(len(arm.vertices)) % 3, 0.05, "creases")
    again = pickle.loads(pickle.dumps(contact))
    assert repr(again) == repr(contact)
    assert pickle.dumps(again) == pickle.dumps(contact)

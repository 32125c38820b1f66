# SPDX-License-Identifier: MIT OR Apache-2.0
"""Point caches, PC2 and MDD: written and read bit for bit, whole or not at all."""

import os
import struct
import subprocess
import sys

import numpy as np
import pytest
import thew
from file_readers import parse_mdd, parse_pc2


def waves(frames=5, vertices=7):
    """Returns positions whose bits are easily lost: tiny ones, large ones, a negative zero."""
    positions = np.random.default_rng(3).normal(size=(frames, vertices, 3)).astype(np.float32)
    positions[0, 0], positions[-1, -1] = (-0.0, 1e-42, 1e12), (0.1, -1e-30, 3.3)
    return positions


def write(kind, path, frames):
    """Writes a cache of either format."""
    if kind == "pc2":
        thew.write_pc2(path, frames)
    else:
        thew.write_mdd(path, frames, 24)


def read(kind, path):
    """Reads the positions of a cache of either format."""
    return (thew.read_pc2 if kind == "pc2" else thew.read_mdd)(path)[0]


KINDS = pytest.mark.parametrize("kind", ["pc2", "mdd"])


def test_pc2_round_trip(tmp_path):
    """A PC2 file holds the bits given, the first frame and the rate, for a reader of its specification and for our own."""
    frames = waves()
    thew.write_pc2(tmp_path / "a.pc2", frames, start=-3.5, rate=0.5)
    for positions, start, rate in (parse_pc2(tmp_path / "a.pc2"), thew.read_pc2(str(tmp_path / "a.pc2"))):
        assert positions.astype(np.float32).tobytes() == frames.tobytes()
        assert (start, rate) == (-3.5, 0.5)


@pytest.mark.parametrize("fps", [24, 23.976, 30.0, 0.5])
def test_mdd_round_trip(tmp_path, fps):
    """An MDD file holds the bits given and the time of each frame."""
    frames = waves()
    thew.write_mdd(tmp_path / "a.mdd", frames, fps)
    for positions, times in (parse_mdd(tmp_path / "a.mdd"), thew.read_mdd(tmp_path / "a.mdd")):
        assert positions.astype(np.float32).tobytes() == frames.tobytes()
        assert np.array_equal(times, (np.arange(5) / fps).astype(np.float32))


@KINDS
def test_cache_of_other_arrays(tmp_path, kind):
    """Anything that numpy makes an array of is written as float32; the arrays read are the caller's."""
    frames = waves().astype(float)
    for i, given in enumerate([frames, frames.tolist(), np.asfortranarray(frames), list(frames), [frames]]):
        write(kind, tmp_path / f"{i}", given)
        positions = read(kind, tmp_path / f"{i}")
        assert np.array_equal(positions, frames.astype(np.float32))
        positions[:] = 0


@KINDS
@pytest.mark.parametrize(
    ("frames", "sentence"),
    [
        (np.zeros((0, 7, 3)), "no frames"),
        (np.zeros((2, 0, 3)), "no vertices"),
        (np.full((2, 7, 3), np.nan), "frame 0 of clip 0 has no usable position for vertex 0"),
        (np.full((2, 7, 3), 1e30), "no usable position"),
        (np.zeros((2, 7, 2)), "expected an array of shape"),
        (np.zeros((7, 3)), "expected an array of shape"),
        ([np.zeros((2, 7, 3)), np.zeros((2, 7, 3))], "write a file for each"),
        ("frames", "not an array of numbers|array of numbers"),
        ([], "expected an array of shape|no frames"),
    ],
)
def test_cache_refuses_frames(tmp_path, kind, frames, sentence):
    """Frames that make no cache are refused in a sentence, and no file appears."""
    with pytest.raises(thew.InputError, match=sentence):
        write(kind, tmp_path / "a", frames)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("bad", [0, -24, float("nan"), float("inf"), 1e-60, 1e300])
def test_cache_refuses_rates(tmp_path, bad):
    """A rate that is no finite number above 0 is refused, as are first frames that are not finite."""
    with pytest.raises(thew.InputError, match="fps must be a finite number above 0"):
        thew.write_mdd(tmp_path / "a", waves(), bad)
    with pytest.raises(thew.InputError, match="rate must be a finite number above 0"):
        thew.write_pc2(tmp_path / "a", waves(), rate=bad)
    for start in (float("nan"), float("inf"), -1e300):
        with pytest.raises(thew.InputError, match="start must be a finite number"):
            thew.write_pc2(tmp_path / "a", waves(), start=start)
    assert not os.listdir(tmp_path)


@KINDS
def test_cache_refuses_paths(tmp_path, kind):
    """A folder, a missing folder and a device are refused in a sentence."""
    places = {tmp_path: "it is a folder", tmp_path / "no" / "a": "no such file or folder"}
    if os.path.exists("/dev/full"):
        places["/dev/full"] = "not a plain file"
    for path, sentence in places.items():
        for call in (lambda path=path: write(kind, path, waves()), lambda path=path: read(kind, path)):
            with pytest.raises(thew.StorageError, match=sentence):
                call()
    assert not os.listdir(tmp_path)


@KINDS
def test_cache_survives_full_disk(tmp_path, kind):
    """A write that fails in the middle keeps the earlier file and leaves nothing beside it."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "a"
    write(kind, path, waves())
    earlier = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(thew.StorageError, match="could not be written"):
            write(kind, path, np.zeros((100, 1000, 3), np.float32))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == earlier and os.listdir(tmp_path) == ["a"]


@KINDS
def test_cache_cancelled(tmp_path, kind):
    """A stopped write keeps the earlier file."""
    path = tmp_path / "a"
    path.write_bytes(b"earlier")
    with pytest.raises(thew.Cancelled):
        if kind == "pc2":
            thew.write_pc2(path, waves(), progress=lambda fraction, stage: fraction < 0.5)
        else:
            thew.write_mdd(path, waves(), 24, progress=lambda fraction, stage: fraction < 0.5)
    assert path.read_bytes() == b"earlier" and os.listdir(tmp_path) == ["a"]


@KINDS
def test_cache_refuses_damage(tmp_path, kind):
    """Files cut off, too long, of another format, or with counts that do not fit are refused with what to do."""
    path = tmp_path / "a"
    write(kind, path, waves())
    whole = path.read_bytes()
    counts = (16, 28) if kind == "pc2" else (0, 4)
    damaged = [whole[:n] for n in (0, 7, 20, 40, len(whole) - 1)] + [whole + b"\0", b"something else" * 9]
    for at in counts:
        for count in (0, -1, 2**31 - 1):
            packed = struct.pack("<i" if kind == "pc2" else ">i", count)
            damaged.append(whole[:at] + packed + whole[at + 4 :])
    damaged.append(whole[:-4] + b"\xff\xff\xff\xff")
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(thew.StorageError, match=r"could not be read: .*(export|begin with)"):
            read(kind, path)


@KINDS
def test_cache_memory(tmp_path, kind):
    """Writing takes no memory beside the frames, and reading that of the frames, if only for a moment twice."""
    pytest.importorskip("resource")
    call = {"pc2": "write_pc2('a', frames)", "mdd": "write_mdd('a', frames, 24)"}[kind]
    code = f"""
import os, resource, numpy as np, thew
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
thew.write_pc2('small', np.zeros((1, 1, 3)))
frames = np.ones((100, 28000, 3), np.float32)
before = peak()
thew.{call}
print((peak() - before) / frames.nbytes)
del frames
thew.read_{kind}('a')
print((peak() - before) / (100 * 28000 * 12))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    written, read_back = map(float, done.stdout.split())
    # Beside the frames themselves; a tenth is threads and buffers.
    assert written < 0.1 and read_back < 1.1

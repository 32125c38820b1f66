# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the files of bakes by their specifications: point caches, and the images of vertex animation textures."""

import struct
import zlib

import numpy as np


def parse_pc2(path):
    """Reads a PC2 file by its specification."""
    data = path.read_bytes()
    magic, version, vertices, start, rate, frames = struct.unpack_from("<12siiffi", data)
    assert (magic, version) == (b"POINTCACHE2\0", 1) and len(data) == 32 + 12 * frames * vertices
    return np.frombuffer(data, "<f4", offset=32).reshape(frames, vertices, 3), start, rate


def parse_mdd(path):
    """Reads an MDD file by its specification."""
    data = path.read_bytes()
    frames, vertices = struct.unpack_from(">ii", data)
    assert len(data) == 8 + 4 * frames + 12 * frames * vertices
    positions = np.frombuffer(data, ">f4", offset=8 + 4 * frames).reshape(frames, vertices, 3)
    return positions, np.frombuffer(data, ">f4", frames, offset=8)


def parse_png(path):
    """Reads a PNG file of 16-bit RGB or RGBA by its specification, as values from 0 to 1."""
    data, at, packed, kinds = path.read_bytes(), 8, b"", []
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        content = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + content) == struct.unpack_from(">I", data, at + 8 + length)[0]
        if kind == b"IHDR":
            width, height, *form = struct.unpack(">IIBBBBB", content)
            depth, color, *others = form
            assert (depth, others) == (16, [0, 0, 0])
            channels = {2: 3, 6: 4}[color]
        packed += content if kind == b"IDAT" else b""
        kinds.append(kind)
        at += 12 + length
    # Nothing states a colour space, by which an importer would change the numbers.
    assert set(kinds) == {b"IHDR", b"IDAT", b"IEND"}
    step = 2 * channels
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + step * width)
    image = np.zeros((height, step * width), np.uint8)
    for y, (method, *line) in enumerate(lines.tolist()):
        above = image[y - 1].tolist() if y else [0] * len(line)
        row = []
        for x, value in enumerate(line):
            left, up, corner = (row[x - step], above[x], above[x - step]) if x >= step else (0, above[x], 0)
            nearest = min((left, up, corner), key=lambda one, p=left + up - corner: abs(p - one))
            row.append((value + (0, left, up, (left + up) // 2, nearest)[method]) % 256)
        image[y] = row
    return image.view(">u2").reshape(height, width, channels) / 65535


def parse_exr(path):
    """Reads an OpenEXR file of half RGB or RGBA in ZIP scan lines by its specification."""
    data, at, attributes = path.read_bytes(), 8, {}
    assert struct.unpack_from("<iI", data) == (20000630, 2)
    while data[at]:
        name, kind = (part.decode() for part in data[at:].split(b"\0", 2)[:2])
        at += len(name) + len(kind) + 2
        (length,) = struct.unpack_from("<i", data, at)
        attributes[name] = data[at + 4 : at + 4 + length]
        at += 4 + length
    x0, y0, x1, y1 = struct.unpack("<4i", attributes["dataWindow"])
    assert (x0, y0, attributes["compression"], attributes["lineOrder"]) == (0, 0, b"\x03", b"\0")
    count = len(attributes["channels"]) // 18
    channels = [struct.unpack_from("<2siBxxxii", attributes["channels"], 18 * i) for i in range(count)]
    assert [(name, kind, *steps) for name, kind, _, *steps in channels] == [
        (c, 1, 1, 1) for c in (b"A\0", b"B\0", b"G\0", b"R\0")[4 - count :]
    ]
    # What an importer would change the numbers by.
    assert not {"chromaticities", "whiteLuminance"} & set(attributes)
    width, height = x1 + 1, y1 + 1
    image = np.zeros((height, width, count), np.float32)
    for (offset,) in struct.iter_unpack("<Q", data[at + 1 : at + 1 + 8 * -(-height // 16)]):
        y, length = struct.unpack_from("<ii", data, offset)
        block, rows = data[offset + 8 : offset + 8 + length], min(16, height - y)
        if length < 2 * count * width * rows:
            steps = np.frombuffer(zlib.decompress(block), np.uint8).astype(np.int64)
            steps[1:] -= 128
            halves = (np.cumsum(steps) % 256).astype(np.uint8)
            middle = (len(halves) + 1) // 2
            block = np.empty_like(halves)
            block[0::2], block[1::2] = halves[:middle], halves[middle:]
            block = block.tobytes()
        lines = np.frombuffer(block, "<f2").reshape(rows, count, width)
        image[y : y + rows] = lines.transpose(0, 2, 1)
    # By name they are alpha, blue, green, red.
    return image[..., [2, 1, 0]] if count == 3 else image[..., [3, 2, 1, 0]]

# SPDX-License-Identifier: MIT OR Apache-2.0
"""A wheel's native module is refused where a user's system could not load it."""

import hashlib
import platform
import re
import struct
import sys
import zipfile
from pathlib import Path

import numpy.random._philox
import pip._vendor.distlib
import pytest

from tools import modules, products
from tools.shell import BuildError

#: Programs for Windows that pip installs everywhere.
PROGRAMS = Path(pip._vendor.distlib.__file__).parent

SYSTEM = "/usr/lib/libSystem.B.dylib"

#: A module of this Python.
MODULE = Path(numpy.random._philox.__file__)

#: The newest version of glibc's functions that it needs: 2.14 or so on x64, 2.17 on ARM.
OLD_GLIBC = max(re.findall(rb"\0(GLIBC_2\.\d\d)(?=\0)", MODULE.read_bytes()), default=b"").decode()

#: Platform of the modules in this Python.
HERE = "linux-arm64" if platform.machine() == "aarch64" else "linux-x64"


def mach_o(
    entry="_PyInit__thew", needed=(SYSTEM,), open_names=("_PyModule_Create2", "__Py_Dealloc"), minos=11, sealed=True
):
    """Returns the bytes of a small library of macOS on ARM, by Apple's description of the format."""
    pad = b"\0" * 9000  # code of three pages
    names = [entry, *open_names]
    text = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    places = [text.index(b"\0" + name.encode() + b"\0") + 1 for name in names]
    # A symbol is external (1), of a section (0xe) or of none; the high byte of its description: from any library.
    symbols = struct.pack("<IBBHQ", places[0], 0xF, 1, 0, 8192)
    symbols += b"".join(struct.pack("<IBBHQ", place, 1, 0, 0xFE00, 0) for place in places[1:])
    # The tree of exported names: its root has one edge, to a leaf that holds no flags and the place 8192.
    edge = b"\0\1" + entry.encode() + b"\0"
    exports = edge + bytes([len(edge) + 1]) + b"\3\0\x80\x40\0"

    def library(kind, name):
        raw = name.encode() + b"\0" * (8 - len(name) % 8)
        return struct.pack("<6I", kind, 24 + len(raw), 24, 0, 0x10000, 0x10000) + raw

    def segment(name, start, length, sections=b""):
        about = (0x19, 72 + len(sections), name, start, length, start, length, 5, 5, bool(sections), 0)
        return struct.pack("<2I16s4Q4I", *about) + sections

    def commands(end):
        last = end + len(symbols) + len(text)
        signature = last + len(exports)
        section = struct.pack("<16s16sQQ8I", b"__text", b"__TEXT", 8192, 16, 8192, 0, 0, 0, 0, 0, 0, 0)
        every = [
            segment(b"__TEXT", 0, end, section),
            segment(b"__LINKEDIT", end, signature + (2048 if sealed else 0) - end),
            library(0xD, "@rpath/_thew.abi3.so"),
            *(library(0xC, name) for name in needed),
            struct.pack("<6I", 0x32, 24, 1, minos << 16, minos << 16, 0),
            struct.pack("<6I", 2, 24, end, len(names), end + len(symbols), len(text)),
            struct.pack("<20I", 0xB, 80, 0, 0, 0, 1, 1, len(open_names), *[0] * 12),
        ]
        every.append(struct.pack("<12I", 0x80000022, 48, *[0] * 8, last, len(exports)))
        if sealed:
            every.append(struct.pack("<4I", 0x1D, 16, signature, 2048))
        raw = b"".join(every)
        return struct.pack("<8I", 0xFEEDFACF, 0x100000C, 0, 6, len(every), len(raw), 0x85, 0) + raw

    end = len(commands(0)) + len(pad)
    body = commands(end) + pad + symbols + text + exports
    return body + seal(body) if sealed else body


def seal(body):
    """Returns the signature of a library's bytes: a hash for each 4096 of them."""
    pages = [hashlib.sha256(body[start : start + 4096]).digest() for start in range(0, len(body), 4096)]
    length = 44 + sum(map(len, pages))
    directory = struct.pack(">9I4BI", 0xFADE0C02, length, 0x20400, 2, 44, 44, 0, len(pages), len(body), 32, 2, 0, 12, 0)
    return (struct.pack(">5I", 0xFADE0CC0, 20 + length, 1, 0, 20) + directory + b"".join(pages)).ljust(2048, b"\0")


def elf(**edited):
    """Returns the bytes of a module of this Python that exports Thew's entry, with names changed to others of their length."""
    data = MODULE.read_bytes()
    names = {"PyInit__philox": "PyInit__thew\0\0", **edited}
    for old, new in names.items():
        assert len(old) == len(new)
        assert f"\0{old}".encode() in data
        data = data.replace(f"\0{old}".encode(), f"\0{new}".encode())
    return data


def test_macos_module_accepted():
    """A library that is signed, and needs macOS's libraries and Python alone, has no fault."""
    assert modules.faults(mach_o(), "macos-arm64") == []
    metal = "/System/Library/Frameworks/Metal.framework/Versions/A/Metal"
    assert modules.faults(mach_o(needed=(SYSTEM, metal)), "macos-arm64") == []


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"entry": "_PyInit_other"}, "does not export PyInit__thew"),
        ({"needed": (SYSTEM, "/opt/homebrew/lib/libiconv.2.dylib")}, "libiconv"),
        ({"needed": (SYSTEM, "@rpath/libextra.dylib")}, "libextra"),
        ({"open_names": ("_PyModule_Create2", "___udivmodti5")}, "__udivmodti5"),
        ({"minos": 12}, "macOS 12.0"),
        ({"sealed": False}, "not signed"),
    ],
)
def test_macos_fault_named(changed, word):
    """Each thing that keeps a Mac from loading a library is named, and it alone."""
    (fault,) = modules.faults(mach_o(**changed), "macos-arm64")
    assert word in fault


@pytest.mark.parametrize("place", [3000, 5000, 9000])
def test_macos_change_breaks_signature(place):
    """A byte that changed after the signature is found, in each page."""
    data = bytearray(mach_o())
    data[place] ^= 1
    (fault,) = modules.faults(bytes(data), "macos-arm64")
    assert f"from {place // 4096 * 4096}" in fault


def test_macos_signature_unreadable():
    """A signature of zeros, and one of another length than the library, are refused."""
    data, size = mach_o(), 2048
    assert modules.faults(data[:-size] + bytes(size), "macos-arm64") == ["its signature cannot be read."]
    other = data[:-size] + seal(data[:4096])
    assert modules.faults(other, "macos-arm64") == ["its signature does not cover all of it."]


@pytest.mark.skipif(sys.platform != "linux", reason="this Python's modules are of another format")
@pytest.mark.parametrize(
    ("edited", "word"),
    [
        ({}, None),
        ({"PyInit__philox": "PyInit__philox"}, "does not export PyInit__thew"),
        ({"libc.so.6": "libx.so.6"}, "libx.so.6"),
        ({OLD_GLIBC: "GLIBC_2.33"}, "glibc 2.33, newer than 2.28"),
        ({"PyObject_GetAttr\0": "XyObject_GetAttr\0"}, "XyObject_GetAttr"),
    ],
)
def test_linux_fault_named(edited, word):
    """Each thing that keeps a Linux of the wheel's tag from loading a module is named, and it alone."""
    found = modules.faults(elf(**edited), HERE)
    assert len(found) == (word is not None)
    assert word is None or word in found[0]


def test_windows_fault_named():
    """A library of the compiler, a missing entry and another processor are named."""
    program = (PROGRAMS / "t64.exe").read_bytes()
    entry = "it does not export PyInit__thew."
    assert modules.faults(program, "windows-x64") == [entry]
    assert b"KERNEL32.dll" in program
    strange = modules.faults(program.replace(b"KERNEL32.dll", b"libgcc_1.dll"), "windows-x64")
    assert strange == [entry, "it needs libraries that not every system has: libgcc_1.dll."]
    assert "ARM64" in modules.faults((PROGRAMS / "t64-arm.exe").read_bytes(), "windows-x64")[0]


@pytest.mark.parametrize("name", modules.PROCESSORS)
def test_module_of_other_system_refused(name):
    """A file that is no module, and a module of another system, are refused for each platform."""
    other = (PROGRAMS / "t64.exe").read_bytes() if not name.startswith("windows") else mach_o()
    for data in (b"", b"of another", other, other[:100]):
        assert modules.faults(data, name) == [f"it is no library of {name.partition('-')[0]}."]


def test_wheel_with_bad_module_refused(tmp_path):
    """A wheel is refused by name, with the faults of its module; a wheel with a good one passes."""
    wheel = tmp_path / "thew-1.2-cp311-abi3-macosx_11_0_arm64.whl"
    for module, word in [(mach_o(), None), (mach_o(sealed=False), "not signed"), (None, "missing")]:
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("thew/__init__.py", b"")
            if module:
                archive.writestr("thew/_thew.abi3.so", module)
        if word is None:
            products.check_module(wheel)
        else:
            with pytest.raises(BuildError, match=rf"{wheel.name}.*{word}"):
                products.check_module(wheel)

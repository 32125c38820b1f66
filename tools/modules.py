# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks of the native module in a wheel: it is for the wheel's platform, and needs nothing that a user's system lacks.

Linkers let through what only a user's machine would tell: a library of the compiler's own, functions of a newer C library, a name
that no library has (modules leave Python's names open, and so any), a signature that no longer fits. LIEF reads the formats.
A program of the tools' environment: `python -m tools.modules WHEEL PLATFORM` prints the faults, and fails if there are any.
"""

from __future__ import annotations

import hashlib
import re
import struct
import sys
import zipfile
from collections.abc import Iterable, Iterator

import lief

#: Function by which Python initialises the module.
ENTRY = "PyInit__thew"

#: Binary format, and name of its headers' field for the processor, by system.
FORMATS = {
    "linux": (lief.ELF.Binary, "machine_type"),
    "windows": (lief.PE.Binary, "machine"),
    "macos": (lief.MachO.Binary, "cpu_type"),
}

PROCESSORS = {
    "linux-x64": lief.ELF.ARCH.X86_64,
    "linux-arm64": lief.ELF.ARCH.AARCH64,
    "windows-x64": lief.PE.Header.MACHINE_TYPES.AMD64,
    "macos-arm64": lief.MachO.Header.CPU_TYPE.ARM64,
}

#: Libraries that each system has, on Linux as in manylinux's policy. python3 and vcruntime140 come with Python and with Blender.
LIBRARIES = {
    "linux": r"(lib[cm]|ld-linux-[\w-]+)\.so\.\d|lib(dl|pthread|rt|gcc_s)\.so\.\d",
    "windows": r"(?i)(api-ms-win-[\w-]+|advapi32|bcrypt|bcryptprimitives|combase|d3d12|dxgi|gdi32|kernel32|msvcrt|ntdll|ole32|oleaut32"
    r"|opengl32|propsys|rpcrt4|setupapi|shell32|shlwapi|user32|userenv|ws2_32|vcruntime140|python3)\.dll",
    "macos": r"/usr/lib/lib[\w.+-]+\.dylib|/System/Library/Frameworks/\w+\.framework/.+",
}

#: The newest version of glibc's functions that the wheels' tag allows, and the newest macOS that it lets a module ask for.
GLIBC, MACOS = (2, 28), (11, 0)

#: Ordinal of a library in a symbol of Mach-O: any may have the name (DYNAMIC_LOOKUP_ORDINAL of Apple's loader.h).
ANY_LIBRARY = 0xFE

# Of Apple's cs_blobs.h: magic number of a signature, kind of its blob with the hashes, kind of these hashes.
SIGNATURE, CODE_DIRECTORY, SHA256 = 0xFADE0CC0, 0, 2


def faults(module: bytes, platform: str) -> list[str]:
    """Returns what is wrong with a module for a platform, by Blender's name of it: a sentence each."""
    lief.logging.disable()
    system = platform.partition("-")[0]
    kind, processor = FORMATS[system]
    binary = lief.parse(module)
    if not isinstance(binary, kind):
        return [f"it is no library of {system}."]
    if (found := getattr(binary.header, processor)) != PROCESSORS[platform]:
        return [f"it is for another processor, {found.name}."]
    own = {"linux": _elf_faults, "macos": _macho_faults}.get(system)
    return [*_common_faults(binary, system), *(own(binary, module) if own else [])]


def _common_faults(binary, system: str) -> Iterator[str]:
    if ENTRY not in {
        function.name.removeprefix("_" if system == "macos" else "") for function in binary.exported_functions
    }:
        yield f"it does not export {ENTRY}."
    libraries = binary.libraries
    if system == "macos":
        libraries = [entry.name for entry in libraries if entry.command != lief.MachO.LoadCommand.TYPE.ID_DYLIB]
    if strange := {name for name in libraries if not re.fullmatch(LIBRARIES[system], name)}:
        yield f"it needs libraries that not every system has: {', '.join(sorted(strange))}."


def _elf_faults(binary: lief.ELF.Binary, _module: bytes) -> Iterator[str]:
    needed = {entry.name for library in binary.symbols_version_requirement for entry in library.get_auxiliary_symbols()}
    versions = [tuple(map(int, name.removeprefix("GLIBC_").split("."))) for name in needed if name.startswith("GLIBC_")]
    if versions and max(versions) > GLIBC:
        yield f"it needs glibc {_dotted(max(versions))}, newer than {_dotted(GLIBC)}."
    # Versions 0 and 1 are of no library that the linker knew.
    yield from _open_faults(
        symbol.name
        for symbol in binary.dynamic_symbols
        if symbol.name and symbol.shndx == 0 and symbol.binding.name != "WEAK" and symbol.symbol_version.value <= 1
    )


def _macho_faults(binary: lief.MachO.Binary, module: bytes) -> Iterator[str]:
    version = binary.build_version
    if version is None or version.platform.name != "MACOS":
        yield "it does not say which macOS it needs."
    elif (oldest := tuple(version.minos[:2])) > MACOS:
        yield f"it needs macOS {_dotted(oldest)}, newer than {_dotted(MACOS)}."
    yield from _open_faults(
        symbol.name.removeprefix("_") for symbol in binary.imported_symbols if symbol.library_ordinal == ANY_LIBRARY
    )
    if binary.has_code_signature:
        yield from _signature_faults(module, binary.code_signature.data_offset)
    else:
        yield "it is not signed, and no Mac on ARM loads it."


def _open_faults(names: Iterable[str]) -> Iterator[str]:
    if strange := {name for name in names if not re.match(r"_?Py", name)}:
        yield f"neither Python nor a library has these names: {', '.join(sorted(strange))}."


def _signature_faults(module: bytes, offset: int) -> Iterator[str]:
    """Compares the hashes in the signature at `offset` with the pages before it."""
    try:
        magic, count = struct.unpack_from(">I4xI", module, offset)
        blobs = dict(struct.unpack_from(">II", module, offset + 12 + 8 * index) for index in range(count))
        directory = offset + blobs[CODE_DIRECTORY]
        hashes, pages, end, length, kind, power = struct.unpack_from(">16xI8xIIBBxB", module, directory)
    except (struct.error, KeyError):
        yield "its signature cannot be read."
        return
    page = 1 << power
    if (magic, kind, end, pages) != (SIGNATURE, SHA256, offset, -(-offset // page)):
        yield "its signature does not cover all of it."
        return
    for index in range(pages):
        place = directory + hashes + index * length
        if (
            hashlib.sha256(module[index * page : min((index + 1) * page, end)]).digest()
            != module[place : place + length]
        ):
            yield f"it was changed after it was signed, in the {page} bytes from {index * page}."
            return


def _dotted(version: Iterable[int]) -> str:
    return ".".join(map(str, version))


def main() -> int:
    wheel, platform = sys.argv[1:]
    with zipfile.ZipFile(wheel) as archive:
        found = [name for name in archive.namelist() if name.startswith("thew/_thew.")]
        every = faults(archive.read(found[0]), platform) if found else ["it is missing."]
    print(" ".join(every))
    return bool(every)


if __name__ == "__main__":
    sys.exit(main())

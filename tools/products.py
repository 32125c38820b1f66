# SPDX-License-Identifier: MIT OR Apache-2.0
"""The products: the wheel, and the Blender extension that contains it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from tools import archives, licences, system
from tools.environments import TOOLS, main_blender
from tools.shell import DIST, ROOT, SCRATCH, BuildError, capture, digest, is_done, mark_done, run, say

# Users' Blenders run on older systems than the machine that builds: glibc 2.28 is RHEL 8 and Debian 10.
LINUX_TAG = "manylinux_2_28"

#: File with the licences of the crates that are linked into the wheel.
THIRD_PARTY = "LICENSES-THIRD-PARTY.txt"

#: The typed stub in a wheel.
STUB = "thew/__init__.pyi"

#: Configuration of PyO3: the oldest Python that the wheel supports, by the stable ABI.
PYO3_CONFIG = """\
implementation=CPython
version=3.11
target_abi=CPython-abi3-3.11
shared=true
build_flags=
suppress_build_script_link_lines=false
"""

# Platform names of Blender's extensions by the ending of a wheel's file name.
PLATFORMS = {
    r"manylinux\w*_x86_64": "linux-x64",
    r"manylinux\w*_aarch64": "linux-arm64",
    r"macosx\w*_arm64": "macos-arm64",
    r"win_amd64": "windows-x64",
}


def version() -> str:
    """Returns the version, which is kept in Cargo.toml."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def wheel() -> Path:
    """Builds the wheel for this machine's platform, unless its inputs are unchanged."""
    system.require_rust()
    TOOLS.ensure()
    sources = [ROOT / name for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml", "src", "python", "wheel")]
    sources.append(ROOT / "tools" / "stub.py")
    inputs = digest(*sources)
    present = _built_wheel()
    if present and is_done("wheel", inputs):
        return present
    for old in DIST.glob("thew-*.whl"):
        old.unlink()
    say("wheel")
    date = archives.epoch()
    options, env = compile_options(date)
    run(
        [
            TOOLS.bin / "maturin",
            "build",
            "--release",
            "--locked",
            "--compatibility",
            LINUX_TAG,
            "--out",
            DIST,
            *options,
        ],
        env=env,
    )
    built = _built_wheel()
    if built is None or LINUX_TAG not in built.name or "-abi3-" not in built.name:
        raise BuildError(f"The wheel is not tagged abi3 and {LINUX_TAG}: {built}.")
    finish_wheel(built, date)
    check_private(built)
    mark_done("wheel", inputs)
    return built


def compile_options(date: int) -> tuple[list[object], dict[str, str | None]]:
    """Returns the options and variables with which cargo compiles for both the wheel and the tests, so that it compiles once.

    zig links for older systems than this one. Cargo takes another linker for another configuration, so a separate
    target folder is used, and the output of plain `cargo build` stays as it is.
    """
    TOOLS.ensure()
    target = f"{os.uname().machine}-unknown-linux-gnu"
    linker = f"CARGO_TARGET_{target.upper().replace('-', '_')}_LINKER"
    # Extension modules are not linked to Python's library: its interpreter holds it already. Values that maturin would
    # find out itself are set as well, since other variables would be another configuration.
    python = {
        "PYO3_PYTHON": str(TOOLS.python),
        "PYO3_CONFIG_FILE": str(_write("pyo3-config.txt", PYO3_CONFIG)),
        "PYO3_BUILD_EXTENSION_MODULE": "1",
    }
    env = {**TOOLS.activation_variables(), **reproducible_variables(date), **python, linker: str(_linker())}
    return ["--target", target, "--target-dir", ROOT / "target" / "wheel"], env


def binding_options() -> tuple[list[str], dict[str, str | None]]:
    """Returns features and variables with which the tests include the Python bindings, too.

    The library is then compiled once, for the tests and the wheel. Returns nothing if Python has no library to link
    programs to; it is then compiled twice.
    """
    wanted = "print(*(sysconfig.get_config_var(name) or '' for name in ('Py_ENABLE_SHARED', 'LIBDIR', 'LDLIBRARY')), sep='\\n')"
    status, output = capture([TOOLS.python, "-c", f"import sysconfig; {wanted}"])
    shared, folder, name = [*output.split("\n"), "", "", ""][:3]
    if status or shared != "1" or not (Path(folder) / name).is_file():
        return [], {}
    paths = [folder, os.environ.get("LD_LIBRARY_PATH", "")]
    env = {"THEW_LIBPYTHON": str(Path(folder) / name), "LD_LIBRARY_PATH": os.pathsep.join(filter(None, paths))}
    return ["--features", "python"], env


def _linker() -> Path:
    """Writes a script that cargo calls as its linker: zig's C compiler for the oldest supported glibc."""
    glibc = LINUX_TAG.removeprefix("manylinux_").replace("_", ".")
    # Tests with the Python bindings are linked to a library of this machine, which may need a newer glibc.
    allow = "-Wl,--allow-shlib-undefined"
    text = (
        "#!/bin/sh\n"
        'case " $* " in *" -shared "*) ;; *) set -- "$@" ${THEW_LIBPYTHON:+"$THEW_LIBPYTHON"} ;; esac\n'
        f"export CARGO_ZIGBUILD_ZIG_COMMAND='{TOOLS.python}' CARGO_ZIGBUILD_ZIG_COMMAND_ARGS='-m ziglang'\n"
        f"exec '{TOOLS.bin / 'maturin'}' zig cc -- -fno-sanitize=all -target {os.uname().machine}-linux-gnu.{glibc} {allow} \"$@\"\n"
    )
    script = _write("zig-linker", text)
    script.chmod(0o755)
    return script


def _write(name: str, text: str) -> Path:
    """Writes a text to a file in our scratch folder, unless it is the same already. Returns the file."""
    file = SCRATCH / name
    if not file.is_file() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return file


def reproducible_variables(date: int) -> dict[str, str]:
    """Returns variables that make the compiler's output independent of folder and time."""
    home = Path.home()
    places = {
        "CARGO_HOME": (os.environ.get("CARGO_HOME") or home / ".cargo", "/cargo"),
        "RUSTUP_HOME": (os.environ.get("RUSTUP_HOME") or home / ".rustup", "/rustup"),
        "": (ROOT, "/thew"),
    }
    flags = [f"--remap-path-prefix={Path(folder).resolve()}={name}" for folder, name in places.values()]
    given = os.environ.get("RUSTFLAGS", "")
    return {"RUSTFLAGS": " ".join([given, *flags]).strip(), "SOURCE_DATE_EPOCH": str(date)}


def finish_wheel(built: Path, date: int) -> None:
    """Adds the licences of linked crates and the stub's docstrings to a wheel, and makes its bytes reproducible."""
    name = f"thew-{version()}.dist-info/licenses/{THIRD_PARTY}"
    added = {name: licences.texts().encode(), STUB: documented_stub(built)}
    # maturin's list of the contents holds paths and the time of the build.
    archives.rewrite(built, added, date, without="/sboms/")


def documented_stub(built: Path) -> bytes:
    """Returns the typed stub with the docstrings of a wheel's module, which this machine's Python has to be able to import."""
    code = (
        "import sys, pathlib, thew; from tools.stub import with_docstrings; stub = pathlib.Path(sys.argv[1]); "
        "stub.write_text(with_docstrings(stub.read_text(encoding='utf-8'), thew), encoding='utf-8', newline='')"
    )
    python = TOOLS.python if TOOLS.python.is_file() else sys.executable
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(built) as wheel:
        wheel.extractall(folder)
        stub = Path(folder, STUB)
        failed, said = capture([python, "-c", code, stub], env={"PYTHONPATH": os.pathsep.join([folder, str(ROOT)])})
        if failed:
            raise BuildError(f"{built.name} cannot be imported for the docstrings of its stub: {said[-500:]}")
        return stub.read_bytes()


def check_private(built: Path) -> None:
    """Raises BuildError if a wheel contains paths of this machine."""
    places = [str(place).encode() for place in (Path.home(), ROOT) if len(place.parts) > 1]
    with zipfile.ZipFile(built) as archive:
        leaks = [name for name in archive.namelist() if any(place in archive.read(name) for place in places)]
    if leaks:
        raise BuildError(f"Paths of this machine are in the wheel: {', '.join(leaks)}.")


def check_module(built: Path) -> None:
    """Raises BuildError if a wheel's native module is not one that every system of its platform can load."""
    failed, said = capture([TOOLS.python, "-m", "tools.modules", built, platform_of(built)])
    if failed:
        raise BuildError(f"The module in {built.name} would not load: {said.strip()[-500:]}")


def package(given_wheel: Path | None = None) -> Path:
    """Builds dist/thew-VERSION.zip, or, with a wheel from elsewhere, dist/thew-VERSION-PLATFORM.zip."""
    binary = given_wheel.resolve() if given_wheel else wheel()
    TOOLS.ensure()
    main_blender().ensure()
    inputs = digest(ROOT / "blender_addon", ROOT / "tools", binary.name, str(binary.stat().st_mtime_ns))
    platform = platform_of(binary)
    suffix = f"-{platform}" if given_wheel else ""
    product = DIST / f"thew-{version()}{suffix}.zip"
    if product.is_file() and is_done(f"package{suffix}", inputs):
        return product
    say(f"extension for {platform}")
    check_module(binary)
    source = SCRATCH / "extension"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "blender_addon", source, ignore=shutil.ignore_patterns("__pycache__", "wheels", "*.whl"))
    (source / "wheels").mkdir()
    shutil.copy2(binary, source / "wheels")
    with zipfile.ZipFile(binary) as archive:
        texts = [name for name in archive.namelist() if name.endswith(f"/{THIRD_PARTY}")]
        if not texts:
            raise BuildError(f"{binary.name} lacks {THIRD_PARTY}: finish it with 'build.py finish-wheel'.")
        (source / THIRD_PARTY).write_bytes(archive.read(texts[0]))
    manifest = source / "blender_manifest.toml"
    holders = licences.holders((source / THIRD_PARTY).read_text(encoding="utf-8"))
    manifest.write_text(complete_manifest(manifest.read_text(), binary.name, platform, holders))
    _extension_tool("validate", source)
    DIST.mkdir(exist_ok=True)
    _extension_tool("build", "--source-dir", source, "--output-filepath", product)
    archives.rewrite(product, {}, archives.epoch())
    _extension_tool("validate", product)
    mark_done(f"package{suffix}", inputs)
    return product


def complete_manifest(text: str, wheel_name: str, platform: str, holders: Iterable[str] = ()) -> str:
    """Returns the manifest with the version, the wheel, the platform and the copyright of bundled code, which are known only now."""
    own = tomllib.loads(text).get("copyright", [])
    text = re.sub(r"(?ms)^copyright\s*=\s*\[.*?\][^\n]*\n", "", text)
    for key in ("version", "wheels", "platforms"):
        text = re.sub(rf"(?ms)^{key}\s*=\s*(\[.*?\]|\"[^\"]*\")[^\n]*\n", "", text)
    lines = [
        f'version = "{version()}"\n',
        f'platforms = ["{platform}"]\n',
        f'wheels = ["./wheels/{wheel_name}"]\n',
        f"copyright = {json.dumps([*own, *holders], ensure_ascii=False, indent=2)}\n",
    ]
    # Keys of the top table must stand before the first sub-table.
    table = re.search(r"(?m)^\[", text)
    cut = table.start() if table else len(text)
    text = text[:cut] + "".join(lines) + "\n" + text[cut:]
    tomllib.loads(text)
    return text


def platform_of(wheel_file: Path) -> str:
    """Returns Blender's name of the platform that a wheel is for."""
    for pattern, platform in PLATFORMS.items():
        if re.search(rf"{pattern}\.whl$", wheel_file.name):
            return platform
    raise BuildError(f"{wheel_file.name} is for a platform that the extension does not serve.")


def validate_source() -> None:
    """Runs Blender's own validator over the extension's source."""
    main_blender().ensure()
    _extension_tool("validate", ROOT / "blender_addon")


def _extension_tool(*words: object) -> None:
    run([TOOLS.python, main_blender().blender_script("blender_ext.py"), *words])


def _built_wheel() -> Path | None:
    found = sorted(DIST.glob(f"thew-{version()}-*.whl"))
    return found[0] if found else None

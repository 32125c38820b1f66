# SPDX-License-Identifier: MIT OR Apache-2.0
"""Wheels for other platforms than this machine's: `build.py cross windows-x64 linux-arm64 macos-arm64`; tests of them: `--test`.

Problem: rustup's toolchains bring the standard library of one platform, and those of others are not in Debian. Method: a folder of
Debian sid, whose package rust-src holds the source of the standard library; cargo compiles it with the crate (`-Z build-std`,
an unstable option that Debian's compiler takes under RUSTC_BOOTSTRAP). Linkers: MinGW for Windows; zig for Linux, with glibc 2.28
as for this machine's wheel; LLVM's for macOS, because zig's exports every function of Rust's libraries. LLVM's signs what it links,
without which no Mac on ARM loads it. The names in macOS's system library come from zig, which has none of the frameworks; so that
wheel computes without graphics devices.
Everything of a wheel but its module is the same on all platforms and comes from this machine's wheel.
Cost: a folder of 3 GB, then some 10 minutes a platform. Needs root, for debootstrap and chroot.
"""

from __future__ import annotations

import os
import platform
import shutil
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from tools import archives, products, system
from tools.environments import TOOLS
from tools.shell import DIST, ROOT, SCRATCH, BuildError, capture, digest, is_done, mark_done, run, say

SUITE = "sid"
PACKAGES = ["ca-certificates", "rustc", "cargo", "rust-src", "gcc", "libc6-dev", "gcc-mingw-w64-x86-64", "lld"]

#: Packages that run programs of other platforms.
EMULATORS = ["wine", "wine64", "qemu-user", "libc6-arm64-cross", "libgcc-s1-arm64-cross"]

#: Files of the project that cargo reads.
SOURCES = ("Cargo.toml", "Cargo.lock", "src", "wheel", "benches", "examples", "tests", "docs", "README.md")


@dataclass(frozen=True)
class Target:
    """A platform that wheels are cross-built for."""

    triple: str
    #: The wheel's platform tag.
    tag: str
    #: cargo's product, and the name under which Python imports it.
    library: str
    module: str
    #: zig's name of the platform; empty: zig does not link.
    zig: str = ""
    #: Command that runs a program of the platform here; empty: there is none.
    emulator: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


#: Outside Windows a module finds Python's names in the interpreter that loads it.
UNLINKED = {"PYO3_BUILD_EXTENSION_MODULE": "1"}

#: Folder of macOS's libraries for the linker, in the Debian folder.
SDK = "/zig/macos"

TARGETS = {
    "windows-x64": Target(
        "x86_64-pc-windows-gnu",
        "win_amd64",
        "thew_wheel.dll",
        "_thew.pyd",
        emulator=("wine",),
        variables={"CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER": "x86_64-w64-mingw32-gcc"},
    ),
    "linux-arm64": Target(
        "aarch64-unknown-linux-gnu",
        "manylinux_2_28_aarch64",
        "libthew_wheel.so",
        "_thew.abi3.so",
        zig="aarch64-linux-gnu.2.28",
        emulator=("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"),
        variables={**UNLINKED, "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": "/zig/zig-cc"},
    ),
    "macos-arm64": Target(
        "aarch64-apple-darwin",
        "macosx_11_0_arm64",
        "libthew_wheel.dylib",
        "_thew.abi3.so",
        options=("--no-default-features",),
        variables={
            **UNLINKED,
            "CARGO_TARGET_AARCH64_APPLE_DARWIN_LINKER": "ld64.lld",
            "CARGO_TARGET_AARCH64_APPLE_DARWIN_RUSTFLAGS": (
                "-Zunstable-options -Clinker-flavor=darwin-lld -Clink-arg=-undefined -Clink-arg=dynamic_lookup "
                "-Clink-arg=-install_name -Clink-arg=@rpath/_thew.abi3.so -Clink-arg=-S"
            ),
            # The linker leaves out what serves debuggers (-S). Done afterwards, that would need a tool that Debian lacks, and a new signature.
            "CARGO_PROFILE_RELEASE_STRIP": "none",
            "MACOSX_DEPLOYMENT_TARGET": "11.0",
            "SDKROOT": SDK,
        },
    ),
}


def cross(names: list[str]) -> list[Path]:
    """Builds wheels into dist/ for the named platforms. Returns their files."""
    here = products.wheel()
    folder = _debian()
    _copy_sources(folder / "thew")
    built = []
    for name in names:
        say(f"wheel for {name}")
        target = TARGETS[name]
        _cargo(folder, target, ["build", "-p", "thew-wheel", *target.options])
        module = folder / "thew" / "target" / target.triple / "release" / target.library
        built.append(assemble(here, module.read_bytes(), target, DIST))
        products.check_private(built[-1])
        products.check_module(built[-1])
    return built


def test(name: str, words: list[str]) -> None:
    """Runs the crate's unit tests as a program of another platform, under wine or qemu. `words`: parts of names; none: every test.

    They compute without graphics devices and without Python, which Debian does not have for other platforms.
    Raises BuildError if one fails, or if nothing here runs programs of the platform.
    """
    target = TARGETS[name]
    if not target.emulator:
        raise BuildError(f"Nothing in Debian runs programs of {name}.")
    folder = _debian(EMULATORS)
    _copy_sources(folder / "thew")
    _cargo(folder, target, ["test", "--no-run", "--lib", "-p", "thew", "--no-default-features"])
    programs = (folder / "thew" / "target" / target.triple / "release" / "deps").glob("thew-*")
    built = max((p for p in programs if p.suffix in ("", ".exe")), key=lambda p: p.stat().st_mtime)
    program = Path("/", built.relative_to(folder))
    say(f"tests of {name} under {target.emulator[0]}")
    _run_inside(folder, {"WINEDEBUG": "-all"}, [*target.emulator, program, *words])


def assemble(here: Path, module: bytes, target: Target, place: Path) -> Path:
    """Writes a wheel of another platform into the folder `place`: this machine's wheel with another module. Returns its file."""
    stem = "-".join(here.name.split("-")[:2])
    about = f"{stem}.dist-info/WHEEL"
    with zipfile.ZipFile(here) as wheel:
        own = next(name for name in wheel.namelist() if name.startswith("thew/_thew."))
        lines = wheel.read(about).decode().splitlines(keepends=True)
    tag = f"cp311-abi3-{target.tag}"
    text = "".join(f"Tag: {tag}\n" if line.startswith("Tag:") else line for line in lines)
    built = place / f"{stem}-{tag}.whl"
    shutil.copy2(here, built)
    archives.rewrite(built, {about: text.encode()}, archives.epoch(), without=own)
    archives.rewrite(built, {f"thew/{target.module}": module}, archives.epoch())
    return built


def _cargo(folder: Path, target: Target, words: list[str]) -> None:
    """Runs a command of cargo in the Debian folder, with the standard library built for the target. `words`: the command and its options."""
    if target.zig or SDK in target.variables.values():
        _install_zig(folder)
    if target.zig:
        _write_linker(folder, target.zig)
    variables = {
        "RUSTC_BOOTSTRAP": "1",
        "PYO3_CROSS": "1",
        "PYO3_CROSS_PYTHON_VERSION": "3.11",
        "SOURCE_DATE_EPOCH": str(archives.epoch()),
        "RUSTFLAGS": "--remap-path-prefix=/root/.cargo=/cargo",
        **target.variables,
    }
    if own := variables.pop(f"CARGO_TARGET_{target.triple.upper().replace('-', '_')}_RUSTFLAGS", ""):
        variables["RUSTFLAGS"] += f" {own}"
    command, *rest = words
    options = ["--release", "--locked", "-Z", "build-std=std,panic_unwind", "--target", target.triple]
    _run_inside(folder, variables, ["cargo", command, *options, *rest])


def _run_inside(folder: Path, variables: dict[str, str], words: list[object]) -> None:
    """Runs a command in the Debian folder, at the copy of the project, with these variables alone."""
    settings = [f"{key}={value}" for key, value in {"HOME": "/root", "PATH": "/usr/bin:/bin", **variables}.items()]
    run(["chroot", folder, "env", "-i", *settings, "sh", "-c", 'cd /thew && exec "$@"', "sh", *words])


def _install_zig(folder: Path) -> None:
    """Puts zig into the Debian folder, with a folder of the libraries of macOS."""
    status, place = capture([TOOLS.python, "-c", "import ziglang; print(ziglang.__path__[0])"])
    if status:
        raise BuildError(f"zig is missing among the tools:\n{place}")
    zig = folder / "zig"
    if not (zig / "zig").is_file():
        shutil.copytree(place.strip(), zig, dirs_exist_ok=True)
    libraries = folder / SDK[1:] / "usr" / "lib"
    libraries.mkdir(parents=True, exist_ok=True)
    # The crate libc names these. On macOS, too, one library has the functions of all but iconv, which nothing calls.
    for name in ("libSystem", "libc", "libm", "libiconv"):
        shutil.copy2(zig / "lib" / "libc" / "darwin" / "libSystem.tbd", libraries / f"{name}.tbd")


def _write_linker(folder: Path, target: str) -> None:
    """Writes a script that cargo calls as its linker: zig's C compiler for a platform, by zig's name of it."""
    link = folder / "zig" / "zig-cc"  # rustc infers the language of its options from this name
    # rustc names libraries of the platform's own compiler that zig brings itself, and an option that it does not know.
    link.write_text(
        "#!/bin/sh\n"
        'for word do shift; case "$word" in -lgcc_s|-lgcc|-lgcc_eh|-Wl,--no-undefined-version) ;; '
        '*) set -- "$@" "$word" ;; esac; done\n'
        f'exec /zig/zig cc -fno-sanitize=all -target {target} "$@" -lunwind\n'
    )
    link.chmod(0o755)


def _copy_sources(place: Path) -> None:
    """Copies what cargo needs into the Debian folder; cargo's own output there is kept."""
    for name in SOURCES:
        source, copy = ROOT / name, place / name
        if source.is_dir():
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("images", "__pycache__"))
        else:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)


def _debian(further: list[str] | None = None) -> Path:
    """Makes the folder of Debian sid with its packages and `further` ones, unless that was done before. Returns it."""
    packages = [*PACKAGES, *(further or [])]
    given = os.environ.get("THEW_DEBIAN")
    folder = Path(given) if given else SCRATCH / f"debian-{SUITE}"
    wanted = digest(str(folder), SUITE, *packages)
    # A stamp of its own for each list: with one, a build after a test would install its packages again.
    stamp = "debian-tests" if further else "debian"
    if not (folder / "usr" / "bin" / "cargo").exists() or not is_done(stamp, wanted):
        if platform.system() != "Linux" or os.geteuid() != 0:
            raise BuildError("Wheels for other platforms are built in a Debian folder, which needs Linux and root.")
        if not shutil.which("debootstrap"):
            system.install(["debootstrap"], "A folder of Debian sid is made by debootstrap")
        if not (folder / "usr" / "bin" / "apt-get").exists():
            say(f"Debian {SUITE} in {folder}")
            run(["debootstrap", "--variant=minbase", "--include=ca-certificates", SUITE, folder])
        # What this machine trusts, the folder may.
        for file in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
            shutil.copy2(Path("/", file), folder / file)
        # sid's list may be past its date on a mirror that is seldom renewed.
        (folder / "etc" / "apt" / "apt.conf.d" / "99date").write_text('Acquire::Check-Valid-Until "false";\n')
        run(["chroot", folder, "apt-get", "update", "-q"])
        quiet = ["env", "DEBIAN_FRONTEND=noninteractive"]
        run(["chroot", folder, *quiet, "apt-get", "install", "-y", "-q", "--no-install-recommends", *packages])
        mark_done(stamp, wanted)
    return folder

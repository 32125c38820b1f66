#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The entry point: set-up, products, demo, tests, benches and lints of Thew.

    python3 build.py demo                     set everything up, then show Thew at work (pictures in dist/demo)
    python3 build.py demo --input FILE        the same for any rigged, animated glTF, FBX or .blend
    python3 build.py test                     every test: Rust, wheel, four Blenders

Needs git, Python 3.11 and a Rust toolchain. Everything else is fetched into this folder, except system libraries: these are
installed through apt-get if that is permitted, and otherwise named. Products appear in dist/.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools import archives, checks, coverage, cross, docs, environments, fuzzing, pictures, products, shows, strings
from tools.shell import BuildError, say


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("setup", help="virtual environments, Blender, system libraries")
    commands.add_parser("wheel", help="dist/thew-….whl for this machine's kind")
    finish = commands.add_parser(
        "finish-wheel", help="licences, docstrings and dates of a wheel that maturin built by itself"
    )
    finish.add_argument("wheel", type=Path)
    crossed = commands.add_parser("cross", help="wheels for other platforms, built in a folder of Debian sid (root)")
    crossed.add_argument(
        "platforms", nargs="*", metavar="PLATFORM", help=f"of {', '.join(cross.TARGETS)}; default: all"
    )
    crossed.add_argument("--test", action="store_true", help="run the crate's unit tests under wine or qemu instead")
    crossed.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="WORD",
        help="only tests with this in their names; may be repeated",
    )
    package = commands.add_parser("package", help="dist/thew-….zip, the Blender extension")
    package.add_argument("--wheel", type=Path, help="pack this wheel, built on another machine")
    demo = commands.add_parser("demo", help="characters with flesh: dist/demo, pictures and .blend files")
    demo.add_argument("--input", type=Path, metavar="FILE", help="a rigged, animated .glb, .gltf, .fbx or .blend")
    demo.add_argument("--output", type=Path, metavar="DIR", help="default: dist/demo")
    demo.add_argument("--action", help="the clip of FILE to show; default: the one that is active in it")
    demo.add_argument("--cells", type=int, default=12, help="cells across the character (default 12)")
    figures = ", ".join(shows.EXAMPLES)
    example = commands.add_parser("example", help="one figure of the documentation, computed and rendered anew")
    example.add_argument("name", choices=shows.EXAMPLES, metavar="NAME", help=f"one of {figures}")
    every = commands.add_parser("examples", help="all of them")
    for command in (example, every):
        command.add_argument("--output", type=Path, metavar="DIR", help="default: docs/images")
        command.add_argument("--fast", action="store_true", help="render with Workbench (OpenGL) rather than Cycles")
    images = commands.add_parser("pictures", help="pictures of the documentation that are older than what makes them")
    images.add_argument("names", nargs="*", metavar="PICTURE", help="file names in docs/images; default: all old ones")
    images.add_argument("--list", action="store_true", help="only name them")
    images.add_argument(
        "--window", type=Path, metavar="BLENDER", help="a Blender with a display, for pictures of its window"
    )
    guide = commands.add_parser("docs", help="dist/docs, the guide as a static site that opens from a disk")
    guide.add_argument("--wheel", type=Path, help="take the names of Python from this wheel, built before")
    bench = commands.add_parser("bench", help="dist/bench-report.md, docs/benches/history.jsonl")
    bench.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(shows.benches())}; default: all")
    commands.add_parser("lint", help="formatting, lints, documentation, licences, manifest")
    words = commands.add_parser("strings", help="texts of the interface into the translators' files, with coverage")
    words.add_argument("--check", action="store_true", help="only report what is not translated")
    words.add_argument("--new", metavar="LANGUAGE", help="begin a language, by Blender's name: fr_FR")
    lines = commands.add_parser("coverage", help="lines of the crate that its tests reach, per module")
    lines.add_argument("words", nargs="*", metavar="WORD", help="passed on to cargo test, after --")
    fuzz = commands.add_parser("fuzz", help="random input at every parser and border")
    fuzz.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(fuzzing.targets())}; default: all")
    fuzz.add_argument("--seconds", type=int, default=60, help="for each target (default 60)")
    fuzz.add_argument("--keep", action="store_true", help="inputs that take new branches join fuzz/corpus")
    test = commands.add_parser("test", help="every test, or the suites that are named")
    test.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(checks.SUITES)}; default: all")
    versions = [b.blender for b in environments.EVERY_BLENDER]
    test.add_argument("--blender", choices=versions, help="this one only, with every case")
    test.add_argument(
        "--fast", action="store_true", help="the main Blender only, with as few cases as the others get (THEW_FAST=1)"
    )
    arguments = parser.parse_args()
    try:
        dispatch(arguments)
    except BuildError as error:
        print(f"\nbuild.py {arguments.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def dispatch(arguments: argparse.Namespace) -> None:
    match arguments.command:
        case "setup":
            environments.setup()
            say("everything is in place")
        case "wheel":
            say(str(products.wheel()))
        case "finish-wheel":
            products.finish_wheel(arguments.wheel, archives.epoch())
        case "cross" if arguments.test or arguments.filter:
            for name in _known(arguments.platforms, [n for n, t in cross.TARGETS.items() if t.emulator], "platform"):
                cross.test(name, arguments.filter)
        case "cross":
            for built in cross.cross(_known(arguments.platforms, list(cross.TARGETS), "platform")):
                say(str(built))
        case "package":
            say(str(products.package(arguments.wheel)))
        case "demo":
            shows.demo(arguments.input, arguments.output, arguments.action, arguments.cells)
        case "example":
            _examples([arguments.name], arguments.output, arguments.fast)
        case "examples":
            _examples(list(shows.EXAMPLES), arguments.output, arguments.fast)
        case "pictures" if arguments.list:
            pictures.show_old()
        case "pictures":
            every = [picture for maker in pictures.MAKERS for picture in maker.pictures]
            pictures.make(_known(arguments.names, every, "picture") if arguments.names else [], arguments.window)
        case "docs":
            docs.docs(arguments.wheel)
        case "bench":
            shows.bench(_known(arguments.names, shows.benches(), "bench"))
        case "coverage":
            coverage.coverage(arguments.words)
        case "fuzz":
            fuzzing.fuzz(arguments.seconds, _known(arguments.targets, fuzzing.targets(), "target"), arguments.keep)
        case "strings":
            strings.strings(arguments.check, arguments.new)
        case "lint":
            pictures.show_old()
            checks.lint()
        case "test":
            suites = _known(arguments.suites, list(checks.SUITES), "suite")
            blenders = [environments.main_blender()] if arguments.fast else environments.tested_blenders()
            if arguments.blender:
                blenders = [environments.find_blender(arguments.blender)]
            checks.test(suites, blenders, arguments.fast)


def _examples(names: list[str], output: Path | None, fast: bool) -> None:
    shows.examples(names, output, fast)
    if output is None:
        pictures.note([f"{name}.jpg" for name in names])


def _known(given: list[str], all_of_them: list[str], what: str) -> list[str]:
    """Returns the given names, or all if none are given. Raises BuildError for an unknown name."""
    unknown = [name for name in given if name not in all_of_them]
    if unknown:
        raise BuildError(f"There is no {what} '{unknown[0]}': choose from {', '.join(all_of_them)}.")
    return given or all_of_them


if __name__ == "__main__":
    sys.exit(main())

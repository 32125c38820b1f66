# SPDX-License-Identifier: MIT OR Apache-2.0
"""The words of `farm run`, the same after `python -m thew` and after `blender --command thew`, and its exit statuses."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

from .._errors import ThewError
from .jobs import Record
from .progress import Progress
from .running import Options, check_exclusive, rehearse, run


class Parser(argparse.ArgumentParser):
    """A parser that ends with status 1 on wrong words: nothing was done. Status 2 means that some was."""

    def error(self, message: str) -> NoReturn:
        """Prints the usage and the fault, and exits."""
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


def add_farm(commands: Any) -> None:
    """Adds the command `farm` to the commands of a parser."""
    farm = commands.add_parser("farm", help="do the jobs of a table, on this machine or on many")
    run = farm.add_subparsers(dest="farm", required=True).add_parser("run", help="do the jobs of a table")
    run.add_argument(
        "table", metavar="TABLE", type=Path, help="a CSV or TOML file: a row for each job, or for a range of jobs"
    )
    run.add_argument("-o", "--out", metavar="FOLDER", type=Path, required=True, help="folder for results and manifest")
    run.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, as tcp://host:8786 (this machine)")
    run.add_argument(
        "--workers", metavar="N", type=count(1, 1024), help="workers on this machine (one for each processor)"
    )
    run.add_argument("--threads", metavar="T", type=count(1, 1024), help="threads of each job (processors by workers)")
    run.add_argument(
        "--retries", metavar="R", type=count(0, 100), default=2, help="new tries of a job whose worker died (2)"
    )
    run.add_argument(
        "--timeout", metavar="S", type=count(1, 10**7), help="seconds after which a job is given up (never)"
    )
    run.add_argument(
        "--processes", action="store_true", help="plain processes on this machine, also where Dask is installed"
    )
    run.add_argument(
        "--part",
        metavar="K/N",
        type=parse_part,
        help="every N-th job from the K-th on, from 1: for arrays of a render farm",
    )
    run.add_argument("--again", action="store_true", help="do jobs whose results are present too")
    run.add_argument("--blender", metavar="PROGRAM", help="Blender for rows with a .blend (that of THEW_BLENDER)")
    run.add_argument("--dry-run", action="store_true", help="list the jobs and do nothing")
    run.add_argument("--json", action="store_true", help="report each job as one line of JSON")
    run.add_argument("-q", "--quiet", action="store_true", help="report problems only")


def count(low: int, high: int) -> Any:
    """Returns a parser of whole numbers from `low` to `high`."""

    def parse(word: str) -> int:
        number = int(word)
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{number}: choose {low} to {high}")
        return number

    parse.__name__ = "whole number"  # as argparse names the type of a word that is none
    return parse


def parse_part(word: str) -> tuple[int, int]:
    """Parses a part K/N of a table."""
    first, sign, every = word.partition("/")
    if not sign or not first.isdecimal() or not every.isdecimal() or not 1 <= int(first) <= int(every):
        raise argparse.ArgumentTypeError(f"{word}: write K/N, the K-th of N parts, as in 1/8")
    return int(first), int(every)


def main(words: Sequence[str], prog: str, blender: str | None = None, extension: str | None = None) -> int:
    """Runs `farm` with the words after it. Returns the exit status. `blender`, `extension`: those that call this."""
    top = Parser(prog=prog)
    add_farm(top.add_subparsers(dest="command", required=True, parser_class=Parser))
    return run_farm(top.parse_args(["farm", *words]), blender, extension)


def run_farm(given: argparse.Namespace, blender: str | None = None, extension: str | None = None) -> int:
    """Runs `farm run` with its parsed words. Returns 0 if all jobs are done, 2 if some are, 1 if none is, 130 if it was interrupted."""
    options = Options(
        scheduler=given.scheduler,
        workers=given.workers,
        threads=given.threads,
        retries=given.retries,
        processes=given.processes,
        again=given.again,
        blender=given.blender or blender,
        extension=extension,
        timeout=given.timeout,
        part=given.part,
    )
    before = _end_as_interrupt()
    began = time.perf_counter()
    ended: list[Record] = []
    try:
        check_exclusive(options)
        if given.dry_run:
            return _list(rehearse(given.table, given.out, given.part), given.json)
        with Progress(given.quiet or given.json) as progress:

            def report(record: Record) -> None:
                ended.append(record)
                if given.json:
                    print(record.as_json(), flush=True)
                progress.step(line_of(record), record.status == "failed")

            outcome = run(given.table, given.out, options, report, progress.begin)
    except ThewError as error:
        print(sentence(str(error)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        kept = sum(record.status != "failed" for record in ended)
        print(f"Stopped; {kept} results are kept: the same command goes on from there.", file=sys.stderr)
        return 130
    finally:
        for number, handler in before.items():
            # None: Blender's own, which cannot be put back. The command is over, and Blender is about to end with its status.
            signal.signal(number, signal.SIG_IGN if handler is None else handler)
    for note in outcome.notes:
        print(sentence(note), file=sys.stderr)
    _sum_up(outcome.records, outcome.sheets, time.perf_counter() - began, given.quiet or given.json)
    return outcome.exit_status


def line_of(record: Record) -> str:
    """Returns the line on a job that has ended."""
    if record.status != "ok":
        return fault_line(record)
    size = sum(each["bytes"] for each in record.outputs)
    text = f"{record.name}: {record.frames} frames, {size / 1e6:.1f} MB, {record.seconds:.1f} s"
    return "\n".join([text, *(f"  {warning}" for warning in record.warnings)])


def fault_line(record: Record) -> str:
    """Returns the line on a job that was not done, with its place in the table once."""
    text = sentence(record.message)
    if record.status == "failed" and not record.message.startswith(f"{record.row}:"):
        text = f"{record.row}: {text}" if record.row else text
    return text if record.name == record.row else f"{record.name}: {text}"


def sentence(text: str) -> str:
    """Returns text with its full stop."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _list(records: list[Record], as_json: bool) -> int:
    """Prints what a run would do. Returns the exit status that its faults make certain."""
    for record in records:
        if as_json:
            print(json.dumps(asdict(record), ensure_ascii=False))
            continue
        settings = ", ".join(f"{name} {value}" for name, value in record.inputs["settings"].items())
        what = {"planned": "to do", "skipped": "present"}.get(record.status)
        print(f"{record.name}: {what}" + (f" ({settings})" if settings else "") if what else fault_line(record))
    failed = sum(record.status == "failed" for record in records)
    return 0 if not failed else 1 if failed == len(records) else 2


def _sum_up(records: list[Record], sheets: list[Path], seconds: float, quiet: bool) -> None:
    """Prints how many jobs were done, and the failed ones once more."""
    failed = [record for record in records if record.status == "failed"]
    if not quiet:
        skipped = sum(record.status == "skipped" for record in records)
        present = f", {skipped} of them before" if skipped else ""
        print(f"{len(records) - len(failed)} of {len(records)} jobs are done{present}; {seconds:.1f} s.")
        for sheet in sheets:
            print(f"Contact sheet: {sheet}")
    if failed:
        print(f"{len(failed)} failed:", file=sys.stderr)
        for record in failed:
            print(f"  {fault_line(record)}", file=sys.stderr)


def _end_as_interrupt() -> dict[signal.Signals, Any]:
    """Lets Ctrl-C and SIGTERM end the command by a KeyboardInterrupt, which Blender's own handler of Ctrl-C does not raise.

    Further signals do not disturb the end. Returns the former handlers; none where signals are not ours.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    numbers = [each for each in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(each) is not signal.SIG_IGN]

    def stop(_number: int, _frame: object) -> NoReturn:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    return {number: signal.signal(number, stop) for number in numbers}

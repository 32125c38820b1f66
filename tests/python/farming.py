# SPDX-License-Identifier: MIT OR Apache-2.0
"""Helpers of the tests of the farm: tables, runs by processes, and what they leave."""

import json
import signal

from thew.__main__ import main
from thew.farm import plan, table


def jobs_of(folder, text, name="jobs.csv"):
    """Returns the jobs of a table's text."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return plan.plan_jobs(table.read_table(file), folder)


def run(folder, text, out, *words, name="jobs.csv"):
    """Writes a table beside the shots and runs it by processes. Returns the exit status."""
    (folder / name).write_text(text, encoding="utf-8")
    return main(["farm", "run", str(folder / name), "--out", str(out), "--processes", "--workers", "1", *words])


def records(capsys):
    """Returns the records that a command with --json told, by name."""
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len({record["name"] for record in told}) == len(told)
    return {record["name"]: record for record in told}


def heed_interrupts():
    """Lets a program that a test starts heed Ctrl-C: a shell lets what it starts in the background ignore it, and so do their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def hidden(folder):
    """Returns the files that a run left beside results, manifest and journal."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".") and path.name != ".thew-farm"]

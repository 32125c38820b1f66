# SPDX-License-Identifier: MIT OR Apache-2.0
"""The farm by Dask distributed, and the proof run: killed workers and commands lose nothing (`benches/python_farm.py`)."""

import collections
import gc
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import thew
from farming import heed_interrupts, hidden
from thew.__main__ import main
from thew.farm import cluster
from thew.farm.jobs import Call, Job

from benches import python_farm


@pytest.mark.parametrize(
    ("words", "rates", "kills"),
    [((), python_farm.RATES, python_farm.KILLS), (("--processes",), (48,), (2, 4))],
    ids=["dask", "processes"],
)
def test_farm_proof(tmp_path, words, rates, kills):
    """Two workers, 48 jobs (12 without Dask) and a bad file; a worker is killed, then the command, which is given again: the bits are
    those of one process.
    """
    proof, count = python_farm.prove(tmp_path, words, rates, kills), 12 * len(rates)
    assert proof.lost == [] and proof.differing == [] and proof.left == []
    assert proof.statuses[1] == 2 and len(proof.killed) == 2
    assert kills[1] <= len(proof.midway) <= count, "the command was killed midway"
    last = {record["name"]: record for record in proof.second}
    assert len(last) == count + 1 and last["bad"]["status"] == "failed" and "bad.shot.thew" in last["bad"]["message"]
    kept = {name for name, record in last.items() if record["status"] == "skipped"}
    assert set(proof.midway) - {"bad"} <= kept, "what the killed command had told is not done again"
    done = collections.Counter(record["name"] for record in proof.manifest if record["status"] == "ok")
    assert set(done) == set(last) - {"bad"} and max(done.values()) == 1


def test_scheduler_away(tmp_path, monkeypatch, capsys):
    """A scheduler that does not answer is told by a sentence, and nothing is counted as failed."""
    monkeypatch.setattr(cluster, "CONNECT_TIMEOUT", 0.3)
    python_farm.write_shot(tmp_path / "arm.shot.thew", 2)
    (tmp_path / "jobs.csv").write_text("file\narm.shot.thew\n")
    words = ["farm", "run", str(tmp_path / "jobs.csv"), "--out", str(tmp_path / "out"), "--scheduler"]
    for address in ("tcp://127.0.0.1:1", "no:address:at:all", "nix://there:1"):
        assert main([*words, address]) == 1
        gc.collect()  # a client that failed to connect closes now: while the next one starts its loop, that waits for itself
        error = capsys.readouterr().err
        assert (
            "no scheduler answers at" in error
            and "Traceback" not in error
            and not (tmp_path / "out" / "manifest.jsonl").exists()
        )
    assert main([*words, "tcp://127.0.0.1:1", "--workers", "2"]) == 1
    assert "leave --workers or --scheduler out" in capsys.readouterr().err


def test_scheduler_lost(tmp_path, capsys):
    """Jobs of a scheduler that ends before them fail by a sentence; what was done is kept, and the same command goes on here."""
    from distributed import LocalCluster

    python_farm.write_shot(tmp_path / "arm.shot.thew", 3)
    (tmp_path / "jobs.csv").write_text("file,rate\narm.shot.thew," + "|".join(map(str, range(240, 264))) + "\n")
    words = ["farm", "run", str(tmp_path / "jobs.csv"), "--out", str(tmp_path / "out"), "--json"]
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as machines:
        told = []

        def end_after_two(record):
            told.append(record)
            if len(told) == 2:
                machines.close()

        from thew import farm

        options = farm.Options(scheduler=machines.scheduler_address)
        outcome = farm.run(tmp_path / "jobs.csv", tmp_path / "out", options, end_after_two)
    assert outcome.exit_status == 2 and len(outcome.failed) > 10
    assert all("was lost" in record.message for record in outcome.failed)
    assert main([*words, "--processes", "--workers", "1"]) == 0
    status = collections.Counter(json.loads(line)["status"] for line in capsys.readouterr().out.splitlines())
    assert set(status) == {"ok", "skipped"} and status["skipped"] >= len(told) - len(outcome.failed) >= 2


def test_future_key_tells_folders():
    """At one scheduler a job has one name for each folder of results: another command's job is not taken for it."""
    job = Job(name="arm", file="/shots/arm.shot.thew", kind="shot")
    here, again, there = (Call(job, folder) for folder in ("/a/out", "/a/out", "/b/out"))
    assert cluster.future_key(here) == cluster.future_key(again) != cluster.future_key(there)
    assert cluster.future_key(here) != cluster.future_key(Call(replace(job, settings={"rate": 300.0}), "/a/out"))


def test_fault_of_answer_loses_no_job(tmp_path, monkeypatch):
    """Where Dask fails while it is asked what became of a job, that job too gets a record."""
    calls = [Call(Job(name=name, file=str(tmp_path / "none.thew"), kind="shot"), str(tmp_path)) for name in "abc"]

    def fail(*_given):
        raise RuntimeError("no answer")

    with cluster.Cluster(None, 1, 1, 0) as machines:
        monkeypatch.setattr(machines, "_record", fail)
        ended = list(machines.run(calls))
    assert sorted(call.job.name for call, _ in ended) == ["a", "b", "c"]
    assert all(record.status == "failed" and "no answer" in record.message for _, record in ended)


@pytest.mark.skipif(os.name == "nt", reason="a script stands for Blender, and signals go to a group of processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("more", [[], ["--processes"]])
def test_workers_interrupted(tmp_path, number, more):
    """Ctrl-C, which a terminal sends to every process, and SIGTERM end the workers of this machine in one sentence, with their Blenders."""
    (tmp_path / "hero.blend").write_bytes(b"BLENDER")
    (tmp_path / "jobs.csv").write_text("file\nhero.blend\n")
    blender, pipe = tmp_path / "blender", tmp_path / "pipe"
    os.mkfifo(pipe)
    # It holds the pipe open until it ends, and would do so for ever.
    code = f"import signal\npipe = open({str(pipe)!r}, 'w')\nprint('ready', file=pipe, flush=True)\nsignal.pause()\n"
    blender.write_text(f"#!{sys.executable}\n{code}")
    blender.chmod(0o755)
    words = [sys.executable, "-m", "thew", "farm", "run", "jobs.csv", "--out", "out", "--workers", "1"]
    words += ["--blender", str(blender), *more]
    package = {**os.environ, "PYTHONPATH": str(Path(thew.__file__).parents[1])}
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        env=package,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    ) as process:
        with pipe.open() as told:
            assert told.readline() == "ready\n"
            os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
            assert told.read() == ""  # the end of the pipe is that of Blender
        out, error = process.communicate()
    assert process.returncode == 130 and out == "" and error.startswith("Stopped; 0 results") and error.count("\n") == 1
    assert not hidden(tmp_path / "out")

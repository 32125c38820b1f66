# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m thew farm run` by processes: results, exit statuses, parts, sheets, Blender, killed workers. Dask: `test_farm_cluster.py`."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import shapes
import thew
from farming import heed_interrupts, hidden, records, run
from thew import farm
from thew.__main__ import main
from thew.farm import blends, manifest, processes, running
from thew.farm.jobs import Call, Job
from thew.farm.processes import Processes


def test_run_results_manifest_and_again(shots, tmp_path, capsys):
    """Results are those of a simulation in this process; the manifest has their hashes; present ones are skipped, damaged ones made."""
    rows = "file,rate,target\nanna.shot.thew,300,clip+pc2+mdd\nbad.shot.thew,,\nbert.shot.thew,,\nmissing.shot.thew,,\n"
    assert run(shots, rows, tmp_path, "--json") == 2
    told = records(capsys)
    assert {name: record["status"] for name, record in told.items()} == {
        "anna": "ok", "bert": "ok", "bad": "failed", "missing": "failed",
    }  # fmt: skip
    alone = thew.Shot.load(shots / "anna.shot.thew").replace(rate=300.0).simulate()
    alone.save(tmp_path / "alone.thew")
    assert (tmp_path / "anna.clip.thew").read_bytes() == (tmp_path / "alone.thew").read_bytes()
    np.testing.assert_array_equal(thew.bakes.read_pc2(tmp_path / "anna.pc2")[0], np.asarray(alone))
    anna = told["anna"]
    assert [each["path"] for each in anna["outputs"]] == ["anna.clip.thew", "anna.pc2", "anna.mdd"]
    for each in anna["outputs"]:
        assert each["bytes"] == (tmp_path / each["path"]).stat().st_size and len(each["sha256"]) == 64
    assert anna["frames"] == 4 and anna["worst_frame"]["frame"] == int(np.argmax(alone.max_skin_deviations))
    assert "bad.shot.thew" in told["bad"]["message"] and "cannot be read" in told["missing"]["message"]
    lines = [json.loads(line) for line in (tmp_path / "manifest.jsonl").read_text().splitlines()]
    assert {line["name"]: line for line in lines} == told and not hidden(tmp_path)

    with (tmp_path / "bert.clip.thew").open("ab") as file:
        file.write(b"damage")
    assert run(shots, rows.replace("300", "301"), tmp_path, "--json") == 2
    assert {record["status"] for record in records(capsys).values()} == {"ok", "failed"}
    assert run(shots, rows.replace("300", "301"), tmp_path, "--json") == 2
    assert sorted(record["status"] for record in records(capsys).values()) == ["failed", "failed", "skipped", "skipped"]
    assert run(shots, "file\nbert.shot.thew\n", tmp_path, "--json", "--again") == 0
    assert records(capsys)["bert"]["status"] == "ok"


def test_run_exit_status_and_lines(shots, tmp_path, capsys):
    """The exit status is 0 for all, 2 for some, 1 for none; failures are listed at the end."""
    assert run(shots, "file\nanna.shot.thew\n", tmp_path) == 0
    out = capsys.readouterr().out
    assert out.startswith("[1/1] anna: 4 frames, ") and "1 of 1 jobs are done" in out
    assert run(shots, "file\nanna.shot.thew\nbad.shot.thew\n", tmp_path) == 2
    told = capsys.readouterr()
    assert "it was present" in told.out and told.err.splitlines()[-2] == "1 failed:" and "bad: " in told.err
    assert run(shots, "file\nbad.shot.thew\n", tmp_path, "--quiet") == 1
    assert capsys.readouterr().out == ""
    with pytest.raises(SystemExit) as end:
        main(["farm", "run"])
    assert end.value.code == 1
    with pytest.raises(SystemExit) as end:
        main(["farm", "run", "x.csv", "--out", "y", "--workers", "0"])
    assert end.value.code == 1 and "choose 1 to 1024" in capsys.readouterr().err


def test_run_rehearsal(shots, tmp_path, capsys):
    """A dry run lists what would be done and changes nothing."""
    assert (
        run(shots, "file,rate\nanna.shot.thew,300|480\nbad.shot.thew,fast\n", tmp_path / "out", "--dry-run", "--json")
        == 2
    )
    told = records(capsys)
    assert [record["status"] for record in told.values()] == ["planned", "planned", "failed"]
    assert told["anna_rate-300"]["inputs"]["settings"] == {"rate": 300.0} and not (tmp_path / "out").exists()


def test_run_parts(shots, tmp_path, capsys):
    """Parts of a table share a folder, each with a manifest; the whole table then finds all present and draws the sheet."""
    rows = "file,rate\nanna.shot.thew,300|310|320\nbert.shot.thew,\n"
    for part, count in (("1/3", 2), ("2/3", 1), ("3/3", 1)):
        assert run(shots, rows, tmp_path, "--part", part, "--json") == 0
        assert len(records(capsys)) == count
        assert (tmp_path / f"manifest.{part.replace('/', '-of-')}.jsonl").is_file()
    assert not list(tmp_path.glob("*.png"))
    assert run(shots, rows, tmp_path, "--json") == 0
    assert [record["status"] for record in records(capsys).values()] == ["skipped"] * 4
    assert (tmp_path / "anna.sheet.png").is_file()
    assert run(shots, rows, tmp_path, "--part", "5/5") == 1
    assert "the table has 4 jobs" in capsys.readouterr().err
    for word in ("0/3", "4/3", "3"):
        with pytest.raises(SystemExit):
            run(shots, rows, tmp_path, "--part", word)


def test_results_shared_by_parts(tmp_path):
    """Parts work side by side and leave each other's unfinished results alone; the whole table and the same part wait."""
    mine, theirs = (Job(name, f"/{name}", "shot", digest=name) for name in "ab")
    unfinished = tmp_path / f".b.{theirs.key[:8]}.12345678.thew-part"
    unfinished.mkdir()
    with manifest.Results(tmp_path, "1/2", [mine]), manifest.Results(tmp_path, "2/2", []):
        assert unfinished.exists()
        for part in ("1/2", ""):
            with pytest.raises(thew.StorageError, match="another command"), manifest.Results(tmp_path, part):
                pass
    with manifest.Results(tmp_path, "2/2", [theirs]):
        assert not unfinished.exists()
    with (
        manifest.Results(tmp_path),
        pytest.raises(thew.StorageError, match="another command"),
        manifest.Results(tmp_path, "1/2"),
    ):
        pass


def test_run_wedge_sheet(shots, tmp_path, capsys):
    """A row with a range gives a sheet: plain skin, then a row for each value, which differ in colour and shape."""
    from PIL import Image

    rows = "file,gravity\nanna.shot.thew,0 0 0|0 0 -40\nbert.shot.thew,\n"
    assert run(shots, rows, tmp_path) == 0
    (sheet,) = tmp_path.glob("*.png")
    assert f"Contact sheet: {sheet}" in capsys.readouterr().out and sheet.name == "anna.sheet.png"
    picture = np.asarray(Image.open(sheet).convert("RGB"), float)
    rows = picture[-3 * farm.running.sheets.EDGE :, farm.running.sheets.LABEL :].reshape(
        3, farm.running.sheets.EDGE, -1, 3
    )
    # Paper and grey skin are hardly blue; flesh is the bluer the farther it is from its skin.
    blue = [float((row[..., 2] - row[..., 0] - 20.0).clip(0).sum()) for row in rows]
    assert blue[0] == 0.0 and blue[2] > 2.0 * blue[1]
    assert np.abs(rows[2] - rows[1]).max() > 50.0 and all((row < 200).any() for row in rows)
    before = sheet.read_bytes()
    assert run(shots, "file,gravity\nanna.shot.thew,0 0 0|0 0 -40\n", tmp_path) == 0
    assert sheet.read_bytes() == before
    sheet.write_bytes(before[:-30])
    assert run(shots, "file,gravity\nanna.shot.thew,0 0 -40|0 0 0\n", tmp_path) == 0
    assert sheet.read_bytes() != before and Image.open(sheet).size == (picture.shape[1], picture.shape[0])


def test_run_killed_worker(shots):
    """A job whose worker is killed fails with a sentence where no try is left. A folder that is gone is told too."""
    digests = [str(number) for number in range(60)]  # more than end before the kill
    jobs = [Job(digest, str(shots / "anna.shot.thew"), "shot", digest=digest) for digest in digests]
    with Processes(1, retries=0) as workers:
        running_jobs = workers.run([Call(job, "/nowhere/at/all") for job in jobs])
        ended = [next(running_jobs)]
        os.kill(workers.pids()[0], getattr(signal, "SIGKILL", signal.SIGTERM))
        ended += running_jobs
    assert sorted(call.job.name for call, _ in ended) == sorted(digests)
    assert all(record.status == "failed" for _, record in ended)
    told = [record.message for _, record in ended]
    assert "cannot be written" in told[0]
    # One is lost with its worker: that under way, or the next one if the kill comes between two.
    lost = [message for message in told if "its worker ended once" in message]
    assert len(lost) == 1 and all("cannot be written" in message for message in told if message not in lost)


@pytest.mark.skipif(os.name == "nt", reason="Windows ends other processes without a word")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_interrupted(shots, tmp_path, number):
    """A command that is told to end ends its workers, keeps what is done, leaves nothing half written, and goes on from there."""
    ranges = "|".join(str(rate) for rate in range(300, 340))
    (tmp_path / "jobs.csv").write_text(f"file,rate\n{shots / 'anna.shot.thew'},{ranges}\n")
    words = [
        sys.executable,
        "-m",
        "thew",
        "farm",
        "run",
        "jobs.csv",
        "--out",
        "out",
        "--processes",
        "--workers",
        "2",
        "--json",
    ]
    package = {**os.environ, "PYTHONPATH": str(Path(thew.__file__).parents[1])}
    with subprocess.Popen(
        words, cwd=tmp_path, env=package, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pipesize=4096,
        preexec_fn=heed_interrupts,
    ) as process:  # fmt: skip
        told = [process.stdout.readline() for _ in range(3)]
        for _ in range(2):  # the second one, of an impatient hand, does not disturb the end
            process.send_signal(number)
        told += process.stdout.readlines()
        error = process.stderr.read()
    assert process.returncode == 130, error
    assert "the same command goes on from there" in error and "Traceback" not in error
    kept = {json.loads(line)["name"] for line in told}
    assert len(kept) < 40 and not hidden(tmp_path / "out")
    assert kept <= {path.name.removesuffix(".clip.thew") for path in (tmp_path / "out").glob("*.clip.thew")}
    again = main(["farm", "run", str(tmp_path / "jobs.csv"), "--out", str(tmp_path / "out"), "--dry-run", "--quiet"])
    assert again == 0


#: Runs two jobs, and prints for the worker of each, then for the command, whether SIGINT is blocked.
MASKS = """
import re, signal
from pathlib import Path
from thew.farm import processes
from thew.farm.jobs import Call, Job

def blocks(number):
    mask = re.search(r"SigBlk:\\s*(\\w+)", Path(f"/proc/{number}/status").read_text())
    return bool(int(mask[1], 16) & 1 << (signal.SIGINT - 1))

masks = []

class Watched(processes._Worker):
    def do(self, call):
        masks.append(blocks(self.process.pid))
        return super().do(call)

if __name__ == "__main__":
    processes._Worker = Watched
    with processes.Processes(2, retries=0) as workers:
        calls = [Call(Job(name, "/no/shot", "shot"), "/nowhere/at/all") for name in ("one", "two")]
        assert len(list(workers.run(calls))) == 2
    print(*masks, blocks("self"))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the masks of signals from /proc")
def test_worker_deaf_to_interrupts(tmp_path):
    """A worker never hears Ctrl-C, which a terminal sends to all: it is blocked from its birth on, not only once it has imported Thew.

    That holds for the first worker of a command too, beside which Python starts a process of its own.
    """
    (tmp_path / "masks.py").write_text(MASKS)
    ran = subprocess.run([sys.executable, str(tmp_path / "masks.py")], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["True", "True", "False"], ran.stderr


@pytest.mark.parametrize("given", [None, "1000000"])
def test_worker_memory_bound(monkeypatch, given):
    """Workers bound the freed memory that they keep, by the user's bound where there is one; the environment is as before afterwards."""
    name = "MALLOC_TRIM_THRESHOLD_"
    monkeypatch.delenv(name, raising=False) if given is None else monkeypatch.setenv(name, given)
    with Processes(1, 0), processes._CONTEXT.Pool(1) as started:
        assert started.apply(os.getenv, (name,)) == (given or processes.ENVIRONMENT[name])
    assert os.environ.get(name) == given


def test_worker_ended_by_two(monkeypatch):
    """Threads that end a worker at the same time, as an interrupt does, close each pipe one after the other. None starts afterwards."""
    inside = threading.Barrier(2)

    class Slow:
        """A pipe whose `close` waits for another thread to be in it too."""

        met = False

        def close(self):
            with contextlib.suppress(threading.BrokenBarrierError):
                inside.wait(0.2)
                self.met = True

    with Processes(1, retries=0) as workers:
        list(workers.run([Call(Job("one", "/no/shot", "shot"), "/nowhere/at/all")]))
        worker = processes._Worker()
        pipes = worker.pipe, worker.leash
        worker.pipe, worker.leash = Slow(), Slow()
        threads = [threading.Thread(target=worker._close, args=(worker.leash,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not worker.leash.met
        worker.pipe, worker.leash = pipes
        assert [worker.end(at_once=True), worker.end()] == [1, 1]
    monkeypatch.setattr(processes, "_Worker", lambda: pytest.fail("a worker after the end"))
    record = workers._do(0, Call(Job("two", "/no/shot", "shot"), "/nowhere/at/all"))
    assert record.status == "failed" and "its worker ended" in record.message


#: A script without a guard, as it is first written.
UNGUARDED = """
from pathlib import Path
from thew import farm
outcome = farm.run(Path("jobs.csv"), Path("out"), farm.Options(workers=1, processes={processes}))
print(*(record.message for record in outcome.records), sep="\\n")
raise SystemExit(outcome.exit_status)
"""


def test_script_without_guard(shots, tmp_path):
    """A script that runs the farm without a guard is told of it by one sentence, and its workers do not run the table again."""
    (tmp_path / "jobs.csv").write_text(f"file,rate\n{shots / 'anna.shot.thew'},300|310\n")
    (tmp_path / "script.py").write_text(UNGUARDED.format(processes=True))
    package = {**os.environ, "PYTHONPATH": str(Path(thew.__file__).parents[1])}
    words = [sys.executable, "script.py"]
    ran = subprocess.run(words, cwd=tmp_path, env=package, capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and ran.stderr == ""
    assert ran.stdout.splitlines() == 2 * [processes.UNGUARDED_SENTENCE]
    assert len((tmp_path / "out" / "manifest.jsonl").read_text().splitlines()) == 2


def test_missing_package_remedy(shots, tmp_path, capsys, monkeypatch):
    """The way to install a missing package names this Python's program; in Blender there is another way beside it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    rows = "file,gravity\nanna.shot.thew,0 0 0|0 0 -40\n"
    assert run(shots, rows, tmp_path) == 0
    told = capsys.readouterr().err
    assert f"{sys.executable} -m pip install pillow" in told and "Blender" not in told
    monkeypatch.setitem(sys.modules, "bpy", None)
    assert run(shots, rows, tmp_path) == 0
    assert "or use python -m thew farm in a Python that has it" in capsys.readouterr().err


def test_fault_lines(shots, capsys):
    """A fault is told with its row and its name, once each."""
    table = "[[job]]\nrate = 300\n[[job]]\nfile = 'bad.shot.thew'\n"
    assert run(shots, table, shots / "out", name="jobs.toml") == 1
    first, second = capsys.readouterr().err.splitlines()[-2:]
    assert first == "  job 1: it names no file: give it a .blend or a shot."
    assert second.startswith("  bad: job 2: ")


def test_blend_without_blender(shots, tmp_path, capsys, monkeypatch):
    """Rows with a .blend fail by a sentence where there is no Blender; shots beside them are done."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("THEW_BLENDER", raising=False)
    (shots / "hero.blend").write_bytes(b"BLENDER")
    rows = "file,object\nhero.blend,Body\nanna.shot.thew,\n"
    assert run(shots, rows, tmp_path / "out", "--json") == 2
    assert "a .blend needs Blender" in records(capsys)["hero.Body"]["message"]
    assert run(shots, rows, tmp_path / "out", "--json", "--blender", "/no/blender") == 2
    assert "there is no Blender /no/blender" in records(capsys)["hero.Body"]["message"]


@pytest.mark.skipif(os.name == "nt", reason="a script stands for Blender")
def test_blend_by_program(shots, tmp_path, capsys):
    """A program is given Blender's words and settings; its lines become the record, and what it says on a failure the message."""
    blender = tmp_path / "blender"
    report = json.dumps(
        {"name": "Body", "text": "8 keys", "done": True, "frames": 8, "worst_frame": {"frame": 3, "distance": 0.1}}
    )
    blender.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "if 'none' in ' '.join(sys.argv):\n    sys.exit('Nothing moves here.')\n"
        f"open(sys.argv[sys.argv.index('--out') + 1], 'w').write(' '.join(sys.argv[1:]))\nprint('Blender 9')\nprint({report!r})\n"
    )
    blender.chmod(0o755)
    (shots / "hero.blend").write_bytes(b"BLENDER")
    rows = "file,object,frames,action,method,rate\nhero.blend,Body,1 8,,warped,300\nhero.blend,Body,,Walk,,\nhero.blend,none,,,,\n"
    assert run(shots, rows, tmp_path / "out", "--json", "--blender", str(blender), "--threads", "3") == 2
    told = records(capsys)
    assert told["hero.none"]["message"] == "Nothing moves here"
    assert run(shots, "file\nhero.blend\n", tmp_path / "other", "--json", "--blender", "true") == 1
    assert "true ended with status 0 and told nothing: check" in records(capsys)["hero"]["message"]
    done, action = told["hero.Body"], told["hero.Body.Walk"]
    assert done["status"] == "ok" and done["frames"] == 8 and done["worst_frame"]["frame"] == 3
    words = (tmp_path / "out" / done["outputs"][0]["path"]).read_text()
    assert words.startswith(f"--command thew bake {shots / 'hero.blend'} --out ")
    for option in (
        "--json",
        "--threads 3",
        "--frames 1 8",
        '--set method="warped"',
        "--set rate=300.0",
    ):
        assert option in words
    assert (
        "--actions Walk" in (tmp_path / "out" / action["outputs"][0]["path"]).read_text() and "--actions" not in words
    )


@pytest.mark.skipif(os.name == "nt", reason="a script stands for Blender")
def test_run_timeout(arm, tmp_path, capsys):
    """A job that takes too long is given up, be it a simulation or a Blender, and leaves nothing."""
    poses = np.repeat(shapes.bend(0.3)[None], 2000, axis=0)
    thew.Shot(arm.body, poses, 24, method="warped", rate=5000.0).save(tmp_path / "long.shot.thew")
    (tmp_path / "stuck.blend").write_bytes(b"BLENDER")
    blender = tmp_path / "blender"
    blender.write_text(f"#!{sys.executable}\nimport signal\nsignal.pause()\n")
    blender.chmod(0o755)
    assert (
        run(
            tmp_path,
            "file\nlong.shot.thew\nstuck.blend\n",
            tmp_path / "out",
            "--json",
            "--blender",
            str(blender),
            "--timeout",
            "1",
        )
        == 1
    )
    assert all("given up after 1 s" in record["message"] for record in records(capsys).values())
    assert not hidden(tmp_path / "out")


def test_worker_environment(shots):
    """The number of workers and threads shares the processors out, and never leaves a job without one."""
    workers, threads = running.default_workers(100, farm.Options())
    assert workers >= 1 and threads >= 1 and workers * threads <= max(os.cpu_count(), workers)
    assert running.default_workers(1, farm.Options(workers=8))[0] == 1
    assert running.default_workers(9, farm.Options(workers=2, threads=5)) == (2, 5)


def test_blend_warnings_name_their_mesh(tmp_path, monkeypatch):
    """A warning of one mesh of a character names it; that of the job's own object needs no name."""
    (tmp_path / "hero.blend").touch()

    def say(words, _timeout):
        reports = [{"name": name, "text": "", "done": True, "notes": [f"note {k}"]} for k, name in enumerate("AB")]
        return 0, [json.dumps(report) for report in reports], []

    monkeypatch.setattr(blends, "_run", say)
    for name, warnings in (("", ["A: note 0", "B: note 1"]), ("A", ["note 0", "B: note 1"])):
        job = Job("hero", str(tmp_path / "hero.blend"), "blend", object=name, targets=("helper_bones",))
        assert blends.bake(Call(job, str(tmp_path), blender=("blender",)), tmp_path).warnings == warnings

# SPDX-License-Identifier: MIT OR Apache-2.0
"""`python -m thew farm run`: tables, jobs by processes, the manifest, wedges and what can go wrong. Dask: test_farm_cluster.py."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import shapes
import thew
from thew import farm
from thew.__main__ import main
from thew.farm import columns, manifest, plan, running, table
from thew.farm.jobs import Call, Job
from thew.farm.processes import Processes


@pytest.fixture(scope="module")
def shots(arm, tmp_path_factory):
    """Writes shots of four frames into a folder, one of them damaged."""
    folder = tmp_path_factory.mktemp("shots")
    poses = np.array([shapes.bend(0.6 * np.sin(0.5 * frame)) for frame in range(4)])
    for name in ("anna", "bert"):
        thew.Shot(arm.body, poses, 24, method="warped", name=name).save(folder / f"{name}.shot.thew")
    (folder / "bad.shot.thew").write_bytes((folder / "anna.shot.thew").read_bytes()[:-9])
    return folder


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


def hidden(folder):
    """Returns the files that a run left beside results, manifest and journal."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".") and path.name != ".thew-farm"]


# tables ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "\ufefffile;rate; gravity ;target\n\n# a note;;;\nanna.shot.thew;300;0 0 -3.5;pc2\n;;;\n"),
        ("b.csv", 'file,rate,gravity,target\nanna.shot.thew,300,"0, 0, -3.5",clip+pc2\n'),
        (
            "c.toml",
            '[defaults]\nrate = 300\n[[job]]\nfile = "anna.shot.thew"\ngravity = [0, 0, -3.5]\ntarget = "pc2"\n',
        ),
    ],
)
def test_table_same_job(shots, name, text):
    """CSV with any separator and TOML with defaults give the same job, in the settings' own types."""
    (job,) = jobs_of(shots, text, name)
    assert not job.error and job.file == str(shots / "anna.shot.thew") and job.name == "anna"
    assert job.settings == {"rate": 300.0, "gravity": (0.0, 0.0, -3.5)} and job.targets == ("clip", "pc2")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("elastic_joint=1", "is it “elastic_joints”?"),
        ("ojbect=Body", "is it “object”?"),
        ("object=Body", "a shot holds one object"),
        ("cells_across=9", "is built into a shot"),
        ("rate=fast", "“fast” is not a number"),
        ("rate=-1", "rate must be between"),
        ("rate=none", "rate cannot be none"),
        ("gravity=1 2", "is not 3 numbers"),
        ("method=magic", "magic"),
        ("cyclic=maybe", "true or false"),
        ("modes=1.5", "is not a whole number"),
        ("softness=2", "choose 0 to 1"),
        ("frames=9", "first and the last"),
        ("frames=9 2", "the last comes before"),
        ("target=pc3", "take pc2"),
        ("out=" + 50 * "name", "a short one"),
        ("out=a|b", "several values"),
    ],
)
def test_table_faulty_row(shots, row, told):
    """A row with a fault becomes a job that says so, and the rows beside it are jobs as before."""
    name, _, value = row.partition("=")
    good, bad = jobs_of(shots, f"file,{name}\nanna.shot.thew,\nbert.shot.thew,{value}\n")
    assert not good.error and good.name == "anna"
    assert told in bad.error and bad.error.startswith("line 3: ")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("missing.csv", None, "cannot be read"),
        ("a.csv", "", "no column “file”|holds no job"),
        ("a.csv", "name,rate\nx,1\n", "no column “file”"),
        ("a.csv", "file,rate,rate\nx,1,2\n", "twice"),
        ("a.csv", "file\nx,1\n", "2 cells for 1 columns"),
        ("a.toml", "[[jobs]]\nfile = 'x'\n", "“jobs” is unknown"),
        ("a.toml", "file = ", "a.toml: "),
        ("a.toml", "job = 3\n", "rows are"),
    ],
)
def test_table_refused(tmp_path, capsys, name, text, told):
    """A file that is no table is refused by a sentence, and no folder is made."""
    if text is not None:
        (tmp_path / name).write_text(text)
    assert main(["farm", "run", str(tmp_path / name), "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert (
        any(word in error for word in told.split("|")) and "Traceback" not in error and not (tmp_path / "out").exists()
    )


def test_plan_ranges(shots):
    """Ranges are multiplied; names hold the values of the ranges alone, in the table's order."""
    text = (
        '[[job]]\nfile = "anna.shot.thew"\nrate = [300, 480.5]\nmethod = "warped"\ngravity = [[0, 0, 1], [0, 0, -1]]\n'
    )
    jobs = jobs_of(shots, text, "ranges.toml")
    assert [job.name for job in jobs] == [
        "anna_rate-300_gravity-0_0_1", "anna_rate-300_gravity-0_0_-1",
        "anna_rate-480.5_gravity-0_0_1", "anna_rate-480.5_gravity-0_0_-1",
    ]  # fmt: skip
    assert {job.wedge for job in jobs} == {"anna"} and jobs[3].chosen == {"rate": 480.5, "gravity": (0.0, 0.0, -1.0)}
    same = jobs_of(shots, "file,rate,gravity,method\nanna.shot.thew,300|480.5,0 0 1|0 0 -1,warped\n")
    assert [job.name for job in same] == [job.name for job in jobs]


def test_plan_too_many(shots):
    """A range that makes more jobs than anyone plans is refused before they are made."""
    text = '[[job]]\nfile = "anna.shot.thew"\n' + "\n".join(
        f"{name} = {list(range(1, 30))}" for name in ("rate", "mass_damping", "preroll")
    )
    (job,) = jobs_of(shots, text, "many.toml")
    assert "make 24389 jobs" in job.error


def test_plan_patterns_and_names(shots):
    """A pattern takes all files that it finds; two rows with one result are told apart or refused."""
    jobs = jobs_of(shots, "file,rate,out\n*.shot.thew,300,\nanna.shot.thew,480,\nanna.shot.thew,480,other\n*.nix,,\n")
    assert [job.name for job in jobs if not job.error] == ["anna", "bad", "bert", "other"]
    twice, none = (job for job in jobs if job.error)
    assert "is that of line 2 too" in twice.error and "no file is called" in none.error


def test_label_tells_values_apart():
    """Labels of different numbers differ, and hold nothing that a file's name should not have."""
    values = [0.1, 0.1 + 1e-12, 1e-9, -3.0, (1.0, 2.5), None, True, "a/b c:d"]
    labels = [columns.label(value) for value in values]
    assert len(set(labels)) == len(labels) and all(
        set(label) <= set("0123456789abcdefghijklmnopqrstuvwxyz+-._") for label in labels
    )


def test_key_depends_on_inputs(shots):
    """The key of a job changes with the file's bytes and every setting, and with neither its name nor its place."""
    base = Job("a", "/x/a.shot.thew", "shot", settings={"rate": 300.0}, digest="1")
    same = Job("b", "/y/b.shot.thew", "shot", settings={"rate": 300.0}, digest="1", row="line 9")
    others = [
        Job("a", "/x/a.shot.thew", "shot", settings={"rate": 300.0}, digest="2"),
        Job("a", "/x/a.shot.thew", "shot", settings={"rate": 301.0}, digest="1"),
        Job("a", "/x/a.shot.thew", "shot", settings={"rate": 300.0}, digest="1", frames=(1, 2)),
        Job("a", "/x/a.shot.thew", "shot", settings={"rate": 300.0}, digest="1", targets=("clip", "pc2")),
    ]
    assert base.key == same.key and len({base.key, *(job.key for job in others)}) == 5


# runs -----------------------------------------------------------------------------------------------------------------


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
    calls = [
        Call(Job(name, str(shots / f"{name}.shot.thew"), "shot", digest=name), "/nowhere/at/all")
        for name in ("anna", "bert")
    ]
    with Processes(1, retries=0) as workers:
        running_jobs = workers.run(calls)
        first = next(running_jobs)
        assert "cannot be written" in first[1].message
        os.kill(workers.pids()[0], getattr(signal, "SIGKILL", signal.SIGTERM))
        call, record = next(running_jobs)
    # The second job was under way, or over, when its worker was killed.
    assert call is calls[1] and record.status == "failed"
    assert "its worker ended once" in record.message or "cannot be written" in record.message


@pytest.mark.skipif(os.name == "nt", reason="Windows ends other processes without a word")
def test_run_interrupted(shots, tmp_path):
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
        words, cwd=tmp_path, env=package, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pipesize=4096
    ) as process:
        told = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGTERM)
        told += process.stdout.readlines()
        error = process.stderr.read()
    assert process.returncode == 130 and "the same command goes on from there" in error and "Traceback" not in error
    kept = {json.loads(line)["name"] for line in told}
    assert len(kept) < 40 and not hidden(tmp_path / "out")
    assert kept <= {path.name.removesuffix(".clip.thew") for path in (tmp_path / "out").glob("*.clip.thew")}
    again = main(["farm", "run", str(tmp_path / "jobs.csv"), "--out", str(tmp_path / "out"), "--dry-run", "--quiet"])
    assert again == 0


# the folder of results ------------------------------------------------------------------------------------------------


def test_run_full_disk(shots, tmp_path):
    """Results that the disk does not take fail by a sentence and leave nothing; smaller ones beside them are kept."""
    pytest.importorskip("resource")
    (tmp_path / "jobs.csv").write_text(f"file,target\n{shots / 'anna.shot.thew'},\n")
    code = (
        "import resource, sys\n"
        "from thew.__main__ import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
        "sys.exit(main(['farm', 'run', 'jobs.csv', '--out', 'out', '--processes']))\n"
    )
    file = tmp_path / "limited.py"
    file.write_text(f"if __name__ == '__main__':\n    {code.replace(chr(10), chr(10) + '    ')}\n")
    package = {**os.environ, "PYTHONPATH": str(Path(thew.__file__).parents[1])}
    for limit, told in ((20_000, "cannot be written"), (200, "manifest.jsonl cannot be written")):
        words = [sys.executable, str(file), str(limit)]
        done = subprocess.run(words, cwd=tmp_path, env=package, capture_output=True, text=True)
        assert done.returncode == 1 and told in done.stderr and "Traceback" not in done.stderr, done.stderr
        assert not hidden(tmp_path / "out") and not list((tmp_path / "out").glob("*.thew"))
    lines = (tmp_path / "out" / "manifest.jsonl").read_text().splitlines()
    assert [json.loads(line)["status"] for line in lines] == ["failed"]


def test_results_locked(tmp_path):
    """A second command on the same folder is refused while the first one works."""
    with (
        manifest.Results(tmp_path),
        pytest.raises(thew.StorageError, match="another command"),
        manifest.Results(tmp_path),
    ):
        pass
    with manifest.Results(tmp_path):
        pass


def test_results_unwritable(tmp_path, shots, capsys):
    """A folder that cannot be made is refused before the work."""
    (tmp_path / "file").write_text("")
    assert run(shots, "file\nanna.shot.thew\n", tmp_path / "file" / "out") == 1
    assert "choose another one with --out" in capsys.readouterr().err


def record_of(folder, name):
    """Returns the record of a job whose result exists."""
    path = folder / f"{name}.clip.thew"
    path.write_bytes(name.encode())
    record = farm.Record.of(Job(name, f"/{name}", "shot", digest=name), "ok")
    record.outputs = [{"path": path.name, "sha256": manifest.digest_file(path), "bytes": path.stat().st_size}]
    return record


def test_results_torn_line(tmp_path):
    """A line that a crash cut off costs itself alone: what is appended after it stands on a line of its own."""
    with manifest.Results(tmp_path) as results:
        assert results.add(record_of(tmp_path, "a"))
    with results.file.open("a") as file:
        file.write('{"key": "half')
    with manifest.Results(tmp_path) as results:
        assert results.add(record_of(tmp_path, "b"))
    with manifest.Results(tmp_path) as results:
        for name in "ab":
            assert results.present(Job(name, f"/elsewhere/{name}", "shot", digest=name)) is not None
        assert results.present(Job("a", "/a", "shot", digest="other")) is None
        assert results.present(Job("c", "/a", "shot", digest="a")) is None


def test_results_journal(tmp_path):
    """What a worker finished after its command had ended is entered by the next one; unfinished results are removed."""
    whole, broken = record_of(tmp_path, "a"), record_of(tmp_path, "b")
    (tmp_path / "b.clip.thew").write_bytes(b"something else")
    journal = tmp_path / ".thew-farm"
    journal.mkdir()
    for record in (whole, broken):
        (journal / f"{record.key}.{record.name}.json").write_text(record.as_json())
    (tmp_path / ".c.12345678.0.thew-part").mkdir()
    with manifest.Results(tmp_path) as results:
        assert results.present(Job("a", "/a", "shot", digest="a")).as_json() == whole.as_json()
        assert results.present(Job("b", "/b", "shot", digest="b")) is None
    assert not hidden(tmp_path) and not list(journal.glob("*.json"))
    assert [json.loads(line)["name"] for line in results.file.read_text().splitlines()] == ["a"]


def test_results_full_disk_waits(tmp_path, monkeypatch):
    """Records that the disk refuses wait in memory and are appended with the next one."""
    whole = manifest._append

    def refuse(_file, _lines):
        raise OSError(28, "No space left on device")

    with manifest.Results(tmp_path) as results:
        monkeypatch.setattr(manifest, "_append", refuse)
        assert not results.add(record_of(tmp_path, "a"))
        monkeypatch.setattr(manifest, "_append", whole)
        assert results.add(record_of(tmp_path, "b"))
    assert [json.loads(line)["name"] for line in results.file.read_text().splitlines()] == ["a", "b"]


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


def test_worker_environment(shots):
    """The number of workers and threads shares the processors out, and never leaves a job without one."""
    workers, threads = running.default_workers(100, farm.Options())
    assert workers >= 1 and threads >= 1 and workers * threads <= max(os.cpu_count(), workers)
    assert running.default_workers(1, farm.Options(workers=8))[0] == 1
    assert running.default_workers(9, farm.Options(workers=2, threads=5)) == (2, 5)


def test_csv_of_spreadsheet(shots):
    """A table written by Python's csv module is read with its quotes."""
    file = shots / "quoted.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["file", "out"], ["anna.shot.thew", 'a "b", c']])
    (job,) = plan.plan_jobs(table.read_table(file), shots)
    assert job.name == "a_b_c"

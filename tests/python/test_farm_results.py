# SPDX-License-Identifier: MIT OR Apache-2.0
"""The folder of a farm's results: manifest, journal, locks, full disks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import thew
from farming import hidden, run
from thew import farm
from thew.farm import manifest
from thew.farm.jobs import Job


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
    record = farm.Record.from_job(Job(name, f"/{name}", "shot", digest=name), "ok")
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
            assert results.find_present(Job(name, f"/elsewhere/{name}", "shot", digest=name)) is not None
        assert results.find_present(Job("a", "/a", "shot", digest="other")) is None
        assert results.find_present(Job("c", "/a", "shot", digest="a")) is None


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
        assert results.find_present(Job("a", "/a", "shot", digest="a")).as_json() == whole.as_json()
        assert results.find_present(Job("b", "/b", "shot", digest="b")) is None
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

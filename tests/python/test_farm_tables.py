# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables of the farm: CSV and TOML, columns, ranges, names and keys of jobs."""

import csv
from types import SimpleNamespace

import pytest
import thew
from farming import jobs_of
from thew.__main__ import main
from thew.farm import columns, plan, running, table
from thew.farm import shots as farm_shots
from thew.farm.jobs import Job


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
        ("rate=fast", "“fast” is not a number; several values stand as"),
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
        ("out=../../evil", "leave folders out"),
        ("out=C:\\evil", "leave folders out"),
        ("softness=0.3|0.30", "has the value 0.3 more than once"),
        ("softness=0.3..0.9", "several values stand as 0.3|0.5 in CSV"),
        ('softness="0,5"', "write 0.5"),
        ('rate="300,400"', "several values stand as"),
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


def test_plan_pattern_with_out(shots):
    """Each result of a pattern is called after `out` and its file, of however many files; a file by itself after `out` alone."""
    jobs = jobs_of(shots, "file,out,rate\n[ab]??*.shot.thew,take,\nann?.shot.thew,one,300|310\nanna.shot.thew,alone,\n")
    names = [job.name for job in jobs]
    assert names == ["take.anna", "take.bad", "take.bert", "one.anna_rate-300", "one.anna_rate-310", "alone"]
    assert not any(job.error for job in jobs) and jobs[2].file == str(shots / "bert.shot.thew")


def test_plan_pattern_in_folders(shots):
    """Two files of a pattern with one name: the second is refused by a sentence that names both, and a remedy that can be done."""
    (shots / "more").mkdir()
    (shots / "more" / "anna.shot.thew").write_bytes(b"")
    good, bad = jobs_of(shots, "file,out\n**/anna.shot.thew,take\n")
    assert good.name == "take.anna" and good.file == str(shots / "anna.shot.thew") and not good.error
    assert (
        bad.file == str(shots / "more" / "anna.shot.thew")
        and good.file in bad.error
        and "give each of them a row" in bad.error
    )


def test_faulty_rows_keys_and_inputs(shots):
    """Refused rows have keys of their own, also among jobs with the same inputs, and say what the table says."""
    rows = "anna.shot.thew,fast,\nbert.shot.thew,fast,\nanna.shot.thew,fast,\nanna.shot.thew,,\nanna.shot.thew,,\nnone.shot.thew,,\nnix.shot.thew,,"
    text = f"file,rate,frames\n{rows}\n*.shot.thew,slow,1 2\n"
    (shots / "faults.csv").write_text(text)
    jobs = running.read_jobs(shots / "faults.csv")
    assert len(jobs) == 8 and sum(not job.error for job in jobs) == 1 and len({job.key for job in jobs}) == 8
    assert jobs[1].inputs()["file"] == "bert.shot.thew" and jobs[1].inputs()["settings"] == {"rate": "fast"}
    assert jobs[4].inputs()["file"] == str(shots / "anna.shot.thew") and "is that of line 5 too" in jobs[4].error
    assert jobs[7].inputs()["settings"] == {"rate": "slow", "frames": "1 2"}
    (job,) = jobs_of(shots, "[[job]]\nfile = 'anna.shot.thew'\nrate = 2020-02-02\n", "dates.toml")
    assert job.inputs()["settings"] == {"rate": "2020-02-02"} and job.key


@pytest.mark.parametrize(("frames", "good"), [("0 3", True), ("1 4", False), ("-1 2", False), ("3 3", True)])
def test_plan_frames_of_shot(shots, frames, good):
    """Frames that a shot has not are refused with the row before any work, as a dry run says too; a shot that is none fails later."""
    (shots / "frames.csv").write_text(f"file,frames\nanna.shot.thew,{frames}\nbad.shot.thew,{frames}\n")
    anna, bad = running.read_jobs(shots / "frames.csv")
    assert not bad.error and bool(anna.error) is not good
    assert good or (anna.error.startswith("line 2: frames ") and "poses 0 to 3" in anna.error)
    assert len({record.key for record in running.rehearse(shots / "frames.csv", shots / "out")}) == 2


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


def test_csv_of_spreadsheet(shots):
    """A table written by Python's csv module is read with its quotes."""
    file = shots / "quoted.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["file", "out"], ["anna.shot.thew", 'a "b", c']])
    (job,) = plan.plan_jobs(table.read_table(file), shots)
    assert job.name == "a_b_c"


def test_job_settings_passed_on(monkeypatch):
    """A job changes its shot by `Shot.replace` alone: settings by name, softness with them, frames as a range with both ends."""
    asked = []

    class Fake:
        def replace(self, **changes):
            asked.append(changes)
            if "softness" not in changes:
                raise TypeError("frames")
            return self

    monkeypatch.setattr(farm_shots, "Shot", SimpleNamespace(load=lambda _file: Fake()))
    farm_shots.load(Job("a", "/a", "shot", settings={"softness": 0.7, "rate": 300.0}, frames=(2, 5)))
    assert asked == [{"softness": 0.7, "rate": 300.0, "frames": range(2, 6)}]
    with pytest.raises(thew.InputError, match="frames: this version of Thew cannot change"):
        farm_shots.load(Job("a", "/a", "shot", frames=(2, 5)))

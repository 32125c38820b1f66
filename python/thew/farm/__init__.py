# SPDX-License-Identifier: MIT OR Apache-2.0
"""Many simulations from one table, on this machine or on many: `python -m thew farm run TABLE --out FOLDER`.

    from thew import farm

    outcome = farm.run(Path("shots.csv"), Path("clips"), farm.Options(workers=4))
    print(outcome.failed)

A table (`table`, `columns`) becomes jobs (`plan`), which workers do (`working`, by `shots`, with Blender's `scene_frames`, or by `blends`),
in processes (`processes`) or by Dask (`cluster`). `manifest` keeps what happened, `running` leads, `sheets` draws ranges side by side,
`command` has the words.
`docs/farm.md` tells more.
"""

from .jobs import Job, Record
from .running import Options, Outcome, read_jobs, rehearse, run

__all__ = ["Job", "Options", "Outcome", "Record", "read_jobs", "rehearse", "run"]

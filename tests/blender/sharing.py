# SPDX-License-Identifier: GPL-3.0-or-later
"""Shares lattices and bodies among the tests of a process: most of them begin with one of a few small characters.

The extension gives every stage a key, a hash of all that the stage depends on. A test gets the first stage of each key from an earlier
test, if one has built it. What it builds a second time is built: that a stage is kept, or comes again to the same bits, is thus still
seen. The fixture `unshared` lets a test build everything, as those do that look at the building itself.
"""

from __future__ import annotations

from collections import OrderedDict

from helpers import part

#: Stages that are kept, the latest used: two of each mesh of all shared characters, some 10 MB each.
KEPT = 64
#: Results of `live.building.enclose`.
LATTICE = ("surface", "skeleton", "lattice", "defects", "skin_notes")

_kept: OrderedDict[bytes, tuple] = OrderedDict()
#: Keys that the running test has asked for.
_asked: set[bytes] = set()


def share_stages(monkeypatch) -> None:
    """Makes the extension take lattices and automatic bodies from earlier tests."""
    building = part("live.building")
    enclose, assemble = building.enclose, building.assemble

    def enclose_once(new):
        kept = _recall(new.lattice_key)
        if kept is None:
            yield from enclose(new)
            _keep(new.lattice_key, tuple(getattr(new, name) for name in LATTICE))
            return
        for name, value in zip(LATTICE, kept, strict=True):
            setattr(new, name, list(value) if isinstance(value, list) else value)

    def assemble_once(flesh, new):
        if new.automatic_key != flesh.automatic_key and (kept := _recall(new.automatic_key)) is not None:
            flesh = flesh.draft()
            flesh.lattice_key, flesh.automatic_key = new.lattice_key, new.automatic_key
            flesh.automatic = new.automatic = kept[0]
        yield from assemble(flesh, new)
        _keep(new.automatic_key, (new.automatic,))

    monkeypatch.setattr(building, "enclose", enclose_once)
    monkeypatch.setattr(building, "assemble", assemble_once)


def begin_test() -> None:
    """Lets the next test take each stage once."""
    _asked.clear()


def forget_stages() -> None:
    """Drops what earlier tests built."""
    _kept.clear()


def _recall(key: bytes) -> tuple | None:
    first = key not in _asked
    _asked.add(key)
    if not first or key not in _kept:
        return None
    _kept.move_to_end(key)
    return _kept[key]


def _keep(key: bytes, made: tuple) -> None:
    _kept[key] = made
    while len(_kept) > KEPT:
        _kept.popitem(last=False)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of bakes: their folder, names that are free, and removal of files that nothing plays any more.

A file is written beside its place. When everything is written, all files are moved to their places, or none: earlier ones wait beside
them until the bake is recorded. Records keep paths relative to the .blend.

Each file belongs to one .blend, which alone replaces and removes it. A .blend that was saved under another name goes on playing the files
of the first one, and writes its own bakes to files of its own.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

import bpy

from ..logic.errors import Refusal
from ..saved import bakes as saved_bakes
from . import destination, file_states

#: Ending of the folder beside the .blend.
FOLDER_SUFFIX = ".bakes"
#: Beginning of the names of folders with unfinished files.
PART_PREFIX = ".thew-part-"
#: Ending of an earlier file while it waits for the end of the bake.
FORMER_SUFFIX = ".former"
#: Longest part of a file's name that comes from one name in Blender. Three of them fit into the 255 bytes of file systems.
MAX_WORD = 60

#: Places of files that are not settled yet, in small letters, as some file systems take both cases for one.
_promised: set[str] = set()


def default_folder() -> Path:
    """Returns the folder beside the .blend, or one among the temporary files for a file that was never saved."""
    saved = destination.blend_path()
    return folder_beside(saved) if saved else unsaved_folder()


def unsaved_folder() -> Path:
    """Returns the folder of a file that was never saved."""
    return Path(bpy.app.tempdir) / f"thew{FOLDER_SUFFIX}"


def folder_beside(blend: str) -> Path:
    """Returns the folder of a saved file. A backup (`hero.blend1`) has one of its own."""
    path = Path(blend)
    return path.with_name((path.stem if path.suffix.lower() == ".blend" else path.name) + FOLDER_SUFFIX)


def mark_of(blend: str) -> str:
    """Returns the mark of a .blend in the records of files that it owns outside its folder; "" stands for the unsaved one of this session."""
    place = destination.real(blend or bpy.app.tempdir)
    return hashlib.blake2b(os.fsencode(place), digest_size=8).hexdigest()


def owner_in(folder: Path) -> str:
    """Returns the mark for the record of a file in a folder; "" for the folder of the .blend itself, where a moved project finds it."""
    return "" if destination.is_same(folder, default_folder()) else mark_of(destination.blend_path())


def is_own(clip: saved_bakes.ThewClip) -> bool:
    """Returns whether the file of a clip belongs to the .blend that is written. What the opened file of a command has stays."""
    if destination.is_elsewhere():
        return False
    folder = path_of(clip.file).parent
    if any(destination.is_same(folder, own) for own in (default_folder(), unsaved_folder())):
        return True
    return bool(clip.owner) and clip.owner == mark_of(destination.blend_path())


def folder_of(chosen: str) -> Path:
    """Returns the folder that was chosen, or the default one for ""."""
    chosen = chosen.strip()
    if not chosen:
        return default_folder()
    if chosen.startswith("//") and not bpy.data.filepath:
        raise Refusal(f"The folder “{chosen}” is beside the .blend, which was never saved: save the file first")
    return Path(bpy.path.abspath(chosen))


def chosen_folder(clips: Iterable[saved_bakes.ThewClip]) -> str:
    """Returns the folder of the files of clips as Blender saves it, so that further ones join them; "" for the default one.

    That of another .blend, and any folder while a command saves its result elsewhere, is not joined.
    """
    clips = [clip for clip in clips if clip.file]
    folder = path_of(clips[0].file).parent if clips else None
    if folder is None or destination.is_elsewhere() or not folder.is_dir() or folder == default_folder():
        return ""
    if folder.suffix == FOLDER_SUFFIX and not is_own(clips[0]):
        return ""
    unsaved = Path(bpy.app.tempdir).resolve() in folder.resolve().parents  # made before the .blend was saved
    return "" if unsaved else saved_path(folder)


def size_of(clips: Iterable[saved_bakes.ThewClip], suffixes: Iterable[str] = ()) -> int:
    """Returns the bytes of the files of clips; `suffixes`: endings of files beside them that belong to them."""
    paths = [path for each in files_of(clips) for path in (each, *(each.with_suffix(suffix) for suffix in suffixes))]
    total = 0
    for path in dict.fromkeys(paths):
        with suppress(OSError):
            total += file_states.status(path).st_size
    return total


def check_writable(folder: Path) -> None:
    """Refuses a folder in which no file can be written, or that lies in one that does not exist; leaves no trace."""
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir():
        raise Refusal(f"{nearest} is a file, so that {folder} cannot be a folder: choose another folder")
    if nearest not in {folder, folder.parent}:
        raise Refusal(
            f"“{folder.name}” cannot be made in {folder.parent}, which does not exist: make that folder, or choose another folder"
        )
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise write_refusal(folder, error) from error


def check_room(folder: Path, size: int) -> None:
    """Raises an `OSError` where the disk of a folder has no room for `size` bytes; leaves no trace."""
    with tempfile.TemporaryFile(dir=folder) as room:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(room.fileno(), 0, size)
        elif shutil.disk_usage(folder).free < size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def write_refusal(folder: Path, error: Exception) -> Refusal:
    """Returns the refusal for a folder that does not take a file, with what to do about the reason."""
    reason = getattr(error, "strerror", None) or str(error).rstrip(".")
    number = getattr(error, "errno", None)
    named = OS_ERROR.search(str(error)) if number is None and os.name == "posix" else None
    number = int(named[1]) if named is not None else number
    advice = next((text for numbers, text in ADVICE if number in numbers), f"make room there, or {ANOTHER}")
    return Refusal(f"Files of the bake cannot be written to {folder} ({reason}): {advice}")


#: The number of a system's error, as the core writes it.
OS_ERROR = re.compile(r"os error (\d+)")
#: Advice that always holds for a folder.
ANOTHER = "choose another folder"
#: Advice by numbers of the system's errors. Others are mostly full disks: by quotas, by limits of the size of a file.
ADVICE = (
    ({errno.EACCES, errno.EPERM}, f"allow yourself to write there, or {ANOTHER}"),
    ({errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}, ANOTHER),
)


class NewFiles:
    """Files of a bake that are being written into a folder of their own, beside their places."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.moves: list[tuple[Path, Path]] = []  # where a file is written, where it belongs
        self.settled: list[tuple[Path, Path | None]] = []  # a place that was taken, and where its earlier file waits
        self.made_folder = not folder.exists()
        try:
            folder.mkdir(exist_ok=True)
            self.part = Path(tempfile.mkdtemp(prefix=PART_PREFIX, dir=folder))
        except OSError as error:
            if self.made_folder:
                remove_folder(folder)
            raise write_refusal(folder, error) from error

    def add(self, name: str) -> Path:
        """Notes a file by its name, and returns the path under which it is to be written."""
        path = self.folder / name
        self.moves.append((self.part / name, path))
        _promised.add(str(path).lower())
        destination.spare([path])
        return self.part / name

    def settle(self) -> None:
        """Moves all files to their places, or none; earlier ones are kept until `finish`."""
        file_states.forget()
        try:
            for part, path in self.moves:
                former = part.with_name(f"{part.name}{FORMER_SUFFIX}") if path.exists() else None
                if former is not None:
                    os.replace(path, former)
                self.settled.append((path, former))
                os.replace(part, path)
        except OSError as error:
            self.restore()
            raise write_refusal(self.folder, error) from error

    def restore(self) -> None:
        """Takes files from their places again, and puts earlier ones back."""
        file_states.forget()
        for path, former in reversed(self.settled):
            with suppress(OSError):
                path.unlink(missing_ok=True)
            if former is not None:
                with suppress(OSError):
                    os.replace(former, path)
        self.settled.clear()

    def finish(self) -> None:
        """Removes the earlier files, now that nothing can fail any more: in a command once its result is saved."""
        if not destination.defer(self.remove_former, self.discard):
            self.remove_former()

    def remove_former(self) -> None:
        """Removes the earlier files."""
        for _, former in self.settled:
            if former is not None:
                with suppress(OSError):
                    former.unlink(missing_ok=True)
        self.settled.clear()
        self.clean()

    def discard(self) -> None:
        """Removes unfinished files and, if nothing else is in it, a folder that was made for them; earlier files are back."""
        self.restore()
        self.clean()

    def clean(self) -> None:
        """Removes unfinished files and their folder, but for an earlier file that could not leave it."""
        _promised.difference_update(str(path).lower() for _, path in self.moves)
        with suppress(OSError):
            for left in self.part.iterdir():
                if left.suffix != FORMER_SUFFIX:
                    left.unlink()
        remove_folder(self.part)
        if self.made_folder:
            remove_folder(self.folder)


def free_stem(folder: Path, words: Iterable[str], suffixes: Iterable[str], mine: set[Path], taken: set[str]) -> str:
    """Returns a name of files from words, without ending, that none has but those in `mine`, and that is not in `taken`."""
    stem = "-".join(safe for word in words if (safe := safe_word(word))) or "bake"
    name, number = stem, 1
    while name in taken or any(is_foreign(folder / f"{name}{suffix}", mine) for suffix in suffixes):
        number += 1
        name = f"{stem}-{number}"
    return name


def is_foreign(path: Path, mine: set[Path]) -> bool:
    """Returns whether a file exists that is not one of `mine`, or another bake is about to write one."""
    return (path.exists() and path not in mine) or str(path).lower() in _promised


def safe_word(word: str) -> str:
    """Returns a name in characters that every file system takes."""
    return re.sub(r"[^\w]+", "_", word).strip("_")[:MAX_WORD]


def saved_path(path: Path) -> str:
    """Returns a path as Blender saves it: relative to the .blend where that is possible."""
    if not bpy.data.filepath:
        return str(path)
    try:
        return bpy.path.relpath(str(path))
    except ValueError:  # on another drive
        return str(path)


def path_of(saved: str) -> Path:
    """Returns the path of a saved one."""
    return Path(bpy.path.abspath(saved))


def played_path(clip: saved_bakes.ThewClip) -> Path:
    """Returns the path of the file that a clip plays. A clip of an override's library names it as seen from there.

    Nothing is removed by this path: what is a library's stays.
    """
    here, override = path_of(clip.file), clip.id_data.override_library
    library = override.reference.library if override is not None and override.reference is not None else None
    if library is None or here.exists():
        return here
    there = Path(bpy.path.abspath(clip.file, library=library))
    return there if there.exists() else here


def files_of(clips: Iterable[saved_bakes.ThewClip]) -> list[Path]:
    """Returns the files of clips, without repetition."""
    return list(dict.fromkeys(path_of(clip.file) for clip in clips if clip.file))


def owned_files(obj: bpy.types.Object, clips: Iterable[saved_bakes.ThewClip]) -> list[Path]:
    """Returns the files of clips that belong to this .blend, and that no other object plays, such as a copy of this one."""
    others = (
        clip
        for other in bpy.data.objects
        if other.type == "MESH" and other != obj
        for bake in other.thew.bakes
        for clip in bake.clips
    )
    kept = set(files_of(others))
    return [path for path in files_of(clip for clip in clips if clip.file and is_own(clip)) if path not in kept]


def remove_files(paths: Iterable[Path]) -> None:
    """Removes files, and the default folder of bakes if nothing is left in it: in a command once its result is saved."""
    paths = list(paths)
    if paths and not destination.defer(partial(remove_now, paths)):
        remove_now(paths)


def remove_now(paths: list[Path]) -> None:
    """Removes files and the empty folder of bakes."""
    file_states.forget()
    for path in paths:
        with suppress(OSError):
            path.unlink(missing_ok=True)
    remove_folder(default_folder())


def remove_folder(folder: Path) -> None:
    """Removes a folder if it is empty."""
    with suppress(OSError):
        folder.rmdir()


def unsaved_remark(chosen: str) -> str:
    """Returns the remark on files that end with the session; "" for others."""
    if chosen.strip() or bpy.data.filepath:
        return ""
    return f"The .blend was never saved, so its files are in {default_folder()}, which Blender empties: save, and bake again"

# SPDX-License-Identifier: MIT OR Apache-2.0
"""What can go wrong; each error is also the builtin that fits, and its text is one sentence."""


class ThewError(Exception):
    """Any error of Thew."""


class InputError(ThewError, ValueError):
    """An argument that cannot be used: which one, what is wrong with it."""


class ModalError(InputError):
    """Modes that cannot be had, or used as asked."""


class NotBuilt(InputError):
    """A method or option that this version does not have; the text lists those it has."""


class StorageError(ThewError, OSError):
    """A file that cannot be written or read."""


class RigError(InputError):
    """A rig that makes no force field, or whose guide does not fit the body: what is wrong with it."""


class OutsideError(RigError):
    """A rig whose template lies wholly outside the flesh: there is nothing that it could push."""


class RigFileError(RigError, StorageError):
    """A file of rigs that says what it must not: which line, which key."""


class MRepError(InputError):
    """A medial model that is none, or that cannot be fitted or used as asked: which atom, what is wrong with it."""


class MRepFileError(MRepError, StorageError):
    """A file of medial models that says what it must not: which line, which key."""


class TetError(InputError):
    """A tetrahedral mesh that makes no body, or a surface that cannot be filled."""


class TetFileError(TetError, StorageError):
    """A file of a tetrahedral mesh that is malformed: which line, what is wrong with it."""


class MotionError(ThewError, RuntimeError):
    """A computation that did not come to a finite result."""


class Cancelled(ThewError, RuntimeError):
    """The progress callable asked to stop."""


class InternalError(ThewError, RuntimeError):
    """A mistake in Thew itself: please report it."""

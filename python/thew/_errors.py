# SPDX-License-Identifier: MIT OR Apache-2.0
"""The exceptions. Each is also the builtin that fits, and its text is one sentence."""


class ThewError(Exception):
    """Base of all errors of Thew."""


class InputError(ThewError, ValueError):
    """An argument that cannot be used. The text says which one and what is wrong with it."""


class ModalError(InputError):
    """Modes that cannot be computed or used."""


class StorageError(ThewError, OSError):
    """A file that cannot be written or read."""


class RigError(InputError):
    """A rig that makes no force field, or whose guide does not fit the body. The text says what is wrong with it."""


class OutsideError(RigError):
    """A rig whose template lies wholly outside the flesh, so that it cannot push anything."""


class RigFileError(RigError, StorageError):
    """A malformed file of rigs. The text names the line and the key."""


class MRepError(InputError):
    """A medial model that is invalid, or that cannot be fitted or used. The text names the atom and the problem."""


class MRepFileError(MRepError, StorageError):
    """A malformed file of medial models. The text names the line and the key."""


class TetError(InputError):
    """A tetrahedral mesh that makes no body, or a surface that cannot be filled."""


class TetFileError(TetError, StorageError):
    """A malformed file of a tetrahedral mesh. The text names the line and the problem."""


class MotionError(ThewError, RuntimeError):
    """A computation without a finite result."""


class Cancelled(ThewError, RuntimeError):
    """A computation that the progress callable stopped."""


class InternalError(ThewError, RuntimeError):
    """A mistake in Thew itself: please report it."""

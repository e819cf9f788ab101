"""TensorFlow's import without its libraries' notes."""

import importlib.util
import os
import sys
import tempfile


def import_tensorflow() -> None:
    """Import TensorFlow without what its libraries write to stderr while they load.

    Nothing happens if it is imported already, or not installed. In a notebook these lines would appear under whichever
    cell runs. They come from C++ and have no switch that would leave arithmetic as it is, so the file descriptor itself
    is turned away meanwhile. If the import fails, they are written after all.
    """
    if "tensorflow" in sys.modules or importlib.util.find_spec("tensorflow") is None:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as notes:
        os.dup2(notes.fileno(), 2)
        try:
            import tensorflow  # noqa: F401
        except BaseException:
            notes.seek(0)
            os.write(stderr, notes.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)

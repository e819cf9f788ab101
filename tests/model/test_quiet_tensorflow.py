import subprocess
import sys
from pathlib import Path

import pytest

LOUD = "import os; os.write(2, b'a note of a library')"
IMPORT = "from autosync_lab.model.quiet_tensorflow import import_tensorflow; import_tensorflow(); os.write(2, b'after')"


def stderr_with(tensorflow: str, folder: Path) -> str:
    """What a program writes to stderr that imports this module as TensorFlow."""
    (folder / "tensorflow.py").write_text(tensorflow)
    program = f"import os, sys; sys.path.insert(0, {str(folder)!r}); {IMPORT}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    return done.stderr


def test_notes_are_dropped_and_later_output_is_not(tmp_path: Path) -> None:
    assert stderr_with(LOUD, tmp_path) == "after"


def test_notes_of_a_failing_import_are_written_after_all(tmp_path: Path) -> None:
    text = stderr_with(f"{LOUD}; raise ImportError('a library is missing')", tmp_path)
    assert text.startswith("a note of a library")
    assert "ImportError: a library is missing" in text


def test_without_tensorflow_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    from autosync_lab.model.quiet_tensorflow import import_tensorflow

    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    import_tensorflow()
    assert "tensorflow" not in sys.modules

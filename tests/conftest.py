"""What a machine cannot do is skipped, with its reason."""

import shutil

import pytest
from hypothesis import settings

from autosync_lab.runtime.namespaces import unshare_command

# Machines differ in speed; what a test shows must not.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    namespaces = unshare_command() is not None
    chromium = shutil.which("chromium") is not None
    for item in items:
        if not namespaces and (item.get_closest_marker("cluster") or item.get_closest_marker("emulated")):
            item.add_marker(pytest.mark.skip(reason="this machine allows no network namespaces"))
        if not chromium and item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason="there is no chromium"))


@pytest.fixture(autouse=True)
def _no_stray_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests see the defaults, not this machine's settings."""
    for name in ("HOROVOD_TIMELINE", "HOROVOD_AUTOTUNE", "TF_CONFIG"):
        monkeypatch.delenv(name, raising=False)

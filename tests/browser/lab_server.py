"""A JupyterLab server of its own: own settings, own folder, loopback only, ended by its pid."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

START_TIMEOUT_S = 60.0

SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    # Keeps what widgets show in the saved notebook.
    "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True},
}


class LabServer:
    """A running server; use it as a context manager.

    Parameters
    ----------
    folder : Path
        Empty folder for settings, the log and notebooks.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder / "notebooks"
        self.root.mkdir()
        self.log = folder / "server.log"
        self.token = secrets.token_hex(16)
        self.port = _free_port()
        self._environment = os.environ | {
            f"JUPYTER{name}": str(folder / name.lower().strip("_"))
            for name in ("_CONFIG_DIR", "_DATA_DIR", "_RUNTIME_DIR", "LAB_SETTINGS_DIR", "LAB_WORKSPACES_DIR")
        }
        self._environment["IPYTHONDIR"] = str(folder / "ipython")
        overrides = folder / "config_dir" / "labconfig" / "default_setting_overrides.json"
        overrides.parent.mkdir(parents=True)
        overrides.write_text(json.dumps(SETTINGS))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Pid of the server."""
        assert self._process is not None
        return self._process.pid

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self.port}"

    def api(self, path: str, method: str = "GET", body: Any = None) -> Any:
        """Ask the server's REST interface."""
        request = urllib.request.Request(
            f"{self.url}/api/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read()
        return json.loads(text) if text else None

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
        command += [f"--ServerApp.root_dir={self.root}", f"--ServerApp.port={self.port}"]
        command += ["--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0", f"--IdentityProvider.token={self.token}"]
        command += ["--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"]
        command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                self.api("status")
                return self
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.__exit__()
                    raise AssertionError(f"JupyterLab did not start:\n{self.log.read_text()[-3000:]}") from None
                time.sleep(0.2)

    def __exit__(self, *_: object) -> None:
        process = self._process
        assert process is not None
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

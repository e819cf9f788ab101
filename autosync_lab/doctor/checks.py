"""The checks, each a function without arguments that returns findings and leaves nothing behind."""

import os
import shutil
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import psutil

from autosync_lab.doctor.check import Check
from autosync_lab.runtime.namespaces import UNSHARE, unshare_command

PROBE_TIMEOUT_S = 60.0
LEAST_MEMORY_GIB = 4.0
LEAST_DISK_GIB = 2.0

_TENSORFLOW_PROBE = """
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
print(tf.__version__)
"""

_HOROVOD_PROBE = """
import os
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import horovod, horovod.tensorflow as hvd
print(horovod.__version__, hvd.gloo_built())
"""

_NETWORK_PROBE = """
set -e
ip link add probe0 type veth peer name probe1
ip link add probebr type bridge
ip link set probe0 master probebr
tc qdisc add dev probe1 root handle 1: tbf rate 100mbit burst 65536 limit 262144
tc qdisc add dev probe0 root netem delay 1ms 2>/dev/null && echo netem || echo no-netem
"""


def run_checks() -> list[Check]:
    """Run every check; takes some ten seconds, most of it importing TensorFlow in a process of its own."""
    return [
        check
        for probe in (
            check_python,
            check_tensorflow,
            check_horovod,
            check_gloo_address,
            check_programs,
            check_namespaces,
            check_emulated_network,
            check_ports,
            check_resources,
            check_jupyter,
            check_chromium,
        )
        for check in probe()
    ]


def check_python() -> list[Check]:
    """Python's version."""
    version = sys.version.split()[0]
    return [Check("python", "ok", version)]


def check_tensorflow() -> list[Check]:
    """TensorFlow and Keras, imported in a process of their own."""
    found, text = _python(_TENSORFLOW_PROBE)
    if not found:
        return [Check("tensorflow", "missing", text, "make setup, or: pip install 'autosync-lab[tensorflow]'")]
    return [Check("tensorflow", "ok", f"{text}, keras {_version('keras') or 'missing'}")]


def check_horovod() -> list[Check]:
    """Horovod: importable, built with Gloo."""
    found, text = _python(_HOROVOD_PROBE)
    remedy = "make setup, or: python tools/build_horovod.py --install"
    if not found:
        return [Check("horovod", "missing", text, remedy)]
    version, gloo = text.split()
    if gloo != "True":
        return [Check("horovod", "missing", f"{version} was built without Gloo", remedy)]
    return [Check("horovod", "ok", f"{version}, built with Gloo")]


def check_gloo_address() -> list[Check]:
    """The address that Gloo finds by resolving the host name where a launcher has no namespaces."""
    name = socket.gethostname()
    try:
        addresses = sorted({str(info[4][0]) for info in socket.getaddrinfo(name, None, socket.AF_INET)})
    except OSError as error:
        remedy = f"add a line to /etc/hosts: <address of this machine> {name}"
        return [Check("gloo address", "warning", f"the host name {name} does not resolve: {error.strerror}", remedy)]
    loopback = [a for a in addresses if a.startswith("127.")]
    if loopback:
        detail = (
            f"the host name {name} resolves to {loopback[0]}: fine for clusters on this machine, not across machines"
        )
        return [Check("gloo address", "ok", detail)]
    return [Check("gloo address", "ok", f"{name} is {', '.join(addresses)}")]


def check_programs() -> list[Check]:
    """Programs that the launchers call."""
    packages = {
        "ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "mount": "mount",
        "hostname": "hostname", "sysctl": "procps",
    }  # fmt: skip
    missing = sorted({package for program, package in packages.items() if _which(program) is None})
    if missing:
        remedy = f"as root: apt-get install {' '.join(missing)}"
        return [Check("programs", "missing", f"from {', '.join(missing)}", remedy)]
    return [Check("programs", "ok", ", ".join(packages))]


def check_namespaces() -> list[Check]:
    """Network namespaces, which every local and emulated cluster lives in."""
    prefix = unshare_command()
    if prefix is None:
        remedy = (
            "as root: sysctl -w kernel.unprivileged_userns_clone=1 (and on Ubuntu "
            "kernel.apparmor_restrict_unprivileged_userns=0), or run as root; in a container: allow unshare"
        )
        return [
            Check("namespaces", "missing", f"`{' '.join(UNSHARE)}` is refused, as root or in a user namespace", remedy)
        ]
    how = "in a user namespace" if "--user" in prefix else "as root"
    return [Check("namespaces", "ok", how)]


def check_emulated_network() -> list[Check]:
    """Links, a switch and their limits, made in a namespace that vanishes."""
    prefix = unshare_command()
    if prefix is None:
        return []
    found, text = _run([*prefix, "sh", "-c", _NETWORK_PROBE])
    if not found:
        remedy = "as root: modprobe veth bridge sch_tbf"
        return [Check("emulated network", "missing", text, remedy)]
    checks = [Check("emulated network", "ok", "veth, bridge, tbf")]
    if text.endswith("no-netem"):
        checks.append(
            Check(
                "netem",
                "warning",
                "this kernel cannot delay packets: latency_s of links is left out",
                "as root: modprobe sch_netem",
            )
        )
    return checks


def check_ports() -> list[Check]:
    """A free port on loopback, for JupyterLab."""
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
    except OSError as error:
        return [
            Check("ports", "missing", f"no free port on 127.0.0.1: {error.strerror}", "end programs that hold ports")
        ]
    return [Check("ports", "ok", "free ports on 127.0.0.1")]


def check_resources() -> list[Check]:
    """Cores, memory and disk."""
    memory = psutil.virtual_memory().available / 2**30
    disk = shutil.disk_usage(Path.home()).free / 2**30
    checks = [Check("cores", "ok", str(os.cpu_count()))]
    enough = memory >= LEAST_MEMORY_GIB
    checks.append(
        Check(
            "memory",
            "ok" if enough else "warning",
            f"{memory:.1f} GiB free",
            "" if enough else "four workers take about 2 GiB with the bench models: close other programs",
        )
    )
    enough = disk >= LEAST_DISK_GIB
    checks.append(
        Check("disk", "ok" if enough else "warning", f"{disk:.0f} GiB free", "" if enough else "free some space")
    )
    return checks


def check_jupyter() -> list[Check]:
    """JupyterLab, and a kernel that is this Python."""
    lab = _version("jupyterlab")
    if lab is None:
        return [Check("jupyterlab", "warning", "not installed", "make setup, or: pip install 'autosync-lab[lab]'")]
    kernel = Path(sys.prefix) / "share" / "jupyter" / "kernels" / "python3" / "kernel.json"
    if not kernel.exists():
        remedy = f"{sys.executable} -m ipykernel install --sys-prefix --name python3"
        return [Check("jupyterlab", "warning", f"{lab}, but this Python has no kernel", remedy)]
    widgets = ", ".join(f"{n} {_version(n) or 'missing'}" for n in ("ipywidgets", "anywidget", "plotly"))
    return [Check("jupyterlab", "ok", f"{lab}, {widgets}")]


def check_chromium() -> list[Check]:
    """Chromium, for the browser tests."""
    path = _which("chromium")
    if path is None:
        return [
            Check("chromium", "warning", "not found: browser tests are skipped", "as root: apt-get install chromium")
        ]
    found, text = _run([path, "--version"])
    return [
        Check(
            "chromium",
            "ok" if found else "warning",
            text,
            "" if found else "as root: apt-get install --reinstall chromium",
        )
    ]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _which(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _python(code: str) -> tuple[bool, str]:
    return _run([sys.executable, "-c", code])


def _run(command: list[str]) -> tuple[bool, str]:
    """Whether a command succeeds, and the last line that it wrote."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode == 0, lines[-1] if lines else f"exit code {done.returncode}"

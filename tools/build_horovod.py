"""Build Horovod's wheel from its source with one line changed, once, and install it.

Horovod 0.28.1, its last release, does not compile against TensorFlow 2.16 and later: one file, its bridge to XLA,
includes headers that have moved. Leaving that file out (nothing here uses XLA's bridge) is all that it needs. The wheel
is kept in a cache folder under a name that says what it was built for.

Usage: python tools/build_horovod.py [--install]
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from importlib import metadata
from pathlib import Path

VERSION = "0.28.1"
SHA256 = "92a43f5a94c43907a56805bad15f19700c62ffc83b7ca483f9e104e229f67ef0"
BRIDGE = "horovod/tensorflow/xla_mpi_ops.cc"
GUARD = "#if TENSORFLOW_VERSION >= 2006000000"
BUILD_ENVIRONMENT = {
    "HOROVOD_WITH_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_PYTORCH": "1",
    "HOROVOD_WITHOUT_MXNET": "1",
    "HOROVOD_WITH_GLOO": "1",
    "HOROVOD_WITHOUT_MPI": "1",
    "HOROVOD_CPU_OPERATIONS": "GLOO",
}
PROBE = "import horovod.tensorflow as hvd; assert hvd.gloo_built(); print(hvd.__name__)"


def main() -> int:
    """Build unless it is cached; with --install, install unless it is there and works."""
    install = "--install" in sys.argv[1:]
    if install and _installed():
        return 0
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "autosync-lab" / "wheels" / _key()
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        # Two set-ups at once build once: the second waits and finds the wheel.
        fcntl.flock(lock, fcntl.LOCK_EX)
        wheel = next(iter(cache.glob("horovod-*.whl")), None)
        if wheel is None:
            wheel = _build(cache)
    if install:
        _pip("install", "--quiet", "--no-deps", "--force-reinstall", str(wheel))
        _pip("install", "--quiet", "-c", "constraints.txt", "cloudpickle", "psutil", "pyyaml", "packaging")
        if not _installed():
            print(f"horovod: the wheel {wheel} does not work here; remove it and try again", file=sys.stderr)
            return 1
    return 0


def _key() -> str:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tensorflow = _tensorflow_version()
    return f"horovod-{VERSION}-tensorflow-{tensorflow}-{python}-{sysconfig.get_platform()}"


def _tensorflow_version() -> str:
    for name in ("tensorflow-cpu", "tensorflow"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    sys.exit("horovod: install TensorFlow first: Horovod is built against it")


def _installed() -> bool:
    try:
        if metadata.version("horovod") != VERSION:
            return False
    except metadata.PackageNotFoundError:
        return False
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return (
        subprocess.run([sys.executable, "-c", PROBE], capture_output=True, env=environment, check=False).returncode == 0
    )


def _build(cache: Path) -> Path:
    if shutil.which("g++") is None:
        sys.exit("horovod: no C++ compiler; install one: apt-get install g++")
    with tempfile.TemporaryDirectory(prefix="horovod-build-") as folder:
        work = Path(folder)
        _pip(
            "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-d", str(work),
            f"horovod=={VERSION}",
        )  # fmt: skip
        archive = work / f"horovod-{VERSION}.tar.gz"
        found = hashlib.sha256(archive.read_bytes()).hexdigest()
        if found != SHA256:
            sys.exit(f"horovod: the source archive is not the one that was tested (sha256 {found}, not {SHA256})")
        with tarfile.open(archive) as tar:
            tar.extractall(work, filter="data")
        source = work / f"horovod-{VERSION}"
        bridge = source / BRIDGE
        text = bridge.read_text()
        if text.count(GUARD) != 1:
            sys.exit(f"horovod: {BRIDGE} does not have the one line {GUARD!r} that must be changed")
        bridge.write_text(text.replace(GUARD, "#if 0"))
        _compile(source, work)
        built = next(work.glob("horovod-*.whl"))
        target = cache / built.name
        shutil.copy(built, target.with_suffix(".part"))
        target.with_suffix(".part").rename(target)
        return target


def _compile(source: Path, work: Path) -> None:
    log_path = work / "build.log"
    scripts = str(Path(sys.executable).parent)
    environment = os.environ | BUILD_ENVIRONMENT | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", str(work), str(source)]
    begin = time.monotonic()
    with open(log_path, "wb") as log:
        build = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            while build.poll() is None:
                _show(
                    f"horovod: compiling against TensorFlow, {time.monotonic() - begin:.0f} s (about 3 minutes, once)"
                )
                time.sleep(1)
        except KeyboardInterrupt:
            build.terminate()
            build.wait()
            raise
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if build.returncode != 0:
        print("\n".join(log_path.read_text(errors="replace").splitlines()[-60:]), file=sys.stderr)
        sys.exit(f"horovod: the build failed with exit code {build.returncode}; the end of its log is above")
    print(f"horovod: built in {time.monotonic() - begin:.0f} s", file=sys.stderr)


def _show(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{line}", end="", file=sys.stderr, flush=True)


def _pip(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments], check=False)
    if done.returncode != 0:
        sys.exit(f"horovod: pip {arguments[0]} failed with exit code {done.returncode}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import autosync_lab
from autosync_lab.cli import trials
from autosync_lab.cli.app import COMMANDS
from autosync_lab.study import TrialStore
from tests.study.trial_factory import make_trial

Run = Callable[..., tuple[int, str, str]]


def test_version(capsys: pytest.CaptureFixture[str], run: Run) -> None:
    with pytest.raises(SystemExit) as end:
        run("--version")
    assert end.value.code == 0
    assert capsys.readouterr().out == f"autosync-lab {autosync_lab.__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run(name, "--help")
    assert end.value.code == 0
    out = capsys.readouterr().out
    assert "--json" in out
    assert f"usage: autosync-lab {name}" in out


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ([], ["which command?", "Valid: models, clusters"]),
        (["modles"], ["'modles'", "models"]),
        (["measure"], ["MODEL, CLUSTER, --strategy"]),
        (
            ["measure", "vgg-mini", "local-2", "--strategy", "ps", "--steps", "0"],
            ["--steps", "1 or more", "'0'"],
        ),
        (["measure", "vgg-mini", "local-2", "--strategy", "ps", "--steps", "ten"], ["--steps", "'ten'"]),
        (
            ["measure", "vgg-mini", "local-2", "--strategy", "ps", "--learning-rate", "nan"],
            ["--learning-rate"],
        ),
        (
            ["measure", "vgg-mini", "local-2", "--strategy", "ps", "--trace", "/none/t.json"],
            ["--trace", "folder"],
        ),
        (
            ["measure", "vgg-mini", "local-2", "--strategy", "ps", "--optimizer", "adm"],
            ["'adm'", "'adam'", "sgd"],
        ),
        (["measure", "vgg-mini", "local-2", "--strategy", "horvod"], ["'horvod'", "did you mean 'horovod'"]),
        (["measure", "vgg-mni", "local-2", "--strategy", "ps"], ["'vgg-mni'", "did you mean 'vgg-mini'"]),
        (["measure", "vgg-mini", "locl-2", "--strategy", "ps"], ["'locl-2'", "did you mean 'local-2'"]),
        (
            ["measure", "vgg-mini", "local-2", "--strategy", "ps", "--store", "/none/t.db"],
            ["folder", "/none/t.db"],
        ),
        (
            ["race", "vgg-mini", "local-2", "--figure", "race.pdf"],
            ["--figure", ".html, .png, .svg", "'race.pdf'"],
        ),
        (["models", "vgg-mni"], ["did you mean 'vgg-mini'"]),
        (["clusters", "locl-2"], ["did you mean 'local-2'"]),
        (["trials", "/none/t.db"], ["folder"]),
        (["export", "ps", "--format", "onnx"], ["--format", "'onnx'", "json"]),
        (["export", "ps"], ["--model and --cluster"]),
        (["demo", "--frob"], ["--frob"]),
    ],
)
def test_a_mistake_is_answered_with_one_line_and_exit_code_2(words: list[str], parts: list[str], run: Run) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("autosync-lab: error: ")
    assert err.count("\n") == 1
    for part in parts:
        assert part in err


def test_ctrl_c_has_its_own_exit_code(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(trials, "run", interrupted)
    assert run("trials", tmp_path / "t.db") == (130, "", "autosync-lab: stopped\n")


def cli(*words: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "autosync_lab.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from autosync_lab.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'tensorflow', 'keras', 'numpy', 'pandas', 'rich', 'plotly', 'sqlite3'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_a_reader_that_leaves_early_sees_no_traceback(tmp_path: Path) -> None:
    with TrialStore(tmp_path / "t.db") as store:
        for i in range(2000):
            store.add(make_trial(str(i), events=()))
    process = cli("trials", tmp_path / "t.db", "--json")
    assert process.stdout
    assert process.stderr
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait(timeout=60)


def test_json_goes_through_a_pipe_whole(tmp_path: Path) -> None:
    with TrialStore(tmp_path / "t.db") as store:
        store.add(make_trial(bound_s=float("inf"), stderr_tail="ü[red]"))
    out, err = cli("trials", tmp_path / "t.db", "--json").communicate(timeout=60)
    (trial,) = json.loads(out)["trials"]
    assert (trial["bound_s"], trial["stderr_tail"], trial["step_time_s"]) == (None, "ü[red]", 0.3)
    assert err == ""


def test_an_output_that_cannot_show_a_character_gets_another(tmp_path: Path) -> None:
    with TrialStore(tmp_path / "t.db") as store:
        store.add(make_trial(label="größe"))
    process = cli("trials", tmp_path / "t.db", PYTHONIOENCODING="ascii")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "gr??e" in out

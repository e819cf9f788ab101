"""What the launcher `ssh` runs, from what a cluster file says."""

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.cluster.spec import ClusterSpec, Node
from autosync_lab.runtime.launchers.ssh import BOOTSTRAP, SshLauncher
from autosync_lab.runtime.node_agent import Invitation

NODE = Node("10.0.0.2", ssh="lab")


def launcher(**group: Any) -> SshLauncher:
    return SshLauncher(ClusterSpec("two", (Node("10.0.0.1"), NODE), "ssh", ssh={"lab": group}), {})


def test_a_group_says_how_to_log_in() -> None:
    command = launcher(username="me", port=2222, key_file="~/.ssh/lab").login_command(NODE)
    assert command[0] == "ssh"
    assert "BatchMode=yes" in command
    assert command[-8:] == ["-l", "me", "-p", "2222", "-i", str(Path.home() / ".ssh/lab"), "--", "10.0.0.2"]


def test_nothing_overrides_how_hosts_are_checked() -> None:
    settings = [word.lower() for word in launcher(username="me").login_command(NODE)]
    assert not any("hostkey" in word or "knownhosts" in word for word in settings)


def test_without_a_group_ssh_decides() -> None:
    assert "-l" not in launcher().login_command(Node("10.0.0.1"))


@pytest.mark.parametrize(
    ("group", "before", "python"),
    [
        ({}, "exec", sys.executable),
        ({"python_venv": "/opt/venv/"}, "exec", "/opt/venv/bin/python"),
        ({"python_venv": "~/lab/.venv"}, "exec", "lab/.venv/bin/python"),
        ({"python_venv": "source ~/c.sh;conda activate lab"}, "source ~/c.sh;conda activate lab && exec", "python"),
    ],
    ids=["where this one is", "folder", "folder at home", "AutoDist's command"],
)
def test_which_python(group: dict[str, str], before: str, python: str) -> None:
    command = launcher(**group).remote_command(NODE)
    assert command == f"{before} {shlex.join([python, '-I', '-c', BOOTSTRAP])}"


def test_values_of_the_environment_are_in_no_argument() -> None:
    started = launcher(shared_envs={"TOKEN": "s3cret"})
    assert "s3cret" not in started.remote_command(NODE) + " ".join(started.login_command(NODE))


def test_an_invitation_survives_its_journey_and_is_not_printed() -> None:
    invitation = Invitation("10.0.0.2", "10.0.0.1", 4242, "ab" * 32, 7)
    assert Invitation.from_line(invitation.to_line()) == invitation
    assert "abab" not in repr(invitation)

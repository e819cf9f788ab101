"""A strategy space as its stages: everything valid, what locks leave, what each constraint leaves."""

from dataclasses import dataclass

from autosync_lab.space.domain import Domain
from autosync_lab.space.narrowing import narrowed
from autosync_lab.space.space import StrategySpace

LOCK = "your lock"


@dataclass(frozen=True)
class Stage:
    """What is left after one step.

    Parameters
    ----------
    name : str
        A constraint's name, or `LOCK`.
    reason : str
        Why it prunes, in one sentence.
    domain : Domain
    """

    name: str
    reason: str
    domain: Domain


@dataclass(frozen=True)
class Stages:
    """Everything valid, and what is left step by step."""

    valid: Domain
    steps: tuple[Stage, ...]

    @property
    def left(self) -> Domain:
        """What is left in the end."""
        return self.steps[-1].domain


def space_stages(space: StrategySpace) -> Stages:
    """The stages of a space; the first step is that of its locks."""
    unpruned = space.without(*(c.name for c in space.constraints))
    valid = unpruned
    for lock in space.locks:
        valid = valid.unlock(lock.variable)
    steps = [Stage(LOCK, "You chose something else.", unpruned.domain)]
    for rule in space.constraints:
        steps.append(Stage(rule.name, rule.reason, narrowed(steps[-1].domain, rule, space.model)))
    return Stages(valid.domain, tuple(steps))

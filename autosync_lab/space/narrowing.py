"""What a constraint leaves of a domain."""

from autosync_lab.model.spec import ModelSpec
from autosync_lab.space.constraints import Constraint
from autosync_lab.space.domain import Domain


def narrowed(domain: Domain, rule: Constraint, model: ModelSpec) -> Domain:
    """The domain that a constraint leaves.

    Raises
    ------
    InvalidInput
        If nothing is left for a variable.
    """
    less = rule.narrow(domain)
    less.require_choices(model, f"constraint {rule.name!r}")
    return less

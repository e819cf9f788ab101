"""A space in which other semantics are allowed, all else being as it is."""

from autosync_lab.space.space import StrategySpace


def allowed_space(space: StrategySpace, *, lossy: bool, asynchronous: bool) -> StrategySpace:
    """The space with or without lossy compressors and asynchronous strategies; locks and constraints stay.

    Raises
    ------
    InvalidInput
        If a lock is of something that is no longer in the space.
    """
    bare = space.without(*(c.name for c in space.constraints))
    for lock in space.locks:
        bare = bare.unlock(lock.variable)
    changed = StrategySpace(
        space.model,
        space.cluster,
        lossy=lossy,
        asynchronous=asynchronous,
        max_shards=max(p.shards for d in bare.domain.variables for p in d.partitions),
        push_credits=tuple(dict.fromkeys(s.push_credit for s in bare.domain.settings)),
    )
    for lock in space.locks:
        changed = changed.lock(lock.variable, **lock.choices)
    return changed.constrain(space.constraints)

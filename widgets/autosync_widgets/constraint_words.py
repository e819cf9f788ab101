"""What each constraint demands, in plain words; why, it says itself."""

from autosync_lab.space.constraints import Constraint

RULES = {
    "sparse-to-ps": "Embeddings and other sparse variables go to parameter servers.",
    "embedding-axis-0": "Tables are cut between rows, never through them.",
    "partition-bounds": "Small variables stay whole, and no variable is cut into very many shards.",
    "same-synchronizer-per-variable": "The shards of one variable are all on servers, or all all-reduced.",
    "no-local-replication-without-co-located-replicas": "Nothing is summed inside a node that has a single replica.",
    "single-node-no-ps": "On a single node everything is all-reduced.",
    "load-balance": "The next largest shard goes to the server that is furthest below its share of the bytes.",
    "load-balance-softmax": "No server carries much more than its share of the bytes.",
    "adjacent-merge": "Only gradients that are ready one after the other are fused.",
}


def rule_text(constraint: Constraint) -> str:
    """What a constraint demands; of one's own, its name."""
    return RULES.get(constraint.name, f"Your own rule {constraint.name!r}.")

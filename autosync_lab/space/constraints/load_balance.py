"""`load-balance` and `load-balance-softmax`: every server carries its share of the bytes."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from autosync_lab.space.arrays import ClusterArrays, ModelArrays
from autosync_lab.space.batch import ALL_REDUCED, StrategyBatch
from autosync_lab.space.constraints.base import Constraint
from autosync_lab.space.domain import Domain
from autosync_lab.space.placement import allowed_nodes, place_greedily
from autosync_lab.strategy.spec import Strategy

ROUNDING = 1e-9
"""Sums of bytes are compared within this share of the total."""


class LoadBalance(Constraint):
    """Destinations are those that the greedy rule gives: largest variable first, each shard to the node furthest below
    its share of the bytes on servers: of whole gradients by bandwidth, and less for nodes that have a replica to feed
    (`autosync_lab.cluster.bound.server_shares`), of rows so that they are soonest pulled and then pushed
    (`row_shares`). A locked destination stays where it is, and counts.

    Source: AutoSync's load balancer, with the byte-optimal shares in place of bandwidth_i / sum(bandwidth).
    """

    name = "load-balance"
    reason = "The busiest server decides when the last shard is back; equal work is also the fastest for given shards."
    exact = True

    def holds(self, strategy: Strategy) -> bool:
        return bool(self.holds_all(StrategyBatch.encode([strategy], self.model, self.cluster))[0])

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        placed = place_greedily(
            batch.axis,
            batch.start,
            batch.destination,
            ModelArrays.of(self.model),
            ClusterArrays.of(self.cluster).shares,
            allowed_nodes(self.domain, len(self.cluster.nodes)),
        )
        wrong = np.bincount(batch.candidate[placed != batch.destination], minlength=len(batch))
        return np.asarray(wrong == 0)

    def narrow(self, domain: Domain) -> Domain:
        return replace(domain, greedy_placement=True)


class LoadBalanceSoftmax(Constraint):
    """No server carries more than its share of the bytes on servers, of whole gradients and of rows, and one largest
    shard of these on top. Sampled at random: each shard goes to a node below its share, with probability softmax(what
    it lacks / mean share).
    """

    name = "load-balance-softmax"
    reason = "The busiest server decides when the last shard is back; many placements balance about equally well."

    def holds(self, strategy: Strategy) -> bool:
        return bool(self.holds_all(StrategyBatch.encode([strategy], self.model, self.cluster))[0])

    def holds_all(self, batch: StrategyBatch) -> npt.NDArray[np.bool_]:
        model, shares = ModelArrays.of(self.model), ClusterArrays.of(self.cluster).shares
        right = np.ones(len(batch), np.bool_)
        for rows in (False, True):
            served = (batch.destination != ALL_REDUCED) & (model.sparse[batch.variable] == rows)
            nbytes = (batch.share * model.push_nbytes[batch.variable])[served]
            candidate = batch.candidate[served]
            load = np.zeros((len(batch), shares.shape[1]))
            np.add.at(load, (candidate, batch.destination[served]), nbytes)
            largest = np.zeros(len(batch))
            np.maximum.at(largest, candidate, nbytes)
            total = load.sum(axis=1)
            most = total[:, None] * shares[int(rows)] + largest[:, None]
            right &= (load <= most + ROUNDING * total[:, None]).all(axis=1)
        return right

    def narrow(self, domain: Domain) -> Domain:
        return replace(domain, balanced_placement=True)

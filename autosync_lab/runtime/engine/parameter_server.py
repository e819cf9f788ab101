"""Shards owned by a server: pushed gradients meet on the owner, which updates the shard and lets everybody pull it.

Synchronous: the owner sums one push of every pusher, applies the mean, and gives each pusher a token; with its token a
replica pulls the new value in the same step, while pushes of other shards are still under way. Asynchronous: a push is
applied as it comes.

Local replication: gradients are first summed on the first process of a node (its leader), which pushes and pulls for
the whole node.
"""

from functools import cached_property

import tensorflow as tf

from autosync_lab.runtime.engine.constants import constant
from autosync_lab.runtime.engine.labels import OWN
from autosync_lab.runtime.engine.optimizer import SHARD_OPTIMIZERS, Shard
from autosync_lab.runtime.engine.rows import Rows, merged
from autosync_lab.runtime.engine.tokens import Tokens
from autosync_lab.runtime.place import Place


class PushCredit:
    """Keeps at most `credit` pushes of one replica in flight, in a fixed order; 0 is no limit."""

    def __init__(self, credit: int) -> None:
        self._credit = credit
        self._pushes: list[tf.Operation] = []

    def gate(self) -> list[tf.Operation]:
        """What the next push waits for."""
        if not self._credit or len(self._pushes) < self._credit:
            return []
        return [self._pushes[-self._credit]]

    def record(self, push: tf.Operation) -> None:
        """Tell that a push was issued."""
        self._pushes.append(push)


class DenseSum:
    """Sums one dense gradient of each of `pushers` on one process."""

    def __init__(self, name: str, shape: tuple[int, ...], dtype: tf.DType, device: str, pushers: int) -> None:
        self._shape = shape
        self._dtype = dtype
        self._pushers = pushers
        self._device = device
        with tf.device(device):
            self._accumulator = tf.raw_ops.ResourceConditionalAccumulator(
                dtype=dtype, shape=shape, shared_name=name, reduction_type="SUM"
            )

    def push(self, gradient: tf.Tensor) -> tf.Operation:
        """Send one gradient to the sum."""
        # The accumulator drops gradients whose step lies behind its own; this one never does.
        step = constant(tf.int64.max, tf.int64, self._device)
        with tf.device(self._device):
            return tf.raw_ops.ResourceAccumulatorApplyGradient(
                handle=self._accumulator, local_step=step, gradient=gradient
            )

    def take(self) -> tf.Tensor:
        """The sum, once every pusher has pushed."""
        required = constant(self._pushers, tf.int32, self._device)
        with tf.device(self._device):
            total = tf.raw_ops.ResourceAccumulatorTakeGradient(
                handle=self._accumulator, num_required=required, dtype=self._dtype
            )
        total.set_shape(self._shape)
        return total


class RowSum:
    """Collects the row gradients of `pushers` on one process."""

    def __init__(self, name: str, shape: tuple[int, ...], dtype: tf.DType, device: str, pushers: int) -> None:
        self._shape = shape
        self._types = [dtype, tf.int64]
        self._pushers = pushers
        self._device = device
        with tf.device(device):
            # Two rounds fit, so that no push ever waits for room.
            self._queue = tf.raw_ops.FIFOQueueV2(component_types=self._types, capacity=2 * pushers, shared_name=name)

    def push(self, rows: Rows) -> tf.Operation:
        """Send one replica's rows."""
        with tf.device(self._device):
            return tf.raw_ops.QueueEnqueueV2(handle=self._queue, components=[rows.values, rows.ids])

    def take(self) -> Rows:
        """All rows, once every pusher has pushed; a row may be named several times."""
        with tf.device(self._device):
            parts = [
                tf.raw_ops.QueueDequeueV2(handle=self._queue, component_types=self._types) for _ in range(self._pushers)
            ]
            values = tf.concat([p[0] for p in parts], 0)
            ids = tf.concat([p[1] for p in parts], 0)
        values.set_shape([None, *self._shape[1:]])
        ids.set_shape([None])
        return Rows(values, ids)


class ServedShard:
    """One shard on its server, as one process sees it.

    Parameters
    ----------
    name : str
        Shared name.
    shape, dtype
        Of the shard.
    sparse : bool
        True if gradients are rows.
    node : int
        Index of the node that owns it.
    place : Place
        This process.
    local_replication, synchronous : bool
    optimizer : str
    learning_rate : float
    """

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: str,
        sparse: bool,
        node: int,
        place: Place,
        local_replication: bool,
        synchronous: bool,
        optimizer: str,
        learning_rate: float,
    ) -> None:
        self.owner = place.first_process(node)
        self.shard = Shard(name, shape, dtype, place.device(self.owner))
        self.optimizer = SHARD_OPTIMIZERS[optimizer](self.shard, learning_rate)
        self._place = place
        self._synchronous = synchronous
        self._sum_kind = RowSum if sparse else DenseSum
        self._name = name
        # Only several replicas on one node make a difference, and a lone replica is its own leader.
        self._through_leader = local_replication and place.rank is not None and place.processes_on(place.node) > 1
        self._pushers = len(place.worker_nodes) if local_replication else place.replicas

    @property
    def owned_here(self) -> bool:
        """True on the process that serves the shard."""
        return self.owner == self._place.index

    def serve(self) -> tf.Operation:
        """The owner's part of a step: wait for all pushes, update the shard, give out tokens."""
        with tf.name_scope(f"apply/{self._name}"):
            update = self._update(self._sum.take())
            return self._tokens.release(self._pushers, [update])

    def push(self, gradient: tf.Tensor | Rows, credit: PushCredit) -> list[tf.Operation]:
        """A replica's push.

        Returns
        -------
        list of Operation
            After these the shard may be pulled on this process.
        """
        place = self._place
        if self._through_leader:
            leader = place.first_process(place.node)
            name = f"{self._name}{OWN}node{place.node}"
            inside = self._sum_on(place.device(leader), name, place.processes_on(place.node))
            with tf.name_scope(f"local/{self._name}"):
                pushed = inside.push(gradient)
                if not place.is_leader:
                    return [pushed]
                with tf.control_dependencies([pushed]):
                    gradient = inside.take()
                gradient = merged(gradient) if isinstance(gradient, Rows) else gradient
        with tf.name_scope(f"push/{self._name}"):
            gradient = _after(credit.gate(), gradient, place.here)
            pushed = self._sum.push(gradient) if self._synchronous else self._update(gradient)
        credit.record(pushed)
        if not self._synchronous:
            return [pushed]
        with tf.name_scope(f"pull/{self._name}"):
            return [self._tokens.take([pushed])]

    def pull(self, after: list[tf.Operation]) -> tf.Tensor:
        """The shard's value on this process, once `after` is done."""
        place = self._place
        with tf.name_scope(f"pull/{self._name}"):
            if not self._through_leader:
                with tf.control_dependencies(after):
                    return self.shard.read()
            leader = place.first_process(place.node)
            cache = Shard(
                f"{self._name}{OWN}node{place.node}/cache",
                self.shard.shape,
                self.shard.dtype.name,
                place.device(leader),
            )
            present = self.node_tokens("cached")
            if place.is_leader:
                with tf.control_dependencies(after), tf.device(place.here):
                    cached = cache.assign(self.shard.read())
                    after = [present.release(place.processes_on(place.node), [cached])]
            with tf.control_dependencies([present.take(after)]):
                return cache.read()

    def pull_rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Some rows of the shard's present value, on this process; `ids` count from the shard's start."""
        with tf.name_scope(f"pull/{self._name}"):
            if self._through_leader:
                return self._pull_rows_through_leader(ids)
            return self.shard.gather(ids)

    def _pull_rows_through_leader(self, ids: tf.Tensor) -> tf.Tensor:
        """The leader pulls the union of what its node's replicas ask for."""
        place = self._place
        leader = place.device(place.first_process(place.node))
        members = [p for p, node in enumerate(place.node_of_process) if node == place.node]
        with tf.device(leader):
            asked = {p: self._queue(f"asked{p}", tf.int64) for p in members}
            given = {p: self._queue(f"given{p}", self.shard.dtype) for p in members}
            sent = asked[place.index].enqueue([ids])
            if place.is_leader:
                requests = [asked[p].dequeue() for p in members]
                for request in requests:
                    request.set_shape([None])
                union, position = tf.unique(tf.concat(requests, 0), out_idx=tf.int64)
                rows = tf.identity(self.shard.gather(union))
                positions = tf.split(position, tf.stack([tf.size(r) for r in requests]), num=len(members))
                answers = [given[p].enqueue([tf.gather(rows, at)]) for p, at in zip(members, positions, strict=True)]
                sent = tf.group(sent, *answers)
            with tf.control_dependencies([sent]):
                rows = given[place.index].dequeue()
        rows.set_shape([None, *self.shard.shape[1:]])
        return rows

    def _queue(self, purpose: str, dtype: tf.DType) -> tf.queue.FIFOQueue:
        name = f"{self._name}{OWN}node{self._place.node}/{purpose}"
        return tf.queue.FIFOQueue(2, [dtype], shared_name=name)

    def node_tokens(self, purpose: str) -> Tokens:
        """Tokens among the processes of this node."""
        place = self._place
        leader = place.device(place.first_process(place.node))
        return Tokens(
            f"{self._name}{OWN}node{place.node}/{purpose}",
            leader,
            2 * place.processes_on(place.node),
        )

    @cached_property
    def _sum(self) -> DenseSum | RowSum:
        return self._sum_on(self.shard.device, self._name, self._pushers)

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(f"{self._name}{OWN}tokens", self.shard.device, 2 * self._pushers)

    def _sum_on(self, device: str, name: str, pushers: int) -> DenseSum | RowSum:
        return self._sum_kind(f"{name}{OWN}sum", self.shard.shape, self.shard.dtype, device, pushers)

    def _update(self, total: tf.Tensor | Rows) -> tf.Operation:
        # An asynchronous push counts as its share of the batch: n pushes move the shard as one synchronous step does.
        with tf.device(self.shard.device):
            share = constant(1.0 / self._place.replicas, self.shard.dtype, self.shard.device)
            if isinstance(total, Rows):
                return self.optimizer.apply_rows(total.values * share, total.ids)
            return self.optimizer.apply(total * share)


def _after(operations: list[tf.Operation], gradient: tf.Tensor | Rows, device: str) -> tf.Tensor | Rows:
    """The gradient, available on `device` once `operations` are done, under a name that traces show."""
    with tf.control_dependencies(operations), tf.device(device):
        if isinstance(gradient, Rows):
            return Rows(tf.identity(gradient.values), tf.identity(gradient.ids))
        return tf.identity(gradient)

"""The fast fidelity of the cost model: the step time of whole batches, without simulating single transfers.

For each strategy it walks the shards once, in the order in which a replica pushes them:

- A replica's process is one server in a queue: it computes, then serializes what it pushes.
- Pushes share the slowest uplink, and their owner's downlink, by processor sharing (all in flight at once: a shard is
  through only when about all of its size or less are), or first come first served where a push credit keeps few in
  flight.
- The owner applies what all have pushed, shard after shard; then all replicas pull it. Pulls are work-conserving on the
  owner's uplink and on the slowest downlink, so in order of readiness they end when any fair order ends.
- Collectives run one after the other when all members are ready, over the slowest link of the ring; those in no group
  are fused as Horovod does, with what is ready when the one before has ended.
- Rows of sparse variables are pulled before the replica computes.

A step takes at least as long as each link needs for all its bytes, and ends when the last of all these ends. Replicas
are taken to be alike, and asynchronous strategies to wait as synchronous ones do. Processor sharing is simulated
exactly for one link: with n transfers in flight each gets 1/n, so in "service per transfer" V a transfer that starts at
V ends at V + its size (Kleinrock, "Queueing Systems II", 1976).
"""

import numpy as np
from numba import njit

from autosync_lab.model.variable import INDEX_BYTES
from autosync_lab.space.grouping import KINDS, kind_of


@njit(cache=True)
def _sift_up(heap, owner, at):  # type: ignore[no-untyped-def]
    while at:
        parent = (at - 1) // 2
        if heap[parent] <= heap[at]:
            return
        heap[parent], heap[at] = heap[at], heap[parent]
        owner[parent], owner[at] = owner[at], owner[parent]
        at = parent


@njit(cache=True)
def _sift_down(heap, owner, size):  # type: ignore[no-untyped-def]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[at] <= heap[child]:
            return
        heap[child], heap[at] = heap[at], heap[child]
        owner[child], owner[at] = owner[at], owner[child]
        at = child


@njit(cache=True)
def _shared(first, following, begin_s, work_s, end_s, heap, owner):  # type: ignore[no-untyped-def]
    """Processor sharing of one link by the transfers of a linked list, which start in its order.

    `end_s` becomes the larger of what it was and the transfer's end.
    """
    size, now, service = 0, 0.0, 0.0
    at = first
    while at >= 0 or size:
        until = begin_s[at] if at >= 0 else np.inf
        while size:
            ends = now + (heap[0] - service) * size
            if ends > until:
                break
            now, service = ends, heap[0]
            end_s[owner[0]] = max(end_s[owner[0]], now)
            size -= 1
            heap[0], owner[0] = heap[size], owner[size]
            _sift_down(heap, owner, size)
        if at >= 0:
            if size:
                service += (until - now) / size
            now = max(now, until)
            heap[size], owner[size] = service + work_s[at], at
            _sift_up(heap, owner, size)
            size += 1
            at = following[at]


@njit(cache=True)
def step_times(  # type: ignore[no-untyped-def]
    push_credit, axis, start, destination, replication, group, compressor, densified,
    dims, nbytes, touched, row_nbytes, element_nbytes, sparse, ready_s, compute_s,
    up, down, latency_s, replicas, ring_bytes_per_s, wire_nbytes,
    window, push_cpu_s, pull_cpu_s, apply_s, server_s_per_byte, rows_s, acknowledge_s, collective_s, exchange_s,
    tensor_s, reduce_s_per_byte, cycle_s, contention, step_s,
):  # fmt: skip
    """Step time of every candidate of a batch, seconds, float64 [n].

    Parameters
    ----------
    push_credit ... densified
        As in `StrategyBatch`.
    dims, nbytes, touched, row_nbytes, element_nbytes, sparse
        As in `ModelArrays`.
    ready_s : float64 [V]
        When a replica has made each gradient, seconds from when it starts to compute.
    compute_s : float
        When it has computed.
    up, down, latency_s, replicas
        As in `ClusterArrays`, bandwidths with the efficiency of links.
    ring_bytes_per_s : float
        What the slowest link of the ring carries.
    wire_nbytes : float64 [compressors]
        Bytes of one element by compressor; 0 for "as it is".
    reduce_s_per_byte : float64 [compressors]
        Seconds of a replica for each byte of an all-reduced gradient.
    window, push_cpu_s ... step_s
        As in `Calibration`.
    """
    candidates, variables = axis.shape
    nodes = len(up)
    world = replicas.sum()
    workers = 0
    for node in range(nodes):
        workers += replicas[node] > 0
    most = 0
    for c in range(candidates):
        most = max(most, start[(c + 1) * variables] - start[c * variables])
    begin_s, up_s, down_s, ends_s = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    pull_up_s, pull_down_s, received = np.empty(most), np.empty(most), np.empty(most)
    owner_of = np.empty(most, np.int64)
    chain, chain_of_owner = np.empty(most, np.int64), np.empty(most, np.int64)
    heap, heap_owner = np.empty(most), np.empty(most, np.int64)
    first_of, last_of = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    sent, taken = np.empty(nodes), np.empty(nodes)
    pushing_s, pulling_s = np.empty(nodes), np.empty(nodes)
    free_up, free_apply = np.empty(nodes), np.empty(nodes)
    rows_of, questions_of = np.empty(nodes), np.empty(nodes)
    group_ready, group_wire, group_work = np.empty(most), np.empty(most), np.empty(most)
    group_tensors, group_rows = np.empty(most, np.int64), np.empty(most, np.bool_)
    largest_latency = latency_s.max()
    result = np.empty(candidates)
    for c in range(candidates):
        sent[:] = 0.0
        taken[:] = 0.0
        pushing_s[:] = 0.0
        pulling_s[:] = 0.0
        rows_of[:] = 0.0
        questions_of[:] = 0.0
        # Rows are pulled first.
        before_cpu = 0.0
        all_rows, questions = 0.0, 0.0
        asked = False
        grouped = False
        groups = 0
        for s in range(start[c * variables], start[(c + 1) * variables]):
            if destination[s] < 0 and group[s] >= 0:
                grouped = True
                groups = max(groups, group[s] + 1)
        for v in range(variables):
            if not sparse[v]:
                continue
            begin, end = start[c * variables + v], start[c * variables + v + 1]
            length = dims[v, 0] if axis[c, v] >= 0 else 1
            for s in range(begin, end):
                j = destination[s]
                if j < 0:
                    continue
                share = (length // (end - begin) + (s - begin < length % (end - begin))) / length
                rows = touched[v] * share
                asked = True
                before_cpu += pull_cpu_s + rows * row_nbytes[v] * server_s_per_byte
                rows_of[j] += rows * row_nbytes[v]
                questions_of[j] += rows * INDEX_BYTES
                all_rows += rows * row_nbytes[v]
                questions += rows * INDEX_BYTES
        offset = 0.0
        if asked:
            links = 0.0
            for i in range(nodes):
                away = world - replicas[i]
                goes_up = rows_of[i] * away + (questions - questions_of[i]) * replicas[i]
                comes_down = questions_of[i] * away + (all_rows - rows_of[i]) * replicas[i]
                links = max(links, goes_up / up[i], comes_down / down[i])
            offset = max(links, before_cpu)
            if links > 0.0:
                offset += 2.0 * largest_latency
        # A replica pushes the last layer's gradients first.
        cpu = offset
        served = 0
        serving, collecting = 0.0, 0.0
        for node in range(nodes):
            first_of[node] = -1
            last_of[node] = -1
        for g in range(groups):
            group_ready[g] = -1.0
            group_wire[g] = 0.0
            group_work[g] = 0.0
            group_tensors[g] = 0
        single = groups
        for v in range(variables - 1, -1, -1):
            begin, end = start[c * variables + v], start[c * variables + v + 1]
            count = end - begin
            a = axis[c, v]
            length = dims[v, a] if a >= 0 else 1
            cpu = max(cpu, offset + ready_s[v])
            for s in range(begin, end):
                share = (length // count + (s - begin < length % count)) / length
                j = destination[s]
                if j < 0:
                    kind = kind_of(sparse[v], densified[s], compressor[s])
                    raw = nbytes[v] * share
                    wire = raw
                    if kind == KINDS - 1:
                        raw = touched[v] * share * (row_nbytes[v] + INDEX_BYTES) * world
                        wire = raw * (world - 1) / world
                    else:
                        if wire_nbytes[compressor[s]] > 0.0:
                            wire = raw / element_nbytes[v] * wire_nbytes[compressor[s]]
                        wire *= 2.0 * (world - 1) / world
                    g = group[s]
                    if g < 0:
                        g = single
                        single += 1
                        group_ready[g] = -1.0
                        group_wire[g] = 0.0
                        group_work[g] = 0.0
                        group_tensors[g] = 0
                    cpu += tensor_s
                    group_ready[g] = max(group_ready[g], cpu)
                    group_wire[g] += wire
                    group_work[g] += raw * reduce_s_per_byte[compressor[s]]
                    group_tensors[g] += 1
                    group_rows[g] = kind == KINDS - 1
                    continue
                push = nbytes[v] * share
                pull = push
                if sparse[v]:
                    push = touched[v] * share * (row_nbytes[v] + INDEX_BYTES)
                    pull = 0.0
                once = replication[s] and not sparse[v]
                serialized = push_cpu_s + push * server_s_per_byte
                if sparse[v]:
                    serialized += rows_s
                cpu += serialized
                serving += serialized
                coming = 0.0
                slowest_up = 0.0
                slowest_down = 0.0
                for i in range(nodes):
                    if i == j or not replicas[i]:
                        continue
                    times = 1 if once else replicas[i]
                    coming += times
                    sent[i] += push * times
                    taken[i] += pull * times
                    pushing_s[i] += push * times / up[i]
                    pulling_s[i] += pull * times / down[i]
                    slowest_up = max(slowest_up, push * times / up[i])
                    slowest_down = max(slowest_down, pull * times / down[i])
                taken[j] += push * coming
                sent[j] += pull * coming
                begin_s[served] = cpu
                up_s[served] = slowest_up
                down_s[served] = push * coming / down[j]
                pull_up_s[served] = pull * coming / up[j]
                pull_down_s[served] = slowest_down
                received[served] = push * (coming + (1 if once else replicas[j]))
                owner_of[served] = j
                ends_s[served] = cpu
                chain[served] = served + 1
                chain_of_owner[served] = -1
                if last_of[j] >= 0:
                    chain_of_owner[last_of[j]] = served
                else:
                    first_of[j] = served
                last_of[j] = served
                served += 1
        cpu = max(cpu, offset + compute_s)
        finish = cpu
        busy_until, behind = 0.0, 0.0
        if served:
            chain[served - 1] = -1
            # No node pushes what it owns: what the busiest one sends is less than all the slowest pushes together.
            pushed, pulled = up_s[:served].sum(), pull_down_s[:served].sum()
            if pushed > 0.0:
                up_s[:served] *= pushing_s.max() / pushed
            if pulled > 0.0:
                pull_down_s[:served] *= pulling_s.max() / pulled
            if push_credit[c] == 0:
                _shared(0, chain, begin_s, up_s, ends_s, heap, heap_owner)
                for j in range(nodes):
                    if first_of[j] >= 0:
                        _shared(first_of[j], chain_of_owner, begin_s, down_s, ends_s, heap, heap_owner)
            else:
                free = 0.0
                for j in range(nodes):
                    free_up[j] = 0.0
                for q in range(served):
                    j = owner_of[q]
                    if q >= push_credit[c] and down_s[q] > 0.0:
                        begin_s[q] = max(begin_s[q], ends_s[q - push_credit[c]] + acknowledge_s)
                    free = max(free, begin_s[q]) + up_s[q]
                    free_up[j] = max(free_up[j], begin_s[q]) + down_s[q]
                    ends_s[q] = max(free, free_up[j])
            busy_until = ends_s[:served].max()
            # What a message waits behind on the links of nodes with replicas: pushes, to each owner and from each node.
            owners = 0
            for j in range(nodes):
                owners += first_of[j] >= 0
            # No more of them are under way than the push credit allows.
            at_once = owners if push_credit[c] == 0 else min(owners, push_credit[c])
            for i in range(nodes):
                if replicas[i]:
                    to = min(at_once, owners - (first_of[i] >= 0)) * replicas[i]
                    behind = max(behind, min(window * to, sent[i]) / up[i])
                    if first_of[i] >= 0:
                        come = (world - replicas[i]) * at_once / owners
                        behind = max(behind, min(window * come, taken[i]) / down[i])
            for j in range(nodes):
                free_up[j] = 0.0
                free_apply[j] = 0.0
            for q in np.argsort(ends_s[:served]):
                j = owner_of[q]
                # Where only replicas on the owner's node push, nothing crosses a link.
                one_way = latency_s[j] if world > replicas[j] else 0.0
                through = ends_s[q] + one_way
                applying = apply_s + received[q] * server_s_per_byte
                free_apply[j] = max(free_apply[j], through) + applying
                serving += pull_cpu_s + applying / nodes
                begin_s[q] = free_apply[j] + one_way
            free = 0.0
            for q in np.argsort(begin_s[:served]):
                j = owner_of[q]
                free_up[j] = max(free_up[j], begin_s[q]) + pull_up_s[q]
                free = max(free, begin_s[q]) + pull_down_s[q]
                cpu = max(cpu, max(free, free_up[j])) + pull_cpu_s
            finish = max(finish, cpu)
        if single:
            free = 0.0
            agreed = -1.0
            order = np.argsort(group_ready[:single])
            at = 0
            while at < single:
                g = order[at]
                at += 1
                if group_tensors[g] == 0:
                    continue
                begin = free
                if group_ready[g] > agreed:
                    agreed = max(free, group_ready[g]) + 0.5 * cycle_s
                    begin = agreed + collective_s
                begin += max(0.0, min((2.0 * world - 1.0) * behind, busy_until - begin))
                wire, work, tensors = group_wire[g], group_work[g], group_tensors[g]
                rounds = 2 * (world - 1)
                if not grouped:
                    while at < single and group_ready[order[at]] <= agreed and group_rows[order[at]] == group_rows[g]:
                        wire += group_wire[order[at]]
                        work += group_work[order[at]]
                        tensors += group_tensors[order[at]]
                        at += 1
                free = begin + exchange_s + rounds * largest_latency + wire / ring_bytes_per_s
                free += work + tensors * tensor_s
                collecting += exchange_s + work + tensors * tensor_s
                for i in range(nodes):
                    if replicas[i] and workers > 1:
                        sent[i] += wire
                        taken[i] += wire
            finish = max(finish, free)
        for i in range(nodes):
            finish = max(finish, offset + max(sent[i] / up[i], taken[i] / down[i]))
        result[c] = finish + step_s + contention * min(serving, collecting)
    return result

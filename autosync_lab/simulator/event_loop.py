"""One training step, event by event: the exact fidelity of the cost model.

Events happen at a time: a push may start, a server has applied what all pushed, a collective starts. In between,
transfers proceed at max-min fair rates (`autosync_lab.simulator.fair_links`); the next thing that happens is the next
event or the next end of a transfer. On a route all transfers get the same rate, so with the service V that one of them
has had so far, a transfer that starts at V ends at V plus its bytes, and only the first end of each route matters.

Shapes: Q shards on servers in the order of their pushes, K classes of worker nodes, N nodes, G collectives in the order
in which they are ready. A class is nodes that are alike; on a small cluster every node is a class of its own.
"""

import numpy as np
from numba import njit

from autosync_lab.simulator.fair_links import fair_rates

PUSH_MAY_START, APPLIED, COLLECTIVE_MAY_START = 0, 1, 2


@njit(cache=True)
def _later(times, kinds, firsts, seconds, a, b):  # type: ignore[no-untyped-def]
    if times[a] != times[b]:
        return times[a] > times[b]
    if kinds[a] != kinds[b]:
        return kinds[a] > kinds[b]
    if firsts[a] != firsts[b]:
        return firsts[a] > firsts[b]
    return seconds[a] > seconds[b]


@njit(cache=True)
def _swap(times, kinds, firsts, seconds, a, b):  # type: ignore[no-untyped-def]
    times[a], times[b] = times[b], times[a]
    kinds[a], kinds[b] = kinds[b], kinds[a]
    firsts[a], firsts[b] = firsts[b], firsts[a]
    seconds[a], seconds[b] = seconds[b], seconds[a]


@njit(cache=True)
def _add(times, kinds, firsts, seconds, size, time, kind, first, second):  # type: ignore[no-untyped-def]
    times[size], kinds[size], firsts[size], seconds[size] = time, kind, first, second
    at = size
    while at and _later(times, kinds, firsts, seconds, (at - 1) // 2, at):
        _swap(times, kinds, firsts, seconds, (at - 1) // 2, at)
        at = (at - 1) // 2
    return size + 1


@njit(cache=True)
def _remove(times, kinds, firsts, seconds, size):  # type: ignore[no-untyped-def]
    size -= 1
    _swap(times, kinds, firsts, seconds, 0, size)
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _later(times, kinds, firsts, seconds, child, child + 1):
            child += 1
        if not _later(times, kinds, firsts, seconds, at, child):
            break
        _swap(times, kinds, firsts, seconds, at, child)
        at = child
    return size


@njit(cache=True)
def _wait_behind(  # type: ignore[no-untyped-def]
    active, count, links, capacity, pushers, first, following, tag, service, window, rounds, ring_links, queued, due
):
    """Seconds that a collective's messages wait behind pushes and pulls on the links of its ring.

    Each of its `rounds` messages waits behind what the connections on a link have under way: at most `window` bytes
    each; and all together no longer than until those transfers have ended. `queued` and `due` [links] are scratch.
    """
    queued[:] = 0.0
    due[:] = 0.0
    shards, classes = pushers.shape
    for a in range(count):
        r = active[a]
        if r >= len(links) - classes:
            # The ring itself.
            continue
        remaining, connections = 0.0, 0.0
        at = first[r]
        while at >= 0:
            transfer = at % (shards * classes)
            times = pushers[transfer // classes, transfer % classes]
            remaining += (tag[at] - service[r]) * times
            connections = max(connections, times)
            at = following[at]
        for x in range(links.shape[1]):
            if 0 <= links[r, x] < ring_links:
                due[links[r, x]] += remaining
                queued[links[r, x]] += min(remaining, window * connections)
    wait = 0.0
    for link in range(ring_links):
        wait = max(wait, min(rounds * queued[link], due[link]) / capacity[link])
    return wait


@njit(cache=True)
def play_step(  # type: ignore[no-untyped-def]
    owner, push_ready_s, push_nbytes, pull_nbytes, apply_work_s, pushers, push_credit,
    group_ready_s, group_wire, group_work_s, group_tensors, group_rows, fused, ring_weight,
    links, capacity, latency_s, largest_latency, world, stream, window, cpu_free_s, pull_cpu_s, acknowledge_s,
    collective_s, exchange_s, tensor_s, cycle_s,
    push_s, applied_s, pull_s, collective, refresh_s,
):  # fmt: skip
    """Play one step.

    Parameters
    ----------
    owner : int64 [Q]
        Node of each shard's server.
    push_ready_s, push_nbytes, pull_nbytes, apply_work_s : float64 [Q]
        When a replica has serialized its push, bytes of one push and of one pull, and the server's work.
    pushers : float64 [Q, K]
        Pushes of each class that cross a link.
    push_credit : int
    group_ready_s, group_wire, group_work_s : float64 [G]
        When a replica has made all of a collective's gradients, bytes that it sends over each link, and its own work.
    group_tensors : int64 [G]
    group_rows : bool [G]
        Rows are gathered.
    fused : bool
        Collectives of one kind that are ready at once travel together.
    ring_weight : float64 [K]
        Links of the ring that start in each class.
    links : int64 [2 K N + K, 4]
        Links of each route: push from class k to node j is k N + j, pull K N + j K + k, the ring of k is 2 K N + k.
    capacity : float64 [links]
    latency_s : float64 [N]
    largest_latency, world, stream, window, pull_cpu_s, acknowledge_s, collective_s, exchange_s, tensor_s, cycle_s
        As in `step_bound.step_times`; `stream` in bytes per second, `window` in bytes.
    cpu_free_s : float
        When a replica has computed and serialized everything.
    push_s, pull_s : float64 [Q, K, 2]
        Written: start and end of each push and pull, NaN where none crosses a link.
    applied_s : float64 [Q, 2]
        Written: start and end of each update.
    collective : float64 [G, 3]
        Written: start, end, and the collective that it travelled with.
    refresh_s : float
        Rates are found anew at most once in this time; 0: whenever something changes.

    Returns
    -------
    float
        When everything has ended, seconds.
    """
    shards, classes = pushers.shape
    nodes = len(latency_s)
    routes = len(links)
    transfers = 2 * shards * classes + classes
    tag, following = np.empty(transfers), np.full(transfers, -1, np.int64)
    first = np.full(routes, -1, np.int64)
    weight, service, rate = np.zeros(routes), np.zeros(routes), np.zeros(routes)
    active, place, count = np.empty(routes, np.int64), np.full(routes, -1, np.int64), 0
    left, load = np.empty(len(capacity)), np.empty(len(capacity))
    queued, due = np.empty(len(capacity)), np.empty(len(capacity))
    room = shards * (classes + 1) + len(group_ready_s) + 1
    times, kinds = np.empty(room), np.empty(room, np.int64)
    firsts, seconds = np.empty(room, np.int64), np.empty(room, np.int64)
    size = 0
    waiting = np.zeros(shards)
    apply_free, cpu_free = np.zeros(nodes), np.full(classes, cpu_free_s)
    push_s[:] = np.nan
    pull_s[:] = np.nan
    collective[:] = -1.0
    # Pushes in flight of each class, and which is next.
    following_push = np.zeros(classes, np.int64)
    end = cpu_free_s
    for q in range(shards):
        for k in range(classes):
            waiting[q] += pushers[q, k] > 0.0
    for k in range(classes):
        most = shards if push_credit == 0 else min(push_credit, shards)
        for q in range(most):
            size = _add(times, kinds, firsts, seconds, size, push_ready_s[q], PUSH_MAY_START, q, k)
        following_push[k] = most
    for q in range(shards):
        if waiting[q] == 0.0:
            # Only replicas on the owner's node push, over no link.
            size = _add(times, kinds, firsts, seconds, size, push_ready_s[q], APPLIED, q, 0)
    group, ring_busy, ring_left, ring_last, agreed = 0, False, 0, 0, -1.0
    if len(group_ready_s):
        agreed = group_ready_s[0] + 0.5 * cycle_s
        size = _add(times, kinds, firsts, seconds, size, agreed + collective_s, COLLECTIVE_MAY_START, 0, 0)
    now, refreshed, stale = 0.0, -np.inf, False
    while size or count:
        if stale and (now >= refreshed + refresh_s):
            fair_rates(active, count, links, weight, capacity, stream, rate, left, load)
            refreshed, stale = now, False
        coming, which = np.inf, -1
        for a in range(count):
            r = active[a]
            if rate[r] > 0.0:
                t = now + max(0.0, (tag[first[r]] - service[r]) / rate[r])
                if t < coming:
                    coming, which = t, r
        until = times[0] if size else np.inf
        if stale and refreshed + refresh_s < min(coming, until):
            until, which = refreshed + refresh_s, -2
        elif until <= coming:
            which = -1
        else:
            until = coming
        for a in range(count):
            r = active[a]
            service[r] += rate[r] * (until - now)
        now = max(now, until)
        if which == -2:
            continue
        done = -1
        if which >= 0:
            r = which
            done = first[r]
            service[r] = tag[done]
            first[r] = following[done]
        started, started_route, started_bytes, started_weight = -1, -1, 0.0, 0.0
        shard_applied, ring_starts = -1, False
        freed_class, known_s = -1, 0.0
        if done >= 0:
            stale = True
            if done < shards * classes:
                q, k = done // classes, done % classes
                weight[which] -= pushers[q, k]
                push_s[q, k, 1] = now
                waiting[q] -= 1.0
                freed_class, known_s = k, acknowledge_s
                if waiting[q] <= 0.0:
                    j = owner[q]
                    applied_s[q, 0] = max(apply_free[j], now + latency_s[j])
                    apply_free[j] = applied_s[q, 0] + apply_work_s[q]
                    applied_s[q, 1] = apply_free[j]
                    size = _add(times, kinds, firsts, seconds, size, apply_free[j] + latency_s[j], APPLIED, q, 1)
            elif done < 2 * shards * classes:
                q, k = (done - shards * classes) // classes, (done - shards * classes) % classes
                weight[which] -= pushers[q, k]
                cpu_free[k] = max(cpu_free[k], now) + pull_cpu_s
                pull_s[q, k, 1] = now
                end = max(end, cpu_free[k])
            else:
                k = done - 2 * shards * classes
                weight[which] -= ring_weight[k]
                ring_left -= 1
            if first[which] < 0:
                weight[which] = 0.0
                count -= 1
                moved = active[count]
                active[place[which]] = moved
                place[moved] = place[which]
                place[which] = -1
        else:
            kind, a, b = kinds[0], firsts[0], seconds[0]
            size = _remove(times, kinds, firsts, seconds, size)
            if kind == PUSH_MAY_START:
                if pushers[a, b] > 0.0:
                    started, started_route = a * classes + b, b * nodes + owner[a]
                    started_bytes, started_weight = push_nbytes[a], pushers[a, b]
                    push_s[a, b, 0] = now
                else:
                    # Also a push to another process of the same node is acknowledged.
                    freed_class, known_s = b, acknowledge_s
            elif kind == APPLIED:
                if b == 0:
                    j = owner[a]
                    applied_s[a, 0] = max(apply_free[j], now)
                    apply_free[j] = applied_s[a, 0] + apply_work_s[a]
                    applied_s[a, 1] = apply_free[j]
                    size = _add(times, kinds, firsts, seconds, size, apply_free[j], APPLIED, a, 1)
                else:
                    shard_applied = a
                    end = max(end, now)
            else:
                wait = 0.0
                if b == 0 and window > 0.0:
                    # One message of the agreement, and those of the ring.
                    wait = _wait_behind(
                        active, count, links, capacity, pushers, first, following, tag, service, window,
                        2.0 * world - 1.0, 2 * classes, queued, due,
                    )  # fmt: skip
                if wait > 0.0:
                    size = _add(times, kinds, firsts, seconds, size, now + wait, COLLECTIVE_MAY_START, a, 1)
                else:
                    ring_starts = True
        if freed_class >= 0 and push_credit and following_push[freed_class] < shards:
            q = following_push[freed_class]
            following_push[freed_class] += 1
            size = _add(
                times, kinds, firsts, seconds, size, max(now + known_s, push_ready_s[q]), PUSH_MAY_START, q, freed_class
            )
        starts = 1 if started >= 0 else 0
        if shard_applied >= 0 or ring_starts:
            starts = classes
        if ring_starts:
            ring_busy = True
            wire, ring_last = group_wire[group], group
            if fused:
                while (
                    ring_last + 1 < len(group_ready_s)
                    and group_ready_s[ring_last + 1] <= agreed
                    and group_rows[ring_last + 1] == group_rows[group]
                ):
                    ring_last += 1
                    wire += group_wire[ring_last]
            for g in range(group, ring_last + 1):
                collective[g, 0] = now
                collective[g, 2] = group
            ring_left = 0
        for k in range(starts):
            if shard_applied >= 0:
                q = shard_applied
                if pushers[q, k] == 0.0:
                    cpu_free[k] = max(cpu_free[k], now) + pull_cpu_s
                    end = max(end, cpu_free[k])
                    continue
                if pull_nbytes[q] == 0.0:
                    continue
                started, started_route = shards * classes + q * classes + k, classes * nodes + owner[q] * classes + k
                started_bytes, started_weight = pull_nbytes[q], pushers[q, k]
                pull_s[q, k, 0] = now
            elif ring_starts:
                if ring_weight[k] == 0.0:
                    continue
                ring_left += 1
                started, started_route = 2 * shards * classes + k, 2 * classes * nodes + k
                started_bytes, started_weight = wire, ring_weight[k]
            r = started_route
            tag[started] = service[r] + started_bytes
            at, before = first[r], -1
            while at >= 0 and tag[at] <= tag[started]:
                at, before = following[at], at
            following[started] = at
            if before >= 0:
                following[before] = started
            else:
                first[r] = started
            if weight[r] == 0.0:
                active[count] = r
                place[r] = count
                count += 1
                rate[r] = 0.0
                if refresh_s > 0.0:
                    # Until rates are found anew, what a fair share of the narrowest link would be.
                    rate[r] = stream
                    for x in range(links.shape[1]):
                        if links[r, x] >= 0:
                            rate[r] = min(rate[r], capacity[links[r, x]] / (load[links[r, x]] + started_weight))
            weight[r] += started_weight
            stale = True
        if ring_busy and ring_left == 0:
            ring_busy = False
            over = now + exchange_s + 2.0 * (world - 1) * largest_latency
            for g in range(group, ring_last + 1):
                over += group_work_s[g] + group_tensors[g] * tensor_s
            for g in range(group, ring_last + 1):
                collective[g, 1] = over
            end = max(end, over)
            group = ring_last + 1
            if group < len(group_ready_s):
                begin = over
                if group_ready_s[group] > agreed:
                    agreed = max(over, group_ready_s[group]) + 0.5 * cycle_s
                    begin = agreed + collective_s
                size = _add(times, kinds, firsts, seconds, size, begin, COLLECTIVE_MAY_START, group, 0)
    return end

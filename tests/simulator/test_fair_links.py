"""`fair_rates`: closed forms, an independent progressive filling, and what makes rates max-min fair."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from autosync_lab.simulator.fair_links import LINKS_OF_A_ROUTE, fair_rates

UNLIMITED = 1e18


def rates(
    routes: Sequence[Sequence[int]],
    capacity: Sequence[float],
    weight: Sequence[float] | None = None,
    stream: float = UNLIMITED,
    active: Sequence[int] | None = None,
) -> npt.NDArray[np.float64]:
    """Rates of the transfers of each route; -7 where a route has none in flight."""
    links = np.full((len(routes), LINKS_OF_A_ROUTE), -1, np.int64)
    for r, route in enumerate(routes):
        links[r, : len(route)] = route
    chosen = np.arange(len(routes)) if active is None else np.asarray(active, np.int64)
    rate = np.full(len(routes), -7.0)
    size = len(capacity)
    fair_rates(
        chosen,
        len(chosen),
        links,
        np.asarray(weight if weight is not None else [1.0] * len(routes), float),
        np.asarray(capacity, float),
        stream,
        rate,
        np.empty(size),
        np.empty(size),
    )
    return rate


def progressively_filled(
    routes: Sequence[Sequence[int]], capacity: Sequence[float], weight: Sequence[float], stream: float
) -> list[float]:
    """All rates grow together; those that cross a link that is full, or that reach `stream`, stop."""
    rate = [0.0] * len(routes)
    growing = set(range(len(routes)))
    while growing:
        used = [sum(weight[r] * rate[r] for r in range(len(routes)) if x in routes[r]) for x in range(len(capacity))]
        load = [sum(weight[r] for r in growing if x in routes[r]) for x in range(len(capacity))]
        steps = [(capacity[x] - used[x]) / load[x] for x in range(len(capacity)) if load[x] > 0]
        step = min([*steps, *(stream - rate[r] for r in growing)])
        for r in growing:
            rate[r] += step
        full = {
            x
            for x in range(len(capacity))
            if load[x] > 0 and used[x] + load[x] * step >= capacity[x] - 1e-9 * capacity[x]
        }
        growing = {r for r in growing if rate[r] < stream * (1 - 1e-9) and not full & set(routes[r])}
    return rate


def test_transfers_over_one_link_share_it() -> None:
    assert rates([[0], [0], [0]], [9.0]) == pytest.approx([3.0, 3.0, 3.0])


def test_a_route_counts_as_many_times_as_it_has_transfers() -> None:
    assert rates([[0], [0]], [12.0], weight=[1.0, 3.0]) == pytest.approx([3.0, 3.0])


def test_what_one_link_holds_back_others_use() -> None:
    # The long route is held back by the narrow link; the wide link's other route takes the rest.
    assert rates([[0, 1], [0], [1]], [10.0, 4.0]) == pytest.approx([2.0, 8.0, 2.0])


def test_one_long_route_and_many_short_ones() -> None:
    # The parking lot: on each of three links, the long route and a short one.
    assert rates([[0, 1, 2], [0], [1], [2]], [2.0, 4.0, 6.0]) == pytest.approx([1.0, 1.0, 3.0, 5.0])


def test_a_stream_carries_its_most_though_links_are_wide() -> None:
    assert rates([[0], [0], [1]], [100.0, 3.0], stream=5.0) == pytest.approx([5.0, 5.0, 3.0])


def test_a_route_without_links_gets_what_a_stream_carries() -> None:
    assert rates([[], [0]], [2.0], stream=5.0) == pytest.approx([5.0, 2.0])


def test_routes_without_transfers_take_nothing_and_keep_their_rate() -> None:
    assert rates([[0], [0], [0]], [6.0], active=[0, 2]) == pytest.approx([3.0, -7.0, 3.0])


def test_nothing_in_flight() -> None:
    assert rates([[0]], [6.0], active=[]) == pytest.approx([-7.0])


def random_network(rng: np.random.Generator) -> tuple[list[list[int]], list[float], list[float], float]:
    links = int(rng.integers(1, 7))
    routes = [
        sorted(rng.choice(links, int(rng.integers(1, min(links, LINKS_OF_A_ROUTE) + 1)), replace=False).tolist())
        for _ in range(int(rng.integers(1, 12)))
    ]
    # Small whole numbers, so that ties are common.
    capacity = rng.integers(1, 6, links).astype(float) * rng.choice([1.0, 1e9])
    weight = rng.integers(1, 5, len(routes)).astype(float)
    stream = float(rng.choice([UNLIMITED, capacity.mean() / 3]))
    return routes, capacity.tolist(), weight.tolist(), stream


@pytest.mark.parametrize("seed", range(60))
def test_random_networks_against_progressive_filling(seed: int) -> None:
    routes, capacity, weight, stream = random_network(np.random.default_rng(seed))
    found = rates(routes, capacity, weight, stream)
    assert found == pytest.approx(progressively_filled(routes, capacity, weight, stream), rel=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_rates_are_max_min_fair(seed: int) -> None:
    routes, capacity, weight, stream = random_network(np.random.default_rng(1000 + seed))
    found = rates(routes, capacity, weight, stream)
    together = list(zip(routes, weight, found, strict=True))
    used = np.asarray([sum(w * f for r, w, f in together if x in r) for x in range(len(capacity))])
    assert (used <= np.asarray(capacity) * (1 + 1e-6)).all()
    assert (found <= stream * (1 + 1e-9)).all()
    for route, rate in zip(routes, found, strict=True):
        # No transfer can get more without another, that has no more than it, getting less.
        held_back = any(
            used[x] >= capacity[x] * (1 - 1e-6)
            and rate >= max(f for r, f in zip(routes, found, strict=True) if x in r) * (1 - 1e-6)
            for x in route
        )
        assert held_back or rate == pytest.approx(stream)

"""Max-min fair sharing of links by transfers.

A route is what transfers between the same two ends have in common: the links they cross. Transfers of one route get the
same rate, so a route is its links and its weight, the number of transfers in flight on it. Rates are found by
progressive filling: the link whose capacity per transfer is least decides for all that cross it, and so on with the
rest (Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2).
"""

from numba import njit

LINKS_OF_A_ROUTE = 4


@njit(cache=True)
def fair_rates(active, count, links, weight, capacity, stream, rate, left, load):  # type: ignore[no-untyped-def]
    """Rates of the transfers of each active route, bytes per second, in place.

    Parameters
    ----------
    active : int64 [routes]
        Routes with transfers in flight; the first `count` count.
    links : int64 [routes, 4]
        Links of each route; -1 for none.
    weight : float64 [routes]
        Transfers in flight.
    capacity : float64 [links]
        Bytes per second.
    stream : float
        Most bytes per second of one transfer.
    rate : float64 [routes]
        Written, for active routes.
    left, load : float64 [links]
        Scratch.
    """
    left[:] = capacity
    load[:] = 0.0
    for a in range(count):
        r = active[a]
        rate[r] = -1.0
        for x in range(LINKS_OF_A_ROUTE):
            if links[r, x] >= 0:
                load[links[r, x]] += weight[r]
    open_routes = count
    while open_routes:
        least = stream
        for link in range(len(capacity)):
            if load[link] > 1e-9:
                least = min(least, left[link] / load[link])
        least = max(least, 0.0)
        for a in range(count):
            r = active[a]
            if rate[r] >= 0.0:
                continue
            bound = least == stream
            for x in range(LINKS_OF_A_ROUTE):
                link = links[r, x]
                if link >= 0 and left[link] <= load[link] * least * (1.0 + 1e-9):
                    bound = True
            if bound:
                # Set apart, so that what this round subtracts does not decide for the others in it.
                rate[r] = -2.0 - least
        for a in range(count):
            r = active[a]
            if rate[r] <= -2.0:
                rate[r] = least
                open_routes -= 1
                for x in range(LINKS_OF_A_ROUTE):
                    link = links[r, x]
                    if link >= 0:
                        left[link] -= weight[r] * least
                        load[link] -= weight[r]

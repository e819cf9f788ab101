"""What strategies cost and promise, side by side."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from autosync_lab.cluster.bound import bandwidth_bound
from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.spec import Strategy
from autosync_widgets.colours import look_of
from autosync_widgets.figures.traffic_matrix import TrafficMatrix, traffic
from autosync_widgets.figures.variable_plans import settings_text
from autosync_widgets.marker import marker_svg
from autosync_widgets.wording import bytes_text, seconds_text


@dataclass(frozen=True)
class StrategyFacts:
    """One strategy on one model and cluster.

    Parameters
    ----------
    strategy : Strategy
    traffic : TrafficMatrix
        Also has the strategy's name.
    bound_s : float
        Bandwidth bound of the same semantics, seconds.
    simulated_s : float
        Step time that the cost model predicts, seconds; NaN until it has.
    """

    strategy: Strategy
    traffic: TrafficMatrix
    bound_s: float
    simulated_s: float = math.nan


def strategy_facts(model: ModelSpec, cluster: ClusterSpec, strategy: Strategy, label: str) -> StrategyFacts:
    """The facts of one strategy, called `label`; nothing is simulated."""
    lossless_wire = strategy.with_settings(synchronous=True, staleness=None).lossless
    return StrategyFacts(
        strategy,
        traffic(model, cluster, strategy, label),
        bandwidth_bound(model, cluster, lossless=lossless_wire),
    )


def strategy_facts_html(facts: Sequence[StrategyFacts]) -> str:
    """A table with one column per strategy."""
    rows = (
        ("over all links", "Bytes that cross links in one step, all nodes together; counted.", _total),
        ("busiest link", "The node whose link needs longest, and what it carries; counted.", _busiest),
        ("links need", "Seconds for these bytes if every link ran at full speed and nothing else took time.", _links),
        ("bandwidth bound", "No strategy of the same training results can be faster, whatever it does.", _bound),
        ("step time, simulated", "What the cost model predicts. Nothing was run.", _simulated),
        ("training", "Whether training gives what one process on the concatenated batch would.", _training),
        ("settings", "What holds for the whole graph.", _settings),
    )
    head = "".join(f'<th scope="col">{_name(f)}</th>' for f in facts)
    body = "".join(
        f'<tr><th scope="row" title="{escape(why)}">{escape(name)}</th>'
        f"{''.join(f'<td>{escape(say(f))}</td>' for f in facts)}</tr>"
        for name, why, say in rows
    )
    return (
        f'<table class="autosync-facts-table"><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'
        if facts
        else ""
    )


def _name(facts: StrategyFacts) -> str:
    label = facts.traffic.label
    return f"{marker_svg(look_of(label, facts.strategy))}{escape(label)}"


def _total(facts: StrategyFacts) -> str:
    return bytes_text(facts.traffic.total_nbytes)


def _busiest(facts: StrategyFacts) -> str:
    if not facts.traffic.total_nbytes:
        return "none"
    busiest = facts.traffic.busiest
    return f"{busiest.node}: sends {bytes_text(busiest.sent_nbytes)}, receives {bytes_text(busiest.received_nbytes)}"


def _links(facts: StrategyFacts) -> str:
    return seconds_text(facts.traffic.link_time_s) if facts.traffic.link_time_s else "no time: no link is limited"


def _bound(facts: StrategyFacts) -> str:
    return seconds_text(facts.bound_s) if facts.bound_s else "none: no link is limited"


def _simulated(facts: StrategyFacts) -> str:
    if math.isnan(facts.simulated_s):
        return "simulating ..."
    return f"{seconds_text(facts.simulated_s)} (simulated)"


def _training(facts: StrategyFacts) -> str:
    return "results stay the same" if facts.strategy.lossless else "results change (lossy or asynchronous)"


def _settings(facts: StrategyFacts) -> str:
    return settings_text(facts.strategy)

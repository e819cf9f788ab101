"""What can be chosen in an Explorer: the catalog's and the user's own models, clusters and strategies."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.strategy.spec import Strategy
from autosync_widgets.strategy_picker import StrategyOption

Item = TypeVar("Item")

StrategyChoice = str | Strategy
"""A builder's name, or a strategy of the user's own."""


@dataclass(frozen=True)
class Choices(Generic[Item]):
    """Things to choose from by name, loaded when they are chosen.

    Parameters
    ----------
    names : tuple of str
    load : callable
        Thing by name.
    own : dict of str to thing
        The user's own, by name; they hide the catalog's of the same name.
    """

    names: tuple[str, ...]
    load: Callable[[str], Item]
    own: Mapping[str, Item]

    @property
    def options(self) -> tuple[str, ...]:
        """All names, the user's own first."""
        return (*self.own, *(n for n in self.names if n not in self.own))

    def __getitem__(self, name: str) -> Item:
        return self.own[name] if name in self.own else self.load(name)


def model_choices(model: str | ModelSpec | None) -> tuple[Choices[ModelSpec], str]:
    """The catalog with the user's model, and the name that is chosen at first.

    Raises
    ------
    InvalidInput
        If it is no model, or there is neither a model nor a file of that name.
    """
    from autosync_lab.model import load_model, model_names

    names = model_names()
    own: dict[str, ModelSpec] = {}
    if isinstance(model, ModelSpec):
        own, chosen = {model.name: model}, model.name
    elif model is None:
        chosen = "vgg-mini"
    elif isinstance(model, str):
        chosen = model
        if model not in names:
            own = {model: load_model(model)}
    else:
        raise InvalidInput("a model is a name, a file or a ModelSpec", where="model", received=model)
    return Choices(names, load_model, own), chosen


def cluster_choices(cluster: str | ClusterSpec | None) -> tuple[Choices[ClusterSpec], str]:
    """The presets with the user's cluster, and the name that is chosen at first.

    Raises
    ------
    InvalidInput
        If it is no cluster, or there is neither a preset nor a file of that name.
    """
    from autosync_lab.cluster import cluster_names, load_cluster

    names = cluster_names()
    own: dict[str, ClusterSpec] = {}
    if isinstance(cluster, ClusterSpec):
        own, chosen = {cluster.name: cluster}, cluster.name
    elif cluster is None:
        chosen = "emulated-4"
    elif isinstance(cluster, str):
        chosen = cluster
        if cluster not in names:
            own = {cluster: load_cluster(cluster)}
    else:
        raise InvalidInput("a cluster is a name, a file or a ClusterSpec", where="cluster", received=cluster)
    return Choices(names, load_cluster, own), chosen


def strategy_choices(
    strategies: Sequence[StrategyChoice] | Mapping[str, StrategyChoice] | None,
) -> tuple[Choices[StrategyChoice], tuple[str, ...]]:
    """The builders with the user's strategies, and the names that are chosen at first.

    Parameters
    ----------
    strategies : sequence of str or Strategy, or mapping of label to either, optional
        A strategy without a label is called by its id.

    Raises
    ------
    InvalidInput
        If one is neither a builder's name nor a strategy.
    """
    from autosync_lab.strategy import builder_names

    own: dict[str, StrategyChoice] = {}
    chosen = []
    for label, strategy in _labelled(strategies):
        if isinstance(strategy, str) and strategy not in builder_names():
            raise InvalidInput("unknown builder", where="strategies", received=strategy, valid=builder_names())
        if not isinstance(strategy, str | Strategy):
            raise InvalidInput("a strategy is a builder's name or a Strategy", where="strategies", received=strategy)
        if label != strategy:
            own[label] = strategy
        chosen.append(label)
    return Choices(builder_names(), lambda name: name, own), tuple(chosen)


def _labelled(
    strategies: Sequence[StrategyChoice] | Mapping[str, StrategyChoice] | None,
) -> Iterable[tuple[str, StrategyChoice]]:
    if strategies is None:
        return
    if isinstance(strategies, Mapping):
        yield from strategies.items()
        return
    if isinstance(strategies, str | Strategy):
        strategies = [strategies]
    for strategy in strategies:
        yield (strategy.id if isinstance(strategy, Strategy) else str(strategy)), strategy


def strategy_options(choices: Choices[StrategyChoice]) -> tuple[StrategyOption, ...]:
    """How each strategy is explained."""
    from autosync_lab.strategy import builder_card

    options = []
    for name in choices.options:
        choice = choices[name]
        if isinstance(choice, Strategy):
            sentence = f"Your own strategy {choice.id}."
            options.append(StrategyOption(name, sentence, lossy=not choice.lossless))
        else:
            card = builder_card(choice)
            options.append(StrategyOption(name, card.sentence, lossy=not card.lossless, source=card.source))
    return tuple(options)

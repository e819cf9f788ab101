"""`LazyTabs`: tabs whose contents are made when they are first opened."""

from collections.abc import Callable, Hashable, Mapping

import ipywidgets

from autosync_lab.errors import AutoSyncLabError, InvalidInput
from autosync_widgets.results_table import notice_html


class LazyTabs(ipywidgets.Tab):
    """Tabs of which the first one is there at once; others are built when they are opened.

    A tab is built anew when it is opened, or shown, after what it depends on has changed; until then it stays as its
    user left it.

    Parameters
    ----------
    title : str
        Of the first tab.
    first : Widget
    """

    children: tuple[ipywidgets.Widget, ...]
    titles: tuple[str, ...]

    def __init__(self, title: str, first: ipywidgets.Widget) -> None:
        super().__init__([first], titles=[title], selected_index=0)
        self._builders: dict[str, TabBuilder] = {}
        self._built_of: dict[str, Hashable] = {}
        self.observe(lambda _: self.refresh(), "selected_index")

    def offer(self, builders: "Mapping[str, TabBuilder]") -> None:
        """Add tabs that are built when they are opened.

        Parameters
        ----------
        builders : mapping of title to TabBuilder
        """
        self._builders |= builders
        titles = (*self.titles, *builders)
        self.children = (*self.children, *(ipywidgets.VBox() for _ in builders))
        self.titles = titles

    def open_tab(self, title: str) -> ipywidgets.Widget:
        """Select a tab.

        Returns
        -------
        Widget
            What is in it.

        Raises
        ------
        InvalidInput
            If there is no tab of that title.
        """
        if title not in self.titles:
            raise InvalidInput("there is no tab of this title", received=title, valid=self.titles)
        self.selected_index = self.titles.index(title)
        shown = self.children[self.selected_index]
        return shown.children[0] if title in self._builders else shown

    def refresh(self) -> None:
        """Build the tab that is shown, if it was not built for what it depends on now."""
        index = self.selected_index
        title = self.titles[index] if index is not None else ""
        if title not in self._builders:
            return
        builder = self._builders[title]
        try:
            depends_on = builder.depends_on()
            if self._built_of.get(title, self) == depends_on:
                return
            content = builder.build()
        except AutoSyncLabError as error:
            depends_on, content = self, ipywidgets.HTML(notice_html(str(error), ""))
        self.children[index].children = [content]
        self._built_of[title] = depends_on


class TabBuilder:
    """How a tab is made.

    Parameters
    ----------
    depends_on : callable
        Value that is another one when the tab has to be built anew.
    build : callable
        The tab's content. An error that it raises on purpose is shown in its place.
    """

    def __init__(self, depends_on: Callable[[], Hashable], build: Callable[[], ipywidgets.Widget]) -> None:
        self.depends_on = depends_on
        self.build = build

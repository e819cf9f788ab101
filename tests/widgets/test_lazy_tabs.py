import ipywidgets
import pytest

from autosync_lab.errors import InvalidInput
from autosync_widgets.lazy_tabs import LazyTabs, TabBuilder


def test_tabs_are_built_when_they_are_opened_and_when_what_they_depend_on_changed() -> None:
    first, built, key = ipywidgets.Label("first"), [], ["a"]

    def build() -> ipywidgets.Widget:
        built.append(ipywidgets.Label(key[0]))
        return built[-1]

    tabs = LazyTabs("First", first)
    tabs.offer({"Second": TabBuilder(lambda: key[0], build)})
    assert (tabs.titles, built) == (("First", "Second"), [])
    assert tabs.open_tab("Second") is built[0]
    assert tabs.open_tab("First") is first
    assert tabs.open_tab("Second") is built[0]
    key[0] = "b"
    tabs.refresh()
    assert tabs.open_tab("Second") is built[1]
    assert len(built) == 2
    key[0] = "c"
    tabs.open_tab("First")
    tabs.refresh()
    assert len(built) == 2
    with pytest.raises(InvalidInput, match="did you mean 'Second'"):
        tabs.open_tab("Secon")


def test_what_a_tab_refuses_is_shown_in_it_and_tried_again() -> None:
    refused = [True]

    def build() -> ipywidgets.Widget:
        if refused[0]:
            raise InvalidInput("not <this>")
        return ipywidgets.Label("there")

    tabs = LazyTabs("First", ipywidgets.Label())
    tabs.offer({"Second": TabBuilder(lambda: 1, build)})
    assert "not &lt;this&gt;" in tabs.open_tab("Second").value
    refused[0] = False
    tabs.refresh()
    assert tabs.open_tab("Second").value == "there"

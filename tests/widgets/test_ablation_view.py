from autosync_widgets import AblationView, LiveFigure
from autosync_widgets.panels.ablation_view import comparisons_html
from tests.widgets.comparisons import COMPARISONS


def test_figure_table_and_words_are_of_the_comparisons() -> None:
    view = AblationView(COMPARISONS, "So it <is>.")
    shown = " ".join(getattr(child, "value", "") for child in view.children)
    assert "So it &lt;is&gt;. Of 2 comparisons" in shown
    assert "none &lt;of it&gt;" in shown
    (figure,) = [child for child in view.children if isinstance(child, LiveFigure)]
    assert len(figure.spec["data"]) == 4
    assert view._file().name == "ablations-x.html"


def test_a_row_says_whether_it_is_simulated_and_whether_the_effect_holds() -> None:
    table = comparisons_html(COMPARISONS)
    assert table.count("<tr>") == 1 + len(COMPARISONS)
    assert table.count("here, simulated") == 1
    assert "<td>not clear</td>" in table
    assert "<td>yes</td>" in table
    assert "-5.000 (" in table


def test_without_comparisons_nothing_is_shown() -> None:
    assert comparisons_html([]) == ""
    assert len(AblationView([]).children) > 0

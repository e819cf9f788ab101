import math

from autosync_lab.strategy.spec import AllReduce, Strategy, VariableStrategy
from autosync_widgets.colours import ALL_REDUCE, PEER, SERVER
from autosync_widgets.figures.step_time_bars import Bar, StepTimeBars, draw_step_time_bars, step_time_bars
from autosync_widgets.figures.step_times import BoundLine
from tests.study.trial_factory import ON_ONE_SERVER, make_trial

FP16 = Strategy(variables=(VariableStrategy("dense/kernel", (AllReduce(compressor="fp16"),)),), replicas=2)


def race() -> list:
    return [
        make_trial("a", label="ps", strategy=ON_ONE_SERVER, step_times_s=((0.4,), (0.8,))),
        make_trial("b", label="horovod-fp16", strategy=FP16, step_times_s=((0.125,),), bound_s=0.1),
        make_trial("c", label="horovod-autotune", strategy=None, step_times_s=((0.25,),)),
        make_trial("d", label="parallax", status="failed", stage="build", step_times_s=()),
    ]


def test_bars_are_sorted_by_time_and_marked_by_kind() -> None:
    data = step_time_bars(race())
    assert data.title == "vgg-mini on local-2"
    assert data.bars[:3] == (
        Bar("horovod-fp16", ALL_REDUCE, True, False, 0.125, 0.125, 0.125, 1),
        Bar("horovod-autotune", PEER, False, True, 0.25, 0.25, 0.25, 1),
        Bar("ps", SERVER, False, False, 0.6000000000000001, 0.5, 0.7000000000000001, 2),
    )
    failed = data.bars[3]
    assert (failed.label, failed.note) == ("parallax", "1 of 1 failed (build)")
    assert math.isnan(failed.seconds)
    assert data.bounds == (BoundLine("bandwidth bound, lossy", 0.1), BoundLine("bandwidth bound", 0.2))


def test_no_bound_where_links_limit_nothing() -> None:
    assert step_time_bars([make_trial(bound_s=0.0), make_trial("b", bound_s=math.inf)]).bounds == ()


def test_nothing_measured_yet() -> None:
    data = step_time_bars([])
    assert data == StepTimeBars("", (), ())
    draw_step_time_bars(data).to_json()


def test_the_figure_holds_every_bar_its_spread_and_every_bound() -> None:
    figure = draw_step_time_bars(step_time_bars(race()))
    bars = {label: trace for trace in figure.data if trace.type == "bar" for label in trace.y}
    assert set(bars) == {"ps", "horovod-fp16", "horovod-autotune", "parallax"}
    patterns = {label: p for t in bars.values() for label, p in zip(t.y, t.marker.pattern.shape, strict=True)}
    assert patterns == {"ps": "", "horovod-fp16": ".", "horovod-autotune": "/", "parallax": ""}
    assert {shape.x0 for shape in figure.layout.shapes} == {0.1, 0.2}
    assert {note.y: note.text for note in figure.layout.annotations} == {
        "ps": "600 ms · 2 steps",
        "horovod-fp16": "125 ms · 1 step · lossy",
        "horovod-autotune": "250 ms · 1 step · peer",
        "parallax": "1 of 1 failed (build)",
    }
    assert any(trace.name == "bandwidth bound: 200 ms" for trace in figure.data)
    (lossless,) = [t for t in figure.data if t.type == "bar" and t.name == "parameter server"]
    at = list(lossless.y).index("ps")
    assert math.isclose(lossless.error_x.array[at], 0.1)
    assert math.isclose(lossless.error_x.arrayminus[at], 0.1)
    figure.to_json()

from dataclasses import replace

from autosync_lab.study.speedup import Speedup
from autosync_widgets.study_state import Plan, Queued, Running, StudyState, advance
from autosync_widgets.study_tables import (
    MOST_FAILURES,
    MOST_LATEST,
    failure_html,
    failures,
    fastest_html,
    latest_html,
    left_out_sentence,
    verdict,
)
from tests.study.trial_factory import ALL_REDUCE, ON_ONE_SERVER
from tests.widgets.requests import FP16
from tests.widgets.search_study import study_record

PLAN = Plan(50, ("ps",), "autosync", "cost-model")
NEW = StudyState("a", "tiny", "pair", plan=PLAN)
PS = study_record(1, 0.6, "baseline", label="ps", strategy=ON_ONE_SERVER)
HALF = study_record(2, 0.4, "baseline", label="horovod-fp16", strategy=FP16, bound_s=0.1)
FOUND = study_record(3, 0.5, strategy=ALL_REDUCE)
WON = Speedup("autosync", "x", "ps", "y", 1.2, 1.1, 1.3, 0.95, (0.5, 0.5), (0.6, 0.6), False)


def test_the_best_so_far_is_compared_within_its_semantics() -> None:
    assert verdict(NEW) == ""
    assert verdict(advance(NEW, [], [PS], "running")) == "Best so far: ps, 600 ms; 3.00x its bandwidth bound."
    assert verdict(advance(NEW, [], [PS, FOUND], "running")) == (
        "Best so far: autosync #3, 500 ms, 1.20x as fast as the best baseline, ps; 2.50x its bandwidth bound."
    )


def test_a_confirmed_speedup_comes_with_its_interval_until_there_is_news() -> None:
    state = replace(advance(NEW, [], [PS, FOUND], "ended"), speedup=WON, confirmed=3)
    assert verdict(state) == (
        "The best strategy found is 1.20x as fast as the best baseline, ps "
        "(95 % interval 1.10 to 1.30, over 2 trials each)."
    )
    assert verdict(replace(state, speedup=replace(WON, ratio=0.9))).startswith("No strategy found is faster")
    simulated = verdict(replace(state, speedup=replace(WON, simulated=True)))
    assert "interval" not in simulated
    later = advance(state, [], [PS, FOUND, study_record(4, 0.45)], "running")
    assert verdict(later).startswith("Best so far: autosync #4")


def test_the_fastest_come_first_with_their_speedup() -> None:
    html = fastest_html(advance(NEW, [], [PS, HALF, FOUND], "running"))
    assert html.index("horovod-fp16") < html.index("autosync #3") < html.index(">ps<")
    # Lossless ones are compared with the best lossless baseline, which is ps.
    assert "1.20x" in html
    assert html.count(">lossy<") == 1
    assert fastest_html(NEW) == ""
    many = [PS, *(study_record(i, 0.1 + i / 1000) for i in range(2, 50))]
    shown = fastest_html(advance(NEW, [], many, "running"))
    assert (shown.count("<tr>"), shown.count("autosync #"), shown.count(">ps<")) == (7, 5, 1)


def test_the_latest_say_what_is_queued_running_and_ended() -> None:
    state = replace(
        advance(NEW, [], [PS, FOUND, study_record(4, status="failed")], "running"),
        queued=(Queued("q1", 0.25), Queued("q2", 0.35), *(Queued(f"more{i}", 0.1) for i in range(4))),
        running=Running("proposal", "autosync", "q1", "steps", 2, 5),
        phase="running",
    )
    html = latest_html(state)
    assert "2 more of autosync" in html
    assert "running, step 2 of 5" in html
    assert "250 ms" in html
    assert ">failed<" in html
    assert html.index("queued") < html.index("running") < html.index("failed") < html.index("500 ms")
    many = advance(NEW, [], [study_record(i) for i in range(1, 100)], "ended")
    assert latest_html(many).count("<tr>") == MOST_LATEST + 1


def test_failures_are_the_newest_with_their_log() -> None:
    records = [study_record(i, status="failed", stage="build", error="<out>", stderr_tail="a\nb") for i in range(1, 20)]
    failed = failures(advance(NEW, [], records, "failed"))
    assert [n for n, _ in failed] == list(range(19, 19 - MOST_FAILURES, -1))
    html = failure_html(*failed[0])
    assert "failed in stage build: &lt;out&gt;" in html
    assert "<details" in html


def test_baselines_that_are_left_out_are_explained() -> None:
    assert left_out_sentence(NEW) == ""
    state = replace(NEW, left_out=(("parallax", "no sparse variable."), ("parallax", "no sparse variable.")))
    assert left_out_sentence(state) == "1 baseline left out: parallax (no sparse variable)."

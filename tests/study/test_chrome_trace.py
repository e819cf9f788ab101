import json

from autosync_lab.runtime.trial import Event
from autosync_lab.study.chrome_trace import chrome_trace
from tests.study.trial_factory import make_trial


def test_workers_are_processes_and_lanes_are_threads() -> None:
    trial = make_trial(
        events=(
            Event("0", "compute", "forward", 0.0, 0.25),
            Event("0", "push", "dense/kernel", 0.25, 0.5),
            Event("1", "compute", "forward", 0.0, 0.125),
        )
    )
    document = json.loads(json.dumps(chrome_trace([trial, make_trial("t2", events=())]), allow_nan=False))
    names = [(e["name"], e["pid"], e["tid"], e["args"]["name"]) for e in document["traceEvents"] if e["ph"] == "M"]
    assert names == [
        ("process_name", 1, 0, "all-reduce (measured) · worker 0"),
        ("thread_name", 1, 1, "compute"),
        ("thread_name", 1, 2, "push"),
        ("process_name", 2, 0, "all-reduce (measured) · worker 1"),
        ("thread_name", 2, 3, "compute"),
    ]
    bars = [(e["name"], e["pid"], e["tid"], e["ts"], e["dur"]) for e in document["traceEvents"] if e["ph"] == "X"]
    assert bars == [
        ("forward", 1, 1, 0.0, 250e3),
        ("dense/kernel", 1, 2, 250e3, 250e3),
        ("forward", 2, 3, 0.0, 125e3),
    ]


def test_simulated_timelines_say_so() -> None:
    (process, *_) = chrome_trace([make_trial(simulated=True)])["traceEvents"]
    assert "simulated" in process["args"]["name"]

"""`autosync-lab import-autodist DIR`."""

import argparse
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from autosync_lab.cli.arguments import add_store, new_file, whole
from autosync_lab.cli.files import write_text
from autosync_lab.cli.output import message_console, plural, print_json, print_table, say
from autosync_lab.errors import AutoSyncLabError, InvalidInput

if TYPE_CHECKING:
    from autosync_lab.runtime.trial import Trial
    from autosync_lab.study import TrialStore
    from autosync_lab.study.autodist_data_set import SampleReader
    from autosync_lab.study.autodist_layout import FoundSamples, LeftOut

SUMMARY = "Import a data set of AutoDist's strategies and their measured runtimes, as the one of the AutoSync paper."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument("folder", metavar="DIR", help="the data set: MODEL/graph_item, MODEL/CLUSTER/runtime/ID, ...")
    add_store(parser)
    parser.add_argument(
        "--output", metavar="FILE", type=new_file(".parquet"), help="write the trials to this file (Parquet)"
    )
    parser.add_argument("--specs", metavar="FOLDER", help="write the models (JSON) and clusters (YAML) to this folder")
    parser.add_argument(
        "--batch-size", type=whole(1), metavar="N", help="examples per replica and step (default: the paper's)"
    )
    parser.add_argument(
        "--lookups",
        type=whole(1),
        metavar="N",
        help="rows that an example looks up in an embedding (the paper's, or 1)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.study import TrialStore, export_trials
    from autosync_lab.study.autodist_data_set import SampleReader
    from autosync_lab.study.autodist_layout import find_samples

    if arguments.store is None and arguments.output is None:
        raise InvalidInput("where to? Give --store FILE, or --output FILE.parquet, or both")
    found = find_samples(Path(arguments.folder))
    reader = SampleReader(arguments.batch_size, arguments.lookups)
    store = TrialStore(arguments.store) if arguments.store is not None else None
    try:
        imported = _import(found, reader, store, keep=arguments.output is not None)
    finally:
        if store is not None:
            store.close()
    if arguments.output is not None:
        export_trials(imported.kept, arguments.output)
        say(f"Wrote {arguments.output}")
    if arguments.specs is not None:
        _write_specs(reader, Path(arguments.specs))
    trials, counts = imported.counts.total(), sorted(imported.counts.items())
    if arguments.json:
        print_json(
            {
                "folder": arguments.folder,
                "trials": trials,
                "stored": imported.stored,
                "left_out": [{"file": item.path, "why": item.why} for item in imported.left_out],
                "pairs": [{"model": m, "cluster": c, "trials": count} for (m, c), count in counts],
            }
        )
    else:
        print_table(
            ("model", "cluster", "trials"),
            [(model, cluster, str(count)) for (model, cluster), count in counts],
            title=f"Imported from {arguments.folder} (measured with AutoDist, not here)",
            left=2,
        )
    if store is not None:
        say(f"{imported.stored} of {plural(trials, 'trial')} new in {arguments.store}")
    if imported.left_out:
        say(f"{len(imported.left_out)} left out, for the reasons above")
    return 0 if trials and not imported.left_out else 1


@dataclass
class _Imported:
    """How many trials there were per model and cluster, how many of them are new in the store, and the rest."""

    left_out: "list[LeftOut]"
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    stored: int = 0
    kept: "list[Trial]" = field(default_factory=list)


def _import(found: "FoundSamples", reader: "SampleReader", store: "TrialStore | None", keep: bool) -> _Imported:
    from rich.progress import track

    from autosync_lab.study.autodist_layout import LeftOut

    imported = _Imported(list(found.left_out))
    for item in imported.left_out:
        _tell(item)
    known = {row["id"] for row in store.database.read("SELECT id FROM trials")} if store is not None else set()
    console = message_console()
    outcomes = track(
        reader.read_all(found.samples, datetime.now(UTC)),
        "Importing",
        total=len(found.samples),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    for outcome in outcomes:
        if isinstance(outcome, LeftOut):
            imported.left_out.append(outcome)
            _tell(outcome)
        elif outcome is not None:
            imported.counts[outcome.model, outcome.cluster] += 1
            if store is not None and outcome.id not in known:
                store.add(outcome)
                imported.stored += 1
            if keep:
                imported.kept.append(outcome)
    return imported


def _tell(item: "LeftOut") -> None:
    message_console().print(f"Left out {item.path}: {item.why}", soft_wrap=True)


def _write_specs(reader: "SampleReader", folder: Path) -> None:
    from autosync_lab.cluster import dump_cluster

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AutoSyncLabError(f"{folder}: {error.strerror}") from error
    for model in reader.models.values():
        write_text(folder / f"{model.name}.json", json.dumps(model.to_json(), indent=1))
    for cluster in reader.clusters.values():
        write_text(folder / f"{cluster.name}.yml", dump_cluster(cluster))
    say(f"Wrote {plural(len(reader.models), 'model')} and {plural(len(reader.clusters), 'cluster')} to {folder}")

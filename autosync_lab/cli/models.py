"""`autosync-lab models [NAME]`."""

import argparse
from typing import TYPE_CHECKING, Any

from autosync_lab.cli.output import megabytes, print_json, print_table, say

if TYPE_CHECKING:
    from autosync_lab.model import ModelSpec

SUMMARY = "List the models, or one model's variables."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="a catalog name or a model file: list its variables")


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.model import load_model, model_card, model_names

    if arguments.name is not None:
        _one(load_model(arguments.name), arguments.json)
        return 0
    rows = []
    for name in model_names():
        model, card = load_model(name), model_card(name)
        rows.append(_totals(model) | {"title": card.title, "bench": card.bench})
    if arguments.json:
        print_json({"models": rows})
        return 0
    print_table(
        ("model", "title", "size", "variables", "parameters", "MB", "sparse"),
        [
            (
                row["name"],
                row["title"],
                "bench" if row["bench"] else "true",
                f"{row['variables']:,}",
                f"{row['parameters']:,}",
                megabytes(row["bytes"]),
                f"{row['sparse_share']:.0%}",
            )
            for row in rows
        ],
        left=3,
    )
    say("Bench sizes run in seconds on two cores. Sparse: share of the bytes whose gradients are sets of rows.")
    return 0


def _one(model: "ModelSpec", as_json: bool) -> None:
    if as_json:
        print_json(_totals(model) | {"notes": model.notes, "per_variable": [v.to_json() for v in model.variables]})
        return
    print_table(
        ("variable", "shape", "dtype", "parameters", "MB", "rows touched", "gradient ready"),
        [
            (
                v.name,
                "x".join(map(str, v.shape)) or "scalar",
                v.dtype,
                f"{v.size:,}",
                megabytes(v.nbytes),
                f"{v.touched_rows:,.0f}" if v.touched_rows is not None else "",
                f"{v.ready:.0%}",
            )
            for v in model.variables
        ],
        title=f"{model.name}: {model.parameters:,} parameters, {megabytes(model.nbytes)} MB, batch {model.batch_size}",
        left=3,
    )
    for note in model.notes:
        say(f"Note: {note}")


def _totals(model: "ModelSpec") -> dict[str, Any]:
    sparse = sum(v.nbytes for v in model.variables if v.sparse)
    return {
        "name": model.name,
        "variables": len(model.variables),
        "parameters": model.parameters,
        "bytes": model.nbytes,
        "sparse_share": sparse / model.nbytes,
        "batch_size": model.batch_size,
        "hash": model.hash,
    }

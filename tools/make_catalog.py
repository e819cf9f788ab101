"""Write the catalog's data files: the variables of every model, from Keras itself.

Usage: python tools/make_catalog.py [NAME ...]

Bench models keep the rows that their examples touch; for the others the expected number is written.
"""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

FOLDER = Path(__file__).parents[1] / "autosync_lab" / "model" / "catalog" / "data"
DIGITS = 6
"""Digits kept of shares and row counts: what follows is below the accuracy of the estimate."""


def main() -> None:
    """Capture each model and write what is known of its variables."""
    from autosync_lab.model.catalog import capture_catalog_model, model_card, model_names
    from autosync_lab.model.catalog.examples import expected_rows
    from autosync_lab.model.catalog.full.bert import ZIPF

    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or model_names():
        card = model_card(name)
        spec = capture_catalog_model(name, **({} if card.bench else {"batches": 1}))
        document = spec.to_json()
        for variable in document["variables"]:
            if variable.get("sparse") and not card.bench:
                draws = card.options["batch"] * card.options.get("length", 1)
                zipf = card.options.get("zipf", ZIPF)
                variable["touched_rows"] = expected_rows(variable["shape"][0], draws, zipf)
            for key in ("touched_rows", "ready"):
                if key in variable:
                    variable[key] = round(variable[key], DIGITS)
        lines = ",\n  ".join(json.dumps(v) for v in document.pop("variables"))
        head = json.dumps(document)[:-1]
        (FOLDER / f"{name}.json").write_text(f'{head}, "variables": [\n  {lines}\n]}}\n')
        print(f"{name}: {len(spec.variables)} variables, {spec.parameters:,} trainable parameters", flush=True)


if __name__ == "__main__":
    main()

"""Write the catalog's data files: the variables of every model, from Keras itself.

Usage: python tools/make_catalog.py [NAME ...]
"""

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

FOLDER = Path(__file__).parents[1] / "autosync_lab" / "model" / "catalog" / "data"


def main() -> None:
    """Capture each model and write what is known of its variables."""
    from autosync_lab.model.catalog import CATALOG, capture_catalog_model

    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or CATALOG:
        spec = capture_catalog_model(name)
        document = spec.to_json()
        document["variables"] = [
            {k: round(v, 6) if k == "ready" else v for k, v in variable.items()} for variable in document["variables"]
        ]
        lines = ",\n  ".join(json.dumps(v) for v in document.pop("variables"))
        head = json.dumps(document)[:-1]
        (FOLDER / f"{name}.json").write_text(f'{head}, "variables": [\n  {lines}\n]}}\n')
        print(f"{name}: {len(spec.variables)} variables, {spec.parameters:,} trainable parameters", flush=True)


if __name__ == "__main__":
    main()

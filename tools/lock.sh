#!/bin/sh
# Write constraints.txt from what is installed in the virtual environment: names and versions, no addresses.
set -eu
cd "$(dirname "$0")/.."
{
    echo "# Versions that were installed and tested together. Written by: make lock"
    .venv/bin/python -m pip freeze --exclude-editable | sed 's/ @ .*horovod-\([0-9.]*\)-.*/==\1/' | grep '==' | LC_ALL=C sort -f
} > constraints.txt.new
mv constraints.txt.new constraints.txt

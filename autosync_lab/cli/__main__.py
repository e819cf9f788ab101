"""`python -m autosync_lab.cli`: the same as `autosync-lab`."""

import sys

from autosync_lab.cli.app import main

sys.exit(main())

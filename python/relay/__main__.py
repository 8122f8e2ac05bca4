"""`python -m relay`: the command `relay`, for environments whose commands are not on the path."""

import sys

from ._cli import main

sys.exit(main())

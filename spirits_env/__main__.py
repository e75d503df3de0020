"""Lets `python -m spirits_env` stand for the `spirits` command.

Useful where the command's folder is not on the path.
"""

import sys

from spirits_env.cli import main

sys.exit(main())

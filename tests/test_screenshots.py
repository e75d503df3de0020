"""The command that takes the docs' pictures of pages runs, and shows what the checked-in ones show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.browser
DOCS = Path(__file__).parent.parent / "docs"


def test_the_pictures_of_pages_can_be_taken_anew(tmp_path: Path) -> None:
    command = [sys.executable, str(DOCS / "screenshots.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    for name in ("play.png", "replay.png"):
        with Image.open(tmp_path / name) as taken, Image.open(DOCS / name) as kept:
            assert taken.size == kept.size
            new, old = (np.asarray(image.convert("L"), np.float64) for image in (taken, kept))
        # Letters are those of the machine's fonts, but what lies where is the same.
        assert np.abs(new - old).mean() < 8, f"docs/{name} is stale: run `make pictures`"

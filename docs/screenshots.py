"""Takes the docs' pictures of pages: the real server and a real replay, in Chromium, which must be installed.

`python docs/screenshots.py [FOLDER]` writes `play.png` and `replay.png`; the games in them are always the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, sync_playwright

from spirits_env import make_agent, record
from spirits_env.render.page import replay_page

DOCS = Path(__file__).parent
SIZE, TALL = {"width": 1280, "height": 800}, {"width": 1280, "height": 1150}
# Where the games stand: decisions of the person, and decisions of the recorded game.
DECISIONS, PLY = 13, 79
TABLE = ("--players", "3", "--against", "policy:forest", "greedy", "--seed", "12")
PATIENCE = 60


@contextmanager
def server(folder: str) -> Iterator[str]:
    """Serve a table, and give its address."""
    words = [sys.executable, "-m", "spirits_env", "play", "--no-browser", "--port", "0", "--folder", folder, *TABLE]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[2]
    finally:
        process.terminate()
        process.wait(PATIENCE)


def play_on(address: str) -> None:
    """Play the person's decisions as the policy would."""
    with httpx.Client(base_url=address, timeout=PATIENCE) as client:
        (table,) = client.get("/api/tables").json()["tables"]
        path = f"/api/tables/{table['id']}"
        for decision in range(DECISIONS + 1):
            view = client.get(path).json()
            while view["thinking"]:
                view = client.get(path, params={"after": view["revision"], "wait": 25}).json()
            if decision < DECISIONS:
                hint = client.get(f"{path}/hint").json()
                body = {"revision": view["revision"], "action": hint["action"]}
                client.post(f"{path}/play", json=body).raise_for_status()


def show_advice(page: Page) -> None:
    """Ask for advice on the page, and take the mouse away."""
    page.locator("#board .lit").first.wait_for()
    page.click("#advice")
    page.locator("#advised").wait_for()
    page.mouse.move(0, 0)


@contextmanager
def browser() -> Iterator[Any]:
    """Start Chromium."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    program = next((path for path in map(shutil.which, filter(None, names)) if path), None)
    if program is None:
        raise SystemExit("Chromium was not found; install it, or set CHROMIUM to the path of the program.")
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])


def main(target: Path = DOCS) -> None:
    """Take both pictures."""
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        page = chromium.new_page(viewport=SIZE)
        with server(folder) as address:
            play_on(address)
            page.goto(address)
            show_advice(page)
            page.screenshot(path=target / "play.png")
        replay = Path(folder) / "replay.html"
        game = record.load(DOCS / "forest.json")
        replay.write_text(replay_page(game, agent=make_agent("policy:forest")), encoding="utf-8")
        page.set_viewport_size(TALL)
        page.goto(f"{replay.as_uri()}#{PLY}")
        page.screenshot(path=target / "replay.png")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

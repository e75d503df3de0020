"""A real Chromium for tests of pages: `pytest_plugins = ["browser"]` brings the fixture `page_of`.

Whatever a page throws, writes to the console as an error or requests from elsewhere fails its test.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)


def find_chromium() -> str:
    """Return the program, from the variable CHROMIUM or the search path."""
    for name in (os.environ.get("CHROMIUM"), *NAMES):
        path = shutil.which(name) if name else None
        if path:
            return path
    raise RuntimeError(
        "These tests need Chromium, and there is none: install it, or set CHROMIUM to the path of the program."
    )


def barriers(page: Page) -> list[str]:
    """Return what axe finds on a page that keeps people out: each rule that is broken, and where."""
    found = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {node['html'][:200]}" for rule in found for node in rule["nodes"]]


class Pages:
    """Opens pages, each in a browser context of its own, and keeps what goes wrong in them.

    Attributes:
        faults: Errors and foreign requests so far, as text.
        requests: Every address that was asked for.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[Any] = []
        self.faults: list[str] = []
        self.requests: list[str] = []

    def __call__(self, width: int = 1280, height: int = 900, colour_scheme: str = "light", **settings: Any) -> Page:
        """Open an empty page in a fresh context.

        Args:
            width: Of the window, in CSS pixels.
            height: Likewise.
            colour_scheme: "light" or "dark".
            **settings: Further ones of Playwright's `new_context`, such as `reduced_motion="reduce"`.
        """
        screen: dict[str, Any] = {"viewport": {"width": width, "height": height}, "color_scheme": colour_scheme}
        context = self._browser.new_context(**screen, **settings)
        context.set_default_timeout(15_000)
        context.on("page", self._watch)
        self._contexts.append(context)
        return context.new_page()

    def _watch(self, page: Page) -> None:
        """Keep what a page throws, says and asks for."""

        def heard(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                self.faults.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

        def asked(request: Request) -> None:
            self.requests.append(request.url)
            here = urlsplit(request.frame.page.url)
            there = urlsplit(request.url)
            leaves = not request.is_navigation_request() and there[:2] != here[:2]
            if leaves and there.scheme not in ("data", "blob"):
                self.faults.append(f"outside: {request.url}")

        page.on("console", heard)
        page.on("pageerror", lambda error: self.faults.append(f"thrown: {error}"))
        page.on("request", asked)

    def take_faults(self) -> list[str]:
        """Return the faults so far and forget them: for tests that provoke some."""
        faults, self.faults = self.faults, []
        return faults

    def close(self) -> None:
        """Close all pages."""
        for context in self._contexts:
            context.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    # Root must do without the sandbox, which would need another user.
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    switches = [*SWITCHES, *(["--no-sandbox"] if root else [])]
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=switches)
        yield browser
        browser.close()


@pytest.fixture
def page_of(chromium: Browser) -> Iterator[Pages]:
    pages = Pages(chromium)
    yield pages
    pages.close()
    assert pages.faults == []

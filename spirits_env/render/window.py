"""A window with the picture of a game, through pygame.

It only ever watches: closing it ends the show, never the game.
"""

from __future__ import annotations

import os
import sys
import time
from math import ceil
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

from spirits_env.render import svg_size, svg_to_rgb

# Events come in one queue for all windows of a process.
_OPEN: WeakValueDictionary[int, Window] = WeakValueDictionary()
_PAUSE = 0.02  # seconds between looks at the queue while a picture stands
_DESKTOP_SHARE = 0.9
_SMALLEST = (160, 120)


class Window:
    """One window, which the user may resize and close.

    Attributes:
        is_open: Whether it is still there.
    """

    def __init__(self, title: str, svg: str, width: int) -> None:
        """Open a window on a first picture.

        Args:
            title: What stands above it.
            svg: The picture.
            width: Width in pixels; less where the desktop has no room for the picture.

        Raises:
            ImportError: If the libraries of the `render` extra are missing.
            OSError: If there is no display.
        """
        pygame = _pygame()
        desktop = pygame.display.get_desktop_sizes()[0]
        aspect = _aspect(svg)
        fitting = _DESKTOP_SHARE * min(desktop[0], desktop[1] * aspect)
        width = max(_SMALLEST[0], int(min(width, fitting)))
        size = (width, max(_SMALLEST[1], ceil(width / aspect)))
        self._svg = svg
        self._since = time.monotonic()
        self._seconds = 0.0
        try:
            # Before the window opens, so that none does where pictures can't be made.
            svg_to_rgb(svg, width)
        except ImportError as error:
            raise ImportError("the libraries for pictures are not installed") from error
        try:
            self._window: Any = pygame.Window(title, size, resizable=True)
        except pygame.error as error:
            raise OSError(f"the display refused a window ({error})") from error
        self._window.minimum_size = _SMALLEST
        self.is_open = True
        self._number: int = self._window.id
        _OPEN[self._number] = self
        self._paint()
        _handle_events()

    def show(self, svg: str, fps: float) -> None:
        """Show a picture, after the one before has stood for its time.

        Args:
            svg: The picture.
            fps: Pictures per second; 0 doesn't wait.
        """
        _handle_events()
        if svg != self._svg:
            self._hold()
            self._svg, self._since = svg, time.monotonic()
            if self.is_open:
                self._paint()
        self._seconds = 1 / fps if fps > 0 else 0.0

    def _hold(self) -> None:
        """Let the present picture stand for its time, while the window stays alive."""
        due = self._since + self._seconds
        while self.is_open and time.monotonic() < due:
            _handle_events()
            time.sleep(min(_PAUSE, max(0.0, due - time.monotonic())))

    def _paint(self) -> None:
        """Draw the picture as large as the window allows, in its middle."""
        import pygame

        width, height = self._window.size
        pixels = svg_to_rgb(self._svg, max(1, min(width, int(height * _aspect(self._svg)))))
        picture = pygame.image.frombuffer(pixels.tobytes(), pixels.shape[1::-1], "RGB")
        surface = self._window.get_surface()
        surface.fill(picture.get_at((0, 0)))
        # A picture of even height may be one row too high for a window of odd height.
        surface.blit(picture, ((width - picture.get_width()) // 2, max(0, height - picture.get_height()) // 2))
        self._window.flip()

    def close(self) -> None:
        """Close the window, after the last picture has stood for its time; a closed one stays so."""
        _handle_events()
        self._hold()
        self._destroy()

    def _destroy(self) -> None:
        """Take the window away."""
        if self.is_open:
            self.is_open = False
            _OPEN.pop(self._number, None)
            self._window.destroy()


def _aspect(svg: str) -> float:
    """Return a picture's width divided by its height."""
    width, height = svg_size(svg)
    return width / height


def _pygame() -> ModuleType:
    """Import pygame and start its display.

    Raises:
        ImportError: If it is not installed.
        OSError: If there is no display.
    """
    driver = os.environ.get("SDL_VIDEODRIVER")
    elsewhere = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not (driver or elsewhere):
        raise OSError("there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError as error:
        raise ImportError("pygame-ce is not installed") from error
    if not hasattr(pygame, "Window"):
        raise ImportError("pygame-ce is not installed, and the older pygame that is has no windows of this kind")
    _forget_lost(pygame)
    try:
        pygame.display.init()
    except pygame.error as error:
        raise OSError(f"the display can't be reached ({error})") from error
    # Where it reaches no display, SDL draws pictures that nobody sees.
    if pygame.display.get_driver() == "offscreen" and driver != "offscreen":
        pygame.display.quit()
        raise OSError("the display can't be reached")
    return pygame


def _forget_lost(pygame: ModuleType) -> None:
    """Count windows as closed that went when something else in this process ended pygame's display."""
    if not pygame.display.get_init():
        for window in list(_OPEN.values()):
            window.is_open = False
        _OPEN.clear()


def _handle_events() -> None:
    """Do what the users of the open windows want: close them, or draw them anew."""
    import pygame

    _forget_lost(pygame)
    if not _OPEN:
        return
    stale = {pygame.WINDOWEXPOSED, pygame.WINDOWSIZECHANGED, pygame.WINDOWRESTORED}
    again: dict[int, Window] = {}
    for event in pygame.event.get():
        window = _OPEN.get(getattr(getattr(event, "window", None), "id", -1))
        if event.type == pygame.QUIT:
            for each in list(_OPEN.values()):
                each._destroy()
        elif window is not None and event.type == pygame.WINDOWCLOSE:
            window._destroy()
        elif window is not None and event.type in stale:
            again[id(window)] = window
    for window in again.values():
        if window.is_open:
            window._paint()

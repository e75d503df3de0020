"""The results file of an arena: JSON lines, a header with the contest's facts and then a line per table and deal.

Lines are appended whole and made safe on the disk before anything else is played, so that a kill at any time
neither loses nor doubles a game.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spirits_env.arena.contest import Contest, Played
from spirits_env.arena.plan import make_seatings
from spirits_env.game import is_whole

if sys.platform != "win32":
    import fcntl

FORMAT = "spirits_env arena"
FORMAT_VERSION = 1

Unit = tuple[tuple[int, ...], int]

_CONTEST_TYPES: dict[str, type] = {
    "game": str,
    "game_version": int,
    "package_version": str,
    "players": int,
    "options": dict,
    "remarks": list,
    "seed": int,
    "agents": list,
    "fingerprints": list,
}
# Shares are written to full precision, so their sums are only off by rounding.
_ROUNDING = 1e-9


def read(path: str | Path, mend: bool = False) -> tuple[Contest, list[Played]]:
    """Read a results file, which stays as it is: a run may be adding to it.

    Args:
        path: The file.
        mend: Whether to leave out a last line that was cut short; else it is an error.

    Returns:
        The contest and its games in the order of the file.

    Raises:
        ValueError: If the file can't be read, is of another kind or newer, or a line of it is damaged or repeated.
    """
    contest, played, _ = _parse(Path(path), mend)
    return contest, played


def _parse(path: Path, mend: bool) -> tuple[Contest, list[Played], int]:
    """Do as `read` does, and say how many bytes are whole lines."""
    try:
        text = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(f"{path} can't be read ({reason}); give a results file that an arena wrote.") from None
    lines = text.split(b"\n")
    contest = _read_header(path, lines[0] if len(lines) > 1 else b"")
    played: list[Played] = []
    seen: set[Unit] = set()
    for number, line in enumerate(lines[1:-1], start=2):
        played.append(_read_line(path, number, line, contest, seen))
    if lines[-1] and not mend:
        raise ValueError(
            f"{path}, line {len(lines)}, was cut short; the {len(lines) - 1} lines before it are whole: give --mend "
            "(mend=True) to drop the cut line and keep them."
        )
    return contest, played, len(text) - len(lines[-1])


def _read_header(path: Path, line: bytes) -> Contest:
    """Check the first line and take the contest out of it."""
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{path} has no header of an arena in its first line; give a file that an arena wrote.")
    version = header.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {version}, this package reads up to {FORMAT_VERSION}; "
            "update it with `pip install -U spirits-env`."
        )
    facts = header["contest"] if isinstance(header.get("contest"), dict) else {}
    wrong = [name for name, kind in _CONTEST_TYPES.items() if type(facts.get(name)) is not kind]
    if not wrong and set(facts) == set(_CONTEST_TYPES) and version == FORMAT_VERSION:
        found = Contest.from_dict(facts)
        names = (*found.agents, *found.fingerprints)
        if found.players > 1 and len(names) == 2 * len(found.agents) and all(isinstance(name, str) for name in names):
            return found
    raise ValueError(
        f"{path} has a damaged header (wrong or missing: {', '.join(wrong) or 'its facts'}); begin a new file."
    )


def _read_line(path: Path, number: int, line: bytes, contest: Contest, seen: set[Unit]) -> Played:
    """Read the games of one table and deal, which must be new; `seen` is added to."""
    try:
        played = Played.from_dict(json.loads(line))
        _check_played(played, contest)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ValueError(
            f"{path}, line {number}, is damaged; delete the line to play its games anew, or restore the file."
        ) from None
    unit = (played.table, played.deal)
    if unit in seen:
        raise ValueError(
            f"{path}, line {number}, repeats deal {played.deal} of table {played.table}; delete one of the two lines."
        )
    seen.add(unit)
    return played


def _check_played(played: Played, contest: Contest) -> None:
    """Demand games that this contest can have.

    Raises:
        ValueError: If they are none; whoever asks says where.
        TypeError: If a part has another form.
    """
    whole = (played.deal, *played.table, *played.plies, *played.decisions)
    sound = (
        all(is_whole(value) and value >= 0 for value in whole)
        and len(played.table) in (2, contest.players)
        and len(set(played.table)) == len(played.table)
        and max(played.table) < len(contest.agents)
        and played.seats == make_seatings(played.table, contest.players)
        and len(played.plies) == len(played.seats)
        and len(played.decisions) == len(played.seconds) == len(played.table)
        and sum(played.decisions) == sum(played.plies)
        and all(value >= 0 for value in played.seconds)
    )
    for part in (played.share, played.points, played.place):
        sound = sound and [len(game) for game in part] == [contest.players] * len(played.seats)
    sound = sound and all(is_whole(point) for game in played.points for point in game)
    sound = sound and all(abs(sum(game) - 1) < _ROUNDING and min(game) >= 0 for game in played.share)
    if not sound or played.place != make_places(played.points, played.share):
        raise ValueError


def make_places(points: Sequence[Sequence[int]], share: Sequence[Sequence[float]]) -> tuple[tuple[int, ...], ...]:
    """Count for each game and seat how many seats did better: by points, then winners before the others.

    Args:
        points: Per game and seat: what the seat wrote down.
        share: Per game and seat: what it won; more than 0 for winners.
    """
    rows = [[(point, won > 0) for point, won in zip(*game, strict=True)] for game in zip(points, share, strict=True)]
    return tuple(tuple(sum(other > own for other in row) for own in row) for row in rows)


class Journal:
    """A results file that is open for adding games; where the system can lock files, no second run opens it meanwhile.

    Attributes:
        path: The file.
        played: The games that were in it when it was opened, in the order of the file.
    """

    def __init__(self, path: str | Path, contest: Contest, width: int, mend: bool = False) -> None:
        """Open the file of a contest, or begin it.

        Agents may have joined since: then the file's agents are the first of the contest's, and its header is
        replaced.

        Args:
            path: The file; its folder must be there.
            contest: What all its games must share.
            width: Agents at each table: fields and mixed tables don't go together.
            mend: Whether to cut a last line off that was itself cut short; else it is an error.

        Raises:
            ValueError: If the folder is missing, another run has the file, or the file is damaged or of another
                contest; the file is as it was then.
        """
        self.path = Path(path)
        if not self.path.absolute().parent.is_dir():
            raise ValueError(f"The folder of {path} does not exist; make it first.")
        self.played: list[Played] = []
        if not self.path.exists():
            self._replace(contest, b"")
        self._file = self._locked()
        try:
            found, self.played, size = _parse(self.path, mend)
            _check_same(self.path, found, contest)
            if self.played and len(self.played[0].table) != width:
                raise ValueError(f"{path} holds tables of another kind, fields or mixed; give another file.")
            os.truncate(self.path, size)
            if found.agents != contest.agents:
                self._replace(contest, self.path.read_bytes().partition(b"\n")[2])
                old, self._file = self._file, self._locked()
                os.close(old)
        except BaseException:
            os.close(self._file)
            raise

    def _replace(self, contest: Contest, rest: bytes) -> None:
        """Write the file anew with the contest's header: wholly, or not at all."""
        header = {"format": FORMAT, "format_version": FORMAT_VERSION, "contest": contest.to_dict()}
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        with fresh.open("wb") as file:
            file.write(json.dumps(header).encode() + b"\n" + rest)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.path)

    def _locked(self) -> int:
        """Open the file for appending and keep others out; a lock ends with its process, however that ends."""
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            if sys.platform != "win32":
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another run may have put a new file here before the lock was had.
            free = os.path.samestat(os.fstat(file), self.path.stat())
        except OSError:
            free = False
        if not free:
            os.close(file)
            raise ValueError(f"Another run is writing {self.path}; wait for its end or give another file.")
        return file

    def append(self, played: Sequence[Played]) -> None:
        """Add games: all of them or, on a full disk, none.

        Raises:
            OSError: If they can't be written.
        """
        text = "".join(json.dumps(games.to_dict()) + "\n" for games in played).encode()
        before = os.fstat(self._file).st_size
        written = os.write(self._file, text)
        if written < len(text):
            os.ftruncate(self._file, before)
            raise OSError(f"{self.path} took only {written} of {len(text)} bytes; make room on the disk and go on.")
        os.fsync(self._file)

    def close(self) -> None:
        """Let others have the file."""
        os.close(self._file)


def _check_same(path: Path, found: Contest, wanted: Contest) -> None:
    """Refuse a file of another contest; agents that join at the end make none."""
    # What JSON makes of tuples within options.
    asked: dict[str, Any] = json.loads(json.dumps(wanted.to_dict()))
    for name, value in found.to_dict().items():
        listed = name in ("agents", "fingerprints")
        if value != (asked[name][: len(value)] if listed else asked[name]):
            end = "; name those first, in this order, or give" if listed else ", so give"
            raise ValueError(
                f"{path} is of another contest: its {name.replace('_', ' ')} is {_shown(value)}, not "
                f"{_shown(asked[name])}{end} another file."
            )


def _shown(value: Any) -> str:
    """A fact of a contest in words."""
    return ", ".join(value) if isinstance(value, list) else str(value)

"""A saved policy: one ONNX file with its card inside, played with onnxruntime alone.

The card says what the policy was trained for, so that a file for another game or layout is one clear error.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spirits_env import games
from spirits_env.agents import Agent
from spirits_env.batch import Views
from spirits_env.game import REWARD, Game, fork
from spirits_env.policies import is_named, locate

FORMAT = "spirits_env policy"
FORMAT_VERSION = 1
CARD_KEY = "card"
OUTPUTS = ("logits", "value")
# An output that files may have besides: the value of every seat.
EVERY_SEAT = "values"

_CARD_TYPES: dict[str, type] = {
    "game": str,
    "version": int,
    "players": list,
    "layout": str,
    "observation_size": int,
    "action_count": int,
    "options": dict,
    "name": str,
    "training": dict,
    "libraries": dict,
}
_MANTISSA_BITS = 53
# What the values count, where it is more than what the game pays; cards may lack it.
_UTILITY = "utility"


def make_card(
    game: str,
    players: Sequence[int],
    options: Mapping[str, Any],
    name: str,
    training: Mapping[str, Any],
    libraries: Mapping[str, str],
    margin_weight: float = 0.0,
    margin_scales: Mapping[int, float] | None = None,
) -> dict[str, Any]:
    """Describe a policy of this package's game; the exporter stores it as JSON in the metadata under `CARD_KEY`.

    Args:
        game: Name of the game.
        players: The player counts the policy was trained for.
        options: The options it was trained with; the others take their defaults.
        name: What tables call the policy.
        training: Figures of the training, free in form: decisions, seed, minutes, network.
        libraries: Versions of the libraries that made the file, by name.
        margin_weight: Share of tanh(margin / scale) in what its values expect, beside what the game pays.
        margin_scales: The scale in points for each player count, where that share is above 0.

    Returns:
        The card.

    Raises:
        ValueError: If the game, a player count or an option is unknown, the margin's share or a scale is out of range,
            or something is no JSON.
    """
    rules = games.load(game)
    if not players:
        raise ValueError("The card's players were empty; give the player counts that the policy was trained for.")
    settings = rules.check_options(options)
    card: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "game": rules.name,
        "version": rules.version,
        "players": sorted({rules.check_players(count) for count in players}),
        "layout": rules.layout.fingerprint(),
        "observation_size": rules.layout.size,
        "action_count": len(rules.actions),
        "options": settings,
        "remarks": list(rules.remarks(settings)),
        "name": name,
        "training": dict(training),
        "libraries": dict(libraries),
    }
    if margin_weight:
        scales = {str(count): float(scale) for count, scale in (margin_scales or {}).items()}
        card[_UTILITY] = {"margin_weight": float(margin_weight), "margin_scales": scales}
        if not _is_utility(card[_UTILITY], card["players"]):
            raise ValueError(
                f"margin_weight was {margin_weight} and margin_scales {margin_scales}; give a share from 0 to 1, and a "
                f"number of points above 0 for each of {card['players']} players."
            )
    try:
        json.dumps(card, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The card can't be written as JSON ({error}); give plain numbers and texts.") from None
    return card


def read_card(path: str | Path) -> dict[str, Any]:
    """Read the card of a policy file.

    Args:
        path: The ONNX file, or the name of a policy that comes with the package, such as "policy:forest".

    Raises:
        ValueError: If the file is no policy: missing, damaged, no ONNX, without a card, or of a newer format.
        ImportError: If onnxruntime is not installed.
    """
    file = locate(path)
    return _card_of(_open(_read(file), file), file)


def check_card(card: Mapping[str, Any], game: str, players: int) -> None:
    """Refuse a policy that was made for something else.

    Args:
        card: A card as `read_card` gives it.
        game: Name of the game to be played.
        players: Number of players in it.

    Raises:
        ValueError: If game, rules version, observation layout, action count or player count differ.
    """
    rules = games.load(game)
    name = card["name"]
    if card["game"] != rules.name:
        raise ValueError(f"Policy {name!r} plays {card['game']!r}, not {rules.name!r}; give a policy for this game.")
    if card["version"] != rules.version:
        raise ValueError(
            f"Policy {name!r} was trained on rules version {card['version']} of {rules.name}, this package plays "
            f"version {rules.version}; train it anew or install the package it was made with."
        )
    for key, wanted in (
        ("observation_size", rules.layout.size),
        ("action_count", len(rules.actions)),
        ("layout", rules.layout.fingerprint()),
    ):
        if card[key] != wanted:
            raise ValueError(
                f"Policy {name!r} was trained with {key} {card[key]!r}, {rules.name} version {rules.version} has "
                f"{wanted!r}; train it anew or install the package it was made with."
            )
    if players not in card["players"]:
        trained = " or ".join(str(count) for count in card["players"])
        raise ValueError(
            f"Policy {name!r} was trained for {trained} players, not for {players!r}; "
            "give a policy for this number of players."
        )


class PolicyAgent(Agent):
    """Plays a saved policy: its best legal action, or a draw from it.

    A network's rounding may depend on how many rows it is asked for at once, so equal play is promised for equal
    batches only.

    Attributes:
        name: The card's name, or the one that the package knows the file by, with ":sample" after it for one that
            draws.
        fingerprint: The start of the file's SHA-256 hash.
        card: The card.
        path: The file it came from.
        sample: Whether actions are drawn from the softmax of the logits.
        threads: Threads that one call may use.
    """

    def __init__(self, path: str | Path, sample: bool = False, threads: int = 1) -> None:
        """Load a policy file.

        Args:
            path: The ONNX file, or the name of a policy that comes with the package, such as "policy:forest".
            sample: Draw from the policy instead of taking its best action.
            threads: Threads within one call; more pay off for large networks and batches only.

        Raises:
            ValueError: If the file is no policy: missing, damaged, no ONNX, without a card, or of a newer format.
            ImportError: If onnxruntime is not installed.
        """
        if threads < 1:
            raise ValueError(f"The number of threads was {threads}; give at least 1.")
        file = locate(path)
        self.path = str(file)
        self.sample = sample
        self.threads = threads
        self._model = _read(file)
        self.fingerprint = hashlib.sha256(self._model).hexdigest()[:16]
        self._session = _open(self._model, file, threads)
        self.card = _card_of(self._session, file)
        _check_signature(self._session, self.card, file)
        self.name = (str(path) if is_named(path) else self.card["name"]) + (":sample" if sample else "")

    def check(self, game: str, players: int) -> None:
        """Raise ValueError if the policy was made for something else."""
        check_card({**self.card, "name": self.name}, game, players)

    def logits(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run the network.

        Args:
            observation: Shape `(n, observation_size)`, int8.
            mask: Shape `(n, action_count)`, int8.

        Returns:
            Logits of shape `(n, action_count)` and values of shape `(n,)`, both float32.
        """
        logits, value = self._session.run(list(OUTPUTS), {"observation": observation, "mask": mask})
        return logits, value

    def judge(self, observation: np.ndarray, mask: np.ndarray, players: int) -> tuple[np.ndarray, np.ndarray]:
        """Run the network for a search, which wants a value for every seat.

        Of a file that gives the observer's value alone the others lose what it expects to win, in equal parts.

        Args:
            observation: Shape `(n, observation_size)`, int8.
            mask: Shape `(n, action_count)`, int8.
            players: Players at the table.

        Returns:
            Logits of shape `(n, action_count)` and values of shape `(n, players)` or wider, the seats counted from the
            observer, both float32; what comes after the players means nothing.
        """
        inputs = {"observation": observation, "mask": mask}
        if self._every_seat:
            logits, values = self._session.run([OUTPUTS[0], EVERY_SEAT], inputs)
            return logits, values
        logits, value = self._session.run(list(OUTPUTS), inputs)
        values = np.repeat(-value[:, None] / max(1, players - 1), max(1, players), axis=1)
        values[:, 0] = value
        return logits, values

    def margin(self, players: int) -> tuple[float, float]:
        """Return the share of the squashed margin in what the network's values expect, and its scale in points."""
        utility = self.card.get(_UTILITY)
        return (utility["margin_weight"], utility["margin_scales"][str(players)]) if utility else (0.0, 1.0)

    @property
    def _every_seat(self) -> bool:
        """Whether the file gives a value for every seat."""
        return any(node.name == EVERY_SEAT for node in self._session.get_outputs())

    def act_many(self, views: Views) -> np.ndarray:
        """Take the best legal action of each row, the first of equals, or draw one from the row's generator.

        Raises:
            ValueError: If a row has no legal action, or a legal action's logit is no finite number.
        """
        legal = views.mask != 0
        if not legal.any(axis=1).all():
            raise ValueError(f"Policy {self.name!r} was asked where nothing is legal; ask it for seats to act only.")
        logits, _ = self.logits(views.observation, views.mask)
        if not np.isfinite(logits[legal]).all():
            raise ValueError(
                f"Policy {self.name!r} gave a legal action a logit that is no finite number; train or export it anew."
            )
        scores = np.where(legal, logits.astype(np.float64), -np.inf)
        return draw_softmax(scores, views.chance) if self.sample else scores.argmax(axis=1)

    def __copy__(self) -> PolicyAgent:
        """Copy without loading again: the network is never changed, so copies share it."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> PolicyAgent:
        return self.__copy__()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._session = _open(self._model, self.path, self.threads)


def judge_soundly(
    policy: PolicyAgent, observation: np.ndarray, mask: np.ndarray, players: int
) -> tuple[np.ndarray, np.ndarray]:
    """Ask a policy as `PolicyAgent.judge` does, for those who reckon with its numbers.

    Raises:
        ValueError: If a value, or the logit of a legal action, is no finite number.
    """
    logits, values = policy.judge(observation, mask, players)
    if not (np.isfinite(values).all() and np.isfinite(logits[mask != 0]).all()):
        raise ValueError(
            f"Policy {policy.name!r} gave no finite numbers as values or as logits of legal actions; train or export "
            "it anew."
        )
    return logits, values


def pay_as_trained(policy: PolicyAgent, rules: Game, states: np.ndarray) -> np.ndarray:
    """Make games pay what a policy was trained for, in place, and return them.

    Raises:
        ValueError: If the policy's card names a reward option that the game hasn't.
    """
    for option in rules.options:
        if option is REWARD:
            option.store(states, option.check(policy.card["options"].get(option.name, option.default)))
    return states


def probabilities(logits: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return how likely a policy plays each action: the softmax of its legal logits, 0 elsewhere.

    Args:
        logits: Shape `(n, actions)`, float32.
        mask: Legal actions, the same shape, int8, some in each row.

    Returns:
        The same shape, float64; each row adds up to 1.
    """
    scores = np.where(mask != 0, logits.astype(np.float64), -np.inf)
    heights = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: np.ndarray = heights / heights.sum(axis=1, keepdims=True)
    return shares


def draw_softmax(scores: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Draw an index per row with probabilities in proportion to exp(score).

    Args:
        scores: Shape `(n, k)`, float64; -inf is never drawn, and each row needs a finite one.
        chance: Generators, shape `(n,)`, uint64; moved on in place.

    Returns:
        Indices of shape `(n,)`, int64.
    """
    heights = np.exp(scores - scores.max(axis=1, keepdims=True)).cumsum(axis=1)
    uniform = (fork(chance) >> np.uint64(64 - _MANTISSA_BITS)) * 2.0**-_MANTISSA_BITS
    # `uniform` is below 1, and only an entry with a weight of its own lifts the sum above what came before it.
    actions: np.ndarray = (heights > uniform[:, None] * heights[:, -1:]).argmax(axis=1)
    return actions


def _runtime() -> Any:
    """Import onnxruntime."""
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(
            'Policy files need onnxruntime, which is not installed; run `pip install "spirits-env[policy]"`.'
        ) from None
    return onnxruntime


def _read(path: str | Path) -> bytes:
    """Read a policy file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(
            f"The policy file {path} can't be read ({reason}); give the path of an .onnx policy."
        ) from None


def _open(model: bytes, path: str | Path, threads: int = 1) -> Any:
    """Load a network from the bytes of its file."""
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Its warnings and errors would go to stderr beside the one sentence raised here.
    options.log_severity_level = 4
    try:
        return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    # Its classes of errors derive from nothing more special.
    except Exception as error:
        reason = " ".join(str(error).split(" : ")[-1].split())[:200]
        raise ValueError(
            f"{path} can't be loaded as an ONNX model ({reason}): it is damaged, cut short, of another kind or too new "
            f"for onnxruntime {runtime.__version__}; save or download the policy again."
        ) from error


def _card_of(session: Any, path: str | Path) -> dict[str, Any]:
    """Take the card out of a loaded model and check its form."""
    text = session.get_modelmeta().custom_metadata_map.get(CARD_KEY)
    if text is None:
        raise ValueError(f"{path} is an ONNX model without a card; give a policy exported for spirits_env.")
    try:
        card = json.loads(text)
    except json.JSONDecodeError:
        card = None
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ValueError(f"{path} has a card of another kind; give a policy exported for spirits_env.")
    version = card.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {version}, this package reads up to {FORMAT_VERSION}; "
            "update it with `pip install -U spirits-env`."
        )
    wrong = [key for key, kind in _CARD_TYPES.items() if type(card.get(key)) is not kind]
    if _UTILITY in card and not wrong and not _is_utility(card[_UTILITY], card["players"]):
        wrong.append(_UTILITY)
    if type(version) is not int or version < 1 or wrong:
        raise ValueError(
            f"{path} has a damaged card (wrong or missing: {', '.join(wrong) or 'format_version'}); export it again."
        )
    return card


def _is_utility(value: Any, players: Sequence[int]) -> bool:
    """Tell whether what a card says of the values is a share from 0 to 1, and a scale above 0 for each player count."""
    if not isinstance(value, dict) or not isinstance(value.get("margin_scales"), dict):
        return False
    numbers = [value.get("margin_weight"), *(value["margin_scales"].get(str(count)) for count in players)]
    if not all(isinstance(number, (int, float)) and not isinstance(number, bool) for number in numbers):
        return False
    return 0 <= numbers[0] <= 1 and all(0 < scale < math.inf for scale in numbers[1:])


def _check_signature(session: Any, card: Mapping[str, Any], path: str | Path) -> None:
    """Refuse a network whose inputs and outputs are not those its card promises, for any number of rows."""
    size, actions = card["observation_size"], card["action_count"]
    outputs = {node.name: node.type for node in session.get_outputs()}
    found = {node.name: (node.type, *node.shape[1:]) for node in session.get_inputs()}
    wanted = {"observation": ("tensor(int8)", size), "mask": ("tensor(int8)", actions)}
    fits = (
        found == wanted
        and not any(isinstance(node.shape[0], int) for node in session.get_inputs())
        and all(outputs.get(name) == "tensor(float)" for name in OUTPUTS)
    )
    if not fits:
        raise ValueError(
            f"{path} is no policy network: it needs the int8 inputs observation (n, {size}) and mask (n, {actions}), "
            "and the float32 outputs logits and value; export it again."
        )

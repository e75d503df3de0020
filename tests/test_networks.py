"""Networks: what they are blind to, low precision, rare positions, the heads, and the exported file."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch as th

from spirits_env import games
from spirits_env.agents.policy import PolicyAgent, make_card, read_card
from spirits_env.batch import Batch
from spirits_env.state import State
from training.agent import NetworkAgent
from training.export import ILLEGAL_LOGIT, MaskedNetwork, compare, export, positions
from training.networks import Heads, MLPNet, Network, TileNet, make_network

FOREST, WILD = games.load("forest"), games.load("wild")
ROWS, COLUMNS = 4, 12
SIZES = {"width": 8, "context": 16, "icon": 8}
KINDS = {"tiles": SIZES, "mlp": {"widths": (16, 8)}}


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small networks are faster so."""
    threads = th.get_num_threads()
    th.set_num_threads(1)
    yield
    th.set_num_threads(threads)


def loud(network: Network, scale: float = 0.1) -> Network:
    """Give every weight a part in the result."""
    generator = th.Generator().manual_seed(7)
    for weights in network.parameters():
        weights.data = scale * th.randn(weights.shape, generator=generator)
    return network.eval()


def looked_at(players: int = 2, count: int = 40) -> th.Tensor:
    """Views of all parts of games."""
    return th.as_tensor(positions(FOREST, players, count, seed=3)[0])


def heads_of(network: Network, observation: th.Tensor, low: bool = False) -> Heads:
    with th.no_grad(), th.autocast("cpu", dtype=th.bfloat16, enabled=low):
        return network.heads(observation)


def assert_close(one: Heads, other: Heads, tolerance: float) -> None:
    for name in ("logits", "values", "leads", "margins"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=tolerance, err_msg=name)


# --- what the tile network is blind to --------------------------------------------------------------------


def moved(observation: th.Tensor, rows: list[int], flips: list[bool]) -> th.Tensor:
    """Permute the rows of the forest, then turn some of them round."""
    other = observation.clone()
    size = sum(part.size for part in FOREST.layout.slices if part.shape[-1] == ROWS * COLUMNS)
    planes = observation[:, :size].reshape(len(observation), -1, ROWS, COLUMNS)[:, :, rows]
    other[:, :size] = turned(planes, 2, flips).reshape(len(observation), size)
    return other


def turned(values: th.Tensor, axis: int, flips: list[bool]) -> th.Tensor:
    """Reverse the last axis in some of the rows along an axis."""
    parts = values.unbind(axis)
    return th.stack([part.flip(-1) if flip else part for part, flip in zip(parts, flips, strict=True)], dim=axis)


@pytest.mark.parametrize("players", [2, 4])
@pytest.mark.parametrize(
    ("rows", "flips"),
    [
        ([2, 0, 3, 1], [False] * 4),
        ([0, 1, 2, 3], [True, False, True, False]),
        ([3, 2, 0, 1], [False, True, True, True]),
    ],
    ids=["permuted", "reversed", "both"],
)
def test_rows_permuted_and_reversed_do_the_same_to_the_logits_and_nothing_to_all_else(
    rows: list[int], flips: list[bool], players: int
) -> None:
    network, observation = loud(TileNet(FOREST, **SIZES)), looked_at(players)
    one, other = heads_of(network, observation), heads_of(network, moved(observation, rows, flips))
    for name in ("values", "leads", "margins"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-5, err_msg=name)
    np.testing.assert_allclose(one.logits[:, 56:], other.logits[:, 56:], atol=1e-5)
    cells = turned(one.logits[:, 8:56].reshape(-1, ROWS, COLUMNS)[:, rows], 1, flips)
    np.testing.assert_allclose(cells.reshape(-1, 48), other.logits[:, 8:56], atol=1e-5)
    ends = turned(one.logits[:, :8].reshape(-1, ROWS, 2)[:, rows], 1, flips).reshape(-1, 8)
    # The end actions of an empty row mean nothing.
    lying = observation[:, FOREST.layout["present"]].reshape(-1, ROWS, COLUMNS).any(dim=2)
    left = lying[:, rows].repeat_interleave(2, dim=1)
    np.testing.assert_allclose(ends[left], other.logits[:, :8][left], atol=1e-5)
    assert one.logits.std(dim=1).min() > 1e-3
    assert one.values.std(dim=0).min() > 1e-4


def test_a_change_of_one_tile_or_one_count_is_seen() -> None:
    network, observation = loud(TileNet(FOREST, **SIZES)), looked_at(2, 6)
    before = heads_of(network, observation)
    for name in ("present", "spirit", "power", "own_icons", "icons", "icons_left", "missing", "first_spirit"):
        other = observation.clone()
        part = other[:, FOREST.layout[name]]
        part[:, :3] = (part[:, :3] == 0).to(part.dtype)
        assert (heads_of(network, other).values != before.values).any(), name


@pytest.mark.parametrize("players", [2, 3, 4])
def test_each_icon_is_told_by_how_much_a_seat_leads_or_lacks_the_lead(players: int) -> None:
    network, observation = loud(TileNet(FOREST, **SIZES)), looked_at(players, 20)
    told: list[th.Tensor] = []
    network.stand.register_forward_pre_hook(lambda module, inputs: told.append(inputs[0]))
    heads_of(network, observation)
    highest = int(FOREST.layout.high()[FOREST.layout["icons"]].max())
    counts = observation[:, FOREST.layout["icons"]].reshape(-1, FOREST.seats, 12).numpy().astype(int)
    for seat in range(players):
        lead = counts[:, seat] - np.delete(counts, seat, axis=1).max(axis=1)
        np.testing.assert_allclose(told[0][:, :, 10 + seat].numpy() * highest, lead, atol=1e-4)
    assert np.unique(lead).size > 2


# --- shapes and rare positions ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 33])
def test_all_heads_are_float32_of_their_shapes_in_either_precision(kind: str, rows: int) -> None:
    network = loud(make_network(kind, FOREST, **KINDS[kind]))
    for low in (False, True):
        heads = heads_of(network, looked_at(3, 40)[:rows], low)
        shapes = [(rows, 59), (rows, 4), (rows, 4, 12), (rows, 4)]
        assert [tuple(head.shape) for head in heads[:4]] == shapes
        assert all(head.dtype == th.float32 and th.isfinite(head).all() for head in heads[:4])
        assert heads.oracle is None
        with th.no_grad(), th.autocast("cpu", dtype=th.bfloat16, enabled=low):
            logits, value = network(looked_at(3, 40)[:rows])
        assert th.equal(logits, heads.logits)
        assert th.equal(value, heads.values[:, 0])


def test_a_row_does_not_hang_on_the_rows_beside_it() -> None:
    for kind, sizes in KINDS.items():
        network, observation = loud(make_network(kind, FOREST, **sizes)), looked_at(4)
        whole = heads_of(network, observation)
        for row in (0, 17, 39):
            alone = heads_of(network, observation[row : row + 1])
            assert_close(Heads(*(None if head is None else head[row : row + 1] for head in whole)), alone, 1e-5)


def ends(players: int, tiles: int, count: int = 5) -> th.Tensor:
    """Views with so many tiles left."""
    found: list[np.ndarray] = []
    for seed in range(300):
        rng, state = np.random.default_rng(seed), State("forest", players, seed=seed)
        while state.seat >= 0 and len(found) < count:
            view = state.observation(state.seat)
            if view[FOREST.layout["present"]].sum() == tiles:
                found.append(view)
                break
            state.play(int(rng.choice(state.legal_actions())))
        if len(found) == count:
            break
    assert len(found) == count
    return th.as_tensor(np.array(found))


@pytest.mark.parametrize("tiles", [1, 2])
def test_the_last_tile_can_be_pointed_at_in_either_precision(tiles: int) -> None:
    network, observation = loud(TileNet(FOREST, **SIZES)), ends(2, tiles)
    heads = heads_of(network, observation)
    for row, cells in enumerate(observation[:, FOREST.layout["present"]]):
        lying = cells.nonzero().squeeze(1)
        dark = np.setdiff1d(np.arange(48), lying)
        assert (heads.logits[row, 8 + lying] != 0).all()
        assert (heads.logits[row, 8 + dark] == 0).all()
        if tiles == 1:
            # Left and right end are the same tile.
            first = 2 * (int(lying[0]) // COLUMNS)
            assert heads.logits[row, first] == heads.logits[row, first + 1] != 0
    assert_close(heads, heads_of(network, observation, low=True), 0.05)


def test_nothing_left_and_nothing_at_all_are_still_numbers() -> None:
    network = loud(TileNet(FOREST, **SIZES))
    state = State("forest", 2, seed=1)
    rng = np.random.default_rng(1)
    while state.seat >= 0:
        state.play(int(rng.choice(state.legal_actions())))
    over = th.as_tensor(state.observation(0))[None]
    assert not over[:, FOREST.layout["present"]].any()
    for low in (False, True):
        for observation in (over, th.zeros(3, FOREST.layout.size, dtype=th.int8)):
            heads = heads_of(network, observation, low)
            assert all(th.isfinite(head).all() for head in heads[:4])
            assert len(heads.logits) == len(observation)


def test_views_of_one_player_with_tiles_face_down_are_numbers_too() -> None:
    observation = looked_at(1, 60)
    cells = observation[:, FOREST.layout["present"]] != 0
    spirits = observation[:, FOREST.layout["spirit"]].reshape(60, -1, 48).any(dim=1)
    assert (cells & ~spirits).any(), "no tile lies face down"
    network = loud(TileNet(FOREST, **SIZES))
    one, other = heads_of(network, observation), heads_of(network, observation, low=True)
    assert all(th.isfinite(head).all() for head in one[:4])
    assert_close(one, other, 0.05)


# --- low precision ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("players", [2, 3])
def test_low_precision_says_nearly_the_same(kind: str, players: int) -> None:
    network, observation = loud(make_network(kind, FOREST, **KINDS[kind])), looked_at(players)
    one, other = heads_of(network, observation), heads_of(network, observation, low=True)
    assert_close(one, other, 0.03)
    assert not th.equal(one.logits, other.logits)


@pytest.mark.parametrize("rows", [1, 40])
def test_rows_that_pad_a_batch_in_low_precision_change_nothing(rows: int) -> None:
    network, observation = loud(TileNet(FOREST, **SIZES)), looked_at(2)[:rows]
    assert isinstance(network, TileNet)
    padded = th.cat([observation, network.padding(observation)])
    assert th.equal(padded[:rows], observation)
    tiles = int(padded[:, FOREST.layout["present"]].sum(dtype=th.int64))
    assert (len(padded) % 64, tiles % 512) == (0, 0)
    assert len(padded) - rows < 64 + 512 // 48 + 1
    assert tiles - int(observation[:, FOREST.layout["present"]].sum(dtype=th.int64)) < 512
    with th.no_grad():
        one, other = network.look(observation), network.look(padded)
    for plain, among in zip(one, other, strict=True):
        np.testing.assert_allclose(plain, among[:rows], atol=1e-6)


def test_gradients_flow_through_low_precision_to_every_weight() -> None:
    network, observation = loud(TileNet(FOREST, **SIZES)), looked_at(3)
    with th.autocast("cpu", dtype=th.bfloat16):
        heads = network.heads(observation)
    sum(head.square().mean() for head in heads[:4]).backward()  # type: ignore[union-attr]
    for name, weights in network.named_parameters():
        assert weights.grad is not None, name
        assert weights.grad.dtype == th.float32
        assert weights.grad.any(), name
        assert th.isfinite(weights.grad).all(), name


# --- the critic that sees everything ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_critic_that_sees_what_is_hidden_changes_no_other_head(kind: str) -> None:
    network, observation = loud(make_network(kind, FOREST, hidden=5, **KINDS[kind])), looked_at(2)
    hidden = th.zeros(40, 5)
    with th.no_grad():
        without, first, second = (network.heads(observation, each) for each in (None, hidden, hidden + 1))
    assert without.oracle is None
    assert first.oracle is not None
    assert second.oracle is not None
    assert first.oracle.shape == (40,)
    assert (first.oracle != second.oracle).all()
    assert_close(first, second, 0)
    assert_close(first, without, 0)
    plain = make_network(kind, FOREST, **KINDS[kind])
    assert heads_of(plain, observation).oracle is None
    assert set(network.state_dict()) - set(plain.state_dict()) == {
        f"oracle.{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias")
    }


# --- making one -------------------------------------------------------------------------------------------


def test_an_unknown_network_and_a_game_without_a_board_are_refused() -> None:
    with pytest.raises(ValueError, match="There is no network 'transformer'; the networks are tiles, mlp"):
        make_network("transformer", FOREST)
    with pytest.raises(ValueError, match="has no board of tiles in rows; choose the network kind 'mlp'"):
        make_network("tiles", WILD)


@pytest.mark.parametrize("game", [FOREST, WILD], ids=lambda game: game.name)
def test_the_plain_network_serves_every_game(game: games.Game) -> None:
    network = loud(MLPNet(game, widths=(12,)))
    observation, _ = positions(game, 2, 10, seed=0)
    heads = heads_of(network, th.as_tensor(observation))
    assert heads.logits.shape == (10, len(game.actions))
    assert heads.leads.shape == (10, game.seats, len(game.categories))
    # Entries are scaled by the largest value of each, by hand for one layer.
    high = np.maximum(game.layout.high().astype(np.float32), 1)
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    whole = np.maximum((observation / high) @ weights["trunk.0.weight"].T + weights["trunk.0.bias"], 0)
    np.testing.assert_allclose(heads.logits, whole @ weights["policy.weight"].T + weights["policy.bias"], atol=1e-4)


def test_a_fresh_policy_is_nearly_uniform() -> None:
    for kind in KINDS:
        th.manual_seed(3)
        logits = heads_of(make_network(kind, FOREST), looked_at(2)).logits
        assert float(logits[:, 8:56].std()) < 0.2


# --- the exported file ------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["tiles", "mlp"])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, Path, str]:
    """A network, its file, and what making it printed."""
    network = loud(make_network(request.param, FOREST, hidden=3, **KINDS[request.param]))
    path = tmp_path_factory.mktemp("exported") / "policy.onnx"
    card = make_card("forest", [2, 3], {}, "test", {"decisions": 0}, {})
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        assert export(network, FOREST, 2, card, path) < 1e-5
    return network, path, printed.getvalue()


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_an_exported_policy_equals_torch_for_any_number_of_rows(exported: tuple[Network, Path, str], rows: int) -> None:
    network, path, _ = exported
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [node.name for node in session.get_outputs()] == ["logits", "value", "values"]
    observation, mask = (part[-rows:] for part in positions(FOREST, 3, 64, seed=9))
    logits, value, values = session.run(None, {"observation": observation, "mask": mask})
    assert (logits.shape, value.shape, values.shape) == ((rows, 59), (rows,), (rows, 4))
    heads = heads_of(network, th.as_tensor(observation))
    np.testing.assert_allclose(logits[mask != 0], heads.logits.numpy()[mask != 0], atol=1e-5)
    assert (logits[mask == 0] == ILLEGAL_LOGIT).all()
    np.testing.assert_allclose(values, heads.values, atol=1e-5)
    np.testing.assert_array_equal(value, values[:, 0])


def test_exporting_prints_nothing_and_leaves_one_file(exported: tuple[Network, Path, str]) -> None:
    _, path, printed = exported
    assert printed == ""
    assert [file.name for file in path.parent.iterdir()] == ["policy.onnx"]
    assert read_card(path)["players"] == [2, 3]


def test_an_exported_policy_plays_as_the_network_does(exported: tuple[Network, Path, str]) -> None:
    network, path, _ = exported
    batch = Batch("forest", 20, 3)
    batch.reset(range(20))
    agent, same = PolicyAgent(path), NetworkAgent(network)
    for _ in range(20):
        actions = batch.ask(agent, batch.lanes)
        np.testing.assert_array_equal(actions, batch.ask(same, batch.lanes))
        batch.step(actions)


def test_a_file_that_differs_from_torch_is_told_and_never_written(
    exported: tuple[Network, Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, path, _ = exported
    observation, mask = positions(FOREST, 2, 64, seed=1)
    assert compare(MaskedNetwork(network), path, observation, mask) < 1e-5
    next(parameters for name, parameters in network.named_parameters() if name == "value.2.bias").data += 0.5
    assert compare(MaskedNetwork(network), path, observation, mask) == pytest.approx(0.5, rel=0.2)
    next(parameters for name, parameters in network.named_parameters() if name == "value.2.bias").data -= 0.5
    monkeypatch.setattr(
        "training.export._trace", lambda masked, seen, legal, draft: draft.write_bytes(path.read_bytes())
    )
    monkeypatch.setattr("training.export.compare", lambda *arguments: math.inf)
    with pytest.raises(ValueError, match="differs from torch by inf"):
        export(network, FOREST, 2, {}, tmp_path / "p.onnx")
    assert not list(tmp_path.iterdir())

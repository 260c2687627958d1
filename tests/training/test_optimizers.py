import copy
import math

import pytest
import torch
from torch import nn
from torch.optim import AdamW, Muon

from skinformer.training.bare_optimizers import BareAdamW, BareMuon
from skinformer.training.optimizers import make_optimizers, set_learning_rates
from skinformer.training.step import clip_and_step

UNSCALED = torch.amp.GradScaler("cpu", enabled=False)


@pytest.fixture
def make(settings):
    """Return a function: optimisers of groups."""
    return lambda groups, **changes: make_optimizers(
        groups, settings(**{"learning_rate": 3e-3} | changes)
    )


def parameters(*shapes):
    return [nn.Parameter(torch.randn(shape)) for shape in shapes]


def set_gradients(params, seed):
    generator = torch.Generator().manual_seed(seed)
    for p in params:
        p.grad = torch.randn(p.shape, generator=generator)


def test_adamw_equals_its_formula_and_decays_matrices_only(make):
    """With bias correction; biases, norms and embeddings keep their size."""
    matrix, decayed, plain = parameters((3, 2), (2, 2), (4,))
    naive = [[p.detach().double().clone(), 0.0, 0.0] for p in (matrix, decayed, plain)]
    groups = {"matrix": [matrix], "decayed": [decayed], "plain": [plain]}
    (optimizer,) = make(groups, optimizer="adamw")
    for t in range(1, 8):
        set_gradients([matrix, decayed, plain], seed=t)
        optimizer.step()
        for state, p, decay in zip(
            naive, (matrix, decayed, plain), (0.1, 0.1, 0.0), strict=True
        ):
            theta, m, v = state
            g = p.grad.double()
            m, v = 0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g**2
            step = (m / (1 - 0.9**t)) / ((v / (1 - 0.95**t)).sqrt() + 1e-8)
            state[:] = theta - 3e-3 * step - 3e-3 * decay * theta, m, v
    for (theta, _, _), p in zip(naive, (matrix, decayed, plain), strict=True):
        torch.testing.assert_close(p.detach().double(), theta, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    ("bare", "whole", "atol"),
    [(BareAdamW, AdamW, 0), (BareMuon, Muon, 1e-3)],
    ids=["adamw", "muon"],
)
def test_without_the_compiler_steps_and_states_are_those_of_torch(bare, whole, atol):
    """Muon's are batched, equal but for bfloat16; states go from one to the other, half way."""
    starts = parameters((4, 3), (3, 4), (4, 3), (2, 2))
    ours, theirs = (
        [nn.Parameter(p.detach().clone()) for p in starts] for _ in range(2)
    )
    one, other = bare(ours, lr=0.1), whole(theirs, lr=0.1)
    for seed in range(6):
        if seed == 3:
            one.load_state_dict(copy.deepcopy(other.state_dict()))
            other.load_state_dict(copy.deepcopy(one.state_dict()))
        set_gradients(ours, seed)
        set_gradients(theirs, seed)
        one.step()
        other.step()
        for p, q, start in zip(ours, theirs, starts, strict=True):
            torch.testing.assert_close(p, q, rtol=0, atol=atol)
            assert p.requires_grad
            assert not torch.equal(p, start)


def test_muon_makes_all_singular_values_of_an_update_alike(make):
    """Its five Newton-Schulz steps map them to about 1, whatever the gradient's scale."""
    (matrix,) = parameters((24, 16))
    before = matrix.detach().clone()
    groups = {"matrix": [matrix], "decayed": [], "plain": []}
    (muon,) = make(groups, optimizer="muon", weight_decay=0.0)
    matrix.grad = 1e-3 * torch.randn(24, 16)
    muon.step()
    update = (before - matrix.detach()) / (0.02 * math.sqrt(24 / 16))
    singular = torch.linalg.svdvals(update)
    assert float(singular.min()) > 0.5
    assert float(singular.max()) < 1.5


def test_muon_takes_the_role_matrix_and_adamw_the_rest(make):
    """By group, not by shape: an embedding is a matrix that Muon must not touch."""
    a, b, c = parameters((3, 3), (5, 3), (3,))
    groups = {"matrix": [a], "decayed": [b], "plain": [c]}
    muon, adamw = make(groups, optimizer="muon")
    assert isinstance(muon, Muon)
    assert isinstance(adamw, AdamW)
    assert [p is a for g in muon.param_groups for p in g["params"]] == [True]
    assert [g["weight_decay"] for g in adamw.param_groups] == [0.1, 0.0]
    assert (muon.defaults["momentum"], muon.defaults["ns_steps"]) == (0.95, 5)


def test_both_optimisers_shrink_matrices_by_the_same_factor(make):
    """weight_decay would otherwise mean seven times more for Muon than for AdamW here."""
    a, b = parameters((3, 3), (3, 3))
    before = [a.detach().clone(), b.detach().clone()]
    groups = {"matrix": [a], "decayed": [b], "plain": []}
    for optimizer in make(groups, optimizer="muon"):
        a.grad, b.grad = torch.zeros(3, 3), torch.zeros(3, 3)
        optimizer.step()
    for p, old in zip((a, b), before, strict=True):
        torch.testing.assert_close(p.detach(), old * (1 - 3e-3 * 0.1))


def test_frozen_parameters_and_empty_groups_get_no_optimiser(make):
    """Muon and AdamW refuse empty lists."""
    a, b = parameters((3, 3), (3,))
    a.requires_grad_(False)
    groups = {"matrix": [a], "decayed": [], "plain": [b]}
    (only,) = make(groups, optimizer="muon")
    assert [len(g["params"]) for g in only.param_groups] == [1]


def test_one_multiplier_moves_both_learning_rates(make):
    """The peaks differ, the schedule does not."""
    a, b = parameters((3, 3), (3,))
    optimizers = make({"matrix": [a], "decayed": [], "plain": [b]}, optimizer="muon")
    for multiplier in (0.5, 0.25):  # from the peak, not from the last value
        set_learning_rates(optimizers, multiplier=multiplier)
    assert [o.param_groups[0]["lr"] for o in optimizers] == [0.02 * 0.25, 3e-3 * 0.25]


def test_rates_in_tensors_are_filled_in_place(make):
    """A recorded step reads them at each replay; a new tensor would never be read."""
    a, b = parameters((3, 3), (3,))
    optimizers = make({"matrix": [a], "decayed": [], "plain": [b]}, optimizer="muon")
    rates = [torch.tensor(o.param_groups[0]["lr"]) for o in optimizers]
    for optimizer, rate in zip(optimizers, rates, strict=True):
        optimizer.param_groups[0]["lr"] = rate
    set_learning_rates(optimizers, multiplier=0.5)
    assert [o.param_groups[0]["lr"] for o in optimizers] == rates
    assert [float(rate) for rate in rates] == pytest.approx([0.02 * 0.5, 3e-3 * 0.5])


def test_muon_takes_its_rate_from_a_tensor(make):
    """As it does from a number."""
    updates = []
    for wrap in (float, torch.tensor):
        matrix = nn.Parameter(torch.eye(4, 3))
        (muon,) = make(
            {"matrix": [matrix], "decayed": [], "plain": []}, optimizer="muon"
        )
        muon.param_groups[0]["lr"] = wrap(0.02)
        set_gradients([matrix], seed=1)
        muon.step()
        updates.append(matrix.detach())
    torch.testing.assert_close(*updates)
    assert not torch.equal(updates[0], torch.eye(4, 3))


@pytest.mark.parametrize(
    ("max_norm", "clipped"), [(1.0, True), (1e6, False), (None, False)]
)
def test_clipping_is_by_the_norm_of_all_gradients_together(max_norm, clipped):
    """Clipping each alone would change the direction of the step."""
    params = parameters((3, 2), (4,))
    set_gradients(params, seed=0)
    before = [p.grad.clone() for p in params]
    norm = math.sqrt(sum(float(g.double().square().sum()) for g in before))
    found = clip_and_step([], parameters=params, max_norm=max_norm, scaler=UNSCALED)
    assert float(found) == pytest.approx(norm, rel=1e-6)
    for p, g in zip(params, before, strict=True):
        torch.testing.assert_close(
            p.grad, g / norm if clipped else g, rtol=1e-5, atol=0
        )


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("steps_before", [0, 3])
def test_a_skipped_step_leaves_no_trace(make, optimizer, steps_before):
    """The next step is then the one that would have come without it, moments and all."""
    shapes = (4, 3), (3, 3), (3,)
    first, second = parameters(*shapes), parameters(*shapes)
    starts = [p.detach().clone() for p in first]
    runs = []
    for params, skip in ((first, False), (second, True)):
        for p, start in zip(params, starts, strict=True):
            p.data.copy_(start)
        groups = {"matrix": params[:1], "decayed": params[1:2], "plain": params[2:]}
        runs.append(run(make(groups, optimizer=optimizer), params, steps_before, skip))
    assert all(torch.equal(a, b) for a, b in zip(*runs, strict=True))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_clipping_a_non_finite_gradient_is_no_way_past_the_check(make, bad, optimizer):
    """Clipped by an infinite norm, all finite gradients are 0 and the infinite one is NaN."""
    params = parameters((4, 3), (3, 3), (3,))
    before = [p.detach().clone() for p in params]
    groups = {"matrix": params[:1], "decayed": params[1:2], "plain": params[2:]}
    optimizers = make(groups, optimizer=optimizer)
    set_gradients(params, seed=0)
    params[1].grad[0, 0] = bad
    norm = clip_and_step(optimizers, parameters=params, max_norm=1.0, scaler=UNSCALED)
    assert not torch.isfinite(norm)
    assert all(torch.equal(p, old) for p, old in zip(params, before, strict=True))


def run(optimizers, params, steps_before, skip):
    for seed in range(steps_before + 2):
        if skip and seed == steps_before:
            for p in params:
                p.grad = torch.full_like(p, math.nan)
            clip_and_step(optimizers, parameters=params, max_norm=None, scaler=UNSCALED)
        set_gradients(params, seed=seed)
        clip_and_step(optimizers, parameters=params, max_norm=None, scaler=UNSCALED)
    return [p.detach() for p in params]

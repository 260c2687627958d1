"""Forge checkpoints: one number, tensor, key or type of a fit's state is another one."""

import copy
import math

import torch

ODD = [
    None, True, -1, 0, 1, 7, 10**6, 2**40, -(2**70), 0.5, -1.0, 1e30, math.nan, math.inf, -math.inf,
    "", "x", "max_iter", [], {}, (), torch.zeros(()), torch.zeros(3), torch.tensor(float("nan")),
]  # fmt: skip


def places(state):
    """List all places of a state: what holds a value, and under which key."""
    if isinstance(state, dict):
        keys = [key for key in state if key != "fingerprint"]
    else:
        keys = range(len(state)) if isinstance(state, list) else ()
    found = []
    for key in keys:
        found += [(state, key), *places(state[key])]
    return found


def tensor_changed(tensor, chance):
    """Change numbers, type or shape."""
    way, tensor = chance.randrange(5), tensor.clone()
    if way < 2 and tensor.numel():
        odd = [-1.0, 0.0, 1e30, 3e38, math.nan, math.inf, -math.inf, 1e12]
        values = tensor.flatten()
        at = chance.randrange(len(values))
        odd = chance.choice(odd if values.is_floating_point() else [0, 1, 255])
        values[at : at + chance.choice([1, len(values)])] = odd
        return values.reshape(tensor.shape)
    if way == 2:
        return tensor.to(chance.choice([torch.float64, torch.int64, torch.float16, torch.uint8]))
    return chance.choice([tensor[None], tensor.flatten()[:-1], tensor.flatten()])


def forge(state, chance):
    """Change one thing of a state, or two."""
    state = copy.deepcopy(state)
    state["rows"] = [list(row) for row in state["rows"]]
    for _ in range(chance.choice([1, 1, 2])):
        found = places(state)
        holder, key = chance.choice(found)
        way = chance.randrange(6)
        if way < 2:
            holder, key = chance.choice([p for p in found if torch.is_tensor(p[0][p[1]])])
            holder[key] = tensor_changed(holder[key], chance)
        elif way == 2:
            holder[key] = copy.deepcopy(chance.choice(ODD))
        elif way == 3:
            del holder[key]
        elif way == 4:
            source, name = chance.choice(found)
            holder[key] = copy.deepcopy(source[name])
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        else:
            holder["more"] = holder[key]
    return state

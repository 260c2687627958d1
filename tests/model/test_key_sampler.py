import copy
import pickle

import torch

from skinformer.model.key_sampler import KeySampler

CPU = torch.device("cpu")


def draw(sampler, length=1000, n_keys=20):
    return sampler(length=length, n_keys=n_keys, device=CPU)


def test_keys_are_distinct_and_in_range():
    keys = draw(KeySampler(seed=0), length=30, n_keys=30)
    assert sorted(keys.tolist()) == list(range(30))


def test_training_draws_a_new_set_each_call():
    sampler = KeySampler(seed=0)
    assert not torch.equal(draw(sampler), draw(sampler))


def test_evaluation_set_depends_on_seed_and_length_only():
    """Prediction must not depend on what ran before, nor on the global seed."""
    sampler = KeySampler(seed=0).eval()
    first = draw(sampler)
    sampler.train()
    draw(sampler)
    sampler.eval()
    draw(sampler, length=500)
    torch.manual_seed(123)
    assert torch.equal(draw(sampler), first)
    assert not torch.equal(draw(KeySampler(seed=1).eval()), first)


def test_evaluation_draws_leave_the_training_generator_alone():
    one, other = KeySampler(seed=0), KeySampler(seed=0)
    draw(one.eval())
    assert torch.equal(draw(one.train()), draw(other))


def test_drawing_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    sampler = KeySampler(seed=0)
    draw(sampler)
    draw(sampler.eval())
    assert torch.equal(torch.get_rng_state(), before)


def test_seeds_that_agree_in_their_low_bits_differ():
    """The CPU generator of torch reads 32 bits of its seed."""
    assert not torch.equal(draw(KeySampler(seed=1)), draw(KeySampler(seed=1 + 2**32)))


def test_state_dict_repeats_the_generator():
    sampler = KeySampler(seed=0)
    draw(sampler)
    state = copy.deepcopy(sampler.state_dict())
    expected = [draw(sampler) for _ in range(3)]
    resumed = KeySampler(seed=7)
    resumed.load_state_dict(state)
    assert all(torch.equal(draw(resumed), keys) for keys in expected)
    assert all(isinstance(value, torch.Tensor) for value in state.values())


def test_copies_and_pickles_repeat_the_generator():
    sampler = KeySampler(seed=0)
    draw(sampler)
    twins = [copy.deepcopy(sampler), pickle.loads(pickle.dumps(sampler))]
    expected = draw(sampler)
    assert all(torch.equal(draw(twin), expected) for twin in twins)

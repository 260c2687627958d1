"""Rules that are switched off by name: each name is one of the code."""

import importlib

import ablate
import pytest


@pytest.mark.parametrize("rule", ablate.RULES, ids=lambda rule: rule.name)
def test_a_rule_is_off_for_a_moment(rule):
    module = importlib.import_module(f"skinformer.{rule.module}")
    before = getattr(module, rule.attribute)
    with rule.off():
        assert getattr(module, rule.attribute) is rule.instead
    assert getattr(module, rule.attribute) is before

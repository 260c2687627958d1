"""Cut the links from public parameters to the network and its trainer, one at a time.

Each mutant is one change of text in a scratch copy of the sources. A mutant that the tests there
let pass is a link that nothing holds. Run by hand, all of them or those whose name holds a word::

    OMP_NUM_THREADS=1 python tests/mutants.py [WORD ...]

A text that is no longer in its file is an error: write the mutant anew beside the link.
"""

import argparse
import ast
import contextlib
import importlib
import io
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = ["tests/estimators/test_links.py", "tests/test_recipes.py"]
#: Imported once for all mutants.
HEAVY = ["torch", "pandas", "sklearn.callback", "sklearn.metrics", "scipy.stats"]

BUILDING = "skinformer/estimators/building.py"
BASE = "skinformer/estimators/base.py"
CALLBACKS = "skinformer/estimators/callbacks.py"
REGRESSOR = "skinformer/estimators/regressor.py"
RECIPES = "skinformer/recipes.py"


class Mutant(NamedTuple):
    """The first `old` behind `after` becomes `new`."""

    name: str
    path: str
    old: str
    new: str
    after: str = ""

    def apply(self, text):
        """Give the changed source; raise where there is nothing to change."""
        start = text.find(self.after)
        place = text.find(self.old, start + len(self.after)) if start >= 0 else -1
        if place < 0:
            raise LookupError(
                f"mutant {self.name!r}: {self.path} holds no {self.old!r}"
                + (f" behind {self.after!r}" if self.after else "")
            )
        return text[:place] + self.new + text[place + len(self.old) :]


#: Links cut, swapped or bent by hand.
LINKS = [
    Mutant("gate off", BUILDING, "output_gate=estimator.output_gate", "output_gate=False"),
    Mutant("distilling on", BUILDING, "distil=estimator.distil", "distil=True"),
    Mutant("factor 5", BUILDING, "factor=estimator.factor", "factor=5.0"),
    Mutant("no clipping", BUILDING, "max_grad_norm=_MAX_GRADIENT_NORM", "max_grad_norm=None"),
    Mutant("clipping at 2", BUILDING, "_MAX_GRADIENT_NORM = 1.0", "_MAX_GRADIENT_NORM = 2.0"),
    Mutant("no warm-up", BUILDING, "warmup_fraction=_WARMUP", "warmup_fraction=0.0"),
    Mutant("longer warm-up", BUILDING, "_WARMUP = 0.05", "_WARMUP = 0.1"),
    Mutant(
        "mae to mse",
        BUILDING,
        "loss = estimator.loss",
        "loss = {'mae': 'mse'}.get(estimator.loss, estimator.loss)",
    ),
    Mutant(
        "huber to mae",
        BUILDING,
        "loss = estimator.loss",
        "loss = {'huber': 'mae'}.get(estimator.loss, estimator.loss)",
    ),
    Mutant(
        "the other quantile", BUILDING, "level_error(level=loss)", "level_error(level=1 - loss)"
    ),
    Mutant(
        "Muon at AdamW's rate",
        BUILDING,
        "_MUON_RATIO * estimator.learning_rate",
        "estimator.learning_rate",
    ),
    Mutant("Muon's ratio", BUILDING, "0.02 / 3e-4", "0.02 / 1e-3"),
    Mutant("constant rate", BUILDING, '_SCHEDULE = "cosine"', '_SCHEDULE = "constant"'),
    Mutant("tolerance", BUILDING, "_TOLERANCE = 1e-4", "_TOLERANCE = 1e-3"),
    Mutant("no accumulation", BUILDING, "estimator.batch_size // micro", "1"),
    Mutant(
        "pre-norm always", BUILDING, 'norm_first=estimator.norm != "post_layer"', "norm_first=True"
    ),
    Mutant(
        "LayerNorm always",
        BUILDING,
        '"zc_rms" if estimator.norm == "zc_rms" else "layer"',
        '"layer"',
    ),
    Mutant("biases always", BUILDING, 'bias=estimator.norm != "zc_rms"', "bias=True"),
    Mutant(
        "kernels swapped",
        BUILDING,
        "attention=estimator.attention_,\n        decoder_attention=estimator.decoder_attention",
        "attention=estimator.decoder_attention,\n        decoder_attention=estimator.attention_",
    ),
    Mutant(
        "one kernel for both",
        BUILDING,
        "decoder_attention=estimator.decoder_attention",
        "decoder_attention=estimator.attention_",
    ),
    Mutant(
        "QK norm by the gate",
        BUILDING,
        "qk_norm=estimator.qk_norm",
        "qk_norm=estimator.output_gate",
    ),
    Mutant(
        "gate by QK norm",
        BUILDING,
        "output_gate=estimator.output_gate",
        "output_gate=estimator.qk_norm",
    ),
    Mutant(
        "depths swapped",
        BUILDING,
        "n_encoder_layers=estimator.n_encoder_layers,\n"
        "        n_decoder_layers=estimator.n_decoder_layers",
        "n_encoder_layers=estimator.n_decoder_layers,\n"
        "        n_decoder_layers=estimator.n_encoder_layers",
    ),
    Mutant(
        "d_ff ignored",
        BUILDING,
        "4 * estimator.d_model if estimator.d_ff is None else estimator.d_ff",
        "4 * estimator.d_model",
    ),
    Mutant("d_ff twice the width", BUILDING, "4 * estimator.d_model", "2 * estimator.d_model"),
    Mutant("no mask embedding", BUILDING, '"mask" in estimator.embeddings', "False"),
    Mutant("no null embedding", BUILDING, "null_embedding=sizes.may_miss", "null_embedding=False"),
    Mutant(
        "missing by mask",
        BUILDING,
        '"missing" in estimator.embeddings',
        '"mask" in estimator.embeddings',
    ),
    Mutant("no series", BUILDING, "fields.append(sizes.n_series + 1)", "pass"),
    Mutant("label_len ignored", BUILDING, "if label_len is None:", "if True:"),
    Mutant("guiding patches cut", BUILDING, "half - half % sizes.decoder_patch_len", "half"),
    Mutant(
        "decoder's patches",
        BUILDING,
        "1 if self.n_known > self.n_static else self.patch_len",
        "self.patch_len",
    ),
    Mutant("fixed seed", BUILDING, "seed=seed", "seed=0"),
    Mutant(
        "no linear path",
        BUILDING,
        "return network if path is None else Corrected(path, network)",
        "return network",
    ),
    Mutant(
        "24 tokens",
        BUILDING,
        "_TOKENS, _LONGEST_PATCH = 24, 12",
        "_TOKENS, _LONGEST_PATCH = 48, 12",
    ),
    Mutant(
        "longest patch",
        BUILDING,
        "_TOKENS, _LONGEST_PATCH = 24, 12",
        "_TOKENS, _LONGEST_PATCH = 24, 24",
    ),
    Mutant("sparse later", BUILDING, '"cpu": 96', '"cpu": 97'),
    Mutant("sparse earlier", BUILDING, '"cpu": 96', '"cpu": 95'),
    Mutant("attention always auto", BUILDING, 'if attention != "auto":', "if False:"),
    Mutant("device always auto", BUILDING, 'if device != "auto":', "if False:"),
    Mutant(
        "continuous without times",
        BUILDING,
        'if estimator.position == "continuous" else None',
        "if False else None",
    ),
    Mutant("known columns hidden", BUILDING, "n_known=len(roles.known)", "n_known=0"),
    Mutant(
        "precision always auto",
        BASE,
        "resolve_precision(self.precision,",
        'resolve_precision("auto",',
    ),
    Mutant("tail always auto", BASE, "self.early_stopping is not False and", ""),
    Mutant(
        "linear path always fitted again", BASE, 'refit=self.early_stopping == "auto"', "refit=True"
    ),
    Mutant(
        "linear path never fitted again", BASE, 'refit=self.early_stopping == "auto"', "refit=False"
    ),
    Mutant(
        "validation_fraction ignored", BASE, "fraction=self.validation_fraction", "fraction=0.1"
    ),
    Mutant("linear path always", BASE, "if self.linear_path:", "if True:"),
    Mutant("linear path never", BASE, "if self.linear_path:", "if False:"),
    Mutant("no checkpoint", BASE, "checkpoint=self.checkpoint,", "checkpoint=None,"),
    Mutant("no fingerprint", BASE, "{} if self.checkpoint is None else fingerprint(self)", "{}"),
    Mutant("warm start always", BASE, "earlier=self if self.warm_start else None", "earlier=self"),
    Mutant("warm start never", BASE, "earlier=self if self.warm_start else None", "earlier=None"),
    Mutant(
        "random_state ignored",
        BASE,
        "check_random_state(self.random_state)",
        "check_random_state(0)",
    ),
    Mutant("order unseeded", BASE, "inside, seed=seed, **shared", "inside, seed=0, **shared"),
    Mutant(
        "validation shuffled",
        BASE,
        "held_out, seed=None, **shared",
        "held_out, seed=seed, **shared",
    ),
    Mutant(
        "whole batches in memory",
        BASE,
        "self.micro_batch_size or self.batch_size",
        "self.batch_size",
    ),
    Mutant("max_windows ignored", BASE, '"max_windows": self.max_windows', '"max_windows": 10_000'),
    Mutant("epochs silent", CALLBACKS, "if self.estimator.verbose:", "if False:"),
    Mutant("epochs always told", CALLBACKS, "if self.estimator.verbose:", "if True:"),
    Mutant(
        "trust of a quantile",
        BASE,
        "and isinstance(loss, str)",
        "and isinstance(loss, str | float)",
    ),
]

#: Another value of each recipe's parameter; the second where the first is the recipe's.
OTHER = {
    "linear_path": ["True"],
    "patch_len": ["4"],
    "calendar": ['"auto"'],
    "embeddings": ['("mask",)', "()"],
    "d_model": ["32"],
    "n_heads": ["8"],
    "n_encoder_layers": ["3"],
    "n_decoder_layers": ["2"],
    "d_ff": ["128"],
    "attention": ['"dense"', '"probsparse"'],
    "decoder_attention": ['"probsparse"'],
    "factor": ["3.0"],
    "qk_norm": ["True", "False"],
    "output_gate": ["True", "False"],
    "activation": ['"relu"'],
    "norm": ['"post_layer"'],
    "position": ['"learned"'],
    "init": ['"xavier"'],
    "distil": ["False"],
    "dropout": ["0.2"],
    "window_norm": ["True"],
    "loss": ['"mae"'],
    "optimizer": ['"muon"', '"adamw"'],
    "learning_rate": ["2e-3"],
    "weight_decay": ["0.05"],
    "batch_size": ["64"],
    "precision": ['"fp16"'],
}


def defaulted():
    """Make the mutants in which a parameter that is read while building is its default."""
    source = ast.walk(ast.parse((ROOT / REGRESSOR).read_text(encoding="utf-8")))
    arguments = next(part.args for part in source if getattr(part, "name", "") == "__init__")
    names = [argument.arg for argument in arguments.kwonlyargs]
    defaults = dict(zip(names, map(ast.unparse, arguments.kw_defaults), strict=True))
    text = (ROOT / BUILDING).read_text(encoding="utf-8")
    for found in re.finditer(r"\bestimator\.([a-z_]*[a-z])\b", text):
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        yield Mutant(
            f"{found[1]} is its default ({line}:{column})",
            BUILDING,
            found[0],
            f"[{defaults[found[1]]}][0]",  # `is` and a literal would be a warning
            after=text[: found.start()],
        )


def recipe_values():
    """Make the mutants in which one value of a recipe is another."""
    text = (ROOT / RECIPES).read_text(encoding="utf-8")
    for statement in ast.parse(text).body:
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.value, ast.Dict)):
            continue
        recipe = statement.target.id
        for key, value in zip(statement.value.keys, statement.value.values, strict=True):
            old = ast.get_source_segment(text, value)
            new = next(other for other in OTHER[key.value] if other != old)
            yield Mutant(
                f"{recipe}: {key.value}={new}",
                RECIPES,
                f'"{key.value}": {old},',
                f'"{key.value}": {new},',
                after=f"\n{recipe}: ",
            )


def all_mutants():
    """Give every mutant; raise if there is nothing for one of them to change."""
    mutants = [*LINKS, *defaulted(), *recipe_values()]
    for mutant in mutants:
        mutant.apply((ROOT / mutant.path).read_text(encoding="utf-8"))
    return mutants


def run(mutant):
    """Run the tests in a copy with a mutant, or without one; give pytest's exit status."""
    text = io.StringIO()
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(text):
        folder = Path(name)
        for part in ("skinformer", "tests"):
            shutil.copytree(ROOT / part, folder / part)  # what is compiled stays valid
        shutil.copy(ROOT / "pyproject.toml", folder)
        if mutant is not None:
            path = folder / mutant.path
            path.write_text(mutant.apply(path.read_text(encoding="utf-8")), encoding="utf-8")
        os.chdir(folder)
        sys.path[0] = str(folder)
        status = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *TESTS]))
        os.chdir(ROOT)
    if status not in (0, 1):
        raise RuntimeError(
            f"the tests did not run with {mutant and mutant.name!r}:\n{text.getvalue()}"
        )
    return status


def survivors(mutants, jobs):
    """Give the mutants that the tests let pass."""
    for name in HEAVY:  # forked processes have them, and of this package nothing but their copy
        importlib.import_module(name)
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        if pool.apply(run, [None]):
            raise RuntimeError("the tests fail without any mutant; mend them first")
        alive = []
        for mutant, status in zip(mutants, pool.imap(run, mutants), strict=True):
            alive += [] if status else [mutant]
            sys.stdout.write(f"{'killed' if status else 'SURVIVED':8} {mutant.name}\n")
            sys.stdout.flush()
    return alive


def main():
    """Apply the chosen mutants and return how many survived."""
    parser = argparse.ArgumentParser(description="Cut links one at a time; tests must notice.")
    parser.add_argument("words", nargs="*", help="part of a mutant's name; none for all mutants")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at a time")
    given = parser.parse_args()
    chosen = [
        m for m in all_mutants() if not given.words or any(word in m.name for word in given.words)
    ]
    if not chosen:
        raise LookupError(f"no mutant's name holds one of {given.words}")
    alive = survivors(chosen, given.jobs)
    sys.stdout.write(f"{len(chosen)} mutants, {len(alive)} survived\n")
    for mutant in alive:
        sys.stdout.write(f"survived: {mutant.name} ({mutant.path})\n")
    return min(len(alive), 1)


if __name__ == "__main__":
    sys.exit(main())

"""
Measure what the network adds to its path, and draw it, for the page of the same name.

``python docs/diagnosis.py measure ETTh1 96 0 FILE.npz --data FOLDER`` fits the horizon and seed on
development rows and forecasts later ones with the weights of each epoch (a few minutes);
``python docs/diagnosis.py draw FILE.npz ... [--into FOLDER]`` draws what was measured.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from matplotlib import pyplot as plt
from PIL import Image

from skinformer import InformerRegressor, Training
from skinformer.datasets import load_auckland_pedestrians
from skinformer.ensemble.batches import window_source
from skinformer.ensemble.predicting import predict_windows
from skinformer.judging.proof import Proof
from skinformer.judging.trial import NetworkTrial
from skinformer.timeline.windows import window_rows
from skinformer.training import trainer

#: Shares of all rows: those that are fitted, and those before the test rows, which stay unread.
CUTS = {
    "bundled": (0.6, 0.8),
    "WTH": (0.7, 0.8),
    "ETTh1": (8640, 11520),
    "ETTh2": (8640, 11520),
}
CUTS["ETTm1"] = (34560, 46080)
N_EPOCHS = 6  # of ten: those that matter
WINDOWS = {"in": 150, "split": 400, "later": 400}
NAMES = {"in": "training rows", "split": "validation split", "later": "later rows"}
COLORS = {"in": "#999999", "split": "#E69F00", "later": "#0072B2"}


# --- measure ----------------------------------------------------------------------------------


class Watched:
    """Note the weights at the end of each epoch, and the mean of those of all steps so far.

    The mean is polynomial, later steps count more: it lies a tenth of the steps behind the last.
    """

    def __enter__(self):
        self.epochs, self.mean, self.n_steps = [], None, 0
        self.step, self.finish = trainer.clip_and_step, trainer._OngoingFit.finish_epoch
        self.should_stop = NetworkTrial.should_stop
        self.judged, self.add = {}, Proof.add

        def add(proof, member):
            self.judged[member.name] = member
            return self.add(proof, member)

        def finish(fit, row):
            self.epochs.append([copies(fit.parameters), copies(self.mean)])
            self.finish(fit, row)

        trainer.clip_and_step, trainer._OngoingFit.finish_epoch = self.watch, finish
        Proof.add = add
        # Which most would after the first epoch.
        NetworkTrial.should_stop = lambda *_: False
        return self

    def __exit__(self, *error):
        trainer.clip_and_step, trainer._OngoingFit.finish_epoch = self.step, self.finish
        NetworkTrial.should_stop = self.should_stop
        Proof.add = self.add

    def watch(self, optimizers, *, parameters, **options):
        norm = self.step(optimizers, parameters=parameters, **options)
        self.n_steps += 1
        self.mean = copies(parameters) if self.mean is None else self.mean
        with torch.no_grad():
            torch._foreach_lerp_(self.mean, list(parameters), 10 / (self.n_steps + 9))
        return norm


def copies(parameters):
    """Copy tensors."""
    return [value.detach().clone() for value in parameters]


def read_table(name, folder):
    """Give a table, the number of rows to fit and of those before the test rows."""
    if name == "bundled":
        table = load_auckland_pedestrians()
    else:
        path = next(Path(folder).glob(f"{name}.csv*"))
        table = pd.read_csv(path, index_col=0, parse_dates=True)
    first, end = (int(cut * len(table)) if cut <= 1 else cut for cut in CUTS[name])
    return table.astype("float32"), first, end


def measure(name, horizon, seed, folder):
    """Fit, and forecast training windows, the split and later rows with each epoch's weights."""
    table, first, end = read_table(name, folder)
    model = InformerRegressor(
        list(table.columns),
        seq_len=336,
        pred_len=horizon,
        members=["ridges", "network"],
        random_state=seed,
        training=Training(max_iter=10, n_iter_no_change=10),
    )
    with Watched() as watched:
        model.fit(table[:first])
    split = int(model.calibration_.split[0])
    path = watched.judged["ridges"].path
    final, network = model.module_.path, model.module_.network
    model.update(table[first:end])
    rows, sizes = model.timeline_, model.sizes_
    source = window_source(
        rows.values, rows.steps, rows.series, rows.clock, sizes=sizes, device="cpu"
    )
    borders = {"in": (336, split), "split": (split, first), "later": (first, end)}
    out = {"columns": table.columns.to_numpy(str)}
    for part, (low, high) in borders.items():
        origins = np.unique(np.linspace(low, high - horizon, WINDOWS[part]).astype(int))
        here = final if part == "later" else path
        ahead = window_rows(origins, horizon)
        base = predict_windows(here, source, origins)
        out[f"{part}_residual"] = rows.values[ahead, : sizes.n_targets] - base
        weight = np.ones(1) if rows.weight is None else rows.weight[ahead]
        out[f"{part}_weight"] = np.broadcast_to(weight, out[f"{part}_residual"].shape)
        out[f"{part}_correction"] = np.array(
            [
                [
                    correction(network, weights, source, origins, base)
                    for weights in epoch
                ]
                for epoch in watched.epochs[:N_EPOCHS]
            ]
        )
    return out


def correction(network, weights, source, origins, base):
    """Correct forecasts of windows, which the network reads, with some weights."""
    for parameter, value in zip(network.parameters(), weights, strict=True):
        parameter.data.copy_(value)
    corrected = predict_windows(network, source, origins, base)
    return (corrected - base).astype(np.float16)


# --- draw -------------------------------------------------------------------------------------


def relative(run, part, epoch, averaged):
    """Give squared errors with an epoch's correction, over those of the path alone."""
    residual, weight = run[f"{part}_residual"], run[f"{part}_weight"]
    correction = run[f"{part}_correction"][epoch, averaged].astype(float)
    corrected = residual - correction
    return (weight * corrected**2).sum() / (weight * residual**2).sum()


def draw_epochs(runs):
    """Draw errors by epoch: of each epoch's last weights, and of the mean."""
    size = 2.9 * len(runs), 3.2
    figure, (axes,) = plt.subplots(
        1, len(runs), squeeze=False, figsize=size, layout="constrained"
    )
    for ax, (name, seeds) in zip(axes, runs.items(), strict=True):
        for run in seeds:
            epochs = np.arange(1, len(run["split_correction"]) + 1)
            for part, color in COLORS.items():
                for averaged, line in enumerate((":", "-")):
                    errors = [relative(run, part, e - 1, averaged) for e in epochs]
                    ax.plot(epochs, errors, line, color=color, linewidth=1.4)
        ax.axhline(1, color="black", linewidth=0.8)
        ax.set(title=name, xlabel="epoch")
    axes[0].set_ylabel("squared error / the path's")
    lines = [
        plt.Line2D([], [], color=color, label=NAMES[p]) for p, color in COLORS.items()
    ]
    lines += [plt.Line2D([], [], color="black", linestyle=s, label=t)
              for s, t in (("-", "mean of steps"), (":", "last step"))]  # fmt: skip
    figure.legend(handles=lines, loc="outside lower center", ncols=5, frameon=False)
    return figure


def main():
    """Measure or draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    requested = parser.add_subparsers(dest="what", required=True)
    one = requested.add_parser("measure")
    one.add_argument("table", choices=CUTS)
    one.add_argument("horizon", type=int)
    one.add_argument("seed", type=int)
    one.add_argument("file", type=Path)
    one.add_argument("--data", type=Path, default=Path())
    other = requested.add_parser("draw")
    other.add_argument(
        "files", type=Path, nargs="+", help="named NAME_HORIZON_SEED.npz"
    )
    other.add_argument("--into", type=Path, default=Path(__file__).parent / "images")
    options = parser.parse_args()
    if options.what == "measure":
        given = options.table, options.horizon, options.seed
        np.savez(options.file, **measure(*given, options.data))
        return
    plt.switch_backend("agg")
    runs = {}
    for file in sorted(options.files):
        name, horizon, _ = file.stem.split("_")
        runs.setdefault(f"{name}, {horizon} ahead", []).append(np.load(file))
    runs = {name: [dict(run) for run in seeds] for name, seeds in runs.items()}
    figure, file = draw_epochs(runs), options.into / "diagnosis_epochs.png"
    figure.savefig(file, dpi=110)
    plt.close(figure)
    with Image.open(file) as image:
        small = image.convert("RGB").quantize(64)  # a palette: a third of the size
    small.save(file, optimize=True)


if __name__ == "__main__":
    main()

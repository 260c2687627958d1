"""Write docs/benchmarks.md from results and published figures; `scoreboard.py --page` calls it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from boards import FEV, GIFT, LOSSES, SOURCES, TASKS, read_published

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
OURS, NAIVE, RIVAL = "skinformer", "seasonal naive", "Chronos-2"
COMMAND = "python examples/benchmarks/scoreboard.py"

#: Errors that are above the rival's by this share are named.
FAR = 0.05

#: Models that the tables of single tasks show.
SHOWN = {
    GIFT: [RIVAL, "TiRex", "xLSTM-Mixer", "FLAIR", "AutoARIMA"],
    FEV: [RIVAL, "TiRex-2", "TFT", "LightGBM", "AutoARIMA"],
}
KINDS = {
    "trained": "trained on the task",
    "pretrained": "pretrained",
    "statistical": "statistical",
}

HEAD = """\
# Benchmarks

[GIFT-Eval](https://github.com/SalesforceAIResearch/gift-eval) and \
[fev-bench](https://github.com/autogluon/fev) compare forecasters on public data. Many of these \
forecasters were pretrained on billions of rows. This page compares skinformer, which is not \
pretrained, with their published results. It has every task whose data we found in other public \
files: {n_gift} of 97 in GIFT-Eval and {n_fev} of 100 in fev-bench. Ranks on all tasks may differ. \
`{command} --page` writes the page.

- **Every error is divided by that of the seasonal naive forecast**, which therefore has 1.000. \
Lower is better. There are two errors: the MASE (mean absolute scaled error) of the median \
forecast, and the mean quantile loss over the levels 0.1 to 0.9. This loss is called CRPS in \
GIFT-Eval and SQL (scaled quantile loss) in fev-bench. The first table of each benchmark has the \
geometric means of these ratios over all tasks, the second table the ratios of each task. A model \
can have lower errors on most tasks and a higher mean, if its errors are much higher on a few.
- **skinformer** is fitted to the rows of each task, on one CPU thread. All parameters are the \
defaults except two, which are the same for all tasks: the loss is `"mae"`, and `seq_len` depends \
on the frequency (a week of quarter hours, two weeks of hours, eight weeks of days, a year of \
weeks, two years of months, three years of quarters). Models of the kind *trained on the task* are \
fitted to the same rows. *Pretrained* models were trained on other data beforehand. In fev-bench \
some of these data contain a task; its published error is counted all the same.
- **Names** of GIFT-Eval's tasks are dataset, frequency (`15t` is 15 minutes) and length of the \
forecast. `proenfo_gfc14` and `uci_air_quality` have future covariates. skinformer uses them; \
models that cannot use covariates forecast without them.
- If the fits before all test windows would read more than 250,000 values, one fit forecasts all \
windows. Otherwise the model is fitted again before each window. CPU-seconds are the sum over all \
fits and forecasts of a task.
"""

DATA = """\
## Data

None of these data is part of skinformer. To measure again, write the sources as the files below \
into a folder, and set the environment variable `SKINFORMER_BENCH_DATA` to it (by default \
`../shared/data`). `{command} --check` compares the MASE of the seasonal naive \
forecast of every task with the published one. They agree to four digits in all tasks.

| file | source | tasks |
|---|---|---|
| `scoreboard/us_births` | vincentarelbundock/Rdatasets, `csv/mosaicData/Births.csv` | days; \
sums of full weeks (ending on Tuesday) and of months |
| `scoreboard/saugeen` | cran/deseasonalize, `data/SaugeenDay.rda` | days; means of \
full weeks (ending on Thursday) and of months |
| `scoreboard/hierarchical_sales` | GonBla/Pasta_Time_Series, `hierarchical_sales_data.csv`, \
columns QTY | days, with missing days; sums of weeks (ending on Wednesday), without the last week |
| `scoreboard/uci_air_quality` | ajayarunachalam/msda, `data/AirQualityUCI.csv` | hours, where \
-200 is a missing value; means of days, without the first and the last; T, RH and AH are future \
covariates |
| `scoreboard/gfc14` | Leo-VK/ProEnFo, `data/GEF14/GEFCom2014-E.csv` | hours from 2013 on; the \
temperature is a future covariate |
| `scoreboard/australian_tourism` | unit8co/darts, `datasets/australian_tourism.csv` | quarters, \
without the seven columns of states |
| `ETTm1`, `ETTh1`, `ETTh2` | zhouhaoyi/ETDataset | GIFT-Eval: ETTm1, in quarter hours and as \
means of hours, full days and full weeks (ending on Thursday). fev-bench: ETTh1 and ETTh2, in \
hours and as means of days and of weeks (ending on Sunday), without the first and the last |
| `panels/car_parts`, `panels/covid_deaths` | Monash repository | `car_parts`: months; \
`covid_deaths`: days |

Files are named `….csv.gz`, and `ETTh1.csv` and `ETTh2.csv`. The first column of a table is the \
time; panels have the columns `series`, `t` and `y`. `{command}` then takes some 25 minutes of one \
CPU. Tasks, horizons and numbers of windows are \
in [`boards.py`](../examples/benchmarks/boards.py).

## Other measurements

- [Three datasets with covariates](covariates.md), with [all numbers](../notes/drivers.md)
- [Nine panels of short series](panels.md), with [all numbers](../notes/panels.md)
- [Prediction intervals](intervals.md), with [their coverage](../notes/ranges.md)
- [ETT and other tables of the papers](../notes/accuracy.md), and [seventeen shapes of ordinary \
data](../notes/ordinary.md)
- [Run time and memory](performance.md), compared with other libraries
"""


def write_page(results: pd.DataFrame) -> None:
    """Write the page."""
    PAGE.write_text(make_page(results, read_published()), encoding="utf-8")


def make_page(results: pd.DataFrame, published: pd.DataFrame) -> str:
    """Return the page's text.

    results: by task, as `scoreboard.py` writes them.
    published: what others reached, as `read_published` gives it.
    """
    commit = results["commit"].value_counts().index[0]
    measured = results[results["commit"] == commit]
    ratios = relate(measured, published)
    names = {
        board: [name for name, task in TASKS.items() if task.board == board]
        for board in (GIFT, FEV)
    }
    parts = [
        HEAD.format(n_gift=len(names[GIFT]), n_fev=len(names[FEV]), command=COMMAND)
    ]
    for board, tasks in names.items():
        run = [name for name in tasks if name in measured.index]
        if run:
            parts.append(_section(board, tasks, run, ratios, measured, commit))
    return "\n".join([*parts, DATA.format(command=COMMAND)])


def relate(measured: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Return errors over the seasonal naive's: task, model, kind, leak, MASE, quantile_loss."""
    ours = measured.reset_index().assign(model=OURS, kind="trained", leak=False)
    columns = ["task", "model", "kind", "leak", "MASE", "quantile_loss"]
    everyone = pd.concat([ours[columns], published[columns]], ignore_index=True)
    naive = published[published["model"] == NAIVE].set_index("task")
    for error in ("MASE", "quantile_loss"):
        everyone[error] /= everyone["task"].map(naive[error])
    return everyone


def rank(ratios: pd.DataFrame, tasks: list[str]) -> pd.DataFrame:
    """Return geometric means over tasks by model, the best MASE first; a model needs all tasks.

    leaks: tasks whose data the model is known to have been trained on; lost: tasks where
    skinformer's MASE is higher.
    """
    some = ratios[ratios["task"].isin(tasks)]
    ours = some[some["model"] == OURS].set_index("task").loc[tasks, "MASE"]
    rows = {}
    for model, part in some.groupby("model"):
        if len(part) < len(tasks):
            continue
        by_task = part.set_index("task").loc[tasks]
        rows[model] = {
            "kind": KINDS[by_task["kind"].iloc[0]],
            "MASE": geometric_mean(by_task["MASE"]),
            "quantile_loss": geometric_mean(by_task["quantile_loss"]),
            "leaks": int(by_task["leak"].sum()),
            "lost": int((ours > by_task["MASE"]).sum()),
        }
    return pd.DataFrame.from_dict(rows, orient="index").sort_values("MASE")


def geometric_mean(values: pd.Series) -> float:
    """Return the geometric mean."""
    return float(np.exp(np.log(values).mean()))


# ----------------------------------------------------------------------------------- text
def _section(
    board: str,
    tasks: list[str],
    run: list[str],
    ratios: pd.DataFrame,
    measured: pd.DataFrame,
    commit: str,
) -> str:
    """Return a board's part: where skinformer stands, the board, and its tasks.

    run: those of the tasks that were run at the commit.
    """
    ranked = rank(ratios, run)
    dates = measured.loc[run, "date"]
    when = " to ".join(sorted({dates.min(), dates.max()}))
    lines = [
        f"## {board}",
        "",
        f"Measured {when} at commit {commit} by `{COMMAND}`: {len(run)} of {len(tasks)} tasks. "
        f"Results of other models: {SOURCES[board]}.",
        "",
        _standing(board, ranked, len(run)),
        "",
        *_board_table(board, ranked, len(run)),
        "",
        _losses(board, ratios, run),
        "",
        *_task_table(board, tasks, ratios, measured),
        "",
    ]
    return "\n".join(lines)


def _standing(board: str, ranked: pd.DataFrame, n_tasks: int) -> str:
    """Say which places skinformer has, and against whom it wins and loses."""
    places = []
    for error, name in (("MASE", "MASE"), ("quantile_loss", LOSSES[board])):
        better = ranked[ranked[error] < ranked.loc[OURS, error]]
        gaps = better[error].sort_values() / ranked.loc[OURS, error] - 1
        named = [
            f"{model} ({better.loc[model, 'kind']}; {-gap:.1%} lower)"
            for model, gap in gaps.items()
        ]
        places.append(
            f"{len(better)} of the {len(ranked) - 1} other models have a lower {name} than "
            f"skinformer: {', '.join(named)}."
            if named
            else f"No other model has a lower {name} than skinformer."
        )
    lost = ranked.loc[RIVAL, "lost"]
    places.append(
        f"{RIVAL} has the lower MASE on {lost} of {n_tasks} tasks, and skinformer on "
        f"{n_tasks - lost}."
    )
    return " ".join(places)


def _board_table(board: str, ranked: pd.DataFrame, n_tasks: int) -> list[str]:
    """Return the models, the best first, with geometric means over the tasks."""
    lines = [
        f"| model | kind | MASE | {LOSSES[board]} | skinformer has the lower MASE on |",
        "|---|---|---|---|---|",
    ]
    for model, row in ranked.iterrows():
        kind = row["kind"]
        if row["leaks"]:
            kind += f" (also on the data of {row['leaks']} of these tasks)"
        wins = "" if model == OURS else f"{n_tasks - row['lost']} of {n_tasks}"
        name = f"**{model}**" if model == OURS else model
        lines.append(
            f"| {name} | {kind} | {row['MASE']:.3f} | {row['quantile_loss']:.3f} | {wins} |"
        )
    return lines


def _losses(board: str, ratios: pd.DataFrame, run: list[str]) -> str:
    """Say on which tasks skinformer is far behind, or behind the seasonal naive."""
    some = ratios[ratios["task"].isin(run)]
    said = []
    for error, name in (("MASE", "MASE"), ("quantile_loss", LOSSES[board])):
        errors = some.pivot_table(index="task", columns="model", values=error).loc[run]
        behind = errors[OURS] / errors[RIVAL] - 1
        far = behind[behind > FAR].sort_values(ascending=False)
        tasks = [f"`{task}` ({share:.1%})" for task, share in far.items()]
        said.append(
            f"skinformer's {name} is more than {FAR:.0%} above that of {RIVAL} on "
            f"{', '.join(tasks) or 'no task'}."
        )
        above = [f"`{task}`" for task in errors.index[errors[OURS] > 1]]
        if above:
            said.append(
                f"Its {name} is above that of the seasonal naive forecast on "
                f"{', '.join(above)}."
            )
    said.append("In the second table the lowest MASE of each row is bold.")
    return " ".join(said)


def _task_table(
    board: str, tasks: list[str], ratios: pd.DataFrame, measured: pd.DataFrame
) -> list[str]:
    """Return errors by task; the lowest MASE of a row is bold."""
    models = [OURS, *SHOWN[board]]
    lines = [
        f"| task: MASE / {LOSSES[board]} | {' | '.join(models)} | CPU-seconds of {OURS} |",
        "|---" * (len(models) + 2) + "|",
    ]
    by_task = ratios.set_index(["task", "model"])
    for task in tasks:
        shown = [model for model in models if (task, model) in by_task.index]
        best = min(shown, key=lambda model: by_task.loc[(task, model), "MASE"])
        cells = [task]
        for model in models:
            if model not in shown:
                cells.append("not run at this commit")
                continue
            row = by_task.loc[(task, model)]
            mase = f"{row['MASE']:.3f}"
            mase = f"**{mase}**" if model == best else mase
            cells.append(f"{mase} / {row['quantile_loss']:.3f}")
        seconds = measured["cpu_seconds"].get(task)
        cells.append("" if seconds is None else f"{seconds:.0f}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines

"""What this installation has, and what it lacks: ``python -m skinformer doctor``."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

#: What an optional package is for.
_USES = {"matplotlib": "displays and examples", "rich": "progress bars of backtests"}
_REQUIREMENT = re.compile(r"^([A-Za-z0-9_.-]+)\s*(?:>=\s*([0-9.]+))?\s*(?:;(.*))?$")

State = Literal["ok", "note", "problem"]
_MARKS: dict[State, str] = {"ok": " ", "note": "-", "problem": "!"}


@dataclass(frozen=True)
class Finding:
    """One line of the report: what was looked at, what was found, and what to type if it is wrong.

    state: a problem keeps skinformer from working.
    """

    state: State
    topic: str
    text: str


def examine() -> list[Finding]:
    """Look at versions, devices, precision and threads; nothing is changed or sent."""
    findings = [Finding("ok", "python", f"{platform.python_version()}, {platform.machine()}")]
    findings += _versions()
    if any(finding.state == "problem" for finding in findings):
        return findings  # what is missing or too old cannot be looked into
    try:
        return [*findings, *_devices(), *_threads()]
    except (ImportError, OSError) as error:  # installed, but a library of the system is not there
        return [*findings, Finding("problem", "torch", f"cannot be imported: {error}")]


def report(findings: list[Finding]) -> str:
    """Write what was found as text: a line for each, and how many are problems."""
    width = max(len(finding.topic) for finding in findings)
    lines = [f"{_MARKS[f.state]} {f.topic.ljust(width)} {f.text}" for f in findings]
    problems = sum(finding.state == "problem" for finding in findings)
    lines += ["", f"{problems} problem{'s' * (problems > 1)} (!)" if problems else "no problems"]
    return "\n".join(lines)


def _versions() -> Iterator[Finding]:
    """Compare what is installed with what the package asks for."""
    yield Finding("ok", "skinformer", metadata.version("skinformer"))
    for requirement in metadata.requires("skinformer") or ():
        match = _REQUIREMENT.match(requirement)
        if match is None:
            continue
        name, least, condition = match.groups()
        if condition and name not in _USES:
            continue  # for those who test and build
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            use = _USES.get(name)
            state: State = "problem" if use is None else "note"
            text = f"missing: python -m pip install '{name}>={least}'"
            yield Finding(state, name, text if use is None else f"{text}, for {use}")
            continue
        if least and _numbers(found) < _numbers(least):
            advice = f"python -m pip install --upgrade '{name}>={least}'"
            yield Finding("problem", name, f"{found} is older than {least}: {advice}")
        else:
            yield Finding("ok", name, found)


def _numbers(version: str) -> tuple[int, ...]:
    """Give the leading numbers of a version: 2.13.0+cpu is 2, 13, 0."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[a-z+]", version)[0]))


def _devices() -> Iterator[Finding]:
    import torch  # loads for seconds, and only where it is installed

    from skinformer.training.precision import resolve_precision

    found = [torch.device("cpu")]
    found += [torch.device("cuda", number) for number in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        found.append(torch.device("mps"))
    for device in found:
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor()
        narrow, wide = (
            resolve_precision("auto", device=device, d_model=width) for width in (32, 512)
        )
        precision = narrow if narrow == wide else f"{narrow}, {wide} for wide models"
        text = f"{name or device.type}; precision='auto' is {precision}"
        yield Finding("ok", f"device {device}", text)


def _threads() -> Iterator[Finding]:
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads, requested = torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")
    text = f"{threads} of torch on {cores} cores"
    if requested is not None:
        text += f", OMP_NUM_THREADS={requested}"
    if cores is not None and threads > cores:
        advice = f"export OMP_NUM_THREADS={cores}"
        yield Finding("note", "threads", f"{text}: more than cores wait for each other: {advice}")
    else:
        yield Finding("ok", "threads", text)
    if sys.platform == "linux" and (quota := _cpu_quota()) is not None and quota < threads:
        advice = "export OMP_NUM_THREADS=1"
        text = f"this container may use {quota:g} of a core's time: {advice}"
        yield Finding("note", "threads", text)


def _cpu_quota() -> float | None:
    """Read how many cores' time a container may use; None where nothing bounds it."""
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None

"""What each member proved: its error, and that of the joint forecast without it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from skinformer.ensemble.ensemble import Ensemble
from skinformer.judging.proof import Proof
from skinformer.timeline.arrays import Float32Array, Float64Array

#: The row of all members together.
JOINT = "joint forecast"

#: Why a member takes no part that nothing has compared with others.
NOTHING_COMPARES = "there are no validation rows to compare it with others"


@dataclass(frozen=True)
class Standings:
    """
    What a fit keeps of its judging.

    Attributes
    ----------
    reasons : dict of str to str
        Why members take no part, by name.
    errors : dict of str to float
        Mean absolute error of each member at the cut-offs, in standard deviations of the targets,
        and of the joint forecast.
    errors_without : dict of str to float
        That of the joint forecast, where the others have the weight of a member.
    seconds : dict of str to float
        That a forecast of one window took, in a batch of many.
    cuts : dict of str to str
        What a limit of seconds took from members that were fitted, in words.
    """

    reasons: dict[str, str]
    errors: dict[str, float]
    errors_without: dict[str, float]
    seconds: dict[str, float]
    cuts: dict[str, str]

    @classmethod
    def of(
        cls,
        reasons: dict[str, str],
        proof: Proof | None,
        ensemble: Ensemble,
        cuts: dict[str, str],
    ) -> Standings:
        """Read them off what members have proved; errors are unknown where nothing was.

        ensemble: the members that count, with their weights.
        cuts: by the parts of the fit that members are.
        """
        if proof is None:
            return cls(reasons, {}, {}, {}, cuts)
        of_members = {
            name: cuts[member.part]
            for name, member in proof.members.items()
            if member.part in cuts
        }
        errors = {name: proof.error(each) for name, each in proof.forecasts.items()}
        weights = _weights_at(proof, ensemble)
        errors[JOINT] = proof.error(_joint(proof, weights))
        without = {}
        for name in proof.forecasts:
            if len(weights) > 1:
                others = _without(weights, name, proof.members[name].base)
                without[name] = proof.error(_joint(proof, others))
        return cls(reasons, errors, without, proof.seconds, cuts | of_members)

    def table(self, ensemble: Ensemble, fit_times: pd.DataFrame | None) -> pd.DataFrame:
        """Return a row for each member, the best first, see `BaseInformer.leaderboard`."""
        table = self._numbers(ensemble, fit_times)
        table.insert(0, "takes_part", table["weight"] > 0)
        of_parts = [_parts(ensemble, name) for name in table.index]
        table["parts"] = pd.Series(of_parts, table.index)
        table["reason"] = [
            self._reason(name, takes_part=takes_part)
            for name, takes_part in table["takes_part"].items()
        ]
        is_joint = table.index == JOINT
        best_first = table[~is_joint].sort_values(
            ["weight", "error"], ascending=[False, True]
        )
        return table.loc[[*table.index[is_joint], *best_first.index]]

    def _numbers(
        self, ensemble: Ensemble, fit_times: pd.DataFrame | None
    ) -> pd.DataFrame:
        """Return what each member counts, proved and took, NaN where that is not known."""
        weights = {
            name: float(ensemble.weights_of(name)[:-1].mean())
            for name in ensemble.members
        }
        if self.errors:
            weights[JOINT] = 1.0
        columns = {
            "weight": weights,
            "error": self.errors,
            "error_without": self.errors_without,
            "fit_seconds": _fit_seconds(fit_times),
            "forecast_seconds": self.seconds,
        }
        names = dict.fromkeys([*weights, *self.errors, *self.reasons])
        table = pd.DataFrame(columns, pd.Index(names, name="member"), dtype=float)
        return table.fillna({"weight": 0.0})

    def lines(self, ensemble: Ensemble) -> list[str]:
        """Return a line for each member, for whoever watches a fit."""
        lines = []
        for name, row in self.table(ensemble, None).iterrows():
            line = f"{name}: "
            if not row["takes_part"]:
                line += f"takes no part, {row['reason']}"
            elif name != JOINT:
                line += f"weight {row['weight']:.0%}"
                if row["reason"]:
                    line += f", {row['reason']}"
            if np.isfinite(row["error"]):
                line = f"{line.removesuffix(': ')}, error {row['error']:.3f}"
            lines.append(line)
        return lines

    def _reason(self, name: Hashable, *, takes_part: bool) -> str:
        """Return in words why a member takes no part, and what a limit of seconds took from it."""
        cut = self.cuts.get(str(name), "")
        if takes_part:
            return cut
        if name in self.reasons:
            return self.reasons[str(name)]
        if name not in self.errors:
            return NOTHING_COMPARES
        reason = "other members have smaller errors at the cut-offs"
        return f"{reason}; {cut}" if cut else reason


def _weights_at(proof: Proof, ensemble: Ensemble) -> dict[str, Float64Array]:
    """Return the weights of members at the cut-offs, (n, 1 or pred_len, n_targets)."""
    series = np.minimum(proof.windows.series, len(ensemble.weights) - 1)
    return {name: ensemble.weights_of(name)[series] for name in proof.forecasts}


def _without(
    weights: dict[str, Float64Array], name: str, base: str | None
) -> dict[str, Float64Array]:
    """Leave a member out: its weight is that of what it corrects, else that of all others."""
    others = {other: weights[other] for other in weights if other != name}
    if base is not None:
        return others | {base: others[base] + weights[name]}
    total = sum(others.values())
    # Equal ones where the others have none.
    return {
        other: np.divide(
            weight, total, out=np.full_like(weight, 1 / len(others)), where=total > 0
        )
        for other, weight in others.items()
    }


def _joint(proof: Proof, weights: dict[str, Float64Array]) -> Float32Array:
    """Weigh what members forecast at the cut-offs."""
    total = np.zeros_like(proof.y)
    for name, weight in weights.items():
        total += weight.astype(np.float32) * proof.forecasts[name]
    return total


def _parts(ensemble: Ensemble, name: str) -> dict[str, float]:
    """Return the forecasters that a member consists of, and their weights in it."""
    if name not in ensemble.members:
        return {}
    blend = ensemble.members[name].blend
    return (
        {} if list(blend) == [name] else {part: w for part, w in blend.items() if w > 0}
    )


def _fit_seconds(fit_times: pd.DataFrame | None) -> dict[str, float]:
    """Read what fitting each member took, trials before the cut-off among it."""
    if fit_times is None:
        return {}
    return dict(zip(fit_times["part"], fit_times["seconds"], strict=True))

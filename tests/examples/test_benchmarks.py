"""The benchmark suite runs: a job gives numbers, and a job that fails is left out."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "benchmarks"


@pytest.fixture(scope="module")
def suite():
    """Import the scripts as Python does when they are run: their folder comes first."""
    sys.path.insert(0, str(FOLDER))
    try:
        import jobs
        import run
    finally:
        sys.path.remove(str(FOLDER))
    return jobs, run


@pytest.mark.parametrize("kind", ["probsparse", "sdpa"])
def test_a_job_gives_numbers(suite, kind):
    """A suite that cannot run measures nothing."""
    jobs, _ = suite
    assert jobs.attention(kind, "96", "causal")["ms"] > 0


def test_jobs_take_turns_and_give_medians(suite, monkeypatch):
    """Two jobs measured one after the other would share no machine."""
    _, run = suite
    calls = []

    def job(self, name, **options):
        calls.append(name)
        return {"ms": float(len(calls))}

    monkeypatch.setattr(run.Runner, "job", job)
    runner = run.Runner(peer_python=None, n_runs=3, n_threads=1)
    first, second, peer = runner.medians(["a", "b", "neuralforecast-step A"])
    assert calls == ["a", "b"] * 3
    assert (first, second, peer) == ({"ms": 3.0}, {"ms": 4.0}, {})


def test_a_job_that_fails_is_left_out(suite, capsys):
    """One broken peer must not cost the numbers of all others."""
    _, run = suite
    runner = run.Runner(peer_python=None, n_runs=1, n_threads=1)
    assert runner.medians(["no-such-job"]) == [{}]
    assert "no-such-job" in capsys.readouterr().err

"""``python -m skinformer doctor``: what this installation has, and what it lacks."""

import argparse
import sys

from skinformer import __version__


def main(argv: list[str] | None = None) -> int:
    """Run a command, by default what was typed; 0 if all is well."""
    parser = argparse.ArgumentParser(prog="python -m skinformer", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser(
        "doctor", help="print versions, devices, precision and threads, and what is missing"
    )
    parser.parse_args(argv)
    from skinformer.doctor import examine, report  # PERF: the version is told without it

    findings = examine()
    sys.stdout.write(f"{report(findings)}\n")
    return int(any(finding.state == "problem" for finding in findings))


if __name__ == "__main__":
    raise SystemExit(main())

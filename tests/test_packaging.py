"""What a user gets on installing skinformer, and what CI and the README promise about it."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import skinformer

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CI_RUN = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
SOURCES = sorted((ROOT / "skinformer").rglob("*.py"))

VALIDATION = ROOT / "skinformer" / "validation"

TORCH_PIN = "torch==2.13.0"
RUNTIME = {"numpy", "pandas", "scikit-learn", "torch", "joblib"}


def run_python(*args):
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, check=False
    )


def readme_command(name):
    done = run_python(str(ROOT / ".ci" / "readme_command"), name)
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def imported_names(source):
    """Every module or name that the source imports, dotted, at whatever depth."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def violations(paths, look):
    """Give what `look(path, source)` finds, by file, but for files in which it finds nothing."""
    assert len(paths) > 100  # an empty list would pass every rule
    found = {path: look(path, path.read_text(encoding="utf-8")) for path in paths}
    return {str(path.relative_to(ROOT)): each for path, each in found.items() if each}


def private_sklearn_imports(source):
    return [
        name
        for name in imported_names(source)
        if name.split(".")[0] == "sklearn"
        and any(re.match(r"_(?!_)", segment) for segment in name.split("."))
    ]


INDEX_TYPES = {
    "DatetimeIndex",
    "PeriodIndex",
    "MultiIndex",
    "RangeIndex",
    "TimedeltaIndex",
}


def index_types(source):
    """Every type of index that code names; docstrings may."""
    for node in ast.walk(ast.parse(source)):
        names = {
            ast.Attribute: lambda node: [node.attr],
            ast.Name: lambda node: [node.id],
            ast.alias: lambda node: [node.name],
        }.get(type(node), lambda node: [])(node)
        yield from INDEX_TYPES.intersection(names)


# The README's commands and CI


def test_ci_runs_the_tests_by_the_readme_command_alone():
    """A pytest call of CI's own would let the README's command rot unseen."""
    assert "$(python3 .ci/readme_command test)" in CI_RUN
    assert 'bash -euo pipefail -c "${command% && *}"' in CI_RUN
    assert 'tests="${command##* && }"' in CI_RUN
    assert 'bash -euo pipefail -c "$tests --cov"' in CI_RUN
    assert 'bash -euo pipefail -c "${tests/not slow/slow}"' in CI_RUN
    assert "pytest" not in CI_RUN
    assert re.search(r" -m pytest\b", readme_command("test"))


@pytest.mark.parametrize("name", ["quickstart", "test"])
def test_readme_command_sets_up_its_own_environment(name):
    """It must work where there is only Python and pip, so it may call nothing it did not make."""
    setup, *steps = readme_command(name).split(" && ")
    folder = re.fullmatch(r"python3 -m venv (\.venv\S*)", setup)[1]
    assert steps
    for step in steps:
        program = next(word for word in step.split() if not re.match(r"[A-Z_]+=", word))
        assert program.startswith(f"{folder}/bin/")


@pytest.mark.parametrize("name", ["quickstart", "test"])
def test_readme_command_pins_torch_before_all_else(name):
    """The version that the tests run with: as a dependency of the package it would be any other."""
    installs = re.findall(r"/pip install (.*?)(?: &&|$)", readme_command(name))
    assert len(installs) > 1
    assert installs[0] == TORCH_PIN


def test_ci_tests_the_lowest_versions_by_the_readme_command_too():
    """A bound that nobody runs is a guess: pandas 3.0 was promised, and no index was read there."""
    lowest = run_python(str(ROOT / ".ci" / "lowest")).stdout.split()
    assert [pin.replace("==", ">=") for pin in lowest] == PROJECT["project"][
        "dependencies"
    ]
    assert 'python3 .ci/lowest > "$lowest"' in CI_RUN
    install = 'PIP_CONSTRAINT="$lowest" bash -euo pipefail -c "${lowest_command% && *}"'
    assert install in CI_RUN
    assert 'lowest_command="${command//.venv-test/.venv-lowest}"' in CI_RUN
    assert f'lowest_command="${{lowest_command/{TORCH_PIN}/torch}}"' in CI_RUN
    assert 'lowest_command="${lowest_command/\\[test\\]/[test,nixtla]}"' in CI_RUN
    assert 'bash -euo pipefail -c "${lowest_command##* && } $chosen"' in CI_RUN
    assert ".venv-test" in readme_command("test")
    assert re.search(r"-m pytest [^&]* -m 'not slow'$", readme_command("test"))


def test_ci_runs_what_stands_beside_by_the_readme_command_too():
    """Its packages are extras of their own, and their versions may hold others back."""
    extras = "[test,onnx,dask,ray,beside,docs]"
    assert f'beside_command="${{beside_command/\\[test\\]/{extras}}}"' in CI_RUN
    assert 'bash -euo pipefail -c "${beside_command% && *}"' in CI_RUN
    assert (
        'bash -euo pipefail -c "${beside_command##* && } --dist loadfile tests/beside tests/site"'
        in CI_RUN
    )
    assert "'.[test]'" in readme_command("test")
    assert {"onnx", "dask", "ray", "beside", "docs"} < set(
        PROJECT["project"]["optional-dependencies"]
    )


def asked_packages(paths):
    """Read which packages tests skip without."""
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return {
        name for text in texts for name in re.findall(r'importorskip\("(\w+)"\)', text)
    }


def test_ci_installs_what_tests_skip_without():
    """A test that CI always skips protects nothing: dates of arrow were tested nowhere."""
    folders = [ROOT / "tests/beside", ROOT / "tests/site"]
    beside = {path for folder in folders for path in folder.glob("test_*.py")}
    extras = PROJECT["project"]["optional-dependencies"]
    needs = {
        name: {re.match(r"[\w-]+", need)[0] for need in extra}
        for name, extra in extras.items()
    }
    ordinary = set((ROOT / "tests").rglob("test_*.py")) - beside
    assert asked_packages(ordinary) <= needs["plot"] | needs["progress"] | needs["test"]
    imported = set.union(*needs.values())
    for package, distribution in (
        ("chronos", "chronos-forecasting"),
        ("tirex", "tirex-ts"),
    ):
        assert distribution in needs[package]
        imported.add(package)
    assert asked_packages(beside) <= imported


def test_a_dependency_without_a_lower_bound_is_an_error(tmp_path):
    """Constraints that leave one out would test its newest version, and pass."""
    script = tmp_path / ".ci" / "lowest"
    script.parent.mkdir()
    script.write_bytes((ROOT / ".ci" / "lowest").read_bytes())
    pyproject = '[project]\ndependencies = ["numpy>=2.0.2", "joblib"]\n'
    (tmp_path / "pyproject.toml").write_text(pyproject, encoding="utf-8")
    done = run_python(str(script))
    assert done.returncode != 0
    assert done.stdout == ""
    assert "'joblib' has no lower bound" in done.stderr


@pytest.mark.parametrize(("writer", "reader"), [("test", "lowest"), ("lowest", "test")])
def test_ci_reads_the_files_of_either_environment_in_the_other(writer, reader):
    """Who trains and who serves seldom have the same versions."""
    calls = re.findall(
        r"^ *\.venv-(\w+)/bin/python tests/across_versions\.py (\w+)", CI_RUN, re.M
    )
    assert calls.index((writer, "write")) < calls.index((reader, "read"))


def test_ci_pins_the_readme_torch_before_the_linters():
    """Another torch in CI would check other types than those the tests run with."""
    installs = re.findall(r'/empty/bin/pip" install --quiet (.*)', CI_RUN)
    assert installs == [TORCH_PIN, '"$made"', "-e '.[lint]'"]


@pytest.mark.parametrize(
    "readme",
    [
        "# No marker\n```bash\npytest\n```\n",
        "<!-- command: test -->\n```bash\npytest\n```\n" * 2,
        "<!-- command: test -->\n```bash\npip install x\npytest\n```\n",
        "<!-- command: test -->\n```bash\n```\n",
        "<!-- command: test -->\nSome words between.\n```bash\npytest\n```\n",
    ],
    ids=["missing", "twice", "two lines", "empty", "not adjacent"],
)
def test_ambiguous_readme_command_is_an_error(readme, tmp_path):
    """CI that runs nothing, or half of the command, would pass."""
    script = tmp_path / ".ci" / "readme_command"
    script.parent.mkdir()
    script.write_bytes((ROOT / ".ci" / "readme_command").read_bytes())
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")
    done = run_python(str(script), "test")
    assert done.returncode != 0
    assert done.stdout == ""
    assert "README.md" in done.stderr


@pytest.mark.parametrize(
    "tool", ["ruff check", "ruff format", "mypy", "numpydoc lint", "lint-imports"]
)
def test_pre_commit_and_ci_run_the_same_linters(tool):
    """A linter in one place only fails after the commit, or never."""
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert f"entry: {tool}" in hooks
    assert tool in CI_RUN


# What an installation brings


def test_runtime_dependencies_are_exactly_five():
    """Each further dependency is one more thing that can break a user's environment."""
    requirements = PROJECT["project"]["dependencies"]
    assert {re.match(r"[\w-]+", line)[0] for line in requirements} == RUNTIME


def test_runtime_dependencies_have_no_upper_pins():
    """An upper pin keeps users from updates that work."""
    for requirement in PROJECT["project"]["dependencies"]:
        assert re.fullmatch(r"[\w-]+(>=[\d.]+)?", requirement)


def undeclared_imports(path, source):
    optional = {"holidays", "matplotlib", "rich"}
    optional |= {"scipy", "threadpoolctl"}  # what scikit-learn requires
    optional |= {"pytz"}  # what pandas 2 requires
    optional |= {"narwhals", "pyarrow"}  # the extra "frames"
    if path.parent.name == "beside":  # an adapter
        library = path.stem.split("_")[0]
        optional |= {{"flair": "flaircast"}.get(library, library)}
    declared = RUNTIME - {"scikit-learn"} | {"sklearn", "skinformer"} | optional
    roots = {name.split(".")[0] for name in imported_names(source)}
    return sorted(roots - declared - set(sys.stdlib_module_names))


def test_package_imports_only_what_it_declares():
    """What happens to be installed here is missing elsewhere."""
    assert violations(SOURCES, undeclared_imports) == {}


def test_versions_agree():
    """Bug reports quote either of them."""
    assert metadata.version("skinformer") == skinformer.__version__


def test_python_floor_is_the_same_everywhere():
    """The linter must not let through syntax that the oldest supported Python cannot read."""
    floor = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert PROJECT["tool"]["ruff"]["target-version"] == "py" + floor.replace(".", "")
    assert f"Python {floor} or newer" in (ROOT / "README.md").read_text(
        encoding="utf-8"
    )


def test_package_is_typed():
    """Without the marker, type checkers ignore every annotation."""
    assert (Path(skinformer.__file__).parent / "py.typed").is_file()


def test_every_file_beside_the_code_is_packed():
    """What is not listed is missing in a wheel, such as the report's style sheet."""
    listed = PROJECT["tool"]["setuptools"]["package-data"].items()
    folders = [(ROOT.joinpath(*package.split(".")), globs) for package, globs in listed]
    packed = {
        path
        for folder, globs in folders
        for each in globs
        for path in folder.glob(each)
    }
    there = {path for path in (ROOT / "skinformer").rglob("*") if path.is_file()}
    others = {path for path in there if path.suffix not in {".py", ".pyc"}}
    assert ROOT / "skinformer/display/report/page.html" in others
    assert others == packed


# What `import skinformer` does


def test_import_is_light_and_silent():
    """Loading torch takes seconds; a command line that only asks for the version must not."""
    code = (
        "import sys, skinformer; dir(skinformer); skinformer.__version__; "
        "heavy = {'torch', 'matplotlib', 'pandas', 'sklearn', 'numpy'} & set(sys.modules); "
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = run_python("-W", "error", "-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_public_names_resolve():
    """A lazy name that points to the wrong module fails only in a user's hands."""
    values = {name: getattr(skinformer, name, None) for name in skinformer.__all__}
    assert [name for name, value in values.items() if value is None] == []
    types = {name: value for name, value in values.items() if isinstance(value, type)}
    assert [name for name, value in types.items() if value.__name__ != name] == []


def test_dir_lists_the_public_names():
    """Lazy names that are not loaded yet would be missing from completion."""
    assert dir(skinformer) == sorted(skinformer.__all__)


def test_unknown_name_is_an_attribute_error():
    """Otherwise hasattr, pickle and copy break in odd ways."""
    with pytest.raises(
        AttributeError, match="module 'skinformer' has no attribute 'Informer'"
    ):
        skinformer.Informer  # noqa: B018


# scikit-learn's private modules


def test_private_sklearn_imports_live_in_validation_only():
    """They change without notice: one package to mend, not twenty."""
    paths = [path for path in SOURCES if path.parent != VALIDATION]
    assert violations(paths, lambda _, source: private_sklearn_imports(source)) == {}


@pytest.mark.parametrize(
    ("source", "private"),
    [
        ("import sklearn.utils._param_validation", True),
        ("import sklearn.utils._tags as tags", True),
        ("from sklearn.utils import _safe_indexing", True),
        ("from sklearn.utils._param_validation import Interval", True),
        ("def f():\n    from sklearn.base import _fit_context", True),
        ("from sklearn.base import BaseEstimator", False),
        ("from sklearn import __version__", False),
        ("from skinformer.model import _x", False),
    ],
)
def test_private_sklearn_imports_are_recognised(source, private):
    """The test above must be able to fail."""
    assert bool(private_sklearn_imports(source)) is private


@pytest.mark.slow
def test_the_input_checks_load_no_torch():
    """The transformers need them, and a frame with wrong columns need not wait for seconds."""
    modules = ", ".join(
        f"skinformer.validation.{path.stem}" for path in VALIDATION.glob("*.py")
    )
    code = (
        f"import sys, {modules.replace('.__init__', '')}; "
        "sys.exit('loaded torch' if 'torch' in sys.modules else 0)"
    )
    done = run_python("-W", "error", "-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# The types of an index


def test_index_types_are_named_by_the_clock_and_the_input_checks_only():
    """Behind them all is steps: a new kind of index is one file's matter."""
    paths = [
        path
        for path in SOURCES
        if path.parent != VALIDATION and path.parts[-2:] != ("timeline", "clock.py")
    ]
    assert violations(paths, lambda _, source: list(index_types(source))) == {}


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("isinstance(index, pd.MultiIndex)", ["MultiIndex"]),
        ("from pandas import RangeIndex", ["RangeIndex"]),
        ("def f(index: PeriodIndex): pass", ["PeriodIndex"]),
        ('def f():\n    """Take a DatetimeIndex."""', []),
        ("index.nlevels > 1", []),
    ],
)
def test_index_types_are_recognised(source, named):
    """The test above must be able to fail."""
    assert list(index_types(source)) == named

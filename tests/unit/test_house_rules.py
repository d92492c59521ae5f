"""The borders between packages, and house rules that a test can see."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("ingestion", "retrieval", "generation", "evaluation")
FILES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def imports(path: Path) -> set[str]:
    """Top-level names of every module that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_package_imports_one_above_it(path):
    package = path.relative_to(ROOT).parts[0]
    above = set(PACKAGES[PACKAGES.index(package) + 1 :])
    assert not imports(path) & above


@pytest.mark.parametrize(
    ("module", "only"),
    [
        ("mlflow", "evaluation/tracking.py"),
        ("pypdfium2", "extract_worker.py"),
        ("optuna", "evaluation/tune/study.py"),
    ],
)
def test_a_heavy_library_has_one_door(module, only):
    users = [path.relative_to(ROOT).as_posix() for path in FILES if module in imports(path)]
    assert users
    assert all(user.endswith(only) for user in users)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_functions_stay_short(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno + 1 <= 60, node.name


def test_the_command_itself_is_short():
    assert len((ROOT / "run_eval.py").read_text().splitlines()) <= 80


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_is_caught_blindly_or_pickled(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None
            assert getattr(node.type, "id", "") not in ("Exception", "BaseException") or isinstance(
                node.body[-1], ast.Raise
            )
    assert "pickle" not in imports(path)

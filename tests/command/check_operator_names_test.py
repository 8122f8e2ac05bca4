"""Tests of scripts/check_operator_names.py: what counts as knowing an operator by its name."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import check_operator_names  # noqa: E402

NAMES = {"add", "nn.dense", "mul", "sum"}


@pytest.mark.parametrize(
    "text, what",
    [
        ('if (op->name() == "add") {}', 'compares with "add"'),
        ('if ("nn.dense" != name) {}', 'compares with "nn.dense"'),
        ('auto op = find_op("mul");', 'looks up "mul"'),
        ('call_op("add", {x, y})', 'looks up "add"'),
        ('static const Name kAdd = "add";', 'names "add"'),
        ('static const std::set<std::string> ops = {"x", "nn.dense"};', 'lists "nn.dense"'),
        ('std::map<Name, int> m{{"add", 1}};', 'lists "add"'),
        ("if (op->level() == 11) {}", "asks for an operator's level"),
        ("if (node->op()->level() > 4) {}", "asks for an operator's level"),
    ],
)
def test_uses_of_a_name_are_found(text, what):
    assert check_operator_names.uses("int x;\n" + text + "\n", NAMES) == [(2, what)]


@pytest.mark.parametrize(
    "text",
    [
        '// name == "add"\n',
        '/* find_op("add") */\n',
        'slots.push_back(alloca_register(wide, "sum"));',
        'return draft.finish(job.name, "sum", flops);',
        'if (name == "subtract_mean") {}',
        'throw Error("add takes " + n);',
        "uint32_t level = solver_.level();",
        'call(\'"\', find_op(name), R"(find_op("add"))");',
    ],
)
def test_other_strings_are_not(text):
    assert check_operator_names.uses(text, NAMES) == []


def test_names_and_spellings_of_the_checkout():
    names = check_operator_names.operator_names(ROOT)
    assert {"add", "mul", "nn.dense"} <= names


def test_the_checkout_is_clean():
    assert check_operator_names.check(ROOT)[0] == []

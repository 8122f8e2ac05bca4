"""The functions that MkDocs calls while it builds the site: they add the generated pages (operators, Python, C, C++, TVM's names,
changelog, contributing), and mend links that leave docs/."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import header_pages  # noqa: E402
import operator_pages  # noqa: E402
import python_pages  # noqa: E402
import relay_lexer  # noqa: E402
import tvm_page  # noqa: E402

ROOT = HERE.parents[1]
BUILD = ROOT / "build"
log = logging.getLogger("mkdocs.hooks.relay")

relay_lexer.register()
_pages: dict[str, str] = {}


def on_config(config: Any) -> Any:
    """Makes the pages and puts them into the navigation."""
    for needed in (BUILD / "bin/relay", BUILD / "python/relay/_core.pyi", BUILD / "docs/tvm-names.tsv"):
        if not needed.exists():
            raise PluginError(f"{needed} is not there: `make docs` builds what the site is made from")
    _pages.clear()
    sections = {next(iter(section)): next(iter(section.values())) for section in config.nav}

    operators = operator_pages.read(ROOT / "docs/operators.md")
    operator_pages.find_families(operators, ROOT)
    python = operator_pages.python_functions(ROOT)
    results = operator_pages.results_of_examples(BUILD / "bin/relay", [operator.name for operator in operators])
    for operator in operators:
        _pages[operator.path] = operator_pages.page(operator, python.get(operator.name), results[operator.name])
    _pages["operators.md"] = operator_pages.index(operators, ROOT)
    sections["Operators"] += [
        {title: [operator.path for operator in operators if operator.family == family]} for family, title in operator_pages.FAMILIES.items()
    ]

    python_only = sorted(set(python) - {operator.name for operator in operators} - set(operator_pages.ELSEWHERE.values()))
    pages = python_pages.pages(ROOT, [python[name].partition("(")[0] for name in python_only])
    _pages.update(pages)
    sections["Python"] += list(pages)
    _pages["python/tvm-names.md"] = tvm_page.page((BUILD / "docs/tvm-names.tsv").read_text(encoding="utf-8"))
    sections["Python"].append("python/tvm-names.md")

    pages = header_pages.pages(ROOT)
    _pages.update(pages)
    sections["C and C++"] += [name for name in pages if name.startswith("c/")]
    sections["C and C++"] += [{"C++ reference": [name for name in pages if name.startswith("cpp/")]}]

    _pages["changelog.md"] = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    _pages["contributing.md"] = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return config


def on_files(files: Files, config: Any) -> Files:
    for path, text in _pages.items():
        if old := files.get_file_from_path(path):
            files.remove(old)
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_uri in ("changelog.md", "contributing.md"):
        markdown = markdown.replace("](docs/", "](").replace("](CHANGELOG.md)", "](changelog.md)")
    # Documents are written as most readers of Markdown take them; this one wants more empty lines.
    return separate(markdown)


def separate(markdown: str) -> str:
    """With empty lines around code and before each list and table, and items' parts indented by four; code is left alone."""
    out: list[str] = []
    fence = None
    inside_list = False
    for line in markdown.split("\n"):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (fence is None or line.strip() == fence):
            if fence is None and out and out[-1].strip():
                out.append("")
            out.append(line)
            if fence is not None:
                out.append("")
            fence = mark.group(1) if fence is None else None
            continue
        if fence is None:
            before = out[-1] if out else ""
            if line.startswith("|") and before.strip() and not before.startswith("|"):
                out.append("")
            item = re.match(r"([-*]|\d+\.) ", line)
            if item and before.strip() and not inside_list and not before.startswith("#"):
                out.append("")
            if item:
                inside_list = True
            elif line and not line.startswith(" "):
                inside_list = inside_list and bool(before.strip())
            elif inside_list and line.strip():
                # Two or three blanks make a part of the item elsewhere; here it takes four.
                line = re.sub(r"^ {2,3}(?=\S)", "    ", line)
                if re.match(r"    (-|\d+\.) ", line) and before.strip() and not re.match(r"\s*(-|\d+\.) ", before):
                    out.append("")
        out.append(line)
    return "\n".join(out)

#!/usr/bin/env python3
"""Looks at the built site in Chromium, on a wide and a narrow screen.

    .venv-docs/bin/python scripts/docs/check_site.py build/site build/site-screens [PAGE...]

Every page: nothing is wider than the screen, the console is silent, nothing is asked of another host. The links and anchors of all pages
lead somewhere. Search finds operators, passes and functions. Pictures of some pages, light and dark, are written for people to look at.
Exit status 1, with a line for each problem.
"""

from __future__ import annotations

import functools
import html
import http.server
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

WIDTHS = (1400, 390)
# Pictures of these; "d" is dark.
SHOWN = ["", "install/", "guides/first-program/", "guides/pass-in-python/", "guides/from-tvm/", "guides/production/", "language/", "differences-from-tvm/",
         "operators/", "operators/nn.conv2d/", "operators/abs/", "passes/", "python/", "python/expressions/", "python/transform/", "python/tvm-names/", "c/",
         "c/reference/", "cpp/", "cpp/ir/", "performance/", "numerics/", "design/", "changelog/"]  # fmt: skip
SHOWN_DARK = ["", "guides/first-program/", "operators/nn.conv2d/", "python/expressions/", "performance/"]
# The words that are typed into the search, and the page that has to be among the first five.
SEARCHES = {
    "nn.conv2d": "operators/nn.conv2d/",
    "conv2d": "operators/nn.conv2d/",
    "softmax": "operators/nn.softmax/",
    "FoldConstant": "passes/",
    "ExprMutator": "python/visitors/",
    "relay_program_load": "c/reference/",
    "infer_types": "cpp/text/",
}
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")


TAG = re.compile(r"<(a|script|img|iframe|source|video|link)\b([^>]*)>")
ATTRIBUTE = re.compile(r"""([\w-]+)=(?:"([^"]*)"|'([^']*)'|([^\s>]+))""")
ANCHOR = re.compile(r"""<[a-z][^<>]*?\s(?:id|name)=["']?([^"'\s>]+)""")
LOADED = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "modulepreload"}


class Links:
    """Addresses that a page refers to, what it loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {html.unescape(name) for name in ANCHOR.findall(text)}
        for tag, rest in TAG.findall(text):
            values = {name: html.unescape(a or b or c) for name, a, b, c in ATTRIBUTE.findall(rest)}
            if tag == "a":
                self.links += [values["href"]] if "href" in values else []
            elif tag == "link":
                self.loaded += [values.get("href", "")] if LOADED & set(values.get("rel", "").split()) else []
            elif "src" in values:
                self.loaded.append(values["src"])


def check_files(site: Path) -> list[str]:
    """Links, anchors and what pages load, from the files alone."""
    problems = []
    pages: dict[str, Links] = {}
    for file in sorted(site.rglob("*.html")):
        pages["/" + file.relative_to(site).as_posix().removesuffix("index.html")] = Links(file.read_text(encoding="utf-8"))
    for path, links in pages.items():
        for address in links.loaded:
            if urlsplit(address).netloc:
                problems.append(f"{path} loads {address} from elsewhere")
            elif not (site / unquote(urljoin(path, address).split("?")[0]).lstrip("/")).exists():
                problems.append(f"{path} loads {address}, which is not there")
        for address in links.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = unquote(urljoin(path, parts.path)) if parts.path else path
            if target in pages or target + "/" in pages:
                anchor = unquote(parts.fragment)
                if anchor and anchor not in pages[target if target in pages else target + "/"].anchors:
                    problems.append(f"{path} links to {address}, but there is no such anchor")
            elif not (site / target.lstrip("/")).is_file():
                problems.append(f"{path} links to {address}, which is not there")
    for file in sorted(site.rglob("*.css")):
        for address in re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", file.read_text(encoding="utf-8")):
            if urlsplit("".join(address)).netloc:
                problems.append(f"{file.relative_to(site)} loads {''.join(address)} from elsewhere")
    return problems


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name of the base class)
        pass


def paths(site: Path) -> Iterator[str]:
    for file in sorted(site.rglob("index.html")):
        yield file.relative_to(site).as_posix().removesuffix("index.html")


def watch(page: Page, base: str, where: list[str], problems: list[str]) -> None:
    """Notes what the console says and what is asked of other hosts, with the place that `where` has at the time."""
    page.on("console", lambda message: problems.append(f"{where[0]}: console: {message.text}") if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(f"{where[0]}: {error}"))
    page.on("request", lambda request: problems.append(f"{where[0]}: asks {request.url}") if not request.url.startswith((base, "data:", "blob:")) else None)


# The elements that are cut off without a way to scroll to them, as text.
CUT_OFF = """() => [...document.querySelectorAll('article *')].filter(e => {
  const box = e.getBoundingClientRect();
  if (box.width === 0 || box.right <= document.documentElement.clientWidth + 1) return false;
  for (let p = e.parentElement; p; p = p.parentElement) {
    if (['auto', 'scroll'].includes(getComputedStyle(p).overflowX)) return false;
  }
  return true;
}).map(e => e.tagName + ' ' + e.textContent.slice(0, 40))"""


def look(browser: Browser, base: str, names: list[str], screens: Path) -> list[str]:
    """Every page at every width."""
    problems: list[str] = []
    page = browser.new_page()
    page.set_default_timeout(300_000)
    where = [""]
    watch(page, base, where, problems)
    for name in names:
        where[0] = "/" + name
        page.goto(base + name, wait_until="load")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 1000})
            for _ in range(10):  # the theme moves its search field when the width changes
                wide = page.evaluate("document.documentElement.scrollWidth")
                if wide <= width:
                    break
                page.wait_for_timeout(300)
            if wide > width:
                problems.append(f"/{name} at {width}: {wide} pixels wide")
            problems += [f"/{name} at {width}: goes beyond the screen: {text!r}" for text in page.evaluate(CUT_OFF)[:3]]
            if name in SHOWN:
                page.screenshot(path=screens / f"{picture(name)}-{width}.png")
    page.close()
    dark = browser.new_page(color_scheme="dark")
    dark.set_default_timeout(300_000)
    for name in set(SHOWN_DARK) & set(names):
        dark.goto(base + name)
        for width in WIDTHS:
            dark.set_viewport_size({"width": width, "height": 1000})
            dark.screenshot(path=screens / f"{picture(name)}-{width}-dark.png")
    dark.close()
    return problems


def picture(name: str) -> str:
    return name.strip("/").replace("/", "_") or "index"


def search(browser: Browser, base: str) -> list[str]:
    problems: list[str] = []
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(300_000)
    watch(page, base, ["search"], problems)
    page.goto(base)
    field = page.locator("input[data-md-component=search-query]")
    field.click()
    for text, wanted in SEARCHES.items():
        field.fill("")
        field.press_sequentially(text)
        try:
            page.wait_for_function(
                """([text, wanted]) => [...document.querySelectorAll('.md-search-result__item > a')].slice(0, 5).some(a => a.href.split('?')[0].endsWith(wanted))""",
                arg=[text, "/" + wanted], timeout=60_000,
            )  # fmt: skip
        except Exception:  # noqa: BLE001 (a timeout of the browser)
            found = page.eval_on_selector_all(".md-search-result__item > a", "all => all.slice(0, 5).map(a => a.getAttribute('href'))")
            problems.append(f"search for {text!r} does not find /{wanted} but {found}")
    return problems


def main() -> int:
    site, screens = Path(sys.argv[1]), Path(sys.argv[2])
    screens.mkdir(parents=True, exist_ok=True)
    problems = check_files(site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    names = sys.argv[3:] or list(paths(site))
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=300_000)
        problems += look(browser, base, names, screens)
        problems += search(browser, base)
        browser.close()
    server.shutdown()
    for problem in problems:
        print(problem)
    print(f"{len(names)} pages at {' and '.join(map(str, WIDTHS))} pixels, {len(SEARCHES)} searches: {len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

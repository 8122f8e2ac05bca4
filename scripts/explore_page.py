#!/usr/bin/env python3
"""Makes the explorer's page, tools/explore/page.html, of its sources in tools/explore/src.

    scripts/explore_page.py            checks the types and writes the page
    scripts/explore_page.py --check    exit status 1 if the page is not what the sources make

Needs, from Debian: node-typescript, esbuild, node-dagre-layout. People who build Relay need none of them: the page is committed.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tools" / "explore"
PAGE = FOLDER / "page.html"
MODULES = pathlib.Path("/usr/share/nodejs")
LONG = 600  # lines of a module

# dagre and graphlib are Copyright (c) 2012-2014 Chris Pettitt, lodash is Copyright OpenJS Foundation and others; all MIT.
LICENCES = """<!--
This page holds dagre 0.8 and graphlib 2.1, Copyright (c) 2012-2014 Chris Pettitt, and parts of lodash 4.17, Copyright OpenJS Foundation and other
contributors. Each of them: Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify,
merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions: The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE
SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
-->
"""

# Scripts and styles of the page alone, and nothing of any other host.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


def missing_tools():
    """The Debian packages that are missing."""
    missing = [package for tool, package in (("tsc", "node-typescript"), ("esbuild", "esbuild")) if shutil.which(tool) is None]
    return missing + ([] if (MODULES / "dagre").is_dir() else ["node-dagre-layout"])


def bundle():
    """The script of the page, its types checked."""
    subprocess.run(["tsc", "-p", str(FOLDER / "tsconfig.json")], check=True)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "page.js"
        subprocess.run(
            ["esbuild", str(FOLDER / "src" / "main.ts"), "--bundle", "--minify", "--format=iife", "--target=es2020", "--charset=ascii", "--log-level=warning",
             "--legal-comments=none", f"--outfile={out}"],
            check=True, env={"NODE_PATH": str(MODULES), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        return out.read_text()


def page():
    """The whole page."""
    script = bundle()
    style = (FOLDER / "src" / "style.css").read_text()
    if "</script" in script.lower() or "</style" in style.lower():
        raise SystemExit("explore_page: the script or the style would end its element")
    return (
        "<!doctype html>\n" + LICENCES + '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n<title>relay explore</title>\n<style>\n{style}</style></head>\n<body>\n'
        f"<!--documents-->\n<script>\n{script}</script>\n</body></html>\n"
    )


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    if missing := missing_tools():
        sys.exit(f"explore_page: install {' '.join(missing)}")
    for source in sorted((FOLDER / "src").glob("*.ts")):
        if (lines := len(source.read_text().splitlines())) > LONG:
            sys.exit(f"explore_page: {source} has {lines} lines, more than {LONG}")
    made = page()
    if check:
        sys.exit(0 if PAGE.is_file() and PAGE.read_text() == made else "explore_page: page.html is not what src makes; run scripts/explore_page.py")
    PAGE.write_text(made)


if __name__ == "__main__":
    main()

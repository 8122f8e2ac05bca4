"""Times the page of `relay explore`: how long the command takes, how big the page is, when a browser shows it, and how it pans and zooms.

    python3 benchmarks/explore.py [--relay build/bin/relay] [--nodes 20000] [--no-run] [MODEL.onnx...]

Without a model it takes a program of --nodes operators. Needs Chromium (Debian) and playwright (PyPI). Frames are those of the
browser's own clock while the graph is dragged and zoomed, one movement to a frame; a frame has 16.7 ms at 60 frames a second.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from playwright.sync_api import sync_playwright

# Moves the view once a frame, as a hand with a mouse does; gives the times between frames.
FRAMES = """async count => {
  const canvas = document.querySelector('#graph canvas') || document.querySelector('canvas');
  const box = canvas.getBoundingClientRect(), x = box.left + box.width / 2, y = box.top + box.height / 2;
  const mouse = (kind, dx, dy) => canvas.dispatchEvent(new PointerEvent(kind, {
    clientX: x + dx, clientY: y + dy, button: 0, buttons: 1, pointerId: 1, bubbles: true, isPrimary: true}));
  const times = [];
  const frame = () => new Promise(requestAnimationFrame);
  mouse('pointerdown', 0, 0);
  let last = await frame();
  for (let i = 0; i < count; ++i) {
    if (i % 2) mouse('pointermove', 40 * Math.sin(i / 9), 40 * Math.cos(i / 9));
    else canvas.dispatchEvent(new WheelEvent('wheel', {clientX: x, clientY: y, deltaY: i % 120 < 60 ? 20 : -20, bubbles: true, cancelable: true}));
    const now = await frame();
    times.push(now - last);
    last = now;
  }
  mouse('pointerup', 0, 0);
  return times;
}"""

VIEW = "[relay.graph.canvas.x, relay.graph.canvas.y, relay.graph.canvas.scale]"


def program(nodes):
    """A network of residual blocks as long as asked."""
    lines, value = ["def @main(%x: Tensor[(4, 16), float32], %w: Tensor[(16, 16), float32]) {"], "%x"
    for i in range(nodes // 4):
        lines.append(f"  %{i} = {value} + tanh(nn.dense(nn.relu({value}), %w));")
        value = f"%{i}"
    return "\n".join([*lines, f"  {value}", "}", ""])


def measure(browser, page_file, opens, frames):
    ready, gaps = [], []
    for _ in range(opens):
        context = browser.new_context(viewport={"width": 1400, "height": 850})
        page = context.new_page()
        page.set_default_timeout(300_000)
        page.goto(f"file://{page_file}")
        page.wait_for_selector("html[data-ready='1']")
        ready.append(page.evaluate("relay.ready"))
        before = page.evaluate(VIEW)
        gaps = page.evaluate(FRAMES, frames)
        assert page.evaluate(VIEW)[:2] != before[:2], "the graph did not move"
        context.close()
    gaps.sort()
    return statistics.median(ready), statistics.median(gaps), gaps[int(len(gaps) * 0.95)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--relay", default="build/bin/relay")
    parser.add_argument("--nodes", type=int, default=20000)
    parser.add_argument("--opens", type=int, default=3)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--no-run", action="store_true", help="leave the run with made-up arguments out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as player:
        models = [pathlib.Path(model).resolve() for model in options.models]
        if not models:
            models = [pathlib.Path(folder) / f"{options.nodes} operators.rly"]
            models[0].write_text(program(options.nodes))
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        print(f"{'program':24} {'command':>9} {'page':>9} {'opens in':>9} {'frame':>9} {'95 %':>9}")
        for model in models:
            page = pathlib.Path(folder) / "page.html"
            begin = time.perf_counter()
            command = [options.relay, "explore", str(model), "--output", str(page), *(["--no-run"] if options.no_run else [])]
            subprocess.run(command, check=True)
            took = time.perf_counter() - begin
            ready, frame, slow = measure(browser, page, options.opens, options.frames)
            size = page.stat().st_size / 2**20
            print(f"{model.stem:24} {took:7.1f} s {size:6.2f} MB {ready:6.0f} ms {frame:6.1f} ms {slow:6.1f} ms", flush=True)
            page.unlink()
        browser.close()


if __name__ == "__main__":
    main()

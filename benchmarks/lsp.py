"""Times `relay lsp` while a person types in a file of 10,000 lines, and watches its memory.

    python3 benchmarks/lsp.py --relay build/bin/relay [--edits 1000] [--lines 10000] [--memory-edits 100000]

It replays edits, one character or line each, as an editor sends them. After each edit it waits for the diagnostics of that
version, or asks for completion right behind it. It prints the median and the 95th percentile of both in milliseconds, of
the clock and of the server's processor time (which a busy machine changes less), and the resident memory after each tenth
of the edits.
"""

import argparse
import json
import pathlib
import random
import subprocess
import time

DEFINITION = """\
// Layer {i}: scales and shifts.
def @layer{i}(%x: Tensor[(n, 16), float32], %w: Tensor[(16, 16), float32]) {{
  let %h = nn.dense(%x, %w);
  let %a = nn.relu(%h + %x);
  %0 = nn.softmax(%a, axis=-1);
  %1 = exp(%0) * 0.5f;
  if (True) {{
    %1 + %a
  }} else {{
    {call} - %1
  }}
}}

"""


def program(lines):
    count = lines // DEFINITION.count("\n") + 1
    return "".join(
        DEFINITION.format(i=i, call=f"@layer{i - 1}(%x, %w)" if i else "%x") for i in range(count)
    )


class Server:
    def __init__(self, relay):
        self.process = subprocess.Popen([relay, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.published = {}
        self.request("initialize", {"capabilities": {}})
        self.notify("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while (line := self.process.stdout.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def request(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while (message := self.receive()).get("id") != self.number:
            self.keep(message)
        return message["result"]

    def keep(self, message):
        if message.get("method") == "textDocument/publishDiagnostics":
            self.published = message["params"]

    def diagnostics(self, version):
        while self.published.get("version") != version:
            self.keep(self.receive())
        return self.published["diagnostics"]

    def worked(self):
        """Milliseconds of processor time so far, of all threads that live."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) // 1024


class Typist:
    """Types expressions into lines and takes them out again."""

    def __init__(self, server, text, seed):
        self.server, self.version, self.random = server, 1, random.Random(seed)
        self.lines = text.split("\n")
        self.item = {"uri": "file:///big.rly", "version": 1}
        self.uri = {"uri": "file:///big.rly"}
        server.notify("textDocument/didOpen", {"textDocument": {**self.item, "languageId": "relay", "text": text}})
        server.diagnostics(1)
        self.undo = []

    def edit(self):
        """The place behind the edit."""
        if self.undo:
            line, column, old, new = self.undo.pop()
        else:
            line = self.random.choice([i for i, t in enumerate(self.lines) if t.startswith("  let %a")])
            column = self.lines[line].index("%x")
            old, new = "", f"%h * {self.random.randrange(10**6)}f + "
            if self.random.random() < 0.3:
                new = self.random.choice(["nn.", "%", "(", "}", "%fresh" + str(self.random.randrange(10**9))])
            self.undo = [(line, column, new, "")]
        self.version += 1
        text = self.lines[line]
        self.lines[line] = text[:column] + new + text[column + len(old) :]
        span = {
            "start": {"line": line, "character": column},
            "end": {"line": line, "character": column + len(old)},
        }
        self.server.notify(
            "textDocument/didChange",
            {
                "textDocument": {**self.uri, "version": self.version},
                "contentChanges": [{"range": span, "text": new}],
            },
        )
        return {"line": line, "character": column + len(new)}


class Stopwatch:
    """Takes the time of each edit, by the clock and by the server's processor time."""

    def __init__(self, server):
        self.server, self.clock, self.processor = server, [], []

    def __enter__(self):
        self.worked, self.begin = self.server.worked(), time.perf_counter()

    def __exit__(self, *error):
        self.clock.append((time.perf_counter() - self.begin) * 1000)
        self.processor.append(self.server.worked() - self.worked)

    def __str__(self):
        return f"{percentiles(self.clock)}; processor time: {percentiles(self.processor)}"


def percentiles(times):
    times = sorted(times)
    return f"median {times[len(times) // 2]:6.1f} ms, 95th percentile {times[int(len(times) * 0.95)]:6.1f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--relay", default="build/bin/relay")
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--lines", type=int, default=10000)
    parser.add_argument("--memory-edits", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    server = Server(options.relay)
    typist = Typist(server, program(options.lines), options.seed)
    checks, completions = Stopwatch(server), Stopwatch(server)
    for _ in range(options.edits):
        with checks:
            typist.edit()
            found = server.diagnostics(typist.version)
        assert typist.undo or not found, found
    print("diagnostics", checks, flush=True)
    for _ in range(options.edits):
        with completions:
            place = typist.edit()
            server.request("textDocument/completion", {"textDocument": typist.uri, "position": place})
        server.diagnostics(typist.version)
    print("completion ", completions, flush=True)
    print("memory", server.memory(), "MiB", flush=True)
    for i in range(options.memory_edits):
        typist.edit()
        server.diagnostics(typist.version)
        if (i + 1) % max(options.memory_edits // 10, 1) == 0:
            print(f"memory after {i + 1} edits: {server.memory()} MiB", flush=True)
    server.request("shutdown", None)
    server.notify("exit", None)
    assert server.process.wait(30) == 0


main()

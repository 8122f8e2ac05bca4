"""A client of `relay lsp`: pygls's, over a pipe, with the answers that it reads checked by lsprotocol."""

import asyncio
import os
import re
import threading

import pytest

try:
    from lsprotocol import types as lsp
    from pygls.lsp.client import LanguageClient
except ImportError:  # the test files skip themselves
    lsp = LanguageClient = None

RELAY = os.environ["RELAY_BIN"]
MARK = re.compile(r"\^(\w+)\^")


class Editor:
    """An open text in an editor: requests are waited for."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.client = LanguageClient("tests", "1")
        self.published = {}
        self.arrived = threading.Condition()
        self.logged = []
        self.version = 0

        @self.client.feature("textDocument/publishDiagnostics")
        def publish(params):
            with self.arrived:
                self.published[params.uri] = params
                self.arrived.notify_all()

        @self.client.feature("window/logMessage")
        def log(params):
            self.logged.append(params.message)

        self.wait(self.client.start_io(RELAY, "lsp"))
        self.server = self.wait(
            self.client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=None))
        )
        self.client.initialized(lsp.InitializedParams())

    def wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    def close(self):
        async def end():
            await self.client.shutdown_async(None)
            self.client.exit(None)
            return await asyncio.wait_for(self.client._server.wait(), 30)

        code = self.wait(end())
        self.wait(self.client.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)
        return code

    # ---- Texts ----
    def open(self, text, uri="file:///program.rly"):
        """Opens a text; `^name^` in it marks a place. Gives its diagnostics."""
        self.places = {}
        while match := MARK.search(text):
            self.places[match[1]] = position(text, match.start())
            text = text[: match.start()] + text[match.end() :]
        self.uri, self.text, self.version = uri, text, 1
        self.document = lsp.TextDocumentIdentifier(uri)
        self.published.pop(uri, None)
        self.client.text_document_did_open(
            lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "relay", self.version, text))
        )
        return self.diagnostics()

    def replace(self, old, new, wait=True):
        """Types `new` in place of the one `old`."""
        assert self.text.count(old) == 1, old
        at = self.text.index(old)
        return self.edit(at, at + len(old), new, wait)

    def edit(self, begin, end, new, wait=True):
        span = lsp.Range(position(self.text, begin), position(self.text, end))
        self.text = self.text[:begin] + new + self.text[end:]
        self.version += 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(self.version, self.uri),
                [lsp.TextDocumentContentChangePartial(range=span, text=new)],
            )
        )
        return self.diagnostics() if wait else None

    def diagnostics(self):
        """Those of the text as it is."""
        with self.arrived:
            assert self.arrived.wait_for(
                lambda: self.uri in self.published and self.published[self.uri].version == self.version, 60
            )
            all_ = list(self.published[self.uri].diagnostics)
        self.hints = [d for d in all_ if d.severity == lsp.DiagnosticSeverity.Hint]
        return [d for d in all_ if d.severity != lsp.DiagnosticSeverity.Hint]

    def messages(self):
        return [d.message.split("\n")[0] for d in self.diagnostics()]

    def at(self, place, name):
        """Asks `name` at a marked place."""
        ask = getattr(self.client, f"text_document_{name}_async")
        kind = {"definition": "DefinitionParams", "hover": "HoverParams", "completion": "CompletionParams"}.get(
            name, "".join(word.title() for word in name.split("_")) + "Params"
        )
        return self.wait(ask(getattr(lsp, kind)(self.document, self.places[place])))

    def of(self, range_):
        """The text of a range."""
        return self.text[offset(self.text, range_.start) : offset(self.text, range_.end)]

    def applied(self, edits):
        """The text after edits."""
        text = self.text
        for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
            text = text[: offset(text, edit.range.start)] + edit.new_text + text[offset(text, edit.range.end) :]
        return text


def position(text, at):
    before = text[:at]
    line = before.count("\n")
    column = before[before.rfind("\n") + 1 :]
    return lsp.Position(line, len(column.encode("utf-16-le")) // 2)


def offset(text, place):
    lines = text.split("\n")
    units = lines[place.line].encode("utf-16-le")[: 2 * place.character].decode("utf-16-le")
    return sum(len(line) + 1 for line in lines[: place.line]) + len(units)


@pytest.fixture
def editor():
    made = Editor()
    yield made
    assert made.close() == 0

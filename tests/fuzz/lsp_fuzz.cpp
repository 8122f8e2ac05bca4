// libFuzzer target: what an editor sends to the language server. An input that begins with `C` is
// all of it, `Content-Length` included; one with `{` has a message on each line, headers are put
// before them. Any other input is a text up to a byte 0 and then edits of it and questions about
// it, all of which are right by the protocol: they have answers, and what is found out bit by bit
// is what a text that is read at once shows.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <relay/lsp/features.h>
#include <relay/lsp/server.h>

#include <tests/fuzz/fuzz.h>

namespace {

using namespace relay;
using lsp::json;

constexpr const char* kUri = "file:///fuzz.rly";

std::string with_header(std::string_view message) {
  return "Content-Length: " + std::to_string(message.size()) + "\r\n\r\n" + std::string(message);
}

void serve(const std::string& stream) {
  static const int nowhere = ::open("/dev/null", O_WRONLY);
  const fuzz::MemoryFile input(stream);
  lsp::serve(input.descriptor(), nowhere);
}

void serve_messages(std::string_view lines) {
  std::string stream = with_header(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{}})");
  for (fuzz::Choices rest(lines); !rest.empty();) stream += with_header(rest.until('\n'));
  serve(stream);
}

// Asks everything at one place.
void ask(const lsp::View& view, size_t offset, size_t end) {
  using Question = json (*)(const lsp::View&, size_t);
  constexpr std::array<Question, 6> kQuestions = {lsp::hover,          lsp::completion,
                                                  lsp::signature_help, lsp::definition,
                                                  lsp::highlights,     lsp::prepare_rename};
  for (const Question question : kQuestions) question(view, offset);
  lsp::references(view, offset, true);
  lsp::inlay_hints(view, offset, end);
  lsp::code_actions(view, offset, end);
  lsp::semantic_tokens(view, offset, end);
  lsp::document_symbols(view);
  lsp::folding_ranges(view);
  try {
    lsp::formatting(view);
  } catch (const lsp::RequestError&) {  // the text has errors
  }
  try {
    lsp::rename(view, offset, "other");
  } catch (const lsp::RequestError&) {  // no name stands there, or `other` is taken
  }
}

void edit_and_ask(std::string_view bytes) {
  fuzz::Choices choices(bytes);
  const std::string uri = kUri;
  std::string text(choices.until('\0'));
  lsp::Analysis analysis;
  analysis.set_text(text);
  const lsp::View view{analysis, uri};
  constexpr size_t kMostSteps = 16;
  for (size_t step = 0; step < kMostSteps && !choices.empty(); ++step) {
    const size_t kind = choices.number(4);
    const size_t begin = choices.number(text.size() + 1);
    const size_t end = begin + choices.number(std::min<size_t>(text.size() - begin + 1, 64));
    switch (kind) {
      case 0:
        analysis.check();
        break;
      case 1:
        ask(view, begin, end);
        break;
      default:
        text.replace(begin, end - begin, choices.until('\0'));
        analysis.set_text(text);
        break;
    }
  }
  analysis.check();
  analysis.check_deeply();
  ask(view, 0, text.size());

  lsp::Analysis at_once;
  at_once.set_text(text);
  at_once.check();
  at_once.check_deeply();
  fuzz::require(lsp::diagnostics(view) == lsp::diagnostics({at_once, uri}),
                "edits lead to the findings of the text that they make");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  if (bytes.starts_with('C')) {
    serve(std::string(bytes));
  } else if (bytes.starts_with('{')) {
    serve_messages(bytes);
  } else {
    edit_and_ask(bytes);
  }
  return 0;
}

#include <relay/support/diagnostic_json.h>

#include <algorithm>

#include <relay/support/quote.h>

namespace relay {

namespace {

void append_place(std::string& out, Span span) {
  const Location begin = SourceMap::locate(span);
  std::shared_ptr<const Source> source = SourceMap::find(span);
  if (begin.line == 0 || source == nullptr) {
    out += "null";
    return;
  }
  std::string_view text = source->text();
  const size_t from = span.begin() - source->base();
  const size_t to = std::min<size_t>(from + span.length(), text.size());
  uint32_t line = begin.line;
  uint32_t column = begin.column;
  for (size_t i = from; i < to; ++i) {
    ++column;
    if (text[i] != '\n') continue;
    ++line;
    column = 1;
  }
  out += "{\"file\": ";
  append_json_string(out, begin.file);
  out += ", \"line\": " + std::to_string(begin.line);
  out += ", \"column\": " + std::to_string(begin.column);
  out += ", \"end_line\": " + std::to_string(line);
  out += ", \"end_column\": " + std::to_string(column) + "}";
}

void append_diagnostic(std::string& out, const Diagnostic& diagnostic) {
  out += "{\"severity\": ";
  out += diagnostic.severity == Severity::kError ? "\"error\"" : "\"warning\"";
  out += ", \"code\": ";
  append_json_string(out, diagnostic.code);
  out += ", \"message\": ";
  append_json_string(out, diagnostic.message);
  out += ", \"place\": ";
  append_place(out, diagnostic.span);
  out += ", \"notes\": [";
  const char* join = "";
  for (const DiagnosticNote& note : diagnostic.notes) {
    out += join;
    out += note.kind == DiagnosticNote::Kind::kHelp ? "{\"kind\": \"help\"" : "{\"kind\": \"note\"";
    out += ", \"message\": ";
    append_json_string(out, note.message);
    out += ", \"place\": ";
    append_place(out, note.span);
    out += "}";
    join = ", ";
  }
  out += "], \"fixes\": [";
  join = "";
  for (const FixIt& fix : diagnostic.fixes) {
    out += join;
    out += "{\"place\": ";
    append_place(out, fix.span);
    out += ", \"text\": ";
    append_json_string(out, fix.text);
    out += fix.safe ? ", \"safe\": true}" : ", \"safe\": false}";
    join = ", ";
  }
  out += "]}\n";
}

}  // namespace

std::string diagnostics_json(std::span<const Diagnostic> diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) append_diagnostic(out, diagnostic);
  return out;
}

}  // namespace relay

#include <relay/support/diagnostic_json.h>

#include <algorithm>

#include <relay/support/utf8.h>

namespace relay {

namespace {

void append_text(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      out += "\\ufffd";
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  out += '"';
}

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
  append_text(out, begin.file);
  out += ", \"line\": " + std::to_string(begin.line);
  out += ", \"column\": " + std::to_string(begin.column);
  out += ", \"end_line\": " + std::to_string(line);
  out += ", \"end_column\": " + std::to_string(column) + "}";
}

void append_diagnostic(std::string& out, const Diagnostic& diagnostic) {
  out += "{\"severity\": ";
  out += diagnostic.severity == Severity::kError ? "\"error\"" : "\"warning\"";
  out += ", \"code\": ";
  append_text(out, diagnostic.code);
  out += ", \"message\": ";
  append_text(out, diagnostic.message);
  out += ", \"place\": ";
  append_place(out, diagnostic.span);
  out += ", \"notes\": [";
  const char* join = "";
  for (const DiagnosticNote& note : diagnostic.notes) {
    out += join;
    out += note.kind == DiagnosticNote::Kind::kHelp ? "{\"kind\": \"help\"" : "{\"kind\": \"note\"";
    out += ", \"message\": ";
    append_text(out, note.message);
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
    append_text(out, fix.text);
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

#include <relay/support/diagnostic.h>

#include <algorithm>
#include <utility>

#include <relay/support/error.h>
#include <relay/support/utf8.h>

namespace relay {

namespace {

constexpr size_t kExcerptWidth = 120;
constexpr size_t kMessageLength = 4000;  // bytes; names and types have no limit

void append_printable(std::string& out, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    const size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      out += '?';
    } else if (c == '\xc2' && i + 1 < text.size() &&
               (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80) {
      out += '?';  // U+0080 to U+009F, which terminals obey
      ++i;
    } else if (c == '\n') {
      out += '\n';
    } else if (c == '\t') {
      out += ' ';
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += '?';
    } else {
      out += text.substr(i, length);
      i += length - 1;
    }
  }
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The ends of a message that is too long to read.
void append_message(std::string& out, std::string_view message) {
  if (message.size() > kMessageLength) {
    size_t head = kMessageLength * 3 / 4;
    size_t tail = message.size() - kMessageLength / 4;
    while (is_continuation(message[head])) --head;
    while (tail < message.size() && is_continuation(message[tail])) ++tail;
    append_printable(out, message.substr(0, head));
    out += " ... ";
    message = message.substr(tail);
  }
  append_printable(out, message);
  out += '\n';
}

// ` --> file:line:column`, the source line and carets below it.
void append_excerpt(std::string& out, Span span) {
  std::shared_ptr<const Source> source = SourceMap::find(span);
  if (source == nullptr) return;
  Location location = SourceMap::locate(span);
  std::string_view text = source->text();
  size_t offset = span.begin() - source->base();
  size_t line_begin = offset - (location.column - 1);
  size_t line_end = text.find('\n', offset);
  if (line_end == std::string_view::npos) line_end = text.size();
  if (line_end > line_begin && text[line_end - 1] == '\r') --line_end;

  std::string number = std::to_string(location.line);
  std::string gutter(number.size(), ' ');
  out += " --> ";
  append_printable(out, source->name());
  out += ':' + number + ':' + std::to_string(location.column) + '\n';

  // Keep the caret in view on very long lines, cutting between characters.
  size_t begin = line_begin;
  size_t end = line_end;
  if (end - begin > kExcerptWidth) {
    begin = std::max(line_begin, offset - std::min(offset, kExcerptWidth / 3));
    end = std::min(line_end, begin + kExcerptWidth);
    while (begin < offset && is_continuation(text[begin])) ++begin;
    while (end < line_end && is_continuation(text[end])) ++end;
  }
  std::string_view line = text.substr(begin, end - begin);
  out += gutter + " |\n" + number + " | ";
  if (begin > line_begin) out += "...";
  append_printable(out, line);
  if (end < line_end) out += "...";
  out += '\n' + gutter + " | ";
  if (begin > line_begin) out += "   ";
  for (size_t i = begin; i < offset && i < text.size(); ++i) {
    if (!is_continuation(text[i])) out += ' ';
  }
  size_t caret_end = std::min<size_t>(offset + span.length(), end);
  size_t carets = 0;
  for (size_t i = offset; i < caret_end; ++i) {
    if (!is_continuation(text[i])) ++carets;
  }
  out.append(std::max<size_t>(carets, 1), '^');
  out += '\n';
}

// Notes from one on that come again and again, as the calls of a recursion do.
struct Repetition {
  size_t period = 1;
  size_t count = 1;
};

Repetition repetition(const std::vector<DiagnosticNote>& notes, size_t from) {
  constexpr size_t kLongest = 4;  // calls of functions that call each other
  constexpr size_t kLeast = 3;
  // A compiled program gives each place a text of its own.
  auto same_place = [](Span a, Span b) {
    if (a == b) return true;
    if (a.length() != b.length() || !a.known() || !b.known()) return false;
    const Location x = SourceMap::locate(a);
    const Location y = SourceMap::locate(b);
    return x.line == y.line && x.column == y.column && x.file == y.file;
  };
  auto same = [&](size_t a, size_t b) {
    return notes[a].message == notes[b].message && same_place(notes[a].span, notes[b].span);
  };
  for (size_t period = 1; period <= kLongest; ++period) {
    size_t end = from + period;
    while (end < notes.size() && same(end, end - period)) ++end;
    const size_t count = (end - from) / period;
    if (from + period <= notes.size() && count >= kLeast) return {period, count};
  }
  return {};
}

}  // namespace

Diagnostic Diagnostic::error(std::string message, Span span) {
  return {Severity::kError, std::move(message), span, {}, {}, {}};
}
Diagnostic Diagnostic::warning(std::string message, Span span) {
  return {Severity::kWarning, std::move(message), span, {}, {}, {}};
}
Diagnostic& Diagnostic::note(std::string text, Span where) & {
  notes.push_back({DiagnosticNote::Kind::kNote, std::move(text), where});
  return *this;
}
Diagnostic& Diagnostic::help(std::string text, Span where) & {
  notes.push_back({DiagnosticNote::Kind::kHelp, std::move(text), where});
  return *this;
}
Diagnostic&& Diagnostic::note(std::string text, Span where) && {
  return std::move(note(std::move(text), where));
}
Diagnostic&& Diagnostic::help(std::string text, Span where) && {
  return std::move(help(std::move(text), where));
}

Diagnostic& Diagnostic::of_rule(std::string_view rule) & {
  if (code.empty()) code = rule;
  return *this;
}
Diagnostic&& Diagnostic::of_rule(std::string_view rule) && { return std::move(of_rule(rule)); }
Diagnostic& Diagnostic::fix(Span replaced, std::string text, bool safe) & {
  fixes.push_back({replaced, std::move(text), safe});
  return *this;
}
Diagnostic&& Diagnostic::fix(Span replaced, std::string text, bool safe) && {
  return std::move(fix(replaced, std::move(text), safe));
}

void of_rule(std::vector<Diagnostic>& diagnostics, std::string_view code) {
  for (Diagnostic& diagnostic : diagnostics) diagnostic.of_rule(code);
}

void DiagnosticSink::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::kError && ++error_count_ > kMaxErrors) return;
  if (diagnostics_.size() >= 10 * kMaxErrors) return;
  diagnostics_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> DiagnosticSink::take() {
  if (error_count_ > kMaxErrors) {
    diagnostics_.push_back(
        Diagnostic::error(std::to_string(error_count_ - kMaxErrors) + " more errors"));
  }
  error_count_ = 0;
  return std::exchange(diagnostics_, {});
}

void DiagnosticSink::throw_if_errors() {
  if (has_errors()) throw Error(take());
}

std::string render(const Diagnostic& diagnostic, bool codes) {
  std::string out = diagnostic.severity == Severity::kError ? "error" : "warning";
  if (codes && !diagnostic.code.empty()) out += "[" + diagnostic.code + "]";
  out += ": ";
  append_message(out, diagnostic.message);
  append_excerpt(out, diagnostic.span);
  const std::vector<DiagnosticNote>& notes = diagnostic.notes;
  for (size_t i = 0; i < notes.size();) {
    const Repetition repeated = repetition(notes, i);
    for (size_t k = i; k < i + repeated.period; ++k) {
      out += notes[k].kind == DiagnosticNote::Kind::kNote ? "note: " : "help: ";
      append_message(out, notes[k].message);
      append_excerpt(out, notes[k].span);
    }
    if (repeated.count > 1) {
      const std::string what =
          repeated.period == 1 ? "this" : "these " + std::to_string(repeated.period);
      out += "note: " + what + " again, " + std::to_string(repeated.count - 1) + " more times\n";
    }
    i += repeated.period * repeated.count;
  }
  return out;
}

std::string render(const std::vector<Diagnostic>& diagnostics, bool codes) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) out += render(diagnostic, codes);
  return out;
}

std::vector<std::string> nearest_names(const std::string& name,
                                       const std::vector<std::string>& candidates, size_t most) {
  if (name.size() > 100) return {};
  std::vector<std::pair<size_t, std::string>> scored;
  for (const std::string& candidate : candidates) {
    // Edit distance by rows (Wagner and Fischer 1974); two neighbours that changed places are one
    // edit.
    std::vector<size_t> before;
    std::vector<size_t> last;
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= name.size(); ++i) {
      before = std::exchange(last, row);
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const size_t changed = name[i - 1] == candidate[j - 1] ? 0 : 1;
        row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + changed});
        const bool swapped =
            i > 1 && j > 1 && name[i - 1] == candidate[j - 2] && name[i - 2] == candidate[j - 1];
        if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    size_t distance = row[candidate.size()];
    // "softmax" should find "nn.softmax" although the prefix is long.
    bool contains = name.size() >= 3 && (candidate.find(name) != std::string::npos);
    size_t limit = std::max<size_t>(1, name.size() / 3);
    if (distance <= limit || contains) scored.emplace_back(contains ? 1 : distance, candidate);
  }
  std::sort(scored.begin(), scored.end());
  std::vector<std::string> result;
  for (auto& [distance, candidate] : scored) {
    if (result.size() == most) break;
    result.push_back(std::move(candidate));
  }
  return result;
}

}  // namespace relay

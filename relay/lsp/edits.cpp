// Diagnostics with what mends them, types beside names, layout.
#include <algorithm>

#include <relay/lsp/features.h>
#include <relay/lsp/meaning.h>
#include <relay/parse/format_source.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>

namespace relay::lsp {

Range View::range(size_t begin, size_t end) const {
  const LineIndex& lines = analysis.lines();
  return {lines.position(analysis.text(), begin), lines.position(analysis.text(), end)};
}

json View::location(size_t begin, size_t end) const {
  return {{"uri", uri}, {"range", to_json(range(begin, end))}};
}

json to_json(const Range& range) {
  auto place = [](const Position& position) -> json {
    return {{"line", position.line}, {"character", position.character}};
  };
  return {{"start", place(range.begin)}, {"end", place(range.end)}};
}

namespace {

constexpr std::string_view kGuess = "did you mean ";

json diagnostic(const View& view, const Finding& finding) {
  json result{{"range", to_json(view.range(finding.place.begin, finding.place.end))},
              {"severity", finding.severity == Severity::kError ? 1 : 2},
              {"source", "relay"}};
  if (!finding.code.empty()) result["code"] = finding.code;
  std::string message = finding.message;
  json related = json::array();
  for (const Finding::Note& note : finding.notes) {
    if (note.place.known) {
      related.push_back({{"location", view.location(note.place.begin, note.place.end)},
                         {"message", note.message}});
    } else {
      message +=
          (note.kind == DiagnosticNote::Kind::kHelp ? "\nhelp: " : "\nnote: ") + note.message;
    }
  }
  result["message"] = message;
  if (!related.empty()) result["relatedInformation"] = std::move(related);
  if (finding.unnecessary) {  // a hint that editors show by a paler colour
    result["severity"] = 4;
    result["tags"] = {1};
  }
  return result;
}

// "did you mean %a, %b or %c?": the names.
std::vector<std::string> guesses(const std::string& help) {
  std::vector<std::string> names;
  if (!help.starts_with(kGuess) || !help.ends_with('?')) return names;
  std::string_view rest = std::string_view(help).substr(kGuess.size());
  rest.remove_suffix(1);
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(", "), rest.size());
    const size_t last = std::min(rest.find(" or "), rest.size());
    const size_t end = std::min(comma, last);
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + (last < comma ? 4 : 2), rest.size()));
  }
  return names;
}

}  // namespace

json diagnostics(const View& view) {
  json all = json::array();
  for (const Finding& finding : view.analysis.findings()) all.push_back(diagnostic(view, finding));
  return all;
}

json code_actions(const View& view, size_t begin, size_t end) {
  json actions = json::array();
  for (const Finding& finding : view.analysis.findings()) {
    if (!finding.place.known || finding.place.begin > end || finding.place.end < begin) continue;
    auto add = [&](const std::string& title, json edits) {
      actions.push_back({{"title", title},
                         {"kind", "quickfix"},
                         {"diagnostics", json::array({diagnostic(view, finding)})},
                         {"edit", {{"changes", {{view.uri, std::move(edits)}}}}}});
    };
    auto edit = [&](Place place, const std::string& text) -> json {
      return {{"range", to_json(view.range(place.begin, place.end))}, {"newText", text}};
    };
    if (!finding.fixes.empty()) {
      json edits = json::array();
      for (const Finding::Fix& fix : finding.fixes) edits.push_back(edit(fix.place, fix.text));
      std::string title = "Mend: " + finding.message;
      for (const Finding::Note& note : finding.notes) {
        if (note.kind == DiagnosticNote::Kind::kHelp) title = note.message;
      }
      add(title, std::move(edits));
      continue;
    }
    const std::string_view wrong =
        std::string_view(view.analysis.text())
            .substr(finding.place.begin, finding.place.end - finding.place.begin);
    // The names stand for one token, not for an expression around it.
    if (wrong.empty() || wrong.find_first_of(" \t\r\n(){}[],;") != wrong.npos) continue;
    for (const Finding::Note& note : finding.notes) {
      for (const std::string& name : guesses(note.message))
        add("Change to " + name, json::array({edit(finding.place, name)}));
    }
  }
  return actions;
}

json formatting(const View& view) {
  const std::string& text = view.analysis.text();
  std::shared_ptr<const Source> source = SourceMap::add("", text);
  SyntaxMarks marks(text.size());
  ParseResult parsed = parse_source(source, {}, false, &marks);
  if (!parsed.ok()) throw RequestError{RequestError::kFailed, "the text has errors"};
  const std::string laid_out = format_source(source->text(), marks);
  if (laid_out == text) return json::array();
  // The lines at both ends that stay do not move in the editor.
  size_t first = 0;
  const size_t shorter = std::min(text.size(), laid_out.size());
  while (first < shorter && text[first] == laid_out[first]) ++first;
  first = first == 0 ? 0 : text.rfind('\n', first - 1) + 1;
  size_t last = 0;
  while (last < shorter - first &&
         text[text.size() - 1 - last] == laid_out[laid_out.size() - 1 - last])
    ++last;
  while (last > 0 && text[text.size() - last - 1] != '\n') --last;
  return json::array({{{"range", to_json(view.range(first, text.size() - last))},
                       {"newText", laid_out.substr(first, laid_out.size() - last - first)}}});
}

json inlay_hints(const View& view, size_t begin, size_t end) {
  json hints = json::array();
  for (size_t i = view.analysis.chunk_at(begin); i < view.analysis.chunks().size(); ++i) {
    const Placed& placed = view.analysis.chunks()[i];
    if (placed.begin > end) break;
    const Chunk& chunk = *placed.chunk;
    if (chunk.names.binders.empty()) continue;
    const std::vector<TypedPlace> places = typed_places(view.analysis, &chunk);
    for (const Binder& binder : chunk.names.binders) {
      const size_t at = placed.begin + chunk.syntax.tokens[binder.token].end;
      if (binder.annotated || at < begin || at > end) continue;
      const Type* type = type_of(places, chunk, binder);
      if (type == nullptr) continue;
      const Position position = view.range(at, at).begin;
      hints.push_back({{"position", {{"line", position.line}, {"character", position.character}}},
                       {"label", ": " + type->str()},
                       {"kind", 1}});
    }
  }
  return hints;
}

}  // namespace relay::lsp

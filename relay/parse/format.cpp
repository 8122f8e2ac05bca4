#include <relay/parse/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include <relay/parse/imports.h>
#include <relay/parse/syntax_tokens.h>
#include <relay/print/lines.h>

namespace relay {
namespace {

struct Comment {
  size_t begin = 0;
  size_t end = 0;
  size_t line = 0;           // where the first thing on its line begins
  bool blank_after = false;  // an empty line follows
};

std::vector<Comment> find_comments(std::string_view text) {
  const parsing::SyntaxTokens syntax = parsing::read_syntax(text, SyntaxMarks(0));
  std::vector<Comment> comments;
  size_t line = 0;
  bool first = true;  // nothing stands on the line yet
  auto meet = [&](size_t begin, size_t lines_before) {
    if (lines_before == 0 && !first) return;
    line = begin;
    first = false;
  };
  for (const parsing::SyntaxToken& token : syntax.tokens) {
    for (size_t k = token.first_comment; k < token.end_comment; ++k) {
      const parsing::SyntaxComment& comment = syntax.comments[k];
      meet(comment.begin, comment.lines_before);
      const std::string_view written = text.substr(comment.begin, comment.end - comment.begin);
      const size_t lines_after =
          k + 1 < token.end_comment ? syntax.comments[k + 1].lines_before : token.lines_before;
      if (!written.starts_with("/* ty=") && !written.starts_with("/* span=")) {
        comments.push_back(
            {comment.begin, comment.end, line, line == comment.begin && lines_after > 1});
      }
      if (written.find('\n') != std::string_view::npos) line = comment.end;
    }
    meet(token.begin, token.lines_before);
  }
  return comments;
}

// A line that only names another node begins where the next one does.
void fill_unknown(PrintedDefinition& definition) {
  uint64_t next = definition.end;
  for (auto line = definition.lines.rbegin(); line != definition.lines.rend(); ++line) {
    if (line->source == 0) line->source = next;
    next = line->source;
  }
}

// A data type begins at the brace before its first constructor.
void find_data_types(PrintedModule& printed, const Source& source,
                     const std::vector<Comment>& comments) {
  std::string text(source.text());
  for (const Comment& comment : comments) {
    std::fill(text.begin() + static_cast<ptrdiff_t>(comment.begin),
              text.begin() + static_cast<ptrdiff_t>(comment.end), ' ');
  }
  for (PrintedDefinition& definition : printed.definitions) {
    if (!definition.data || definition.begin == 0 || definition.lines.empty()) continue;
    size_t brace = text.rfind('{', definition.begin - source.base());
    if (brace == std::string::npos) continue;
    definition.begin = source.base() + brace;
    definition.lines.front().source = definition.begin;
  }
}

// The place of a comment in the printed text.
size_t place_of(const Comment& comment, uint64_t base, const PrintedModule& printed) {
  uint64_t at = base + comment.begin;
  uint64_t line = base + comment.line;
  // The definition on whose lines it stands, else the one that follows.
  const PrintedDefinition* home = nullptr;
  for (const PrintedDefinition& definition : printed.definitions) {
    if (definition.begin == 0) continue;
    bool inside = definition.begin <= at && line < definition.end;
    bool after = definition.begin > at && (home == nullptr || definition.begin < home->begin);
    if (inside) {
      home = &definition;
      break;
    }
    if (after) home = &definition;
  }
  if (home == nullptr) return printed.end;
  const PrintedLine* before = nullptr;
  for (const PrintedLine& candidate : home->lines) {
    if (line < at) {  // beside something: that, or what it is a part of
      if (candidate.source >= line && candidate.source <= at) return candidate.offset;
      if (candidate.source < line && (before == nullptr || candidate.source >= before->source))
        before = &candidate;
    } else if (candidate.source >= at) {
      return candidate.offset;
    }
  }
  return before != nullptr ? before->offset : home->close;
}

}  // namespace

std::string format_program(const Module& module, const Source& source, bool with_comments) {
  std::string_view text = source.text();
  std::vector<Comment> comments;
  if (with_comments) comments = find_comments(text);
  ImportLines imports = find_imports(text);
  std::string head;
  for (const ImportLine& line : imports.lines)
    head += "import " + std::string(text.substr(line.begin, line.end - line.begin)) + "\n";
  PrintedModule printed = print_module_lines(module, &source, head);
  if (comments.empty()) return std::move(printed.text);
  find_data_types(printed, source, comments);
  for (PrintedDefinition& definition : printed.definitions) fill_unknown(definition);
  std::map<size_t, std::vector<const Comment*>> places;
  for (const Comment& comment : comments) {
    bool above = comment.begin < imports.end;
    places[above ? printed.head : place_of(comment, source.base(), printed)].push_back(&comment);
  }

  std::string out;
  size_t done = 0;
  for (const auto& [offset, here] : places) {
    out.append(printed.text, done, offset - done);
    done = offset;
    bool last = offset == printed.end;
    if (last && !out.empty()) out += '\n';
    size_t indent = 0;
    while (offset + indent < printed.text.size() && printed.text[offset + indent] == ' ') ++indent;
    if (!last && printed.text[offset + indent] == '}') indent += 2;
    for (const Comment* comment : here) {
      out.append(indent, ' ');
      out += text.substr(comment->begin, comment->end - comment->begin);
      out += '\n';
      if (comment->blank_after && !(last && comment == here.back())) out += '\n';
    }
  }
  out.append(printed.text, done);
  return out;
}

}  // namespace relay

// The parts of a text: symbols, what folds, colours.
#include <algorithm>

#include <relay/lsp/features.h>
#include <relay/lsp/meaning.h>
#include <relay/parse/infix.h>

namespace relay::lsp {

using parsing::SyntaxComment;
using parsing::SyntaxToken;
using parsing::Tok;

namespace {

enum SymbolKind : int { kEnumSymbol = 10, kFunctionSymbol = 12, kEnumMemberSymbol = 22 };

enum TokenKind : int {
  kKeywordToken,
  kFunctionToken,
  kVariableToken,
  kParameterToken,
  kTypeToken,
  kMemberToken,
  kPropertyToken,
  kNumberToken,
  kStringToken,
  kCommentToken,
  kOperatorToken,
  kNoToken
};

bool is_dtype(std::string_view word) { return DType::parse(word).has_value(); }

bool is_coloured_keyword(std::string_view word) {
  constexpr std::string_view kWords[] = {
      "let",   "fn",   "fun",      "if",        "else",   "match",    "case",
      "def",   "type", "data",     "extern",    "import", "True",     "False",
      "where", "ref",  "ref_read", "ref_write", "meta",   "free_var", "None"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

TokenKind kind_of(const Analysis& analysis, const Chunk& chunk, size_t i) {
  const std::vector<SyntaxToken>& tokens = chunk.syntax.tokens;
  switch (tokens[i].kind) {
    case Tok::kGlobal:
      return kFunctionToken;
    case Tok::kLocal: {
      const Binder* binder = chunk.names.at(i);
      return binder != nullptr && binder->kind == BinderKind::kParameter ? kParameterToken
                                                                         : kVariableToken;
    }
    case Tok::kNumber:
      return kNumberToken;
    case Tok::kString:
      return kStringToken;
    case Tok::kIdent: {
      const std::string_view word = chunk.token(i);
      if (tokens[i + 1].kind == Tok::kAssign) return kPropertyToken;
      if (!tokens[i].escaped && is_coloured_keyword(word)) return kKeywordToken;
      if (word == "Tensor" || is_dtype(word)) return kTypeToken;
      if (const TypeWord* known = find_word(analysis, std::string(word)))
        return known->constructor ? kMemberToken : kTypeToken;
      return find_op(Name(word)) != nullptr ? kFunctionToken : kNoToken;
    }
    default:
      return parsing::infix(tokens[i].kind).precedence > 0 ? kOperatorToken : kNoToken;
  }
}

}  // namespace

json token_legend() {
  return {{"tokenTypes",
           {"keyword", "function", "variable", "parameter", "type", "enumMember", "property",
            "number", "string", "comment", "operator"}},
          {"tokenModifiers", json::array()}};
}

json document_symbols(const View& view) {
  json symbols = json::array();
  for (const Placed& placed : view.analysis.chunks()) {
    const Chunk& chunk = *placed.chunk;
    const std::vector<SyntaxToken>& tokens = chunk.syntax.tokens;
    if (tokens.size() < 2) continue;
    auto place = [&](size_t token) {
      return to_json(
          view.range(placed.begin + tokens[token].begin, placed.begin + tokens[token].end));
    };
    auto symbol = [&](const std::string& name, int kind, size_t token, const json& all) -> json {
      return {{"name", name}, {"kind", kind}, {"range", all}, {"selectionRange", place(token)}};
    };
    const json all = to_json(
        view.range(placed.begin + tokens[0].begin, placed.begin + tokens[tokens.size() - 2].end));
    for (const GlobalUse& use : chunk.names.globals) {
      if (!use.defines) continue;
      json one = symbol("@" + use.name, kFunctionSymbol, use.token, all);
      const Function* function = view.analysis.module().function(Name(use.name));
      if (function != nullptr && function->type() != nullptr)
        one["detail"] = function->type()->str();
      symbols.push_back(std::move(one));
    }
    for (const TypeWord& word : chunk.names.words) {
      if (!word.constructor) {
        json one = symbol(word.name, kEnumSymbol, word.token, all);
        one["children"] = json::array();
        symbols.push_back(std::move(one));
      } else if (!symbols.empty() && symbols.back().contains("children")) {
        symbols.back()["children"].push_back(
            symbol(word.name, kEnumMemberSymbol, word.token, place(word.token)));
      }
    }
  }
  return symbols;
}

json folding_ranges(const View& view) {
  json ranges = json::array();
  auto add = [&](size_t begin, size_t end, const char* kind) {
    const Range range = view.range(begin, end);
    if (range.end.line <= range.begin.line) return;
    json one{{"startLine", range.begin.line}, {"endLine", range.end.line}};
    if (kind != nullptr) one["kind"] = kind;
    ranges.push_back(std::move(one));
  };
  for (const Placed& placed : view.analysis.chunks()) {
    const Chunk& chunk = *placed.chunk;
    const std::vector<SyntaxToken>& tokens = chunk.syntax.tokens;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].match > i)
        add(placed.begin + tokens[i].begin, placed.begin + tokens[tokens[i].match].begin, nullptr);
    }
    const std::vector<SyntaxComment>& comments = chunk.syntax.comments;
    for (size_t i = 0; i < comments.size();) {
      size_t last = i;
      while (last + 1 < comments.size() && comments[last].to_line_end &&
             comments[last + 1].to_line_end && comments[last + 1].lines_before == 1)
        ++last;
      add(placed.begin + comments[i].begin, placed.begin + comments[last].end, "comment");
      i = last + 1;
    }
  }
  return ranges;
}

json semantic_tokens(const View& view, size_t begin, size_t end) {
  struct Coloured {
    size_t begin;
    size_t end;
    TokenKind kind;
  };
  std::vector<Coloured> coloured;
  for (size_t c = view.analysis.chunk_at(begin); c < view.analysis.chunks().size(); ++c) {
    const Placed& placed = view.analysis.chunks()[c];
    if (placed.begin > end) break;
    const Chunk& chunk = *placed.chunk;
    auto add = [&](size_t from, size_t to, TokenKind kind) {
      if (kind != kNoToken && placed.begin + to >= begin && placed.begin + from <= end)
        coloured.push_back({placed.begin + from, placed.begin + to, kind});
    };
    for (size_t i = 0; i + 1 < chunk.syntax.tokens.size(); ++i) {
      const SyntaxToken& token = chunk.syntax.tokens[i];
      add(token.begin, token.end, kind_of(view.analysis, chunk, i));
    }
    for (const SyntaxComment& comment : chunk.syntax.comments)
      add(comment.begin, comment.end, kCommentToken);
  }
  std::sort(coloured.begin(), coloured.end(),
            [](const Coloured& a, const Coloured& b) { return a.begin < b.begin; });
  std::vector<size_t> data;
  Position last;
  const std::string& text = view.analysis.text();
  for (const Coloured& one : coloured) {
    // A token that takes several lines is one piece for each.
    for (size_t from = one.begin; from < one.end;) {
      size_t to = std::min(text.find_first_of("\r\n", from), one.end);
      const Range range = view.range(from, to);
      if (to > from) {
        const bool same = range.begin.line == last.line;
        data.insert(
            data.end(),
            {range.begin.line - last.line,
             same ? range.begin.character - last.character : range.begin.character,
             range.end.character - range.begin.character, static_cast<size_t>(one.kind), 0});
        last = range.begin;
      }
      from = to + 1;
    }
  }
  return {{"data", data}};
}

}  // namespace relay::lsp

#include <relay/lsp/meaning.h>

#include <algorithm>

#include <relay/ir/visit.h>

namespace relay::lsp {

using parsing::SyntaxToken;
using parsing::Tok;

namespace {

// `axis=1`: the name of an attribute, not a word with a meaning of its own.
bool is_attribute(const Chunk& chunk, size_t token) {
  const std::vector<SyntaxToken>& tokens = chunk.syntax.tokens;
  if (token + 1 >= tokens.size() || tokens[token + 1].kind != Tok::kAssign || token == 0)
    return false;
  const Tok before = tokens[token - 1].kind;
  return before == Tok::kLParen || before == Tok::kComma || before == Tok::kLBrace;
}

}  // namespace

const TypeWord* find_word(const Analysis& analysis, const std::string& name) {
  for (const Placed& placed : analysis.chunks()) {
    for (const TypeWord& word : placed.chunk->names.words) {
      if (word.name == name) return &word;
    }
  }
  return nullptr;
}

Meaning meaning_at(const Analysis& analysis, size_t offset) {
  Meaning meaning;
  meaning.chunk = analysis.chunk_at(offset);
  const Placed& placed = analysis.chunks()[meaning.chunk];
  const Chunk& chunk = *placed.chunk;
  meaning.token = chunk.token_at(offset - placed.begin);
  const SyntaxToken& token = chunk.syntax.tokens[meaning.token];
  switch (token.kind) {
    case Tok::kLocal:
      meaning.binder = chunk.names.at(meaning.token);
      if (meaning.binder == nullptr) break;
      meaning.kind = Meaning::Kind::kLocal;
      meaning.name = meaning.binder->name;
      break;
    case Tok::kGlobal:
      meaning.kind = Meaning::Kind::kGlobal;
      meaning.name = plain_text(chunk.token(meaning.token));
      break;
    case Tok::kIdent: {
      if (is_attribute(chunk, meaning.token)) break;
      meaning.name = plain_text(chunk.token(meaning.token));
      meaning.word = find_word(analysis, meaning.name);
      meaning.op = meaning.word == nullptr ? find_op(Name(meaning.name)) : nullptr;
      if (meaning.word != nullptr) meaning.kind = Meaning::Kind::kWord;
      if (meaning.op != nullptr) meaning.kind = Meaning::Kind::kOperator;
      break;
    }
    default:
      break;
  }
  return meaning;
}

std::vector<Occurrence> occurrences(const Analysis& analysis, const Meaning& meaning) {
  std::vector<Occurrence> found;
  auto add = [&](const Placed& placed, size_t token, size_t length, bool defines) {
    const size_t begin = placed.begin + placed.chunk->syntax.tokens[token].begin;
    found.push_back({begin, begin + length, defines});
  };
  auto length = [](const Chunk& chunk, size_t token) { return chunk.token(token).size(); };
  if (meaning.kind == Meaning::Kind::kLocal) {
    const Placed& placed = analysis.chunks()[meaning.chunk];
    const Names& names = placed.chunk->names;
    const auto number = static_cast<uint32_t>(meaning.binder - names.binders.data());
    add(placed, meaning.binder->token, length(*placed.chunk, meaning.binder->token), true);
    for (const LocalUse& use : names.uses) {
      if (use.binder == number) add(placed, use.token, use.length, false);
    }
    return found;
  }
  for (const Placed& placed : analysis.chunks()) {
    const Chunk& chunk = *placed.chunk;
    if (meaning.kind == Meaning::Kind::kGlobal) {
      for (const GlobalUse& use : chunk.names.globals) {
        if (use.name == meaning.name) add(placed, use.token, length(chunk, use.token), use.defines);
      }
    }
    if (meaning.kind != Meaning::Kind::kWord && meaning.kind != Meaning::Kind::kOperator) continue;
    for (size_t i = 0; i + 1 < chunk.syntax.tokens.size(); ++i) {
      if (chunk.syntax.tokens[i].kind != Tok::kIdent || chunk.token(i) != meaning.name ||
          is_attribute(chunk, i))
        continue;
      const bool defines = std::any_of(chunk.names.words.begin(), chunk.names.words.end(),
                                       [&](const TypeWord& word) { return word.token == i; });
      add(placed, i, length(chunk, i), defines);
    }
  }
  return found;
}

std::vector<TypedPlace> typed_places(const Analysis& analysis, const Chunk* chunk) {
  std::vector<TypedPlace> places;
  const uint64_t base = analysis.span_of(chunk, 0, 0).begin();
  if (base == 0) return places;
  auto add = [&](Span span, const Type* type, bool binder) {
    if (!span.known() || type == nullptr || span.begin() < base) return;
    const size_t begin = span.begin() - base;
    if (begin + span.length() > chunk->text.size()) return;
    places.push_back({begin, begin + span.length(), type, binder});
  };
  for (const Function* function : analysis.functions_of(chunk)) {
    post_order(function, [&](const Expr* expr) {
      if (const auto* var = expr->as<Var>()) {
        add(var->span(), var->type(), true);
        return;
      }
      add(expr->span(), expr->type(), false);
      if (const auto* inner = expr->as<Function>()) {
        for (const VarRef& param : inner->params()) add(param->span(), param->type(), true);
      } else if (const auto* let = expr->as<Let>()) {
        add(let->var()->span(), let->var()->type(), true);
      } else if (const auto* match = expr->as<Match>()) {
        for (const PatternRef& pattern : match->patterns()) {
          for (const VarRef& var : pattern_vars(pattern.get())) add(var->span(), var->type(), true);
        }
      }
    });
  }
  std::sort(places.begin(), places.end(), [](const TypedPlace& a, const TypedPlace& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  return places;
}

const Type* type_of(const std::vector<TypedPlace>& places, const Chunk& chunk,
                    const Binder& binder) {
  const std::vector<SyntaxToken>& tokens = chunk.syntax.tokens;
  auto from = [&](size_t begin) {
    return std::lower_bound(places.begin(), places.end(), begin,
                            [](const TypedPlace& place, size_t at) { return place.begin < at; });
  };
  for (auto place = from(tokens[binder.token].begin);
       place != places.end() && place->begin == tokens[binder.token].begin; ++place) {
    if (place->binder) return place->type;
  }
  // A graph binding is no node: its type is that of the largest expression in its value.
  if (binder.value == 0 || binder.value_end <= binder.value) return nullptr;
  const Type* found = nullptr;
  const size_t begin = tokens[binder.value].begin;
  const size_t end = tokens[std::min<size_t>(binder.value_end, tokens.size() - 1)].begin;
  for (auto place = from(begin); place != places.end() && place->begin == begin; ++place) {
    if (!place->binder && place->end <= end) found = place->type;
  }
  return found;
}

std::string documentation(const Analysis& analysis, size_t chunk) {
  if (chunk == 0 || chunk >= analysis.chunks().size()) return {};
  return analysis.chunks()[chunk - 1].chunk->comment_at_end();
}

size_t chunk_of_global(const Analysis& analysis, const std::string& name) {
  const std::vector<Placed>& chunks = analysis.chunks();
  for (size_t i = 0; i < chunks.size(); ++i) {
    for (const GlobalUse& use : chunks[i].chunk->names.globals) {
      if (use.defines && use.name == name) return i;
    }
  }
  return chunks.size();
}

}  // namespace relay::lsp

#include <relay/lsp/lint.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace relay::lsp {

using parsing::SyntaxToken;
using parsing::Tok;

namespace {

constexpr LintRule kRules[] = {
    {"endless-recursion", "A function calls itself whatever its arguments are.", true},
    {"result-dimension", "Only the result of a function mentions a dimension."},
    {"shadowed-global",
     "A local that is called has the name of a function, or a type parameter that of a data type.",
     true},
    {"unused-binding", "A let or graph binding that nothing uses."},
    {"unused-function", "A function that neither @main nor any other function mentions."},
    {"unused-parameter", "A parameter that its function does not use."},
    {"unused-variable", "A variable of a pattern that its clause does not use."},
};

const LintRule* rule_named(std::string_view name) {
  return std::find_if(std::begin(kRules), std::end(kRules),
                      [&](const LintRule& rule) { return rule.name == name; });
}

Lint lint_at(const Chunk& chunk, std::string_view rule, size_t token, std::string message,
             bool unnecessary = false) {
  const SyntaxToken& at = chunk.syntax.tokens[token];
  return {rule_named(rule), std::move(message), 0, at.begin, at.end, unnecessary};
}

}  // namespace

// What a chunk tells without the others.
class ChunkLinter {
 public:
  explicit ChunkLinter(LintFinder::Own& own) : own_(own) {}

  void run() {
    unused_locals();
    called_locals();
    type_parameters();
    recursion();
    result_dimensions();
    find_data();
  }

 private:
  const Chunk& chunk() const { return *own_.chunk; }
  const std::vector<SyntaxToken>& tokens() const { return chunk().syntax.tokens; }
  bool is(size_t i, Tok kind) const { return i < tokens().size() && tokens()[i].kind == kind; }
  bool is_word(size_t i, std::string_view word) const {
    return is(i, Tok::kIdent) && !tokens()[i].escaped && chunk().token(i) == word;
  }
  void add(std::string_view rule, size_t token, std::string message, bool unnecessary = false) {
    own_.lints.push_back(lint_at(chunk(), rule, token, std::move(message), unnecessary));
  }
  void add_shadow(std::string name, bool type, size_t token, std::string message) {
    own_.shadows.push_back(
        {std::move(name), type, lint_at(chunk(), "shadowed-global", token, std::move(message))});
  }

  void unused_locals() {
    const Names& names = chunk().names;
    std::vector<bool> used(names.binders.size());
    for (const LocalUse& use : names.uses) {
      if (use.binder != kUnbound) used[use.binder] = true;
    }
    for (size_t i = 0; i < names.binders.size(); ++i) {
      const Binder& binder = names.binders[i];
      if (used[i] || binder.name.starts_with('_') || binder.kind == BinderKind::kFree) continue;
      const std::string name(chunk().token(binder.token));
      switch (binder.kind) {
        case BinderKind::kParameter:
          add("unused-parameter", binder.token, "the parameter " + name + " is not used", true);
          break;
        case BinderKind::kPattern:
          add("unused-variable", binder.token, name + " is not used; `_` matches as well", true);
          break;
        case BinderKind::kGraph:
          add("unused-binding", binder.token, name + " is not used, so it never runs", true);
          break;
        default:
          add("unused-binding", binder.token, name + " is not used", true);
          break;
      }
    }
  }

  void find_data() {
    const size_t name = is_word(0, "extern") ? 2 : 1;
    if ((is_word(name - 1, "type") || is_word(name - 1, "data")) && is(name, Tok::kIdent))
      own_.data = plain_text(chunk().token(name));
  }

  // `%f(…)` where a local hides nothing, but a person who reads it thinks of `@f`.
  void called_locals() {
    const Names& names = chunk().names;
    std::unordered_set<uint32_t> told;
    for (const LocalUse& use : names.uses) {
      if (use.binder == kUnbound || !is(use.token + 1, Tok::kLParen)) continue;
      if (!told.insert(use.binder).second) continue;
      const Binder& binder = names.binders[use.binder];
      const std::string name(chunk().token(binder.token));
      add_shadow(binder.name, false, binder.token,
                 name + " is called, and the program has a function @" + name.substr(1));
    }
  }

  // `def @f<List>(…)` beside `type List`: inside of @f, the data type cannot be named.
  void type_parameters() {
    const std::vector<GlobalUse>& globals = chunk().names.globals;
    if (globals.empty() || !globals[0].defines) return;
    size_t i = globals[0].token + 1;
    if (!is(i, Tok::kLess) && !is(i, Tok::kLBracket)) return;
    for (; i < tokens().size() && !is(i, Tok::kLParen); ++i) {
      const bool begins =
          is(i - 1, Tok::kLess) || is(i - 1, Tok::kLBracket) || is(i - 1, Tok::kComma);
      if (!begins || !is(i, Tok::kIdent)) continue;
      const std::string name = plain_text(chunk().token(i));
      add_shadow(name, true, i, "the type parameter " + name + " hides the data type " + name);
    }
  }

  // True if a block runs only sometimes: a branch, a clause, the body of a function inside.
  bool is_conditional(size_t open, size_t body) const {
    if (open == 0) return false;
    if (is_word(open - 1, "else")) return true;
    // The body of the definition itself.
    if (open == body) return false;
    if (!is(open - 1, Tok::kRParen) && !is(open - 1, Tok::kLBrace)) return false;
    size_t before = tokens()[open - 1].match;
    if (before == 0) return false;
    --before;
    if (is(before, Tok::kQuestion) && before > 0) --before;
    return is_word(before, "if") || is_word(before, "match") || is_word(before, "fn") ||
           is_word(before, "fun");
  }

  // A call of the function itself that no branch, clause or inner function surrounds.
  void recursion() {
    const std::vector<GlobalUse>& globals = chunk().names.globals;
    if (globals.empty() || !globals[0].defines) return;
    std::vector<size_t> open;
    size_t body = 0;
    size_t next = 1;
    for (size_t i = globals[0].token + 1; i < tokens().size(); ++i) {
      if (next < globals.size() && globals[next].token == i) {
        const GlobalUse& use = globals[next++];
        const bool always =
            body != 0 && !open.empty() && use.name == globals[0].name && is(i + 1, Tok::kLParen) &&
            std::none_of(open.begin(), open.end(),
                         [&](size_t bracket) {
                           return is(bracket, Tok::kLBrace) && is_conditional(bracket, body);
                         }) &&
            !behind_inner_function(open, body);
        if (always) {
          add("endless-recursion", i, "@" + use.name + " calls itself whatever its arguments are");
          return;
        }
      }
      const SyntaxToken& token = tokens()[i];
      if (token.match > i) {
        if (body == 0 && open.empty() && token.kind == Tok::kLBrace) body = i;
        open.push_back(i);
      } else if (token.match < i && !open.empty()) {
        open.pop_back();
        if (open.empty() && body != 0) return;
      }
    }
  }
  // `fn (%x) -> T { … }` has a type between its parameters and its body.
  bool behind_inner_function(const std::vector<size_t>& open, size_t body) const {
    for (size_t bracket : open) {
      if (!is(bracket, Tok::kLBrace) || bracket == body) continue;
      for (size_t i = bracket; i > body + 1; --i) {
        if (is(i - 1, Tok::kSemicolon) || is(i - 1, Tok::kLBrace) || is(i - 1, Tok::kRBrace)) break;
        if (is_word(i - 1, "fn") || is_word(i - 1, "fun")) return true;
      }
    }
    return false;
  }

  // The words in shapes between two tokens.
  std::vector<size_t> dimensions(size_t from, size_t to) const {
    std::vector<size_t> found;
    for (size_t i = from; i + 2 < to; ++i) {
      if (!is_word(i, "Tensor") || !is(i + 1, Tok::kLBracket) || !is(i + 2, Tok::kLParen)) continue;
      for (size_t k = i + 3; k < tokens()[i + 2].match; ++k) {
        if (is(k, Tok::kIdent) && !is(k + 1, Tok::kLParen)) found.push_back(k);
      }
    }
    return found;
  }

  void result_dimensions() {
    const std::vector<GlobalUse>& globals = chunk().names.globals;
    if (globals.empty() || !globals[0].defines) return;
    size_t open = globals[0].token + 1;
    const size_t type_parameters = open;
    while (open < tokens().size() && !is(open, Tok::kLParen)) ++open;
    const size_t close = open < tokens().size() ? tokens()[open].match : open;
    if (close <= open || !is(close + 1, Tok::kArrow)) return;
    size_t end = close + 1;
    while (end < tokens().size() && !is(end, Tok::kLBrace)) ++end;
    std::unordered_set<std::string_view> known;
    for (size_t i = type_parameters; i < close; ++i) {
      if (is(i, Tok::kIdent)) known.insert(chunk().token(i));
    }
    for (size_t i : dimensions(close + 1, end)) {
      if (!known.insert(chunk().token(i)).second) continue;
      add("result-dimension", i,
          "no parameter has the dimension " + std::string(chunk().token(i)) +
              ": callers know it only when the program runs");
    }
  }

  LintFinder::Own& own_;
};

namespace {

// Functions that neither @main nor any other function mentions.
void add_unused_functions(const std::vector<ChunkRef>& chunks, std::vector<Lint>& lints) {
  struct Definition {
    size_t chunk;
    size_t token;
  };
  std::unordered_map<std::string_view, Definition> defined;
  std::unordered_set<std::string_view> mentioned;
  for (size_t c = 0; c < chunks.size(); ++c) {
    std::string_view inside;
    for (const GlobalUse& use : chunks[c]->names.globals) {
      if (use.defines) {
        inside = use.name;
        defined.emplace(use.name, Definition{c, use.token});
      } else if (use.name != inside) {
        mentioned.insert(use.name);
      }
    }
  }
  // Without @main, each function is there for others.
  if (!defined.contains("main")) return;
  for (const auto& [name, definition] : defined) {
    if (name == "main" || name.starts_with('_') || mentioned.contains(name)) continue;
    lints.push_back(lint_at(*chunks[definition.chunk], "unused-function", definition.token,
                            "@" + std::string(name) + " is not used", true));
    lints.back().chunk = definition.chunk;
  }
}

}  // namespace

std::span<const LintRule> lint_rules() { return kRules; }

const LintFinder::Own& LintFinder::own(const ChunkRef& chunk) {
  Own& own = known_[chunk.get()];
  if (own.chunk == nullptr) {
    own.chunk = chunk;
    ChunkLinter(own).run();
  }
  own.round = round_;
  return own;
}

std::vector<Lint> LintFinder::find(const std::vector<ChunkRef>& chunks) {
  ++round_;
  std::vector<const Own*> owns;
  std::unordered_set<std::string_view> functions;
  std::unordered_set<std::string_view> types;
  for (const ChunkRef& chunk : chunks) {
    owns.push_back(&own(chunk));
    if (!owns.back()->data.empty()) types.insert(owns.back()->data);
    for (const GlobalUse& use : chunk->names.globals) {
      if (use.defines) functions.insert(use.name);
    }
  }
  std::vector<Lint> lints;
  for (size_t c = 0; c < owns.size(); ++c) {
    auto add = [&](const Lint& lint) {
      lints.push_back(lint);
      lints.back().chunk = c;
    };
    for (const Lint& lint : owns[c]->lints) add(lint);
    for (const Shadow& shadow : owns[c]->shadows) {
      if ((shadow.type ? types : functions).contains(shadow.name)) add(shadow.lint);
    }
  }
  add_unused_functions(chunks, lints);
  std::stable_sort(lints.begin(), lints.end(), [](const Lint& a, const Lint& b) {
    return a.chunk != b.chunk ? a.chunk < b.chunk : a.begin < b.begin;
  });
  std::erase_if(known_, [&](const auto& entry) { return entry.second.round != round_; });
  return lints;
}

std::vector<Lint> find_lints(std::string_view text) {
  std::vector<ChunkRef> chunks;
  std::vector<size_t> begins;
  for (const Piece& piece : cut(text)) {
    chunks.push_back(std::make_shared<const Chunk>(
        std::string(text.substr(piece.begin, piece.end - piece.begin)), piece.environment));
    begins.push_back(piece.begin);
  }
  std::vector<Lint> lints = LintFinder().find(chunks);
  for (Lint& lint : lints) {
    lint.begin += begins[lint.chunk];
    lint.end += begins[lint.chunk];
  }
  return lints;
}

}  // namespace relay::lsp

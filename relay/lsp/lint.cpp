#include <relay/lsp/lint.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

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

class Linter {
 public:
  explicit Linter(const std::vector<ChunkRef>& chunks) : chunks_(chunks) {}

  std::vector<Lint> run() {
    find_globals();
    for (chunk_ = 0; chunk_ < chunks_.size(); ++chunk_) {
      unused_locals();
      shadowed_functions();
      shadowed_types();
      recursion();
      result_dimensions();
    }
    unused_functions();
    std::stable_sort(lints_.begin(), lints_.end(), [](const Lint& a, const Lint& b) {
      return a.chunk != b.chunk ? a.chunk < b.chunk : a.begin < b.begin;
    });
    return std::move(lints_);
  }

 private:
  const Chunk& chunk() const { return *chunks_[chunk_]; }
  const std::vector<SyntaxToken>& tokens() const { return chunk().syntax.tokens; }
  bool is(size_t i, Tok kind) const { return i < tokens().size() && tokens()[i].kind == kind; }
  bool is_word(size_t i, std::string_view word) const {
    return is(i, Tok::kIdent) && !tokens()[i].escaped && chunk().token(i) == word;
  }
  void add(std::string_view rule, size_t token, std::string message, bool unnecessary = false) {
    lints_.push_back({rule_named(rule), std::move(message), chunk_, tokens()[token].begin,
                      tokens()[token].end, unnecessary});
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

  // The functions and data types that the text defines.
  void find_globals() {
    for (const ChunkRef& one : chunks_) {
      for (const GlobalUse& use : one->names.globals) {
        if (use.defines) functions_.insert(use.name);
      }
    }
    for (chunk_ = 0; chunk_ < chunks_.size(); ++chunk_) {
      const size_t name = is_word(0, "extern") ? 2 : 1;
      if (is_word(name - 1, "type") || is_word(name - 1, "data")) {
        if (is(name, Tok::kIdent)) types_.insert(plain_text(chunk().token(name)));
      }
    }
  }

  // `%f(…)` where a local hides nothing, but a person who reads it thinks of `@f`.
  void shadowed_functions() {
    const Names& names = chunk().names;
    std::unordered_set<uint32_t> told;
    for (const LocalUse& use : names.uses) {
      if (use.binder == kUnbound || !is(use.token + 1, Tok::kLParen)) continue;
      const Binder& binder = names.binders[use.binder];
      if (!functions_.contains(binder.name) || !told.insert(use.binder).second) continue;
      const std::string name(chunk().token(binder.token));
      add("shadowed-global", binder.token,
          name + " is called, and the program has a function @" + name.substr(1));
    }
  }

  // `def @f<List>(…)` beside `type List`: inside of @f, the data type cannot be named.
  void shadowed_types() {
    const std::vector<GlobalUse>& globals = chunk().names.globals;
    if (globals.empty() || !globals[0].defines) return;
    size_t i = globals[0].token + 1;
    if (!is(i, Tok::kLess) && !is(i, Tok::kLBracket)) return;
    for (; i < tokens().size() && !is(i, Tok::kLParen); ++i) {
      const bool begins =
          is(i - 1, Tok::kLess) || is(i - 1, Tok::kLBracket) || is(i - 1, Tok::kComma);
      if (!begins || !is(i, Tok::kIdent)) continue;
      const std::string name = plain_text(chunk().token(i));
      if (types_.contains(name))
        add("shadowed-global", i, "the type parameter " + name + " hides the data type " + name);
    }
  }

  void unused_functions() {
    struct Definition {
      size_t chunk;
      size_t token;
    };
    std::unordered_map<std::string, Definition> defined;
    std::unordered_set<std::string> mentioned;
    for (size_t c = 0; c < chunks_.size(); ++c) {
      std::string inside;
      for (const GlobalUse& use : chunks_[c]->names.globals) {
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
      chunk_ = definition.chunk;
      add("unused-function", definition.token, "@" + name + " is not used", true);
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

  const std::vector<ChunkRef>& chunks_;
  size_t chunk_ = 0;
  std::vector<Lint> lints_;
  std::unordered_set<std::string> functions_;
  std::unordered_set<std::string> types_;
};

}  // namespace

std::span<const LintRule> lint_rules() { return kRules; }

std::vector<Lint> find_lints(const std::vector<ChunkRef>& chunks) { return Linter(chunks).run(); }

std::vector<Lint> find_lints(std::string_view text) {
  std::vector<ChunkRef> chunks;
  std::vector<size_t> begins;
  for (const Piece& piece : cut(text)) {
    chunks.push_back(std::make_shared<const Chunk>(
        std::string(text.substr(piece.begin, piece.end - piece.begin)), piece.environment));
    begins.push_back(piece.begin);
  }
  std::vector<Lint> lints = find_lints(chunks);
  for (Lint& lint : lints) {
    lint.begin += begins[lint.chunk];
    lint.end += begins[lint.chunk];
  }
  return lints;
}

}  // namespace relay::lsp

#include <relay/lsp/names.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace relay::lsp {

using parsing::SyntaxToken;
using parsing::SyntaxTokens;
using parsing::Tok;

std::string plain_text(std::string_view token) {
  if (token.starts_with('%') || token.starts_with('@')) token.remove_prefix(1);
  if (!token.starts_with('"')) return std::string(token);
  std::string text;
  return parsing::unescape(token, text) ? text : std::string(token);
}

namespace {

// Follows brackets and keeps the binders in scope.
class Finder {
 public:
  explicit Finder(const SyntaxTokens& syntax) : syntax_(syntax), tokens_(syntax.tokens) {}

  Names run() {
    for (at_ = 0; at_ + 1 < tokens_.size(); ++at_) step();
    reset();
    return std::move(names_);
  }

 private:
  static constexpr size_t kNowhere = static_cast<size_t>(-1);
  struct Bracket {
    Tok open;
    bool parameters = false;   // of a function
    bool match = false;        // around clauses
    bool pattern = false;      // of a match: a pattern is being read
    size_t scope = 0;          // binders before it
    size_t clause = 0;         // of a match: binders before the clause
    size_t pending = 0;        // bindings before it whose value is being read
    bool value_ended = false;  // of a match: a block was the value of a clause
  };
  struct Waiting {  // a function whose parameters are read and whose body is not met yet
    size_t scope;   // binders before its parameters
    size_t depth;
  };

  bool is(size_t i, Tok kind) const { return i < tokens_.size() && tokens_[i].kind == kind; }
  bool is_word(size_t i, std::string_view word) const {
    return is(i, Tok::kIdent) && !tokens_[i].escaped && syntax_.at(i) == word;
  }
  std::string name(size_t i) const { return plain_text(syntax_.at(i)); }

  void step() {
    if (starts_definition()) return;
    switch (tokens_[at_].kind) {
      case Tok::kLParen:
      case Tok::kLBracket:
      case Tok::kLBrace:
        open_bracket();
        break;
      case Tok::kRParen:
      case Tok::kRBracket:
      case Tok::kRBrace:
        close(tokens_[at_].kind);
        break;
      case Tok::kSemicolon:
        end_waiting();
        settle(brackets_.empty() ? 0 : brackets_.back().pending);
        break;
      case Tok::kComma:
        end_waiting();
        if (!brackets_.empty() && brackets_.back().match) next_clause();
        break;
      case Tok::kFatArrow:
        if (!brackets_.empty()) brackets_.back().pattern = false;
        break;
      case Tok::kIdent:
        begin_operand();
        word();
        break;
      case Tok::kLocal:
        begin_operand();
        local();
        break;
      case Tok::kGlobal:
        begin_operand();
        names_.globals.push_back({name(at_), static_cast<uint32_t>(at_), false});
        break;
      default:
        break;
    }
  }

  // A definition in broken text ends what is open before it.
  bool starts_definition() {
    if (is_word(at_, "def") && is(at_ + 1, Tok::kGlobal)) {
      reset();
      ++at_;
      names_.globals.push_back({name(at_), static_cast<uint32_t>(at_), true});
      if (size_t open = skip_type_parameters(at_ + 1); is(open, Tok::kLParen))
        parameters_at_ = open;
      return true;
    }
    const bool data = is_word(at_, "type") || is_word(at_, "data");
    if (!data || !brackets_.empty() || !is(at_ + 1, Tok::kIdent)) return false;
    if (at_ > 0 && !starts_line(at_) && !is_word(at_ - 1, "extern")) return false;
    reset();
    ++at_;
    const std::string owner = name(at_);
    names_.words.push_back({owner, static_cast<uint32_t>(at_), false, {}});
    if (at_ >= 2 && is_word(at_ - 2, "extern")) return true;
    size_t open = at_ + 1;
    while (open < tokens_.size() && !is(open, Tok::kLBrace) && !is_word(open, "def")) ++open;
    if (!is(open, Tok::kLBrace)) return true;
    const size_t end = tokens_[open].match > open ? tokens_[open].match : tokens_.size() - 1;
    for (size_t i = open + 1; i < end; ++i) {
      const Tok before = tokens_[i - 1].kind;
      const bool begins = before == Tok::kLBrace || before == Tok::kComma || starts_line(i);
      if (is(i, Tok::kIdent) && begins)
        names_.words.push_back({name(i), static_cast<uint32_t>(i), true, owner});
      if (tokens_[i].match > i) i = tokens_[i].match;
    }
    at_ = end;
    return true;
  }

  // An operand behind another one begins the next binding, clause or final expression.
  void begin_operand() {
    if (at_ == 0 || is_word(at_, "else")) return;
    if (in_match_gap()) next_clause();
    switch (tokens_[at_ - 1].kind) {
      case Tok::kIdent:
        if (is_word(at_ - 1, "let") || is_word(at_ - 1, "else") || is_word(at_ - 1, "case")) return;
        break;
      case Tok::kLocal:
      case Tok::kGlobal:
      case Tok::kNumber:
      case Tok::kProjection:
      case Tok::kRParen:
      case Tok::kRBrace:
        break;
      default:
        return;
    }
    settle(brackets_.empty() ? 0 : brackets_.back().pending);
  }

  bool starts_line(size_t i) const {
    if (i == 0 || tokens_[i].lines_before > 0) return true;
    const SyntaxToken& token = tokens_[i];
    for (size_t k = token.first_comment; k < token.end_comment; ++k) {
      if (syntax_.comments[k].lines_before > 0) return true;
    }
    return false;
  }

  void reset() {
    while (!brackets_.empty()) close_bracket();
    settle(0);
    close_scope(0);
    for (const auto& [name, index] : closed_)
      names_.binders[index].scope_end = static_cast<uint32_t>(at_);
    closed_.clear();
    waiting_.clear();
    parameters_at_ = kNowhere;
  }

  // Behind `<…>` or `[…]`.
  size_t skip_type_parameters(size_t i) const {
    if (is(i, Tok::kLBracket)) return tokens_[i].match > i ? tokens_[i].match + 1 : i;
    if (!is(i, Tok::kLess)) return i;
    for (size_t depth = 0; i < tokens_.size(); ++i) {
      if (is(i, Tok::kLess)) ++depth;
      if (is(i, Tok::kGreater) && --depth == 0) return i + 1;
      if (is(i, Tok::kLBrace) || is(i, Tok::kSemicolon)) break;
    }
    return i;
  }

  void word() {
    if (is_word(at_, "fn") || is_word(at_, "fun")) {
      if (size_t open = skip_type_parameters(at_ + 1); is(open, Tok::kLParen))
        parameters_at_ = open;
      return;
    }
    if (is_word(at_, "let")) {
      settle(brackets_.empty() ? 0 : brackets_.back().pending);
      if (is(at_ + 1, Tok::kLParen)) {
        read_let_pattern(at_ + 1);
      } else if (is(at_ + 1, Tok::kLocal)) {
        ++at_;
        begin_value(add(BinderKind::kLet));
      }
    } else if (is_word(at_, "free_var") && is(at_ + 1, Tok::kLocal)) {
      ++at_;
      show(add(BinderKind::kFree));
    }
  }

  void read_let_pattern(size_t open) {
    const size_t end = tokens_[open].match;
    if (end <= open) return;
    size_t first = names_.binders.size();
    for (at_ = open + 1; at_ < end; ++at_) {
      if (is(at_, Tok::kLocal)) pending_.push_back(add(BinderKind::kLet));
    }
    size_t sign = end + 1;
    while (sign < tokens_.size() && !is(sign, Tok::kAssign) && !is(sign, Tok::kSemicolon)) ++sign;
    for (size_t i = first; i < names_.binders.size(); ++i) {
      names_.binders[i].annotated |= is(end + 1, Tok::kColon);
      names_.binders[i].value = 0;
    }
    at_ = sign < tokens_.size() ? sign : tokens_.size() - 1;
  }

  void local() {
    Bracket* in = brackets_.empty() ? nullptr : &brackets_.back();
    const Tok before = at_ == 0 ? Tok::kEnd : tokens_[at_ - 1].kind;
    if (in != nullptr && in->parameters && (before == Tok::kLParen || before == Tok::kComma)) {
      show(add(BinderKind::kParameter));
      return;
    }
    const bool pattern = std::any_of(brackets_.rbegin(), brackets_.rend(),
                                     [](const Bracket& b) { return b.pattern; });
    if (pattern && in_pattern()) {
      show(add(BinderKind::kPattern));
      return;
    }
    if (is(at_ + 1, Tok::kAssign)) {
      settle(in == nullptr ? 0 : in->pending);
      begin_value(add(BinderKind::kGraph));
      return;
    }
    use();
  }

  // Only parentheses stand between the pattern's beginning and here.
  bool in_pattern() const {
    for (size_t i = brackets_.size(); i > 0; --i) {
      if (brackets_[i - 1].match) return brackets_[i - 1].pattern;
      if (brackets_[i - 1].open != Tok::kLParen) return false;
    }
    return false;
  }

  uint32_t add(BinderKind kind) {
    Binder binder;
    binder.name = name(at_);
    binder.kind = kind;
    binder.token = static_cast<uint32_t>(at_);
    size_t next = at_ + 1;
    if (is(next, Tok::kLBrace) && is_word(next + 1, "virtual_device") && tokens_[next].match > next)
      next = tokens_[next].match + 1;
    binder.annotated = is(next, Tok::kColon);
    binder.scope_end = static_cast<uint32_t>(tokens_.size());
    names_.binders.push_back(std::move(binder));
    return static_cast<uint32_t>(names_.binders.size() - 1);
  }

  void begin_value(uint32_t index) {
    size_t sign = at_ + 1;
    while (sign < tokens_.size() && !is(sign, Tok::kAssign) && !is(sign, Tok::kSemicolon) &&
           !is(sign, Tok::kRBrace))
      sign = std::max(sign, tokens_[sign].match) + 1;
    if (!is(sign, Tok::kAssign)) {
      show(index);
      return;
    }
    Binder& binder = names_.binders[index];
    binder.value = static_cast<uint32_t>(sign + 1);
    pending_.push_back(index);
    // A function may refer to itself.
    if (binder.kind == BinderKind::kLet && is_word(sign + 1, "fn")) show(index);
    at_ = sign;
  }

  void show(uint32_t index) {
    Binder& binder = names_.binders[index];
    if (binder.visible_at != 0) return;
    binder.visible_at = static_cast<uint32_t>(at_) + 1;
    shown_.push_back(index);
    open_[binder.name].push_back(index);
  }

  // The values of bindings end: their names are known from here on.
  void settle(size_t from) {
    for (size_t i = from; i < pending_.size(); ++i) {
      if (names_.binders[pending_[i]].value != 0)
        names_.binders[pending_[i]].value_end = static_cast<uint32_t>(at_);
      show(pending_[i]);
    }
    if (from < pending_.size()) pending_.resize(from);
  }

  // The binders of a block end with it; its graph names stay known to the end of the definition
  // (G1).
  void close_scope(size_t from) {
    while (shown_.size() > from) {
      const uint32_t index = shown_.back();
      shown_.pop_back();
      Binder& binder = names_.binders[index];
      std::vector<uint32_t>& open = open_[binder.name];
      open.erase(std::find(open.begin(), open.end(), index));
      if (binder.kind == BinderKind::kGraph) {
        closed_[binder.name] = index;
      } else {
        binder.scope_end = static_cast<uint32_t>(at_);
      }
    }
  }

  uint32_t meaning(const std::string& name) const {
    const auto open = open_.find(name);
    if (open != open_.end() && !open->second.empty()) return open->second.back();
    const auto closed = closed_.find(name);
    return closed == closed_.end() ? kUnbound : closed->second;
  }

  // The longest dotted name in scope; the rest projects.
  void use() {
    const bool quoted = syntax_.at(at_).substr(1).starts_with('"');
    uint32_t length = static_cast<uint32_t>(tokens_[at_].end - tokens_[at_].begin);
    std::string text = name(at_);
    for (;;) {
      if (const uint32_t binder = meaning(text); binder != kUnbound) {
        names_.uses.push_back({static_cast<uint32_t>(at_), binder, length});
        return;
      }
      const size_t dot = quoted ? text.npos : text.rfind('.');
      if (dot == text.npos || dot == 0) break;
      length -= static_cast<uint32_t>(text.size() - dot);
      text.resize(dot);
    }
    length = static_cast<uint32_t>(tokens_[at_].end - tokens_[at_].begin);
    names_.uses.push_back({static_cast<uint32_t>(at_), kUnbound, length});
  }

  // After the body of a clause without a comma.
  bool in_match_gap() const {
    return !brackets_.empty() && brackets_.back().match && brackets_.back().value_ended;
  }
  void next_clause() {
    Bracket& in = brackets_.back();
    settle(in.pending);
    close_scope(in.clause);
    in.pattern = true;
    in.value_ended = false;
  }

  void open_bracket() {
    if (in_match_gap() && !is(at_, Tok::kLBrace)) next_clause();
    Bracket bracket{tokens_[at_].kind};
    bracket.scope = shown_.size();
    bracket.pending = pending_.size();
    if (is(at_, Tok::kLParen) && at_ == parameters_at_) {
      bracket.parameters = true;
      waiting_.push_back({shown_.size(), brackets_.size()});
    }
    if (is(at_, Tok::kLBrace)) {
      size_t close = at_ == 0 ? 0 : at_ - 1;
      size_t open = is(close, Tok::kRParen) ? tokens_[close].match : close;
      size_t word = open == 0 ? 0 : open - 1;
      if (is(word, Tok::kQuestion) && word > 0) --word;
      bracket.match = open != close && is_word(word, "match");
      bracket.pattern = bracket.match;
      const bool attributes = is_word(at_ + 1, "virtual_device") && is(at_ + 2, Tok::kAssign);
      if (!attributes && !bracket.match && !waiting_.empty() &&
          waiting_.back().depth == brackets_.size()) {
        bracket.scope = waiting_.back().scope;
        waiting_.pop_back();
      }
      // `pattern { body }` without an arrow.
      if (!brackets_.empty() && brackets_.back().match) brackets_.back().pattern = false;
    }
    bracket.clause = shown_.size();
    brackets_.push_back(bracket);
  }

  // A function type has no body.
  void end_waiting() {
    while (!waiting_.empty() && waiting_.back().depth >= brackets_.size()) waiting_.pop_back();
  }

  void close(Tok kind) {
    const Tok open = kind == Tok::kRParen     ? Tok::kLParen
                     : kind == Tok::kRBracket ? Tok::kLBracket
                                              : Tok::kLBrace;
    // A bracket that nothing opened is passed over.
    if (std::none_of(brackets_.begin(), brackets_.end(),
                     [&](const Bracket& b) { return b.open == open; }))
      return;
    while (brackets_.back().open != open) close_bracket();
    close_bracket();
    if (kind == Tok::kRBrace && !brackets_.empty() && brackets_.back().match)
      brackets_.back().value_ended = true;
  }

  void close_bracket() {
    const Bracket bracket = brackets_.back();
    settle(bracket.pending);
    brackets_.pop_back();
    while (!waiting_.empty() && waiting_.back().depth > brackets_.size()) waiting_.pop_back();
    if (!bracket.parameters && !in_pattern()) close_scope(bracket.scope);
  }

  const SyntaxTokens& syntax_;
  const std::vector<SyntaxToken>& tokens_;
  size_t at_ = 0;
  size_t parameters_at_ = kNowhere;  // where a function's parameters begin
  Names names_;
  std::vector<Bracket> brackets_;
  std::vector<Waiting> waiting_;
  std::vector<uint32_t> pending_;  // binders whose values are being read
  std::vector<uint32_t> shown_;    // binders in scope, in their order
  std::unordered_map<std::string, std::vector<uint32_t>> open_;  // by name, the innermost last
  std::unordered_map<std::string, uint32_t> closed_;             // graph names of closed blocks
};

}  // namespace

const Binder* Names::at(size_t token) const {
  for (const Binder& binder : binders) {
    if (binder.token == token) return &binder;
  }
  auto use = std::lower_bound(uses.begin(), uses.end(), token,
                              [](const LocalUse& u, size_t t) { return u.token < t; });
  if (use == uses.end() || use->token != token || use->binder == kUnbound) return nullptr;
  return &binders[use->binder];
}

std::vector<const Binder*> Names::visible(size_t token) const {
  std::vector<const Binder*> found;
  std::unordered_set<std::string_view> seen;
  for (auto binder = binders.rbegin(); binder != binders.rend(); ++binder) {
    const bool open = binder->visible_at != 0 && binder->visible_at <= token;
    if (open && token <= binder->scope_end && seen.insert(binder->name).second)
      found.push_back(&*binder);
  }
  return found;
}

Names find_names(const SyntaxTokens& syntax) { return Finder(syntax).run(); }

}  // namespace relay::lsp

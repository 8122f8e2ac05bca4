#include <relay/pattern/automaton.h>

#include <algorithm>

#include <relay/op/op.h>
#include <relay/op/registry/simplify.h>

namespace relay::pattern {

namespace {

// Nodes that are looked at, from the root down. Deep ones are worth it: where many patterns begin
// alike, each that a shallow look offers costs a match that fails.
constexpr int kDepth = 8;
constexpr size_t kMostWays = 64;  // of one pattern
constexpr size_t kLongest = 64;   // tokens of a way

}  // namespace

/// One step: a call of an operator, a node of a kind, a tensor of one number, or anything.
struct Automaton::Token {
  enum class Kind : uint8_t { kAny, kCall, kNode, kNumber } kind = Kind::kAny;
  const Operator* op = nullptr;
  uint32_t count = 0;  // of arguments that follow
  ExprKind node = ExprKind::kVar;
};

std::vector<Automaton::Way> Automaton::ways(const DFPattern* pattern) {
  for (int depth = kDepth; depth > 0; depth /= 2) {
    std::vector<Way> result = ways(pattern, depth);
    bool is_long = std::any_of(result.begin(), result.end(),
                               [](const Way& way) { return way.size() > kLongest; });
    if (result.size() <= kMostWays && !is_long) return result;
  }
  return {{Token{}}};  // too many, or too long: anything
}

std::vector<Automaton::Way> Automaton::call_ways(const DFPattern& pattern, int depth) {
  const Operator* op = pattern.child(0)->as_op();
  if (op == nullptr) return {{Token{Token::Kind::kNode, nullptr, 0, ExprKind::kCall}}};
  auto count = static_cast<uint32_t>(op->num_inputs());
  Token head{Token::Kind::kCall, op, count};
  bool open = pattern.any() || pattern.rest().size() != count;
  auto with_args = [&](std::span<const DFPatternRef> args) {
    std::vector<Way> made{{head}};
    for (const DFPatternRef& arg : args) {
      std::vector<Way> longer;
      for (const Way& tail : ways(arg.get(), depth - 1)) {
        for (const Way& front : made) {
          longer.push_back(front);
          longer.back().insert(longer.back().end(), tail.begin(), tail.end());
        }
      }
      made = std::move(longer);
      if (made.size() > kMostWays) return std::vector<Way>(1, open_way(head));
    }
    return made;
  };
  if (open) return {open_way(head)};
  std::vector<Way> result = with_args(pattern.rest());
  bool sums = op == get_op("add") || op == get_op("multiply");
  if (sums) {
    DFPatternRef turned[] = {pattern.child(2), pattern.child(1)};
    for (Way& way : with_args(turned)) result.push_back(std::move(way));
  }
  // Products of quotients fit quotients of products, and the other way round.
  const Operator *multiply = get_op("multiply"), *divide = get_op("divide");
  if (op == multiply || op == divide) {
    const Operator* other = op == multiply ? divide : multiply;
    for (const DFPatternRef& arg : pattern.rest()) {
      if (arg->kind() == DFPatternKind::kCall && arg->child(0)->as_op() == other) {
        result.push_back(open_way(Token{Token::Kind::kCall, other, count}));
        break;
      }
    }
  }
  return result;
}

Automaton::Way Automaton::open_way(const Token& head) {
  Way way{head};
  way.resize(1 + head.count);
  return way;
}

std::vector<Automaton::Way> Automaton::ways(const DFPattern* pattern, int depth) {
  auto node = [](ExprKind kind) {
    return std::vector<Way>{{Token{Token::Kind::kNode, nullptr, 0, kind}}};
  };
  if (depth == 0) return {{Token{}}};
  switch (pattern->kind()) {
    case DFPatternKind::kVar:
      return node(ExprKind::kVar);
    case DFPatternKind::kCall:
      return call_ways(*pattern, depth);
    case DFPatternKind::kFunction:
      return node(ExprKind::kFunction);
    case DFPatternKind::kTuple:
      return node(ExprKind::kTuple);
    case DFPatternKind::kTupleGetItem:
      return node(ExprKind::kTupleGetItem);
    case DFPatternKind::kLet:
      return node(ExprKind::kLet);
    case DFPatternKind::kIf:
      return node(ExprKind::kIf);
    case DFPatternKind::kName:
    case DFPatternKind::kNode:
      return node(pattern->expr_kind());
    case DFPatternKind::kAttr:
    case DFPatternKind::kType:
    case DFPatternKind::kDType:
    case DFPatternKind::kShape:
      return ways(pattern->child(0).get(), depth);
    case DFPatternKind::kDominator:
      return ways(pattern->child(2).get(), depth);
    case DFPatternKind::kAlt: {
      // Chains of alternatives lean to the left and are as long as somebody writes them.
      std::vector<Way> result;
      const DFPattern* rest = pattern;
      for (; rest->kind() == DFPatternKind::kAlt; rest = rest->child(0).get()) {
        for (Way& way : ways(rest->child(1).get(), depth - 1)) result.push_back(std::move(way));
        if (result.size() > kMostWays) return {{Token{}}};
      }
      for (Way& way : ways(rest, depth - 1)) result.push_back(std::move(way));
      return result;
    }
    case DFPatternKind::kWildcard:
      if (pattern->target()) return ways(pattern->target().get(), depth - 1);
      return {{Token{}}};
    case DFPatternKind::kNumber:
      return {{Token{Token::Kind::kNumber}}};
    default:
      return {{Token{}}};  // constants may be literals; expressions are compared
  }
}

Automaton::Automaton(std::span<const DFPatternRef> patterns) : states_(1) {
  for (uint32_t i = 0; i < patterns.size(); ++i) {
    for (const Way& way : ways(patterns[i].get())) add(way, i);
  }
}

void Automaton::add(const Way& way, uint32_t pattern) {
  uint32_t at = 0;
  auto fresh = [&] {
    states_.emplace_back();
    return static_cast<uint32_t>(states_.size()) - 1;
  };
  for (const Token& token : way) {
    uint32_t next = kNone;
    switch (token.kind) {
      case Token::Kind::kAny:
        next = states_[at].any == kNone ? fresh() : states_[at].any;
        states_[at].any = next;
        break;
      case Token::Kind::kNumber:
        next = states_[at].number == kNone ? fresh() : states_[at].number;
        states_[at].number = next;
        break;
      case Token::Kind::kCall:
        if (const uint32_t* found = states_[at].call(token.op)) {
          next = *found;
        } else if (next = fresh(); states_[at].op == nullptr) {
          states_[at].op = token.op;
          states_[at].behind = next;
        } else {
          states_[at].others[token.op] = next;
        }
        break;
      case Token::Kind::kNode:
        for (auto [kind, state] : states_[at].kinds) {
          if (kind == static_cast<uint32_t>(token.node)) next = state;
        }
        if (next == kNone) {
          next = fresh();
          states_[at].kinds.emplace_back(static_cast<uint32_t>(token.node), next);
        }
        break;
    }
    at = next;
  }
  std::vector<uint32_t>& ends = states_[at].patterns;
  if (ends.empty() || ends.back() != pattern) ends.push_back(pattern);
}

bool Automaton::begins_with(const Operator* op) const {
  const State& start = states_[0];
  return start.any != kNone || start.number != kNone || !start.kinds.empty() ||
         start.call(op) != nullptr;
}

struct Automaton::Waiting {
  const Expr* exprs[kLongest];  // not initialised: most nodes need few
  size_t count;
};

void Automaton::find(const Expr* expr, std::vector<uint32_t>& found) const {
  found.clear();
  const State& start = states_[0];
  Waiting waiting;
  waiting.count = 0;
  if (start.any == kNone && start.number == kNone && start.kinds.empty()) {
    find_call(start, expr, waiting, found);  // most nodes end here
  } else {
    waiting.exprs[waiting.count++] = expr;
    find(0, waiting, found);
  }
  if (found.size() < 2) return;
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
}

// Recurses once for each token of a way, of which there are at most kLongest.
void Automaton::find(uint32_t state, Waiting& waiting, std::vector<uint32_t>& found) const {
  const State& at = states_[state];
  if (waiting.count == 0) {
    found.insert(found.end(), at.patterns.begin(), at.patterns.end());
    return;
  }
  const Expr* expr = waiting.exprs[--waiting.count];
  if (at.any != kNone) find(at.any, waiting, found);
  if (at.number != kNone && (expr->is<Literal>() || may_have_value_of_all(expr)))
    find(at.number, waiting, found);
  for (auto [kind, next] : at.kinds) {
    if (kind == static_cast<uint32_t>(expr->kind())) find(next, waiting, found);
  }
  if (at.op != nullptr) find_call(at, expr, waiting, found);
  waiting.exprs[waiting.count++] = expr;
}

void Automaton::find_call(const State& at, const Expr* expr, Waiting& waiting,
                          std::vector<uint32_t>& found) const {
  const auto* call = expr->as<Call>();
  const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
  if (node == nullptr) return;
  const uint32_t* next = at.call(node->op());
  std::span<const ExprRef> args = call->args();
  if (next == nullptr || args.size() != node->op()->num_inputs()) return;
  for (size_t i = args.size(); i-- > 0;) waiting.exprs[waiting.count++] = args[i].get();
  find(*next, waiting, found);
  waiting.count -= args.size();
}

}  // namespace relay::pattern

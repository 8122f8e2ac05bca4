// Rules as text: patterns of calls, matched by walking the arguments.
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <vector>

#include <relay/op/registry/formula.h>
#include <relay/op/registry/simplify.h>
#include <relay/support/error.h>

namespace relay {
namespace {

/// Tensors and constants that letters stand for.
using Letters = std::array<ExprRef, 26>;

struct RulePattern {
  enum class Kind : uint8_t { kAny, kConstant, kNumber, kCall } kind = Kind::kAny;
  size_t letter = 0;
  double number = 0;
  const Operator* op = nullptr;
  bool commutes = false;
  std::vector<RulePattern> args;
};

/// Reads `name(pattern, …)`, a letter or a number. Patterns are written in this folder, so their
/// nesting is small.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  RulePattern read() {
    RulePattern result = pattern();
    RELAY_CHECK(at_ == text_.size(), "a pattern with something behind it");
    return result;
  }

 private:
  RulePattern pattern() {
    RulePattern result;
    char c = text_[at_];
    if (c == '-' || (c >= '0' && c <= '9')) {
      result.kind = RulePattern::Kind::kNumber;
      auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), result.number);
      RELAY_CHECK(error == std::errc(), "a pattern with a wrong number");
      at_ = static_cast<size_t>(end - text_.data());
      return result;
    }
    size_t end = text_.find_first_of("(), ", at_);
    std::string_view word = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    at_ += word.size();
    if (word.size() == 1) {
      bool constant = word[0] >= 'A' && word[0] <= 'Z';
      result.kind = constant ? RulePattern::Kind::kConstant : RulePattern::Kind::kAny;
      result.letter = static_cast<size_t>(word[0] - (constant ? 'A' : 'a'));
      return result;
    }
    result.kind = RulePattern::Kind::kCall;
    result.op = get_op(word);
    result.commutes = result.op == get_op("add") || result.op == get_op("multiply");
    do {
      ++at_;  // ( or ,
      while (text_[at_] == ' ') ++at_;
      result.args.push_back(pattern());
    } while (text_[at_] == ',');
    ++at_;
    return result;
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// True if the sum around a tensor determines the tensor's shape: it is broadcast along every
/// unknown axis.
bool broadcasts_safely(const Expr* number, const Type* whole) {
  if (!whole->has_any_dim()) return true;
  for (const Dim& dim : number->type()->as<TensorType>()->dims()) {
    if (!dim.is_int(1)) return false;
  }
  return true;
}

class Matcher {
 public:
  explicit Matcher(const Type* whole) : whole_(whole) {}
  Letters letters;

  bool match(const RulePattern& pattern, const ExprRef& expr) {
    switch (pattern.kind) {
      case RulePattern::Kind::kNumber: {
        std::optional<double> value = value_of_all(expr.get());
        if (!value || *value != pattern.number) return false;
        const auto* type = expr->type()->as<TensorType>();
        bool sign =
            type->dtype().is_float() && std::signbit(*value) != std::signbit(pattern.number);
        return !sign && broadcasts_safely(expr.get(), whole_);
      }
      case RulePattern::Kind::kConstant:
        return expr->is<Constant>() && bind(pattern, expr);
      case RulePattern::Kind::kAny:
        return bind(pattern, expr);
      case RulePattern::Kind::kCall:
        return match_call(pattern, expr);
    }
    return false;
  }

  bool match_args(const RulePattern& pattern, std::span<const ExprRef> args) {
    Letters before = letters;
    if (in_order(pattern, args)) return true;
    letters = before;
    if (!pattern.commutes) return false;
    ExprRef other_way[] = {args[1], args[0]};
    if (in_order(pattern, other_way)) return true;
    letters = before;
    return false;
  }

 private:
  bool bind(const RulePattern& pattern, const ExprRef& expr) {
    ExprRef& bound = letters[pattern.letter];
    if (bound) return bound == expr;
    bound = expr;
    return true;
  }

  bool match_call(const RulePattern& pattern, const ExprRef& expr) {
    const auto* call = expr->as<Call>();
    const auto* node = call == nullptr ? nullptr : call->callee()->as<Op>();
    if (node == nullptr || node->op() != pattern.op || !tensor_call(expr.get())) return false;
    return match_args(pattern, call->args());
  }

  bool in_order(const RulePattern& pattern, std::span<const ExprRef> args) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (!match(pattern.args[i], args[i])) return false;
    }
    return true;
  }

  const Type* whole_;
};

ExprRef write(const RulePattern& pattern, const Letters& letters, DType dtype) {
  switch (pattern.kind) {
    case RulePattern::Kind::kAny:
    case RulePattern::Kind::kConstant:
      return letters[pattern.letter];
    case RulePattern::Kind::kNumber:
      return Formula::real(pattern.number, dtype).expr;
    case RulePattern::Kind::kCall:
      break;
  }
  std::vector<ExprRef> args;
  for (const RulePattern& arg : pattern.args) {
    // A repeated part is one node.
    bool again =
        !args.empty() && arg.kind == RulePattern::Kind::kCall && arg.op == pattern.args[0].op &&
        pattern.args[0].kind == RulePattern::Kind::kCall &&
        std::equal(arg.args.begin(), arg.args.end(), pattern.args[0].args.begin(),
                   pattern.args[0].args.end(), [](const RulePattern& a, const RulePattern& b) {
                     return a.kind == RulePattern::Kind::kAny && a.kind == b.kind &&
                            a.letter == b.letter;
                   });
    args.push_back(again ? args[0] : write(arg, letters, dtype));
  }
  return call_op(pattern.op->name().view(), args);
}

}  // namespace

CompiledPattern compile_pattern(std::string_view from, std::string_view to) {
  auto match = std::make_shared<RulePattern>(Reader(from).read());
  auto result = std::make_shared<RulePattern>(Reader(to).read());
  RELAY_CHECK(match->kind == RulePattern::Kind::kCall, "a pattern that is no call");
  auto apply = [match, result](const OpCall& call, std::span<const ExprRef> args) -> ExprRef {
    DType dtype = call.result().dtype;
    if (dtype.is_bool()) return {};
    Matcher matcher(call.output().get());
    if (!matcher.match_args(*match, args)) return {};
    return write(*result, matcher.letters, dtype);
  };
  return {match->op, std::move(apply)};
}

}  // namespace relay

#include <relay/codegen/dim_text.h>

#include <algorithm>
#include <charconv>

#include <relay/support/error.h>

namespace relay::codegen {

namespace {

bool commutes(DimOp op) {
  return op == DimOp::kMul || op == DimOp::kMin || op == DimOp::kMax || op == DimOp::kBroadcast;
}

/// `17`, `s2`, `(mul A B)`, `(sum C k A k B …)`.
class DimParser {
 public:
  DimParser(std::string_view text, std::span<const Dim> symbols) : text_(text), symbols_(symbols) {}

  std::optional<Dim> parse() {
    std::optional<Dim> result = term(0);
    return result && at_ == text_.size() ? result : std::nullopt;
  }

 private:
  static constexpr int kMaxDepth = 2 * static_cast<int>(DimTerm::kMaxDepth);

  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  std::optional<int64_t> integer() {
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    constexpr int64_t kLimit = int64_t{1} << 60;
    if (error != std::errc() || value >= kLimit || value <= -kLimit) return std::nullopt;
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  std::optional<Dim> term(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (take("s")) {
      const auto index = integer();
      if (!index || *index < 0 || static_cast<size_t>(*index) >= symbols_.size()) {
        return std::nullopt;
      }
      return symbols_[static_cast<size_t>(*index)];
    }
    if (!take("(")) {
      const auto value = integer();
      return value ? std::optional<Dim>(*value) : std::nullopt;
    }
    if (take("sum")) {
      std::optional<int64_t> value;
      if (!take(",") || !(value = integer())) return std::nullopt;
      Dim sum = *value;
      while (!take(")")) {
        if (!take(",") || !(value = integer()) || !take(",")) return std::nullopt;
        const auto atom = term(depth + 1);
        if (!atom) return std::nullopt;
        sum = sum + Dim(*value) * *atom;
      }
      return sum;
    }
    for (DimOp op : {DimOp::kMul, DimOp::kFloorDiv, DimOp::kFloorMod, DimOp::kCeilDiv, DimOp::kMin,
                     DimOp::kMax, DimOp::kBroadcast}) {
      if (!take(dim_op_name(op))) continue;
      if (!take(",")) return std::nullopt;
      const auto a = term(depth + 1);
      if (!a || !take(",")) return std::nullopt;
      const auto b = term(depth + 1);
      if (!b || !take(")")) return std::nullopt;
      return apply_dim_op(op, *a, *b);
    }
    return std::nullopt;
  }

  std::string_view text_;
  std::span<const Dim> symbols_;
  size_t at_ = 0;
};

}  // namespace

std::string dim_to_text(Dim dim, std::span<const Dim> symbols) {
  if (dim.is_int()) return std::to_string(dim.as_int());
  // The order of the symbols' names decides the order in a term: sorted by text instead.
  const auto found = std::find(symbols.begin(), symbols.end(), dim);
  if (found != symbols.end()) return "s" + std::to_string(found - symbols.begin());
  RELAY_CHECK(dim.is_term() && dim.term().op != DimOp::kSymbol && dim.term().op != DimOp::kValue,
              "a dimension of a kernel that is no term over its arguments: " + dim.str());
  const DimTerm& term = dim.term();
  if (term.op == DimOp::kLinear) {
    std::vector<std::string> parts;
    for (const DimTerm::Part& part : term.parts) {
      parts.push_back(std::to_string(part.coefficient) + ',' + dim_to_text(part.atom, symbols));
    }
    std::sort(parts.begin(), parts.end());
    std::string text = "(sum," + std::to_string(term.constant);
    for (const std::string& part : parts) text += ',' + part;
    return text + ')';
  }
  std::string lhs = dim_to_text(term.lhs, symbols);
  std::string rhs = dim_to_text(term.rhs, symbols);
  if (commutes(term.op) && rhs < lhs) std::swap(lhs, rhs);
  return std::string("(") + dim_op_name(term.op) + ',' + lhs + ',' + rhs + ')';
}

std::optional<Dim> dim_from_text(std::string_view text, std::span<const Dim> symbols) {
  try {
    return DimParser(text, symbols).parse();
  } catch (const Error&) {  // a division by zero, a number out of range
    return std::nullopt;
  }
}

}  // namespace relay::codegen

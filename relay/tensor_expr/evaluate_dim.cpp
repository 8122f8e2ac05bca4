#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::te {
namespace {

[[noreturn]] void throw_overflow() { throw RuntimeError("a dimension does not fit into 64 bits"); }

int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) throw_overflow();
  return sum;
}

int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) throw_overflow();
  return product;
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) throw RuntimeError("integer division by zero in a dimension");
  if (b == -1) return multiply(a, -1);
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

int64_t apply(const DimTerm& term, int64_t a, int64_t b) {
  switch (term.op) {
    case DimOp::kMul:
      return multiply(a, b);
    case DimOp::kFloorDiv:
      return floor_quotient(a, b);
    case DimOp::kFloorMod:
      return add(a, -multiply(floor_quotient(a, b), b));
    case DimOp::kCeilDiv:
      return -floor_quotient(multiply(a, -1), b);
    case DimOp::kMin:
      return std::min(a, b);
    case DimOp::kMax:
      return std::max(a, b);
    case DimOp::kBroadcast:
      if (a == b || b == 1) return a;
      if (a == 1) return b;
      throw RuntimeError("dimensions " + std::to_string(a) + " and " + std::to_string(b) +
                         " do not broadcast");
    default:
      RELAY_UNREACHABLE("not a binary term");
  }
}

}  // namespace

int64_t evaluate_dim(Dim dim, std::span<const NDArray> inputs, const SymbolValue& symbols) {
  if (dim.is_int()) return dim.as_int();
  // `?` and inference variables never reach a run.
  RELAY_CHECK(dim.is_term(), "the value of dimension " + dim.str());
  const DimTerm& term = dim.term();
  switch (term.op) {
    case DimOp::kSymbol:
      RELAY_CHECK(static_cast<bool>(symbols), "a named dimension without value: " + dim.str());
      return symbols(term.symbol);
    case DimOp::kValue: {
      RELAY_CHECK(term.input < inputs.size(), "a dimension read from a missing input");
      const NDArray& input = inputs[term.input];
      if (static_cast<int64_t>(term.index) >= input.size()) {
        throw RuntimeError("a dimension is element " + std::to_string(term.index) + " of shape " +
                           shape_text(input.shape()));
      }
      return input.element_as_int64(term.index);
    }
    case DimOp::kLinear: {
      int64_t total = term.constant;
      for (const DimTerm::Part& part : term.parts) {
        total = add(total, multiply(part.coefficient, evaluate_dim(part.atom, inputs, symbols)));
      }
      return total;
    }
    default:
      return apply(term, evaluate_dim(term.lhs, inputs, symbols),
                   evaluate_dim(term.rhs, inputs, symbols));
  }
}

}  // namespace relay::te

#include <relay/runtime/dim_code.h>

#include <algorithm>

namespace relay {

namespace {
constexpr const char* kOverflow = "a dimension does not fit into 64 bits";
constexpr const char* kDivision = "integer division by zero in a dimension";

const char* floor_divide(int64_t a, int64_t b, int64_t& out) {
  if (b == 0) return kDivision;
  if (b == -1) return __builtin_sub_overflow(int64_t{0}, a, &out) ? kOverflow : nullptr;
  out = a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
  return nullptr;
}
}  // namespace

bool is_division_by_zero(const char* wrong) { return wrong == kDivision; }

const char* compute_dim(DimCode code, int64_t a, int64_t b, int64_t& out) {
  switch (code) {
    case DimCode::kAdd:
      return __builtin_add_overflow(a, b, &out) ? kOverflow : nullptr;
    case DimCode::kSub:
      return __builtin_sub_overflow(a, b, &out) ? kOverflow : nullptr;
    case DimCode::kMul:
      return __builtin_mul_overflow(a, b, &out) ? kOverflow : nullptr;
    case DimCode::kFloorDiv:
      return floor_divide(a, b, out);
    case DimCode::kFloorMod: {
      if (b == 0) return kDivision;
      int64_t rest = b == -1 ? 0 : a % b;
      out = rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
      return nullptr;
    }
    case DimCode::kCeilDiv: {
      int64_t negated, quotient;
      if (__builtin_sub_overflow(int64_t{0}, a, &negated)) return kOverflow;
      if (const char* wrong = floor_divide(negated, b, quotient)) return wrong;
      return __builtin_sub_overflow(int64_t{0}, quotient, &out) ? kOverflow : nullptr;
    }
    case DimCode::kMin:
      out = std::min(a, b);
      return nullptr;
    case DimCode::kMax:
      out = std::max(a, b);
      return nullptr;
    case DimCode::kBroadcast:
      if (a == b || b == 1) {
        out = a;
        return nullptr;
      }
      out = b;
      return a == 1 ? nullptr : "the dimensions do not broadcast";
    default:
      return "not an operation on sizes";
  }
}

}  // namespace relay

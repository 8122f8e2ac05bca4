#include <relay/infer/functions/literals.h>

#include <cmath>
#include <limits>

namespace relay::inference {

Numeric literal_class(const LiteralValue& value) {
  return value.is_float ? Numeric::kFloat : Numeric::kNum;
}

bool literal_is_wide(const LiteralValue& value) {
  if (value.is_float) return false;
  constexpr uint64_t kLimit = uint64_t{1} << 31;
  return value.negative ? value.magnitude > kLimit : value.magnitude >= kLimit;
}

std::string literal_text(const LiteralValue& value) {
  std::string text = value.negative ? "-" : "";
  if (!value.text.empty()) return text + value.text.str();
  return text + (value.is_float ? std::to_string(value.number) : std::to_string(value.magnitude));
}

std::string literal_problem(const LiteralValue& value, DType dtype) {
  auto out_of_range = [&] {
    return "literal " + literal_text(value) + " is out of range for " + std::string(dtype.name());
  };
  if (dtype.is_float()) {
    if (!value.is_float || !std::isfinite(value.number)) return {};
    double largest = dtype == kFloat16    ? 65520.0  // the first that rounds to infinity
                     : dtype == kFloat32  ? 0x1.ffffffp127
                     : dtype == kBFloat16 ? 0x1.ffp127
                                          : std::numeric_limits<double>::infinity();
    return std::fabs(value.number) < largest ? std::string() : out_of_range();
  }
  if (!dtype.is_integer() || value.is_float) {
    return "literal " + literal_text(value) + " cannot be of dtype " + std::string(dtype.name());
  }
  uint64_t most = dtype.is_signed()  ? (uint64_t{1} << (dtype.bits - 1)) - 1
                  : dtype.bits == 64 ? std::numeric_limits<uint64_t>::max()
                                     : (uint64_t{1} << dtype.bits) - 1;
  uint64_t most_negative = dtype.is_signed() ? most + 1 : 0;
  return value.magnitude <= (value.negative ? most_negative : most) ? std::string()
                                                                    : out_of_range();
}

NDArray literal_array(const LiteralValue& value, DType dtype) {
  NDArray array = NDArray::empty({}, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T& element = *array.data<T>();
    if (value.is_float) {
      element = convert_element<T>(value.negative && !std::signbit(value.number) ? -value.number
                                                                                 : value.number);
    } else if (value.negative) {
      element = convert_element<T>(static_cast<int64_t>(-value.magnitude));
    } else {
      element = convert_element<T>(value.magnitude);
    }
  });
  return array;
}

}  // namespace relay::inference

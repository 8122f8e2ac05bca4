#include <relay/runtime/kernel.h>

#include <array>
#include <cmath>

namespace relay {

namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

const void* address(Unary f) { return reinterpret_cast<const void*>(f); }
const void* address(Binary f) { return reinterpret_cast<const void*>(f); }

constexpr size_t kFunctions = static_cast<size_t>(KernelFunction::kCount);

std::array<const void*, kFunctions> make_table() {
  // In the order of KernelFunction. Each name's overload for double is chosen by the parameter.
  return {address(Unary(std::exp)),   address(Unary(std::log)),   address(Unary(std::log2)),
          address(Unary(std::log10)), address(Unary(std::sin)),   address(Unary(std::cos)),
          address(Unary(std::tan)),   address(Unary(std::asin)),  address(Unary(std::acos)),
          address(Unary(std::atan)),  address(Unary(std::sinh)),  address(Unary(std::cosh)),
          address(Unary(std::tanh)),  address(Unary(std::asinh)), address(Unary(std::acosh)),
          address(Unary(std::atanh)), address(Unary(std::erf)),   address(Binary(std::pow)),
          address(Binary(std::fmod)), address(Binary(std::atan2))};
}

}  // namespace

std::string with_index(std::string_view message, int64_t index, int64_t extent) {
  std::string text(message);
  size_t at = text.rfind(kOutOfRange);
  if (at == std::string::npos) return text;
  return text.replace(
      at, kOutOfRange.size(),
      "index " + std::to_string(index) + " is out of range for extent " + std::to_string(extent));
}

std::string failure_text(std::string_view op, std::string_view message) {
  if (message.starts_with("integer division by zero")) return std::string(message);
  std::string named = std::string(op) + ": ";
  return message.starts_with(named) ? std::string(message) : named + std::string(message);
}

const void* const* kernel_functions() {
  static const std::array<const void*, kFunctions> table = make_table();
  return table.data();
}

}  // namespace relay

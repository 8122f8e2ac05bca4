#include <relay/runtime/kernel.h>
#include <relay/runtime/tape.h>

#include <array>
#include <cmath>

namespace relay {

namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

const void* address(Unary f) { return reinterpret_cast<const void*>(f); }
const void* address(Binary f) { return reinterpret_cast<const void*>(f); }
const void* address(void* (*f)()) { return reinterpret_cast<const void*>(f); }
const void* address(int64_t (*f)(int64_t)) { return reinterpret_cast<const void*>(f); }

constexpr size_t kFunctions = static_cast<size_t>(KernelFunction::kCount);

std::array<const void*, kFunctions> make_table() {
  // In the order of KernelFunction. Each name's overload for double is chosen by the parameter.
  return {address(Unary(std::exp)),   address(Unary(std::log)),    address(Unary(std::log2)),
          address(Unary(std::log10)), address(Unary(std::sin)),    address(Unary(std::cos)),
          address(Unary(std::tan)),   address(Unary(std::asin)),   address(Unary(std::acos)),
          address(Unary(std::atan)),  address(Unary(std::sinh)),   address(Unary(std::cosh)),
          address(Unary(std::tanh)),  address(Unary(std::asinh)),  address(Unary(std::acosh)),
          address(Unary(std::atanh)), address(Unary(std::erf)),    address(Binary(std::pow)),
          address(Binary(std::fmod)), address(Binary(std::atan2)), address(&tape_slots),
          address(&tape_room)};
}

}  // namespace

int32_t ShareOfTasks::take_share(TaskSource* self, int64_t count, int64_t* range) {
  auto& share = *static_cast<ShareOfTasks*>(self);
  range[0] = count * share.worker_ / share.workers_;
  range[1] = count * (share.worker_ + 1) / share.workers_;
  if (!share.taken_ && range[0] < range[1]) {
    share.taken_ = true;
    return 1;
  }
  range[0] = INT64_MAX;
  return 0;
}

const void* const* kernel_functions() {
  static const std::array<const void*, kFunctions> table = make_table();
  return table.data();
}

}  // namespace relay

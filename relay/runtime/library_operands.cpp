#include <relay/runtime/library_operands.h>

#include <algorithm>
#include <map>
#include <mutex>

#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>

namespace relay {
namespace {

struct Rules {
  ForkMutex mutex;
  std::map<std::string, LibraryRule, std::less<>> all;

  static Rules& instance() {
    static Rules* rules = new Rules;  // static objects of other files register before main
    return *rules;
  }
};

std::string shape_of(ShapeView shape) {
  std::string text = shape_text(shape);
  // Counted ones.
  for (size_t at = 0; (at = text.find("-1", at)) != std::string::npos;) text.replace(at, 2, "?");
  return text;
}

}  // namespace

int64_t LibraryOperand::size() const {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

void LibraryOperands::refuse(const LibraryOperand& operand, const std::string& wanted) const {
  const bool input = std::less_equal<>()(inputs.data(), &operand) &&
                     std::less<>()(&operand, inputs.data() + inputs.size());
  const auto number = &operand - (input ? inputs.data() : outputs.data());
  throw Error("library kernel " + std::string(kernel_) + ": " + (input ? "input " : "output ") +
              std::to_string(number) + " is " + std::string(operand.dtype.name()) + " of shape " +
              shape_of(operand.shape) + ", not " + wanted);
}

void LibraryOperands::rank(const LibraryOperand& operand, size_t rank) const {
  if (operand.shape.size() != rank) refuse(operand, "of rank " + std::to_string(rank));
}

void LibraryOperands::dtype(const LibraryOperand& operand,
                            std::initializer_list<DType> any_of) const {
  if (std::ranges::find(any_of, operand.dtype) != any_of.end()) return;
  std::string names;
  for (DType each : any_of) names += (names.empty() ? "" : " or ") + std::string(each.name());
  refuse(operand, names);
}

void LibraryOperands::floating(const LibraryOperand& operand) const {
  if (!operand.dtype.is_float()) refuse(operand, "of a floating-point type");
}

void LibraryOperands::shape(const LibraryOperand& operand, ShapeView shape) const {
  if (!std::ranges::equal(operand.shape, shape)) refuse(operand, "of shape " + shape_of(shape));
}

void LibraryOperands::elements(const LibraryOperand& operand, int64_t count) const {
  const bool counted = std::ranges::find(operand.shape, kCounted) != operand.shape.end();
  if (counted || operand.size() != count)
    refuse(operand, "of " + std::to_string(count) + (count == 1 ? " element" : " elements"));
}

int64_t LibraryOperands::product(int64_t a, int64_t b) const {
  int64_t result = 0;
  want(!__builtin_mul_overflow(a, b, &result) && result <= kMost, "extents within any memory");
  return result;
}

void LibraryOperands::want(bool met, std::string_view what) const {
  if (!met) throw Error("library kernel " + std::string(kernel_) + " wants " + std::string(what));
}

size_t LibraryOperands::axis_of(const LibraryOperand& operand) const {
  const auto axis = param<int64_t>("axis");
  want(axis >= 0 && axis < static_cast<int64_t>(operand.shape.size()), "an axis of its operand");
  return static_cast<size_t>(axis);
}

const KernelParam::Value& LibraryOperands::value_of(std::string_view name) const {
  const auto found = std::ranges::find(params_, name, &KernelParam::name);
  RELAY_CHECK(found != params_.end(), "a library kernel has no parameter " + std::string(name));
  return found->value;
}

void check_library_call(const LibraryOperands& operands, LibraryRule rule) {
  if (rule == nullptr) return;
  for (const auto& list : {operands.inputs, operands.outputs}) {
    for (const LibraryOperand& operand : list) {
      int64_t count = 1;
      for (int64_t extent : operand.shape)
        count = operands.product(count, std::max<int64_t>(extent, 1));
    }
  }
  rule(operands);
}

LibraryRule find_library_rule(std::string_view kernel) {
  Rules& rules = Rules::instance();
  std::lock_guard lock(rules.mutex);
  const auto found = rules.all.find(kernel);
  return found == rules.all.end() ? nullptr : found->second;
}

bool register_library_rule(std::string_view kernel, LibraryRule rule) {
  Rules& rules = Rules::instance();
  std::lock_guard lock(rules.mutex);
  const bool added = rules.all.emplace(std::string(kernel), rule).second;
  RELAY_CHECK(added, "library kernel " + std::string(kernel) + " has two rules");
  return true;
}

}  // namespace relay

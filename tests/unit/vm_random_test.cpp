// Whatever the program: the machine computes what the reference evaluator does.
#include <gtest/gtest.h>

#include <cmath>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/support/random_dataflow.h>
#include <tests/support/setting.h>
#include <tests/support/typed_program.h>

namespace relay::vm_random_test {
namespace {

// How two values differ, or nothing. Floats: what the generator allows to be inexact is computed in
// another order.
std::string difference(const Value& found, const Value& wanted) {
  if (found.is_tuple() && wanted.is_tuple()) {
    if (found.fields().size() != wanted.fields().size()) return "another number of fields";
    for (size_t i = 0; i < found.fields().size(); ++i) {
      std::string inside = difference(found.field(i), wanted.field(i));
      if (!inside.empty()) return "field " + std::to_string(i) + ": " + inside;
    }
    return "";
  }
  if (!found.is_tensor() || !wanted.is_tensor())
    return bit_equal(found, wanted) ? "" : "other values";
  NDArray a = found.array(), b = wanted.array();
  if (a.dtype() != b.dtype() || shape_text(a.shape()) != shape_text(b.shape()))
    return std::string(a.dtype().name()) + shape_text(a.shape()) + " for " +
           std::string(b.dtype().name()) + shape_text(b.shape());
  if (!a.dtype().is_float()) return bit_equal(a, b) ? "" : "other integers";
  double largest = 1;
  for (int64_t i = 0; i < b.size(); ++i) {
    double value = std::abs(b.element_as_double(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  for (int64_t i = 0; i < a.size(); ++i) {
    double x = a.element_as_double(i), y = b.element_as_double(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y || std::abs(x - y) <= 2e-5 * largest) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(x) + " for " +
           std::to_string(y);
  }
  return "";
}

struct Outcome {
  Value value;
  std::string error;
};

template <class Run>
Outcome outcome(Run run) {
  try {
    return {run(), ""};
  } catch (const Error& error) {
    return {Value(), error.what()};
  }
}

// RELAY_RANDOM_PROGRAMS: how many; RELAY_RANDOM_SEED: from which on.
using testing::setting;

// Compiles all functions of a module at once and runs each; returns how many differ.
int compare(const Module& module, const std::vector<Name>& names,
            const std::vector<const std::vector<Value>*>& arguments, int level) {
  int failures = 0;
  vm::CompileOptions options;
  options.level = level;
  auto executable = vm::compile(module, names, options);
  vm::MachineOptions three;
  three.threads = 3;
  vm::Machine machine(executable), others(executable, three);
  for (size_t i = 0; i < names.size(); ++i) {
    Outcome wanted = outcome([&] { return evaluate_function(module, names[i], *arguments[i]); });
    Outcome found = outcome([&] { return machine.run(names[i].view(), *arguments[i]); });
    std::string why;
    if (wanted.error.empty() != found.error.empty()) {
      why = found.error + " for " + wanted.error;
    } else if (wanted.error.empty()) {
      why = difference(found.value, wanted.value);
      Outcome again = outcome([&] { return others.run(names[i].view(), *arguments[i]); });
      if (why.empty() && !(again.error.empty() && bit_equal(again.value, found.value)))
        why = "another result with other threads";
    }
    if (why.empty()) continue;
    ++failures;
    ADD_FAILURE() << names[i].str() << " at level " << level << ": " << why << "\n"
                  << print_expr(module.function(names[i]));
  }
  return failures;
}

constexpr uint32_t kBatch = 50;  // programs of one module: their kernels are compiled together

TEST(VmRandom, Dataflow) {
  uint32_t first = setting("RELAY_RANDOM_SEED", 0);
  uint32_t count = setting("RELAY_RANDOM_PROGRAMS", 500);
  int failures = 0;
  for (uint32_t begin = first; begin < first + count && failures < 5; begin += kBatch) {
    Module module;
    std::vector<Name> names;
    std::vector<testing::RandomDataflow> programs;
    for (uint32_t seed = begin; seed < std::min(begin + kBatch, first + count); ++seed) {
      programs.emplace_back(seed);
      names.emplace_back("f" + std::to_string(seed));
      module.add_function(names.back(), programs.back().function());
    }
    infer_types_or_throw(module);
    std::vector<const std::vector<Value>*> arguments;
    for (const auto& program : programs) arguments.push_back(&program.arguments());
    failures += compare(module, names, arguments, 3);
    if (begin % (4 * kBatch) == 0) failures += compare(module, names, arguments, 0);
  }
}

TEST(VmRandom, UnknownExtents) {
  uint32_t first = setting("RELAY_RANDOM_SEED", 0);
  uint32_t count = setting("RELAY_RANDOM_PROGRAMS", 500) / 2;
  int failures = 0;
  for (uint32_t begin = first; begin < first + count && failures < 5; begin += kBatch) {
    Module module;
    std::vector<Name> names;
    std::vector<testing::RandomDataflow> programs;
    std::vector<size_t> used;
    for (uint32_t seed = begin; seed < std::min(begin + kBatch, first + count); ++seed) {
      programs.emplace_back(seed);
      FunctionRef function = programs.back().with_unknown_extents();
      Module alone;
      alone.add_function("f", function);
      bool typed = true;
      for (const Diagnostic& diagnostic : infer_types(alone))
        typed &= diagnostic.severity != Severity::kError;
      if (!typed) continue;
      names.emplace_back("f" + std::to_string(seed));
      used.push_back(programs.size() - 1);
      module.add_function(names.back(), function);
    }
    infer_types_or_throw(module);
    std::vector<const std::vector<Value>*> arguments;
    for (size_t i : used) arguments.push_back(&programs[i].arguments());
    failures += compare(module, names, arguments, 3);
  }
}

constexpr int kLevels = 5;  // of optimisation, from 0 on

// Levels are as `PassContext::opt_level` has them.
void check_typed(uint32_t seed, const std::vector<int>& levels, bool direct) {
  const bool references = seed % 2 == 1;
  Module module = testing::TypedProgram(seed, references).module();
  infer_types_or_throw(module);
  std::vector<std::vector<Value>> inputs;
  for (int32_t k : {0, 1, -3}) {
    inputs.push_back({Value::scalar<int32_t>(k), Value::scalar<int32_t>(2 - k),
                      Value(NDArray::from<int32_t>({3}, {k, 4, -1})), Value::scalar(Bool(k != 1))});
  }
  std::vector<TypeRef> types;
  for (const Value& argument : inputs[0]) types.push_back(value_type(argument));
  Module special = specialize(module, "main", types);
  std::vector<Outcome> wanted;
  for (const auto& arguments : inputs)
    wanted.push_back(outcome([&] { return evaluate_function(special, "main", arguments); }));
  for (int level : levels) {
    vm::CompileOptions options;
    options.direct = direct;
    options.level = level;
    vm::Machine machine(vm::compile(special, Name("main"), options));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!wanted[i].error.empty()) continue;  // passes may remove failures
      Outcome found = outcome([&] { return machine.run("main", inputs[i]); });
      std::string where = "seed " + std::to_string(seed) + (references ? " with references" : "") +
                          " at level " + std::to_string(level);
      ASSERT_EQ(found.error, "") << where << "\n" << print_module(module);
      ASSERT_TRUE(bit_equal(found.value, wanted[i].value)) << where << "\n" << print_module(module);
    }
  }
}

// Random patterns over a data type and tuples: each clause says which it is and what it bound.
class RandomMatch {
 public:
  explicit RandomMatch(uint32_t seed) : random_(seed) {}

  std::string program() {
    std::string clauses;
    int count = 1 + pick(12);
    for (int i = 0; i < count; ++i) {
      numbers_.clear();
      trees_.clear();
      std::string left = tree(3), right = tree(3), number = pick(3) == 0 ? variable(numbers_) : "_";
      std::string pattern = "((" + left + ", " + number + "), " + right + ")";
      std::string result = std::to_string(i * 1000);
      for (const std::string& name : numbers_) result += " + " + name;
      for (const std::string& name : trees_) result += " + 7 * @size(" + name + ")";
      clauses += pattern + " => " + result + ", ";
    }
    return "type T { A, B(T), C(T, T), D(int32, T) }\n"
           "def @size(%t: T) -> int32 { match (%t) { A => 1, B(%a) => 1 + @size(%a), "
           "C(%a, %b) => 1 + @size(%a) + @size(%b), D(%n, %a) => %n + @size(%a) } }\n"
           "def @f(%x: T, %n: int32, %y: T) -> int32 { match? (((%x, %n), %y)) { " +
           clauses + "} }\n" + "def @main(" + arguments() + ") { " + calls() + " }";
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  std::string variable(std::vector<std::string>& names) {
    names.push_back("%v" + std::to_string(next_++));
    return names.back();
  }
  std::string tree(int depth) {
    switch (pick(depth == 0 ? 3 : 8)) {
      case 0:
        return "_";
      case 1:
        return variable(trees_);
      case 2:
      case 3:
        return "A";
      case 4:
        return "B(" + tree(depth - 1) + ")";
      case 5: {
        std::string number = pick(2) == 0 ? variable(numbers_) : "_";
        return "D(" + number + ", " + tree(depth - 1) + ")";
      }
      default: {
        std::string left = tree(depth - 1);
        return "C(" + left + ", " + tree(depth - 1) + ")";
      }
    }
  }
  std::string value(int depth) {
    switch (pick(depth == 0 ? 1 : 5)) {
      case 0:
        return "A";
      case 1:
        return "B(" + value(depth - 1) + ")";
      case 2:
        return "D(%k + " + std::to_string(pick(9)) + ", " + value(depth - 1) + ")";
      default: {
        std::string left = value(depth - 1);
        return "C(" + left + ", " + value(depth - 1) + ")";
      }
    }
  }
  static std::string arguments() { return "%k: int32"; }
  // The last clause takes what no other does.
  std::string calls() {
    std::string sum = "0";
    for (int i = 0; i < 12; ++i) {
      std::string left = value(3);
      sum += " * 3 + @f(" + left + ", %k, " + value(3) + ")";
    }
    return sum;
  }

  std::mt19937 random_;
  int next_ = 0;
  std::vector<std::string> numbers_;
  std::vector<std::string> trees_;
};

TEST(VmRandom, Matches) {
  for (uint32_t seed = 0; seed < 150; ++seed) {
    std::string text = RandomMatch(seed).program();
    if (seed % 3 != 0) {
      size_t end = text.rfind("} }\ndef @main");
      text.insert(end, "_ => -1 ");
    }
    Module module = parse_module("test", text);
    infer_types_or_throw(module);
    Module special = specialize(module, "main", std::vector<TypeRef>{TensorType::scalar(kInt32)});
    vm::CompileOptions options;
    options.direct = true;
    vm::Machine machine(vm::compile(special, Name("main"), options));
    for (int32_t k : {0, 5}) {
      std::vector<Value> arguments{Value::scalar<int32_t>(k)};
      Outcome wanted = outcome([&] { return evaluate_function(special, "main", arguments); });
      Outcome found = outcome([&] { return machine.run("main", arguments); });
      ASSERT_EQ(found.error, wanted.error) << seed << "\n" << text;
      if (wanted.error.empty()) {
        ASSERT_EQ(found.value.as<int32_t>(), wanted.value.as<int32_t>()) << seed << "\n" << text;
      }
    }
  }
}

// Every level for the first programs, one after the other for those that follow.
TEST(VmRandom, Programs) {
  const uint32_t first = setting("RELAY_RANDOM_SEED", 0);
  const uint32_t count = setting("RELAY_RANDOM_PROGRAMS", 100);
  for (uint32_t i = 0; i < count; ++i) {
    const int one = static_cast<int>(i % kLevels);
    const std::vector<int> levels = i < 100 ? std::vector{0, 1, 2, 3, 4} : std::vector{one};
    ASSERT_NO_FATAL_FAILURE(check_typed(first + i, levels, true));
  }
}

TEST(VmRandom, ProgramsNatively) {
  for (uint32_t seed = 100; seed < 140; ++seed)
    ASSERT_NO_FATAL_FAILURE(check_typed(seed, {0, 3}, false));
}

}  // namespace
}  // namespace relay::vm_random_test

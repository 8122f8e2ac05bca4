// Programs on several devices: copies exactly where they are written, and no kernel that reads
// another device's memory. The memory of cpu(1) and on is guarded throughout.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>

#include <relay/eval/eval.h>
#include <relay/infer/devices/devices.h>
#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/columns.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/executable_file.h>
#include <relay/vm/machine/machine.h>

#include <tests/support/random_dataflow.h>

namespace relay::device_program_test {
namespace {

constexpr Device kOne{DeviceType::kCpu, 1};
constexpr Device kTwo{DeviceType::kCpu, 2};

Module specialised(const std::string& text, std::span<const Value> arguments) {
  Module module = parse_module("test", text);
  infer_types_or_throw(module);
  std::vector<TypeRef> types;
  for (const Value& argument : arguments) types.push_back(value_type(argument));
  return specialize(module, "main", types);
}

Value vector(std::vector<float> elements, Device device = kCpu) {
  return Value(NDArray::from<float>(std::vector<int64_t>{static_cast<int64_t>(elements.size())},
                                    std::span<const float>(elements))
                   .on(device));
}

std::vector<double> elements(const Value& value) {
  std::vector<double> result;
  NDArray array = value.array();
  for (int64_t i = 0; i < array.size(); ++i) result.push_back(array.element_as_double(i));
  return result;
}

struct Ran {
  Value value;
  std::vector<uint64_t> arrivals;  // on cpu(0), cpu(1) and cpu(2)
};

template <class Run>
Ran count(Run run) {
  const Device all[] = {kCpu, kOne, kTwo};
  Ran result;
  for (Device device : all) result.arrivals.push_back(device_memory(device).arrivals);
  result.value = run();
  for (size_t i = 0; i < 3; ++i)
    result.arrivals[i] = device_memory(all[i]).arrivals - result.arrivals[i];
  return result;
}

class DeviceProgram : public ::testing::Test {
 protected:
  void SetUp() override { set_device_guard(true); }
  void TearDown() override { set_device_guard(false); }

  // In the reference evaluator and as machine code, at all levels, kept in a file in between.
  static void check(const std::string& text, const std::vector<Value>& arguments,
                    const std::function<void(const Ran&)>& expect) {
    Module module = specialised(text, arguments);
    {
      SCOPED_TRACE("evaluator");
      expect(count([&] { return evaluate_function(module, "main", arguments); }));
    }
    for (int level : {0, 1, 3}) {
      SCOPED_TRACE("level " + std::to_string(level));
      vm::CompileOptions options;
      options.level = level;
      auto executable = vm::compile(module, Name("main"), options);
      vm::Machine machine(executable);
      for (int i = 0; i < 3; ++i) expect(count([&] { return machine.run("main", arguments); }));
    }
  }
};

const char* const kThere = "src_virtual_device=\"cpu(0)\", dst_virtual_device=\"cpu(1)\"";
const char* const kFurther = "src_virtual_device=\"cpu(1)\", dst_virtual_device=\"cpu(2)\"";
const char* const kBack = "src_virtual_device=\"cpu(1)\", dst_virtual_device=\"cpu(0)\"";

std::string copy(const std::string& what, const char* attrs) {
  return "device_copy(" + what + ", " + attrs + ")";
}

TEST_F(DeviceProgram, RegionsOfFusedOperators) {
  std::string text =
      "def @main(%x: Tensor[(4), float32]) {\n"
      "  %0 = " +
      copy("(%x + 1f) * 2f", kThere) +
      ";\n"
      "  %1 = " +
      copy("(%0 - 1f) * %0", kFurther) +
      ";\n"
      "  (%1 + %1 * 3f, %0 + 1f) }";
  check(text, {vector({0, 1, 2, 3})}, [](const Ran& ran) {
    EXPECT_EQ(elements(ran.value.field(0)), (std::vector<double>{8, 48, 120, 224}));
    EXPECT_EQ(elements(ran.value.field(1)), (std::vector<double>{3, 5, 7, 9}));
    EXPECT_EQ(ran.value.field(0).device(), kTwo);
    EXPECT_EQ(ran.value.field(1).device(), kOne);
    EXPECT_EQ(ran.arrivals, (std::vector<uint64_t>{0, 1, 1}));
  });
}

TEST_F(DeviceProgram, ParametersAndConstantsAreWhereTheyAreUsed) {
  std::string text =
      "def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {\n"
      "  let %c = on_device(%x, virtual_device=\"cpu(1)\");\n"
      "  (%x * arange(0f, 3f, 1f, dtype=\"float32\") + ones(shape=[3], dtype=\"float32\"),\n"
      "   %y + arange(0f, 3f, 1f, dtype=\"float32\")) }";
  check(text, {vector({1, 2, 3}, kOne), vector({1, 2, 3})}, [](const Ran& ran) {
    EXPECT_EQ(elements(ran.value.field(0)), (std::vector<double>{1, 3, 7}));
    EXPECT_EQ(ran.value.field(0).device(), kOne);
    EXPECT_EQ(ran.value.field(1).device(), kCpu);
    EXPECT_EQ(ran.arrivals, (std::vector<uint64_t>{0, 0, 0}));
  });
}

TEST_F(DeviceProgram, ArgumentsElsewhereAreRefused) {
  std::string text =
      "def @main(%x: Tensor[(2), float32]) { on_device(exp(%x), "
      "virtual_device=\"cpu(1)\") }";
  std::vector<Value> arguments{vector({1, 2})};
  Module module = specialised(text, arguments);
  auto message = [&](auto run) -> std::string {
    try {
      run();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  std::string wanted =
      "argument 1 of @main, %x: a tensor is on cpu(0), and the program wants it on cpu(1)";
  EXPECT_EQ(message([&] { evaluate_function(module, "main", arguments); }), wanted);
  auto executable = vm::compile(module, Name("main"), {});
  EXPECT_EQ(message([&] { vm::Machine(executable).run("main", arguments); }), wanted);
}

TEST_F(DeviceProgram, BranchesAndLoops) {
  std::string text =
      "def @loop(%n: int32, %x: Tensor[(2), float32]) -> Tensor[(2), float32] {\n"
      "  if (%n == 0) { %x } else { @loop(%n - 1, %x * 2f + 1f) } }\n"
      "def @main(%c: bool, %x: Tensor[(2), float32]) {\n"
      "  let %y = " +
      copy("%x", kThere) +
      ";\n"
      "  if (%c) { @loop(3, %y) } else { %y + " +
      copy("%x * %x", kThere) + " } }";
  for (bool taken : {true, false}) {
    check(text, {Value::scalar<bool>(taken), vector({1, 2})}, [&](const Ran& ran) {
      EXPECT_EQ(elements(ran.value),
                taken ? (std::vector<double>{15, 23}) : (std::vector<double>{2, 6}));
      EXPECT_EQ(ran.value.device(), kOne);
      EXPECT_EQ(ran.arrivals, (std::vector<uint64_t>{0, taken ? 1u : 2u, 0}));
    });
  }
}

TEST_F(DeviceProgram, ListsOnAnotherDevice) {
  std::string text =
      "type List[A] { Nil, Cons(A, List[A]) }\n"
      "def @build(%n: int32, %x: Tensor[(2), float32]) -> List[Tensor[(2), float32]] {\n"
      "  if (%n == 0) { Nil } else { Cons(" +
      copy("%x", kThere) +
      ", @build(%n - 1, %x + 1f)) } }\n"
      "def @sum(%l: List[Tensor[(2), float32]], %s: Tensor[(2), float32]) -> Tensor[(2), float32] "
      "{\n"
      "  match (%l) { Nil => %s, Cons(%h, %t) => @sum(%t, %s + %h * 2f) } }\n"
      "def @main(%x: Tensor[(2), float32]) {\n"
      "  @sum(@build(3, %x), zeros(shape=[2], dtype=\"float32\")) }";
  check(text, {vector({1, 2})}, [](const Ran& ran) {
    EXPECT_EQ(elements(ran.value), (std::vector<double>{12, 18}));
    EXPECT_EQ(ran.value.device(), kOne);
    EXPECT_EQ(ran.arrivals, (std::vector<uint64_t>{0, 3, 0}));
  });
}

TEST_F(DeviceProgram, ClosuresTuplesAndReferences) {
  std::string text =
      "def @main(%x: Tensor[(2), float32]) {\n"
      "  let %y = " +
      copy("%x", kThere) +
      ";\n"
      "  let %f = fn (%a: Tensor[(2), float32]) { %a * %y };\n"
      "  let %p = (%x, %f(%y));\n"
      "  let %r = ref(%p.1);\n"
      "  let %u = ref_write(%r, ref_read(%r) + %y);\n"
      "  (%p.0 + 1f, " +
      copy("ref_read(%r)", kBack) + ") }";
  check(text, {vector({1, 2})}, [](const Ran& ran) {
    EXPECT_EQ(elements(ran.value.field(0)), (std::vector<double>{2, 3}));
    EXPECT_EQ(elements(ran.value.field(1)), (std::vector<double>{2, 6}));
    EXPECT_EQ(ran.value.field(1).device(), kCpu);
    EXPECT_EQ(ran.arrivals, (std::vector<uint64_t>{1, 1, 0}));
  });
}

TEST_F(DeviceProgram, NumbersBelongToNoDevice) {
  std::string text =
      "def @main(%x: Tensor[(2), float32], %n: float32) {\n"
      "  let %y = " +
      copy("%x", kThere) +
      ";\n"
      "  let %s = " +
      copy("sum(%y)", kBack) +
      ";\n"
      "  let %e = reshape(strided_slice(%y, begin=[1], end=[2]), newshape=[]);\n"
      "  (%x * %s + %e, %y * %s + " +
      copy("%n", kThere) + ") }";
  check(text, {vector({1, 2}), Value::scalar<float>(10)}, [](const Ran& ran) {
    EXPECT_EQ(elements(ran.value.field(0)), (std::vector<double>{5, 8}));
    EXPECT_EQ(elements(ran.value.field(1)), (std::vector<double>{13, 16}));
    EXPECT_EQ(ran.value.field(0).device(), kCpu);
    EXPECT_EQ(ran.value.field(1).device(), kOne);
    EXPECT_EQ(ran.arrivals, (std::vector<uint64_t>{0, 1, 0}));
  });
}

TEST_F(DeviceProgram, NoKernelReadsANumberWhereItComesFrom) {
  // Fused across a number, a kernel would read tensors on both sides of it.
  std::string text =
      "def @main(%x: Tensor[(4), float32]) {\n"
      "  let %y = " +
      copy("%x", kThere) +
      ";\n"
      "  let %z = " +
      copy("%y", kFurther) +
      ";\n"
      "  let %a = sum(%y * 2f);\n"
      "  let %b = take(%z, 1) * 2f;\n"
      "  (%x - %a * 2f, exp(%z * 0f) + (%a + %b), stack((%a, %b), axis=0) * 2f) }";
  check(text, {vector({1, 2, 3, 4})}, [](const Ran& ran) {
    EXPECT_EQ(elements(ran.value.field(0)), (std::vector<double>{-39, -38, -37, -36}));
    EXPECT_EQ(elements(ran.value.field(1)), (std::vector<double>{25, 25, 25, 25}));
    EXPECT_EQ(elements(ran.value.field(2)), (std::vector<double>{40, 8}));
    EXPECT_EQ(ran.value.field(0).device(), kCpu);
    EXPECT_EQ(ran.value.field(1).device(), kTwo);
    EXPECT_EQ(ran.arrivals, (std::vector<uint64_t>{0, 1, 1}));
  });
}

TEST_F(DeviceProgram, AnOnDeviceCopiesWhereItsSidesDiffer) {
  std::string text =
      "def @main(%x: Tensor[(2), float32]) {\n"
      "  %0 = on_device((exp(%x), %x * 2f), virtual_device=\"cpu(1)\");\n"
      "  %1 = on_device(%0.1 + %0.1, virtual_device=\"cpu(2)\");\n"
      "  on_device(%1, virtual_device=\"cpu(2)\", constrain_result=True) }";
  check(text, {vector({0, 1}, kOne)}, [](const Ran& ran) {
    EXPECT_EQ(elements(ran.value), (std::vector<double>{0, 4}));
    EXPECT_EQ(ran.value.device(), kTwo);
    EXPECT_LE(ran.arrivals[2], 2u);  // of a tuple, both fields are copied or what is used of it
    EXPECT_GE(ran.arrivals[2], 1u);
    EXPECT_EQ(ran.arrivals[1], 0u);
  });
}

TEST_F(DeviceProgram, LibraryKernelsAndCountedResults) {
  std::string text =
      "def @main(%x: Tensor[(4), float32]) {\n"
      "  let %y = " +
      copy("%x", kThere) +
      ";\n"
      "  (argsort(%y * 2f), argwhere(greater(%y, 1f))) }";
  check(text, {vector({3, 1, 2, 0})}, [](const Ran& ran) {
    EXPECT_EQ(elements(ran.value.field(0)), (std::vector<double>{3, 1, 2, 0}));
    EXPECT_EQ(elements(ran.value.field(1)), (std::vector<double>{0, 2}));
    EXPECT_EQ(ran.value.field(0).device(), kOne);
    EXPECT_EQ(ran.value.field(1).device(), kOne);
    EXPECT_EQ(ran.arrivals, (std::vector<uint64_t>{0, 1, 0}));
  });
}

TEST_F(DeviceProgram, NothingStaysBehind) {
  uint64_t before = device_memory(kOne).bytes;
  {
    std::string text = "def @main(%x: Tensor[(1000), float32]) { " +
                       copy("exp(sqrt(" + copy("%x", kThere) + ") + 1f)", kBack) + " }";
    std::vector<Value> arguments{vector(std::vector<float>(1000, 1))};
    auto executable = vm::compile(specialised(text, arguments), Name("main"), {});
    vm::Machine machine(executable);
    machine.run("main", arguments);
    uint64_t steady = device_memory(kOne).bytes;
    uint64_t made = device_memory(kOne).tensors;
    for (int i = 0; i < 3; ++i) machine.run("main", arguments);
    EXPECT_EQ(device_memory(kOne).bytes, steady);
    EXPECT_EQ(device_memory(kOne).tensors, made);  // the arena is kept
    EXPECT_GT(steady, before);
  }
  EXPECT_EQ(device_memory(kOne).bytes, before);
}

TEST_F(DeviceProgram, KeptInAFile) {
  std::vector<Value> arguments{vector({1, 2, 3}, kOne)};
  Module module = specialised(
      "def @main(%x: Tensor[(3), float32]) { on_device(%x, virtual_device=\"cpu(1)\") + "
      "arange(1f, 4f, 1f, dtype=\"float32\") }",
      arguments);
  auto executable = vm::compile(module, Name("main"), {});
  std::string path = ::testing::TempDir() + "/devices.rlx";
  vm::save_executable(*executable, path);
  auto loaded = vm::load_executable(path);
  EXPECT_EQ(vm::disassemble(*loaded), vm::disassemble(*executable));
  EXPECT_NE(vm::disassemble(*loaded).find("on cpu(1)"), std::string::npos);
  Value result = vm::Machine(loaded).run("main", arguments);
  EXPECT_EQ(result.device(), kOne);
  EXPECT_EQ(elements(result), (std::vector<double>{2, 4, 6}));
}

TEST_F(DeviceProgram, VerifyRefusesKernelsOnTwoDevices) {
  std::vector<Value> arguments{vector({1, 2})};
  std::string text = "def @main(%x: Tensor[(2), float32]) { " + copy("exp(%x)", kThere) +
                     " + arange(0f, 2f, 1f, dtype=\"float32\") }";
  auto refused = [&](auto change) -> std::string {
    auto executable = vm::compile(specialised(text, arguments), Name("main"), {});
    change(const_cast<vm::Executable&>(*executable));
    try {
      vm::verify(*executable);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(refused([](vm::Executable&) {}), "");
  // The input of exp elsewhere than its result.
  EXPECT_TRUE(says(refused([](vm::Executable& e) { e.graphs[0].places[0].device = kTwo; }),
                   "a kernel touches tensors on two devices"));
  // A constant that is not where its place says.
  EXPECT_TRUE(says(refused([](vm::Executable& e) {
                     for (vm::Place& place : e.graphs[0].places) {
                       if (place.constant != vm::kNone) place.device = kTwo;
                     }
                   }),
                   "a constant of another device"));
  EXPECT_TRUE(says(refused([](vm::Executable& e) {
                     e.graphs[0].places[0].device = {DeviceType::kCuda, 0};
                   }),
                   "a device that cannot be used"));
  EXPECT_TRUE(says(refused([](vm::Executable& e) {
                     vm::Place view = e.graphs[0].places[0];
                     view.alias = 0;
                     view.device = kTwo;
                     e.graphs[0].places.push_back(view);
                   }),
                   "an alias on another device"));
}

// ---- Any program, with copies put in ------------------------------------------------------------

// Puts every operator of a typed dataflow function on a device of its own choice.
class Scatterer {
 public:
  explicit Scatterer(uint32_t seed) : random_(seed) {}

  FunctionRef run(const FunctionRef& function) {
    for (const VarRef& param : function->params()) device_[param.get()] = any();
    post_order(function->body().get(), [&](const Expr* expr) { place(expr); });
    return make_function({function->params().begin(), function->params().end()},
                         made_.at(function->body().get()));
  }

 private:
  Device any() { return {DeviceType::kCpu, static_cast<int32_t>(random_() % 3)}; }

  void place(const Expr* expr) {
    if (expr->is<Var>()) {
      made_[expr] = make_on_device(ExprRef(expr), device_[expr]);
      return;
    }
    if (expr->is<relay::Op>() || expr->is<Constant>() || expr->is<Literal>()) {
      made_[expr] = ExprRef(expr);
      return;
    }
    Device device = any();
    if (expr->is<TupleGetItem>()) device = device_[expr->operands()[0].get()];
    device_[expr] = device;
    std::vector<ExprRef> operands;
    for (const ExprRef& operand : expr->operands()) {
      ExprRef moved = made_.at(operand.get());
      auto from = device_.find(operand.get());
      if (from != device_.end() && !(from->second == device)) {
        bool tuple = operand->type()->is<TupleType>();
        if (tuple || random_() % 2 == 0) {
          // Its body is where it is known to be.
          moved = make_on_device(moved, from->second);
          AttrsRef attrs = Attrs::make(*get_op("on_device")->attrs_schema(),
                                       std::vector<NamedAttr>{{"virtual_device", device.str(), {}},
                                                              {"constrain_result", true, {}},
                                                              {"constrain_body", false, {}}},
                                       {});
          moved = call_op("on_device", {moved}, attrs);
        } else {
          moved = make_device_copy(moved, from->second, device);
        }
      }
      operands.push_back(std::move(moved));
    }
    ExprRef call = rebuild(expr, operands);
    made_[expr] = expr->is<Call>() ? make_on_device(call, device) : call;
  }

  std::mt19937 random_;
  std::unordered_map<const Expr*, Device> device_;
  std::unordered_map<const Expr*, ExprRef> made_;
};

void expect_near(const Value& found, const Value& wanted) {
  if (wanted.is_tuple()) {
    ASSERT_EQ(found.fields().size(), wanted.fields().size());
    for (size_t i = 0; i < wanted.fields().size(); ++i)
      expect_near(found.field(i), wanted.field(i));
    return;
  }
  std::vector<double> a = elements(found), b = elements(wanted);
  ASSERT_EQ(a.size(), b.size());
  double largest = 1;
  for (double value : b) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ASSERT_LE(std::abs(a[i] - b[i]), 2e-5 * largest) << "element " << i;
  }
}

size_t count_copies(const Module& module) {
  size_t copies = 0;
  post_order(module.function("main"), [&](const Expr* expr) {
    std::optional<DeviceUse> use = device_use(expr);
    if (use && use->copies) ++copies;
  });
  return copies;
}

// One random program, as it is and with its operators on devices of their own; the copies that it
// makes. Nothing for one that does not run.
std::optional<size_t> compare_scattered(const testing::RandomDataflow& program, uint32_t seed,
                                        Module& scattered) {
  Module plain;
  plain.add_function("main", program.function());
  Value wanted;
  try {
    infer_types_or_throw(plain);
    wanted = evaluate_function(plain, "main", program.arguments());
  } catch (const Error&) {
    return std::nullopt;
  }
  scattered.add_function("main", Scatterer(seed).run(FunctionRef(plain.function("main"))));
  infer_types_or_throw(scattered);
  Module planned = plan_devices(scattered);
  infer_types_or_throw(planned);
  Devices devices(planned);
  std::vector<Value> arguments;
  for (size_t i = 0; i < program.arguments().size(); ++i) {
    const Value& value = program.arguments()[i];
    Device device = devices.of(planned.function("main")->params()[i].get());
    bool number = value.shape().empty();
    arguments.push_back(number ? value : Value(value.array().on(device)));
  }
  // A planned program stays as it is: planning again finds nothing to copy.
  EXPECT_EQ(count_copies(plan_devices(planned)), count_copies(planned)) << print_module(planned);
  Ran evaluated = count([&] { return evaluate_function(scattered, "main", arguments); });
  expect_near(evaluated.value, wanted);
  size_t arrivals = evaluated.arrivals[0] + evaluated.arrivals[1] + evaluated.arrivals[2];
  EXPECT_EQ(arrivals, count_copies(planned)) << print_module(planned);
  for (int level : {0, 3}) {
    vm::CompileOptions options;
    options.level = level;
    auto executable = vm::compile(scattered, Name("main"), options);
    vm::Machine machine(executable);
    Ran machined = count([&] { return machine.run("main", arguments); });
    expect_near(machined.value, wanted);
    if (level == 0) {
      EXPECT_EQ(machined.arrivals, evaluated.arrivals) << print_module(planned);
    }
    // Equal copies may have become one.
    for (size_t i = 0; i < 3; ++i) EXPECT_LE(machined.arrivals[i], evaluated.arrivals[i]);
  }
  return arrivals;
}

TEST_F(DeviceProgram, RandomProgramsWithCopiesPutIn) {
  const char* asked = std::getenv("RELAY_RANDOM_PROGRAMS");
  auto programs = asked == nullptr ? 60u : static_cast<uint32_t>(std::strtoul(asked, nullptr, 10));
  uint32_t ran = 0;
  size_t copies = 0;
  for (uint32_t seed = 0; seed < programs && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Module scattered;
    try {
      if (auto made = compare_scattered(testing::RandomDataflow(seed), seed, scattered)) {
        ++ran;
        copies += *made;
      }
    } catch (const Error& error) {
      FAIL() << error.what() << "\n" << print_module(scattered);
    }
  }
  EXPECT_GT(ran, programs * 2 / 3);
  EXPECT_GT(copies, programs);
}

}  // namespace
}  // namespace relay::device_program_test

// Code that machines run: their own, and that of other executables' closures.
#include <gtest/gtest.h>

#include <memory>

#include <relay/support/error.h>
#include <tests/unit/machine_testing.h>

namespace relay::vm::machine_image_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

Value i32(int32_t value) { return Value::scalar(value); }

// The values that a server's programs give one another: closures of many executables, run by one
// machine.
TEST(MachineImage, ImagesOfForeignClosuresGoWithThem) {
  auto apply = std::make_shared<Executable>();
  Assembler g("@apply", 2, 3);
  g.list(Op::kCallClosure, 2, 0, {0, 1});
  g.ret(2);
  entry(*apply, "apply", g.add_to(*apply));
  Machine machine(apply);
  // A closure that adds 7, in an executable of its own that runs a graph.
  auto make = [](std::weak_ptr<const Executable>& alive) {
    auto e = std::make_shared<Executable>();
    GraphAssembler graph("same");
    graph.input(kInt32, {});
    graph.g.outputs = {0};
    uint32_t same = graph.add_to(*e);
    Assembler f("fn", 1, 3);
    f.f.num_captures = 1;
    f.list(Op::kRunGraph, kNone, same, {0, 1});
    f.op(Op::kCapture, 2, 0);
    f.binary(Binary::kAdd, kInt32, 1, 1, 2);
    f.ret(1);
    uint32_t inner = f.add_to(*e);
    Assembler m("@main", 1, 2);
    m.list(Op::kClosure, 1, inner, {0});
    m.ret(1);
    entry(*e, "main", m.add_to(*e));
    alive = e;
    return run(e, "main", {i32(7)});
  };
  std::weak_ptr<const Executable> first, second;
  Value closure = make(first);
  auto call = [&](const Value& of, int32_t number) {
    return machine.run("apply", std::vector<Value>{of, i32(number)}).as<int32_t>();
  };
  EXPECT_EQ(call(closure, 1), 8);
  EXPECT_EQ(call(closure, 2), 9);
  EXPECT_FALSE(first.expired());
  closure = Value();
  EXPECT_TRUE(first.expired());  // though the machine rests
  // One that dies as it runs, and a run that fails.
  EXPECT_EQ(call(make(second), 3), 10);
  EXPECT_TRUE(second.expired());
  closure = make(second);
  EXPECT_THROW(machine.run("apply", std::vector<Value>{closure, closure}), Error);
  EXPECT_EQ(call(closure, 4), 11);
  closure = Value();
  EXPECT_TRUE(second.expired());
}

}  // namespace
}  // namespace relay::vm::machine_image_test

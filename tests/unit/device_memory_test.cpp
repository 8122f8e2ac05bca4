// Devices of tensors: accounts, limits, exchange.
#include <gtest/gtest.h>

#include <relay/eval/eval.h>
#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/runtime/device.h>
#include <relay/runtime/dlpack.h>
#include <relay/runtime/value.h>
#include <relay/support/error.h>

namespace relay::device_memory_test {
namespace {

constexpr Device kOne{DeviceType::kCpu, 1};
constexpr Device kTwo{DeviceType::kCpu, 2};

std::string message(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Device, Text) {
  EXPECT_EQ(kCpu.str(), "cpu(0)");
  EXPECT_EQ(Device::parse("cpu(1)"), kOne);
  EXPECT_EQ(Device::parse("cuda"), (Device{DeviceType::kCuda, 0}));
  EXPECT_EQ(Device::parse("cpu(63)"), (Device{DeviceType::kCpu, kCpuDevices - 1}));
  EXPECT_FALSE(Device::parse("cpu(64)").has_value());
  EXPECT_TRUE(Device::parse("rocm(64)").has_value());
  EXPECT_EQ(Device::parse("cuda(3)")->str(), "cuda(3)");
  for (const char* wrong : {"", "cpu(", "cpu()", "cpu(-1)", "cpu(1", "cpu(1))", "cpu(x)", "gpu(0)",
                            "cpu (0)", "cpu(99999999999)", "CPU"})
    EXPECT_FALSE(Device::parse(wrong).has_value()) << wrong;
  EXPECT_EQ(Device::of(2, 5), (Device{DeviceType::kCuda, 5}));
  EXPECT_FALSE(Device::of(5, 0).has_value());
  EXPECT_FALSE(Device::of(1, -1).has_value());
  EXPECT_TRUE(is_usable(kTwo));
  EXPECT_FALSE(is_usable({DeviceType::kCpu, kCpuDevices}));
  EXPECT_FALSE(is_usable({DeviceType::kCuda, 0}));
}

TEST(Device, AnAccountForEach) {
  DeviceMemory one = device_memory(kOne), two = device_memory(kTwo);
  {
    NDArray array = NDArray::empty({1000}, kFloat32, kOne);
    EXPECT_EQ(array.device(), kOne);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.raw()) % NDArray::kAlignment, 0u);
    EXPECT_EQ(device_memory(kOne).bytes, one.bytes + 4000);
    EXPECT_EQ(device_memory(kOne).tensors, one.tensors + 1);
    EXPECT_TRUE(array.unique());
    // Views share the memory, copies are on the same device.
    NDArray view = array.slice(0, 10, 20);
    EXPECT_EQ(view.device(), kOne);
    EXPECT_EQ(device_memory(kOne).bytes, one.bytes + 4000);
    NDArray copy = view.copy();
    EXPECT_EQ(copy.device(), kOne);
    EXPECT_EQ(device_memory(kOne).bytes, one.bytes + 4080);
    EXPECT_EQ(view.cast(kFloat64).device(), kOne);
    EXPECT_EQ(array.reshape(std::vector<int64_t>{10, 100}).transpose().contiguous().device(), kOne);
    EXPECT_GE(device_memory(kOne).peak, one.bytes + 4080);
  }
  EXPECT_EQ(device_memory(kOne).bytes, one.bytes);
  EXPECT_EQ(device_memory(kTwo).bytes, two.bytes);
  EXPECT_EQ(device_memory(kTwo).tensors, two.tensors);
  EXPECT_GT(device_memory(kCpu).limit, 0u);
}

TEST(Device, FromOneToAnother) {
  NDArray host = NDArray::from<int32_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(host.device(), kCpu);
  EXPECT_EQ(host.on(kCpu), host);
  NDArray there = host.transpose().on(kOne);
  EXPECT_EQ(there.device(), kOne);
  EXPECT_EQ(there.element_as_int64(1), 3);
  EXPECT_FALSE(bit_equal(there, host.transpose()));
  EXPECT_TRUE(bit_equal(there.on(kCpu), host.transpose()));
  NDArray uniform = NDArray::uniform(NDArray::scalar<float>(2), std::vector<int64_t>{5}).on(kTwo);
  EXPECT_TRUE(uniform.is_uniform());
  EXPECT_EQ(uniform.device(), kTwo);
  EXPECT_EQ(uniform.copy().device(), kTwo);
  EXPECT_EQ(there.compact().device(), kOne);
  EXPECT_EQ(Value(there).device(), kOne);
  EXPECT_EQ(Value::scalar<float>(1).device(), kCpu);
}

TEST(Device, LimitsAndDevicesThatAreNot) {
  DeviceMemory before = device_memory(kOne);
  set_device_memory_limit(kOne, before.bytes + 100);
  EXPECT_EQ(
      message([] { NDArray::empty({1000}, kFloat32, kOne); }),
      "tensor of shape (1000,) and dtype float32 needs 4000 bytes, more than is left of the " +
          std::to_string(before.bytes + 100) + " bytes of cpu(1)");
  EXPECT_NO_THROW(NDArray::empty({25}, kFloat32, kOne));
  set_device_memory_limit(kOne, 0);
  EXPECT_NO_THROW(NDArray::empty({1000}, kFloat32, kOne));
  EXPECT_EQ(device_memory(kOne).bytes, before.bytes);
  EXPECT_EQ(message([] {
              NDArray::empty({1}, kFloat32, {DeviceType::kCuda, 0});
            }),
            "nothing can run on cuda(0): only devices of the kind cpu have a back end");
  EXPECT_EQ(message([] {
              NDArray::empty({1}, kFloat32, {DeviceType::kCpu, 64});
            }),
            "there is no device cpu(64): the last one of its kind is cpu(63)");
  EXPECT_THROW(NDArray::empty({-1}, kFloat32, kOne), Error);
}

TEST(Device, DlpackKeepsIt) {
  NDArray there = NDArray::from<float>({3}, {1, 2, 3}).on(kTwo);
  dlpack::ManagedTensor* managed = dlpack::export_array(there);
  EXPECT_EQ(managed->tensor.device, kTwo);
  NDArray back = dlpack::import_array(managed);
  EXPECT_EQ(back.device(), kTwo);
  EXPECT_EQ(back.raw(), there.raw());
  managed = dlpack::export_array(there);
  managed->tensor.device = {DeviceType::kCuda, 0};
  EXPECT_EQ(message([&] { dlpack::import_array(managed); }),
            "a DLPack tensor cannot be used: nothing can run on cuda(0): only devices of the kind "
            "cpu have a back end");
}

TEST(Device, OperatorsStayOnTheirs) {
  NDArray a = NDArray::from<float>({2}, {1, 2});
  std::vector<Value> there{Value(a.on(kOne)), Value(a.on(kOne))};
  Value sum = apply_op(get_op("add"), {}, there);
  EXPECT_EQ(sum.device(), kOne);
  EXPECT_EQ(sum.array().element_as_double(1), 4);
  std::vector<Value> mixed{Value(a.on(kOne)), Value(a)};
  EXPECT_NE(message([&] {
              apply_op(get_op("add"), {}, mixed);
            }).find("a tensor is on cpu(0), and the program wants it on cpu(1)"),
            std::string::npos);
  // One that expands to others: what these make is there too.
  std::vector<Value> pair{Value::tuple({Value(a.on(kTwo)), Value(a.on(kTwo))})};
  EXPECT_EQ(apply_op(get_op("stack"), {}, pair).device(), kTwo);
}

TEST(DeviceDeathTest, TheGuardEndsWhatReadsElsewhere) {
  set_device_guard(true);
  NDArray there = NDArray::from<float>({2}, {1, 2}).on(kTwo);
  const float* data = there.data<float>();
  {
    DeviceAccess access(kTwo, kTwo);
    EXPECT_EQ(data[1], 2);
  }
  EXPECT_DEATH(
      {
        DeviceAccess access(kOne, kOne);
        volatile float read = data[1];
        (void)read;
      },
      "");
  EXPECT_EQ(data[1], 2);  // when nothing runs, the host may read
  set_device_guard(false);
}

}  // namespace
}  // namespace relay::device_memory_test

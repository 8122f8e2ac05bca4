// Bytes of files on their way into arrays.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <relay/import/onnx/tensors.h>
#include <relay/support/error.h>

namespace relay::onnx::import_onnx_tensors_test {
namespace {

class ImportOnnxTensors : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream file(path_, std::ios::binary);
    for (size_t i = 0; i < kSize; ++i) file.put(static_cast<char>(byte_at(i)));
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static uint8_t byte_at(size_t i) { return static_cast<uint8_t>(i * 7 + i / 251); }

  static constexpr size_t kSize = (size_t{5} << 20) + 4096;
  const std::string path_ =
      (std::filesystem::path(::testing::TempDir()) / "import_onnx_tensors.bin").string();
};

TEST_F(ImportOnnxTensors, CopiesAllBytes) {
  const auto bytes = Bytes::map(path_);
  std::vector<std::byte> to(2 * kSize);
  Copies copies;
  copies.add(bytes, bytes->all(), to.data());
  copies.add(bytes, bytes->all().subspan(1), to.data() + kSize);
  copies.add(bytes, {}, to.data());
  copies.run();
  for (size_t i = 0; i < kSize; ++i) ASSERT_EQ(static_cast<uint8_t>(to[i]), byte_at(i)) << i;
  for (size_t i = 0; i + 1 < kSize; ++i)
    ASSERT_EQ(static_cast<uint8_t>(to[kSize + i]), byte_at(i + 1)) << i;
}

// Whichever piece lies behind the end.
TEST_F(ImportOnnxTensors, FilesThatWereCutShort) {
  const auto bytes = Bytes::map(path_);
  for (size_t left : {kSize - 1, size_t{1} << 20, size_t{0}}) {
    std::filesystem::resize_file(path_, left);
    std::vector<std::byte> to((size_t{1} << 20) + 4096);
    Copies copies;
    for (const char* name : {"first", "second"}) {
      copies.set_name(name);
      copies.add(bytes, bytes->all().last(to.size()), to.data());
    }
    try {
      copies.run();
      FAIL();
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "the initializer \"first\": a model's file was cut short while it was read");
    }
  }
}

}  // namespace
}  // namespace relay::onnx::import_onnx_tensors_test

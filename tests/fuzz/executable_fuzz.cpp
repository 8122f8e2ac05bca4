// libFuzzer target: any bytes are an executable that passes the verifier, or are refused. Code is
// not run.
//
//   clang++ -fsanitize=fuzzer,address … (target executable_fuzz)
#include <cstddef>
#include <cstdint>
#include <vector>

#include <relay/support/error.h>
#include <relay/vm/machine/executable_codec.h>
#include <relay/vm/machine/executable_file.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    vm::load_executable(bytes, "fuzz");
  } catch (const Error&) {
  }
  // Past the checksums.
  std::vector<std::byte> tensors(4096);
  auto tensor = [](ShapeView shape, DType dtype, size_t) { return NDArray::zeros(shape, dtype); };
  vm::Executable executable;
  try {
    vm::ByteReader reader(bytes);
    vm::decode_executable(reader, {}, tensors, tensor, executable);
  } catch (const Error&) {
  }
  try {
    vm::verify(executable);
  } catch (const Error&) {
    return 0;
  }
  vm::disassemble(executable);
  return 0;
}

// libFuzzer target: any bytes are a file of parameters (.params, .npz, .safetensors by what they
// begin with) or a .npy file, or are refused, and what is read is written and read back the same.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <relay/runtime/memory.h>
#include <relay/runtime/npy.h>
#include <relay/runtime/params.h>
#include <relay/support/error.h>

#include <tests/fuzz/fuzz.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  // A small file may unpack to a large array, which is then the account's to refuse.
  set_memory_limit(size_t{256} << 20);
  const fuzz::MemoryFile file(fuzz::text_of(data, size));
  try {
    read_npy(file.path());
  } catch (const Error&) {
  }
  NamedArrays arrays;
  try {
    arrays = load_params(file.path());
  } catch (const Error&) {
    return 0;
  }
  static const std::string copy =
      (std::filesystem::temp_directory_path() / ("params_fuzz." + std::to_string(::getpid())))
          .string();
  write_tvm_params(copy, arrays);
  NamedArrays again = read_tvm_params(copy);
  std::filesystem::remove(copy);
  if (again.size() != arrays.size()) std::abort();
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (again[i].first != arrays[i].first || !bit_equal(again[i].second, arrays[i].second))
      std::abort();
  }
  return 0;
}

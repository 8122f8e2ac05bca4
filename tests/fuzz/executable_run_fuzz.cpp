// libFuzzer target: bytes are edits of an executable that calls a library kernel. Whatever becomes
// of it is refused, or runs within its operands.
//
//   clang++ -fsanitize=fuzzer,address … (target executable_run_fuzz)
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <relay/runtime/memory.h>
#include <tests/unit/executable_edits.h>
#include <tests/unit/library_cases.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;      // NOLINT(google-build-using-namespace)
  using namespace relay::vm;  // NOLINT(google-build-using-namespace)
  static const std::vector<testing::LibraryCase> cases = testing::library_cases();
  static const bool limited = (set_memory_limit(size_t{256} << 20), true);
  static_cast<void>(limited);
  const uint8_t* at = data;
  const testing::Chance chance = [&](uint32_t n) -> uint32_t {
    if (n < 2 || at == data + size) return 0;
    return *at++ % n;
  };
  const testing::LibraryCase& of = cases[chance(static_cast<uint32_t>(cases.size()))];
  std::shared_ptr<Executable> e = testing::executable_of(of);
  testing::ExecutableEditor editor(*e, chance);
  for (uint32_t edits = chance(8); edits > 0; --edits) editor.edit();
  if (e->kernels[0].library == "debug") return 0;  // prints
  static const std::atomic<bool> never{false};
  testing::load_and_run(*e, chance, never);
  return 0;
}

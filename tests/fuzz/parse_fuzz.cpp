// libFuzzer target: any bytes parse or are refused, and what parses prints to the same program.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <relay/ir/equal.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  ParseResult result = parse_text("fuzz", std::string(reinterpret_cast<const char*>(data), size));
  if (!result.ok()) return 0;
  ParseResult again = parse_text("printed", print_module(result.module));
  if (!again.ok() || !structural_equal(result.module, again.module)) std::abort();
  return 0;
}

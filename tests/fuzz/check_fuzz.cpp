// libFuzzer target: what parses gets types or is refused; what has types is well formed, and prints
// with them, as JSON and as a drawing. Its text has the same types again.
#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/print/dot.h>
#include <relay/print/json.h>
#include <relay/print/print.h>

#include <tests/fuzz/fuzz.h>

namespace {

using namespace relay;

bool has_errors(std::span<const Diagnostic> diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity == Severity::kError) return true;
  }
  return false;
}

std::string typed_text(const Module& module) {
  PrintOptions options;
  options.show_types = true;
  return print_module(module, options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ParseResult parsed = parse_text("fuzz", std::string(fuzz::text_of(data, size)));
  if (!parsed.ok()) {
    // The rest of a wrong program is typed as well, for further errors.
    if (parsed.only_attributes) infer_types(parsed.module);
    return 0;
  }
  if (has_errors(infer_types(parsed.module))) return 0;
  fuzz::require(!has_errors(verify(parsed.module)), "a program that has types is well formed");
  check_instances(parsed.module);
  fuzz::require(nlohmann::json::accept(print_json(parsed.module)), "JSON of a program is JSON");
  print_dot(parsed.module);

  const std::string text = typed_text(parsed.module);
  ParseResult again = parse_text("printed", text);
  fuzz::require(again.ok(), "a program printed with its types parses");
  fuzz::require(!has_errors(infer_types(again.module)), "a printed program has types");
  fuzz::require(typed_text(again.module) == text, "a printed program has the same types");
  return 0;
}

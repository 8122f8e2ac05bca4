// libFuzzer target: any bytes are an ONNX model or are refused; what is taken has types, or is
// refused with them, and is printed and parsed again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay;
  set_memory_limit(size_t{256} << 20);
  OnnxModel model;
  try {
    model = from_onnx(std::as_bytes(std::span(data, size)));
  } catch (const Error&) {
    return 0;
  }
  std::string text = print_module(model.module);
  if (!parse_text("again", text).ok()) std::abort();
  // Every call was typed when it was made.
  for (const Diagnostic& diagnostic : infer_types(model.module)) {
    if (diagnostic.severity == Severity::kError) std::abort();
  }
  return 0;
}

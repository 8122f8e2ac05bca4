// libFuzzer target: any bytes are the `#[metadata]` section of a program that refers to it in every
// way, or are refused; a program that parses prints to an equal one. The same bytes are tried as
// base64 and as a tensor in it.
#include <cstddef>
#include <cstdint>
#include <string>

#include <relay/ir/equal.h>
#include <relay/ir/metadata.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>

#include <tests/fuzz/fuzz.h>

namespace {

using namespace relay;

constexpr std::string_view kProgram = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 4, 4), float32], %w: Tensor[(1, 3, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, meta[relay.attrs.Conv2DAttrs][0]);
  %1 = transpose(%0, meta[relay.attrs.TransposeAttrs][0]);
  %2 = on_device(%1, virtual_device=meta[VirtualDevice][0], constrain_body=True);
  (%2, meta[relay.Constant][0], meta[relay.Constant][1], meta[relay.Constant][0])
}
#[metadata]
)";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  set_memory_limit(size_t{256} << 20);
  const std::string_view bytes = fuzz::text_of(data, size);
  const ParseResult parsed = parse_text("fuzz", std::string(kProgram) + std::string(bytes));
  if (parsed.ok()) {
    const ParseResult again = parse_text("printed", print_module(parsed.module));
    fuzz::require(again.ok(), "a program printed with its constants parses");
    fuzz::require(structural_equal(parsed.module, again.module),
                  "a program printed with its constants is equal");
  }
  try {
    const std::string decoded = decode_base64(bytes);
    fuzz::require(decode_base64(encode_base64(decoded)) == decoded, "base64 keeps bytes");
  } catch (const Error&) {
  }
  for (const std::string& text : {std::string(bytes), encode_base64(bytes)}) {
    try {
      const NDArray array = decode_ndarray(text);
      fuzz::require(bit_equal(decode_ndarray(encode_ndarray(array)), array), "tensors stay");
    } catch (const Error&) {
    }
  }
  return 0;
}

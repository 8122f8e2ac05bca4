// libFuzzer target: any bytes are an ONNX model or are refused; what is taken has types, is printed
// and parsed again, and, where it is small and its extents are known, compiled. Nothing runs.
//
// The corpus is made by tests/fuzz/onnx_corpus.py.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>

#include <tests/fuzz/protobuf.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t capacity);

namespace {

using namespace relay;

// A kernel takes milliseconds.
constexpr size_t kMostCalls = 24;
constexpr size_t kMostNativeCalls = 4;
constexpr int64_t kMostElements = 1 << 16;

size_t calls_of(const Module& module) {
  size_t calls = 0;
  for (const Module::FunctionEntry& entry : module.functions()) {
    post_order(entry.function.get(),
               [&](const Expr* node) { calls += node->as<Call>() != nullptr ? 1 : 0; });
  }
  return calls;
}

// Tensors of known extents that are not large.
bool is_small(const TypeRef& type) {
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr || !tensor->has_rank()) return false;
  int64_t elements = 1;
  for (const Dim& dim : tensor->dims()) {
    std::optional<int64_t> extent = dim.constant();
    if (!extent || __builtin_mul_overflow(elements, *extent, &elements)) return false;
  }
  return elements <= kMostElements;
}

void compile_small(const Module& module) {
  const Name entry("main");
  TypeRef signature = function_signature(module, entry);
  const auto* type = signature ? signature->as<FuncType>() : nullptr;
  if (type == nullptr || type->has_type_var() || type->has_incomplete()) return;
  for (const TypeRef& param : type->params()) {
    if (!is_small(param)) return;
  }
  size_t calls = calls_of(module);
  if (calls > kMostCalls) return;
  try {
    Module special = specialize(module, entry, type->params());
    vm::CompileOptions options;
    options.threads = 1;
    options.direct = calls > kMostNativeCalls;
    vm::compile(special, entry, options);
  } catch (const Error&) {
    // The errors that a run would report: a constant that is out of range, more memory than there
    // may be.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  set_memory_limit(size_t{128} << 20);
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
    if (diagnostic.severity != Severity::kError) continue;
    std::fputs((render(diagnostic) + text).c_str(), stderr);
    std::abort();
  }
  compile_small(model.module);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t capacity,
                                          unsigned seed) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::optional<fuzz::Message> message;
  if (seed % 8 != 0) message = fuzz::read_message(text);
  if (!message) return LLVMFuzzerMutate(data, size, capacity);
  fuzz::Mutator(seed / 8, LLVMFuzzerMutate).mutate(*message);
  std::string bytes = fuzz::write_message(*message);
  if (bytes.size() > capacity) return LLVMFuzzerMutate(data, size, capacity);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data, size_t size, const uint8_t* from,
                                            size_t from_size, uint8_t* out, size_t capacity,
                                            unsigned seed) {
  auto text = [](const uint8_t* bytes, size_t count) {
    return std::string_view(reinterpret_cast<const char*>(bytes), count);
  };
  std::optional<fuzz::Message> message = fuzz::read_message(text(data, size));
  std::optional<fuzz::Message> source = fuzz::read_message(text(from, from_size));
  if (!message || !source) return 0;
  fuzz::Mutator(seed, LLVMFuzzerMutate).cross(*message, *source);
  std::string bytes = fuzz::write_message(*message);
  if (bytes.size() > capacity) return 0;
  std::memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}

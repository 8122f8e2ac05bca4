// Which function converts which operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <relay/import/onnx/graph_value.h>

namespace relay::onnx {

class NodeContext;

/// Converts one node: its outputs in order; those at the end may be left out where the node does
/// not ask for them, and one that the node does not ask for may be empty.
using Converter = std::vector<GraphValue> (*)(NodeContext& node);

struct ConverterEntry {
  std::string_view domain;
  std::string_view op_type;
  int64_t since;  // the first version of the domain's operator set that it converts
  Converter convert;
};

/// The converter for a version of an operator set, or null.
Converter find_converter(std::string_view domain, std::string_view op_type, int64_t version);
/// The first version that an operator is converted of, if it is converted at all.
std::optional<int64_t> oldest_version(std::string_view domain, std::string_view op_type);
/// Everything that is converted, by domain, operator and version.
std::vector<ConverterEntry> all_converters();

/// Registers; for RELAY_ONNX.
bool register_converter(ConverterEntry entry);

}  // namespace relay::onnx

#define RELAY_ONNX_CONCAT2(a, b) a##b
#define RELAY_ONNX_CONCAT(a, b) RELAY_ONNX_CONCAT2(a, b)
/// Registers a converter of the default domain, at namespace scope of a file in ops/:
/// `RELAY_ONNX("Softmax", 13, convert_softmax)` holds from opset 13 up to the next entry for
/// Softmax.
#define RELAY_ONNX(op_type, since, convert) RELAY_ONNX_DOMAIN("", op_type, since, convert)
/// The same for another domain: `RELAY_ONNX_DOMAIN("com.microsoft", "Gelu", 1, convert_gelu)`.
#define RELAY_ONNX_DOMAIN(domain, op_type, since, convert)                         \
  [[maybe_unused]] static const bool RELAY_ONNX_CONCAT(relay_onnx_, __COUNTER__) = \
      ::relay::onnx::register_converter({domain, op_type, since, convert});

// Small ONNX models, written byte by byte: independent of the reader under test.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace relay::testing {

/// A protobuf message under construction.
class Proto {
 public:
  Proto& number(uint32_t field, int64_t value) {
    key(field, 0);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Proto& text(uint32_t field, std::string_view value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Proto& message(uint32_t field, const Proto& value) { return text(field, value.bytes_); }
  Proto& float32(uint32_t field, float value) {
    key(field, 5);
    auto bits = std::bit_cast<uint32_t>(value);
    bytes_.append(reinterpret_cast<const char*>(&bits), 4);
    return *this;
  }
  template <class T>
  Proto& raw(uint32_t field, const std::vector<T>& values) {
    return text(field, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  const std::string& bytes() const { return bytes_; }
  std::span<const std::byte> span() const { return std::as_bytes(std::span(bytes_)); }

 private:
  void key(uint32_t field, uint32_t wire) { varint(uint64_t{field} << 3 | wire); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Numbers of TensorProto.DataType.
inline constexpr int kOnnxFloat = 1, kOnnxInt32 = 6, kOnnxInt64 = 7, kOnnxString = 8, kOnnxBool = 9;

/// An extent of a declared type: a number or a name.
using OnnxDim = std::variant<int64_t, std::string>;

/// ValueInfoProto of a tensor.
inline Proto onnx_value(std::string_view name, int dtype, const std::vector<OnnxDim>& dims) {
  Proto shape;
  for (const OnnxDim& dim : dims) {
    Proto one;
    if (const auto* value = std::get_if<int64_t>(&dim)) {
      one.number(1, *value);
    } else {
      one.text(2, std::get<std::string>(dim));
    }
    shape.message(1, one);
  }
  Proto tensor = Proto().number(1, dtype).message(2, shape);
  return Proto().text(1, name).message(2, Proto().message(1, tensor));
}

/// TensorProto with raw_data.
template <class T>
Proto onnx_tensor(std::string_view name, int dtype, const std::vector<int64_t>& dims,
                  const std::vector<T>& values) {
  Proto tensor;
  for (int64_t dim : dims) tensor.number(1, dim);
  return tensor.number(2, dtype).text(8, name).raw(9, values);
}
inline Proto onnx_ints(std::string_view name, const std::vector<int64_t>& values) {
  return onnx_tensor<int64_t>(name, kOnnxInt64, {static_cast<int64_t>(values.size())}, values);
}

// AttributeProto.
inline Proto onnx_int_attr(std::string_view name, int64_t value) {
  return Proto().text(1, name).number(3, value).number(20, 2);
}
inline Proto onnx_float_attr(std::string_view name, float value) {
  return Proto().text(1, name).float32(2, value).number(20, 1);
}
inline Proto onnx_ints_attr(std::string_view name, const std::vector<int64_t>& values) {
  Proto attribute = Proto().text(1, name);
  for (int64_t value : values) attribute.number(8, value);
  return attribute.number(20, 7);
}
inline Proto onnx_floats_attr(std::string_view name, const std::vector<float>& values) {
  Proto attribute = Proto().text(1, name);
  for (float value : values) attribute.float32(7, value);
  return attribute.number(20, 6);
}
inline Proto onnx_string_attr(std::string_view name, std::string_view value) {
  return Proto().text(1, name).text(4, value).number(20, 3);
}
inline Proto onnx_strings_attr(std::string_view name, const std::vector<std::string>& values) {
  Proto attribute = Proto().text(1, name);
  for (const std::string& value : values) attribute.text(9, value);
  return attribute.number(20, 8);
}
inline Proto onnx_graph_attr(std::string_view name, const Proto& graph) {
  return Proto().text(1, name).message(6, graph).number(20, 5);
}
inline Proto onnx_tensor_attr(std::string_view name, const Proto& tensor) {
  return Proto().text(1, name).message(5, tensor).number(20, 4);
}
inline Proto onnx_reference(std::string_view name, std::string_view of, int kind) {
  return Proto().text(1, name).text(21, of).number(20, kind);
}

/// NodeProto.
inline Proto onnx_node(std::string_view op, const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs,
                       const std::vector<Proto>& attributes = {}, std::string_view name = "",
                       std::string_view domain = "") {
  Proto node;
  for (const std::string& input : inputs) node.text(1, input);
  for (const std::string& output : outputs) node.text(2, output);
  if (!name.empty()) node.text(3, name);
  node.text(4, op);
  if (!domain.empty()) node.text(7, domain);
  for (const Proto& attribute : attributes) node.message(5, attribute);
  return node;
}

/// GraphProto.
inline Proto onnx_graph(const std::vector<Proto>& nodes, const std::vector<Proto>& inputs,
                        const std::vector<Proto>& outputs,
                        const std::vector<Proto>& initializers = {}) {
  Proto graph;
  for (const Proto& node : nodes) graph.message(1, node);
  graph.text(2, "g");
  for (const Proto& tensor : initializers) graph.message(5, tensor);
  for (const Proto& input : inputs) graph.message(11, input);
  for (const Proto& output : outputs) graph.message(12, output);
  return graph;
}

inline Proto onnx_opset(std::string_view domain, int64_t version) {
  return Proto().text(1, domain).number(2, version);
}

/// ModelProto.
inline Proto onnx_model(const Proto& graph, int64_t opset = 17,
                        const std::vector<Proto>& functions = {}) {
  Proto model = Proto().number(1, 8).message(8, onnx_opset("", opset)).message(7, graph);
  if (!functions.empty()) model.message(8, onnx_opset("local", 1));
  for (const Proto& function : functions) model.message(25, function);
  return model;
}

/// FunctionProto of the domain "local".
inline Proto onnx_function(std::string_view name, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs, const std::vector<Proto>& nodes,
                           const std::vector<std::string>& attributes = {}, int64_t opset = 17) {
  Proto function = Proto().text(1, name);
  for (const std::string& input : inputs) function.text(4, input);
  for (const std::string& output : outputs) function.text(5, output);
  for (const std::string& attribute : attributes) function.text(6, attribute);
  for (const Proto& node : nodes) function.message(7, node);
  return function.message(9, onnx_opset("", opset))
      .message(9, onnx_opset("local", 1))
      .text(10, "local");
}

}  // namespace relay::testing

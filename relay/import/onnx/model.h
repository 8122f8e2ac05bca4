// An ONNX model as it is in the file: plain data, nothing checked but the encoding. Texts and raw
// bytes are views of the file, which the model keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/runtime/dtype.h>

namespace relay::onnx {

struct Graph;

/// Bytes that stay where they are as long as somebody holds them: a mapped file, or a copy.
class Bytes {
 public:
  /// Maps a file privately: what is written to the memory never reaches the file. Throws `Error`.
  static std::shared_ptr<const Bytes> map(const std::string& path);
  static std::shared_ptr<const Bytes> copy_of(std::span<const std::byte> bytes);
  ~Bytes();
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::span<const std::byte> all() const { return {data_, size_}; }
  /// Copies a part of `all()`, straight from the file if it is one: pages that are only copied need
  /// not be mapped. Throws `Error` if the file got shorter.
  void copy(std::span<const std::byte> part, std::byte* to) const;

 private:
  Bytes() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  void* mapping_ = nullptr;
  int file_ = -1;  // of the mapping
  std::vector<std::byte> copy_;
};

/// A tensor's contents: in `raw`, in one of the typed lists, or in another file.
struct TensorData {
  std::string_view name;
  int64_t dtype = 0;  // a number of TensorProto.DataType
  std::vector<int64_t> dims;
  std::optional<std::span<const std::byte>> raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int64_t> ints;  // of int32_data, int64_data, uint64_data
  std::vector<std::string_view> strings;
  bool external = false;
  std::vector<std::pair<std::string_view, std::string_view>> where;  // of external data
};

struct SparseTensorData {
  TensorData values;
  TensorData indices;
  std::vector<int64_t> dims;
};

struct DimInfo {
  std::optional<int64_t> value;
  std::string_view name;  // empty for none
};

/// A declared type. A tensor without `dims` is of any rank.
struct TypeInfo {
  enum class Kind : uint8_t { kNone, kTensor, kSequence, kMap, kOptional, kSparse };
  Kind kind = Kind::kNone;
  int64_t dtype = 0;
  std::optional<std::vector<DimInfo>> dims;
  std::shared_ptr<const TypeInfo> element;  // of sequences and optional types
};

struct ValueInfo {
  std::string_view name;
  TypeInfo type;
};

/// Numbers of AttributeProto.AttributeType.
enum class AttributeKind : uint8_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kType = 13,
  kTypes = 14
};
/// "an int", "a list of floats", ….
std::string_view attribute_kind_text(AttributeKind kind);

struct Attribute {
  std::string_view name;
  std::string_view reference;  // in a function: the attribute of its calls that this stands for
  AttributeKind kind = AttributeKind::kUndefined;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<TensorData> tensors;  // one for kTensor
  std::vector<SparseTensorData> sparse;
  std::vector<std::shared_ptr<const Graph>> graphs;  // one for kGraph
  std::vector<TypeInfo> types;
};

struct Node {
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;                // "" is ai.onnx
  std::vector<std::string_view> inputs;   // empty: not given
  std::vector<std::string_view> outputs;  // empty: not wanted
  std::vector<Attribute> attributes;
  std::string_view overload;
  /// The attribute of a name, or null.
  const Attribute* attribute(std::string_view name) const;
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<TensorData> initializers;
  std::vector<SparseTensorData> sparse_initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> values;  // types of values in between
};

struct OpsetImport {
  std::string_view domain;
  int64_t version = 0;
};

/// A function of the model, an operator of its own.
struct LocalFunction {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<std::string_view> attributes;  // without defaults
  std::vector<Attribute> defaults;           // attributes with defaults
  std::vector<Node> nodes;
  std::vector<OpsetImport> opsets;
};

struct Model {
  std::string path;  // as messages name it
  std::string folder;
  int64_t ir_version = 0;
  std::vector<OpsetImport> opsets;
  std::optional<Graph> graph;
  std::vector<LocalFunction> functions;
  bool trains = false;  // has training graphs
  std::shared_ptr<const Bytes> bytes;
};

/// Decodes the encoding. Throws `Error` that names the file and the field for what is cut short,
/// nested too deeply, of a wrong kind or no ONNX at all. Takes time and memory in proportion to the
/// bytes.
Model read_model(std::shared_ptr<const Bytes> bytes, std::string path, std::string folder);

/// The domain as it is compared: "ai.onnx" is "".
inline std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

/// The dtype of a number of TensorProto.DataType, if Relay has it.
std::optional<DType> dtype_of_number(int64_t number);
int64_t number_of_dtype(DType dtype);
/// "float8e4m3fn", "string", …: of any number, known to Relay or not.
std::string dtype_number_text(int64_t number);

/// A name for messages: in quotes, cut where it is long, without control characters.
std::string quoted(std::string_view name);

}  // namespace relay::onnx

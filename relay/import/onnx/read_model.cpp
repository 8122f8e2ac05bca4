// The protobuf encoding of ONNX: a reader of its own, since the generated classes would copy
// weights, stop at 2 GB and bring symbols that clash with those of other libraries in a process.
// The numbers of the fields are those of the schema in Debian's libonnx-dev.
#include <bit>
#include <cstring>

#include <onnx_schema.h>
#include <relay/import/onnx/model.h>
#include <relay/runtime/file_kind.h>
#include <relay/support/error.h>

namespace relay::onnx {

// ---- The encoding -------------------------------------------------------------------------------

namespace {

// Where messages nest: an attribute, its graph, a node of that and so on. Readers recurse.
constexpr int kMaxDepth = 100;

class Message {
 public:
  Message(std::span<const std::byte> bytes, const char* what, const std::string& file,
          int depth = 0)
      : at_(bytes.data()), end_(at_ + bytes.size()), what_(what), file_(file), depth_(depth) {
    if (depth > kMaxDepth) {
      throw Error(file + ": messages are nested deeper than " + std::to_string(kMaxDepth) +
                  " levels");
    }
  }

  /// Goes to the next field; false at the end.
  bool next() {
    if (at_ == end_) return false;
    uint64_t key = varint();
    field_ = static_cast<uint32_t>(key >> 3);
    wire_ = static_cast<uint32_t>(key & 7);
    if (key >> 3 == 0 || key >> 3 > (1u << 29)) bad("has a field of number 0");
    switch (wire_) {
      case 0:
        number_ = varint();
        break;
      case 1:
        number_ = fixed(8);
        break;
      case 2: {
        uint64_t size = varint();
        if (size > static_cast<uint64_t>(end_ - at_)) bad("is cut short");
        bytes_ = {at_, static_cast<size_t>(size)};
        at_ += size;
        break;
      }
      case 5:
        number_ = fixed(4);
        break;
      default:
        bad("has a field of an unknown kind");
    }
    return true;
  }
  uint32_t field() const { return field_; }

  int64_t integer() const {
    want(0);
    return static_cast<int64_t>(number_);
  }
  float float32() const {
    want(5);
    return std::bit_cast<float>(static_cast<uint32_t>(number_));
  }
  std::span<const std::byte> bytes() const {
    want(2);
    return bytes_;
  }
  std::string_view text() const {
    want(2);
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  Message message(const char* what) const { return Message(bytes(), what, file_, depth_ + 1); }

  // Lists of numbers are packed or not, by the writer's choice.
  void add_integers(std::vector<int64_t>& to) const {
    if (wire_ != 2) return to.push_back(integer());
    Message packed(bytes_, what_, file_, depth_);
    while (packed.at_ != packed.end_) to.push_back(static_cast<int64_t>(packed.varint()));
  }
  template <class T>
  void add_floats(std::vector<T>& to) const {
    constexpr uint32_t kWire = sizeof(T) == 4 ? 5 : 1;
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    if (wire_ != 2) {
      want(kWire);
      return to.push_back(std::bit_cast<T>(static_cast<Bits>(number_)));
    }
    if (bytes_.size() % sizeof(T) != 0) bad("is cut short");
    size_t before = to.size();
    to.resize(before + bytes_.size() / sizeof(T));
    if (!bytes_.empty()) std::memcpy(to.data() + before, bytes_.data(), bytes_.size());
  }

  [[noreturn]] void bad(const char* reason) const {
    throw Error(file_ + " is no sound ONNX model: " + what_ + " " + reason);
  }

 private:
  void want(uint32_t wire) const {
    if (wire_ == wire) return;
    std::string reason = "has field " + std::to_string(field_) + " in a wrong encoding";
    bad(reason.c_str());
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) bad("is cut short");
      auto byte = static_cast<uint64_t>(*at_++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    bad("has a number of more than 64 bits");
  }
  uint64_t fixed(size_t size) {
    if (static_cast<size_t>(end_ - at_) < size) bad("is cut short");
    uint64_t value = 0;
    std::memcpy(&value, at_, size);
    at_ += size;
    return value;
  }

  const std::byte* at_;
  const std::byte* end_;
  const char* what_;
  const std::string& file_;
  int depth_;
  uint32_t field_ = 0;
  uint32_t wire_ = 0;
  uint64_t number_ = 0;
  std::span<const std::byte> bytes_;
};
static_assert(std::endian::native == std::endian::little);

std::pair<std::string_view, std::string_view> read_entry(Message m) {
  namespace s = schema::StringStringEntryProto;
  std::pair<std::string_view, std::string_view> result;
  while (m.next()) {
    if (m.field() == s::key) result.first = m.text();
    if (m.field() == s::value) result.second = m.text();
  }
  return result;
}

TensorData read_tensor(Message m) {
  namespace s = schema::TensorProto;
  TensorData result;
  while (m.next()) {
    switch (m.field()) {
      case s::dims:
        m.add_integers(result.dims);
        break;
      case s::data_type:
        result.dtype = m.integer();
        break;
      case s::segment:
        m.bad("is a segment of a larger one, which nothing writes");
      case s::float_data:
        m.add_floats(result.floats);
        break;
      case s::double_data:
        m.add_floats(result.doubles);
        break;
      case s::int32_data:
      case s::int64_data:
      case s::uint64_data:
        m.add_integers(result.ints);
        break;
      case s::string_data:
        result.strings.push_back(m.text());
        break;
      case s::name:
        result.name = m.text();
        break;
      case s::raw_data:
        result.raw = m.bytes();
        break;
      case s::external_data:
        result.where.push_back(read_entry(m.message("an entry of external_data")));
        break;
      case s::data_location:
        result.external = m.integer() == s::DataLocation::kEXTERNAL;
        break;
      default:
        break;
    }
  }
  return result;
}

SparseTensorData read_sparse(Message m) {
  namespace s = schema::SparseTensorProto;
  SparseTensorData result;
  while (m.next()) {
    if (m.field() == s::values) result.values = read_tensor(m.message("a sparse tensor's values"));
    if (m.field() == s::indices) {
      result.indices = read_tensor(m.message("a sparse tensor's indices"));
    }
    if (m.field() == s::dims) m.add_integers(result.dims);
  }
  return result;
}

DimInfo read_dim(Message m) {
  namespace s = schema::TensorShapeProto::Dimension;
  DimInfo result;
  while (m.next()) {
    if (m.field() == s::dim_value) result = {m.integer(), {}};
    if (m.field() == s::dim_param) result = {std::nullopt, m.text()};
  }
  return result;
}

// A tensor type; dense and sparse ones have the same fields.
void read_tensor_type(Message m, TypeInfo& to) {
  namespace s = schema::TypeProto::Tensor;
  while (m.next()) {
    if (m.field() == s::elem_type) to.dtype = m.integer();
    if (m.field() != s::shape) continue;
    to.dims.emplace();
    Message shape = m.message("a shape");
    while (shape.next()) {
      if (shape.field() == schema::TensorShapeProto::dim) {
        to.dims->push_back(read_dim(shape.message("a dimension")));
      }
    }
  }
}

TypeInfo read_type(Message m) {
  namespace s = schema::TypeProto;
  TypeInfo result;
  auto of_element = [&](TypeInfo::Kind kind, uint32_t element) {
    result.kind = kind;
    Message inner = m.message("a type");
    while (inner.next()) {
      if (inner.field() != element) continue;
      result.element = std::make_shared<TypeInfo>(read_type(inner.message("an element type")));
    }
  };
  while (m.next()) {
    switch (m.field()) {
      case s::tensor_type:
        result.kind = TypeInfo::Kind::kTensor;
        read_tensor_type(m.message("a tensor type"), result);
        break;
      case s::sparse_tensor_type:
        result.kind = TypeInfo::Kind::kSparse;
        read_tensor_type(m.message("a sparse tensor type"), result);
        break;
      case s::sequence_type:
        of_element(TypeInfo::Kind::kSequence, s::Sequence::elem_type);
        break;
      case s::optional_type:
        of_element(TypeInfo::Kind::kOptional, s::Optional::elem_type);
        break;
      case s::map_type:
        result.kind = TypeInfo::Kind::kMap;
        break;
      default:
        break;
    }
  }
  return result;
}

ValueInfo read_value(Message m) {
  namespace s = schema::ValueInfoProto;
  ValueInfo result;
  while (m.next()) {
    if (m.field() == s::name) result.name = m.text();
    if (m.field() == s::type) result.type = read_type(m.message("a type"));
  }
  return result;
}

Graph read_graph(Message m);

// Writers before IR version 3 left the kind out.
AttributeKind guess_kind(const Attribute& a, uint32_t seen) {
  namespace s = schema::AttributeProto;
  if (!a.floats.empty()) return AttributeKind::kFloats;
  if (!a.ints.empty()) return AttributeKind::kInts;
  if (!a.strings.empty()) return AttributeKind::kStrings;
  switch (seen) {
    case s::f:
      return AttributeKind::kFloat;
    case s::i:
      return AttributeKind::kInt;
    case s::s:
      return AttributeKind::kString;
    case s::t:
      return AttributeKind::kTensor;
    case s::g:
      return AttributeKind::kGraph;
    case s::tensors:
      return AttributeKind::kTensors;
    case s::graphs:
      return AttributeKind::kGraphs;
    default:
      return AttributeKind::kUndefined;
  }
}

Attribute read_attribute(Message m) {
  namespace s = schema::AttributeProto;
  Attribute result;
  uint32_t seen = 0;
  auto add_graph = [&] {
    result.graphs.push_back(
        std::make_shared<Graph>(read_graph(m.message("the graph of an attribute"))));
  };
  while (m.next()) {
    uint32_t field = m.field();
    if (field == s::name) {
      result.name = m.text();
    } else if (field == s::ref_attr_name) {
      result.reference = m.text();
    } else if (field == s::type) {
      int64_t kind = m.integer();
      if (kind < 0 || kind > static_cast<int64_t>(AttributeKind::kTypes)) {
        m.bad("has a type that is unknown");
      }
      result.kind = static_cast<AttributeKind>(kind);
    } else if (field == s::f) {
      result.f = m.float32();
      seen = field;
    } else if (field == s::i) {
      result.i = m.integer();
      seen = field;
    } else if (field == s::s) {
      result.s = m.text();
      seen = field;
    } else if (field == s::t || field == s::tensors) {
      result.tensors.push_back(read_tensor(m.message("the tensor of an attribute")));
      seen = field;
    } else if (field == s::g || field == s::graphs) {
      add_graph();
      seen = field;
    } else if (field == s::sparse_tensor || field == s::sparse_tensors) {
      result.sparse.push_back(read_sparse(m.message("the sparse tensor of an attribute")));
    } else if (field == s::tp || field == s::type_protos) {
      result.types.push_back(read_type(m.message("the type of an attribute")));
    } else if (field == s::floats) {
      m.add_floats(result.floats);
    } else if (field == s::ints) {
      m.add_integers(result.ints);
    } else if (field == s::strings) {
      result.strings.push_back(m.text());
    }
  }
  if (result.kind == AttributeKind::kUndefined) result.kind = guess_kind(result, seen);
  bool sound = true;
  if (result.reference.empty()) {
    if (result.kind == AttributeKind::kTensor) sound = result.tensors.size() == 1;
    if (result.kind == AttributeKind::kGraph) sound = result.graphs.size() == 1;
    if (result.kind == AttributeKind::kSparseTensor) sound = result.sparse.size() == 1;
    if (result.kind == AttributeKind::kType) sound = result.types.size() == 1;
  }
  if (!sound) m.bad("has not the one value that its type speaks of");
  return result;
}

// Fields that the schema of onnx 1.12 does not have yet.
constexpr uint32_t kNodeOverload = 8;
constexpr uint32_t kFunctionDefaults = 11;
constexpr uint32_t kFunctionOverload = 13;

Node read_node(Message m) {
  namespace s = schema::NodeProto;
  Node result;
  while (m.next()) {
    switch (m.field()) {
      case s::input:
        result.inputs.push_back(m.text());
        break;
      case s::output:
        result.outputs.push_back(m.text());
        break;
      case s::name:
        result.name = m.text();
        break;
      case s::op_type:
        result.op_type = m.text();
        break;
      case s::domain:
        result.domain = plain_domain(m.text());
        break;
      case s::attribute:
        result.attributes.push_back(read_attribute(m.message("an attribute")));
        break;
      case kNodeOverload:
        result.overload = m.text();
        break;
      default:
        break;
    }
  }
  return result;
}

Graph read_graph(Message m) {
  namespace s = schema::GraphProto;
  Graph result;
  while (m.next()) {
    switch (m.field()) {
      case s::node:
        result.nodes.push_back(read_node(m.message("a node")));
        break;
      case s::name:
        result.name = m.text();
        break;
      case s::initializer:
        result.initializers.push_back(read_tensor(m.message("an initializer")));
        break;
      case s::sparse_initializer:
        result.sparse_initializers.push_back(read_sparse(m.message("a sparse initializer")));
        break;
      case s::input:
        result.inputs.push_back(read_value(m.message("an input")));
        break;
      case s::output:
        result.outputs.push_back(read_value(m.message("an output")));
        break;
      case s::value_info:
        result.values.push_back(read_value(m.message("a value's type")));
        break;
      default:
        break;
    }
  }
  return result;
}

OpsetImport read_opset(Message m) {
  namespace s = schema::OperatorSetIdProto;
  OpsetImport result;
  while (m.next()) {
    if (m.field() == s::domain) result.domain = plain_domain(m.text());
    if (m.field() == s::version) result.version = m.integer();
  }
  return result;
}

LocalFunction read_function(Message m) {
  namespace s = schema::FunctionProto;
  LocalFunction result;
  while (m.next()) {
    switch (m.field()) {
      case s::name:
        result.name = m.text();
        break;
      case s::domain:
        result.domain = plain_domain(m.text());
        break;
      case s::input:
        result.inputs.push_back(m.text());
        break;
      case s::output:
        result.outputs.push_back(m.text());
        break;
      case s::attribute:
        result.attributes.push_back(m.text());
        break;
      case kFunctionDefaults:
        result.defaults.push_back(read_attribute(m.message("a function's attribute")));
        break;
      case s::node:
        result.nodes.push_back(read_node(m.message("a function's node")));
        break;
      case s::opset_import:
        result.opsets.push_back(read_opset(m.message("an opset")));
        break;
      case kFunctionOverload:
        result.overload = m.text();
        break;
      default:
        break;
    }
  }
  return result;
}

}  // namespace

namespace {

Model decode(std::shared_ptr<const Bytes> bytes, std::string path, std::string folder) {
  namespace s = schema::ModelProto;
  Model result;
  result.path = std::move(path);
  result.folder = std::move(folder);
  Message m(bytes->all(), "the model", result.path);
  while (m.next()) {
    switch (m.field()) {
      case s::ir_version:
        result.ir_version = m.integer();
        break;
      case s::opset_import:
        result.opsets.push_back(read_opset(m.message("an opset")));
        break;
      case s::graph:
        result.graph = read_graph(m.message("the graph"));
        break;
      case s::functions:
        result.functions.push_back(read_function(m.message("a function")));
        break;
      case s::training_info:
        result.trains = true;
        break;
      default:
        break;
    }
  }
  if (!result.graph) m.bad("has no graph");
  result.bytes = std::move(bytes);
  return result;
}

}  // namespace

Model read_model(std::shared_ptr<const Bytes> bytes, std::string path, std::string folder) {
  if (bytes->all().empty()) throw Error(path + ": the file is empty");
  try {
    return decode(bytes, path, std::move(folder));
  } catch (const Error&) {
    std::string other = known_file(bytes->all());
    if (other.empty()) throw;
    throw Error(path + " is not an ONNX model: this is " + other);
  }
}

}  // namespace relay::onnx

// The inputs of a model as parameters of the program, and its outputs.
//
// Models of float16 are stored so to be small, and other runtimes compute them in float32 on CPUs.
// So does the program: it widens inputs and weights, rounds what a Cast rounds, and rounds outputs.
// That takes no longer, and nothing between is rounded to 11 bits.
#include <algorithm>

#include <relay/import/onnx/narrow.h>
#include <relay/import/onnx/ops/text.h>
#include <relay/import/onnx/strings.h>
#include <relay/ir/tensor_types.h>
#include <relay/op/shape/shape_attrs.h>
#include <relay/support/error.h>

namespace relay::onnx {

namespace {
/// More than an address space of today holds.
constexpr double kMostBytes = 0x1p47;
}  // namespace

void Importer::refuse_input(std::string_view name, const std::string& reason) const {
  throw Error(model_.model().path + ": the input " + quoted(name) + " " + reason);
}

void Importer::note_any(std::string_view input, size_t axis, int64_t extent) {
  warnings_.push_back(Diagnostic::warning(model_.model().path + ": the input " + quoted(input) +
                                          " has the extent " + std::to_string(extent) +
                                          " on axis " + std::to_string(axis) +
                                          ", which is read as any extent"));
}

bool Importer::is_text(std::string_view name, const TypeInfo& type) const {
  return type.kind == TypeInfo::Kind::kTensor && type.dtype == kStringElements &&
         !options_.dtypes.contains(std::string(name));
}

GraphValue Importer::written_text(Scope& scope, std::string_view output, const GraphValue& value) {
  warnings_.push_back(Diagnostic::warning(model_.model().path + ": the output " + quoted(output) +
                                          " " + bytes_for_words(false)));
  Node writer;
  writer.op_type = "Output";
  writer.name = output;
  NodeContext context(*this, scope, writer, 1);
  return bytes_of_text(context, value);
}

TypeRef Importer::input_type(std::string_view input, const TypeInfo& type) {
  auto refuse = [&](const std::string& reason) { refuse_input(input, reason); };
  std::string name(input);
  if (type.kind != TypeInfo::Kind::kTensor) refuse("is no tensor, which is not supported");
  bool words = is_text(input, type);
  std::optional<DType> dtype = words ? std::optional(kUInt8) : program_dtype(type.dtype);
  if (auto given = options_.dtypes.find(name); given != options_.dtypes.end()) {
    dtype = given->second;
  }
  if (!dtype) {
    refuse("has elements of type " + dtype_number_text(type.dtype) + ", which are not supported");
  }
  auto shape = options_.shapes.find(name);
  bool given = shape != options_.shapes.end();
  if (!given && !type.dims) refuse("has no shape; `relay import --shape` takes one");
  size_t rank = given ? shape->second.size() : type.dims->size();
  if (given && type.dims && type.dims->size() != rank) {
    refuse("has " + std::to_string(type.dims->size()) + " axes, the shape that is given has " +
           std::to_string(rank));
  }
  if (given) {
    std::span<const int64_t> extents = shape->second;
    for (int64_t extent : extents) {
      if (extent >= kLargestExtent) refuse("is given the extent " + std::to_string(extent));
    }
    double bytes = static_cast<double>(dtype->size());
    for (int64_t extent : extents) bytes *= extent < 0 ? 1 : static_cast<double>(extent);
    if (bytes > kMostBytes) refuse("is given a shape of more than 128 TiB");
  }
  std::vector<Dim> dims;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (given && shape->second[axis] >= 0) {
      int64_t declared = type.dims ? (*type.dims)[axis].value.value_or(-1) : -1;
      if (declared > 0 && declared != shape->second[axis]) {
        refuse("has the extent " + std::to_string(declared) + " on axis " + std::to_string(axis) +
               ", the shape that is given has " + std::to_string(shape->second[axis]));
      }
      dims.emplace_back(shape->second[axis]);
    } else if (!type.dims) {
      dims.push_back(fresh_dim("d"));
    } else {
      const DimInfo& dim = (*type.dims)[axis];
      bool any = dim.value && *dim.value <= 0;
      if (any) note_any(input, axis, *dim.value);
      dims.push_back(dim.value && !any ? Dim(*dim.value) : named_dim(dim.name));
    }
  }
  if (words) dims.push_back(fresh_dim("bytes"));
  return TensorType::make(dims, *dtype);
}

TypeRef Importer::sequence_type(std::string_view input, const TypeInfo& type) {
  auto refuse = [&](const std::string& reason) { refuse_input(input, reason); };
  auto found = options_.items.find(std::string(input));
  if (found == options_.items.end()) {
    refuse(
        "is a sequence, of which the model does not say how many items it has; give their shapes");
  }
  bool tensors = type.element && type.element->kind == TypeInfo::Kind::kTensor;
  if (!tensors) refuse("is a sequence of items that are no tensors, which is not supported");
  std::optional<DType> dtype = program_dtype(type.element->dtype);
  if (!dtype) {
    refuse("has elements of type " + dtype_number_text(type.element->dtype) +
           ", which are not supported");
  }
  std::vector<TypeRef> items;
  for (const std::vector<int64_t>& shape : found->second) {
    std::vector<Dim> dims;
    for (int64_t extent : shape) {
      if (extent < 0) refuse("has an item with the extent " + std::to_string(extent));
      dims.emplace_back(extent);
    }
    items.push_back(TensorType::make(dims, *dtype));
  }
  return TupleType::make(std::move(items));
}

GraphValue Importer::widened_half(GraphValue value) {
  if (!widens_halves_ || value.dtype() != kFloat16) return value;
  TypeRef type = TensorType::make(value.dims(), kFloat32);
  return GraphValue::of(call("cast", {expr(value)}, {{"dtype", kFloat32}}), std::move(type));
}

NDArray Importer::widened_half(NDArray array) const {
  return widens_halves_ && array.dtype() == kFloat16 ? array.cast(kFloat32) : array;
}

ExprRef Importer::output_expr(const ValueInfo& output, const GraphValue& value) {
  if (value.is_sequence()) {
    std::vector<ExprRef> items;
    const TypeInfo* element = output.type.element.get();
    if (value.before() != nullptr) {
      throw Error(model_.model().path + ": the output " + quoted(output.name) +
                  " is a sequence, and only a run knows how many items it has");
    }
    for (const GraphValue& item : value.items()) {
      items.push_back(output_expr({output.name, element ? *element : TypeInfo()}, item));
    }
    return make_tuple(items, span_);
  }
  const TypeInfo* type = &output.type;
  if (type->kind == TypeInfo::Kind::kOptional && type->element) type = type->element.get();
  bool half = widens_halves_ && type->dtype == number_of_dtype(kFloat16);
  if (!half || !value.is_tensor() || value.dtype() != kFloat32) return expr(value);
  return call("cast", {expr(value)}, {{"dtype", kFloat16}});
}

GraphValue Importer::add_input(Scope& scope, const ValueInfo& info) {
  const TypeInfo* type = &info.type;
  bool empty = options_.empty.contains(std::string(info.name));
  if (empty && type->kind != TypeInfo::Kind::kOptional) {
    refuse_input(info.name, "is not of optional type, so it cannot be empty");
  }
  if (type->kind == TypeInfo::Kind::kOptional && type->element) type = type->element.get();
  bool sequence = !empty && type->kind == TypeInfo::Kind::kSequence;
  TypeRef annotation = empty      ? TupleType::make({})
                       : sequence ? sequence_type(info.name, *type)
                                  : input_type(info.name, *type);
  VarRef var = make_var(unique_name(var_names_, std::string(info.name)), annotation);
  inputs_.push_back(var);
  declare_dims(var);
  if (empty) return {};
  GraphValue value = GraphValue::of(ExprRef(var), annotation);
  if (is_text(info.name, *type)) {
    warnings_.push_back(Diagnostic::warning(model_.model().path + ": the input " +
                                            quoted(info.name) + " " + bytes_for_words(true)));
    Node reader;
    reader.op_type = "Input";
    reader.name = info.name;
    NodeContext context(*this, scope, reader, 1);
    return text_of_bytes(context, value);
  }
  if (!sequence) {
    bool other = options_.dtypes.contains(std::string(info.name));
    if (narrow_type(type->dtype) == nullptr) return widened_half(value);
    if (!other) value.state_->narrow = type->dtype;
    return value;
  }
  bool narrow = narrow_type(type->element->dtype) != nullptr;
  std::vector<GraphValue> items;
  for (size_t k = 0; k < annotation->as<TupleType>()->fields().size(); ++k) {
    items.push_back(narrow ? field(value, k) : widened_half(field(value, k)));
  }
  return GraphValue::sequence(std::move(items));
}

}  // namespace relay::onnx

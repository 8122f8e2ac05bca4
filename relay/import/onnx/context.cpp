#include <relay/import/onnx/context.h>

#include <algorithm>

#include <relay/import/onnx/narrow.h>
#include <relay/import/onnx/strings.h>
#include <relay/ir/tensor_types.h>
#include <relay/support/error.h>

namespace relay::onnx {

// ---- Inputs -------------------------------------------------------------------------------------

GraphValue NodeContext::optional_input(size_t i) {
  if (!has(i)) return {};
  return *scope_.find(node_.inputs[i]);
}

GraphValue NodeContext::input(size_t i) {
  GraphValue value = optional_input(i);
  if (!value) fail("input " + std::to_string(i) + " is not given");
  if (!value.is_tensor()) fail("input " + std::to_string(i) + " is no tensor");
  return value;
}

std::vector<GraphValue> NodeContext::inputs() {
  std::vector<GraphValue> result;
  for (size_t i = 0; i < num_inputs(); ++i) result.push_back(input(i));
  return result;
}

std::vector<GraphValue> NodeContext::inputs(size_t count) {
  require(num_inputs() == count,
          std::to_string(count) + " inputs are needed, given are " + std::to_string(num_inputs()));
  return inputs();
}

// ---- Attributes ---------------------------------------------------------------------------------

const Attribute* NodeContext::attr(std::string_view name, AttributeKind kind, bool required) {
  read_.emplace(name);
  const Attribute* found = importer_.attribute(scope_, node_, name);
  if (found == nullptr) {
    if (required) fail("the attribute " + std::string(name) + " is missing");
    return nullptr;
  }
  if (found->kind != kind) {
    fail("the attribute " + std::string(name) + " must be " +
         std::string(attribute_kind_text(kind)) + ", found " +
         std::string(attribute_kind_text(found->kind)));
  }
  return found;
}

int64_t NodeContext::attr_int(std::string_view name, std::optional<int64_t> otherwise) {
  const Attribute* found = attr(name, AttributeKind::kInt, !otherwise);
  return found == nullptr ? *otherwise : found->i;
}

bool NodeContext::attr_bool(std::string_view name, bool otherwise) {
  return attr_int(name, otherwise ? 1 : 0) != 0;
}

double NodeContext::attr_float(std::string_view name, std::optional<double> otherwise) {
  const Attribute* found = attr(name, AttributeKind::kFloat, !otherwise);
  return found == nullptr ? *otherwise : static_cast<double>(found->f);
}

std::string NodeContext::attr_string(std::string_view name, std::optional<std::string> otherwise) {
  const Attribute* found = attr(name, AttributeKind::kString, !otherwise);
  return found == nullptr ? *otherwise : std::string(found->s);
}

std::vector<int64_t> NodeContext::attr_ints(std::string_view name,
                                            std::optional<std::vector<int64_t>> otherwise) {
  const Attribute* found = attr(name, AttributeKind::kInts, !otherwise);
  return found == nullptr ? *otherwise : found->ints;
}

std::vector<double> NodeContext::attr_floats(std::string_view name,
                                             std::optional<std::vector<double>> otherwise) {
  const Attribute* found = attr(name, AttributeKind::kFloats, !otherwise);
  if (found == nullptr) return *otherwise;
  return {found->floats.begin(), found->floats.end()};
}

std::vector<std::string> NodeContext::attr_strings(
    std::string_view name, std::optional<std::vector<std::string>> otherwise) {
  const Attribute* found = attr(name, AttributeKind::kStrings, !otherwise);
  if (found == nullptr) return *otherwise;
  return {found->strings.begin(), found->strings.end()};
}

DType NodeContext::attr_dtype(std::string_view name, std::optional<DType> otherwise) {
  const Attribute* found = attr(name, AttributeKind::kInt, !otherwise);
  if (found == nullptr) return *otherwise;
  std::optional<DType> dtype = dtype_of_number(found->i);
  if (!dtype) {
    fail(std::string(name) + " is " + dtype_number_text(found->i) + ", which is not supported");
  }
  return *dtype == kFloat16 && importer_.widens_halves() ? DType(kFloat32) : *dtype;
}

NDArray NodeContext::attr_tensor(std::string_view name) {
  const TensorData& tensor = attr(name, AttributeKind::kTensor, true)->tensors[0];
  NDArray array = importer_.tensors().array(tensor);
  return narrow_type(tensor.dtype) != nullptr ? array : importer_.widened_half(array);
}

GraphValue NodeContext::attr_value(std::string_view name) {
  const TensorData& tensor = attr(name, AttributeKind::kTensor, true)->tensors[0];
  if (tensor.dtype == kStringElements) {
    Words words = words_of(tensor);
    return constant_value(words.numbers).of_strings(words.words);
  }
  GraphValue value = constant_value(attr_tensor(name));
  return narrow_type(tensor.dtype) != nullptr ? value.of_narrow_type(tensor.dtype) : value;
}

int64_t NodeContext::attr_type(std::string_view name) {
  int64_t number = attr_int(name);
  if (narrow_type(number) == nullptr) attr_dtype(name);  // refuses others
  return number;
}

NDArray NodeContext::attr_sparse(std::string_view name) {
  const SparseTensorData& sparse = attr(name, AttributeKind::kSparseTensor, true)->sparse[0];
  return importer_.widened_half(importer_.tensors().array(sparse));
}

const Graph& NodeContext::attr_graph(std::string_view name) {
  return *attr(name, AttributeKind::kGraph, true)->graphs[0];
}

int64_t NodeContext::axis(int64_t axis, size_t rank, std::string_view what) const {
  auto limit = static_cast<int64_t>(rank);
  if (axis < -limit || axis >= limit) {
    fail(std::string(what) + " " + std::to_string(axis) + " is out of range for rank " +
         std::to_string(rank));
  }
  return axis < 0 ? axis + limit : axis;
}

std::vector<GraphValue> NodeContext::as_default(std::string_view op_type, int64_t version) {
  NodeContext same(importer_, scope_, node_, version);
  std::vector<GraphValue> results = find_converter("", op_type, version)(same);
  read_.insert(same.read_.begin(), same.read_.end());
  return results;
}

std::vector<std::string_view> NodeContext::unread() const {
  std::vector<std::string_view> result;
  for (const Attribute& attribute : node_.attributes) {
    if (!read_.contains(attribute.name)) result.push_back(attribute.name);
  }
  return result;
}

// ---- What is known ------------------------------------------------------------------------------

std::optional<Elements> NodeContext::known(size_t i) {
  GraphValue value = optional_input(i);
  if (!value.is_tensor() || !value.elements()) return std::nullopt;
  for (Dim dim : *value.elements()) {
    if (dim.is_any()) return std::nullopt;
  }
  return value.elements();
}

std::optional<NDArray> NodeContext::constant(size_t i) {
  GraphValue value = input(i);
  if (value.array()) return value.array();
  if (!value.elements()) return std::nullopt;
  for (Dim dim : *value.elements()) {
    if (!dim.is_int()) return std::nullopt;
  }
  importer_.expr(value);  // makes the array
  return value.array();
}

std::vector<int64_t> NodeContext::ints(size_t i, std::string_view what) {
  std::optional<NDArray> array = constant(i);
  if (!array || array->dtype().is_float()) {
    fail(std::string(what) + " (input " + std::to_string(i) + ") is no constant list of integers");
  }
  std::vector<int64_t> result;
  for (int64_t k = 0; k < array->size(); ++k) result.push_back(array->element_as_int64(k));
  return result;
}

double NodeContext::number(size_t i, std::string_view what) {
  std::optional<NDArray> array = constant(i);
  if (!array || array->size() != 1) {
    fail(std::string(what) + " (input " + std::to_string(i) + ") is no constant number");
  }
  return array->element_as_double(0);
}

size_t NodeContext::countable(int64_t count, std::string_view what) const {
  constexpr int64_t kMost = int64_t{1} << 24;
  require(count >= 0 && count <= kMost, std::string(what) + " are " + std::to_string(count) +
                                            ", more than " + std::to_string(kMost));
  return static_cast<size_t>(count);
}

void NodeContext::require_rank(size_t rank) const {
  require(rank <= kMostAxes, "the result would have " + std::to_string(rank) + " axes, more than " +
                                 std::to_string(kMostAxes));
}

// ---- Building -----------------------------------------------------------------------------------

std::vector<GraphValue> NodeContext::fields(const GraphValue& tuple) {
  std::vector<GraphValue> result;
  size_t count = tuple.type()->as<TupleType>()->fields().size();
  for (size_t k = 0; k < count; ++k) result.push_back(field(tuple, k));
  return result;
}

GraphValue NodeContext::int_list(const std::vector<int64_t>& values) {
  return constant_value(NDArray::from<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
}

GraphValue NodeContext::known_value(Elements elements, std::span<const Dim> dims, DType dtype) {
  return GraphValue::of_elements(std::move(elements), TensorType::make(dims, dtype));
}

GraphValue NodeContext::dim_list(Elements elements) {
  Dim dims[] = {static_cast<int64_t>(elements.size())};
  return known_value(std::move(elements), dims, kInt64);
}

namespace {

// Two `?` need not be one extent.
bool surely_same(Dim a, Dim b) { return a == b && !a.is_any(); }

// Codes of `reshape` that copy, merge and split axes so that extents by name need not be said;
// nothing where there are none.
std::optional<std::vector<int64_t>> reshape_codes(std::span<const Dim> from,
                                                  std::span<const Dim> to) {
  std::vector<int64_t> codes;
  size_t i = 0;
  for (size_t j = 0; j < to.size();) {
    if (i >= from.size()) return std::nullopt;
    if (surely_same(to[j], from[i])) {
      codes.push_back(0);
      ++i, ++j;
    } else if (i + 1 < from.size() && surely_same(from[i] * from[i + 1], to[j])) {
      codes.push_back(-3);
      i += 2, ++j;
    } else if (j + 1 < to.size() && surely_same(to[j] * to[j + 1], from[i])) {
      auto part = [](Dim dim) { return dim.is_int() && dim.as_int() > 0 ? dim.as_int() : -1; };
      int64_t a = part(to[j]), b = part(to[j + 1]);
      if (a == -1 && b == -1) return std::nullopt;
      codes.insert(codes.end(), {-4, a, b});
      ++i, j += 2;
    } else {
      return std::nullopt;
    }
  }
  if (i != from.size()) return std::nullopt;
  return codes;
}

}  // namespace

GraphValue NodeContext::reshape(const GraphValue& value, std::span<const Dim> dims) {
  require_rank(dims.size());
  std::span<const Dim> from = value.dims();
  if (std::equal(from.begin(), from.end(), dims.begin(), dims.end(), surely_same)) return value;
  std::vector<int64_t> codes;
  size_t open = 0;
  bool empty = false;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k].is_int()) {
      codes.push_back(dims[k].as_int());
      empty |= dims[k].is_int(0);
    } else if (k < from.size() && surely_same(dims[k], from[k])) {
      codes.push_back(0);
    } else {
      codes.push_back(-1);
      ++open;
    }
  }
  bool copies = std::any_of(codes.begin(), codes.end(), [](int64_t code) { return code == 0; });
  TypeRef wanted = TensorType::make(dims, value.dtype());
  auto with = [&](const std::vector<int64_t>& newshape, bool allow_zero) {
    return emit("reshape", {value}, {{"newshape", newshape}, {"allowzero", allow_zero}});
  };
  bool any = std::any_of(dims.begin(), dims.end(), [](Dim dim) { return dim.is_any(); });
  if (open == 0 && (!copies || empty)) {
    bool only_numbers = std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.is_int(); });
    if (only_numbers) return with(codes, empty);
  }
  if (open <= 1 && !empty) {
    GraphValue result = with(codes, false);
    if (any || result.type() == wanted) return result;
  }
  if (auto steps = reshape_codes(from, dims)) {
    GraphValue result = with(*steps, false);
    if (result.type() == wanted) return result;
  }
  // One that nobody knows is what the others leave.
  Elements entries(dims.begin(), dims.end());
  if (std::count_if(dims.begin(), dims.end(), [](Dim dim) { return dim.is_any(); }) > 1)
    fail("more than one extent of the new shape is not known");
  for (Dim& entry : entries) {
    if (entry.is_any()) entry = -1;
  }
  return importer_.emit(scope_, node_, "dyn.reshape", {value, dim_list(std::move(entries))},
                        {{"allowzero", true}}, wanted);
}

GraphValue NodeContext::transpose(const GraphValue& value, const std::vector<int64_t>& axes) {
  bool same = true;
  for (size_t k = 0; k < axes.size(); ++k) same &= axes[k] == static_cast<int64_t>(k);
  return same ? value : emit("transpose", {value}, {{"axes", axes}});
}

GraphValue NodeContext::cast(const GraphValue& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  if (value.array() && value.array().size() <= 1) return constant_value(value.array().cast(dtype));
  return emit("cast", {value}, {{"dtype", dtype}});
}

GraphValue NodeContext::broadcast_to(const GraphValue& value, std::span<const Dim> dims) {
  require_rank(dims.size());
  std::span<const Dim> from = value.dims();
  if (std::equal(from.begin(), from.end(), dims.begin(), dims.end())) return value;
  std::vector<int64_t> shape;
  for (Dim dim : dims) require(!dim.is_any(), "an extent of a result is not known");
  for (Dim dim : dims) {
    if (!dim.is_int())
      return emit("dyn.broadcast_to", {value, dim_list({dims.begin(), dims.end()})});
    shape.push_back(dim.as_int());
  }
  return emit("broadcast_to", {value}, {{"shape", shape}});
}

GraphValue NodeContext::unsqueeze(const GraphValue& value, const std::vector<int64_t>& axes) {
  GraphValue result = value;
  for (int64_t axis : axes) result = emit("expand_dims", {result}, {{"axis", axis}});
  return result;
}

GraphValue NodeContext::left_pad_rank(const GraphValue& value, size_t rank) {
  if (value.rank() >= rank) return value;
  auto added = static_cast<int64_t>(rank - value.rank());
  return emit("expand_dims", {value}, {{"axis", 0}, {"num_newaxis", added}});
}

// No size follows from the value of `at`, so rounds of a loop need no sizes of their own.
GraphValue NodeContext::with_part(const GraphValue& all, const GraphValue& at,
                                  const GraphValue& part) {
  return emit("scatter_nd", {all, reshape(at, {Dim(1)}), part}, {{"mode", "update"}});
}

GraphValue NodeContext::concat(const std::vector<GraphValue>& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return emit("concatenate", {tuple(parts)}, {{"axis", axis}});
}

GraphValue NodeContext::slice(const GraphValue& value, int64_t axis, int64_t begin, int64_t end) {
  std::vector<int64_t> at{begin}, stop{end}, axes{axis};
  return emit("strided_slice", {value}, {{"begin", at}, {"end", stop}, {"axes", axes}});
}

}  // namespace relay::onnx

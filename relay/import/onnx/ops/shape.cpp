// Operators that tell, change or follow shapes, and constants.
#include <algorithm>
#include <numeric>

#include <relay/import/onnx/fold.h>
#include <relay/import/onnx/ops/run_time.h>
#include <relay/import/onnx/ops/slice.h>
#include <relay/import/onnx/ops/text.h>
#include <relay/op/registry/relation.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

Values convert_identity(NodeContext& node) {
  GraphValue value = node.optional_input(0);
  node.require(static_cast<bool>(value), "input 0 is not given");
  return {value};
}
RELAY_ONNX("Identity", 1, convert_identity)

Values convert_constant(NodeContext& node) {
  if (node.has_attr("value")) return {node.attr_value("value")};
  if (node.has_attr("value_float")) {
    return {node.scalar(kFloat32, node.attr_float("value_float"))};
  }
  if (node.has_attr("value_int")) {
    return {node.constant_value(NDArray::scalar<int64_t>(node.attr_int("value_int")))};
  }
  if (node.has_attr("value_ints")) return {node.int_list(node.attr_ints("value_ints"))};
  if (node.has_attr("value_floats")) {
    std::vector<float> numbers;
    for (double x : node.attr_floats("value_floats")) numbers.push_back(static_cast<float>(x));
    return {node.constant_value(
        NDArray::from<float>(Shape{static_cast<int64_t>(numbers.size())}, numbers))};
  }
  if (node.has_attr("sparse_value")) {
    return {node.constant_value(node.attr_sparse("sparse_value"))};
  }
  node.fail("there is no value of a type that is supported");
}
RELAY_ONNX("Constant", 1, convert_constant)

Values convert_constant_of_shape(NodeContext& node) {
  NDArray value = node.has_attr("value") ? node.attr_tensor("value") : NDArray::scalar(0.0f);
  node.require(value.size() == 1, "value has " + std::to_string(value.size()) + " elements");
  DType dtype = value.dtype();
  GraphValue shape = node.input(0);
  node.require(shape.rank() == 1, "the shape has " + std::to_string(shape.rank()) + " axes");
  if (shape.dim(0).is_int()) node.require_rank(static_cast<size_t>(shape.dim(0).as_int()));
  GraphValue fill = node.constant_value(value.reshape({}));
  std::optional<Elements> dims = node.known(0);
  if (!dims) return {node.emit("dyn.full", {fill, shape}, {{"dtype", dtype}})};
  std::vector<int64_t> numbers;
  for (Dim dim : *dims) {
    if (!dim.is_int()) continue;
    node.require(dim.as_int() >= 0, "the shape has the negative extent " + dim.str());
    numbers.push_back(dim.as_int());
  }
  auto emit = [&] {
    if (numbers.size() < dims->size()) {
      return node.emit("dyn.full", {fill, shape}, {{"dtype", dtype}});
    }
    return node.emit("full", {fill}, {{"shape", numbers}, {"dtype", dtype}});
  };
  Dim count = product(*dims);
  bool small = count.is_int() && count.as_int() <= static_cast<int64_t>(kMostElements);
  if (small && !dtype.is_float() && numbers.size() == dims->size()) {
    NDArray filled = NDArray::uniform(value.reshape({}), numbers).copy();
    return {node.constant_value(std::move(filled))};
  }
  return {emit()};
}
RELAY_ONNX("ConstantOfShape", 9, convert_constant_of_shape)

Values convert_shape(NodeContext& node) {
  GraphValue x = node.input(0);
  auto rank = static_cast<int64_t>(x.rank());
  auto place = [&](int64_t at) { return std::clamp(at < 0 ? at + rank : at, int64_t{0}, rank); };
  int64_t begin = place(node.attr_int("start", 0));
  int64_t end = std::max(begin, place(node.attr_int("end", rank)));
  Elements elements(x.dims().begin() + begin, x.dims().begin() + end);
  Dim dims[] = {end - begin};
  return {known_or(node, std::move(elements), dims, kInt64, [&] {
    GraphValue shape = node.emit("shape_of", {x}, {{"dtype", kInt64}});
    return begin == 0 && end == rank ? shape : node.slice(shape, 0, begin, end);
  })};
}
RELAY_ONNX("Shape", 1, convert_shape)

Values convert_size(NodeContext& node) {
  GraphValue x = node.input(0);
  return {known_or(node, {product(x.dims())}, {}, kInt64, [&] {
    return node.emit("ndarray_size", {x}, {{"dtype", kInt64}});
  })};
}
RELAY_ONNX("Size", 1, convert_size)

// ---- The same elements under other axes ---------------------------------------------------------

// The extent for -1: what of the data's elements the others leave. Extents on both sides cancel.
Dim left_over(NodeContext& node, std::span<const Dim> from, std::vector<Dim> others) {
  std::vector<Dim> rest(from.begin(), from.end());
  std::erase_if(others, [&](Dim dim) {
    auto found = std::find(rest.begin(), rest.end(), dim);
    if (dim.is_int(0) || dim.is_any() || found == rest.end()) return false;
    rest.erase(found);
    return true;
  });
  Dim known = product(others);
  Dim total = product(rest);
  if (known.is_int(0)) node.fail("an extent of 0 leaves -1 open");
  if (known.is_any() || total.is_any()) return Dim::any();
  return floor_div(total, known);
}

GraphValue reshaped(NodeContext& node, const GraphValue& x, const Elements& codes,
                    bool allow_zero) {
  std::vector<Dim> dims;
  std::optional<size_t> open;
  for (size_t k = 0; k < codes.size(); ++k) {
    Dim code = codes[k];
    if (code.is_int(0) && !allow_zero) {
      node.require(k < x.rank(), "the shape has 0 where the data have no axis");
      code = x.dim(k);
    }
    if (code.is_int() && code.as_int() < 0) {
      node.require(code.is_int(-1), "the shape has " + code.str());
      node.require(!open, "the shape has -1 twice");
      open = k;
      code = 1;
    }
    dims.push_back(code);
  }
  if (open) {
    std::vector<Dim> others = dims;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(*open));
    Dim inferred = left_over(node, x.dims(), others);
    bool all_numbers = std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.is_int(); });
    if (inferred.is_int() && all_numbers && product(others) * inferred != product(x.dims())) {
      node.fail("the data have " + product(x.dims()).str() + " elements, no multiple of " +
                product(others).str());
    }
    dims[*open] = inferred;
  }
  return node.reshape(x, dims);
}

Values convert_reshape(NodeContext& node) {
  GraphValue x = node.input(0);
  bool allow_zero = node.attr_bool("allowzero", false);
  GraphValue shape = node.input(1);
  node.require(shape.rank() == 1 && shape.dim(0).is_int(),
               "the number of entries of the shape is not known, which decides the rank");
  node.require_rank(static_cast<size_t>(shape.dim(0).as_int()));
  if (shape.elements()) {
    const Elements& codes = *shape.elements();
    auto open = std::count_if(codes.begin(), codes.end(),
                              [](Dim dim) { return dim.is_any() || dim.is_int(-1); });
    bool any = any_unknown(codes);
    node.require(!any || !node.constant(1), "the shape has an entry beyond 2^60");
    // One that a run decides is what the others leave, unless it copies or is 0.
    if (!any || (open == 1 && !allow_zero)) {
      GraphValue result = reshaped(node, x, codes, allow_zero);
      // Lists of known elements stay known: most reshapes of them make or take a list of one.
      bool fixed = std::all_of(result.dims().begin(), result.dims().end(),
                               [](Dim dim) { return dim.is_int(); });
      if (!x.elements() || !fixed) return {result};
      return {known_or(node, *x.elements(), result.dims(), x.dtype(), [&] { return result; })};
    }
  }
  std::vector<GraphValue> args{x, node.cast(shape, kInt64)};
  return {node.emit("dyn.reshape", args, {{"allowzero", allow_zero}})};
}
RELAY_ONNX("Reshape", 5, convert_reshape)

Values convert_flatten(NodeContext& node) {
  GraphValue x = node.input(0);
  int64_t axis = node.attr_int("axis", 1);
  auto rank = static_cast<int64_t>(x.rank());
  node.require(
      axis >= -rank && axis <= rank,
      "axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  if (axis < 0) axis += rank;
  Dim rows = product(x.dims().first(static_cast<size_t>(axis)));
  Dim columns = product(x.dims().subspan(static_cast<size_t>(axis)));
  if (rows.is_any() && columns.is_any()) {
    GraphValue shape = shape_value(node, x);
    auto count = [&](int64_t begin, int64_t end) {
      return node.emit("prod", {node.slice(shape, 0, begin, end)}, {{"keepdims", true}});
    };
    GraphValue wanted = node.concat({count(0, axis), count(axis, rank)}, 0);
    return {node.emit("dyn.reshape", {x, wanted}, {{"allowzero", true}})};
  }
  return {node.reshape(x, {rows, columns})};
}
RELAY_ONNX("Flatten", 1, convert_flatten)

Values convert_transpose(NodeContext& node) {
  GraphValue x = node.input(0);
  std::vector<int64_t> axes(x.rank());
  for (size_t k = 0; k < axes.size(); ++k) axes[k] = static_cast<int64_t>(axes.size() - 1 - k);
  axes = node.attr_ints("perm", axes);
  node.require(axes.size() == x.rank(), "transpose: axes has " + std::to_string(axes.size()) +
                                            " entries for rank " + std::to_string(x.rank()));
  for (int64_t& axis : axes) axis = node.axis(axis, x.rank(), "perm entry");
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  node.require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
               "perm names an axis twice");
  GraphValue result = node.transpose(x, axes);
  const auto places = all_places(x);
  if (!places) return {result};
  auto known = fold_places(node, x, *places, axes, [&] { return result; });
  return {known ? *known : result};
}
RELAY_ONNX("Transpose", 1, convert_transpose)

std::optional<std::vector<int64_t>> axes_of(NodeContext& node, int64_t since_input) {
  if (node.opset() < since_input) {
    if (!node.has_attr("axes")) return std::nullopt;
    return node.attr_ints("axes");
  }
  if (!node.has(1)) return std::nullopt;
  return node.ints(1, "axes");
}

// True if an input is there whose elements only a run knows.
bool open_input(NodeContext& node, size_t i) { return node.has(i) && !node.constant(i); }

Values convert_unsqueeze(NodeContext& node) {
  GraphValue x = node.input(0);
  if (node.opset() >= 13 && open_input(node, 1)) {
    return {unsqueeze_at_run_time(node, x, as_list(node, node.input(1), "axes"))};
  }
  std::optional<std::vector<int64_t>> axes = axes_of(node, 13);
  node.require(axes.has_value(), "axes are missing");
  size_t rank = x.rank() + axes->size();
  node.require_rank(rank);
  for (int64_t& axis : *axes) axis = node.axis(axis, rank, "axes entry");
  std::sort(axes->begin(), axes->end());
  node.require(std::adjacent_find(axes->begin(), axes->end()) == axes->end(),
               "axes names an axis twice");
  std::vector<Dim> dims(x.dims().begin(), x.dims().end());
  for (int64_t axis : *axes) dims.insert(dims.begin() + axis, Dim(1));
  auto emit = [&] { return node.unsqueeze(x, *axes); };
  if (x.elements()) return {known_or(node, *x.elements(), dims, x.dtype(), emit)};
  return {emit()};
}
RELAY_ONNX("Unsqueeze", 1, convert_unsqueeze)

/// The value without these axes, rising. `why`: what decided that, if no input or attribute did.
Values squeezed(NodeContext& node, const GraphValue& x, const std::vector<int64_t>& axes,
                const std::string& why = "") {
  if (axes.empty()) return {x};
  auto emit = [&] { return node.emit("squeeze", {x}, {{"axis", axes}}); };
  std::vector<Dim> dims;
  for (size_t k = 0; k < x.rank(); ++k) {
    bool dropped = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(k));
    if (!dropped) dims.push_back(x.dim(k));
    if (dropped && x.dim(k).is_int()) {
      node.require(x.dim(k).is_int(1),
                   "axis " + std::to_string(k) + " has the extent " + x.dim(k).str() + ", not 1");
    }
  }
  if (x.elements()) return {known_or(node, *x.elements(), dims, x.dtype(), emit)};
  bool numbers = std::all_of(axes.begin(), axes.end(), [&](int64_t axis) {
    return x.dim(static_cast<size_t>(axis)).is_int();
  });
  // A run will see whether they are 1.
  if (!numbers) return {node.squeeze_open(x, axes, dims, why)};
  return {emit()};
}

/// The axes that are dropped, by their numbers.
std::vector<int64_t> gone(const std::vector<bool>& dropped) {
  std::vector<int64_t> axes;
  for (size_t k = 0; k < dropped.size(); ++k) {
    if (dropped[k]) axes.push_back(static_cast<int64_t>(k));
  }
  return axes;
}

/// True if the model declares an extent of the result by name where the axis that stays has a fixed
/// extent, all open ones being dropped: then the declared rank is that of one run, not of all.
bool declared_for_one_run(NodeContext& node, const GraphValue& x,
                          const std::vector<bool>& dropped) {
  const TypeInfo* type = node.importer().stated_type(node.scope(), node.node().outputs[0]);
  if (type == nullptr || !type->dims) return false;
  size_t place = 0;
  for (size_t k = 0; k < x.rank(); ++k) {
    if (dropped[k] || !x.dim(k).is_int()) continue;
    if (place < type->dims->size() && !(*type->dims)[place].value) return true;
    ++place;
  }
  return false;
}

/// Squeeze without axes: those of extent 1 go. `dropped` says of each axis before `from` whether it
/// does. An extent that is no number decides the rank: what the model states of the result counts,
/// then what a condition around the node says, else both ways are gone.
Values squeezed_where_one(NodeContext& node, const GraphValue& x, std::vector<bool> dropped,
                          size_t from) {
  std::optional<size_t> rank = node.stated_rank(0);
  auto open = [&](size_t k) { return !x.dim(k).is_int(); };
  for (size_t k = from; k < x.rank(); ++k) {
    if (!open(k)) continue;
    size_t left = x.rank() - std::count(dropped.begin(), dropped.end(), true);
    size_t undecided = 0;
    for (size_t i = k; i < x.rank(); ++i) undecided += open(i);
    bool all = rank && *rank + undecided == left, none = rank && *rank == left;
    Dim is_one = equality(x.dim(k), 1);
    if (all && !none && declared_for_one_run(node, x, dropped))
      return squeezed(node, x, gone(dropped));
    Dim known = all ? Dim(1) : none ? Dim(0) : node.settled(is_one);
    if (known.is_any()) known = 0;
    if (!known.is_int()) {
      auto way = [&](bool one) {
        return [&, one](NodeContext& inner) -> Outcome {
          std::vector<bool> chosen = dropped;
          chosen[k] = one;
          Values values = squeezed_where_one(inner, x, std::move(chosen), k + 1);
          if (std::unique_ptr<Fork> fork = inner.take_fork()) return fork;
          return values;
        };
      };
      return node.choose(node.known_value({known}, {}, kBool), way(true), way(false), true);
    }
    dropped[k] = known.is_int(1);
  }
  std::string why;
  if (rank) {
    std::string_view result = node.node().outputs[0];
    why = "the model declares " + quoted(result) + " as a tensor of " + std::to_string(*rank) +
          (*rank == 1 ? " axis" : " axes");
  }
  return squeezed(node, x, gone(dropped), why);
}

Values convert_squeeze(NodeContext& node) {
  GraphValue x = node.input(0);
  if (node.opset() >= 13 && open_input(node, 1)) {
    return {squeeze_at_run_time(node, x, as_list(node, node.input(1), "axes"))};
  }
  std::optional<std::vector<int64_t>> given = axes_of(node, 13);
  std::vector<int64_t> axes;
  if (given) {
    for (int64_t axis : *given) axes.push_back(node.axis(axis, x.rank(), "axes entry"));
    std::sort(axes.begin(), axes.end());
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  } else {
    std::vector<bool> dropped;
    for (Dim dim : x.dims()) dropped.push_back(dim.is_int(1));
    return squeezed_where_one(node, x, std::move(dropped), 0);
  }
  return squeezed(node, x, axes);
}
RELAY_ONNX("Squeeze", 1, convert_squeeze)

// ---- Parts --------------------------------------------------------------------------------------

Values convert_concat(NodeContext& node) {
  Values parts = node.inputs();
  node.require(!parts.empty(), "there are no inputs");
  int64_t axis = node.axis(node.attr_int("axis"), parts[0].rank());
  bool words = std::any_of(parts.begin(), parts.end(),
                           [](const GraphValue& part) { return part.is_text(); });
  if (words) return {concat_text(node, parts, axis)};
  auto emit = [&] { return node.concat(parts, axis); };
  // Each part by itself becomes integers, if the whole does.
  const bool quantised = std::all_of(parts.begin(), parts.end(), [](const GraphValue& part) {
    return part.integers() != nullptr || part.sum() != nullptr;
  });
  if (quantised) return {emit().of_parts(parts, axis)};
  bool lists = std::all_of(parts.begin(), parts.end(), [](const GraphValue& part) {
    return part.rank() == 1 && part.dim(0).is_int() &&
           part.dim(0).as_int() <= static_cast<int64_t>(kMostElements);
  });
  bool some = std::any_of(parts.begin(), parts.end(),
                          [](const GraphValue& part) { return part.elements().has_value(); });
  if (!lists || !some || parts[0].dtype().is_float()) return {emit()};
  Elements elements;
  for (const GraphValue& part : parts) {
    node.require(part.dtype() == parts[0].dtype(), "the inputs differ in dtype");
    Elements open(static_cast<size_t>(part.dim(0).as_int()), Dim::any());
    const Elements& own = part.elements() ? *part.elements() : open;
    elements.insert(elements.end(), own.begin(), own.end());
  }
  if (elements.size() > kMostElements) return {emit()};
  Dim dims[] = {static_cast<int64_t>(elements.size())};
  return {known_or(node, std::move(elements), dims, parts[0].dtype(), emit)};
}
RELAY_ONNX("Concat", 4, convert_concat)

Values split_terms(NodeContext& node, const GraphValue& x, int64_t axis, const Elements& sizes) {
  node.require(sizes.size() == node.num_outputs(),
               "split has " + std::to_string(sizes.size()) + " entries for " +
                   std::to_string(node.num_outputs()) + " outputs");
  Values parts;
  Dim begin = 0;
  for (Dim size : sizes) {
    Dim end = begin + size;
    parts.push_back(sliced(node, x, {axis}, {begin}, {end}, {1}));
    begin = end;
  }
  return parts;
}

// An axis in parts of these sizes.
Values split_sizes(NodeContext& node, GraphValue x, int64_t axis, std::span<const int64_t> sizes) {
  const Dim extent = x.dim(static_cast<size_t>(axis));
  node.require(sizes.size() == node.num_outputs(),
               "split has " + std::to_string(sizes.size()) + " entries for " +
                   std::to_string(node.num_outputs()) + " outputs");
  AttrValue::List cuts;
  int64_t at = 0;
  for (size_t k = 0; k < sizes.size(); ++k) {
    node.require(sizes[k] >= 0 && sizes[k] <= kMostExtent, "split has " + std::to_string(sizes[k]));
    if (k > 0) cuts.push_back(AttrValue(at));
    at += sizes[k];
  }
  node.demand(extent, at,
              "split has " + std::to_string(at) + " elements in all, the axis " + extent.str());
  if (!extent.is_int()) {
    std::vector<Dim> dims(x.dims().begin(), x.dims().end());
    dims[static_cast<size_t>(axis)] = at;
    bool open = any_unknown(dims);
    if (!open) x = node.reshape(x, dims);  // a run sees whether it is
  }
  if (sizes.size() == 1) return {x};
  GraphValue parts =
      node.emit("split", {x}, {{"indices_or_sections", AttrValue(cuts)}, {"axis", axis}});
  Values results = node.fields(parts);
  if (x.rank() == 1 && x.elements()) {
    size_t from = 0;
    for (size_t k = 0; k < results.size(); ++k) {
      auto begin = x.elements()->begin() + static_cast<std::ptrdiff_t>(from);
      Elements own(begin, begin + sizes[k]);
      results[k] = known_or(node, own, results[k].dims(), x.dtype(), [&] { return results[k]; });
      from += static_cast<size_t>(sizes[k]);
    }
  }
  return results;
}

// An axis in as many parts as there are outputs.
Values split_evenly(NodeContext& node, const GraphValue& x, int64_t axis) {
  const auto outputs = static_cast<int64_t>(node.num_outputs());
  const Dim extent = x.dim(static_cast<size_t>(axis));
  node.require(outputs > 0, "there are no outputs");
  if (!extent.is_int() && node.opset() >= 18) {
    // The last part is the smaller one.
    if (extent.is_any()) return split_evenly_at_run_time(node, x, axis);
    Elements terms;
    Dim each = ceil_div(extent, outputs);
    for (int64_t k = 0; k < outputs; ++k) {
      terms.push_back(min(each * (k + 1), extent) - min(each * k, extent));
    }
    return split_terms(node, x, axis, terms);
  }
  if (!extent.is_int()) {
    GraphValue parts =
        node.emit("split", {x}, {{"indices_or_sections", AttrValue(outputs)}, {"axis", axis}});
    return node.fields(parts);
  }
  // The last part is the smaller one.
  node.require(node.opset() >= 18 || extent.as_int() % outputs == 0,
               "an axis of the extent " + extent.str() + " does not divide into " +
                   std::to_string(outputs) + " equal parts");
  std::vector<int64_t> sizes;
  int64_t each = (extent.as_int() + outputs - 1) / outputs;
  int64_t left = extent.as_int();
  for (int64_t k = 0; k < outputs; ++k) {
    sizes.push_back(std::min(each, left));
    left -= sizes.back();
  }
  return split_sizes(node, x, axis, sizes);
}

Values convert_split(NodeContext& node) {
  GraphValue x = node.input(0);
  int64_t axis = node.axis(node.attr_int("axis", 0), x.rank());
  std::vector<int64_t> sizes;
  if (node.opset() < 13) {
    sizes = node.attr_ints("split", std::vector<int64_t>());
  } else if (node.has(1)) {
    if (!node.constant(1)) {
      node.ignore({"num_outputs"});
      if (std::optional<Elements> terms = node.known(1)) return split_terms(node, x, axis, *terms);
      return split_at_run_time(node, x, axis, as_list(node, node.input(1), "split"));
    }
    sizes = node.ints(1, "split");
  }
  auto outputs = static_cast<int64_t>(node.num_outputs());
  if (node.opset() >= 18) {
    int64_t stated = node.attr_int("num_outputs", outputs);
    node.require(stated == outputs, "num_outputs is " + std::to_string(stated) + ", there are " +
                                        std::to_string(outputs));
  }
  return sizes.empty() ? split_evenly(node, x, axis) : split_sizes(node, x, axis, sizes);
}
RELAY_ONNX("Split", 2, convert_split)

Values convert_expand(NodeContext& node) {
  GraphValue x = node.input(0), shape = node.input(1);
  std::optional<Elements> wanted = node.known(1);
  node.require(shape.rank() == 1, "the shape has " + std::to_string(shape.rank()) + " axes");
  if (shape.dim(0).is_int()) node.require_rank(static_cast<size_t>(shape.dim(0).as_int()));
  auto at_run_time = [&] {
    // Both broadcast: a tensor of the wanted shape takes part.
    GraphValue like = node.emit("dyn.ones", {node.cast(shape, kInt64)}, {{"dtype", kBool}});
    return node.emit("where", {like, x, x});
  };
  if (wanted) {
    for (Dim dim : *wanted) {
      node.require(!dim.is_int() || dim.as_int() >= 0,
                   "the shape has the negative extent " + dim.str());
    }
    std::optional<std::vector<Dim>> dims = broadcast_shapes(x.dims(), *wanted);
    node.require(dims.has_value(),
                 "shape " + shape_str(x.dims()) + " does not broadcast to " + shape_str(*wanted));
    bool open = any_unknown(*dims);
    auto emit = [&] { return open ? at_run_time() : node.broadcast_to(x, *dims); };
    Dim count = product(*dims);
    if (x.elements() && count.is_int() && !x.dtype().is_float()) {
      Values pair{
          x, node.known_value(
                 Elements(static_cast<size_t>(std::min<int64_t>(count.as_int(), kMostElements)),
                          Dim(0)),
                 *dims, x.dtype())};
      if (count.as_int() <= static_cast<int64_t>(kMostElements)) {
        auto first = [](std::span<const Dim> e) { return e[0]; };
        if (auto known = fold_elementwise(node, pair, x.dtype(), first, emit)) return {*known};
      }
    }
    return {emit()};
  }
  return {at_run_time()};
}
RELAY_ONNX("Expand", 8, convert_expand)

Values convert_range(NodeContext& node) {
  std::optional<Elements> start = node.known(0), limit = node.known(1), delta = node.known(2);
  Values args = node.inputs(3);
  DType dtype = args[0].dtype();
  for (GraphValue& arg : args) arg = node.reshape(arg, std::initializer_list<Dim>{});
  auto emit = [&] { return node.emit("arange", args, {{"dtype", dtype}}); };
  bool numbers = start && limit && delta && (*start)[0].is_int() && (*limit)[0].is_int() &&
                 (*delta)[0].is_int();
  if (!numbers) return {emit()};
  int64_t from = (*start)[0].as_int(), to = (*limit)[0].as_int(), step = (*delta)[0].as_int();
  node.require(step != 0, "the step is 0");
  int64_t count = step > 0 ? (to - from + step - 1) / step : (from - to - step - 1) / -step;
  if (count > static_cast<int64_t>(kMostElements)) return {emit()};
  Elements elements;
  for (int64_t k = 0; k < count; ++k) elements.emplace_back(from + k * step);
  Dim dims[] = {std::max(count, int64_t{0})};
  return {node.known_value(std::move(elements), dims, dtype)};
}
RELAY_ONNX("Range", 11, convert_range)

}  // namespace
}  // namespace relay::onnx

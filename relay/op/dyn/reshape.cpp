// Operators that keep the elements and change the axes, by an argument.
#include <algorithm>

#include <relay/op/dyn/dyn.h>
#include <relay/op/dyn/dyn_attrs.h>
#include <relay/op/registry/forms.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

bool any_unknown(const std::vector<Dim>& dims) {
  for (Dim dim : dims) {
    if (dim.is_any()) return true;
  }
  return false;
}
TypeRef unknown_dims(size_t rank, DType dtype) {
  return TensorType::make(std::vector<Dim>(rank, Dim::any()), dtype);
}

// Extents: a number, 0 for the data's own at the same place, -1 for the rest. Conditions are terms
// that are 0 or 1, and choices are maxima of products with them: sums would multiply out.
TypeRef infer_reshape(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  std::optional<size_t> count = entries(call, 1, "newshape");
  if (!count) return {};
  bool allow_zero = call.attrs<DynReshapeAttrs>().allowzero;
  std::vector<Dim> codes;
  for (size_t k = 0; k < *count; ++k) codes.push_back(call.value_dim(1, k));
  std::string wanted = "newshape " + shape_str(codes);
  std::string too_many = wanted + " has more elements than a tensor can have";
  __int128 elements = 1;  // as far as they are known
  for (Dim code : codes) {
    call.require_at_most(-1, code, wanted + " has " + code.str() + "; -1 is the least code");
    if (code.is_int() && code.as_int() > 0) elements = elements * code.as_int();
    call.require(elements < kLargestExtent, too_many);
  }
  if (any_unknown(data.dims)) return unknown_dims(*count, data.dtype);
  // Copied extents count for nothing on either side: they may be 0.
  Dim known = 1, total = 1, inferred = 0;
  std::vector<Dim> result;
  for (size_t k = 0; k < std::max(*count, data.rank()); ++k) {
    Dim own = k < data.rank() ? data.dims[k] : Dim(1);
    if (k >= *count) {
      total = total * own;
      continue;
    }
    Dim code = codes[k];
    Dim is_inferred = max(Dim(0) - code, Dim(0));
    inferred = inferred + is_inferred;
    if (allow_zero) {
      known = known * max(code, is_inferred);
      total = total * own;
      result.push_back(code);
      continue;
    }
    Dim stays = min(max(code, Dim(0) - code), Dim(1));  // 0 where the own extent is copied
    if (k >= data.rank()) {
      call.require_at_most(1, stays,
                           wanted + " has 0 where no axis of " + shape_str(data.dims) + " is left");
    }
    known = known * max(code, Dim(1));
    total = total * max(stays * own, Dim(1) - stays);
    result.push_back(max(code, (Dim(1) - stays) * own));
  }
  call.require_at_most(inferred, 1, wanted + " has more than one extent to infer (-1)");
  call.explain(known, too_many);
  Dim rest = floor_div(total, max(known, Dim(1)));
  inferred = min(inferred, Dim(1));
  call.require_equal(known * max(inferred * rest, Dim(1) - inferred), total,
                     "cannot reshape " + shape_str(data.dims) + ", " + product(data.dims).str() +
                         " elements, to " + shape_str(codes));
  for (size_t k = 0; k < *count; ++k)
    result[k] = max(result[k], max(Dim(0) - codes[k], Dim(0)) * rest);
  return TensorType::make(result, data.dtype);
}

// The axis is where the new axes begin in the result.
TypeRef infer_expand_dims(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  int64_t added = call.attrs<DynExpandDimsAttrs>().num_newaxis;
  call.require(added >= 0 && added <= static_cast<int64_t>(NDArray::kMaxRank),
               "num_newaxis must be from 0 to " + std::to_string(NDArray::kMaxRank) + ", found " +
                   std::to_string(added));
  size_t rank = data.rank() + static_cast<size_t>(added);
  Dim from = axis_value(call, call.value_dim(1, 0), data.rank() + 1, "axis");
  if (any_unknown(data.dims)) return unknown_dims(rank, data.dtype);
  std::vector<Dim> result;
  for (size_t k = 0; k < rank; ++k) {
    auto at = static_cast<int64_t>(k);
    Dim before = Dim(1) - at_least(at, from);
    Dim after = at_least(at, from + added);
    Dim extent = Dim(1) - before - after;
    if (k < data.rank()) extent = max(extent, before * data.dims[k]);
    if (at >= added) extent = max(extent, after * data.dims[k - static_cast<size_t>(added)]);
    result.push_back(extent);
  }
  return TensorType::make(result, data.dtype);
}

TypeRef infer_squeeze(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  std::optional<size_t> count = entries(call, 1, "axes");
  if (!count) return {};
  call.require(*count <= data.rank(), "axes has " + std::to_string(*count) + " entries for the " +
                                          std::to_string(data.rank()) + " axes of " +
                                          call.input(0)->str());
  std::vector<Dim> axes;
  for (size_t k = 0; k < *count; ++k)
    axes.push_back(axis_value(call, call.value_dim(1, k), data.rank(), "an entry of axes"));
  for (size_t k = 0; k < *count; ++k) {
    for (size_t l = 0; l < k; ++l)
      call.require_at_most(same(axes[k], axes[l]), 0, "axis " + axes[k].str() + " is given twice");
  }
  size_t rank = data.rank() - *count;
  if (any_unknown(data.dims)) return unknown_dims(rank, data.dtype);
  // Axis k stays at place k less the dropped ones before it.
  std::vector<Dim> result(rank, Dim(0));
  Dim dropped = 0;
  std::string why = call.attrs<DynSqueezeAttrs>().message;
  if (!why.empty()) why += ": ";
  for (size_t k = 0; k < data.rank(); ++k) {
    auto at = static_cast<int64_t>(k);
    Dim drop = 0;
    for (Dim axis : axes) drop = drop + same(axis, at);
    Dim extent = data.dims[k];
    call.require_equal(choose(drop, extent, 1), 1,
                       why + "cannot squeeze axis " + std::to_string(k) + " of " +
                           shape_str(data.dims) + ": its extent is " + extent.str());
    for (size_t place = 0; place < rank && place <= k; ++place) {
      Dim here = min(Dim(1) - drop, same(dropped, at - static_cast<int64_t>(place)));
      result[place] = max(result[place], here * extent);
    }
    dropped = dropped + drop;
  }
  return TensorType::make(result, data.dtype);
}

void compute_reshape(const OpCall& call, te::Builder& b) {
  b.output(b.reshape(b.input(0), call.result().dims));
}

TypeRef infer_tile(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  auto reps = extents(call, 1, "reps");
  if (!reps) return {};
  std::vector<Dim> dims = data.dims;
  if (dims.size() < reps->size()) dims.insert(dims.begin(), reps->size() - dims.size(), Dim(1));
  size_t offset = dims.size() - reps->size();
  for (size_t k = 0; k < reps->size(); ++k) dims[offset + k] = dims[offset + k] * (*reps)[k];
  return TensorType::make(dims, data.dtype);
}

void compute_tile(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::TensorInfo result = call.result();
  size_t offset = result.rank() - data.rank();
  b.output(b.map(result.dims, [&](Indices i) {
    std::vector<Scalar> index;
    for (size_t k = 0; k < data.rank(); ++k) {
      bool once = result.dims[offset + k] == data.dim(k);
      index.push_back(once ? i[offset + k]
                           : te::floor_mod(i[offset + k], te::from_dim(data.dim(k))));
    }
    return data(index);
  }));
}

RELAY_OP("dyn.reshape")
    .doc("The same elements in row-major order under a shape that is an argument.")
    .input("data", "Tensor.", tensor('T'))
    .input("newshape", "New extents; 0 copies the data's at the same place, -1 is inferred, once.",
           list_spec())
    .output("result", "The elements.", tensor('T'))
    .attrs<DynReshapeAttrs>()
    .relation(infer_reshape)
    .example("fn (%x: Tensor[(2, 3, 2), int8], %s: Tensor[(2), int64]) { dyn.reshape(%x, %s) }",
             "[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]", "[0, -1]")
    .level(3)
    .compute(compute_reshape);

RELAY_OP("dyn.expand_dims")
    .doc("Inserts axes of extent 1 at a place that is an argument.")
    .input("data", "Tensor.", tensor('T'))
    .input("axis",
           "Position of the new axes: a scalar; negative counts from the end of the result.",
           tensor(kIndices).rank(0))
    .output("result", "The elements.", tensor('T'))
    .attrs<DynExpandDimsAttrs>()
    .relation(infer_expand_dims)
    .example("fn (%x: Tensor[(2, 3), int8], %axis: int64) { dyn.expand_dims(%x, %axis) }",
             "[[1, 2, 3], [4, 5, 6]]", "1")
    .level(3)
    .compute(compute_reshape);

RELAY_OP("dyn.squeeze")
    .doc("Drops axes of extent 1 that are an argument.")
    .input("data", "Tensor.", tensor('T'))
    .input("axes", "The axes to drop; negative ones count from the end.", list_spec())
    .output("result", "The elements.", tensor('T'))
    .attrs<DynSqueezeAttrs>()
    .relation(infer_squeeze)
    .example(
        "fn (%x: Tensor[(1, 3, 1), int8], %axes: Tensor[(1), int64]) { dyn.squeeze(%x, %axes) }",
        "[[[1], [2], [3]]]", "[-1]")
    .column(static_attributes(), {{"axes", "axis"}})
    .level(3)
    .compute(compute_reshape);

RELAY_OP("dyn.tile")
    .doc("The whole tensor repeated along axes, as often as an argument says.")
    .input("data", "Tensor.", tensor('T'))
    .input("reps", "Repetitions, aligned at the last axis.", list_spec())
    .output("result", "The repeated tensor.", tensor('T'))
    .attrs<DynTileAttrs>()
    .relation(infer_tile)
    .example("fn (%x: Tensor[(2, 2), int8], %reps: Tensor[(2), int64]) { dyn.tile(%x, %reps) }",
             "[[1, 2], [3, 4]]", "[1, 3]")
    .level(3)
    .compute(compute_tile);

}  // namespace
}  // namespace relay

// Operators that put tensors together or repeat them.
#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

std::vector<te::TensorInfo> joined_inputs(const RelationCall& call) {
  std::vector<te::TensorInfo> parts = call.tensors(0);
  call.require(!parts.empty(), "there is nothing to join: the tuple is empty");
  for (const te::TensorInfo& part : parts) {
    call.require(part.rank() == parts[0].rank(), "all tensors must have one rank, found shapes " +
                                                     shape_str(parts[0].dims) + " and " +
                                                     shape_str(part.dims));
  }
  return parts;
}

TypeRef infer_concatenate(const RelationCall& call) {
  std::vector<te::TensorInfo> parts = joined_inputs(call);
  auto axis = static_cast<size_t>(
      normalize_axis(call, call.attrs<ConcatenateAttrs>().axis, parts[0].rank()));
  std::vector<Dim> dims = parts[0].dims;
  for (size_t k = 1; k < parts.size(); ++k) {
    for (size_t i = 0; i < dims.size(); ++i) {
      Dim other = parts[k].dims[i];
      if (i == axis) {
        dims[i] = dims[i] + other;
        continue;
      }
      call.require_equal(dims[i], other,
                         "shapes " + shape_str(parts[0].dims) + " and " + shape_str(parts[k].dims) +
                             " differ on axis " + std::to_string(i) +
                             ", which is not the one joined");
      if (dims[i].is_any()) dims[i] = other;
    }
  }
  return TensorType::make(dims, parts[0].dtype);
}

/// Up to so many arms a chain is as quick.
constexpr size_t kMostInChain = 4;

// Selects on the position along the axis; each arm reads its own part. They are nested by halves,
// since every element walks them and a chain of a thousand arms takes compilers very long.
Scalar select_part(const std::vector<Scalar>& parts, const Scalar& at,
                   const std::vector<Dim>& starts, size_t begin, size_t end) {
  if (end - begin == 1) return parts[begin];
  size_t middle = end - begin <= kMostInChain ? begin + 1 : begin + (end - begin) / 2;
  return te::select(at < te::from_dim(starts[middle]),
                    select_part(parts, at, starts, begin, middle),
                    select_part(parts, at, starts, middle, end));
}

void compute_concatenate(const OpCall& call, te::Builder& b) {
  te::TensorInfo result = call.result();
  size_t axis = axis_position(call.attrs<ConcatenateAttrs>().axis, result.rank());
  b.output(b.map(result.dims, [&](Indices i) {
    std::vector<Dim> starts;
    Dim start = 0;
    for (size_t k = 0; k < b.num_inputs(); ++k) {
      starts.push_back(start);
      start = start + b.input(k).dim(axis);
    }
    std::vector<Scalar> parts;
    for (size_t k = 0; k < b.num_inputs(); ++k) {
      parts.push_back(b.input(k)(te::replace(i, axis, i[axis] - te::from_dim(starts[k]))));
    }
    return select_part(parts, i[axis], starts, 0, parts.size());
  }));
}

TypeRef infer_stack(const RelationCall& call) {
  std::vector<te::TensorInfo> parts = joined_inputs(call);
  std::vector<Dim> dims = parts[0].dims;
  for (const te::TensorInfo& part : parts) {
    for (size_t i = 0; i < dims.size(); ++i) {
      call.require_equal(dims[i], part.dims[i],
                         "all tensors must have one shape, found " + shape_str(parts[0].dims) +
                             " and " + shape_str(part.dims));
    }
  }
  int64_t axis = normalize_axis(call, call.attrs<StackAttrs>().axis, dims.size() + 1);
  dims.insert(dims.begin() + axis, static_cast<int64_t>(parts.size()));
  return TensorType::make(dims, parts[0].dtype);
}

ExprRef expand_stack(const OpCall& call, std::span<const ExprRef> args) {
  const auto* tuple = call.input(0)->as<TupleType>();
  auto axis =
      static_cast<int64_t>(axis_position(call.attrs<StackAttrs>().axis, call.result().rank()));
  std::vector<ExprRef> parts;
  for (uint32_t k = 0; k < tuple->fields().size(); ++k) {
    ExpandDimsAttrs attrs;
    attrs.axis.value = axis;
    parts.push_back(call_op("expand_dims", {make_projection(args[0], k)}, Attrs::make(attrs)));
  }
  ConcatenateAttrs attrs;
  attrs.axis = axis;
  return call_op("concatenate", {relay::make_tuple(parts)}, Attrs::make(attrs));
}

std::vector<Dim> tiled_dims(std::vector<Dim> dims, const std::vector<int64_t>& reps) {
  if (dims.size() < reps.size()) dims.insert(dims.begin(), reps.size() - dims.size(), Dim(1));
  size_t offset = dims.size() - reps.size();
  for (size_t i = 0; i < reps.size(); ++i) dims[offset + i] = dims[offset + i] * reps[i];
  return dims;
}

TypeRef infer_tile(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<TileAttrs>();
  for (int64_t count : *attrs.reps) {
    call.require(
        count > 0 && count <= kLargestExtent,
        "repetitions must be positive and not more than 2^60, found " + std::to_string(count));
  }
  return TensorType::make(tiled_dims(data.dims, *attrs.reps), data.dtype);
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

TypeRef infer_repeat(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<RepeatAttrs>();
  call.require(
      attrs.repeats > 0 && attrs.repeats <= kLargestExtent,
      "repeats must be positive and not more than 2^60, found " + std::to_string(attrs.repeats));
  if (!attrs.axis) {
    Dim flat[] = {product(data.dims) * *attrs.repeats};
    return TensorType::make(flat, data.dtype);
  }
  auto axis = static_cast<size_t>(normalize_axis(call, *attrs.axis, data.rank()));
  data.dims[axis] = data.dims[axis] * *attrs.repeats;
  return TensorType::make(data.dims, data.dtype);
}

void compute_repeat(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  const auto& attrs = call.attrs<RepeatAttrs>();
  if (!attrs.axis) {
    Dim flat[] = {product(data.dims())};
    data = b.reshape(data, flat);
  }
  size_t axis = axis_position(attrs.axis.value_or(0), data.rank());
  b.output(b.map(call.result().dims, [&](Indices i) {
    Scalar source = te::floor_div(i[axis], te::index_constant(attrs.repeats));
    return data(te::replace(i, axis, source));
  }));
}

RELAY_OP("concatenate")
    .doc("Tensors one after the other along an axis.")
    .input("data", "Tuple of tensors of one dtype whose shapes agree off the axis.",
           tuple_of(tensor('T').rank(1, kAnyRank)))
    .output("result", "Tensor that is as long as all on the axis.", tensor('T'))
    .attrs<ConcatenateAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { concatenate((%x, %x), axis=0) }", "[1, 2, 3]")
    .relation(infer_concatenate)
    .level(1)
    .compute(compute_concatenate);

RELAY_OP("stack")
    .doc("Tensors of one shape along a new axis.")
    .input("data", "Tuple of tensors of one dtype and shape.", tuple_of(tensor('T')))
    .output("result", "Tensor with the new axis.", tensor('T'))
    .attrs<StackAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { stack((%x, %x), axis=1) }", "[1, 2, 3]")
    .relation(infer_stack)
    .level(3)
    .expand(expand_stack);

RELAY_OP("tile")
    .doc("The whole tensor repeated along axes.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the repeated data.", tensor('T'))
    .attrs<TileAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { tile(%x, reps=[2, 1]) }", "[1, 2, 3]")
    .relation(infer_tile)
    .level(3)
    .compute(compute_tile);

RELAY_OP("repeat")
    .doc("Each element repeated along an axis.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the repeated elements.", tensor('T'))
    .attrs<RepeatAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { repeat(%x, repeats=2, axis=0) }", "[1, 2, 3]")
    .relation(infer_repeat)
    .level(3)
    .compute(compute_repeat);

}  // namespace
}  // namespace relay

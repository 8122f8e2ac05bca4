// Operators that keep the elements and change the axes.
#include <algorithm>

#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/layout_flow.h>
#include <relay/op/shape/shape_attrs.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

// Extents after the inferred one is known: the total must agree.
void check_total(const RelationCall& call, const std::vector<Dim>& from,
                 const std::vector<Dim>& to) {
  Dim before = product(from);
  Dim after = product(to);
  call.require_equal(before, after,
                     "cannot reshape " + shape_str(from) + ", " + before.str() + " elements, to " +
                         shape_str(to) + ", " + after.str() + " elements");
}

// `copied` are extents of both, which count for nothing: they may be 0.
Dim inferred_extent(const RelationCall& call, std::vector<Dim> from, std::vector<Dim> others,
                    std::span<const Dim> copied) {
  Dim total = product(from);
  std::string message = "cannot infer the extent for -1: " + shape_str(from) + " has " +
                        total.str() + " elements, which is not a multiple of " +
                        product(others).str();
  for (Dim dim : copied) {
    from.erase(std::find(from.begin(), from.end(), dim));
    others.erase(std::find(others.begin(), others.end(), dim));
  }
  total = product(from);
  Dim known = product(others);
  if (total.is_int() || !known.is_int(0)) call.require_multiple(total, known, message);
  return floor_div(total, known);
}

TypeRef infer_reshape(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<ReshapeAttrs>();
  const std::vector<int64_t>& wanted = *attrs.newshape;
  std::vector<Dim> result, copied;
  std::optional<size_t> unknown;
  size_t from = 0;
  auto next = [&](int64_t code) {
    call.require(from < data.rank(), "newshape has " + std::to_string(code) + " where no axis of " +
                                         shape_str(data.dims) + " is left");
    return data.dims[from++];
  };
  auto infer_here = [&] {
    call.require(!unknown, "newshape has more than one extent to infer (-1)");
    unknown = result.size();
    result.push_back(1);
  };
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t code = wanted[i];
    call.require(code <= kLargestExtent, "newshape has the extent " + std::to_string(code));
    if (code > 0 || (code == 0 && attrs.allowzero)) {
      result.push_back(code);
      ++from;
    } else if (code == 0) {
      result.push_back(next(0));
      copied.push_back(result.back());
    } else if (code == -1) {
      infer_here();
      ++from;
    } else if (code == -2) {
      while (from < data.rank()) {
        result.push_back(data.dims[from++]);
        copied.push_back(result.back());
      }
    } else if (code == -3) {
      Dim first = next(-3);
      result.push_back(first * next(-3));
    } else if (code == -4) {
      call.require(i + 2 < wanted.size(), "-4 in newshape needs two extents after it");
      Dim whole = next(-4);
      int64_t a = wanted[++i];
      int64_t b = wanted[++i];
      call.require((a > 0 || a == -1) && (b > 0 || b == -1) && !(a == -1 && b == -1) &&
                       std::max(a, b) <= kLargestExtent,
                   "the two extents after -4 must be positive, one of them may be -1");
      Dim first = a == -1 ? floor_div(whole, b) : Dim(a);
      Dim second = b == -1 ? floor_div(whole, a) : Dim(b);
      call.require_equal(first * second, whole,
                         "-4 in newshape cannot split an axis of extent " + whole.str() + " into " +
                             std::to_string(a) + " and " + std::to_string(b));
      result.push_back(first);
      result.push_back(second);
    } else {
      call.fail("newshape has " + std::to_string(code) + "; -4 is the least code");
    }
  }
  if (unknown) {
    std::vector<Dim> others = result;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(*unknown));
    result[*unknown] = inferred_extent(call, data.dims, others, copied);
  } else {
    check_total(call, data.dims, result);
  }
  return TensorType::make(result, data.dtype);
}

void compute_reshape(const OpCall& call, te::Builder& b) {
  b.output(b.reshape(b.input(0), call.result().dims));
}

TypeRef infer_reverse_reshape(const RelationCall& call) {
  // The same codes, read from the last axis to the first.
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<ReshapeAttrs>();
  const std::vector<int64_t>& wanted = *attrs.newshape;
  std::vector<Dim> result, copied;  // reversed
  std::optional<size_t> unknown;
  size_t left = data.rank();
  auto next = [&](int64_t code) {
    call.require(left > 0, "newshape has " + std::to_string(code) + " where no axis of " +
                               shape_str(data.dims) + " is left");
    return data.dims[--left];
  };
  for (size_t k = wanted.size(); k-- > 0;) {
    int64_t code = wanted[k];
    if (k >= 2 && wanted[k - 2] == -4) {
      Dim whole = next(-4);
      int64_t second = wanted[k];
      int64_t first = wanted[k - 1];
      call.require((first > 0 || first == -1) && (second > 0 || second == -1) &&
                       !(first == -1 && second == -1),
                   "the two extents after -4 must be positive, one of them may be -1");
      Dim a = first == -1 ? floor_div(whole, second) : Dim(first);
      Dim b = second == -1 ? floor_div(whole, first) : Dim(second);
      call.require_equal(a * b, whole,
                         "-4 in newshape cannot split an axis of extent " + whole.str());
      result.push_back(b);
      result.push_back(a);
      k -= 2;
    } else if (code > 0) {
      result.push_back(code);
      if (left > 0) --left;
    } else if (code == 0) {
      result.push_back(next(0));
      copied.push_back(result.back());
    } else if (code == -1) {
      call.require(!unknown, "newshape has more than one extent to infer (-1)");
      unknown = result.size();
      result.push_back(1);
      if (left > 0) --left;
    } else if (code == -2) {
      while (left > 0) {
        result.push_back(data.dims[--left]);
        copied.push_back(result.back());
      }
    } else if (code == -3) {
      Dim last = next(-3);
      result.push_back(last * next(-3));
    } else {
      call.fail("newshape has " + std::to_string(code) + " in a wrong place");
    }
  }
  std::reverse(result.begin(), result.end());
  if (unknown) {
    size_t position = result.size() - 1 - *unknown;
    std::vector<Dim> others = result;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(position));
    result[position] = inferred_extent(call, data.dims, others, copied);
  } else {
    check_total(call, data.dims, result);
  }
  return TensorType::make(result, data.dtype);
}

int64_t clamp_axis(int64_t axis, size_t rank) {
  auto limit = static_cast<int64_t>(rank);
  return axis < 0 ? axis + limit : axis;
}

TypeRef infer_reshape_like(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo like = call.tensor(1);
  const auto& attrs = call.attrs<ReshapeLikeAttrs>();
  auto range = [&](int64_t begin, std::optional<int64_t> end, size_t rank, const char* side) {
    int64_t from = clamp_axis(begin, rank);
    int64_t to = end ? clamp_axis(*end, rank) : static_cast<int64_t>(rank);
    call.require(
        0 <= from && from <= to && to <= static_cast<int64_t>(rank),
        std::string(side) + "_begin and " + side + "_end do not fit rank " + std::to_string(rank));
    return std::pair<size_t, size_t>(from, to);
  };
  auto [lhs_begin, lhs_end] = range(attrs.lhs_begin, attrs.lhs_end, data.rank(), "lhs");
  auto [rhs_begin, rhs_end] = range(attrs.rhs_begin, attrs.rhs_end, like.rank(), "rhs");
  std::vector<Dim> result(data.dims.begin(), data.dims.begin() + lhs_begin);
  result.insert(result.end(), like.dims.begin() + rhs_begin, like.dims.begin() + rhs_end);
  result.insert(result.end(), data.dims.begin() + lhs_end, data.dims.end());
  check_total(call, data.dims, result);
  return TensorType::make(result, data.dtype);
}

std::vector<size_t> permutation(const RelationCall& call, size_t rank) {
  const auto& attrs = call.attrs<TransposeAttrs>();
  std::vector<size_t> axes;
  if (!attrs.axes) {
    for (size_t i = rank; i-- > 0;) axes.push_back(i);
    return axes;
  }
  std::vector<bool> used(rank, false);
  call.require(attrs.axes->size() == rank, "axes has " + std::to_string(attrs.axes->size()) +
                                               " entries for rank " + std::to_string(rank));
  for (int64_t axis : *attrs.axes) {
    auto position = static_cast<size_t>(normalize_axis(call, axis, rank, "axes entry"));
    call.require(!used[position], "axes names axis " + std::to_string(position) + " twice");
    used[position] = true;
    axes.push_back(position);
  }
  return axes;
}

TypeRef infer_transpose(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  std::vector<Dim> dims;
  for (size_t axis : permutation(call, data.rank())) dims.push_back(data.dims[axis]);
  return TensorType::make(dims, data.dtype);
}

void compute_transpose(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  std::vector<TypeRef> inputs{call.input(0)};
  std::vector<size_t> axes = permutation(RelationCall(inputs, call.attrs_ref()), data.rank());
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Scalar> index(axes.size());
    for (size_t k = 0; k < axes.size(); ++k) index[axes[k]] = i[k];
    return data(index);
  }));
}

TypeRef infer_squeeze(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<SqueezeAttrs>();
  std::vector<bool> drop(data.rank(), false);
  if (attrs.axis) {
    for (int64_t axis : *attrs.axis) {
      auto position = static_cast<size_t>(normalize_axis(call, axis, data.rank()));
      call.require_equal(data.dims[position], 1,
                         "cannot squeeze axis " + std::to_string(axis) + " of " +
                             shape_str(data.dims) + ": its extent is " + data.dims[position].str());
      call.require(!drop[position], "axis " + std::to_string(axis) + " is given twice");
      drop[position] = true;
    }
  } else {
    for (size_t i = 0; i < data.rank(); ++i) {
      if (data.dims[i].is_variable()) return {};
      drop[i] = data.dims[i].is_int(1);
    }
  }
  std::vector<Dim> dims;
  for (size_t i = 0; i < data.rank(); ++i) {
    if (!drop[i]) dims.push_back(data.dims[i]);
  }
  return TensorType::make(dims, data.dtype);
}

TypeRef infer_expand_dims(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<ExpandDimsAttrs>();
  call.require(attrs.num_newaxis >= 0 && attrs.num_newaxis <= 1000,
               "num_newaxis must be from 0 to 1000, found " + std::to_string(attrs.num_newaxis));
  int64_t axis = normalize_axis(call, *attrs.axis, data.rank() + 1);
  data.dims.insert(data.dims.begin() + axis, static_cast<size_t>(attrs.num_newaxis), Dim(1));
  return TensorType::make(data.dims, data.dtype);
}

TypeRef infer_batch_flatten(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  Dim dims[] = {data.dims[0], product(std::span(data.dims).subspan(1))};
  return TensorType::make(dims, data.dtype);
}

AttrsRef spell_transpose(const OpCall& call) {
  TransposeAttrs attrs = call.attrs<TransposeAttrs>();
  if (!attrs.axes) {
    attrs.axes.emplace();
    for (size_t i = call.tensor(0).rank(); i-- > 0;)
      attrs.axes->push_back(static_cast<int64_t>(i));
  }
  return Attrs::make(attrs);
}

RELAY_OP("reshape")
    .doc("The same elements in row-major order under another shape.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the new shape.", tensor('T'))
    .attrs<ReshapeAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { reshape(%x, newshape=[3, -1]) }",
             "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_reshape)
    .level(3)
    .compute(compute_reshape);

RELAY_OP("contrib_reverse_reshape")
    .doc("reshape whose codes are matched from the last axis to the first.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the new shape.", tensor('T'))
    .attrs<ReshapeAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { contrib_reverse_reshape(%x, newshape=[-1, 2]) }",
             "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_reverse_reshape)
    .level(10)
    .compute(compute_reshape);

RELAY_OP("reshape_like")
    .doc("Axes lhs_begin…lhs_end of data replaced by axes rhs_begin…rhs_end of another shape.")
    .input("data", "Tensor.", tensor('T'))
    .input("shape_like", "Tensor whose shape counts.", tensor())
    .output("result", "Tensor of the other's shape.", tensor('T'))
    .attrs<ReshapeLikeAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { reshape_like(%x, Constant(0, (3, 2), float32)) }",
             "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_reshape_like)
    .level(3)
    .compute(compute_reshape);

RELAY_OP("transpose")
    .doc("Axes in another order.")
    .column(spelled_axes(), spell_transpose)
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the permuted axes.", tensor('T'))
    .attrs<TransposeAttrs>()
    .example("fn (%x: Tensor[(2, 3), float32]) { transpose(%x, axes=[1, 0]) }",
             "[[1, 2, 3], [4, 5, 6]]")
    .relation(infer_transpose)
    .level(3)
    .compute(compute_transpose);

RELAY_OP("squeeze")
    .doc("Drops axes of extent 1.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor without the axes.", tensor('T'))
    .attrs<SqueezeAttrs>()
    .example("fn (%x: Tensor[(1, 2), float32]) { squeeze(%x, axis=[0]) }", "[[1, 2]]")
    .relation(infer_squeeze)
    .level(3)
    .compute(compute_reshape);

RELAY_OP("expand_dims")
    .doc("Inserts axes of extent 1.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor with the new axes.", tensor('T'))
    .attrs<ExpandDimsAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { expand_dims(%x, axis=1) }", "[1, 2, 3]")
    .relation(infer_expand_dims)
    .level(1)
    .compute(compute_reshape);

RELAY_OP("nn.batch_flatten")
    .doc("All axes but the first merged into one.")
    .input("data", "Tensor of rank 2 or more.", tensor('T').rank(2, kAnyRank))
    .output("result", "Matrix (batch, all others).", tensor('T'))
    .example("fn (%x: Tensor[(1, 2, 2), float32]) { nn.batch_flatten(%x) }", "[[[1, 2], [3, 4]]]")
    .relation(infer_batch_flatten)
    .level(2)
    .compute(compute_reshape);

}  // namespace
}  // namespace relay

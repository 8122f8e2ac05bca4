// Padding.
#include <relay/op/nn/pad_attrs.h>
#include <relay/op/nn/padding.h>
#include <relay/op/op.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;
using PadWidth = std::vector<std::vector<int64_t>>;

enum class Fill : uint8_t { kValue, kEdge, kSymmetric, kReflect };

Fill fill_of(PadMode mode) {
  return mode == PadMode::kConstant ? Fill::kValue
         : mode == PadMode::kEdge   ? Fill::kEdge
                                    : Fill::kReflect;
}
Fill fill_of(MirrorMode mode) {
  return mode == MirrorMode::kSymmetric ? Fill::kSymmetric : Fill::kReflect;
}

// Result extents. A mirror wants that many elements beside (or at) the border.
template <class Mode>
std::vector<Dim> padded_dims(const RelationCall& call, const te::TensorInfo& data,
                             const PadWidth& width, Mode mode) {
  Fill fill = fill_of(mode);
  std::string shape = "data " + shape_str(data.dims);
  call.require(width.size() == data.rank(), "pad_width has " + std::to_string(width.size()) +
                                                " pairs for the " + std::to_string(data.rank()) +
                                                " axes of " + shape);
  std::vector<Dim> dims;
  for (size_t i = 0; i < width.size(); ++i) {
    std::string where = "pad_width of axis " + std::to_string(i);
    call.require(width[i].size() == 2, where + " must be a pair, before and after, found " +
                                           std::to_string(width[i].size()) +
                                           (width[i].size() == 1 ? " number" : " numbers"));
    int64_t before = width[i][0];
    int64_t after = width[i][1];
    constexpr int64_t kLargest = int64_t{1} << 40;
    call.require(std::min(before, after) >= -kLargest && std::max(before, after) <= kLargest,
                 where + " must lie within 2^40, found [" + std::to_string(before) + ", " +
                     std::to_string(after) + "]");
    Dim extent = data.dims[i];
    int64_t more = std::max<int64_t>({before, after, 0});
    auto too_wide = [&](Dim most) {
      return where + " is [" + std::to_string(before) + ", " + std::to_string(after) +
             "], mode \"" + std::string(word_text(mode)) + "\" can take at most " + most.str() +
             " from the " + extent.str() + " elements of " + shape;
    };
    if (fill != Fill::kValue && !extent.is_int() && more > 0) {
      Dim least = fill == Fill::kEdge        ? Dim(1)
                  : fill == Fill::kSymmetric ? Dim(more)
                                             : Dim(more + 1);
      Dim most = fill == Fill::kReflect ? max(extent - 1, Dim(0)) : extent;
      call.require_at_most(least, extent, too_wide(most));
    }
    if (fill != Fill::kValue && extent.is_int()) {
      int64_t most = fill == Fill::kEdge        ? (extent.as_int() > 0 ? more : 0)
                     : fill == Fill::kSymmetric ? extent.as_int()
                                                : std::max<int64_t>(extent.as_int() - 1, 0);
      call.require(more <= most, too_wide(Dim(most)));
    }
    if (before + after < 0) {
      call.require_at_most(Dim(-(before + after)), extent,
                           where + " is [" + std::to_string(before) + ", " + std::to_string(after) +
                               "], which takes more than the " + extent.str() + " elements of " +
                               shape + " away");
    }
    dims.push_back(extent + before + after);
  }
  return dims;
}

TypeRef infer_pad(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<PadAttrs>();
  return TensorType::make(padded_dims(call, data, *attrs.pad_width, attrs.pad_mode), data.dtype);
}

TypeRef infer_mirror_pad(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<MirrorPadAttrs>();
  return TensorType::make(padded_dims(call, data, *attrs.pad_width, attrs.mode), data.dtype);
}

// The place that a position off the data mirrors, for at most one reflection on either side.
Scalar mirrored(const Scalar& at, Dim extent, bool symmetric) {
  Scalar last = te::from_dim(extent - 1);
  if (!symmetric) return last - te::abs(last - te::abs(at));
  Scalar front = te::select(at < 0, te::index_constant(-1) - at, at);
  return te::select(front > last, last * 2 + 1 - front, front);
}

void compute_from_data(const OpCall& call, te::Builder& b, const PadWidth& width, Fill fill) {
  te::Tensor data = b.input(0);
  bool proven = true;  // the relation has checked the extents
  for (Dim dim : data.dims()) proven = proven && dim.is_int();
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Scalar> index;
    for (size_t k = 0; k < i.size(); ++k) {
      bool padded = width[k][0] > 0 || width[k][1] > 0;
      Scalar at = i[k] - width[k][0];
      index.push_back(
          padded && fill != Fill::kEdge ? mirrored(at, data.dim(k), fill == Fill::kSymmetric) : at);
    }
    if (fill == Fill::kEdge) return data.load(index, te::Bounds::kClamp);
    return data.load(index, proven ? te::Bounds::kProven : te::Bounds::kFail);
  }));
}

void compute_pad(const OpCall& call, te::Builder& b) {
  const auto& attrs = call.attrs<PadAttrs>();
  const PadWidth& width = *attrs.pad_width;
  if (attrs.pad_mode != PadMode::kConstant)
    return compute_from_data(call, b, width, fill_of(attrs.pad_mode));
  te::Tensor data = b.input(0);
  // The value is an input, so that Fill, which wants a constant, cannot say it.
  Scalar value = te::cast(b.input(1)({}), data.dtype());
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Scalar> index;
    Scalar inside;
    auto also = [&](Scalar condition) {
      inside = inside.node() == nullptr ? std::move(condition) : inside && std::move(condition);
    };
    for (size_t k = 0; k < i.size(); ++k) {
      index.push_back(i[k] - width[k][0]);
      if (width[k][0] > 0) also(index[k] >= 0);
      if (width[k][1] > 0) also(index[k] < te::from_dim(data.dim(k)));
    }
    return inside.node() == nullptr ? data(index) : te::select(inside, data(index), value);
  }));
}

RELAY_OP("nn.pad")
    .doc(
        "The tensor with elements added before and after it on every axis, or taken away where "
        "pad_width is negative.")
    .input("data", "Tensor.", tensor('T'))
    .input("pad_val", "Scalar for mode \"constant\", converted to the data's dtype.",
           tensor().rank(0))
    .output("result", "Tensor of the data's extents and the amounts.", tensor('T'))
    .attrs<PadAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { nn.pad(%x, 0f, pad_width=[[1, 2]]) }", "[1, 2, 3]")
    .relation(infer_pad)
    .level(2)
    .column(added_padding(),
            [](const OpCall& call) -> PaddingWidths {
              const auto& attrs = call.attrs<PadAttrs>();
              PaddingWidths widths;
              if (attrs.pad_mode != PadMode::kConstant) return widths;
              for (const std::vector<int64_t>& pair : *attrs.pad_width) {
                if (pair[0] < 0 || pair[1] < 0) return {};
                widths.emplace_back(pair[0], pair[1]);
              }
              return widths;
            })
    .compute(compute_pad);

RELAY_OP("nn.mirror_pad")
    .doc("The tensor with its mirror images added before and after it on every axis.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the data's extents and the amounts.", tensor('T'))
    .attrs<MirrorPadAttrs>()
    .example("fn (%x: Tensor[(3), float32]) { nn.mirror_pad(%x, pad_width=[[2, 1]]) }", "[1, 2, 3]")
    .relation(infer_mirror_pad)
    .level(2)
    .compute([](const OpCall& call, te::Builder& b) {
      const auto& attrs = call.attrs<MirrorPadAttrs>();
      compute_from_data(call, b, *attrs.pad_width, fill_of(attrs.mode));
    });

}  // namespace
}  // namespace relay

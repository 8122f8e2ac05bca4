// Elements moved between space, channels and batch; space widened.
#include <cmath>
#include <limits>

#include <relay/op/nn/space_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/layout.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

constexpr int64_t kLargestBlock = int64_t{1} << 20;

// ---- depth_to_space, space_to_depth -------------------------------------------------------------

Layout plain_layout(const SubPixelAttrs& attrs) {
  Layout layout = Layout::parse(attrs.layout, "NCHW", "layout");
  if (layout.rank() != 4) throw Error("layout \"" + attrs.layout + "\" must be without blocks");
  return layout;
}

int64_t block_of(const RelationCall& call, const SubPixelAttrs& attrs) {
  call.require(attrs.block_size >= 1 && attrs.block_size <= kLargestBlock,
               "block_size must be from 1 to 2^20, found " + std::to_string(attrs.block_size));
  return attrs.block_size;
}

TypeRef infer_depth_to_space(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<SubPixelAttrs>();
  Layout layout = plain_layout(attrs);
  layout.check(data.dims, "the data");
  int64_t block = block_of(call, attrs);
  std::vector<Dim> dims = layout.dims([&](char axis) {
    Dim extent = layout.extent(data.dims, axis);
    if (axis == 'N') return extent;
    if (axis != 'C') return extent * block;
    call.require_multiple(extent, block * block,
                          "blocks of " + std::to_string(block) + " by " + std::to_string(block) +
                              " do not divide the " + extent.str() + " channels of data " +
                              shape_str(data.dims));
    return floor_div(extent, block * block);
  });
  return TensorType::make(dims, data.dtype);
}

TypeRef infer_space_to_depth(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<SubPixelAttrs>();
  Layout layout = plain_layout(attrs);
  layout.check(data.dims, "the data");
  int64_t block = block_of(call, attrs);
  std::vector<Dim> dims = layout.dims([&](char axis) {
    Dim extent = layout.extent(data.dims, axis);
    if (axis == 'N') return extent;
    if (axis == 'C') return extent * (block * block);
    call.require_multiple(extent, block,
                          "blocks of " + std::to_string(block) + " do not divide the extent " +
                              extent.str() + " of axis " + axis + ": data " + shape_str(data.dims));
    return floor_div(extent, block);
  });
  return TensorType::make(dims, data.dtype);
}

// A copy whose axes are those of the result, each cut where blocks begin: no index is divided.
class Cut {
 public:
  void add(char axis, Dim extent) {
    names_ += axis;
    dims_.push_back(extent);
  }
  const std::vector<Dim>& dims() const { return dims_; }
  Scalar at(Indices i, char axis) const { return i[names_.find(axis)]; }

 private:
  std::string names_;
  std::vector<Dim> dims_;
};

void compute_depth_to_space(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  const auto& attrs = call.attrs<SubPixelAttrs>();
  Layout layout = plain_layout(attrs);
  te::TensorInfo result = call.result();
  Dim channels = layout.extent(result.dims, 'C');
  Cut cut;
  for (char axis : attrs.layout) {
    cut.add(axis, axis == 'C' ? channels : layout.extent(data.dims(), axis));
    if (axis == 'H') cut.add('h', attrs.block_size);
    if (axis == 'W') cut.add('w', attrs.block_size);
  }
  te::Tensor copy = b.map(cut.dims(), [&](Indices i) {
    return data(layout.index([&](char axis) -> Coordinate {
      Scalar at = cut.at(i, axis);
      if (axis != 'C') return Coordinate(at);
      Scalar place = cut.at(i, 'h') * attrs.block_size + cut.at(i, 'w');
      if (attrs.mode == DepthMode::kDCR) return Coordinate(place * te::from_dim(channels) + at);
      return Coordinate(at * (attrs.block_size * attrs.block_size) + place);
    }));
  });
  b.output(b.reshape(copy, result.dims));
}

void compute_space_to_depth(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  const auto& attrs = call.attrs<SubPixelAttrs>();
  Layout layout = plain_layout(attrs);
  te::TensorInfo result = call.result();
  Cut cut;
  for (char axis : attrs.layout) {
    if (axis == 'C') {
      cut.add('h', attrs.block_size);
      cut.add('w', attrs.block_size);
    }
    cut.add(axis, axis == 'C' ? layout.extent(data.dims(), 'C') : layout.extent(result.dims, axis));
  }
  te::Tensor copy = b.map(cut.dims(), [&](Indices i) {
    return data(layout.index([&](char axis) -> Coordinate {
      Scalar at = cut.at(i, axis);
      if (axis == 'H') return Coordinate(at * attrs.block_size + cut.at(i, 'h'));
      if (axis == 'W') return Coordinate(at * attrs.block_size + cut.at(i, 'w'));
      return Coordinate(at);
    }));
  });
  b.output(b.reshape(copy, result.dims));
}

RELAY_OP("nn.depth_to_space")
    .doc("Blocks of space made of channels: each block_size² channels become one.")
    .input("data", "Tensor in the layout.", tensor('T').rank(4))
    .output("result", "Tensor in the layout.", tensor('T').rank(4))
    .attrs<SubPixelAttrs>()
    .relation(infer_depth_to_space)
    .example("fn (%x: Tensor[(1, 4, 1, 2), float32]) { nn.depth_to_space(%x, block_size=2) }",
             "[[[[1, 2]], [[3, 4]], [[5, 6]], [[7, 8]]]]")
    .level(5)
    .compute(compute_depth_to_space);

RELAY_OP("nn.space_to_depth")
    .doc(
        "Channels made of blocks of space, the position in the block first; the mode says nothing.")
    .input("data", "Tensor in the layout.", tensor('T').rank(4))
    .output("result", "Tensor in the layout.", tensor('T').rank(4))
    .attrs<SubPixelAttrs>()
    .relation(infer_space_to_depth)
    .example("fn (%x: Tensor[(1, 1, 2, 4), float32]) { nn.space_to_depth(%x, block_size=2) }",
             "[[[[1, 2, 3, 4], [5, 6, 7, 8]]]]")
    .level(5)
    .compute(compute_space_to_depth);

// ---- space_to_batch_nd, batch_to_space_nd -------------------------------------------------------

using Pairs = std::vector<std::vector<int64_t>>;

void check_blocks(const RelationCall& call, const te::TensorInfo& data,
                  const std::vector<int64_t>& blocks, const Pairs& pairs, const std::string& what) {
  call.require(blocks.size() < data.rank(), "block_shape has " + std::to_string(blocks.size()) +
                                                " entries for the axes after the first of data " +
                                                shape_str(data.dims));
  for (int64_t block : blocks) {
    call.require(block >= 1 && block <= kLargestBlock,
                 "entries of block_shape must be from 1 to 2^20, found " + std::to_string(block));
  }
  call.require(pairs.size() == blocks.size(),
               what + " must have a pair for each of the " + std::to_string(blocks.size()) +
                   " entries of block_shape, found " + std::to_string(pairs.size()));
  for (const std::vector<int64_t>& pair : pairs) {
    call.require(pair.size() == 2, what + " must be pairs, found one of " +
                                       std::to_string(pair.size()) +
                                       (pair.size() == 1 ? " number" : " numbers"));
    for (int64_t one : pair) {
      call.require(one >= 0 && one <= (int64_t{1} << 40),
                   "entries of " + what + " must be from 0 to 2^40, found " + std::to_string(one));
    }
  }
}

int64_t block_volume(const RelationCall& call, const std::vector<int64_t>& blocks) {
  int64_t volume = 1;
  for (int64_t block : blocks) {
    call.require(volume <= (int64_t{1} << 40) / block, "a block has too many elements");
    volume *= block;
  }
  return volume;
}

// The number as a constant of the dtype, which must be able to hold it.
void require_value(const RelationCall& call, double value, DType dtype, const std::string& what) {
  if (!dtype.is_integer()) return;
  double least = dtype.is_signed() ? -std::ldexp(1.0, dtype.bits - 1) : 0.0;
  double beyond = std::ldexp(1.0, dtype.is_signed() ? dtype.bits - 1 : dtype.bits);
  call.require(value == std::trunc(value) && value >= least && value < beyond,
               what + " " + AttrValue(value).str() + " does not fit " + std::string(dtype.name()));
}

Scalar value_of(double value, DType dtype) {
  if (dtype.is_float()) return te::constant(value, dtype);
  if (dtype == kBool) return te::constant(value != 0 ? 1 : 0, dtype);
  if (dtype.is_signed() || value < 9.2e18) return te::constant(static_cast<int64_t>(value), dtype);
  return te::constant(static_cast<int64_t>(static_cast<uint64_t>(value)), dtype);
}

TypeRef infer_space_to_batch(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<SpaceToBatchNDAttrs>();
  check_blocks(call, data, attrs.block_shape, *attrs.paddings, "paddings");
  require_value(call, attrs.pad_value, data.dtype, "pad_value");
  std::vector<Dim> dims = data.dims;
  dims[0] = dims[0] * block_volume(call, attrs.block_shape);
  for (size_t d = 0; d < attrs.block_shape.size(); ++d) {
    const std::vector<int64_t>& pair = (*attrs.paddings)[d];
    Dim padded = dims[d + 1] + pair[0] + pair[1];
    int64_t block = attrs.block_shape[d];
    call.require_multiple(padded, block,
                          "blocks of " + std::to_string(block) + " do not divide the padded " +
                              "extent " + padded.str() + " of axis " + std::to_string(d + 1) +
                              ": data " + shape_str(data.dims));
    dims[d + 1] = floor_div(padded, block);
  }
  return TensorType::make(dims, data.dtype);
}

void compute_space_to_batch(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  const auto& attrs = call.attrs<SpaceToBatchNDAttrs>();
  te::TensorInfo result = call.result();
  size_t blocks = attrs.block_shape.size();
  // Positions in the block, then batch, space and the rest.
  std::vector<Dim> dims(attrs.block_shape.begin(), attrs.block_shape.end());
  dims.push_back(data.dim(0));
  dims.insert(dims.end(), result.dims.begin() + 1, result.dims.end());
  bool padded = false;
  for (const std::vector<int64_t>& pair : *attrs.paddings) padded |= pair[0] > 0 || pair[1] > 0;
  te::Tensor copy = b.map(dims, [&](Indices i) {
    std::vector<Scalar> index(i.begin() + static_cast<std::ptrdiff_t>(blocks), i.end());
    for (size_t d = 0; d < blocks; ++d) {
      index[d + 1] = index[d + 1] * attrs.block_shape[d] + i[d] - (*attrs.paddings)[d][0];
    }
    return padded ? data.load_or(index, value_of(attrs.pad_value, data.dtype())) : data(index);
  });
  b.output(b.reshape(copy, result.dims));
}

TypeRef infer_batch_to_space(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<BatchToSpaceNDAttrs>();
  check_blocks(call, data, attrs.block_shape, *attrs.crops, "crops");
  int64_t volume = block_volume(call, attrs.block_shape);
  call.require_multiple(data.dims[0], volume,
                        "blocks of " + std::to_string(volume) + " elements do not divide the " +
                            "batch of data " + shape_str(data.dims));
  std::vector<Dim> dims = data.dims;
  dims[0] = floor_div(dims[0], volume);
  for (size_t d = 0; d < attrs.block_shape.size(); ++d) {
    const std::vector<int64_t>& pair = (*attrs.crops)[d];
    Dim whole = dims[d + 1] * attrs.block_shape[d];
    dims[d + 1] = whole - pair[0] - pair[1];
    call.require_at_most(pair[0] + pair[1], whole,
                         "crops of axis " + std::to_string(d + 1) + " cut off more than the " +
                             whole.str() + " elements that there are: data " +
                             shape_str(data.dims));
  }
  return TensorType::make(dims, data.dtype);
}

void compute_batch_to_space(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  const auto& attrs = call.attrs<BatchToSpaceNDAttrs>();
  te::TensorInfo result = call.result();
  size_t blocks = attrs.block_shape.size();
  // Batch, then each dimension of space with the position in its block, and the rest.
  std::vector<Dim> dims{result.dims[0]};
  std::vector<Dim> whole{result.dims[0]};
  for (size_t d = 0; d < blocks; ++d) {
    dims.push_back(data.dim(d + 1));
    dims.emplace_back(attrs.block_shape[d]);
    whole.push_back(data.dim(d + 1) * attrs.block_shape[d]);
  }
  auto rest = data.dims().begin() + static_cast<std::ptrdiff_t>(blocks + 1);
  dims.insert(dims.end(), rest, data.dims().end());
  whole.insert(whole.end(), rest, data.dims().end());
  te::Tensor copy = b.map(dims, [&](Indices i) {
    Scalar batch = te::index_constant(0);
    std::vector<Scalar> index{batch};
    for (size_t d = 0; d < blocks; ++d) {
      index.push_back(i[2 * d + 1]);
      batch = batch * attrs.block_shape[d] + i[2 * d + 2];
    }
    index[0] = batch * te::from_dim(result.dims[0]) + i[0];
    index.insert(index.end(), i.begin() + static_cast<std::ptrdiff_t>(2 * blocks + 1), i.end());
    return data(index);
  });
  te::Tensor joined = b.reshape(copy, whole);
  bool crops = false;
  for (const std::vector<int64_t>& pair : *attrs.crops) crops |= pair[0] > 0 || pair[1] > 0;
  if (!crops) {
    b.output(joined);
    return;
  }
  b.output(b.map(result.dims, [&](Indices i) {
    std::vector<Scalar> index(i.begin(), i.end());
    for (size_t d = 0; d < blocks; ++d) index[d + 1] = index[d + 1] + (*attrs.crops)[d][0];
    return joined(index);
  }));
}

RELAY_OP("nn.space_to_batch_nd")
    .doc("Batches made of blocks of space, the position in the block first.")
    .input("data", "Tensor: batch, axes of space, others.", tensor('T').rank(1, kAnyRank))
    .output("result", "Tensor: batch, axes of space, others.", tensor('T'))
    .attrs<SpaceToBatchNDAttrs>()
    .example(
        "fn (%x: Tensor[(1, 4), float32]) { nn.space_to_batch_nd(%x, block_shape=[2], "
        "paddings=[[1, 1]]) }",
        "[[1, 2, 3, 4]]")
    .relation(infer_space_to_batch)
    .level(5)
    .compute(compute_space_to_batch);

RELAY_OP("nn.batch_to_space_nd")
    .doc("Blocks of space made of batches: the reverse of nn.space_to_batch_nd.")
    .input("data", "Tensor: batch, axes of space, others.", tensor('T').rank(1, kAnyRank))
    .output("result", "Tensor: batch, axes of space, others.", tensor('T'))
    .attrs<BatchToSpaceNDAttrs>()
    .example(
        "fn (%x: Tensor[(2, 3), float32]) { nn.batch_to_space_nd(%x, block_shape=[2], "
        "crops=[[1, 1]]) }",
        "[[0, 2, 4], [1, 3, 0]]")
    .relation(infer_batch_to_space)
    .level(5)
    .compute(compute_batch_to_space);

// ---- dilate -------------------------------------------------------------------------------------

TypeRef infer_dilate(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  const auto& attrs = call.attrs<DilateAttrs>();
  call.require(attrs.strides->size() == data.rank(),
               "strides has " + std::to_string(attrs.strides->size()) + " entries for the " +
                   std::to_string(data.rank()) + " axes of data " + shape_str(data.dims));
  require_value(call, attrs.dilation_value, data.dtype, "dilation_value");
  std::vector<Dim> dims;
  for (size_t d = 0; d < data.rank(); ++d) {
    int64_t stride = (*attrs.strides)[d];
    call.require(stride >= 1 && stride <= (int64_t{1} << 40),
                 "strides must be from 1 to 2^40, found " + std::to_string(stride));
    dims.push_back(stride == 1 ? data.dims[d] : max((data.dims[d] - 1) * stride + 1, Dim(0)));
  }
  return TensorType::make(dims, data.dtype);
}

void compute_dilate(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  const auto& attrs = call.attrs<DilateAttrs>();
  b.output(b.map(call.result().dims, [&](Indices i) {
    std::vector<Scalar> index;
    bool between = false;
    for (size_t d = 0; d < i.size(); ++d) {
      Scalar stride = te::index_constant((*attrs.strides)[d]);
      bool dense = (*attrs.strides)[d] == 1;
      between |= !dense;
      index.push_back(dense ? i[d]
                            : te::select(te::floor_mod(i[d], stride) == 0,
                                         te::floor_div(i[d], stride), te::index_constant(-1)));
    }
    return between ? data.load_or(index, value_of(attrs.dilation_value, data.dtype()))
                   : data(index);
  }));
}

RELAY_OP("nn.dilate")
    .doc("The data with a distance between its elements; nothing is added at the ends.")
    .input("data", "Tensor.", tensor('T'))
    .output("result", "Tensor of the data's rank.", tensor('T'))
    .attrs<DilateAttrs>()
    .example("fn (%x: Tensor[(2, 2), float32]) { nn.dilate(%x, strides=[1, 3]) }",
             "[[1, 2], [3, 4]]")
    .relation(infer_dilate)
    .level(10)
    .compute(compute_dilate);

}  // namespace
}  // namespace relay

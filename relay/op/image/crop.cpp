// Boxes cut out of images, each brought to one size.
#include <relay/op/image/image_attrs.h>
#include <relay/op/image/resample.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

struct CropResize {
  Layout layout;
  Resampling how;

  explicit CropResize(const CropAndResizeAttrs& attrs)
      : layout(Layout::parse(attrs.layout, "NCHW", "layout")) {
    how.method =
        attrs.method == CropMethod::kLinear ? ResizeMethod::kLinear : ResizeMethod::kNearest;
    how.rounding = ResizeRounding::kRound;
    how.coordinates = ResizeCoordinates::kCrop;
    how.extrapolation = attrs.extrapolation_value;
  }
};

TypeRef infer_crop_and_resize(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  te::TensorInfo boxes = call.tensor(1);
  te::TensorInfo indices = call.tensor(2);
  const auto& attrs = call.attrs<CropAndResizeAttrs>();
  CropResize crop(attrs);
  crop.layout.check(data.dims, "the data");
  std::string found = "boxes must have shape (n, 4), found " + shape_str(boxes.dims);
  call.require_equal(boxes.dims[1], 4, found);
  std::string message = "box_indices must have one entry for each of the boxes " +
                        shape_str(boxes.dims) + ", found shape " + shape_str(indices.dims);
  call.require_equal(boxes.dims[0], indices.dims[0], message);
  call.require(attrs.crop_size && attrs.crop_size->size() == 2,
               "crop_size must have 2 extents, found " +
                   (attrs.crop_size ? std::to_string(attrs.crop_size->size()) : "none"));
  for (int64_t extent : *attrs.crop_size) {
    call.require(extent >= 0 && extent <= (int64_t{1} << 40),
                 "an extent of crop_size must be from 0 to 2^40, found " + std::to_string(extent));
  }
  std::vector<Dim> dims = crop.layout.dims([&](char axis) -> Dim {
    if (axis == 'N') return boxes.dims[0];
    if (axis == 'C') return crop.layout.extent(data.dims, 'C');
    return (*attrs.crop_size)[axis == 'H' ? 0 : 1];
  });
  require_elements(call, crop.layout, "HW", data.dims, dims);
  DType dtype = attrs.out_dtype.value_or(data.dtype);
  call.require(dtype.is_numeric(),
               "out_dtype must be a number's, found " + std::string(dtype.name()));
  return TensorType::make(dims, dtype);
}

void compute_crop_and_resize(const OpCall& call, te::Builder& b) {
  te::Tensor data = b.input(0);
  te::Tensor boxes = b.input(1);
  te::Tensor indices = b.input(2);
  CropResize crop(call.attrs<CropAndResizeAttrs>());
  const Layout& layout = crop.layout;
  te::TensorInfo result = call.result();
  bool is_nearest = crop.how.method == ResizeMethod::kNearest;
  DType dtype = is_nearest ? data.dtype() : resampling_dtype(data.dtype(), result.dtype);

  // The image of each box, moved into the batch.
  te::Tensor images = b.map({layout.extent(data.dims(), 'N')}, [](Indices i) { return i[0]; });
  te::Tensor image = b.map({boxes.dim(0)}, [&](Indices i) {
    return images.load({te::cast(indices(i), kInt64)}, te::Bounds::kFail);
  });
  auto edge = [&](int64_t k) {
    return [=](Indices box) { return te::cast(boxes({box[0], te::index_constant(k)}), kFloat32); };
  };
  std::vector<Taps> taps;
  for (int64_t d = 0; d < 2; ++d) {
    char axis = d == 0 ? 'H' : 'W';
    taps.push_back(make_taps(b, crop.how, layout.extent(data.dims(), axis),
                             layout.extent(result.dims, axis), dtype, {boxes.dim(0)},
                             {edge(d), edge(2 + d)}));
  }
  b.output(b.map(result.dims, [&](Indices i) {
    Scalar box = layout.coordinate(i, 'N').whole;
    Scalar at[2] = {layout.coordinate(i, 'H').whole, layout.coordinate(i, 'W').whole};
    auto element = [&](size_t y, size_t x) {
      return data(layout.index([&](char axis) -> Coordinate {
        if (axis == 'N') return Coordinate(image({box}));
        if (axis == 'C') return layout.coordinate(i, 'C');
        return axis == 'H' ? taps[0].index[y]({box, at[0]}) : taps[1].index[x]({box, at[1]});
      }));
    };
    auto mixed = [&](size_t y) {
      return te::cast(element(y, 0), dtype) * taps[1].weight[0]({box, at[1]}) +
             te::cast(element(y, 1), dtype) * taps[1].weight[1]({box, at[1]});
    };
    Scalar value = is_nearest ? element(0, 0)
                              : mixed(0) * taps[0].weight[0]({box, at[0]}) +
                                    mixed(1) * taps[0].weight[1]({box, at[0]});
    Scalar outside = taps[0].outside({box, at[0]}) || taps[1].outside({box, at[1]});
    return te::select(outside, te::constant(crop.how.extrapolation, result.dtype),
                      resampled_value(value, crop.how, result.dtype));
  }));
}

RELAY_OP("image.crop_and_resize")
    .doc(
        "Parts of images, each resized: rows from begin to end, the first and the last included. "
        "An end before its begin flips the part. The nearest element: halves go up.")
    .input("data", "Images in the layout.", tensor('T', kNumbers))
    .input("boxes",
           "Top, left, bottom and right of each box, as shares of the extents from 0 to 1.",
           tensor(kFloats).rank(2))
    .input("box_indices", "The image of each box.", tensor(kIndices).rank(1))
    .output("result", "The parts in the layout.", tensor(kNumbers))
    .attrs<CropAndResizeAttrs>()
    .relation(infer_crop_and_resize)
    .example(
        "fn (%x: Tensor[(1, 1, 2, 3), float32], %boxes: Tensor[(2, 4), float32]) { "
        "image.crop_and_resize(%x, %boxes, zeros(shape=[2], dtype=\"int32\"), crop_size=[2, 2]) }",
        "[[[[1, 2, 3], [4, 5, 6]]]]", "[[0, 0, 1, 1], [0, 0.5, 1, 0]]")
    .level(5)
    .compute(compute_crop_and_resize);

}  // namespace
}  // namespace relay

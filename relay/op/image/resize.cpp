// Resize in one, two and three dimensions.
#include <relay/op/image/image_attrs.h>
#include <relay/op/image/resample.h>
#include <relay/op/qnn/integer_forms.h>

namespace relay {
namespace {

using te::Indices;
using te::Scalar;

constexpr int64_t kLargestSize = int64_t{1} << 40;

// One call's attributes, checked and made uniform.
struct Resize {
  std::string_view space;
  Layout layout;
  Resampling how;

  Resize(const ResizeAttrs& attrs, size_t rank)
      : space(spatial_axes(rank)),
        layout(Layout::parse(attrs.layout, "NC" + std::string(space), "layout")) {
    how.method = attrs.method;
    how.coordinates = attrs.coordinate_transformation_mode;
    how.rounding = attrs.rounding_method;
    how.cubic_alpha = attrs.cubic_alpha;
    how.cubic_exclude = attrs.cubic_exclude != 0;
    how.extrapolation = attrs.extrapolation_value;
  }
  bool crops() const { return how.coordinates == ResizeCoordinates::kCrop; }
};

std::string rank_text(size_t rank, const char* what) {
  return std::to_string(rank) + " " + what + (rank == 1 ? "" : "s");
}

TypeRef result_type(const RelationCall& call, const ResizeAttrs& attrs, const Resize& resize,
                    std::span<const Dim> size) {
  te::TensorInfo data = call.tensor(0);
  resize.layout.check(data.dims, "the data");
  std::vector<Dim> dims = resize.layout.dims([&](char axis) {
    size_t d = resize.space.find(axis);
    return d == std::string_view::npos ? resize.layout.extent(data.dims, axis) : size[d];
  });
  require_elements(call, resize.layout, resize.space, data.dims, dims);
  DType dtype = attrs.out_dtype.value_or(data.dtype);
  call.require(dtype.is_numeric(),
               "out_dtype must be a number's, found " + std::string(dtype.name()));
  return TensorType::make(dims, dtype);
}

template <class A>
TypeRef infer_resize(const RelationCall& call, size_t rank) {
  const ResizeAttrs& attrs = call.attrs<A>();
  Resize resize(attrs, rank);
  call.require(attrs.size && attrs.size->size() == rank,
               "size must have " + rank_text(rank, "extent") + ", found " +
                   (attrs.size ? std::to_string(attrs.size->size()) : "none"));
  std::vector<Dim> size;
  for (int64_t extent : *attrs.size) {
    call.require(extent >= 0 && extent <= kLargestSize,
                 "an extent of size must be from 0 to 2^40, found " + std::to_string(extent));
    size.emplace_back(extent);
  }
  call.require(!resize.crops() || (attrs.roi && attrs.roi->size() == 2 * rank),
               "\"tf_crop_and_resize\" needs the attribute roi, " + rank_text(2 * rank, "number") +
                   ", found " + (attrs.roi ? std::to_string(attrs.roi->size()) : "none"));
  return result_type(call, attrs, resize, size);
}

template <class A>
void compute_resize(const OpCall& call, te::Builder& b, size_t rank) {
  const ResizeAttrs& attrs = call.attrs<A>();
  Resize resize(attrs, rank);
  std::vector<Crop> crops;
  for (size_t d = 0; resize.crops() && d < rank; ++d) {
    auto number = [&](size_t k) {
      return [value = (*attrs.roi)[k]](Indices) { return te::constant(value, kFloat32); };
    };
    crops.push_back({number(d), number(rank + d)});
  }
  b.output(resample(b, b.input(0), resize.layout, resize.space, resize.how, call.result(), crops));
}

// ---- dyn.image.resize2d -------------------------------------------------------------------------

TypeRef infer_dynamic(const RelationCall& call) {
  const auto& attrs = call.attrs<Resize2DAttrs>();
  Resize resize(attrs, 2);
  te::TensorInfo size = call.tensor(1);
  te::TensorInfo roi = call.tensor(2);
  std::string found = ", found shape ";
  call.require_equal(size.dims[0], 2, "size must have 2 extents" + found + shape_str(size.dims));
  if (resize.crops()) {
    call.require_equal(roi.dims[0], 4, "roi must have 4 numbers" + found + shape_str(roi.dims));
  }
  std::vector<Dim> wanted;
  for (size_t d = 0; d < 2; ++d) {
    wanted.push_back(call.value_dim(1, d));
    std::string message = "an extent of size must be from 0 to 2^40, found " + wanted[d].str();
    call.require_at_most(0, wanted[d], message);
    call.require_at_most(wanted[d], kLargestSize, message);
  }
  return result_type(call, attrs, resize, wanted);
}

void compute_dynamic(const OpCall& call, te::Builder& b) {
  Resize resize(call.attrs<Resize2DAttrs>(), 2);
  std::vector<Crop> crops;
  for (int64_t d = 0; resize.crops() && d < 2; ++d) {
    auto number = [roi = b.input(2)](int64_t k) {
      return [=](Indices) { return te::cast(roi({te::index_constant(k)}), kFloat32); };
    };
    crops.push_back({number(d), number(2 + d)});
  }
  b.output(resample(b, b.input(0), resize.layout, resize.space, resize.how, call.result(), crops));
}

// Elements that are taken as they are keep scale and zero point.
template <class A>
std::optional<QuantisedResult> resized_on_integers(const QuantisedCall& use) {
  A attrs = use.call.attrs<A>();
  if (attrs.out_dtype && *attrs.out_dtype != use.call.tensor(0).dtype) return std::nullopt;
  // The value outside is a number, not an integer of the scale.
  if (attrs.coordinate_transformation_mode == ResizeCoordinates::kCrop) return std::nullopt;
  attrs.out_dtype = std::nullopt;
  const OpCall plain(use.call.op(), Attrs::make(attrs), {TypeRef(use.call.input(0))},
                     TypeRef(use.call.output()));
  if (attrs.method != ResizeMethod::kNearest)
    return interpolated_on_integers({plain, use.inputs, use.result, use.span});
  if (!use.inputs[0].tensors[0] || use.inputs[0].tensors[0]->vector) return std::nullopt;
  const ExprRef args[] = {use.inputs[0].expr};
  ExprRef moved = make_call(make_op(use.call.op()), args, plain.attrs_ref(), {}, use.span);
  return QuantisedResult{{moved, use.inputs[0].tensors}, false};
}

template <class A, size_t kRank>
void declare_resize(const char* name, const char* what, const char* example) {
  declare_op(name)
      .doc(std::string(what) +
           " in other extents. Places are exact quotients; integers are interpolated in float32, "
           "those of 32 and more bits in float64, and truncate.")
      .input("data", "Tensor in the layout.", tensor('T', kNumbers))
      .output("result", "Tensor in the layout.", tensor(kNumbers))
      .attrs<A>()
      .relation([](const RelationCall& call) { return infer_resize<A>(call, kRank); })
      .level(5)
      .column(integer_forms(), resized_on_integers<A>)
      .example(example, "[[[1, 2, 4]]]")
      .compute([](const OpCall& call, te::Builder& b) { compute_resize<A>(call, b, kRank); });
}

[[maybe_unused]] const bool resizes_declared = [] {
  declare_resize<Resize1DAttrs, 1>(
      "image.resize1d", "A signal",
      "fn (%x: Tensor[(1, 1, 3), float32]) { image.resize1d(%x, size=[6]) }");
  declare_resize<Resize2DAttrs, 2>(
      "image.resize2d", "An image",
      "fn (%x: Tensor[(1, 1, 3), float32]) { image.resize2d(expand_dims(%x, axis=2), size=[2, 3], "
      "method=\"cubic\", coordinate_transformation_mode=\"align_corners\") }");
  declare_resize<Resize3DAttrs, 3>("image.resize3d", "A volume",
                                   "fn (%x: Tensor[(1, 1, 3), float32]) { "
                                   "image.resize3d(expand_dims(%x, axis=2, num_newaxis=2), "
                                   "size=[1, 1, 6], method=\"nearest_neighbor\") }");
  return true;
}();

RELAY_OP("dyn.image.resize2d")
    .doc("image.resize2d with the extents, and the part of the data, known when it runs.")
    .input("data", "Tensor in the layout.", tensor('T', kNumbers))
    .input("size", "Height and width of the result.", tensor(kIndices).rank(1))
    .input("roi",
           "For \"tf_crop_and_resize\": top, left, bottom and right of the part of the data, as "
           "shares of its extents from 0 to 1.",
           tensor(kFloats).rank(1))
    .output("result", "Tensor in the layout.", tensor(kNumbers))
    .attrs<Resize2DAttrs>()
    .relation(infer_dynamic)
    .example(
        "fn (%x: Tensor[(1, 1, 1, 3), float32], %size: Tensor[(2), int64]) { "
        "dyn.image.resize2d(%x, %size, zeros(shape=[4], dtype=\"float32\")) }",
        "[[[[1, 2, 4]]]]", "[2, 4]")
    .level(5)
    .compute(compute_dynamic);

}  // namespace
}  // namespace relay

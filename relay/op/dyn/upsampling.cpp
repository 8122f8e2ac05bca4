// Upsampling by factors that are arguments. The kernel is in relay/runtime/kernels/upsampling.cpp.
#include <relay/op/dyn/dyn_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/layout.h>

namespace relay {
namespace {

/// The attributes of a call, in one form for images and volumes.
struct Upsampling {
  std::string_view space;
  Layout layout;
  std::string method, places;

  explicit Upsampling(const DynUpSamplingAttrs& attrs)
      : space(spatial_axes(2)),
        layout(Layout::parse(attrs.layout, "NCHW", "layout")),
        method(attrs.method == ImageMethod::kNearest  ? "nearest"
               : attrs.method == ImageMethod::kLinear ? "linear"
                                                      : "cubic"),
        places(attrs.align_corners && attrs.method != ImageMethod::kNearest ? "align_corners"
                                                                            : "asymmetric") {}
  explicit Upsampling(const DynUpSampling3DAttrs& attrs)
      : space(spatial_axes(3)),
        layout(Layout::parse(attrs.layout, "NCDHW", "layout")),
        method(attrs.method == VolumeMethod::kNearest ? "nearest" : "linear"),
        places(word_text(attrs.coordinate_transformation_mode)) {}

  /// The positions of the axes of space.
  std::vector<int64_t> axes() const {
    std::vector<int64_t> found;
    for (char axis : space) {
      std::vector<size_t> at = layout.positions(axis);
      if (at.size() > 1) {
        throw Error("layout \"" + layout.text() + "\" must not cut " + axis +
                    " into blocks: its extent is known only when it runs");
      }
      found.push_back(static_cast<int64_t>(at[0]));
    }
    return found;
  }
};

template <class A>
TypeRef infer_upsampling(const RelationCall& call) {
  te::TensorInfo data = call.tensor(0);
  Upsampling upsampling(call.attrs<A>());
  upsampling.layout.check(data.dims, "the data");
  for (int64_t axis : upsampling.axes()) data.dims[static_cast<size_t>(axis)] = Dim::any();
  return TensorType::make(data.dims, data.dtype);
}

template <class A>
KernelParams upsampling_params(const OpCall& call) {
  Upsampling upsampling(call.attrs<A>());
  return {
      {"axes", upsampling.axes()}, {"method", upsampling.method}, {"places", upsampling.places}};
}

RELAY_OP("dyn.nn.upsampling")
    .doc(
        "nn.upsampling by factors that are arguments: the result's extents, rounded, halves to "
        "even, are known only when it has run.")
    .input("data", "Tensor in the layout.", tensor('T', kNumbers))
    .input("scale_h", "Growth of the height: a scalar.", tensor(kFloats).rank(0))
    .input("scale_w", "Growth of the width: a scalar.", tensor(kFloats).rank(0))
    .output("result", "Tensor in the same layout.", tensor('T'))
    .attrs<DynUpSamplingAttrs>()
    .example(
        "fn (%x: Tensor[(1, 1, 1, 2), float32], %h: float32, %w: float32) { "
        "dyn.nn.upsampling(%x, %h, %w) }",
        "[[[[1, 2]]]]", "2", "1.5")
    .relation(infer_upsampling<DynUpSamplingAttrs>)
    .level(2)
    .column(costs(), [](const OpCall& call) { return kernel_cost(call, Dim::any()); })
    .kernel("upsampling", upsampling_params<DynUpSamplingAttrs>)
    .no_gradient("only the run knows the result's extents; nn.upsampling has one");

RELAY_OP("dyn.nn.upsampling3d")
    .doc(
        "nn.upsampling3d by factors that are arguments: the result's extents, rounded, halves to "
        "even, are known only when it has run.")
    .input("data", "Tensor in the layout.", tensor('T', kNumbers))
    .input("scale_d", "Growth of the depth: a scalar.", tensor(kFloats).rank(0))
    .input("scale_h", "Growth of the height: a scalar.", tensor(kFloats).rank(0))
    .input("scale_w", "Growth of the width: a scalar.", tensor(kFloats).rank(0))
    .output("result", "Tensor in the same layout.", tensor('T'))
    .attrs<DynUpSampling3DAttrs>()
    .example(
        "fn (%x: Tensor[(1, 1, 1, 1, 2), float32], %s: float32) { dyn.nn.upsampling3d(%x, %s, "
        "1f, %s) }",
        "[[[[[1, 2]]]]]", "2")
    .relation(infer_upsampling<DynUpSampling3DAttrs>)
    .level(2)
    .column(costs(), [](const OpCall& call) { return kernel_cost(call, Dim::any()); })
    .kernel("upsampling", upsampling_params<DynUpSampling3DAttrs>)
    .no_gradient("only the run knows the result's extents; nn.upsampling3d has one");

}  // namespace
}  // namespace relay

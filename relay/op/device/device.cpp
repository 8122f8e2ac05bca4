// Operators that say where values are, and the one that takes them elsewhere.
#include <relay/op/device/device_attrs.h>
#include <relay/op/op.h>
#include <relay/op/registry/columns.h>
#include <relay/op/registry/facts.h>
#include <relay/op/registry/gradient.h>

namespace relay {
namespace {

DeviceUse copy_use(const AttrsRef& attrs) {
  const auto& given = attrs->as<DeviceCopyAttrs>();
  return {given.src_virtual_device->device, given.dst_virtual_device->device, true};
}

RELAY_OP("device_copy")
    .doc(
        "A copy of a tensor on another device. Numbers (rank 0) belong to no device, and a copy to "
        "the device where the data are is the data themselves.")
    .input("data", "Tensor on the first device.", tensor('T'))
    .output("result", "The same elements on the second device.", tensor('T'))
    .attrs<DeviceCopyAttrs>()
    .relation([](const RelationCall& call) -> TypeRef {
      call.tensor(0);
      const auto& attrs = call.attrs<DeviceCopyAttrs>();
      for (const auto* given : {&attrs.src_virtual_device, &attrs.dst_virtual_device}) {
        if (!(*given)->device) throw Error("a copy needs to know both devices");
      }
      return call.input(0);
    })
    .column(devices(), copy_use)
    .column(stops_fusion(), true)
    .level(10)
    .column(costs(), cost_of_moving)
    .kernel("device_copy", [](const OpCall&) { return KernelParams(); })
    .gradient([](const GradientCall& call) -> std::vector<ExprRef> {
      const auto& attrs = call.attrs<DeviceCopyAttrs>();
      DeviceCopyAttrs back;
      back.src_virtual_device = attrs.dst_virtual_device;
      back.dst_virtual_device = attrs.src_virtual_device;
      return {call_op("device_copy", {call.gradient()}, Attrs::make(back))};
    })
    .example(
        "fn (%x: Tensor[(3), float32]) { exp(device_copy(exp(%x), "
        "src_virtual_device=\"cpu(0)\", dst_virtual_device=\"cpu(1)\")) }",
        "[1, 2, 3]")
    .no_data("the value itself");

DeviceUse place_use(const AttrsRef& attrs) {
  DeviceUse use;
  if (!attrs) return use;
  const auto& given = attrs->as<OnDeviceAttrs>();
  if (given.constrain_body) use.input = given.virtual_device.device;
  if (given.constrain_result) use.result = given.virtual_device.device;
  return use;
}

// The gradient goes the other way.
std::vector<ExprRef> place_gradient(const GradientCall& call) {
  OnDeviceAttrs back = call.attrs<OnDeviceAttrs>();
  std::swap(back.constrain_body, back.constrain_result);
  AttrsRef attrs = Attrs::make(std::move(back));
  auto one = [&](const ExprRef& gradient) { return call_op("on_device", {gradient}, attrs); };
  if (!call.call.input(0)->is<TupleType>()) return {one(call.gradient())};
  std::vector<ExprRef> fields;
  for (size_t k = 0; k < call.gradients.size(); ++k) {
    const ExprRef& gradient = call.gradients[k];
    fields.push_back(gradient ? one(gradient)
                              : call_op("zeros_like",
                                        {make_projection(call.args[0], static_cast<uint32_t>(k))}));
  }
  return {make_tuple(std::move(fields))};
}

RELAY_OP("on_device")
    .doc(
        "The value itself, which is computed on a device (constrain_body), wanted on it "
        "(constrain_result), or both. With one of the two, a copy is made where the body and what "
        "uses the result are on different devices. Numbers (rank 0) belong to no device.")
    .input("body", "Tensor or tuple of tensors.", any_value())
    .output("result", "The same.", any_value())
    .attrs<OnDeviceAttrs>()
    .relation([](const RelationCall& call) -> TypeRef {
      if (call.input(0)->is<TupleType>()) {
        call.tensors(0);
      } else {
        call.tensor(0);
      }
      return call.input(0);
    })
    .column(devices(), place_use)
    .column(stops_fusion(), true)
    .level(10)
    .compute([](const OpCall& call, te::Builder& b) {
      for (size_t k = 0; k < call.num_results(); ++k)
        b.output(b.reshape(b.input(k), call.result(k).dims));
    })
    .gradient(place_gradient)
    .example("fn (%x: Tensor[(3), float32]) { on_device(exp(%x), virtual_device=\"cpu(1)\") }",
             "[1, 2, 3]")
    .no_data("the value itself");

}  // namespace

std::optional<Device> device_attribute(const AttrValue& value) {
  DeviceAttr result;
  if (!attr_detail::Convert<DeviceAttr>::from(value, result))
    throw Error("a device is KIND(INDEX), such as \"cpu(1)\", not " + value.str());
  return result.device;
}

ExprRef make_on_device(const ExprRef& body, Device device) {
  OnDeviceAttrs attrs;
  attrs.virtual_device.device = device;
  attrs.constrain_result = true;
  return call_op("on_device", {body}, Attrs::make(std::move(attrs)), body->span());
}

ExprRef make_device_copy(const ExprRef& data, Device from, Device to) {
  DeviceCopyAttrs attrs;
  attrs.src_virtual_device.value.device = from;
  attrs.dst_virtual_device.value.device = to;
  return call_op("device_copy", {data}, Attrs::make(std::move(attrs)), data->span());
}

}  // namespace relay

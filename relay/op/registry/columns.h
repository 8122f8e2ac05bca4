// The columns of facts that some operators have and passes ask for. Each entry is part of the
// operator's declaration: `.column(canonical_form(), …)`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <relay/op/op.h>
#include <relay/runtime/device.h>

namespace relay {

/// The operators that are shorthand: the form in which CanonicalizeOps writes a call, with
/// operators that other passes know better. It uses each argument once, so that effects in them
/// stay as they are.
OpColumn<ExpandFn>& canonical_form();

/// The form of a call when a network no longer learns (SimplifyInference). For an operator with
/// several results: its first result (others keep the call).
OpColumn<ExpandFn>& simplified_for_inference();

/// The operators of quantised networks, which take or give the scales and zero points of their
/// numbers: constant folding leaves them to passes that know them, unless asked.
OpColumn<bool>& quantised();

/// The form of a call in a compiled program if the extents of its result are no terms over
/// integers: with an operator that counts first. Null if they are.
OpColumn<ExpandFn>& counted_form();

/// A call for many lanes, of an operator that is written with others but means more than they do,
/// such as a gradient of its own. `call` is that of one lane, with types; each tensor of `args` has
/// all `lanes`, along its first axis, and so has each of the result.
using LanesFn =
    std::function<ExprRef(const Call& call, std::span<const ExprRef> args, const Dim& lanes)>;
OpColumn<LanesFn>& lanes_form();

/// The operators that nothing is fused across: each is a kernel, or a view, of its own.
OpColumn<bool>& stops_fusion();

/// The devices that an operator about devices requires; all others have their inputs and results on
/// one device. Tensors only: numbers belong to no device.
struct DeviceUse {
  std::optional<Device> input, result;  // nothing: not given
  /// True if it moves the input to the result's device. Otherwise it is the value itself, which may
  /// become such a copy.
  bool copies = false;
};
/// Reads the attributes of a call.
using DeviceUseFn = DeviceUse (*)(const AttrsRef& attrs);
OpColumn<DeviceUseFn>& devices();
/// The calls that PlanDevices writes: a value that is on a device, and a copy.
ExprRef make_on_device(const ExprRef& body, Device device);
ExprRef make_device_copy(const ExprRef& data, Device from, Device to);
/// The device that an attribute's value names; nothing if it leaves the device open. Throws
/// `Error`.
std::optional<Device> device_attribute(const AttrValue& value);

}  // namespace relay

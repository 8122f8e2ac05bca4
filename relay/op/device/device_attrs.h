// Attributes that name devices.
#pragma once

#include <optional>
#include <string>

#include <relay/ir/attrs.h>
#include <relay/runtime/device.h>
#include <relay/support/error.h>

namespace relay {

/// A device as an attribute: written as text, "cpu(1)", or as TVM's object of metadata. Empty text
/// leaves it open.
struct DeviceAttr {
  std::optional<Device> device;
};

template <>
struct attr_detail::Convert<DeviceAttr> {
  static std::string name() { return "device"; }
  static AttrValue to(const DeviceAttr& value) {
    return value.device ? AttrValue(value.device->str()) : AttrValue(std::string());
  }
  static bool from(const AttrValue& value, DeviceAttr& out) {
    const auto* text = value.get<std::string>();
    out.device.reset();
    if (text == nullptr) return value.is_none();
    if (text->empty()) return true;
    out.device = Device::parse(*text);
    if (!out.device) {
      throw Error(
          Diagnostic::error("a device is KIND(INDEX), such as \"cpu(1)\", not " + value.str())
              .note(no_device_text(*text)));
    }
    return true;
  }
};

struct DeviceCopyAttrs {
  Required<DeviceAttr> src_virtual_device;
  Required<DeviceAttr> dst_virtual_device;
  RELAY_ATTRS(DeviceCopyAttrs, (src_virtual_device, "Device that the data are on: \"cpu(0)\"."),
              (dst_virtual_device, "Device that the copy is on."))
};

struct OnDeviceAttrs {
  DeviceAttr virtual_device;
  bool constrain_result = false;
  bool constrain_body = true;
  RELAY_ATTRS(OnDeviceAttrs,
              (virtual_device, "Device, as \"cpu(1)\", up to cpu(63); empty: left open."),
              (constrain_result, "True if the result is on that device."),
              (constrain_body, "True if the body is on that device."))
};

}  // namespace relay

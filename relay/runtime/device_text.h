// What is wrong with a text that should name a device.
#pragma once

#include <string>
#include <string_view>

namespace relay {

/// Why `Device::parse` (relay/runtime/device.h) finds nothing in a text: its kind is unknown, or
/// its index is no number.
std::string no_device_text(std::string_view text);

}  // namespace relay

// Where data lives.
#pragma once

#include <cstdint>

namespace relay {

/// Kinds of machines, with DLPack's numbers.
enum class DeviceType : int32_t { kCpu = 1 };

/// One machine of a kind. Only the host exists so far.
struct Device {
  DeviceType type = DeviceType::kCpu;
  int32_t id = 0;

  friend constexpr bool operator==(Device, Device) = default;
};

inline constexpr Device kCpu{};

}  // namespace relay

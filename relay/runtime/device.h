// The places of data: machines of some kind, each with its own memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace relay {

/// Kinds of machines, with DLPack's numbers.
enum class DeviceType : int32_t {
  kCpu = 1,
  kCuda = 2,
  kCudaHost = 3,
  kOpenCl = 4,
  kVulkan = 7,
  kMetal = 8,
  kVpi = 9,
  kRocm = 10,
  kRocmHost = 11,
  kExt = 12,
  kCudaManaged = 13,
  kOneApi = 14,
  kWebGpu = 15,
  kHexagon = 16
};

/// One machine of a kind.
struct Device {
  DeviceType type = DeviceType::kCpu;
  int32_t id = 0;

  /// "cpu(0)".
  std::string str() const;
  /// The device that a text such as "cpu(1)" or "cuda" (which is cuda(0)) names; nothing for other
  /// texts, and for a cpu that does not exist.
  static std::optional<Device> parse(std::string_view text);
  /// The device with DLPack's number of a kind; nothing for an unknown number.
  static std::optional<Device> of(int64_t type, int64_t id);

  friend constexpr bool operator==(Device, Device) = default;
};

/// The device of every value that no other device is given for.
inline constexpr Device kCpu{};

/// The number of devices of kind "cpu". All are this process: cpu(1) and on are further accounts of
/// its memory, which let you try and test programs for several devices. A machine may have any
/// number of other kinds.
inline constexpr int32_t kCpuDevices = 64;

/// True if tensors can be made there and kernels run. Programs may name other devices too.
constexpr bool is_usable(Device device) {
  return device.type == DeviceType::kCpu && device.id >= 0 && device.id < kCpuDevices;
}
/// The message about a device that is not usable.
std::string unusable_text(Device device);

/// The reason why `Device::parse` finds nothing in a text: its kind is unknown, its index is not a
/// number, or no machine has such a device.
std::string no_device_text(std::string_view text);
/// The message about a tensor that is not where the program wants it.
std::string wrong_device_text(Device found, Device wanted);

/// The account of the tensors of one device. That of cpu(0) counts all memory of run-time values
/// (relay/runtime/memory.h), exact to about a mebibyte for each thread; tensors of other devices
/// count there too.
struct DeviceMemory {
  size_t bytes = 0;       // now
  size_t peak = 0;        // the most so far
  size_t limit = 0;       // 0: none of its own
  uint64_t tensors = 0;   // made so far; not counted for cpu(0)
  uint64_t arrivals = 0;  // tensors that programs copied to it from another device so far
};
DeviceMemory device_memory(Device device);
/// Limits the bytes of the tensors on a usable device; 0: no limit of its own.
void set_device_memory_limit(Device device, size_t bytes);
/// Notes a copy in the account of its target.
void count_arrival(Device device);

// ---- Memory of other devices than cpu(0), for NDArray -------------------------------------------

/// 64-byte aligned memory. Null if there is none or it would pass the device's limit.
void* allocate_on(Device device, size_t bytes) noexcept;
void free_on(Device device, void* memory, size_t bytes) noexcept;

// ---- A debugging aid ----------------------------------------------------------------------------

/// With the guard, memory of a device other than cpu(0) lies in pages of its own, which kernels of
/// other devices cannot read or write: an attempt ends the process. For tests, which run one
/// program at a time; off unless RELAY_DEVICE_GUARD is 1 in the environment. Earlier memory is not
/// guarded.
void set_device_guard(bool on);
bool device_guard() noexcept;

/// While it lives, only these devices (and cpu(0)) can be accessed, if the guard is on.
class DeviceAccess {
 public:
  DeviceAccess(Device first, Device second) : on_(device_guard()) {
    if (on_) begin(first, second);
  }
  ~DeviceAccess() {
    if (on_) end();
  }
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  static void begin(Device first, Device second);
  static void end();
  bool on_;
};

}  // namespace relay

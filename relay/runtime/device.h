// Where data lives: machines of some kind, each with memory of its own.
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
  /// The device of a text such as "cpu(1)" or "cuda" (which is cuda(0)); nothing for other texts,
  /// and for a cpu that does not exist.
  static std::optional<Device> parse(std::string_view text);
  /// The device of DLPack's number of a kind; nothing for a number that stands for none.
  static std::optional<Device> of(int64_t type, int64_t id);

  friend constexpr bool operator==(Device, Device) = default;
};

/// Where everything is that nothing else is said of.
inline constexpr Device kCpu{};

/// How many devices of the kind "cpu" there are. All are this process: cpu(1) and on are further
/// accounts of its memory, with which programs for several devices can be tried and tested. Of
/// other kinds a machine may have any number.
inline constexpr int32_t kCpuDevices = 64;

/// Whether tensors can be made there and kernels run. Other devices can be written in programs.
constexpr bool is_usable(Device device) {
  return device.type == DeviceType::kCpu && device.id >= 0 && device.id < kCpuDevices;
}
/// What is said of a device that is not usable.
std::string unusable_text(Device device);

/// Why `Device::parse` finds nothing in a text: its kind is unknown, its index is no number, or
/// there is no such device on any machine.
std::string no_device_text(std::string_view text);
/// What is said of a tensor that is not where the program wants it.
std::string wrong_device_text(Device found, Device wanted);

/// The account of the tensors of one device. That of cpu(0) has everything that run-time values
/// take (relay/runtime/memory.h), exact to about a mebibyte for each thread; tensors of other
/// devices count there too.
struct DeviceMemory {
  size_t bytes = 0;       // now
  size_t peak = 0;        // the most so far
  size_t limit = 0;       // 0: none of its own
  uint64_t tensors = 0;   // made so far; not counted for cpu(0)
  uint64_t arrivals = 0;  // tensors that programs copied to it from another device so far
};
DeviceMemory device_memory(Device device);
/// Bytes that the tensors of a usable device may take; 0: no limit of its own.
void set_device_memory_limit(Device device, size_t bytes);
/// Notes a copy in the account of the device that it went to.
void count_arrival(Device device);

// ---- Memory of other devices than cpu(0), for NDArray -------------------------------------------

/// 64-byte aligned memory. Null when there is none or the device's limit would be passed.
void* allocate_on(Device device, size_t bytes) noexcept;
void free_on(Device device, void* memory, size_t bytes) noexcept;

// ---- A debugging aid ----------------------------------------------------------------------------

/// Guarded, memory of a device other than cpu(0) lies in pages of its own, and cannot be read or
/// written while kernels of other devices run: an attempt ends the process. For tests, which run
/// one program at a time; off unless RELAY_DEVICE_GUARD is 1 in the environment. Memory made before
/// is not guarded.
void set_device_guard(bool on);
bool device_guard() noexcept;

/// While it lives, only these devices (and cpu(0)) can be accessed, if there is a guard.
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

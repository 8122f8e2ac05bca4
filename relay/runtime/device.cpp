#include <relay/runtime/device.h>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <relay/runtime/memory.h>
#include <relay/runtime/pool.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>

namespace relay {
namespace {

struct Kind {
  DeviceType type;
  std::string_view name;
};
constexpr Kind kKinds[] = {
    {DeviceType::kCpu, "cpu"},
    {DeviceType::kCuda, "cuda"},
    {DeviceType::kCudaHost, "cuda_host"},
    {DeviceType::kOpenCl, "opencl"},
    {DeviceType::kVulkan, "vulkan"},
    {DeviceType::kMetal, "metal"},
    {DeviceType::kVpi, "vpi"},
    {DeviceType::kRocm, "rocm"},
    {DeviceType::kRocmHost, "rocm_host"},
    {DeviceType::kExt, "ext_dev"},
    {DeviceType::kCudaManaged, "cuda_managed"},
    {DeviceType::kOneApi, "oneapi"},
    {DeviceType::kWebGpu, "webgpu"},
    {DeviceType::kHexagon, "hexagon"},
};

int32_t last_index(const Kind& kind) {
  return kind.type == DeviceType::kCpu ? kCpuDevices - 1 : INT32_MAX;
}

struct Account {
  std::atomic<size_t> bytes{0};
  std::atomic<size_t> peak{0};
  std::atomic<size_t> limit{0};
  std::atomic<uint64_t> tensors{0};
  std::atomic<uint64_t> arrivals{0};
};

Account& account(Device device) {
  static std::array<Account, kCpuDevices> accounts;
  RELAY_CHECK(is_usable(device), unusable_text(device));
  return accounts[static_cast<size_t>(device.id)];
}

constexpr size_t kAlignment = 64;

// Blocks in pages of their own.
struct Block {
  Device device;
  size_t size;  // whole pages
};
struct Blocks {
  ForkMutex mutex;
  std::map<void*, Block> all;
};
Blocks& blocks() {
  static Blocks* instance = new Blocks;  // tensors of static objects are freed late
  return *instance;
}
[[maybe_unused]] Blocks& blocks_made_early = blocks();  // and not while another thread forks
std::atomic<bool> any_blocks{false};
std::atomic<int> guard{-1};  // -1: as the environment says

size_t whole_pages(size_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (std::max<size_t>(bytes, 1) + page - 1) / page * page;
}

void* allocate_pages(Device device, size_t bytes) {
  size_t size = whole_pages(bytes);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::lock_guard lock(blocks().mutex);
  blocks().all[memory] = {device, size};
  any_blocks.store(true, std::memory_order_release);
  return memory;
}

// True if the memory was one of these blocks.
bool free_pages(void* memory) {
  std::lock_guard lock(blocks().mutex);
  auto found = blocks().all.find(memory);
  if (found == blocks().all.end()) return false;
  munmap(memory, found->second.size);
  blocks().all.erase(found);
  return true;
}

void protect(int protection, Device first, Device second) {
  std::lock_guard lock(blocks().mutex);
  for (const auto& [memory, block] : blocks().all) {
    if (block.device == first || block.device == second) continue;
    RELAY_CHECK(mprotect(memory, block.size, protection) == 0, "pages can be protected");
  }
}

}  // namespace

std::string Device::str() const {
  std::string name = "device" + std::to_string(static_cast<int32_t>(type));
  for (const Kind& kind : kKinds) {
    if (kind.type == type) name = kind.name;
  }
  return name + "(" + std::to_string(id) + ")";
}

std::optional<Device> Device::parse(std::string_view text) {
  size_t open = text.find('(');
  std::string_view name = text.substr(0, open);
  int32_t id = 0;
  if (open != std::string_view::npos) {
    std::string_view number = text.substr(open + 1);
    if (number.size() < 2 || number.back() != ')') return std::nullopt;
    number.remove_suffix(1);
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
    if (error != std::errc() || end != number.data() + number.size() || id < 0) return std::nullopt;
  }
  for (const Kind& kind : kKinds) {
    if (kind.name == name && id <= last_index(kind)) return Device{kind.type, id};
  }
  return std::nullopt;
}

std::string no_device_text(std::string_view text) {
  std::string name(text.substr(0, text.find('(')));
  const Kind* known = nullptr;
  std::string kinds;
  for (const Kind& kind : kKinds) {
    if (kind.name == name) known = &kind;
    kinds += (kinds.empty() ? "" : ", ") + std::string(kind.name);
  }
  if (known == nullptr) return "there is no kind \"" + name + "\" of devices; known are " + kinds;
  return "after the kind " + name + " comes an index in parentheses, from 0 to " +
         std::to_string(last_index(*known)) + ", or nothing for 0";
}

std::optional<Device> Device::of(int64_t type, int64_t id) {
  if (id < 0 || id > INT32_MAX) return std::nullopt;
  for (const Kind& kind : kKinds) {
    if (static_cast<int64_t>(kind.type) == type) return Device{kind.type, static_cast<int32_t>(id)};
  }
  return std::nullopt;
}

std::string unusable_text(Device device) {
  if (device.type == DeviceType::kCpu) {
    return "there is no device " + device.str() + ": the last one of its kind is cpu(" +
           std::to_string(kCpuDevices - 1) + ")";
  }
  return "nothing can run on " + device.str() + ": only devices of the kind cpu have a back end";
}

std::string wrong_device_text(Device found, Device wanted) {
  return "a tensor is on " + found.str() + ", and the program wants it on " + wanted.str();
}

DeviceMemory device_memory(Device device) {
  Account& of = account(device);
  DeviceMemory result;
  result.arrivals = of.arrivals.load();
  if (device == kCpu) {
    result.bytes = memory_in_use();
    result.peak = peak_memory();
    result.limit = memory_limit();
    return result;
  }
  result.bytes = of.bytes.load();
  result.peak = of.peak.load();
  result.limit = of.limit.load();
  result.tensors = of.tensors.load();
  return result;
}

void set_device_memory_limit(Device device, size_t bytes) {
  if (device == kCpu) return set_memory_limit(bytes);
  account(device).limit.store(bytes);
}

void count_arrival(Device device) { account(device).arrivals.fetch_add(1); }

void* allocate_on(Device device, size_t bytes) noexcept {
  Account& of = account(device);
  size_t now = of.bytes.fetch_add(bytes) + bytes;
  size_t limit = of.limit.load();
  void* memory = nullptr;
  if (limit == 0 || now <= limit) {
    if (device_guard()) {
      memory = allocate_pages(device, bytes);
    } else {
      // The block's beginning is kept in front of the aligned part.
      void* block = pool_allocate(bytes + kAlignment + sizeof(void*));
      if (block != nullptr) {
        uintptr_t at = reinterpret_cast<uintptr_t>(block) + sizeof(void*) + kAlignment - 1;
        memory = reinterpret_cast<void*>(at & ~(kAlignment - 1));
        std::memcpy(static_cast<std::byte*>(memory) - sizeof(void*), &block, sizeof(void*));
      }
    }
  }
  if (memory == nullptr) {
    of.bytes.fetch_sub(bytes);
    return nullptr;
  }
  of.tensors.fetch_add(1);
  size_t peak = of.peak.load();
  while (now > peak && !of.peak.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

void free_on(Device device, void* memory, size_t bytes) noexcept {
  account(device).bytes.fetch_sub(bytes);
  if (any_blocks.load(std::memory_order_acquire) && free_pages(memory)) return;
  void* block = nullptr;
  std::memcpy(&block, static_cast<std::byte*>(memory) - sizeof(void*), sizeof(void*));
  pool_free(block);
}

void set_device_guard(bool on) { guard.store(on ? 1 : 0); }

bool device_guard() noexcept {
  int now = guard.load(std::memory_order_relaxed);
  if (now >= 0) return now != 0;
  const char* text = std::getenv("RELAY_DEVICE_GUARD");
  now = text != nullptr && std::strcmp(text, "1") == 0 ? 1 : 0;
  guard.store(now, std::memory_order_relaxed);
  return now != 0;
}

void DeviceAccess::begin(Device first, Device second) { protect(PROT_NONE, first, second); }
void DeviceAccess::end() { protect(PROT_READ | PROT_WRITE, kCpu, kCpu); }

}  // namespace relay

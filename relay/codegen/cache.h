// Compiled kernels on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <relay/runtime/kernel.h>

namespace relay::codegen {

/// A kernel in the form of the cache: like CompiledKernel, with its one term as text
/// (`dim_to_text`).
struct CacheEntry {
  KernelBlob blob;
  std::vector<std::string> messages;
  std::vector<uint32_t> origins;
  std::string scratch_bytes;
  bool parallel = false;
};

/// Writes an entry as bytes, with its key, lengths and a checksum, and reads it back: nothing in
/// any doubt, or for another key.
std::vector<std::byte> encode_entry(const CacheEntry& entry, std::string_view key);
std::optional<CacheEntry> decode_entry(std::span<const std::byte> bytes, std::string_view key);

/// A private folder of entries, one file each. No function throws for the state of the disk: an
/// unreadable entry counts as absent, and an entry that cannot be written is not kept (the first
/// time, a warning gives the reason). Several threads and processes may use it.
class DiskCache {
 public:
  static constexpr uint64_t kDefaultLimit = uint64_t{256} << 20;

  /// Opens, or makes, the folder `kernels` in `folder`, for its owner alone. An empty path, and a
  /// folder that others can write to or that belongs to somebody else, give a cache that keeps
  /// nothing.
  explicit DiskCache(const std::filesystem::path& folder, uint64_t limit = kDefaultLimit);
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  bool usable() const { return folder_ >= 0; }
  std::optional<CacheEntry> find(std::string_view key) const;
  void add(std::string_view key, const CacheEntry& entry) const;
  /// Removes the entries used longest ago until the rest is well within the limit.
  void trim() const;

 private:
  int folder_ = -1;
  uint64_t limit_;
};

}  // namespace relay::codegen

#include <relay/codegen/cache.h>

#include <dirent.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <relay/codegen/codegen.h>
#include <relay/support/hash.h>

namespace relay::codegen {

namespace {

constexpr uint64_t kMagic = 0x31656e72656b7972;  // "rykerne1"
constexpr size_t kMaxFile = size_t{64} << 20;
constexpr size_t kHeader = 3 * sizeof(uint64_t);  // magic, size of the rest, checksum of the rest
constexpr const char* kTemporary = ".new-";

void warn(const std::string& what) {
  static std::atomic<bool> warned{false};
  if (!warned.exchange(true)) spdlog::warn("kernels are not cached: {}", what);
}

std::string system_error() { return std::strerror(errno); }

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

class Encoder {
 public:
  void number(uint64_t value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof value);
  }
  void bytes(std::span<const std::byte> data) {
    number(data.size());
    out.insert(out.end(), data.begin(), data.end());
  }
  void text(std::string_view value) { bytes(std::as_bytes(std::span(value))); }

  std::vector<std::byte> out;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> data) : data_(data) {}

  uint64_t number() {
    uint64_t value = 0;
    const auto from = take(sizeof value);
    if (ok_) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> bytes() { return take(number()); }
  std::string_view text() {
    const auto from = bytes();
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && data_.empty(); }

 private:
  std::span<const std::byte> take(uint64_t size) {
    if (size > data_.size()) ok_ = false;
    if (!ok_) return {};
    const auto result = data_.first(size);
    data_ = data_.subspan(size);
    return result;
  }

  std::span<const std::byte> data_;
  bool ok_ = true;
};

uint64_t checksum(std::span<const std::byte> bytes) {
  return hash_bytes(bytes.data(), bytes.size(), kMagic);
}

std::string file_name(std::string_view key) {
  char name[40];
  std::snprintf(name, sizeof name, "%016llx%016llx",
                static_cast<unsigned long long>(hash_text(key, 1)),
                static_cast<unsigned long long>(hash_text(key, 2)));
  return name;
}

bool is_entry(const char* name) {
  return std::strlen(name) == 32 && std::strspn(name, "0123456789abcdef") == 32;
}

/// Opens a folder and checks whose it is. `exclusive`: nobody else may even look.
int open_folder(int parent, const char* path, bool exclusive) {
  File folder(
      ::openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (exclusive ? O_NOFOLLOW : 0)));
  if (!folder) {
    warn(std::string(path) + ": " + system_error());
    return -1;
  }
  struct stat info {};
  if (::fstat(folder.get(), &info) != 0 || info.st_uid != ::geteuid() ||
      (info.st_mode & (exclusive ? 077 : 022)) != 0) {
    warn(std::string(path) + ": the folder belongs to somebody else, or others may write to it");
    return -1;
  }
  return folder.release();
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

std::optional<std::vector<std::byte>> read_all(int fd, size_t size) {
  std::vector<std::byte> bytes(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd, bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<size_t>(got);
  }
  return bytes;
}

}  // namespace

std::vector<std::byte> encode_entry(const CacheEntry& entry, std::string_view key) {
  Encoder body;
  body.text(key);
  body.number(entry.blob.entry);
  body.number(entry.blob.alignment);
  body.number(entry.parallel ? 1 : 0);
  body.text(entry.scratch_bytes);
  body.number(entry.messages.size());
  for (const std::string& message : entry.messages) body.text(message);
  body.number(entry.origins.size());
  for (uint32_t origin : entry.origins) body.number(origin);
  body.bytes(entry.blob.bytes);
  Encoder file;
  file.number(kMagic);
  file.number(body.out.size());
  file.number(checksum(body.out));
  file.out.insert(file.out.end(), body.out.begin(), body.out.end());
  return std::move(file.out);
}

std::optional<CacheEntry> decode_entry(std::span<const std::byte> bytes, std::string_view key) {
  Decoder header(bytes);
  if (header.number() != kMagic || !header.ok()) return std::nullopt;
  const uint64_t size = header.number();
  const uint64_t sum = header.number();
  if (!header.ok() || bytes.size() - kHeader != size || checksum(bytes.subspan(kHeader)) != sum) {
    return std::nullopt;
  }
  Decoder body(bytes.subspan(kHeader));
  if (body.text() != key || !body.ok()) return std::nullopt;
  CacheEntry entry;
  const uint64_t function = body.number();
  const uint64_t alignment = body.number();
  const uint64_t parallel = body.number();
  entry.scratch_bytes = body.text();
  const uint64_t messages = body.number();
  for (uint64_t i = 0; i < messages && body.ok(); ++i) entry.messages.emplace_back(body.text());
  const uint64_t origins = body.number();
  for (uint64_t i = 0; i < origins && body.ok(); ++i)
    entry.origins.push_back(static_cast<uint32_t>(body.number()));
  const auto code = body.bytes();
  if (!body.at_end() || function >= code.size() || !std::has_single_bit(alignment) ||
      alignment > 4096 || parallel > 1) {
    return std::nullopt;
  }
  entry.blob.entry = static_cast<uint32_t>(function);
  entry.blob.alignment = static_cast<uint32_t>(alignment);
  entry.blob.bytes.assign(code.begin(), code.end());
  entry.parallel = parallel != 0;
  return entry;
}

DiskCache::DiskCache(const std::filesystem::path& folder, uint64_t limit) : limit_(limit) {
  if (folder.empty()) return;
  std::error_code ignored;
  if (!std::filesystem::exists(folder, ignored)) {
    if (folder.has_parent_path())
      std::filesystem::create_directories(folder.parent_path(), ignored);
    ::mkdir(folder.c_str(), 0700);
  }
  File outer(open_folder(AT_FDCWD, folder.c_str(), false));
  if (!outer) return;
  ::mkdirat(outer.get(), "kernels", 0700);
  folder_ = open_folder(outer.get(), "kernels", true);
}

DiskCache::~DiskCache() {
  if (folder_ >= 0) ::close(folder_);
}

std::optional<CacheEntry> DiskCache::find(std::string_view key) const {
  if (!usable()) return std::nullopt;
  File file(
      ::openat(folder_, file_name(key).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != ::geteuid() || info.st_size < static_cast<off_t>(kHeader) ||
      static_cast<uint64_t>(info.st_size) > kMaxFile) {
    return std::nullopt;
  }
  const auto bytes = read_all(file.get(), static_cast<size_t>(info.st_size));
  if (!bytes) return std::nullopt;
  auto entry = decode_entry(*bytes, key);
  // The time of the last use decides what goes first; an hour is exact enough.
  if (entry && std::time(nullptr) - info.st_mtime > 3600) ::futimens(file.get(), nullptr);
  return entry;
}

void DiskCache::add(std::string_view key, const CacheEntry& entry) const {
  if (!usable()) return;
  const std::vector<std::byte> bytes = encode_entry(entry, key);
  if (bytes.size() > kMaxFile || bytes.size() > limit_ / 4) return;
  static std::atomic<uint64_t> counter{0};
  const std::string temporary =
      kTemporary + std::to_string(::getpid()) + '-' + std::to_string(counter++);
  File file(::openat(folder_, temporary.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return warn(system_error());
  // The file is complete before it has its name; a file half written by a crash fails its checksum.
  if (!write_all(file.get(), bytes) ||
      ::renameat(folder_, temporary.c_str(), folder_, file_name(key).c_str()) != 0) {
    warn(system_error());
    ::unlinkat(folder_, temporary.c_str(), 0);
  }
}

void DiskCache::trim() const {
  if (!usable()) return;
  const int copy = ::openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  DIR* folder = ::fdopendir(copy);
  if (folder == nullptr) {
    ::close(copy);
    return;
  }
  struct Found {
    struct timespec used;
    uint64_t size;
    std::string name;
  };
  std::vector<Found> entries;
  uint64_t total = 0;
  while (const dirent* item = ::readdir(folder)) {
    struct stat info {};
    const bool left_over = std::strncmp(item->d_name, kTemporary, std::strlen(kTemporary)) == 0;
    if (!left_over && !is_entry(item->d_name)) continue;
    if (::fstatat(folder_, item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (left_over) {
      if (std::time(nullptr) - info.st_mtime > 3600) ::unlinkat(folder_, item->d_name, 0);
      continue;
    }
    const auto size = static_cast<uint64_t>(std::max<off_t>(info.st_size, 0));
    total += size;
    entries.push_back({info.st_mtim, size, item->d_name});
  }
  ::closedir(folder);
  if (total <= limit_) return;
  std::sort(entries.begin(), entries.end(), [](const Found& a, const Found& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec) < std::tie(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Found& entry : entries) {
    if (total <= limit_ / 4 * 3) break;
    if (::unlinkat(folder_, entry.name.c_str(), 0) == 0) total -= entry.size;
  }
}

std::filesystem::path default_cache() {
  auto variable = [](const char* name) -> const char* { return std::getenv(name); };
  if (const char* own = variable("RELAY_CACHE_DIR")) return own;
  if (const char* xdg = variable("XDG_CACHE_HOME"); xdg != nullptr && xdg[0] == '/') {
    return std::filesystem::path(xdg) / "relay";
  }
  if (const char* home = variable("HOME"); home != nullptr && home[0] == '/') {
    return std::filesystem::path(home) / ".cache" / "relay";
  }
  return {};
}

}  // namespace relay::codegen

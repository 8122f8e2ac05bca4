// What the fuzzers share: input as text, as choices, as a file; demands that end the process.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace relay::fuzz {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process with `what` if something does not hold: libFuzzer keeps the input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: it does not hold that %s\n", what);
  std::abort();
}

/// An input as numbers and lines, taken from the front. All are 0 and empty behind its end.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  /// From 0 to `count` - 1.
  size_t number(size_t count) {
    if (rest_.empty() || count == 0) return 0;
    size_t value = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (count > 256 && !rest_.empty()) {
      value = value << 8 | static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
    }
    return value % count;
  }
  /// Up to `end`, which is taken, too.
  std::string_view until(char end) {
    const size_t length = rest_.find(end);
    const std::string_view line = rest_.substr(0, length);
    rest_.remove_prefix(length == rest_.npos ? rest_.size() : length + 1);
    return line;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// A file in memory, read from its beginning.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("fuzz", 0)) {
    for (std::string_view rest = bytes; !rest.empty();) {
      const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
      require(written > 0, "a file in memory can be written");
      rest.remove_prefix(static_cast<size_t>(written));
    }
    ::lseek(descriptor_, 0, SEEK_SET);
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int descriptor() const { return descriptor_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace relay::fuzz

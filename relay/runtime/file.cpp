#include <fcntl.h>
#include <relay/runtime/file.h>
#include <relay/runtime/file_kind.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>
#include <relay/support/hash.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace relay {
namespace {

constexpr size_t kBuffer = size_t{1} << 18;
constexpr size_t kLargestCall = size_t{1} << 30;  // the kernel takes a little less than 2 GiB

std::string with_reason(const std::string& what, int error) {
  return what + ": " + std::strerror(error);
}

}  // namespace

void ByteSource::fail(std::string_view reason) const {
  throw Error(name() + ": " + std::string(reason));
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  if (path_.find('\0') != std::string::npos) throw Error("a path cannot contain a zero byte");
  do {
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) throw Error(with_reason("cannot open " + path_, errno));
  struct stat status;
  bool known = ::fstat(descriptor_, &status) == 0;
  if (known && S_ISDIR(status.st_mode)) {
    ::close(descriptor_);
    throw Error("cannot read " + path_ + ": it is a directory");
  }
  if (known && S_ISREG(status.st_mode) && status.st_size > 0) {
    size_ = static_cast<uint64_t>(status.st_size);
    return;
  }
  try {
    // A terminal may be read to its end, but not /dev/zero.
    slurp(known && S_ISCHR(status.st_mode) ? uint64_t{64} << 20 : ~uint64_t{0});
  } catch (...) {
    refund_memory(charged_);
    ::close(descriptor_);
    throw;
  }
}

InputFile::~InputFile() {
  refund_memory(charged_);
  ::close(descriptor_);
}

void InputFile::slurp(uint64_t most) {
  slurped_ = true;
  std::vector<char> block(kBuffer);
  while (true) {
    ssize_t got = ::read(descriptor_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(with_reason("cannot read " + path_, errno));
    if (got == 0) break;
    size_t needed = contents_.size() + static_cast<size_t>(got);
    if (needed > most) fail("the device gives more than " + std::to_string(most) + " bytes");
    if (needed > charged_) {
      // Growing takes the old and the new buffer for a moment.
      size_t more = 3 * needed - charged_;
      charge_memory(more, path_.c_str());
      charged_ += more;
      contents_.reserve(std::max(2 * contents_.size(), needed));
    }
    contents_.append(block.data(), static_cast<size_t>(got));
  }
  size_ = contents_.size();
}

void InputFile::fail(std::string_view reason) const {
  // The reason is of no use where the whole file is another one. `read_at` may lead here.
  std::byte head[kFileHead];
  std::span<const std::byte> seen;
  if (slurped_) {
    seen = std::as_bytes(std::span(contents_.data(), contents_.size()));
  } else if (ssize_t got = ::pread(descriptor_, head, sizeof head, 0); got > 0) {
    seen = std::span<const std::byte>(head, static_cast<size_t>(got));
  }
  std::string other = misplaced_file(seen);
  throw Error(path_ + ": " + (other.empty() ? std::string(reason) : "this is " + other));
}

void InputFile::read_at(uint64_t offset, void* to, size_t size) const {
  if (offset > size_ || size > size_ - offset) fail("the file is cut short");
  if (slurped_) {
    if (size > 0) std::memcpy(to, contents_.data() + offset, size);
    return;
  }
  char* at = static_cast<char*>(to);
  while (size > 0) {
    ssize_t got =
        ::pread(descriptor_, at, std::min(size, kLargestCall), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(with_reason("cannot read " + path_, errno));
    if (got == 0) fail("the file was cut short while it was read");
    at += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
}

void FileSource::read(void* to, size_t size) {
  if (size > left_) fail("the data is cut short");
  file_.read_at(at_, to, size);
  at_ += size;
  left_ -= size;
}

// ---- Names of unfinished files, for handlers of signals ----

namespace {

enum : int { kFree, kFilling, kNamed };
struct Unfinished {
  std::atomic<int> state{kFree};
  char path[PATH_MAX];
};
static_assert(std::atomic<int>::is_always_lock_free);
constexpr int kUnfinished = 16;  // files that are written at once; more have names all the same
Unfinished unfinished[kUnfinished];

int note_unfinished(const std::string& path) {
  if (path.size() >= sizeof unfinished[0].path) return -1;
  for (int i = 0; i < kUnfinished; ++i) {
    int expected = kFree;
    if (!unfinished[i].state.compare_exchange_strong(expected, kFilling)) continue;
    std::memcpy(unfinished[i].path, path.c_str(), path.size() + 1);
    unfinished[i].state.store(kNamed);
    return i;
  }
  return -1;
}

std::string directory_of(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// By which an open file is found again, to be given a name.
std::string handle_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

}  // namespace

void remove_unfinished_files() noexcept {
  for (Unfinished& file : unfinished) {
    if (file.state.load() == kNamed) ::unlink(file.path);
  }
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)), target_(path_) {
  if (path_.empty()) throw Error("cannot write to an empty path");
  if (path_.find('\0') != std::string::npos) throw Error("a path cannot contain a zero byte");
  struct stat status;
  bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    throw Error("cannot write " + path_ + ": it is a directory");
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("open", errno);
    return;
  }
  if (exists) {
    // A rename would get round the protection of the file itself.
    if (::access(path_.c_str(), W_OK) != 0) fail("write", errno);
    if (char* real = ::realpath(path_.c_str(), nullptr)) {
      target_ = real;
      std::free(real);
    }
  }
  regular_ = true;
  const std::string directory = directory_of(target_);
  do {
    descriptor_ =
        ::open(directory.empty() ? "." : directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ >= 0 && ::access(handle_of(descriptor_).c_str(), F_OK) != 0) {
    ::close(descriptor_);
    descriptor_ = -1;
  }
  if (descriptor_ < 0) open_named();
  // Best effort: on file systems without modes the file is still written.
  if (exists) (void)!::fchmod(descriptor_, status.st_mode & 07777);
}

void OutputFile::make_temporary_name() {
  static std::atomic<uint32_t> counter{0};
  uint64_t random = hash_combine(
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()),
      static_cast<uint64_t>(::getpid()) << 32 | counter.fetch_add(1));
  temporary_ = directory_of(target_) + ".relay-" + std::to_string(random);
  // Before the file has the name: none is left out.
  slot_ = note_unfinished(temporary_);
}

void OutputFile::forget_temporary_name() {
  if (slot_ >= 0) unfinished[slot_].state.store(kFree);
  slot_ = -1;
  temporary_.clear();
}

// Not mkstemp: a new file gets the permissions that the user's mask leaves.
void OutputFile::open_named() {
  int error = 0;
  do {
    make_temporary_name();
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error = errno;
    if (descriptor_ < 0) forget_temporary_name();
  } while (descriptor_ < 0 && (error == EEXIST || error == EINTR));
  if (descriptor_ < 0) fail("write", error);
}

// Gives the file a name. False if a file with this name exists.
bool OutputFile::link_as(const std::string& name) {
  if (::linkat(AT_FDCWD, handle_of(descriptor_).c_str(), AT_FDCWD, name.c_str(),
               AT_SYMLINK_FOLLOW) == 0)
    return true;
  if (errno == EEXIST) return false;
  fail("write", errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  forget_temporary_name();
}

void OutputFile::fail(const char* what, int error) const {
  throw Error(with_reason(std::string("cannot ") + what + " " + path_, error));
}

void OutputFile::write(const void* from, size_t size) {
  written_ += size;
  const char* at = static_cast<const char*>(from);
  if (buffer_.size() + size <= kBuffer) {
    buffer_.insert(buffer_.end(), at, at + size);
    return;
  }
  flush();
  while (size >= kBuffer) {
    ssize_t done = ::write(descriptor_, at, std::min(size, kLargestCall));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write", errno);
    at += done;
    size -= static_cast<size_t>(done);
  }
  buffer_.insert(buffer_.end(), at, at + size);
}

void OutputFile::flush() {
  if (buffer_.empty()) return;  // and nothing is touched: `rewrite` runs on several threads
  size_t at = 0;
  while (at < buffer_.size()) {
    ssize_t done = ::write(descriptor_, buffer_.data() + at, buffer_.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write", errno);
    at += static_cast<size_t>(done);
  }
  buffer_.clear();
}

void OutputFile::extend(uint64_t size) {
  RELAY_CHECK(can_rewrite() && size >= written_, "a file cannot become shorter");
  flush();
  if (size == written_) return;
  written_ = size;
  rewrite(size - 1, "", 1);  // ftruncate would do, but not on every file system
  if (::lseek(descriptor_, 0, SEEK_END) < 0) fail("write", errno);
}

void OutputFile::rewrite(uint64_t offset, const void* from, size_t size) {
  RELAY_CHECK(can_rewrite() && offset + size <= written_, "writing over what was not written");
  flush();
  const char* at = static_cast<const char*>(from);
  while (size > 0) {
    ssize_t done = ::pwrite(descriptor_, at, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("write", errno);
    at += done;
    offset += static_cast<uint64_t>(done);
    size -= static_cast<size_t>(done);
  }
}

void OutputFile::commit() {
  flush();
  // A rename is all or nothing, too, but is of a file that has a name.
  bool placed = !regular_;
  if (regular_ && temporary_.empty()) {
    placed = link_as(target_);
    if (!placed) {
      do {
        forget_temporary_name();
        make_temporary_name();
      } while (!link_as(temporary_));
    }
  }
  int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0 && errno != EINTR) {
    int error = errno;
    if (regular_ && placed) ::unlink(target_.c_str());  // it was not there before
    fail("write", error);
  }
  if (placed) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("write", errno);
  forget_temporary_name();
}

}  // namespace relay

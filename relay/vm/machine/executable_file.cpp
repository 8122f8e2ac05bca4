// The layout of a file, all numbers little-endian:
//   header  64 bytes: magic, version, size of the file, checksum of header and table
//   table   a line of 32 bytes for each section: kind, offset, size, checksum
//   sections, each at the next multiple of 64 after the one before, with zeros between:
//     structure (executable_codec.cpp), machine code, tensors
// Every byte is covered by a checksum or must be zero.
#include <relay/vm/machine/executable_file.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>

#include <relay/runtime/file.h>
#include <relay/runtime/library_operands.h>
#include <relay/runtime/memory.h>
#include <relay/runtime/pool.h>
#include <relay/support/error.h>
#include <relay/support/stop.h>
#include <relay/support/threads.h>
#include <relay/vm/machine/executable_codec.h>

namespace relay::vm {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> kMagic = {'\x7f', 'R', 'L', 'X', '\r', '\n', '\x1a', '\n'};
constexpr uint32_t kVersion = 17;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t num_sections;
  uint64_t file_size;
  uint64_t checksum;  // of this, with 0 here, and the table
  uint64_t zero[4];
};
static_assert(sizeof(Header) == 64);

enum class SectionKind : uint32_t { kStructure = 1, kCode = 2, kData = 3 };
struct Section {
  SectionKind kind;
  uint32_t zero;
  uint64_t offset;
  uint64_t size;
  uint64_t checksum;
};
static_assert(sizeof(Section) == 32);
constexpr size_t kNumSections = 3;
constexpr size_t kTableEnd = sizeof(Header) + kNumSections * sizeof(Section);

uint64_t table_checksum(Header header, const Section* table) {
  header.checksum = 0;
  Checksum sum;
  sum.update(&header, sizeof header);
  sum.update(table, kNumSections * sizeof(Section));
  return sum.finish();
}

// ---- Writing ------------------------------------------------------------------------------------

using Put = std::function<void(const void*, size_t)>;

void put_zeros(const Put& put, uint64_t from, uint64_t to) {
  constexpr char kZeros[kDataAlignment] = {};
  if (to > from) put(kZeros, static_cast<size_t>(to - from));
}

void put_code(const Executable& executable, const Put& put) {
  for (const auto& blob : executable.blobs) put(blob->bytes.data(), blob->bytes.size());
}

/// A tensor in the section of data.
struct Piece {
  uint32_t constant;  // number
  uint64_t offset;    // in the section
};

/// In their order; `end` is where the section ends.
std::vector<Piece> pieces_of(const Executable& executable, uint64_t& end) {
  std::vector<Piece> pieces;
  end = 0;
  for (uint32_t i = 0; i < executable.constants.size(); ++i) {
    const Value& value = executable.constants[i];
    if (!is_in_data(executable, i)) continue;
    pieces.push_back({i, end});
    end = round_up_data(end + value.array().byte_size());
  }
  return pieces;
}

NDArray tensor_of(const Executable& executable, uint32_t constant) {
  NDArray array = executable.constants[constant].array();
  auto late = executable.late_constants.find(constant);
  if (late == executable.late_constants.end()) return array.contiguous();
  NDArray made = late->second();
  RELAY_CHECK(made.dtype() == array.dtype() && std::ranges::equal(made.shape(), array.shape()),
              "a constant is not of the type that was said");
  return made.is_contiguous() ? made : made.copy();
}

void put_tensor(const NDArray& array, const Put& put) {
  put(array.raw(), array.byte_size());
  put_zeros(put, array.byte_size(), round_up_data(array.byte_size()));
}

/// Pieces that several threads make, write and sum up. At any time one thread writes, since a file
/// has one lock, and one sums up, in the order of the pieces; others make further ones, but not so
/// many that memory fills with those that wait.
class PieceStages {
 public:
  using Step = std::function<void(size_t piece, const NDArray&)>;
  struct Steps {
    std::function<NDArray(size_t piece)> make;  // contiguous
    Step write, sum;
  };
  PieceStages(size_t count, size_t most, Steps steps)
      : count_(count), most_(most), steps_(std::move(steps)) {}

  /// Runs on each of the threads until all work is done. Once a step has failed on one of them the
  /// others end, too, and nothing is kept.
  void run() {
    std::unique_lock lock(mutex_);
    while (!failed_ && done_ < count_) {
      try {
        if (!step(lock)) changed_.wait(lock);
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        failed_ = true;
        made_.clear();
        changed_.notify_all();
        throw;
      }
    }
  }

 private:
  struct Made {
    NDArray tensor;
    bool write_begun = false;
    int steps_left = 2;
  };

  /// False if others have to do something first.
  bool step(std::unique_lock<std::mutex>& lock) {
    const auto unwritten =
        std::ranges::find_if(made_, [](const auto& piece) { return !piece.second.write_begun; });
    if (!writing_ && unwritten != made_.end()) {
      unwritten->second.write_begun = true;
      apart(lock, unwritten->first, steps_.write, writing_);
    } else if (!summing_ && made_.contains(next_sum_)) {
      apart(lock, next_sum_++, steps_.sum, summing_);
    } else if (begun_ < count_ && begun_ - done_ < most_) {
      const size_t piece = begun_++;
      lock.unlock();
      stop_if_asked();
      NDArray tensor = steps_.make(piece);
      lock.lock();
      if (!failed_) made_.emplace(piece, Made{std::move(tensor)});
    } else {
      return false;
    }
    changed_.notify_all();
    return true;
  }

  /// Without the lock; whether it is going on is in `busy`.
  void apart(std::unique_lock<std::mutex>& lock, size_t piece, const Step& step, bool& busy) {
    busy = true;
    NDArray tensor = made_.at(piece).tensor;  // another step's failure drops them
    lock.unlock();
    step(piece, tensor);
    tensor = {};
    lock.lock();
    busy = false;
    if (failed_ || --made_.at(piece).steps_left > 0) return;
    made_.erase(piece);
    ++done_;
  }

  const size_t count_, most_;
  const Steps steps_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<size_t, Made> made_;
  size_t begun_ = 0, next_sum_ = 0, done_ = 0;
  bool writing_ = false, summing_ = false, failed_ = false;
};

/// The parts of a file in their order; what `structure` holds is encoded already.
class Writer {
 public:
  Writer(const Executable& executable, const ByteWriter& structure)
      : executable_(executable), structure_(structure) {
    uint64_t sizes[kNumSections] = {structure.bytes().size(), 0, 0};
    for (const auto& blob : executable.blobs) sizes[1] += blob->bytes.size();
    pieces_ = pieces_of(executable, sizes[2]);
    uint64_t end = kTableEnd;
    for (size_t i = 0; i < kNumSections; ++i) {
      uint64_t offset = round_up_data(end);
      table_[i] = {static_cast<SectionKind>(i + 1), 0, offset, sizes[i], 0};
      end = offset + sizes[i];
    }
  }

  /// One byte after the other; late constants are made twice.
  void write(const Put& put) {
    for (size_t i = 0; i < kNumSections; ++i) {
      Checksum sum;
      put_section(i, [&](const void* bytes, size_t count) { sum.update(bytes, count); });
      table_[i].checksum = sum.finish();
    }
    auto start = this->start();
    put(start.data(), start.size());
    uint64_t at = kTableEnd;
    for (size_t i = 0; i < kNumSections; ++i) {
      put_zeros(put, at, table_[i].offset);
      put_section(i, put);
      at = table_[i].offset + table_[i].size;
    }
  }

  /// Writes with several threads, which make late constants and write and sum up large ones.
  void write(OutputFile& file, int threads) {
    const Section& data = table_[kNumSections - 1];
    file.extend(data.offset + data.size);
    for (size_t i = 0; i + 1 < kNumSections; ++i) {
      uint64_t at = table_[i].offset;
      Checksum sum;
      put_section(i, [&](const void* bytes, size_t count) {
        sum.update(bytes, count);
        file.rewrite(at, bytes, count);
        at += count;
      });
      table_[i].checksum = sum.finish();
    }
    const PoolTakesLarger one_serves_the_next;
    const size_t workers = thread_count(threads);
    Checksum sum;
    PieceStages stages(
        pieces_.size(), workers,
        {.make = [&](size_t i) { return tensor_of(executable_, pieces_[i].constant); },
         .write =
             [&](size_t i, const NDArray& tensor) {
               file.rewrite(data.offset + pieces_[i].offset, tensor.raw(), tensor.byte_size());
             },
         .sum =
             [&](size_t, const NDArray& tensor) {
               put_tensor(tensor,
                          [&](const void* bytes, size_t count) { sum.update(bytes, count); });
             }});
    side_by_side(threads, std::min(workers, pieces_.size()), [&](size_t) { stages.run(); });
    table_[kNumSections - 1].checksum = sum.finish();
    auto start = this->start();
    file.rewrite(0, start.data(), start.size());
  }

 private:
  void put_section(size_t i, const Put& put) const {
    if (i == 0) return put(structure_.bytes().data(), structure_.bytes().size());
    if (i == 1) return put_code(executable_, put);
    for (const Piece& piece : pieces_) put_tensor(tensor_of(executable_, piece.constant), put);
  }

  /// Header and table.
  std::array<std::byte, kTableEnd> start() const {
    Header header = {};
    std::copy(kMagic.begin(), kMagic.end(), header.magic);
    header.version = kVersion;
    header.num_sections = kNumSections;
    const Section& last = table_[kNumSections - 1];
    header.file_size = last.offset + last.size;
    header.checksum = table_checksum(header, table_);
    std::array<std::byte, kTableEnd> bytes;
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, table_, sizeof table_);
    return bytes;
  }

  const Executable& executable_;
  const ByteWriter& structure_;
  std::vector<Piece> pieces_;
  Section table_[kNumSections] = {};
};

// ---- Reading ------------------------------------------------------------------------------------

// The bytes of a file, kept by the tensors that lie in them.
class FileBytes {
 public:
  explicit FileBytes(std::span<const std::byte> bytes) : owned_(bytes.begin(), bytes.end()) {
    bytes_ = owned_;
  }
  /// A copy, which tensors may lie in: at addresses of their own multiples.
  explicit FileBytes(const InputFile& input) {
    charged_ = input.size() + kDataAlignment;
    charge_memory(charged_, input.path().c_str());
    memory_ = pool_allocate(charged_);
    try {
      if (memory_ == nullptr) input.fail("the system gives no memory for it");
      auto at = (reinterpret_cast<uintptr_t>(memory_) + kDataAlignment - 1) & ~(kDataAlignment - 1);
      auto* begin = reinterpret_cast<std::byte*>(at);
      input.read_at(0, begin, input.size());
      bytes_ = {begin, input.size()};
    } catch (...) {
      free_copy();
      throw;
    }
  }
  FileBytes(void* mapped, size_t size)
      : bytes_(static_cast<const std::byte*>(mapped), size), mapped_(mapped) {}
  ~FileBytes() {
    if (mapped_ != nullptr) munmap(mapped_, bytes_.size());
    free_copy();
  }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void free_copy() {
    pool_free(memory_);
    refund_memory(charged_);
  }

  std::vector<std::byte> owned_;
  std::span<const std::byte> bytes_;
  void* mapped_ = nullptr;
  void* memory_ = nullptr;
  size_t charged_ = 0;
};

std::span<const std::byte> section(std::span<const std::byte> bytes, const Section& at) {
  return bytes.subspan(at.offset, at.size);
}

// The three sections, checked. Throws Error without the file's name.
std::array<std::span<const std::byte>, kNumSections> open_sections(
    std::span<const std::byte> bytes) {
  if (!is_executable_file(bytes)) throw Error("it is not a Relay executable");
  if (bytes.size() < kTableEnd) ByteReader::cut_short();
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kVersion) {
    throw Error("it has version " + std::to_string(header.version) + " of the format; this is " +
                std::to_string(kVersion));
  }
  Section table[kNumSections];
  std::memcpy(table, bytes.data() + sizeof header, sizeof table);
  if (header.num_sections != kNumSections || header.checksum != table_checksum(header, table)) {
    throw Error("its beginning is damaged");
  }
  if (header.file_size > bytes.size()) ByteReader::cut_short();
  if (header.file_size < bytes.size()) throw Error("something follows its end");
  std::array<std::span<const std::byte>, kNumSections> sections;
  uint64_t end = kTableEnd;
  for (size_t i = 0; i < kNumSections; ++i) {
    uint64_t offset = round_up_data(end);
    if (table[i].kind != static_cast<SectionKind>(i + 1) || table[i].offset != offset ||
        offset > bytes.size() || table[i].size > bytes.size() - offset) {
      throw Error("its table of sections is damaged");
    }
    for (uint64_t k = end; k < offset; ++k) {
      if (bytes[k] != std::byte{0}) throw Error("it is damaged between its sections");
    }
    sections[i] = section(bytes, table[i]);
    Checksum sum;
    sum.update(sections[i].data(), sections[i].size());
    if (sum.finish() != table[i].checksum) throw Error("its contents are damaged (checksum)");
    end = offset + table[i].size;
  }
  if (end != bytes.size()) throw Error("its table of sections is damaged");
  return sections;
}

// Kernels without a rule for their operands are for programs of one process.
void check_library_kernels(const Executable& executable) {
  for (const Kernel& kernel : executable.kernels) {
    const std::string& name = kernel.library;
    if (name.empty() || find_library_kernel(name) == nullptr) continue;  // the machine says so
    if (find_library_rule(name) == nullptr)
      throw Error("library kernel " + name + " is only for programs that are compiled here");
  }
}

std::shared_ptr<Executable> read(const std::shared_ptr<const FileBytes>& file, bool share,
                                 const std::string& name) {
  try {
    auto [structure, code, data] = open_sections(file->bytes());
    auto executable = std::make_shared<Executable>();
    ByteReader reader(structure);
    auto tensor = [&, data = data](ShapeView shape, DType dtype, size_t offset) {
      const std::byte* at = data.data() + offset;
      size_t size = static_cast<size_t>(element_count(shape)) * dtype.size();
      if (!share || size == 0) return NDArray::from_bytes(shape, dtype, {at, size});
      auto* keep = new std::shared_ptr<const FileBytes>(file);
      return NDArray::wrap(
          const_cast<std::byte*>(at), shape, nullptr, dtype,
          [](void* context) { delete static_cast<std::shared_ptr<const FileBytes>*>(context); },
          keep);
    };
    decode_executable(reader, code, data, tensor, *executable);
    verify(*executable);
    check_library_kernels(*executable);
    return executable;
  } catch (const Error& error) {
    throw Error(name + " cannot be loaded: " + error.what());
  }
}

// Beyond this constants stay where they were read.
constexpr size_t kWorthSharing = size_t{1} << 20;

// A process that rewrites a mapped file in place changes its pages, and one that cuts it short
// removes them: so only a file that nobody may write to is mapped.
bool is_read_only(int descriptor, const struct stat& status) {
  constexpr mode_t kAnyWrite = S_IWUSR | S_IWGRP | S_IWOTH;
  if ((status.st_mode & kAnyWrite) == 0) return true;
  struct statvfs system = {};
  return ::fstatvfs(descriptor, &system) == 0 && (system.f_flag & ST_RDONLY) != 0;
}

std::shared_ptr<const FileBytes> map_file(const std::string& path, uint64_t size) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  struct stat status = {};
  void* memory = MAP_FAILED;
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<uint64_t>(status.st_size) == size && is_read_only(descriptor, status)) {
    // Private and writable: the sole owner of a tensor may write to it, without changing the file.
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
  }
  ::close(descriptor);
  if (memory == MAP_FAILED) return nullptr;
#ifdef MADV_POPULATE_READ
  // The checksum reads all of it, and pages that come one by one cost more than reading them.
  // Systems before 5.14 do not know it.
  madvise(memory, size, MADV_POPULATE_READ);
#endif
  return std::make_shared<const FileBytes>(memory, size);
}

}  // namespace

uint32_t executable_version() { return kVersion; }

bool is_executable_file(std::span<const std::byte> beginning) {
  return beginning.size() >= kMagic.size() &&
         std::memcmp(beginning.data(), kMagic.data(), kMagic.size()) == 0;
}

void save_executable(const Executable& executable, const std::string& path, int threads) {
  // Finds an executable that cannot be stored before the file is opened.
  ByteWriter structure;
  encode_executable(executable, structure);
  Writer writer(executable, structure);
  OutputFile file(path);
  if (file.can_rewrite()) {
    writer.write(file, threads);
  } else {
    writer.write([&](const void* bytes, size_t count) { file.write(bytes, count); });
  }
  file.commit();
}

std::vector<std::byte> executable_bytes(const Executable& executable) {
  ByteWriter structure;
  encode_executable(executable, structure);
  std::vector<std::byte> out;
  Writer(executable, structure).write([&](const void* bytes, size_t count) {
    const auto* begin = static_cast<const std::byte*>(bytes);
    out.insert(out.end(), begin, begin + count);
  });
  return out;
}

std::shared_ptr<Executable> load_executable(const std::string& path) {
  InputFile input(path);
  if (input.size() < kWorthSharing) {
    std::vector<std::byte> bytes(input.size());
    input.read_at(0, bytes.data(), bytes.size());
    return read(std::make_shared<const FileBytes>(bytes), false, path);
  }
  if (std::shared_ptr<const FileBytes> mapped = map_file(path, input.size())) {
    return read(mapped, true, path);
  }
  return read(std::make_shared<const FileBytes>(input), true, path);
}

std::shared_ptr<Executable> load_executable(std::span<const std::byte> bytes,
                                            const std::string& name) {
  return read(std::make_shared<const FileBytes>(bytes), false, name);
}

}  // namespace relay::vm

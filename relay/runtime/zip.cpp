#include <relay/runtime/zip.h>
#include <relay/support/error.h>
#include <zlib.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace relay {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50;
constexpr uint32_t kDirectoryEnd = 0x06054b50;
constexpr uint32_t kDirectoryEnd64 = 0x06064b50;
constexpr uint32_t kDirectoryLocator64 = 0x07064b50;
constexpr uint32_t kMax32 = 0xffffffff;
constexpr uint16_t kMax16 = 0xffff;
// A directory is read whole; this is some hundred thousand members.
constexpr uint64_t kMostDirectory = uint64_t{64} << 20;
// Deflate cannot pack a byte into less than 1/1032 byte.
constexpr uint64_t kMostExpansion = 1032;

uint64_t little(const unsigned char* at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; --i) value = value << 8 | at[i];
  return value;
}
uint16_t get16(const unsigned char* at) { return static_cast<uint16_t>(little(at, 2)); }
uint32_t get32(const unsigned char* at) { return static_cast<uint32_t>(little(at, 4)); }
uint64_t get64(const unsigned char* at) { return little(at, 8); }

uint32_t update_crc(uint32_t crc, const void* data, size_t size) {
  return static_cast<uint32_t>(crc32_z(crc, static_cast<const Bytef*>(data), size));
}

struct Inflater {
  z_stream stream{};
  bool started = false;
  ~Inflater() {
    if (started) inflateEnd(&stream);
  }
};

// A member's bytes, unpacked on the way.
class MemberSource final : public ByteSource {
 public:
  MemberSource(const InputFile& file, const ZipReader::Member& member)
      : packed_(file, member.data_offset, member.packed_size, file.path() + ": " + member.name),
        left_(member.size),
        expected_crc_(member.crc),
        deflated_(member.deflated) {
    if (deflated_) {
      if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) fail("no memory left to unpack it");
      inflater_.started = true;
      buffer_.resize(size_t{1} << 16);
    }
    if (left_ == 0) finish();
  }

  uint64_t remaining() const override { return left_; }
  const std::string& name() const override { return packed_.name(); }

  void read(void* to, size_t size) override {
    if (size > left_) fail("the data is cut short");
    if (size == 0) return;
    if (deflated_) {
      unpack(static_cast<unsigned char*>(to), size);
    } else {
      packed_.read(to, size);
    }
    crc_ = update_crc(crc_, to, size);
    left_ -= size;
    if (left_ == 0) finish();
  }

 private:
  // Runs the decompressor until `size` bytes came out. With size 0 it must be at its end.
  void unpack(unsigned char* to, size_t size) {
    while (size > 0) {
      uInt part = static_cast<uInt>(std::min<size_t>(size, size_t{1} << 30));
      stream_.next_out = to;
      stream_.avail_out = part;
      while (stream_.avail_out > 0) step();
      to += part;
      size -= part;
    }
  }
  void step() {
    if (ended_) fail("the packed data is shorter than its size says");
    if (stream_.avail_in == 0) {
      size_t part = static_cast<size_t>(std::min<uint64_t>(packed_.remaining(), buffer_.size()));
      if (part == 0) fail("the packed data is cut short");
      packed_.read(buffer_.data(), part);
      stream_.next_in = buffer_.data();
      stream_.avail_in = static_cast<uInt>(part);
    }
    int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      ended_ = true;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail("the packed data is damaged");
    }
  }
  void finish() {
    if (deflated_) {
      // The end of the stream may still be to read, but no more data.
      unsigned char extra;
      stream_.next_out = &extra;
      stream_.avail_out = 1;
      while (!ended_) {
        step();
        if (stream_.avail_out == 0) fail("the packed data is longer than its size says");
      }
      if (stream_.avail_in > 0 || packed_.remaining() > 0)
        fail("something follows the packed data");
    }
    if (crc_ != expected_crc_) fail("the checksum is wrong: the data is damaged");
  }

  FileSource packed_;
  uint64_t left_;
  uint32_t expected_crc_;
  uint32_t crc_ = 0;
  bool deflated_;
  bool ended_ = false;
  Inflater inflater_;
  z_stream& stream_ = inflater_.stream;
  std::vector<unsigned char> buffer_;
};

}  // namespace

ZipReader::ZipReader(std::string path) : file_(std::move(path)) {
  constexpr uint64_t kEndSize = 22, kLocatorSize = 20, kEnd64Size = 56;
  uint64_t size = file_.size();
  if (size == 0) file_.fail("the file is empty");
  if (size < kEndSize) file_.fail("this is not a zip archive: it is too short");
  // The end record is last, but for a comment of up to 65535 bytes.
  uint64_t tail_size = std::min<uint64_t>(size, kEndSize + kMax16);
  std::vector<unsigned char> tail(tail_size);
  file_.read_at(size - tail_size, tail.data(), tail_size);
  uint64_t at = tail_size - kEndSize;
  while (get32(&tail[at]) != kDirectoryEnd || get16(&tail[at + 20]) != tail_size - kEndSize - at) {
    if (at == 0) file_.fail("this is not a zip archive, or it is cut short");
    --at;
  }
  const unsigned char* end = &tail[at];
  uint64_t end_offset = size - tail_size + at;
  uint64_t disk = get16(end + 4), directory_disk = get16(end + 6);
  uint64_t count_here = get16(end + 8), count = get16(end + 10);
  uint64_t directory_size = get32(end + 12), directory = get32(end + 16);
  bool large = directory == kMax32 || directory_size == kMax32 || count == kMax16;
  if (large && end_offset >= kLocatorSize) {
    unsigned char locator[kLocatorSize];
    file_.read_at(end_offset - kLocatorSize, locator, kLocatorSize);
    if (get32(locator) == kDirectoryLocator64) {
      uint64_t offset = get64(locator + 8);
      uint64_t limit = end_offset - kLocatorSize;
      if (limit < kEnd64Size || offset > limit - kEnd64Size)
        file_.fail("the zip archive is damaged");
      unsigned char end64[kEnd64Size];
      file_.read_at(offset, end64, kEnd64Size);
      if (get32(end64) != kDirectoryEnd64) file_.fail("the zip archive is damaged");
      disk = get32(end64 + 16);
      directory_disk = get32(end64 + 20);
      count_here = get64(end64 + 24);
      count = get64(end64 + 32);
      directory_size = get64(end64 + 40);
      directory = get64(end64 + 48);
      end_offset = offset;
    }
  }
  if (disk != 0 || directory_disk != 0 || count_here != count)
    file_.fail("zip archives of several parts cannot be read");
  if (directory > end_offset || directory_size > end_offset - directory)
    file_.fail("the directory of the zip archive lies outside of the file");
  read_directory(directory, directory_size, count);
}

void ZipReader::read_directory(uint64_t offset, uint64_t size, uint64_t count) {
  constexpr size_t kEntrySize = 46;
  if (size > kMostDirectory) file_.fail("the directory of the zip archive is too large");
  if (count > size / kEntrySize) file_.fail("the zip archive counts more members than it lists");
  std::vector<unsigned char> bytes(size);
  file_.read_at(offset, bytes.data(), size);
  std::vector<uint64_t> headers;
  std::unordered_set<std::string> names;
  size_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (size - at < kEntrySize || get32(&bytes[at]) != kDirectoryEntry)
      file_.fail("the directory of the zip archive is damaged");
    const unsigned char* entry = &bytes[at];
    uint16_t flags = get16(entry + 8), method = get16(entry + 10);
    size_t name_size = get16(entry + 28), extra_size = get16(entry + 30);
    size_t comment_size = get16(entry + 32);
    if (size - at - kEntrySize < name_size + extra_size + comment_size)
      file_.fail("the directory of the zip archive is damaged");
    Member member;
    member.name.assign(reinterpret_cast<const char*>(entry + kEntrySize), name_size);
    member.crc = get32(entry + 16);
    member.packed_size = get32(entry + 20);
    member.size = get32(entry + 24);
    member.data_offset = 0;
    member.deflated = method == 8;
    uint64_t header = get32(entry + 42);
    // ZIP64: eight-byte values for those of the three that are all ones, in this order.
    const unsigned char* extra = entry + kEntrySize + name_size;
    for (size_t left = extra_size; left >= 4;) {
      size_t length = get16(extra + 2);
      if (length > left - 4) file_.fail("the directory of the zip archive is damaged");
      if (get16(extra) == 1) {
        const unsigned char* value = extra + 4;
        size_t values = length / 8;
        for (uint64_t* field : {&member.size, &member.packed_size, &header}) {
          if (*field != kMax32) continue;
          if (values == 0) file_.fail("the directory of the zip archive is damaged");
          *field = get64(value);
          value += 8;
          --values;
        }
      }
      extra += 4 + length;
      left -= 4 + length;
    }
    std::string shown = "member '" + member.name + "' ";
    if (member.name.find('\0') != std::string::npos)
      file_.fail("a member's name contains a zero byte");
    if (!names.insert(member.name).second) file_.fail(shown + "occurs twice");
    if ((flags & 1) != 0) file_.fail(shown + "is encrypted");
    if (method != 0 && method != 8)
      file_.fail(shown + "is packed by method " + std::to_string(method) + ", which is unknown");
    if (!member.deflated && member.size != member.packed_size)
      file_.fail(shown + "is stored, but its two sizes differ");
    if (member.deflated && (member.size + kMostExpansion - 1) / kMostExpansion > member.packed_size)
      file_.fail(shown + "claims " + std::to_string(member.size) + " bytes, more than " +
                 std::to_string(member.packed_size) + " packed ones can hold");
    members_.push_back(std::move(member));
    headers.push_back(header);
    at += kEntrySize + name_size + extra_size + comment_size;
  }
  if (at != size) file_.fail("the zip archive lists more members than it counts");
  locate_members(std::move(headers), offset);
}

// Finds where each member's data begins and that no two share bytes.
void ZipReader::locate_members(std::vector<uint64_t> headers, uint64_t directory) {
  constexpr size_t kHeaderSize = 30;
  struct Range {
    uint64_t begin, end;
    size_t member;
  };
  std::vector<Range> ranges;
  for (size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    std::string shown = "member '" + member.name + "' ";
    if (headers[i] > directory || directory - headers[i] < kHeaderSize + member.name.size())
      file_.fail(shown + "lies outside of the file");
    std::vector<unsigned char> local(kHeaderSize + member.name.size());
    file_.read_at(headers[i], local.data(), local.size());
    if (get32(local.data()) != kLocalHeader || get16(&local[26]) != member.name.size() ||
        !std::equal(member.name.begin(), member.name.end(), local.begin() + kHeaderSize,
                    [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; }))
      file_.fail(shown + "is not where the directory says");
    if (get16(&local[8]) != (member.deflated ? 8 : 0))
      file_.fail(shown + "is described in two ways");
    member.data_offset = headers[i] + local.size() + get16(&local[28]);
    if (member.data_offset > directory || member.packed_size > directory - member.data_offset)
      file_.fail(shown + "lies outside of the file");
    ranges.push_back({headers[i], member.data_offset + member.packed_size, i});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) {
      file_.fail("members '" + members_[ranges[i - 1].member].name + "' and '" +
                 members_[ranges[i].member].name + "' overlap");
    }
  }
}

std::unique_ptr<ByteSource> ZipReader::open(const Member& member) const {
  return std::make_unique<MemberSource>(file_, member);
}

namespace {

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 255);
}

constexpr uint16_t kUtf8Names = 0x0800;
constexpr uint16_t kDate1980 = 0x0021;  // 1 January

}  // namespace

void ZipWriter::Counter::write(const void* from, size_t size) {
  writer.sink_.write(from, size);
  writer.at_ += size;
}

void ZipWriter::put(const std::string& bytes) { counter_.write(bytes.data(), bytes.size()); }

void ZipWriter::add(const std::string& name, uint64_t size, uint32_t crc) {
  if (name.size() > kMax16 || name.find('\0') != std::string::npos)
    throw Error("a name of " + std::to_string(name.size()) +
                " bytes cannot be written to a zip archive");
  bool large = size >= kMax32;
  entries_.push_back({name, size, at_, crc});
  std::string header;
  relay::put(header, kLocalHeader, 4);
  relay::put(header, large ? 45 : 20, 2);
  relay::put(header, kUtf8Names, 2);
  relay::put(header, 0, 2);  // stored
  relay::put(header, 0, 2);
  relay::put(header, kDate1980, 2);
  relay::put(header, crc, 4);
  relay::put(header, large ? kMax32 : size, 4);
  relay::put(header, large ? kMax32 : size, 4);
  relay::put(header, name.size(), 2);
  relay::put(header, large ? 20 : 0, 2);
  header += name;
  if (large) {
    relay::put(header, 1, 2);
    relay::put(header, 16, 2);
    relay::put(header, size, 8);
    relay::put(header, size, 8);
  }
  put(header);
}

void ZipWriter::finish() {
  uint64_t directory = at_;
  for (const Entry& e : entries_) {
    std::string extra;
    bool large = e.size >= kMax32, far = e.offset >= kMax32;
    if (large || far) {
      relay::put(extra, 1, 2);
      relay::put(extra, (large ? 16 : 0) + (far ? 8 : 0), 2);
      if (large) relay::put(extra, e.size, 8);
      if (large) relay::put(extra, e.size, 8);
      if (far) relay::put(extra, e.offset, 8);
    }
    std::string entry;
    relay::put(entry, kDirectoryEntry, 4);
    relay::put(entry, 3 << 8 | 45, 2);  // made by: Unix
    relay::put(entry, extra.empty() ? 20 : 45, 2);
    relay::put(entry, kUtf8Names, 2);
    relay::put(entry, 0, 2);
    relay::put(entry, 0, 2);
    relay::put(entry, kDate1980, 2);
    relay::put(entry, e.crc, 4);
    relay::put(entry, large ? kMax32 : e.size, 4);
    relay::put(entry, large ? kMax32 : e.size, 4);
    relay::put(entry, e.name.size(), 2);
    relay::put(entry, extra.size(), 2);
    relay::put(entry, 0, 2);  // comment
    relay::put(entry, 0, 2);  // disk
    relay::put(entry, 0, 2);
    relay::put(entry, uint64_t{0644} << 16, 4);
    relay::put(entry, far ? kMax32 : e.offset, 4);
    put(entry + e.name + extra);
  }
  uint64_t size = at_ - directory;
  uint64_t count = entries_.size();
  std::string end;
  if (directory >= kMax32 || size >= kMax32 || count >= kMax16) {
    uint64_t end64 = at_;
    relay::put(end, kDirectoryEnd64, 4);
    relay::put(end, 44, 8);  // bytes of this record that follow
    relay::put(end, 3 << 8 | 45, 2);
    relay::put(end, 45, 2);
    relay::put(end, 0, 8);  // both disks
    relay::put(end, count, 8);
    relay::put(end, count, 8);
    relay::put(end, size, 8);
    relay::put(end, directory, 8);
    relay::put(end, kDirectoryLocator64, 4);
    relay::put(end, 0, 4);
    relay::put(end, end64, 8);
    relay::put(end, 1, 4);
  }
  uint64_t short_count = std::min<uint64_t>(count, kMax16);
  relay::put(end, kDirectoryEnd, 4);
  relay::put(end, 0, 4);  // both disks
  relay::put(end, short_count, 2);
  relay::put(end, short_count, 2);
  relay::put(end, std::min<uint64_t>(size, kMax32), 4);
  relay::put(end, std::min<uint64_t>(directory, kMax32), 4);
  relay::put(end, 0, 2);
  put(end);
}

void ChecksumSink::write(const void* from, size_t size) { crc_ = update_crc(crc_, from, size); }

}  // namespace relay

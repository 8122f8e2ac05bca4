// ZIP archives, as far as .npz needs them: stored and deflated members, ZIP64, no encryption.
#pragma once

#include <relay/runtime/file.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace relay {

/// The directory of an archive. Opening checks all its claims against the file: sizes, places, no
/// overlap of members, no name twice. Contents are checked as they are read.
class ZipReader {
 public:
  struct Member {
    std::string name;
    uint64_t packed_size;
    uint64_t size;
    uint64_t data_offset;
    uint32_t crc;
    bool deflated;
  };

  explicit ZipReader(std::string path);

  const std::string& path() const { return file_.path(); }
  /// In the order of the archive's directory.
  const std::vector<Member>& members() const { return members_; }
  /// The contents of a member. The checksum is verified with the last byte. The source must not
  /// outlive the reader.
  std::unique_ptr<ByteSource> open(const Member& member) const;

 private:
  void read_directory(uint64_t offset, uint64_t size, uint64_t count);
  void locate_members(std::vector<uint64_t> headers, uint64_t directory);

  InputFile file_;
  std::vector<Member> members_;
};

/// Writes an archive of stored members, with ZIP64 if it is needed. The date is always 1980-01-01,
/// so equal contents give equal files.
class ZipWriter {
 public:
  explicit ZipWriter(ByteSink& sink) : sink_(sink) {}

  /// Announces a member of exactly `size` bytes whose checksum is `crc`; the caller then writes
  /// them through `contents()`.
  void add(const std::string& name, uint64_t size, uint32_t crc);
  ByteSink& contents() { return counter_; }
  /// Writes the directory.
  void finish();

 private:
  struct Entry {
    std::string name;
    uint64_t size;
    uint64_t offset;
    uint32_t crc;
  };
  struct Counter final : ByteSink {
    explicit Counter(ZipWriter& w) : writer(w) {}
    void write(const void* from, size_t size) override;
    ZipWriter& writer;
  };
  void put(const std::string& bytes);

  ByteSink& sink_;
  Counter counter_{*this};
  uint64_t at_ = 0;
  std::vector<Entry> entries_;
};

/// A sink that only computes the checksum of the written bytes.
class ChecksumSink final : public ByteSink {
 public:
  void write(const void* from, size_t size) override;
  uint32_t crc() const { return crc_; }

 private:
  uint32_t crc_ = 0;
};

}  // namespace relay

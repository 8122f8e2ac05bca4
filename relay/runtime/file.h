// Reads and writes files: bounded reads, and writes that are all or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace relay {

/// A stream of bytes with a known number left.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Reads exactly `size` bytes or throws `Error`.
  virtual void read(void* to, size_t size) = 0;
  /// The number of bytes left.
  virtual uint64_t remaining() const = 0;
  /// Its name in errors: a path, perhaps with a member's name.
  virtual const std::string& name() const = 0;

  /// Throws `Error` about this source.
  [[noreturn]] void fail(std::string_view reason) const;
};

/// A target of written bytes.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(const void* from, size_t size) = 0;
};

/// A file open for reading at any place. A file that cannot be read in this way (a pipe) is first
/// read whole.
class InputFile {
 public:
  /// Throws `Error` with the reason if it cannot be opened.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  /// Reads exactly `size` bytes at `offset`, or throws `Error` ("… is cut short").
  void read_at(uint64_t offset, void* to, size_t size) const;
  [[noreturn]] void fail(std::string_view reason) const;

 private:
  void slurp(uint64_t most);

  std::string path_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  bool slurped_ = false;
  std::string contents_;
  size_t charged_ = 0;
};

/// A part of an input file as a source.
class FileSource final : public ByteSource {
 public:
  FileSource(const InputFile& file, uint64_t offset, uint64_t size, std::string name)
      : file_(file), at_(offset), left_(size), name_(std::move(name)) {}
  explicit FileSource(const InputFile& file) : FileSource(file, 0, file.size(), file.path()) {}

  void read(void* to, size_t size) override;
  uint64_t remaining() const override { return left_; }
  const std::string& name() const override { return name_; }

 private:
  const InputFile& file_;
  uint64_t at_;
  uint64_t left_;
  std::string name_;
};

/// Writes a file that has no name until `commit` gives it one. So a failure leaves the old file,
/// and nothing else: the kernel frees the new file when the process ends, however it ends. The file
/// is called `.relay-N` beside its place if the file system has no files without names, and for the
/// instant in which `commit` replaces another file; `remove_unfinished_files` removes those. Links
/// are followed; a target that is not a regular file (a pipe) is written to directly.
class OutputFile final : public ByteSink {
 public:
  explicit OutputFile(std::string path);
  /// Removes the written bytes unless they were committed.
  ~OutputFile() override;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* from, size_t size) override;
  uint64_t written() const { return written_; }
  /// True if written bytes can be overwritten: the target is a regular file.
  bool can_rewrite() const { return regular_; }
  /// Makes a regular file longer: zeros follow, up to `size` bytes.
  void extend(uint64_t size);
  /// Overwrites written bytes, from `offset` on. After `extend`, several threads may call it for
  /// different places.
  void rewrite(uint64_t offset, const void* from, size_t size);
  void commit();

 private:
  void flush();
  void open_named();
  void make_temporary_name();
  void forget_temporary_name();
  bool link_as(const std::string& name);
  [[noreturn]] void fail(const char* what, int error) const;

  std::string path_;
  std::string target_;
  std::string temporary_;  // its name before `commit`, if it has one
  int slot_ = -1;          // the place of that name among the unfinished ones
  bool regular_ = false;   // else it is written directly
  int descriptor_ = -1;
  uint64_t written_ = 0;
  std::vector<char> buffer_;
};

/// Removes the unfinished files of this process that have names. For handlers of signals that end
/// the process: async-signal-safe.
void remove_unfinished_files() noexcept;

}  // namespace relay

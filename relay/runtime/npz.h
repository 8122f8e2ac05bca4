// NumPy's .npz files: zip archives of .npy files.
#pragma once

#include <relay/runtime/ndarray.h>
#include <relay/runtime/zip.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace relay {

/// Arrays with their names, in order.
using NamedArrays = std::vector<std::pair<std::string, NDArray>>;

/// An open .npz file; arrays are read when you ask for them. Members whose name does not end in
/// ".npy" are ignored. Throws `Error` with the file's name for an unsound archive (see
/// `ZipReader`).
class NpzReader {
 public:
  explicit NpzReader(std::string path);
  NpzReader(const NpzReader&) = delete;
  NpzReader& operator=(const NpzReader&) = delete;

  /// The names of the arrays, without ".npy", in the order of the archive.
  std::vector<std::string> names() const;
  bool contains(const std::string& name) const;
  /// Throws `Error` that names similar arrays if there is no such array.
  NDArray read(const std::string& name) const;
  NamedArrays read_all() const;

 private:
  const ZipReader::Member* find(const std::string& name) const;

  ZipReader zip_;
  std::unordered_map<std::string_view, const ZipReader::Member*> index_;  // views into zip_
};

/// Writes an .npz file without compression, all or nothing. The names must differ.
void write_npz(const std::string& path, const NamedArrays& arrays);

}  // namespace relay

// The contents of ONNX tensors as arrays.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <relay/import/onnx/model.h>
#include <relay/runtime/ndarray.h>

namespace relay::onnx {

struct NarrowType;

/// Bytes of files on their way into arrays: copied together, by several threads, which share the
/// work of getting fresh pages, too.
class Copies {
 public:
  /// Whose bytes are added from now on; the text lives until `run` returns.
  void set_name(std::string_view name) { name_ = name; }
  /// `to` has room for them until `run` returns.
  void add(const std::shared_ptr<const Bytes>& bytes, std::span<const std::byte> from,
           std::byte* to);
  /// Throws `Error`, with the name, if a file has become shorter or cannot be read.
  void run();

 private:
  struct Piece {
    std::shared_ptr<const Bytes> bytes;
    std::span<const std::byte> from;
    std::byte* to;
    std::string_view name;
  };
  std::vector<Piece> pieces_;
  std::string_view name_;
};

/// Makes arrays of the tensors of one model; where bytes lie in a file as an array wants them, they
/// stay there. Opens files of external data once.
class Tensors {
 public:
  explicit Tensors(const Model& model) : model_(model) {}

  /// The array, of a wider dtype where the element type is a narrow one. Throws `Error`, without a
  /// place, for an element type that Relay has not, extents
  /// that no array has, contents that do not fit them, and external data that are missing or not
  /// in the model's folder. Nothing is allocated before that is known. The elements of a large one
  /// are there when `later`, where it is given, has run.
  NDArray array(const TensorData& tensor, Copies* later = nullptr);
  /// A sparse tensor, filled with zeros.
  NDArray array(const SparseTensorData& tensor);

  /// All of a graph, by their names, large ones copied together; strings as numbers of their words
  /// (strings.h). Throws as `array`, with the path
  /// of the model and the name.
  std::vector<std::pair<std::string_view, NDArray>> initializers(const Graph& graph);

 private:
  /// The elements in row-major order, where they lie in `bytes` if they are aligned there.
  NDArray array_of(const std::shared_ptr<const Bytes>& bytes, std::span<const std::byte> elements,
                   ShapeView shape, DType dtype, Copies* later);
  /// Room for an array, together with that of others: pages of their own would be small ones.
  NDArray room(ShapeView shape, DType dtype);
  std::shared_ptr<const Bytes> external_file(std::string_view location);
  /// Elements in a file.
  struct Place {
    std::shared_ptr<const Bytes> bytes;
    std::span<const std::byte> elements;
  };
  /// Where so many bytes of external data lie.
  Place external(const TensorData& tensor, size_t needed);
  NDArray narrow_array(const TensorData& tensor, const NarrowType& type, const std::string& dims);

  const Model& model_;
  std::map<std::string, std::shared_ptr<const Bytes>, std::less<>> files_;
  NDArray block_;  // of bytes
  size_t used_ = 0;
};

}  // namespace relay::onnx

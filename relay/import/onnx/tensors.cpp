#include <relay/import/onnx/tensors.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include <relay/import/onnx/narrow.h>
#include <relay/import/onnx/strings.h>
#include <relay/support/error.h>
#include <relay/support/threads.h>

namespace relay::onnx {
namespace {

namespace fs = std::filesystem;

template <class From>
NDArray converted(const std::vector<From>& elements, ShapeView shape, DType dtype) {
  NDArray result = NDArray::empty(shape, dtype);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* to = static_cast<T*>(result.raw());
    for (size_t i = 0; i < elements.size(); ++i) {
      if constexpr (std::is_integral_v<From> && sizeof(T) == 2 && !std::is_integral_v<T>) {
        to[i] = T::from_bits(static_cast<uint16_t>(elements[i]));  // 16-bit floats go as bits
      } else {
        to[i] = convert_element<T>(elements[i]);
      }
    }
  });
  return result;
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string text = "(";
  for (size_t i = 0; i < dims.size() && i < NDArray::kMaxRank; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(dims[i]);
  }
  return text + ")";
}

uint64_t number_of(std::string_view text, std::string_view key) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error("the " + std::string(key) + " of external data is " + quoted(text));
  }
  return value;
}

}  // namespace

std::shared_ptr<const Bytes> Tensors::external_file(std::string_view location) {
  auto found = files_.find(location);
  if (found != files_.end()) return found->second;
  std::string name = quoted(location);
  if (model_.folder.empty()) {
    throw Error("external data in " + name + ", but the model is in memory, without a folder");
  }
  fs::path relative{std::string(location)};
  bool leaves =
      location.empty() || location.find('\0') != std::string_view::npos || relative.is_absolute();
  for (const fs::path& part : relative) leaves |= part == "..";
  std::error_code error;
  fs::path folder, file;
  if (!leaves) {
    folder = fs::canonical(model_.folder, error);
    if (!error) file = fs::canonical(folder / relative, error);
    if (error) throw Error("there is no file " + name + " of external data beside the model");
    // A link may lead elsewhere.
    auto [end, unused] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
    leaves = end != folder.end();
  }
  if (leaves) throw Error("the external data in " + name + " are outside of the model's folder");
  if (!fs::is_regular_file(file, error)) throw Error("external data in " + name + ": no file");
  auto bytes = Bytes::map(file.string());
  files_.emplace(std::string(location), bytes);
  return bytes;
}

NDArray Tensors::room(ShapeView shape, DType dtype) {
  constexpr size_t kBlock = size_t{64} << 20, kLeast = 4096, kAlignment = NDArray::kAlignment;
  size_t size = NDArray::bytes_needed(shape, dtype);
  if (size < kLeast || size > kBlock / 2) return NDArray::empty(shape, dtype);
  size_t begin = (used_ + kAlignment - 1) / kAlignment * kAlignment;
  if (!block_ || size > block_.byte_size() - std::min(begin, block_.byte_size())) {
    size_t bytes = std::clamp(model_.bytes->all().size(), size, kBlock);
    block_ = NDArray::empty({static_cast<int64_t>(bytes)}, kUInt8);
    begin = 0;
  }
  used_ = begin + size;
  return NDArray::wrap(
      block_.data<uint8_t>() + begin, shape, nullptr, dtype,
      [](void* context) { delete static_cast<NDArray*>(context); }, new NDArray(block_));
}

void Copies::add(const std::shared_ptr<const Bytes>& bytes, std::span<const std::byte> from,
                 std::byte* to) {
  constexpr size_t kPiece = size_t{1} << 20;
  const size_t count = (from.size() + kPiece - 1) / kPiece;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = from.size() * i / count, end = from.size() * (i + 1) / count;
    pieces_.push_back({bytes, from.subspan(begin, end - begin), to + begin, name_});
  }
}

void Copies::run() {
  const auto threads = static_cast<int>(std::min(thread_count(0), kCopyThreads));
  side_by_side(pieces_.size() < 4 ? 1 : threads, pieces_.size(), [&](size_t i) {
    try {
      pieces_[i].bytes->copy(pieces_[i].from, pieces_[i].to);
    } catch (const Error& error) {
      if (pieces_[i].name.empty()) throw;
      throw Error("the initializer " + quoted(pieces_[i].name) + ": " + error.what());
    }
  });
  pieces_.clear();
}

NDArray Tensors::array_of(const std::shared_ptr<const Bytes>& bytes,
                          std::span<const std::byte> elements, ShapeView shape, DType dtype,
                          Copies* later) {
  auto address = reinterpret_cast<uintptr_t>(elements.data());
  bool in_place = !elements.empty() && address % dtype.size() == 0 && elements.size() >= 4096;
  // Bytes of a file may be more than the two that a bool is.
  if (dtype.is_bool() || !in_place) {
    NDArray result = room(shape, dtype);
    RELAY_CHECK(elements.size() == result.byte_size(), "elements that do not fit the shape");
    constexpr size_t kWorthWaiting = size_t{1} << 16;
    bool waits = later != nullptr && !dtype.is_bool() && elements.size() >= kWorthWaiting;
    Copies now;
    (waits ? *later : now).add(bytes, elements, static_cast<std::byte*>(result.raw()));
    now.run();
    if (dtype.is_bool()) {
      auto* flags = static_cast<uint8_t*>(result.raw());
      for (int64_t i = 0; i < result.size(); ++i) flags[i] = flags[i] != 0 ? 1 : 0;
    }
    return result;
  }
  auto* holder = new std::shared_ptr<const Bytes>(bytes);
  return NDArray::wrap(
      const_cast<std::byte*>(elements.data()), shape, nullptr, dtype,
      [](void* context) { delete static_cast<std::shared_ptr<const Bytes>*>(context); }, holder);
}

Tensors::Place Tensors::external(const TensorData& tensor, size_t needed) {
  std::string_view location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  for (const auto& [key, value] : tensor.where) {
    if (key == "location") location = value;
    if (key == "offset") offset = number_of(value, key);
    if (key == "length") length = number_of(value, key);
  }
  if (location.empty()) throw Error("external data without a location");
  std::shared_ptr<const Bytes> file = external_file(location);
  std::span<const std::byte> all = file->all();
  if (length && *length != needed) {
    throw Error("external data of " + std::to_string(*length) + " bytes for a tensor of " +
                std::to_string(needed) + " bytes");
  }
  if (offset > all.size() || all.size() - offset < needed) {
    throw Error("the file of external data " + quoted(location) + " has " +
                std::to_string(all.size()) + " bytes, too few for " + std::to_string(needed) +
                " at " + std::to_string(offset));
  }
  return {file, all.subspan(offset, needed)};
}

NDArray Tensors::narrow_array(const TensorData& tensor, const NarrowType& type,
                              const std::string& dims) {
  size_t needed = narrow_bytes(type, element_count(tensor.dims));
  std::vector<std::byte> listed;
  std::span<const std::byte> bytes;
  Place place;  // holds the file
  if (tensor.external) {
    place = external(tensor, needed);
    bytes = place.elements;
  } else if (tensor.raw) {
    bytes = *tensor.raw;
  } else {
    // Each entry is a byte.
    for (int64_t entry : tensor.ints) listed.push_back(static_cast<std::byte>(entry & 0xff));
    bytes = listed;
  }
  if (bytes.size() != needed) {
    throw Error("a tensor of shape " + dims + " and type " + dtype_number_text(type.number) +
                " with contents of " + std::to_string(bytes.size()) + " bytes, not " +
                std::to_string(needed));
  }
  return unpacked_narrow(type, bytes, tensor.dims);
}

NDArray Tensors::array(const TensorData& tensor, Copies* later) {
  const NarrowType* narrow = narrow_type(tensor.dtype);
  std::optional<DType> dtype = program_dtype(tensor.dtype);
  if (!dtype)
    throw Error("elements of type " + dtype_number_text(tensor.dtype) + " are not supported");
  std::string dims = dims_text(tensor.dims);
  if (tensor.dims.size() > NDArray::kMaxRank) {
    throw Error("a tensor of " + std::to_string(tensor.dims.size()) + " axes, more than " +
                std::to_string(NDArray::kMaxRank));
  }
  for (int64_t dim : tensor.dims) {
    if (dim < 0) throw Error("a tensor of shape " + dims + ", which has a negative extent");
  }
  const Shape& shape = tensor.dims;
  size_t needed = NDArray::bytes_needed(shape, *dtype);
  if (narrow != nullptr) return narrow_array(tensor, *narrow, dims);
  if (tensor.external) {
    Place place = external(tensor, needed);
    return array_of(place.bytes, place.elements, shape, *dtype, later);
  }
  auto require = [&](uint64_t found, uint64_t wanted, const char* of) {
    if (found == wanted) return;
    throw Error("a tensor of shape " + dims + " and dtype " + std::string(dtype->name()) +
                " with contents of " + std::to_string(found) + of + ", not " +
                std::to_string(wanted));
  };
  if (tensor.raw) {
    require(tensor.raw->size(), needed, " bytes");
    return array_of(model_.bytes, *tensor.raw, shape, *dtype, later);
  }
  auto count = static_cast<uint64_t>(element_count(shape));
  require(tensor.floats.size() + tensor.doubles.size() + tensor.ints.size(), count, " elements");
  if (!tensor.floats.empty()) return converted(tensor.floats, shape, *dtype);
  if (!tensor.doubles.empty()) return converted(tensor.doubles, shape, *dtype);
  return converted(tensor.ints, shape, *dtype);
}

std::vector<std::pair<std::string_view, NDArray>> Tensors::initializers(const Graph& graph) {
  std::vector<std::pair<std::string_view, NDArray>> result;
  Copies copies;
  std::string what;  // of the one at hand
  auto add = [&](std::string_view name, const auto& array) {
    what = "the initializer " + quoted(name) + ": ";
    copies.set_name(name);
    result.emplace_back(name, array());
  };
  try {
    for (const TensorData& tensor : graph.initializers)
      add(tensor.name, [&] {
        return tensor.dtype == kStringElements ? words_of(tensor).numbers : array(tensor, &copies);
      });
    for (const SparseTensorData& tensor : graph.sparse_initializers)
      add(tensor.values.name, [&] { return array(tensor); });
    what.clear();
    copies.run();
  } catch (const Error& error) {
    throw Error(model_.path + ": " + what + error.what());
  }
  return result;
}

NDArray Tensors::array(const SparseTensorData& tensor) {
  NDArray values = array(tensor.values);
  NDArray indices = array(tensor.indices);
  std::string dims = dims_text(tensor.dims);
  constexpr size_t kMostBytes = size_t{1} << 31;
  for (int64_t dim : tensor.dims) {
    if (dim < 0) throw Error("a sparse tensor of shape " + dims);
  }
  if (tensor.dims.size() > NDArray::kMaxRank ||
      NDArray::bytes_needed(tensor.dims, values.dtype()) > kMostBytes) {
    throw Error("a sparse tensor of shape " + dims + " is too large to be filled with zeros");
  }
  auto rank = static_cast<int64_t>(tensor.dims.size());
  bool linear = indices.rank() == 1;
  if (values.rank() != 1 || indices.dtype() != kInt64 || (!linear && indices.rank() != 2) ||
      indices.extent(0) != values.extent(0) || (!linear && indices.extent(1) != rank)) {
    throw Error("a sparse tensor whose indices do not fit its values and its shape " + dims);
  }
  NDArray result = NDArray::zeros(tensor.dims, values.dtype());
  size_t width = values.dtype().size();
  const int64_t* index = indices.data<int64_t>();
  for (int64_t k = 0; k < values.size(); ++k) {
    int64_t at = linear ? index[k] : 0;
    bool inside = !linear || (at >= 0 && at < result.size());
    for (int64_t axis = 0; !linear && axis < rank; ++axis) {
      int64_t i = index[k * rank + axis];
      int64_t extent = tensor.dims[static_cast<size_t>(axis)];
      inside &= i >= 0 && i < extent;
      if (inside) at = at * extent + i;
    }
    if (!inside) throw Error("a sparse tensor with an index outside of its shape " + dims);
    std::memcpy(static_cast<std::byte*>(result.raw()) + static_cast<size_t>(at) * width,
                static_cast<const std::byte*>(values.raw()) + static_cast<size_t>(k) * width,
                width);
  }
  return result;
}

}  // namespace relay::onnx

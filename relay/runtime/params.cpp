#include <relay/runtime/dlpack.h>
#include <relay/runtime/file_kind.h>
#include <relay/runtime/params.h>
#include <relay/runtime/safetensors.h>
#include <relay/runtime/strided.h>
#include <relay/support/error.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_set>

namespace relay {
namespace {

constexpr uint64_t kParamsMagic = 0xF7E58D4F05049CB7;
constexpr uint64_t kArrayMagic = 0xDD5E40F096B4A13F;
constexpr uint64_t kArrayHeader = 8 + 8 + 8 + 4 + 4 + 8;  // before and after the extents

template <class T>
T get(ByteSource& source) {
  unsigned char bytes[sizeof(T)];
  source.read(bytes, sizeof bytes);
  uint64_t value = 0;
  for (size_t i = sizeof(T); i-- > 0;) value = value << 8 | bytes[i];
  return static_cast<T>(value);
}

template <class T>
void put(ByteSink& sink, T value) {
  unsigned char bytes[sizeof(T)];
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes[i] = static_cast<unsigned char>(static_cast<uint64_t>(value) >> (8 * i));
  sink.write(bytes, sizeof bytes);
}

NDArray read_array(ByteSource& source, const std::string& name) {
  auto fail = [&](const std::string& reason) { source.fail("array '" + name + "' " + reason); };
  if (source.remaining() < kArrayHeader) fail("is cut short");
  if (get<uint64_t>(source) != kArrayMagic) fail("does not begin as one");
  get<uint64_t>(source);  // reserved
  get<uint64_t>(source);  // the device it came from
  int32_t rank = get<int32_t>(source);
  dlpack::DataType type{get<uint8_t>(source), get<uint8_t>(source), get<uint16_t>(source)};
  std::optional<DType> dtype = dlpack::from_dlpack(type);
  if (!dtype) {
    fail("has elements of type code " + std::to_string(type.code) + ", " +
         std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) +
         " lanes, which is not supported");
  }
  if (rank < 0 || rank > static_cast<int32_t>(NDArray::kMaxRank))
    fail("has rank " + std::to_string(rank));
  Shape shape;
  for (int32_t i = 0; i < rank; ++i) {
    shape.push_back(get<int64_t>(source));
    if (shape.back() < 0) fail("has a negative extent");
  }
  uint64_t bytes = get<uint64_t>(source);
  uint64_t count = 0;
  try {
    count = static_cast<uint64_t>(element_count(shape));
  } catch (const Error& error) {
    fail(error.what());
  }
  if (bytes > source.remaining()) fail("is cut short");
  if (count > bytes / dtype->size() || count * dtype->size() != bytes) {
    fail("of shape " + shape_text(shape) + " and dtype " + std::string(dtype->name()) +
         " does not take " + std::to_string(bytes) + " bytes");
  }
  NDArray array = NDArray::empty(shape, *dtype);
  source.read(array.raw(), array.byte_size());
  normalize_bools(array);
  return array;
}

}  // namespace

NamedArrays read_tvm_params(const std::string& path) {
  InputFile file(path);
  if (file.size() == 0) file.fail("the file is empty");
  FileSource source(file);
  if (file.size() < 24 || get<uint64_t>(source) != kParamsMagic)
    file.fail("this is not a .params file");
  get<uint64_t>(source);  // reserved
  uint64_t count = get<uint64_t>(source);
  if (count > source.remaining() / 8) file.fail("the file is cut short");
  NamedArrays arrays;
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t length = get<uint64_t>(source);
    if (length > source.remaining()) file.fail("the file is cut short");
    std::string name(length, '\0');
    source.read(name.data(), length);
    if (!names.insert(name).second) file.fail("array '" + name + "' occurs twice");
    arrays.emplace_back(std::move(name), NDArray());
  }
  if (get<uint64_t>(source) != count) file.fail("there are not as many arrays as names");
  for (auto& [name, array] : arrays) array = read_array(source, name);
  if (source.remaining() > 0)
    file.fail(std::to_string(source.remaining()) + " bytes follow the last array");
  return arrays;
}

void write_tvm_params(const std::string& path, const NamedArrays& arrays) {
  std::unordered_set<std::string_view> names;
  for (const auto& [name, array] : arrays) {
    if (!names.insert(name).second) throw Error(path + ": there are two arrays '" + name + "'");
  }
  OutputFile file(path);
  put<uint64_t>(file, kParamsMagic);
  put<uint64_t>(file, 0);
  put<uint64_t>(file, arrays.size());
  for (const auto& [name, array] : arrays) {
    put<uint64_t>(file, name.size());
    file.write(name.data(), name.size());
  }
  put<uint64_t>(file, arrays.size());
  for (const auto& [name, array] : arrays) {
    put<uint64_t>(file, kArrayMagic);
    put<uint64_t>(file, 0);
    put<int32_t>(file, static_cast<int32_t>(kCpu.type));
    put<int32_t>(file, kCpu.id);
    put<int32_t>(file, static_cast<int32_t>(array.rank()));
    // TVM knows bool as a one-bit unsigned number.
    dlpack::DataType type = array.dtype().is_bool()
                                ? dlpack::DataType{static_cast<uint8_t>(DTypeCode::kUInt), 1, 1}
                                : dlpack::to_dlpack(array.dtype());
    put<uint8_t>(file, type.code);
    put<uint8_t>(file, type.bits);
    put<uint16_t>(file, type.lanes);
    for (int64_t extent : array.shape()) put<int64_t>(file, extent);
    put<uint64_t>(file, array.byte_size());
    write_elements(file, array);
  }
  file.commit();
}

NamedArrays load_params(const std::string& path) {
  unsigned char start[kFileHead] = {};
  {
    InputFile file(path);
    if (file.size() == 0) file.fail("the file is empty");
    auto size = static_cast<size_t>(std::min<uint64_t>(file.size(), sizeof start));
    file.read_at(0, start, size);
    std::string other = misplaced_file(std::as_bytes(std::span(start, size)));
    if (!other.empty()) throw Error(path + ": this is " + other);
  }
  uint64_t first = 0;
  for (int i = 7; i >= 0; --i) first = first << 8 | start[i];
  if (std::memcmp(start, "PK\x03\x04", 4) == 0 || std::memcmp(start, "PK\x05\x06", 4) == 0 ||
      path.ends_with(".npz"))
    return NpzReader(path).read_all();
  if (first == kParamsMagic || path.ends_with(".params")) return read_tvm_params(path);
  if (start[8] == '{' || path.ends_with(".safetensors")) return read_safetensors(path);
  if (std::memcmp(start, "\x93NUMPY", 6) == 0)
    throw Error(path +
                ": a .npy file holds one array without a name; parameters need names (.npz)");
  throw Error(path + ": this is not a .npz, .safetensors or .params file");
}

void check_params_path(const std::string& path) {
  if (path.ends_with(".npz") || path.ends_with(".safetensors") || path.ends_with(".params")) return;
  throw Error("cannot write " + path + ": its name should end in .npz, .safetensors or .params");
}

void save_params(const std::string& path, const NamedArrays& arrays) {
  if (path.ends_with(".npz")) return write_npz(path, arrays);
  if (path.ends_with(".safetensors")) return write_safetensors(path, arrays);
  check_params_path(path);
  write_tvm_params(path, arrays);
}

}  // namespace relay

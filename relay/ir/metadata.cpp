#include <relay/ir/metadata.h>

#include <array>
#include <cstring>

#include <relay/support/error.h>

namespace relay {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint64_t kMagic = 0xDD5E40F096B4A13Full;

constexpr std::array<int8_t, 256> kDigits = [] {
  std::array<int8_t, 256> digits{};
  for (auto& digit : digits) digit = -1;
  for (int i = 0; i < 64; ++i)
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  return digits;
}();

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Reads fixed-size numbers from the front of a byte string.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    if (bytes_.size() < sizeof(T)) throw Error("a constant's data ends too early");
    T value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

DType read_dtype(uint8_t code, uint8_t bits, uint16_t lanes) {
  if (lanes == 1) {
    // TVM writes bool as a one-bit unsigned integer (0.14) or as DLPack's bool (later).
    if ((code == 1 && bits == 1) || (code == 6 && (bits == 1 || bits == 8))) return kBool;
    for (DType dtype : kAllDTypes) {
      if (!dtype.is_bool() && static_cast<uint8_t>(dtype.code) == code && dtype.bits == bits)
        return dtype;
    }
  }
  throw Error("a constant has an unknown element type (code " + std::to_string(code) + ", " +
              std::to_string(bits) + " bits, " + std::to_string(lanes) + " lanes)");
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    size_t left = bytes.size() - i;
    uint32_t word = static_cast<unsigned char>(bytes[i]) << 16;
    if (left > 1) word |= static_cast<unsigned char>(bytes[i + 1]) << 8;
    if (left > 2) word |= static_cast<unsigned char>(bytes[i + 2]);
    out += kAlphabet[word >> 18];
    out += kAlphabet[(word >> 12) & 63];
    out += left > 1 ? kAlphabet[(word >> 6) & 63] : '=';
    out += left > 2 ? kAlphabet[word & 63] : '=';
  }
  return out;
}

std::string decode_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t word = 0;
  int filled = 0;
  bool ended = false;
  for (char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == '=') {
      ended = true;
      continue;
    }
    int digit = kDigits[static_cast<unsigned char>(c)];
    if (digit < 0 || ended) throw Error("a constant's data is not base64");
    word = word << 6 | static_cast<uint32_t>(digit);
    if (++filled == 4) {
      out += static_cast<char>(word >> 16);
      out += static_cast<char>(word >> 8);
      out += static_cast<char>(word);
      filled = 0;
      word = 0;
    }
  }
  if (filled == 1) throw Error("a constant's data is not base64");
  if (filled == 2) out += static_cast<char>(word >> 4);
  if (filled == 3) {
    out += static_cast<char>(word >> 10);
    out += static_cast<char>(word >> 2);
  }
  return out;
}

std::string encode_ndarray(const NDArray& array) {
  std::string bytes;
  DType dtype = array.dtype();
  bytes.reserve(48 + 8 * array.rank() + array.byte_size());
  append(bytes, kMagic);
  append(bytes, uint64_t{0});
  append(bytes, int32_t{1});  // device: the processor
  append(bytes, int32_t{0});
  append(bytes, static_cast<int32_t>(array.rank()));
  append(bytes, dtype.is_bool() ? uint8_t{1} : static_cast<uint8_t>(dtype.code));
  append(bytes, dtype.bits);
  append(bytes, uint16_t{1});
  for (int64_t extent : array.shape()) append(bytes, extent);
  append(bytes, static_cast<int64_t>(array.byte_size()));
  NDArray dense = array.contiguous();
  bytes.append(static_cast<const char*>(dense.raw()), dense.byte_size());
  return encode_base64(bytes);
}

NDArray decode_ndarray(std::string_view base64) {
  std::string bytes = decode_base64(base64);
  Reader reader(bytes);
  if (reader.take<uint64_t>() != kMagic)
    throw Error("a constant's data does not begin as TVM's tensors do");
  reader.take<uint64_t>();
  reader.take<int32_t>();
  reader.take<int32_t>();
  auto rank = reader.take<int32_t>();
  auto code = reader.take<uint8_t>();
  auto bits = reader.take<uint8_t>();
  auto lanes = reader.take<uint16_t>();
  DType dtype = read_dtype(code, bits, lanes);
  if (rank < 0 || static_cast<size_t>(rank) > NDArray::kMaxRank) {
    throw Error("a constant has rank " + std::to_string(rank));
  }
  Shape shape;
  for (int32_t i = 0; i < rank; ++i) shape.push_back(reader.take<int64_t>());
  auto size = reader.take<int64_t>();
  int64_t count = element_count(shape);
  std::string_view data = reader.rest();
  // In this order nothing overflows: the data is at hand, so its size is small.
  if (size < 0 || static_cast<uint64_t>(size) != data.size() ||
      static_cast<uint64_t>(count) > data.size() ||
      static_cast<size_t>(count) * dtype.size() != data.size()) {
    throw Error("a constant of shape " + shape_text(shape) + " and type " +
                std::string(dtype.name()) + " has " + std::to_string(data.size()) +
                " bytes of data");
  }
  NDArray array =
      NDArray::from_bytes(shape, dtype, std::as_bytes(std::span(data.data(), data.size())));
  if (dtype.is_bool()) {
    auto* elements = static_cast<uint8_t*>(array.raw());
    for (int64_t i = 0; i < count; ++i) elements[i] = elements[i] != 0;
  }
  return array;
}

std::string constants_metadata(std::span<const NDArray> constants) {
  // Nodes: 0 null, 1 the map, 2 the list, 3 a device, 4 its empty memory scope, from 5 on the
  // constants.
  std::string out =
      "#[metadata]\n{\n  \"root\": 1,\n  \"nodes\": [\n    {\"type_key\": \"\"},\n"
      "    {\"type_key\": \"Map\", \"keys\": [\"relay.Constant\"], \"data\": [2]},\n"
      "    {\"type_key\": \"Array\", \"data\": [";
  for (size_t i = 0; i < constants.size(); ++i) out += (i ? ", " : "") + std::to_string(i + 5);
  out +=
      "]},\n    {\"type_key\": \"VirtualDevice\", \"attrs\": {\"device_type_int\": \"-1\", "
      "\"memory_scope\": \"4\", \"target\": \"0\", \"virtual_device_id\": \"-1\"}},\n"
      "    {\"type_key\": \"runtime.String\"}";
  for (size_t i = 0; i < constants.size(); ++i) {
    out +=
        ",\n    {\"type_key\": \"relay.Constant\", \"attrs\": {\"_checked_type_\": \"0\", "
        "\"data\": \"" +
        std::to_string(i) + "\", \"span\": \"0\", \"virtual_device_\": \"3\"}}";
  }
  out += "\n  ],\n  \"b64ndarrays\": [";
  for (size_t i = 0; i < constants.size(); ++i) {
    out += i ? ",\n    \"" : "\n    \"";
    out += encode_ndarray(constants[i]);
    out += '"';
  }
  out += "\n  ],\n  \"attrs\": {\"tvm_version\": \"0.14.0\"}\n}\n";
  return out;
}

}  // namespace relay

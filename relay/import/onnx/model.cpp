// Files in memory, and the words of the schema.
#include <relay/import/onnx/model.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <onnx_schema.h>
#include <relay/print/text.h>
#include <relay/support/error.h>

namespace relay::onnx {

// ---- Bytes --------------------------------------------------------------------------------------

std::shared_ptr<const Bytes> Bytes::map(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw Error("cannot open " + path + ": " + std::strerror(errno));
  struct Close {
    int file;
    ~Close() {
      if (file >= 0) ::close(file);
    }
  } close{file};
  struct stat info {};
  if (::fstat(file, &info) != 0) throw Error("cannot read " + path + ": " + std::strerror(errno));
  if (S_ISDIR(info.st_mode)) throw Error("cannot read " + path + ": it is a folder");
  auto result = std::shared_ptr<Bytes>(new Bytes);
  if (!S_ISREG(info.st_mode)) {
    constexpr size_t kMost = size_t{1} << 31;
    std::vector<std::byte>& copy = result->copy_;
    for (size_t used = 0;;) {
      copy.resize(used + (size_t{1} << 16));
      ssize_t got = ::read(file, copy.data() + used, copy.size() - used);
      if (got < 0) throw Error("cannot read " + path + ": " + std::strerror(errno));
      copy.resize(used += static_cast<size_t>(got));
      if (got == 0) break;
      if (used > kMost) throw Error(path + " is too long for a model that is no regular file");
    }
    result->data_ = copy.data();
    result->size_ = copy.size();
    return result;
  }
  result->size_ = static_cast<size_t>(info.st_size);
  if (result->size_ == 0) return result;
  // Writable, so that whoever owns an array alone may overwrite it; the pages written are copies.
  void* memory =
      ::mmap(nullptr, result->size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) throw Error("cannot map " + path + ": " + std::strerror(errno));
  result->mapping_ = memory;
  result->data_ = static_cast<const std::byte*>(memory);
  result->file_ = std::exchange(close.file, -1);
  return result;
}

std::shared_ptr<const Bytes> Bytes::copy_of(std::span<const std::byte> bytes) {
  auto result = std::shared_ptr<Bytes>(new Bytes);
  result->copy_.assign(bytes.begin(), bytes.end());
  result->data_ = result->copy_.data();
  result->size_ = result->copy_.size();
  return result;
}

Bytes::~Bytes() {
  if (mapping_ != nullptr) ::munmap(mapping_, size_);
  if (file_ >= 0) ::close(file_);
}

void Bytes::copy(std::span<const std::byte> part, std::byte* to) const {
  constexpr size_t kWorthACall = size_t{1} << 16;
  if (part.empty()) return;
  if (file_ < 0 || part.size() < kWorthACall) {
    std::memcpy(to, part.data(), part.size());
    return;
  }
  auto at = static_cast<off_t>(part.data() - data_);
  size_t left = part.size();
  while (left > 0) {
    ssize_t got = ::pread(file_, to, left, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error(std::string("cannot read a model: ") + std::strerror(errno));
    if (got == 0) throw Error("a model's file was cut short while it was read");
    to += got;
    at += got;
    left -= static_cast<size_t>(got);
  }
}

// ---- Words
// ---------------------------------------------------------------------------------------

const Attribute* Node::attribute(std::string_view wanted) const {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == wanted) return &attribute;
  }
  return nullptr;
}

std::string_view attribute_kind_text(AttributeKind kind) {
  constexpr std::string_view kTexts[] = {"of no type",
                                         "a float",
                                         "an int",
                                         "a string",
                                         "a tensor",
                                         "a graph",
                                         "a list of floats",
                                         "a list of ints",
                                         "a list of strings",
                                         "a list of tensors",
                                         "a list of graphs",
                                         "a sparse tensor",
                                         "a list of sparse tensors",
                                         "a type",
                                         "a list of types"};
  return kTexts[static_cast<size_t>(kind)];
}

// ---- Element types ------------------------------------------------------------------------------

namespace {
namespace t = schema::TensorProto::DataType;
constexpr std::pair<uint32_t, DType> kDTypes[] = {
    {t::kBOOL, kBool},       {t::kINT8, kInt8},         {t::kINT16, kInt16},
    {t::kINT32, kInt32},     {t::kINT64, kInt64},       {t::kUINT8, kUInt8},
    {t::kUINT16, kUInt16},   {t::kUINT32, kUInt32},     {t::kUINT64, kUInt64},
    {t::kFLOAT16, kFloat16}, {t::kBFLOAT16, kBFloat16}, {t::kFLOAT, kFloat32},
    {t::kDOUBLE, kFloat64}};
}  // namespace

std::optional<DType> dtype_of_number(int64_t number) {
  for (const auto& [known, dtype] : kDTypes) {
    if (static_cast<int64_t>(known) == number) return dtype;
  }
  return std::nullopt;
}

int64_t number_of_dtype(DType wanted) {
  for (const auto& [known, dtype] : kDTypes) {
    if (dtype == wanted) return known;
  }
  RELAY_UNREACHABLE("a dtype without a number");
}

std::string dtype_number_text(int64_t number) {
  if (std::optional<DType> dtype = dtype_of_number(number)) return std::string(dtype->name());
  // Those from 17 on came after the schema.
  constexpr std::pair<int64_t, const char*> kOthers[] = {{t::kUNDEFINED, "none"},
                                                         {t::kSTRING, "string"},
                                                         {t::kCOMPLEX64, "complex64"},
                                                         {t::kCOMPLEX128, "complex128"},
                                                         {17, "float8e4m3fn"},
                                                         {18, "float8e4m3fnuz"},
                                                         {19, "float8e5m2"},
                                                         {20, "float8e5m2fnuz"},
                                                         {21, "uint4"},
                                                         {22, "int4"},
                                                         {23, "float4e2m1"},
                                                         {24, "float8e8m0"},
                                                         {25, "uint2"},
                                                         {26, "int2"},
                                                         {27, "float6e2m3"},
                                                         {28, "float6e3m2"}};
  for (const auto& [known, text] : kOthers) {
    if (known == number) return text;
  }
  return "number " + std::to_string(number);
}

std::string quoted(std::string_view name) {
  constexpr size_t kMost = 80;
  size_t end = std::min(name.size(), kMost);
  auto continues = [&](size_t at) {  // inside of a character
    return at < name.size() && (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80;
  };
  while (end > 0 && end > kMost - 4 && continues(end)) --end;
  std::string result;
  printing::append_quoted(result, name.substr(0, end));
  if (name.size() > end) result.insert(result.size() - 1, "…");
  return result;
}

}  // namespace relay::onnx

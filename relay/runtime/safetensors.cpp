#include <relay/runtime/file.h>
#include <relay/runtime/safetensors.h>
#include <relay/runtime/strided.h>
#include <relay/support/error.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_set>

namespace relay {
namespace {

// The limit of the reference implementation.
constexpr uint64_t kMostHeader = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";

struct TypeName {
  DType dtype;
  std::string_view name;
};
constexpr TypeName kTypeNames[] = {
    {kBool, "BOOL"},     {kInt8, "I8"},     {kInt16, "I16"},   {kInt32, "I32"},  {kInt64, "I64"},
    {kUInt8, "U8"},      {kUInt16, "U16"},  {kUInt32, "U32"},  {kUInt64, "U64"}, {kFloat16, "F16"},
    {kBFloat16, "BF16"}, {kFloat32, "F32"}, {kFloat64, "F64"},
};

struct Tensor {
  std::string name;
  std::optional<DType> dtype;
  std::optional<Shape> shape;
  std::optional<std::pair<uint64_t, uint64_t>> offsets;
};

// Takes the events of the JSON parser, which uses no recursion, and accepts only
// {"name": {"dtype": "…", "shape": […], "data_offsets": [b, e]}, …, "__metadata__": {"…": "…"}}.
class HeaderHandler : public nlohmann::json::json_sax_t {
 public:
  explicit HeaderHandler(const InputFile& file) : file_(file) {}

  std::vector<Tensor> tensors;

  bool start_object(size_t) override {
    switch (state_) {
      case State::kStart:
        state_ = State::kNames;
        return true;
      case State::kTensor:
        state_ = State::kFields;
        return true;
      case State::kMetadata:
        state_ = State::kMetadataItems;
        return true;
      default:
        return unexpected();
    }
  }
  bool end_object() override {
    switch (state_) {
      case State::kNames:
        state_ = State::kDone;
        return true;
      case State::kMetadataItems:
        state_ = State::kNames;
        return true;
      case State::kFields: {
        const Tensor& t = tensors.back();
        if (!t.dtype || !t.shape || !t.offsets)
          file_.fail("the description of tensor '" + t.name + "' is not complete");
        state_ = State::kNames;
        return true;
      }
      default:
        return unexpected();
    }
  }
  bool key(std::string& name) override {
    switch (state_) {
      case State::kNames:
        if (!names_.insert(name).second) file_.fail("tensor '" + name + "' occurs twice");
        if (name == kMetadata) {
          state_ = State::kMetadata;
          return true;
        }
        tensors.push_back({name, {}, {}, {}});
        state_ = State::kTensor;
        return true;
      case State::kFields: {
        Tensor& t = tensors.back();
        if (name == "dtype" && !t.dtype) {
          state_ = State::kDType;
        } else if (name == "shape" && !t.shape) {
          state_ = State::kShape;
        } else if (name == "data_offsets" && !t.offsets) {
          state_ = State::kOffsets;
        } else {
          return unexpected();
        }
        return true;
      }
      case State::kMetadataItems:
        state_ = State::kMetadataText;
        return true;
      default:
        return unexpected();
    }
  }
  bool string(std::string& text) override {
    if (state_ == State::kMetadataText) {
      state_ = State::kMetadataItems;
      return true;
    }
    if (state_ != State::kDType) return unexpected();
    for (const TypeName& type : kTypeNames) {
      if (type.name == text) tensors.back().dtype = type.dtype;
    }
    if (!tensors.back().dtype) {
      file_.fail("tensor '" + tensors.back().name + "' has the element type '" +
                 text.substr(0, 40) + "', which is not supported");
    }
    state_ = State::kFields;
    return true;
  }
  bool start_array(size_t) override {
    numbers_.clear();
    if (state_ == State::kShape) {
      state_ = State::kShapeItems;
    } else if (state_ == State::kOffsets) {
      state_ = State::kOffsetItems;
    } else {
      return unexpected();
    }
    return true;
  }
  bool end_array() override {
    Tensor& t = tensors.back();
    if (state_ == State::kShapeItems) {
      t.shape.emplace(numbers_.begin(), numbers_.end());
    } else if (state_ == State::kOffsetItems && numbers_.size() == 2) {
      t.offsets.emplace(numbers_[0], numbers_[1]);
    } else {
      return unexpected();
    }
    state_ = State::kFields;
    return true;
  }
  bool number_unsigned(uint64_t value) override {
    if (state_ != State::kShapeItems && state_ != State::kOffsetItems) return unexpected();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      file_.fail("tensor '" + tensors.back().name + "' has a number out of range");
    if (numbers_.size() == NDArray::kMaxRank)
      file_.fail("tensor '" + tensors.back().name + "' has too many dimensions");
    numbers_.push_back(value);
    return true;
  }
  bool null() override { return unexpected(); }
  bool boolean(bool) override { return unexpected(); }
  bool number_integer(int64_t) override { return unexpected(); }
  bool number_float(double, const std::string&) override { return unexpected(); }
  bool binary(nlohmann::json::binary_t&) override { return unexpected(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    file_.fail("the header is not valid JSON at byte " + std::to_string(position));
  }

  bool done() const { return state_ == State::kDone; }

 private:
  enum class State {
    kStart,
    kNames,
    kTensor,
    kFields,
    kDType,
    kShape,
    kShapeItems,
    kOffsets,
    kOffsetItems,
    kMetadata,
    kMetadataItems,
    kMetadataText,
    kDone
  };

  bool unexpected() const {
    file_.fail(tensors.empty()
                   ? "the header is not that of a .safetensors file"
                   : "the header has an unexpected item at tensor '" + tensors.back().name + "'");
  }

  const InputFile& file_;
  State state_ = State::kStart;
  std::unordered_set<std::string> names_;
  std::vector<uint64_t> numbers_;
};

// Sizes agree with offsets, and the tensors fill the data exactly.
void check_layout(const InputFile& file, const std::vector<Tensor>& tensors, uint64_t data_size) {
  std::vector<const Tensor*> order;
  for (const Tensor& t : tensors) {
    auto [begin, end] = *t.offsets;
    if (begin > end || end > data_size) {
      file.fail("tensor '" + t.name + "' claims bytes " + std::to_string(begin) + " to " +
                std::to_string(end) + " of " + std::to_string(data_size));
    }
    uint64_t count = static_cast<uint64_t>(element_count(*t.shape));
    uint64_t bytes = end - begin;
    if (count > bytes / t.dtype->size() || count * t.dtype->size() != bytes) {
      file.fail("tensor '" + t.name + "' of shape " + shape_text(*t.shape) + " and dtype " +
                std::string(t.dtype->name()) + " does not take " + std::to_string(bytes) +
                " bytes");
    }
    order.push_back(&t);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Tensor* a, const Tensor* b) { return *a->offsets < *b->offsets; });
  uint64_t at = 0;
  for (const Tensor* t : order) {
    if (t->offsets->first < at) file.fail("tensor '" + t->name + "' overlaps another one");
    if (t->offsets->first > at) file.fail("bytes before tensor '" + t->name + "' belong to none");
    at = t->offsets->second;
  }
  if (at != data_size) {
    file.fail(std::to_string(data_size - at) + " bytes at the end belong to no tensor");
  }
}

}  // namespace

NamedArrays read_safetensors(const std::string& path) {
  InputFile file(path);
  if (file.size() == 0) file.fail("the file is empty");
  if (file.size() < 10) file.fail("this is not a .safetensors file: it is too short");
  unsigned char prefix[8];
  file.read_at(0, prefix, 8);
  uint64_t header_size = 0;
  for (int i = 7; i >= 0; --i) header_size = header_size << 8 | prefix[i];
  if (header_size > kMostHeader || header_size > file.size() - 8) {
    file.fail("this is not a .safetensors file, or it is cut short: the header claims " +
              std::to_string(header_size) + " bytes");
  }
  std::string header(header_size, '\0');
  file.read_at(8, header.data(), header_size);
  HeaderHandler handler(file);
  nlohmann::json::sax_parse(header, &handler);
  if (!handler.done()) file.fail("the header is not that of a .safetensors file");
  uint64_t data = 8 + header_size;
  try {
    check_layout(file, handler.tensors, file.size() - data);
  } catch (const Error& error) {
    std::string text = error.what();
    if (text.starts_with(path)) throw;
    file.fail(text);
  }
  NamedArrays arrays;
  for (const Tensor& t : handler.tensors) {
    NDArray array = NDArray::empty(*t.shape, *t.dtype);
    file.read_at(data + t.offsets->first, array.raw(), array.byte_size());
    normalize_bools(array);
    arrays.emplace_back(t.name, std::move(array));
  }
  return arrays;
}

void write_safetensors(const std::string& path, const NamedArrays& arrays) {
  // Wide elements first, so that every tensor is aligned; the header keeps the order given.
  std::vector<size_t> order(arrays.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return arrays[a].second.dtype().size() > arrays[b].second.dtype().size();
  });
  std::vector<uint64_t> begins(arrays.size());
  uint64_t at = 0;
  for (size_t i : order) {
    begins[i] = at;
    at += arrays[i].second.byte_size();
  }
  std::unordered_set<std::string_view> names;
  std::string text = "{";
  for (size_t i = 0; i < arrays.size(); ++i) {
    const auto& [name, array] = arrays[i];
    if (name == kMetadata) throw Error(path + ": a tensor cannot have the name '" + name + "'");
    if (!names.insert(name).second) throw Error(path + ": there are two tensors '" + name + "'");
    nlohmann::ordered_json item;
    for (const TypeName& type : kTypeNames) {
      if (type.dtype == array.dtype()) item["dtype"] = std::string(type.name);
    }
    item["shape"] = std::vector<int64_t>(array.shape().begin(), array.shape().end());
    item["data_offsets"] = {begins[i], begins[i] + array.byte_size()};
    try {
      text += (i > 0 ? "," : "") + nlohmann::ordered_json(name).dump() + ":" + item.dump();
    } catch (const nlohmann::json::exception&) {
      throw Error(path + ": the name of a tensor is not UTF-8");
    }
  }
  text += '}';
  while (text.size() % 8 != 0) text += ' ';
  if (text.size() > kMostHeader) throw Error(path + ": there are too many tensors for the format");
  OutputFile file(path);
  unsigned char prefix[8];
  for (int i = 0; i < 8; ++i) prefix[i] = static_cast<unsigned char>(text.size() >> (8 * i));
  file.write(prefix, sizeof prefix);
  file.write(text.data(), text.size());
  for (size_t i : order) write_elements(file, arrays[i].second);
  file.commit();
}

}  // namespace relay

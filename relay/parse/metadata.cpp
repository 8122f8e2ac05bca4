#include <relay/parse/metadata.h>

#include <charconv>
#include <limits>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include <relay/ir/metadata.h>
#include <relay/parse/parser.h>
#include <relay/runtime/device.h>

namespace relay::parsing {

using Json = nlohmann::json;

namespace {

// Elements of the lists among the attributes of one object.
constexpr size_t kMostMetadataElements = 100000;

// The library's message without its own name for it.
std::string reason(const Json::exception& problem) {
  std::string text = problem.what();
  size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

}  // namespace

struct Metadata::Impl {
  Json root;
  const Json* nodes = nullptr;
  mutable std::unordered_map<size_t, NDArray> arrays;  // that were asked for

  /// A tensor of the section: one, however often the program refers to it.
  NDArray array(const Json& index) const {
    const size_t number = as_index(index);
    auto found = arrays.find(number);
    if (found == arrays.end()) {
      const Json& text = root.at("b64ndarrays").at(number);
      found = arrays.emplace(number, decode_ndarray(text.get_ref<const std::string&>())).first;
    }
    return found->second;
  }
  const Json& node(size_t index) const {
    if (index >= nodes->size())
      throw Error("the metadata refers to node " + std::to_string(index) +
                  ", which it does not have");
    return (*nodes)[index];
  }
  static std::string type_key(const Json& node) {
    return node.is_object() ? node.value("type_key", std::string()) : std::string();
  }
  static size_t as_index(const Json& value) {
    uint64_t index = 0;
    if (value.is_number_unsigned()) return value.get<size_t>();
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
      if (code == std::errc() && end == text.data() + text.size()) return index;
    }
    throw Error("the metadata has a reference that is not a number");
  }
  /// The node of `meta[key][index]`.
  const Json& entry(const std::string& key, size_t index) const {
    const Json& map = node(as_index(root.at("root")));
    const Json& keys = map.at("keys");
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] != key) continue;
      const Json& list = node(as_index(map.at("data").at(i)));
      size_t count = list.contains("data") ? list["data"].size() : 0;
      if (index >= count) {
        throw Error("meta[" + key + "][" + std::to_string(index) + "]: the metadata has " +
                    std::to_string(count));
      }
      return node(as_index(list["data"][index]));
    }
    throw Error("the metadata has no " + key);
  }

  /// The device that such an object stands for, as text; empty if it leaves it open.
  static std::string device_text(const Json& object);
  AttrValue decode(const Json& node, int depth, size_t& budget) const;
  AttrValue decode_map(const Json& object, int depth, size_t& budget) const;
  bool says_nothing(const std::string& raw) const;
  AttrValue decode_field(const std::string& raw, const std::string& type, size_t& budget) const;
};

std::string Metadata::Impl::device_text(const Json& object) {
  auto number = [&](const char* name) -> int64_t {
    if (!object.contains("attrs") || !object["attrs"].contains(name)) return -1;
    const Json& value = object["attrs"][name];
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    int64_t result = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (code != std::errc() || end != text.data() + text.size())
      throw Error(std::string("the ") + name + " of a device in the metadata is not a number");
    return result;
  };
  constexpr int64_t kOpen = -1;  // of a kind or index that is not said
  int64_t type = number("device_type_int");
  if (type == kOpen) return {};
  if (!Device::of(type, 0))
    throw Error("the metadata has a device of the unknown kind " + std::to_string(type));
  int64_t index = number("virtual_device_id");
  std::optional<Device> device = Device::of(type, index == kOpen ? 0 : index);
  if (!device)
    throw Error("the metadata has a device of the impossible index " + std::to_string(index));
  return device->str();
}

// Keys are texts in place; TVM refers to the key where it is any other object.
AttrValue Metadata::Impl::decode_map(const Json& object, int depth, size_t& budget) const {
  std::map<std::string, AttrValue> dict;
  if (!object.contains("data") || object["data"].empty()) return AttrValue::dict({});
  const Json& data = object["data"];
  if (!object.contains("keys")) throw Error("the keys of a dictionary in the metadata are texts");
  const Json& keys = object["keys"];
  if (keys.size() != data.size())
    throw Error("a dictionary in the metadata has " + std::to_string(keys.size()) + " keys and " +
                std::to_string(data.size()) + " values");
  if (data.size() > budget) throw Error("a dictionary in the metadata is too long");
  budget -= data.size();
  for (size_t i = 0; i < keys.size(); ++i)
    dict.emplace(keys.at(i).get<std::string>(), decode(node(as_index(data[i])), depth + 1, budget));
  return AttrValue::dict(std::move(dict));
}

// An object as the value of an attribute: numbers, strings, lists and dictionaries of them. Those
// that share their parts would grow with the power of their depth, so `budget` counts the elements
// of all.
AttrValue Metadata::Impl::decode(const Json& object, int depth, size_t& budget) const {
  if (depth > 20) throw Error("the metadata nests too deeply");
  std::string type = type_key(object);
  if (type.empty()) return AttrValue();
  if (type == "runtime.String") {
    std::string text = object.value("repr_str", std::string());
    constexpr size_t kPerElement = 256;  // bytes of a text that count as one more
    if (text.size() / kPerElement > budget) throw Error("the texts in the metadata are too long");
    budget -= text.size() / kPerElement;
    return text;
  }
  if (type == "Array") {
    AttrValue::List list;
    if (object.contains("data")) {
      if (object["data"].size() > budget) throw Error("a list in the metadata is too long");
      budget -= object["data"].size();
      for (const Json& item : object["data"])
        list.push_back(decode(node(as_index(item)), depth + 1, budget));
    }
    return list;
  }
  if (type == "Map") return decode_map(object, depth, budget);
  if (type == "VirtualDevice") return device_text(object);
  auto value_text = [&]() -> std::string {
    const Json& value = object.at("attrs").at("value");
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  if (type == "IntImm") return decode_field(value_text(), "int", budget);
  if (type == "FloatImm") return decode_field(value_text(), "float", budget);
  if (type == "relay.Constant") return ExprRef(make_constant(array(object.at("attrs").at("data"))));
  throw Error("cannot read metadata of type " + type);
}

// A field by the type that our operator gives it: numbers are stored in place, objects by
// reference.
AttrValue Metadata::Impl::decode_field(const std::string& raw, const std::string& type,
                                       size_t& budget) const {
  if (type == "int" || type == "bool") {
    int64_t value = 0;
    auto [end, code] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
    if (code != std::errc() || end != raw.data() + raw.size())
      throw Error("expected an integer, found " + raw.substr(0, 40));
    if (type == "bool") return value != 0;
    return value;
  }
  if (type == "float") {
    if (raw == "inf" || raw == "-inf")
      return (raw == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
    if (raw == "nan") return std::numeric_limits<double>::quiet_NaN();
    double value = 0;
    auto [end, code] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
    if (code != std::errc() || end != raw.data() + raw.size())
      throw Error("expected a number, found " + raw.substr(0, 40));
    return value;
  }
  size_t index = 0;
  auto [end, code] = std::from_chars(raw.data(), raw.data() + raw.size(), index);
  bool is_index = code == std::errc() && end == raw.data() + raw.size() && index < nodes->size();
  if (!is_index) return raw;  // a string or dtype stored in place
  const Json& object = node(index);
  bool text =
      type == "str" || type == "dtype" || type == "optional<str>" || type == "optional<dtype>";
  if (text && type_key(object) != "runtime.String" && index != 0) return raw;
  return decode(object, 0, budget);
}

// A field that only some releases have, at its default: null, or an empty text or list.
bool Metadata::Impl::says_nothing(const std::string& raw) const {
  if (raw.empty() || raw == "0") return true;
  size_t index = 0;
  auto [end, code] = std::from_chars(raw.data(), raw.data() + raw.size(), index);
  if (code != std::errc() || end != raw.data() + raw.size() || index >= nodes->size()) return false;
  const Json& object = node(index);
  const std::string type = type_key(object);
  if (type == "runtime.String") return object.value("repr_str", std::string()).empty();
  return type.empty() || (type == "Array" && (!object.contains("data") || object["data"].empty()));
}

Metadata::Metadata(std::string_view json) : impl_(std::make_unique<Impl>()) {
  try {
    impl_->root = Json::parse(json);
    impl_->nodes = &impl_->root.at("nodes");
    if (!impl_->nodes->is_array()) throw Error("its nodes are not a list");
  } catch (const Json::exception& problem) {
    throw Error("cannot read the #[metadata] section: " + reason(problem));
  }
}

Metadata::~Metadata() = default;

namespace {

template <class F>
auto read(F&& f) {
  try {
    return f();
  } catch (const Json::exception& problem) {
    throw Error("malformed #[metadata] section: " + reason(problem));
  }
}

}  // namespace

NDArray Metadata::constant(size_t index) const {
  return read(
      [&] { return impl_->array(impl_->entry("relay.Constant", index).at("attrs").at("data")); });
}

std::vector<NamedAttr> Metadata::attrs(const std::string& key, size_t index,
                                       const AttrsSchema& schema) const {
  return read([&] {
    std::vector<NamedAttr> result;
    const Json& object = impl_->entry(key, index);
    if (!object.contains("attrs")) return result;
    size_t budget = kMostMetadataElements;
    for (const auto& [name, value] : object["attrs"].items()) {
      std::string type;
      for (const AttrField& field : schema.fields) {
        if (field.name.view() == name) type = field.type;
      }
      std::string raw = value.is_string() ? value.get<std::string>() : value.dump();
      if (type.empty() && impl_->says_nothing(raw)) continue;
      result.push_back({Name(name), impl_->decode_field(raw, type, budget), {}});
    }
    return result;
  });
}

AttrValue Metadata::value(const std::string& key, size_t index) const {
  return read([&]() -> AttrValue {
    const Json& object = impl_->entry(key, index);
    for (std::string_view known :
         {"Map", "Array", "IntImm", "FloatImm", "runtime.String", "VirtualDevice"}) {
      if (key == known) {
        size_t budget = kMostMetadataElements;
        return impl_->decode(object, 0, budget);
      }
    }
    std::string text = key + "(";
    if (object.contains("attrs")) {
      bool first = true;
      for (const auto& [name, value] : object["attrs"].items()) {
        text += (first ? "" : ", ") + name + "=" +
                (value.is_string() ? value.get<std::string>() : value.dump());
        first = false;
      }
    }
    return text + ")";
  });
}

void MetadataDelete::operator()(Metadata* metadata) const { delete metadata; }

}  // namespace relay::parsing

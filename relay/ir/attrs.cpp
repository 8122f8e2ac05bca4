#include <relay/ir/attrs.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <unordered_map>

#include <relay/ir/dynamic_attrs.h>
#include <relay/ir/expr.h>
#include <relay/support/foreign_words.h>
#include <relay/support/fork_mutex.h>
#include <relay/support/suggest.h>

namespace relay {

namespace {

/// The schema as a dynamic one, whose objects are `Values`; null for others.
const DynamicSchema* dynamic(const AttrsSchema& schema) {
  return schema.create == nullptr ? static_cast<const DynamicSchema*>(&schema) : nullptr;
}
using Values = std::vector<AttrValue>;

void* create_object(const AttrsSchema& schema) {
  const DynamicSchema* made = dynamic(schema);
  if (made == nullptr) return schema.create();
  auto values = std::make_unique<Values>();
  for (const DynamicSchema::Field& form : made->forms) values->push_back(form.otherwise);
  return values.release();
}

void destroy_object(const AttrsSchema& schema, void* object) {
  if (dynamic(schema) == nullptr) return schema.destroy(object);
  delete static_cast<Values*>(object);
}

struct DestroyObject {
  const AttrsSchema* schema;
  void operator()(void* object) const { destroy_object(*schema, object); }
};
using OwnedObject = std::unique_ptr<void, DestroyObject>;

AttrValue get_field(const AttrsSchema& schema, size_t i, const void* object) {
  if (dynamic(schema) == nullptr) return schema.fields[i].get(object);
  return (*static_cast<const Values*>(object))[i];
}

bool set_field(const AttrsSchema& schema, size_t i, void* object, const AttrValue& value) {
  const DynamicSchema* made = dynamic(schema);
  if (made == nullptr) return schema.fields[i].set(object, value);
  AttrValue converted = value;
  if (!made->convert(i, converted)) return false;
  (*static_cast<Values*>(object))[i] = std::move(converted);
  return true;
}

}  // namespace

// ---- Schemas ----------------------------------------------------------------------------------

AttrValue AttrsSchema::defaults(size_t field) const {
  OwnedObject object(create_object(*this), {this});
  return get_field(*this, field, object.get());
}

template <>
const AttrsSchema& attrs_schema<DictAttrs>() {
  static const AttrsSchema schema = [] {
    AttrsSchema s;
    s.name = "DictAttrs";
    s.size = sizeof(DictAttrs);
    s.create = []() -> void* { return new DictAttrs(); };
    s.copy = [](const void* object) -> void* {
      return new DictAttrs(*static_cast<const DictAttrs*>(object));
    };
    s.destroy = [](void* object) { delete static_cast<DictAttrs*>(object); };
    return s;
  }();
  return schema;
}

namespace {

struct SchemaRegistry {
  ForkMutex mutex;
  std::unordered_map<Name, const AttrsSchema*> schemas;
  static SchemaRegistry& instance() {
    static SchemaRegistry* registry = new SchemaRegistry;
    return *registry;
  }
};

bool is_dict(const AttrsSchema& schema) { return &schema == &attrs_schema<DictAttrs>(); }

uint64_t object_hash(const AttrsSchema& schema, const void* object) {
  uint64_t h = schema.name.hash();
  if (is_dict(schema)) {
    for (const auto& [name, value] : static_cast<const DictAttrs*>(object)->values) {
      h = hash_combine(hash_combine(h, name.hash()), value.hash());
    }
    return h;
  }
  for (size_t i = 0; i < schema.fields.size(); ++i)
    h = hash_combine(h, get_field(schema, i, object).hash());
  return h;
}

bool same_object(const AttrsSchema& schema, const void* a, const void* b) {
  if (is_dict(schema)) {
    return static_cast<const DictAttrs*>(a)->values == static_cast<const DictAttrs*>(b)->values;
  }
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    if (!(get_field(schema, i, a) == get_field(schema, i, b))) return false;
  }
  return true;
}

}  // namespace

void register_attrs_schema(const AttrsSchema& schema) {
  SchemaRegistry& registry = SchemaRegistry::instance();
  std::lock_guard lock(registry.mutex);
  auto [entry, fresh] = registry.schemas.emplace(schema.name, &schema);
  RELAY_CHECK(fresh || entry->second == &schema,
              "two attributes types are named " + schema.name.str());
}

// ---- Interning --------------------------------------------------------------------------------

// Weak: an entry goes with its last owner. As for types, the count reaches zero only under the
// lock.
struct AttrsTable {
  struct Shard {
    ForkMutex mutex;
    std::unordered_multimap<uint64_t, const Attrs*> entries;
    // Default objects are asked for with every call that states no attribute: kept for ever.
    std::unordered_map<const AttrsSchema*, AttrsRef> defaults;
  };
  std::array<Shard, 16> shards;

  static AttrsTable& instance() {
    static AttrsTable* table = new AttrsTable;
    return *table;
  }
  Shard& shard(uint64_t hash) { return shards[hash >> 60]; }

  static const Attrs* find(Shard& shard, uint64_t hash, const AttrsSchema& schema,
                           const void* object) {
    auto [begin, end] = shard.entries.equal_range(hash);
    for (; begin != end; ++begin) {
      const Attrs* attrs = begin->second;
      if (attrs->schema_ == &schema && same_object(schema, attrs->object_, object)) {
        attrs->retain();
        return attrs;
      }
    }
    return nullptr;
  }

  AttrsRef intern(const AttrsSchema& schema, void* object) {
    auto* made = new Attrs;
    AttrsRef guard = AttrsRef::adopt(made);  // frees the object if something throws
    made->schema_ = &schema;
    made->object_ = object;
    made->hash_ = object_hash(schema, object);
    Shard& home = shard(made->hash_);
    std::unique_lock lock(home.mutex);
    if (const Attrs* winner = find(home, made->hash_, schema, object)) {
      lock.unlock();  // before `guard` frees ours
      return AttrsRef::adopt(winner);
    }
    home.entries.emplace(made->hash_, made);
    made->interned_ = true;
    return guard;
  }

  AttrsRef default_object(const AttrsSchema& schema) {
    Shard& home = shard(hash_mix(reinterpret_cast<uintptr_t>(&schema)));
    {
      std::lock_guard lock(home.mutex);
      auto found = home.defaults.find(&schema);
      if (found != home.defaults.end()) return found->second;
    }
    AttrsRef made = intern(schema, create_object(schema));
    std::lock_guard lock(home.mutex);
    return home.defaults.emplace(&schema, made).first->second;
  }

  void release(const Attrs* attrs) noexcept {
    if (!attrs->interned_) {
      if (attrs->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete attrs;
      return;
    }
    uint32_t count = attrs->refs_.load(std::memory_order_relaxed);
    while (count > 1) {
      if (attrs->refs_.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel)) return;
    }
    Shard& home = shard(attrs->hash_);
    {
      std::lock_guard lock(home.mutex);
      if (attrs->refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      auto [begin, end] = home.entries.equal_range(attrs->hash_);
      while (begin != end && begin->second != attrs) ++begin;
      if (begin != end) home.entries.erase(begin);
    }
    delete attrs;
  }
};

Attrs::~Attrs() {
  if (object_ != nullptr) destroy_object(*schema_, object_);
}
void Attrs::release() const noexcept { AttrsTable::instance().release(this); }

AttrsRef Attrs::intern(const AttrsSchema& schema, void* object) {
  return AttrsTable::instance().intern(schema, object);
}

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// The place of the attribute's name, if the text has it as it is.
Span name_span(const NamedAttr& attr) {
  std::shared_ptr<const Source> source = attr.span.known() ? SourceMap::find(attr.span) : nullptr;
  if (source == nullptr) return {};
  const std::string_view name = attr.name.view();
  std::string_view text = source->text().substr(attr.span.begin() - source->base());
  return text.starts_with(name) ? Span(attr.span.begin(), name.size()) : Span();
}

Diagnostic unknown_attribute(const AttrsSchema& schema, const NamedAttr& attr) {
  std::vector<std::string> known;
  for (const AttrField& field : schema.fields) known.push_back(field.name.str());
  Diagnostic d = Diagnostic::error("unknown attribute " + attr.name.str(), attr.span);
  d.of_rule("A2");
  std::string meant;
  for (const std::string& name : foreign_attribute(attr.name.view())) {
    if (meant.empty() && std::find(known.begin(), known.end(), name) != known.end()) meant = name;
  }
  const bool other_library = !meant.empty();
  if (!other_library) {
    std::vector<std::string> near = nearest_names(attr.name.str(), known, 2);
    if (near.size() == 1) meant = near[0];
  }
  if (meant.empty()) {
    suggest(d, attr.name.str(), known);
  } else {
    d.help("did you mean " + meant + "?");
    if (Span place = name_span(attr); place.known()) d.fix(place, meant, other_library);
  }
  d.note(known.empty()       ? "there are no attributes here"
         : known.size() == 1 ? "the attribute is " + known[0]
                             : "the attributes are " + joined(known));
  return d;
}

// True if an unknown attribute is another spelling of a field.
bool may_mean(const NamedAttr& attr, const AttrField& field) {
  for (const std::string& name : foreign_attribute(attr.name.view())) {
    if (name == field.name.view()) return true;
  }
  return !nearest_names(attr.name.str(), {field.name.str()}, 1).empty();
}

Diagnostic wrong_value(const AttrField& field, const NamedAttr& attr) {
  const auto* text = attr.value.get<std::string>();
  if (field.kind != AttrKind::kWord || text == nullptr) {
    if (field.kind == AttrKind::kDType && text != nullptr) {
      Diagnostic d = Diagnostic::error("attribute " + field.name.str() + ": unknown element type " +
                                           attr.value.str(),
                                       attr.span)
                         .of_rule("A4");
      std::vector<std::string> names;
      for (DType dtype : kAllDTypes) names.emplace_back(dtype.name());
      if (std::string ours(foreign_dtype(*text)); DType::parse(ours)) {
        d.help("did you mean \"" + ours + "\"?");
      } else {
        suggest(d, *text, names, "\"", "\"");
      }
      return d;
    }
    return Diagnostic::error("attribute " + field.name.str() + " takes " + field.type_text() +
                                 ", not " + attr.value.str(),
                             attr.span)
        .of_rule("A4");
  }
  std::vector<std::string> words;
  for (const AttrWord& word : field.words) words.emplace_back(word.text);
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    list += i == 0 ? "" : i + 1 < words.size() ? ", " : " and ";
    list += '"' + words[i] + '"';
  }
  Diagnostic d = Diagnostic::error(
      field.name.str() + " is " + attr.value.str() + "; known are " + list, attr.span);
  d.of_rule("A4");
  suggest(d, *text, words, "\"", "\"");
  return d;
}

}  // namespace

// "int or None" of "optional<int>"; "\"clip\" | \"wrap\"" of words.
std::string AttrField::type_text() const {
  constexpr std::string_view kOptional = "optional<";
  bool may_be_none = type.starts_with(kOptional);
  std::string text;
  for (const AttrWord& word : words)
    text += (text.empty() ? "\"" : " | \"") + std::string(word.text) + '"';
  if (!words.empty()) return may_be_none ? text + " | None" : text;
  if (!may_be_none) return type;
  return type.substr(kOptional.size(), type.size() - kOptional.size() - 1) + " or None";
}

AttrsRef Attrs::make(const AttrsSchema& schema, std::span<const NamedAttr> values, Span span) {
  if (is_dict(schema)) {
    std::map<Name, AttrValue> dict;
    for (const NamedAttr& attr : values) {
      if (!dict.emplace(attr.name, attr.value).second) {
        throw Error("attribute " + attr.name.str() + " is given twice", attr.span);
      }
    }
    return make_dict_attrs(std::move(dict));
  }
  bool any_required = false;
  for (const AttrField& field : schema.fields) any_required |= field.required;
  if (values.empty() && !any_required) return AttrsTable::instance().default_object(schema);

  OwnedObject object(create_object(schema), {&schema});
  std::vector<const NamedAttr*> given(schema.fields.size());
  std::vector<const NamedAttr*> unknown;
  std::vector<Diagnostic> problems;
  for (const NamedAttr& attr : values) {
    size_t i = 0;
    while (i < schema.fields.size() && !(schema.fields[i].name == attr.name)) ++i;
    if (i == schema.fields.size()) {
      problems.push_back(unknown_attribute(schema, attr));
      unknown.push_back(&attr);
    } else if (given[i] != nullptr) {
      problems.push_back(
          Diagnostic::error("attribute " + attr.name.str() + " is given twice", attr.span)
              .note("it is first given here", given[i]->span)
              .of_rule("N4"));
    } else {
      given[i] = &attr;
      const AttrField& field = schema.fields[i];
      bool fits = false;
      try {
        fits = set_field(schema, i, object.get(), attr.value);
      } catch (const Error& error) {  // a type of attribute that says itself what is wrong
        Diagnostic why = error.diagnostics()[0];
        why.message = "attribute " + field.name.str() + ": " + why.message;
        why.span = attr.span;
        why.of_rule("A4");
        problems.push_back(std::move(why));
        continue;
      }
      if (fits && field.required) {  // "" leaves a dtype open, where it has a default
        AttrValue value = get_field(schema, i, object.get());
        const auto* dtype = value.get<DType>();
        fits = dtype == nullptr || dtype->valid();
      }
      if (!fits) problems.push_back(wrong_value(field, attr));
    }
  }
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const AttrField& field = schema.fields[i];
    const bool misspelt = std::any_of(unknown.begin(), unknown.end(), [&](const NamedAttr* attr) {
      return may_mean(*attr, field);
    });
    if (!field.required || given[i] != nullptr || misspelt) continue;
    problems.push_back(Diagnostic::error("attribute " + field.name.str() + " (" +
                                             field.type_text() + ") is missing; it has no default",
                                         span)
                           .of_rule("A3"));
  }
  if (!problems.empty()) throw Error(std::move(problems));
  return intern(schema, object.release());
}

std::vector<NamedAttr> Attrs::fields(bool only_changed) const {
  std::vector<NamedAttr> result;
  if (is_dict(*schema_)) {
    for (const auto& [name, value] : static_cast<const DictAttrs*>(object_)->values) {
      result.push_back({name, value, {}});
    }
    return result;
  }
  OwnedObject defaults(create_object(*schema_), {schema_});
  for (size_t i = 0; i < schema_->fields.size(); ++i) {
    const AttrField& field = schema_->fields[i];
    AttrValue value = get_field(*schema_, i, object_);
    if (only_changed && !field.required && value == get_field(*schema_, i, defaults.get()))
      continue;
    result.push_back({field.name, std::move(value), {}});
  }
  return result;
}

AttrsRef make_dict_attrs(std::map<Name, AttrValue> values) {
  if (values.count(Name()) != 0) throw Error("an attribute has a name");
  return Attrs::make(DictAttrs{std::move(values)});
}

AttrValue dict_attr(const AttrsRef& attrs, Name name) {
  if (!attrs || !attrs->is<DictAttrs>()) return {};
  const auto& values = attrs->as<DictAttrs>().values;
  auto found = values.find(name);
  return found == values.end() ? AttrValue() : found->second;
}

}  // namespace relay

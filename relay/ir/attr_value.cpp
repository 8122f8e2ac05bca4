#include <relay/ir/attrs.h>

#include <bit>
#include <charconv>
#include <cmath>

#include <relay/ir/expr.h>
#include <relay/support/quote.h>

namespace relay {

AttrValue::AttrValue() = default;
AttrValue::AttrValue(const AttrValue& other) = default;
AttrValue::AttrValue(AttrValue&& other) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue& other) = default;
AttrValue& AttrValue::operator=(AttrValue&& other) noexcept = default;
AttrValue::~AttrValue() = default;

AttrValue AttrValue::dict(std::map<std::string, AttrValue> entries) {
  Dict sorted;
  for (auto& [key, value] : entries) sorted.emplace_back(key, std::move(value));
  return AttrValue(std::move(sorted));
}

// ---- Values -----------------------------------------------------------------------------------

namespace {

const Constant* as_constant(const Ref<const Expr>& expr) {
  return expr ? expr->as<Constant>() : nullptr;
}

// The shortest digits that read back as the same number, with TVM's suffix.
void append_float(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nanf";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inff" : "inff";
    return;
  }
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general).ptr;
  out.append(buffer, end);
  out += 'f';
}

void append_value(std::string& out, const AttrValue& value) {
  if (value.is_none()) {
    out += "None";
  } else if (const auto* b = value.get<bool>()) {
    out += *b ? "True" : "False";
  } else if (const auto* i = value.get<int64_t>()) {
    out += std::to_string(*i);
  } else if (const auto* d = value.get<double>()) {
    append_float(out, *d);
  } else if (const auto* s = value.get<std::string>()) {
    append_quoted(out, *s);
  } else if (const auto* t = value.get<DType>()) {
    append_quoted(out, t->valid() ? t->name() : std::string_view());
  } else if (const auto* list = value.get<AttrValue::List>()) {
    out += '[';
    for (size_t k = 0; k < list->size(); ++k) {
      if (k > 0) out += ", ";
      append_value(out, (*list)[k]);
    }
    out += ']';
  } else if (const auto* dict = value.get<AttrValue::Dict>()) {
    out += '{';
    const char* between = "";
    for (const auto& [key, item] : *dict) {
      out += between;
      append_quoted(out, key);
      out += ": ";
      append_value(out, item);
      between = ", ";
    }
    out += '}';
  } else {
    const auto& expr = *value.get<Ref<const Expr>>();
    out += '<';
    out += expr ? expr_kind_name(expr->kind()) : std::string_view("null");
    out += '>';
  }
}

}  // namespace

std::string AttrValue::str() const {
  std::string out;
  append_value(out, *this);
  return out;
}

uint64_t AttrValue::hash() const {
  uint64_t h = hash_mix(data.index() + 0x77);
  if (const auto* b = get<bool>()) return hash_combine(h, *b ? 1 : 0);
  if (const auto* i = get<int64_t>()) return hash_combine(h, static_cast<uint64_t>(*i));
  if (const auto* d = get<double>()) return hash_combine(h, std::bit_cast<uint64_t>(*d));
  if (const auto* s = get<std::string>()) return hash_text(*s, h);
  if (const auto* t = get<DType>()) return hash_combine(h, std::hash<DType>()(*t));
  if (const auto* list = get<List>()) {
    for (const AttrValue& item : *list) h = hash_combine(h, item.hash());
    return h;
  }
  if (const auto* dict = get<Dict>()) {
    for (const auto& [key, item] : *dict) h = hash_combine(hash_text(key, h), item.hash());
    return h;
  }
  if (const auto* expr = get<Ref<const Expr>>()) {
    if (const Constant* constant = as_constant(*expr)) {
      return hash_combine(h, content_hash(constant->data()));
    }
    return hash_combine(h, *expr ? static_cast<uint64_t>((*expr)->kind()) : 99);
  }
  return h;
}

bool operator==(const AttrValue& a, const AttrValue& b) {
  if (a.data.index() != b.data.index()) return false;
  if (const auto* d = a.get<double>()) {  // to the bit: 0 and -0 differ, a NaN is itself
    return std::bit_cast<uint64_t>(*d) == std::bit_cast<uint64_t>(*b.get<double>());
  }
  if (const auto* expr = a.get<Ref<const Expr>>()) {
    const auto& other = *b.get<Ref<const Expr>>();
    if (*expr == other) return true;
    const Constant* x = as_constant(*expr);
    const Constant* y = as_constant(other);
    return x != nullptr && y != nullptr && bit_equal(x->data(), y->data());
  }
  return a.data == b.data;
}

std::string_view attr_kind_name(AttrKind kind) {
  static constexpr std::string_view kNames[] = {"plain", "axis", "axes",  "new-axis", "layout",
                                                "dtype", "word", "sizes", "shape",    "per-axis"};
  return kNames[static_cast<size_t>(kind)];
}

// ---- Conversions ------------------------------------------------------------------------------

namespace attr_detail {

std::string Convert<bool>::name() { return "bool"; }
AttrValue Convert<bool>::to(const bool& value) { return value; }
bool Convert<bool>::from(const AttrValue& value, bool& out) {
  if (const auto* b = value.get<bool>()) {
    out = *b;
    return true;
  }
  const auto* i = value.get<int64_t>();
  if (i == nullptr || (*i != 0 && *i != 1)) return false;
  out = *i == 1;
  return true;
}

std::string Convert<int64_t>::name() { return "int"; }
AttrValue Convert<int64_t>::to(const int64_t& value) { return value; }
bool Convert<int64_t>::from(const AttrValue& value, int64_t& out) {
  if (const auto* i = value.get<int64_t>()) {
    out = *i;
    return true;
  }
  const auto* b = value.get<bool>();
  if (b == nullptr) return false;
  out = *b ? 1 : 0;
  return true;
}

std::string Convert<double>::name() { return "float"; }
AttrValue Convert<double>::to(const double& value) { return value; }
bool Convert<double>::from(const AttrValue& value, double& out) {
  if (const auto* d = value.get<double>()) {
    out = *d;
    return true;
  }
  const auto* i = value.get<int64_t>();
  if (i == nullptr) return false;
  out = static_cast<double>(*i);
  return true;
}

std::string Convert<std::string>::name() { return "str"; }
AttrValue Convert<std::string>::to(const std::string& value) { return value; }
bool Convert<std::string>::from(const AttrValue& value, std::string& out) {
  if (const auto* t = value.get<DType>()) {
    out = t->valid() ? std::string(t->name()) : std::string();
    return true;
  }
  const auto* s = value.get<std::string>();
  if (s == nullptr) return false;
  out = *s;
  return true;
}

int64_t find_word(std::span<const AttrWord> words, const AttrValue& value) {
  const auto* text = value.get<std::string>();
  if (text == nullptr) return -1;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].text == *text) return static_cast<int64_t>(i);
  }
  return -1;
}

std::string Convert<DType>::name() { return "dtype"; }
AttrValue Convert<DType>::to(const DType& value) { return value; }
bool Convert<DType>::from(const AttrValue& value, DType& out) {
  if (const auto* t = value.get<DType>()) {
    out = *t;
    return true;
  }
  const auto* s = value.get<std::string>();
  if (s == nullptr) return value.is_none() ? (out = DType{}, true) : false;
  if (s->empty() || *s == "void") {  // TVM's way of leaving it open
    out = DType{};
    return true;
  }
  auto parsed = DType::parse(*s);
  if (!parsed) return false;
  out = *parsed;
  return true;
}

std::string Convert<AttrValue>::name() { return "any"; }
AttrValue Convert<AttrValue>::to(const AttrValue& value) { return value; }
bool Convert<AttrValue>::from(const AttrValue& value, AttrValue& out) {
  out = value;
  return true;
}

std::string Convert<AttrValue::Dict>::name() { return "dict"; }
AttrValue Convert<AttrValue::Dict>::to(const AttrValue::Dict& value) { return value; }
bool Convert<AttrValue::Dict>::from(const AttrValue& value, AttrValue::Dict& out) {
  const auto* dict = value.get<AttrValue::Dict>();
  if (dict == nullptr) return false;
  out = *dict;
  return true;
}

std::string Convert<Ref<const Expr>>::name() { return "expr"; }
AttrValue Convert<Ref<const Expr>>::to(const Ref<const Expr>& value) {
  return value ? AttrValue(value) : AttrValue();
}
bool Convert<Ref<const Expr>>::from(const AttrValue& value, Ref<const Expr>& out) {
  if (value.is_none()) {
    out = {};
    return true;
  }
  const auto* expr = value.get<Ref<const Expr>>();
  if (expr == nullptr) return false;
  out = *expr;
  return true;
}

}  // namespace attr_detail

}  // namespace relay

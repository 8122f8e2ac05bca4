#include <relay/print/text.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <relay/op/op.h>

namespace relay::printing {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

template <class T>
std::string shortest(T value) {
  char buffer[64];
  // As %g does: 100000, not 1e+05.
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general).ptr;
  return {buffer, end};
}

/// The fewest digits from which a 16-bit float comes back.
template <class T>
std::string shortest_small(T value) {
  char buffer[64];
  for (int digits = 1; digits < 9; ++digits) {
    auto end = std::to_chars(buffer, buffer + sizeof buffer,
                             static_cast<double>(static_cast<float>(value)),
                             std::chars_format::general, digits)
                   .ptr;
    double back = 0;
    std::from_chars(buffer, end, back);
    if (T(back).bits == value.bits) return {buffer, end};
  }
  return shortest(static_cast<float>(value));
}

/// The other sign, payload and all.
template <class T>
T negate(T value) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  bytes[sizeof(T) - 1] ^= 0x80;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
std::optional<std::string> float_text(T value) {
  std::string text;
  double wide = static_cast<double>(static_cast<ComputeType<T>>(value));
  if (std::isnan(wide)) {
    // Only the NaN that arithmetic makes, of either sign, has a spelling.
    T positive = std::signbit(wide) ? negate(value) : value;
    T canonical = T(std::numeric_limits<ComputeType<T>>::quiet_NaN());
    if (std::memcmp(&positive, &canonical, sizeof(T)) != 0) return std::nullopt;
    text = std::signbit(wide) ? "-nan" : "nan";
  } else if (std::isinf(wide)) {
    text = wide < 0 ? "-inf" : "inf";
  } else if constexpr (sizeof(T) == 2) {
    text = shortest_small(value);
  } else {
    text = shortest(value);
  }
  return text;
}

}  // namespace

bool plain_name(std::string_view name) {
  bool word_starts = true;
  bool first_word = true;
  for (char c : name) {
    if (c == '.') {
      if (word_starts) return false;
      word_starts = true;
      first_word = false;
      continue;
    }
    if (!is_word_char(c)) return false;
    if (word_starts && !first_word && c >= '0' && c <= '9') return false;
    word_starts = false;
  }
  return !word_starts;
}

void append_name(std::string& out, char sigil, std::string_view name) {
  out += sigil;
  if (plain_name(name)) {
    out += name;
  } else {
    append_quoted(out, name);
  }
}

void append_constructor(std::string& out, const Name& name) {
  std::string_view word = name.view();
  bool taken = find_op(name) != nullptr;
  if (word.starts_with("inf") || word.starts_with("nan")) {
    for (std::string_view suffix : {"", "f", "f16", "bf16", "f32", "f64"})
      taken |= word.substr(3) == suffix;
  }
  if (taken) {
    append_quoted(out, word);
  } else {
    out += quoted_name(word);
  }
}

namespace {

// The first element as a literal, without suffix.
std::optional<std::string> element_text(const NDArray& value) {
  return dispatch(value.dtype(), [&](auto tag) -> std::optional<std::string> {
    using T = typename decltype(tag)::type;
    const T element = *static_cast<const T*>(value.raw());
    if constexpr (std::is_same_v<T, Bool>) {
      return element ? "True" : "False";
    } else if constexpr (std::is_integral_v<T>) {
      return std::to_string(element);
    } else {
      return float_text(element);
    }
  });
}

std::string suffix_of(DType dtype) {
  if (dtype.is_bool()) return "";
  if (dtype == kFloat32) return "f";
  std::string letter = dtype == kBFloat16 ? "bf" : dtype.is_float() ? "f" : "i";
  return (dtype.is_unsigned() ? "u" : letter) + std::to_string(dtype.bits);
}

}  // namespace

std::optional<std::string> scalar_text(const NDArray& value) {
  std::optional<std::string> text = element_text(value);
  if (text) text->append(suffix_of(value.dtype()));
  return text;
}

std::optional<std::string> constant_text(const NDArray& value) {
  if (value.rank() == 0) return scalar_text(value);
  if (!value.is_uniform()) return std::nullopt;
  std::optional<std::string> element = element_text(value);
  if (!element) return std::nullopt;
  std::string shape = "(";
  for (size_t i = 0; i < value.rank(); ++i)
    shape += (i > 0 ? ", " : "") + std::to_string(value.extent(i));
  return "Constant(" + *element + ", " + shape + "), " + std::string(value.dtype().name()) + ")";
}

void append_literal(std::string& out, const LiteralValue& value) {
  if (value.negative) out += '-';
  if (!value.text.empty()) {
    out += value.text.view();
  } else if (!value.is_float) {
    out += std::to_string(value.magnitude);
  } else {
    double magnitude = std::fabs(value.number);
    if (std::isnan(magnitude)) {
      out += "nan";
    } else if (std::isinf(magnitude)) {
      out += "inf";
    } else {
      std::string text = shortest(magnitude);
      // Without a point or exponent it would read as an integer.
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
      out += text;
    }
  }
}

void escape_comment(std::string& out, size_t begin) {
  auto star = [&](size_t at) { return at >= begin && at < out.size() && out[at] == '*'; };
  for (size_t at = begin; (at = out.find('/', at)) != std::string::npos; ++at) {
    if ((at > begin && star(at - 1)) || star(at + 1)) out.replace(at, 1, "\\x2f");
  }
}

}  // namespace relay::printing

// The meanings of attributes: types for the fields of attributes structs, and choices of words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace relay {

/// The meaning of an attribute beside its type. Passes that move axes or change layouts, generated
/// interfaces and checks use the kind of a field, never its name.
enum class AttrKind : uint8_t {
  kPlain,    // no meaning beyond the type
  kAxis,     // an axis of the first input (of the tensors in it); negative counts from the end
  kAxes,     // a list of axes
  kNewAxis,  // the axis of the result where axes are added
  kLayout,   // the meanings of a tensor's axes: "NCHW"; empty for the layout of the data
  kDType,    // a dtype
  kWord,     // one of a choice of words, AttrField::words
  kSizes,    // a number for each spatial dimension, or one for all: strides, padding, kernel sizes
  kShape,    // the extents of the result
  kPerAxis,  // an entry for each axis of the first input, in their order
};

/// "axis", "new-axis", "sizes", …; "plain" for no meaning.
std::string_view attr_kind_name(AttrKind kind);

/// Field types with a meaning. Each reads and prints as its `Plain` type.
namespace attr {

struct Axis {
  using Plain = int64_t;
  static constexpr AttrKind kKind = AttrKind::kAxis;
  int64_t value = 0;
  Axis() = default;
  Axis(int64_t axis) : value(axis) {}         // NOLINT(google-explicit-constructor)
  operator int64_t() const { return value; }  // NOLINT(google-explicit-constructor)
};

struct NewAxis {
  using Plain = int64_t;
  static constexpr AttrKind kKind = AttrKind::kNewAxis;
  int64_t value = 0;
  NewAxis() = default;
  NewAxis(int64_t axis) : value(axis) {}      // NOLINT(google-explicit-constructor)
  operator int64_t() const { return value; }  // NOLINT(google-explicit-constructor)
};

/// A list or text of one `Kind`.
template <class T, AttrKind Kind>
struct Marked : T {
  using Plain = T;
  static constexpr AttrKind kKind = Kind;
  using T::T;
  Marked() = default;
  Marked(T plain) : T(std::move(plain)) {}  // NOLINT(google-explicit-constructor)
};

using Axes = Marked<std::vector<int64_t>, AttrKind::kAxes>;
using Layout = Marked<std::string, AttrKind::kLayout>;
using Sizes = Marked<std::vector<int64_t>, AttrKind::kSizes>;
using Shape = Marked<std::vector<int64_t>, AttrKind::kShape>;
template <class T>
using PerAxis = Marked<std::vector<T>, AttrKind::kPerAxis>;

}  // namespace attr

/// One word of a choice, as programs write it, and its documentation.
struct AttrWord {
  std::string_view text;
  std::string_view doc;
};

/// The word of a value of a RELAY_WORDS enumeration.
template <class E>
std::string_view word_text(E value) {
  return attr_words(value)[static_cast<size_t>(value)].text;
}
/// Its documentation.
template <class E>
std::string_view word_doc(E value) {
  return attr_words(value)[static_cast<size_t>(value)].doc;
}

}  // namespace relay

// Applies a macro to each of a list of parenthesised arguments, by recursive expansion with
// __VA_OPT__: `#define EACH(head, ...) USE head __VA_OPT__(AGAIN RELAY_PARENS(__VA_ARGS__))` and
// `#define AGAIN() EACH`, within RELAY_EXPAND.
#define RELAY_PARENS ()
#define RELAY_EXPAND(...) RELAY_EXPAND3(RELAY_EXPAND3(RELAY_EXPAND3(__VA_ARGS__)))
#define RELAY_EXPAND3(...) RELAY_EXPAND2(RELAY_EXPAND2(RELAY_EXPAND2(__VA_ARGS__)))
#define RELAY_EXPAND2(...) RELAY_EXPAND1(RELAY_EXPAND1(RELAY_EXPAND1(__VA_ARGS__)))
#define RELAY_EXPAND1(...) __VA_ARGS__

// Declares an enumeration whose values are written as words, at namespace scope:
//   RELAY_WORDS(PadMode, (kConstant, "constant", "Fill with the value."),
//               (kEdge, "edge", "Repeat the border."))
// A field of an attributes struct may be of this type: `PadMode mode = PadMode::kConstant;`. Every
// other word is refused when the attributes are made.
#define RELAY_WORDS(Enum, ...)                                                                    \
  enum class Enum : uint8_t { RELAY_EXPAND(RELAY_WORDS_VALUES(__VA_ARGS__)) };                    \
  inline std::span<const ::relay::AttrWord> attr_words(Enum) {                                    \
    static constexpr ::relay::AttrWord kWords[] = {RELAY_EXPAND(RELAY_WORDS_TEXTS(__VA_ARGS__))}; \
    return kWords;                                                                                \
  }
#define RELAY_WORDS_VALUE(value, text, doc) value,
#define RELAY_WORDS_VALUES(word, ...) \
  RELAY_WORDS_VALUE word __VA_OPT__(RELAY_WORDS_VALUES_AGAIN RELAY_PARENS(__VA_ARGS__))
#define RELAY_WORDS_VALUES_AGAIN() RELAY_WORDS_VALUES
#define RELAY_WORDS_TEXT(value, text, doc) {text, doc},
#define RELAY_WORDS_TEXTS(word, ...) \
  RELAY_WORDS_TEXT word __VA_OPT__(RELAY_WORDS_TEXTS_AGAIN RELAY_PARENS(__VA_ARGS__))
#define RELAY_WORDS_TEXTS_AGAIN() RELAY_WORDS_TEXTS

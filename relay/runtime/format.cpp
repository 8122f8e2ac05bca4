#include <relay/runtime/format.h>
#include <relay/runtime/memory.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_set>
#include <vector>

#include <relay/support/quote.h>
#include <relay/support/utf8.h>

namespace relay {
namespace {

// Digits and exponent of |value|: d.ddd e x, the shortest that reads back the same in the type.
struct Decimal {
  char digits[24];
  int count = 0;
  int exponent = 0;
};

Decimal take_apart(const char* begin, const char* end) {
  Decimal d;
  const char* e = std::find(begin, end, 'e');
  for (const char* p = begin; p < e; ++p) {
    if (*p != '.') d.digits[d.count++] = *p;
  }
  while (d.count > 1 && d.digits[d.count - 1] == '0') --d.count;
  const char* exponent = e + 1;
  if (exponent < end && *exponent == '+') ++exponent;
  std::from_chars(exponent, end, d.exponent);
  return d;
}

template <class T>
Decimal shortest_of_small(float value) {
  char buffer[64];
  for (int precision = 0;; ++precision) {
    auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific,
                             precision)
                   .ptr;
    double back = 0;
    std::from_chars(buffer, end, back);
    if (precision >= 9 || T(back).bits == T(value).bits) return take_apart(buffer, end);
  }
}

Decimal shortest(DType dtype, double magnitude) {
  char buffer[64];
  if (dtype == kFloat16) return shortest_of_small<Half>(static_cast<float>(magnitude));
  if (dtype == kBFloat16) return shortest_of_small<BFloat16>(static_cast<float>(magnitude));
  auto end =
      dtype == kFloat32
          ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(magnitude),
                          std::chars_format::scientific)
                .ptr
          : std::to_chars(buffer, buffer + sizeof buffer, magnitude, std::chars_format::scientific)
                .ptr;
  return take_apart(buffer, end);
}

template <class T>
T load(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

void append_integer(std::string& out, auto value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

// The differences between the two notations.
enum class Style { kText, kJson };

void append_item(std::string& out, Style style, DType dtype, const void* bytes) {
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T value = load<T>(bytes);
    if constexpr (std::is_same_v<T, Bool>) {
      out += style == Style::kText ? (value ? "True" : "False") : (value ? "true" : "false");
    } else if constexpr (std::is_integral_v<T>) {
      append_integer(out, value);
    } else {
      double number = static_cast<ComputeType<T>>(value);
      bool quote = style == Style::kJson && !std::isfinite(number);
      if (quote) out += '"';
      append_float(out, dtype, number);
      if (quote) out += '"';
    }
  });
}

}  // namespace

void append_float(std::string& out, DType dtype, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::signbit(value)) out += '-';
  if (std::isinf(value)) {
    out += "inf";
    return;
  }
  Decimal d = shortest(dtype, std::fabs(value));
  if (d.exponent < -4 || d.exponent >= 16) {
    out += d.digits[0];
    if (d.count > 1) {
      out += '.';
      out.append(d.digits + 1, d.digits + d.count);
    }
    out += 'e';
    out += d.exponent < 0 ? '-' : '+';
    int exponent = std::abs(d.exponent);
    if (exponent < 10) out += '0';
    append_integer(out, exponent);
    return;
  }
  if (d.exponent < 0) {
    out += "0.";
    out.append(static_cast<size_t>(-d.exponent - 1), '0');
    out.append(d.digits, d.digits + d.count);
    return;
  }
  int whole = d.exponent + 1;
  for (int i = 0; i < whole; ++i) out += i < d.count ? d.digits[i] : '0';
  out += '.';
  if (d.count > whole) {
    out.append(d.digits + whole, d.digits + d.count);
  } else {
    out += '0';
  }
}

void append_element(std::string& out, DType dtype, const void* bytes) {
  append_item(out, Style::kText, dtype, bytes);
}

namespace {

// Positions along an axis that are shown; -1 stands for "...".
std::vector<int64_t> shown(int64_t extent, bool summarise, int64_t edge) {
  std::vector<int64_t> result;
  if (!summarise || extent <= 2 * edge) {
    for (int64_t i = 0; i < extent; ++i) result.push_back(i);
    return result;
  }
  for (int64_t i = 0; i < edge; ++i) result.push_back(i);
  result.push_back(-1);
  for (int64_t i = extent - edge; i < extent; ++i) result.push_back(i);
  return result;
}

class ArrayFormatter {
 public:
  ArrayFormatter(const NDArray& array, const FormatOptions& options, size_t indent)
      : array_(array), options_(options), indent_(indent) {
    if (array.size() == 0) return;  // no element, however large an extent is
    bool summarise = array.size() > options.threshold;
    for (int64_t extent : array.shape()) axes_.push_back(shown(extent, summarise, options.edge));
  }

  void append(std::string& out) {
    if (array_.rank() == 0) {
      append_element(out, array_.dtype(), array_.raw());
      return;
    }
    if (array_.size() == 0) {
      out += "[] of shape " + shape_text(array_.shape());
      return;
    }
    // Twice over the same elements: first for the width of the columns, then to write.
    walk(
        [&](const void* at) {
          std::string text;
          append_element(text, array_.dtype(), at);
          Parts p = parts(text);
          left_ = std::max(left_, p.left);
          right_ = std::max(right_, p.right);
        },
        nullptr);
    std::string text;
    walk([&](const void* at) { item(text, at); }, &text);
    out += text;
  }

 private:
  struct Parts {
    size_t left, right;  // up to the point, and from it
  };
  Parts parts(const std::string& text) const {
    if (!array_.dtype().is_float()) return {text.size(), 0};
    size_t point = text.find_first_of(".e");
    if (point == std::string::npos) return {text.size(), 0};  // nan, inf
    return {point, text.size() - point};
  }

  void item(std::string& out, const void* at) {
    std::string text;
    append_element(text, array_.dtype(), at);
    Parts p = parts(text);
    std::string padded;
    // Words stand at the right edge, numbers with their points below each other.
    size_t before = p.right == 0 ? left_ + right_ - p.left : left_ - p.left;
    padded.append(before, ' ');
    padded += text;
    if (p.right != 0) padded.append(right_ - p.right, ' ');
    place(out, padded);
  }

  // Starts a new line when the text does not fit on this one.
  void place(std::string& out, const std::string& text) {
    size_t line = out.rfind('\n');
    size_t column = line == std::string::npos ? indent_ + out.size() : out.size() - (line + 1);
    if (!first_ && column + text.size() + 2 > options_.line_width) {
      while (!out.empty() && out.back() == ' ') out.pop_back();
      out += '\n';
      out.append(indent_ + array_.rank(), ' ');
    }
    out += text;
    first_ = false;
  }

  // Visits the elements that are shown; writes brackets and separators if `out` is given.
  template <class F>
  void walk(F&& visit, std::string* out) {
    size_t rank = array_.rank();
    size_t width = array_.dtype().size();
    std::vector<size_t> at(rank, 0);
    size_t axis = 0;  // how many axes are entered
    if (out != nullptr) *out += '[';
    const auto* base = static_cast<const std::byte*>(array_.raw());
    first_ = true;
    while (true) {
      if (at[axis] == axes_[axis].size()) {
        if (out != nullptr) *out += ']';
        if (axis == 0) return;
        at[axis] = 0;
        --axis;
        ++at[axis];
        continue;
      }
      if (out != nullptr && at[axis] > 0) separate(*out, axis);
      if (axes_[axis][at[axis]] < 0) {
        if (out != nullptr) axis + 1 == rank ? place(*out, "...") : void(*out += "...");
        ++at[axis];
        continue;
      }
      if (axis + 1 < rank) {
        ++axis;
        if (out != nullptr) *out += '[';
        first_ = true;
        continue;
      }
      int64_t offset = 0;
      for (size_t i = 0; i < rank; ++i) offset += axes_[i][at[i]] * array_.stride(i);
      visit(base + offset * static_cast<int64_t>(width));
      ++at[axis];
    }
  }

  // After an item of `axis`, before the next.
  void separate(std::string& out, size_t axis) {
    out += ',';
    size_t inner = array_.rank() - 1 - axis;
    if (inner == 0) {
      out += ' ';
      return;
    }
    out.append(inner, '\n');
    out.append(indent_ + axis + 1, ' ');
  }

  const NDArray& array_;
  const FormatOptions& options_;
  size_t indent_;
  std::vector<std::vector<int64_t>> axes_;
  size_t left_ = 0, right_ = 0;
  bool first_ = true;
};

// The column of the next character of `out`; 0 far from the beginning of a line, so that values on
// one long line take no time for this and are not indented.
size_t column_of(const std::string& out) {
  constexpr size_t kFar = 60;
  for (size_t column = 0; column <= kFar; ++column) {
    if (column == out.size() || out[out.size() - 1 - column] == '\n') return column;
  }
  return 0;
}

void check_length(const std::string& out, size_t limit) {
  if (out.size() > limit) throw_out_of_memory("the text of a value", out.size());
}

void append_json_array(std::string& out, const NDArray& array, size_t limit) {
  size_t rank = array.rank();
  size_t width = array.dtype().size();
  std::vector<int64_t> at(rank, 0);
  const auto* p = static_cast<const std::byte*>(array.raw());
  size_t axis = 0;
  out += '[';
  while (true) {
    if (at[axis] == array.extent(axis)) {
      out += ']';
      if (axis == 0) return;
      check_length(out, limit);
      at[axis] = 0;
      --axis;
      ++at[axis];
      continue;
    }
    if (at[axis] > 0) out += ", ";
    if (axis + 1 < rank) {
      ++axis;
      out += '[';
      continue;
    }
    int64_t offset = 0;
    for (size_t i = 0; i < rank; ++i) offset += at[i] * array.stride(i);
    append_item(out, Style::kJson, array.dtype(), p + offset * static_cast<int64_t>(width));
    ++at[axis];
  }
}

// Walks a value with an explicit stack. `Writer` has: leaf(value), open(value), between(value),
// close(value), and cycle().
template <class Writer>
void walk_value(const Value& root, Writer& writer) {
  struct Frame {
    const Value* value;
    size_t next;
  };
  std::vector<Frame> stack;
  // Cells being written now; only through them can a value contain itself.
  std::unordered_set<const Value*> cells;
  auto enter = [&](const Value& value) {
    bool composite = value.is_tuple() || value.is_data() || value.is_reference();
    if (!composite) {
      writer.leaf(value);
      return;
    }
    if (value.is_reference() && !cells.insert(&value.get()).second) {
      writer.cycle();
      return;
    }
    writer.open(value);
    stack.push_back({&value, 0});
  };
  enter(root);
  while (!stack.empty()) {
    Frame& top = stack.back();
    const Value& value = *top.value;
    size_t count = value.is_reference() ? 1 : value.fields().size();
    if (top.next == count) {
      if (value.is_reference()) cells.erase(&value.get());
      stack.pop_back();
      writer.close(value);
      continue;
    }
    size_t index = top.next++;
    if (index > 0) writer.between(value);
    enter(value.is_reference() ? value.get() : value.fields()[index]);
  }
}

struct TextWriter {
  std::string& out;
  const FormatOptions& options;
  size_t limit = memory_limit();
  // An open value: the column of its fields, and a flag for a field of several lines.
  struct Level {
    size_t column;
    bool lines;
  };
  std::vector<Level> levels{};

  void leaf(const Value& value) {
    check_length(out, limit);
    if (value.is_scalar()) {
      append_element(out, value.dtype(), value.scalar_data());
    } else if (value.is_tensor()) {
      NDArray array = value.array();
      size_t start = out.size();
      ArrayFormatter(array, options, column_of(out)).append(out);
      if (!levels.empty() && out.find('\n', start) != std::string::npos) levels.back().lines = true;
    } else {
      out += value.is_closure() ? "<fn>" : "<nothing>";
    }
  }
  void open(const Value& value) {
    check_length(out, limit);
    if (value.is_data()) {
      out += value.constructor()->name.view();
      if (value.fields().empty()) return;
    }
    out += value.is_reference() ? "ref(" : "(";
    levels.push_back({column_of(out), false});
  }
  // The next part after a field of several lines begins a new line.
  void between(const Value&) {
    const Level& level = levels.back();
    if (level.lines && level.column > 0) {
      out += ",\n";
      out.append(level.column, ' ');
    } else {
      out += ", ";
    }
  }
  void close(const Value& value) {
    if (value.is_data() && value.fields().empty()) return;
    bool lines = levels.back().lines;
    levels.pop_back();
    if (lines && !levels.empty()) levels.back().lines = true;
    out += value.is_tuple() && value.fields().size() == 1 ? ",)" : ")";
  }
  void cycle() { out += "<cycle>"; }
};

struct JsonWriter {
  std::string& out;
  size_t limit = memory_limit();

  void leaf(const Value& value) {
    check_length(out, limit);
    if (value.is_scalar()) {
      append_item(out, Style::kJson, value.dtype(), value.scalar_data());
    } else if (value.is_tensor()) {
      append_json_array(out, value.array(), limit);
    } else {
      out += value.is_closure() ? "\"<fn>\"" : "null";
    }
  }
  void open(const Value& value) {
    check_length(out, limit);
    if (value.is_data()) {
      out += '{';
      append_json_string(out, value.constructor()->name.view());
      out += ": [";
    } else {
      out += value.is_tuple() ? "[" : "{\"ref\": ";
    }
  }
  void between(const Value&) { out += ", "; }
  void close(const Value& value) { out += value.is_data() ? "]}" : value.is_tuple() ? "]" : "}"; }
  void cycle() { out += "{\"ref\": \"<cycle>\"}"; }
};

}  // namespace

std::string format_array(const NDArray& array, const FormatOptions& options) {
  std::string out;
  ArrayFormatter(array, options, 0).append(out);
  return out;
}

std::string format_value(const Value& value, const FormatOptions& options) {
  std::string out;
  TextWriter writer{out, options};
  walk_value(value, writer);
  return out;
}

void append_json(std::string& out, const Value& value) {
  JsonWriter writer{out};
  walk_value(value, writer);
}

std::string made_by(const Value& value) {
  auto part = [](const Value& field) {
    return field.is_data() ? field.constructor()->name.str() : std::string(kind_name(field.kind()));
  };
  if (!value.is_tuple()) return part(value);
  constexpr size_t kShown = 16;
  std::string out = "(";
  for (size_t i = 0; i < value.fields().size(); ++i) {
    if (i > 0) out += ", ";
    if (i == kShown) {
      out += "...";
      break;
    }
    out += part(value.field(i));
  }
  return out + ')';
}

}  // namespace relay

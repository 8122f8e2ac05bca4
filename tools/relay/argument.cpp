#include <tools/relay/argument.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include <relay/parse/lexer.h>
#include <relay/runtime/npy.h>
#include <relay/runtime/npz.h>
#include <relay/support/error.h>

namespace relay::tool {

namespace {

// Numbers of a literal in row-major order.
struct Numbers {
  std::vector<int64_t> shape;
  std::vector<std::string_view> items;
};

class Reader {
 public:
  Reader(const Argument& argument, const Type* type, uint64_t seed)
      : text_(argument.text), shift_(argument.shift), generator_(seed) {
    tensor_ = type == nullptr ? nullptr : type->as<TensorType>();
    if (tensor_ != nullptr && tensor_->has_dtype()) wanted_ = tensor_->dtype();
  }

  Value read() {
    skip_space();
    if (at_end()) fail("the value is missing");
    if (text_[at_] == '@') return read_file();
    size_t word_end = at_;
    while (word_end < text_.size() &&
           std::isalpha(static_cast<unsigned char>(text_[word_end])) != 0)
      ++word_end;
    std::string_view word = text_.substr(at_, word_end - at_);
    if (word == "ones" || word == "zeros" || word == "full" || word == "random") {
      at_ = word_end;
      return read_filled(word);
    }
    Numbers numbers;
    read_nested(numbers);
    DType dtype = read_dtype().value_or(wanted_.value_or(natural_dtype(numbers)));
    expect_end();
    return Value(fill(numbers, dtype));
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  void skip_space() {
    while (!at_end() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  [[noreturn]] void fail(const std::string& message) const { fail(message, at_); }
  // Says where, unless the whole value is meant.
  [[noreturn]] void fail(const std::string& message, size_t at) const {
    throw Error(at == 0 ? message : message + ", at character " + std::to_string(shift_ + at + 1));
  }
  bool accept(char c) {
    skip_space();
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }
  void expect_end() {
    skip_space();
    if (!at_end()) fail("unexpected text after the value");
  }

  std::optional<DType> read_dtype() {
    if (!accept(':')) return std::nullopt;
    skip_space();
    size_t start = at_;
    while (!at_end() && std::isalnum(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    std::string_view name = text_.substr(start, at_ - start);
    std::optional<DType> dtype = DType::parse(name);
    if (name.empty()) fail("expected a dtype after ':'", start);
    if (!dtype) fail("there is no dtype " + std::string(name), start);
    return dtype;
  }

  std::string_view read_item() {
    skip_space();
    size_t start = at_;
    while (!at_end() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                         text_[at_] == '.' || text_[at_] == '+' || text_[at_] == '-')) {
      ++at_;
    }
    std::string_view item = text_.substr(start, at_ - start);
    double number;
    if (!parse_number(item, number)) {
      fail(item.empty() ? "expected a number" : std::string(item) + " is not a number", start);
    }
    return item;
  }

  static bool parse_number(std::string_view item, double& out) {
    if (item == "True" || item == "true") return out = 1, true;
    if (item == "False" || item == "false") return out = 0, true;
    if (!item.empty() && item.front() == '+') item.remove_prefix(1);
    auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), out);
    if (end != item.data() + item.size() || item.empty()) return false;
    if (error == std::errc::result_out_of_range)
      out = std::strtod(std::string(item).c_str(), nullptr);
    return true;
  }

  // `[[1, 2], [3, 4]]`, with an explicit stack: nesting is the rank, at most 64.
  void read_nested(Numbers& numbers) {
    std::vector<int64_t> counts;
    size_t depth_of_items = 0;
    bool first_item = true;
    std::vector<int64_t>& shape = numbers.shape;
    for (;;) {
      skip_space();
      if (accept('[')) {
        if (counts.size() == 64) fail("a tensor has at most 64 axes");
        if (!first_item && counts.size() + 1 > depth_of_items) fail("the nesting is uneven");
        counts.push_back(0);
        if (accept(']')) {
          close(counts, shape, first_item, depth_of_items);
          if (!next(counts, shape, first_item, depth_of_items)) return;
        }
        continue;
      }
      if (first_item) {
        depth_of_items = counts.size();
        shape.assign(depth_of_items, -1);
        first_item = false;
      } else if (counts.size() != depth_of_items) {
        fail("the nesting is uneven");
      }
      numbers.items.push_back(read_item());
      if (counts.empty()) return;
      ++counts.back();
      if (!next(counts, shape, first_item, depth_of_items)) return;
    }
  }
  // A list ends: its length must be that of the others at its depth.
  void close(std::vector<int64_t>& counts, std::vector<int64_t>& shape, bool& first_item,
             size_t& depth) {
    size_t level = counts.size() - 1;
    if (first_item) {
      depth = counts.size();
      shape.assign(depth, -1);
      first_item = false;
    }
    if (shape[level] < 0) shape[level] = counts[level];
    if (shape[level] != counts[level]) fail("lists at one depth differ in length", at_ - 1);
    counts.pop_back();
    if (!counts.empty()) ++counts.back();
  }
  // After an item: true to go on, false at the end of the outermost list.
  bool next(std::vector<int64_t>& counts, std::vector<int64_t>& shape, bool& first_item,
            size_t& depth) {
    while (!counts.empty()) {
      if (accept(',')) return true;
      expect(']');
      close(counts, shape, first_item, depth);
    }
    return false;
  }

  // As of a literal (T8): int64 where int32 is too small.
  static DType whole_dtype(std::string_view item) {
    double number = 0;
    parse_number(item, number);
    return number < -0x1p31 || number >= 0x1p31 ? kInt64 : kInt32;
  }

  static DType natural_dtype(const Numbers& numbers) {
    bool all_bool = !numbers.items.empty();
    DType whole = kInt32;
    for (std::string_view item : numbers.items) {
      bool boolean = item == "True" || item == "true" || item == "False" || item == "false";
      all_bool = all_bool && boolean;
      if (boolean) continue;
      if (item.find_first_of(".eEnN") != std::string_view::npos) return kFloat32;
      if (whole_dtype(item) == kInt64) whole = kInt64;
    }
    return all_bool ? kBool : whole;
  }

  NDArray fill(const Numbers& numbers, DType dtype) {
    std::vector<int64_t> shape = numbers.shape;
    for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 0);
    NDArray array = NDArray::empty(shape, dtype);
    size_t size = dtype.size();
    auto* bytes = static_cast<char*>(array.raw());
    for (size_t i = 0; i < numbers.items.size(); ++i)
      write(numbers.items[i], dtype, bytes + i * size);
    return array;
  }

  void write(std::string_view item, DType dtype, void* to) {
    auto at = static_cast<size_t>(item.data() - text_.data());
    double number = 0;
    parse_number(item, number);
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T* out = static_cast<T*>(to);
      auto refuse = [&] {
        fail(std::string(item) + " does not fit " + std::string(dtype.name()), at);
      };
      if constexpr (std::is_same_v<T, Bool>) {
        if (number != 0 && number != 1) refuse();
        *out = Bool(number != 0);
      } else if constexpr (std::is_integral_v<T>) {
        T value{};
        std::string_view digits = item.front() == '+' ? item.substr(1) : item;
        auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        bool boolean =
            std::isalpha(static_cast<unsigned char>(item[0])) != 0 && (number == 0 || number == 1);
        if (boolean) {
          value = static_cast<T>(number);
        } else if (error != std::errc() || end != digits.data() + digits.size()) {
          refuse();
        }
        *out = value;
      } else {
        *out = static_cast<T>(number);
      }
    });
  }

  Value read_filled(std::string_view word) {
    expect('(');
    std::string_view fill_item = word == "ones" ? "1" : "0";
    bool whole = false;
    if (word == "full") {
      fill_item = read_item();
      whole = fill_item.find_first_of(".eEnN") == std::string_view::npos;
      if (!accept(',')) {
        expect(')');
        return finish_filled(word, {}, fill_item, whole);
      }
    }
    std::vector<int64_t> shape;
    if (!accept(')')) {
      do {
        skip_space();
        size_t start = at_;
        int64_t extent = -1;
        auto [end, error] =
            std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
        at_ = static_cast<size_t>(end - text_.data());
        if (error != std::errc() || extent < 0) {
          fail("expected an extent", start);
        }
        shape.push_back(extent);
        if (shape.size() > 64) fail("a tensor has at most 64 axes");
      } while (accept(','));
      expect(')');
    }
    return finish_filled(word, shape, fill_item, whole);
  }

  Value finish_filled(std::string_view word, const std::vector<int64_t>& shape,
                      std::string_view item, bool whole) {
    std::optional<DType> given = read_dtype();
    expect_end();
    DType dtype = given.value_or(wanted_.value_or(whole ? whole_dtype(item) : kFloat32));
    try {
      check_shape(shape);
      NDArray array = NDArray::empty(shape, dtype);
      auto* bytes = static_cast<char*>(array.raw());
      int64_t count = element_count(array.shape());
      if (word == "random") {
        for (int64_t i = 0; i < count; ++i)
          write_random(dtype, bytes + i * static_cast<int64_t>(dtype.size()));
      } else if (count > 0) {
        if (word == "full") {
          write(item, dtype, bytes);
        } else {
          Value value = Value::scalar_of(dtype, static_cast<int64_t>(item == "1"));
          std::memcpy(bytes, value.scalar_data(), dtype.size());
        }
        for (int64_t i = 1; i < count; ++i) {
          std::memcpy(bytes + i * static_cast<int64_t>(dtype.size()), bytes, dtype.size());
        }
      }
      return Value(std::move(array));
    } catch (const Error& error) {
      fail(error.what(), 0);
    }
  }

  // Floats are uniform in [0, 1), of as many bits as are exact there; integers in 0 … 99; bools
  // even.
  void write_random(DType dtype, void* to) {
    uint64_t bits = generator_();
    dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      T value{};
      if constexpr (std::is_same_v<T, Bool>) {
        value = Bool(bits >> 63 != 0);
      } else if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(static_cast<unsigned __int128>(bits) * 100 >> 64);
      } else {
        int digits = std::is_same_v<T, BFloat16> ? 8
                     : sizeof(T) == 2            ? 11
                     : sizeof(T) == 4            ? 24
                                                 : 53;
        value = static_cast<T>(std::ldexp(static_cast<double>(bits >> (64 - digits)), -digits));
      }
      std::memcpy(to, &value, sizeof value);
    });
  }

  // `@file.npy`, `@file.npz:name`.
  Value read_file() {
    std::string path(text_.substr(at_ + 1));
    if (path.empty()) fail("expected the name of a .npy or .npz file after @", 0);
    size_t colon = path.rfind(':');
    std::string member;
    if (colon != std::string::npos && path.find(".npz") != std::string::npos &&
        colon > path.rfind(".npz")) {
      member = path.substr(colon + 1);
      path.resize(colon);
    }
    try {
      if (path.size() >= 4 && path.compare(path.size() - 4, 4, ".npz") == 0) {
        NpzReader archive(path);
        if (!member.empty()) return Value(archive.read(member));
        std::vector<std::string> names = archive.names();
        if (names.size() == 1) return Value(archive.read(names[0]));
        std::string list;
        for (const std::string& name : names) list += " " + name;
        throw Error(path + " holds " + std::to_string(names.size()) + " arrays; name one as @" +
                    path + ":NAME, of" + list);
      }
      return Value(read_npy(path));
    } catch (const Error& error) {
      fail(error.what(), 0);
    }
  }

  // Refuses a shape that the parameter's type excludes before the value is filled: it may be large.
  void check_shape(const std::vector<int64_t>& shape) const {
    constexpr int64_t kSmall = int64_t{1} << 24;
    if (tensor_ == nullptr || !tensor_->has_rank() || element_count(shape) < kSmall) return;
    std::span<const Dim> dims = tensor_->dims();
    bool fits = dims.size() == shape.size();
    for (size_t i = 0; fits && i < dims.size(); ++i)
      fits = !dims[i].is_int() || dims[i].is_int(shape[i]);
    if (!fits) throw Error("the parameter is " + tensor_->str());
  }

  std::string_view text_;
  size_t shift_;  // of text_ in the argument as it was given
  size_t at_ = 0;
  const TensorType* tensor_ = nullptr;
  std::optional<DType> wanted_;
  std::mt19937_64 generator_;
};

}  // namespace

bool take_quoted_name(std::string_view text, std::string& name, size_t& length) {
  size_t begin = text.starts_with('%') ? 1 : 0;
  if (begin >= text.size() || text[begin] != '"') return false;
  size_t end = begin + 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  if (end + 1 >= text.size() || text[end + 1] != '=') return false;
  name.clear();
  if (!parsing::unescape(text.substr(begin, end + 1 - begin), name)) return false;
  length = end + 1;
  return true;
}

Argument split_argument(std::string text, int position) {
  std::string name;
  size_t length = 0;
  if (take_quoted_name(text, name, length)) {
    return {std::move(name), text.substr(length + 1), position, length + 1};
  }
  if (text.starts_with('%') && text.find('=') != std::string::npos) text.erase(0, 1);
  // Names may hold any character, and of the values only the names of files hold this one.
  size_t equals = text.starts_with('@') ? std::string::npos : text.find('=');
  if (equals != std::string::npos && equals > 0) {
    return {text.substr(0, equals), text.substr(equals + 1), position, equals + 1};
  }
  return {std::nullopt, std::move(text), position, 0};
}

bool is_no_tensor(const Type* type) {
  return type != nullptr && !type->is<TensorType>() && !type->is<TypeVar>() &&
         !type->is<IncompleteType>();
}

Value read_argument(const Argument& argument, const Type* type, uint64_t seed) {
  Reader reader(argument, type, seed);
  try {
    if (is_no_tensor(type)) throw Error("the parameter is " + type->str() + ", not a tensor");
    return reader.read();
  } catch (const Error& error) {
    std::string what = argument.name ? *argument.name + "=" + argument.text : argument.text;
    if (what.size() > 80) what = what.substr(0, 77) + "...";
    throw Error("--arg " + what + ": " + error.what());
  }
}

}  // namespace relay::tool

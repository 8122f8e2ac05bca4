#include <relay/runtime/tensor_text.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <relay/runtime/npy.h>
#include <relay/runtime/npz.h>
#include <relay/support/error.h>

namespace relay {

namespace {

constexpr size_t kMostAxes = 64;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_boolean(std::string_view item) {
  return item == "True" || item == "true" || item == "False" || item == "false";
}

bool parse_item(std::string_view item, double& out) {
  if (item == "True" || item == "true") return out = 1, true;
  if (item == "False" || item == "false") return out = 0, true;
  if (!item.empty() && item.front() == '+') item.remove_prefix(1);
  auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), out);
  if (end != item.data() + item.size() || item.empty()) return false;
  if (error == std::errc::result_out_of_range)
    out = std::strtod(std::string(item).c_str(), nullptr);
  return true;
}

// As of a literal (T8): int64 where int32 is too small.
DType whole_dtype(std::string_view item) {
  double number = 0;
  parse_item(item, number);
  return number < -0x1p31 || number >= 0x1p31 ? kInt64 : kInt32;
}

bool is_whole(std::string_view item) {
  return item.find_first_of(".eEnN") == std::string_view::npos;
}

std::optional<DType> dtype_of_type(const TypeInfo& type) {
  if (type.kind != TypeInfo::Kind::kTensor || type.dtype == DType()) return std::nullopt;
  return type.dtype;
}

}  // namespace

// ---- The cursor ---------------------------------------------------------------------------------

void TextCursor::skip_space() {
  while (!at_end() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
}
void TextCursor::fail(const std::string& message, size_t at) const {
  throw Error(at == 0 ? message : message + ", at character " + std::to_string(shift_ + at + 1));
}
char TextCursor::peek() {
  skip_space();
  return at_end() ? '\0' : text_[at_];
}
bool TextCursor::accept(char c) {
  if (peek() != c || at_end()) return false;
  ++at_;
  return true;
}
void TextCursor::expect(char c) {
  if (!accept(c)) fail(std::string("expected '") + c + "'");
}
std::string_view TextCursor::word() {
  skip_space();
  const size_t start = at_;
  auto belongs = [&](char c) {
    return is_letter(c) || c == '_' || (at_ > start && is_letter_or_digit(c));
  };
  while (!at_end() && belongs(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}
std::string TextCursor::quoted() {
  expect('"');
  std::string result;
  while (!at_end() && text_[at_] != '"') {
    if (text_[at_] == '\\') {
      ++at_;
      if (at_end() || (text_[at_] != '"' && text_[at_] != '\\' && text_[at_] != '/'))
        fail("names in quotes know the escapes \\\", \\\\ and \\/ only");
    }
    result += text_[at_++];
  }
  expect('"');
  return result;
}

// ---- Literals -----------------------------------------------------------------------------------

struct TensorReader::Numbers {
  std::vector<int64_t> shape;
  std::vector<std::string_view> items;
  // While they are read.
  std::vector<int64_t> counts;  // of the open lists
  size_t depth = 0;             // of the items
  bool first = true;
};

TensorReader::TensorReader(TextCursor& cursor, const WantedValue& wanted)
    : cursor_(cursor), wanted_(wanted), generator_(wanted.seed) {}

NDArray TensorReader::read(const TypeInfo& type, bool inside) {
  if (cursor_.peek() == '@') return read_file(inside);
  const size_t start = cursor_.at();
  const std::string_view word = cursor_.word();
  if (word == "ones" || word == "zeros" || word == "full") return read_filled(word, type);
  if (word == "random") return read_random_tensor(type);
  cursor_.move_to(start);
  Numbers numbers;
  read_nested(numbers);
  const std::optional<DType> given = read_dtype();
  return fill(numbers, given ? *given : dtype_of_type(type).value_or(natural_dtype(numbers)));
}

std::optional<DType> TensorReader::read_dtype() {
  if (!cursor_.accept(':')) return std::nullopt;
  cursor_.skip_space();
  const size_t start = cursor_.at();
  const std::string_view name = cursor_.word();
  std::optional<DType> dtype = DType::parse(name);
  if (name.empty()) cursor_.fail("expected a dtype after ':'", start);
  if (!dtype) cursor_.fail("there is no dtype " + std::string(name), start);
  return dtype;
}

// A number, or one in quotes, as JSON writes those that are not finite.
std::string_view TensorReader::read_item() {
  const bool quoted = cursor_.accept('"');
  cursor_.skip_space();
  const std::string_view text = cursor_.text();
  const size_t start = cursor_.at();
  size_t end = start;
  while (end < text.size() && (is_letter_or_digit(text[end]) || text[end] == '.' ||
                               text[end] == '+' || text[end] == '-'))
    ++end;
  const std::string_view item = text.substr(start, end - start);
  cursor_.move_to(end);
  double number;
  if (!parse_item(item, number))
    cursor_.fail(item.empty() ? "expected a number" : std::string(item) + " is not a number",
                 start);
  if (quoted) cursor_.expect('"');
  return item;
}

// `[[1, 2], [3, 4]]`, with an explicit stack: nesting is the rank.
void TensorReader::read_nested(Numbers& numbers) {
  std::vector<int64_t>& counts = numbers.counts;
  for (;;) {
    if (cursor_.accept('[')) {
      if (counts.size() == kMostAxes) cursor_.fail("a tensor has at most 64 axes");
      if (!numbers.first && counts.size() + 1 > numbers.depth)
        cursor_.fail("the nesting is uneven");
      counts.push_back(0);
      if (cursor_.accept(']')) {
        close_list(numbers);
        if (!next_item(numbers)) return;
      }
      continue;
    }
    if (numbers.first) {
      numbers.depth = counts.size();
      numbers.shape.assign(numbers.depth, -1);
      numbers.first = false;
    } else if (counts.size() != numbers.depth) {
      cursor_.fail("the nesting is uneven");
    }
    numbers.items.push_back(read_item());
    if (counts.empty()) return;
    ++counts.back();
    if (!next_item(numbers)) return;
  }
}
// A list ends: its length must be that of the others at its depth.
void TensorReader::close_list(Numbers& numbers) {
  std::vector<int64_t>& counts = numbers.counts;
  const size_t level = counts.size() - 1;
  if (numbers.first) {
    numbers.depth = counts.size();
    numbers.shape.assign(numbers.depth, -1);
    numbers.first = false;
  }
  if (numbers.shape[level] < 0) numbers.shape[level] = counts[level];
  if (numbers.shape[level] != counts[level])
    cursor_.fail("lists at one depth differ in length", cursor_.at() - 1);
  counts.pop_back();
  if (!counts.empty()) ++counts.back();
}
// After an item: true to go on, false at the end of the outermost list.
bool TensorReader::next_item(Numbers& numbers) {
  while (!numbers.counts.empty()) {
    if (cursor_.accept(',')) return true;
    cursor_.expect(']');
    close_list(numbers);
  }
  return false;
}

DType TensorReader::natural_dtype(const Numbers& numbers) {
  bool all_bool = !numbers.items.empty();
  DType whole = kInt32;
  for (std::string_view item : numbers.items) {
    const bool boolean = is_boolean(item);
    all_bool = all_bool && boolean;
    if (boolean) continue;
    if (!is_whole(item)) return kFloat32;
    if (whole_dtype(item) == kInt64) whole = kInt64;
  }
  return all_bool ? kBool : whole;
}

NDArray TensorReader::fill(const Numbers& numbers, DType dtype) {
  std::vector<int64_t> shape = numbers.shape;
  for (int64_t& extent : shape) extent = std::max<int64_t>(extent, 0);
  NDArray array = NDArray::empty(shape, dtype);
  const size_t size = dtype.size();
  auto* bytes = static_cast<char*>(array.raw());
  for (size_t i = 0; i < numbers.items.size(); ++i)
    write(numbers.items[i], dtype, bytes + i * size);
  return array;
}

void TensorReader::write(std::string_view item, DType dtype, void* to) const {
  const auto at = static_cast<size_t>(item.data() - cursor_.text().data());
  double number = 0;
  parse_item(item, number);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* out = static_cast<T*>(to);
    auto refuse = [&] {
      cursor_.fail(std::string(item) + " does not fit " + std::string(dtype.name()), at);
    };
    if constexpr (std::is_same_v<T, Bool>) {
      if (number != 0 && number != 1) refuse();
      *out = Bool(number != 0);
    } else if constexpr (std::is_integral_v<T>) {
      T value{};
      std::string_view digits = item.front() == '+' ? item.substr(1) : item;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      const bool boolean = is_letter(item[0]) && (number == 0 || number == 1);
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

// ---- Tensors of one number, and of random ones --------------------------------------------------

// A new array. Refuses a shape that the type excludes before the array is made: it may be large.
NDArray TensorReader::fresh(const std::vector<int64_t>& shape, DType dtype,
                            const TypeInfo& type) const {
  constexpr int64_t kSmall = int64_t{1} << 24;
  if (type.kind == TypeInfo::Kind::kTensor && type.has_rank && element_count(shape) >= kSmall) {
    bool fits = type.dims.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = type.dims[i].kind != TypeInfo::Dim::Kind::kInt || type.dims[i].value == shape[i];
    if (!fits) throw Error("the parameter is " + wanted_.text);
  }
  return NDArray::empty(shape, dtype);
}

int64_t TensorReader::read_extent() {
  cursor_.skip_space();
  const size_t start = cursor_.at();
  const std::string_view text = cursor_.text();
  int64_t extent = -1;
  auto [end, error] = std::from_chars(text.data() + start, text.data() + text.size(), extent);
  cursor_.move_to(static_cast<size_t>(end - text.data()));
  if (error != std::errc() || extent < 0) cursor_.fail("expected an extent", start);
  return extent;
}

NDArray TensorReader::read_filled(std::string_view word, const TypeInfo& type) {
  cursor_.expect('(');
  std::string_view item;
  std::vector<int64_t> shape;
  bool open = true;
  if (word == "full") {
    item = read_item();
    open = cursor_.accept(',');
    if (!open) cursor_.expect(')');
  }
  if (open && !cursor_.accept(')')) {
    do {
      shape.push_back(read_extent());
      if (shape.size() > kMostAxes) cursor_.fail("a tensor has at most 64 axes");
    } while (cursor_.accept(','));
    cursor_.expect(')');
  }
  const DType natural = word == "full" && is_whole(item) ? whole_dtype(item) : kFloat32;
  const std::optional<DType> given = read_dtype();
  const DType dtype = given ? *given : dtype_of_type(type).value_or(natural);
  NDArray array = fresh(shape, dtype, type);
  auto* bytes = static_cast<char*>(array.raw());
  const int64_t count = array.size();
  const auto size = static_cast<int64_t>(dtype.size());
  if (count > 0 && word == "full") write(item, dtype, bytes);
  if (count > 0 && word != "full") {
    const Value number = Value::scalar_of(dtype, static_cast<int64_t>(word == "ones"));
    std::memcpy(bytes, number.scalar_data(), dtype.size());
  }
  for (int64_t i = 1; i < count; ++i) std::memcpy(bytes + i * size, bytes, dtype.size());
  return array;
}

// `(2, 3, normal(0, 2), seed=7)`: extents first, each part may be missing.
TensorReader::Random TensorReader::read_random() {
  Random random;
  if (!cursor_.accept('(')) return random;
  if (cursor_.accept(')')) return random;
  do {
    cursor_.skip_space();
    const size_t start = cursor_.at();
    const std::string_view word = cursor_.word();
    if (word.empty()) {
      if (random.distribution.kind != Distribution::Kind::kUsual || random.seed)
        cursor_.fail("extents come first in random(…)", start);
      random.shape.push_back(read_extent());
      random.has_shape = true;
      if (random.shape.size() > kMostAxes) cursor_.fail("a tensor has at most 64 axes");
    } else if (word == "seed") {
      cursor_.expect('=');
      random.seed = static_cast<uint64_t>(read_extent());
    } else if (word == "normal" || word == "uniform") {
      random.distribution.kind =
          word == "normal" ? Distribution::Kind::kNormal : Distribution::Kind::kUniform;
      if (cursor_.accept('(')) {
        parse_item(read_item(), random.distribution.a);
        cursor_.expect(',');
        parse_item(read_item(), random.distribution.b);
        cursor_.expect(')');
      }
    } else {
      cursor_.fail("expected an extent, uniform, normal or seed=N", start);
    }
  } while (cursor_.accept(','));
  cursor_.expect(')');
  return random;
}

NDArray TensorReader::read_random_tensor(const TypeInfo& type) {
  const bool parenthesis = cursor_.peek() == '(';
  Random random = read_random();
  if (!random.has_shape && wanted_.extents && type.kind == TypeInfo::Kind::kTensor) {
    const Shape shape = wanted_.extents().shape(type);
    random.shape.assign(shape.begin(), shape.end());
  } else if (!parenthesis) {
    cursor_.fail("random needs extents here, as in random(2, 3)");
  }
  const std::optional<DType> given = read_dtype();
  NDArray array =
      fresh(random.shape, given ? *given : dtype_of_type(type).value_or(kFloat32), type);
  if (random.seed) {
    std::mt19937_64 own(*random.seed);
    fill_random(array, random.distribution, own);
  } else {
    fill_random(array, random.distribution, generator_);
  }
  return array;
}

// ---- Files --------------------------------------------------------------------------------------

// `@file.npy`, `@file.npz:name`, `@"file.npz:name"`.
NDArray TensorReader::read_file(bool inside) {
  cursor_.expect('@');
  std::string path;
  const std::string_view text = cursor_.text();
  if (cursor_.at() < text.size() && text[cursor_.at()] == '"') {
    path = cursor_.quoted();
  } else {
    size_t end = inside ? text.find_first_of(",)]}", cursor_.at()) : text.size();
    end = std::min(end, text.size());
    path = text.substr(cursor_.at(), end - cursor_.at());
    while (inside && !path.empty() && path.back() == ' ') path.pop_back();
    cursor_.move_to(end);
  }
  if (path.empty()) throw Error("expected the name of a .npy or .npz file after @");
  // Names of arrays may hold colons, as TensorFlow's do, so the first one ends the file's name.
  constexpr std::string_view kArchive = ".npz";
  std::string member;
  std::error_code none;
  if (size_t end = path.find(".npz:");
      end != std::string::npos && !std::filesystem::exists(path, none)) {
    end += kArchive.size();
    member = path.substr(end + 1);
    path.resize(end);
  }
  if (!path.ends_with(kArchive)) return read_npy(path);
  NpzReader archive(path);
  if (!member.empty()) return archive.read(member);
  const std::vector<std::string> names = archive.names();
  if (names.size() == 1) return archive.read(names[0]);
  std::string list;
  for (const std::string& name : names) list += " " + name;
  throw Error(path + " holds " + std::to_string(names.size()) + " arrays; name one as @" + path +
              ":NAME, of" + list);
}

}  // namespace relay

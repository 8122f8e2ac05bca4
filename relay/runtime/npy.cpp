#include <relay/runtime/npy.h>
#include <relay/runtime/strided.h>
#include <relay/support/error.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace relay {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
// NumPy itself writes headers of at most a few hundred bytes for plain arrays.
constexpr uint32_t kLongestHeader = 65535;

struct Header {
  DType dtype;
  bool swap = false;  // big-endian elements
  bool fortran_order = false;
  Shape shape;
};

// Parses the Python dictionary of a header: exactly the keys descr, fortran_order and shape, each
// once.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const ByteSource& source) : text_(text), source_(source) {}

  Header parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      std::string_view key = string();
      expect(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        descr(&header);
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        shape(&header.shape);
      } else {
        bad();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    space();
    if (at_ != text_.size() || !has_descr || !has_order || !has_shape) bad();
    return header;
  }

 private:
  [[noreturn]] void bad() const { source_.fail("the header is not that of a .npy file"); }

  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool accept(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad();
  }
  std::string_view string() {
    space();
    if (at_ >= text_.size()) bad();
    char quote = text_[at_];
    if (quote != '\'' && quote != '"') bad();
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) bad();
    std::string_view result = text_.substr(at_ + 1, end - at_ - 1);
    if (result.find('\\') != std::string_view::npos) bad();
    at_ = end + 1;
    return result;
  }
  bool boolean() {
    space();
    for (auto [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    bad();
  }
  void shape(Shape* shape) {
    expect('(');
    while (!accept(')')) {
      space();
      int64_t extent = 0;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error == std::errc::result_out_of_range || (error == std::errc() && extent < 0))
        source_.fail("the header has an extent out of range");
      if (error != std::errc()) bad();
      at_ = static_cast<size_t>(end - text_.data());
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // written by Python 2
      if (shape->size() == NDArray::kMaxRank) source_.fail("the header has too many dimensions");
      shape->push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }
  void descr(Header* header) {
    space();
    if (at_ < text_.size() && text_[at_] == '[') source_.fail("structured elements cannot be read");
    std::string_view text = string();
    char order = '|';
    std::string_view kind = text;
    if (!kind.empty() && std::string_view("<>|=").find(kind[0]) != std::string_view::npos) {
      order = kind[0];
      kind.remove_prefix(1);
    }
    std::optional<DType> dtype;
    if (kind == "b1" || kind == "?") dtype = kBool;
    if (kind == "V2") dtype = kBFloat16;
    if (kind.size() == 2) {
      int bytes = kind[1] - '0';
      for (DType t : kAllDTypes) {
        char letter = t.is_signed() ? 'i' : t.is_unsigned() ? 'u' : 'f';
        if (!t.is_bool() && t != kBFloat16 && letter == kind[0] &&
            t.size() == static_cast<size_t>(bytes))
          dtype = t;
      }
    }
    if (!dtype) {
      source_.fail("elements of NumPy type '" + printable(text) + "' (" + describe(kind) +
                   ") cannot be read");
    }
    if (order == '|' && dtype->size() > 1 && kind != "V2") bad();
    header->dtype = *dtype;
    header->swap = order == '>' && dtype->size() > 1;
  }
  static std::string printable(std::string_view text) {
    std::string result(text.substr(0, 40));
    std::replace_if(
        result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return result;
  }
  static std::string describe(std::string_view kind) {
    switch (kind.empty() ? ' ' : kind[0]) {
      case 'c':
        return "complex numbers";
      case 'O':
        return "Python objects";
      case 'S':
      case 'a':
      case 'U':
        return "text";
      case 'M':
      case 'm':
        return "times";
      case 'V':
        return "raw bytes";
    }
    return "unknown";
  }

  std::string_view text_;
  const ByteSource& source_;
  size_t at_ = 0;
};

Header read_header(ByteSource& source) {
  unsigned char start[8];
  if (source.remaining() < sizeof start) source.fail("this is not a .npy file: it is too short");
  source.read(start, sizeof start);
  if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0) source.fail("this is not a .npy file");
  if (start[6] < 1 || start[6] > 3 || start[7] != 0) {
    source.fail("version " + std::to_string(start[6]) + "." + std::to_string(start[7]) +
                " of the .npy format is unknown");
  }
  unsigned char length_bytes[4] = {};
  source.read(length_bytes, start[6] == 1 ? 2 : 4);
  uint32_t length = 0;
  for (int i = 3; i >= 0; --i) length = length << 8 | length_bytes[i];
  if (length > kLongestHeader) {
    source.fail("the header claims " + std::to_string(length) + " bytes, more than " +
                std::to_string(kLongestHeader));
  }
  if (length > source.remaining()) source.fail("the header is cut short");
  std::string text(length, '\0');
  source.read(text.data(), length);
  return HeaderParser(text, source).parse();
}

void swap_bytes(const NDArray& array) {
  size_t width = array.dtype().size();
  auto* at = static_cast<std::byte*>(array.raw());
  for (int64_t i = 0; i < array.size(); ++i, at += width) std::reverse(at, at + width);
}

std::string header_text(const NDArray& array) {
  DType t = array.dtype();
  std::string descr;
  if (t.is_bool()) {
    descr = "|b1";
  } else if (t == kBFloat16) {
    descr = "<V2";
  } else {
    descr = t.size() == 1 ? "|" : "<";
    descr += t.is_signed() ? 'i' : t.is_unsigned() ? 'u' : 'f';
    descr += std::to_string(t.size());
  }
  std::string text = "{'descr': '" + descr +
                     "', 'fortran_order': False, 'shape': " + shape_text(array.shape()) + ", }";
  size_t before = kMagic.size() + 4;
  while ((before + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  return text;
}

}  // namespace

NDArray read_npy(ByteSource& source) {
  Header header = read_header(source);
  Shape stored = header.shape;
  if (header.fortran_order) std::reverse(stored.begin(), stored.end());
  int64_t count = 0;
  try {
    count = element_count(stored);
  } catch (const Error& error) {
    source.fail(error.what());
  }
  // Divide: the product of a lying header could overflow.
  uint64_t available = source.remaining();
  uint64_t width = header.dtype.size();
  if (static_cast<uint64_t>(count) > available / width) {
    source.fail("the header promises " + std::to_string(count) + " elements of " +
                std::string(header.dtype.name()) + ", but only " + std::to_string(available) +
                " bytes follow");
  }
  if (static_cast<uint64_t>(count) * width != available) {
    source.fail(std::to_string(available - static_cast<uint64_t>(count) * width) +
                " bytes follow the data that the header promises");
  }
  NDArray array = NDArray::empty(stored, header.dtype);
  source.read(array.raw(), array.byte_size());
  if (header.swap) swap_bytes(array);
  normalize_bools(array);
  return header.fortran_order ? array.transpose().contiguous() : array;
}

NDArray read_npy(const std::string& path) {
  InputFile file(path);
  if (file.size() == 0) file.fail("the file is empty");
  char start[6] = {};
  if (file.size() > sizeof start) file.read_at(0, start, sizeof start);
  if (file.size() > sizeof start && std::memcmp(start, kMagic.data(), sizeof start) != 0) {
    file.fail("this is not a .npy file");
  }
  FileSource source(file);
  return read_npy(source);
}

uint64_t npy_size(const NDArray& array) {
  return kMagic.size() + 4 + header_text(array).size() + array.byte_size();
}

void write_npy(ByteSink& sink, const NDArray& array) {
  std::string text = header_text(array);
  sink.write(kMagic.data(), kMagic.size());
  unsigned char rest[4] = {1, 0, static_cast<unsigned char>(text.size() & 255),
                           static_cast<unsigned char>(text.size() >> 8)};
  sink.write(rest, sizeof rest);
  sink.write(text.data(), text.size());
  write_elements(sink, array);
}

void write_npy(const std::string& path, const NDArray& array) {
  OutputFile file(path);
  write_npy(file, array);
  file.commit();
}

}  // namespace relay

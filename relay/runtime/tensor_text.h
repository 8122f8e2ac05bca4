// Tensors as text: `[[1, 2], [3, 4]]:int64`, `ones(2, 3)`, `random(2, normal)`, `@x.npz:name`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <relay/runtime/value_text.h>

namespace relay {

/// A position in a text that is read, and messages about places in it.
class TextCursor {
 public:
  TextCursor(std::string_view text, size_t shift) : text_(text), shift_(shift) {}

  bool at_end() const { return at_ >= text_.size(); }
  /// The next byte that is no space; 0 at the end.
  char peek();
  bool accept(char c);
  void expect(char c);
  /// Takes a word of letters, digits and `_` (none at first), or nothing.
  std::string_view word();
  /// Takes a text in double quotes, with the escapes of JSON that stand for one character.
  std::string quoted();
  void skip_space();
  size_t at() const { return at_; }
  void move_to(size_t at) { at_ = at; }
  std::string_view text() const { return text_; }
  [[noreturn]] void fail(const std::string& message) const { fail(message, at_); }
  /// Says where, unless the whole value is meant.
  [[noreturn]] void fail(const std::string& message, size_t at) const;

 private:
  std::string_view text_;
  size_t shift_;  // of text_ in what the user wrote
  size_t at_ = 0;
};

/// Reads tensors, one after the other: those of one value get different random numbers.
class TensorReader {
 public:
  TensorReader(TextCursor& cursor, const WantedValue& wanted);
  /// `type` is of kind kTensor or kAny. `inside`: the tensor is a part of a value, so that a
  /// bracket or comma ends the name of a file.
  NDArray read(const TypeInfo& type, bool inside);

  /// What is in the parentheses of random(…).
  struct Random {
    bool has_shape = false;
    std::vector<int64_t> shape;
    Distribution distribution;
    std::optional<uint64_t> seed;
  };
  Random read_random();

 private:
  struct Numbers;  // of a literal in row-major order

  std::optional<DType> read_dtype();
  std::string_view read_item();
  int64_t read_extent();
  void read_nested(Numbers& numbers);
  void close_list(Numbers& numbers);
  bool next_item(Numbers& numbers);
  NDArray fill(const Numbers& numbers, DType dtype);
  void write(std::string_view item, DType dtype, void* to) const;
  NDArray read_filled(std::string_view word, const TypeInfo& type);
  NDArray read_random_tensor(const TypeInfo& type);
  NDArray read_file(bool inside);
  NDArray fresh(const std::vector<int64_t>& shape, DType dtype, const TypeInfo& type) const;
  static DType natural_dtype(const Numbers& numbers);

  TextCursor& cursor_;
  const WantedValue& wanted_;
  std::mt19937_64 generator_;
};

}  // namespace relay

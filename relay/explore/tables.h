// The tables that all parts of a document refer to by number: texts, places, constants.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <relay/explore/json_writer.h>
#include <relay/runtime/ndarray.h>
#include <relay/support/span.h>
#include <relay/vm/machine/executable.h>

namespace relay::explore {

/// Equal entries have one number. -1 stands for nothing.
class Tables {
 public:
  int32_t text(std::string_view text);
  /// The lines of a text, each by its number.
  std::vector<int32_t> lines(std::string_view text);
  /// A place of source text; -1 if it is unknown or its source is gone.
  int32_t place(Span span);
  /// A place that an executable knows. The source itself is taken if the program has it, else the
  /// lines that the executable kept.
  int32_t place(const vm::Executable& executable, uint32_t position);
  /// A constant, whose statistics the document will have. Keeps it alive.
  int32_t constant(const NDArray& array);

  /// The fields `texts`, `sources`, `places` and `constants`.
  void write(JsonWriter& json) const;

 private:
  struct SourceText {
    std::string name;
    std::string text;
    std::vector<uint64_t> line_starts;
  };
  int32_t place_in(uint32_t source, uint64_t begin, uint64_t length);
  uint32_t kept_lines(const vm::Executable& executable, const std::string& file);
  void write_constant(JsonWriter& json, const NDArray& array) const;

  std::unordered_map<std::string, int32_t> texts_;
  std::vector<const std::string*> text_list_;
  std::vector<SourceText> sources_;
  std::unordered_map<const Source*, uint32_t> source_numbers_;
  std::vector<std::shared_ptr<const Source>> kept_;
  std::map<std::string, uint32_t> source_names_;
  /// For sources that are made of an executable's lines: where each of them begins.
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> kept_line_starts_;
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, int32_t> places_;
  std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> place_list_;
  std::unordered_map<const void*, int32_t> constant_numbers_;
  std::vector<NDArray> constants_;
};

/// The numbers of a tensor in few: `{"type", "shape", "size", "min", "max", "mean", "std", "zeros",
/// "bad", "histogram", "first"}`. `bad` counts infinities and not-a-number, which the others leave
/// out.
void write_statistics(JsonWriter& json, const NDArray& array);

}  // namespace relay::explore

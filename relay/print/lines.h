// Printed text with the source place of each line: for putting comments back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <relay/ir/module.h>

namespace relay {

/// A line of printed text that begins a definition, a binding or a final expression.
struct PrintedLine {
  size_t offset = 0;    // the beginning of the line in the text
  uint64_t source = 0;  // the beginning of its source (Span::begin); 0: unknown
};

struct PrintedDefinition {
  bool data = false;   // of a data type: it begins with its first constructor, if that is known
  uint64_t begin = 0;  // in the source; 0: unknown
  uint64_t end = 0;
  size_t close = 0;  // the beginning of the line with the closing brace in the text
  std::vector<PrintedLine> lines;
};

struct PrintedModule {
  std::string text;
  size_t head = 0;  // the beginning of the text, after the version line
  size_t end = 0;   // the end of the definitions in the text: only metadata follow
  std::vector<PrintedDefinition> definitions;
};

/// print_module with the places of the lines. With `only`, the definitions of that text; `head`
/// stands before the definitions.
PrintedModule print_module_lines(const Module& module, const Source* only = nullptr,
                                 std::string_view head = {});

}  // namespace relay

// Printed text with what each of its lines says in the source: for putting comments back.
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
  size_t offset = 0;    // where the line begins in the text
  uint64_t source = 0;  // where what it says begins in the source (Span::begin); 0: unknown
};

struct PrintedDefinition {
  bool data = false;   // of a data type: it begins with its first constructor, as far as is known
  uint64_t begin = 0;  // in the source; 0: unknown
  uint64_t end = 0;
  size_t close = 0;  // where the line with the closing brace begins in the text
  std::vector<PrintedLine> lines;
};

struct PrintedModule {
  std::string text;
  size_t head = 0;  // where the text begins, after the version line
  size_t end = 0;   // of the definitions in the text: only metadata follow
  std::vector<PrintedDefinition> definitions;
};

/// print_module with the places of the lines. With `only`, what that text defines; `head` stands
/// before the definitions.
PrintedModule print_module_lines(const Module& module, const Source* only = nullptr,
                                 std::string_view head = {});

}  // namespace relay

// Definitions from elsewhere: files of the standard library, another module.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <relay/ir/module.h>

namespace relay {

/// A line `import "prelude.rly"`.
struct ImportLine {
  std::string file;
  size_t begin = 0;  // of the string in the text
  size_t end = 0;
};

struct ImportLines {
  std::vector<ImportLine> lines;
  size_t end = 0;  // of the lines in the text
};

/// The imports at the beginning of a program's text.
ImportLines find_imports(std::string_view text);

/// A file of the standard library ("prelude.rly", "prelude") as a module, with its imports. Throws
/// `Error` that lists the files if it does not exist.
Module standard_module(std::string_view file);

/// Adds a file of the standard library and its imports; definitions that exist already stay. Throws
/// `Error`, and adds nothing, if the module defines a name of the file differently: another data
/// type, or a function with another signature.
void import_standard(Module& module, std::string_view file);

/// True if a place is in a file of the standard library.
bool is_imported(Span span);

}  // namespace relay

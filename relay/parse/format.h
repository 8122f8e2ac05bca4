// Program text in its standard form, comments included.
#pragma once

#include <string>

#include <relay/parse/parse.h>

namespace relay {

/// The printed program with the comments of its text, each on a line of its own before the
/// definition, binding or final expression that it stands before or beside. Comments after the last
/// part of a definition go before its closing brace, and those after all definitions to the end.
/// Type and span comments (`/* ty=… */`) are not kept. Formatting the result changes nothing.
/// Imports stay imports. `module` is the result of parsing `source`; without `comments`, they are
/// left out.
std::string format_program(const Module& module, const Source& source, bool comments = true);

}  // namespace relay

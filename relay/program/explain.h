// Columns of a program as text beside it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <relay/program/program.h>

namespace relay {

/// A column that can be written beside the text of a program.
struct ColumnText {
  std::string_view name;
  std::string_view doc;  // one line that says how to read it
  bool typed;            // types must be published
  std::function<std::string(const Program& program, const View& view, uint32_t id)> text;
};
const std::vector<ColumnText>& column_texts();

/// The program with a column in comments: after each expression its number and what the column
/// says of it; a let has its own behind those of its variable. Throws `Error`, with the nearest
/// names, if there is no such column.
std::string explain_program(const Program& program, std::string_view column);

}  // namespace relay

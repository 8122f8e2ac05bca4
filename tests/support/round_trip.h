// Printed programs parsed again.
#pragma once

#include <string>

#include <relay/ir/equal.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>

namespace relay::testing {

/// Prints, parses, compares; says what is wrong, or nothing.
inline std::string round_trip_problem(const Module& module) {
  std::string text = print_module(module);
  ParseResult again = parse_text("printed", text);
  if (!again.ok()) return render(again.diagnostics) + "\n" + text;
  std::string why;
  if (!structural_equal(module, again.module, {}, &why))
    return why + "\n" + text + "\nagain:\n" + print_module(again.module);
  if (print_module(again.module) != text)
    return "printed again differently:\n" + text + "\n" + print_module(again.module);
  return {};
}

}  // namespace relay::testing

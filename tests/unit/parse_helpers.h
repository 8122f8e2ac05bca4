// The helpers that the parser's tests share.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <relay/ir/equal.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>

namespace relay::testing {

/// The program as printed, or the rendered errors.
inline std::string reprint(const std::string& text) {
  ParseResult result = parse_text("t", text);
  if (!result.ok()) return render(result.diagnostics);
  PrintOptions options;
  options.version_line = false;
  return print_module(result.module, options);
}

/// Expects two texts to be the same program.
inline void expect_same(const std::string& a, const std::string& b) {
  ParseResult left = parse_text("a", a);
  ParseResult right = parse_text("b", b);
  ASSERT_TRUE(left.ok()) << a << "\n" << render(left.diagnostics);
  ASSERT_TRUE(right.ok()) << b << "\n" << render(right.diagnostics);
  std::string why;
  EXPECT_TRUE(structural_equal(left.module, right.module, {}, &why))
      << a << "\n"
      << b << "\n"
      << why << "\n"
      << print_module(left.module) << print_module(right.module);
}

/// The messages of all errors and warnings with the place of each: "2:5 message".
inline std::vector<std::string> problems(const std::string& text) {
  ParseResult result = parse_text("t", text);
  std::vector<std::string> messages;
  for (const Diagnostic& diagnostic : result.diagnostics) {
    Location place = SourceMap::locate(diagnostic.span);
    messages.push_back(std::to_string(place.line) + ":" + std::to_string(place.column) + " " +
                       diagnostic.message);
  }
  return messages;
}

/// The only problem, or all of them in a row.
inline std::string problem(const std::string& text) {
  std::string all;
  for (const std::string& message : problems(text)) all += (all.empty() ? "" : " | ") + message;
  return all;
}

/// The span of a node as text.
inline std::string text_at(const std::string& text, Span span) {
  auto source = SourceMap::find(span);
  if (source == nullptr) return "?";
  return text.substr(span.begin() - source->base(), span.length());
}

}  // namespace relay::testing

// IR to text: the 0.0.5 spelling if it has one (language.md §1, §2).
#pragma once

#include <string>

#include <relay/ir/module.h>

namespace relay {

struct PrintOptions {
  bool version_line = true;   // `#[version = "0.0.5"]`
  bool show_metadata = true;  // constants in a `#[metadata]` section; else `meta[…][i]` without it
  bool show_types = false;    // `/* ty=… */` comments after expressions with a published type
  bool show_spans = false;
};

/// A whole module; parses back to a structurally equal one.
std::string print_module(const Module& module, const PrintOptions& options = {});
/// One expression, without version line. Graph nodes are bound where E2 runs them.
std::string print_expr(const Expr* expr, const PrintOptions& options = {});
std::string print_pattern(const Pattern* pattern);
/// An expression on one line for messages, cut to about `width` characters.
std::string print_short(const Expr* expr, size_t width = 60);

}  // namespace relay

// IR as JSON, for other programs to read.
#pragma once

#include <string>

#include <relay/ir/module.h>

namespace relay {

/// `{"types": […], "functions": [{"name", "root"}], "nodes": […]}`. Nodes are listed operands
/// first; operands, binders and roots are indices into the list. Each node has `kind`, its fields
/// as in nodes.def, `operands`, and `type` if it is known. Types are text.
std::string print_json(const Module& module);
std::string print_json(const Expr* expr);

}  // namespace relay

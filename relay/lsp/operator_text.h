// Operators as an editor shows them.
#pragma once

#include <string>
#include <vector>

#include <relay/lsp/chunk.h>
#include <relay/op/op.h>

namespace relay::lsp {

/// "nn.softmax(data, axis=-1)".
std::string operator_form(const Operator& op);
/// Its inputs, and its attributes with their defaults.
std::vector<std::string> operator_parameters(const Operator& op);
/// What it does, and what each input and attribute is, in Markdown.
std::string operator_documentation(const Operator& op);
/// The operator whose arguments an offset of a chunk is in, or null.
const Operator* operator_around(const Chunk& chunk, size_t offset);

}  // namespace relay::lsp

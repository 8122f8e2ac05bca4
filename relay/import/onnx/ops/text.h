// Tensors of strings that only a run knows, in ordinary operators: a word is a row of bytes
// (GraphValue::text), and operators that ask for words look their rows up.
#pragma once

#include <string>
#include <vector>

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// Bytes (…, width) of uint8 as a tensor (…) of strings. Zeros at the end of a row are no part of
/// its word.
GraphValue text_of_bytes(NodeContext& node, const GraphValue& bytes);
/// The bytes (…, width) of a tensor (…) of strings, zeros behind the end of each word.
GraphValue bytes_of_text(NodeContext& node, const GraphValue& text);

/// Where each element of a tensor of strings stands among `words`, int64 in the tensor's shape: the
/// first place of several, and the number of words if it is none of them. It takes one product over
/// the bytes of each row and a binary search, however many words there are.
GraphValue place_among(NodeContext& node, const GraphValue& text,
                       const std::vector<std::string>& words);

/// Strings one behind the other along an axis.
GraphValue concat_text(NodeContext& node, const std::vector<GraphValue>& parts, int64_t axis);
/// Strings of `yes` where the condition holds, else of `no`.
GraphValue where_text(NodeContext& node, const GraphValue& condition, const GraphValue& yes,
                      const GraphValue& no);
/// True where two tensors of strings, broadcast, have the same word.
GraphValue equal_text(NodeContext& node, const GraphValue& a, const GraphValue& b);

}  // namespace relay::onnx

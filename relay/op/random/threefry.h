// Numbers from keys, for the definitions of random operators.
#pragma once

#include <functional>
#include <vector>

#include <relay/op/op.h>

namespace relay {

inline const char* const kKeyDoc =
    "A key: 10 words. That of a seed is [seed, 0, 0, 0, 0, 0, 0, 0, 2^63, 0]. Numbers are drawn "
    "from a key once; what is drawn next takes the key that comes with them.";

/// The type of a key; requires input 0 to be one.
TypeRef key_type(const RelationCall& call);
/// Extents of drawn numbers from an attribute; refuses impossible ones.
std::vector<Dim> drawn_dims(const RelationCall& call, const std::vector<int64_t>& shape);

struct Drawn {
  te::Tensor key;      // for the next draw
  te::Tensor numbers;  // convert(64 random bits) for each
};
/// Draws numbers in row-major order; the new key stands behind them.
Drawn draw(te::Builder& b, const te::Tensor& key, const std::vector<Dim>& dims,
           const std::function<te::Scalar(te::Scalar bits)>& convert);

}  // namespace relay

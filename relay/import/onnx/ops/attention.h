// Parts that the attention operators of all domains share.
#pragma once

#include <functional>
#include <optional>

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// (batch, sequence, heads · extent) as (batch, heads, sequence, extent). The error where the last
/// extent is no multiple of the heads calls the value `what`.
GraphValue split_heads(NodeContext& node, const GraphValue& x, int64_t heads,
                       std::string_view what);
/// (batch, heads, sequence, extent) as (batch, sequence, heads · extent).
GraphValue merge_heads(NodeContext& node, const GraphValue& x);

/// 0, 1, … extent - 1 as a vector of int64.
GraphValue positions(NodeContext& node, Dim extent);
/// An extent as an int64 of rank 0.
GraphValue extent_value(NodeContext& node, Dim extent);

/// The last extent of a head, which has to be known.
int64_t head_extent(NodeContext& node, const GraphValue& x, std::string_view what);

/// Attention of queries (batch, heads, queries, extent) to keys and values (batch, key heads, keys,
/// extent); each head of keys serves as many heads of queries in a row.
struct Attention {
  GraphValue query, key, value;
  std::optional<double> scale;  // by default 1 / √(extent of a query)
  double softcap = 0;
  GraphValue bias;     // added to the scores; may be nothing
  GraphValue visible;  // bool: what may be seen; may be nothing
  DType precision;     // of the scores and of softmax
  /// The score and the share as a graph of the model changes them; may be empty.
  std::function<GraphValue(const GraphValue&)> change_scores, change_weights;
  /// A score for each head (heads) that takes a share of softmax and is no key's; may be nothing.
  GraphValue sink = {};
};

/// The values that attention makes on its way, each (batch, heads, queries, keys) but the result.
struct Attended {
  GraphValue result;
  GraphValue products;  // scaled
  GraphValue capped;    // after softcap
  GraphValue weights;   // after softmax
};

Attended attend(NodeContext& node, const Attention& of);
/// Scores with the bias, and -∞ where nothing is seen: what softmax is of.
GraphValue masked_scores(NodeContext& node, const Attention& of, GraphValue scores);

/// Which keys a query may see by its place.
struct Places {
  bool causal = false;
  int64_t left = -1, right = -1;  // how far a query sees; -1: all the way
  bool any() const { return causal || left >= 0 || right >= 0; }
};

/// The keys that queries see, as a bool of (queries, keys). `offset` is the number of keys before
/// the first query, of rank 0 or (batch, 1, 1, 1).
GraphValue seen_by_place(NodeContext& node, const Places& places, Dim queries, Dim keys,
                         const GraphValue& offset);

/// Rows turned by the angles of their places: x (batch, heads, sequence, extent), cosines and sines
/// (1 or batch, 1, sequence, pairs).
GraphValue rotate(NodeContext& node, const GraphValue& x, const GraphValue& cosines,
                  const GraphValue& sines, bool interleaved);

}  // namespace relay::onnx

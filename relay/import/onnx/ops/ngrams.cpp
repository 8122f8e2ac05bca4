// TfIdfVectorizer: how often n-grams of a list occur in each row, of integers or of words.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include <relay/import/onnx/ops/text.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

// A list of n-grams of one length, and the columns of the result that count them.
struct Grams {
  int64_t length = 0;
  std::vector<int64_t> items;  // of one n-gram after the other
  std::vector<int64_t> columns;
};

// The list as the node has it, from the shortest n-grams to the longest.
struct Vocabulary {
  std::vector<Grams> lengths;
  int64_t columns = 0;
};

// Items as numbers: `x` becomes places among the strings of the pool, if it has strings.
std::vector<int64_t> read_pool(NodeContext& node, GraphValue& x) {
  bool words = node.has_attr("pool_strings");
  node.require(words == x.is_text(), words ? "the pool has strings, the items are numbers"
                                           : "the items are strings, the pool has numbers");
  if (!words) {
    x = node.cast(x, kInt64);
    return node.attr_ints("pool_int64s");
  }
  node.require(!node.has_attr("pool_int64s"), "pool_strings and pool_int64s are both given");
  std::vector<std::string> strings = node.attr_strings("pool_strings"), distinct;
  std::unordered_map<std::string_view, int64_t> known;
  std::vector<int64_t> pool;
  for (const std::string& word : strings) {
    auto [place, added] = known.emplace(word, distinct.size());
    if (added) distinct.push_back(word);
    pool.push_back(place->second);
  }
  x = place_among(node, x, distinct);
  return pool;
}

Vocabulary read_vocabulary(NodeContext& node, const std::vector<int64_t>& pool) {
  std::vector<int64_t> begins = node.attr_ints("ngram_counts");
  std::vector<int64_t> columns = node.attr_ints("ngram_indexes");
  Vocabulary result;
  size_t gram = 0;
  for (size_t k = 0; k < begins.size(); ++k) {
    auto end = k + 1 < begins.size() ? begins[k + 1] : static_cast<int64_t>(pool.size());
    auto length = static_cast<int64_t>(k + 1);
    node.require(begins[k] >= 0 && begins[k] <= end && end <= static_cast<int64_t>(pool.size()) &&
                     (end - begins[k]) % length == 0,
                 "ngram_counts: entry " + std::to_string(k) + " does not fit the " +
                     std::to_string(pool.size()) + " entries of the pool");
    Grams grams{length, {pool.begin() + begins[k], pool.begin() + end}, {}};
    size_t count = grams.items.size() / (k + 1);
    node.require(gram + count <= columns.size(), "ngram_indexes has too few entries");
    for (; count > 0; --count) grams.columns.push_back(columns[gram++]);
    result.lengths.push_back(std::move(grams));
  }
  node.require(gram == columns.size(), "ngram_indexes has " + std::to_string(columns.size()) +
                                           " entries for " + std::to_string(gram) + " n-grams");
  for (int64_t column : columns) {
    node.require(column >= 0, "ngram_indexes has " + std::to_string(column));
    node.countable(column, "columns of the result");
    result.columns = std::max(result.columns, column + 1);
  }
  node.require(result.columns > 0, "ngram_indexes is empty");
  return result;
}

constexpr int64_t kFar = std::numeric_limits<int64_t>::max();

// Rows of integers moved to the front by `by` places; zeros follow.
GraphValue moved(NodeContext& node, const GraphValue& rows, int64_t by) {
  if (by == 0) return rows;
  GraphValue zero = node.reshape(node.scalar(rows.dtype(), 0), {Dim(1), Dim(1)});
  GraphValue zeros = node.broadcast_to(zero, std::vector<Dim>{rows.dim(0), Dim(by)});
  return node.slice(node.concat({rows, zeros}, 1), 1, by, kFar);
}

// How often each n-gram occurs in each row if `stride` is from one of its items to the next.
GraphValue occurrences(NodeContext& node, const GraphValue& rows, const Grams& grams,
                       int64_t stride) {
  auto count = static_cast<int64_t>(grams.columns.size());
  GraphValue found;
  for (int64_t k = 0; k < grams.length; ++k) {
    std::vector<int64_t> items;
    for (int64_t g = 0; g < count; ++g) {
      items.push_back(grams.items[static_cast<size_t>(g * grams.length + k)]);
    }
    GraphValue here = node.unsqueeze(moved(node, rows, k * stride), {2});
    GraphValue same = node.emit("equal", {here, node.int_list(items)});
    found = found ? node.emit("logical_and", {found, same}) : same;
  }
  if (grams.length > 1) {
    // The last item must lie in the row, not in the zeros behind it.
    GraphValue inside = moved(node, node.emit("ones_like", {rows}), (grams.length - 1) * stride);
    inside = node.cast(node.unsqueeze(inside, {2}), kBool);
    found = node.emit("logical_and", {found, inside});
  }
  return node.emit("sum", {node.cast(found, kFloat32)}, {{"axis", std::vector<int64_t>{1}}});
}

// Counts of all n-grams in columns, as the list orders them, to the columns of the result.
GraphValue placed(NodeContext& node, std::vector<GraphValue> counts, const GraphValue& rows,
                  const std::vector<int64_t>& columns, int64_t width) {
  GraphValue zero = node.reshape(node.scalar(kFloat32, 0), {Dim(1), Dim(1)});
  counts.push_back(node.broadcast_to(zero, std::vector<Dim>{rows.dim(0), Dim(1)}));
  auto none = static_cast<int64_t>(columns.size());  // the column of zeros
  std::vector<int64_t> from(static_cast<size_t>(width), none);
  for (size_t g = 0; g < columns.size(); ++g) {
    int64_t& place = from[static_cast<size_t>(columns[g])];
    node.require(place == none, "ngram_indexes has " + std::to_string(columns[g]) + " twice");
    place = static_cast<int64_t>(g);
  }
  return node.emit("take", {node.concat(counts, 1), node.int_list(from)}, {{"axis", 1}});
}

GraphValue weighted(NodeContext& node, GraphValue counts, int64_t width) {
  std::string mode = node.attr_string("mode");
  node.require(mode == "TF" || mode == "IDF" || mode == "TFIDF", "mode is " + quoted(mode));
  std::vector<double> weights = node.attr_floats("weights", std::vector<double>());
  if (mode == "TF") return counts;
  if (mode == "IDF") {
    counts = node.cast(node.emit("greater", {counts, node.scalar(kFloat32, 0)}), kFloat32);
  }
  if (weights.empty()) return counts;
  node.require(static_cast<int64_t>(weights.size()) == width,
               "weights has " + std::to_string(weights.size()) + " entries for " +
                   std::to_string(width) + " columns");
  NDArray row = NDArray::from<double>(Shape{width}, std::span<const double>(weights));
  return node.emit("multiply", {counts, node.constant_value(row.cast(kFloat32))});
}

Values convert_tf_idf_vectorizer(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.rank() == 1 || x.rank() == 2,
               "the items have " + std::to_string(x.rank()) + " axes, not 1 or 2");
  int64_t shortest = node.attr_int("min_gram_length"), longest = node.attr_int("max_gram_length");
  int64_t skips = node.attr_int("max_skip_count");
  node.require(shortest >= 1 && shortest <= longest,
               "min_gram_length is " + std::to_string(shortest) + ", max_gram_length " +
                   std::to_string(longest));
  constexpr int64_t kMostSkips = 1000;
  node.require(skips >= 0 && skips <= kMostSkips, "max_skip_count is " + std::to_string(skips));
  std::vector<int64_t> pool = read_pool(node, x);
  Vocabulary vocabulary = read_vocabulary(node, pool);
  bool single = x.rank() == 1;
  GraphValue rows = single ? node.unsqueeze(x, {0}) : x;
  std::vector<GraphValue> counts;
  std::vector<int64_t> columns;
  for (const Grams& grams : vocabulary.lengths) {
    if (grams.length < shortest || grams.length > longest || grams.columns.empty()) continue;
    GraphValue total;
    // A single item has no next one that a skip would move.
    for (int64_t stride = 1; stride <= (grams.length == 1 ? 1 : skips + 1); ++stride) {
      // Items of a longer reach than a row has are nowhere; the first stride gives their zeros.
      const Dim width = rows.dim(1);
      const bool reaches = width.is_int() && (grams.length - 1) * stride >= width.as_int();
      if (reaches && stride > 1) break;
      GraphValue found = occurrences(node, rows, grams, stride);
      total = total ? node.emit("add", {total, found}) : found;
    }
    counts.push_back(total);
    columns.insert(columns.end(), grams.columns.begin(), grams.columns.end());
  }
  GraphValue result = placed(node, counts, rows, columns, vocabulary.columns);
  result = weighted(node, result, vocabulary.columns);
  return {single ? node.reshape(result, {Dim(vocabulary.columns)}) : result};
}
RELAY_ONNX("TfIdfVectorizer", 9, convert_tf_idf_vectorizer)

}  // namespace
}  // namespace relay::onnx

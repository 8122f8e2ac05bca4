#include <relay/import/onnx/ops/text.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include <relay/import/onnx/ops/run_time.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;
using Strings = std::vector<std::string>;

constexpr int64_t kEveryByte = std::numeric_limits<int64_t>::max();

// Words as rows of as many bytes as the longest has, and at least one.
NDArray rows_of_bytes(NodeContext& node, const Strings& words) {
  size_t width = 1;
  for (const std::string& word : words) width = std::max(width, word.size());
  node.countable(static_cast<int64_t>(width * words.size()), "the bytes of the strings");
  std::vector<uint8_t> bytes(width * words.size(), 0);
  for (size_t k = 0; k < words.size(); ++k) {
    node.require(words[k].find('\0') == std::string::npos, "a string has a zero byte");
    std::copy(words[k].begin(), words[k].end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(k * width));
  }
  Shape shape{static_cast<int64_t>(words.size()), static_cast<int64_t>(width)};
  return NDArray::from<uint8_t>(shape, std::span<const uint8_t>(bytes));
}

// The tables that the elements of a tensor of strings are rows of.
Values tables_of(NodeContext& node, const GraphValue& text) {
  if (text.text() != nullptr) return *text.text();
  return {node.constant_value(rows_of_bytes(node, *text.strings()))};
}

GraphValue zeros(NodeContext& node, std::vector<Dim> dims) {
  std::vector<Dim> ones(dims.size(), Dim(1));
  return node.broadcast_to(node.reshape(node.scalar(kUInt8, 0), ones), dims);
}

// Rows (…, a) of bytes with as many zeros behind them.
GraphValue padded(NodeContext& node, const GraphValue& rows, Dim by) {
  std::vector<Dim> dims(rows.dims().begin(), rows.dims().end());
  dims.back() = by;
  return node.concat({rows, zeros(node, dims)}, static_cast<int64_t>(dims.size()) - 1);
}

// Words, each once, in the order of a number that a sum over their bytes gives. No two of them have
// the same.
struct Index {
  std::vector<int64_t> factors;  // of the bytes
  std::vector<int64_t> sums;     // rising
  std::vector<int64_t> places;   // of the words that have them, in the list
};

std::optional<Index> try_index(const NDArray& rows, uint64_t seed) {
  int64_t count = rows.extent(0), width = rows.extent(1);
  Index index;
  // The sum stays below 2^62.
  uint64_t most = (uint64_t{1} << 62) / (255 * static_cast<uint64_t>(width));
  for (int64_t k = 0; k < width; ++k) {
    // splitmix64
    uint64_t z = (seed += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    index.factors.push_back(static_cast<int64_t>((z ^ (z >> 31)) % most));
  }
  std::vector<int64_t> sums(static_cast<size_t>(count), 0), order(static_cast<size_t>(count));
  const uint8_t* bytes = rows.data<uint8_t>();
  for (int64_t k = 0; k < count * width; ++k) {
    sums[static_cast<size_t>(k / width)] +=
        bytes[k] * index.factors[static_cast<size_t>(k % width)];
  }
  std::iota(order.begin(), order.end(), 0);
  auto sum = [&](int64_t k) { return sums[static_cast<size_t>(k)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return sum(a) < sum(b); });
  for (int64_t k : order) {
    if (!index.sums.empty() && index.sums.back() == sum(k)) {
      const uint8_t* other = bytes + index.places.back() * width;
      if (!std::equal(other, other + width, bytes + k * width)) return std::nullopt;
      continue;  // the same word again: the first one counts
    }
    index.sums.push_back(sum(k));
    index.places.push_back(k);
  }
  return index;
}

// Where each row of a table is among the words.
GraphValue places_of_rows(NodeContext& node, const GraphValue& table, const NDArray& words,
                          const Index& index) {
  int64_t width = words.extent(1);
  std::vector<int64_t> columns(static_cast<size_t>(width));
  std::iota(columns.begin(), columns.end(), 0);
  GraphValue begins = node.emit("take", {padded(node, table, Dim(width)), node.int_list(columns)},
                                {{"axis", 1}, {"mode", "fast"}});
  AttrList across{{"axis", std::vector<int64_t>{1}}};
  GraphValue products =
      node.emit("multiply", {node.cast(begins, kInt64), node.int_list(index.factors)});
  GraphValue sums = node.emit("sum", {products}, across);
  GraphValue at = node.cast(node.emit("searchsorted", {node.int_list(index.sums), sums}), kInt64);
  // A word that has the sum need not be the row, and one behind the last has none.
  GraphValue place = node.emit("take", {node.int_list(index.places), at});
  GraphValue found = node.emit("take", {node.constant_value(words), place}, {{"axis", 0}});
  GraphValue same = node.emit("all", {node.emit("equal", {begins, found})}, across);
  GraphValue rest = node.slice(table, 1, width, kEveryByte);
  GraphValue longer =
      node.emit("any", {node.emit("not_equal", {rest, node.scalar(kUInt8, 0)})}, across);
  GraphValue hit = node.emit("logical_and", {same, node.emit("logical_not", {longer})});
  return node.emit("where", {hit, place, number_value(node, words.extent(0))});
}

}  // namespace

GraphValue text_of_bytes(NodeContext& node, const GraphValue& bytes) {
  std::vector<Dim> dims(bytes.dims().begin(), bytes.dims().end());
  Dim width = dims.back();
  dims.pop_back();
  Dim count = relay::product(dims);
  GraphValue table = node.reshape(bytes, std::vector<Dim>{count, width});
  GraphValue numbers = counted(node, extent_value(node, table, 0));
  return node.reshape(numbers, dims).of_text({table});
}

GraphValue bytes_of_text(NodeContext& node, const GraphValue& text) {
  Values tables = tables_of(node, text);
  Values rows;
  for (size_t k = 0; k < tables.size(); ++k) {
    // As wide as all together: the widest of them may be known to a run only.
    GraphValue table = tables[k];
    for (size_t other = 0; other < tables.size(); ++other) {
      if (other != k) table = padded(node, table, tables[other].dim(1));
    }
    rows.push_back(table);
  }
  return node.emit("take", {node.concat(rows, 0), text}, {{"axis", 0}});
}

GraphValue place_among(NodeContext& node, const GraphValue& text, const Strings& words) {
  if (words.empty()) return node.emit("zeros_like", {text});
  NDArray rows = rows_of_bytes(node, words);
  std::optional<Index> index;
  for (uint64_t seed = 1; !index; ++seed) index = try_index(rows, seed);
  Values places;
  for (const GraphValue& table : tables_of(node, text)) {
    places.push_back(places_of_rows(node, table, rows, *index));
  }
  return node.emit("take", {node.concat(places, 0), text});
}

namespace {

// The numbers of each part in the tables of all of them, which go into `tables`.
Values in_all_tables(NodeContext& node, const Values& parts, Values& tables) {
  Values numbers;
  GraphValue before;  // the rows of the tables so far
  for (const GraphValue& part : parts) {
    node.require(part.is_text(), "some inputs have strings, others numbers");
    numbers.push_back(before ? node.emit("add", {part, before}) : part);
    for (const GraphValue& table : tables_of(node, part)) {
      GraphValue count = extent_value(node, table, 0);
      before = before ? node.emit("add", {before, count}) : count;
      tables.push_back(table);
    }
  }
  return numbers;
}

}  // namespace

GraphValue concat_text(NodeContext& node, const Values& parts, int64_t axis) {
  Values tables;
  Values numbers = in_all_tables(node, parts, tables);
  return node.concat(numbers, axis).of_text(std::move(tables));
}

GraphValue where_text(NodeContext& node, const GraphValue& condition, const GraphValue& yes,
                      const GraphValue& no) {
  Values tables;
  Values numbers = in_all_tables(node, {yes, no}, tables);
  return node.emit("where", {condition, numbers[0], numbers[1]}).of_text(std::move(tables));
}

GraphValue equal_text(NodeContext& node, const GraphValue& a, const GraphValue& b) {
  node.require(a.is_text() && b.is_text(), "one input has strings, the other numbers");
  if (a.strings() && !b.strings()) return equal_text(node, b, a);
  // The words of a constant differ, so that their numbers are their places.
  if (b.strings()) return node.emit("equal", {place_among(node, a, *b.strings()), b});
  GraphValue left = bytes_of_text(node, a), right = bytes_of_text(node, b);
  Dim width = left.last_dim();
  left = padded(node, left, right.last_dim());
  right = padded(node, right, width);
  return node.emit("all", {node.emit("equal", {left, right})},
                   {{"axis", std::vector<int64_t>{-1}}});
}

namespace {

constexpr const char* kAsciiAlone = "changes the case of letters of ASCII alone";

// Bytes from `first` to `last` moved by so much.
GraphValue shifted(NodeContext& node, const GraphValue& bytes, char first, char last, int by) {
  auto byte = [&](int value) { return node.scalar(kUInt8, value); };
  GraphValue inside = node.emit("logical_and", {node.emit("greater_equal", {bytes, byte(first)}),
                                                node.emit("less_equal", {bytes, byte(last)})});
  GraphValue other =
      by > 0 ? node.emit("add", {bytes, byte(by)}) : node.emit("subtract", {bytes, byte(-by)});
  return node.emit("where", {inside, other, bytes});
}
constexpr int kToLower = 'a' - 'A';

Strings lowered(NodeContext& node, Strings words) {
  for (std::string& word : words) {
    for (char& letter : word) {
      node.require(static_cast<unsigned char>(letter) < 128, kAsciiAlone);
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + kToLower);
    }
  }
  return words;
}

// The rows (words, bytes) that are kept; one empty word if none is.
GraphValue kept_rows(NodeContext& node, const GraphValue& rows, const GraphValue& keep) {
  GraphValue none = node.emit("logical_not", {node.emit("any", {keep})});
  GraphValue more = node.concat({keep, node.reshape(none, {Dim(1)})}, 0);
  GraphValue places = node.emit("argwhere", {more}, {{"dtype", kInt64}});
  places = node.emit("squeeze", {places}, {{"axis", std::vector<int64_t>{1}}});
  GraphValue all = node.concat({rows, zeros(node, {Dim(1), rows.dim(1)})}, 0);
  return node.emit("take", {all, places}, {{"axis", 0}, {"mode", "fast"}});
}

Values convert_string_normalizer(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.is_text(), "the input has numbers");
  node.require(x.rank() == 1 || x.rank() == 2,
               "the words have " + std::to_string(x.rank()) + " axes, not 1 or 2");
  if (x.rank() == 2)
    node.demand(x.dim(0), Dim(1), "the words have " + x.dim(0).str() + " rows, not 1");
  std::string action = node.attr_string("case_change_action", "NONE");
  node.require(action == "NONE" || action == "LOWER" || action == "UPPER",
               "case_change_action is " + quoted(action));
  bool sensitive = node.attr_bool("is_case_sensitive", false);
  node.ignore({"locale"});  // letters of ASCII have the same case in each
  Strings stops = node.attr_strings("stopwords", Strings());
  GraphValue bytes = bytes_of_text(node, x);
  GraphValue rows =
      node.reshape(bytes, std::vector<Dim>{relay::product(x.dims()), bytes.last_dim()});
  if (action != "NONE" || (!sensitive && !stops.empty())) {
    GraphValue beyond = node.emit("greater_equal", {rows, node.scalar(kUInt8, 128)});
    GraphValue zero = zero_unless(node, node.emit("any", {beyond}), kAsciiAlone);
    rows = node.emit("add", {rows, node.cast(zero, kUInt8)});
  }
  GraphValue lower = shifted(node, rows, 'A', 'Z', kToLower);
  GraphValue changed = action == "LOWER"   ? lower
                       : action == "UPPER" ? shifted(node, rows, 'a', 'z', -kToLower)
                                           : rows;
  if (stops.empty()) {
    std::vector<Dim> dims(x.dims().begin(), x.dims().end());
    dims.push_back(changed.last_dim());
    return {text_of_bytes(node, node.reshape(changed, dims))};
  }
  GraphValue place = place_among(node, text_of_bytes(node, sensitive ? rows : lower),
                                 sensitive ? stops : lowered(node, stops));
  GraphValue keep =
      node.emit("equal", {place, number_value(node, static_cast<int64_t>(stops.size()))});
  GraphValue kept = kept_rows(node, changed, keep);
  if (x.rank() == 2) kept = node.unsqueeze(kept, {0});
  return {text_of_bytes(node, kept)};
}
RELAY_ONNX("StringNormalizer", 10, convert_string_normalizer)

}  // namespace
}  // namespace relay::onnx

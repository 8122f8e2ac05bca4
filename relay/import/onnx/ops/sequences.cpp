// Sequences and optional values. Of the latter it is known while the model is read whether they are
// there; the lengths of sequences are known, too, except for those that loops append to
// (loops.cpp), whose items are rows of a tensor. Neither is left in the program, except as tuples
// at its borders.
#include <algorithm>

#include <relay/import/onnx/ops/run_time.h>

namespace relay::onnx {
namespace {

using Values = std::vector<GraphValue>;

GraphValue sequence_of(NodeContext& node, size_t i) {
  GraphValue value = node.optional_input(i);
  node.require(value.is_sequence(), "input " + std::to_string(i) + " is no sequence");
  return value;
}

Values items_of(NodeContext& node, size_t i) {
  GraphValue value = sequence_of(node, i);
  node.require(value.before() == nullptr, "only a run knows how many items the sequence has");
  return value.items();
}

// Items along axis 0, of a sequence whose length only a run knows; nothing for others.
GraphValue rows_of(NodeContext& node, const GraphValue& sequence) {
  if (sequence.before() == nullptr) return {};
  node.require(!sequence.before()->is_mark(),
               "a loop appends to the sequence, so only the loop's result has all items");
  GraphValue rows = *sequence.before();
  for (const GraphValue& item : sequence.items()) {
    node.require(item.is_tensor(), "an item is no tensor");
    rows = with_row(node, rows, item, true, kItemsOfOneShape);
  }
  return rows;
}

// A position among `count` items, counted from the front; `limit` is the first one that is too far.
size_t checked_position(NodeContext& node, int64_t position, size_t count, size_t limit) {
  auto size = static_cast<int64_t>(count);
  if (position < -size || position >= static_cast<int64_t>(limit)) {
    node.fail("position " + std::to_string(position) + " is out of range for a sequence of " +
              std::to_string(count) + " items");
  }
  return static_cast<size_t>(position < 0 ? position + size : position);
}

size_t known_position(NodeContext& node, size_t i, size_t count, size_t limit) {
  std::vector<int64_t> position = node.ints(i, "the position");
  node.require(position.size() == 1,
               "the position has " + std::to_string(position.size()) + " elements");
  return checked_position(node, position[0], count, limit);
}

// Each item is a value of its own, and what changes a sequence makes a new one.
void require_items(NodeContext& node, size_t count) {
  constexpr size_t kMost = 10000;
  node.require(count <= kMost,
               "the sequence would have more than " + std::to_string(kMost) + " items");
}

Values convert_construct(NodeContext& node) {
  require_items(node, node.num_inputs());
  return {GraphValue::sequence(node.inputs())};
}
RELAY_ONNX("SequenceConstruct", 11, convert_construct)

Values convert_empty(NodeContext& node) {
  node.attr_dtype("dtype", kFloat32);
  return {GraphValue::sequence({})};
}
RELAY_ONNX("SequenceEmpty", 11, convert_empty)

Values convert_insert(NodeContext& node) {
  GraphValue sequence = sequence_of(node, 0);
  Values items = sequence.items();
  require_items(node, items.size() + 1);
  GraphValue item = node.input(1);
  if (sequence.before() != nullptr) {
    node.require(!node.has(2), "a sequence that a loop appends to takes items at its end alone");
    items.push_back(item);
    return {GraphValue::sequence_behind(*sequence.before(), std::move(items))};
  }
  size_t at = items.size();
  if (node.has(2)) at = known_position(node, 2, items.size(), items.size() + 1);
  items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), item);
  return {GraphValue::sequence(std::move(items))};
}
RELAY_ONNX("SequenceInsert", 11, convert_insert)

Values convert_erase(NodeContext& node) {
  Values items = items_of(node, 0);
  node.require(!items.empty(), "the sequence has no items");
  size_t at = items.size() - 1;
  if (node.has(1)) at = known_position(node, 1, items.size(), items.size());
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
  return {GraphValue::sequence(std::move(items))};
}
RELAY_ONNX("SequenceErase", 11, convert_erase)

Values convert_at(NodeContext& node) {
  if (GraphValue rows = rows_of(node, sequence_of(node, 0))) {
    GraphValue position = as_number(node, node.input(1), "the position");
    return {node.emit("adv_index", {node.tuple({rows, position})})};
  }
  Values items = items_of(node, 0);
  node.require(!items.empty(), "the sequence has no items");
  if (node.constant(1)) return {items[known_position(node, 1, items.size(), items.size())]};
  // Items of one type are rows of a tensor.
  for (const GraphValue& item : items) {
    node.require(item.type() == items[0].type(),
                 "the position is not known, and the items have different types, " +
                     items[0].type()->str() + " and " + item.type()->str());
  }
  GraphValue position = as_number(node, node.input(1), "the position");
  position = from_front(node, position, items.size());
  GraphValue rows = node.emit("stack", {node.tuple(items)}, {{"axis", 0}});
  return {node.emit("take", {rows, position}, {{"axis", 0}})};
}
RELAY_ONNX("SequenceAt", 11, convert_at)

Values convert_length(NodeContext& node) {
  if (GraphValue rows = rows_of(node, sequence_of(node, 0))) return {extent_value(node, rows, 0)};
  return {number_value(node, static_cast<int64_t>(items_of(node, 0).size()))};
}
RELAY_ONNX("SequenceLength", 11, convert_length)

Values convert_split_to_sequence(NodeContext& node) {
  GraphValue x = node.input(0);
  node.require(x.rank() > 0, "a tensor without axes cannot be split");
  int64_t axis = node.axis(node.attr_int("axis", 0), x.rank());
  bool keep = node.attr_bool("keepdims", true) || node.has(1);
  if (node.has(1) && node.input(1).rank() == 1 && !node.constant(1)) {
    GraphValue lengths = as_list(node, node.input(1), "split");
    int64_t count = length_of(node, lengths, "split");
    require_items(node, static_cast<size_t>(count));
    GraphValue ends = node.emit("cumsum", {lengths}, {{"axis", 0}});
    GraphValue from = number_value(node, 0);
    Values parts;
    for (int64_t k = 0; k < count; ++k) {
      GraphValue to = entry(node, ends, k);
      parts.push_back(slice_between(node, x, axis, from, to));
      from = to;
    }
    return {GraphValue::sequence(std::move(parts))};
  }
  Dim extent = x.dim(static_cast<size_t>(axis));
  node.require(extent.is_int(), "the extent that is split is not known");
  std::vector<int64_t> sizes;
  if (node.has(1) && node.input(1).rank() > 0) {
    sizes = node.ints(1, "split");
    require_items(node, sizes.size());
  } else {
    int64_t each = node.has(1) ? node.ints(1, "split")[0] : 1;
    node.require(each > 0, "split is " + std::to_string(each));
    for (int64_t left = extent.as_int(); left > 0; left -= each) {
      sizes.push_back(std::min(left, each));
      require_items(node, sizes.size());
    }
  }
  Values items;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    node.require(size >= 0 && size <= extent.as_int() - begin,
                 "the parts do not fit into the extent " + extent.str());
    items.push_back(node.slice(x, axis, begin, begin + size));
    begin += size;
    if (!keep) {
      items.back() = node.emit("squeeze", {items.back()}, {{"axis", std::vector<int64_t>{axis}}});
    }
  }
  node.require(begin == extent.as_int(), "the parts have " + std::to_string(begin) +
                                             " elements of the extent " + extent.str());
  return {GraphValue::sequence(std::move(items))};
}
RELAY_ONNX("SplitToSequence", 11, convert_split_to_sequence)

// Rows become parts along an axis of them, or along a new one there.
GraphValue concatenated_rows(NodeContext& node, const GraphValue& rows, int64_t axis, bool fresh) {
  std::vector<int64_t> order;
  for (int64_t i = 1; i < static_cast<int64_t>(rows.rank()); ++i) order.push_back(i);
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(axis), 0);
  GraphValue parts = node.transpose(rows, order);
  if (fresh) return parts;
  std::vector<Dim> dims(parts.dims().begin(), parts.dims().end());
  const auto at = static_cast<size_t>(axis);
  dims[at] = dims[at] * dims[at + 1];
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  return node.reshape(parts, dims);
}

Values convert_concat_from_sequence(NodeContext& node) {
  bool fresh = node.attr_bool("new_axis", false);
  if (GraphValue rows = rows_of(node, sequence_of(node, 0))) {
    int64_t axis = node.axis(node.attr_int("axis"), rows.rank() - (fresh ? 0 : 1));
    return {concatenated_rows(node, rows, axis, fresh)};
  }
  Values items = items_of(node, 0);
  node.require(!items.empty(), "the sequence has no items");
  int64_t axis = node.axis(node.attr_int("axis"), items[0].rank() + (fresh ? 1 : 0));
  if (fresh) return {node.emit("stack", {node.tuple(items)}, {{"axis", axis}})};
  return {node.concat(items, axis)};
}
RELAY_ONNX("ConcatFromSequence", 11, convert_concat_from_sequence)

Values convert_map(NodeContext& node) {
  const Graph& body = node.attr_graph("body");
  size_t count = items_of(node, 0).size();
  std::vector<Values> results(body.outputs.size());
  for (size_t k = 0; k < count; ++k) {
    Values inputs;
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      if (!node.optional_input(i).is_sequence()) {
        inputs.push_back(node.input(i));
        continue;
      }
      Values items = items_of(node, i);
      node.require(items.size() == count, "the sequences have " + std::to_string(count) + " and " +
                                              std::to_string(items.size()) + " items");
      inputs.push_back(items[k]);
    }
    node.importer().count_repeated(node.node(), body.nodes.size());
    Values outputs = node.inline_graph(body, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      node.require(outputs[i].is_tensor(), "the body gives what is no tensor");
      results[i].push_back(outputs[i]);
    }
  }
  Values sequences;
  for (Values& items : results) sequences.push_back(GraphValue::sequence(std::move(items)));
  return sequences;
}
RELAY_ONNX("SequenceMap", 17, convert_map)

// ---- Optional values: nothing, or the value itself ----

Values convert_optional(NodeContext& node) {
  node.ignore({"type"});  // of what may be there; a value has its own
  return {node.optional_input(0)};
}
RELAY_ONNX("Optional", 15, convert_optional)

Values convert_has_element(NodeContext& node) {
  return {node.scalar(kBool, node.optional_input(0) ? 1 : 0)};
}
RELAY_ONNX("OptionalHasElement", 15, convert_has_element)

Values convert_get_element(NodeContext& node) {
  GraphValue value = node.optional_input(0);
  node.require(static_cast<bool>(value), "the optional value is empty");
  return {value};
}
RELAY_ONNX("OptionalGetElement", 15, convert_get_element)

}  // namespace
}  // namespace relay::onnx

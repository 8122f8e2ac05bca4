#include <relay/lower/tables.h>

#include <algorithm>
#include <map>

#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

constexpr int64_t kMostEntries = 64;  // of a table: each is written out

class TableFinder {
 public:
  explicit TableFinder(const te::Map& map) : map_(map) {}

  std::optional<Table> run() {
    std::vector<const ScalarNode*> nodes = te::post_order(map_.values);
    for (const ScalarNode* node : nodes) {
      if (node->kind == ScalarKind::kFold || te::can_fail(*node)) return std::nullopt;
    }
    for (size_t i = nodes.size(); i-- > 0;) {
      if (!choice_of(*nodes[i])) continue;
      std::optional<std::vector<TableKey>> keys = keys_below(nodes[i]);
      if (!keys || keys->size() != 2 || (*keys)[0].axis == (*keys)[1].axis) return std::nullopt;
      Table table{nodes[i], (*keys)[0], (*keys)[1], {}};
      if (table.row.count * table.column.count > kMostEntries) return std::nullopt;
      for (int64_t row = 0; row < table.row.count; ++row) {
        for (int64_t column = 0; column < table.column.count; ++column)
          table.entries.push_back(entry(table, row, column));
      }
      return table;
    }
    return std::nullopt;
  }

 private:
  struct Choice {
    TableKey key;
    int64_t below = 0;  // the first arm is taken for smaller keys
  };

  std::optional<Choice> choice_of(const ScalarNode& node) const {
    if (node.kind != ScalarKind::kSelect) return std::nullopt;
    const ScalarNode& condition = *node.args[0];
    if (condition.kind != ScalarKind::kBinary || condition.binary != te::BinaryOp::kLt)
      return std::nullopt;
    te::Affine bound = te::affine(condition.args[1]);
    std::optional<TableKey> key = key_of(condition.args[0]);
    if (!key || !bound.is_constant() || !bound.constant.is_int()) return std::nullopt;
    return Choice{*key, bound.constant.as_int()};
  }

  std::optional<TableKey> key_of(const ScalarRef& index) const {
    const ScalarNode* axis = index.get();
    Dim modulus = 0;
    if (index->kind == ScalarKind::kBinary && index->binary == te::BinaryOp::kFloorMod) {
      modulus = te::divisor(*index);
      axis = index->args[0].get();
    }
    if (axis->kind != ScalarKind::kIndex) return std::nullopt;
    for (size_t d = 0; d < map_.axes.size(); ++d) {
      if (map_.axes[d].id != axis->axis) continue;
      const bool whole = axis == index.get();
      Dim count = whole ? map_.axes[d].extent : modulus;
      if (!count.is_int() || count.as_int() < 2 || count.as_int() > kMostEntries)
        return std::nullopt;
      return TableKey{d, count.as_int(), whole};
    }
    return std::nullopt;
  }

  std::optional<std::vector<TableKey>> keys_below(const ScalarNode* root) const {
    std::vector<TableKey> keys;
    std::vector<const ScalarNode*> stack{root};
    while (!stack.empty()) {
      const ScalarNode* node = stack.back();
      stack.pop_back();
      std::optional<Choice> choice = choice_of(*node);
      if (!choice) continue;
      auto known = std::find_if(keys.begin(), keys.end(),
                                [&](const TableKey& key) { return key.axis == choice->key.axis; });
      if (known == keys.end()) {
        keys.push_back(choice->key);
      } else if (known->count != choice->key.count || known->whole != choice->key.whole) {
        return std::nullopt;
      }
      stack.push_back(node->args[2].get());
      stack.push_back(node->args[1].get());
    }
    return keys;
  }

  ScalarRef entry(const Table& table, int64_t row, int64_t column) const {
    ScalarRef node(table.root);
    while (std::optional<Choice> choice = choice_of(*node)) {
      int64_t at = choice->key.axis == table.row.axis ? row : column;
      node = node->args[at < choice->below ? 1 : 2];
    }
    return node;
  }

  const te::Map& map_;
};

class ColumnFinder {
 public:
  explicit ColumnFinder(const std::function<TablePlace(const ScalarNode& load)>& place)
      : place_(place) {}

  std::optional<ColumnValues> run(std::span<const ScalarRef> entries) {
    for (const ScalarNode* node : te::post_order(entries)) {
      if (of_index_.count(node) != 0) continue;
      if (node->kind == ScalarKind::kLoad) skip_indices(*node);
    }
    for (const ScalarNode* node : te::post_order(entries)) {
      if (of_index_.count(node) == 0 && !describe(*node)) return std::nullopt;
    }
    std::vector<ScalarRef> stack(entries.begin(), entries.end());
    while (!stack.empty()) {
      const ScalarRef node = stack.back();
      stack.pop_back();
      if (!seen_.emplace(node.get(), true).second) continue;
      const Reads& reads = reads_.at(node.get());
      if (reads.none) continue;
      if (reads.mixed || is_scaled(*node)) {
        stack.insert(stack.end(), node->args.begin(), node->args.end());
      } else {
        add(node, reads);
      }
    }
    if (found_.kinds.empty()) return std::nullopt;
    return std::move(found_);
  }

 private:
  /// The columns that a value reads, and the number of its form without them.
  struct Reads {
    bool none = true, mixed = false;
    int64_t column = 0;
    int64_t form = 0;
  };

  /// Indices are no values of the table.
  void skip_indices(const ScalarNode& load) {
    for (const ScalarNode* node : te::post_order(load.args)) of_index_.emplace(node, true);
  }

  bool describe(const ScalarNode& node) {
    Reads reads;
    std::vector<int64_t> form{static_cast<int64_t>(node.kind)};
    switch (node.kind) {
      case ScalarKind::kConst:
        form.push_back(node.value.i);
        break;
      case ScalarKind::kLoad: {
        const TablePlace place = place_(node);
        reads.none = false;
        reads.column = place.along;
        form.push_back(place.down);
        break;
      }
      case ScalarKind::kUnary:
        form.push_back(static_cast<int64_t>(node.unary));
        break;
      case ScalarKind::kBinary:
        form.push_back(static_cast<int64_t>(node.binary));
        break;
      default:
        return false;
    }
    if (node.kind != ScalarKind::kLoad) {
      for (const ScalarRef& arg : node.args) {
        const Reads& below = reads_.at(arg.get());
        form.push_back(below.form);
        if (below.none) continue;
        reads.mixed |= below.mixed || (!reads.none && reads.column != below.column);
        reads.none = false;
        reads.column = below.column;
      }
    }
    reads.form = forms_.emplace(std::move(form), static_cast<int64_t>(forms_.size())).first->second;
    reads_.emplace(&node, reads);
    return true;
  }

  /// True for a product with a constant and the like.
  bool is_scaled(const ScalarNode& node) const {
    return node.kind == ScalarKind::kBinary &&
           std::any_of(node.args.begin(), node.args.end(),
                       [&](const ScalarRef& arg) { return reads_.at(arg.get()).none; });
  }

  void add(const ScalarRef& node, const Reads& reads) {
    auto [kind, is_new] = kind_of_form_.emplace(reads.form, found_.kinds.size());
    if (is_new) found_.kinds.push_back(node);
    found_.of_part[node.get()] = {kind->second, reads.column};
    found_.most = std::max(found_.most, reads.column);
  }

  const std::function<TablePlace(const ScalarNode& load)>& place_;
  std::unordered_map<const ScalarNode*, bool> of_index_, seen_;
  std::unordered_map<const ScalarNode*, Reads> reads_;
  std::map<std::vector<int64_t>, int64_t> forms_;
  std::map<int64_t, size_t> kind_of_form_;
  ColumnValues found_;
};

}  // namespace

std::optional<Table> find_table(const te::Map& map) { return TableFinder(map).run(); }

std::optional<ColumnValues> column_values(
    std::span<const ScalarRef> entries,
    const std::function<TablePlace(const ScalarNode& load)>& place) {
  return ColumnFinder(place).run(entries);
}

}  // namespace relay::lower

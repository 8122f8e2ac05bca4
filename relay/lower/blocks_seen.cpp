// Columns that a block of rows does not see: behind a causal mask everything is what it would be if
// they were not there.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include <relay/lower/blocks.h>
#include <relay/lower/scalars.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::Affine;
using te::BinaryOp;
using te::Combiner;
using te::Map;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::UnaryOp;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Seen {
 public:
  Seen(const te::Computation& computation, const BlockChain& chain)
      : c_(computation),
        chain_(chain),
        hidden_(chain.stages.size()),
        columns_(chain.stages.size()) {}

  std::optional<SeenColumns> find() {
    for (size_t k = 0; k < chain_.stages.size(); ++k) {
      if (!look_at(k)) return std::nullopt;
    }
    // The last stage has summed the columns up.
    if (!offset_ || columns_.back()) return std::nullopt;
    return SeenColumns{*offset_, extent_, std::move(axes_)};
  }

 private:
  /// The place of a stage in the chain that a load reads.
  std::optional<size_t> read_stage(const ScalarNode& load) const {
    if (load.kind != ScalarKind::kLoad || load.tensor.is_input()) return std::nullopt;
    auto at = std::find(chain_.stages.begin(), chain_.stages.end(),
                        static_cast<size_t>(load.tensor.stage));
    if (at == chain_.stages.end()) return std::nullopt;
    return static_cast<size_t>(at - chain_.stages.begin());
  }

  bool is_column(uint32_t axis) const {
    return std::find(axes_.begin(), axes_.end(), axis) != axes_.end();
  }

  /// True if a value is one of each column.
  bool has_column(const ScalarRef& value) const {
    const std::vector<const ScalarNode*> nodes = te::post_order({&value, 1});
    return std::any_of(nodes.begin(), nodes.end(), [&](const ScalarNode* node) {
      return node->kind == ScalarKind::kIndex && is_column(node->axis);
    });
  }

  bool look_at(size_t k) {
    const auto& map = std::get<Map>(c_.stages[chain_.stages[k]].body);
    if (map.values.size() != 1) return false;
    if (k == 0) {
      // The product's columns: one axis.
      for (size_t a = 0; a < map.axes.size(); ++a) {
        if (chain_.row_of[0][a] || map.axes[a].extent.is_int(1)) continue;
        if (columns_[0]) return false;
        columns_[0] = a;
        axes_.push_back(map.axes[a].id);
        extent_ = map.axes[a].extent;
      }
      return columns_[0].has_value();
    }
    const std::vector<const ScalarNode*> nodes = te::post_order(map.values);
    std::optional<uint32_t> column;
    for (const ScalarNode* node : nodes) {
      std::optional<size_t> from = read_stage(*node);
      if (!from || !columns_[*from]) continue;
      const ScalarNode& index = *node->args[*columns_[*from]];
      if (index.kind != ScalarKind::kIndex) return false;
      // With two, one may be behind the mask while the other is not.
      if (column && *column != index.axis) return false;
      column = index.axis;
      if (!is_column(index.axis)) axes_.push_back(index.axis);
    }
    for (size_t a = 0; a < map.axes.size(); ++a) {
      if (!is_column(map.axes[a].id)) continue;
      if (columns_[k] || !(map.axes[a].extent == extent_)) return false;
      columns_[k] = a;
    }
    row_ = std::nullopt;
    for (size_t a = 0; a < map.axes.size(); ++a)
      if (chain_.row_of[k][a] == chain_.cut) row_ = map.axes[a].id;
    if (!row_) return false;
    known_.clear();
    for (const ScalarNode* node : nodes) {
      if (node->kind == ScalarKind::kFold && !may_leave_out(*node)) return false;
      known_[node] = where_hidden(*node);
    }
    if (columns_[k]) {
      hidden_[k] = known_[map.values[0].get()];
      return hidden_[k].has_value();
    }
    return true;
  }

  /// True if hidden columns add nothing to a fold.
  bool may_leave_out(const ScalarNode& fold) const {
    const bool over_columns = std::any_of(fold.axes.begin(), fold.axes.end(),
                                          [&](const te::Axis& axis) { return is_column(axis.id); });
    if (!over_columns) return true;
    if (fold.axes.size() != 1 || !(fold.axes[0].extent == extent_) || fold.args.size() != 1)
      return false;
    const std::optional<double> value = known_.at(fold.args[0].get());
    if (!value) return false;
    switch (fold.combiner->kind) {
      case Combiner::Kind::kSum:
        return *value == 0;
      case Combiner::Kind::kMax:
        return *value == -kInfinity;
      case Combiner::Kind::kMin:
        return *value == kInfinity;
      default:
        return false;
    }
  }

  /// The value of a node at a hidden column, if that is one number. Numbers that are not finite
  /// elsewhere in a row reach its result in any case.
  std::optional<double> where_hidden(const ScalarNode& node) {
    auto arg = [&](size_t i) { return known_.at(node.args[i].get()); };
    switch (node.kind) {
      case ScalarKind::kConst:
        return node.dtype.is_float() ? std::optional(node.value.f) : std::nullopt;
      case ScalarKind::kCast:
        return node.dtype.is_float() ? arg(0) : std::nullopt;
      case ScalarKind::kSelect:
        if (hides(*node.args[0])) return arg(2);
        return arg(1) && arg(1) == arg(2) ? arg(1) : std::nullopt;
      case ScalarKind::kLoad: {
        std::optional<size_t> from = read_stage(node);
        return from ? hidden_[*from] : std::nullopt;
      }
      case ScalarKind::kUnary:
        if (node.unary == UnaryOp::kExp && arg(0) == -kInfinity) return 0.0;
        return std::nullopt;
      case ScalarKind::kBinary:
        break;
      default:
        return std::nullopt;
    }
    const bool infinite = arg(0) == -kInfinity;
    switch (node.binary) {
      case BinaryOp::kSub:
        return infinite ? arg(0) : std::nullopt;
      case BinaryOp::kAdd:
        if (infinite || arg(1) == -kInfinity) return -kInfinity;
        return std::nullopt;
      case BinaryOp::kDiv:
        // A divisor of the column's own may be 0 or not a number.
        return arg(0) == 0.0 && !has_column(node.args[1]) ? arg(0) : std::nullopt;
      case BinaryOp::kMul:
        if (arg(0) == 0.0 || arg(1) == 0.0) return 0.0;
        return std::nullopt;
      case BinaryOp::kMax:
        return infinite && arg(1) == -kInfinity ? arg(0) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  /// True if a condition does not hold for columns after row + offset.
  bool hides(const ScalarNode& condition) {
    if (condition.kind != ScalarKind::kBinary) return false;
    if (condition.binary == BinaryOp::kAnd)
      return hides(*condition.args[0]) || hides(*condition.args[1]);
    int64_t less = 0;
    bool turned = false;
    switch (condition.binary) {
      case BinaryOp::kLe:
        break;
      case BinaryOp::kLt:
        less = 1;
        break;
      case BinaryOp::kGe:
        turned = true;
        break;
      case BinaryOp::kGt:
        turned = true;
        less = 1;
        break;
      default:
        return false;
    }
    const ScalarRef& column = condition.args[turned ? 1 : 0];
    const ScalarRef& limit = condition.args[turned ? 0 : 1];
    if (!(column->dtype == kInt64)) return false;
    const Affine room = te::affine(limit) + te::affine(column) * Dim(-1);
    if (!room.others.empty() || room.terms.size() != 2 || !room.coefficient(*row_).is_int(1))
      return false;
    const Affine::Term& other = room.terms[room.terms[0].axis == *row_ ? 1 : 0];
    if (!other.coefficient.is_int(-1) || !is_column(other.axis)) return false;
    const Dim offset = room.constant - Dim(less);
    if (offset_ && !(*offset_ == offset)) return false;
    offset_ = offset;
    return true;
  }

  const te::Computation& c_;
  const BlockChain& chain_;
  std::vector<uint32_t> axes_;
  Dim extent_;
  std::optional<Dim> offset_;
  std::optional<uint32_t> row_;                 // the axis of the stage at hand
  std::vector<std::optional<double>> hidden_;   // of each stage: the value at hidden columns
  std::vector<std::optional<size_t>> columns_;  // and which of its axes has columns
  std::unordered_map<const ScalarNode*, std::optional<double>> known_;
};

}  // namespace

std::optional<SeenColumns> seen_columns(const te::Computation& computation,
                                        const BlockChain& chain) {
  return Seen(computation, chain).find();
}

}  // namespace relay::lower

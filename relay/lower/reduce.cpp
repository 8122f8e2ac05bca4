// Folds with lanes along the kept axis: rows of the data are added to a row of accumulators.
#include <algorithm>

#include <relay/lower/templates.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Combiner;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

/// Rows that are combined in registers before they meet the accumulators in memory.
constexpr int64_t kRows = 8;
/// Lanes whose accumulators are in memory at a time.
constexpr int64_t kPiece = 2048;

/// True if a group is one fold over many rows that lie apart, which is evaluated come what may.
bool adds_rows(const Space& space, const Axis& lane) {
  const RowGroup& group = space.group;
  if (group.members.size() != 1 || !group.members[0].extras.empty() || space.folds.size() != 1) {
    return false;
  }
  const ScalarNode& fold = *space.folds[0];
  bool plain = fold.axes.size() == 1 && num_accumulators(fold) == 1 && fold.args.size() == 1 &&
               fold.combiner->kind != Combiner::Kind::kCustom &&
               (!fold.combiner->needs_element || fold.axes[0].extent.is_int());
  auto at_least = [](Dim extent, int64_t n) { return !extent.is_int() || extent.as_int() >= n; };
  if (!plain || !at_least(fold.axes[0].extent, 4 * kRows) || !at_least(lane.extent, 256)) {
    return false;
  }
  for (const Access& access : space.accesses) {
    if (access.fold == nullptr) continue;
    std::optional<Dim> stride = space.stride(access, fold.axes[0].id);
    if (stride && stride->is_int() && std::abs(stride->as_int()) < 256) return false;
  }
  for (const ScalarNode* node : te::post_order(group.members[0].values)) {
    if (node->kind == ScalarKind::kSelect || node->kind == ScalarKind::kFail) return false;
  }
  return true;
}

class ColumnSums {
 public:
  ColumnSums(const Job& job, Space& space, const Axis& lane)
      : draft_(job.computation),
        space_(space),
        member_(space.group.members[0]),
        fold_(*space.folds[0]),
        lane_(lane),
        pieces_(draft_.new_axis(ceil_div(lane.extent, Dim(kPiece)))),
        loops_(draft_, outer_axes(), space.work() * std::min(guess(lane.extent), double{kPiece})) {}

  DraftKernel run(const std::string& name, Dim flops) {
    Block body;
    uint32_t first = draft_.new_var();
    body.push_back(let(first, (Scalar(loops_.name(pieces_)) * kPiece).ref()));
    begin_ = te::placeholder(first, kInt64);
    end_ = te::min(begin_ + kPiece, te::from_dim(lane_.extent));
    int64_t lanes = lane_.extent.is_int() ? std::min(kPiece, lane_.extent.as_int()) : kPiece;
    sums_ = draft_.scratch("sums", fold_.dtype, {Dim(lanes)});
    place_ = {(te::index_of(lane_) - begin_).ref()};
    sum_ = draft_.load(sums_, place_);

    clear(body);
    Dim blocks = floor_div(fold_.axes[0].extent, Dim(kRows));
    add_blocks(blocks, body);
    add_rest(blocks * Dim(kRows), body);
    store_values(body);
    loops_.close(std::move(body));
    return draft_.finish(name, "reduce", flops);
  }

 private:
  std::vector<Axis> outer_axes() const {
    std::vector<Axis> outer;
    for (const Axis& axis : space_.group.rows) {
      if (axis.id != lane_.id) outer.push_back(axis);
    }
    outer.push_back(pieces_);
    return outer;
  }

  /// The loop over the lanes of the piece at hand.
  For lanes() const {
    For one = loop(LoopKind::kVector, lane_);
    one.begin = begin_.ref();
    one.end = end_.ref();
    return one;
  }

  ScalarRef value_at(const Scalar& row) {
    std::unordered_map<uint32_t, ScalarRef> names = loops_.names;
    names.emplace(fold_.axes[0].id, row.ref());
    return draft_.bind({&fold_.args[0], 1}, space_.math(), names)[0];
  }

  ScalarRef join(const ScalarRef& a, const ScalarRef& b) const {
    std::vector<ScalarRef> x{a}, y{b};
    return combine(*fold_.combiner, x, y)[0];
  }

  void clear(Block& body) const {
    For all = lanes();
    all.body.push_back(store(sums_, place_, combiner_identity(*fold_.combiner, 0, fold_.dtype)));
    body.push_back({std::move(all)});
  }

  /// For each row in turn, or each block of them.
  void add(For rows, const ScalarRef& value, Block& body) const {
    For inside = lanes();
    inside.body.push_back(store(sums_, place_, join(sum_, value)));
    rows.body.push_back({std::move(inside)});
    body.push_back({std::move(rows)});
  }

  void add_blocks(Dim blocks, Block& body) {
    if (blocks.is_int(0)) return;
    Axis block = draft_.new_axis(blocks);
    // A tree, so that the rows do not wait for each other.
    std::vector<ScalarRef> values;
    for (int64_t r = 0; r < kRows; ++r) {
      values.push_back(value_at(te::index_of(block) * kRows + te::index_constant(r)));
    }
    while (values.size() > 1) {
      std::vector<ScalarRef> half;
      for (size_t i = 0; i + 1 < values.size(); i += 2) {
        half.push_back(join(values[i], values[i + 1]));
      }
      values = std::move(half);
    }
    add(loop(LoopKind::kSerial, block), values[0], body);
  }

  /// The rows that no block has.
  void add_rest(Dim done, Block& body) {
    const Axis& rows = fold_.axes[0];
    if (done == rows.extent) return;
    For one = loop(LoopKind::kSerial, rows);
    one.begin = te::from_dim(done).ref();
    add(std::move(one), value_at(te::index_of(rows)), body);
  }

  void store_values(Block& body) {
    // Stands for the fold until the values are bound: a load of its sum is none of a tensor.
    uint32_t folded = draft_.new_var();
    ScalarRewriter with_sum([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
      return node.get() == &fold_ ? te::placeholder(folded, fold_.dtype).ref() : ScalarRef();
    });
    std::vector<ScalarRef> rest;
    for (const ScalarRef& value : member_.values) rest.push_back(with_sum(value));
    std::vector<ScalarRef> values = draft_.bind(rest, space_.math(), loops_.names);
    for (ScalarRef& value : values) value = substitute(value, {}, {{folded, sum_}});
    For last = lanes();
    for (Stmt& stmt : store_results(draft_, space_.math(), member_, values, loops_.names))
      last.body.push_back(std::move(stmt));
    body.push_back({std::move(last)});
  }

  Draft draft_;
  Space& space_;
  const Member& member_;
  const ScalarNode& fold_;
  const Axis lane_;
  const Axis pieces_;
  OuterLoops loops_;
  Scalar begin_, end_;  // of the piece at hand
  int32_t sums_ = -1;   // scratch
  // The place of a lane.
  std::vector<ScalarRef> place_;
  ScalarRef sum_;
};

}  // namespace

bool is_commutative(const Combiner& combiner) {
  return combiner.kind != Combiner::Kind::kCustom || combiner.commutes;
}

std::optional<DraftKernel> lower_columns(const Job& job, Space& space, size_t along, Dim flops) {
  const Axis lane = space.group.rows[along];
  if (!adds_rows(space, lane)) return std::nullopt;
  return ColumnSums(job, space, lane).run(job.name, flops);
}

}  // namespace relay::lower

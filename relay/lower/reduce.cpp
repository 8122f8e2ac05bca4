// Folds whose lanes run along what is kept: rows of the data are added to a row of accumulators.
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

}  // namespace

bool is_commutative(const Combiner& combiner) {
  return combiner.kind != Combiner::Kind::kCustom || combiner.commutes;
}

std::optional<DraftKernel> lower_columns(const Job& job, Space& space, size_t along, Dim flops) {
  const te::Computation& c = job.computation;
  const RowGroup& group = space.group;
  if (group.members.size() != 1 || !group.members[0].extras.empty() || space.folds.size() != 1) {
    return std::nullopt;
  }
  const Member& member = group.members[0];
  const ScalarNode& fold = *space.folds[0];
  const Axis lane = group.rows[along];
  bool plain = fold.axes.size() == 1 && num_accumulators(fold) == 1 && fold.args.size() == 1 &&
               fold.combiner->kind != Combiner::Kind::kCustom &&
               (!fold.combiner->needs_element || fold.axes[0].extent.is_int());
  auto at_least = [](Dim extent, int64_t n) { return !extent.is_int() || extent.as_int() >= n; };
  if (!plain || !at_least(fold.axes[0].extent, 4 * kRows) || !at_least(lane.extent, 256)) {
    return std::nullopt;
  }
  // Only if the rows lie apart, and the fold is what is evaluated come what may.
  for (const Access& access : space.accesses) {
    if (access.fold == nullptr) continue;
    std::optional<Dim> stride = space.stride(access, fold.axes[0].id);
    if (stride && stride->is_int() && std::abs(stride->as_int()) < 256) return std::nullopt;
  }
  for (const ScalarNode* node : te::post_order(member.values)) {
    if (node->kind == ScalarKind::kSelect || node->kind == ScalarKind::kFail) return std::nullopt;
  }

  Draft draft(c);
  uint32_t folded = draft.new_var();  // stands for the fold until the sums are there
  const Axis& rows = fold.axes[0];
  constexpr int64_t kPiece = 2048;
  std::vector<Axis> outer;
  for (size_t a = 0; a < group.rows.size(); ++a) {
    if (a != along) outer.push_back(group.rows[a]);
  }
  Axis pieces = draft.new_axis(ceil_div(lane.extent, Dim(kPiece)));
  outer.push_back(pieces);
  OuterLoops loops(draft, outer, space.work() * std::min(guess(lane.extent), double{kPiece}));
  Block body;
  uint32_t first = draft.new_var();
  body.push_back(let(first, (Scalar(loops.name(pieces)) * kPiece).ref()));
  Scalar begin = te::placeholder(first, kInt64);
  Scalar end = te::min(begin + kPiece, te::from_dim(lane.extent));
  auto lanes = [&] {
    For one = loop(LoopKind::kVector, lane);
    one.begin = begin.ref();
    one.end = end.ref();
    return one;
  };
  int32_t sums = draft.scratch(
      "sums", fold.dtype,
      {lane.extent.is_int() ? Dim(std::min(kPiece, lane.extent.as_int())) : Dim(kPiece)});
  std::vector<ScalarRef> place{(te::index_of(lane) - begin).ref()};
  ScalarRef identity = combiner_identity(*fold.combiner, 0, fold.dtype);
  const ScalarRef sum = draft.load(sums, place);

  For clear = lanes();
  clear.body.push_back(store(sums, place, identity));
  body.push_back({std::move(clear)});

  auto join = [&](const ScalarRef& a, const ScalarRef& b) {
    std::vector<ScalarRef> x{a}, y{b};
    return combine(*fold.combiner, x, y)[0];
  };
  // Blocks of rows, then what is left of them.
  Dim blocks = floor_div(rows.extent, Dim(kRows));
  Axis block = draft.new_axis(blocks);
  std::vector<ScalarRef> given{fold.args[0]};
  auto value_at = [&](const Scalar& row) {
    std::unordered_map<uint32_t, ScalarRef> names = loops.names;
    names.emplace(rows.id, row.ref());
    return draft.bind(given, space.math(), names)[0];
  };
  if (!blocks.is_int(0)) {
    For outside = loop(LoopKind::kSerial, block);
    For inside = lanes();
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
    inside.body.push_back(store(sums, place, join(sum, values[0])));
    outside.body.push_back({std::move(inside)});
    body.push_back({std::move(outside)});
  }
  Dim done = blocks * Dim(kRows);
  if (done != rows.extent) {
    For outside = loop(LoopKind::kSerial, rows);
    outside.begin = te::from_dim(done).ref();
    For inside = lanes();
    inside.body.push_back(store(sums, place, join(sum, value_at(te::index_of(rows)))));
    outside.body.push_back({std::move(inside)});
    body.push_back({std::move(outside)});
  }

  For last = lanes();
  ScalarRewriter with_sum([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
    return node.get() == &fold ? te::placeholder(folded, fold.dtype).ref() : ScalarRef();
  });
  std::vector<ScalarRef> rest;
  for (const ScalarRef& value : member.values) rest.push_back(with_sum(value));
  std::vector<ScalarRef> values = draft.bind(rest, space.math(), loops.names);
  for (ScalarRef& value : values) value = substitute(value, {}, {{folded, sum}});
  for (Stmt& stmt : store_results(draft, space.math(), member, values, loops.names))
    last.body.push_back(std::move(stmt));
  body.push_back({std::move(last)});
  loops.close(std::move(body));
  return draft.finish(job.name, "reduce", flops);
}

}  // namespace relay::lower

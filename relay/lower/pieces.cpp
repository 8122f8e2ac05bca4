// Maps whose value is chosen by where a point lies along an axis, as those of concatenations: cut
// there, so that no vector has to choose.
#include <algorithm>
#include <unordered_set>

#include <relay/lower/templates.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

constexpr size_t kMostPieces = 16;

/// The number that a condition compares the axis with: true for smaller positions.
std::optional<Dim> bound_of(const ScalarNode& condition, const Axis& axis) {
  if (condition.kind != ScalarKind::kBinary || condition.binary != te::BinaryOp::kLt) {
    return std::nullopt;
  }
  te::Affine distance = te::affine(condition.args[1]) + te::affine(condition.args[0]) * Dim(-1);
  const bool fits = distance.others.empty() && distance.terms.size() == 1 &&
                    distance.terms[0].axis == axis.id && distance.terms[0].coefficient.is_int(-1);
  return fits ? std::optional(distance.constant) : std::nullopt;
}

/// Where choices of the value change, in order; empty if that is not known, or nowhere.
std::vector<Dim> cuts_of(const ScalarRef& value, const Axis& axis) {
  std::vector<Dim> cuts;
  // Positions of loads are left alone: what they choose is no value.
  std::vector<const ScalarNode*> stack{value.get()};
  std::unordered_set<const ScalarNode*> seen;
  while (!stack.empty()) {
    const ScalarNode* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second || node->kind == ScalarKind::kLoad) continue;
    if (node->kind == ScalarKind::kSelect) {
      std::optional<Dim> bound = bound_of(*node->args[0], axis);
      if (bound && std::find(cuts.begin(), cuts.end(), *bound) == cuts.end()) {
        cuts.push_back(*bound);
      }
    }
    for (const ScalarRef& arg : node->args) stack.push_back(arg.get());
  }
  if (cuts.empty() || cuts.size() >= kMostPieces) return {};
  // By how many of the others come before: a total order, or none that is known.
  auto before = [](Dim a, Dim b) { return (b - a).is_natural(); };
  std::vector<std::pair<size_t, Dim>> ranked;
  for (Dim cut : cuts) {
    size_t rank = 0;
    for (Dim other : cuts) {
      if (other == cut) continue;
      if (before(other, cut)) {
        ++rank;
      } else if (!before(cut, other)) {
        return {};
      }
    }
    ranked.emplace_back(rank, cut);
  }
  std::sort(ranked.begin(), ranked.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t k = 0; k < cuts.size(); ++k) cuts[k] = ranked[k].second;
  if (!before(0, cuts.front()) || !before(cuts.back(), axis.extent)) return {};
  return cuts;
}

/// The value where the choices are made as for positions from `begin` on, up to the next cut.
ScalarRef chosen(const ScalarRef& value, const Axis& axis, const std::vector<Dim>& cuts,
                 size_t piece) {
  ScalarRewriter rewrite(
      [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
        if (node->kind != ScalarKind::kSelect) return {};
        std::optional<Dim> bound = bound_of(*node->args[0], axis);
        auto at = bound ? std::find(cuts.begin(), cuts.end(), *bound) : cuts.end();
        if (at == cuts.end()) return {};
        return args[static_cast<size_t>(at - cuts.begin()) >= piece ? 1 : 2];
      });
  return rewrite(value);
}

/// True if the result may take over the memory of something that is read: then it should stay one.
bool reads_where_it_writes(const Space& space, const te::Computation& c) {
  const Access& store = space.accesses.back();
  for (const Access& access : space.accesses) {
    if (access.load == nullptr || access.flat != store.flat) continue;
    if (c.info(access.load->tensor).dims ==
        c.stages[space.group.members[0].stage].outputs[0].dims) {
      return true;
    }
  }
  return false;
}

}  // namespace

ScalarRef simplify_indices(const ScalarRef& value, IndexMath& math) {
  ScalarRewriter rewrite(
      [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
        const bool is_test =
            node->kind == ScalarKind::kBinary && compares(node->binary) && args[0]->dtype == kInt64;
        const bool is_cast = node->kind == ScalarKind::kCast && args[0]->dtype == kInt64;
        if (node->kind != ScalarKind::kLoad && !is_test && !is_cast) return {};
        std::vector<ScalarRef> simple;
        for (const ScalarRef& arg : args) simple.push_back(math.simplify(arg));
        if (is_test || is_cast) return with_args(node, std::move(simple));
        Ref<ScalarNode> copy = copy_node(*node);
        copy->args = std::move(simple);
        return copy;
      });
  return rewrite(value);
}

std::vector<RowGroup> cut_at_choices(Draft& draft, const Space& space, const Axis& axis,
                                     int64_t lanes) {
  const RowGroup& group = space.group;
  if (group.members.size() != 1 || !group.members[0].extras.empty() || space.has_folds() ||
      group.members[0].values.size() != 1 || reads_where_it_writes(space, draft.computation())) {
    return {};
  }
  std::vector<Dim> cuts = cuts_of(group.members[0].values[0], axis);
  if (cuts.empty()) return {};
  std::vector<Dim> begins{Dim(0)};
  begins.insert(begins.end(), cuts.begin(), cuts.end());
  std::vector<RowGroup> pieces;
  for (size_t k = 0; k < begins.size(); ++k) {
    Dim extent = (k + 1 < begins.size() ? begins[k + 1] : axis.extent) - begins[k];
    if (extent.is_int(0)) continue;
    if (extent.is_int() && extent.as_int() < lanes) return {};
    Axis here = draft.new_axis(extent);
    RowGroup piece = group;
    for (Axis& row : piece.rows) {
      if (row.id == axis.id) row = here;
    }
    std::unordered_map<uint32_t, ScalarRef> names;
    names.emplace(axis.id, (te::from_dim(begins[k]) + te::index_of(here)).ref());
    Member& member = piece.members[0];
    IndexMath math(piece.rows);
    member.values[0] =
        simplify_indices(substitute(chosen(member.values[0], axis, cuts, k), names), math);
    for (ScalarRef& index : member.point) index = substitute(index, names);
    pieces.push_back(std::move(piece));
  }
  return pieces.size() > 1 ? pieces : std::vector<RowGroup>();
}

}  // namespace relay::lower

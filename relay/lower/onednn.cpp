#include <relay/lower/onednn.h>

#include <optional>

#include <relay/lower/scalars.h>
#include <relay/lower/sum_of_products.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::Affine;
using te::affine;
using te::Axis;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

/// Preparing writes 0 for an axis that has one point.
bool is_axis(const ScalarRef& index, const Axis& axis) {
  if (axis.extent.is_int(1) && index->kind == ScalarKind::kConst) return index->value.i == 0;
  return plain_axis(index) == axis.id;
}

bool is_zero(const ScalarRef& fill) { return fill && fill->value.f == 0; }

struct Match {
  std::vector<Axis> points;  // of the result
  SumOfLoads sum;
};

std::optional<Match> match_product(const te::Stage& stage) {
  const auto* map = std::get_if<te::Map>(&stage.body);
  if (map == nullptr) return std::nullopt;
  std::optional<SumOfLoads> sum = sum_of_loads(*map);
  if (!sum || sum->lhs->dtype != kFloat32 || sum->rhs->dtype != kFloat32) return std::nullopt;
  return Match{map->axes, *sum};
}

/// Parameters {batch, transpose_a, transpose_b}.
std::optional<te::Library> match_matmul(const Match& match) {
  const auto& points = match.points;
  if (match.sum.fold->axes.size() != 1 || points.size() < 2) return std::nullopt;
  const Axis& k = match.sum.fold->axes[0];
  const Axis& column = points.back();
  const ScalarNode &a = *match.sum.lhs, &b = *match.sum.rhs;
  if (a.bounds != te::Bounds::kProven || b.bounds != te::Bounds::kProven) return std::nullopt;
  const bool batch = b.args.size() == 3;
  if (b.args.size() != (batch ? 3u : 2u) || a.args.size() != points.size()) return std::nullopt;
  if (batch &&
      (points.size() != 3 || !is_axis(a.args[0], points[0]) || !is_axis(b.args[0], points[0]))) {
    return std::nullopt;
  }
  const size_t last = a.args.size() - 1;
  bool transpose_a = false;
  if (!is_axis(a.args[last], k)) {
    transpose_a = is_axis(a.args[last], points[last - 1]) && is_axis(a.args[last - 1], k);
    if (!transpose_a || (!batch && last != 1)) return std::nullopt;
  } else {
    for (size_t i = 0; i < last; ++i) {
      if (!is_axis(a.args[i], points[i])) return std::nullopt;
    }
  }
  const ScalarRef &first = b.args[b.args.size() - 2], &second = b.args.back();
  const bool transpose_b = is_axis(first, column) && is_axis(second, k);
  if (!transpose_b && !(is_axis(first, k) && is_axis(second, column))) return std::nullopt;
  return te::Library{"onednn.matmul",
                     {a.tensor, b.tensor},
                     {{"shape", std::vector<int64_t>{batch, transpose_a, transpose_b}}},
                     {},
                     0};
}

/// Parameters {groups, then of each dimension: stride, dilation, padding before}.
std::optional<te::Library> match_convolution(const Match& match, const te::Computation& c) {
  const auto& points = match.points;
  const ScalarNode &data = *match.sum.lhs, &weight = *match.sum.rhs;
  const size_t rank = points.size();
  if (rank < 3 || rank > 5 || data.args.size() != rank || weight.args.size() != rank ||
      match.sum.fold->axes.size() != rank - 1 || weight.bounds != te::Bounds::kProven) {
    return std::nullopt;
  }
  const bool padded = data.bounds == te::Bounds::kFill && is_zero(data.fill);
  if (data.bounds != te::Bounds::kProven && !padded) return std::nullopt;
  const std::vector<Axis>& folded = match.sum.fold->axes;
  if (!is_axis(data.args[0], points[0]) || !is_axis(weight.args[0], points[1])) return std::nullopt;
  for (size_t i = 0; i < folded.size(); ++i) {
    if (!is_axis(weight.args[i + 1], folded[i])) return std::nullopt;
  }
  int64_t groups = 1;
  if (!is_axis(data.args[1], folded[0])) {
    Affine channel = affine(data.args[1]);
    if (channel.terms.size() != 1 || !channel.coefficient(folded[0].id).is_int(1) ||
        !channel.constant.is_int(0) || channel.others.size() != 1 ||
        channel.others[0].coefficient != folded[0].extent) {
      return std::nullopt;
    }
    const ScalarNode& group = *channel.others[0].value;
    if (group.kind != ScalarKind::kBinary || group.binary != te::BinaryOp::kFloorDiv ||
        !is_axis(group.args[0], points[1]) || group.args[1]->kind != ScalarKind::kConst ||
        group.args[1]->value.i < 1) {
      return std::nullopt;
    }
    Dim count = floor_div(points[1].extent, group.args[1]->value.i);
    Dim in = c.info(data.tensor).dims[1];
    if (!count.is_int() || in != count * folded[0].extent) return std::nullopt;
    groups = count.as_int();
  }
  std::vector<int64_t> params{groups};
  for (size_t d = 2; d < rank; ++d) {
    Affine at = affine(data.args[d]);
    size_t terms = 0;
    auto step = [&](const Axis& axis) {
      Dim c = at.coefficient(axis.id);
      if (c.is_int(0) && axis.extent.is_int(1)) return Dim(1);  // it is never taken
      ++terms;
      return c;
    };
    Dim stride = step(points[d]);
    Dim dilation = step(folded[d - 1]);
    Dim before = at.constant * Dim(-1);
    if (at.terms.size() != terms || !at.others.empty() || !stride.is_int() || !dilation.is_int() ||
        !before.is_int() || stride.as_int() < 1 || dilation.as_int() < 1 || before.as_int() < 0) {
      return std::nullopt;
    }
    params.insert(params.end(), {stride.as_int(), dilation.as_int(), before.as_int()});
  }
  return te::Library{
      "onednn.convolution", {data.tensor, weight.tensor}, {{"shape", params}}, {}, 0};
}

}  // namespace

te::Computation with_onednn(const te::Computation& computation) {
  te::Computation result = computation;
  result.stages.clear();
  std::vector<int32_t> moved;  // stages' new numbers
  auto move = [&](te::TensorId id) {
    if (!id.is_input()) id.stage = moved[static_cast<size_t>(id.stage)];
    return id;
  };
  ScalarRewriter rewrite = moved_loads(move);
  for (te::Stage stage : computation.stages) {
    std::optional<te::Library> library;
    std::optional<Match> match = match_product(stage);
    if (match) library = match_matmul(*match);
    if (match && !library) library = match_convolution(*match, computation);
    if (match && !library) {
      std::swap(match->sum.lhs, match->sum.rhs);
      library = match_matmul(*match);
      if (!library) library = match_convolution(*match, computation);
    }
    if (library) {
      for (te::TensorId& input : library->inputs) input = move(input);
      te::Stage call;
      call.body = *library;
      te::TensorInfo info{{}, kFloat32};
      Ref<ScalarNode> load = new_node(ScalarKind::kLoad, kFloat32);
      load->bounds = te::Bounds::kProven;
      load->tensor = {static_cast<int32_t>(result.stages.size()), 0};
      for (const Axis& axis : match->points) {
        info.dims.push_back(axis.extent);
        load->args.push_back(te::index_of(axis).ref());
      }
      call.outputs.push_back(info);
      result.stages.push_back(std::move(call));
      auto& map = std::get<te::Map>(stage.body);
      if (map.values[0].get() == match->sum.fold) {
        moved.push_back(static_cast<int32_t>(result.stages.size()) - 1);
        continue;
      }
      const ScalarRef sum = load;
      ScalarRewriter behind([&](const ScalarRef& node, const std::vector<ScalarRef>& args) {
        return node.get() == match->sum.fold ? sum : moved_load(node, args, move);
      });
      map.values[0] = behind(map.values[0]);
    } else {
      rewrite_roots(stage, [&](const ScalarRef& root) { return rewrite(root); });
      if (auto* update = std::get_if<te::Update>(&stage.body)) update->base = move(update->base);
      if (auto* view = std::get_if<te::View>(&stage.body)) view->source = move(view->source);
      if (auto* call = std::get_if<te::Library>(&stage.body)) {
        for (te::TensorId& input : call->inputs) input = move(input);
      }
    }
    moved.push_back(static_cast<int32_t>(result.stages.size()));
    result.stages.push_back(std::move(stage));
  }
  for (te::Output& output : result.outputs) output.tensor = move(output.tensor);
  return result;
}

}  // namespace relay::lower

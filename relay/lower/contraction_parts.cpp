#include <relay/lower/contraction_parts.h>

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

#include <relay/lower/scalars.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

std::vector<ScalarRef> loads_in(const ScalarRef& root) {
  std::vector<ScalarRef> loads;
  if (root->kind == ScalarKind::kLoad) loads.push_back(root);
  std::unordered_set<const ScalarNode*> seen;
  for (const ScalarNode* node : te::post_order({&root, 1})) {
    for (const ScalarRef& arg : node->args) {
      if (arg->kind == ScalarKind::kLoad && seen.insert(arg.get()).second) loads.push_back(arg);
    }
  }
  return loads;
}

bool uses_axes(const ScalarRef& root) {
  for (const ScalarNode* node : te::post_order({&root, 1})) {
    if (node->kind == ScalarKind::kIndex) return true;
  }
  return false;
}

ScalarRef with_placeholder(const ScalarRef& root, const ScalarNode* load, uint32_t var) {
  ScalarRef placeholder = te::placeholder(var, load->dtype).ref();
  ScalarRewriter rewrite([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
    return node.get() == load ? placeholder : ScalarRef();
  });
  return rewrite(root);
}

bool is_heavy(const ScalarRef& root) {
  constexpr size_t kTranscendental = 12, kLong = 8;
  size_t cost = 0;
  for (const ScalarNode* node : te::post_order({&root, 1})) {
    if (node->kind == ScalarKind::kUnary && node->unary >= te::UnaryOp::kExp &&
        node->unary <= te::UnaryOp::kAtanh) {
      cost += kTranscendental;
    }
    if (node->kind == ScalarKind::kBinary && node->dtype != kInt64) ++cost;
    if (node->kind == ScalarKind::kSelect || node->kind == ScalarKind::kFail) ++cost;
  }
  return cost > kLong;
}

std::optional<AxisGroup> order_along(const AxisGroup& group, const te::Affine& offset) {
  std::vector<te::Axis> axes = group.axes;
  auto size = [&](const te::Axis& axis) {
    Dim c = offset.coefficient(axis.id);
    return c.is_int() ? c.as_int() : -1;
  };
  if (std::any_of(axes.begin(), axes.end(), [&](const auto& a) { return size(a) < 0; }))
    return std::nullopt;
  std::stable_sort(axes.begin(), axes.end(),
                   [&](const auto& x, const auto& y) { return size(x) > size(y); });
  AxisGroup ordered(axes);
  if (!ordered.stride_of(offset)) return std::nullopt;
  return ordered;
}

double tile_cost(const Processor& processor, int64_t rows, int64_t vectors) {
  constexpr double kLatency = 4, kBytesPerCycle = 48;
  const auto down = static_cast<double>(rows), across = static_cast<double>(vectors);
  return std::max({down * across / 2, (down + across) / 2, kLatency,
                   across * static_cast<double>(processor.vector_bytes) / kBytesPerCycle});
}

Cut cut_known(int64_t count, int64_t most) {
  Cut cut;
  cut.known = true;
  int64_t pieces = std::max<int64_t>(1, (count + most - 1) / most);
  cut.size = std::max<int64_t>(1, (count + pieces - 1) / pieces);
  int64_t small = cut.size - 1;
  cut.pieces = count == 0 ? 0 : pieces;
  cut.more = count - small * pieces;
  return cut;
}

Cut cut_unknown(Dim count, int64_t size) {
  Cut cut;
  cut.size = size;
  cut.pieces = ceil_div(count, size);
  cut.more = cut.pieces;
  return cut;
}

Cut cut_panels(Dim count, int64_t size) {
  Cut cut = cut_unknown(count, size);
  cut.known = count.is_int();
  if (cut.known) cut.rest = count.as_int() % size;
  return cut;
}

bool is_panel(const Contraction& contraction, const LinearLoad& load, Dim along_k) {
  constexpr int64_t kLongestLine = 128;
  const Buffer& buffer = contraction.buffers[static_cast<size_t>(load.buffer)];
  return buffer.role == Buffer::Role::kScratch && along_k.is_int() &&
         std::abs(along_k.as_int()) <= kLongestLine;
}

}  // namespace relay::lower

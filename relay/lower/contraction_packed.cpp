// Tiles of contractions, and operands that were packed for them: recognising their loads.
#include <algorithm>
#include <functional>

#include <relay/lower/contraction.h>
#include <relay/lower/contraction_plan.h>
#include <relay/lower/index_math.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Affine;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

DType stored_type(const ScalarRef& value) {
  const ScalarNode* node = value.get();
  while (node->kind == ScalarKind::kCast) {
    const DType from = node->args[0]->dtype, to = node->dtype;
    const bool exact = from.is_integer() && to.is_integer() && to.bits > from.bits &&
                       (to.is_signed() || from.is_unsigned());
    if (!exact) return {};
    node = node->args[0].get();
  }
  const bool small = node->kind == ScalarKind::kLoad && node->dtype.is_integer() &&
                     node->dtype.bits >= 8 && node->dtype.bits <= 16;
  return small ? node->dtype : DType();
}

bool is_bfloat16(const ScalarRef& value) {
  const ScalarNode* node = value.get();
  while (node->kind == ScalarKind::kCast && node->dtype == kFloat32) node = node->args[0].get();
  return node->dtype == kBFloat16;
}

int64_t group_of(const ScalarRef& lhs, const ScalarRef& rhs, DType accumulator,
                 const Processor& processor) {
  if (accumulator == kFloat32)
    return processor.bfloat16_pairs && is_bfloat16(lhs) && is_bfloat16(rhs) ? 2 : 1;
  const DType left = stored_type(lhs), right = stored_type(rhs);
  if (accumulator != kInt32 || !left.valid() || !right.valid()) return 1;
  if (left.bits == 8 && right.bits == 8) return 4;
  // Products of 16 bits are of numbers with a sign.
  return left == kUInt16 || right == kUInt16 ? 1 : 2;
}

int64_t tile_rows(DType accumulator, const Processor& processor, int64_t vectors) {
  const bool integer = accumulator.is_integer();
  const int64_t registers = processor.registers;
  int64_t usual = processor.vector_bytes == 64 ? 4 : 2;  // vectors of a panel for many rows
  // A line of the panel, one broadcast, and a product where that is no part of the sum.
  const int64_t others = integer || processor.vector_bytes == 16 ? 2 : 1;
  if (vectors > usual) return std::max<int64_t>(1, (registers - others) / vectors - 1);
  if (processor.vector_bytes == 64)
    return vectors == 4 ? 6 : vectors == 3 ? 8 : vectors == 2 ? 12 : 14;
  if (processor.vector_bytes == 32)
    return integer ? (vectors == 2 ? 4 : 8) : (vectors == 2 ? 6 : 12);
  return integer ? 2 : (vectors == 2 ? 4 : 8);
}

namespace {

/// True if an index is the number of a group's element, counted through as one.
bool counts_through(const ScalarRef& index, const AxisGroup& group) {
  Affine sum = te::affine(index);
  if (!sum.others.empty() || !sum.constant.is_int(0)) return false;
  for (const Affine::Term& term : sum.terms) {
    if (!group.has(term.axis)) return false;
  }
  std::optional<Dim> stride = group.stride_of(sum);
  return stride && (stride->is_int(1) || group.extent.is_int(1));
}

bool mentions(const ScalarRef& index, const AxisGroup& group) {
  for (const ScalarNode* node : te::post_order({&index, 1})) {
    if (node->kind == ScalarKind::kIndex && group.has(node->axis)) return true;
  }
  return false;
}

/// Cycles that all tiles take for one step of k if panels are of so many vectors.
double cost_of(int64_t rows, int64_t vectors, int64_t width, int64_t limit) {
  const int64_t tiles = (rows + limit - 1) / limit;
  const double average = static_cast<double>(rows) / static_cast<double>(tiles);
  auto panel = [&](int64_t size) {
    auto across = static_cast<double>(size);
    const double products = average * across / 2, loads = (average + across) / 2;
    constexpr double kLatency = 4;  // of a sum: the next one waits for it
    return static_cast<double>(tiles) * std::max({products, loads, kLatency});
  };
  double sum = static_cast<double>(vectors / width) * panel(width);
  if (vectors % width != 0) sum += panel(vectors % width);
  return sum;
}

int64_t panel_vectors(const ContractionPlan& plan, DType accumulator, const Processor& processor) {
  constexpr int64_t kMany = 1024;
  const int64_t usual = processor.vector_bytes == 64 ? 4 : 2;
  Dim count = ceil_div(plan.columns.extent, plan.lanes);
  const int64_t vectors = count.is_int() ? count.as_int() : kMany;
  const int64_t rows = plan.rows.extent.is_int() ? plan.rows.extent.as_int() : kMany;
  int64_t best = 1;
  double least = 0;
  for (int64_t width = 1; width <= kWidestPanel; ++width) {
    if (width > 1 && width > vectors) break;
    const int64_t limit = tile_rows(accumulator, processor, width);
    // Wider ones for as many rows as are one tile: fewer would have little to do with each line.
    if (width > usual && rows > limit) break;
    double cost = cost_of(rows, vectors, width, limit);
    if (width == 1 || cost <= least) {
      best = width;
      least = cost;
    }
  }
  return best;
}

/// True if a left factor is packed in lines of a vector, so that it can be read as a right one.
/// That takes nothing from its tiles where they divide a vector. Few columns are likely where one
/// open extent says how many there are (windows of sound, steps of a sequence), not for pixels.
bool read_both_ways(const ContractionPlan& plan, const Processor& processor) {
  const auto is_one = [](const te::Axis& axis) { return axis.extent.is_int(1); };
  const std::vector<te::Axis>& columns = plan.columns.axes;
  return processor.vector_bytes == 64 && !plan.columns.extent.is_int() &&
         plan.rows.extent.is_int() &&
         std::count_if(columns.begin(), columns.end(), std::not_fn(is_one)) == 1 &&
         plan.rows.extent.as_int() > plan.lanes && plan.lanes % plan.row_tiles.size == 0 &&
         plan.folded.extent.is_int() && plan.folded.extent.as_int() >= kWorthTurning;
}

/// True if the right factor is so small that it stays in a cache from one run to the next.
bool fits_caches(const ContractionPlan& plan) {
  // Not the size at hand: with the choice the order of a sum changes, and results of equal programs
  // shall not differ between machines of one instruction set.
  constexpr int64_t kCached = 8 << 20;
  const Dim columns = plan.columns.extent, steps = plan.folded.extent;
  if (!columns.is_int() || !steps.is_int() || !plan.batch.extent.is_int(1)) return false;
  return columns.as_int() <= kCached && steps.as_int() <= kCached &&
         columns.as_int() * steps.as_int() * plan.rhs_bytes() <= kCached;
}

}  // namespace

std::optional<int64_t> packed_width(const Contraction& contraction, bool columns,
                                    const Processor& processor) {
  ContractionPlan plan = plan_contraction(contraction, processor);
  const Factor& factor = columns ? plan.rhs : plan.lhs;
  if (!factor.load || plan.rows.extent.is_int(0) || plan.columns.extent.is_int(0)) {
    return std::nullopt;
  }
  // Groups of k in rows are read where they are.
  if (plan.group > 1 && (!columns || factor.load->dtype != plan.rhs_type)) return std::nullopt;
  if (columns) {
    // A single row reads everything once. One stream is twice as fast as many lines at a time where
    // it comes from the caches; what is larger than these is not worth the time to pack it.
    if (plan.rows.extent.is_int(1) && plan.rhs_direct && !fits_caches(plan)) return std::nullopt;
    // Vectors would be nearly empty.
    if (plan.columns.extent.is_int() && 2 * plan.columns.extent.as_int() < plan.lanes) {
      return std::nullopt;
    }
    return plan.lanes * panel_vectors(plan, contraction.accumulator, processor);
  }
  // Vectors along k read rows in place. Columns left over are worth that beside few vectors.
  constexpr int64_t kFewVectors = 8;
  const bool tail = plan.tail > 0 && plan.columns.extent.as_int() <= kFewVectors * plan.lanes;
  if (plan.dots || tail || plan.rows.extent.is_int(1)) return std::nullopt;
  return read_both_ways(plan, processor) ? plan.lanes : plan.row_tiles.size;
}

bool is_packed_turned(const Contraction& contraction, const Processor& processor) {
  if (!has_few_columns(contraction, processor)) return false;
  const ContractionPlan plan = plan_contraction(turned(contraction), processor);
  return plan.rhs_packed && !plan.rhs.plain;
}

std::optional<Contraction> for_few_columns(const Contraction& contraction,
                                           const Processor& processor) {
  ContractionPlan plan = plan_contraction(contraction, processor);
  if (!plan.lhs_packed || plan.lhs.packed->width != plan.lanes) return std::nullopt;
  if (!read_both_ways(plan, processor)) return std::nullopt;
  return turned(contraction);
}

namespace {

/// A load of an operand that was packed in groups of k.
std::optional<PackedLoad> grouped_load(const ScalarRef& load, const Buffer& buffer,
                                       const AxisGroup& group, const AxisGroup& batch) {
  const std::optional<GroupedPlaces> places = grouped_places(*load, buffer);
  if (!places) return std::nullopt;
  PackedLoad result;
  result.buffer = load->tensor.index;
  result.dtype = load->dtype;
  result.group = places->group;
  result.width = buffer.dims[places->within].as_int();
  const ScalarRef& within = load->args[places->within];
  result.step = te::affine(load->args.back()->args[0]);
  if (!result.step->others.empty() || !result.step->constant.is_int(0)) return std::nullopt;
  for (const Affine::Term& term : result.step->terms) {
    if (group.has(term.axis) || batch.has(term.axis)) return std::nullopt;
  }
  if (places->panel) {
    const bool whole_lines = te::divisor(*within).is_int(result.width);
    if (!whole_lines || !counts_through(within->args[0], group)) return std::nullopt;
  } else if (!group.extent.is_int() || group.extent.as_int() > result.width ||
             !counts_through(within, group)) {
    return std::nullopt;
  }
  Dim stride = Dim(result.width) * result.group;
  for (size_t d = places->within; d-- > 0;) {
    if (places->panel == d) {
      result.pitch = stride;
    } else if (d != places->steps) {
      result.offset = result.offset + te::affine(load->args[d]) * stride;
    }
    stride = stride * buffer.dims[d];
  }
  if (!result.offset.others.empty()) return std::nullopt;
  const bool same = std::all_of(result.offset.terms.begin(), result.offset.terms.end(),
                                [&](const Affine::Term& term) { return batch.has(term.axis); });
  return same ? std::optional(result) : std::nullopt;
}

}  // namespace

std::optional<PackedLoad> packed_load(const ScalarRef& load, const Buffer& buffer,
                                      const AxisGroup& group, const AxisGroup& batch) {
  if (load->bounds != te::Bounds::kProven || load->args.empty()) return std::nullopt;
  if (!buffer.dims.back().is_int() || buffer.dims.back().is_int(0)) return std::nullopt;
  if (std::optional<PackedLoad> grouped = grouped_load(load, buffer, group, batch)) return grouped;
  PackedLoad result;
  result.buffer = load->tensor.index;
  result.dtype = load->dtype;
  result.width = buffer.dims.back().as_int();
  const size_t last = load->args.size() - 1;
  std::optional<size_t> panel = panel_index(*load);
  if (panel) {
    const bool whole_lines = te::divisor(*load->args[last]).is_int(result.width);
    if (!whole_lines || !counts_through(load->args[last]->args[0], group)) return std::nullopt;
  } else {
    // All in the first panel: divisions are gone.
    if (!group.extent.is_int() || group.extent.as_int() > result.width) return std::nullopt;
    if (!counts_through(load->args[last], group)) return std::nullopt;
  }
  Dim stride = result.width;
  for (size_t d = last; d-- > 0;) {
    if (panel == d) {
      result.pitch = stride;
    } else if (mentions(load->args[d], group)) {
      return std::nullopt;
    } else {
      result.offset = result.offset + te::affine(load->args[d]) * stride;
    }
    stride = stride * buffer.dims[d];
  }
  for (const Affine::Other& other : result.offset.others) {
    for (const ScalarNode* node : te::post_order({&other.value, 1})) {
      if (node->kind == ScalarKind::kVar) return std::nullopt;
      if (node->kind == ScalarKind::kIndex && !batch.has(node->axis)) return std::nullopt;
    }
  }
  return result;
}

}  // namespace relay::lower

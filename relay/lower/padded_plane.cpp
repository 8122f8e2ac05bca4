#include <relay/lower/padded_plane.h>

#include <algorithm>

#include <relay/lower/contraction_plan.h>
#include <relay/lower/scalars.h>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

constexpr int64_t kMostSignalTaps = 128;    // each is written out, of one row
constexpr int64_t kMostLoopTaps = 1024;     // in a loop over columns of taps …
constexpr int64_t kMostTapsOfAColumn = 32;  // … of which each is written out, for each row

std::optional<FloatSum> float_sum(const ScalarNode& fold, const ScalarNode* data, int64_t taps) {
  const ScalarNode& value = *fold.args[0];
  if (fold.combiner->kind != te::Combiner::Kind::kSum || fold.dtype != kInt32 ||
      value.kind != ScalarKind::kBinary || value.binary != te::BinaryOp::kMul)
    return std::nullopt;
  constexpr int64_t kExact = int64_t{1} << 24;
  Ref<ScalarNode> as_float = copy_node(*data);
  as_float->dtype = kFloat32;
  FloatSum result{as_float, {}};
  std::vector<Scalar> factors;
  int64_t most = taps;
  for (const ScalarRef& factor : value.args) {
    const DType stored = stored_type(factor);
    if (!stored.valid() || stored.bits > 8) return std::nullopt;
    most *= stored.is_signed() ? 128 : 255;
    const ScalarNode* load = factor.get();
    while (load->kind == ScalarKind::kCast) load = load->args[0].get();
    factors.push_back(load == data ? Scalar(result.data) : te::cast(Scalar(factor), kFloat32));
  }
  if (most > kExact) return std::nullopt;
  result.product = (factors[0] * factors[1]).ref();
  return result;
}

/// True if a window is too large to be copied anyway: its lines could not be counted in 64 bits.
bool is_absurd(const Slide& slide) {
  constexpr int64_t kMostStep = int64_t{1} << 20, kMostRows = int64_t{1} << 31;
  return slide.stride > kMostStep || slide.dilation > kMostStep || slide.taps() > kMostSignalTaps ||
         slide.before > kMostRows || slide.before < -kMostRows ||
         (!slide.is_open() && slide.rows() > kMostRows);
}

std::optional<Slide> slide_of(Space& space, const Access& access, size_t d, Dim extent) {
  Slide slide;
  slide.dim = d;
  if (!space.math().in_range(access.index[d], extent)) {
    const bool fills = access.load->bounds == te::Bounds::kFill;
    (fills ? slide.leaves_data : slide.unsure) = true;
  }
  Dim rest = access.index[d];
  auto take = [&](const Axis& axis, const Axis*& into, int64_t& factor) {
    std::optional<Dim> coefficient = space.coefficient(access.index[d], axis.id);
    if (!coefficient) return false;
    if (coefficient->is_int(0)) return true;
    if (into != nullptr || !coefficient->is_int() || coefficient->as_int() < 1) return false;
    if (axis.extent.is_int() && axis.extent.as_int() < 1) return false;
    into = &axis;
    factor = coefficient->as_int();
    rest = space.math().without(rest, axis.id);
    return true;
  };
  for (const Axis& axis : space.group.rows) {
    if (!take(axis, slide.row, slide.stride)) return std::nullopt;
  }
  for (const Axis& axis : access.fold->axes) {
    if (!take(axis, slide.tap, slide.dilation)) return std::nullopt;
  }
  if (slide.tap != nullptr && !slide.tap->extent.is_int()) return std::nullopt;
  if (slide.row == nullptr || !rest.is_int()) return std::nullopt;
  slide.before = -rest.as_int();
  if (is_absurd(slide)) return std::nullopt;
  // Elements that are not filled may be read only where something around them allows.
  if (slide.unsure && extent.is_int() && !slide.is_open()) return std::nullopt;
  return slide;
}

bool mentions_any(Space& space, Dim index, std::span<const Axis> axes) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& axis) { return space.math().mentions(index, axis.id); });
}

/// The plane that a load goes through, its last dimension along the lanes; nothing if it is no
/// window over one.
std::optional<Plane> plane_of(Space& space, const te::Computation& c, const Access& access,
                              const Axis& lane) {
  const std::vector<Dim>& extents = c.info(access.load->tensor).dims;
  Plane plane{access.fold, access.load, {}, {}, {}};
  bool has_lane = false;
  for (size_t d = 0; d < access.index.size(); ++d) {
    Dim index = access.index[d];
    if (!mentions_any(space, index, access.fold->axes) && !space.math().mentions(index, lane.id)) {
      if (!space.math().in_range(index, extents[d])) return std::nullopt;
      continue;
    }
    std::optional<Slide> slide = slide_of(space, access, d, extents[d]);
    if (!slide || slide->before < 0) return std::nullopt;
    if (slide->row->id == lane.id) {
      if (d + 1 != access.index.size() || slide->stride > kMostStride) return std::nullopt;
      plane.along = *slide;
      has_lane = true;
    } else {
      if (plane.down) return std::nullopt;
      plane.down = slide;
    }
  }
  if (!has_lane) return std::nullopt;
  // The rows of the plane take no part in which plane it is.
  for (size_t d = 0; plane.down && d < access.index.size(); ++d) {
    if (d != plane.down->dim && space.math().mentions(access.index[d], plane.down->row->id)) {
      return std::nullopt;
    }
  }
  return plane;
}

/// So many taps can be computed from lines in scratch.
int64_t most_taps(const Plane& plane) {
  if (!plane.down) return kMostSignalTaps;
  // In a loop places of taps are sums, as they are in lines of one part. Few results of many taps,
  // as those of a weight's gradient, are better off with lanes along the taps.
  const Slide& along = plane.along;
  const bool in_loop = along.stride == 1 && plane.down->taps() <= kMostTapsOfAColumn &&
                       (along.is_open() || 2 * along.rows() >= along.taps());
  return in_loop ? kMostLoopTaps : kMostWrittenTaps;
}

/// True if windows that step by more than 2 read the elements often enough for a copy to pay: it
/// takes each element once, also those that dilation or steps leave out.
bool reads_often(const Plane& plane) {
  const int64_t step = plane.along.stride;
  if (step <= 2) return true;
  if (plane.down) return 3 * plane.taps() >= 4 * step * plane.down->stride;
  return plane.taps() > (plane.along.leaves_data ? step : 2 * step);
}

}  // namespace

std::optional<Plane> find_plane(Space& space, const te::Computation& c, const Axis& lane) {
  if (space.folds.size() != 1) return std::nullopt;
  const ScalarNode& fold = *space.folds[0];
  if (num_accumulators(fold) != 1 || fold.args.size() != 1 || fold.combiner->needs_element ||
      fold.combiner->kind == te::Combiner::Kind::kCustom) {
    return std::nullopt;
  }
  std::optional<Plane> plane;
  for (const Access& access : space.accesses) {
    if (access.load == nullptr) continue;
    std::optional<Plane> here;
    if (access.fold != nullptr) here = plane_of(space, c, access, lane);
    if (here) {
      if (plane && plane->data != here->data) return std::nullopt;
      plane = here;
    } else if (access.load->bounds != te::Bounds::kProven) {
      return std::nullopt;
    }
  }
  if (!plane) return std::nullopt;
  te::Bounds bounds = plane->data->bounds;
  if (bounds != te::Bounds::kFill && bounds != te::Bounds::kProven) return std::nullopt;
  if (bounds == te::Bounds::kFill && plane->data->fill->kind != ScalarKind::kConst) {
    return std::nullopt;
  }
  const int64_t taps = plane->taps();
  for (const Axis& axis : fold.axes) {
    if (plane->along.tap != &axis && (!plane->down || plane->down->tap != &axis)) {
      return std::nullopt;
    }
  }
  // Without masks and shuffles a line is still read once for all rows that it belongs to.
  const bool many_taps = plane->down && taps >= (plane->down->is_open() ? 9 : 16);
  const bool pays = plane->along.leaves_data || plane->along.stride > 1 || many_taps;
  if (!pays || !plane->along.overlaps() || taps < 4 || taps > most_taps(*plane))
    return std::nullopt;
  if (!reads_often(*plane)) return std::nullopt;
  plane->as_floats = float_sum(fold, plane->data, taps);
  return plane;
}

}  // namespace relay::lower

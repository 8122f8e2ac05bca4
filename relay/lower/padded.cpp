// Windows over a plane that lies in scratch with its padding: what the inner loops read is always
// there and side by side, so that they need neither masks nor shuffles.
#include <algorithm>

#include <relay/lower/lines.h>
#include <relay/lower/padded_plane.h>
#include <relay/lower/templates.h>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

constexpr int64_t kPlaneBytes = 24 << 10;  // most of the first cache
constexpr int64_t kMostBytes = 256 << 10;  // rows that are wider than this stay where they are
// Where extents are not known: results of a piece of a line, rows in registers, groups of a band.
constexpr int64_t kOpenElements = 256, kOpenRows = 4, kOpenRowsByColumns = 6, kOpenGroups = 8;
constexpr int64_t kOpenSignal = 2048;  // elements of a piece of a line that is a plane

/// How a plane is cut: bands of groups of rows of results, and pieces of their columns.
struct PlaneCut {
  int64_t rows = 1;              // of results, in registers together
  bool by_columns = false;       // weights of one column of taps at a time are in registers
  bool in_loop = false;          // … and there is a loop over these columns
  int64_t of_band = 1;           // groups
  Dim bands = 1;                 // tasks of a plane
  int64_t lines = 1;             // of the data, for a band
  int64_t parts = 1, pitch = 1;  // of a line: columns by their remainder, and how far apart
  int64_t width = 1;             // … and how many are read
  int64_t ahead = 0;             // elements in front of the first line
  int64_t lanes = 1;             // of the vectors that lines are written in; 1: in parts
  int64_t before = 0;            // elements more in front of the first line, if lanes are several
  int64_t columns = 0;           // of results in a piece; 0: all, in one
  Dim pieces = 1;
  const Axis* planes = nullptr;  // if set: so many neighbours along this axis are one task
  int64_t together = 1;

  int64_t elements() const { return ahead + before + lines * parts * pitch; }
};

/// Rows of an unknown height: small groups, since the last one may be computed for a few rows.
void cut_open_height(PlaneCut& cut, const Slide& down, int64_t line) {
  cut.rows = cut.by_columns ? kOpenRowsByColumns : kOpenRows;
  cut.of_band = kOpenGroups;
  while (cut.of_band > 1 && down.reach(cut.of_band * cut.rows) * line > kPlaneBytes) --cut.of_band;
  cut.bands = ceil_div(down.row->extent, Dim(cut.of_band * cut.rows));
  cut.lines = down.reach(cut.of_band * cut.rows);
}

/// True if one instruction reads those of a vector's elements that a mask wants.
bool has_masks(const Processor& processor, DType dtype) {
  return processor.vector_bytes == 64 || (processor.vector_bytes == 32 && dtype.size() >= 4);
}

/// Lets the data of each line begin with a whole vector: vectors that cross lines of the cache take
/// twice as long to store, and to load. Lines of one part are then written in whole vectors, if
/// masks read the last elements: neighbours share what is between them.
void align_lines(PlaneCut& cut, const Plane& plane, Dim extent, const Processor& processor) {
  const Slide& along = plane.along;
  const int64_t lanes = processor.lanes(static_cast<int64_t>(plane.copied_as().size()));
  if (lanes <= 1 || cut.width < lanes / 2) return;
  auto in_vectors = [&](int64_t elements) { return (elements + lanes - 1) / lanes * lanes; };
  cut.pitch = in_vectors(cut.width);
  if (cut.parts > 1) return;
  cut.ahead = (lanes - along.before % lanes) % lanes;
  if (!extent.is_int()) return;
  const int64_t have = std::min(extent.as_int(), cut.width - along.before);
  if (have < 1 || (have % lanes != 0 && !has_masks(processor, plane.data->dtype))) return;
  cut.lanes = lanes;
  cut.before = along.before;
  cut.pitch = in_vectors(have + std::max(along.before, cut.width - along.before - have));
}

/// Rows of a group, of a known height: those that take the fewest operations in all. The last group
/// is whole, too: it begins with rows that were computed already.
int64_t rows_together(const Plane& plane, int64_t most) {
  constexpr int64_t kForGroup = 40;
  const Slide& down = *plane.down;
  int64_t best = 1, least = 0;
  for (int64_t rows = 1; rows <= most; ++rows) {
    const int64_t groups = (down.rows() + rows - 1) / rows;
    const int64_t cost =
        groups * (rows * plane.taps() + down.reach(rows) * plane.along.taps() + kForGroup);
    if (rows > 1 && cost > least) continue;
    best = rows;
    least = cost;
  }
  return best;
}

std::optional<PlaneCut> cut_plane(const Plane& plane, Dim extent, const LowerOptions& options) {
  PlaneCut cut;
  const int64_t size = static_cast<int64_t>(plane.copied_as().size());
  const Slide& along = plane.along;
  cut.parts = along.stride;
  auto set_line = [&](int64_t columns) {
    cut.pitch = cut.width = (along.reach(columns) + cut.parts - 1) / cut.parts;
    return cut.parts * cut.pitch * size;
  };
  int64_t line = 0;
  if (along.is_open()) {
    cut.columns = (plane.down ? kOpenElements : kOpenSignal) / along.stride;
    cut.pieces = ceil_div(along.row->extent, Dim(cut.columns));
    line = set_line(cut.columns);
  } else {
    set_line(along.rows());
    align_lines(cut, plane, extent, options.processor);
    line = cut.parts * cut.pitch * size;
  }
  if (!plane.down) {
    cut.lines = 1;
    return line <= kMostBytes ? std::optional(cut) : std::nullopt;
  }
  const Slide& down = *plane.down;
  // Sums of several rows stay in registers beside the weights: of all taps, or of a column of them.
  constexpr int64_t kFewestRows = 4, kMostRows = 8;
  const int64_t registers = options.processor.registers - 2;
  cut.by_columns = registers - plane.taps() < kFewestRows && along.taps() > 1;
  cut.in_loop = plane.taps() > kMostWrittenTaps;
  if (down.is_open()) {
    cut_open_height(cut, down, line);
    return cut.lines * line <= kMostBytes ? std::optional(cut) : std::nullopt;
  }
  int64_t most = registers - (cut.by_columns ? down.taps() : plane.taps());
  most = std::clamp(most, kFewestRows, kMostRows);
  if (along.is_open()) most = std::min(most, kOpenRowsByColumns);
  cut.rows = rows_together(plane, std::min(most, down.rows()));
  const int64_t groups = (down.rows() + cut.rows - 1) / cut.rows;
  cut.of_band = groups;
  while (cut.of_band > 1 && down.reach(cut.of_band * cut.rows) * line > kPlaneBytes) --cut.of_band;
  const int64_t bands = (groups + cut.of_band - 1) / cut.of_band;
  cut.bands = bands;
  cut.of_band = (groups + bands - 1) / bands;
  cut.lines = down.reach(std::min(cut.of_band * cut.rows, down.rows()));
  return cut.lines * line <= kMostBytes ? std::optional(cut) : std::nullopt;
}

/// Copies several small planes before the first of them is computed: loads that lie across two
/// stores wait until these are in the cache.
void join_planes(PlaneCut& cut, const Plane& plane, const Space& space, const Axis& lane) {
  constexpr int64_t kSmall = 2 << 10, kTogether = 4, kLeastTasks = 16;
  const int64_t bytes = cut.elements() * static_cast<int64_t>(plane.copied_as().size());
  if (!plane.down || plane.down->is_open() || cut.columns > 0 || !cut.bands.is_int(1) ||
      bytes > kSmall)
    return;
  for (const Axis& axis : space.group.rows) {
    if (axis.id != lane.id && axis.id != plane.down->row->id) cut.planes = &axis;
  }
  if (cut.planes == nullptr || !cut.planes->extent.is_int()) return;
  const int64_t count = cut.planes->extent.as_int();
  for (int64_t some = 2; some <= kTogether; ++some) {
    if (count % some == 0 && count / some >= kLeastTasks) cut.together = some;
  }
}

class PaddedWindow {
 public:
  PaddedWindow(const Job& job, Space& space, const Axis& lane, const Plane& plane,
               const PlaneCut& cut)
      : draft_(job.computation),
        space_(space),
        member_(space.group.members[0]),
        lane_(lane),
        plane_(plane),
        cut_(cut),
        bands_(draft_.new_axis(cut.bands)),
        pieces_(draft_.new_axis(cut.pieces)),
        tasks_(draft_.new_axis(some_planes() ? floor_div(cut.planes->extent, cut.together) : 1)),
        planes_(draft_.new_axis(Dim(cut.together))),
        loops_(draft_, outer_axes(), work_of_task()),
        names_(loops_.names) {
    scratch_ = draft_.scratch("plane", plane.copied_as(), {Dim(cut.together * cut.elements())});
    if (!some_planes()) return;
    names_[cut.planes->id] =
        (Scalar(loops_.name(tasks_)) * cut.together + te::index_of(planes_)).ref();
    place_ = te::index_of(planes_) * cut.elements();
  }

  DraftKernel run(const std::string& name, Dim flops) {
    Block body;
    find_piece(body);
    if (plane_.down) {
      band(body);
    } else {
      copy({te::index_constant(0), {}, {}, {}}, body);
      rows_of(1, te::index_constant(0), te::index_constant(0), body);
    }
    loops_.close(std::move(body));
    return draft_.finish(name, "window", flops);
  }

 private:
  bool has_bands() const { return !cut_.bands.is_int(1); }
  bool some_planes() const { return cut_.together > 1; }

  std::vector<Axis> outer_axes() const {
    std::vector<Axis> outer;
    for (const Axis& axis : space_.group.rows) {
      bool inside = axis.id == lane_.id || (plane_.down && axis.id == plane_.down->row->id);
      if (!inside) outer.push_back(some_planes() && axis.id == cut_.planes->id ? tasks_ : axis);
    }
    if (has_bands()) outer.push_back(bands_);
    if (cut_.columns > 0) outer.push_back(pieces_);
    return outer;
  }

  double work_of_task() const {
    double rows = static_cast<double>(cut_.together), columns = guess(lane_.extent);
    if (cut_.columns > 0) columns = std::min(columns, static_cast<double>(cut_.columns));
    if (plane_.down) {
      rows *= plane_.down->is_open() ? static_cast<double>(cut_.of_band * cut_.rows)
                                     : guess(plane_.down->row->extent) / guess(cut_.bands);
    }
    return space_.work() * columns * rows;
  }

  Scalar in_register(const Scalar& value, Block& body) {
    uint32_t var = draft_.new_var();
    body.push_back(let(var, value.ref()));
    return te::placeholder(var, kInt64);
  }

  /// The columns of the piece at hand.
  void find_piece(Block& body) {
    if (cut_.columns == 0) return;
    begin_ = in_register(Scalar(loops_.name(pieces_)) * cut_.columns, body);
    end_ = in_register(te::min(begin_ + cut_.columns, te::from_dim(lane_.extent)), body);
  }

  /// Copies lines of the piece at hand, with what surrounds the data.
  void copy(LinesPiece piece, Block& body) {
    Lines lines{plane_.data, std::nullopt, plane_.along.dim,   plane_.along.before,
                cut_.lines,  cut_.parts,   cut_.pitch,         cut_.width,
                cut_.ahead,  false,        plane_.copied_as(), cut_.lanes};
    if (plane_.down) {
      lines.down = plane_.down->dim;
      // The last band may have fewer groups than there is room for.
      lines.unsure = plane_.down->unsure || has_bands();
    }
    if (cut_.columns > 0) {
      piece.begin = begin_;
      piece.columns = in_register((end_ - begin_) + (cut_.pitch - cut_.columns), body);
    }
    piece.place = place_;
    copy_lines(draft_, space_.math(), lines, names_, scratch_, piece, body);
  }

  /// A band of a plane: whole groups of rows, the last of which ends with the band and begins with
  /// rows that were computed already; rows one by one in a band of fewer than a group.
  void band(Block& body) {
    const Slide& down = *plane_.down;
    const Dim height = down.row->extent;
    // Bands are of equal height, but the last.
    const Dim rows = ceil_div(height, max(cut_.bands, 1));
    Scalar first = te::index_constant(0), count = te::from_dim(height);
    if (has_bands()) {
      first = in_register(Scalar(loops_.name(bands_)) * te::from_dim(rows), body);
      count = in_register(te::min(te::from_dim(height) - first, te::from_dim(rows)), body);
    }
    LinesPiece piece{first * down.stride - down.before, {}, {}, {}};
    if (has_bands() || down.is_open()) piece.count = down.reach(count);
    copy(std::move(piece), body);
    Block sums;
    rows_of_band(first, count, rows, sums);
    if (some_planes()) {  // of one band each, so nothing but the copy stands in `body`
      enclose(body, loop(LoopKind::kSerial, planes_));
      enclose(sums, loop(LoopKind::kSerial, planes_));
    }
    for (Stmt& stmt : sums) body.push_back(std::move(stmt));
  }

  /// `count` rows of results from `first` on, of at most `rows` in a band.
  void rows_of_band(const Scalar& first, const Scalar& count, Dim rows, Block& body) {
    const Dim height = plane_.down->row->extent;
    const bool one_group = !has_bands() && height.is_int(cut_.rows);
    if (one_group) return rows_of(cut_.rows, first, te::index_constant(0), body);
    groups_of(first, count, body);
    const Dim shortest = has_bands() && height.is_int() ? height - rows * (cut_.bands - 1) : height;
    if (shortest.is_int() && shortest.as_int() >= cut_.rows) return;
    Axis row = draft_.new_axis(rows);
    For few = loop(LoopKind::kSerial, row);
    few.end = te::select(count < cut_.rows, count, te::index_constant(0)).ref();
    one_row(first + te::index_of(row), te::index_of(row) * plane_.down->stride, few.body);
    body.push_back({std::move(few)});
  }

  void groups_of(const Scalar& first, const Scalar& count, Block& body) {
    Axis group = draft_.new_axis(Dim(cut_.of_band));
    For all = loop(LoopKind::kSerial, group);
    const Scalar groups = te::floor_div(count + (cut_.rows - 1), te::index_constant(cut_.rows));
    all.end = te::select(count < cut_.rows, te::index_constant(0), groups).ref();
    const Scalar row = te::min(te::index_of(group) * cut_.rows, count - cut_.rows);
    const Scalar done = in_register(row, all.body);
    rows_of(cut_.rows, first + done, done * plane_.down->stride, all.body);
    body.push_back({std::move(all)});
  }

  /// `count` rows of results from `row` on; `start` is their first line in scratch. A line of the
  /// data is read once and added to all rows that it belongs to; each sum is formed in the order of
  /// the window, or column by column of it.
  void rows_of(int64_t count, const Scalar& row, const Scalar& start, Block& body) {
    For vector = lanes();
    std::vector<uint32_t> sums;
    std::vector<std::unordered_map<uint32_t, ScalarRef>> names;
    for (int64_t r = 0; r < count; ++r) {
      sums.push_back(draft_.new_var());
      vector.body.push_back(
          let(sums.back(), combiner_identity(*plane_.fold->combiner, 0, sum_type())));
      names.push_back(names_);
      if (plane_.down) names.back().emplace(plane_.down->row->id, (row + r).ref());
    }
    const int64_t lines = plane_.down ? plane_.down->reach(count) : 1;
    auto add = [&](int64_t line, const Scalar& x, Block& block) {
      for (int64_t r = 0; r < count; ++r) {
        std::optional<int64_t> y = tap_of(line, r);
        if (y)
          add_tap(sums[static_cast<size_t>(r)], names[static_cast<size_t>(r)],
                  te::index_constant(*y), x, start + line, block);
      }
    };
    const int64_t taps = plane_.along.taps();
    if (cut_.in_loop) {
      Axis column = draft_.new_axis(Dim(taps));
      For columns = loop(LoopKind::kSerial, column);
      for (int64_t line = 0; line < lines; ++line) add(line, te::index_of(column), columns.body);
      vector.body.push_back({std::move(columns)});
    } else {
      for (int64_t k = 0; k < lines * taps; ++k) {
        const int64_t line = cut_.by_columns ? k % lines : k / taps;
        add(line, te::index_constant(cut_.by_columns ? k / lines : k % taps), vector.body);
      }
    }
    for (int64_t r = 0; r < count; ++r) {
      store_row(sums[static_cast<size_t>(r)], names[static_cast<size_t>(r)], vector.body);
    }
    body.push_back({std::move(vector)});
  }

  /// One row of results, its lines in a loop: few rows are computed so, and code takes time to
  /// compile. Sums are formed in the order of the window.
  void one_row(const Scalar& row, const Scalar& start, Block& body) {
    const Slide& down = *plane_.down;
    For vector = lanes();
    const uint32_t sum = draft_.new_var();
    vector.body.push_back(let(sum, combiner_identity(*plane_.fold->combiner, 0, sum_type())));
    std::unordered_map<uint32_t, ScalarRef> names = names_;
    names.emplace(down.row->id, row.ref());
    Axis tap = draft_.new_axis(Dim(down.taps()));
    For taps = loop(LoopKind::kSerial, tap);
    Scalar y = te::index_of(tap);
    for (int64_t x = 0; x < plane_.along.taps(); ++x) {
      add_tap(sum, names, y, te::index_constant(x), start + y * down.dilation, taps.body);
    }
    vector.body.push_back({std::move(taps)});
    store_row(sum, names, vector.body);
    body.push_back({std::move(vector)});
  }

  DType sum_type() const { return plane_.as_floats ? DType(kFloat32) : plane_.fold->dtype; }

  /// The loop over the results of a line.
  For lanes() const {
    For vector = loop(LoopKind::kVector, lane_);
    if (cut_.columns > 0) {
      vector.begin = begin_.ref();
      vector.end = end_.ref();
    }
    return vector;
  }

  /// Which tap of row `r` a line of its group is.
  std::optional<int64_t> tap_of(int64_t line, int64_t r) const {
    if (!plane_.down) return 0;
    int64_t distance = line - r * plane_.down->stride;
    if (distance < 0 || distance % plane_.down->dilation != 0) return std::nullopt;
    int64_t tap = distance / plane_.down->dilation;
    return tap < plane_.down->taps() ? std::optional(tap) : std::nullopt;
  }

  /// Where column `x` of the taps is in a line, for the first result.
  Scalar place_of_tap(const Scalar& x) const {
    if (x.node()->kind != ScalarKind::kConst) return x * plane_.along.dilation + cut_.ahead;
    const int64_t column = x.node()->value.i * plane_.along.dilation;
    return te::index_constant(cut_.ahead + column % cut_.parts * cut_.pitch + column / cut_.parts);
  }

  void add_tap(uint32_t sum, std::unordered_map<uint32_t, ScalarRef> names, const Scalar& y,
               const Scalar& x, const Scalar& line, Block& block) {
    if (plane_.down && plane_.down->tap != nullptr) {
      names.emplace(plane_.down->tap->id, y.ref());
    }
    if (plane_.along.tap != nullptr) {
      names.emplace(plane_.along.tap->id, x.ref());
    }
    Scalar at = line * (cut_.parts * cut_.pitch) + place_of_tap(x) + te::index_of(lane_);
    if (cut_.columns > 0) at = at - begin_;
    if (some_planes()) at = at + place_;
    const ScalarNode* data = plane_.as_floats ? plane_.as_floats->data.get() : plane_.data;
    draft_.intercept = [&](const ScalarNode& load, const std::vector<ScalarRef>&) {
      return &load == data ? draft_.load(scratch_, {space_.math().simplify(at.ref())})
                           : ScalarRef();
    };
    Accumulate accumulate;
    accumulate.vars = {sum};
    accumulate.combiner = *plane_.fold->combiner;
    accumulate.origin = plane_.fold->origin;
    accumulate.values = plane_.as_floats
                            ? draft_.bind({&plane_.as_floats->product, 1}, space_.math(), names)
                            : draft_.bind(plane_.fold->args, space_.math(), names);
    block.push_back({std::move(accumulate)});
    draft_.intercept = nullptr;
  }

  void store_row(uint32_t sum, const std::unordered_map<uint32_t, ScalarRef>& names, Block& block) {
    const Scalar in_sum = te::placeholder(sum, sum_type());
    const ScalarRef total = te::cast(in_sum, plane_.fold->dtype).ref();
    ScalarRewriter replace([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
      const bool same = node->kind == ScalarKind::kCast && node->dtype == sum_type() &&
                        node->args[0].get() == plane_.fold;
      if (same) return in_sum.ref();
      return node.get() == plane_.fold ? total : ScalarRef();
    });
    std::vector<ScalarRef> values;
    for (const ScalarRef& value : member_.values) values.push_back(replace(value));
    values = draft_.bind(values, space_.math(), names);
    for (Stmt& stmt : store_results(draft_, space_.math(), member_, values, names))
      block.push_back(std::move(stmt));
  }

  Draft draft_;
  Space& space_;
  const Member& member_;
  Axis lane_;
  const Plane& plane_;
  const PlaneCut& cut_;
  Axis bands_, pieces_;
  Axis tasks_, planes_;  // where several planes are a task
  OuterLoops loops_;
  std::unordered_map<uint32_t, ScalarRef> names_;  // of the outer axes
  int32_t scratch_ = 0;
  Scalar place_;        // in scratch, of the plane at hand, where there are several
  Scalar begin_, end_;  // columns of the piece at hand, where lines are cut
};

}  // namespace

std::optional<DraftKernel> lower_padded(const Job& job, Space& space, const Axis& lane, Dim flops) {
  std::optional<Plane> plane = find_plane(space, job.computation, lane);
  if (!plane) return std::nullopt;
  const Dim extent = job.computation.info(plane->data->tensor).dims[plane->along.dim];
  std::optional<PlaneCut> cut = cut_plane(*plane, extent, job.options);
  if (!cut) return std::nullopt;
  join_planes(*cut, *plane, space, lane);
  return PaddedWindow(job, space, lane, *plane, *cut).run(job.name, flops);
}

}  // namespace relay::lower

#include <relay/lower/contraction_plan.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <numeric>
#include <unordered_set>

#include <relay/lower/contraction_parts.h>
#include <relay/lower/scalars.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Affine;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

class Planner {
 public:
  Planner(const Contraction& contraction, const Processor& processor, bool few_rows)
      : contraction_(contraction), processor_(processor), few_rows_(few_rows) {}

  ContractionPlan run() {
    plan_.batch = AxisGroup(contraction_.batch);
    plan_.rows = AxisGroup(contraction_.rows);
    plan_.columns = AxisGroup(contraction_.columns);
    plan_.folded = AxisGroup(contraction_.folded);
    plan_.num_vars = contraction_.num_vars;
    plan_.element_bytes = static_cast<int64_t>(contraction_.accumulator.size());
    plan_.lanes = processor_.lanes(plan_.element_bytes);
    choose_group();
    plan_.lhs = factor(contraction_.lhs, plan_.rows);
    plan_.rhs = factor(contraction_.rhs, plan_.columns);
    order_folded();
    epilogue();
    choose_access();
    choose_sizes();
    return std::move(plan_);
  }

 private:
  void choose_group() {
    const DType sum = contraction_.accumulator;
    plan_.lhs_type = plan_.rhs_type = sum;
    if (!plan_.folded.extent.is_int() && !sum.is_float()) return;
    plan_.group = group_of(contraction_.lhs, contraction_.rhs, sum, processor_);
    if (plan_.group == 1) return;
    const bool bytes = plan_.group == 4;
    const DType words = sum.is_float() ? kBFloat16 : kInt16;
    plan_.lhs_type = bytes ? stored_type(contraction_.lhs) : words;
    plan_.rhs_type = bytes ? stored_type(contraction_.rhs) : words;
  }

  // True if the parts that are no axes are the same throughout a batch.
  bool is_linear(const Affine& sum) const {
    for (const Affine::Other& other : sum.others) {
      for (const ScalarNode* node : te::post_order({&other.value, 1})) {
        if (node->kind == ScalarKind::kIndex && !plan_.batch.has(node->axis)) return false;
        if (node->kind == ScalarKind::kVar) return false;
      }
    }
    return true;
  }

  std::optional<LinearLoad> linear_load(const ScalarRef& ref) const {
    const ScalarNode& node = *ref;
    LinearLoad result;
    result.load = ref;
    result.buffer = node.tensor.index;
    result.dtype = node.dtype;
    const Buffer& buffer = contraction_.buffers[static_cast<size_t>(result.buffer)];
    if (node.bounds != te::Bounds::kProven && node.bounds != te::Bounds::kFill) {
      return std::nullopt;
    }
    result.offset = te::affine_offset(node.args, buffer.dims);
    if (!is_linear(result.offset)) return std::nullopt;
    if (node.bounds == te::Bounds::kFill) {
      for (size_t d = 0; d < node.args.size(); ++d) {
        Affine index = te::affine(node.args[d]);
        if (!is_linear(index)) return std::nullopt;
        auto extents = [this](uint32_t axis) { return plan_.extent_of(axis); };
        if (te::surely_inside(index, buffer.dims[d], extents)) continue;
        result.conditions.push_back({index, buffer.dims[d]});
      }
    }
    return result;
  }

  // True if a group of k reads a factor's elements as they are, without what widens them.
  bool is_stored(const ScalarRef& value) const {
    if (!contraction_.accumulator.is_float()) return stored_type(value).valid();
    const ScalarNode* node = value.get();
    while (node->kind == ScalarKind::kCast) node = node->args[0].get();
    return node->kind == ScalarKind::kLoad && node->dtype == kBFloat16;
  }

  // `group`: the rows or the columns.
  Factor factor(const ScalarRef& value, const AxisGroup& group) {
    Factor result;
    result.value = value;
    std::vector<ScalarRef> loads = loads_in(value);
    if (loads.size() != 1) return result;
    const lower::Buffer& buffer = contraction_.buffers[static_cast<size_t>(loads[0]->tensor.index)];
    ScalarRef of_load = with_placeholder(value, loads[0].get(), plan_.num_vars);
    if (uses_axes(of_load)) return result;
    result.load = linear_load(loads[0]);
    result.packed = packed_load(loads[0], buffer, group, plan_.batch);
    if (!result.load && !result.packed) return result;
    result.var = plan_.num_vars++;
    result.of_load = of_load;
    result.plain = result.load && result.load->conditions.empty() &&
                   (loads[0] == value || (plan_.group > 1 && is_stored(value)));
    return result;
  }

  // The order of the folded axes is free: the one in which a factor lies in memory.
  void order_folded() {
    std::vector<const Affine*> offsets;
    for (const Factor* factor : {&plan_.lhs, &plan_.rhs}) {
      if (!fits_tiles(*factor)) continue;
      const PackedLoad& packed = *factor->packed;
      offsets.push_back(packed.step ? &*packed.step : &packed.offset);
    }
    for (const Factor* factor : {&plan_.lhs, &plan_.rhs}) {
      if (factor->plain) offsets.push_back(&factor->load->offset);
    }
    for (const Affine* offset : offsets) {
      if (std::optional<AxisGroup> order = order_along(plan_.folded, *offset)) {
        plan_.folded = *order;
        return;
      }
    }
  }

  // True if the panels of a packed operand are as wide as tiles can be: of whole vectors for the
  // columns, of so many rows as there are registers for.
  bool fits_tiles(const Factor& factor) const {
    if (!factor.packed || factor.packed->group != plan_.group) return false;
    if (plan_.group > 1) {
      // Tiles read its groups as they are.
      const bool same = factor.packed->dtype == plan_.rhs_type;
      if (&factor == &plan_.lhs || !same) return false;
    }
    const int64_t width = factor.packed->width;
    // A panel of one row is the row: vectors along k read it where it is.
    if (&factor == &plan_.lhs) return !(width == 1 && factor.plain) && packed_tile(width, 1) > 0;
    if (width % plan_.lanes != 0) return false;
    const int64_t vectors = width / plan_.lanes;
    if (vectors <= widest()) return true;
    // A matrix that happens to be one panel is no better read so by many rows.
    Dim rows = plan_.rows.extent;
    const bool chosen = factor.load == std::nullopt;
    return vectors <= kWidestPanel &&
           (chosen || (rows.is_int() && rows.as_int() <= rows_of(vectors)));
  }

  void epilogue() {
    plan_.epilogue = contraction_.epilogue;
    plan_.heavy_epilogue = is_heavy(plan_.epilogue);
    for (const ScalarRef& ref : loads_in(plan_.epilogue)) {
      if (ref->bounds != te::Bounds::kProven) continue;
      std::optional<LinearLoad> load = linear_load(ref);
      if (!load) continue;
      std::optional<Dim> stride = plan_.columns.stride_of(load->offset);
      if (!stride || !(stride->is_int(0) || stride->is_int(1))) continue;
      uint32_t var = plan_.num_vars++;
      plan_.epilogue = with_placeholder(plan_.epilogue, ref.get(), var);
      plan_.tile_loads.push_back({*load, var, stride->is_int(1)});
    }
    const Buffer& out = contraction_.buffers[static_cast<size_t>(contraction_.out)];
    Affine offset = te::affine_offset(contraction_.out_index, out.dims);
    std::optional<Dim> stride = plan_.columns.stride_of(offset);
    bool contiguous = stride && (stride->is_int(1) || plan_.columns.extent.is_int(1));
    if (!contiguous) plan_.interleave = rows_between(offset);
    if ((contiguous || plan_.interleave > 1) && is_linear(offset)) plan_.out_offset = offset;
    if (!contiguous || !plan_.out_offset) plan_.heavy_epilogue = true;
    plan_.epilogue_axes = !plan_.out_offset || uses_axes(plan_.epilogue);
  }

  // How many rows that follow each other fill the places between the results of neighbouring
  // columns, as those of a transposed convolution do; 1 where results lie otherwise.
  int64_t rows_between(const Affine& offset) const {
    constexpr int64_t kMost = 8;
    const auto is_real = [](const te::Axis& axis) { return !axis.extent.is_int(1); };
    const std::vector<te::Axis>&rows = plan_.rows.axes, &columns = plan_.columns.axes;
    const auto row = std::find_if(rows.rbegin(), rows.rend(), is_real);
    const auto column = std::find_if(columns.rbegin(), columns.rend(), is_real);
    if (row == rows.rend() || column == columns.rend()) return 1;
    if (!plan_.rows.extent.is_int() || !row->extent.is_int()) return 1;
    const int64_t count = row->extent.as_int();
    const bool between = count > 1 && count <= kMost && offset.coefficient(row->id).is_int(1) &&
                         offset.coefficient(column->id) == row->extent;
    return between ? count : 1;
  }

  // Rows that fill the places between each other's results are stored together, so tiles must not
  // part them; where a packed operand's panels do, results are stored one by one.
  void check_interleaving() {
    const int64_t together = plan_.interleave;
    const Cut& tiles = plan_.row_tiles;
    const bool whole = tiles.size % together == 0 && tiles.rest % together == 0 &&
                       (tiles.rest > 0 || tiles.even());
    if (together == 1 || (whole && !plan_.dots && !plan_.matrix && plan_.tail == 0)) return;
    plan_.interleave = 1;
    plan_.out_offset.reset();
    plan_.epilogue_axes = true;
  }

  void choose_access() {
    const Factor& lhs = plan_.lhs;
    const Factor& rhs = plan_.rhs;
    if (fits_tiles(lhs)) plan_.lhs_step = plan_.folded.stride_of(lhs.packed->offset);
    plan_.lhs_packed = plan_.lhs_step.has_value();
    if (!plan_.lhs_packed && lhs.plain) {
      plan_.lhs_step = plan_.folded.stride_of(lhs.load->offset);
      plan_.lhs_direct = plan_.lhs_step.has_value();
    }
    if (plan_.group > 1) return choose_group_access();
    if (fits_tiles(rhs)) plan_.rhs_step = plan_.folded.stride_of(rhs.packed->offset);
    plan_.rhs_packed = plan_.rhs_step.has_value();
    if (plan_.rhs_packed) {
      if (!leaves_rows(rhs.packed->width / plan_.lanes)) plan_.lhs_packed = false;
      return;
    }
    std::optional<Dim> along_k, along_columns;
    if (rhs.load) {
      along_k = plan_.folded.stride_of(rhs.load->offset);
      along_columns = plan_.columns.stride_of(rhs.load->offset);
    }
    bool contiguous = along_columns && along_columns->is_int(1);
    bool masks =
        processor_.vector_bytes > 16 || floor_mod(plan_.columns.extent, plan_.lanes).is_int(0);
    plan_.rhs_direct =
        rhs.plain && contiguous && along_k && masks &&
        (read_once() || is_panel(contraction_, *rhs.load, *along_k) || stays_near(*along_k));
    if (plan_.rhs_direct) plan_.rhs_step = along_k;
    plan_.transpose = !plan_.rhs_direct && rhs.load && rhs.load->conditions.empty() &&
                      !contiguous && along_k && along_k->is_int(1);
    plan_.dots = plan_.transpose && rhs.plain && plan_.lhs_direct && plan_.lhs_step->is_int(1) &&
                 has_few_rows();
    if (plan_.dots) {
      plan_.transpose = false;
      plan_.rhs_direct = true;
      plan_.rhs_step = along_k;
    }
  }

  // Groups of k lie side by side in both factors: rows that lie so are read where they are, other
  // factors are copied.
  void choose_group_access() {
    const Factor& rhs = plan_.rhs;
    plan_.lhs_direct =
        plan_.lhs_direct && plan_.lhs_step->is_int(1) && plan_.lhs.load->dtype == plan_.lhs_type;
    plan_.matrix = has_matrix();
    // The unit loads rows at an even distance.
    if (plan_.matrix && plan_.lhs_direct)
      plan_.lhs_direct = plan_.rows.stride_of(plan_.lhs.load->offset).has_value();
    if (fits_tiles(rhs) && plan_.folded.stride_of(*rhs.packed->step)) {
      plan_.rhs_packed = true;
      plan_.rhs_step = rhs.packed->width * plan_.group;
      return;
    }
    if (!rhs.plain) return;
    std::optional<Dim> along_k = plan_.folded.stride_of(rhs.load->offset);
    std::optional<Dim> along_columns = plan_.columns.stride_of(rhs.load->offset);
    // Vectors of pairs along k.
    plan_.dots = plan_.lhs_type == kBFloat16 && along_k && along_k->is_int(1) && plan_.lhs_direct &&
                 rhs.load->conditions.empty() && has_few_rows();
    if (plan_.dots) {
      plan_.matrix = false;
      plan_.rhs_direct = true;
      plan_.rhs_step = along_k;
      return;
    }
    plan_.transpose = !(along_columns && along_columns->is_int(1)) && along_k &&
                      along_k->is_int(1) && rhs.load->dtype == plan_.rhs_type;
  }

  bool has_few_rows() const {
    const Dim rows = plan_.rows.extent;
    return few_rows_ || (rows.is_int() && rows.as_int() <= kFewRows);
  }

  // True if the matrix unit takes the factors' numbers and has enough to do.
  bool has_matrix() const {
    constexpr int64_t kFewGroups = 8;
    const Dim rows = plan_.rows.extent;
    return processor_.matrix_tiles && plan_.lanes == kMatrixRows &&
           (plan_.group == 4 || plan_.lhs_type == kBFloat16) && !few_rows_ &&
           plan_.folded.extent.is_int() &&
           plan_.folded.extent.as_int() >= kFewGroups * plan_.group &&
           (!rows.is_int() || rows.as_int() >= kFewRows);
  }

  // Columns of the right factor that so few rows read are not worth a copy.
  bool read_once() const {
    Dim rows = plan_.rows.extent;
    if (!rows.is_int()) return few_rows_ && plan_.folded.axes.size() == 1;
    return rows.as_int() <= kFewReads;
  }

  // True if the lines of a panel, one step of k after the other, are still in the first cache when
  // the next rows read them: there must be room for all, and steps of many pages fall on few of its
  // sets.
  bool stays_near(Dim along_k) {
    constexpr int64_t kMostRows = 96;
    const int64_t line = processor_.line_bytes, ways = processor_.first_ways;
    Dim rows = plan_.rows.extent, k = plan_.folded.extent;
    if (!rows.is_int() || !k.is_int() || !along_k.is_int()) return false;
    if (rows.as_int() > kMostRows) return false;
    // Each product of a batch has a right factor of its own, which is near to none of its rows yet:
    // a copy reads it at once.
    if (!plan_.batch.extent.is_int(1)) return false;
    int64_t step = std::abs(along_k.as_int()) * plan_.element_bytes;
    bool aligned = step % line == 0;
    // Panels may be narrower, if they still are several vectors.
    for (near_width_ = widest();; --near_width_) {
      int64_t lines = std::max<int64_t>(1, near_width_ * processor_.vector_bytes / line);
      if (k.as_int() * (lines + (aligned ? 0 : 1)) <= processor_.first_sets * ways) break;
      if (near_width_ <= 2) {
        near_width_ = kWidestPanel;
        return false;
      }
    }
    int64_t sets = processor_.first_sets;
    if (aligned) sets /= std::gcd(sets, step / line);
    return k.as_int() <= 2 * sets * ways;
  }

  int64_t rows_of(int64_t vectors) const {
    if (plan_.matrix) return 2 * kMatrixRows;
    return tile_rows(contraction_.accumulator, processor_, vectors);
  }
  int64_t widest() const { return processor_.vector_bytes == 64 ? 4 : 2; }

  // Panels for few rows: wide ones, as far as registers reach.
  int64_t wide_panel(int64_t rows) const {
    int64_t registers = processor_.registers;
    if (rows > rows_of(widest())) return 0;
    return std::clamp<int64_t>((registers - 1) / (rows + 1), 1, 8);
  }

  Cut cut_rows(int64_t most) const {
    Dim rows = plan_.rows.extent;
    if (plan_.lhs_packed) {
      const int64_t width = plan_.lhs.packed->width, tile = packed_tile(width, plan_.panels.size);
      return cut_panels(rows, tile > 0 ? tile : width);
    }
    if (!rows.is_int()) return cut_unknown(rows, most);
    const int64_t together = plan_.interleave, count = rows.as_int();
    if (together == 1 || together > most) return cut_known(count, most);
    return cut_panels(rows, cut_known(count / together, most / together).size * together);
  }

  // The same for all tiles and for packing.
  double cost_of(int64_t vectors, int64_t most) const {
    Cut panels = cut_known(vectors, most);
    int64_t limit = rows_of(panels.size);
    Dim rows = plan_.rows.extent;
    int64_t count = rows.is_int() ? rows.as_int() : 1024;
    // Full tiles and a rest, as rows that are packed are cut: how wide they are is decided here.
    // Others are cut into as many.
    Cut tiles = cut_known(count, limit);
    const int64_t rest = count % tiles.size;
    double sum = 0;
    for (int64_t p = 0; p < panels.pieces.as_int(); ++p) {
      int64_t width = p < panels.more.as_int() ? panels.size : panels.size - 1;
      double pack = plan_.rhs_direct ? 0 : 2.0 * static_cast<double>(width);
      sum +=
          pack + static_cast<double>(count / tiles.size) * tile_cost(processor_, tiles.size, width);
      if (rest > 0) sum += tile_cost(processor_, rest, width);
    }
    // Every further kind of tile is written out, too.
    int64_t kinds = (panels.more == panels.pieces ? 1 : 2) * (rest == 0 ? 1 : 2);
    return sum * (1 + 0.01 * static_cast<double>(kinds));
  }

  void choose_sizes() {
    choose_tail(plan_);
    choose_panels();
    choose_row_tiles();
    check_interleaving();
    plan_.tiles_in_block = row_tiles_in_block();
    Dim others = plan_.batch.extent * plan_.panels.pieces;
    if (others.is_int() && others.as_int() > 0 && plan_.row_tiles.pieces.is_int()) {
      // Enough tasks for even shares; a worker packs columns once for all its rows.
      constexpr int64_t kTasks = 16;
      int64_t wanted = (kTasks + others.as_int() - 1) / others.as_int();
      int64_t tiles = (plan_.row_tiles.pieces.as_int() + wanted - 1) / wanted;
      plan_.tiles_in_block = std::clamp<int64_t>(tiles, 1, plan_.tiles_in_block);
    }
    cut_into_passes(plan_, processor_);
    if (streams()) choose_streams(plan_, kFewReads);
    choose_column_block();
    choose_panels_for_rows();
    take_chosen_blocks();
  }

  // What was measured to be better, as far as there are so many tiles and panels.
  void take_chosen_blocks() {
    const TileChoice& chosen = contraction_.chosen;
    auto take = [](int64_t& size, int32_t wanted, Dim pieces) {
      if (wanted > 0 && pieces.is_int() && pieces.as_int() > 0)
        size = std::min<int64_t>(wanted, pieces.as_int());
    };
    take(plan_.tiles_in_block, chosen.tiles_in_block, plan_.row_tiles.pieces);
    take(plan_.panels_in_block, chosen.panels_in_block, plan_.panels.pieces);
  }

  // Panels that nobody copies: all of them, but where their sums wait in scratch for the next pass.
  int64_t most_waiting_panels() const {
    if (plan_.one_pass || plan_.panels.pieces.is_int()) return 1 << 20;
    const int64_t rows = plan_.tiles_in_block * plan_.row_tiles.size;
    const int64_t bytes = rows * plan_.panel_columns() * plan_.element_bytes;
    return std::max<int64_t>(1, processor_.second_bytes / 2 / bytes);
  }

  void choose_panels_for_rows() {
    if (!plan_.copies_lhs() || shares_copied_rows(plan_)) return;
    // Rows are packed for each block of columns: few such blocks.
    Dim k = plan_.folded.extent;
    int64_t steps = k.is_int() ? std::clamp<int64_t>(k.as_int(), 1, kLongest) : 1024;
    int64_t panel = steps * plan_.panel_columns() * plan_.rhs_bytes();
    plan_.panels_in_block = plan_.copies_rhs()
                                ? std::clamp<int64_t>(processor_.second_bytes / 2 / panel, 1, 16)
                                : most_waiting_panels();
    if (plan_.panels.pieces.is_int()) {
      plan_.panels_in_block =
          std::clamp<int64_t>(plan_.panels.pieces.as_int(), 1, plan_.panels_in_block);
    }
  }

  // Some rows stay near while a panel is multiplied by them. A packed panel is read from memory
  // once for each block of rows: blocks of equal size, so that none is for a few rows.
  int64_t row_tiles_in_block() const {
    constexpr int64_t kRows = 64;
    const int64_t size = plan_.row_tiles.size;
    const Dim pieces = plan_.row_tiles.pieces;
    if (!plan_.rhs_packed || !pieces.is_int()) return std::max<int64_t>(1, kRows / size);
    const int64_t most = (kRows + size - 1) / size;
    const int64_t blocks = std::max<int64_t>(1, (pieces.as_int() + most - 1) / most);
    return std::max<int64_t>(1, (pieces.as_int() + blocks - 1) / blocks);
  }

  // Rows of a tile beside a panel of so many vectors, of a left factor that is packed in panels of
  // `width` rows: all, or a part where panels are as wide as vectors, which are read as columns,
  // too. 0: too many.
  int64_t packed_tile(int64_t width, int64_t vectors) const {
    const int64_t most = rows_of(vectors);
    if (width <= most) return width;
    return width == plan_.lanes ? static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)))
                                : 0;
  }

  // True if panels may be so wide: a packed left factor wants its rows.
  bool leaves_rows(int64_t vectors) const {
    return !plan_.lhs_packed || packed_tile(plan_.lhs.packed->width, vectors) > 0;
  }

  void choose_panels() {
    Dim rows = plan_.rows.extent;
    Dim columns = plan_.main_columns;
    Dim vectors = ceil_div(columns, plan_.lanes);
    if (plan_.rhs_packed) {
      if (joins_panels()) {
        plan_.panels = cut_known(vectors.as_int(), even_width(vectors.as_int()));
      } else {
        plan_.panels = cut_panels(vectors, plan_.rhs.packed->width / plan_.lanes);
      }
      return;
    }
    int64_t wide = 0;
    if (plan_.rhs_direct && !plan_.dots && rows.is_int() && rows.as_int() > 0) {
      wide = wide_panel(rows.as_int());
    }
    if (plan_.dots) {
      plan_.panels = vectors.is_int() ? cut_known(vectors.as_int(), 1) : cut_unknown(vectors, 1);
    } else if (wide > 0 && columns.is_int()) {
      plan_.panels = cut_known(vectors.as_int(), wide);
    } else if (columns.is_int() && chosen_panel() > 0) {
      plan_.panels = cut_known(vectors.as_int(), chosen_panel());
    } else if (columns.is_int()) {
      int64_t best = 1;
      for (int64_t most = 2; most <= std::min(near_width_, widest()); ++most) {
        if (!vectors.is_int(0) && leaves_rows(most) &&
            cost_of(vectors.as_int(), most) <= cost_of(vectors.as_int(), best)) {
          best = most;
        }
      }
      plan_.panels = cut_known(vectors.as_int(), best);
    } else {
      int64_t most = std::min<int64_t>({near_width_, widest(), 3});
      while (!leaves_rows(most)) --most;
      plan_.panels = cut_unknown(vectors, most);
    }
  }

  int64_t chosen_panel() const {
    const int64_t wanted = contraction_.chosen.panel_vectors;
    return wanted <= std::min(near_width_, widest()) && leaves_rows(wanted) ? wanted : 0;
  }

  // The width, if there is one, that cuts vectors into panels of equal size.
  int64_t even_width(int64_t vectors) const {
    for (int64_t width = widest(); 2 * width >= widest(); --width) {
      if (vectors % width == 0) return width;
    }
    return widest();
  }

  // Panels of one vector, which were packed as rows (read_both_ways): as columns they would be
  // wider.
  bool joins_panels() const {
    const Dim columns = plan_.columns.extent;
    return plan_.rhs_packed && plan_.rhs.packed->width == plan_.lanes &&
           !plan_.rows.extent.is_int() && columns.is_int() && columns.as_int() > plan_.lanes;
  }

  void choose_row_tiles() {
    Dim rows = plan_.rows.extent;
    int64_t limit = rows_of(plan_.panels.size);
    // Whatever the number of rows, one kind of tile, however few of its rows there are: the other
    // way to compute the contraction is written out, too.
    if (joins_panels() && !plan_.matrix) {
      plan_.fills_tiles = true;
      plan_.heavy_epilogue = true;
      limit = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(limit)));
    }
    if (plan_.dots) limit = rows.is_int() ? std::max<int64_t>(1, rows.as_int()) : 1;
    // Few rows that are one tile of a wide panel.
    if (plan_.rhs_direct && !plan_.dots && rows.is_int() && rows.as_int() > 0 &&
        wide_panel(rows.as_int()) > 0) {
      limit = rows.as_int();
    }
    // Accumulators, a line of the panel and a broadcast are in registers.
    const int64_t wanted = contraction_.chosen.tile_rows, panel = plan_.panels.size;
    if (wanted > 0 && !plan_.matrix && !plan_.fills_tiles &&
        wanted * panel + panel + 2 <= processor_.registers)
      limit = wanted;
    plan_.row_tiles = cut_rows(limit);
  }

  // A large left factor is read from memory once for each block of columns, and from the second
  // cache for the panels in it: several of them, as long as both fit there. One that does not fit
  // comes anew for each block, so that panels may fill most of the cache beside a few of its rows.
  void choose_column_block() {
    constexpr int64_t kTasks = 16;
    const int64_t eighth = processor_.second_bytes / 8;
    Dim k = plan_.folded.extent, rows = plan_.rows.extent, batch = plan_.batch.extent;
    if (!plan_.copies_rhs() || plan_.copies_lhs() || !plan_.one_pass || plan_.dots) return;
    if (!k.is_int() || !rows.is_int() || !plan_.panels.pieces.is_int() || !batch.is_int()) return;
    const int64_t row_bytes = std::max<int64_t>(1, k.as_int()) * plan_.rhs_bytes();
    const int64_t left_bytes = rows.as_int() * row_bytes;
    if (left_bytes <= 2 * eighth) return;
    const bool fits = left_bytes <= 12 * eighth;
    const int64_t pieces = plan_.panels.pieces.as_int();
    int64_t most = std::min((fits ? 1 : 6) * eighth / (row_bytes * plan_.panel_columns()), pieces);
    int64_t tiles = plan_.tiles_in_block;
    if (!fits) tiles = std::clamp<int64_t>(eighth / (row_bytes * plan_.row_tiles.size), 1, tiles);
    const int64_t row_blocks = (plan_.row_tiles.pieces.as_int() + tiles - 1) / tiles;
    // Tasks enough for even shares.
    const int64_t others = std::max<int64_t>(1, batch.as_int() * row_blocks);
    most = std::min(most, pieces * others / kTasks);
    if (most < 2) return;
    const int64_t blocks = (pieces + most - 1) / most;
    plan_.panels_in_block = (pieces + blocks - 1) / blocks;
    plan_.tiles_in_block = tiles;
  }

  // A right factor that is read where it is goes by once: a few of its rows at a time, wide pieces
  // of each, so that few pages are in use and lines follow one another. Sums wait in scratch.
  bool streams() const {
    constexpr int64_t kWorthIt = 128;
    Dim k = plan_.folded.extent;
    return plan_.rhs_direct && !plan_.dots && plan_.lhs_direct && read_once() && k.is_int() &&
           k.as_int() >= kWorthIt && plan_.folded.axes.size() == 1;
  }

  static constexpr int64_t kFewReads = 18;  // rows
  static constexpr int64_t kLongest = 5120;

  const Contraction& contraction_;
  int64_t near_width_ = kWidestPanel;  // vectors of a panel that is read where it is
  const Processor& processor_;
  const bool few_rows_;
  ContractionPlan plan_;
};

}  // namespace

ContractionPlan plan_contraction(const Contraction& contraction, const Processor& processor,
                                 bool few_rows) {
  return Planner(contraction, processor, few_rows).run();
}

}  // namespace relay::lower

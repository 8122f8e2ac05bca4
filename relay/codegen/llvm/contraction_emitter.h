// Writes one contraction: tasks, packing, register tiles.
#pragma once

#include <unordered_map>
#include <vector>

#include <relay/codegen/llvm/emit.h>
#include <relay/codegen/llvm/scalar_emitter.h>
#include <relay/lower/contraction_plan.h>

namespace relay::codegen {

using lower::AxisGroup;
using lower::ContractionPlan;
using lower::Cut;
using lower::Factor;
using lower::LinearLoad;
using lower::TileLoad;

/// The work is cut into tasks by the shapes alone: (batch, block of columns, block of rows). For a
/// task the columns' panels of the right factor are packed (unless the worker packed them for the
/// task before), then the rows of the left one if it cannot be read where it is; then register
/// tiles of rows × one panel run over all of k (or a pass of it) and store through the epilogue.
class ContractionEmitter {
 public:
  ContractionEmitter(const lower::Contraction& contraction, ContractionPlan plan,
                     KernelFrame& frame);
  void run();

 private:
  using Value = llvm::Value;

  // Values of the task at hand.
  struct Task {
    Value* panel_begin = nullptr;  // numbers of panels and tiles
    Value* panel_end = nullptr;
    Value* tile_begin = nullptr;
    Value* tile_end = nullptr;
    Value* tile = nullptr;       // the one at hand
    Value* tile_rows = nullptr;  // and how many rows it has, where it may be filled up
    Value* first_row = nullptr;
    Value* first_column = nullptr;  // of panel_begin
    Value* k_begin = nullptr;       // of the outermost folded axis
    Value* k_end = nullptr;
    Value* k_from = nullptr;  // flat
    Value* k_count = nullptr;
    Value* first_pass = nullptr;  // i1; null with one pass
    Value* last_pass = nullptr;
  };

  // contraction.cpp
  /// The memory of a thread: packed factors, sums of a block, a tile, a tail.
  void reserve_scratch();
  /// The part of the task at hand, and what all of its passes use.
  void begin_task(Value* row_block, Value* column_block);
  void emit_passes(Value* block, llvm::AllocaInst* packed);
  void emit_panels();
  /// Runs `body` with the size of piece `number` as a constant.
  void for_sizes(const Cut& cut, Value* number, const std::function<void(int64_t size)>& body);
  /// The same for a panel; sizes are vectors.
  void for_panel_sizes(Value* number, const std::function<void(int64_t vectors)>& body);
  Value* panel_vectors(Value* number);
  Value* piece_begin(const Cut& cut, Value* number);
  Value* n(int64_t value) { return f_.int64(value); }
  Value* add(Value* a, Value* b);
  Value* mul(Value* a, Value* b);
  Value* least(Value* a, Value* b);
  Value* dim(Dim term) { return f_.dim(term); }
  /// Values of a group's axes at a flat position, scalars or vectors of i64.
  std::vector<Value*> split(const AxisGroup& group, Value* flat);
  Value* splat(Value* scalar, unsigned lanes);
  /// Part of a sum that is the same throughout the batch.
  Value* batch_part(const te::Affine& sum);
  /// Part of a sum along a group at a flat position.
  Value* part_of(const te::Affine& sum, const AxisGroup& group, Value* flat);
  Value* part_of(const te::Affine& sum, const AxisGroup& group, const std::vector<Value*>& values);
  Value* element(Value* base, DType dtype, Value* offset);
  /// Lanes that are below `count`; null if all surely are.
  Value* lanes_below(Value* count, unsigned lanes);
  Value* lane_numbers(unsigned lanes, llvm::Type* type);
  Value* load(int32_t buffer, DType dtype, Value* address, unsigned lanes, Value* mask,
              Value* otherwise = nullptr);
  void store_scratch(Value* value, Value* address, int32_t region, unsigned alignment);
  llvm::Type* accumulator(unsigned lanes);
  llvm::Align vector_alignment() const {
    return llvm::Align(static_cast<uint64_t>(plan_.lanes * plan_.element_bytes));
  }
  /// Binds a group's axes for the scalar emitter: lanes are consecutive positions.
  void bind_lanes(const AxisGroup& group, Value* flat, unsigned lanes);
  static Dependences ids(const AxisGroup& group);

  // contraction_lanes.cpp
  /// How a vector of columns of the right factor is loaded.
  struct LaneLoad {
    llvm::Type* index_type = nullptr;
    Value* base = nullptr;       // offset of lane 0
    Value* offsets = nullptr;    // of the lanes from there; null if they follow each other
    std::vector<Value*> starts;  // or in pieces: where each would have lane 0,
    std::vector<Value*> before;  // the lanes in front of piece 1, 2 …
    Value* low = nullptr;        // least and greatest of starts
    Value* high = nullptr;
    Value* wide = nullptr;      // i1: lines are long enough for these pieces; null: they are
    bool inside = false;        // pieces are known not to reach out of the tensor
    int64_t step = 1;           // and how far lanes of a piece are apart
    Value* valid = nullptr;     // lanes that are columns; null: all
    Value* mask = nullptr;      // and pass the conditions of the folded axes at hand
    std::vector<Value*> index;  // for each condition: the columns' part
  };
  LaneLoad lane_load(Value* column, bool may_end);
  /// In memory form; `along` is the folded axes' part of the offset.
  Value* load_lanes(const LaneLoad& lanes, Value* along);
  /// The element that stands where conditions do not hold, in memory form.
  Value* fill_of(const LinearLoad& load, unsigned lanes);
  /// Every other element of two vectors, from `first` on.
  Value* every_other(Value* low, Value* high, int first);
  /// Elements two apart from `start`, `start` + 1 … on: a vector of each, in memory form.
  std::vector<Value*> load_taps(Value* start, size_t count);
  /// True if no piece reaches out of the tensor while `along` is between the two.
  Value* stays_inside(const LaneLoad& lanes, Value* least_along, Value* greatest_along);

  // contraction_windows.cpp
  /// A window whose places are written out, with masks of their own, inside of the loops over the
  /// other folded axes: what is read for one place is near for the next, and lines of a panel
  /// follow each other. A window of many places is written out line by line.
  struct Window {
    /// The folded axes: of the window, in loops and written out, and the others.
    std::vector<size_t> around, within, across;
    std::vector<std::vector<int64_t>> places;  // values of all folded axes, 0 for those in loops
  };
  /// Nothing unless columns lie side by side, conditions speak of a window with short lines, there
  /// are other folded axes, and the target can load parts of vectors.
  std::optional<Window> written_out() const;
  void pack_window(const std::vector<LaneLoad>& all, const Window& window, Value* width,
                   Value* panel);
  /// The folded axis, if any, along which windows of step 2 move by one element.
  std::optional<size_t> shared_taps(const std::vector<LaneLoad>& all) const;
  /// Two neighbours of that axis from the same loads, all of which stay inside.
  void pack_taps(const LaneLoad& lanes, size_t taps, Value* width, Value* panel);

  // contraction_pack.cpp
  void pack_rhs();
  // Packs a panel whose rows are `width` long, from a vector of it on.
  void pack_linear(Value* first_column, int64_t vectors, Value* width, Value* panel,
                   const std::optional<Window>& window);
  /// Folded axes as loops go through them; conditions are known in front of number `decided`.
  struct FoldOrder {
    std::vector<size_t> axes;
    size_t decided = 0;
  };
  FoldOrder condition_order(std::optional<size_t> without) const;
  /// Lanes that are columns and pass the conditions where folded axes have these values.
  Value* mask_at(const LaneLoad& lanes, const std::vector<Value*>& values);
  /// `ask_once`: whether all loads behind the conditions stay inside.
  void pack_loads(std::vector<LaneLoad>& all, const FoldOrder& order, Value* width, Value* panel,
                  bool ask_once);
  void store_packed(Value* loaded, Value* at);
  void pack_transposed(Value* first_column, Value* width, Value* strip);
  void pack_generic(Value* column, Value* width, Value* strip);
  /// The factor's value from its loaded element.
  Value* of_loaded(const Factor& factor, Value* loaded, unsigned lanes);
  /// The strips of a panel, each a vector wide.
  void pack_strips(Value* number, Value* column, Value* panel, const std::optional<Window>& window);
  /// Loops over folded axes in the given order, the outermost one over the pass's share; `body`
  /// gets values in the group's order. `around` a depth writes the loops from there on by calling
  /// `inner`, perhaps in several versions.
  void fold_loops(const std::vector<size_t>& order,
                  const std::function<void(std::vector<Value*>&)>& body,
                  const std::function<void(size_t depth, std::vector<Value*>&,
                                           const std::function<void()>& inner)>& around = {});
  /// The least and the greatest of what folded axes add to an offset while those in front of
  /// `depth` of the order have these values; null where a coefficient is not known.
  std::pair<Value*, Value*> range_of(const te::Affine& offset, const FoldOrder& order, size_t depth,
                                     const std::vector<Value*>& values);
  /// Place of a step in the pass at hand.
  Value* flat_step(const std::vector<Value*>& values);
  std::vector<Value*> transpose_block(std::vector<Value*> rows);

  // contraction_rows.cpp
  void pack_lhs();
  /// The folded axis from which on elements of the left factor follow each other, through all axes
  /// behind it, and what conditions say is where such a run begins and ends; nothing if there is
  /// none or the target cannot load parts of vectors.
  std::optional<size_t> row_runs() const;
  void pack_row_runs(size_t first, const std::vector<Value*>& row, Value* line);
  /// True if the two innermost folded axes are lines of a plane, side by side and so short that a
  /// vector has several of them whole: conditions are masks of its lanes then.
  bool has_short_lines() const;
  void pack_row_lines(const std::vector<Value*>& row, Value* line);
  void pack_row_generic(const std::vector<Value*>& row, Value* line);

  // contraction_operands.cpp
  /// Where a tile's rows of the left factor are, and how far steps of k are apart.
  struct LeftLines {
    std::vector<Value*> at;
    Value* step = nullptr;
    DType dtype;
    int32_t buffer = -1;  // or, if negative, packed into scratch
  };
  LeftLines left_lines(int64_t rows, Value* first_row);
  /// Row `i` of a tile, or the last that there is.
  Value* tile_row(Value* first_row, int64_t i);
  /// Where an element of a packed operand is at the begin of the pass.
  Value* packed_offset(const lower::PackedLoad& packed, Value* first, Value* step);
  Value* load_left(const LeftLines& lines, int64_t row, Value* k);
  /// The same for a panel of the right one.
  struct RightLine {
    Value* at = nullptr;
    Value* step = nullptr;
    Value* pitch = nullptr;  // from one vector to the next where they do not follow each other
    DType dtype;
    int32_t buffer = -1;
  };
  RightLine right_line(Value* panel, int64_t vectors, Value* first_column);
  std::vector<Value*> load_right(const RightLine& line, Value* k, const std::vector<Value*>& masks);
  enum class Cache : uint8_t { kFirst, kSecond };
  void prefetch(Value* address, Cache into = Cache::kFirst, bool write = false);
  /// The panel that follows a packed one in memory: it comes from there while tiles of rows go
  /// through this one. What the tile at hand prefetches of it, in each step of k; null at: nothing.
  RightLine next_panel(const RightLine& line, int64_t vectors);
  /// Lines of a packed operand that are needed soon.
  void prefetch_ahead(const RightLine& line, int64_t vectors, Value* k);
  /// True if the rows of a large left factor lie side by side, and steps of k far apart.
  bool has_turned_rows() const;
  /// The same of rows that follow one another: weights are read once, from memory.
  void prefetch_rows_ahead(const LeftLines& lines, int64_t rows, Value* k);
  /// Where rows of the left factor begin, for one that is read directly.
  std::vector<Value*> direct_rows(int64_t rows, Value* first_row, Value* k_from);
  /// The lanes of a panel's vectors that are columns; null: all.
  std::vector<Value*> column_masks(int64_t vectors, Value* first_column);
  /// Lines that the epilogue needs come while the sums are formed.
  void prefetch_epilogue(int64_t rows, int64_t vectors, Value* first_row, Value* first_column);

  // contraction_groups.cpp: groups of k in one instruction.
  /// A value of a factor, which small numbers were widened for, in the dtype of rows or panels.
  Value* narrowed(Value* value, DType type);
  /// Numbers of float32 that were some of bfloat16, as its bits.
  Value* upper_halves(Value* value);
  /// A panel in lines of groups; `whole`, `window` as for `pack_linear`.
  void pack_groups(Value* number, Value* column, Value* panel, bool whole,
                   const std::optional<Window>& window);
  /// From rows of k, so many elements apart, in a buffer or, if negative, in scratch.
  struct GroupLines {
    Value* at;
    Value* pitch;
    int32_t buffer;
  };
  void pack_group_lines(const GroupLines& lines, Value* panel, int64_t vectors);
  /// True if groups of so many vectors of columns are joined from rows of 64 bytes, which are read
  /// whole.
  bool joins_bytes(int64_t vectors) const;
  /// Bytes of neighbouring vectors of columns, with one load.
  Value* load_bytes(const std::vector<LaneLoad>& lanes, Value* along);
  /// The elements of two vectors, one after the other.
  Value* joined(Value* low, Value* high);
  /// Four rows of 64 bytes, of each number one after the other.
  std::vector<Value*> interleave_bytes(const std::vector<Value*>& rows);
  /// Writes what is left of k behind whole groups, so many steps.
  void with_rest(const std::function<void(int64_t steps)>& body);
  /// From columns whose elements follow each other along k.
  void pack_group_columns(Value* first_column, Value* width, Value* strip);
  /// One element of each of a group's rows, next to each other: a lane of an accumulator.
  Value* join_group(const std::vector<Value*>& rows);
  Value* load_groups(const RightLine& line, Value* at);
  /// A group of a row in each lane; with fewer `steps` than a group has the others are 0.
  Value* load_left_group(const LeftLines& lines, int64_t row, Value* k, int64_t steps);
  /// The operands of a step's products: the columns' vectors, and those of rows. Where the target
  /// multiplies pairs of 16 bits alone, groups of 4 are taken apart.
  struct Products {
    std::vector<Value*> columns;
    std::vector<std::vector<Value*>> pairs;
  };
  struct RowOfProducts {
    Value* row;
    std::vector<Value*> pairs;
  };
  bool has_dots() const;
  std::vector<Value*> pairs_of(Value* groups, DType type);
  Products products_with(std::vector<Value*> columns);
  RowOfProducts row_of(Value* row);
  Value* multiply_add(const RowOfProducts& row, const Products& products, size_t column,
                      Value* sum);
  Value* add_pairs(Value* a, Value* b, Value* sum);
  Value* add_bfloat16(Value* row, Value* columns, Value* sum);

  // contraction_tile.cpp
  void emit_row_tiles(Value* panel, int64_t vectors, Value* first_column);
  void emit_tile(int64_t rows, int64_t vectors, Value* first_row, Value* panel,
                 Value* first_column);
  /// Sums of a tile in registers, by rows.
  struct Sums {
    int64_t rows, vectors;
    std::vector<llvm::AllocaInst*> slots;
    Value* kept = nullptr;  // of the passes before, in scratch
  };
  Sums begin_sums(int64_t rows, int64_t vectors, Value* first_row, Value* first_column);
  Value* kept_at(const Sums& sums, int64_t row, int64_t vector);
  /// Adds the products of one step of k, a group of `steps`, to a tile's sums.
  void add_products(const Sums& sums, const LeftLines& left, const std::vector<Value*>& columns,
                    Value* k, int64_t steps);
  /// Tiles of halves, quarters … of `size` rows for the `left` rows, fewer than that.
  void emit_part_tiles(int64_t size, Value* left, Value* row, int64_t vectors, Value* panel,
                       Value* first_column);
  bool varies_by_row(const TileLoad& tile) const;

  // contraction_interleaved.cpp
  /// Where a vector of columns is in lines of an output whose rows interleave.
  struct LinePlace {
    Value* column = nullptr;
    Value* in_line = nullptr;
    Value* length = nullptr;  // of a line
    Value* offset = nullptr;  // what the columns add to that of a row
    Value* whole = nullptr;   // i1: its line does not end before the vector does; null: surely
  };
  std::vector<LinePlace> line_places(size_t vectors, Value* first_column);
  /// Stores results of rows that fill the places between each other's, in memory form.
  void store_interleaved(std::vector<Value*> rows, Value* first_row, const LinePlace& place);

  // contraction_tile.cpp
  /// Vectors that live on behind the following loop leave their registers to its sums: the
  /// allocator would rather spill a sum than a constant that it moved out of all loops.
  void clear_registers();
  /// Address of an element of the output that is contiguous along columns.
  Value* out_line(Value* row, Value* column);
  Value* multiply_add(Value* a, Value* b, Value* sum);
  /// A bool that is true if all lanes of a tile's vectors are columns; null for `dots`.
  Value* vectors_are_whole(Value* first_column, size_t vectors);
  /// Stores a row's vectors of results in lanes that are columns: all without masks where `whole`,
  /// since some processors take 20 cycles for a masked store of AVX.
  void store_row(const std::vector<Value*>& results, Value* line, const std::vector<Value*>& masks,
                 Value* whole);
  /// Applies the epilogue to sums[row][vector] and stores; `places` are those of the vectors where
  /// rows interleave.
  void finish_rows(const std::vector<std::vector<Value*>>& sums, Value* first_row,
                   Value* first_column, const std::vector<Value*>& masks,
                   const std::vector<LinePlace>& places);
  void finish_tile(const std::vector<std::vector<Value*>>& sums, Value* first_row,
                   Value* first_column, const std::vector<Value*>& masks);

  // contraction_matrix.cpp: tiles of the processor's matrix unit.
  /// Rows of a tile: as many as two registers have or fewer, perhaps known at run time only.
  struct MatrixRows {
    Value* count;
    Value* first;
  };
  void configure_matrix();
  void release_matrix();
  /// A tile of at most 32 of the `left` rows, whose number is known at run time only.
  void emit_matrix_rows(Value* left, Value* row, int64_t vectors, Value* panel,
                        Value* first_column);
  void emit_matrix_tile(const MatrixRows& rows, int64_t vectors, Value* panel, Value* first_column);
  /// Sums of strips of rows, which begin at these rows of the tile, into scratch.
  void multiply_strips(const MatrixRows& rows, const std::vector<Value*>& strips,
                       const RightLine& right, int64_t vectors);
  /// The epilogue of rows whose sums are in scratch, after the last steps of k.
  void finish_matrix_rows(const MatrixRows& rows, const RightLine& right,
                          const std::vector<Value*>& masks, Value* first_column);
  /// Groups of k in a step of the unit, and in all its steps.
  struct MatrixSteps {
    int64_t groups, all;
  };
  MatrixSteps matrix_steps() const;
  int64_t matrix_strip() const;
  /// Where sums of a row of the tile are.
  Value* matrix_line(Value* row, int64_t vectors);

  // contraction_dots.cpp
  /// Lines of elements that lie one after the other along k.
  struct Lines {
    std::vector<Value*> at;
    DType dtype;
    int32_t buffer = -1;   // or, if negative, the tail's scratch
    bool one_set = false;  // equal places of all of them fall on one set of the first cache
  };
  /// For each row a vector of its products with the columns (at most as many as lanes).
  std::vector<Value*> dot_lines(const Lines& rows, const Lines& columns, Value* k_count);
  /// A vector whose lane i (modulo their number, a power of two) is the sum of vector i's lanes.
  Value* join_lanes(std::vector<Value*> vectors);
  void emit_dot_tile(int64_t rows, Value* first_row, Value* first_column);
  void emit_tail(Value* block, llvm::AllocaInst* packed);
  void pack_tail();
  Value* plus(Value* a, Value* b);

  const lower::Contraction& c_;
  KernelFrame& f_;
  llvm::IRBuilder<>& b_;
  ContractionPlan plan_;
  ScalarEmitter scalars_;
  unsigned lanes_;
  Task task_;
  std::vector<Value*> batch_values_;
  std::unordered_map<const te::Affine*, Value*> batch_parts_;

  // Scratch: regions numbered for alias information.
  enum Region : int32_t { kPanels, kRows, kSums, kTile, kTail, kRaw };
  /// Where columns are packed first.
  Region pack_region() const { return plan_.group > 1 ? kRaw : kPanels; }
  Value* panels_ = nullptr;
  Value* raw_ = nullptr;  // a panel, before its groups are joined
  Value* rows_ = nullptr;
  Value* sums_ = nullptr;
  Value* tile_ = nullptr;
  Value* tail_ = nullptr;
  Value* tail_pitch_ = nullptr;
  Value* panel_pitch_ = nullptr;  // steps of k that a packed panel has room for
  Value* row_pitch_ = nullptr;    // elements from one packed row to the next
};

}  // namespace relay::codegen

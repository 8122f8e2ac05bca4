#include <relay/lower/tile_block.h>

#include <algorithm>

#include <relay/lower/sum_of_products.h>
#include <relay/lower/table_loads.h>
#include <relay/lower/templates.h>
#include <relay/lower/tile_block_plan.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {
namespace {

using te::Axis;
using te::Computation;
using te::Map;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;
using Names = std::unordered_map<uint32_t, ScalarRef>;

/// Writes the kernels of one block: a run of tiles, counted through line by line of a plane.
class BlockOfTiles : BlockPlan {
 public:
  BlockOfTiles(Computation c, const TiledSum& sum, int64_t channels, Dim taken,
               const std::string& name, const LowerOptions& options)
      : BlockPlan(std::move(c), sum, channels, taken, options), name_(name) {}

  std::optional<TileBlock> run() {
    if (!prepare_block()) return std::nullopt;
    std::optional<DraftKernel> data = this->data(), products = this->products();
    std::optional<DraftKernel> results = this->results();
    if (!data || !products || !results) return std::nullopt;
    TileBlock block;
    for (auto* part : {&data, &products, &results}) block.parts.push_back(std::move(**part));
    block.counters = std::move(counters_);
    block.taken = taken_;
    block.down = down_dim_;
    return block;
  }

 private:
  /// Stores the transformed data of the block's tiles.
  std::optional<DraftKernel> data() {
    const Map& map = *one_value_map(c_, sum_.data);
    const std::optional<Table> table = find_table(map);
    if (!table || table->root != map.values[0].get() || !table->row.whole || !table->column.whole ||
        table->row.axis != 0 || table->column.axis != 1)
      return std::nullopt;
    Draft draft(c_);
    IndexMath math(map.axes);
    TableLoads loads;
    if (!loads.find(map, *table, table->entries, math) || loads.row + 2 != map.axes.size())
      return std::nullopt;
    const int32_t out = draft.buffer(tensor_of(sum_.data), Buffer::Role::kOutput, false);
    begin(draft);
    For channel = loop(LoopKind::kSerial, map.axes[2]);
    std::optional<ColumnValues> columns =
        column_values(table->entries, [&](const ScalarNode& load) {
          TablePlace place = loads.places.at(&load);
          place.along += loads.lines.before;
          return place;
        });
    if (columns) {
      write_by_columns(draft, math, map, *table, loads, *columns, out, channel.body);
    } else {
      write_by_lines(draft, math, map, *table, loads, out, channel.body);
    }
    channel.body.push_back({nothing_behind(draft, out, map, *table)});
    draft.body().push_back({std::move(channel)});
    return draft.finish(name_, "tiles", size_ * map.axes[2].extent * flops_of(table->entries));
  }

  /// Products of weights and data.
  std::optional<DraftKernel> products() {
    Job job{c_, sum_.products, name_, options_};
    return lower_contraction(job);
  }

  /// Results of tiles, and what is made of them.
  std::optional<DraftKernel> results() {
    Map map = *one_value_map(c_, sum_.results);
    map.values[0] = with_arm(map.values[0], sum_, 1);
    const std::optional<Table> table = find_table(map);
    if (!table || table->row.whole || table->column.whole || !finds_axes(map, *table))
      return std::nullopt;
    Draft draft(c_);
    IndexMath math(map.axes);
    begin(draft);
    const int64_t tile = table->column.count, pitch = most_ * tile;
    const Axis row_axis = map.axes[table->row.axis], lane = map.axes[table->column.axis];
    const int32_t scratch =
        draft.scratch("tables", table->root->dtype, {Dim(table->row.count * pitch)});
    const int32_t out = draft.buffer(tensor_of(sum_.results), Buffer::Role::kOutput, false);
    const Axis at = draft.new_axis(Dim(most_));
    std::optional<std::vector<ScalarRef>> entries = entries_at(map, *table, te::index_of(at).ref());
    if (!entries) return std::nullopt;
    std::vector<ScalarRef> values = draft.bind(*entries, math, image_names_);
    For vector = loop(LoopKind::kVector, at);
    vector.end = (end_ - begin_).ref();
    name_shared(draft, values, vector.body);
    for (int64_t p = 0; p < table->row.count * tile; ++p) {
      const Scalar to = te::index_of(at) * tile + (p / tile * pitch + p % tile);
      vector.body.push_back(store(scratch, {to.ref()}, values[static_cast<size_t>(p)]));
    }
    Block body;
    body.push_back({std::move(vector)});
    body.push_back({lines(draft, [&](const Line& line, Block& of_line) {
      const Scalar first = in_register(draft, line.begin * tile, of_line);
      const Scalar place = in_register(draft, line.place * tile, of_line);
      const Scalar there = te::from_dim(lane.extent) - first;
      const Scalar count = in_register(draft, te::min(line.count * tile, there), of_line);
      for (int64_t i = 0; i < table->row.count; ++i) {
        If inside;
        const Scalar row = line.row * table->row.count + i;
        inside.condition = (row < te::from_dim(row_axis.extent)).ref();
        inside.then_block.push_back({finished(draft, math, map, *table, scratch, out, row, first,
                                              count, place + i * pitch)});
        of_line.push_back({std::move(inside)});
      }
    })});
    for (size_t d = map.axes.size(); d-- > 0;) {
      const bool looped = d != table->row.axis && d != table->column.axis &&
                          image_names_.count(map.axes[d].id) == 0;
      if (!looped) continue;
      Axis axis = map.axes[d];
      if (together_ > 0) axis.extent = together_;
      enclose(body, loop(LoopKind::kSerial, axis));
    }
    for (Stmt& stmt : body) draft.body().push_back(std::move(stmt));
    return draft.finish(name_, "tiles",
                        size_ * Dim(together_ > 0 ? together_ : outs_) * flops_of(table->entries));
  }

  struct Line {
    Scalar row;           // of tiles
    Scalar begin, count;  // tiles of the row that are in the block
    Scalar place;         // of the first of them in the block
  };

  static Scalar in_register(Draft& draft, const Scalar& value, Block& body) {
    const uint32_t var = draft.new_var();
    body.push_back(let(var, value.ref()));
    return te::placeholder(var, kInt64);
  }

  /// The tiles of the block: [first, end) of all.
  void begin(Draft& draft) {
    begin_ = in_register(draft, te::from_dim(first_), draft.body());
    const Scalar past = te::min(begin_ + te::from_dim(size_), te::from_dim(down_ * along_));
    end_ = in_register(draft, past, draft.body());
  }

  /// The rows of tiles that the block has some of.
  For lines(Draft& draft, const std::function<void(const Line& line, Block& body)>& write) const {
    const Scalar width = te::from_dim(max(along_, Dim(1)));
    const Axis row = draft.new_axis(max(down_, Dim(1)));
    For all = loop(LoopKind::kSerial, row);
    all.begin = te::floor_div(begin_, width).ref();
    all.end = te::floor_div(end_ + (width - 1), width).ref();
    Line line;
    line.row = te::index_of(row);
    const Scalar before = in_register(draft, line.row * width - begin_, all.body);
    const Scalar zero = te::index_constant(0);
    line.begin = in_register(draft, te::max(zero - before, zero), all.body);
    const Scalar past = te::min(end_ - begin_ - before, width);
    line.count = in_register(draft, past - line.begin, all.body);
    line.place = in_register(draft, before + line.begin, all.body);
    write(line, all.body);
    return all;
  }

  /// Lanes along columns first: what each column gives, for all lines one after the other, then
  /// along the tiles of all lines. Columns that a tile shares with the next one are there twice, so
  /// that lines do not meet.
  void write_by_columns(Draft& draft, IndexMath& math, const Map& map, const Table& table,
                        const TableLoads& loads, const ColumnValues& columns, int32_t out,
                        Block& body) const {
    const int64_t step = loads.lines.parts, copies = columns.most / step + 1;
    const auto kinds = static_cast<int64_t>(columns.kinds.size());
    const int64_t width = most_ * step;
    const int32_t scratch =
        draft.scratch("columns", loads.lines.data->dtype, {Dim(copies * kinds * width)});
    Names names = image_names(map, kImages);
    body.push_back({lines(draft, [&](const Line& line, Block& of_line) {
      names.insert_or_assign(map.axes[loads.row].id, line.row.ref());
      const Scalar first = in_register(draft, line.begin * step, of_line);
      const Scalar place = in_register(draft, line.place * step, of_line);
      const Scalar count = in_register(draft, line.count * step, of_line);
      for (int64_t copy = 0; copy < copies; ++copy) {
        const Axis column = draft.new_axis(Dim(width));
        const Scalar at = te::index_of(column) + first + (copy * step - loads.lines.before);
        std::vector<ScalarRef> values =
            draft.bind(at_column(columns.kinds, loads, at.ref()), math, names);
        For vector = loop(LoopKind::kVector, column);
        vector.end = count.ref();
        name_shared(draft, values, vector.body);
        for (size_t kind = 0; kind < values.size(); ++kind) {
          const int64_t base = (copy * kinds + static_cast<int64_t>(kind)) * width;
          const Scalar to = te::index_of(column) + place + base;
          vector.body.push_back(store(scratch, {to.ref()}, values[kind]));
        }
        of_line.push_back({std::move(vector)});
      }
    })});
    const Axis tile = draft.new_axis(Dim(most_));
    ScalarRewriter read([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
      auto part = columns.of_part.find(node.get());
      if (part == columns.of_part.end()) return {};
      const auto& [kind, column] = part->second;
      const int64_t base = (column / step * kinds + static_cast<int64_t>(kind)) * width;
      const Scalar at = te::index_of(tile) * step + (base + column % step);
      return draft.load(scratch, {at.ref()});
    });
    body.push_back({tables(draft, map, table, read(table.entries), tile, end_ - begin_,
                           te::index_constant(0), out)});
  }

  /// The values of columns at a column of the data.
  static std::vector<ScalarRef> at_column(const std::vector<ScalarRef>& kinds,
                                          const TableLoads& loads, const ScalarRef& column) {
    ScalarRewriter move([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
      if (node->kind != ScalarKind::kLoad) return {};
      Ref<ScalarNode> load = copy_node(*loads.lines.data);
      load->args = node->args;
      load->args[loads.lines.along] = column;
      return load;
    });
    return move(kinds);
  }

  /// Line by line, from a copy of the lines that its tiles read.
  void write_by_lines(Draft& draft, IndexMath& math, const Map& map, const Table& table,
                      TableLoads& loads, int32_t out, Block& body) const {
    const int64_t more = (loads.most_along + loads.lines.before) / loads.lines.parts;
    loads.lines.pitch = most_ + more;
    loads.lines.count = loads.lines_of(1);
    const int32_t scratch =
        draft.scratch("lines", loads.lines.data->dtype, {Dim(loads.lines.elements())});
    const Names names = image_names(map, kImages);
    body.push_back({lines(draft, [&](const Line& line, Block& of_line) {
      LinesPiece piece;
      piece.first = line.row * loads.down_step + loads.least_down;
      piece.begin = line.begin;
      piece.columns = in_register(draft, line.count + more, of_line);
      copy_lines(draft, math, loads.lines, names, scratch, piece, of_line);
      const Axis tile = draft.new_axis(Dim(most_));
      draft.intercept = [&](const ScalarNode& load, const std::vector<ScalarRef>&) {
        return draft.load(scratch, {(te::index_of(tile) + loads.place_of(load)).ref()});
      };
      std::vector<ScalarRef> values = draft.bind(table.entries, math, names);
      draft.intercept = nullptr;
      of_line.push_back(
          {tables(draft, map, table, std::move(values), tile, line.count, line.place, out)});
    })});
  }

  /// Stores `count` tables from place `first` of the block on.
  static For tables(Draft& draft, const Map& map, const Table& table, std::vector<ScalarRef> values,
                    const Axis& tile, const Scalar& count, const Scalar& first, int32_t out) {
    For vector = loop(LoopKind::kVector, tile);
    vector.end = count.ref();
    name_shared(draft, values, vector.body);
    for (int64_t p = 0; p < table.row.count * table.column.count; ++p) {
      std::vector<ScalarRef> at{te::index_constant(p / table.column.count).ref(),
                                te::index_constant(p % table.column.count).ref(),
                                te::index_of(map.axes[2]).ref(),
                                (first + te::index_of(tile)).ref()};
      vector.body.push_back(store(out, std::move(at), values[static_cast<size_t>(p)]));
    }
    return vector;
  }

  /// Zeros in place of tiles behind the last one: products of whatever is there could take long.
  For nothing_behind(Draft& draft, int32_t out, const Map& map, const Table& table) const {
    const int64_t rows = table.row.count, columns = table.column.count;
    const Axis row = draft.new_axis(Dim(rows)), column = draft.new_axis(Dim(columns));
    const Axis tile = draft.new_axis(Dim(most_));
    For vector = loop(LoopKind::kVector, tile);
    vector.begin = (end_ - begin_).ref();
    vector.end = te::from_dim(size_).ref();
    vector.body.push_back(store(out,
                                {te::index_of(row).ref(), te::index_of(column).ref(),
                                 te::index_of(map.axes[2]).ref(), te::index_of(tile).ref()},
                                zero(kFloat32)));
    For inner = loop(LoopKind::kSerial, column), outer = loop(LoopKind::kSerial, row);
    // None where the block is full.
    outer.end = te::select(end_ - begin_ < te::from_dim(size_), te::index_constant(rows),
                           te::index_constant(0))
                    .ref();
    inner.body.push_back({std::move(vector)});
    outer.body.push_back({std::move(inner)});
    return outer;
  }

  /// The images of the block.
  Names image_names(const Map& map, size_t from) const {
    Names names;
    for (size_t k = 0; k < images_; ++k)
      names.emplace(map.axes[from + k].id, te::from_dim(at_image_[k]).ref());
    return names;
  }

  static bool is_quotient(const ScalarRef& index, const Axis& axis, int64_t by) {
    return index->kind == ScalarKind::kBinary && index->binary == te::BinaryOp::kFloorDiv &&
           plain_axis(index->args[0]) == axis.id && te::divisor(*index).is_int(by);
  }

  /// Finds what the axes of the results are to the products that tables load.
  bool finds_axes(const Map& map, const Table& table) {
    down_dim_ = table.row.axis;
    for (const ScalarNode* node : te::post_order(table.entries)) {
      if (node->kind != ScalarKind::kLoad) continue;
      const size_t first = 2 + channels_;
      if (node->tensor != tensor_of(sum_.products) || node->args.size() != first + images_ + 2 ||
          node->bounds != te::Bounds::kProven)
        return false;
      if (together_ > 0) {
        const std::optional<uint32_t> out = plain_axis(node->args[2]);
        if (!out) return false;
        out_axis_ = *out;
      }
      for (size_t k = 0; k < images_; ++k) {
        const ScalarRef& index = node->args[first + k];
        if (te::affine(index).is_constant() && at_image_[k].is_int(0)) continue;
        const std::optional<uint32_t> axis = plain_axis(index);
        if (!axis) return false;
        image_names_.insert_or_assign(*axis, te::from_dim(at_image_[k]).ref());
      }
      if (!is_quotient(node->args[first + images_], map.axes[table.row.axis], table.row.count) ||
          !is_quotient(node->args.back(), map.axes[table.column.axis], table.column.count))
        return false;
    }
    return true;
  }

  /// The values of a table, from the products of a tile of the block.
  std::optional<std::vector<ScalarRef>> entries_at(const Map& map, const Table& table,
                                                   const ScalarRef& tile) const {
    ScalarRewriter place([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
      if (node->kind != ScalarKind::kLoad) return {};
      Ref<ScalarNode> load = copy_node(*node);
      load->args.resize(2 + channels_);
      load->args.push_back(tile);
      return load;
    });
    std::vector<ScalarRef> entries = place(table.entries);
    const std::vector<Axis> plane{map.axes[table.row.axis], map.axes[table.column.axis]};
    for (const ScalarRef& entry : entries) {
      if (mentions_any(entry, plane)) return std::nullopt;
    }
    return entries;
  }

  /// A line of results: `count` columns from `first` on, whose values are in scratch.
  For finished(Draft& draft, IndexMath& math, const Map& map, const Table& table, int32_t scratch,
               int32_t out, const Scalar& row, const Scalar& first, const Scalar& count,
               const Scalar& place) const {
    const Axis at = draft.new_axis(Dim(most_ * table.column.count));
    Names names = image_names_;
    names.insert_or_assign(map.axes[table.row.axis].id, row.ref());
    names.insert_or_assign(map.axes[table.column.axis].id, (first + te::index_of(at)).ref());
    if (together_ > 0) {
      const Axis& out_axis = *std::find_if(map.axes.begin(), map.axes.end(),
                                           [&](const Axis& axis) { return axis.id == out_axis_; });
      const Scalar channel = te::index_of(out_axis) + te::from_dim(part_ * Dim(together_));
      names.insert_or_assign(out_axis_, channel.ref());
    }
    const uint32_t var = draft.new_var();
    ScalarRewriter replace([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
      return node.get() == table.root ? te::placeholder(var, node->dtype).ref() : ScalarRef();
    });
    std::vector<ScalarRef> value{replace(map.values[0])};
    value = draft.bind(value, math, names);
    For vector = loop(LoopKind::kVector, at);
    vector.end = count.ref();
    vector.body.push_back(let(var, draft.load(scratch, {(te::index_of(at) + place).ref()})));
    std::vector<ScalarRef> index;
    for (const Axis& axis : map.axes) {
      auto name = names.find(axis.id);
      index.push_back(name == names.end() ? te::index_of(axis).ref() : name->second);
    }
    vector.body.push_back(store(out, std::move(index), value[0]));
    return vector;
  }

  const std::string& name_;
  Scalar begin_, end_;
  Names image_names_;  // axes of the results
  uint32_t out_axis_ = 0;
  size_t down_dim_ = 0;
};

}  // namespace

std::optional<TileBlock> block_of_tiles(const Computation& computation, const TiledSum& sum,
                                        int64_t channels, Dim taken, const std::string& name,
                                        const LowerOptions& options) {
  return BlockOfTiles(computation, sum, channels, taken, name, options).run();
}

}  // namespace relay::lower

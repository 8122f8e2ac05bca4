// Maps whose values are chosen by two indices out of a small table, the values of which share what
// they are computed from: all of a table are computed together, with lanes along tables.
#include <algorithm>

#include <relay/lower/table_loads.h>
#include <relay/lower/templates.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::Axis;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

namespace {

constexpr int64_t kBandBytes = 24 << 10;  // of lines in scratch: most of the first cache
constexpr int64_t kMostBandBytes = 256 << 10;

// ---- What both kinds of kernels need ------------------------------------------------------------

class TableKernel {
 public:
  TableKernel(const Job& job, const te::Map& map, const Table& table)
      : job_(job),
        map_(map),
        table_(table),
        draft_(job.computation),
        math_(map.axes),
        entries_(table.entries) {}

 protected:
  using Names = std::unordered_map<uint32_t, ScalarRef>;

  const Axis& lane() const { return map_.axes.back(); }
  int64_t extent(size_t axis) const { return map_.axes[axis].extent.as_int(); }
  bool is_key(size_t axis) const { return axis == table_.row.axis || axis == table_.column.axis; }

  /// Stores into the result at the point that the axes' names say.
  Stmt store_at(const Names& names, const ScalarRef& value) {
    std::vector<Dim> index;
    for (const Axis& axis : map_.axes) {
      auto name = names.find(axis.id);
      index.push_back(math_.poly(name == names.end() ? te::index_of(axis).ref() : name->second));
    }
    const te::Stage& stage = job_.computation.stages[job_.stage];
    Dim at = math_.recombine(IndexMath::linearise(index, stage.outputs[0].dims));
    int32_t out = draft_.buffer({static_cast<int32_t>(job_.stage), 0}, Buffer::Role::kOutput, true);
    return store(out, {math_.scalar(at)}, value);
  }

  bool is_known(size_t axis) const { return map_.axes[axis].extent.is_int(); }

  DraftKernel finish(const Dim& tables) {
    return draft_.finish(job_.name, "tiles", tables * flops_of(entries_));
  }

  const Job& job_;
  const te::Map& map_;
  const Table& table_;
  Draft draft_;
  IndexMath math_;
  std::vector<ScalarRef> entries_;
};

// ---- Tables along whole axes --------------------------------------------------------------------

/// Windows over planes become tables: entry (i, j) of all tables lies in a plane of its own.
class SpreadTables : public TableKernel {
 public:
  using TableKernel::TableKernel;

  std::optional<DraftKernel> run() {
    if (table_.root != map_.values[0].get() || !table_.row.whole || !table_.column.whole ||
        is_key(map_.axes.size() - 1) || !loads_.find(map_, table_, entries_, math_) ||
        !is_known(loads_.row) || !is_known(map_.axes.size() - 1)) {
      return std::nullopt;
    }
    if (auto kernel = by_columns()) return kernel;
    if (!cut()) return std::nullopt;
    std::vector<Axis> outer;
    Dim tables = 1;
    for (size_t d = 0; d < map_.axes.size(); ++d) {
      if (is_key(d)) continue;
      tables = tables * map_.axes[d].extent;
      if (d != loads_.row && d + 1 != map_.axes.size()) outer.push_back(map_.axes[d]);
    }
    Axis bands = draft_.new_axis(Dim(bands_));
    outer.push_back(bands);
    const double work = static_cast<double>(band_ * lane().extent.as_int() *
                                            static_cast<int64_t>(entries_.size()) * 4);
    OuterLoops loops(draft_, outer, work);
    Scalar first = Scalar(loops.name(bands)) * band_;
    int32_t scratch =
        draft_.scratch("plane", loads_.lines.data->dtype, {Dim(loads_.lines.elements())});
    Block body;
    copy_lines(draft_, math_, loads_.lines, loops.names, scratch,
               {first * loads_.down_step + loads_.least_down, {}, {}, {}}, body);
    body.push_back({rows(loops.names, scratch, first)});
    loops.close(std::move(body));
    return finish(tables);
  }

 private:
  // A line of few tables leaves vectors nearly empty. Its planes are computed whole: first the
  // values that one column gives, with lanes along columns, into scratch, then tables, with lanes
  // along those of all lines (and planes).

  struct Planes {
    ColumnValues values;
    std::optional<size_t> axis;  // of the map, that counts the planes computed together
    int64_t together = 1;
    int64_t copies = 1;            // of a kind: columns from `step` times the copy's number on
    int64_t lines = 0, width = 0;  // of all planes; elements of a line

    int64_t kinds() const { return static_cast<int64_t>(values.kinds.size()); }
    int64_t elements() const { return copies * kinds() * lines * width; }
    /// Where line 0 of a copy of a kind begins.
    int64_t begin(int64_t copy, size_t kind) const {
      return (copy * kinds() + static_cast<int64_t>(kind)) * lines * width;
    }
  };

  std::optional<Planes> planes() const {
    const auto bytes = static_cast<int64_t>(loads_.lines.data->dtype.size());
    const int64_t lanes = std::max<int64_t>(job_.options.processor.lanes(bytes), 1);
    const int64_t across = lane().extent.as_int(), down = extent(loads_.row);
    const int64_t taken = (across + lanes - 1) / lanes * lanes;
    if (loads_.row + 2 != map_.axes.size() || 2 * taken < 3 * across) return std::nullopt;
    std::optional<ColumnValues> values = column_values(entries_, [&](const ScalarNode& load) {
      TablePlace place = loads_.places.at(&load);
      place.along += loads_.lines.before;
      return place;
    });
    if (!values) return std::nullopt;
    Planes planes;
    planes.values = std::move(*values);
    planes.copies = planes.values.most / loads_.lines.parts + 1;
    planes.width = across * loads_.lines.parts;
    planes.lines = down;
    if (planes.elements() * bytes > kBandBytes) return std::nullopt;
    for (size_t d = loads_.row; d-- > 0 && !is_key(d);) {
      if (!is_known(d)) break;  // planes inside of it follow one another, those beyond do not
      if (extent(d) == 1) continue;
      // As many as fill a vector, all groups of equal size.
      int64_t count = std::min({extent(d), std::max<int64_t>(lanes / (down * across), 1),
                                kBandBytes / (planes.elements() * bytes)});
      while (extent(d) % count != 0) --count;
      if (count > 1) {
        planes.axis = d;
        planes.together = count;
        planes.lines *= count;
      }
      break;
    }
    return planes;
  }

  std::optional<DraftKernel> by_columns() {
    std::optional<Planes> planes = this->planes();
    if (!planes) return std::nullopt;
    Axis groups, member = draft_.new_axis(Dim(planes->together));
    std::vector<Axis> outer;
    Dim count = 1;
    for (size_t d = 0; d < map_.axes.size(); ++d) {
      if (is_key(d)) continue;
      count = count * map_.axes[d].extent;
      if (d >= loads_.row) continue;
      outer.push_back(map_.axes[d]);
      if (planes->axis != d) continue;
      groups = draft_.new_axis(Dim(extent(d) / planes->together));
      outer.back() = groups;
    }
    math_.add_axes(std::vector<Axis>{member});
    math_.add_axes(outer);
    const int64_t tables = planes->lines * lane().extent.as_int();
    OuterLoops loops(draft_, outer,
                     static_cast<double>(tables * static_cast<int64_t>(entries_.size()) * 4));
    const int32_t scratch =
        draft_.scratch("columns", loads_.lines.data->dtype, {Dim(planes->elements())});
    Names names = loops.names;
    Scalar plane = te::index_constant(0);
    if (planes->axis) {
      Scalar first = Scalar(loops.name(groups)) * planes->together;
      names[map_.axes[*planes->axis].id] = (first + te::index_of(member)).ref();
      plane = te::index_of(member) * extent(loads_.row);
      loops.names[map_.axes[*planes->axis].id] = first.ref();
    }
    For of_plane = loop(LoopKind::kSerial, map_.axes[loads_.row]);
    for (int64_t copy = 0; copy < planes->copies; ++copy)
      of_plane.body.push_back({columns(*planes, copy, names, scratch, plane)});
    Block body;
    body.push_back({std::move(of_plane)});
    if (planes->axis) enclose(body, loop(LoopKind::kSerial, member));
    body.push_back({tables_of(*planes, loops.names, scratch, tables)});
    loops.close(std::move(body));
    return finish(count);
  }

  /// What each column of a line gives, from column `copy` · step on.
  For columns(const Planes& planes, int64_t copy, const Names& names, int32_t scratch,
              const Scalar& plane) {
    Axis column = draft_.new_axis(Dim(planes.width));
    math_.add_axes(std::vector<Axis>{column});
    const int64_t shift = copy * loads_.lines.parts - loads_.lines.before;
    ScalarRewriter move([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
      if (node->kind != ScalarKind::kLoad) return {};
      Ref<ScalarNode> load = copy_node(*loads_.lines.data);
      load->args = node->args;
      load->args[loads_.lines.along] = (te::index_of(column) + shift).ref();
      return load;
    });
    std::vector<ScalarRef> values = draft_.bind(move(planes.values.kinds), math_, names);
    For vector = loop(LoopKind::kVector, column);
    name_shared(draft_, values, vector.body);
    Scalar line = plane + te::index_of(map_.axes[loads_.row]);
    for (size_t kind = 0; kind < values.size(); ++kind) {
      Scalar at = line * planes.width + planes.begin(copy, kind) + te::index_of(column);
      vector.body.push_back(store(scratch, {math_.simplify(at.ref())}, values[kind]));
    }
    return vector;
  }

  /// The tables of all lines of the planes.
  For tables_of(const Planes& planes, Names names, int32_t scratch, int64_t tables) {
    Axis table = draft_.new_axis(Dim(tables));
    math_.add_axes(std::vector<Axis>{table});
    const int64_t step = loads_.lines.parts;
    ScalarRewriter read([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
      auto part = planes.values.of_part.find(node.get());
      if (part == planes.values.of_part.end()) return {};
      const auto& [kind, column] = part->second;
      Scalar at = te::index_of(table) * step + (planes.begin(column / step, kind) + column % step);
      return draft_.load(scratch, {math_.simplify(at.ref())});
    });
    std::vector<ScalarRef> values = read(entries_);
    For vector = loop(LoopKind::kVector, table);
    name_shared(draft_, values, vector.body);
    names[map_.axes[loads_.row].id] = te::index_constant(0).ref();
    names[lane().id] = te::index_of(table).ref();
    size_t next = 0;
    for (int64_t i = 0; i < table_.row.count; ++i) {
      for (int64_t j = 0; j < table_.column.count; ++j) {
        names[map_.axes[table_.row.axis].id] = te::index_constant(i).ref();
        names[map_.axes[table_.column.axis].id] = te::index_constant(j).ref();
        vector.body.push_back(store_at(names, values[next++]));
      }
    }
    return vector;
  }

  bool cut() {
    loads_.lines.pitch =
        lane().extent.as_int() + (loads_.most_along + loads_.lines.before) / loads_.lines.parts;
    const int64_t rows = extent(loads_.row);
    const int64_t size =
        static_cast<int64_t>(loads_.lines.data->dtype.size()) * loads_.lines.line();
    band_ = rows;
    while (band_ > 1 && loads_.lines_of(band_) * size > kBandBytes) --band_;
    bands_ = (rows + band_ - 1) / band_;
    band_ = (rows + bands_ - 1) / bands_;
    loads_.lines.count = loads_.lines_of(band_);
    return loads_.lines.elements() * static_cast<int64_t>(loads_.lines.data->dtype.size()) <=
           kMostBandBytes;
  }

  /// The tables of a band.
  For rows(const Names& outer, int32_t scratch, const Scalar& first) {
    const Axis& row = map_.axes[loads_.row];
    For all = loop(LoopKind::kSerial, row);
    if (bands_ > 1) {
      all.begin = first.ref();
      all.end = te::min(first + band_, te::from_dim(row.extent)).ref();
    }
    Scalar line = bands_ > 1 ? te::index_of(row) - first : te::index_of(row);
    draft_.intercept = [&](const ScalarNode& load, const std::vector<ScalarRef>&) {
      Scalar at = line * (loads_.down_step * loads_.lines.line()) + loads_.place_of(load) +
                  te::index_of(lane());
      return draft_.load(scratch, {math_.simplify(at.ref())});
    };
    std::vector<ScalarRef> values = draft_.bind(entries_, math_, outer);
    draft_.intercept = nullptr;
    For vector = loop(LoopKind::kVector, lane());
    name_shared(draft_, values, vector.body);
    size_t next = 0;
    for (int64_t i = 0; i < table_.row.count; ++i) {
      for (int64_t j = 0; j < table_.column.count; ++j) {
        Names names = outer;
        names[map_.axes[table_.row.axis].id] = te::index_constant(i).ref();
        names[map_.axes[table_.column.axis].id] = te::index_constant(j).ref();
        vector.body.push_back(store_at(names, values[next++]));
      }
    }
    all.body.push_back({std::move(vector)});
    return all;
  }

  TableLoads loads_;
  int64_t band_ = 1, bands_ = 1;
};

// ---- Tables side by side ------------------------------------------------------------------------

/// A plane of tables: rows of tables are computed into scratch, then what is made of their values.
class JoinedTables : public TableKernel {
 public:
  using TableKernel::TableKernel;

  std::optional<DraftKernel> run() {
    if (table_.row.whole || table_.column.whole || table_.column.axis + 1 != map_.axes.size() ||
        !is_known(table_.row.axis) || !is_known(table_.column.axis))
      return std::nullopt;
    row_ = draft_.new_axis(Dim(tables(table_.row)));
    column_ = draft_.new_axis(Dim(tables(table_.column)));
    math_.add_axes(std::vector<Axis>{row_, column_});
    if (!by_tables()) return std::nullopt;
    std::vector<Axis> outer;
    Dim count = tables(table_.column);
    for (size_t d = 0; d + 1 < map_.axes.size(); ++d) {
      outer.push_back(d == table_.row.axis ? row_ : map_.axes[d]);
      count = count * outer.back().extent;
    }
    const double work =
        static_cast<double>(tables(table_.column) * static_cast<int64_t>(entries_.size()) * 12);
    OuterLoops loops(draft_, outer, work);
    pitch_ = tables(table_.column) * table_.column.count;
    scratch_ = draft_.scratch("tables", table_.root->dtype, {Dim(table_.row.count * pitch_)});
    Block body;
    body.push_back({compute(loops.names)});
    for (int64_t i = 0; i < table_.row.count; ++i) use(i, loops, body);
    loops.close(std::move(body));
    return finish(count);
  }

 private:
  int64_t tables(const TableKey& key) const {
    return (extent(key.axis) + key.count - 1) / key.count;
  }
  const Axis& axis_of(const TableKey& key) const { return map_.axes[key.axis]; }

  /// Makes the entries depend on which table it is alone; false if they depend on more.
  bool by_tables() {
    ScalarRewriter divide([&](const ScalarRef& node, const std::vector<ScalarRef>&) -> ScalarRef {
      if (node->kind != ScalarKind::kBinary || node->binary != te::BinaryOp::kFloorDiv ||
          node->args[0]->kind != ScalarKind::kIndex) {
        return {};
      }
      auto is = [&](const TableKey& key) {
        return node->args[0]->axis == axis_of(key).id && te::divisor(*node).is_int(key.count);
      };
      if (is(table_.row)) return te::index_of(row_).ref();
      if (is(table_.column)) return te::index_of(column_).ref();
      return {};
    });
    entries_ = divide(entries_);
    for (const ScalarNode* node : te::post_order(entries_)) {
      if (node->kind == ScalarKind::kIndex &&
          (node->axis == axis_of(table_.row).id || node->axis == axis_of(table_.column).id)) {
        return false;
      }
    }
    return true;
  }

  For compute(const Names& outer) {
    For vector = loop(LoopKind::kVector, column_);
    std::vector<ScalarRef> values = draft_.bind(entries_, math_, outer);
    name_shared(draft_, values, vector.body);
    size_t next = 0;
    for (int64_t i = 0; i < table_.row.count; ++i) {
      for (int64_t j = 0; j < table_.column.count; ++j) {
        Scalar at = te::index_of(column_) * table_.column.count + (i * pitch_ + j);
        vector.body.push_back(store(scratch_, {at.ref()}, values[next++]));
      }
    }
    return vector;
  }

  /// Line `i` of a row of tables: what the map makes of its values.
  void use(int64_t i, const OuterLoops& loops, Block& body) {
    Scalar line = Scalar(loops.name(row_)) * table_.row.count + i;
    Names names = loops.names;
    names[axis_of(table_.row).id] = line.ref();
    const uint32_t var = draft_.new_var();
    ScalarRewriter replace([&](const ScalarRef& node, const std::vector<ScalarRef>&) {
      return node.get() == table_.root ? te::placeholder(var, node->dtype).ref() : ScalarRef();
    });
    std::vector<ScalarRef> value{replace(map_.values[0])};
    value = draft_.bind(value, math_, names);
    ScalarRef entry = draft_.load(scratch_, {(te::index_of(lane()) + i * pitch_).ref()});
    For vector = loop(LoopKind::kVector, lane());
    vector.body.push_back(let(var, entry));
    vector.body.push_back(store_at(names, value[0]));
    const int64_t full = extent(table_.row.axis) / table_.row.count * table_.row.count;
    if (full + i < extent(table_.row.axis) || full == extent(table_.row.axis)) {
      body.push_back({std::move(vector)});
      return;
    }
    If inside;
    inside.condition = (line < te::from_dim(axis_of(table_.row).extent)).ref();
    inside.then_block.push_back({std::move(vector)});
    body.push_back({std::move(inside)});
  }

  Axis row_, column_;  // tables
  int64_t pitch_ = 0;
  int32_t scratch_ = 0;
};

}  // namespace

std::optional<DraftKernel> lower_tiles(const Job& job) {
  const auto& map = std::get<te::Map>(job.computation.stages[job.stage].body);
  if (map.values.size() != 1 || map.axes.empty()) return std::nullopt;
  for (const Axis& axis : map.axes) {
    if (axis.extent.is_int() && axis.extent.as_int() < 1) return std::nullopt;
  }
  std::optional<Table> table = find_table(map);
  if (!table) return std::nullopt;
  if (auto kernel = SpreadTables(job, map, *table).run()) return kernel;
  return JoinedTables(job, map, *table).run();
}

}  // namespace relay::lower

#include <relay/lower/table_loads.h>

#include <algorithm>

#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

bool TableLoads::find(const te::Map& map, const Table& table, std::span<const ScalarRef> entries,
                      IndexMath& math) {
  map_ = &map;
  table_ = &table;
  for (const ScalarNode* node : te::post_order(entries)) {
    if (node->kind == ScalarKind::kLoad && !take(*node, math)) return false;
  }
  if (lines.data == nullptr) return false;
  lines.down = down;
  if (lines.data->bounds == te::Bounds::kFill) return true;
  // A copy takes whole lines and bands, which may reach past what the tables read.
  filled_ = copy_node(*lines.data);
  filled_->bounds = te::Bounds::kFill;
  filled_->fill = zero(filled_->dtype);
  lines.data = filled_.get();
  return true;
}

int64_t TableLoads::place_of(const ScalarNode& load) const {
  const TablePlace& place = places.at(&load);
  const int64_t column = place.along + lines.before;
  return (place.down - least_down) * lines.line() + column % lines.parts * lines.pitch +
         column / lines.parts;
}

bool TableLoads::take(const ScalarNode& load, IndexMath& math) {
  const bool first = lines.data == nullptr;
  if (first) lines.data = &load;
  const ScalarNode& like = *lines.data;
  if (load.tensor != like.tensor || load.args.size() < 2) return false;
  if (load.bounds == te::Bounds::kFill) {
    if (load.fill->kind != ScalarKind::kConst) return false;
    if (like.bounds == te::Bounds::kFill && load.fill->value.u != like.fill->value.u) return false;
    lines.data = &load;
  } else if (load.bounds != te::Bounds::kProven) {
    return false;
  }
  TablePlace place;
  lines.along = load.args.size() - 1;
  for (size_t d = 0; d < load.args.size(); ++d) {
    te::Affine index = te::affine(load.args[d]);
    if (!index.others.empty() || !index.constant.is_int() || index.terms.size() > 1) return false;
    const bool along = d == lines.along;
    if (along || (index.terms.size() == 1 && (first ? !down && moves_down(index) : d == down))) {
      if (index.terms.size() != 1 || !index.terms[0].coefficient.is_int()) return false;
      const int64_t step = index.terms[0].coefficient.as_int();
      const uint32_t axis = index.terms[0].axis;
      if (first && !along) {
        down = d;
        row_axis_ = axis;
      }
      if (axis != (along ? map_->axes.back().id : row_axis_) || step < 1) return false;
      int64_t& known = along ? lines.parts : down_step;
      if (first) known = step;
      if (known != step) return false;
      (along ? place.along : place.down) = index.constant.as_int();
    } else if (math.poly(load.args[d]) != math.poly(like.args[d]) ||
               (index.terms.size() == 1 && index.terms[0].axis == row_axis_ && down)) {
      return false;
    }
  }
  if (!down) return false;
  places[&load] = place;
  least_down = first ? place.down : std::min(least_down, place.down);
  most_down = first ? place.down : std::max(most_down, place.down);
  lines.before = first ? -place.along : std::max(lines.before, -place.along);
  most_along = first ? place.along : std::max(most_along, place.along);
  return true;
}

/// True if an index steps over elements, as windows do.
bool TableLoads::moves_down(const te::Affine& index) {
  const te::Affine::Term& term = index.terms[0];
  for (size_t d = 0; d + 1 < map_->axes.size(); ++d) {
    if (map_->axes[d].id != term.axis || d == table_->row.axis || d == table_->column.axis)
      continue;
    if (term.coefficient.is_int(1)) return false;
    row = d;
    return true;
  }
  return false;
}

}  // namespace relay::lower

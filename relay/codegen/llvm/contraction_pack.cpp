// Contractions: copying factors into panels.
#include <relay/codegen/llvm/contraction_emitter.h>

namespace relay::codegen {

void ContractionEmitter::pack_rhs() {
  // Rows of a panel that lie side by side are copied whole; what takes more code is written for one
  // vector.
  const LinearLoad* load = plan_.rhs.load ? &*plan_.rhs.load : nullptr;
  const std::optional<Window> window = written_out();
  bool whole = false;
  if (load != nullptr && !plan_.transpose) {
    std::optional<Dim> stride = plan_.columns.stride_of(load->offset);
    whole = stride && stride->is_int(1) && (load->conditions.empty() || window);
  }
  f_.emit_loop(task_.panel_begin, task_.panel_end, n(1), [&](Value* number) {
    Value* column = mul(piece_begin(plan_.panels, number), n(plan_.lanes));
    Value* before = b_.CreateSub(column, task_.first_column);
    Value* panel = element(panels_, plan_.rhs_type, mul(before, panel_pitch_));
    if (plan_.group > 1) return pack_groups(number, column, panel, whole, window);
    if (whole) {
      for_panel_sizes(number, [&](int64_t vectors) {
        pack_linear(column, vectors, n(vectors * plan_.lanes), panel, window);
      });
      return;
    }
    pack_strips(number, column, panel, window);
  });
}

void ContractionEmitter::pack_strips(Value* number, Value* column, Value* panel,
                                     const std::optional<Window>& window) {
  Value* width = mul(panel_vectors(number), n(plan_.lanes));
  f_.emit_loop(n(0), width, n(plan_.lanes), [&](Value* within) {
    Value* first = add(column, within);
    Value* strip = element(panel, plan_.rhs_type, within);
    if (plan_.transpose && plan_.group == 1) {
      pack_transposed(first, width, strip);
    } else if (plan_.rhs.load) {
      pack_linear(first, 1, width, strip, window);
    } else {
      pack_generic(first, width, strip);
    }
  });
}

llvm::Value* ContractionEmitter::of_loaded(const Factor& factor, Value* loaded, unsigned lanes) {
  if (factor.of_load->kind == te::ScalarKind::kVar) return loaded;
  ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional,
                             {factor.var | te::kVarFlag});
  scalars_.set_lanes(lanes);
  scalars_.bind_var(factor.var, LaneValue::vector(loaded));
  return scalars_.widen(scalars_.emit(factor.of_load));
}

void ContractionEmitter::fold_loops(
    const std::vector<size_t>& order, const std::function<void(std::vector<Value*>&)>& body,
    const std::function<void(size_t depth, std::vector<Value*>&,
                             const std::function<void()>& inner)>& around) {
  std::vector<Value*> values(plan_.folded.axes.size(), n(0));
  std::function<void(size_t)> from;
  auto inner = [&](size_t depth) {
    if (depth == order.size()) {
      body(values);
      return;
    }
    size_t axis = order[depth];
    Value* begin = axis == 0 ? task_.k_begin : n(0);
    Value* end = axis == 0 ? task_.k_end : dim(plan_.folded.axes[axis].extent);
    // A short innermost loop is written out.
    constexpr int64_t kShort = 4;
    Dim extent = plan_.folded.axes[axis].extent;
    if (depth + 1 == order.size() && extent.is_int() && extent.as_int() <= kShort &&
        (axis != 0 || plan_.one_pass)) {
      for (int64_t i = 0; i < extent.as_int(); ++i) {
        values[axis] = n(i);
        from(depth + 1);
      }
      return;
    }
    f_.emit_loop(begin, end, n(1), [&](Value* i) {
      values[axis] = i;
      from(depth + 1);
    });
  };
  from = [&](size_t depth) {
    if (!around) return inner(depth);
    around(depth, values, [&] { inner(depth); });
  };
  from(0);
}

std::pair<llvm::Value*, llvm::Value*> ContractionEmitter::range_of(
    const te::Affine& offset, const FoldOrder& order, size_t depth,
    const std::vector<Value*>& values) {
  std::vector<Value*> least = values, greatest = values;
  for (size_t i = depth; i < order.axes.size(); ++i) {
    const size_t axis = order.axes[i];
    const Dim by = offset.coefficient(plan_.folded.axes[axis].id);
    if (!by.is_int()) return {};
    Value* first = axis == 0 ? task_.k_begin : n(0);
    Value* last =
        axis == 0 ? b_.CreateSub(task_.k_end, n(1)) : dim(plan_.folded.axes[axis].extent - 1);
    least[axis] = by.as_int() < 0 ? last : first;
    greatest[axis] = by.as_int() < 0 ? first : last;
  }
  return {part_of(offset, plan_.folded, least), part_of(offset, plan_.folded, greatest)};
}

llvm::Value* ContractionEmitter::flat_step(const std::vector<Value*>& values) {
  // Within the pass.
  Value* flat = n(0);
  for (size_t i = 0; i < values.size(); ++i) {
    Value* at = i == 0 ? b_.CreateSub(values[0], task_.k_begin) : values[i];
    flat = i == 0 ? at : add(mul(flat, dim(plan_.folded.axes[i].extent)), at);
  }
  return flat;
}

void ContractionEmitter::pack_generic(Value* column, Value* width, Value* strip) {
  std::vector<size_t> order;
  for (size_t i = 0; i < plan_.folded.axes.size(); ++i) order.push_back(i);
  Dependences binds = ids(plan_.folded);
  for (uint32_t id : ids(plan_.columns)) binds.push_back(id);
  std::sort(binds.begin(), binds.end());
  fold_loops(order, [&](std::vector<Value*>& values) {
    ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional, binds);
    scalars_.set_lanes(lanes_,
                       lanes_below(b_.CreateSub(dim(plan_.columns.extent), column), lanes_));
    for (size_t i = 0; i < values.size(); ++i) {
      scalars_.bind_axis(plan_.folded.axes[i].id, LaneValue::uniform(values[i]));
    }
    bind_lanes(plan_.columns, column, lanes_);
    Value* value = narrowed(scalars_.emit_wide(plan_.rhs.value), plan_.rhs_type);
    store_scratch(value, element(strip, plan_.rhs_type, mul(flat_step(values), width)),
                  pack_region(), static_cast<unsigned>(plan_.lanes * plan_.rhs_bytes()));
  });
}

void ContractionEmitter::pack_linear(Value* first_column, int64_t vectors, Value* width,
                                     Value* panel, const std::optional<Window>& window) {
  std::vector<LaneLoad> all;
  for (int64_t v = 0; v < vectors; ++v) {
    Value* column = add(first_column, n(v * plan_.lanes));
    const bool may_end = !plan_.panels.known || v + 1 == vectors;
    all.push_back(lane_load(column, may_end));
  }
  if (window) return pack_window(all, *window, width, panel);
  const FoldOrder order = condition_order(std::nullopt);
  const std::optional<size_t> taps = shared_taps(all);
  if (!taps) return pack_loads(all, order, width, panel, /*ask_once=*/true);
  auto [least, greatest] =
      range_of(plan_.rhs.load->offset, order, 0, std::vector<Value*>(order.axes.size(), n(0)));
  if (least == nullptr) return pack_loads(all, order, width, panel, /*ask_once=*/true);
  Value* inside = stays_inside(all[0], least, greatest);
  f_.emit_if(inside, [&] { pack_taps(all[0], *taps, width, panel); });
  f_.emit_if(
      b_.CreateNot(inside), [&] { pack_loads(all, order, width, panel, /*ask_once=*/false); },
      true);
}

// Conditions are decided in front of the axes that they do not speak of.
ContractionEmitter::FoldOrder ContractionEmitter::condition_order(
    std::optional<size_t> without) const {
  FoldOrder order;
  for (int turn = 0; turn < 2; ++turn) {
    for (size_t i = 0; i < plan_.folded.axes.size(); ++i) {
      if (i == without) continue;
      if (plan_.rhs.load->asks(plan_.folded.axes[i].id) == (turn == 0)) order.axes.push_back(i);
    }
    if (turn == 0) order.decided = order.axes.size();
  }
  return order;
}

llvm::Value* ContractionEmitter::mask_at(const LaneLoad& lanes, const std::vector<Value*>& values) {
  Value* mask = lanes.valid;
  const LinearLoad& load = *plan_.rhs.load;
  for (size_t k = 0; k < load.conditions.size(); ++k) {
    const auto& condition = load.conditions[k];
    Value* here = add(batch_part(condition.index), part_of(condition.index, plan_.folded, values));
    llvm::Type* type = lanes.index_type;
    Value* index = add(lanes.index[k], splat(b_.CreateTrunc(here, type), lanes_));
    Value* extent = splat(b_.CreateTrunc(dim(condition.extent), type), lanes_);
    Value* inside = b_.CreateICmpULT(index, extent);
    mask = mask == nullptr ? inside : b_.CreateAnd(mask, inside);
  }
  return mask;
}

void ContractionEmitter::pack_loads(std::vector<LaneLoad>& all, const FoldOrder& order,
                                    Value* width, Value* panel, bool ask_once) {
  const LinearLoad& load = *plan_.rhs.load;
  auto around = [&](size_t depth, std::vector<Value*>& values, const std::function<void()>& inner) {
    if (depth != order.decided) return inner();
    for (LaneLoad& lanes : all) lanes.mask = mask_at(lanes, values);
    // Away from the ends of the tensor no load has to be checked by itself.
    std::pair<Value*, Value*> range;
    if (ask_once && depth < order.axes.size() && all.size() == 1 && !all[0].starts.empty())
      range = range_of(load.offset, order, depth, values);
    if (range.first == nullptr) return inner();
    Value* inside = stays_inside(all[0], range.first, range.second);
    all[0].inside = true;
    f_.emit_if(inside, inner);
    all[0].inside = false;
    f_.emit_if(b_.CreateNot(inside), inner, true);
  };
  fold_loops(
      order.axes,
      [&](std::vector<Value*>& values) {
        Value* along = part_of(load.offset, plan_.folded, values);
        Value* row = element(panel, plan_.rhs_type, mul(flat_step(values), width));
        for (size_t v = 0; v < all.size(); ++v) {
          store_packed(load_lanes(all[v], along),
                       element(row, plan_.rhs_type, n(static_cast<int64_t>(v) * plan_.lanes)));
        }
      },
      around);
}

void ContractionEmitter::store_packed(Value* loaded, Value* at) {
  const DType dtype = plan_.rhs.load->dtype;
  Value* value = of_loaded(plan_.rhs, scalars_.from_memory(loaded, dtype), lanes_);
  value = narrowed(value, plan_.rhs_type);
  store_scratch(value, at, pack_region(), static_cast<unsigned>(plan_.lanes * plan_.rhs_bytes()));
}

std::vector<llvm::Value*> ContractionEmitter::transpose_block(std::vector<Value*> rows) {
  // Bit by bit: rows and lanes whose numbers differ in it change places.
  auto count = static_cast<int>(rows.size());
  for (int bit = 1; bit < count; bit *= 2) {
    for (int i = 0; i < count; ++i) {
      if ((i & bit) != 0) continue;
      std::vector<int> low, high;
      for (int lane = 0; lane < count; ++lane) {
        bool upper = (lane & bit) != 0;
        low.push_back(upper ? count + lane - bit : lane);
        high.push_back(upper ? count + lane : lane + bit);
      }
      auto at = static_cast<size_t>(i);
      auto other = static_cast<size_t>(i + bit);
      Value* first = b_.CreateShuffleVector(rows[at], rows[other], low);
      rows[other] = b_.CreateShuffleVector(rows[at], rows[other], high);
      rows[at] = first;
    }
  }
  return rows;
}

void ContractionEmitter::pack_transposed(Value* first_column, Value* width, Value* strip) {
  const LinearLoad& load = *plan_.rhs.load;
  std::vector<Value*> lines;
  bool whole = floor_mod(plan_.main_columns, plan_.lanes).is_int(0);
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    Value* column = add(first_column, n(lane));
    // Past the end: the last column again; nobody stores what comes of it.
    if (!whole) column = least(column, dim(plan_.columns.extent - 1));
    Value* offset = add(add(batch_part(load.offset), task_.k_from),
                        part_of(load.offset, plan_.columns, column));
    lines.push_back(element(f_.buffer(load.buffer), load.dtype, offset));
  }
  auto block = [&](Value* k, Value* mask) {
    std::vector<Value*> rows;
    for (Value* line : lines) {
      Value* at = element(line, load.dtype, k);
      rows.push_back(
          of_loaded(plan_.rhs, this->load(load.buffer, load.dtype, at, lanes_, mask), lanes_));
    }
    rows = transpose_block(std::move(rows));
    for (unsigned i = 0; i < lanes_; ++i) {
      Value* at = element(strip, plan_.rhs_type, mul(add(k, n(i)), width));
      store_scratch(rows[i], at, pack_region(),
                    static_cast<unsigned>(plan_.lanes * plan_.rhs_bytes()));
    }
  };
  Value* rest = b_.CreateURem(task_.k_count, n(plan_.lanes));
  Value* even = b_.CreateSub(task_.k_count, rest);
  f_.emit_loop(n(0), even, n(plan_.lanes), [&](Value* k) { block(k, nullptr); });
  // The panel has room for a full block.
  f_.emit_if(b_.CreateICmpSGT(rest, n(0)), [&] { block(even, lanes_below(rest, lanes_)); });
}

}  // namespace relay::codegen

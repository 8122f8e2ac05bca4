// Contractions: vectors along k, where there are few rows or few columns.
#include <algorithm>
#include <bit>

#include <relay/codegen/llvm/contraction_emitter.h>

namespace relay::codegen {

llvm::Value* ContractionEmitter::plus(Value* a, Value* b) {
  return c_.accumulator.is_integer() ? b_.CreateAdd(a, b) : b_.CreateFAdd(a, b);
}

llvm::Value* ContractionEmitter::join_lanes(std::vector<Value*> vectors) {
  const int lanes = static_cast<int>(lanes_);
  int bit = 1;
  for (; vectors.size() > 1; bit *= 2) {
    // Lanes with the bit are the second one's, the others the first one's; so sums halve.
    std::vector<int> low, high;
    for (int lane = 0; lane < lanes; ++lane) {
      bool upper = (lane & bit) != 0;
      low.push_back(upper ? lanes + lane - bit : lane);
      high.push_back(upper ? lanes + lane : lane + bit);
    }
    std::vector<Value*> half;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      half.push_back(plus(b_.CreateShuffleVector(vectors[i], vectors[i + 1], low),
                          b_.CreateShuffleVector(vectors[i], vectors[i + 1], high)));
    }
    vectors = std::move(half);
  }
  for (; bit < lanes; bit *= 2) {
    std::vector<int> other;
    for (int lane = 0; lane < lanes; ++lane) other.push_back(lane ^ bit);
    vectors[0] = plus(vectors[0], b_.CreateShuffleVector(vectors[0], other));
  }
  return vectors[0];
}

std::vector<llvm::Value*> ContractionEmitter::dot_lines(const Lines& rows, const Lines& columns,
                                                        Value* k_count) {
  llvm::Type* wide = accumulator(lanes_);
  const auto elements = static_cast<unsigned>(plan_.lanes * plan_.group);
  const size_t budget = f_.target.processor.registers >= 32 ? 24 : 8;
  size_t width = 1;  // columns at a time
  while (width < columns.at.size() && width * 2 <= lanes_) width *= 2;
  while (width > 1 && width * std::min<size_t>(rows.at.size(), 3) > budget) width /= 2;
  if (columns.one_set)
    width = std::min(width, std::bit_floor(static_cast<size_t>(f_.target.processor.first_ways)));
  const size_t height = std::clamp<size_t>(budget / width, 1, 8);

  auto load_line = [&](const Lines& lines, size_t i, Value* k, Value* mask) -> Value* {
    llvm::Type* line_type = widen_type(memory_type(f_.context, lines.dtype), elements);
    Value* at = element(lines.at[i], lines.dtype, k);
    llvm::Align align(lines.dtype.size());
    llvm::Instruction* load =
        mask == nullptr
            ? static_cast<llvm::Instruction*>(b_.CreateAlignedLoad(line_type, at, align))
            : b_.CreateMaskedLoad(line_type, at, align, mask,
                                  llvm::Constant::getNullValue(line_type));
    Value* loaded =
        lines.buffer >= 0 ? f_.annotate(load, lines.buffer) : f_.annotate_scratch(load, kTail);
    if (plan_.group == 1) return loaded;
    return b_.CreateBitCast(loaded, widen_type(b_.getInt32Ty(), lanes_));
  };
  std::vector<Value*> results(rows.at.size(), nullptr);
  for (size_t column = 0; column < columns.at.size(); column += width) {
    const size_t across = std::min(width, columns.at.size() - column);
    for (size_t row = 0; row < rows.at.size(); row += height) {
      const size_t down = std::min(height, rows.at.size() - row);
      clear_registers();
      std::vector<llvm::AllocaInst*> slots;
      for (size_t i = 0; i < down * across; ++i) {
        slots.push_back(f_.alloca_register(wide, "dot"));
        b_.CreateStore(llvm::Constant::getNullValue(wide), slots.back());
      }
      auto step = [&](Value* k, Value* mask) {
        std::vector<RowOfProducts> left;
        for (size_t i = 0; i < down; ++i) left.push_back(row_of(load_line(rows, row + i, k, mask)));
        for (size_t j = 0; j < across; ++j) {
          const Products right = products_with({load_line(columns, column + j, k, mask)});
          for (size_t i = 0; i < down; ++i) {
            llvm::AllocaInst* slot = slots[i * across + j];
            b_.CreateStore(multiply_add(left[i], right, 0, b_.CreateLoad(wide, slot)), slot);
          }
        }
      };
      Value* rest = b_.CreateURem(k_count, n(elements));
      Value* even = b_.CreateSub(k_count, rest);
      f_.emit_loop(n(0), even, n(elements), [&](Value* k) { step(k, nullptr); });
      f_.emit_if(b_.CreateICmpSGT(rest, n(0)), [&] { step(even, lanes_below(rest, elements)); });
      for (size_t i = 0; i < down; ++i) {
        std::vector<Value*> sums;
        for (size_t j = 0; j < width; ++j) {
          sums.push_back(j < across ? b_.CreateLoad(wide, slots[i * across + j])
                                    : static_cast<Value*>(llvm::Constant::getNullValue(wide)));
        }
        Value* joined = join_lanes(std::move(sums));
        Value*& result = results[row + i];
        if (result == nullptr) {
          result = joined;
        } else {
          std::vector<int> pick;
          for (unsigned lane = 0; lane < lanes_; ++lane) {
            pick.push_back(static_cast<int>(lane < column ? lane : lanes_ + lane));
          }
          result = b_.CreateShuffleVector(result, joined, pick);
        }
      }
    }
  }
  return results;
}

void ContractionEmitter::emit_dot_tile(int64_t rows, Value* first_row, Value* first_column) {
  const LinearLoad& load = *plan_.rhs.load;
  Lines left{direct_rows(rows, first_row, n(0)), plan_.lhs_type, plan_.lhs.load->buffer};
  Lines right{{}, plan_.rhs_type, load.buffer};
  Dim extent = plan_.columns.extent;
  std::optional<Dim> stride = plan_.columns.stride_of(load.offset);
  // More than a cache holds comes from memory, which is busier with many lines at a time.
  const lower::Processor& processor = f_.target.processor;
  if (stride && stride->is_int() && extent.is_int() && stride->as_int() > 0 &&
      stride->as_int() <= processor.last_bytes) {
    // Lines so many bytes apart fall on one set of the first cache.
    const int64_t period = processor.first_sets * processor.line_bytes;
    const int64_t distance = stride->as_int() * plan_.rhs_bytes();
    right.one_set = distance % period == 0 && extent.as_int() <= processor.last_bytes / distance;
  }
  int64_t count = plan_.lanes;
  Value* mask = nullptr;
  if (!extent.is_int()) {
    mask = lanes_below(b_.CreateSub(dim(extent), first_column), lanes_);
  } else if (extent.as_int() < plan_.lanes) {
    count = std::max<int64_t>(1, extent.as_int());
    mask = lanes_below(n(count), lanes_);
  } else if (extent.as_int() % plan_.lanes != 0) {
    // The last columns again, but only the new ones are stored.
    Value* column = least(first_column, n(extent.as_int() - plan_.lanes));
    llvm::Type* type = b_.getInt32Ty();
    Value* again = b_.CreateTrunc(b_.CreateSub(first_column, column), type);
    mask = b_.CreateICmpUGE(lane_numbers(lanes_, type), splat(again, lanes_));
    first_column = column;
  }
  for (int64_t lane = 0; lane < count; ++lane) {
    if (extent.is_int() && lane > 0 && stride) {
      right.at.push_back(element(right.at[0], load.dtype, mul(n(lane), dim(*stride))));
      continue;
    }
    Value* column = add(first_column, n(lane));
    // Past the end: the last column; nobody stores what comes of it.
    if (!extent.is_int()) column = least(column, dim(extent - 1));
    Value* offset = add(batch_part(load.offset), part_of(load.offset, plan_.columns, column));
    right.at.push_back(element(f_.buffer(load.buffer), load.dtype, offset));
  }
  std::vector<std::vector<Value*>> by_rows;
  for (Value* sum : dot_lines(left, right, dim(plan_.folded.extent))) by_rows.push_back({sum});
  finish_tile(by_rows, first_row, first_column, {mask});
}

void ContractionEmitter::pack_tail() {
  const AxisGroup& folded = plan_.folded;
  std::vector<size_t> order;
  for (size_t i = 0; i < folded.axes.size(); ++i) order.push_back(i);
  Dependences binds = ids(folded);
  for (uint32_t id : ids(plan_.columns)) binds.push_back(id);
  std::sort(binds.begin(), binds.end());
  std::vector<std::vector<Value*>> columns;
  for (int64_t j = 0; j < plan_.tail; ++j) {
    columns.push_back(split(plan_.columns, dim(plan_.main_columns + j)));
  }
  task_.k_begin = n(0);
  task_.k_end = folded.axes.empty() ? n(1) : dim(folded.axes[0].extent);
  fold_loops(order, [&](std::vector<Value*>& values) {
    Value* step = flat_step(values);
    for (int64_t j = 0; j < plan_.tail; ++j) {
      ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional, binds);
      scalars_.set_lanes(1);
      for (size_t i = 0; i < values.size(); ++i) {
        scalars_.bind_axis(folded.axes[i].id, LaneValue::uniform(values[i]));
      }
      for (size_t i = 0; i < plan_.columns.axes.size(); ++i) {
        scalars_.bind_axis(plan_.columns.axes[i].id,
                           LaneValue::uniform(columns[static_cast<size_t>(j)][i]));
      }
      Value* value = narrowed(scalars_.emit_wide(plan_.rhs.value), plan_.rhs_type);
      Value* at = element(tail_, plan_.rhs_type, add(mul(n(j), tail_pitch_), step));
      store_scratch(value, at, kTail, static_cast<unsigned>(plan_.rhs_bytes()));
    }
  });
}

void ContractionEmitter::emit_tail(Value* block, llvm::AllocaInst* packed) {
  Value* batch =
      b_.CreateUDiv(block, dim(max(ceil_div(plan_.panels.pieces, plan_.panels_in_block), 1)));
  f_.emit_if(b_.CreateICmpNE(b_.CreateLoad(f_.i64(), packed), batch), [&] {
    pack_tail();
    b_.CreateStore(batch, packed);
  });
  Lines right{{}, plan_.rhs_type};
  for (int64_t j = 0; j < plan_.tail; ++j) {
    right.at.push_back(element(tail_, plan_.rhs_type, mul(n(j), tail_pitch_)));
  }
  std::vector<Value*> masks{lanes_below(n(plan_.tail), lanes_)};
  f_.emit_loop(task_.tile_begin, task_.tile_end, n(1), [&](Value* number) {
    Value* row = piece_begin(plan_.row_tiles, number);
    for_sizes(plan_.row_tiles, number, [&](int64_t rows) {
      Lines left{direct_rows(rows, row, n(0)), plan_.lhs_type, plan_.lhs.load->buffer};
      std::vector<std::vector<Value*>> by_rows;
      for (Value* sum : dot_lines(left, right, dim(plan_.folded.extent))) by_rows.push_back({sum});
      finish_tile(by_rows, row, dim(plan_.main_columns), masks);
    });
  });
}

}  // namespace relay::codegen

// Contractions: tasks and passes.
#include <relay/codegen/llvm/contraction_emitter.h>
#include <relay/lower/contraction.h>

namespace relay::codegen {

using te::Affine;

namespace {

std::vector<te::ScalarRef> roots_of(const lower::Contraction& contraction,
                                    const ContractionPlan& plan) {
  std::vector<te::ScalarRef> roots = contraction.out_index;
  auto add_sum = [&](const Affine& sum) {
    for (const Affine::Other& other : sum.others) roots.push_back(other.value);
  };
  auto add_load = [&](const LinearLoad& load) {
    add_sum(load.offset);
    for (const auto& condition : load.conditions) add_sum(condition.index);
  };
  roots.push_back(plan.epilogue);
  for (const Factor* factor : {&plan.lhs, &plan.rhs}) {
    roots.push_back(factor->value);
    if (factor->of_load) roots.push_back(factor->of_load);
    if (factor->load) add_load(*factor->load);
    if (factor->packed) add_sum(factor->packed->offset);
  }
  for (const TileLoad& load : plan.tile_loads) add_load(load.load);
  if (plan.out_offset) add_sum(*plan.out_offset);
  return roots;
}

}  // namespace

void emit_contraction(const lower::Contraction& contraction, KernelFrame& frame) {
  const KernelFrame::OriginScope scope(frame, contraction.origin);
  const lower::Processor& processor = frame.target.processor;
  ContractionPlan plan = lower::plan_contraction(contraction, processor);
  if (auto turned = lower::for_few_columns(contraction, processor)) {
    // The number of columns is known at run time only: both ways.
    ContractionPlan for_few = lower::plan_contraction(*turned, processor);
    llvm::Value* columns = frame.dim(plan.columns.extent);
    llvm::Value* few = frame.b.CreateICmpSLE(columns, frame.int64(lower::few_columns(plan.lanes)));
    frame.emit_if(few, [&] { ContractionEmitter(*turned, std::move(for_few), frame).run(); });
    frame.emit_if(frame.b.CreateNot(few),
                  [&] { ContractionEmitter(contraction, std::move(plan), frame).run(); });
    return;
  }
  Dim rows = plan.rows.extent;
  if (!rows.is_int() && !plan.dots && !plan.rhs_packed) {
    // The number of rows is known at run time only: both ways.
    ContractionPlan for_few = lower::plan_contraction(contraction, processor, /*few_rows=*/true);
    if (for_few.dots || for_few.rhs_direct) {
      llvm::Value* few = frame.b.CreateICmpSLE(frame.dim(rows), frame.int64(lower::kFewRows));
      frame.emit_if(few, [&] { ContractionEmitter(contraction, for_few, frame).run(); });
      frame.emit_if(frame.b.CreateNot(few),
                    [&] { ContractionEmitter(contraction, plan, frame).run(); });
      return;
    }
  }
  ContractionEmitter(contraction, std::move(plan), frame).run();
}

ContractionEmitter::ContractionEmitter(const lower::Contraction& contraction, ContractionPlan plan,
                                       KernelFrame& frame)
    : c_(contraction),
      f_(frame),
      b_(frame.b),
      plan_(std::move(plan)),
      scalars_(frame, roots_of(contraction, plan_)),
      lanes_(static_cast<unsigned>(plan_.lanes)) {}

llvm::Value* ContractionEmitter::add(Value* a, Value* b) { return b_.CreateAdd(a, b); }
llvm::Value* ContractionEmitter::mul(Value* a, Value* b) { return b_.CreateMul(a, b); }
llvm::Value* ContractionEmitter::least(Value* a, Value* b) {
  return b_.CreateSelect(b_.CreateICmpSLT(a, b), a, b);
}

llvm::Value* ContractionEmitter::splat(Value* scalar, unsigned lanes) {
  return b_.CreateVectorSplat(lanes, scalar);
}

llvm::Type* ContractionEmitter::accumulator(unsigned lanes) {
  return widen_type(register_type(f_.context, c_.accumulator), lanes);
}

Dependences ContractionEmitter::ids(const AxisGroup& group) {
  Dependences result;
  for (const te::Axis& axis : group.axes) result.push_back(axis.id);
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<llvm::Value*> ContractionEmitter::split(const AxisGroup& group, Value* flat) {
  std::vector<Value*> values(group.axes.size());
  auto constant = [&](Value* scalar) -> Value* {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(flat->getType());
    if (vector == nullptr) return scalar;
    return splat(b_.CreateTrunc(scalar, vector->getElementType()), vector->getNumElements());
  };
  for (size_t i = values.size(); i-- > 0;) {
    if (group.axes[i].extent.is_int(1)) {
      values[i] = constant(n(0));
      continue;
    }
    bool outermost = true;
    for (size_t j = 0; j < i; ++j) outermost &= group.axes[j].extent.is_int(1);
    if (outermost) {
      values[i] = flat;
      flat = constant(n(0));
      continue;
    }
    // An extent of 0 is never counted through, but the division may be moved.
    Value* extent = dim(max(group.axes[i].extent, 1));
    values[i] = b_.CreateURem(flat, constant(extent));
    flat = b_.CreateUDiv(flat, constant(extent));
  }
  return values;
}

llvm::Value* ContractionEmitter::batch_part(const Affine& sum) {
  auto [found, fresh] = batch_parts_.try_emplace(&sum, nullptr);
  if (!fresh) return found->second;
  Value* result = add(dim(sum.constant), part_of(sum, plan_.batch, batch_values_));
  for (const Affine::Other& other : sum.others) {
    result = add(result, mul(scalars_.emit_uniform(other.value), dim(other.coefficient)));
  }
  return found->second = result;
}

llvm::Value* ContractionEmitter::part_of(const Affine& sum, const AxisGroup& group, Value* flat) {
  if (std::optional<Dim> stride = group.stride_of(sum)) return mul(flat, dim(*stride));
  return part_of(sum, group, split(group, flat));
}

llvm::Value* ContractionEmitter::part_of(const Affine& sum, const AxisGroup& group,
                                         const std::vector<Value*>& values) {
  Value* result = nullptr;
  for (size_t i = 0; i < values.size(); ++i) {
    Dim coefficient = sum.coefficient(group.axes[i].id);
    if (coefficient.is_int(0) || group.axes[i].extent.is_int(1)) continue;
    Value* factor = dim(coefficient);
    if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(values[i]->getType())) {
      factor = splat(b_.CreateTrunc(factor, vector->getElementType()), vector->getNumElements());
    }
    Value* term = mul(values[i], factor);
    result = result == nullptr ? term : add(result, term);
  }
  if (result != nullptr) return result;
  return values.empty() ? n(0) : llvm::Constant::getNullValue(values[0]->getType());
}

llvm::Value* ContractionEmitter::element(Value* base, DType dtype, Value* offset) {
  return b_.CreateGEP(memory_type(f_.context, dtype), base, offset);
}

llvm::Value* ContractionEmitter::lane_numbers(unsigned lanes, llvm::Type* type) {
  std::vector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes; ++i) numbers.push_back(llvm::ConstantInt::get(type, i));
  return llvm::ConstantVector::get(numbers);
}

llvm::Value* ContractionEmitter::lanes_below(Value* count, unsigned lanes) {
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(count)) {
    if (known->getSExtValue() >= lanes) return nullptr;
    std::vector<llvm::Constant*> bits;
    for (unsigned i = 0; i < lanes; ++i) bits.push_back(b_.getInt1(i < known->getSExtValue()));
    return llvm::ConstantVector::get(bits);
  }
  Value* clamped = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, n(0));
  clamped = b_.CreateTrunc(least(clamped, n(lanes)), b_.getInt32Ty());
  return b_.CreateICmpULT(lane_numbers(lanes, b_.getInt32Ty()), splat(clamped, lanes));
}

llvm::Value* ContractionEmitter::load(int32_t buffer, DType dtype, Value* address, unsigned lanes,
                                      Value* mask, Value* otherwise) {
  llvm::Type* type = widen_type(memory_type(f_.context, dtype), lanes);
  llvm::Align align(dtype.size());
  llvm::Instruction* result;
  if (mask == nullptr) {
    result = b_.CreateAlignedLoad(type, address, align);
  } else {
    if (otherwise == nullptr) otherwise = llvm::Constant::getNullValue(type);
    result = b_.CreateMaskedLoad(type, address, align, mask, otherwise);
  }
  f_.annotate(result, buffer);
  return scalars_.from_memory(result, dtype);
}

void ContractionEmitter::store_scratch(Value* value, Value* address, int32_t region,
                                       unsigned alignment) {
  f_.annotate_scratch(b_.CreateAlignedStore(value, address, llvm::Align(alignment)), region);
}

void ContractionEmitter::bind_lanes(const AxisGroup& group, Value* flat, unsigned lanes) {
  const te::Axis* real = nullptr;
  size_t count = 0;
  for (const te::Axis& axis : group.axes) {
    if (axis.extent.is_int(1)) continue;
    real = &axis;
    ++count;
  }
  if (count <= 1) {
    for (const te::Axis& axis : group.axes) {
      scalars_.bind_axis(axis.id,
                         &axis == real ? LaneValue::linear(flat, n(1)) : LaneValue::uniform(n(0)));
    }
    return;
  }
  // Positions past the end name the last one. 32 bits divide faster where they are enough.
  bool narrow = group.extent.is_int() && group.extent.as_int() < (int64_t{1} << 31);
  llvm::Type* type = narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  Value* lane = lane_numbers(lanes, type);
  Value* at = add(splat(b_.CreateTrunc(flat, type), lanes), lane);
  Value* last = splat(b_.CreateTrunc(dim(group.extent - 1), type), lanes);
  at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, last);
  std::vector<Value*> values = split(group, at);
  for (size_t i = 0; i < values.size(); ++i) {
    Value* wide = b_.CreateSExt(values[i], llvm::FixedVectorType::get(b_.getInt64Ty(), lanes));
    scalars_.bind_axis(group.axes[i].id, LaneValue::vector(wide));
  }
}

llvm::Value* ContractionEmitter::piece_begin(const Cut& cut, Value* number) {
  if (!cut.known || cut.rest > 0 || cut.even()) return mul(number, n(cut.size));
  return add(mul(number, n(cut.size - 1)), least(number, dim(cut.more)));
}

void ContractionEmitter::reserve_scratch() {
  Dim pass = min(plan_.folded.extent, plan_.k_block * plan_.k_inner);
  if (plan_.one_pass) pass = plan_.folded.extent;
  const int64_t steps = plan_.lanes * plan_.group;  // that are turned around together
  Dim pitch = ceil_div(pass, steps) * Dim(steps);
  int64_t block_rows = plan_.tiles_in_block * plan_.row_tiles.size;
  int64_t block_columns = plan_.panels_in_block * plan_.panel_columns();
  Dim bytes = plan_.element_bytes;
  if (plan_.copies_rhs()) {
    panels_ = f_.scratch(pitch * Dim(block_columns) * plan_.rhs_bytes());
    // Its last line may be read as a whole vector of bytes.
    const Dim raw = pitch * Dim(plan_.panel_columns()) * plan_.rhs_bytes();
    if (plan_.group > 1) raw_ = f_.scratch(raw + Dim(int64_t{f_.target.vector_bytes()}));
  }
  // The matrix unit reads whole strips of rows.
  const int64_t more_rows = plan_.matrix ? lower::kMatrixRows : 0;
  if (plan_.copies_lhs())
    rows_ = f_.scratch((pitch + plan_.lanes) * Dim(block_rows + more_rows) * plan_.lhs_bytes());
  if (!plan_.one_pass) sums_ = f_.scratch(Dim(block_rows * block_columns) * bytes);
  if (plan_.tail > 0) {
    const int64_t tail_pitch = (plan_.folded.extent.as_int() + steps - 1) / steps * steps;
    tail_pitch_ = n(tail_pitch);
    tail_ = f_.scratch(Dim(plan_.tail * tail_pitch * plan_.rhs_bytes()));
  }
  if (plan_.matrix) {
    const int64_t rows = plan_.row_tiles.size + lower::kMatrixRows;
    tile_ = f_.scratch(Dim((rows + more_rows) * plan_.panel_columns()) * bytes);
  } else if (plan_.heavy_epilogue) {
    tile_ = f_.scratch(Dim(plan_.row_tiles.size * plan_.panel_columns()) * bytes);
  }
  panel_pitch_ = dim(pitch);
  row_pitch_ = dim(pitch + plan_.lanes);
}

void ContractionEmitter::begin_task(Value* row_block, Value* column_block) {
  task_ = {};
  task_.panel_begin = mul(column_block, n(plan_.panels_in_block));
  task_.panel_end =
      least(add(task_.panel_begin, n(plan_.panels_in_block)), dim(plan_.panels.pieces));
  task_.tile_begin = mul(row_block, n(plan_.tiles_in_block));
  task_.tile_end =
      least(add(task_.tile_begin, n(plan_.tiles_in_block)), dim(plan_.row_tiles.pieces));
  task_.first_row = piece_begin(plan_.row_tiles, task_.tile_begin);
  task_.first_column = mul(piece_begin(plan_.panels, task_.panel_begin), n(plan_.lanes));
  // A value that is used in several passes is computed in front of them.
  for (const Factor* factor : {&plan_.lhs, &plan_.rhs}) {
    if (factor->packed) batch_part(factor->packed->offset);
    if (!factor->load) continue;
    batch_part(factor->load->offset);
    for (const auto& condition : factor->load->conditions) batch_part(condition.index);
  }
  for (const TileLoad& load : plan_.tile_loads) batch_part(load.load.offset);
  if (plan_.out_offset) batch_part(*plan_.out_offset);
}

void ContractionEmitter::run() {
  reserve_scratch();
  Dim column_blocks = ceil_div(plan_.panels.pieces, plan_.panels_in_block);
  Dim row_blocks = ceil_div(plan_.row_tiles.pieces, plan_.tiles_in_block);
  Dim tasks = plan_.batch.extent * column_blocks * row_blocks;
  // Little work is not worth waking others.
  constexpr int64_t kWorthSharing = 1 << 16;
  Dim work = plan_.batch.extent * plan_.rows.extent * plan_.columns.extent;
  work = work * max(plan_.folded.extent, 1);
  const bool alone = f_.in_block() || (work.is_int() && work.as_int() < kWorthSharing);
  llvm::AllocaInst* packed = f_.alloca_register(f_.i64(), "packed");
  llvm::AllocaInst* packed_tail = f_.alloca_register(f_.i64(), "packed_tail");
  b_.CreateStore(n(-1), packed);
  b_.CreateStore(n(-1), packed_tail);
  auto write_task = [&](Value* number) {
    Value* by_rows = dim(max(row_blocks, 1));
    Value* by_columns = dim(max(column_blocks, 1));
    Value* row_block = b_.CreateURem(number, by_rows);
    Value* block = b_.CreateUDiv(number, by_rows);
    Value* column_block = b_.CreateURem(block, by_columns);
    batch_parts_.clear();
    batch_values_ = split(plan_.batch, b_.CreateUDiv(block, by_columns));
    ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional, ids(plan_.batch));
    for (size_t i = 0; i < batch_values_.size(); ++i) {
      scalars_.bind_axis(plan_.batch.axes[i].id, LaneValue::uniform(batch_values_[i]));
    }
    begin_task(row_block, column_block);
    emit_passes(block, packed);
    if (plan_.tail > 0) {
      f_.emit_if(b_.CreateICmpEQ(task_.panel_end, dim(plan_.panels.pieces)),
                 [&] { emit_tail(block, packed_tail); });
    }
  };
  auto write_tasks = [&](Value* first, Value* end) {
    if (plan_.matrix) configure_matrix();
    f_.emit_loop(first, end, n(1), write_task);
    if (plan_.matrix) release_matrix();
  };
  if (alone) {
    write_tasks(n(0), dim(tasks));
  } else {
    f_.emit_tasks(dim(tasks), write_tasks);
  }
}

void ContractionEmitter::emit_passes(Value* block, llvm::AllocaInst* packed) {
  const bool has_axes = !plan_.folded.axes.empty();
  Dim outermost = has_axes ? plan_.folded.axes[0].extent : Dim(1);
  auto pack_and_multiply = [&](Value* key) {
    if (plan_.copies_rhs()) {
      Value* other = b_.CreateICmpNE(b_.CreateLoad(f_.i64(), packed), key);
      f_.emit_if(other, [&] {
        pack_rhs();
        b_.CreateStore(key, packed);
      });
    }
    if (plan_.copies_lhs()) pack_lhs();
    emit_panels();
  };
  if (plan_.one_pass) {
    task_.k_begin = n(0);
    task_.k_end = dim(outermost);
    task_.k_from = n(0);
    task_.k_count = dim(plan_.folded.extent);
    pack_and_multiply(block);
    return;
  }
  // At least one pass: the sum of nothing is stored too.
  Dim passes = max(Dim(1), ceil_div(outermost, plan_.k_block));
  f_.emit_loop(n(0), dim(passes), n(1), [&](Value* pass) {
    task_.k_begin = mul(pass, dim(plan_.k_block));
    task_.k_end = least(add(task_.k_begin, dim(plan_.k_block)), dim(outermost));
    task_.k_from = mul(task_.k_begin, dim(plan_.k_inner));
    task_.k_count = mul(b_.CreateSub(task_.k_end, task_.k_begin), dim(plan_.k_inner));
    task_.first_pass = b_.CreateICmpEQ(pass, n(0));
    task_.last_pass = b_.CreateICmpEQ(add(pass, n(1)), dim(passes));
    pack_and_multiply(add(mul(block, dim(passes)), pass));
  });
}

void ContractionEmitter::emit_panels() {
  f_.emit_loop(task_.panel_begin, task_.panel_end, n(1), [&](Value* number) {
    Value* column = mul(piece_begin(plan_.panels, number), n(plan_.lanes));
    Value* panel = nullptr;
    if (plan_.copies_rhs()) {
      Value* before = b_.CreateSub(column, task_.first_column);
      panel = element(panels_, plan_.rhs_type, mul(before, panel_pitch_));
    }
    for_panel_sizes(number, [&](int64_t vectors) { emit_row_tiles(panel, vectors, column); });
  });
}

void ContractionEmitter::for_sizes(const Cut& cut, Value* number,
                                   const std::function<void(int64_t size)>& body) {
  if (!cut.known || cut.even()) {
    body(cut.size);
    return;
  }
  if (cut.rest > 0) {
    Value* last = b_.CreateICmpEQ(number, dim(cut.pieces - 1));
    f_.emit_if(last, [&] { body(cut.rest); });
    if (!cut.pieces.is_int(1)) f_.emit_if(b_.CreateNot(last), [&] { body(cut.size); });
    return;
  }
  Value* large = b_.CreateICmpSLT(number, dim(cut.more));
  f_.emit_if(large, [&] { body(cut.size); });
  f_.emit_if(b_.CreateNot(large), [&] { body(cut.size - 1); });
}

llvm::Value* ContractionEmitter::panel_vectors(Value* number) {
  const Cut& cut = plan_.panels;
  if (cut.known) {
    if (cut.even()) return n(cut.size);
    if (cut.rest > 0) {
      return b_.CreateSelect(b_.CreateICmpEQ(number, dim(cut.pieces - 1)), n(cut.rest),
                             n(cut.size));
    }
    return b_.CreateSelect(b_.CreateICmpSLT(number, dim(cut.more)), n(cut.size), n(cut.size - 1));
  }
  Value* left =
      b_.CreateSub(dim(ceil_div(plan_.main_columns, plan_.lanes)), mul(number, n(cut.size)));
  if (plan_.row_tiles.known) return least(left, n(cut.size));
  // With many kinds of tiles of rows, only two kinds of panels.
  return b_.CreateSelect(b_.CreateICmpSLE(left, n(1)), n(1), n(cut.size));
}

void ContractionEmitter::for_panel_sizes(Value* number,
                                         const std::function<void(int64_t vectors)>& body) {
  const Cut& cut = plan_.panels;
  if (cut.known) {
    for_sizes(cut, number, body);
    return;
  }
  Value* vectors = panel_vectors(number);
  for (int64_t size = cut.size; size > 0; --size) {
    if (!plan_.row_tiles.known && size > 1 && size < cut.size) continue;
    f_.emit_if(b_.CreateICmpEQ(vectors, n(size)), [&] { body(size); });
  }
}

}  // namespace relay::codegen

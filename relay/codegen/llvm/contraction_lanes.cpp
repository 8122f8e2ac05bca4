// Contractions: loading a vector of columns, in as few pieces as their addresses allow.
#include <algorithm>

#include <relay/codegen/llvm/contraction_emitter.h>

namespace relay::codegen {

namespace {

/// More pieces than this cost as much as single loads.
constexpr int64_t kMostPieces = 4;

/// True if int32 holds numbers of columns, what conditions ask for, and how far apart columns are.
bool is_narrow(const LinearLoad& load, const lower::Buffer& buffer, const ContractionPlan& plan) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  auto extent_of = [&](uint32_t axis) { return plan.extent_of(axis); };
  auto within = [&](te::Affine sum, int64_t least, int64_t most) {
    sum.constant = sum.constant - least;
    return te::surely_inside(sum, Dim(most - least), extent_of);
  };
  te::Affine along_columns;
  for (const te::Affine::Term& term : load.offset.terms) {
    if (plan.columns.has(term.axis)) along_columns.terms.push_back(term);
  }
  const Dim elements = product(buffer.dims), columns = plan.columns.extent;
  return elements.is_int() && elements.as_int() < kLimit && columns.is_int() &&
         columns.as_int() < kLimit && within(along_columns, -kLimit / 2, kLimit / 2) &&
         std::all_of(load.conditions.begin(), load.conditions.end(), [&](const auto& condition) {
           return within(condition.index, -kLimit, kLimit);
         });
}

bool varies_along(const AxisGroup& group, const te::Affine& sum) {
  return std::any_of(group.axes.begin(), group.axes.end(),
                     [&](const te::Axis& axis) { return !sum.coefficient(axis.id).is_int(0); });
}

/// How columns lie along the fastest of their axes: in lines, `step` elements apart.
struct ColumnLines {
  Dim extent;  // of a line
  int64_t step = 1;

  /// Lines that a vector, which begins at a multiple of its lanes, touches at most.
  int64_t touched_by(int64_t lanes) const {
    const int64_t line = extent.as_int();
    if (line % lanes == 0) return 1;
    return lanes % line == 0 ? lanes / line : (lanes - 2) / line + 2;
  }
};

/// Nothing if lines are of no use to loads of vectors.
std::optional<ColumnLines> lines_of(const AxisGroup& columns, const te::Affine& offset) {
  const te::Axis* fastest = nullptr;
  for (const te::Axis& axis : columns.axes) {
    if (!axis.extent.is_int(1)) fastest = &axis;
  }
  if (fastest == nullptr) return std::nullopt;
  Dim step = offset.coefficient(fastest->id);
  if (!step.is_int() || step.as_int() < 1 || step.as_int() > 2) return std::nullopt;
  return ColumnLines{fastest->extent, step.as_int()};
}

}  // namespace

ContractionEmitter::LaneLoad ContractionEmitter::lane_load(Value* column, bool may_end) {
  const LinearLoad& load = *plan_.rhs.load;
  const AxisGroup& columns = plan_.columns;
  const lower::Buffer& buffer = f_.buffers[static_cast<size_t>(load.buffer)];
  LaneLoad result;
  result.index_type = is_narrow(load, buffer, plan_) ? b_.getInt32Ty() : b_.getInt64Ty();
  llvm::Type* type = result.index_type;
  std::optional<Dim> stride = columns.stride_of(load.offset);
  const bool contiguous = stride && stride->is_int(1);
  const bool whole = floor_mod(plan_.main_columns, plan_.lanes).is_int(0) && plan_.panels.known;
  if (may_end && !whole) {
    result.valid = lanes_below(b_.CreateSub(dim(plan_.main_columns), column), lanes_);
  }
  std::vector<Value*> values;
  if (!contiguous || !load.conditions.empty()) {
    Value* at = add(splat(b_.CreateTrunc(column, type), lanes_), lane_numbers(lanes_, type));
    Value* last = splat(b_.CreateTrunc(dim(columns.extent - 1), type), lanes_);
    at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, last);
    values = split(columns, at);
  }
  for (const auto& condition : load.conditions) {
    result.index.push_back(
        varies_along(columns, condition.index)
            ? part_of(condition.index, columns, values)
            : llvm::Constant::getNullValue(llvm::FixedVectorType::get(type, lanes_)));
  }
  Value* batch = batch_part(load.offset);
  if (contiguous) {
    result.base = add(batch, column);
    return result;
  }
  Value* offsets = part_of(load.offset, columns, values);
  Value* first = b_.CreateExtractElement(offsets, uint64_t{0});
  result.base = add(batch, b_.CreateSExt(first, b_.getInt64Ty()));
  result.offsets = b_.CreateSub(offsets, splat(first, lanes_));

  std::optional<ColumnLines> lines = lines_of(columns, load.offset);
  if (!lines) return result;
  // Lanes of one line lie evenly: one piece for each line that is touched. Lines of an unknown
  // length are at most two if they are no shorter than a vector but for one element.
  const bool known = lines->extent.is_int();
  const int64_t pieces = known ? lines->touched_by(plan_.lanes) : 2;
  if (pieces > kMostPieces) return result;
  result.step = lines->step;
  Value* extent = dim(known ? lines->extent : max(lines->extent, 1));
  if (!known) result.wide = b_.CreateICmpSGE(extent, n(plan_.lanes - 1));
  Value* in_line = b_.CreateURem(column, extent);
  Value *low = nullptr, *high = nullptr;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    Value* lane = n(0);
    if (piece > 0) {
      Value* begin = b_.CreateSub(mul(n(piece), extent), in_line);
      lane = least(begin, n(plan_.lanes - 1));
      Value* end = known ? begin : least(begin, n(plan_.lanes));
      end = splat(b_.CreateTrunc(end, b_.getInt32Ty()), lanes_);
      result.before.push_back(b_.CreateICmpSLT(lane_numbers(lanes_, b_.getInt32Ty()), end));
    }
    Value* at = least(add(column, lane), dim(columns.extent - 1));
    Value* ahead = mul(b_.CreateSub(at, column), n(result.step));
    Value* start = add(batch, b_.CreateSub(part_of(load.offset, columns, at), ahead));
    result.starts.push_back(start);
    low = low == nullptr ? start : least(low, start);
    high = high == nullptr ? start : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, high, start);
  }
  result.low = low;
  result.high = high;
  return result;
}

llvm::Value* ContractionEmitter::stays_inside(const LaneLoad& lanes, Value* least_along,
                                              Value* greatest_along) {
  // Pieces are read whole.
  Dim elements = product(f_.buffers[static_cast<size_t>(plan_.rhs.load->buffer)].dims);
  Value* room = b_.CreateSub(dim(elements), n(plan_.lanes * lanes.step));
  Value* inside = b_.CreateAnd(b_.CreateICmpSGE(add(lanes.low, least_along), n(0)),
                               b_.CreateICmpSLE(add(lanes.high, greatest_along), room));
  return lanes.wide == nullptr ? inside : b_.CreateAnd(lanes.wide, inside);
}

llvm::Value* ContractionEmitter::fill_of(const LinearLoad& load, unsigned lanes) {
  if (load.load->fill.get() == nullptr)
    return llvm::Constant::getNullValue(widen_type(memory_type(f_.context, load.dtype), lanes));
  return scalars_.to_memory(splat(scalars_.constant(*load.load->fill), lanes), load.dtype);
}

llvm::Value* ContractionEmitter::every_other(Value* low, Value* high, int first) {
  std::vector<int> lanes;
  for (int lane = 0; lane < static_cast<int>(lanes_); ++lane) lanes.push_back(first + 2 * lane);
  return b_.CreateShuffleVector(low, high, lanes);
}

std::vector<llvm::Value*> ContractionEmitter::load_taps(Value* start, size_t count) {
  const LinearLoad& load = *plan_.rhs.load;
  llvm::Type* one = memory_type(f_.context, load.dtype);
  auto at = [&](llvm::Type* type, int64_t ahead) {
    Value* address = element(f_.buffer(load.buffer), load.dtype, add(start, n(ahead)));
    return f_.annotate(b_.CreateAlignedLoad(type, address, llvm::Align(load.dtype.size())),
                       load.buffer);
  };
  llvm::Type* vector = widen_type(one, lanes_);
  std::vector<Value*> loaded(count);
  // A tap and the next one are the even and the odd elements of the same two vectors: those that
  // begin with a line of the cache where tensors do.
  const Dim constant = load.offset.constant;
  const size_t first = constant.is_int() && constant.as_int() % 2 != 0 ? 1 : 0;
  for (size_t tap = first; tap < count; tap += 2) {
    const auto ahead = static_cast<int64_t>(tap);
    Value *low = at(vector, ahead), *high = at(vector, ahead + plan_.lanes);
    loaded[tap] = every_other(low, high, 0);
    if (tap + 1 < count) loaded[tap + 1] = every_other(low, high, 1);
  }
  if (first == 0) return loaded;
  if (count < 3) {
    loaded[0] = every_other(at(vector, 0), at(vector, plan_.lanes), 0);
    return loaded;
  }
  // The first tap: one element, then those of the third.
  std::vector<int> lanes{static_cast<int>(lanes_)};
  for (int lane = 0; lane + 1 < static_cast<int>(lanes_); ++lane) lanes.push_back(lane);
  loaded[0] = b_.CreateShuffleVector(loaded[2], splat(at(one, 0), lanes_), lanes);
  return loaded;
}

llvm::Value* ContractionEmitter::load_lanes(const LaneLoad& lanes, Value* along) {
  const LinearLoad& load = *plan_.rhs.load;
  llvm::Type* type = widen_type(memory_type(f_.context, load.dtype), lanes_);
  llvm::Align align(load.dtype.size());
  Value* fill = fill_of(load, lanes_);
  Value* base = f_.buffer(load.buffer);
  auto plain = [&](Value* offset) -> Value* {
    return f_.annotate(b_.CreateAlignedLoad(type, element(base, load.dtype, offset), align),
                       load.buffer);
  };
  auto in_row = [&]() -> Value* {
    Value* offset = add(lanes.base, along);
    if (lanes.mask == nullptr) return plain(offset);
    Value* at = element(base, load.dtype, offset);
    return f_.annotate(b_.CreateMaskedLoad(type, at, align, lanes.mask, fill), load.buffer);
  };
  auto gathered = [&]() -> Value* {
    Value* at = element(base, load.dtype, add(lanes.base, along));
    Value* addresses = element(at, load.dtype, lanes.offsets);
    Value* mask = lanes.mask;
    if (mask == nullptr) {
      mask = llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_));
    }
    return f_.annotate(b_.CreateMaskedGather(type, addresses, align, mask, fill), load.buffer);
  };
  auto in_pieces = [&]() -> Value* {
    Value* result = nullptr;
    for (size_t piece = lanes.starts.size(); piece-- > 0;) {
      Value* start = add(lanes.starts[piece], along);
      Value* line = plain(start);
      if (lanes.step == 2) line = every_other(line, plain(add(start, n(plan_.lanes))), /*first=*/0);
      result = result == nullptr ? line : b_.CreateSelect(lanes.before[piece], line, result);
    }
    return lanes.mask == nullptr ? result : b_.CreateSelect(lanes.mask, result, fill);
  };
  if (lanes.offsets == nullptr) return in_row();
  if (lanes.inside) return in_pieces();
  if (lanes.starts.empty()) return gathered();
  Value* easy = stays_inside(lanes, along, along);
  llvm::AllocaInst* slot = f_.alloca_register(type);
  f_.emit_if(easy, [&] { b_.CreateStore(in_pieces(), slot); });
  f_.emit_if(
      b_.CreateNot(easy), [&] { b_.CreateStore(gathered(), slot); }, true);
  return b_.CreateLoad(type, slot);
}

}  // namespace relay::codegen

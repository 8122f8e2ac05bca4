// Loads and stores: indices, bounds, offsets.
#include <relay/codegen/llvm/memory_access.h>
#include <relay/support/error.h>

namespace relay::codegen {

using te::Bounds;
using te::ScalarNode;

namespace {

/// Brings the indices of one load inside and finds the elements.
class Load {
 public:
  Load(ScalarEmitter& emitter, const ScalarNode& node, std::vector<LaneValue> indices)
      : emitter_(emitter),
        frame_(emitter.frame()),
        b(emitter.frame().b),
        node_(node),
        buffer_(node.tensor.index),
        indices_(std::move(indices)) {
    if (node.bounds == Bounds::kFill) fill_ = emitter.constant(*node.fill);
  }

  LaneValue run() {
    std::vector<size_t> pending;
    llvm::Value* whole = nullptr;
    for (size_t d = 0; d < indices_.size(); ++d) {
      if (node_.bounds == Bounds::kProven || is_inside(d)) continue;
      const LaneValue& index = indices_[d];
      if (index.is_uniform()) {
        settle_uniform(d);
      } else if (index.is_vector()) {
        settle_vector(d);
      } else if (node_.bounds == Bounds::kFill && is_constant(index.step, 1) &&
                 ScalarEmitter::has_masked_access(frame_.target, node_.dtype.size())) {
        settle_window(d);
      } else {
        pending.push_back(d);
        llvm::Value* inside = ends_inside(d);
        whole = whole == nullptr ? inside : b.CreateAnd(whole, inside);
      }
    }
    if (pending.empty()) return load();
    // Usually the whole vector is inside; only where not is it looked at lane by lane.
    llvm::BasicBlock* fast = frame_.new_block("inside");
    llvm::BasicBlock* slow = frame_.new_block("border");
    b.CreateCondBr(whole, fast, slow);
    b.SetInsertPoint(fast);
    LaneValue a = load();
    fast = b.GetInsertBlock();
    b.SetInsertPoint(slow);
    for (size_t d : pending) {
      indices_[d] = LaneValue::vector(emitter_.widen(indices_[d]));
      settle_vector(d);
    }
    LaneValue c = load();
    slow = b.GetInsertBlock();
    if (a.is_uniform()) {
      b.SetInsertPoint(fast);
      a = LaneValue::vector(emitter_.widen(a));
    }
    b.SetInsertPoint(slow);
    c = LaneValue::vector(emitter_.widen(c));
    llvm::BasicBlock* after = frame_.new_block("loaded");
    b.CreateBr(after);
    b.SetInsertPoint(fast);
    b.CreateBr(after);
    b.SetInsertPoint(after);
    llvm::PHINode* phi = b.CreatePHI(a.base->getType(), 2);
    phi->addIncoming(a.base, fast);
    phi->addIncoming(c.base, slow);
    return LaneValue::vector(phi);
  }

 private:
  llvm::Value* extent(size_t d) { return frame_.extent(buffer_, d); }

  bool is_inside(size_t d) {
    std::optional<int64_t> size = constant_of(extent(d));
    if (!size || !indices_[d].is_uniform()) return false;
    std::optional<int64_t> index = constant_of(indices_[d].base);
    return index && *index >= 0 && *index < *size;
  }

  void require(llvm::Value* condition) {
    uniform_valid_ = emitter_.and_mask(uniform_valid_, condition);
  }

  /// An index that has to be brought inside of nothing fails.
  void settle_empty(size_t d) {
    std::optional<int64_t> size = constant_of(extent(d));
    if (size && *size > 0) return;
    llvm::Value* some = b.CreateICmpSGT(extent(d), frame_.int64(0));
    fail_unless(some, frame_.int64(0), extent(d));
    require(some);
    maybe_nowhere_ = true;
  }

  void fail(llvm::Value* index, llvm::Value* size) {
    std::string_view message = node_.message.empty() ? te::kOutOfRange : node_.message;
    frame_.record_failure(message, node_.origin, index, size);
  }

  void fail_unless(llvm::Value* condition, llvm::Value* index, llvm::Value* size) {
    frame_.emit_if(
        b.CreateNot(condition), [&] { fail(index, size); },
        /*unlikely=*/true);
  }

  /// As wide as `like`.
  llvm::Value* spread(llvm::Value* value, llvm::Value* like) {
    if (!like->getType()->isVectorTy()) return value;
    return b.CreateVectorSplat(emitter_.lanes(), value);
  }

  llvm::Value* clamp(llvm::Value* index, llvm::Value* size) {
    llvm::Value* zero = llvm::Constant::getNullValue(index->getType());
    llvm::Value* last = spread(b.CreateSub(size, frame_.int64(1)), index);
    llvm::Value* below = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, last);
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, below, zero);
  }

  llvm::Value* wrap(llvm::Value* index, llvm::Value* size) {
    llvm::Value* zero = llvm::Constant::getNullValue(index->getType());
    llvm::Value* safe =
        spread(b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, size, frame_.int64(1)), index);
    llvm::Value* rest = b.CreateSRem(index, safe);
    return b.CreateSelect(b.CreateICmpSLT(rest, zero), b.CreateAdd(rest, safe), rest);
  }

  void settle_uniform(size_t d) {
    llvm::Value*& index = indices_[d].base;
    llvm::Value* size = extent(d);
    switch (node_.bounds) {
      case Bounds::kClamp:
      case Bounds::kWrap:
        settle_empty(d);
        index = node_.bounds == Bounds::kClamp ? clamp(index, size) : wrap(index, size);
        return;
      case Bounds::kFail: {
        llvm::Value* inside = b.CreateICmpULT(index, size);
        fail_unless(inside, index, size);
        maybe_nowhere_ = true;
        return require(inside);
      }
      default: {
        require(b.CreateICmpULT(index, size));
        // Read anyway, from the nearest place: the value is dropped, and vectors need no mask.
        std::optional<int64_t> known = constant_of(size);
        if (known && *known > 0) {
          index = clamp(index, size);
        } else {
          maybe_nowhere_ = true;
        }
        return;
      }
    }
  }

  void settle_vector(size_t d) {
    llvm::Value*& index = indices_[d].base;
    llvm::Value* size = extent(d);
    if (node_.bounds == Bounds::kClamp || node_.bounds == Bounds::kWrap) {
      settle_empty(d);
      index = node_.bounds == Bounds::kClamp ? clamp(index, size) : wrap(index, size);
      return;
    }
    llvm::Value* inside = b.CreateICmpULT(index, spread(size, index));
    if (node_.bounds == Bounds::kFail) {
      llvm::Value* bad = emitter_.and_mask(emitter_.mask(), b.CreateNot(inside));
      frame_.emit_if(
          emitter_.any(bad),
          [&] {
            llvm::Type* bits = b.getIntNTy(emitter_.lanes());
            llvm::Value* first = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz,
                                                         b.CreateBitCast(bad, bits), b.getTrue());
            llvm::Value* lane = b.CreateZExtOrTrunc(first, b.getInt64Ty());
            fail(b.CreateExtractElement(index, lane), size);
          },
          /*unlikely=*/true);
    }
    lane_valid_ = emitter_.and_mask(lane_valid_, inside);
  }

  /// Lanes of an index that goes up by one: those in an interval.
  void settle_window(size_t d) {
    LaneNumbers numbers(frame_, emitter_.lanes());
    lane_valid_ = emitter_.and_mask(lane_valid_, numbers.inside(indices_[d].base, extent(d)));
  }

  llvm::Value* ends_inside(size_t d) {
    const LaneValue& index = indices_[d];
    llvm::Value* span =
        b.CreateMul(index.step, frame_.int64(static_cast<int64_t>(emitter_.lanes()) - 1));
    llvm::Value* last = b.CreateAdd(index.base, span);
    return b.CreateAnd(b.CreateICmpULT(index.base, extent(d)), b.CreateICmpULT(last, extent(d)));
  }

  LaneValue load();
  llvm::Value* all_or_none(unsigned lanes);
  llvm::Value* blend_bits(llvm::Value* value, llvm::Value* otherwise);

  ScalarEmitter& emitter_;
  KernelFrame& frame_;
  llvm::IRBuilder<>& b;
  const ScalarNode& node_;
  int32_t buffer_;
  std::vector<LaneValue> indices_;
  llvm::Value* fill_ = nullptr;
  llvm::Value* uniform_valid_ = nullptr;
  bool maybe_nowhere_ = false;  // where `uniform_valid_` does not hold, the offset is outside
  llvm::Value* lane_valid_ = nullptr;
};

/// Row-major offset in elements.
LaneValue offset_of(ScalarEmitter& emitter, int32_t buffer, std::span<const LaneValue> indices) {
  KernelFrame& frame = emitter.frame();
  IndexMath math(frame);
  LaneValue offset = LaneValue::uniform(frame.int64(0));
  llvm::Value* wide = nullptr;
  for (size_t d = 0; d < indices.size(); ++d) {
    llvm::Value* stride = frame.stride(buffer, d);
    if (!indices[d].is_vector()) {
      offset = math.add(offset, math.scale(indices[d], stride));
      continue;
    }
    llvm::Value* term = indices[d].base;
    if (!is_constant(stride, 1)) {
      term = frame.b.CreateMul(term, frame.b.CreateVectorSplat(emitter.lanes(), stride));
    }
    wide = wide == nullptr ? term : frame.b.CreateAdd(wide, term);
  }
  if (wide == nullptr) return offset;
  for (size_t d = 0; d < indices.size(); ++d) {
    // The only index that is a vector: it says how lanes are apart.
    if (indices[d].spread == nullptr || !is_constant(frame.stride(buffer, d), 1)) continue;
    if (wide != indices[d].base || !offset.is_uniform()) continue;
    llvm::Value* all = frame.b.CreateAdd(wide, emitter.widen(offset));
    return LaneValue::spread_from(all, math.add(indices[d].origin, offset.base), indices[d].spread);
  }
  if (offset.is_uniform() && is_constant(offset.base, 0)) return LaneValue::vector(wide);
  return LaneValue::vector(frame.b.CreateAdd(wide, emitter.widen(offset)));
}

LaneValue Load::load() {
  MemoryAccess access(emitter_, buffer_);
  LaneValue offset = offset_of(emitter_, buffer_, indices_);
  if (uniform_valid_ == nullptr || maybe_nowhere_) {
    return access.load(offset, uniform_valid_, lane_valid_, fill_);
  }
  unsigned lanes = emitter_.lanes();
  bool has_masks = frame_.target.isa == Target::Isa::kAvx512 && lanes >= 8;
  if (has_masks && lane_valid_ != nullptr) {
    lane_valid_ = b.CreateAnd(lane_valid_, all_or_none(lanes));
    return access.load(offset, nullptr, lane_valid_, fill_);
  }
  LaneValue value = access.load(offset, nullptr, lane_valid_, fill_);
  if (value.is_uniform()) {
    value.base = b.CreateSelect(uniform_valid_, value.base, fill_);
  } else if (has_masks) {
    value.base = b.CreateSelect(all_or_none(lanes), value.base, b.CreateVectorSplat(lanes, fill_));
  } else {
    value.base = blend_bits(value.base, b.CreateVectorSplat(lanes, fill_));
  }
  return value;
}

// A vector selected by one condition would become a branch.

llvm::Value* Load::all_or_none(unsigned lanes) {
  llvm::Value* bits = b.CreateSExt(uniform_valid_, b.getIntNTy(lanes));
  return b.CreateBitCast(bits, widen_type(b.getInt1Ty(), lanes));
}

llvm::Value* Load::blend_bits(llvm::Value* value, llvm::Value* otherwise) {
  llvm::Type* type = value->getType();
  unsigned bits = type->getScalarSizeInBits();
  if (bits < 8) return b.CreateSelect(uniform_valid_, value, otherwise);
  llvm::Value* ones =
      b.CreateVectorSplat(emitter_.lanes(), b.CreateSExt(uniform_valid_, b.getIntNTy(bits)));
  llvm::Value* kept = b.CreateAnd(b.CreateBitCast(value, ones->getType()), ones);
  llvm::Value* other = b.CreateAnd(b.CreateBitCast(otherwise, ones->getType()), b.CreateNot(ones));
  return b.CreateBitCast(b.CreateOr(kept, other), type);
}

}  // namespace

LaneValue ScalarEmitter::write_load(const ScalarNode* node) {
  RELAY_CHECK(node->tensor.is_input(), "load from a stage in a loop nest");
  std::vector<LaneValue> indices;
  for (size_t d = 0; d < node->args.size(); ++d) indices.push_back(arg(node, d));
  return Load(*this, *node, std::move(indices)).run();
}

LaneValue ScalarEmitter::offset(int32_t buffer, std::span<const te::ScalarRef> indices) {
  std::vector<LaneValue> at;
  for (const te::ScalarRef& index : indices) at.push_back(emit(index));
  return offset_of(*this, buffer, at);
}

void ScalarEmitter::store(int32_t buffer, std::span<const te::ScalarRef> indices, LaneValue value) {
  MemoryAccess(*this, buffer).store(offset(buffer, indices), value);
  invalidate({static_cast<uint32_t>(buffer) | kMemoryFlag});
}

void ScalarEmitter::store(int32_t buffer, std::span<const te::ScalarRef> indices,
                          const te::ScalarRef& value) {
  store(buffer, indices, emit(value));
}

bool ScalarEmitter::store_interleaved(int32_t buffer, llvm::Value* offset,
                                      std::span<const LaneValue> values) {
  if (!MemoryAccess(*this, buffer).store_interleaved(offset, values)) return false;
  invalidate({static_cast<uint32_t>(buffer) | kMemoryFlag});
  return true;
}

}  // namespace relay::codegen

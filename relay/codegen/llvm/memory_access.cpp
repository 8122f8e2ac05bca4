#include <relay/codegen/llvm/memory_access.h>

#include <bit>
#include <numeric>

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Transforms/Utils/Local.h>

namespace relay::codegen {

namespace {

/// Outputs from here on are written past the caches: nobody finds them there later.
constexpr int64_t kHugeBytes = int64_t{24} << 20;

}  // namespace

std::vector<llvm::Value*> interleave(llvm::IRBuilder<>& b, std::vector<llvm::Value*> vectors) {
  const size_t count = vectors.size();
  if (count == 1) return vectors;
  auto* type = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType());
  const auto lanes = static_cast<size_t>(type->getNumElements());
  std::vector<llvm::Value*> result;
  if (count % 2 != 0) {
    // One vector after the other takes its places.
    for (size_t part = 0; part < count; ++part) {
      llvm::Value* joined = llvm::PoisonValue::get(type);
      for (size_t k = 0; k < count; ++k) {
        std::vector<int> places;
        for (size_t lane = 0; lane < lanes; ++lane) {
          const size_t at = part * lanes + lane;
          places.push_back(static_cast<int>(at % count == k ? lanes + at / count : lane));
        }
        joined = b.CreateShuffleVector(joined, vectors[k], places);
      }
      result.push_back(joined);
    }
    return result;
  }
  std::vector<llvm::Value*> even, odd;
  for (size_t k = 0; k < count; ++k) (k % 2 == 0 ? even : odd).push_back(vectors[k]);
  even = interleave(b, std::move(even));
  odd = interleave(b, std::move(odd));
  for (size_t k = 0; k < even.size(); ++k) {
    for (size_t begin : {size_t{0}, lanes / 2}) {
      std::vector<int> places;
      for (size_t lane = 0; lane < lanes / 2; ++lane) {
        places.push_back(static_cast<int>(begin + lane));
        places.push_back(static_cast<int>(lanes + begin + lane));
      }
      result.push_back(b.CreateShuffleVector(even[k], odd[k], places));
    }
  }
  return result;
}

void store_first(KernelFrame& frame, int32_t buffer, llvm::Value* elements, llvm::Value* to,
                 unsigned count, llvm::Align align) {
  llvm::IRBuilder<>& b = frame.b;
  auto* vector = llvm::cast<llvm::FixedVectorType>(elements->getType());
  unsigned done = 0;
  for (unsigned width = std::bit_floor(vector->getNumElements()); width > 0; width /= 2) {
    if ((count & width) == 0) continue;
    std::vector<int> lanes(width);
    std::iota(lanes.begin(), lanes.end(), static_cast<int>(done));
    llvm::Value* part = width == 1 ? b.CreateExtractElement(elements, uint64_t{done})
                                   : b.CreateShuffleVector(elements, lanes);
    llvm::Value* at = b.CreateConstGEP1_64(vector->getElementType(), to, done);
    frame.annotate(b.CreateAlignedStore(part, at, align), buffer);
    done += width;
  }
}

std::optional<unsigned> known_first_lanes(llvm::Value* mask) {
  auto* known = llvm::dyn_cast<llvm::Constant>(mask);
  if (known == nullptr) return std::nullopt;
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  auto active = [&](unsigned lane) { return known->getAggregateElement(lane)->isOneValue(); };
  unsigned count = 0;
  while (count < lanes && active(count)) ++count;
  for (unsigned lane = count; lane < lanes; ++lane) {
    if (active(lane)) return std::nullopt;
  }
  return count;
}

bool ScalarEmitter::has_masked_access(const Target& target, size_t element_bytes) {
  switch (target.isa) {
    case Target::Isa::kBaseline:
    case Target::Isa::kNeon:
      return false;
    case Target::Isa::kAvx2:
      return element_bytes >= 4;
    case Target::Isa::kAvx512:
      return true;
  }
  return false;
}

MemoryAccess::MemoryAccess(ScalarEmitter& emitter, int32_t buffer)
    : emitter_(emitter),
      frame_(emitter.frame()),
      b(emitter.frame().b),
      buffer_(buffer),
      dtype_(frame_.buffers[static_cast<size_t>(buffer)].dtype),
      element_(memory_type(frame_.context, dtype_)),
      vector_(widen_type(element_, emitter.lanes())),
      align_(dtype_.size()),
      lanes_(emitter.lanes()) {}

/// `always`: the offset is inside of the buffer.
llvm::Value* MemoryAccess::address(llvm::Value* offset, bool always) {
  llvm::Value* base = frame_.buffer(buffer_);
  if (is_constant(offset, 0)) return base;
  // A constant becomes part of the instruction: loads around one place share one address.
  auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(offset);
  if (sum != nullptr && sum->getOpcode() == llvm::Instruction::Add) {
    if (auto* rest = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1))) {
      return b.CreateGEP(element_, b.CreateGEP(element_, base, sum->getOperand(0)), rest);
    }
  }
  return always ? b.CreateInBoundsGEP(element_, base, offset) : b.CreateGEP(element_, base, offset);
}

LaneValue MemoryAccess::load(const LaneValue& offset, llvm::Value* uniform_valid,
                             llvm::Value* lane_valid, llvm::Value* fill) {
  if (fill == nullptr) {
    fill = llvm::Constant::getNullValue(register_type(frame_.context, dtype_));
  }
  if (offset.is_uniform() && lane_valid == nullptr) {
    llvm::Value* from = address(offset.base, uniform_valid == nullptr);
    if (uniform_valid != nullptr) {
      from = b.CreateSelect(uniform_valid, from, frame_.dummy_address());
    }
    llvm::LoadInst* load = b.CreateAlignedLoad(element_, from, align_);
    if (uniform_valid == nullptr) note(load);
    llvm::Value* value = emitter_.from_memory(load, dtype_);
    if (uniform_valid != nullptr) value = b.CreateSelect(uniform_valid, value, fill);
    return LaneValue::uniform(value);
  }
  llvm::Value* valid = lane_valid;
  if (uniform_valid != nullptr) {
    valid = emitter_.and_mask(valid, b.CreateVectorSplat(lanes_, uniform_valid));
  }
  llvm::Value* mask = emitter_.and_mask(emitter_.mask(), valid);
  llvm::Value* value = nullptr;
  std::optional<int64_t> step = offset.is_linear() ? constant_of(offset.step) : std::nullopt;
  bool has_masks = ScalarEmitter::has_masked_access(frame_.target, dtype_.size());
  if (step == 1) {
    value = contiguous(offset.base, mask, valid == nullptr ? nullptr : fill);
  } else if (step == -1 && (mask == nullptr || has_masks)) {
    llvm::Value* first = b.CreateAdd(offset.base, frame_.int64(1 - int64_t{lanes_}));
    llvm::Value* reversed = mask == nullptr ? nullptr : b.CreateVectorReverse(mask);
    value = b.CreateVectorReverse(contiguous(first, reversed, valid == nullptr ? nullptr : fill));
  } else if (const auto place =
                 mask == nullptr && step ? place_in_block(offset.base, *step) : std::nullopt) {
    value = taken_apart(offset.base, static_cast<unsigned>(*step), *place);
  } else if (step && *step >= 2 && *step <= 4 && *step <= lanes_ &&
             (mask == nullptr || has_masks)) {
    value = strided(offset.base, static_cast<unsigned>(*step), mask);
    if (valid != nullptr) {
      value = b.CreateSelect(mask, value, b.CreateVectorSplat(lanes_, fill));
    }
  } else if (offset.is_linear() && !step) {
    value = side_by_side_or_not(offset, mask, valid == nullptr ? nullptr : fill);
  } else {
    value = gather(offset, mask, valid == nullptr ? nullptr : fill);
  }
  return LaneValue::vector(value);
}

/// Steps that a run decides are 1 mostly: those of a dimension that is read at 0 if its extent
/// is 1.
llvm::Value* MemoryAccess::side_by_side_or_not(const LaneValue& offset, llvm::Value* mask,
                                               llvm::Value* fill) {
  llvm::BasicBlock* near = frame_.new_block("side_by_side");
  llvm::BasicBlock* far = frame_.new_block("apart");
  llvm::BasicBlock* after = frame_.new_block("loaded");
  b.CreateCondBr(b.CreateICmpEQ(offset.step, frame_.int64(1)), near, far);
  b.SetInsertPoint(near);
  llvm::Value* line = contiguous(offset.base, mask, fill);
  near = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(far);
  llvm::Value* elements = gather(offset, mask, fill);
  far = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode* phi = b.CreatePHI(line->getType(), 2);
  phi->addIncoming(line, near);
  phi->addIncoming(elements, far);
  return phi;
}

llvm::Value* MemoryAccess::load_whole(llvm::Value* offset) {
  return note(b.CreateAlignedLoad(vector_, address(offset), align_));
}

void MemoryAccess::store_whole(llvm::Value* offset, llvm::Value* elements) {
  llvm::StoreInst* store = note(b.CreateAlignedStore(elements, address(offset), align_));
  if (is_huge()) bypass_caches(store);
}

void MemoryAccess::fetch_next_line(llvm::Value* offset) {
  const int64_t line = frame_.target.processor.line_bytes / static_cast<int64_t>(dtype_.size());
  llvm::Value* at = b.CreateGEP(element_, address(offset, false), frame_.int64(line));
  constexpr int32_t kRead = 0, kSecondCache = 2, kData = 1;
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                    {at, b.getInt32(kRead), b.getInt32(kSecondCache), b.getInt32(kData)});
}

bool MemoryAccess::may_exceed(int64_t bytes) const {
  const Dim size = product(frame_.buffers[static_cast<size_t>(buffer_)].dims);
  return !size.is_int() || size.as_int() > bytes / static_cast<int64_t>(dtype_.size());
}

/// In register form.
llvm::Value* MemoryAccess::contiguous(llvm::Value* base, llvm::Value* mask, llvm::Value* fill) {
  // Behind a scratch buffer there is room: what other lanes get there does not matter.
  const bool has_room = buffer_is_scratch() && emitter_.mask_is_prefix() && fill == nullptr;
  if (mask == nullptr || has_room) return emitter_.from_memory(load_whole(base), dtype_);
  llvm::Value* from = address(base, false);
  if (ScalarEmitter::has_masked_access(frame_.target, dtype_.size())) {
    return masked(from, mask, fill);
  }
  return gather(LaneValue::linear(base, frame_.int64(1)), mask, fill);
}

llvm::Value* MemoryAccess::masked(llvm::Value* from, llvm::Value* mask, llvm::Value* fill) {
  bool same_form = register_type(frame_.context, dtype_) == element_;
  llvm::Value* otherwise = llvm::Constant::getNullValue(vector_);
  if (fill != nullptr && same_form) otherwise = b.CreateVectorSplat(lanes_, fill);
  llvm::Value* value = emitter_.from_memory(
      note(b.CreateMaskedLoad(vector_, from, align_, mask, otherwise)), dtype_);
  if (fill != nullptr && !same_form) {
    value = b.CreateSelect(mask, value, b.CreateVectorSplat(lanes_, fill));
  }
  return value;
}

/// Every step-th element, from as many vectors as it takes. Without a mask the last one ends with
/// the last element wanted, so that nothing behind it is read.
llvm::Value* MemoryAccess::strided(llvm::Value* base, unsigned step, llvm::Value* mask) {
  unsigned last = step * (lanes_ - 1);
  llvm::Value* joined = llvm::PoisonValue::get(vector_);
  for (unsigned part = 0; part < step; ++part) {
    bool cut = mask == nullptr && part + 1 == step;
    unsigned begin = cut ? last + 1 - lanes_ : part * lanes_;
    llvm::Value* from = address(b.CreateAdd(base, b.getInt64(begin)), mask == nullptr);
    llvm::Value* piece = nullptr;
    if (mask == nullptr) {
      piece = note(b.CreateAlignedLoad(vector_, from, align_));
    } else {
      // Only what some active lane wants.
      std::vector<int> wanted;
      for (unsigned k = 0; k < lanes_; ++k) {
        unsigned at = begin + k;
        wanted.push_back(static_cast<int>(at % step == 0 ? at / step : lanes_));
      }
      llvm::Value* here =
          b.CreateShuffleVector(mask, llvm::Constant::getNullValue(mask->getType()), wanted);
      piece = note(
          b.CreateMaskedLoad(vector_, from, align_, here, llvm::Constant::getNullValue(vector_)));
    }
    std::vector<int> places;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      unsigned at = lane * step;
      bool here = at >= part * lanes_ && (part + 1 == step || at < (part + 1) * lanes_);
      places.push_back(static_cast<int>(here ? lanes_ + at - begin : lane));
    }
    joined = b.CreateShuffleVector(joined, piece, places);
  }
  return emitter_.from_memory(joined, dtype_);
}

/// Where each lane's element is in its block of `step` elements, if that is known and all blocks
/// lie inside of the buffer.
std::optional<unsigned> MemoryAccess::place_in_block(llvm::Value* base, int64_t step) const {
  if (step < 4 || step > int64_t{lanes_} || !std::has_single_bit(static_cast<uint64_t>(step)))
    return std::nullopt;
  const Dim size = product(frame_.buffers[static_cast<size_t>(buffer_)].dims);
  if (!size.is_int() || size.as_int() % step != 0) return std::nullopt;
  const llvm::KnownBits bits = llvm::computeKnownBits(base, frame_.module.getDataLayout());
  const auto low = static_cast<uint64_t>(step - 1);
  if (((bits.Zero | bits.One).getLoBits(64).getZExtValue() & low) != low) return std::nullopt;
  return static_cast<unsigned>(bits.One.getZExtValue() & low);
}

/// One element of each block, from all that the blocks hold: the halves of even and odd places, the
/// halves of these, and so on. Loads of other places of the same blocks share that.
llvm::Value* MemoryAccess::taken_apart(llvm::Value* base, unsigned step, unsigned place) {
  // The blocks' beginning, without adding the place first: loads that share it are seen to be one.
  llvm::Value* begin = nullptr;
  auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(base);
  if (sum != nullptr && sum->getOpcode() == llvm::Instruction::Add) {
    if (auto* rest = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1))) {
      const int64_t left = rest->getSExtValue() - int64_t{place};
      begin = left == 0 ? sum->getOperand(0) : b.CreateAdd(sum->getOperand(0), b.getInt64(left));
    }
  }
  if (begin == nullptr) begin = place == 0 ? base : b.CreateSub(base, b.getInt64(place));
  std::vector<llvm::Value*> parts;
  for (unsigned part = 0; part < step; ++part) {
    llvm::Value* from = part == 0 ? begin : b.CreateAdd(begin, b.getInt64(part * lanes_));
    parts.push_back(note(b.CreateAlignedLoad(vector_, address(from), align_)));
  }
  for (unsigned rest = place; parts.size() > 1; rest /= 2) {
    std::vector<int> places;
    for (unsigned lane = 0; lane < lanes_; ++lane)
      places.push_back(static_cast<int>(2 * lane + rest % 2));
    std::vector<llvm::Value*> halves;
    for (size_t k = 0; k < parts.size(); k += 2)
      halves.push_back(b.CreateShuffleVector(parts[k], parts[k + 1], places));
    parts = std::move(halves);
  }
  return emitter_.from_memory(parts[0], dtype_);
}

llvm::Value* MemoryAccess::offset_of_lane(const LaneValue& offset, unsigned lane) {
  if (offset.is_uniform()) return offset.base;
  if (offset.is_vector()) return b.CreateExtractElement(offset.base, uint64_t{lane});
  if (lane == 0) return offset.base;
  return b.CreateAdd(offset.base, b.CreateMul(offset.step, b.getInt64(lane)));
}

llvm::Value* MemoryAccess::one_by_one(const LaneValue& offset, llvm::Value* mask) {
  llvm::Value* result = llvm::PoisonValue::get(vector_);
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    llvm::Value* from = address(offset_of_lane(offset, lane), mask == nullptr);
    if (mask != nullptr) {
      from = b.CreateSelect(b.CreateExtractElement(mask, uint64_t{lane}), from,
                            frame_.dummy_address());
    }
    llvm::LoadInst* load = b.CreateAlignedLoad(element_, from, align_);
    if (mask == nullptr) note(load);
    result = b.CreateInsertElement(result, load, uint64_t{lane});
  }
  return result;
}

llvm::Value* MemoryAccess::one_for_each(const LaneValue& offset, llvm::Value* mask) {
  // Where addresses are scalars anyway, gathering is slower than loading one by one.
  bool known_places = mask == nullptr && !offset.is_vector();
  if (frame_.target.isa != Target::Isa::kAvx512 || dtype_.size() < 4 || known_places) {
    return one_by_one(offset, mask);
  }
  llvm::Value* from = address(emitter_.widen(offset), mask == nullptr);
  if (from->getType()->isPointerTy()) from = b.CreateVectorSplat(lanes_, from);
  return note(
      b.CreateMaskedGather(vector_, from, align_, mask, llvm::Constant::getNullValue(vector_)));
}

llvm::Value* MemoryAccess::gather(const LaneValue& offset, llvm::Value* mask, llvm::Value* fill) {
  llvm::Value* value = spread(offset, mask);
  if (value == nullptr) {
    value = may_be_near(offset) ? near_or_far(offset, mask) : one_for_each(offset, mask);
  }
  value = emitter_.from_memory(value, dtype_);
  if (fill != nullptr) value = b.CreateSelect(mask, value, b.CreateVectorSplat(lanes_, fill));
  return value;
}

/// Elements at distances that are known: side by side, and each for some neighbouring lanes. Null
/// if they are not.
llvm::Value* MemoryAccess::spread(const LaneValue& offset, llvm::Value* mask) {
  if (offset.spread == nullptr) return nullptr;
  // An element is wanted if its first lane is, which is so where the first lanes are active.
  const bool first_lanes = mask == emitter_.mask() && emitter_.mask_is_prefix() &&
                           ScalarEmitter::has_masked_access(frame_.target, dtype_.size());
  if (mask != nullptr && !first_lanes) return nullptr;
  std::vector<int> places, firsts;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    const auto place = static_cast<int>(
        llvm::cast<llvm::ConstantInt>(offset.spread->getAggregateElement(lane))->getSExtValue());
    places.push_back(place);
    if (place == static_cast<int>(firsts.size())) firsts.push_back(static_cast<int>(lane));
    if (place + 1 != static_cast<int>(firsts.size())) return nullptr;
  }
  llvm::Type* piece = widen_type(element_, static_cast<unsigned>(firsts.size()));
  if (!piece->isVectorTy()) return nullptr;
  llvm::Value* from = address(offset.origin, mask == nullptr);
  llvm::Value* elements = nullptr;
  if (mask == nullptr) {
    elements = note(b.CreateAlignedLoad(piece, from, align_));
  } else {
    elements = note(b.CreateMaskedLoad(piece, from, align_, b.CreateShuffleVector(mask, firsts),
                                       llvm::Constant::getNullValue(piece)));
  }
  return b.CreateShuffleVector(elements, places);
}

/// True if a vector of places is worth a look at how far apart they are: neighbouring results of
/// resizes and of slices by indices come from neighbouring elements.
bool MemoryAccess::may_be_near(const LaneValue& offset) const {
  const bool wide = frame_.target.isa == Target::Isa::kAvx512 && (lanes_ == 8 || lanes_ == 16);
  const bool narrow = frame_.target.isa == Target::Isa::kAvx2 && lanes_ == 8;
  return offset.is_vector() && dtype_.size() == 4 && (wide || narrow) &&
         frame_.buffers[static_cast<size_t>(buffer_)].role == lower::Buffer::Role::kInput;
}

/// Elements that lie within a vector or two from the first lane's on are picked out of those, which
/// is several times as fast as fetching each by itself.
llvm::Value* MemoryAccess::near_or_far(const LaneValue& offset, llvm::Value* mask) {
  const unsigned window = frame_.target.isa == Target::Isa::kAvx512 ? 2 * lanes_ : lanes_;
  llvm::Value* first = b.CreateExtractElement(offset.base, uint64_t{0});
  llvm::Value* places = b.CreateSub(offset.base, b.CreateVectorSplat(lanes_, first));
  llvm::Value* inside =
      b.CreateICmpULT(places, b.CreateVectorSplat(lanes_, frame_.int64(int64_t{window})));
  if (mask != nullptr) inside = b.CreateOr(inside, b.CreateNot(mask));
  // Lanes that are not active may be anywhere, the first one too.
  llvm::Value* last =
      b.CreateSub(frame_.dim(product(frame_.buffers[static_cast<size_t>(buffer_)].dims)),
                  frame_.int64(int64_t{window}));
  llvm::Value* room =
      b.CreateAnd(b.CreateICmpSGE(first, frame_.int64(0)), b.CreateICmpSLE(first, last));
  llvm::BasicBlock* near = frame_.new_block("near");
  llvm::BasicBlock* far = frame_.new_block("far");
  llvm::BasicBlock* after = frame_.new_block("gathered");
  llvm::Type* bits = b.getIntNTy(lanes_);
  llvm::Value* all =
      b.CreateICmpEQ(b.CreateBitCast(inside, bits), llvm::Constant::getAllOnesValue(bits));
  b.CreateCondBr(b.CreateAnd(room, all), near, far);
  b.SetInsertPoint(near);
  llvm::Value* picked =
      pick(first, b.CreateTrunc(places, llvm::FixedVectorType::get(b.getInt32Ty(), lanes_)));
  b.CreateBr(after);
  b.SetInsertPoint(far);
  llvm::Value* fetched = one_for_each(offset, mask);
  far = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode* phi = b.CreatePHI(vector_, 2);
  phi->addIncoming(picked, near);
  phi->addIncoming(fetched, far);
  return phi;
}

llvm::Value* MemoryAccess::pick(llvm::Value* first, llvm::Value* places) {
  llvm::Type* numbers = places->getType();
  auto part = [&](unsigned begin) {
    return b.CreateBitCast(load_whole(b.CreateAdd(first, b.getInt64(begin))), numbers);
  };
  llvm::Value* result = nullptr;
  if (frame_.target.isa == Target::Isa::kAvx512) {
    const auto id = lanes_ == 16 ? llvm::Intrinsic::x86_avx512_vpermi2var_d_512
                                 : llvm::Intrinsic::x86_avx512_vpermi2var_d_256;
    llvm::Value* low = part(0);
    result = b.CreateIntrinsic(id, {}, {low, places, part(lanes_)});
  } else {
    result = b.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {}, {part(0), places});
  }
  return b.CreateBitCast(result, vector_);
}

bool MemoryAccess::buffer_is_scratch() const {
  return frame_.buffers[static_cast<size_t>(buffer_)].role == lower::Buffer::Role::kScratch;
}

/// True if the buffer is known to be larger than caches.
bool MemoryAccess::is_huge() const {
  const lower::Buffer& buffer = frame_.buffers[static_cast<size_t>(buffer_)];
  if (buffer.role != lower::Buffer::Role::kOutput) return false;
  int64_t bytes = static_cast<int64_t>(dtype_.size());
  for (Dim dim : buffer.dims) {
    if (!dim.is_int() || dim.as_int() == 0) return false;
    if (bytes >= kHugeBytes) break;
    bytes *= dim.as_int();
  }
  return bytes >= kHugeBytes;
}

/// A whole aligned register goes straight to memory: lines are not read before they are written.
void MemoryAccess::bypass_caches(llvm::StoreInst* store) {
  const llvm::DataLayout& layout = frame_.module.getDataLayout();
  auto bytes = static_cast<uint64_t>(frame_.target.vector_bytes());
  if (layout.getTypeStoreSize(store->getValueOperand()->getType()) != bytes) return;
  if (llvm::getKnownAlignment(store->getPointerOperand(), layout) < bytes) return;
  store->setAlignment(llvm::Align(bytes));
  store->setMetadata(
      llvm::LLVMContext::MD_nontemporal,
      llvm::MDNode::get(frame_.context, llvm::ConstantAsMetadata::get(b.getInt32(1))));
  frame_.fence_at_end = true;
}

/// Known first lanes are stored in parts, see `store_first`.
void MemoryAccess::store_masked(llvm::Value* elements, llvm::Value* offset, llvm::Value* mask) {
  llvm::Value* to = address(offset, false);
  const std::optional<unsigned> count = known_first_lanes(mask);
  if (!count || frame_.target.isa == Target::Isa::kAvx512) {
    note(b.CreateMaskedStore(elements, to, align_, mask));
    return;
  }
  store_first(frame_, buffer_, elements, to, *count, align_);
}

bool MemoryAccess::store_interleaved(llvm::Value* offset, std::span<const LaneValue> values) {
  llvm::Value* mask = emitter_.mask();
  std::optional<unsigned> active = mask == nullptr ? lanes_ : known_first_lanes(mask);
  const bool masked = !active && ScalarEmitter::has_masked_access(frame_.target, dtype_.size());
  if ((!active && !masked) || lanes_ < 2) return false;
  std::vector<llvm::Value*> wide;
  for (const LaneValue& value : values)
    wide.push_back(emitter_.to_memory(emitter_.widen(value), dtype_));
  const auto count = static_cast<unsigned>(values.size());
  unsigned left = active.value_or(lanes_) * count;
  unsigned done = 0;
  for (llvm::Value* elements : interleave(b, std::move(wide))) {
    if (left == 0) break;
    llvm::Value* to = address(offset, false);
    if (masked) {
      std::vector<int> owners;
      for (unsigned k = 0; k < lanes_; ++k) owners.push_back(static_cast<int>((done + k) / count));
      note(b.CreateMaskedStore(elements, to, align_, b.CreateShuffleVector(mask, owners)));
      done += lanes_;
    } else if (left >= lanes_) {
      note(b.CreateAlignedStore(elements, to, align_));
    } else {
      store_first(frame_, buffer_, elements, to, left, align_);
    }
    left -= std::min(left, lanes_);
    offset = b.CreateAdd(offset, b.getInt64(lanes_));
  }
  return true;
}

void MemoryAccess::store(const LaneValue& offset, const LaneValue& value) {
  llvm::Value* mask = emitter_.mask();
  if (offset.is_uniform() && (value.is_uniform() || mask == nullptr)) {
    // Among several lanes the last one stays.
    llvm::Value* last = value.is_uniform()
                            ? value.base
                            : b.CreateExtractElement(emitter_.widen(value), uint64_t{lanes_ - 1});
    note(b.CreateAlignedStore(emitter_.to_memory(last, dtype_), address(offset.base), align_));
    return;
  }
  llvm::Value* wide = emitter_.to_memory(emitter_.widen(value), dtype_);
  std::optional<int64_t> step = offset.is_linear() ? constant_of(offset.step) : std::nullopt;
  if (step == 1) {
    if (mask == nullptr) {
      store_whole(offset.base, wide);
    } else {
      store_masked(wide, offset.base, mask);
    }
    return;
  }
  if (mask == nullptr && step == -1) {
    llvm::Value* first = b.CreateAdd(offset.base, frame_.int64(1 - int64_t{lanes_}));
    note(b.CreateAlignedStore(b.CreateVectorReverse(wide), address(first), align_));
    return;
  }
  if (mask == nullptr &&
      (frame_.target.isa != Target::Isa::kAvx512 || dtype_.size() < 4 || !offset.is_vector())) {
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      note(b.CreateAlignedStore(b.CreateExtractElement(wide, uint64_t{lane}),
                                address(offset_of_lane(offset, lane)), align_));
    }
    return;
  }
  llvm::Value* to = address(emitter_.widen(offset), mask == nullptr);
  if (to->getType()->isPointerTy()) to = b.CreateVectorSplat(lanes_, to);
  note(b.CreateMaskedScatter(wide, to, align_, mask));
}

}  // namespace relay::codegen

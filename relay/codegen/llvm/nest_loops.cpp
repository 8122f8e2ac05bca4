#include <relay/codegen/llvm/nest_emitter.h>
#include <relay/support/error.h>

namespace relay::codegen {

using lower::For;
using lower::LoopKind;
using RegionKind = ScalarEmitter::RegionKind;

namespace {

/// A loop written out more often than this is an error of whoever asked for it.
constexpr int64_t kMaxUnrolled = 4096;

}  // namespace

void NestEmitter::write_for(const For& loop) {
  const Dependences& in = survey_.in.at(&loop);
  scalars_.invalidate(in);
  switch (loop.kind) {
    case LoopKind::kSerial:
      write_serial(loop);
      break;
    case LoopKind::kParallel:
      write_parallel(loop);
      break;
    case LoopKind::kVector:
      write_vector(loop);
      break;
    case LoopKind::kUnrolled:
      write_unrolled(loop);
      break;
    case LoopKind::kTurned:
      write_turned(loop);
      break;
  }
  scalars_.invalidate(in);
}

void NestEmitter::open_preheader(bool always) {
  llvm::BasicBlock* before = frame_.new_block("preheader");
  llvm::BasicBlock* enter = frame_.new_block("enter");
  b.CreateBr(before);
  b.SetInsertPoint(before);
  b.CreateBr(enter);
  b.SetInsertPoint(enter);
  scalars_.push(RegionKind::kPreheader, {});
  scalars_.set_preheader(before, always);
}

void NestEmitter::repeat(llvm::AllocaInst* counter, llvm::Value* step,
                         const std::function<llvm::Value*(llvm::Value* next)>& more,
                         const std::function<void(llvm::Value* i)>& body) {
  llvm::BasicBlock* header = frame_.new_block("loop");
  llvm::BasicBlock* after = frame_.new_block("loop_end");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  llvm::Value* i = b.CreateLoad(b.getInt64Ty(), counter);
  body(i);
  llvm::Value* next = b.CreateNSWAdd(i, step);
  b.CreateStore(next, counter);
  b.CreateCondBr(more(next), header, after);
  b.SetInsertPoint(after);
}

void NestEmitter::write_copy(const For& loop, LaneValue axis, const std::vector<Sum>& sums,
                             size_t copy) {
  ScalarEmitter::Scope scope(scalars_, RegionKind::kPlain, survey_.in.at(&loop));
  scalars_.bind_axis(loop.axis, axis);
  for (const Sum& sum : sums) {
    for (size_t k = 0; k < sum.how->vars.size(); ++k) {
      scalars_.bind_slot(sum.how->vars[k], sum.copies[copy][k]);
    }
  }
  write(loop.body);
}

void NestEmitter::write_unrolled(const For& loop) {
  std::optional<int64_t> begin = constant_of(scalars_.emit_uniform(loop.begin));
  std::optional<int64_t> end = constant_of(scalars_.emit_uniform(loop.end));
  RELAY_CHECK(begin && end && (*end - *begin) / loop.step <= kMaxUnrolled,
              "bounds of an unrolled loop");
  for (int64_t i = *begin; i < *end; i += loop.step) {
    write_copy(loop, LaneValue::uniform(frame_.int64(i)), {}, 0);
    scalars_.invalidate(survey_.in.at(&loop));
  }
}

void NestEmitter::write_serial(const For& loop) {
  llvm::Value* begin = scalars_.emit_uniform(loop.begin);
  write_range(loop, begin, scalars_.emit_uniform(loop.end), loop.step);
}

void NestEmitter::write_parallel(const For& loop) {
  llvm::Value* begin = scalars_.emit_uniform(loop.begin);
  llvm::Value* end = scalars_.emit_uniform(loop.end);
  IndexMath math(frame_);
  llvm::Value* step = frame_.int64(loop.step);
  llvm::Value* span =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, math.subtract(end, begin), frame_.int64(0));
  if (loop.step != 1) {
    span = b.CreateSDiv(b.CreateAdd(span, frame_.int64(loop.step - 1)), step);
  }
  frame_.emit_tasks(span, [&](llvm::Value* first, llvm::Value* past) {
    write_range(loop, math.add(begin, math.multiply(first, step)),
                math.add(begin, math.multiply(past, step)), loop.step);
  });
}

void NestEmitter::write_range(const For& loop, llvm::Value* begin, llvm::Value* end,
                              int64_t stride) {
  std::optional<int64_t> first = constant_of(begin);
  std::optional<int64_t> last = constant_of(end);
  bool always = first && last && *first < *last;
  const Dependences& in = survey_.in.at(&loop);
  frame_.emit_if(b.CreateICmpSLT(begin, end), [&] {
    open_preheader(always);
    llvm::Value* step = frame_.int64(stride);
    llvm::AllocaInst* counter = frame_.alloca_register(b.getInt64Ty(), "counter");
    std::vector<Sum> sums;
    size_t copies = std::max<uint32_t>(loop.interleave, 1);
    if (copies > 1) sums = sums_of(loop);
    if (sums.empty()) copies = 1;  // nothing to gain
    auto body = [&](llvm::Value* i, size_t count) {
      ScalarEmitter::Scope scope(scalars_, RegionKind::kBody, in);
      for (size_t copy = 0; copy < count; ++copy) {
        llvm::Value* at =
            copy == 0 ? i : b.CreateAdd(i, frame_.int64(static_cast<int64_t>(copy) * stride));
        write_copy(loop, LaneValue::uniform(at), sums, copy);
        scalars_.invalidate(in);
      }
    };
    if (loop.reverse) {
      llvm::Value* span = b.CreateSub(b.CreateSub(end, frame_.int64(1)), begin);
      llvm::Value* rest = stride == 1 ? frame_.int64(0) : b.CreateSRem(span, step);
      b.CreateStore(b.CreateAdd(begin, b.CreateSub(span, rest)), counter);
      repeat(
          counter, frame_.int64(-stride),
          [&](llvm::Value* next) { return b.CreateICmpSGE(next, begin); },
          [&](llvm::Value* i) { body(i, 1); });
      scalars_.pop();
      return;
    }
    b.CreateStore(begin, counter);
    auto below_end = [&](llvm::Value* next) { return b.CreateICmpSLT(next, end); };
    if (copies > 1) {
      for (Sum& sum : sums) sum.copies.push_back(sum.outer);
      for (size_t copy = 1; copy < copies; ++copy) add_copy(sums, scalars_.lanes());
      auto span = static_cast<int64_t>(copies - 1) * stride;
      auto fits = [&](llvm::Value* i) {
        return b.CreateICmpSLT(b.CreateAdd(i, frame_.int64(span)), end);
      };
      frame_.emit_if(fits(begin), [&] {
        repeat(counter, frame_.int64(span + stride), fits,
               [&](llvm::Value* i) { body(i, copies); });
      });
      llvm::Value* rest = b.CreateLoad(b.getInt64Ty(), counter);
      frame_.emit_if(below_end(rest), [&] {
        repeat(counter, step, below_end, [&](llvm::Value* i) { body(i, 1); });
      });
      join_copies(sums, copies);
    } else {
      for (Sum& sum : sums) sum.copies.push_back(sum.outer);
      repeat(counter, step, below_end, [&](llvm::Value* i) { body(i, 1); });
    }
    scalars_.pop();
  });
}

}  // namespace relay::codegen

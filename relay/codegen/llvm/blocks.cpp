// Parts that run block by block.
#include <relay/codegen/llvm/emit.h>

namespace relay::codegen {

void emit_blocks(const lower::Blocks& blocks, KernelFrame& frame) {
  llvm::IRBuilder<>& b = frame.b;
  Dim total = 1;
  for (const lower::Blocks::Counter& counter : blocks.counters) total = total * counter.count;
  auto write = [&](llvm::Value* number) {
    std::vector<llvm::Value*> values(blocks.counters.size());
    for (size_t k = values.size(); k-- > 0;) {
      llvm::Value* count = frame.dim(max(blocks.counters[k].count, 1));
      values[k] = k == 0 ? number : b.CreateURem(number, count);
      if (k > 0) number = b.CreateUDiv(number, count);
    }
    frame.emit_block(values, [&] {
      for (const auto& part : blocks.parts) {
        if (const auto* nest = std::get_if<lower::Nest>(&part)) {
          emit_nest(*nest, frame);
        } else {
          emit_contraction(std::get<lower::Contraction>(part), frame);
        }
      }
    });
  };
  frame.emit_tasks(frame.dim(total), [&](llvm::Value* first, llvm::Value* end) {
    frame.emit_loop(first, end, frame.int64(1), write);
  });
}

}  // namespace relay::codegen

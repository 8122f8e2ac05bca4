// Accumulators of loops: copies for lanes and interleaved iterations, and how they are joined.
#include <unordered_set>

#include <relay/codegen/llvm/nest_emitter.h>

namespace relay::codegen {

std::vector<NestEmitter::Sum> NestEmitter::sums_of(const lower::For& loop) {
  std::vector<const lower::Accumulate*> found;
  std::unordered_set<uint32_t> local;
  std::vector<const lower::Block*> stack{&loop.body};
  while (!stack.empty()) {
    const lower::Block& block = *stack.back();
    stack.pop_back();
    for (const lower::Stmt& stmt : block) {
      if (const auto* inner = std::get_if<lower::For>(&stmt.node)) stack.push_back(&inner->body);
      if (const auto* branch = std::get_if<lower::If>(&stmt.node)) {
        stack.push_back(&branch->then_block);
        stack.push_back(&branch->else_block);
      }
      if (const auto* let = std::get_if<lower::Let>(&stmt.node)) local.insert(let->var);
      if (const auto* sum = std::get_if<lower::Accumulate>(&stmt.node)) found.push_back(sum);
    }
  }
  std::vector<Sum> sums;
  for (const lower::Accumulate* how : found) {
    if (!local.insert(how->vars[0]).second) continue;  // within the body, or met before
    Sum sum{how, {}, {}, {}};
    for (const te::ScalarRef& value : how->values) sum.dtypes.push_back(value->dtype);
    for (uint32_t var : how->vars) sum.outer.push_back(scalars_.slot(var));
    sums.push_back(std::move(sum));
  }
  return sums;
}

void NestEmitter::add_copy(std::vector<Sum>& sums, unsigned lanes) {
  for (Sum& sum : sums) {
    std::vector<llvm::Value*> identity = scalars_.identity(sum.how->combiner, sum.dtypes);
    std::vector<llvm::AllocaInst*> copy;
    for (llvm::Value* value : identity) {
      llvm::AllocaInst* slot =
          frame_.alloca_register(widen_type(value->getType(), lanes), "accumulator");
      b.CreateStore(lanes == 1 ? value : b.CreateVectorSplat(lanes, value), slot);
      copy.push_back(slot);
    }
    sum.copies.push_back(std::move(copy));
  }
}

namespace {

std::vector<llvm::Value*> load_all(llvm::IRBuilder<>& b,
                                   const std::vector<llvm::AllocaInst*>& slots) {
  std::vector<llvm::Value*> values;
  for (llvm::AllocaInst* slot : slots) {
    values.push_back(b.CreateLoad(slot->getAllocatedType(), slot));
  }
  return values;
}

void store_all(llvm::IRBuilder<>& b, const std::vector<llvm::Value*>& values,
               const std::vector<llvm::AllocaInst*>& slots) {
  for (size_t k = 0; k < slots.size(); ++k) b.CreateStore(values[k], slots[k]);
}

}  // namespace

void NestEmitter::join_copies(std::vector<Sum>& sums, size_t count) {
  for (Sum& sum : sums) {
    std::vector<std::vector<llvm::Value*>> parts;
    for (size_t k = 0; k < count; ++k) parts.push_back(load_all(b, sum.copies[k]));
    while (parts.size() > 1) {  // neighbours first
      std::vector<std::vector<llvm::Value*>> joined;
      for (size_t k = 0; k + 1 < parts.size(); k += 2) {
        joined.push_back(scalars_.combine(sum.how->combiner, sum.dtypes, parts[k], parts[k + 1]));
      }
      if (parts.size() % 2 != 0) joined.push_back(parts.back());
      parts = std::move(joined);
    }
    store_all(b, parts[0], sum.copies[0]);
  }
}

void NestEmitter::join_with_outer(std::vector<Sum>& sums, size_t copy) {
  for (Sum& sum : sums) {
    std::vector<llvm::Value*> total =
        scalars_.join_lanes(sum.how->combiner, sum.dtypes, load_all(b, sum.copies[copy]));
    std::vector<llvm::Value*> before = load_all(b, sum.outer);
    store_all(b, scalars_.combine(sum.how->combiner, sum.dtypes, before, total), sum.outer);
  }
}

}  // namespace relay::codegen

#include <algorithm>
#include <bit>

#include <relay/codegen/llvm/nest_emitter.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/affine.h>
#include <relay/tensor_expr/walk.h>

namespace relay::codegen {

using lower::Block;
using lower::For;
using lower::LoopKind;
using lower::Stmt;
using te::ScalarKind;

namespace {

/// Everything in a block and below, in order.
template <class F>
void for_each_stmt(const Block& block, F&& visit) {
  std::vector<const Stmt*> stack;
  auto push = [&](const Block& stmts) {
    for (auto s = stmts.rbegin(); s != stmts.rend(); ++s) stack.push_back(&*s);
  };
  push(block);
  while (!stack.empty()) {
    const Stmt& stmt = *stack.back();
    stack.pop_back();
    visit(stmt);
    if (const auto* loop = std::get_if<For>(&stmt.node)) push(loop->body);
    if (const auto* branch = std::get_if<lower::If>(&stmt.node)) {
      push(branch->else_block);
      push(branch->then_block);
    }
    if (const auto* loop = std::get_if<lower::Repeat>(&stmt.node)) push(loop->body);
  }
}

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

/// Everything that the body of a loop binds or changes, and `in` itself.
Dependences changed_in(const Block& body, Dependences in) {
  auto add_register = [&](uint32_t var) { in.push_back(var | te::kVarFlag); };
  for_each_stmt(body, [&](const Stmt& stmt) {
    if (const auto* inner = std::get_if<For>(&stmt.node)) in.push_back(inner->axis);
    if (const auto* let = std::get_if<lower::Let>(&stmt.node)) add_register(let->var);
    if (const auto* set = std::get_if<lower::Set>(&stmt.node)) add_register(set->var);
    if (const auto* grow = std::get_if<lower::Grow>(&stmt.node)) add_register(grow->room);
    if (const auto* sum = std::get_if<lower::Accumulate>(&stmt.node)) {
      for (uint32_t var : sum->vars) add_register(var);
    }
    if (const auto* store = std::get_if<lower::Store>(&stmt.node)) {
      in.push_back(static_cast<uint32_t>(store->buffer) | kMemoryFlag);
    }
  });
  std::sort(in.begin(), in.end());
  in.erase(std::unique(in.begin(), in.end()), in.end());
  return in;
}

/// Registers that are only names, since nothing that their values depend on can change: of memory,
/// only inputs; of registers, only such names. `changes`: registers that have several values.
ScalarEmitter::Aliases find_aliases(const lower::Nest& nest,
                                    std::span<const lower::Let* const> lets,
                                    const std::vector<bool>& changes) {
  ScalarEmitter::Aliases aliases;
  std::unordered_map<const te::ScalarNode*, bool> fixed;
  for (const lower::Let* let : lets) {
    if (changes[let->var]) continue;
    for (const te::ScalarNode* node : te::post_order({&let->value, 1})) {
      if (fixed.contains(node)) continue;
      bool is_fixed = std::all_of(node->args.begin(), node->args.end(),
                                  [&](const te::ScalarRef& below) { return fixed[below.get()]; });
      if (node->kind == ScalarKind::kVar) is_fixed = aliases.contains(node->id);
      if (node->kind == ScalarKind::kLoad) {
        is_fixed &= nest.buffers[static_cast<size_t>(node->tensor.index)].role ==
                    lower::Buffer::Role::kInput;
      }
      fixed[node] = is_fixed;
    }
    if (fixed[let->value.get()]) aliases.emplace(let->var, let->value);
  }
  return aliases;
}

}  // namespace

NestEmitter::Survey NestEmitter::survey(const lower::Nest& nest) {
  Survey result;
  result.changes.resize(nest.num_vars);
  std::vector<const lower::Let*> lets;
  bool repeats = false;
  auto root = [&](const te::ScalarRef& node) {
    if (node) result.roots.push_back(node);
  };
  for_each_stmt(nest.body, [&](const Stmt& stmt) {
    std::visit(Overloaded{
                   [&](const For& s) {
                     root(s.begin);
                     root(s.end);
                     result.parallel |= s.kind == LoopKind::kParallel;
                     result.in.emplace(&s, changed_in(s.body, {s.axis}));
                   },
                   [&](const lower::Let& s) {
                     root(s.value);
                     lets.push_back(&s);
                   },
                   [&](const lower::Set& s) {
                     root(s.value);
                     result.changes.at(s.var) = true;
                   },
                   [&](const lower::Accumulate& s) {
                     for (const te::ScalarRef& value : s.values) root(value);
                     root(s.where);
                     for (const te::ScalarRef& value : s.combiner.result) root(value);
                     for (const te::ScalarRef& value : s.combiner.identity) root(value);
                     for (uint32_t var : s.vars) result.changes.at(var) = true;
                   },
                   [&](const lower::Store& s) {
                     for (const te::ScalarRef& index : s.indices) root(index);
                     root(s.value);
                   },
                   [&](const lower::If& s) { root(s.condition); },
                   [&](const lower::Check& s) {
                     root(s.condition);
                     root(s.index);
                     root(s.extent);
                     result.fails = true;
                   },
                   [&](const lower::Repeat& s) {
                     result.in.emplace(&s, changed_in(s.body, {}));
                     repeats = true;
                   },
                   [](const lower::NextTurn&) {},
                   [&](const lower::Grow& s) {
                     root(s.needed);
                     result.changes.at(s.room) = true;
                   },
               },
               stmt.node);
  });
  std::vector<uint32_t> times(nest.num_vars);
  for (const lower::Let* let : lets) {
    if (++times[let->var] > 1) result.changes[let->var] = true;
  }
  result.aliases = find_aliases(nest, lets, result.changes);
  for (bool more = true; more;) {
    more = false;
    for_each_stmt(nest.body, [&](const Stmt& stmt) {
      if (const auto* loop = std::get_if<For>(&stmt.node)) more |= result.ranges.add(*loop);
      const auto* let = std::get_if<lower::Let>(&stmt.node);
      if (let != nullptr && !result.changes[let->var]) more |= result.ranges.add(*let);
    });
  }
  if (repeats) {
    for (const te::ScalarNode* node : te::post_order(result.roots))
      result.fails |= te::can_fail(*node);
  }
  return result;
}

NestEmitter::NestEmitter(const lower::Nest& nest, KernelFrame& frame)
    : nest_(nest),
      frame_(frame),
      b(frame.b),
      survey_(survey(nest)),
      scalars_(frame, survey_.roots, survey_.aliases, &survey_.ranges) {}

void NestEmitter::run() {
  if (survey_.parallel) {
    ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kPlain, {});
    for (const Stmt& stmt : nest_.body) write_shared(stmt);
    return;
  }
  write(nest_.body);
}

/// Beside a loop that workers share: what writes to tensors is done by one of them.
void NestEmitter::write_shared(const Stmt& stmt) {
  bool writes = false;
  bool shared = false;
  auto look = [&](const Stmt& inner) {
    if (const auto* store = std::get_if<lower::Store>(&inner.node)) {
      writes |= nest_.buffers[static_cast<size_t>(store->buffer)].is_argument();
    }
    if (const auto* loop = std::get_if<For>(&inner.node)) {
      shared |= loop->kind == LoopKind::kParallel;
    }
  };
  look(stmt);
  if (const auto* loop = std::get_if<For>(&stmt.node)) for_each_stmt(loop->body, look);
  if (const auto* branch = std::get_if<lower::If>(&stmt.node)) {
    for_each_stmt(branch->then_block, look);
    for_each_stmt(branch->else_block, look);
  }
  if (const auto* loop = std::get_if<lower::Repeat>(&stmt.node)) for_each_stmt(loop->body, look);
  if (shared || !writes) return write(stmt);
  frame_.emit_if(frame_.is_first(), [&] {
    ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional, {});
    write(stmt);
  });
}

void NestEmitter::write(const Block& block) {
  Dependences lets;
  for (const Stmt& stmt : block) {
    if (const auto* let = std::get_if<lower::Let>(&stmt.node)) {
      lets.push_back(let->var | te::kVarFlag);
    }
  }
  ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kPlain, std::move(lets));
  for (size_t at = 0; at < block.size();) {
    size_t done = write_interleaved(block, at);
    if (done == 0) write(block[at]);
    at += std::max<size_t>(done, 1);
  }
}

size_t NestEmitter::write_interleaved(const Block& block, size_t at) {
  const auto* first = std::get_if<lower::Store>(&block[at].node);
  if (first == nullptr || scalars_.lanes() == 1 || first->indices.size() != 1) return 0;
  const te::Affine begin = te::affine(first->indices[0]);
  size_t count = 1;
  for (; at + count < block.size(); ++count) {
    const auto* next = std::get_if<lower::Store>(&block[at + count].node);
    if (next == nullptr || next->buffer != first->buffer) break;
    te::Affine distance = te::affine(next->indices[0]) + begin * Dim(-1);
    if (!distance.is_constant() || !distance.constant.is_int(static_cast<int64_t>(count))) break;
  }
  if (count < 2) return 0;
  LaneValue offset = scalars_.offset(first->buffer, first->indices);
  std::optional<int64_t> step = offset.is_linear() ? constant_of(offset.step) : std::nullopt;
  if (!step || *step < 2 || *step > static_cast<int64_t>(count) ||
      !std::has_single_bit(static_cast<uint64_t>(*step)))
    return 0;
  count = static_cast<size_t>(*step);
  std::vector<LaneValue> values;
  for (size_t k = 0; k < count; ++k)
    values.push_back(scalars_.emit(std::get<lower::Store>(block[at + k].node).value));
  return scalars_.store_interleaved(first->buffer, offset.base, values) ? count : 0;
}

void NestEmitter::write(const Stmt& stmt) {
  const KernelFrame::OriginScope scope(frame_, lower::origin_of(stmt));
  std::visit(Overloaded{
                 [&](const For& s) { write_for(s); },
                 [&](const lower::Let& s) { write_let(s); },
                 [&](const lower::Set& s) { write_set(s); },
                 [&](const lower::Accumulate& s) { write_accumulate(s); },
                 [&](const lower::Store& s) {
                   LaneValue value = scalars_.emit(s.value);
                   scalars_.store(s.buffer, s.indices, value);
                 },
                 [&](const lower::If& s) { write_if(s); },
                 [&](const lower::Check& s) {
                   if (s.ends) return write_end(s);
                   scalars_.check(scalars_.emit(s.condition),
                                  {s.message, s.origin, s.index.get(), s.extent.get()});
                 },
                 [&](const lower::Repeat& s) { write_repeat(s); },
                 [&](const lower::NextTurn&) { write_again(); },
                 [&](const lower::Grow& s) { write_grow(s); },
             },
             stmt.node);
}

void NestEmitter::store_to(llvm::AllocaInst* slot, LaneValue value) {
  bool wide = slot->getAllocatedType()->isVectorTy();
  RELAY_CHECK(wide || !value.is_vector(), "register of one lane gets a value for each");
  b.CreateStore(wide ? scalars_.widen(value) : value.base, slot);
}

bool NestEmitter::is_partial(llvm::AllocaInst* slot) const {
  if (scalars_.mask() == nullptr || !slot->getAllocatedType()->isVectorTy()) return false;
  auto let = masks_.find(slot);
  return let == masks_.end() || let->second != scalars_.mask();
}

void NestEmitter::write_let(const lower::Let& let) {
  LaneValue value = scalars_.emit(let.value);
  if (!survey_.changes[let.var]) {
    if (!survey_.aliases.contains(let.var)) scalars_.bind_var(let.var, value);
    return;
  }
  llvm::Type* type = register_type(frame_.context, let.value->dtype);
  llvm::AllocaInst* slot = frame_.alloca_register(widen_type(type, scalars_.lanes()), "register");
  scalars_.bind_slot(let.var, slot);
  masks_[slot] = scalars_.mask();
  store_to(slot, value);
  scalars_.invalidate({let.var | te::kVarFlag});
}

void NestEmitter::write_set(const lower::Set& set) {
  LaneValue value = scalars_.emit(set.value);
  llvm::AllocaInst* slot = scalars_.slot(set.var);
  RELAY_CHECK(slot != nullptr, "a register is set before it is let");
  if (is_partial(slot)) {
    llvm::Value* before = b.CreateLoad(slot->getAllocatedType(), slot);
    value = LaneValue::vector(b.CreateSelect(scalars_.mask(), scalars_.widen(value), before));
  }
  store_to(slot, value);
  scalars_.invalidate({set.var | te::kVarFlag});
}

void NestEmitter::write_accumulate(const lower::Accumulate& accumulate) {
  Dependences changed;
  for (uint32_t var : accumulate.vars) changed.push_back(var | te::kVarFlag);
  auto join = [&] {
    std::vector<DType> dtypes;
    std::vector<LaneValue> values;
    for (const te::ScalarRef& node : accumulate.values) {
      dtypes.push_back(node->dtype);
      values.push_back(scalars_.emit(node));
    }
    std::vector<llvm::Value*> lhs, rhs;
    std::vector<llvm::AllocaInst*> slots;
    for (size_t k = 0; k < values.size(); ++k) {
      llvm::AllocaInst* slot = scalars_.slot(accumulate.vars[k]);
      RELAY_CHECK(slot != nullptr, "a register is accumulated before it is let");
      bool wide = slot->getAllocatedType()->isVectorTy();
      RELAY_CHECK(wide || !values[k].is_vector(), "lanes are accumulated in one register");
      slots.push_back(slot);
      lhs.push_back(b.CreateLoad(slot->getAllocatedType(), slot));
      rhs.push_back(wide ? scalars_.widen(values[k]) : values[k].base);
    }
    std::vector<llvm::Value*> joined = scalars_.combine(accumulate.combiner, dtypes, lhs, rhs);
    for (size_t k = 0; k < joined.size(); ++k) {
      llvm::Value* value = joined[k];
      if (is_partial(slots[k])) {
        value = b.CreateSelect(scalars_.mask(), value, lhs[k]);
      }
      b.CreateStore(value, slots[k]);
    }
  };
  if (accumulate.where.get() == nullptr) {
    join();
  } else {
    LaneValue where = scalars_.emit(accumulate.where);
    llvm::Value* wanted =
        where.is_vector() ? scalars_.and_mask(scalars_.mask(), where.base) : where.base;
    frame_.emit_if(scalars_.any(wanted), [&] {
      ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional, {});
      if (where.is_vector()) scalars_.set_lanes(scalars_.lanes(), wanted);
      join();
    });
  }
  scalars_.invalidate(changed);
}

void NestEmitter::write_if(const lower::If& branch) {
  LaneValue condition = scalars_.emit(branch.condition);
  const bool both = !branch.then_block.empty() && !branch.else_block.empty();
  if (both && !condition.is_vector() && !llvm::isa<llvm::Constant>(condition.base))
    return write_either(condition.base, branch);
  auto side = [&](const Block& block, bool negated) {
    if (block.empty()) return;
    llvm::Value* taken = negated ? b.CreateNot(condition.base) : condition.base;
    if (condition.is_vector()) taken = scalars_.and_mask(scalars_.mask(), taken);
    frame_.emit_if(scalars_.any(taken), [&] {
      ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional, {});
      if (condition.is_vector()) scalars_.set_lanes(scalars_.lanes(), taken);
      write(block);
    });
  };
  side(branch.then_block, false);
  side(branch.else_block, true);
}

// One branch for both blocks of an If on a condition that is the same for all lanes.
void NestEmitter::write_either(llvm::Value* condition, const lower::If& branch) {
  llvm::BasicBlock* yes = frame_.new_block("then");
  llvm::BasicBlock* no = frame_.new_block("else");
  llvm::BasicBlock* after = frame_.new_block("after");
  b.CreateCondBr(condition, yes, no);
  for (const auto& [begin, block] :
       {std::pair(yes, &branch.then_block), {no, &branch.else_block}}) {
    b.SetInsertPoint(begin);
    ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional, {});
    write(*block);
    b.CreateBr(after);
  }
  b.SetInsertPoint(after);
}

void NestEmitter::write_repeat(const lower::Repeat& repeat) {
  RELAY_CHECK(scalars_.lanes() == 1, "a loop of unknown length in a vector loop");
  const Dependences& in = survey_.in.at(&repeat);
  scalars_.invalidate(in);
  llvm::BasicBlock* again = frame_.new_block("repeat");
  llvm::BasicBlock* after = frame_.new_block("repeat_end");
  b.CreateBr(again);
  b.SetInsertPoint(again);
  repeats_.emplace_back(again, after);
  {
    ScalarEmitter::Scope scope(scalars_, ScalarEmitter::RegionKind::kConditional, in);
    write(repeat.body);
  }
  repeats_.pop_back();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  // A loop that was left early has not set its results, and places on the tape must be right.
  if (has_tape()) {
    llvm::BasicBlock* ended = frame_.new_block("ended");
    llvm::BasicBlock* done = frame_.new_block("done");
    b.CreateCondBr(frame_.goes_on(survey_.fails), done, ended);
    b.SetInsertPoint(ended);
    frame_.emit_return();
    b.SetInsertPoint(done);
  }
  scalars_.invalidate(in);
}

bool NestEmitter::has_tape() const {
  return std::ranges::any_of(nest_.buffers, [](const lower::Buffer& buffer) {
    return buffer.role == lower::Buffer::Role::kTape;
  });
}

void NestEmitter::write_end(const lower::Check& check) {
  llvm::Value* fails = b.CreateNot(scalars_.emit_uniform(check.condition));
  llvm::BasicBlock* ended = frame_.new_block("ended");
  llvm::BasicBlock* done = frame_.new_block("done");
  b.CreateCondBr(fails, ended, done);
  b.SetInsertPoint(ended);
  frame_.record_failure(check.message, check.origin, nullptr, nullptr);
  frame_.emit_return();
  b.SetInsertPoint(done);
}

void NestEmitter::write_grow(const lower::Grow& grow) {
  llvm::Value* needed = scalars_.emit_uniform(grow.needed);
  llvm::AllocaInst* room = scalars_.slot(grow.room);
  RELAY_CHECK(room != nullptr && scalars_.lanes() == 1, "room on a tape");
  llvm::Value* lacks = b.CreateICmpSGT(needed, b.CreateLoad(b.getInt64Ty(), room));
  frame_.emit_if(
      lacks,
      [&] {
        auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getInt64Ty()}, false);
        llvm::CallInst* more =
            b.CreateCall(type, frame_.library_function(KernelFunction::kTapeRoom), {needed});
        more->setDoesNotThrow();
        // It touches nothing that the kernel reads.
        more->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
        b.CreateStore(more, room);
        frame_.emit_if(
            b.CreateICmpSLT(more, needed),
            [&] {
              llvm::BasicBlock* after = frame_.new_block("unreached");
              frame_.record_failure(grow.message, grow.origin, nullptr, nullptr);
              frame_.emit_return();
              b.SetInsertPoint(after);
            },
            true);
      },
      true);
  scalars_.invalidate({grow.room | te::kVarFlag});
}

void NestEmitter::write_again() {
  RELAY_CHECK(!repeats_.empty(), "nothing to repeat");
  auto [again, after] = repeats_.back();
  b.CreateCondBr(frame_.goes_on(survey_.fails), again, after);
  b.SetInsertPoint(frame_.new_block("unreached"));
}

void emit_nest(const lower::Nest& nest, KernelFrame& frame) {
  frame.contracts = !nest.rounds_each;
  NestEmitter(nest, frame).run();
}

}  // namespace relay::codegen

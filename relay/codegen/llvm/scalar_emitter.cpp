#include <relay/codegen/llvm/scalar_emitter.h>

#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay::codegen {

using te::ScalarKind;
using te::ScalarNode;

namespace {

/// A kernel of more nodes than this (after unrolling and where arms repeat work) is refused.
constexpr uint64_t kMaxWritten = 300'000;
constexpr uint32_t kMaxCost = 1'000'000;

void unite(Dependences& into, const Dependences& from) {
  if (std::includes(into.begin(), into.end(), from.begin(), from.end())) return;
  Dependences merged;
  merged.reserve(into.size() + from.size());
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(merged));
  into = std::move(merged);
}

bool meets(const Dependences& a, const Dependences& b) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

bool is_nonzero_constant(const ScalarNode& node) {
  return node.kind == ScalarKind::kConst && node.value.i != 0;
}

/// True if a load may be evaluated only where it is wanted. Padded loads count as such, because
/// computing them for all lanes costs more than a branch.
bool faults(const ScalarNode& load, const lower::Buffer& buffer, const IndexRanges* ranges) {
  return load.bounds != te::Bounds::kProven || ranges == nullptr ||
         !ranges->is_inside(load, buffer);
}

/// True if a node that is no load may fault or fail.
bool fails(const ScalarNode& node) {
  switch (node.kind) {
    case ScalarKind::kFail:
      return true;
    case ScalarKind::kBinary:
      return node.dtype.is_integer() && divides(node.binary) && !is_nonzero_constant(*node.args[1]);
    default:
      return false;
  }
}

uint32_t own_cost(const ScalarNode& node) {
  switch (node.kind) {
    case ScalarKind::kConst:
    case ScalarKind::kIndex:
    case ScalarKind::kFromDim:
    case ScalarKind::kVar:
      return 0;
    case ScalarKind::kUnary: {
      ScalarCost cost = scalar_op(node.unary).cost;
      if (cost == ScalarCost::kFunction) return node.dtype.bits == 64 ? 200 : 25;
      return cost == ScalarCost::kRoot ? 8 : 1;
    }
    case ScalarKind::kBinary:
      if (node.dtype.is_integer() && divides(node.binary)) return 20;
      switch (scalar_op(node.binary).cost) {
        case ScalarCost::kFunction:
          return 100;
        case ScalarCost::kRemainder:
          return 30;
        case ScalarCost::kDivide:
          return 4;
        default:
          return 1;
      }
    default:
      return 1;
  }
}

}  // namespace

ScalarEmitter::ScalarEmitter(KernelFrame& frame, std::span<const te::ScalarRef> roots,
                             Aliases aliases, const IndexRanges* ranges)
    : frame_(frame), b(frame.b), aliases_(std::move(aliases)), roots_(roots.begin(), roots.end()) {
  regions_.emplace_back();
  for (const ScalarNode* node : te::post_order(roots_)) {
    RELAY_CHECK(node->kind != ScalarKind::kFold && node->kind != ScalarKind::kGet,
                "a fold in a loop nest");
    Facts f;
    f.unsafe = fails(*node);
    f.cost = f.own_cost = own_cost(*node);
    if (node->kind == ScalarKind::kIndex) f.depends.push_back(node->axis);
    if (node->kind == ScalarKind::kLoad) {
      const lower::Buffer& buffer = frame_.buffers[static_cast<size_t>(node->tensor.index)];
      f.unsafe = faults(*node, buffer, ranges);
      if (buffer.role != lower::Buffer::Role::kInput)
        f.depends.push_back(static_cast<uint32_t>(node->tensor.index) | kMemoryFlag);
    }
    if (node->kind == ScalarKind::kVar) {
      const ScalarNode* value = alias_of(node);
      if (value == nullptr) {
        f.depends.push_back(node->id | te::kVarFlag);
      } else {
        // An alias is an expression that came before.
        auto known = facts_.find(value);
        RELAY_CHECK(known != facts_.end(), "register used before it is let");
        f = known->second;
      }
    }
    for (const te::ScalarRef& child : value_args(node)) {
      const Facts& below = facts_.at(child.get());
      unite(f.depends, below.depends);
      f.unsafe |= below.unsafe;
      f.lazy |= below.lazy;
      f.cost = std::min(kMaxCost, f.cost + below.cost);
    }
    auto [place, fresh] = facts_.emplace(node, std::move(f));
    place->second.has_arms = has_arms(node);
    place->second.lazy |= place->second.has_arms;
  }
}

const ScalarEmitter::Facts& ScalarEmitter::facts(const ScalarNode* node) const {
  auto found = facts_.find(node);
  RELAY_CHECK(found != facts_.end(), "an expression that was not announced");
  return found->second;
}

const ScalarNode* ScalarEmitter::alias_of(const ScalarNode* var) const {
  auto found = aliases_.find(var->id);
  return found == aliases_.end() ? nullptr : found->second.get();
}

// ---- Regions ------------------------------------------------------------------------------------

void ScalarEmitter::push(RegionKind kind, Dependences binds) {
  std::sort(binds.begin(), binds.end());
  Region region;
  region.kind = kind;
  region.binds = std::move(binds);
  region.lanes = regions_.back().lanes;
  region.mask = regions_.back().mask;
  region.prefix = regions_.back().prefix;
  regions_.push_back(std::move(region));
}

void ScalarEmitter::pop() { regions_.pop_back(); }

void ScalarEmitter::set_preheader(llvm::BasicBlock* block, bool always) {
  regions_.back().preheader = block;
  regions_.back().always = always;
}

void ScalarEmitter::set_lanes(unsigned lanes, llvm::Value* mask, bool prefix) {
  regions_.back().lanes = lanes;
  regions_.back().mask = mask;
  regions_.back().prefix = prefix;
}

void ScalarEmitter::bind_axis(uint32_t axis, LaneValue value) {
  regions_.back().bound[axis] = value;
}

void ScalarEmitter::bind_var(uint32_t var, LaneValue value) {
  regions_.back().bound[var | te::kVarFlag] = value;
}

void ScalarEmitter::bind_slot(uint32_t var, llvm::AllocaInst* slot) {
  regions_.back().slots[var] = slot;
}

llvm::AllocaInst* ScalarEmitter::slot(uint32_t var) const {
  for (size_t r = regions_.size(); r-- > 0;) {
    if (auto found = regions_[r].slots.find(var); found != regions_[r].slots.end()) {
      return found->second;
    }
    if (regions_[r].bound.contains(var | te::kVarFlag)) return nullptr;
  }
  return nullptr;
}

void ScalarEmitter::invalidate(const Dependences& changed) {
  Dependences sorted = changed;
  std::sort(sorted.begin(), sorted.end());
  auto stale = [&](const auto& entry) { return meets(facts(entry.first).depends, sorted); };
  for (Region& region : regions_) {
    std::erase_if(region.values, stale);
    std::erase_if(region.divisors, stale);
  }
}

/// The regions that a value may move out to: along straight-line code, or from a loop's body to the
/// code in front of it. Nothing leaves a conditional region, and a value that may fail leaves a
/// loop only if the code in front of it is sure to want it.
size_t ScalarEmitter::home_of(const Dependences& depends, bool unsafe, size_t region) const {
  size_t home = region;
  bool in_place = true;
  for (size_t r = region; r > 0; --r) {
    const Region& from = regions_[r];
    if (from.kind == RegionKind::kConditional || meets(depends, from.binds)) break;
    if (from.kind == RegionKind::kPreheader) {
      if (unsafe && !from.always) break;
      in_place = false;
    }
    if (from.kind == RegionKind::kBody) {
      in_place = false;
      if (regions_[r - 1].preheader == nullptr) break;
      home = r - 1;
    } else if (in_place) {
      home = r - 1;
    }
  }
  return home;
}

LaneValue ScalarEmitter::write_at(size_t home, const std::function<LaneValue()>& write) {
  if (home + 1 == regions_.size()) return write();
  auto first = regions_.begin() + static_cast<std::ptrdiff_t>(home) + 1;
  bool in_place = std::all_of(first, regions_.end(),
                              [](const Region& r) { return r.kind == RegionKind::kPlain; });
  std::vector<Region> hidden(std::make_move_iterator(first),
                             std::make_move_iterator(regions_.end()));
  regions_.resize(home + 1);
  LaneValue value;
  if (in_place) {
    value = write();
  } else {
    llvm::IRBuilderBase::InsertPointGuard guard(b);
    llvm::BasicBlock* block = regions_[home].preheader;
    llvm::Instruction* jump = block->getTerminator();
    llvm::BasicBlock* loop = jump->getSuccessor(0);
    jump->eraseFromParent();
    b.SetInsertPoint(block);
    value = write();
    regions_[home].preheader = b.GetInsertBlock();
    b.CreateBr(loop);
  }
  regions_.insert(regions_.end(), std::make_move_iterator(hidden.begin()),
                  std::make_move_iterator(hidden.end()));
  return value;
}

// ---- Nodes --------------------------------------------------------------------------------------

bool ScalarEmitter::is_leaf(const ScalarNode* node) const {
  switch (node->kind) {
    case ScalarKind::kConst:
    case ScalarKind::kIndex:
    case ScalarKind::kFromDim:
      return true;
    case ScalarKind::kVar:
      return alias_of(node) == nullptr;
    default:
      return false;
  }
}

LaneValue ScalarEmitter::leaf(const ScalarNode* node) {
  if (node->kind == ScalarKind::kConst) return LaneValue::uniform(constant(*node));
  if (node->kind == ScalarKind::kFromDim) return LaneValue::uniform(frame_.dim(node->dim));
  bool is_var = node->kind == ScalarKind::kVar;
  uint32_t key = is_var ? node->id | te::kVarFlag : node->axis;
  for (size_t r = regions_.size(); r-- > 0;) {
    Region& region = regions_[r];
    if (auto found = region.bound.find(key); found != region.bound.end()) return found->second;
    if (!is_var) continue;
    if (auto found = region.slots.find(node->id); found != region.slots.end()) {
      llvm::Type* type = found->second->getAllocatedType();
      llvm::Value* value = b.CreateLoad(type, found->second);
      return type->isVectorTy() ? LaneValue::vector(value) : LaneValue::uniform(value);
    }
  }
  RELAY_UNREACHABLE(is_var ? "register without a value" : "index of no loop");
}

LaneValue ScalarEmitter::find(const ScalarNode* node, size_t region) const {
  for (size_t r = region + 1; r-- > 0;) {
    auto found = regions_[r].values.find(node);
    if (found != regions_[r].values.end()) return found->second;
  }
  return {};
}

LaneValue ScalarEmitter::value_of(const ScalarNode* node) {
  if (is_leaf(node)) return leaf(node);
  LaneValue value = find(node, regions_.size() - 1);
  RELAY_CHECK(static_cast<bool>(value), "operand without a value");
  return value;
}

LaneValue ScalarEmitter::emit(const ScalarNode* root) {
  struct Visit {
    const ScalarNode* node;
    size_t home;
    std::vector<const ScalarNode*> operands;
    size_t next = 0;
  };
  std::vector<Visit> stack;
  NodeSet certain;
  if (facts(root).lazy) certain = certain_below(root);
  auto demand = [&](const ScalarNode* node, size_t region) {
    if (is_leaf(node) || find(node, region)) return;
    const Facts& f = facts(node);
    size_t home = home_of(f.depends, f.unsafe, region);
    stack.push_back({node, home, operands(node, home, certain)});
  };
  demand(root, regions_.size() - 1);
  while (!stack.empty()) {
    Visit& top = stack.back();
    if (top.next < top.operands.size()) {
      size_t home = top.home;
      demand(top.operands[top.next++], home);
      continue;
    }
    if (++written_ > kMaxWritten) throw Error("a fused group of operators is too large to compile");
    const ScalarNode* node = top.node;
    size_t home = top.home;
    stack.pop_back();
    LaneValue value = write_at(home, [&] { return write(node); });
    regions_[home].values[node] = value;
  }
  return value_of(root);
}

LaneValue ScalarEmitter::write(const ScalarNode* node) {
  const KernelFrame::OriginScope scope(frame_, node->origin);
  switch (node->kind) {
    case ScalarKind::kVar:
      return value_of(alias_of(node));
    case ScalarKind::kUnary:
      return write_unary(node);
    case ScalarKind::kBinary:
      return write_binary(node);
    case ScalarKind::kCast:
      return write_cast(node);
    case ScalarKind::kBitcast:
      return write_bitcast(node);
    case ScalarKind::kLoad:
      return write_load(node);
    case ScalarKind::kSelect:
      return write_select(node);
    case ScalarKind::kFail:
      return write_fail(node);
    default:
      RELAY_UNREACHABLE("kind of a scalar expression");
  }
}

llvm::Value* ScalarEmitter::emit_uniform(const te::ScalarRef& node) {
  LaneValue value = emit(node);
  RELAY_CHECK(value.is_uniform(), "a value that must be the same for all lanes varies");
  return value.base;
}

llvm::Value* ScalarEmitter::emit_wide(const te::ScalarRef& node) { return widen(emit(node)); }

llvm::Value* ScalarEmitter::widen(LaneValue value) {
  unsigned n = lanes();
  if (value.is_vector() || n == 1) return value.base;
  llvm::Value* base = b.CreateVectorSplat(n, value.base);
  if (value.is_uniform()) return base;
  std::vector<llvm::Constant*> places;
  for (unsigned k = 0; k < n; ++k) places.push_back(b.getInt64(k));
  llvm::Value* step = b.CreateVectorSplat(n, value.step);
  return b.CreateAdd(base, b.CreateMul(step, llvm::ConstantVector::get(places)));
}

llvm::Constant* ScalarEmitter::constant(const ScalarNode& node) {
  llvm::Type* type = register_type(frame_.context, node.dtype);
  if (node.dtype.is_float()) return llvm::ConstantFP::get(type, node.value.f);
  if (node.dtype.is_bool()) return b.getInt1(node.value.i != 0);
  uint64_t bits = node.value.u;
  if (node.dtype.bits < 64) bits &= (uint64_t{1} << node.dtype.bits) - 1;
  return llvm::ConstantInt::get(type, bits);
}

}  // namespace relay::codegen

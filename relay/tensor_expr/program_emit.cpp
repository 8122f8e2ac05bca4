// Emission: the instructions of each block, operands before users.
#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/program_compiler.h>

namespace relay::te {

Reg ProgramCompiler::new_reg(DType dtype, uint32_t context, bool wide) {
  Register reg;
  reg.dtype = dtype;
  reg.context = context;
  reg.wide = wide;
  p_.registers_.push_back(reg);
  return static_cast<Reg>(p_.registers_.size() - 1);
}

Reg ProgramCompiler::operand(const ScalarNode* node, uint32_t scope, bool wide) {
  uint32_t context = scopes_[scope].context;
  uint32_t number = numbers_.at(node);
  const Place& place = places_[number];
  Reg reg = place.reg;
  if (!wide || p_.registers_[reg].wide) return reg;
  bool same = scopes_[place.scope].context == context;
  // A value that is computed on demand is there only where it was asked for.
  bool local = !same && place.home != kNone;
  // Keyed by node, not by register: a fail node and its value share one, but not the place.
  uint64_t key = (uint64_t{local ? scope | 0x80000000u : context} << 32) | number;
  auto [entry, added] = splats_.try_emplace(key, 0);
  if (!added) return entry->second;
  Instr instr;
  instr.code = Instr::Code::kSplat;
  instr.wide = true;
  instr.a = reg;
  instr.out = new_reg(p_.registers_[reg].dtype, context, true);
  entry->second = instr.out;
  Block& block = same    ? block_of(place.scope)
                 : local ? block_of(scope)
                         : p_.blocks_[prologues_.at(context)];
  block.code.push_back(instr);
  return instr.out;
}

// An operation on numbers: its function and its operands.
void ProgramCompiler::set_number_op(Instr& instr, const ScalarNode& node, uint32_t scope) {
  const DType from = node.args[0]->dtype;
  instr.code = Instr::Code::kUnary;
  instr.a = operand(node.args[0].get(), scope, instr.wide);
  switch (node.kind) {
    case ScalarKind::kUnary:
      instr.unary = rows::unary_fn(node.unary, from);
      instr.round = rows::round_fn(node.dtype);
      return;
    case ScalarKind::kCast:
      instr.unary = rows::cast_fn(from, node.dtype);
      return;
    case ScalarKind::kBitcast:
      instr.unary = rows::bitcast_fn(from, node.dtype);
      return;
    default:
      break;
  }
  instr.b = operand(node.args[1].get(), scope, instr.wide);
  if (divides(node.binary) && from.is_integer()) {
    instr.code = Instr::Code::kDivide;
    instr.divide = rows::divide_fn(node.binary, from);
  } else {
    instr.code = Instr::Code::kBinary;
    instr.binary = rows::binary_fn(node.binary, from);
    instr.round = rows::round_fn(node.dtype);
  }
}

void ProgramCompiler::set_select(Instr& instr, const ScalarNode& node, const Place& place,
                                 uint32_t context) {
  instr.code = Instr::Code::kSelect;
  instr.extra = place.plan;
  instr.c = operand(node.args[0].get(), place.scope, false);
  instr.a = operand(node.args[1].get(), arm_scopes_[place.plan].first, instr.wide);
  instr.b = operand(node.args[2].get(), arm_scopes_[place.plan].second, instr.wide);
  if (!p_.registers_[instr.c].wide) return;
  SelectInfo& info = p_.selects_[place.plan];
  info.then_mask.resize(static_cast<size_t>(p_.contexts_[context].capacity));
  info.else_mask.resize(info.then_mask.size());
}

void ProgramCompiler::emit(size_t i) {
  Place& place = places_[i];
  const ScalarNode& node = *nodes_[i];
  uint32_t context = scopes_[place.scope].context;
  bool wide = is_wide(i, context);
  Instr instr;
  instr.wide = wide;
  switch (node.kind) {
    case ScalarKind::kConst:
      place.reg = new_reg(node.dtype, context, false);
      constants_.emplace_back(place.reg, node.value);
      return;
    case ScalarKind::kFromDim: {
      place.reg = new_reg(node.dtype, context, false);
      Immediate value{};
      value.i = env_.dim(node.dim);
      constants_.emplace_back(place.reg, value);
      return;
    }
    case ScalarKind::kVar:
      place.reg = p_.var_reg(node.id);
      return;
    case ScalarKind::kIndex: {
      if (!wide) {
        place.reg = index_reg(node.axis);
        return;
      }
      instr.code = Instr::Code::kIndexRow;
      const std::vector<LoopAxis>& axes = p_.contexts_[context].axes;
      while (axes[instr.extra].id != node.axis) ++instr.extra;
      break;
    }
    case ScalarKind::kUnary:
    case ScalarKind::kCast:
    case ScalarKind::kBitcast:
    case ScalarKind::kBinary:
      set_number_op(instr, node, place.scope);
      break;
    case ScalarKind::kLoad:
      instr.code = Instr::Code::kLoad;
      instr.extra = emit_load(node, plans_[place.plan], place.scope);
      break;
    case ScalarKind::kSelect:
      set_select(instr, node, place, context);
      break;
    case ScalarKind::kFail:
      instr.code = Instr::Code::kFail;
      instr.extra = place.plan;
      instr.c = operand(node.args[0].get(), place.scope, false);
      place.reg = places_[numbers_.at(node.args[1].get())].reg;
      instr.out = place.reg;
      finish(i, instr, context);
      return;
    case ScalarKind::kGet:
      place.reg = p_.folds_[places_[numbers_.at(node.args[0].get())].plan].accumulators[node.id];
      if (place.home != kNone) emit_thunk(i, context);
      return;
    case ScalarKind::kFold:
      instr.code = Instr::Code::kFold;
      instr.extra = place.plan;
      instr.out = place.reg = emit_fold(p_.folds_[place.plan], scopes_[place.scope].context, wide);
      finish(i, instr, context);
      return;
  }
  instr.out = place.reg = new_reg(node.dtype, context, wide);
  finish(i, instr, context);
}

void ProgramCompiler::finish(size_t i, const Instr& instr, uint32_t context) {
  block_of(places_[i].scope).code.push_back(instr);
  if (places_[i].home != kNone) emit_thunk(i, context);
}

void ProgramCompiler::emit_thunk(size_t i, uint32_t context) {
  const Place& place = places_[i];
  ThunkInfo thunk;
  thunk.block = scopes_[place.scope].block;
  thunk.wide = is_wide(i, context);
  if (thunk.wide) thunk.valid.resize(static_cast<size_t>(p_.contexts_[context].capacity));
  Instr instr;
  instr.wide = thunk.wide;
  instr.extra = static_cast<uint32_t>(p_.thunks_.size());
  p_.thunks_.push_back(std::move(thunk));
  instr.code = Instr::Code::kReset;
  block_of(place.home).code.push_back(instr);
  instr.code = Instr::Code::kForce;
  for (uint32_t scope : place.uses) block_of(scope).code.push_back(instr);
}

Reg ProgramCompiler::index_reg(uint32_t axis) const {
  for (const auto& [id, reg] : p_.index_regs_) {
    if (id == axis) return reg;
  }
  RELAY_UNREACHABLE("an axis without register");
}

uint32_t ProgramCompiler::emit_load(const ScalarNode& node, const LoadPlan& plan, uint32_t scope) {
  uint32_t context = scopes_[scope].context;
  LoadInfo load;
  load.array = env_.tensor(node.tensor);
  load.dtype = node.dtype;
  load.bounds = node.bounds;
  load.context = context;
  if (node.fill) rows::write_constant(node.dtype, load.fill, node.fill->value);
  size_t lanes = p_.contexts_[context].axes.size();
  load.coefficients.resize(lanes);
  for (size_t d = 0; d < plan.axes.size(); ++d) {
    LoadInfo::Axis axis;
    axis.extent = load.array.extent(d);
    axis.stride = load.array.stride(d);
    axis.constant = plan.axes[d].constant;
    axis.lanes = plan.axes[d].lanes;
    for (const IndexTerm& term : plan.axes[d].uniform) {
      axis.uniform.push_back({term.coefficient, operand(term.node, scope, false)});
    }
    for (const IndexTerm& term : plan.axes[d].wide) {
      axis.wide.push_back({term.coefficient, operand(term.node, scope, true)});
      load.affine = false;
    }
    for (size_t a = 0; a < axis.lanes.size(); ++a) {
      load.coefficients[a] = static_cast<int64_t>(static_cast<uint64_t>(load.coefficients[a]) +
                                                  static_cast<uint64_t>(axis.lanes[a]) *
                                                      static_cast<uint64_t>(axis.stride));
    }
    load.axes.push_back(std::move(axis));
  }
  const Lanes& box = p_.contexts_[context];
  bool found = false;
  for (size_t a = lanes; a-- > 0;) {
    if (box.axes[a].extent == 1) continue;
    if (!found) {
      found = true;
      load.step = load.coefficients[a];  // steps of the innermost axis are 1
    } else {
      load.stepped &= load.coefficients[a] == load.step * box.steps[a];
    }
  }
  p_.loads_.push_back(std::move(load));
  return static_cast<uint32_t>(p_.loads_.size() - 1);
}

Reg ProgramCompiler::emit_fold(FoldInfo& fold, uint32_t outer, bool wide) {
  const ScalarNode& node = *fold.node;
  const Combiner& combiner = *node.combiner;
  auto number = static_cast<size_t>(&fold - p_.folds_.data());
  size_t k = accumulators_of(node);
  for (size_t j = 0; j < k; ++j) {
    DType dtype = node.args[j]->dtype;
    fold.dtypes.push_back(dtype);
    fold.values.push_back(operand(node.args[j].get(), value_scopes_[number], true));
    fold.accumulators.push_back(new_reg(dtype, outer, wide));
  }
  if (fold.has_where) fold.where = operand(node.args[k].get(), body_scopes_[number], false);
  auto capacity = static_cast<size_t>(p_.contexts_[fold.context].capacity);
  if (combiner.kind != Combiner::Kind::kCustom) {
    rows::write_identity(combiner.kind, node.dtype, fold.identity);
    fold.combine = rows::combine_fn(combiner.kind, node.dtype);
    fold.round = rows::round_fn(node.dtype);
    fold.blocked = combiner.kind == Combiner::Kind::kSum && node.dtype.is_float();
    if (fold.blocked) fold.partial = new_reg(node.dtype, outer, wide);
  } else {
    std::vector<Root> identities, results;
    for (const ScalarRef& identity : combiner.identity) identities.push_back({identity, 0});
    fold.identities = std::make_unique<Program>(env_, std::vector<Level>(), std::move(identities));
    fold.identities->run(0);
    Level level;
    level.lanes.push_back({kNoAxis, static_cast<int64_t>(capacity)});
    level.vars = combiner.lhs;
    level.vars.insert(level.vars.end(), combiner.rhs.begin(), combiner.rhs.end());
    for (const ScalarRef& result : combiner.result) results.push_back({result, 1});
    fold.combiner = std::make_unique<Program>(env_, std::vector<Level>{level}, std::move(results));
    fold.combiner->run(0);
    for (DType dtype : fold.dtypes) {
      fold.lhs.emplace_back(capacity * rows::lane_size(dtype));
      fold.rhs.emplace_back(capacity * rows::lane_size(dtype));
      fold.row.emplace_back(capacity * rows::lane_size(dtype));
    }
  }
  if (fold.has_where) {
    fold.mask.resize(capacity);
    for (DType dtype : fold.dtypes) fold.kept.emplace_back(capacity * rows::lane_size(dtype));
    if (fold.row.empty()) fold.row = fold.kept;
  }
  return fold.accumulators[0];
}

void ProgramCompiler::allocate() {
  size_t total = 0;
  for (Register& reg : p_.registers_) {
    size_t lanes = reg.wide ? static_cast<size_t>(p_.contexts_[reg.context].capacity) : 1;
    size_t align = reg.wide ? 64 : 8;
    total = (total + align - 1) / align * align;
    reg.offset = total;
    total += lanes * std::max<size_t>(rows::lane_size(reg.dtype), 1);
  }
  p_.arena_ = std::make_unique<std::byte[]>(total + 64);
  auto address = reinterpret_cast<uintptr_t>(p_.arena_.get());
  std::byte* base = p_.arena_.get() + (64 - address % 64) % 64;
  for (Register& reg : p_.registers_) reg.data = base + reg.offset;
  for (const auto& [reg, value] : constants_) {
    rows::write_constant(p_.registers_[reg].dtype, p_.registers_[reg].data, value);
  }
}
Program::Program(const Environment& env, std::vector<Level> levels, std::vector<Root> roots) {
  ProgramCompiler(*this, env, std::move(levels), std::move(roots)).run();
}

Program::~Program() = default;

}  // namespace relay::te

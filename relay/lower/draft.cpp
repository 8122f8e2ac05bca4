#include <relay/lower/draft.h>

#include <algorithm>

#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay::lower {

using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;
using te::TensorId;

namespace {

template <class Visit>
void for_each_block_stmt(Block& block, const Visit& visit) {
  for (Stmt& stmt : block) {
    visit(stmt);
    if (auto* one = std::get_if<For>(&stmt.node)) {
      for_each_block_stmt(one->body, visit);
    } else if (auto* branch = std::get_if<If>(&stmt.node)) {
      for_each_block_stmt(branch->then_block, visit);
      for_each_block_stmt(branch->else_block, visit);
    } else if (auto* repeat = std::get_if<Repeat>(&stmt.node)) {
      for_each_block_stmt(repeat->body, visit);
    }
  }
}

}  // namespace

void for_each_scalar(Block& block, const std::function<void(ScalarRef&)>& visit) {
  for_each_block_stmt(block, [&](Stmt& stmt) {
    if (auto* one = std::get_if<For>(&stmt.node)) {
      visit(one->begin);
      visit(one->end);
    } else if (auto* let = std::get_if<Let>(&stmt.node)) {
      visit(let->value);
    } else if (auto* set = std::get_if<Set>(&stmt.node)) {
      visit(set->value);
    } else if (auto* accumulate = std::get_if<Accumulate>(&stmt.node)) {
      for (ScalarRef& value : accumulate->values) visit(value);
      if (accumulate->where.get() != nullptr) visit(accumulate->where);
    } else if (auto* store = std::get_if<Store>(&stmt.node)) {
      for (ScalarRef& index : store->indices) visit(index);
      visit(store->value);
    } else if (auto* branch = std::get_if<If>(&stmt.node)) {
      visit(branch->condition);
    } else if (auto* check = std::get_if<Check>(&stmt.node)) {
      visit(check->condition);
      if (check->index.get() != nullptr) {
        visit(check->index);
        visit(check->extent);
      }
    } else if (auto* grow = std::get_if<Grow>(&stmt.node)) {
      visit(grow->needed);
    }
  });
}

int32_t Draft::buffer(TensorId id, Buffer::Role role, bool flat) {
  const te::TensorInfo& info = computation_.info(id);
  if (info.rank() == 1) flat = false;
  for (size_t k = 0; k < buffers_.size(); ++k) {
    if (buffers_[k].role != Buffer::Role::kScratch && tensors_[k] == id && flat_[k] == flat &&
        (buffers_[k].role == role || role == Buffer::Role::kInput)) {
      return static_cast<int32_t>(k);
    }
  }
  Buffer buffer;
  buffer.role = role;
  buffer.dtype = info.dtype;
  buffer.dims = flat ? std::vector<Dim>{product(info.dims)} : info.dims;
  buffers_.push_back(std::move(buffer));
  tensors_.push_back(id);
  flat_.push_back(flat);
  return static_cast<int32_t>(buffers_.size()) - 1;
}

int32_t Draft::scratch(std::string name, DType dtype, std::vector<Dim> dims) {
  buffers_.push_back({Buffer::Role::kScratch, std::move(name), dtype, std::move(dims)});
  tensors_.push_back({});
  flat_.push_back(false);
  return static_cast<int32_t>(buffers_.size()) - 1;
}

ScalarRef Draft::load(int32_t buffer, std::vector<ScalarRef> indices) const {
  auto node = new_node(ScalarKind::kLoad, buffers_[static_cast<size_t>(buffer)].dtype);
  node->tensor = {-1, buffer};
  node->bounds = te::Bounds::kProven;
  node->args = std::move(indices);
  return node;
}

std::vector<ScalarRef> Draft::bind(std::span<const ScalarRef> roots, IndexMath& math,
                                   const std::unordered_map<uint32_t, ScalarRef>& axes,
                                   bool keep_dims) {
  ScalarRewriter rewrite(
      [&](const ScalarRef& node, const std::vector<ScalarRef>& args) -> ScalarRef {
        if (node->kind == ScalarKind::kIndex) {
          auto found = axes.find(node->axis);
          return found == axes.end() ? ScalarRef() : found->second;
        }
        if (node->kind != ScalarKind::kLoad) return {};
        if (intercept) {
          ScalarRef result = intercept(*node, args);
          if (result.get() != nullptr) return result;
        }
        const te::TensorInfo& info = computation_.info(node->tensor);
        std::vector<Dim> index;
        for (const ScalarRef& arg : args) index.push_back(math.poly(arg));
        if (node->bounds == te::Bounds::kProven && !keep_dims) {
          int32_t from = buffer(node->tensor, Buffer::Role::kInput, info.rank() != 1);
          if (info.rank() == 0) return load(from, {te::index_constant(0).ref()});
          return load(from, {math.scalar(math.recombine(IndexMath::linearise(index, info.dims)))});
        }
        Ref<ScalarNode> copy = copy_node(*node);
        copy->tensor = {-1, buffer(node->tensor, Buffer::Role::kInput, false)};
        for (size_t d = 0; d < index.size(); ++d) copy->args[d] = math.scalar(index[d]);
        return copy;
      });
  return rewrite(roots);
}

namespace {

/// Axes and registers in order of appearance; extents' symbols in order of appearance.
class Canonical {
 public:
  explicit Canonical(Nest& nest)
      : nest_(nest), rewrite_([this](const ScalarRef& node, const std::vector<ScalarRef>&) {
          return rewrite_node(node);
        }) {}

  void run() {
    used_.resize(nest_.buffers.size());
    block(nest_.body);
    nest_.num_axes = static_cast<uint32_t>(axes_.size());
    nest_.num_vars = num_vars_;
    // Buffers that nothing mentions go.
    std::vector<Buffer> kept;
    std::vector<int32_t> position(nest_.buffers.size(), -1);
    for (size_t k = 0; k < nest_.buffers.size(); ++k) {
      if (!used_[k]) continue;
      position[k] = static_cast<int32_t>(kept.size());
      kept.push_back(std::move(nest_.buffers[k]));
      kept_.push_back(k);
    }
    nest_.buffers = std::move(kept);
    for (size_t k = 0; k < nest_.buffers.size(); ++k)
      nest_.buffers[k].name = "b" + std::to_string(k);
    ScalarRewriter move = moved_loads([&](te::TensorId id) {
      return te::TensorId{id.stage, position[static_cast<size_t>(id.index)]};
    });
    for_each_scalar(nest_.body, [&](ScalarRef& scalar) { scalar = move(scalar); });
    for_each_block_stmt(nest_.body, [&](Stmt& stmt) {
      if (auto* store = std::get_if<Store>(&stmt.node)) {
        store->buffer = position[static_cast<size_t>(store->buffer)];
      }
    });
  }

  std::vector<size_t> kept_;
  std::vector<Dim> symbols_;

  void symbols_of(Dim dim) {
    if (!dim.is_term()) return;
    for_each_atom(dim, [&](Dim atom) {
      if (std::find(symbols_.begin(), symbols_.end(), atom) == symbols_.end()) {
        symbols_.push_back(atom);
      }
    });
  }

 private:
  ScalarRef rewrite_node(const ScalarRef& node) {
    switch (node->kind) {
      case ScalarKind::kIndex: {
        Ref<ScalarNode> copy = copy_node(*node);
        copy->axis = axes_.at(node->axis);
        return copy;
      }
      case ScalarKind::kVar: {
        Ref<ScalarNode> copy = copy_node(*node);
        copy->id = vars_.at(node->id);
        return copy;
      }
      case ScalarKind::kFromDim:
        symbols_of(node->dim);
        return {};
      case ScalarKind::kLoad: {
        used_[static_cast<size_t>(node->tensor.index)] = true;
        return {};
      }
      default:
        return {};
    }
  }

  void scalar(ScalarRef& value) { value = rewrite_(value); }

  void block(Block& statements) {
    for (Stmt& stmt : statements) {
      if (auto* one = std::get_if<For>(&stmt.node)) {
        scalar(one->begin);
        scalar(one->end);
        auto number = static_cast<uint32_t>(axes_.size());
        one->axis = axes_.try_emplace(one->axis, number).first->second;
        block(one->body);
      } else if (auto* let = std::get_if<Let>(&stmt.node)) {
        scalar(let->value);
        let->var = define(let->var);
      } else if (auto* set = std::get_if<Set>(&stmt.node)) {
        scalar(set->value);
        set->var = vars_.at(set->var);
      } else if (auto* accumulate = std::get_if<Accumulate>(&stmt.node)) {
        for (ScalarRef& value : accumulate->values) scalar(value);
        if (accumulate->where.get() != nullptr) scalar(accumulate->where);
        for (uint32_t& var : accumulate->vars) var = vars_.at(var);
        // Placeholders get numbers of their own in each statement.
        std::unordered_map<uint32_t, uint32_t> numbers;
        accumulate->combiner = *renumber_vars(accumulate->combiner, [&](uint32_t id) {
          auto [entry, added] = numbers.try_emplace(id, num_vars_);
          if (added) ++num_vars_;
          return entry->second;
        });
      } else if (auto* store = std::get_if<Store>(&stmt.node)) {
        for (ScalarRef& index : store->indices) scalar(index);
        scalar(store->value);
        used_[static_cast<size_t>(store->buffer)] = true;
      } else if (auto* branch = std::get_if<If>(&stmt.node)) {
        scalar(branch->condition);
        block(branch->then_block);
        block(branch->else_block);
      } else if (auto* check = std::get_if<Check>(&stmt.node)) {
        scalar(check->condition);
        if (check->index.get() != nullptr) {
          scalar(check->index);
          scalar(check->extent);
        }
      }
    }
  }

  uint32_t define(uint32_t var) {
    auto [entry, added] = vars_.try_emplace(var, num_vars_);
    if (added) ++num_vars_;
    return entry->second;
  }

  Nest& nest_;
  std::unordered_map<uint32_t, uint32_t> axes_, vars_;
  uint32_t num_vars_ = 0;
  std::vector<bool> used_;
  ScalarRewriter rewrite_;
};

}  // namespace

DraftKernel Draft::finish(std::string name, std::string implementation, Dim flops) {
  Nest nest;
  nest.buffers = std::move(buffers_);
  nest.body = std::move(body_);
  nest.stores_apart = stores_apart_;
  Canonical canonical(nest);
  canonical.run();
  DraftKernel result;
  Dim bytes = 0;
  for (size_t k = 0; k < nest.buffers.size(); ++k) {
    const Buffer& buffer = nest.buffers[k];
    for (Dim dim : buffer.dims) canonical.symbols_of(dim);
    if (buffer.role == Buffer::Role::kScratch) continue;
    TensorId id = tensors_[canonical.kept_[k]];
    // A tensor that is addressed in two ways counts once.
    if (std::find(result.tensors.begin(), result.tensors.end(), id) == result.tensors.end()) {
      bytes = bytes + product(buffer.dims) * Dim(static_cast<int64_t>(buffer.dtype.size()));
    }
    result.tensors.push_back(id);
  }
  result.kernel = std::make_shared<Kernel>();
  result.kernel->name = std::move(name);
  result.kernel->implementation = std::move(implementation);
  result.kernel->body = std::move(nest);
  result.kernel->dim_args = std::move(canonical.symbols_);
  result.kernel->flops = flops;
  result.kernel->bytes = bytes;
  return result;
}

DraftKernel Draft::finish(std::string name, Contraction contraction, Dim flops) {
  // Axes in the order of their lists, the sum as register 0.
  std::unordered_map<uint32_t, ScalarRef> axes, vars;
  uint32_t num_axes = 0;
  for (auto* list :
       {&contraction.batch, &contraction.rows, &contraction.columns, &contraction.folded}) {
    for (te::Axis& axis : *list) {
      te::Axis renamed{num_axes++, axis.extent};
      axes.emplace(axis.id, te::index_of(renamed).ref());
      axis = renamed;
    }
  }
  vars.emplace(contraction.sum, te::placeholder(0, contraction.accumulator).ref());
  DraftKernel result;
  std::vector<Dim>& symbols = (result.kernel = std::make_shared<Kernel>())->dim_args;
  auto symbols_of = [&](Dim dim) {
    if (!dim.is_term()) return;
    for_each_atom(dim, [&](Dim atom) {
      if (std::find(symbols.begin(), symbols.end(), atom) == symbols.end()) symbols.push_back(atom);
    });
  };
  auto rename = [&](ScalarRef& root) {
    root = substitute(root, axes, vars);
    std::vector<ScalarRef> roots{root};
    for (const ScalarNode* node : te::post_order(roots)) {
      if (node->kind == ScalarKind::kFromDim) symbols_of(node->dim);
    }
  };
  for (auto* list :
       {&contraction.batch, &contraction.rows, &contraction.columns, &contraction.folded}) {
    for (const te::Axis& axis : *list) symbols_of(axis.extent);
  }
  rename(contraction.lhs);
  rename(contraction.rhs);
  rename(contraction.epilogue);
  for (ScalarRef& index : contraction.out_index) rename(index);
  contraction.sum = 0;
  contraction.num_axes = num_axes;
  contraction.num_vars = 1;
  Dim bytes = 0;
  for (size_t k = 0; k < contraction.buffers.size(); ++k) {
    Buffer& buffer = contraction.buffers[k];
    buffer.name = "b" + std::to_string(k);
    for (Dim dim : buffer.dims) symbols_of(dim);
    bytes = bytes + product(buffer.dims) * Dim(static_cast<int64_t>(buffer.dtype.size()));
    result.tensors.push_back(tensors_[k]);
  }
  result.kernel->name = std::move(name);
  result.kernel->implementation = "contraction";
  result.kernel->body = std::move(contraction);
  result.kernel->flops = flops;
  result.kernel->bytes = bytes;
  return result;
}

Dim flops_of(std::span<const ScalarRef> roots) {
  // Operands of loads are index arithmetic and do not count.
  std::vector<const ScalarNode*> order = te::post_order(roots);
  std::unordered_map<const ScalarNode*, Dim> times;
  auto raise = [&](const ScalarNode* node, Dim count) {
    auto [entry, added] = times.try_emplace(node, count);
    if (!added &&
        !(entry->second.is_int() && count.is_int() && entry->second.as_int() >= count.as_int())) {
      entry->second = count;
    }
  };
  for (const ScalarRef& root : roots) raise(root.get(), Dim(1));
  Dim total = 0;
  for (size_t i = order.size(); i-- > 0;) {
    const ScalarNode* node = order[i];
    auto found = times.find(node);
    if (found == times.end()) continue;
    Dim count = found->second;
    if (node->kind == ScalarKind::kUnary || node->kind == ScalarKind::kBinary) {
      total = total + count;
    }
    if (node->kind == ScalarKind::kLoad) continue;
    if (node->kind == ScalarKind::kFold) {
      for (const te::Axis& axis : node->axes) count = count * axis.extent;
      total = total + count;
    }
    for (const ScalarRef& arg : node->args) raise(arg.get(), count);
  }
  return total;
}

}  // namespace relay::lower

#include <tests/unit/nest_interpreter.h>

#include <cmath>
#include <map>
#include <unordered_map>

#include <relay/lower/scalars.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/builder.h>
#include <relay/tensor_expr/evaluate.h>

namespace relay::testing {
namespace {

using te::BinaryOp;
using te::Bounds;
using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

struct Number {
  int64_t i = 0;  // integers (the bits of unsigned ones) and bool
  double f = 0;
};

Number read_element(const NDArray& array, int64_t at) {
  Number result;
  dispatch(array.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T element = array.data<T>()[at];
    if constexpr (std::is_integral_v<T>) {
      result.i = static_cast<int64_t>(element);
    } else if constexpr (std::is_same_v<T, Bool>) {
      result.i = element ? 1 : 0;
    } else {
      result.f = static_cast<double>(static_cast<ComputeType<T>>(element));
    }
  });
  return result;
}

void write_element(NDArray& array, int64_t at, Number value) {
  dispatch(array.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) {
      array.data<T>()[at] = static_cast<T>(value.i);
    } else if constexpr (std::is_same_v<T, Bool>) {
      array.data<T>()[at] = convert_element<T>(value.i);
    } else {
      array.data<T>()[at] = convert_element<T>(value.f);
    }
  });
}

/// One operation, by the direct evaluator: its meaning is the definition.
class Operations {
 public:
  Number apply(const ScalarNode& node, std::span<const Number> args) {
    Number quick;
    if (is_quick(node, args, quick)) return quick;
    std::vector<NDArray> inputs;
    for (size_t k = 0; k < args.size(); ++k) {
      inputs.push_back(NDArray::empty({}, node.args[k]->dtype));
      write_element(inputs.back(), 0, args[k]);
    }
    return read_element(te::evaluate(computation(node), inputs)[0], 0);
  }

 private:
  static bool is_quick(const ScalarNode& node, std::span<const Number> a, Number& r) {
    if (node.kind == ScalarKind::kBinary && node.args[0]->dtype == kInt64) {
      int64_t x = a[0].i, y = a[1].i;
      auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
      switch (node.binary) {
        case BinaryOp::kAdd:
          r.i = static_cast<int64_t>(ux + uy);
          return true;
        case BinaryOp::kSub:
          r.i = static_cast<int64_t>(ux - uy);
          return true;
        case BinaryOp::kMul:
          r.i = static_cast<int64_t>(ux * uy);
          return true;
        case BinaryOp::kMin:
          r.i = std::min(x, y);
          return true;
        case BinaryOp::kMax:
          r.i = std::max(x, y);
          return true;
        case BinaryOp::kLt:
          r.i = x < y;
          return true;
        case BinaryOp::kGe:
          r.i = x >= y;
          return true;
        case BinaryOp::kEq:
          r.i = x == y;
          return true;
        default:
          return false;
      }
    }
    if (node.kind == ScalarKind::kBinary && node.args[0]->dtype == kFloat32) {
      auto x = static_cast<float>(a[0].f), y = static_cast<float>(a[1].f);
      switch (node.binary) {
        case BinaryOp::kAdd:
          r.f = x + y;
          return true;
        case BinaryOp::kSub:
          r.f = x - y;
          return true;
        case BinaryOp::kMul:
          r.f = x * y;
          return true;
        case BinaryOp::kMax:
          if (std::isnan(x) || std::isnan(y) || (x == 0 && y == 0)) return false;
          r.f = std::max(x, y);
          return true;
        default:
          return false;
      }
    }
    return false;
  }

  const te::Computation& computation(const ScalarNode& node) {
    std::vector<int> key{static_cast<int>(node.kind), static_cast<int>(node.unary),
                         static_cast<int>(node.binary), static_cast<int>(node.dtype.code),
                         static_cast<int>(node.dtype.bits)};
    for (const ScalarRef& arg : node.args) {
      key.push_back(static_cast<int>(arg->dtype.code));
      key.push_back(static_cast<int>(arg->dtype.bits));
    }
    auto found = known_.find(key);
    if (found != known_.end()) return found->second;
    std::vector<te::TensorInfo> infos;
    for (const ScalarRef& arg : node.args) infos.push_back({{}, arg->dtype});
    te::Builder b(infos);
    b.output(b.map({}, [&](te::Indices) -> te::Scalar {
      Ref<ScalarNode> copy = lower::copy_node(node);
      for (size_t k = 0; k < copy->args.size(); ++k) copy->args[k] = b.input(k)({}).ref();
      return te::Scalar(ScalarRef(copy));
    }));
    return known_.emplace(key, b.finish()).first->second;
  }

  std::map<std::vector<int>, te::Computation> known_;
};

class KernelRun {
 public:
  KernelRun(std::vector<NDArray> buffers, std::function<int64_t(Dim)> dims, Operations& operations)
      : buffers_(std::move(buffers)), dims_(std::move(dims)), operations_(operations) {}

  void nest(const lower::Nest& nest) {
    axes_.resize(nest.num_axes);
    vars_.resize(nest.num_vars);
    block(nest.body, 0, true);
  }

  void contraction(const lower::Contraction& c) {
    axes_.resize(c.num_axes);
    vars_.resize(c.num_vars);
    std::vector<te::Axis> outer = c.batch;
    outer.insert(outer.end(), c.rows.begin(), c.rows.end());
    outer.insert(outer.end(), c.columns.begin(), c.columns.end());
    te::Scalar product = te::Scalar(c.lhs) * te::Scalar(c.rhs);
    te::Scalar add = te::placeholder(c.sum, c.accumulator) + product;
    loops(outer, 0, [&] {
      vars_[c.sum] = Number();
      loops(c.folded, 0, [&] {
        Number next = evaluate(add.ref());
        vars_[c.sum] = next;
      });
      lower::Store store{c.out, c.out_index, c.epilogue};
      put(store);
    });
  }

 private:
  void loops(const std::vector<te::Axis>& axes, size_t at, const std::function<void()>& body) {
    if (at == axes.size()) return body();
    int64_t extent = dims_(axes[at].extent);
    for (int64_t i = 0; i < extent; ++i) {
      axes_[axes[at].id] = i;
      loops(axes, at + 1, body);
    }
  }

  void block(const lower::Block& statements, int lanes, bool outermost) {
    for (const lower::Stmt& stmt : statements) statement(stmt, lanes, outermost);
  }

  void statement(const lower::Stmt& stmt, int lanes, bool outermost) {
    if (const auto* one = std::get_if<lower::For>(&stmt.node)) {
      RELAY_CHECK(one->kind != lower::LoopKind::kParallel || outermost, "an inner parallel loop");
      RELAY_CHECK(one->kind != lower::LoopKind::kVector || lanes == 0, "lanes in lanes");
      int64_t begin = evaluate(one->begin).i, end = evaluate(one->end).i;
      int64_t step = one->kind == lower::LoopKind::kVector ? 1 : one->step;
      RELAY_CHECK(one->kind != lower::LoopKind::kUnrolled ||
                      (one->begin->kind == ScalarKind::kConst &&
                       one->end->kind == ScalarKind::kConst && end - begin <= 64),
                  "an unrolled loop of unknown or large extent");
      int inside = lanes + (one->kind == lower::LoopKind::kVector ? 1 : 0);
      auto run = [&](int64_t i) {
        axes_[one->axis] = i;
        block(one->body, inside, false);
      };
      if (one->reverse) {
        RELAY_CHECK(step == 1, "a backward loop with a step");
        for (int64_t i = end; i-- > begin;) run(i);
      } else {
        for (int64_t i = begin; i < end; i += step) run(i);
      }
    } else if (const auto* let = std::get_if<lower::Let>(&stmt.node)) {
      vars_.at(let->var) = {evaluate(let->value), lanes};
    } else if (const auto* set = std::get_if<lower::Set>(&stmt.node)) {
      RELAY_CHECK(vars_.at(set->var).lanes == lanes, "a register set across lanes");
      vars_.at(set->var).value = evaluate(set->value);
    } else if (const auto* accumulate = std::get_if<lower::Accumulate>(&stmt.node)) {
      if (accumulate->where.get() != nullptr && evaluate(accumulate->where).i == 0) return;
      std::vector<ScalarRef> old;
      for (size_t k = 0; k < accumulate->vars.size(); ++k) {
        old.push_back(te::placeholder(accumulate->vars[k], accumulate->values[k]->dtype).ref());
      }
      std::vector<Number> results;
      std::vector<ScalarRef>& joined = joined_[accumulate];
      if (joined.empty()) joined = lower::combine(accumulate->combiner, old, accumulate->values);
      for (const ScalarRef& value : joined) results.push_back(evaluate(value));
      for (size_t k = 0; k < results.size(); ++k) {
        vars_.at(accumulate->vars[k]).value = results[k];
      }
    } else if (const auto* store = std::get_if<lower::Store>(&stmt.node)) {
      put(*store);
    } else if (const auto* branch = std::get_if<lower::If>(&stmt.node)) {
      block(evaluate(branch->condition).i != 0 ? branch->then_block : branch->else_block, lanes,
            false);
    } else if (const auto* check = std::get_if<lower::Check>(&stmt.node)) {
      if (evaluate(check->condition).i == 0) throw RuntimeError(check->message);
    } else if (const auto* repeat = std::get_if<lower::Repeat>(&stmt.node)) {
      RELAY_CHECK(lanes == 0, "a loop of unknown length in lanes");
      do {
        again_ = false;
        block(repeat->body, lanes, false);
      } while (again_);
    } else if (std::holds_alternative<lower::NextTurn>(stmt.node)) {
      again_ = true;
    }
  }

  void put(const lower::Store& store) {
    NDArray& array = buffers_.at(static_cast<size_t>(store.buffer));
    RELAY_CHECK(store.indices.size() == array.rank(), "rank of a store");
    RELAY_CHECK(store.value->dtype == array.dtype(), "dtype of a store");
    int64_t flat = 0;
    for (size_t d = 0; d < store.indices.size(); ++d) {
      int64_t at = evaluate(store.indices[d]).i;
      RELAY_CHECK(at >= 0 && at < array.extent(d), "a store out of range");
      flat = flat * array.extent(d) + at;
    }
    Number value = evaluate(store.value);
    write_element(array, flat, value);
  }

  Number evaluate(const ScalarRef& root) {
    ++epoch_;
    kept_.emplace(root.get(), root);
    return value(*root);
  }

  Number value(const ScalarNode& node) {
    Memo& memo = memo_[&node];
    if (memo.epoch == epoch_) return memo.value;
    Number result = compute(node);
    memo_[&node] = {epoch_, result};
    return result;
  }

  Number compute(const ScalarNode& node) {
    switch (node.kind) {
      case ScalarKind::kConst: {
        Number r;
        (node.dtype.is_float() ? r.f = node.value.f : 0.0);
        if (!node.dtype.is_float()) r.i = node.value.i;
        return r;
      }
      case ScalarKind::kIndex:
        return {axes_.at(node.axis), 0};
      case ScalarKind::kFromDim:
        return {dims_(node.dim), 0};
      case ScalarKind::kVar:
        return vars_.at(node.id).value;
      case ScalarKind::kSelect:
        return value(value(*node.args[0]).i != 0 ? *node.args[1] : *node.args[2]);
      case ScalarKind::kFail:
        if (value(*node.args[0]).i == 0) throw RuntimeError(node.message);
        return value(*node.args[1]);
      case ScalarKind::kLoad:
        return load(node);
      case ScalarKind::kFold:
      case ScalarKind::kGet:
        RELAY_UNREACHABLE("a fold in a nest");
      default: {
        std::vector<Number> args;
        for (const ScalarRef& arg : node.args) args.push_back(value(*arg));
        return operations_.apply(node, args);
      }
    }
  }

  Number load(const ScalarNode& node) {
    RELAY_CHECK(node.tensor.is_input(), "a load from no buffer");
    const NDArray& array = buffers_.at(static_cast<size_t>(node.tensor.index));
    RELAY_CHECK(node.args.size() == array.rank(), "rank of a load");
    int64_t flat = 0;
    for (size_t d = 0; d < node.args.size(); ++d) {
      int64_t at = value(*node.args[d]).i, extent = array.extent(d);
      if (at < 0 || at >= extent) {
        if (node.bounds == Bounds::kFill) return value(*node.fill);
        if (node.bounds == Bounds::kFail) throw RuntimeError("index out of range");
        RELAY_CHECK(node.bounds != Bounds::kProven && extent > 0, "a load out of range");
        at = node.bounds == Bounds::kClamp ? (at < 0 ? 0 : extent - 1)
                                           : ((at % extent) + extent) % extent;
      }
      flat = flat * extent + at;
    }
    return read_element(array, flat);
  }

  struct Register {
    Number value;
    int lanes = 0;
    Register& operator=(Number number) {
      value = number;
      return *this;
    }
    Register() = default;
    Register(Number number, int depth) : value(number), lanes(depth) {}
  };
  struct Memo {
    uint64_t epoch = 0;
    Number value;
  };
  std::vector<NDArray> buffers_;
  std::function<int64_t(Dim)> dims_;
  Operations& operations_;
  std::vector<int64_t> axes_;
  std::vector<Register> vars_;
  std::unordered_map<const ScalarNode*, Memo> memo_;
  std::unordered_map<const ScalarNode*, ScalarRef> kept_;
  std::unordered_map<const lower::Accumulate*, std::vector<ScalarRef>> joined_;
  uint64_t epoch_ = 0;
  bool again_ = false;
};

/// Runs the parts of each block; what is left in scratch from the block before is no promise.
void run_blocks(const lower::Blocks& blocks, const std::vector<NDArray>& buffers,
                const std::function<int64_t(Dim)>& outside, Operations& operations) {
  std::vector<int64_t> at(blocks.counters.size());
  auto inside = [&](Dim dim) {
    if (!dim.is_term()) return outside(dim);
    return outside(substitute(dim, [&](Dim atom) -> Dim {
      for (size_t k = 0; k < at.size(); ++k)
        if (atom == blocks.counters[k].symbol) return at[k];
      return atom;
    }));
  };
  auto run_block = [&] {
    std::vector<NDArray> own;
    for (size_t k = 0; k < buffers.size(); ++k) {
      const lower::Buffer& buffer = blocks.buffers[k];
      if (buffer.role != lower::Buffer::Role::kScratch) {
        own.push_back(buffers[k]);
        continue;
      }
      Shape shape;
      for (Dim dim : buffer.dims) shape.push_back(inside(dim));
      if (buffer.same >= 0) {
        own.push_back(own[static_cast<size_t>(buffer.same)].reshape(shape));
      } else {
        own.push_back(garbage(shape, buffer.dtype));
      }
    }
    for (const auto& part : blocks.parts) {
      KernelRun one(own, inside, operations);
      if (const auto* nest = std::get_if<lower::Nest>(&part)) {
        one.nest(*nest);
      } else {
        one.contraction(std::get<lower::Contraction>(part));
      }
    }
  };
  const std::function<void(size_t)> count = [&](size_t k) {
    if (k == at.size()) return run_block();
    const int64_t end = outside(blocks.counters[k].count);
    for (at[k] = 0; at[k] < end; ++at[k]) count(k + 1);
  };
  count(0);
}

}  // namespace

std::vector<NDArray> interpret(const lower::Lowered& lowered, std::span<const NDArray> inputs,
                               const SymbolValues& symbols) {
  static Operations operations;
  std::vector<NDArray> given;
  for (const NDArray& input : inputs) given.push_back(input.contiguous());
  LoweredRun run(lowered, std::move(given), symbols);
  for (const auto& launch : lowered.launches) {
    if (const auto* library = std::get_if<lower::LibraryLaunch>(&launch)) {
      run.run_library(*library);
      continue;
    }
    const auto& native = std::get<lower::Launch>(launch);
    const lower::Kernel& kernel = *lowered.kernels[native.kernel];
    std::vector<NDArray> buffers;
    size_t next = 0;
    const auto* joined = std::get_if<lower::Blocks>(&kernel.body);
    for (const lower::Buffer& buffer : kernel.buffers()) {
      if (joined != nullptr && buffer.role == lower::Buffer::Role::kScratch) {
        buffers.push_back(garbage({}, buffer.dtype));  // each block has its own
        continue;
      }
      Shape shape = run.shape(buffer.dims);
      if (buffer.role == lower::Buffer::Role::kScratch) {
        buffers.push_back(garbage(shape, buffer.dtype));
      } else {
        NDArray array = run.place(native.buffers.at(next++));
        RELAY_CHECK(array.dtype() == buffer.dtype, "dtype of a buffer");
        buffers.push_back(array.reshape(shape));
      }
    }
    RELAY_CHECK(next == native.buffers.size(), "buffers of a launch");
    if (const auto* blocks = std::get_if<lower::Blocks>(&kernel.body)) {
      run_blocks(
          *blocks, buffers, [&](Dim dim) { return run.dim(dim); }, operations);
      continue;
    }
    KernelRun one(
        std::move(buffers), [&](Dim dim) { return run.dim(dim); }, operations);
    if (const auto* nest = std::get_if<lower::Nest>(&kernel.body)) {
      one.nest(*nest);
    } else {
      one.contraction(std::get<lower::Contraction>(kernel.body));
    }
  }
  return run.results();
}

}  // namespace relay::testing

// The kernels of a block as one.
#include <algorithm>

#include <relay/lower/blocks.h>
#include <relay/lower/draft.h>

namespace relay::lower {
namespace {

using te::ScalarKind;
using te::ScalarRef;
using te::TensorId;
using Part = std::variant<Nest, Contraction>;

class Joiner {
 public:
  Joiner(const Lowered& lowered, const OneBlock& block, const te::TensorInfo& result)
      : lowered_(lowered), block_(block), result_(result) {}

  std::optional<JoinedBlock> run(const std::string& name) {
    joined_.kernel = std::make_shared<Kernel>();
    Dim flops = 0;
    for (const auto& made : lowered_.launches) {
      const auto* launch = std::get_if<Launch>(&made);
      if (launch == nullptr) return std::nullopt;
      const Kernel& kernel = *lowered_.kernels[launch->kernel];
      if (!add_part(kernel, *launch)) return std::nullopt;
      for (Dim symbol : kernel.dim_args) add_symbol(symbol);
      flops = flops + kernel.flops;
      joined_.kernel->products_in_loops += kernel.products_in_loops;
    }
    blocks_.counters = block_.counters;
    for (Buffer& buffer : blocks_.buffers) {
      // Of the first extent alone: no stride changes.
      if (buffer.role == Buffer::Role::kScratch && buffer.same < 0 && !buffer.dims.empty())
        buffer.dims[0] = buffer.dims[0] * block_.taken;
    }
    for (Part& part : blocks_.parts)
      std::visit([&](auto& body) { body.buffers = blocks_.buffers; }, part);
    for (const Blocks::Counter& counter : block_.counters) {
      flops = flops * counter.count;
      add_symbols(counter.count);
    }
    Dim bytes = 0;
    for (const Buffer& buffer : blocks_.buffers) {
      for (Dim dim : buffer.dims) add_symbols(dim);
      if (buffer.role != Buffer::Role::kScratch)
        bytes = bytes + product(buffer.dims) * Dim(static_cast<int64_t>(buffer.dtype.size()));
    }
    joined_.kernel->name = name;
    joined_.kernel->implementation = "blocks";
    joined_.kernel->flops = largest(flops);
    joined_.kernel->bytes = bytes;
    joined_.kernel->body = std::move(blocks_);
    return std::move(joined_);
  }

 private:
  bool is_counter(Dim symbol) const {
    return std::any_of(block_.counters.begin(), block_.counters.end(),
                       [&](const Blocks::Counter& counter) { return counter.symbol == symbol; });
  }
  void add_symbol(Dim symbol) {
    std::vector<Dim>& symbols = joined_.kernel->dim_args;
    if (is_counter(symbol)) return;
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
      symbols.push_back(symbol);
  }
  void add_symbols(Dim dim) {
    if (dim.is_term()) for_each_atom(dim, [&](Dim atom) { add_symbol(atom); });
  }
  /// The term where counters are greatest.
  Dim largest(Dim dim) const {
    if (!dim.is_term()) return dim;
    return substitute(dim, [&](Dim atom) -> Dim {
      for (const Blocks::Counter& counter : block_.counters)
        if (counter.symbol == atom) return max(counter.count - 1, 0);
      return atom;
    });
  }

  bool add_part(const Kernel& kernel, const Launch& launch) {
    std::vector<int32_t> numbers;
    size_t next = 0;
    int32_t written = -1;  // buffer of the part that is the result
    for (const Buffer& buffer : kernel.buffers()) {
      if (buffer.role == Buffer::Role::kScratch) {
        numbers.push_back(add_buffer(buffer));
        continue;
      }
      const int32_t place = launch.buffers[next++];
      if (place == lowered_.outputs[0]) {
        if (buffer.role != Buffer::Role::kOutput) return false;
        written = static_cast<int32_t>(numbers.size());
      }
      numbers.push_back(buffer_of(place, buffer));
    }
    Part part = std::visit(
        [&](const auto& body) -> Part {
          if constexpr (std::is_same_v<std::decay_t<decltype(body)>, Blocks>) {
            return Nest();
          } else {
            return body;
          }
        },
        kernel.body);
    if (std::holds_alternative<Blocks>(kernel.body)) return false;
    ScalarRewriter moved = te::moved_loads([&](TensorId id) {
      return TensorId{-1, numbers[static_cast<size_t>(id.index)]};
    });
    if (auto* contraction = std::get_if<Contraction>(&part)) {
      for (ScalarRef* root : {&contraction->lhs, &contraction->rhs, &contraction->epilogue})
        *root = moved(*root);
      for (size_t d = 0; d < contraction->out_index.size(); ++d) {
        ScalarRef& index = contraction->out_index[d];
        index = moved(index);
        if (contraction->out == written)
          index = (te::Scalar(index) + te::from_dim(block_.begin[d])).ref();
      }
      contraction->out = numbers[static_cast<size_t>(contraction->out)];
    } else {
      // A nest stores where it is told to: at its own place in the result, or not at all.
      if (written >= 0 && !block_.begin.empty()) return false;
      auto& nest = std::get<Nest>(part);
      for_each_scalar(nest.body, [&](ScalarRef& root) {
        if (root) root = moved(root);
      });
      move_statements(nest.body, numbers);
    }
    blocks_.parts.push_back(std::move(part));
    return true;
  }

  static void move_statements(Block& block, const std::vector<int32_t>& numbers) {
    for (Stmt& stmt : block) {
      if (auto* loop = std::get_if<For>(&stmt.node)) {
        if (loop->kind == LoopKind::kParallel) loop->kind = LoopKind::kSerial;
        move_statements(loop->body, numbers);
      } else if (auto* branch = std::get_if<If>(&stmt.node)) {
        move_statements(branch->then_block, numbers);
        move_statements(branch->else_block, numbers);
      } else if (auto* store = std::get_if<Store>(&stmt.node)) {
        store->buffer = numbers[static_cast<size_t>(store->buffer)];
      }
    }
  }

  int32_t add_buffer(Buffer buffer) {
    buffer.name = "b" + std::to_string(blocks_.buffers.size());
    blocks_.buffers.push_back(std::move(buffer));
    return static_cast<int32_t>(blocks_.buffers.size()) - 1;
  }

  bool is_inner(int32_t place) const {
    return place >= static_cast<int32_t>(lowered_.num_inputs) && place != lowered_.outputs[0];
  }

  /// The buffer of a place in the shape in which a part sees it.
  int32_t buffer_of(int32_t place, Buffer buffer) {
    const bool inner = is_inner(place);
    if (place == lowered_.outputs[0]) {
      buffer.dims = result_.dims;
    } else {
      buffer.role = inner ? Buffer::Role::kScratch : Buffer::Role::kInput;
    }
    int32_t same = -1;
    for (const Known& known : known_) {
      if (known.place != place) continue;
      if (blocks_.buffers[static_cast<size_t>(known.buffer)].dims == buffer.dims)
        return known.buffer;
      if (inner && same < 0) same = known.buffer;
    }
    buffer.same = same;
    const int32_t number = add_buffer(std::move(buffer));
    known_.push_back({place, number});
    if (!inner) joined_.places.push_back(place);
    return number;
  }

  struct Known {
    int32_t place, buffer;
  };
  const Lowered& lowered_;
  const OneBlock& block_;
  const te::TensorInfo& result_;
  Blocks blocks_;
  std::vector<Known> known_;
  JoinedBlock joined_;
};

}  // namespace

std::optional<JoinedBlock> join_block(const Lowered& lowered, const OneBlock& block,
                                      const te::TensorInfo& result, const std::string& name) {
  return Joiner(lowered, block, result).run(name);
}

}  // namespace relay::lower

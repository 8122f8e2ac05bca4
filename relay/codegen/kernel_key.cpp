#include <relay/codegen/kernel_key.h>

#include <bit>
#include <unordered_map>

#include <relay/codegen/dim_text.h>
#include <relay/support/error.h>
#include <relay/tensor_expr/walk.h>

namespace relay::codegen {

namespace {

using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

/// Writes the content, giving numbers to nodes, axes and registers as they turn up.
class Writer {
 public:
  explicit Writer(const lower::Kernel& kernel) : kernel_(kernel), symbols_(kernel.dim_args) {}

  std::string write() {
    out_ = "args " + std::to_string(kernel_.dim_args.size());
    // Terms over numbers of any sign keep more than equal ones over extents.
    for (size_t i = 0; i < kernel_.dim_args.size(); ++i)
      if (!kernel_.dim_args[i].is_natural()) out_ += " number " + std::to_string(i);
    out_ += '\n';
    std::visit([this](const auto& body) { write_body(body); }, kernel_.body);
    return std::move(out_);
  }

 private:
  void word(std::string_view text) {
    out_ += text;
    out_ += ' ';
  }
  void number(int64_t value) { word(std::to_string(value)); }
  void end() { out_.back() = '\n'; }
  void text(std::string_view value) {  // any characters
    number(static_cast<int64_t>(value.size()));
    word(value);
  }
  void dim(Dim d) { word(dim_to_text(d, symbols_)); }

  void dtype(DType t) { word(t.name()); }

  void buffers(const std::vector<lower::Buffer>& buffers) {
    for (const lower::Buffer& buffer : buffers) {
      word("buffer");
      number(static_cast<int64_t>(buffer.role));
      dtype(buffer.dtype);
      if (buffer.same >= 0) word("of " + std::to_string(buffer.same));
      for (Dim d : buffer.dims) dim(d);
      end();
    }
  }

  static uint32_t renumber(std::unordered_map<uint32_t, uint32_t>& ids, uint32_t id) {
    return ids.try_emplace(id, static_cast<uint32_t>(ids.size())).first->second;
  }
  void axis(uint32_t id) { word("a" + std::to_string(renumber(axes_, id))); }
  void var(uint32_t id) { word("r" + std::to_string(renumber(vars_, id))); }

  /// Writes the nodes below `root` that have not been written yet; returns its number.
  size_t scalar(const ScalarRef& root) {
    if (root == nullptr) return 0;
    stack_.push_back(root.get());
    while (!stack_.empty()) {
      const ScalarNode* node = stack_.back();
      if (numbers_.contains(node)) {
        stack_.pop_back();
        continue;
      }
      const size_t before = stack_.size();
      auto need = [&](const ScalarRef& arg) {
        if (arg != nullptr && !numbers_.contains(arg.get())) stack_.push_back(arg.get());
      };
      // The first argument on top, so that the numbers follow the text.
      need(node->fill);
      for (size_t i = node->args.size(); i-- > 0;) need(node->args[i]);
      if (stack_.size() != before) continue;
      stack_.pop_back();
      node_line(*node);
      numbers_.emplace(node, numbers_.size() + 1);
    }
    return numbers_.at(root.get());
  }

  void node_line(const ScalarNode& node) {
    word("n");
    number(static_cast<int64_t>(node.kind));
    dtype(node.dtype);
    switch (node.kind) {
      case ScalarKind::kConst:
        number(node.dtype.is_float() ? std::bit_cast<int64_t>(node.value.f) : node.value.i);
        break;
      case ScalarKind::kIndex:
        axis(node.axis);
        break;
      case ScalarKind::kFromDim:
        dim(node.dim);
        break;
      case ScalarKind::kUnary:
        word(te::unary_name(node.unary));
        break;
      case ScalarKind::kBinary:
        word(te::binary_name(node.binary));
        break;
      case ScalarKind::kCast:
      case ScalarKind::kBitcast:
      case ScalarKind::kSelect:
        break;
      case ScalarKind::kVar:
        var(node.id);
        break;
      case ScalarKind::kLoad:
        number(node.tensor.stage);
        number(node.tensor.index);
        number(static_cast<int64_t>(node.bounds));
        number(node.fill == nullptr ? 0 : static_cast<int64_t>(numbers_.at(node.fill.get())));
        break;
      case ScalarKind::kFail:
        break;
      case ScalarKind::kFold:
      case ScalarKind::kGet:
        RELAY_UNREACHABLE("a fold in a kernel");
    }
    if (te::can_fail(node)) {
      text(node.message);
      number(node.origin);
    }
    for (const ScalarRef& arg : node.args) {
      number(static_cast<int64_t>(numbers_.at(arg.get())));
    }
    end();
  }

  /// The nodes that a line refers to come before it.
  std::vector<size_t> scalars(const std::vector<ScalarRef>& nodes) {
    std::vector<size_t> result;
    result.reserve(nodes.size());
    for (const ScalarRef& node : nodes) result.push_back(scalar(node));
    return result;
  }
  void refer(size_t node) { number(static_cast<int64_t>(node)); }
  void refer(const std::vector<size_t>& nodes) {
    word("[");
    for (size_t node : nodes) refer(node);
    word("]");
  }

  void write_block(const lower::Block& block) {
    out_ += "{\n";
    for (const lower::Stmt& stmt : block) {
      std::visit([this](const auto& node) { write_stmt(node); }, stmt.node);
    }
    out_ += "}\n";
  }

  void write_stmt(const lower::For& loop) {
    const size_t begin = scalar(loop.begin);
    const size_t last = scalar(loop.end);
    word("for");
    number(static_cast<int64_t>(loop.kind));
    axis(loop.axis);
    refer(begin);
    refer(last);
    number(loop.step);
    number(loop.interleave);
    number(loop.reverse ? 1 : 0);
    end();
    write_block(loop.body);
  }
  void write_stmt(const lower::Let& let) {
    const size_t value = scalar(let.value);
    word("let");
    var(let.var);
    refer(value);
    end();
  }
  void write_stmt(const lower::Set& set) {
    const size_t value = scalar(set.value);
    word("set");
    var(set.var);
    refer(value);
    end();
  }
  void write_stmt(const lower::Accumulate& step) {
    const te::Combiner& c = step.combiner;
    const auto values = scalars(step.values);
    const size_t where = scalar(step.where);
    const auto lhs = scalars(c.lhs);
    const auto rhs = scalars(c.rhs);
    const auto result = scalars(c.result);
    const auto identity = scalars(c.identity);
    word("accumulate");
    for (uint32_t id : step.vars) var(id);
    number(static_cast<int64_t>(c.kind));
    number(c.needs_element ? 1 : 0);
    number(c.commutes ? 1 : 0);
    for (const auto& list : {values, lhs, rhs, result, identity}) refer(list);
    refer(where);
    end();
  }
  void write_stmt(const lower::Store& store) {
    const auto indices = scalars(store.indices);
    const size_t value = scalar(store.value);
    word("store");
    number(store.buffer);
    refer(indices);
    refer(value);
    end();
  }
  void write_stmt(const lower::If& branch) {
    const size_t condition = scalar(branch.condition);
    word("if");
    refer(condition);
    end();
    write_block(branch.then_block);
    write_block(branch.else_block);
  }
  void write_stmt(const lower::Check& check) {
    const size_t condition = scalar(check.condition);
    const bool explained = check.index.get() != nullptr;
    const size_t index = explained ? scalar(check.index) : 0;
    const size_t extent = explained ? scalar(check.extent) : 0;
    word("check");
    refer(condition);
    text(check.message);
    number(check.origin);
    if (explained) {
      refer(index);
      refer(extent);
    }
    if (check.ends) out_ += " ends";
    end();
  }
  void write_stmt(const lower::Grow& grow) {
    const size_t needed = scalar(grow.needed);
    word("grow");
    number(grow.room);
    refer(needed);
    text(grow.message);
    number(grow.origin);
    end();
  }

  void write_stmt(const lower::Repeat& repeat) {
    out_ += "repeat\n";
    write_block(repeat.body);
  }
  void write_stmt(const lower::NextTurn&) { out_ += "again\n"; }

  void write_body(const lower::Nest& nest) {
    buffers(nest.buffers);
    write_part(nest);
  }
  void write_body(const lower::Contraction& body) {
    buffers(body.buffers);
    write_part(body);
  }
  void write_body(const lower::Blocks& blocks) {
    for (const lower::Blocks::Counter& counter : blocks.counters) {
      word("counter");
      dim(counter.count);
      end();
    }
    for (const lower::Blocks::Counter& counter : blocks.counters)
      symbols_.push_back(counter.symbol);
    buffers(blocks.buffers);
    for (const auto& part : blocks.parts) {
      axes_.clear();  // each part numbers its own
      vars_.clear();
      numbers_.clear();
      std::visit([this](const auto& body) { write_part(body); }, part);
    }
  }
  void write_part(const lower::Nest& nest) {
    out_ += nest.rounds_each ? "nest rounding each\n" : "nest\n";
    write_block(nest.body);
  }
  void write_part(const lower::Contraction& body) {
    out_ += "contraction\n";
    for (const auto* axes : {&body.batch, &body.rows, &body.columns, &body.folded}) {
      word("axes");
      for (const te::Axis& a : *axes) {
        axis(a.id);
        dim(a.extent);
      }
      end();
    }
    const size_t lhs = scalar(body.lhs);
    const size_t rhs = scalar(body.rhs);
    word("sum");
    var(body.sum);
    end();
    const size_t epilogue = scalar(body.epilogue);
    const auto index = scalars(body.out_index);
    word("product");
    refer(lhs);
    refer(rhs);
    dtype(body.accumulator);
    refer(epilogue);
    number(body.out);
    refer(index);
    end();
    chosen(body.chosen);
  }
  void chosen(const lower::TileChoice& choice) {
    if (choice == lower::TileChoice()) return;
    word("chosen");
    for (int32_t size :
         {choice.tile_rows, choice.panel_vectors, choice.tiles_in_block, choice.panels_in_block})
      number(size);
    end();
  }

  const lower::Kernel& kernel_;
  std::vector<Dim> symbols_;  // of dimensions: the kernel's arguments, then counters of blocks
  std::string out_;
  std::vector<const ScalarNode*> stack_;
  std::unordered_map<const ScalarNode*, size_t> numbers_;
  std::unordered_map<uint32_t, uint32_t> axes_, vars_;
};

}  // namespace

std::string kernel_key(const lower::Kernel& kernel) { return Writer(kernel).write(); }

}  // namespace relay::codegen

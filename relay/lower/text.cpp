// Kernels as text, for readers: `relay opt --emit=loops`.
#include <relay/ir/numbered_symbol.h>
#include <relay/ir/type.h>
#include <relay/lower/draft.h>
#include <relay/support/error.h>

namespace relay::lower {
namespace {

using te::ScalarKind;
using te::ScalarNode;
using te::ScalarRef;

class Text {
 public:
  explicit Text(const Kernel& kernel)
      : kernel_(kernel), rename_([this](const ScalarRef& node, const std::vector<ScalarRef>&) {
          if (node->kind != ScalarKind::kFromDim) return ScalarRef();
          Ref<ScalarNode> copy = copy_node(*node);
          copy->dim = dim(node->dim);
          return ScalarRef(copy);
        }) {}

  std::string run(te::OriginRuns& origins) {
    header();
    origins_.add(out_.size(), 0);
    std::visit([this](const auto& body) { write(body, 0); }, kernel_.body);
    origins = std::move(origins_);
    return std::move(out_);
  }

 private:
  /// The term with the kernel's dimension arguments as d0, d1, …, or e0, e1, … if they may be
  /// negative, whatever the program calls them.
  Dim dim(Dim term) {
    if (!term.is_term()) return term;
    return relay::substitute(term, [&](Dim atom) -> Dim {
      for (size_t i = 0; i < kernel_.dim_args.size(); ++i) {
        if (kernel_.dim_args[i] == atom)
          return atom.is_natural() ? numbered_symbol("d", i) : numbered_value("e", i);
      }
      return atom;
    });
  }

  // Pieces of a line, each with its operator.
  void put(std::string_view text) {
    out_ += text;
    origins_.add(text.size(), origin_);
  }
  void put(const ScalarRef& value) {
    te::OriginRuns origins;
    // Tensors of expressions are called in0, in1, …; here they are buffers.
    out_ += te::to_string(*rename_(value), "b", origin_, origins);
    origins_.add(origins);
  }
  void put(const std::vector<ScalarRef>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) put(", ");
      put(values[i]);
    }
  }
  void put(const te::Combiner& c) {
    constexpr std::string_view kSigns[] = {"+=", "*=", "max=", "min=", "&=", "|="};
    if (c.kind != te::Combiner::Kind::kCustom) return put(kSigns[static_cast<size_t>(c.kind)]);
    put("(");
    put(c.lhs);
    put(" & ");
    put(c.rhs);
    put(" -> ");
    put(c.result);
    put(" from ");
    put(c.identity);
    put(")=");
  }

  /// A line whose pieces belong to an operator, but for those of others within.
  template <class... Pieces>
  void line(int depth, uint32_t origin, const Pieces&... pieces) {
    origin_ = 0;
    put(std::string(static_cast<size_t>(depth) * 2, ' '));
    origin_ = origin;
    (put(pieces), ...);
    origin_ = 0;
    put("\n");
  }

  void header() {
    const std::vector<Buffer>& buffers = kernel_.buffers();
    for (size_t k = 0; k < buffers.size(); ++k) {
      constexpr std::string_view kRoles[] = {"input", "output", "scratch", "tape"};
      out_ += "b" + std::to_string(k) + ": ";
      out_ += kRoles[static_cast<size_t>(buffers[k].role)];
      if (buffers[k].same >= 0) out_ += " b" + std::to_string(buffers[k].same) + " as";
      out_ += " " + std::string(buffers[k].dtype.name());
      if (buffers[k].role == Buffer::Role::kTape) {
        out_ += "\n";
        continue;
      }
      out_ += "[";
      for (size_t d = 0; d < buffers[k].dims.size(); ++d) {
        out_ += (d > 0 ? ", " : "") + dim(buffers[k].dims[d]).str();
      }
      out_ += "]\n";
    }
  }

  static std::string vars(std::span<const uint32_t> ids) {
    std::string text;
    for (uint32_t id : ids) text += (text.empty() ? "v" : ", v") + std::to_string(id);
    return text;
  }

  void block(const Block& statements, int depth) {
    for (const Stmt& stmt : statements) {
      const uint32_t origin = origin_of(stmt);
      std::visit([&](const auto& node) { write(node, depth, origin); }, stmt.node);
    }
  }

  void write(const For& one, int depth, uint32_t origin) {
    constexpr std::string_view kKinds[] = {"for", "parallel", "vector", "unrolled", "turned"};
    std::string how;
    if (one.step != 1) how += " step " + std::to_string(one.step);
    if (one.interleave != 1) how += " interleave " + std::to_string(one.interleave);
    if (one.reverse) how += " backwards";
    line(depth, origin, kKinds[static_cast<size_t>(one.kind)], " i" + std::to_string(one.axis),
         " in ", one.begin, " .. ", one.end, how);
    block(one.body, depth + 1);
  }
  void write(const Let& let, int depth, uint32_t origin) {
    line(depth, origin, "let v" + std::to_string(let.var) + " = ", let.value);
  }
  void write(const Set& set, int depth, uint32_t origin) {
    line(depth, origin, "v" + std::to_string(set.var) + " = ", set.value);
  }
  void write(const Accumulate& accumulate, int depth, uint32_t origin) {
    const std::string names = vars(accumulate.vars) + " ";
    if (accumulate.where.get() != nullptr) {
      line(depth, origin, names, accumulate.combiner, " ", accumulate.values, " where ",
           accumulate.where);
    } else {
      line(depth, origin, names, accumulate.combiner, " ", accumulate.values);
    }
  }
  void write(const Store& store, int depth, uint32_t origin) {
    line(depth, origin, "b" + std::to_string(store.buffer) + "[", store.indices,
         "] = ", store.value);
  }
  void write(const If& branch, int depth, uint32_t origin) {
    line(depth, origin, "if ", branch.condition);
    block(branch.then_block, depth + 1);
    if (branch.else_block.empty()) return;
    line(depth, origin, "else");
    block(branch.else_block, depth + 1);
  }
  void write(const Check& check, int depth, uint32_t origin) {
    line(depth, origin, "check ", check.condition, check.ends ? " or end with \"" : " or \"",
         check.message, "\"");
  }
  void write(const Grow& grow, int depth, uint32_t origin) {
    line(depth, origin, "v" + std::to_string(grow.room) + " = room for ", grow.needed,
         " or end with \"", grow.message, "\"");
  }
  void write(const Repeat& repeat, int depth, uint32_t origin) {
    line(depth, origin, "repeat");
    block(repeat.body, depth + 1);
  }
  void write(const NextTurn&, int depth, uint32_t origin) { line(depth, origin, "again"); }

  void axes(const char* name, std::span<const te::Axis> list, int depth) {
    std::string text = name;
    for (const te::Axis& axis : list) {
      text += " i" + std::to_string(axis.id) + " < " + dim(axis.extent).str() + ",";
    }
    if (!list.empty()) text.pop_back();
    line(depth, 0, text);
  }

  void write(const Nest& nest, int depth) { block(nest.body, depth); }

  void write(const Contraction& c, int depth) {
    axes("batch", c.batch, depth);
    axes("rows", c.rows, depth);
    axes("columns", c.columns, depth);
    axes("folded", c.folded, depth);
    line(depth, c.origin,
         "v" + std::to_string(c.sum) + ": " + std::string(c.accumulator.name()) + " += ", c.lhs,
         " * ", c.rhs);
    const uint32_t last = c.epilogue->origin != 0 ? c.epilogue->origin : c.origin;
    line(depth, last, "b" + std::to_string(c.out) + "[", c.out_index, "] = ", c.epilogue);
    if (c.chosen != TileChoice()) line(depth, 0, "chosen: " + c.chosen.str());
  }

  void write(const Blocks& blocks, int) {
    int depth = 0;
    for (const Blocks::Counter& counter : blocks.counters) {
      line(depth++, 0, "blocks " + counter.symbol.str() + " in 0 .. " + dim(counter.count).str());
    }
    for (const auto& part : blocks.parts) {
      line(depth, 0, "part");
      std::visit([&](const auto& body) { write(body, depth + 1); }, part);
    }
  }

  const Kernel& kernel_;
  ScalarRewriter rename_;
  std::string out_;
  te::OriginRuns origins_;
  uint32_t origin_ = 0;  // of the pieces that are written
};

}  // namespace

std::string TileChoice::str() const {
  std::string text;
  auto add = [&](int32_t size, const char* what) {
    if (size > 0) text += (text.empty() ? "" : ", ") + std::to_string(size) + what;
  };
  add(tile_rows, " rows in a tile");
  add(panel_vectors, " vectors in a panel");
  add(tiles_in_block, " tiles in a block");
  add(panels_in_block, " panels in a block");
  return text.empty() ? "the planner's sizes" : text;
}

const std::vector<Buffer>& Kernel::buffers() const {
  return std::visit([](const auto& of) -> const std::vector<Buffer>& { return of.buffers; }, body);
}

std::string Kernel::str(te::OriginRuns& origins) const { return Text(*this).run(origins); }

std::string Kernel::str() const {
  te::OriginRuns origins;
  return str(origins);
}

uint32_t origin_of(const Stmt& stmt) {
  struct Find {
    uint32_t operator()(const Let& let) const { return let.value->origin; }
    uint32_t operator()(const Set& set) const { return set.value->origin; }
    uint32_t operator()(const Store& store) const { return store.value->origin; }
    uint32_t operator()(const If& branch) const { return branch.condition->origin; }
    uint32_t operator()(const Accumulate& accumulate) const { return accumulate.origin; }
    uint32_t operator()(const Check& check) const { return check.origin; }
    uint32_t operator()(const Grow& grow) const { return grow.origin; }
    uint32_t operator()(const For&) const { return 0; }
    uint32_t operator()(const Repeat&) const { return 0; }
    uint32_t operator()(const NextTurn&) const { return 0; }
  };
  return std::visit(Find(), stmt.node);
}

}  // namespace relay::lower

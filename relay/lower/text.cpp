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

  std::string run() {
    header();
    std::visit([this](const auto& body) { write(body, 0); }, kernel_.body);
    return std::move(out_);
  }

 private:
  /// The term with the kernel's dimension arguments as d0, d1, …, whatever the program calls them.
  Dim dim(Dim term) {
    if (!term.is_term()) return term;
    return relay::substitute(term, [&](Dim atom) -> Dim {
      for (size_t i = 0; i < kernel_.dim_args.size(); ++i) {
        if (kernel_.dim_args[i] == atom) return numbered_symbol("d", i);
      }
      return atom;
    });
  }

  std::string scalar(const ScalarRef& value) {
    std::string text = te::to_string(*rename_(value));
    // Tensors of expressions are called in0, in1, …; here they are buffers.
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
      bool word = i > 0 && (std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0 ||
                            text[i - 1] == '_');
      if (!word && text.compare(i, 2, "in") == 0 && i + 2 < text.size() &&
          std::isdigit(static_cast<unsigned char>(text[i + 2])) != 0) {
        result += 'b';
        ++i;
      } else {
        result += text[i];
      }
    }
    return result;
  }

  std::string list(std::span<const ScalarRef> values) {
    std::string text;
    for (const ScalarRef& value : values) text += (text.empty() ? "" : ", ") + scalar(value);
    return text;
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

  void line(int depth, const std::string& text) {
    out_.append(static_cast<size_t>(depth) * 2, ' ');
    out_ += text + "\n";
  }

  std::string vars(std::span<const uint32_t> ids) {
    std::string text;
    for (uint32_t id : ids) text += (text.empty() ? "v" : ", v") + std::to_string(id);
    return text;
  }

  std::string combiner(const te::Combiner& c) {
    switch (c.kind) {
      case te::Combiner::Kind::kSum:
        return "+=";
      case te::Combiner::Kind::kProd:
        return "*=";
      case te::Combiner::Kind::kMax:
        return "max=";
      case te::Combiner::Kind::kMin:
        return "min=";
      case te::Combiner::Kind::kAnd:
        return "&=";
      case te::Combiner::Kind::kOr:
        return "|=";
      case te::Combiner::Kind::kCustom:
        return "(" + list(c.lhs) + " & " + list(c.rhs) + " -> " + list(c.result) + " from " +
               list(c.identity) + ")=";
    }
    return "";
  }

  void block(const Block& statements, int depth) {
    for (const Stmt& stmt : statements) statement(stmt, depth);
  }

  void statement(const Stmt& stmt, int depth) {
    if (const auto* one = std::get_if<For>(&stmt.node)) {
      constexpr std::string_view kKinds[] = {"for", "parallel", "vector", "unrolled", "turned"};
      std::string text(kKinds[static_cast<size_t>(one->kind)]);
      text += " i" + std::to_string(one->axis) + " in " + scalar(one->begin) + " .. " +
              scalar(one->end);
      if (one->step != 1) text += " step " + std::to_string(one->step);
      if (one->interleave != 1) text += " interleave " + std::to_string(one->interleave);
      if (one->reverse) text += " backwards";
      line(depth, text);
      block(one->body, depth + 1);
    } else if (const auto* let = std::get_if<Let>(&stmt.node)) {
      line(depth, "let v" + std::to_string(let->var) + " = " + scalar(let->value));
    } else if (const auto* set = std::get_if<Set>(&stmt.node)) {
      line(depth, "v" + std::to_string(set->var) + " = " + scalar(set->value));
    } else if (const auto* accumulate = std::get_if<Accumulate>(&stmt.node)) {
      std::string text = vars(accumulate->vars) + " " + combiner(accumulate->combiner) + " " +
                         list(accumulate->values);
      if (accumulate->where.get() != nullptr) text += " where " + scalar(accumulate->where);
      line(depth, text);
    } else if (const auto* store = std::get_if<Store>(&stmt.node)) {
      line(depth, "b" + std::to_string(store->buffer) + "[" + list(store->indices) +
                      "] = " + scalar(store->value));
    } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
      line(depth, "if " + scalar(branch->condition));
      block(branch->then_block, depth + 1);
      if (!branch->else_block.empty()) {
        line(depth, "else");
        block(branch->else_block, depth + 1);
      }
    } else if (const auto* check = std::get_if<Check>(&stmt.node)) {
      line(depth, "check " + scalar(check->condition) +
                      (check->ends ? " or end with \"" : " or \"") + check->message + "\"");
    } else if (const auto* grow = std::get_if<Grow>(&stmt.node)) {
      line(depth, "v" + std::to_string(grow->room) + " = room for " + scalar(grow->needed) +
                      " or end with \"" + grow->message + "\"");
    } else if (const auto* repeat = std::get_if<Repeat>(&stmt.node)) {
      line(depth, "repeat");
      block(repeat->body, depth + 1);
    } else if (std::holds_alternative<NextTurn>(stmt.node)) {
      line(depth, "again");
    }
  }

  void axes(const char* name, std::span<const te::Axis> list, int depth) {
    std::string text = name;
    for (const te::Axis& axis : list) {
      text += " i" + std::to_string(axis.id) + " < " + dim(axis.extent).str() + ",";
    }
    if (!list.empty()) text.pop_back();
    line(depth, text);
  }

  void write(const Nest& nest, int depth) { block(nest.body, depth); }

  void write(const Contraction& c, int depth) {
    axes("batch", c.batch, depth);
    axes("rows", c.rows, depth);
    axes("columns", c.columns, depth);
    axes("folded", c.folded, depth);
    line(depth, "v" + std::to_string(c.sum) + ": " + std::string(c.accumulator.name()) +
                    " += " + scalar(c.lhs) + " * " + scalar(c.rhs));
    line(depth,
         "b" + std::to_string(c.out) + "[" + list(c.out_index) + "] = " + scalar(c.epilogue));
  }

  void write(const Blocks& blocks, int) {
    int depth = 0;
    for (const Blocks::Counter& counter : blocks.counters) {
      line(depth++, "blocks " + counter.symbol.str() + " in 0 .. " + dim(counter.count).str());
    }
    for (const auto& part : blocks.parts) {
      line(depth, "part");
      std::visit([&](const auto& body) { write(body, depth + 1); }, part);
    }
  }

  const Kernel& kernel_;
  ScalarRewriter rename_;
  std::string out_;
};

}  // namespace

const std::vector<Buffer>& Kernel::buffers() const {
  return std::visit([](const auto& of) -> const std::vector<Buffer>& { return of.buffers; }, body);
}

std::string Kernel::str() const { return Text(*this).run(); }

}  // namespace relay::lower

// Writes of references and closures that wait for the graph under construction, so that work on
// both sides of them is one graph.
//
// A write needs its value, and a closure what it captures: both would end the graph that computes
// it, though what follows seldom sees them. The backward function of a gradient writes one cell for
// each operand, so that it would run a graph for each. They are written behind the graph instead,
// in their order, at the latest where it ends anyway: at branches, calls and the ends of regions
// (`run_graph`). Before that they are written where something could tell: where the register of
// such a closure is read, where a reference is read that may be one of those written, and where
// work may fail.
#include <algorithm>
#include <utility>

#include <relay/ir/type.h>
#include <relay/vm/compiler/function_compiler.h>

namespace relay::vm {
namespace {

// False if no value can have both types: two references to such values are two.
bool may_share_value(const Type* a, const Type* b) {
  if (a == b) return true;
  const auto* left = a->as<TensorType>();
  const auto* right = b->as<TensorType>();
  if (left != nullptr && right != nullptr) {
    if (left->has_dtype() && right->has_dtype() && left->dtype() != right->dtype()) return false;
    if (!left->has_rank() || !right->has_rank()) return true;
    auto dims = left->dims(), others = right->dims();
    return dims.size() == others.size() &&
           std::equal(dims.begin(), dims.end(), others.begin(),
                      [](Dim dim, Dim other) { return dims_equal(dim, other) != Truth::kNo; });
  }
  bool function = a->is<FuncType>() || b->is<FuncType>();
  return !(function && (left != nullptr || right != nullptr));
}

// True for what is so large that computing it takes longer than running a graph: until it is
// written, what the reference held has to stay beside it.
bool keeps_memory(const Type* type) {
  constexpr int64_t kMostElements = int64_t{1} << 14;
  const auto* tensor = type == nullptr ? nullptr : type->as<TensorType>();
  if (tensor == nullptr) return false;
  if (!tensor->has_rank()) return true;
  int64_t elements = 1;
  for (Dim dim : tensor->dims()) {
    if (!dim.is_int() || dim.as_int() > kMostElements) return true;
    elements *= dim.as_int();
    if (elements > kMostElements) return true;
  }
  return false;
}

const Type* content_type(const Expr* reference) {
  const auto* type = reference->type()->as<RefType>();
  return type == nullptr ? nullptr : type->value().get();
}

}  // namespace

void FunctionCompiler::write_reference(uint32_t node, uint32_t reference) {
  unit_->nodes[node] = Known::tuple({});
  Known content = operand(node, 1);
  if (unit_->graph == nullptr && unit_->postponed.empty()) {
    code_->emit_value(Op::kRefWrite, reference, to_register(content));
    return;
  }
  postpone({node, reference, kNone, {std::move(content)}});
}

void FunctionCompiler::postpone(Postponed later) {
  constexpr size_t kMost = 64;  // each read of a reference looks at all of them
  if (unit_->postponed.size() == kMost) run_graph();
  const bool keeps_much =
      later.reference != kNone &&
      keeps_memory(content_type(regions_.expr(later.node)->operands()[0].get()));
  unit_->postponed.push_back(std::move(later));
  if (keeps_much) run_graph();
}

bool FunctionCompiler::postpone_closure(uint32_t node, const std::vector<Known>& captures) {
  if (std::none_of(captures.begin(), captures.end(),
                   [&](const Known& known) { return waits_within(known); }))
    return false;
  uint32_t dst = code_->fresh();
  postpone({node, kNone, dst, captures});
  unit_->nodes[node] = Known::in_register(dst);
  return true;
}

bool FunctionCompiler::waits_within(const Known& known) const {
  if (known.kind != Known::Kind::kTuple) return waits(known);
  return std::any_of(known.fields->begin(), known.fields->end(),
                     [&](const Known& field) { return waits_within(field); });
}

bool FunctionCompiler::is_postponed(uint32_t reg) const {
  return std::any_of(unit_->postponed.begin(), unit_->postponed.end(),
                     [&](const Postponed& later) { return later.closure == reg; });
}

bool FunctionCompiler::may_read_postponed(const Expr* reference) const {
  const Type* read = content_type(reference);
  return std::any_of(unit_->postponed.begin(), unit_->postponed.end(), [&](const Postponed& later) {
    if (later.reference == kNone) return false;
    const Type* written = content_type(regions_.expr(later.node)->operands()[0].get());
    return read == nullptr || written == nullptr || may_share_value(read, written);
  });
}

void FunctionCompiler::write_postponed() {
  uint32_t position = code_->position();
  for (const Postponed& later : std::exchange(unit_->postponed, {})) {
    code_->set_position(program_.position(regions_.expr(later.node)->span()));
    std::vector<uint32_t> values;
    for (const Known& value : later.values) values.push_back(to_register(value));
    if (later.closure != kNone) {
      make_closure(later.node, values, later.closure);
    } else {
      code_->emit_value(Op::kRefWrite, later.reference, values[0]);
    }
  }
  code_->set_position(position);
}

}  // namespace relay::vm

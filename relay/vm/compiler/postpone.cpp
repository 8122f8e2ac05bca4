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
#include <relay/vm/compiler/postpone.h>

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

const Type* content_type(const Expr* reference) {
  const auto* type = reference->type()->as<RefType>();
  return type == nullptr ? nullptr : type->value().get();
}

}  // namespace

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

void FunctionCompiler::write_reference(uint32_t node, uint32_t reference) {
  unit_->nodes[node] = Known::tuple({});
  postpone({node,
            reference,
            kNone,
            false,
            content_type(regions_.expr(node)->operands()[0].get()),
            {operand(node, 1)}});
}

void FunctionCompiler::write_accumulation(uint32_t node) {
  unit_->nodes[node] = Known::tuple({});
  const uint32_t reference = operand_register(node, 1);
  postpone({node,
            reference,
            kNone,
            true,
            content_type(regions_.expr(node)->operands()[1].get()),
            {operand(node, 2)}});
}

void FunctionCompiler::emit_write(const Postponed& write) {
  const uint32_t value = to_register(write.values[0]);
  if (!write.adds) {
    code_->emit_value(Op::kRefWrite, write.reference, value);
    return;
  }
  Instruction& made = code_->emit(Op::kRefAdd, {write.reference, value});
  made.dst = code_->fresh();
}

void FunctionCompiler::postpone(Postponed later) {
  const bool nothing_waits = unit_->graph == nullptr && unit_->postponed.empty();
  if (later.reference != kNone && nothing_waits) return emit_write(later);
  constexpr size_t kMost = 64;  // each read of a reference looks at all of them
  if (unit_->postponed.size() == kMost) run_graph();
  const bool keeps_much = later.reference != kNone && keeps_memory(later.content);
  unit_->postponed.push_back(std::move(later));
  if (keeps_much) run_graph();
}

bool FunctionCompiler::postpone_closure(uint32_t node, const std::vector<Known>& captures) {
  if (std::none_of(captures.begin(), captures.end(),
                   [&](const Known& known) { return waits_within(known); }))
    return false;
  uint32_t dst = code_->fresh();
  postpone({node, kNone, dst, false, nullptr, captures});
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
    return read == nullptr || later.content == nullptr || may_share_value(read, later.content);
  });
}

void FunctionCompiler::write_postponed() {
  uint32_t position = code_->position();
  for (const Postponed& later : std::exchange(unit_->postponed, {})) {
    code_->set_position(program_.position(regions_.expr(later.node)->span()));
    if (later.closure == kNone) {
      emit_write(later);
      continue;
    }
    std::vector<uint32_t> values;
    for (const Known& value : later.values) values.push_back(to_register(value));
    make_closure(later.node, values, later.closure);
  }
  code_->set_position(position);
}

}  // namespace relay::vm

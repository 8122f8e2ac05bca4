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

// What the graph computes is added there, to what the reference holds when the graph begins. This
// is the same as adding it behind the graph, whichever references are one, as long as no other
// write waits that may be to this one. A graph that may fail has to leave references as they are.
bool FunctionCompiler::adds_in_graph(uint32_t node, const Known& added) const {
  if (!waits(added) || unit_->graph_can_fail || program_.devices() != nullptr) return false;
  const te::TensorInfo& info = unit_->graph->info(unit_->tensors[added.index].tensor);
  if (!std::all_of(info.dims.begin(), info.dims.end(), [](Dim dim) { return dim.is_int(); }))
    return false;
  const Type* content = content_type(regions_.expr(node)->operands()[1].get());
  return std::none_of(unit_->postponed.begin(), unit_->postponed.end(),
                      [&](const Postponed& later) {
                        if (later.reference == kNone || later.adds) return false;
                        return later.content == nullptr || may_share_value(content, later.content);
                      });
}

const Type* FunctionCompiler::content_of(const Cell& cell) const {
  return content_type(regions_.expr(cell.node)->operands()[1].get());
}

// Adds the node of the sum, which reads a new input; returns its result.
uint32_t FunctionCompiler::write_sum(graph::Builder& graph, const Cell& cell) {
  const auto* call = regions_.expr(cell.node)->as<Call>();
  const auto* accumulation = call->callee()->as<relay::Function>();
  const auto* sum = accumulation->body()->as<RefWrite>()->value()->as<Call>();
  const te::TensorInfo info = graph.info(cell.added);
  const TypeRef type = TensorType::make(info.dims, info.dtype);
  const VarRef content = make_var("content", type), more = make_var("more", type);
  std::vector<ExprRef> args;
  for (const ExprRef& arg : sum->args()) args.push_back(arg->is<RefRead>() ? content : more);
  const ExprRef body = make_call(sum->callee(), args, sum->attrs(), {}, sum->span());
  body->set_type(type);
  const FunctionRef function =
      make_function({content, more}, body, {}, {}, {},
                    make_dict_attrs({{"Primitive", AttrValue(int64_t{1})}}), sum->span());
  const TypeRef types[] = {type, type};
  const CompiledGroup& group = program_.groups().find(function, types);
  const uint32_t tensors[] = {graph.add_input(info), cell.added};
  return graph.add_node(group.work, {}, tensors, {}, program_.position(sum->span()),
                        operator_positions(*function))[0];
}

void FunctionCompiler::write_accumulation(uint32_t node) {
  unit_->nodes[node] = Known::tuple({});
  const uint32_t reference = operand_register(node, 1);
  const Known added = operand(node, 2);
  if (adds_in_graph(node, added)) {
    constexpr size_t kMost = 64;  // as for writes that wait
    unit_->cells.push_back({node, reference, unit_->tensors[added.index].tensor});
    unit_->in_graph[node] = unit_->graph_serial;
    if (unit_->cells.size() == kMost) run_graph();
    return;
  }
  postpone({node,
            reference,
            kNone,
            true,
            content_type(regions_.expr(node)->operands()[1].get()),
            {added}});
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
  const bool added = std::any_of(unit_->cells.begin(), unit_->cells.end(), [&](const Cell& cell) {
    const Type* content = content_of(cell);
    return read == nullptr || may_share_value(read, content);
  });
  return added ||
         std::any_of(unit_->postponed.begin(), unit_->postponed.end(), [&](const Postponed& later) {
           if (later.reference == kNone) return false;
           return read == nullptr || later.content == nullptr ||
                  may_share_value(read, later.content);
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

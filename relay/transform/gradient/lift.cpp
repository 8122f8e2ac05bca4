#include <relay/transform/gradient/lift.h>

#include <algorithm>
#include <map>

#include <relay/ir/result_names.h>
#include <relay/op/op.h>
#include <relay/support/error.h>
#include <relay/transform/gradient/blocks.h>
#include <relay/transform/op_calls.h>

namespace relay::grad {
namespace {

// One global function with all functions inside of it.
//
// Runs of operator calls, with tuples and ifs between them, are blocks: the forward pass of a
// block is the old nodes, and one entry on the tape sends gradients back through all of it. Only
// what leaves the block has cells. All else is as it was, on lifted values.
class FunctionLifter {
 public:
  FunctionLifter(Lifting& all, const Function& function) : all_(all), reverse_(&function) {
    regions_ = &reverse_.regions();
    reverse_.when_missing(
        [this](uint32_t id) { return primal(id); },
        [this](uint32_t id, uint32_t leaf) { return field_of(leaf_of(id, leaf), 0); });
    lifted_.resize(reverse_.size());
    for (uint32_t id = 0; id < reverse_.size(); ++id) {
      const Type* type = reverse_.type(id);
      const bool constant = is_node(id) && (regions_->kind(id) == ExprKind::kConstant ||
                                            regions_->kind(id) == ExprKind::kLiteral);
      if (type != nullptr && !constant && reverse_.leaf_table().count(type) > 0)
        reverse_.set_varied(id);
    }
    leaves_block_ = values_that_leave_blocks(reverse_);
  }

  FunctionRef run() { return lift_function(0); }

 private:
  bool is_node(uint32_t id) const { return id < regions_->num_nodes(); }
  bool is_operator_node(uint32_t id) const { return is_node(id) && reverse_.is_dataflow(id); }
  // ---- Values ----------------------------------------------------------------------------------

  TypeRef declared(const Type* type, const TypeRef& annotation) {
    if (type != nullptr && type->closed()) return all_.types().lift(TypeRef(type));
    return all_.types().lift(annotation);
  }

  ExprRef lifted_variable(uint32_t id, const Var* var) {
    if (id >= lifted_.size()) lifted_.resize(id + 1);
    if (!lifted_[id])
      lifted_[id] = make_var(var->name(), declared(var->type(), var->annotation()), var->span());
    return lifted_[id];
  }

  // The value without cells.
  ExprRef primal(uint32_t id) {
    if (is_node(id)) {
      const Expr* expr = regions_->expr(id);
      if (expr->is<Constant>() || expr->is<Literal>()) return ExprRef(expr);
      if (expr->is<Tuple>()) {
        std::vector<ExprRef> fields;
        for (size_t i = 0; i < expr->operands().size(); ++i)
          fields.push_back(reverse_.value_of(reverse_.target(id, i)));
        return make_tuple(fields, expr->span());
      }
      const auto* projection = expr->as<TupleGetItem>();
      if (projection != nullptr && is_tensorial(projection->tuple()->type()))
        return field_of(reverse_.value_of(reverse_.target(id, 0)), projection->index());
    }
    const Type* type = reverse_.type(id);
    if (!is_tensorial(type))
      throw Error("the rank and dtype of a tensor must be known for a gradient",
                  is_node(id) ? regions_->expr(id)->span() : Span());
    return without_cells(type, lifted(id));
  }

  static ExprRef without_cells(const Type* type, const ExprRef& value) {
    if (is_leaf(type)) return field_of(value, 0);
    const auto* tuple = type->as<TupleType>();
    if (tuple == nullptr) return value;
    std::vector<ExprRef> fields;
    for (size_t i = 0; i < tuple->fields().size(); ++i)
      fields.push_back(without_cells(tuple->fields()[i].get(), field_of(value, i)));
    return make_tuple(fields);
  }

  ExprRef lifted(uint32_t id) {
    if (lifted_[id]) return lifted_[id];
    RELAY_CHECK(is_node(id), "a variable that is not bound");
    const Expr* expr = regions_->expr(id);
    if (expr->is<Tuple>()) {
      std::vector<ExprRef> fields;
      for (size_t i = 0; i < expr->operands().size(); ++i) fields.push_back(operand(id, i));
      return make_tuple(fields, expr->span());
    }
    if (const auto* projection = expr->as<TupleGetItem>()) {
      // The other fields of a tuple that is written out may have no lifted form.
      const uint32_t tuple = reverse_.target(id, 0);
      if (is_node(tuple) && regions_->kind(tuple) == ExprKind::kTuple)
        return operand(tuple, projection->index());
      return field_of(operand(id, 0), projection->index());
    }
    RELAY_CHECK(expr->is<Constant>() || expr->is<Literal>(), "a value that has no lifted form");
    return with_cells(reverse_.type(id), ExprRef(expr), *code_);
  }

  ExprRef with_cells(const Type* type, const ExprRef& value, Code& code) {
    return map_tensors(type, value, [&](const Type* tensor, const ExprRef& leaf) {
      return all_.types().walk(LiftedTypes::Walk::kLift, TypeRef(tensor), leaf, {}, code);
    });
  }

  // Operand i of a node as a lifted value.
  ExprRef operand(uint32_t node, size_t i) {
    const auto [id, expr] =
        reverse_.origin(regions_->expr(node)->operands()[i].get(), regions_->operand(node, i));
    if (id != Reverse::kNone) {
      if (is_node(id)) return lifted(id);
      return lifted_variable(id, expr->as<Var>());
    }
    return name_value(*expr, regions_->expr(node)->span());
  }

  // A leaf of a lifted value, with its cell.
  ExprRef leaf_of(uint32_t id, uint32_t leaf) {
    ExprRef value = lifted(id);
    const Type* type = reverse_.type(id);
    while (const auto* tuple = type->as<TupleType>()) {
      const size_t field = reverse_.leaf_table().field_with(*tuple, leaf);
      leaf -= reverse_.leaf_table().offset(*tuple, field);
      value = field_of(value, field);
      type = tuple->fields()[field].get();
    }
    return value;
  }
  ExprRef cell_of(uint32_t id, uint32_t leaf) { return field_of(leaf_of(id, leaf), 1); }

  // ---- Code ------------------------------------------------------------------------------------

  ExprRef lift_region(uint32_t region) {
    Code code;
    Code* outer = std::exchange(code_, &code);
    std::vector<uint32_t> block;
    auto flush = [&] {
      if (!block.empty()) write_block(block);
      block.clear();
    };
    for (const Regions::Step step : regions_->steps(region)) {
      const Expr* expr = regions_->expr(step.node);
      if (step.bind) {
        const auto* let = static_cast<const Let*>(expr);
        const auto* function = let->value()->as<Function>();
        if (function == nullptr) continue;
        const uint32_t id = reverse_.variable(let->var().get());
        ExprRef var = lifted_variable(id, let->var().get());
        code.bind(VarRef(var->as<Var>()), lifted_[regions_->operand(step.node, 0)]);
        continue;
      }
      if (is_structure(regions_->kind(step.node))) continue;
      if (reverse_.is_dataflow(step.node)) {
        block.push_back(step.node);
        continue;
      }
      flush();
      lifted_[step.node] = expr->is<Function>() ? ExprRef(lift_function(step.node))
                                                : ExprRef(code.bind(lift_node(step.node)));
    }
    flush();
    const Regions::Result result = regions_->result(region);
    const auto [id, expr] = reverse_.origin(result.expr, result.node);
    ExprRef value;
    if (id != Reverse::kNone) {
      value = is_node(id) ? lifted(id) : lifted_variable(id, expr->as<Var>());
    } else {
      value = name_value(*expr, expr->span());
    }
    code_ = outer;
    return code.finish(value);
  }

  ExprRef name_value(const Expr& expr, Span place) {
    if (const auto* global = expr.as<GlobalVar>()) return all_.global(*global);
    throw Error("an operator that is a value has no gradient: write a function around it", place);
  }

  // The forward pass of a block, cells for what leaves it, and the entry on the tape.
  void write_block(const std::vector<uint32_t>& block) {
    for (uint32_t id : block) {
      reverse_.make_forward(id);
      const Operator* op = called_op(regions_->expr(id));
      if (op != nullptr && !op->pure()) reverse_.set_value(id, code_->bind(reverse_.value(id)));
    }
    Code cells;
    for (uint32_t id : block) {
      if (leaves_block_[id]) lifted_[id] = with_cells(reverse_.type(id), reverse_.value(id), cells);
    }
    const ExprRef entry = backward_of(block);
    std::vector<Reverse::Binding> ifs;
    reverse_.take_ifs(block, ifs);
    for (const auto& [var, value] : ifs) code_->bind(var, value);
    code_->append(cells);
    if (!entry) return;
    code_->bind(before_, make_ref_read(tape_));
    code_->bind(make_ref_write(tape_, entry));
  }

  ExprRef backward_of(const std::vector<uint32_t>& block) {
    Code code;
    reverse_.open_frame(reverse_.owner(block[0]));
    for (uint32_t id : block) {
      if (!leaves_block_[id] || !reverse_.varied(id)) continue;
      const uint32_t count = reverse_.leaf_table().count(reverse_.type(id));
      for (uint32_t leaf = 0; leaf < count; ++leaf)
        reverse_.add(id, leaf, code.bind(make_ref_read(cell_of(id, leaf)), "g"));
    }
    reverse_.backward(block);
    std::vector<Reverse::Outer> found = reverse_.close_frame();
    if (found.empty()) return {};
    // Rows of a tensor come first: writing them may fail, and what may fail runs behind no write.
    std::stable_partition(found.begin(), found.end(), [](const Reverse::Outer& outer) {
      const ExprRef added = sum(make_var("old"), outer.gradient);
      const auto parts = added->operands();
      return std::find(parts.begin(), parts.end(), outer.gradient) == parts.end();
    });
    for (const Reverse::Outer& outer : found) {
      const ExprRef cell = cell_of(outer.id, outer.leaf);
      VarRef old = code.bind(make_ref_read(cell));
      code.bind(make_ref_write(cell, sum(old, outer.gradient)));
    }
    before_ = make_var("before");
    const TypeRef unit = TupleType::make({});
    return make_function({}, code.finish(make_call(before_, std::vector<ExprRef>())), unit, {}, {},
                         {}, regions_->expr(block.back())->span());
  }

  FunctionRef lift_function(uint32_t id) {
    const auto& function = static_cast<const Function&>(*regions_->expr(id));
    if (function.attrs()) {
      for (const char* mark : {"Compiler", "Extern"}) {
        if (!dict_attr(function.attrs(), mark).is_none())
          throw Error(std::string("a function marked ") + mark + " has no gradient",
                      function.span());
      }
    }
    std::vector<VarRef> params;
    for (const VarRef& param : function.params()) {
      const ExprRef var = lifted_variable(reverse_.variable(param.get()), param.get());
      params.emplace_back(var->as<Var>());
    }
    VarRef tape = make_var("tape", LiftedTypes::tape());
    params.push_back(tape);
    VarRef outer = std::exchange(tape_, tape);
    ExprRef body = lift_region(regions_->first_region(id));
    tape_ = outer;
    const auto* type = function.type() == nullptr ? nullptr : function.type()->as<FuncType>();
    const TypeRef result =
        declared(type == nullptr ? nullptr : type->result().get(), function.ret_type());
    return make_function(std::move(params), std::move(body), result, function.type_params(), {},
                         lifted_attrs(function.attrs()), function.span());
  }

  // A kernel's gradient is that of its body, and no kernel: it saves what the way back needs.
  static AttrsRef lifted_attrs(const AttrsRef& attrs) {
    AttrsRef kept = without_result_names(attrs);
    if (dict_attr(kept, "Primitive").is_none()) return kept;
    std::map<Name, AttrValue> values = kept->as<DictAttrs>().values;
    values.erase(Name("Primitive"));
    return values.empty() ? AttrsRef() : make_dict_attrs(std::move(values));
  }

  // A node that is no operator on tensors: the same on lifted values.
  ExprRef lift_node(uint32_t id) {
    const Expr* expr = regions_->expr(id);
    if (expr->is<Call>()) return lift_call(id);
    if (expr->is<If>()) {
      return make_if(reverse_.value_of(reverse_.target(id, 0)),
                     lift_region(regions_->region_of(id, 1)),
                     lift_region(regions_->region_of(id, 2)), expr->span());
    }
    if (const auto* match = expr->as<Match>()) {
      const ExprRef data = operand(id, 0);
      std::vector<PatternRef> patterns;
      std::vector<ExprRef> bodies;
      for (size_t i = 0; i < match->patterns().size(); ++i) {
        patterns.push_back(lift_pattern(*match->patterns()[i]));
        bodies.push_back(lift_region(regions_->region_of(id, i + 1)));
      }
      return make_match(data, std::move(patterns), bodies, match->complete(), expr->span());
    }
    std::vector<ExprRef> operands;
    for (size_t i = 0; i < expr->operands().size(); ++i) operands.push_back(operand(id, i));
    if (expr->is<RefCreate>()) return make_ref_create(operands[0], expr->span());
    if (expr->is<RefRead>()) return make_ref_read(operands[0], expr->span());
    RELAY_CHECK(expr->is<RefWrite>(), "an expression that has no lifted form");
    return make_ref_write(operands[0], operands[1], expr->span());
  }

  ExprRef lift_call(uint32_t id) {
    const auto& call = static_cast<const Call&>(*regions_->expr(id));
    if (call.callee()->is<Op>())
      throw Error(
          "the gradient of a call of an operator wants the rank and dtype of its "
          "arguments",
          call.span());
    std::vector<ExprRef> args;
    for (size_t i = 1; i < call.operands().size(); ++i) args.push_back(operand(id, i));
    std::vector<TypeRef> type_args;
    for (const TypeRef& type : call.type_args()) type_args.push_back(all_.types().lift(type));
    if (const auto* constructor = call.callee()->as<Constructor>()) {
      return make_call(all_.types().constructor(ConstructorRef(constructor)), args, {},
                       std::move(type_args), call.span());
    }
    args.push_back(tape_);
    return make_call(operand(id, 0), args, call.attrs(), std::move(type_args), call.span());
  }

  PatternRef lift_pattern(const Pattern& pattern) {
    std::vector<PatternRef> fields;
    for (const PatternRef& field : pattern.fields()) fields.push_back(lift_pattern(*field));
    switch (pattern.kind()) {
      case PatternKind::kVar: {
        const Var* var = pattern.var().get();
        const ExprRef lifted = lifted_variable(reverse_.variable(var), var);
        return Pattern::var(VarRef(lifted->as<Var>()), pattern.span());
      }
      case PatternKind::kConstructor:
        return Pattern::constructor(all_.types().constructor(pattern.constructor()),
                                    std::move(fields), pattern.span());
      case PatternKind::kTuple:
        return Pattern::tuple(std::move(fields), pattern.span());
      default:
        return Pattern::wildcard(pattern.span());
    }
  }

  Lifting& all_;
  Reverse reverse_;
  const Regions* regions_;
  std::vector<ExprRef> lifted_;
  std::vector<bool> leaves_block_;
  Code* code_ = nullptr;
  VarRef tape_;
  VarRef before_;  // the tape of the last entry
};

}  // namespace

FunctionRef Lifting::lift(const Function& function) {
  return FunctionLifter(*this, function).run();
}

}  // namespace relay::grad

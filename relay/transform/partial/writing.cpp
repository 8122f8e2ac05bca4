// The code that the partial evaluator leaves.
#include <algorithm>
#include <unordered_set>

#include <relay/transform/partial/machine.h>

namespace relay::partial {

void Machine::open_block() {
  blocks_.push_back({static_cast<uint32_t>(open_.size()), {}});
  open_.push_back(true);
}

ExprRef Machine::close_block(ExprRef result) {
  Block& block = blocks_.back();
  for (size_t i = block.lets.size(); i-- > 0;)
    result = make_let(block.lets[i].first, block.lets[i].second, std::move(result));
  open_[block.id] = false;
  blocks_.pop_back();
  return result;
}

Known* Machine::emit(ExprRef value, TypeRef annotation) {
  VarRef var = make_var("t" + std::to_string(written_++), std::move(annotation), value->span());
  blocks_.back().lets.emplace_back(var, std::move(value));
  return values_.unknown(var, blocks_.back().id);
}

bool Machine::can_write(const TypeRef& type) const {
  if (type->closed()) return true;
  if (type->has_incomplete()) return false;
  const std::vector<TypeVarRef> free = free_type_vars(type);
  return std::all_of(free.begin(), free.end(), [&](const TypeVarRef& var) {
    return type_params_.count(var.get()) > 0;
  });
}

bool Machine::has_atom(const Known& value) const {
  return value.atom && (value.block == Known::kEverywhere || open_[value.block]);
}

// True if all closures in it are written. If not, the first one is next.
bool Machine::ready(Known* root) {
  std::vector<Known*> stack{root};
  std::unordered_set<const Known*> seen;
  while (!stack.empty()) {
    Known* value = stack.back();
    stack.pop_back();
    if (has_atom(*value) || !seen.insert(value).second) continue;
    if (value->kind == Known::Kind::kClosure) {
      write_literal(value);
      return false;
    }
    stack.insert(stack.end(), value->fields.begin(), value->fields.end());
  }
  return true;
}

// The expression that stands for a value that is ready; its parts are written first.
ExprRef Machine::atom(Known* root) {
  std::vector<std::pair<Known*, bool>> stack{{root, false}};
  while (!stack.empty()) {
    auto [value, entered] = stack.back();
    stack.pop_back();
    if (has_atom(*value)) continue;
    if (value->kind == Known::Kind::kTensor) {
      value->atom = make_constant(value->tensor);
      value->block = Known::kEverywhere;
      continue;
    }
    if (!entered) {
      stack.emplace_back(value, true);
      for (Known* field : value->fields) stack.emplace_back(field, false);
      continue;
    }
    std::vector<ExprRef> fields;
    for (const Known* field : value->fields) fields.push_back(field->atom);
    ExprRef made = value->kind == Known::Kind::kTuple
                       ? make_tuple(fields)
                       : make_call(ExprRef(value->constructor), fields);
    const Known* written = emit(std::move(made));
    value->atom = written->atom;
    value->block = written->block;
  }
  return root->atom;
}

// A closure is written by what its body becomes on arguments that are not known.
void Machine::write_literal(Known* closure) {
  const Function& function = *closure->function;
  for (const TypeVarRef& param : function.type_params()) type_params_.insert(param.get());
  closure->atom = make_var(closure->name);
  closure->block = blocks_.back().id;
  open_block();
  ++control_;
  Frame frame{function.body().get(), values_.add_scope(closure->scope), Then::kLiteral};
  frame.closure = closure;
  std::vector<Known*> arguments;
  for (const VarRef& param : function.params()) {
    const TypeRef& annotation = param->annotation();
    frame.params.push_back(make_var(
        param->name(), annotation && can_write(annotation) ? annotation : TypeRef(),
        param->span()));
    arguments.push_back(values_.unknown(frame.params.back(), blocks_.back().id));
    frame.scope->variables[param.get()] = arguments.back();
  }
  active_[&function].push_back(activations_.size());
  activations_.push_back({&function, std::move(arguments), control_});
  frame.store.swap(store_);  // nothing is known of cells when it will be called
  frames_.push_back(std::move(frame));
}

void Machine::finish_literal(const ExprRef& result) {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  const Function& function = *frame.closure->function;
  const TypeRef& declared = function.ret_type();
  ExprRef literal = make_function(std::move(frame.params), close_block(result),
                                  declared && can_write(declared) ? declared : TypeRef(),
                                  function.type_params(), {}, function.attrs(), function.span());
  blocks_.back().lets.emplace_back(VarRef(frame.closure->atom->as<Var>()), std::move(literal));
  ++written_;
  active_[&function].pop_back();
  activations_.pop_back();
  --control_;
  store_ = std::move(frame.store);
}

}  // namespace relay::partial

#include <relay/op/op.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include <relay/ir/dim_error.h>
#include <relay/ir/effects.h>
#include <relay/op/registry/batch.h>
#include <relay/op/registry/gradient.h>
#include <relay/op/registry/registration.h>
#include <relay/op/registry/under_name.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>

namespace relay {

namespace {

struct OpRegistry {
  ForkMutex mutex;
  std::deque<Operator> operators;
  std::deque<OpBuilder> builders;
  std::unordered_map<Name, Operator*> by_name;
  // Operators that are derived from others, by the prefix of their names.
  std::unordered_map<const Operator*, Operator*> gradients, batches;

  static OpRegistry& instance() {
    static OpRegistry* registry = new OpRegistry;
    return *registry;
  }
};

// Other spellings that programs use (language.md §1).
Name canonical_name(Name name) {
  static const std::unordered_map<Name, Name> spellings = {
      {"mul", "multiply"}, {"sub", "subtract"}, {"div", "divide"}};
  auto found = spellings.find(name);
  return found == spellings.end() ? name : found->second;
}

te::TensorInfo info_of(const TypeRef& type) {
  const auto* tensor = type->as<TensorType>();
  RELAY_CHECK(tensor != nullptr && tensor->has_rank() && tensor->has_dtype(),
              "a tensor of known rank and dtype is needed, found " + type->str());
  auto dims = tensor->dims();
  return {std::vector<Dim>(dims.begin(), dims.end()), tensor->dtype()};
}

void check_arity(const Operator& op, size_t found) {
  size_t n = op.num_inputs();
  if (found == n) return;
  throw Error(op.name().str() + " takes " + std::to_string(n) +
              (n == 1 ? " argument" : " arguments") + ", found " + std::to_string(found));
}

void flatten(const TypeRef& type, std::vector<te::TensorInfo>& out) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (const TypeRef& field : tuple->fields()) flatten(field, out);
  } else {
    out.push_back(info_of(type));
  }
}

}  // namespace

OpCall::OpCall(const Operator* op, AttrsRef attrs, std::vector<TypeRef> inputs, TypeRef output)
    : op_(op), attrs_(std::move(attrs)), inputs_(std::move(inputs)), output_(std::move(output)) {
  if (!attrs_ && op->attrs_schema() != nullptr) attrs_ = Attrs::make(*op->attrs_schema(), {}, {});
}

te::TensorInfo OpCall::tensor(size_t i) const { return info_of(inputs_[i]); }

te::TensorInfo OpCall::result(size_t k) const {
  const auto* tuple = output_->as<TupleType>();
  return info_of(tuple == nullptr ? output_ : tuple->fields()[k]);
}

size_t OpCall::num_results() const {
  const auto* tuple = output_->as<TupleType>();
  return tuple == nullptr ? 1 : tuple->fields().size();
}

OpBuilder::OpBuilder(Operator* op, Name name) : op_(op) { op_->name_ = name; }
OpBuilder& OpBuilder::doc(std::string text) {
  op_->doc_ = std::move(text);
  return *this;
}
OpBuilder& OpBuilder::input(Name name, std::string doc, ValueSpec spec) {
  op_->inputs_.push_back({name, std::move(doc), spec});
  return *this;
}
OpBuilder& OpBuilder::output(Name name, std::string doc, ValueSpec spec) {
  op_->outputs_.push_back({name, std::move(doc), spec});
  return *this;
}
OpBuilder& OpBuilder::relation(const Relation* relation) {
  RELAY_CHECK(op_->relation_ == nullptr, "operator with two relations: " + op_->name_.str());
  op_->relation_ = relation;
  return *this;
}
OpBuilder& OpBuilder::relation(Relation::Infer infer, Relation::Expect expect) {
  return relation(
      register_relation({op_->name_, Relation::Form::kGeneral, infer,
                         "The relation of operator " + op_->name_.str() + ".", expect}));
}
OpBuilder& OpBuilder::compute(ComputeFn compute) {
  RELAY_CHECK(op_->definition_ == DefinitionKind::kNone,
              "operator with two definitions: " + op_->name_.str());
  op_->definition_ = DefinitionKind::kCompute;
  op_->compute_ = std::move(compute);
  return *this;
}
OpBuilder& OpBuilder::expand(ExpandFn expand) {
  RELAY_CHECK(op_->definition_ == DefinitionKind::kNone,
              "operator with two definitions: " + op_->name_.str());
  op_->definition_ = DefinitionKind::kExpand;
  op_->expand_ = std::move(expand);
  return *this;
}
OpBuilder& OpBuilder::kernel(std::string name,
                             std::function<KernelParams(const OpCall& call)> params) {
  return compute(
      [name = std::move(name), params = std::move(params)](const OpCall& call, te::Builder& b) {
        std::vector<te::Tensor> inputs;
        for (size_t i = 0; i < b.num_inputs(); ++i) inputs.push_back(b.input(i));
        std::vector<te::TensorInfo> results;
        for (size_t k = 0; k < call.num_results(); ++k) results.push_back(call.result(k));
        for (const te::Tensor& tensor : b.library(name, inputs, std::move(results), params(call))) {
          b.output(tensor);
        }
      });
}
OpBuilder& OpBuilder::intrinsic() {
  RELAY_CHECK(op_->definition_ == DefinitionKind::kNone,
              "operator with two definitions: " + op_->name_.str());
  op_->definition_ = DefinitionKind::kIntrinsic;
  return *this;
}
OpBuilder& OpBuilder::level(int level) {
  op_->level_ = level;
  return *this;
}
OpBuilder& OpBuilder::impure() {
  op_->pure_ = false;
  return *this;
}

OpBuilder& OpBuilder::no_data(std::string why) {
  op_->no_data_ = std::move(why);
  return *this;
}

const Operator* find_op(const Name& name) {
  OpRegistry& registry = OpRegistry::instance();
  std::string_view plain = name.view();
  std::vector<bool> prefixes;  // true for a gradient; the outermost first
  size_t order = 0;            // of the derivative
  for (;; plain.remove_prefix(prefixes.back() ? kGradientPrefix.size() : kBatchPrefix.size())) {
    const bool gradient = plain.starts_with(kGradientPrefix);
    if (!gradient && !plain.starts_with(kBatchPrefix)) break;
    order += gradient ? 1 : 0;
    prefixes.push_back(gradient);
  }
  if (order > kMaxGradientOrder || prefixes.size() - order > kMaxBatchDepth) return nullptr;
  std::lock_guard lock(registry.mutex);
  auto found = registry.by_name.find(canonical_name(Name(plain)));
  if (found == registry.by_name.end()) return nullptr;
  const Operator* op = found->second;
  for (; !prefixes.empty(); prefixes.pop_back()) {
    const bool gradient = prefixes.back();
    Operator*& derived = gradient ? registry.gradients[op] : registry.batches[op];
    if (derived == nullptr) {
      derived = &registry.operators.emplace_back();
      const Name its_name(std::string(gradient ? kGradientPrefix : kBatchPrefix) +
                          op->name().str());
      (gradient ? derive_gradient : derive_batch)(
          *op, registry.builders.emplace_back(derived, its_name));
    }
    op = derived;
  }
  return op;
}

const Operator* get_op(std::string_view name) {
  const Operator* op = find_op(name);
  RELAY_CHECK(op != nullptr, "no operator " + std::string(name));
  return op;
}

std::vector<const Operator*> all_ops() {
  OpRegistry& registry = OpRegistry::instance();
  std::lock_guard lock(registry.mutex);
  std::vector<const Operator*> ops;
  for (const auto& [name, op] : registry.by_name) ops.push_back(op);
  std::sort(ops.begin(), ops.end(),
            [](const Operator* a, const Operator* b) { return a->name() < b->name(); });
  return ops;
}

std::vector<const Operator*> impure_ops() {
  OpRegistry& registry = OpRegistry::instance();
  std::lock_guard lock(registry.mutex);
  std::vector<const Operator*> ops;
  for (const auto& [name, op] : registry.by_name) {
    if (!op->pure()) ops.push_back(op);
  }
  return ops;
}

OpBuilder& declare_op(std::string_view name) {
  OpRegistry& registry = OpRegistry::instance();
  std::lock_guard lock(registry.mutex);
  Operator& op = registry.operators.emplace_back();
  if (!registry.by_name.emplace(name, &op).second) {
    registry.operators.pop_back();
    throw Error("operator declared twice: " + std::string(name));
  }
  return registry.builders.emplace_back(&op, name);
}

const Operator* register_op(std::string_view name, const std::function<void(OpBuilder&)>& declare) {
  OpRegistry& registry = OpRegistry::instance();
  auto taken = [&] { return Error("operator declared twice: " + std::string(name)); };
  Operator* op;
  OpBuilder* builder;
  {
    std::lock_guard lock(registry.mutex);
    if (registry.by_name.contains(name)) throw taken();
    op = &registry.operators.emplace_back();
    builder = &registry.builders.emplace_back(op, name);
  }
  auto forget_relation = [&] {
    if (op->relation() != nullptr && op->relation()->name == op->name())
      unregister_relation(op->name());
  };
  try {
    declare(*builder);
  } catch (...) {
    forget_relation();
    throw;
  }
  std::lock_guard lock(registry.mutex);
  if (registry.by_name.emplace(name, op).second) return op;
  forget_relation();
  throw taken();
}

void amend_op(const Operator* op, const std::function<void(OpBuilder&)>& declare) {
  OpRegistry& registry = OpRegistry::instance();
  Operator* mine;
  {
    std::lock_guard lock(registry.mutex);
    auto found = registry.by_name.find(op->name());
    RELAY_CHECK(found != registry.by_name.end() && found->second == op,
                "operator " + op->name().str() + " is not registered");
    mine = found->second;
  }
  if (op->relation() != nullptr && op->relation()->name == op->name())
    unregister_relation(op->name());
  Operator next;
  OpBuilder builder(&next, op->name());
  declare(builder);
  *mine = std::move(next);
}

void remove_op(const Name& name) {
  OpRegistry& registry = OpRegistry::instance();
  std::lock_guard lock(registry.mutex);
  auto found = registry.by_name.find(name);
  RELAY_CHECK(found != registry.by_name.end(), "no operator " + name.str());
  const Relation* relation = found->second->relation();
  if (relation != nullptr && relation->name == name) unregister_relation(name);
  registry.by_name.erase(found);
}

bool is_held(const Operator* op) {
  OpRegistry& registry = OpRegistry::instance();
  std::vector<const Operator*> work{op};
  while (!work.empty()) {
    op = work.back();
    work.pop_back();
    // The table of nodes has one.
    const Expr* node = make_op(op).get();
    if (!node->has_one_owner()) return true;
    std::lock_guard lock(registry.mutex);
    for (const auto* derived : {&registry.gradients, &registry.batches}) {
      auto found = derived->find(op);
      if (found != derived->end() && found->second != nullptr) work.push_back(found->second);
    }
  }
  return false;
}

ExprRef call_op(std::string_view name, std::span<const ExprRef> args, AttrsRef attrs, Span span) {
  const Operator* op = get_op(name);
  check_arity(*op, args.size());
  std::vector<TypeRef> types(args.size());
  bool any = false;
  for (size_t i = 0; i < args.size(); ++i) {
    // All programs share an operator's node. It has a type if one of them was inferred before, and
    // what a call may be made of must not depend on that.
    if (args[i]->type() == nullptr || args[i]->is<Op>()) continue;
    types[i] = TypeRef(args[i]->type());
    any = true;
  }
  if (any) check_signature(*op, types);
  if (!attrs && op->attrs_schema() != nullptr) attrs = Attrs::make(*op->attrs_schema(), {}, span);
  return make_call(make_op(op), args, std::move(attrs), {}, span);
}

std::vector<te::TensorInfo> tensors_in(std::span<const TypeRef> types) {
  std::vector<te::TensorInfo> tensors;
  for (const TypeRef& type : types) flatten(type, tensors);
  return tensors;
}

te::Computation build_computation(const OpCall& call) {
  const Operator* op = call.op();
  RELAY_CHECK(op->definition() == DefinitionKind::kCompute,
              "operator " + op->name().str() + " is not defined by a computation");
  std::vector<te::TensorInfo> inputs;
  for (size_t i = 0; i < call.num_inputs(); ++i) flatten(call.input(i), inputs);
  te::Builder builder(std::move(inputs));
  op->compute()(call, builder);
  return builder.finish();
}

std::string under_name(Name name, std::string message) {
  std::string_view text = name.view();
  bool begins = message.compare(0, text.size(), text) == 0;
  if (begins && message.size() > text.size()) {
    char next = message[text.size()];
    begins = next == ':' || next == ' ';
  }
  return begins ? message : name.str() + ": " + message;
}

TypeRef infer_call_type(const Operator* op, std::span<const TypeRef> inputs, const AttrsRef& attrs,
                        DimSolver* solver, std::function<std::optional<NDArray>(size_t)> values) {
  check_arity(*op, inputs.size());
  AttrsRef defaults;
  if (!attrs && op->attrs_schema() != nullptr) defaults = Attrs::make(*op->attrs_schema(), {}, {});
  check_signature(*op, inputs);
  RelationCall call(inputs, attrs ? attrs : defaults, solver, std::move(values));
  try {
    return op->relation()->infer(call);
  } catch (const DimRangeError&) {
    throw;
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    diagnostics.front().message = under_name(op->name(), diagnostics.front().message);
    throw Error(std::move(diagnostics));
  }
}

namespace {

// Gives `?` a name, because a check needs one: the same names in every call.
TypeRef with_names(const TypeRef& type, size_t& next) {
  static ForkMutex mutex;
  static auto* names = new std::deque<TypeVarRef>;
  if (const auto* tuple = type->as<TupleType>()) {
    std::vector<TypeRef> fields;
    for (const TypeRef& field : tuple->fields()) fields.push_back(with_names(field, next));
    return TupleType::make(std::move(fields));
  }
  const auto* tensor = type->as<TensorType>();
  if (tensor == nullptr) return type;
  std::vector<Dim> dims(tensor->dims().begin(), tensor->dims().end());
  std::lock_guard lock(mutex);
  for (Dim& dim : dims) {
    if (!dim.is_any()) continue;
    while (names->size() <= next)
      names->push_back(TypeVar::make("n" + std::to_string(names->size()), Kind::kShapeVar));
    dim = Dim::symbol((*names)[next++].get());
  }
  return TensorType::make(dims, tensor->dtype());
}

struct AnyCheck final : DimSolver {
  bool unify(Dim a, Dim b) override { return dims_equal(a, b) != Truth::kNo; }
  void check(Dim, Dim, const std::string&) override { found = true; }
  void may_fail(Dim, const std::string&, bool) override { found = true; }
  bool found = false;
};

}  // namespace

bool leaves_checks(const Operator* op, std::span<const TypeRef> inputs, const AttrsRef& attrs) {
  bool open = false;
  for (const TypeRef& input : inputs) open |= input->has_any_dim() || input->has_symbolic_dim();
  if (!open) return false;
  size_t next = 0;
  std::vector<TypeRef> named;
  for (const TypeRef& input : inputs) named.push_back(with_names(input, next));
  AnyCheck solver;
  infer_call_type(op, named, attrs, &solver);
  return solver.found;
}

namespace {
// The layers below print and hash operators and relations by name, and ask for effects.
[[maybe_unused]] const bool names_known = [] {
  name_hooks.op = [](const Operator* op) { return op->name(); };
  name_hooks.relation = [](const Relation* relation) { return relation->name; };
  operator_acts = [](const Operator* op) { return !op->pure(); };
  return true;
}();
}  // namespace

}  // namespace relay

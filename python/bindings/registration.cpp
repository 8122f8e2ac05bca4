// Operators that Python declares: relation, definition and gradient are Python functions.
#include <bindings/arrays.h>
#include <bindings/attrs.h>
#include <bindings/bindings.h>
#include <bindings/callbacks.h>
#include <bindings/computations.h>
#include <bindings/kernels.h>
#include <bindings/registration_calls.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include <nanobind/stl/tuple.h>

#include <relay/infer/infer.h>
#include <relay/ir/dynamic_attrs.h>
#include <relay/ir/rewrite.h>
#include <relay/ir/visit.h>
#include <relay/op/registry/batch.h>
#include <relay/op/registry/gradient.h>
#include <relay/op/registry/registration.h>
#include <relay/support/error.h>

namespace relay::python {

namespace {

// ---- Calling them -------------------------------------------------------------------------------

nb::object call_python(const Callback& function, nb::list positional, const AttrsRef& attrs) {
  nb::tuple args(positional);
  nb::dict keywords = keywords_of(attrs);
  nb::object result = nb::steal(PyObject_Call(function.get().ptr(), args.ptr(), keywords.ptr()));
  if (!result) throw nb::python_error();
  return result;
}

bool has_variables(const TypeRef& type) { return type && type->has_incomplete(); }

// The type that a relation gave is about what it was given.
void check_type(const RelationCall& call, const TypeRef& type) {
  if (type->has_incomplete()) {
    for (size_t i = 0; i < call.num_inputs(); ++i) {
      if (has_variables(call.input(i))) return;
    }
    throw Error("its relation gave " + type->str() + ", in which something is not known");
  }
  std::vector<TypeVarRef> known;
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    std::vector<TypeVarRef> more = free_type_vars(call.input(i));
    known.insert(known.end(), more.begin(), more.end());
  }
  for (const TypeVarRef& var : free_type_vars(type)) {
    if (std::find(known.begin(), known.end(), var) == known.end())
      throw Error("its relation gave " + type->str() + ", and no input speaks of " +
                  var->name().str());
  }
}

TypeRef ask_relation(const Callback& function, const RelationCall& call) {
  nb::gil_scoped_acquire gil;
  TypeRef type;
  run_part("", "its relation", [&] {
    nb::object context = nb::cast(RelationObject{&call});
    struct Answered {
      nb::object& context;
      ~Answered() { nb::inst_ptr<RelationObject>(context)->call = nullptr; }
    } answered{context};
    nb::list args;
    args.append(context);
    for (size_t i = 0; i < call.num_inputs(); ++i) args.append(nb::cast(call.input(i)));
    nb::object result = call_python(function, args, call.attrs_ref());
    if (result.is_none()) return;
    if (!nb::try_cast(result, type))
      throw Error("its relation gave " + class_name_of(result) + ", not a type");
    check_type(call, type);
  });
  if (type) return type;
  for (size_t i = 0; i < call.num_inputs(); ++i) {
    if (has_variables(call.input(i))) return {};  // it waits
  }
  throw Error("its relation gave no type, and there is nothing to wait for: all inputs are known");
}

void compute_call(const Callback& function, const OpCall& call, te::Builder& b) {
  nb::gil_scoped_acquire gil;
  // Compilers ask several times, so that a function that compiles its own call would not end.
  thread_local std::vector<const OpCall*> asked;
  for (const OpCall* outer : asked) {
    if (outer->op() == call.op() && outer->attrs_ref() == call.attrs_ref() &&
        types_of(*outer) == types_of(call))
      throw Error(call.op()->name().str() +
                  ": its compute compiles or runs the very call it is for");
  }
  asked.push_back(&call);
  struct Done {
    ~Done() { asked.pop_back(); }
  } done;
  run_part(call.op()->name().str() + ": ", "its compute", [&] {
    b = te::Builder(compute_in_python(call, [&](nb::object builder, nb::list inputs) {
      nb::list args;
      args.append(builder);
      for (nb::handle input : inputs) args.append(input);
      return call_python(function, args, call.attrs_ref());
    }));
  });
}

// Expansions within expansions end. Each is remembered with how many are around it, by operator and
// attributes; used under the GIL alone.
void check_depth(const OpCall& call, const ExprRef& expansion) {
  constexpr int kMaxDepth = 100;
  using Key = std::pair<const Operator*, AttrsRef>;
  struct Before {
    bool operator()(const Key& a, const Key& b) const {
      return std::pair(a.first, a.second.get()) < std::pair(b.first, b.second.get());
    }
  };
  static auto* depths = new std::map<Key, int, Before>;
  std::string name = call.op()->name().str();
  auto found = depths->find({call.op(), call.attrs_ref()});
  int depth = (found == depths->end() ? 0 : found->second) + 1;
  if (depth > kMaxDepth)
    throw Error(name + ": its expansion goes on without end: there are " +
                std::to_string(kMaxDepth) + " around it");
  post_order(expansion.get(), [&](const Expr* expr) {
    const auto* inner = expr->as<Call>();
    const auto* node = inner == nullptr ? nullptr : inner->callee()->as<Op>();
    if (node == nullptr || node->op()->definition() != DefinitionKind::kExpand) return;
    if (node->op() == call.op() && inner->attrs() == call.attrs_ref())
      throw Error(name + ": its expansion calls the operator itself with the same attributes");
    int& known = (*depths)[{node->op(), inner->attrs()}];
    known = std::max(known, depth);
  });
}

// An expansion with variables for the arguments, so that its type can be inferred by itself.
class WithoutArguments final : public Rewriter {
 public:
  WithoutArguments(const OpCall& call, std::span<const ExprRef> args) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (!args[i]->is<Constant>()) variables_.emplace(args[i].get(), make_var("x", call.input(i)));
    }
  }

 private:
  ExprRef enter(const Expr* expr) override {
    auto found = variables_.find(expr);
    if (found != variables_.end()) return found->second;
    // A part of an argument, of which the function made something else.
    if (!expr->is<Var>() || expr->type() == nullptr) return {};
    return variables_.emplace(expr, make_var("x", TypeRef(expr->type()))).first->second;
  }

  std::unordered_map<const Expr*, ExprRef> variables_;
};

bool agree(const TypeRef& type, const TypeRef& wanted) {
  if (const auto* tuple = wanted->as<TupleType>()) {
    const auto* given = type->as<TupleType>();
    return given != nullptr && std::equal(given->fields().begin(), given->fields().end(),
                                          tuple->fields().begin(), tuple->fields().end(), agree);
  }
  const auto* tensor = wanted->as<TensorType>();
  const auto* given = type->as<TensorType>();
  if (tensor == nullptr || given == nullptr) return type == wanted;
  if (!(given->dtype_type() == tensor->dtype_type())) return false;
  if (!given->has_rank() || !tensor->has_rank()) return true;
  return std::equal(given->dims().begin(), given->dims().end(), tensor->dims().begin(),
                    tensor->dims().end(),
                    [](Dim a, Dim b) { return dims_equal(a, b) != Truth::kNo; });
}

// Compares what a function wrote with what the relation said.
void check_type(const OpCall& call, const ExprRef& expansion, std::span<const ExprRef> args) {
  TypeRef type = infer_expr_type(WithoutArguments(call, args).run(expansion), Module());
  if (agree(type, call.output())) return;
  throw Error(call.op()->name().str() + ": its expansion gives " + type->str() + ", its relation " +
              call.output()->str());
}

ExprRef expand_call(const Callback& function, const OpCall& call, std::span<const ExprRef> args) {
  nb::gil_scoped_acquire gil;
  ExprRef expansion;
  run_part(call.op()->name().str() + ": ", "its expansion", [&] {
    nb::list positional;
    positional.append(nb::cast(CallObject{call}));
    for (const ExprRef& arg : args) positional.append(nb::cast(arg));
    nb::object result = call_python(function, positional, call.attrs_ref());
    if (result.is_none())
      throw Error(call.op()->name().str() + ": its expansion gave None, not an expression");
    expansion = expr_of(result);
    check_depth(call, expansion);
    check_type(call, expansion, args);
  });
  return expansion;
}

bool is_of_floats(const TypeRef& type) { return gradient_type({&type, 1}) != nullptr; }

std::vector<ExprRef> gradient_of(const Callback& function, const GradientCall& call) {
  nb::gil_scoped_acquire gil;
  const Operator& op = *call.call.op();
  std::vector<ExprRef> gradients(op.num_inputs());
  run_part(op.name().str() + ": ", "its gradient", [&] {
    nb::list positional;
    positional.append(
        nb::cast(GradientObject{call.call, {call.args.begin(), call.args.end()}, call.result}));
    for (const ExprRef& gradient : call.gradients)
      positional.append(gradient ? nb::cast(gradient) : nb::none());
    nb::object result = call_python(function, positional, {});
    std::vector<nb::object> items;
    if (PyTuple_Check(result.ptr()) || PyList_Check(result.ptr())) {
      for (nb::handle item : nb::iter(result)) items.push_back(nb::borrow(item));
    } else {
      items.push_back(result);
    }
    if (items.size() != op.num_inputs())
      throw Error(op.name().str() + ": its gradient gave " + std::to_string(items.size()) +
                  " expressions for " + std::to_string(op.num_inputs()) + " inputs");
    for (size_t i = 0; i < items.size(); ++i) {
      if (!is_of_floats(call.call.input(i))) continue;  // whatever was given for it
      if (items[i].is_none())
        throw Error(op.name().str() + ": its gradient gave None for " + op.inputs()[i].name.str() +
                    ", which is of floats");
      gradients[i] = expr_of(items[i]);
    }
  });
  return gradients;
}

// ---- Declarations -------------------------------------------------------------------------------

/// Name, documentation, role, dtype variable, dtypes, least and greatest rank (-1: any).
using Spec = std::tuple<std::string, std::string, std::string, std::string, std::string, int, int>;

ValueSpec spec_of(const Spec& spec) {
  const auto& [name, doc, role, variable, dtypes, least, most] = spec;
  if (role == "value") return any_value();
  if (role == "unstated") return {};
  DTypes set = dtypes.empty() ? kAnyDType : DTypes::parse(dtypes);
  if (set.empty()) {
    throw nb::value_error((name + ": there is no class of dtypes \"" + dtypes +
                           "\"; write any, number, float, integer, bool, or dtypes with | between")
                              .c_str());
  }
  ValueSpec made = variable.empty() ? tensor(set) : tensor(variable[0], set);
  made = made.rank(least, most < 0 ? kAnyRank : most);
  if (role == "tuple") return tuple_of(made);
  if (role == "constant") return made.known();
  return made;
}

AttrKind kind_of(const std::string& word) {
  for (int i = 0; i <= static_cast<int>(AttrKind::kPerAxis); ++i) {
    if (attr_kind_name(static_cast<AttrKind>(i)) == word) return static_cast<AttrKind>(i);
  }
  throw nb::value_error(("there is no kind of attribute \"" + word + "\"").c_str());
}

/// Name, documentation, type, kind, words with what they say, whether there is a default, it.
using AttrSpec = std::tuple<std::string, std::string, std::string, std::string,
                            std::vector<std::pair<std::string, std::string>>, bool, nb::object>;

const DynamicSchema* schema_of(Name name, const std::vector<AttrSpec>& specs) {
  if (specs.empty()) return nullptr;
  std::vector<DynamicAttr> attrs;
  for (const auto& [attr, doc, type, kind, words, has_default, otherwise] : specs) {
    DynamicAttr made{attr, doc, type, kind_of(kind), words, std::nullopt};
    if (has_default) {
      made.otherwise = attr_value_of(otherwise);
      if (!made.otherwise)
        throw nb::type_error(
            ("attribute " + attr + " cannot be " + nb::cast<std::string>(nb::repr(otherwise)))
                .c_str());
    }
    attrs.push_back(std::move(made));
  }
  return &make_dynamic_schema(name, std::move(attrs));
}

const Relation* shared_relation(const std::string& name, const AttrsSchema* schema) {
  const Relation* relation = find_relation(Name(name));
  if (relation == nullptr || relation->form == Relation::Form::kDType)
    throw nb::value_error(("there is no relation " + name).c_str());
  const Operator* owner = find_op(Name(name));
  if (owner != nullptr && owner->attrs_schema() != nullptr && owner->attrs_schema() != schema)
    throw nb::value_error(
        ("the relation " + name + " is of an operator with attributes of its own").c_str());
  return relation;
}

/// The gradients of a typed call's inputs, as programs would have them.
std::vector<std::optional<ExprRef>> gradients(const Ref<const Call>& call,
                                              const std::vector<std::optional<ExprRef>>& given) {
  const auto* node = call->callee()->as<Op>();
  if (node == nullptr) throw nb::type_error("a call of an operator is wanted");
  std::vector<TypeRef> types;
  bool typed = call->type() != nullptr;
  for (const ExprRef& arg : call->args()) {
    typed = typed && arg->type() != nullptr;
    if (typed) types.emplace_back(arg->type());
  }
  if (!typed) throw nb::value_error("the call has no types yet: check it first");
  OpCall use(node->op(), call->attrs(), std::move(types), TypeRef(call->type()));
  std::vector<TypeRef> results{use.output()};
  size_t tensors = tensors_in(results).size();
  if (given.size() != tensors)
    throw nb::value_error(("the result is " + std::to_string(tensors) + " tensors, and there are " +
                           std::to_string(given.size()) + " gradients")
                              .c_str());
  std::vector<ExprRef> args(call->args().begin(), call->args().end());
  std::vector<ExprRef> of_results;
  for (const std::optional<ExprRef>& one : given) of_results.push_back(one.value_or(ExprRef()));
  ExprRef result = call;
  std::vector<std::optional<ExprRef>> found;
  for (ExprRef& one : gradients_of({use, args, result, of_results}))
    found.push_back(one ? std::optional(std::move(one)) : std::nullopt);
  return found;
}

/// The functions of operators that Python declared, to be let go of when nothing can call them.
struct Functions {
  std::map<const Operator*, std::vector<Callback>> declared;
  std::map<const Operator*, std::vector<Callback>> removed;  // but perhaps held by programs
  static Functions& instance() {                             // used under the GIL alone
    static auto* all = new Functions;
    return *all;
  }

  void free_removed() {
    std::vector<Callback> done;
    for (auto at = removed.begin(); at != removed.end();) {
      if (is_held(at->first)) {
        ++at;
        continue;
      }
      done.insert(done.end(), at->second.begin(), at->second.end());
      at = removed.erase(at);
    }
    // Objects that they refer to may end with them, and declare or remove others.
    for (const Callback& function : done) function.drop();
  }
};

ExprRef register_from_python(const std::string& name, const std::string& doc,
                             const std::vector<Spec>& inputs, const std::vector<Spec>& outputs,
                             const std::string& schema_name, const std::vector<AttrSpec>& attrs,
                             nb::object relation, const std::string& definition,
                             nb::object function, bool wants_out, nb::object gradient, int level,
                             bool pure) {
  const DynamicSchema* schema = schema_of(Name(schema_name), attrs);
  std::vector<Callback> functions;
  auto keep = [&](const nb::object& callable) {
    functions.emplace_back(callable);
    return functions.back();
  };
  const Operator* op = register_op(name, [&](OpBuilder& builder) {
    builder.doc(doc).level(level).attrs(schema);
    for (const Spec& input : inputs)
      builder.input(Name(std::get<0>(input)), std::get<1>(input), spec_of(input));
    for (const Spec& output : outputs)
      builder.output(Name(std::get<0>(output)), std::get<1>(output), spec_of(output));
    if (!pure) builder.impure();
    if (nb::isinstance<nb::str>(relation)) {
      builder.relation(shared_relation(nb::cast<std::string>(relation), schema));
    } else {
      builder.relation(
          [call = keep(relation)](const RelationCall& use) { return ask_relation(call, use); });
    }
    Callback defined = keep(function);
    if (definition == "compute") {
      builder.compute(
          [defined](const OpCall& call, te::Builder& b) { compute_call(defined, call, b); });
    } else if (definition == "expand") {
      builder.expand([defined](const OpCall& call, std::span<const ExprRef> args) {
        return expand_call(defined, call, args);
      });
    } else {
      builder.compute([defined, wants_out](const OpCall& call, te::Builder& b) {
        call_python_kernel(defined, wants_out, call, b);
      });
    }
    if (nb::isinstance<nb::str>(gradient)) {
      builder.no_gradient(nb::cast<std::string>(gradient));
    } else if (!gradient.is_none()) {
      builder.gradient(
          [rule = keep(gradient)](const GradientCall& call) { return gradient_of(rule, call); });
    } else if (definition == "kernel") {
      builder.no_gradient("its kernel is a Python function, and it was declared without gradient");
    }
  });
  Functions::instance().declared.emplace(op, std::move(functions));
  return make_op(op);
}

/// An operator that a script declares bit by bit; without a compute function its definition stays.
void amend_from_python(nb::handle which, const std::string& doc, const std::vector<Spec>& inputs,
                       const std::optional<Name>& attrs_type, nb::object relation, int level,
                       bool pure, nb::object definition) {
  const Operator* op = operator_of(which);
  Functions& functions = Functions::instance();
  if (!functions.declared.contains(op))
    throw nb::value_error((op->name().str() + " was not declared by Python").c_str());
  const AttrsSchema* schema = attrs_type ? schema_of_type(*attrs_type) : nullptr;
  const Relation* shared = nb::isinstance<nb::str>(relation)
                               ? shared_relation(nb::cast<std::string>(relation), schema)
                               : nullptr;
  std::vector<ValueSpec> specs;
  for (const Spec& input : inputs) specs.push_back(spec_of(input));
  ComputeFn compute = op->compute();
  if (!definition.is_none()) {
    Callback defined(definition);
    functions.declared[op].push_back(defined);
    compute = [defined](const OpCall& call, te::Builder& b) { compute_call(defined, call, b); };
  }
  amend_op(op, [&](OpBuilder& builder) {
    builder.doc(doc).level(level).attrs(schema).compute(std::move(compute));
    for (size_t i = 0; i < inputs.size(); ++i)
      builder.input(Name(std::get<0>(inputs[i])), std::get<1>(inputs[i]), specs[i]);
    if (!pure) builder.impure();
    if (shared != nullptr) {
      builder.relation(shared);
    } else {
      Callback call(relation);
      functions.declared[op].push_back(call);
      builder.relation([call](const RelationCall& use) { return ask_relation(call, use); });
    }
  });
}

}  // namespace

void bind_registration(nb::module_& m) {
  bind_calls(m);
  m.def("register_op", &register_from_python, nb::arg("name"), nb::arg("doc"), nb::arg("inputs"),
        nb::arg("outputs"), nb::arg("schema_name"), nb::arg("attrs"), nb::arg("relation"),
        nb::arg("definition"), nb::arg("function"), nb::arg("wants_out"),
        nb::arg("gradient").none(), nb::arg("level"), nb::arg("pure"),
        "Declares an operator; relay.op.register is the public form.");
  m.def("amend_op", &amend_from_python, nb::arg("op"), nb::arg("doc"), nb::arg("inputs"),
        nb::arg("attrs_type").none(), nb::arg("relation"), nb::arg("level"), nb::arg("pure"),
        nb::arg("compute").none(),
        "Declares an operator of Python's anew, in place: all but its definition where no compute "
        "function is given.");
  m.def(
      "set_gradient",
      [](nb::handle which, nb::object function, int level) {
        const Operator* op = operator_of(which);
        gradient_column().set(op,
                              {[rule = Callback(function)](const GradientCall& call) {
                                 return gradient_of(rule, call);
                               },
                               {}},
                              level);
      },
      nb::arg("op"), nb::arg("function"), nb::arg("level"),
      "Gives an operator a rule for its gradient; those of the library have level 10.");
  m.def(
      "unregister_op",
      [](const Name& name) {
        const Operator* op = find_op(name);
        if (op == nullptr || !(op->name() == name) || is_gradient_name(name) || is_batch_name(name))
          throw nb::key_error(("there is no operator " + name.str()).c_str());
        remove_op(name);
        Functions& functions = Functions::instance();
        auto declared = functions.declared.find(op);
        if (declared != functions.declared.end())
          functions.removed.insert(functions.declared.extract(declared));
      },
      nb::arg("name"));
  m.def(
      "free_removed_ops", [] { Functions::instance().free_removed(); },
      "Lets go of the functions of operators that were unregistered and that nothing refers to.");
  m.def("gradients", &gradients, nb::arg("call"), nb::arg("gradients"));
  m.def("relation_names", &relation_names, "The names of all relations.");
  m.def("drop_callbacks", &drop_callbacks);
}

}  // namespace relay::python

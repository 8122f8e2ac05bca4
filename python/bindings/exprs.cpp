// Expressions: construction and fields.
#include <bindings/arrays.h>
#include <bindings/attrs.h>
#include <bindings/bindings.h>
#include <bindings/numbers.h>

#include <relay/ir/constructor_tags.h>
#include <relay/ir/equal.h>
#include <relay/op/op.h>
#include <relay/print/print.h>

namespace relay::python {

const std::type_info* class_of(const Expr* object) {
  switch (object->kind()) {
#define RELAY_NODE(Kind, doc, operands, fields) \
  case ExprKind::k##Kind:                       \
    return &typeid(Kind);
#include <relay/ir/nodes.def>
  }
  RELAY_UNREACHABLE("unknown node kind");
}

bool expr_in(nb::handle object, ExprRef& expr) noexcept {
  try {
    static PyObject* const name = PyUnicode_InternFromString("_as_expr");
    // Looked up in the class, so that no __getattr__ of a stranger runs.
    nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())));
    if (!PyObject_HasAttr(type.ptr(), name)) return false;
    nb::object inner = object.attr(nb::handle(name))();
    void* found = nullptr;
    if (!nb::detail::nb_type_get(&typeid(Expr), inner.ptr(), 0, nullptr, &found)) return false;
    expr = ExprRef(static_cast<const Expr*>(found));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

namespace {

using Exprs = nb::typed<nb::sequence, ExprRef>;

/// The expressions of a sequence, `what` of a new `node`. Raises TypeError for the first element
/// that is none.
std::vector<ExprRef> exprs_of(const Exprs& sequence, std::string_view node, std::string_view what) {
  std::vector<ExprRef> exprs;
  exprs.reserve(nb::len(sequence));
  for (nb::handle element : sequence) {
    ExprRef& expr = exprs.emplace_back();
    if (nb::try_cast(element, expr)) continue;
    std::string text = std::string(what) + "[" + std::to_string(exprs.size() - 1) + "] of a " +
                       std::string(node) + " is " + shown(element) + ", which is not an expression";
    if (is_plain(element)) text += "; relay.const makes one of it";
    throw nb::type_error(text.c_str());
  }
  return exprs;
}

uint32_t projection_index(int64_t index) {
  if (index < 0 || index > std::numeric_limits<uint32_t>::max()) {
    throw nb::value_error(
        ("the index of a TupleGetItem is " + std::to_string(index) + "; fields are counted from 0")
            .c_str());
  }
  return static_cast<uint32_t>(index);
}

/// One clause of a match.
struct Clause {
  PatternRef lhs;
  ExprRef rhs;
};

using Optional = std::optional<TypeRef>;
TypeRef given(const Optional& type) { return type ? *type : TypeRef(); }
AttrsRef attrs_of(nb::handle object) {
  if (object.is_none()) return {};
  if (nb::isinstance<nb::dict>(object)) return dict_attrs_of(nb::borrow<nb::dict>(object));
  return required<AttrsRef>(object, "attrs is a dictionary, Attrs or None");
}

/// Attributes of a call: an operator's are its own.
AttrsRef call_attrs(const Expr& callee, nb::handle object) {
  const auto* node = callee.as<Op>();
  if (node == nullptr || object.is_none()) return attrs_of(object);
  const Operator* op = node->op();
  if (nb::isinstance<nb::dict>(object)) return op_attrs(op, object);
  AttrsRef attrs = required<AttrsRef>(object, "attrs is a dictionary, Attrs or None");
  const AttrsSchema* wanted = op->attrs_schema();
  if (wanted != nullptr && &attrs->schema() == wanted) return attrs;
  std::string takes = wanted == nullptr ? "no attributes" : wanted->name.str();
  throw nb::type_error(
      (op->name().str() + " takes " + takes + ", not " + attrs->schema().name.str()).c_str());
}

LiteralValue literal_of(nb::handle number) {
  LiteralValue value;
  nb::object text = nb::str(number);
  if (PyLong_Check(number.ptr())) {
    nb::object magnitude = nb::steal(PyNumber_Absolute(number.ptr()));
    value.magnitude = PyLong_AsUnsignedLongLong(magnitude.ptr());
    if (PyErr_Occurred()) {
      PyErr_Clear();
      PyErr_SetString(PyExc_OverflowError, ("no dtype has the integer " + shown(number)).c_str());
      throw nb::python_error();
    }
    value.negative = PyObject_RichCompareBool(number.ptr(), nb::int_(0).ptr(), Py_LT) == 1;
    text = nb::str(magnitude);
  } else {
    value.is_float = true;
    value.number = required<double>(number, "a literal is a number");
    text = nb::repr(nb::float_(value.number));
    if (std::signbit(value.number) && value.number == value.number) {
      value.negative = true;
      value.number = -value.number;
      text = nb::repr(nb::float_(value.number));
    }
  }
  value.text = nb::cast<Name>(text);
  return value;
}

}  // namespace

void bind_exprs(nb::module_& m) {
  nb::class_<Expr>(m, "Expr", "An expression. Immutable and shared: a program is a graph.",
                   nb::is_weak_referenceable())
      .def_prop_ro("span", &Expr::span, "Its place in source text.")
      .def_prop_ro("kind_name", [](const Expr& self) { return expr_kind_name(self.kind()); })
      .def_prop_ro(
          "operands", [](const Expr& self) { return list(self.operands()); },
          "All child expressions, in the order in which they are visited.")
      .def_prop_ro(
          "checked_type",
          [](const Expr& self) {
            if (self.type() == nullptr)
              throw nb::value_error(
                  "this expression has no type yet: checked_type is there after InferType, or "
                  "relay.check");
            return TypeRef(self.type());
          },
          "The type that inference found. Raises ValueError before there is one.")
      .def_prop_ro(
          "type", [](const Expr& self) { return TypeRef(self.type()); },
          "The same; None before there is one.")
      .def(
          "__copy__", [](ExprRef self) { return self; }, "Expressions are immutable: the same one.")
      .def(
          "__deepcopy__", [](ExprRef self, nb::handle) { return self; }, nb::arg("memo"))
      .def(
          "same_as",
          [](const Expr& self, nb::handle other) {
            ExprRef expr;
            if (!nb::try_cast(other, expr)) return false;
            const auto *global = self.as<GlobalVar>(), *same = expr->as<GlobalVar>();
            return expr.get() == &self ||
                   (global != nullptr && same != nullptr && global->name() == same->name());
          },
          nb::arg("other").none(),
          "True for the same object, and for global names that are spelled alike.")
      .def("__repr__", [](const Expr& self) {
        PrintOptions options;
        options.version_line = false;
        options.show_types = true;
        options.show_metadata = false;
        try {
          return print_expr(&self, options);
        } catch (const Error& error) {  // too deep
          return "<" + std::string(expr_kind_name(self.kind())) + ": " + error.what() + ">";
        }
      });

  nb::class_<Var, Expr>(m, "Var", "A local variable; identity is the object.")
      .def(nb::new_([](Name name_hint, Optional annotation, std::optional<Span> span) {
             return make_var(name_hint, given(annotation), span.value_or(Span()));
           }),
           nb::arg("name_hint"), nb::arg("type_annotation") = nb::none(),
           nb::arg("span") = nb::none())
      .def_prop_ro("name_hint", &Var::name)
      .def_prop_ro("type_annotation", &Var::annotation);
  nb::class_<GlobalVar, Expr>(m, "GlobalVar", "A reference to a global function, by name.")
      .def(nb::new_([](Name name_hint, nb::handle, std::optional<Span> span) {
             return make_global_var(name_hint, span.value_or(Span()));
           }),
           nb::arg("name_hint"), nb::arg("type_annot") = nb::none(), nb::arg("span") = nb::none(),
           "By name; the type is that of the function in its module.")
      .def_prop_ro("name_hint", &GlobalVar::name)
      .def(
          "__eq__",
          [](const GlobalVar& self, nb::handle other) {
            ExprRef expr;
            const GlobalVar* var = nb::try_cast(other, expr) ? expr->as<GlobalVar>() : nullptr;
            return var != nullptr && var->name() == self.name();
          },
          nb::arg("other").none())
      .def("__hash__", [](const GlobalVar& self) { return self.name().hash(); });
  nb::class_<Constant, Expr>(m, "Constant", "A tensor value.")
      .def(nb::new_([](nb::handle data, std::optional<Span> span) {
             try {
               return make_constant(array_of(data), span.value_or(Span()));
             } catch (const Refusal& refusal) {
               refusal.raise();
             }
           }),
           nb::arg("data"), nb::arg("span") = nb::none(),
           "From a tensor, an array of NumPy or of anyone who speaks DLPack, or numbers.")
      .def_prop_ro("data", &Constant::data);
  nb::class_<Literal, Expr>(m, "Literal", "A number whose dtype its context decides.")
      .def(nb::new_([](nb::handle value, std::optional<Span> span) {
             return make_literal(literal_of(value), span.value_or(Span()));
           }),
           nb::arg("value"), nb::arg("span") = nb::none())
      .def_prop_ro("value", [](const Literal& self) -> nb::object {
        const LiteralValue& value = self.value();
        if (value.is_float) return nb::float_(value.negative ? -value.number : value.number);
        nb::object number = nb::int_(value.magnitude);
        return value.negative ? nb::object(-number) : number;
      });
  nb::class_<Tuple, Expr>(m, "Tuple", "A tuple of expressions.")
      .def(nb::new_([](const Exprs& fields, std::optional<Span> span) {
             return make_tuple(exprs_of(fields, "Tuple", "fields"), span.value_or(Span()));
           }),
           nb::arg("fields"), nb::arg("span") = nb::none())
      .def_prop_ro("fields", [](const Tuple& self) { return list(self.fields()); })
      .def("__len__", [](const Tuple& self) { return self.fields().size(); })
      .def("__getitem__", [](const Tuple& self, int64_t index) {
        auto size = static_cast<int64_t>(self.fields().size());
        if (index < -size || index >= size) throw nb::index_error("tuple index out of range");
        return self.fields()[static_cast<size_t>(index < 0 ? index + size : index)];
      });
  nb::class_<TupleGetItem, Expr>(m, "TupleGetItem", "Projection out of a tuple.")
      .def(nb::new_([](ExprRef tuple_value, int64_t index, std::optional<Span> span) {
             return make_projection(std::move(tuple_value), projection_index(index),
                                    span.value_or(Span()));
           }),
           nb::arg("tuple_value"), nb::arg("index"), nb::arg("span") = nb::none())
      .def_prop_ro("tuple_value", [](const TupleGetItem& self) { return self.tuple(); })
      .def_prop_ro("index", [](const TupleGetItem& self) { return self.index(); });
  nb::class_<Call, Expr>(m, "Call", "A call of an operator, constructor, global or closure.")
      .def(nb::new_([](ExprRef op, const Exprs& args, nb::handle attrs,
                       std::optional<std::vector<TypeRef>> type_args, std::optional<Span> span) {
             AttrsRef made = call_attrs(*op, attrs);
             // Operators have no type parameters; scripts of TVM hand on the types of their
             // arguments.
             const bool generic = type_args && !op->is<Op>();
             return make_call(std::move(op), exprs_of(args, "Call", "args"), std::move(made),
                              generic ? std::move(*type_args) : std::vector<TypeRef>(),
                              span.value_or(Span()));
           }),
           nb::arg("op"), nb::arg("args"), nb::arg("attrs") = nb::none(),
           nb::arg("type_args") = nb::none(), nb::arg("span") = nb::none())
      .def_prop_ro("op", [](const Call& self) { return self.callee(); })
      .def_prop_ro("args", [](const Call& self) { return list(self.args()); })
      .def_prop_ro("attrs", &Call::attrs)
      .def_prop_ro("type_args", [](const Call& self) { return list(self.type_args()); });
  nb::class_<Function, Expr>(m, "Function", "A function literal.")
      .def(nb::new_([](std::vector<VarRef> params, ExprRef body, Optional ret_type,
                       std::optional<std::vector<TypeVarRef>> type_params, nb::handle attrs,
                       std::optional<Span> span, std::vector<RelationTypeRef> type_constraints) {
             return make_function(std::move(params), std::move(body), given(ret_type),
                                  type_params ? std::move(*type_params) : std::vector<TypeVarRef>(),
                                  std::move(type_constraints), attrs_of(attrs),
                                  span.value_or(Span()));
           }),
           nb::arg("params"), nb::arg("body"), nb::arg("ret_type") = nb::none(),
           nb::arg("type_params") = nb::none(), nb::arg("attrs") = nb::none(),
           nb::arg("span") = nb::none(), nb::arg("type_constraints") = nb::list())
      .def_prop_ro("type_constraints",
                   [](const Function& self) { return list(self.constraints()); })
      .def_prop_ro("params", [](const Function& self) { return list(self.params()); })
      .def_prop_ro("body", [](const Function& self) { return self.body(); })
      .def_prop_ro("ret_type", &Function::ret_type)
      .def_prop_ro("type_params", [](const Function& self) { return list(self.type_params()); })
      .def_prop_ro("attrs", &Function::attrs)
      .def(
          "with_body",
          [](const FunctionRef& self, ExprRef body, std::optional<std::vector<VarRef>> params) {
            return params ? with_body(self, std::move(*params), std::move(body))
                          : with_body(self, std::move(body));
          },
          nb::arg("body"), nb::arg("params") = nb::none(),
          "The function with another body, and other parameters where these are given. Result "
          "type, "
          "type parameters, relations, attributes and span stay; the same function if nothing "
          "changes.");
  nb::class_<Let, Expr>(m, "Let", "Binds a variable to a value in a body.")
      .def(nb::new_([](VarRef variable, ExprRef value, ExprRef body, std::optional<Span> span) {
             return make_let(std::move(variable), std::move(value), std::move(body),
                             span.value_or(Span()));
           }),
           nb::arg("variable"), nb::arg("value"), nb::arg("body"), nb::arg("span") = nb::none())
      .def_prop_ro("var", &Let::var)
      .def_prop_ro("value", [](const Let& self) { return self.value(); })
      .def_prop_ro("body", [](const Let& self) { return self.body(); });
  nb::class_<If, Expr>(m, "If", "A choice on a rank-0 bool.")
      .def(nb::new_([](ExprRef cond, ExprRef true_branch, ExprRef false_branch,
                       std::optional<Span> span) {
             return make_if(std::move(cond), std::move(true_branch), std::move(false_branch),
                            span.value_or(Span()));
           }),
           nb::arg("cond"), nb::arg("true_branch"), nb::arg("false_branch"),
           nb::arg("span") = nb::none())
      .def_prop_ro("cond", [](const If& self) { return self.condition(); })
      .def_prop_ro("true_branch", [](const If& self) { return self.then_branch(); })
      .def_prop_ro("false_branch", [](const If& self) { return self.else_branch(); });
  nb::class_<Clause>(m, "Clause", "One clause of a match.")
      .def(
          "__init__",
          [](Clause* place, PatternRef lhs, ExprRef rhs) {
            new (place) Clause{std::move(lhs), std::move(rhs)};
          },
          nb::arg("lhs"), nb::arg("rhs"))
      .def_ro("lhs", &Clause::lhs)
      .def_ro("rhs", &Clause::rhs);
  nb::class_<Match, Expr>(m, "Match",
                          "Deconstruction of a data value by the first clause that fits.")
      .def(nb::new_([](ExprRef data, const std::vector<Clause>& clauses, bool complete,
                       std::optional<Span> span) {
             std::vector<PatternRef> patterns;
             std::vector<ExprRef> bodies;
             for (const Clause& clause : clauses) {
               patterns.push_back(clause.lhs);
               bodies.push_back(clause.rhs);
             }
             return make_match(std::move(data), std::move(patterns), bodies, complete,
                               span.value_or(Span()));
           }),
           nb::arg("data"), nb::arg("clauses"), nb::arg("complete") = true,
           nb::arg("span") = nb::none())
      .def_prop_ro("data", [](const Match& self) { return self.data(); })
      .def_prop_ro("clauses",
                   [](const Match& self) {
                     std::vector<Clause> clauses;
                     for (size_t i = 0; i < self.patterns().size(); ++i)
                       clauses.push_back({self.patterns()[i], self.clause_bodies()[i]});
                     return clauses;
                   })
      .def_prop_ro("complete", [](const Match& self) { return self.complete(); });
  nb::class_<Constructor, Expr>(m, "Constructor", "A constructor of a data type.")
      .def(nb::new_([](Name name_hint, std::vector<TypeRef> inputs, GlobalTypeVarRef belong_to,
                       std::optional<uint32_t> tag, std::optional<Span> span) {
             return make_constructor(name_hint, belong_to, tag.value_or(kUnnumbered),
                                     std::move(inputs), span.value_or(Span()));
           }),
           nb::arg("name_hint"), nb::arg("inputs"), nb::arg("belong_to"),
           nb::arg("tag") = nb::none(), nb::arg("span") = nb::none())
      .def_prop_ro("name_hint", &Constructor::name)
      .def_prop_ro("inputs", [](const Constructor& self) { return list(self.inputs()); })
      .def_prop_ro("belong_to", &Constructor::type_name)
      .def_prop_ro(
          "tag",
          [](const Constructor& self) {
            uint32_t tag = self.ctor_tag();
            return tag == kUnnumbered ? std::optional<uint32_t>() : std::optional<uint32_t>(tag);
          },
          "Its place among the constructors of its data type; None before that is made.");
  nb::class_<RefCreate, Expr>(m, "RefCreate", "A new mutable cell.")
      .def(nb::new_([](ExprRef value, std::optional<Span> span) {
             return make_ref_create(std::move(value), span.value_or(Span()));
           }),
           nb::arg("value"), nb::arg("span") = nb::none())
      .def_prop_ro("value", [](const RefCreate& self) { return self.value(); });
  nb::class_<RefRead, Expr>(m, "RefRead", "The content of a cell.")
      .def(nb::new_([](ExprRef ref, std::optional<Span> span) {
             return make_ref_read(std::move(ref), span.value_or(Span()));
           }),
           nb::arg("ref"), nb::arg("span") = nb::none())
      .def_prop_ro("ref", [](const RefRead& self) { return self.ref(); });
  nb::class_<RefWrite, Expr>(m, "RefWrite", "Replaces the content of a cell; gives ().")
      .def(nb::new_([](ExprRef ref, ExprRef value, std::optional<Span> span) {
             return make_ref_write(std::move(ref), std::move(value), span.value_or(Span()));
           }),
           nb::arg("ref"), nb::arg("value"), nb::arg("span") = nb::none())
      .def_prop_ro("ref", [](const RefWrite& self) { return self.ref(); })
      .def_prop_ro("value", [](const RefWrite& self) { return self.value(); });
  nb::class_<Op, Expr>(m, "Op", "A primitive operator; one object for each.")
      .def_prop_ro("name", [](const Op& self) { return self.op()->name(); });
  nb::class_<TempExpr, Expr>(m, "TempExpr", "A pass's own annotation of an expression.")
      .def_prop_ro("value", [](const TempExpr& self) { return self.value(); });

  m.def(
      "rebuild",
      [](ExprRef old, const std::vector<ExprRef>& operands) {
        if (old->operands().size() != operands.size())
          throw nb::value_error(("this expression has " + std::to_string(old->operands().size()) +
                                 " operands, not " + std::to_string(operands.size()))
                                    .c_str());
        return rebuild(old.get(), operands);
      },
      nb::arg("expr"), nb::arg("operands"),
      "The expression with other operands: itself when they are the same objects.");
}

}  // namespace relay::python

// Patterns of dataflow: construction, matching, rewriting, cutting out.
#include <bindings/attrs.h>
#include <bindings/bindings.h>

#include <relay/pattern/rewrite.h>
#include <relay/pattern/text.h>

namespace relay::python {

namespace {

// A pattern is one class here; in Python each kind has its own.
template <DFPatternKind kKind>
struct Of : DFPattern {};
using Part = DFPatternKind;

using Patterns = std::optional<std::vector<DFPatternRef>>;

Patterns patterns_of(nb::handle given, const std::string& what) {
  if (given.is_none()) return std::nullopt;
  std::vector<DFPatternRef> patterns;
  if (PyUnicode_Check(given.ptr()) || !nb::hasattr(given, "__iter__"))
    throw nb::type_error((what + " are a list of patterns, not " + shown(given)).c_str());
  for (nb::handle item : nb::iter(given)) {
    patterns.push_back(required<DFPatternRef>(
        item, what + "[" + std::to_string(patterns.size()) + "] is a pattern"));
  }
  return patterns;
}

DFPatternRef call_pattern(DFPatternRef op, nb::handle args) {
  Patterns patterns = patterns_of(args, "the arguments of a CallPattern");
  return patterns ? DFPattern::call(std::move(op), std::move(*patterns))
                  : DFPattern::call_any(std::move(op));
}

DFPatternRef function_pattern(nb::handle params, DFPatternRef body) {
  Patterns patterns = patterns_of(params, "the parameters of a FunctionPattern");
  return patterns ? DFPattern::function(std::move(*patterns), std::move(body))
                  : DFPattern::function_any(std::move(body));
}

DFPatternRef tuple_pattern(nb::handle fields) {
  Patterns patterns = patterns_of(fields, "the fields of a TuplePattern");
  return patterns ? DFPattern::tuple(std::move(*patterns)) : DFPattern::tuple_any();
}

DFPatternRef attrs_pattern(DFPatternRef pattern, nb::handle attrs) {
  if (nb::isinstance<nb::dict>(attrs)) {
    auto refuse = [](Name name, nb::handle value) {
      return "has_attr: " + name.str() + " is " + shown(value) + "; " + kAttrValues;
    };
    return DFPattern::attrs(std::move(pattern),
                            named_attrs_of(nb::borrow<nb::dict>(attrs), refuse));
  }
  auto given = required<AttrsRef>(attrs, "attributes are a dictionary or Attrs");
  return DFPattern::attrs(std::move(pattern), given->fields(false));
}

std::vector<Dim> shape_dims(nb::handle shape) {
  std::vector<Dim> dims;
  if (PyUnicode_Check(shape.ptr()) || !nb::hasattr(shape, "__iter__"))
    throw nb::type_error(("a shape is a list of extents, not " + shown(shape)).c_str());
  for (nb::handle item : nb::iter(shape))
    dims.push_back(required<Dim>(
        item, "extent " + std::to_string(dims.size()) + " of a shape is an integer or Any"));
  return dims;
}

nb::object index_of_projection(const DFPattern& pattern) {
  return pattern.index() < 0 ? nb::none() : nb::object(nb::int_(pattern.index()));
}

nb::object list_or_none(const DFPattern& pattern, std::span<const DFPatternRef> children) {
  return pattern.any() ? nb::none() : nb::cast(list(children));
}

/// The nodes that fit each part, as a dictionary from parts to lists.
nb::dict node_map(const pattern::MatchResult& result) {
  nb::dict map;
  for (const auto& entry : result.entries()) {
    nb::object key = nb::cast(entry.pattern);
    if (!map.contains(key)) map[key] = nb::list();
    nb::cast<nb::list>(map[key]).append(nb::cast(entry.expr));
  }
  return map;
}

ExprRef expr_result(nb::object result, const std::string& what) {
  ExprRef expr;
  if (nb::try_cast(result, expr)) return expr;
  throw nb::type_error((what + " gave " + shown(result) + ", not an expression").c_str());
}

pattern::Callback pattern_callback(nb::handle object) {
  pattern::Callback callback;
  nb::object pattern = nb::getattr(object, "pattern", nb::none());
  if (pattern.is_none())
    throw nb::value_error((class_name(object) + ".pattern is not set").c_str());
  callback.pattern = required<DFPatternRef>(pattern, class_name(object) + ".pattern is a pattern");
  callback.require_type = nb::cast<bool>(nb::bool_(object.attr("require_type")));
  callback.rewrite_once = nb::cast<bool>(nb::bool_(object.attr("rewrite_once")));
  callback.apply = [object](const ExprRef& before, const ExprRef& after,
                            const pattern::MatchResult& result) {
    Locked gil;
    return expr_result(call_back([&] {
                         nb::object pre = nb::cast(before), post = nb::cast(after);
                         nb::object method = object.attr("callback"), map = node_map(result);
                         return call_python(method, {pre, post, map});
                       }),
                       class_name(object) + ".callback");
  };
  return callback;
}

ExprRef rewrite_by(nb::handle callbacks, const ExprRef& expr, const Module* module) {
  std::vector<pattern::Callback> all;
  std::vector<nb::object> held;
  for (nb::handle item : nb::iter(callbacks)) {
    held.push_back(nb::borrow(item));
    all.push_back(pattern_callback(item));
  }
  std::optional<Module> known;
  if (module != nullptr) known = *module;
  return without_lock([&] { return pattern::rewrite(all, expr, known ? &*known : nullptr); });
}

ExprRef cut_out(const DFPatternRef& pattern, const ExprRef& expr, nb::handle attrs,
                nb::handle check) {
  std::map<Name, AttrValue> values;
  if (!attrs.is_none()) {
    auto refuse = [](Name name, nb::handle value) {
      return "partition: attribute " + name.str() + " is " + shown(value) + "; " + kAttrValues;
    };
    if (!nb::isinstance<nb::dict>(attrs))
      throw nb::type_error(("attrs is a dictionary or None, not " + shown(attrs)).c_str());
    for (NamedAttr& attr : named_attrs_of(nb::borrow<nb::dict>(attrs), refuse))
      values.insert_or_assign(attr.name, std::move(attr.value));
  }
  std::function<bool(const ExprRef&)> asked;
  if (!check.is_none()) {
    asked = [&](const ExprRef& root) {
      Locked gil;
      nb::object answer = call_back([&] {
        nb::object given = nb::cast(root);
        return call_python(check, {given});
      });
      int truth = PyObject_IsTrue(answer.ptr());
      if (truth < 0) throw nb::python_error();
      return truth == 1;
    };
  }
  return without_lock([&] { return pattern::partition(pattern, expr, values, asked); });
}

}  // namespace

const std::type_info* class_of(const DFPattern* object) {
  switch (object->kind()) {
#define RELAY_CLASS(kind) \
  case Part::kind:        \
    return &typeid(Of<Part::kind>)
    RELAY_CLASS(kWildcard);
    RELAY_CLASS(kExpr);
    RELAY_CLASS(kVar);
    RELAY_CLASS(kConstant);
    RELAY_CLASS(kNumber);
    RELAY_CLASS(kCall);
    RELAY_CLASS(kFunction);
    RELAY_CLASS(kTuple);
    RELAY_CLASS(kTupleGetItem);
    RELAY_CLASS(kLet);
    RELAY_CLASS(kIf);
    RELAY_CLASS(kAlt);
    RELAY_CLASS(kAttr);
    RELAY_CLASS(kType);
    RELAY_CLASS(kDType);
    RELAY_CLASS(kShape);
    RELAY_CLASS(kDominator);
    RELAY_CLASS(kName);
    RELAY_CLASS(kNode);
#undef RELAY_CLASS
  }
  RELAY_UNREACHABLE("unknown kind of pattern");
}

namespace {

nb::object child_of(const DFPattern& self, size_t i) { return nb::cast(self.child(i)); }

void bind_leaves(nb::module_& m) {
  nb::class_<Of<Part::kWildcard>, DFPattern>(m, "WildcardPattern", "Fits anything.")
      .def(nb::new_([] { return DFPattern::wildcard(); }))
      .def(
          "redirect_to",
          [](const DFPattern& self, DFPatternRef pat) { self.redirect(std::move(pat)); },
          nb::arg("pat"),
          "Fits what `pat` fits from now on; `pat` may contain this wildcard, which makes it "
          "recursive. Raises RelayError the second time.")
      .def_prop_ro("pattern", [](const DFPattern& self) { return self.target(); });
  nb::class_<Of<Part::kExpr>, DFPattern>(m, "ExprPattern",
                                         "Fits an expression that is structurally equal.")
      .def(nb::new_([](ExprRef expr) { return DFPattern::expr(std::move(expr)); }), nb::arg("expr"))
      .def_prop_ro("expr", [](const DFPattern& self) { return self.expr(); });
  nb::class_<Of<Part::kVar>, DFPattern>(m, "VarPattern",
                                        "Fits a variable, of a name if one is given.")
      .def(nb::new_([](Name name_hint) { return DFPattern::var(name_hint); }),
           nb::arg("name_hint") = Name())
      .def_prop_ro("name", [](const DFPattern& self) { return self.var_name(); });
  nb::class_<Of<Part::kConstant>, DFPattern>(m, "ConstantPattern", "Fits a constant.")
      .def(nb::new_([] { return DFPattern::constant(); }));
  nb::class_<Of<Part::kNumber>, DFPattern>(
      m, "NumberPattern", "Fits a tensor that is known to have this number in all places.")
      .def(nb::new_([](double value) { return DFPattern::number(value); }), nb::arg("value"))
      .def_prop_ro("value", [](const DFPattern& self) { return self.number(); });
  nb::class_<Of<Part::kName>, DFPattern>(
      m, "NamePattern", "Fits a constructor or global function of a name; `parse` makes it.")
      .def_prop_ro("name", [](const DFPattern& self) { return self.var_name(); })
      .def_prop_ro("is_global", [](const DFPattern& self) {
        return self.expr_kind() == ExprKind::kGlobalVar;
      });
}

void bind_nodes(nb::module_& m) {
  nb::class_<Of<Part::kNode>, DFPattern>(
      m, "NodePattern", "Fits an operation on references, or a match; `parse` makes it.")
      .def_prop_ro("operands", [](const DFPattern& self) {
        nb::list operands;
        for (const DFPatternRef& child : self.children()) operands.append(child);
        return operands;
      });
  nb::class_<Of<Part::kCall>, DFPattern>(m, "CallPattern",
                                         "Fits a call; args None for any arguments.")
      .def(nb::new_(&call_pattern), nb::arg("op"), nb::arg("args").none())
      .def_prop_ro("op", [](const DFPattern& self) { return child_of(self, 0); })
      .def_prop_ro("args", [](const DFPattern& self) { return list_or_none(self, self.rest()); });
  nb::class_<Of<Part::kFunction>, DFPattern>(m, "FunctionPattern",
                                             "Fits a function literal; params None for any.")
      .def(nb::new_(&function_pattern), nb::arg("params").none(), nb::arg("body"))
      .def_prop_ro("params", [](const DFPattern& self) { return list_or_none(self, self.rest()); })
      .def_prop_ro("body", [](const DFPattern& self) { return child_of(self, 0); });
  nb::class_<Of<Part::kTuple>, DFPattern>(m, "TuplePattern", "Fits a tuple; fields None for any.")
      .def(nb::new_(&tuple_pattern), nb::arg("fields").none())
      .def_prop_ro("fields",
                   [](const DFPattern& self) { return list_or_none(self, self.children()); });
  nb::class_<Of<Part::kTupleGetItem>, DFPattern>(m, "TupleGetItemPattern",
                                                 "Fits a projection; index None for any.")
      .def(nb::new_([](DFPatternRef tuple_value, std::optional<int64_t> index) {
             return DFPattern::projection(std::move(tuple_value), index.value_or(-1));
           }),
           nb::arg("tuple_value"), nb::arg("index") = nb::none())
      .def_prop_ro("tuple", [](const DFPattern& self) { return child_of(self, 0); })
      .def_prop_ro("index", &index_of_projection);
  nb::class_<Of<Part::kLet>, DFPattern>(m, "LetPattern", "Fits a let.")
      .def(nb::new_([](DFPatternRef var, DFPatternRef value, DFPatternRef body) {
             return DFPattern::let(std::move(var), std::move(value), std::move(body));
           }),
           nb::arg("var"), nb::arg("value"), nb::arg("body"))
      .def_prop_ro("var", [](const DFPattern& self) { return child_of(self, 0); })
      .def_prop_ro("value", [](const DFPattern& self) { return child_of(self, 1); })
      .def_prop_ro("body", [](const DFPattern& self) { return child_of(self, 2); });
  nb::class_<Of<Part::kIf>, DFPattern>(m, "IfPattern", "Fits an if.")
      .def(nb::new_([](DFPatternRef cond, DFPatternRef true_branch, DFPatternRef false_branch) {
             return DFPattern::if_then_else(std::move(cond), std::move(true_branch),
                                            std::move(false_branch));
           }),
           nb::arg("cond"), nb::arg("true_branch"), nb::arg("false_branch"))
      .def_prop_ro("cond", [](const DFPattern& self) { return child_of(self, 0); })
      .def_prop_ro("true_branch", [](const DFPattern& self) { return child_of(self, 1); })
      .def_prop_ro("false_branch", [](const DFPattern& self) { return child_of(self, 2); });
}

void bind_combinations(nb::module_& m) {
  nb::class_<Of<Part::kAlt>, DFPattern>(m, "AltPattern",
                                        "Fits what the left fits, else what the right fits.")
      .def(nb::new_([](DFPatternRef left, DFPatternRef right) {
             return DFPattern::alt(std::move(left), std::move(right));
           }),
           nb::arg("left"), nb::arg("right"))
      .def_prop_ro("left", [](const DFPattern& self) { return child_of(self, 0); })
      .def_prop_ro("right", [](const DFPattern& self) { return child_of(self, 1); });
  nb::class_<Of<Part::kAttr>, DFPattern>(
      m, "AttrPattern", "Fits an operator, call or function that has attributes of these values.")
      .def(nb::new_(&attrs_pattern), nb::arg("pattern"), nb::arg("attrs"))
      .def_prop_ro("pattern", [](const DFPattern& self) { return child_of(self, 0); })
      .def_prop_ro("attrs", [](const DFPattern& self) {
        nb::dict attrs;
        for (const NamedAttr& attr : self.attributes())
          attrs[nb::cast(attr.name)] = object_of_attr(attr.value);
        return attrs;
      });
  nb::class_<Of<Part::kType>, DFPattern>(m, "TypePattern", "Fits what has this type.")
      .def(nb::new_([](DFPatternRef pattern, TypeRef ttype) {
             return DFPattern::type(std::move(pattern), std::move(ttype));
           }),
           nb::arg("pattern"), nb::arg("ttype"))
      .def_prop_ro("pattern", [](const DFPattern& self) { return child_of(self, 0); })
      .def_prop_ro("type", [](const DFPattern& self) { return self.type(); });
  nb::class_<Of<Part::kDType>, DFPattern>(m, "DataTypePattern", "Fits a tensor of this dtype.")
      .def(nb::new_([](DFPatternRef pattern, nb::handle dtype) {
             return DFPattern::dtype(std::move(pattern), dtype_of(dtype));
           }),
           nb::arg("pattern"), nb::arg("dtype"))
      .def_prop_ro("pattern", [](const DFPattern& self) { return child_of(self, 0); })
      .def_prop_ro("dtype", [](const DFPattern& self) { return self.dtype(); });
  nb::class_<Of<Part::kShape>, DFPattern>(m, "ShapePattern", "Fits a tensor of this shape.")
      .def(nb::new_([](DFPatternRef pattern, nb::handle shape) {
             return DFPattern::shape(std::move(pattern), shape_dims(shape));
           }),
           nb::arg("pattern"), nb::arg("shape"))
      .def_prop_ro("pattern", [](const DFPattern& self) { return child_of(self, 0); })
      .def_prop_ro("shape", [](const DFPattern& self) { return self.dims(); });
  nb::class_<Of<Part::kDominator>, DFPattern>(m, "DominatorPattern",
                                              "Fits `child` where all ways to its inputs lead "
                                              "through `path` to one `parent`, which nothing "
                                              "else uses.")
      .def(nb::new_([](DFPatternRef parent, DFPatternRef path, DFPatternRef child) {
             return DFPattern::dominator(std::move(parent), std::move(path), std::move(child));
           }),
           nb::arg("parent"), nb::arg("path"), nb::arg("child"))
      .def_prop_ro("parent", [](const DFPattern& self) { return child_of(self, 0); })
      .def_prop_ro("path", [](const DFPattern& self) { return child_of(self, 1); })
      .def_prop_ro("child", [](const DFPattern& self) { return child_of(self, 2); });
}

}  // namespace

void bind_dataflow_patterns(nb::module_& m) {
  nb::class_<DFPattern>(m, "DFPattern", "A pattern of dataflow.", nb::is_weak_referenceable())
      .def("__repr__", [](const DFPattern& self) { return pattern_text(&self); })
      .def(
          "same_as",
          [](const DFPattern& self, nb::handle other) {
            DFPatternRef pattern;
            return nb::try_cast(other, pattern) && pattern.get() == &self;
          },
          nb::arg("other").none());
  bind_leaves(m);
  bind_nodes(m);
  bind_combinations(m);
  m.def(
      "match_pattern",
      [](const DFPatternRef& pattern, const ExprRef& expr) {
        return without_lock([&] { return pattern::match(pattern, expr); });
      },
      nb::arg("pattern"), nb::arg("expr"), "True if the expression fits the pattern.");
  m.def(
      "match_nodes",
      [](const DFPatternRef& pattern, const ExprRef& expr) -> nb::object {
        pattern::MatchResult result;
        bool fits = without_lock([&] { return pattern::match(pattern, expr, &result); });
        return fits ? nb::object(node_map(result)) : nb::none();
      },
      nb::arg("pattern"), nb::arg("expr"),
      "What fits each part of the pattern, as lists by part; None if the expression does not fit.");
  m.def("rewrite_pattern", &rewrite_by, nb::arg("callbacks"), nb::arg("expr"),
        nb::arg("mod") = nb::none());
  m.def("partition_pattern", &cut_out, nb::arg("pattern"), nb::arg("expr"), nb::arg("attrs").none(),
        nb::arg("check").none());
  m.def(
      "parse_pattern", [](std::string text) { return parse_pattern("<string>", std::move(text)); },
      nb::arg("text"), "A pattern from its text. Raises RelayError.");
  m.def(
      "patterns_equal",
      [](const DFPatternRef& a, const DFPatternRef& b) { return patterns_equal(a.get(), b.get()); },
      nb::arg("a"), nb::arg("b"), "True if both say the same, with the same sharing.");
  m.def(
      "op_fact",
      [](nb::handle op, std::string_view key) -> nb::object {
        std::optional<AttrValue> fact = op_fact(operator_of(op), key);
        return fact ? object_of_attr(*fact) : nb::none();
      },
      nb::arg("op"), nb::arg("key"), "What patterns of attributes see of an operator, or None.");
  m.def("fusion_pattern", &fusion_pattern, nb::arg("name"),
        "The number of the fusion pattern that TVM has for an operator, or None.");
  m.def(
      "set_op_fact",
      [](nb::handle op, std::string_view key, nb::handle value) {
        std::optional<AttrValue> fact;
        if (!value.is_none()) fact = attr_value_of(value);
        set_op_fact(operator_of(op), key, std::move(fact));
      },
      nb::arg("op"), nb::arg("key"), nb::arg("value").none(),
      "Lets patterns of attributes see a value at an operator; None takes it away. Values that no "
      "attribute can have are left out.");
}

}  // namespace relay::python

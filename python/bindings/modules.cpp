// Modules, program text, types of programs.
#include <bindings/bindings.h>

#include <nanobind/stl/shared_ptr.h>

#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/ir/effects.h>
#include <relay/ir/equal.h>
#include <relay/parse/imports.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>

namespace relay::python {

namespace {

PrintOptions options(bool show_types, bool show_metadata, bool version_line = true) {
  PrintOptions result;
  result.show_types = show_types;
  result.show_metadata = show_metadata;
  result.version_line = version_line;
  return result;
}

// Refuses an option of TVM's constructor that is given.
void require_none(nb::handle given, const char* what, const char* advice) {
  if (given.is_none() || nb::len(given) == 0) return;
  std::string message = std::string("IRModule(") + what + "=…): " + advice;
  PyErr_SetString(PyExc_NotImplementedError, message.c_str());
  throw nb::python_error();
}

Name name_of(nb::handle key) {
  ExprRef expr;
  if (nb::try_cast(key, expr)) {
    if (const auto* global = expr->as<GlobalVar>()) return global->name();
  }
  Name name;
  if (nb::try_cast(key, name)) return name;
  throw nb::type_error(
      ("a function is looked up by its name or a GlobalVar, not " + shown(key)).c_str());
}

std::string known(const Module& module) {
  std::string names;
  for (const auto& entry : module.functions())
    names += (names.empty() ? "@" : ", @") + entry.name.str();
  return names.empty() ? "it has none" : "it has " + names;
}

FunctionRef function_of(const Module& module, nb::handle key) {
  Name name = name_of(key);
  const Function* found = module.function(name);
  if (found == nullptr)
    throw nb::key_error(
        ("the module has no function @" + name.str() + "; " + known(module)).c_str());
  return FunctionRef(found);
}

EqualOptions equal_options(bool map_free_vars) {
  EqualOptions result;
  result.map_free_vars = map_free_vars;
  return result;
}

// Copies of functions whose nodes had other types take their places, unless somebody has put others
// there meanwhile.
std::vector<Diagnostic> infer(Module& module) {
  const Module before = module;
  Module typed = module;
  std::vector<Diagnostic> warnings;
  without_lock([&] { infer_types_or_throw(typed, &warnings); });
  for (const Module::FunctionEntry& entry : before.functions()) {
    const Function* now = typed.function(entry.name);
    if (now != entry.function.get() && module.function(entry.name) == entry.function.get())
      module.update_function(entry.name, FunctionRef(now));
  }
  return warnings;
}

}  // namespace

void bind_modules(nb::module_& m) {
  nb::class_<Module>(m, "IRModule", "Global functions and data types by name.", nb::dynamic_attr())
      .def(
          "__init__",
          [](Module* place, nb::handle functions, nb::handle type_definitions, nb::handle attrs,
             nb::handle global_infos) {
            require_none(attrs, "attrs", "a module gets attributes by with_attr");
            require_none(global_infos, "global_infos", "modules have none");
            auto made = std::make_unique<Module>();
            if (!type_definitions.is_none()) {
              nb::object items = nb::hasattr(type_definitions, "values")
                                     ? type_definitions.attr("values")()
                                     : nb::borrow(type_definitions);
              for (nb::handle data : nb::iter(items))
                made->add_type(required<TypeDataRef>(data, "a type definition is a TypeData"));
            }
            if (!functions.is_none() && !nb::hasattr(functions, "items"))
              throw nb::type_error(
                  ("functions is a dictionary of functions by name, not " + shown(functions))
                      .c_str());
            if (!functions.is_none()) {
              for (nb::handle item : nb::iter(functions.attr("items")())) {
                made->add_function(
                    name_of(item[0]),
                    required<FunctionRef>(item[1], "a global function is a Function"));
              }
            }
            new (place) Module(std::move(*made));
          },
          nb::arg("functions") = nb::none(), nb::arg("type_definitions") = nb::none(),
          nb::arg("attrs") = nb::none(), nb::arg("global_infos") = nb::none(),
          "Raises NotImplementedError for `attrs` (`with_attr` gives a module attributes) and "
          "`global_infos`, which modules do not have.")
      .def("__getitem__", &function_of, nb::arg("key"))
      .def("__setitem__",
           [](Module& self, nb::handle key, FunctionRef function) {
             self.add_function(name_of(key), std::move(function), true);
           })
      .def("__delitem__",
           [](Module& self, nb::handle key) {
             function_of(self, key);
             self.remove_function(name_of(key));
           })
      .def("__iter__",
           [](const Module&) -> nb::object {
             throw nb::type_error(
                 "a module is not iterable: go through mod.functions or mod.get_global_vars()");
           })
      .def("__contains__", [](const Module& self,
                              nb::handle key) { return self.function(name_of(key)) != nullptr; })
      .def("__len__", [](const Module& self) { return self.functions().size(); })
      .def_prop_ro(
          "function_names",
          [](const Module& self) {
            std::vector<Name> names;
            for (const auto& entry : self.functions()) names.push_back(entry.name);
            return names;
          },
          "In order of definition.")
      .def_prop_ro(
          "type_definitions",
          [](const Module& self) {
            nb::dict found;
            for (const auto& data : self.types()) found[nb::cast(data->name())] = nb::cast(data);
            return found;
          },
          "Data types by GlobalTypeVar, in order of definition, as the module is now.")
      .def(
          "type_data",
          [](const Module& self, nb::handle key) {
            TypeRef type;
            Name name = nb::try_cast(key, type) && type->is<GlobalTypeVar>()
                            ? type->as<GlobalTypeVar>()->name()
                            : required<Name>(
                                  key, "a data type is looked up by its name or a GlobalTypeVar");
            const TypeData* found = self.type_data(name);
            if (found == nullptr)
              throw nb::key_error(("the module has no data type " + name.str()).c_str());
            return TypeDataRef(found);
          },
          nb::arg("name"))
      .def(
          "constructor",
          [](const Module& self, Name name) {
            const Constructor* found = self.constructor(name);
            if (found == nullptr)
              throw nb::key_error(("the module has no constructor " + name.str()).c_str());
            return ConstructorRef(found);
          },
          nb::arg("name"))
      .def(
          "add_function",
          [](Module& self, nb::handle name, FunctionRef function, bool replace) {
            self.add_function(name_of(name), std::move(function), replace);
          },
          nb::arg("name"), nb::arg("function"), nb::arg("replace") = false)
      .def("add_type", &Module::add_type, nb::arg("data"), nb::arg("replace") = false)
      .def(
          "fresh_name",
          [](const Module& self, std::string_view base) { return self.fresh_name(base); },
          nb::arg("base"))
      .def(
          "copy", [](const Module& self) { return Module(self); },
          "A module of its own with the same functions.")
      .def("__copy__", [](const Module& self) { return Module(self); })
      .def(
          "__deepcopy__", [](const Module& self, nb::handle) { return Module(self); },
          nb::arg("memo"))
      .def(
          "astext",
          [](const Module& self, bool show_meta_data, bool show_types) {
            return print_module(self, options(show_types, show_meta_data));
          },
          nb::arg("show_meta_data") = true, nb::arg("show_types") = false,
          "As program text, which parses back to an equal module.")
      .def("__str__", [](const Module& self) { return print_module(self, options(false, true)); })
      .def("__repr__", [](const Module& self) { return print_module(self, options(false, true)); });

  m.def(
      "sources_of",
      [](const Module& self) {
        std::vector<std::shared_ptr<Source>> sources;
        for (const auto& source : self.sources())
          sources.push_back(std::const_pointer_cast<Source>(source));
        return sources;
      },
      nb::arg("mod"), "The texts that the places of a module's nodes are in.");
  m.def(
      "keep_source",
      [](Module& self, std::shared_ptr<Source> source) { self.add_source(std::move(source)); },
      nb::arg("mod"), nb::arg("source"));
  m.def(
      "parse_module",
      [](std::string text, std::string name, const Module* base) {
        Module known = base == nullptr ? Module() : *base;
        Unlocked released;
        return parse_module(std::move(name), std::move(text), std::move(known));
      },
      nb::arg("text"), nb::arg("name") = "<string>", nb::arg("base") = nb::none(),
      "Program text as a module, which has the definitions of `base`, too. Raises RelayError with "
      "all problems.");
  m.def("import_standard", &import_standard, nb::arg("mod"), nb::arg("file"),
        "Adds a file of the standard library to a module.");
  m.def(
      "standard_functions",
      [](std::string_view file) {
        std::vector<Name> names;
        const Module standard = standard_module(file);
        for (const auto& entry : standard.functions()) names.push_back(entry.name);
        return names;
      },
      nb::arg("file"),
      "The definitions of a file of the standard library, with those that it imports.");
  m.def("parse_expr", &parse_expr, nb::arg("text"),
        "One expression without definitions. Raises RelayError.");
  m.def(
      "print_expr",
      [](const ExprRef& expr, bool show_meta_data, bool show_types) {
        return print_expr(expr.get(), options(show_types, show_meta_data));
      },
      nb::arg("expr"), nb::arg("show_meta_data") = true, nb::arg("show_types") = false);
  m.def(
      "print_short",
      [](const ExprRef& expr, size_t width) { return print_short(expr.get(), width); },
      nb::arg("expr"), nb::arg("width") = 60, "On one line, for messages.");
  m.def("infer_types", &infer, nb::arg("mod"),
        "Types the whole module and publishes the types on its nodes; gives the warnings. Raises "
        "RelayError with all problems.");
  m.def(
      "check_instances",
      [](const Module& module) {
        return without_lock([copy = module] { return check_instances(copy); });
      },
      nb::arg("mod"));
  m.def("infer_expr_type", &infer_expr_type, nb::arg("expr"), nb::arg("mod"),
        "The type of an expression whose free variables carry annotations.");
  m.def(
      "has_effect",
      [](const ExprRef& expr, const Module& module) {
        const Effects effects(module, expr.get());
        return effects.any() && effects.effectful_nodes(expr.get()).contains(expr.get());
      },
      nb::arg("expr"), nb::arg("mod"),
      "True if evaluating an expression has an effect, so that it may stand in one place alone.");
  m.def(
      "function_signature",
      [](const Module& module, nb::handle name) {
        return function_signature(module, name_of(name));
      },
      nb::arg("mod"), nb::arg("name"));
  m.def("verify", &verify, nb::arg("mod"),
        "What is wrong with a module apart from types; empty if it is well formed.");

  auto why = [](bool equal, std::string text) {
    return equal ? std::optional<std::string>() : std::optional<std::string>(std::move(text));
  };
  m.def(
      "expr_difference",
      [](const ExprRef& a, const ExprRef& b, bool map_free_vars) {
        std::string text;
        std::vector<uint32_t> path;
        using Difference = std::pair<std::string, std::vector<uint32_t>>;
        if (structural_equal(a.get(), b.get(), equal_options(map_free_vars), &text, &path))
          return std::optional<Difference>();
        return std::optional(Difference(std::move(text), std::move(path)));
      },
      nb::arg("lhs"), nb::arg("rhs"), nb::arg("map_free_vars") = false,
      "What differs first, and the numbers of the operands that lead there; None if nothing does.");
  m.def(
      "module_difference",
      [why](const Module& a, const Module& b, bool map_free_vars) {
        std::string text;
        bool equal = structural_equal(a, b, equal_options(map_free_vars), &text);
        return why(equal, std::move(text));
      },
      nb::arg("lhs"), nb::arg("rhs"), nb::arg("map_free_vars") = false);
  m.def(
      "expr_hash",
      [](const ExprRef& a, bool map_free_vars) {
        return structural_hash(a.get(), equal_options(map_free_vars));
      },
      nb::arg("expr"), nb::arg("map_free_vars") = false);
  m.def(
      "module_hash",
      [](const Module& a, bool map_free_vars) {
        return structural_hash(a, equal_options(map_free_vars));
      },
      nb::arg("mod"), nb::arg("map_free_vars") = false);
}

}  // namespace relay::python

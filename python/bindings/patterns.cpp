// Patterns of match.
#include <bindings/bindings.h>

#include <relay/print/print.h>

namespace relay::python {

namespace {

// A pattern is one class here; in Python each kind has its own.
struct Wildcard : Pattern {};
struct Variable : Pattern {};
struct OfConstructor : Pattern {};
struct OfTuple : Pattern {};

}  // namespace

const std::type_info* class_of(const Pattern* object) {
  switch (object->kind()) {
    case PatternKind::kWildcard:
      return &typeid(Wildcard);
    case PatternKind::kVar:
      return &typeid(Variable);
    case PatternKind::kConstructor:
      return &typeid(OfConstructor);
    case PatternKind::kTuple:
      return &typeid(OfTuple);
  }
  RELAY_UNREACHABLE("unknown pattern kind");
}

void bind_patterns(nb::module_& m) {
  using Patterns = std::optional<std::vector<PatternRef>>;
  nb::class_<Pattern>(m, "Pattern", "A pattern of a match.")
      .def_prop_ro("span", &Pattern::span)
      .def("__repr__", [](const Pattern& self) { return print_pattern(&self); });
  nb::class_<Wildcard, Pattern>(m, "PatternWildcard", "`_`: fits everything.").def(nb::new_([] {
    return Pattern::wildcard();
  }));
  nb::class_<Variable, Pattern>(m, "PatternVar", "Fits everything and binds it.")
      .def(nb::new_([](VarRef var) { return Pattern::var(std::move(var)); }), nb::arg("var"))
      .def_prop_ro("var", [](const Pattern& self) { return self.var(); });
  nb::class_<OfConstructor, Pattern>(m, "PatternConstructor",
                                     "A constructor with patterns of its fields.")
      .def(nb::new_([](ConstructorRef constructor, Patterns patterns) {
             return Pattern::constructor(std::move(constructor),
                                         std::move(patterns).value_or(std::vector<PatternRef>()));
           }),
           nb::arg("constructor"), nb::arg("patterns") = nb::none())
      .def_prop_ro("constructor", [](const Pattern& self) { return self.constructor(); })
      .def_prop_ro("patterns", [](const Pattern& self) { return list(self.fields()); });
  nb::class_<OfTuple, Pattern>(m, "PatternTuple", "A tuple of patterns.")
      .def(nb::new_([](Patterns patterns) {
             return Pattern::tuple(std::move(patterns).value_or(std::vector<PatternRef>()));
           }),
           nb::arg("patterns") = nb::none())
      .def_prop_ro("patterns", [](const Pattern& self) { return list(self.fields()); });
}

}  // namespace relay::python

#include <bindings/registration_calls.h>

#include <bindings/arrays.h>

#include <relay/ir/type.h>

namespace relay::python {

std::vector<TypeRef> types_of(const OpCall& call) {
  std::vector<TypeRef> types;
  for (size_t i = 0; i < call.num_inputs(); ++i) types.push_back(call.input(i));
  return types;
}

std::vector<Dim> dims_of(nb::handle object) {
  std::vector<Dim> dims;
  for (nb::handle item : nb::iter(object)) dims.push_back(nb::cast<Dim>(item));
  return dims;
}

nb::tuple objects_of(std::span<const Dim> dims) {
  nb::list list;
  for (Dim dim : dims) list.append(object_of_dim(dim));
  return nb::tuple(list);
}

void bind_calls(nb::module_& m) {
  nb::class_<RelationObject>(m, "RelationCall",
                             "One use of a relation: what is known of a call besides its types.")
      .def_prop_ro(
          "types",
          [](const RelationObject& self) {
            std::vector<TypeRef> types;
            for (size_t i = 0; i < self.get().num_inputs(); ++i)
              types.push_back(self.get().input(i));
            return types;
          },
          "The types of the inputs.")
      .def_prop_ro("attrs", [](const RelationObject& self) { return self.get().attrs_ref(); })
      .def(
          "value",
          [](const RelationObject& self, size_t input) -> nb::object {
            if (input >= self.get().num_inputs()) throw nb::index_error("there is no such input");
            std::optional<NDArray> value = self.get().value(input);
            return value ? numpy_of(*value) : nb::none();
          },
          nb::arg("input"),
          "The value of an input as a NumPy array, where it is known now: a constant while types "
          "are inferred, any tensor when the program runs. None where it is not.")
      .def(
          "dim_value",
          [](const RelationObject& self, size_t input, size_t element) {
            if (input >= self.get().num_inputs()) throw nb::index_error("there is no such input");
            return self.get().value_dim(input, element);
          },
          nb::arg("input"), nb::arg("element") = 0,
          "An element of an integer input as a dimension: a number where the value is known, else "
          "a term that is read when the program runs.")
      .def(
          "require_equal",
          [](const RelationObject& self, Dim a, Dim b, const std::string& message) {
            self.get().require_equal(a, b, message);
          },
          nb::arg("a"), nb::arg("b"), nb::arg("message"),
          "Two dimensions must be equal: decided now where they are known, else solved for or "
          "checked when the program runs.")
      .def(
          "require_at_most",
          [](const RelationObject& self, Dim a, Dim b, const std::string& message) {
            self.get().require_at_most(a, b, message);
          },
          nb::arg("a"), nb::arg("b"), nb::arg("message"), "The same for a <= b.")
      .def(
          "require_multiple",
          [](const RelationObject& self, Dim a, Dim divisor, const std::string& message) {
            self.get().require_multiple(a, divisor, message);
          },
          nb::arg("a"), nb::arg("divisor"), nb::arg("message"),
          "The same for a being a multiple of divisor.")
      .def(
          "broadcast_shapes",
          [](const RelationObject& self, nb::handle a, nb::handle b) {
            self.get();
            std::vector<Dim> x = dims_of(a), y = dims_of(b);
            std::optional<std::vector<Dim>> both = broadcast_shapes(x, y);
            if (!both)
              throw nb::value_error(
                  ("shapes " + shape_str(x) + " and " + shape_str(y) + " do not broadcast")
                      .c_str());
            return objects_of(*both);
          },
          nb::arg("a"), nb::arg("b"),
          "NumPy's broadcasting of two shapes. Raises ValueError where they do not fit.");
  nb::class_<CallObject>(m, "OpCall", "A call of an operator with its types known.")
      .def_prop_ro("op", [](const CallObject& self) { return make_op(self.call.op()); })
      .def_prop_ro("attrs", [](const CallObject& self) { return self.call.attrs_ref(); })
      .def_prop_ro("types", [](const CallObject& self) { return types_of(self.call); })
      .def_prop_ro(
          "type", [](const CallObject& self) { return self.call.output(); },
          "The type of the result.");
  nb::class_<GradientObject>(m, "GradientCall",
                             "A call that a gradient is wanted of. Its expressions may be used as "
                             "often as needed.")
      .def_prop_ro("op", [](const GradientObject& self) { return make_op(self.call.op()); })
      .def_prop_ro("attrs", [](const GradientObject& self) { return self.call.attrs_ref(); })
      .def_prop_ro("args", [](const GradientObject& self) { return self.args; })
      .def_prop_ro(
          "result", [](const GradientObject& self) { return self.result; },
          "What the call gave, as an expression.")
      .def_prop_ro("types", [](const GradientObject& self) { return types_of(self.call); })
      .def_prop_ro(
          "type", [](const GradientObject& self) { return self.call.output(); },
          "The type of the result.");
}

}  // namespace relay::python

// Code generators that are Python functions.
#include <bindings/bindings.h>
#include <bindings/callbacks.h>
#include <bindings/errors.h>

#include <relay/support/error.h>
#include <relay/transform/external_code.h>

namespace relay::python {

void bind_code_generators(nb::module_& m) {
  m.def(
      "register_code_generator",
      [](const std::string& name, const std::string& doc, nb::object generate, bool replace) {
        register_code_generator(
            name, doc,
            [name, call = Callback(std::move(generate))](const FunctionRef& function,
                                                         const std::string& symbol) {
              nb::gil_scoped_acquire gil;
              FunctionRef made;
              run_part("", "the code generator " + name, [&] {
                nb::object result = call_python(call.get(), {nb::cast(function), nb::cast(symbol)});
                made = required<FunctionRef>(result, "a code generator gives a relay.Function");
              });
              return made;
            },
            replace);
      },
      nb::arg("name"), nb::arg("doc"), nb::arg("generate"), nb::arg("replace"),
      "relay.codegen.register is the public form.");
  m.def("unregister_code_generator", &remove_code_generator, nb::arg("name"));
  m.def("code_generators", &code_generators, "Names and documentation.");
  m.def(
      "result_type_on",
      [](const TypeRef& type, const std::vector<TypeRef>& tensors) {
        const auto* function = type->as<FuncType>();
        if (function == nullptr) throw nb::type_error("the type of a function is wanted");
        return result_type_on(*function, tensors);
      },
      nb::arg("type"), nb::arg("tensors"),
      "The result of a function on tensors of these types; tuples among its parameters flatten.");
}

}  // namespace relay::python

// Transformations of single functions, beside the passes over whole modules.
#include <bindings/bindings.h>

#include <relay/transform/cps.h>

namespace relay::python {

void bind_transforms(nb::module_& m) {
  m.def(
      "to_cps",
      [](const FunctionRef& function, Module& mod) {
        return without_lock([&] { return function_to_cps(function, mod); });
      },
      nb::arg("func"), nb::arg("mod"),
      "A function in continuation-passing style. The module gets those of the functions that it "
      "calls, as NAME_cps.");
  m.def(
      "un_cps",
      [](const FunctionRef& function) {
        return without_lock([&] { return un_cps(*function, function); });
      },
      nb::arg("func"), "The function that a function in continuation-passing style was made of.");
}

}  // namespace relay::python

// Transformations of single functions, beside the passes over whole modules.
#include <bindings/bindings.h>

#include <relay/transform/batch/batch.h>
#include <relay/transform/cps.h>
#include <relay/transform/gradient/gradient.h>

namespace relay::python {
namespace {

// An axis, None, or a sequence of these for a tuple.
LaneAxes lane_axes(nb::handle axes) {
  LaneAxes result;
  if (axes.is_none()) {
    result.axis = std::nullopt;
  } else if (nb::isinstance<nb::int_>(axes)) {
    result.axis = nb::cast<int64_t>(axes);
  } else {
    for (nb::handle field : axes) result.fields.push_back(lane_axes(field));
  }
  return result;
}

}  // namespace

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
  m.def(
      "gradient",
      [](const FunctionRef& function, Module& mod, bool first_order,
         std::optional<std::vector<size_t>> params, bool from_result, bool single, bool with_value,
         bool of_number) {
        const GradientForm form{std::move(params), from_result, single, with_value, of_number};
        const auto mode = first_order ? GradientMode::kFirstOrder : GradientMode::kHigherOrder;
        return without_lock([&] { return gradient(function, mod, mode, form); });
      },
      nb::arg("func"), nb::arg("mod"), nb::arg("first_order") = false,
      nb::arg("params") = nb::none(), nb::arg("from_result") = false, nb::arg("single") = false,
      nb::arg("with_value") = true, nb::arg("of_number") = false,
      "The gradient of a function. The module gets the functions and data types beside it.");
  m.def(
      "gradient_along",
      [](const FunctionRef& function, Module& mod, const std::vector<size_t>& places) {
        return without_lock([&] { return gradient_along(function, mod, places); });
      },
      nb::arg("func"), nb::arg("mod"), nb::arg("places"),
      "The derivative of a function along directions of some parameters, by forward mode; None for "
      "functions of other forms.");
  m.def(
      "batch",
      [](const FunctionRef& function, Module& mod, const std::vector<nb::object>& in_axes,
         const nb::object& out_axes, std::optional<int64_t> lanes, bool keep_gradients) {
        BatchForm form;
        form.keep_gradients = keep_gradients;
        for (const nb::object& one : in_axes) form.in.push_back(lane_axes(one));
        form.out = lane_axes(out_axes);
        form.lanes = lanes;
        return without_lock([&] { return batch(function, mod, form); });
      },
      nb::arg("func"), nb::arg("mod"), nb::arg("in_axes"), nb::arg("out_axes").none(),
      nb::arg("lanes") = nb::none(), nb::arg("keep_gradients") = false,
      "The function for many lanes. The module gets the functions and data types beside it. With "
      "keep_gradients, gradients stay calls, for lanes around these.");
}

}  // namespace relay::python

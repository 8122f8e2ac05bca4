// Passes: registered ones, ones written in Python, contexts, instruments.
#include <bindings/bindings.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>

#include <relay/transform/pass.h>

namespace relay::python {

namespace {

nb::object object_of_option(const PassOption& option) {
  return std::visit([](const auto& value) -> nb::object { return nb::cast(value); }, option);
}

}  // namespace

void bind_passes(nb::module_& m) {
  nb::class_<PassInfo>(m, "PassInfo", "Facts about a pass.")
      .def_prop_ro("name", [](const PassInfo& self) { return self.name; })
      .def_ro("opt_level", &PassInfo::opt_level, "A context runs the pass if its own level is at least this.")
      .def_ro("doc", &PassInfo::doc)
      .def("__repr__", [](const PassInfo& self) {
        return "PassInfo(name=" + self.name.str() + ", opt_level=" + std::to_string(self.opt_level) + ")";
      });
  nb::class_<Pass>(m, "Pass", "A transformation of modules.", nb::is_weak_referenceable())
      .def_prop_ro("info", &Pass::info)
      .def("__call__", [](const Pass& self, const Module& mod) { return self(mod); }, nb::arg("mod"),
           "The transformed module; the argument stays as it is.")
      .def("__repr__", [](const Pass& self) { return "Pass(" + self.info().name.str() + ")"; });
  m.def("create_pass",
        [](const std::string& name, const PassOptions& options) { return std::const_pointer_cast<Pass>(create_pass(name, options)); },
        nb::arg("name"), nb::arg("options") = PassOptions(), "A registered pass. Raises RelayError for unknown names and options.");
  m.def("pass_names", [] {
    std::vector<Name> names;
    for (const PassRegistration* pass : all_passes()) names.push_back(pass->info.name);
    return names;
  });
  m.def("pass_options",
        [](const std::string& name) {
          const PassRegistration* pass = find_pass(name);
          if (pass == nullptr) throw nb::key_error(("there is no pass " + name).c_str());
          nb::list options;
          for (const auto& option : pass->options)
            options.append(nb::make_tuple(option.name, option.doc, object_of_option(option.default_value)));
          return options;
        },
        nb::arg("name"), "Name, documentation and default of each option of a registered pass.");
  m.def("module_pass",
        [](Name name, int opt_level, std::string doc, nb::callable run) {
          PassInfo info{name, opt_level, {}, std::move(doc)};
          return std::const_pointer_cast<Pass>(make_module_pass(std::move(info), [run](const Module& module, const PassContext&) {
            nb::gil_scoped_acquire gil;
            nb::object result = run(nb::cast(Module(module)));
            const Module* made = nullptr;
            if (!nb::try_cast(result, made) || made == nullptr)
              throw nb::type_error("a module pass gives a module; this one gave something else");
            return *made;
          }));
        },
        nb::arg("name"), nb::arg("opt_level"), nb::arg("doc"), nb::arg("run"));
  m.def("function_pass",
        [](Name name, int opt_level, std::string doc, nb::callable run) {
          PassInfo info{name, opt_level, {}, std::move(doc)};
          return std::const_pointer_cast<Pass>(
              make_function_pass(std::move(info), [run](const FunctionRef& function, const Module& module, const PassContext&) {
                nb::gil_scoped_acquire gil;
                nb::object result = run(nb::cast(function), nb::cast(Module(module)));
                FunctionRef made;
                if (!nb::try_cast(result, made))
                  throw nb::type_error("a function pass gives a function; this one gave something else");
                return made;
              }));
        },
        nb::arg("name"), nb::arg("opt_level"), nb::arg("doc"), nb::arg("run"));
  m.def("sequential",
        [](const std::vector<std::shared_ptr<Pass>>& passes, std::string name, int opt_level) {
          return std::const_pointer_cast<Pass>(
              make_sequential(std::vector<PassRef>(passes.begin(), passes.end()), std::move(name), opt_level));
        },
        nb::arg("passes"), nb::arg("name") = "sequential", nb::arg("opt_level") = 0);
  m.def("standard_pipeline", [](int level) { return std::const_pointer_cast<Pass>(standard_pipeline(level)); }, nb::arg("level") = 3);
}

}  // namespace relay::python

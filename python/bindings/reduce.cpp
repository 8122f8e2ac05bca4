// Making programs that show a defect small.
#include <bindings/bindings.h>

#include <nanobind/stl/optional.h>

#include <relay/reduce/reduce.h>

namespace relay::python {

namespace {

const char* end_text(reduce::Result::End end) {
  switch (end) {
    case reduce::Result::End::kSmallest:
      return "smallest";
    case reduce::Result::End::kTries:
      return "tries";
    case reduce::Result::End::kTime:
      return "time";
    case reduce::Result::End::kInterrupted:
      return "interrupted";
  }
  return "";
}

reduce::Result run_reduce(const Module& module, const nb::callable& is_interesting,
                          size_t max_tries, double time_limit, const nb::object& progress) {
  if (max_tries == 0) throw nb::value_error("max_tries is at least 1");
  if (!(time_limit >= 0)) throw nb::value_error("time_limit is a number of seconds, or 0 for none");
  reduce::Options options;
  options.max_tries = max_tries;
  options.time_limit = time_limit;
  reduce::ProgressFn tell;
  if (!progress.is_none()) {
    if (PyCallable_Check(progress.ptr()) == 0)
      throw nb::type_error("progress is a function, or None");
    tell = [&](const reduce::Progress& now) {
      call_back([&] {
        nb::object arguments = nb::make_tuple(now.rewrite, now.tries, now.steps, now.nodes);
        return call_python(progress, {arguments[0], arguments[1], arguments[2], arguments[3]});
      });
    };
  }
  return interruptible([&] {
    return reduce::reduce(
        module,
        [&](const Module& candidate) {
          nb::object object = nb::cast(Module(candidate));
          nb::object answer = call_back([&] { return call_python(is_interesting, {object}); });
          int yes = PyObject_IsTrue(answer.ptr());
          if (yes < 0) nb::raise_python_error();
          return yes == 1;
        },
        options, tell);
  });
}

}  // namespace

void bind_reduce(nb::module_& m) {
  nb::class_<reduce::Result>(m, "ReduceResult", "The smallest program that was found.")
      .def_prop_ro("mod", [](const reduce::Result& self) { return Module(self.module); })
      .def_ro("tries", &reduce::Result::tries, "Programs that the predicate was asked about.")
      .def_ro("steps", &reduce::Result::steps, "The number of times that the predicate held.")
      .def_prop_ro(
          "end", [](const reduce::Result& self) { return end_text(self.end); },
          "'smallest', or the limit that ended the search: 'tries', 'time'.");
  m.def("reduce", run_reduce, nb::arg("mod"), nb::arg("is_interesting"), nb::kw_only(),
        nb::arg("max_tries") = 10000, nb::arg("time_limit") = 0.0, nb::arg("progress") = nb::none(),
        "The smallest program found for which `is_interesting(mod)` is true, starting from one for "
        "which it is. Every program\n"
        "that the predicate sees is well typed and smaller than the last that it said yes to. What "
        "it raises ends the search.\n"
        "`progress(rewrite, tries, steps, nodes)` is called before each try. Raises RelayError if "
        "the module is ill typed or the\n"
        "predicate says no to it.");
}

}  // namespace relay::python

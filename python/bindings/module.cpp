// relay._core: the library in Python.
#include <cstdlib>
#include <utility>

#include <bindings/bindings.h>
#include <tools/relay/main.h>

NB_MODULE(_core, m) {
  using namespace relay::python;
  // Names, types and operators are kept for the whole process, and their objects belong to one
  // interpreter.
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "relay cannot be used in a subinterpreter, only in the main one");
    throw nb::python_error();
  }
  // Classes are registered once in a process, and nodes that are alive belong to them.
  static bool begun = false;
  if (std::exchange(begun, true)) {
    PyErr_SetString(PyExc_ImportError,
                    "relay was imported in this process before and cannot be initialised again: "
                    "leave relay and its modules in sys.modules, or start a new process");
    throw nb::python_error();
  }
  // Only tests want to know: a thread that runs at the end of the process keeps what it uses.
  nb::set_leak_warnings(std::getenv("RELAY_PYTHON_LEAKS") != nullptr);
  m.doc() = "The compiler's library: nodes, types, modules, operators, passes, execution.";
  bind_lock(m);
  bind_spans(m);
  bind_errors(m);
  bind_dims(m);
  bind_types(m);
  bind_attrs(m);
  bind_arrays(m);
  bind_exprs(m);
  bind_patterns(m);
  bind_dataflow_patterns(m);
  bind_modules(m);
  bind_visits(m);
  bind_analyses(m);
  bind_transforms(m);
  bind_operators(m);
  bind_columns(m);
  bind_computations(m);
  bind_code_generators(m);
  bind_onnx(m);
  bind_registration(m);
  bind_passes(m);
  bind_reduce(m);
  bind_execution(m);
  m.attr("__version__") = RELAY_VERSION;
  m.def(
      "run_command",
      [](const std::vector<nb::bytes>& words) {
        std::vector<const char*> argv;
        for (const nb::bytes& word : words) argv.push_back(word.c_str());
        argv.push_back(nullptr);
        nb::gil_scoped_release release;
        return relay::tool::run_command(static_cast<int>(words.size()), argv.data());
      },
      nb::arg("words"),
      "The command `relay`: a command line, the program's name first, to its exit code. Signals "
      "stay as the process has them, but while it runs.");
}

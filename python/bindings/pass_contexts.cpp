// Contexts that passes run under, and instruments.
#include <bindings/bindings.h>
#include <bindings/callbacks.h>
#include <bindings/errors.h>
#include <bindings/passes.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>

#include <relay/transform/instruments.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_report.h>

namespace relay::python {

nb::object current_context() {
  return nb::cast(std::const_pointer_cast<PassContext>(PassContext::current_shared()));
}

namespace {

constexpr const char* kInstrumentMethods[] = {"enter_pass_ctx", "exit_pass_ctx", "should_run",
                                              "run_before_pass", "run_after_pass"};

// Raises TypeError if an object is no instrument.
void check_instrument(nb::handle object, size_t position) {
  const std::string place = "instruments[" + std::to_string(position) + "] ";
  if (PyType_Check(object.ptr()))
    throw nb::type_error((place + "is the class " + nb::cast<std::string>(object.attr("__name__")) +
                          ": give an instance of it")
                             .c_str());
  bool any = false;
  for (const char* name : kInstrumentMethods) {
    if (!nb::hasattr(object, name)) continue;
    any = true;
    if (PyCallable_Check(object.attr(name).ptr()) == 0)
      throw nb::type_error((place + "has a " + name + " that cannot be called").c_str());
  }
  if (any) return;
  nb::object base = nb::module_::import_("relay.instrument").attr("PassInstrument");
  if (PyObject_IsInstance(object.ptr(), base.ptr()) == 1) return;
  PyErr_Clear();
  throw nb::type_error((place + "is " + shown(object) +
                        ", no instrument: it has none of the methods enter_pass_ctx, "
                        "exit_pass_ctx, should_run, run_before_pass, run_after_pass")
                           .c_str());
}

/// Python reads what the library's instruments gather, on any thread.
PassInstrument with_lock(PassInstrument instrument) {
  if (auto before = instrument.before) {
    instrument.before = [before](const Module& module, const PassInfo& info) {
      Locked gil;
      before(module, info);
    };
  }
  if (auto after = instrument.after) {
    instrument.after = [after](const Module& module, const Module& result, const PassInfo& info,
                               double seconds) {
      Locked gil;
      after(module, result, info, seconds);
    };
  }
  return instrument;
}

/// An object with any of the methods of an instrument. What it needs is added to `kept`.
PassInstrument instrument_of(nb::object object, size_t position, nb::list& kept) {
  PassInstrument native;
  if (nb::try_cast(object, native)) {
    kept.append(object);
    return with_lock(std::move(native));
  }
  if (!PyType_Check(object.ptr()) && nb::hasattr(object, "_as_instrument"))
    return instrument_of(object.attr("_as_instrument")(), position, kept);
  check_instrument(object, position);
  PassInstrument instrument;
  instrument.name = nb::hasattr(object, "name") && nb::isinstance<nb::str>(object.attr("name"))
                        ? nb::cast<std::string>(object.attr("name"))
                        : class_name(object);
  auto method = [&](const char* name) -> std::optional<Callable> {
    if (!nb::hasattr(object, name)) return std::nullopt;
    nb::object bound = object.attr(name);
    kept.append(bound);
    return Callable(bound);
  };
  if (auto call = method("enter_pass_ctx")) {
    instrument.enter = [call] {
      Locked gil;
      call_python(**call);
    };
  }
  if (auto call = method("exit_pass_ctx")) {
    instrument.exit = [call] {
      Locked gil;
      call_python(**call);
    };
  }
  auto ask = [](const Callable& call, const Module& module, const PassInfo& info) {
    nb::object first = nb::cast(Module(module)), second = nb::cast(PassInfo(info));
    return call_python(*call, {first, second});
  };
  if (auto call = method("should_run")) {
    instrument.should_run = [call, ask](const Module& module, const PassInfo& info) {
      Locked gil;
      int yes = PyObject_IsTrue(ask(*call, module, info).ptr());
      if (yes < 0) throw nb::python_error();
      return yes == 1;
    };
  }
  if (auto call = method("run_before_pass")) {
    instrument.before = [call, ask](const Module& module, const PassInfo& info) {
      Locked gil;
      ask(*call, module, info);
    };
  }
  if (auto call = method("run_after_pass")) {
    instrument.after = [call, ask](const Module&, const Module& after, const PassInfo& info,
                                   double) {
      Locked gil;
      ask(*call, after, info);
    };
  }
  return instrument;
}

void set_instruments(nb::handle self, PassContext& context, const std::vector<nb::object>& given) {
  nb::list kept;
  std::vector<PassInstrument> made;
  for (size_t i = 0; i < given.size(); ++i) made.push_back(instrument_of(given[i], i, kept));
  context.instruments = std::move(made);
  keep(self, kept);
  self.attr("_instruments") = nb::cast(given);
}

/// An instrument that writes: its object keeps what it writes with.
nb::object writing(nb::handle write, const std::function<PassInstrument(TextSink)>& make) {
  if (PyCallable_Check(write.ptr()) == 0)
    throw nb::type_error(("write is a function of a text, not " + shown(write)).c_str());
  Callable call(write);
  nb::object made = nb::cast(make([call](const std::string& text) {
    Locked gil;
    nb::object argument = nb::str(text.data(), text.size());
    call_python(*call, {argument});
  }));
  keep(made, write);
  return made;
}

}  // namespace

void bind_contexts(nb::module_& m) {
  nb::class_<DiagnosticSink>(m, "DiagnosticSink", "The warnings of a context.");
  nb::class_<PassTrace>(m, "PassTrace", "One pass that ran under a context.")
      .def_ro("name", &PassTrace::pass)
      .def_ro("seconds", &PassTrace::seconds)
      .def_ro("changed", &PassTrace::changed)
      .def("__repr__", [](const PassTrace& self) {
        return "PassTrace(" + self.pass.str() + ", " + std::to_string(self.seconds) + " s, " +
               (self.changed ? "changed" : "unchanged") + ")";
      });
  nb::class_<PassContext>(
      m, "PassContext",
      "Settings under which passes run; contexts nest, and each thread has its own.",
      nb::is_weak_referenceable(), nb::dynamic_attr())
      .def(
          "__init__",
          [](nb::pointer_and_handle<PassContext> place, int opt_level, nb::handle required,
             nb::handle disabled, std::optional<std::vector<nb::object>> instruments,
             std::optional<std::map<std::string, PassOption>> config, bool collect_errors,
             bool trace) {
            auto made = std::make_unique<PassContext>();
            if (opt_level < 0)
              throw nb::value_error(
                  ("opt_level is not negative, as " + std::to_string(opt_level) + " is").c_str());
            made->opt_level = opt_level;
            made->required_passes = names_of(required, "required_pass");
            made->disabled_passes = names_of(disabled, "disabled_pass");
            if (config) {
              for (const auto& [key, value] : *config) made->set_config(key, value);
            }
            made->fallback_device =
                static_cast<int>(made->config_value<int64_t>("relay.fallback_device_type"));
            if (instruments) set_instruments(place.h, *made, *instruments);
            made->collect_errors = collect_errors;
            if (trace) made->trace = std::make_shared<std::vector<PassTrace>>();
            nb::object sink = nb::cast(std::make_shared<DiagnosticSink>());
            made->diagnostics = nb::inst_ptr<DiagnosticSink>(sink);
            nb::handle(place.h).attr("_diagnostics") = sink;
            new (place.p) PassContext(std::move(*made));
          },
          nb::arg("opt_level") = 2, nb::arg("required_pass").none() = nb::none(),
          nb::arg("disabled_pass").none() = nb::none(), nb::arg("instruments") = nb::none(),
          nb::arg("config") = nb::none(), nb::arg("collect_errors") = false,
          nb::arg("trace") = false)
      .def_ro("opt_level", &PassContext::opt_level)
      .def_ro("required_pass", &PassContext::required_passes)
      .def_ro("disabled_pass", &PassContext::disabled_passes)
      .def_prop_ro("config",
                   [](const PassContext& self) {
                     nb::dict values;
                     for (const auto& [key, value] : self.config)
                       values[key.c_str()] = object_of_option(value);
                     return values;
                   })
      .def_ro("collect_errors", &PassContext::collect_errors)
      .def_prop_ro(
          "instruments",
          [](nb::handle self) {
            if (!nb::hasattr(self, "_instruments")) return nb::list();
            return nb::list(self.attr("_instruments"));
          },
          "What it was given to watch passes.")
      .def(
          "_set_instruments",
          [](nb::pointer_and_handle<PassContext> self, const std::vector<nb::object>& given) {
            set_instruments(self.h, *self.p, given);
          },
          nb::arg("instruments"), "Of a context that no thread is in.")
      .def("__repr__",
           [](const PassContext& self) {
             std::string text = "PassContext(opt_level=" + std::to_string(self.opt_level);
             auto add = [&](const char* what, nb::object value) {
               if (nb::len(value) > 0)
                 text += std::string(", ") + what + "=" + nb::cast<std::string>(nb::repr(value));
             };
             add("required_pass", nb::cast(self.required_passes));
             add("disabled_pass", nb::cast(self.disabled_passes));
             nb::dict config;
             for (const auto& [key, value] : self.config)
               config[key.c_str()] = object_of_option(value);
             add("config", config);
             if (!self.instruments.empty())
               text += ", " + std::to_string(self.instruments.size()) + " instruments";
             return text + ")";
           })
      .def_prop_ro(
          "trace", [](const PassContext& self) { return self.noted_passes(); },
          "The passes that ran so far, where the context was made with trace=True.")
      .def(
          "report",
          [](const PassContext& self, const Diagnostic& diagnostic) {
            if (diagnostic.severity == Severity::kError || self.diagnostics == nullptr) {
              report_in_pass(diagnostic);
            } else {
              self.tell(diagnostic);
            }
          },
          nb::arg("diagnostic"),
          "Reports a diagnostic of the pass that runs, which goes on. A warning is kept in "
          "`diagnostics`. An error makes the pass raise a RelayError in the end, with those of "
          "other functions; a function that it is reported on stays as it was. Outside of a pass "
          "an error is raised at once.")
      .def_prop_ro(
          "diagnostics", [](const PassContext& self) { return self.told(); },
          "The warnings of passes that ran under it so far.")
      .def(
          "pass_enabled",
          [](const PassContext& self, const PassInfo& info) { return self.enabled(info); },
          nb::arg("info"))
      .def("__enter__",
           [](std::shared_ptr<PassContext> self) {
             PassContext::enter(self);
             return self;
           })
      .def(
          "__exit__",
          [](std::shared_ptr<PassContext> self, nb::handle, nb::handle, nb::handle) {
            if (PassContext::current_shared() == self && PassContext::inside())
              return PassContext::exit();
            // Left all the same, lest it stays the current one of what comes later.
            throw nb::value_error(
                leave_context(self)
                    ? "contexts are left in the reverse order of entering"
                    : "this context is not entered, or it was entered by another thread");
          },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none())
      .def_static(
          "current",
          [] { return std::const_pointer_cast<PassContext>(PassContext::current_shared()); },
          "The innermost context of this thread, or the default one.")
      .def_static(
          "list_configs",
          [] {
            nb::dict keys;
            for (const ConfigKey* key : all_config_keys()) {
              nb::dict entry;
              entry["type"] = option_type_name(key->default_value);
              entry["default"] = object_of_option(key->default_value);
              entry["doc"] = key->doc;
              keys[key->name.c_str()] = entry;
            }
            return keys;
          },
          "Type, default and documentation of every configuration key.");
}

void bind_instruments(nb::module_& m) {
  nb::class_<PassInstrument>(m, "NativeInstrument", "An instrument of the library.",
                             nb::dynamic_attr())
      .def_ro("name", &PassInstrument::name);
  nb::class_<PassTimes>(m, "PassTimes", "The times of passes.")
      .def(nb::init<>())
      .def("table", &PassTimes::table,
           "Milliseconds, share, runs and changes of each pass, longest first.")
      .def("chrome_trace", &PassTimes::chrome_trace, "JSON in Chrome's trace format.")
      .def_prop_ro(
          "entries",
          [](const PassTimes& self) {
            nb::list entries;
            for (const auto& entry : self.entries)
              entries.append(
                  nb::make_tuple(entry.pass, entry.begin_seconds, entry.seconds, entry.changed));
            return entries;
          },
          "Name, begin and duration in seconds, and whether anything changed, of each run.")
      .def_prop_ro(
          "depths",
          [](const PassTimes& self) {
            nb::list depths;
            for (const auto& entry : self.entries) depths.append(entry.depth);
            return depths;
          },
          "How many runs each of `entries` began inside of.");
  nb::class_<OpCounts>(m, "OpCounts", "The number of calls of operators after each pass.")
      .def(nb::init<>())
      .def("table", &OpCounts::table)
      .def_prop_ro("entries", [](const OpCounts& self) {
        nb::list entries;
        for (const auto& entry : self.entries)
          entries.append(nb::make_tuple(entry.pass, nb::cast(entry.calls)));
        return entries;
      });
  nb::class_<PassMemory>(m, "PassMemory", "Memory before and after each pass.")
      .def(nb::init<>())
      .def("table", &PassMemory::table)
      .def_prop_ro(
          "entries",
          [](const PassMemory& self) {
            nb::list entries;
            for (const auto& entry : self.entries)
              entries.append(nb::make_tuple(entry.pass, entry.before, entry.after));
            return entries;
          },
          "Name, bytes before, bytes after.");
  nb::enum_<PrintWhen>(m, "PrintWhen")
      .value("BEFORE", PrintWhen::kBefore)
      .value("AFTER", PrintWhen::kAfter)
      .value("CHANGED", PrintWhen::kChanged)
      .value("DIFFERENCE", PrintWhen::kDifference);
  m.def("time_passes", &time_passes, nb::arg("times"));
  m.def("count_ops", &count_ops, nb::arg("counts"));
  m.def("measure_memory", &measure_memory, nb::arg("memory"));
  m.def("verify_each", &verify_each);
  m.def("dump_passes", &dump_passes, nb::arg("folder"));
  m.def(
      "show_progress",
      [](nb::handle write, double threshold) {
        return writing(write,
                       [&](TextSink sink) { return show_progress(std::move(sink), threshold); });
      },
      nb::arg("write"), nb::arg("threshold") = 1.0);
  m.def(
      "print_passes",
      [](nb::handle write, PrintWhen when, std::vector<std::string> passes, bool show_types,
         bool colour) {
        check_pass_names(passes, "the passes to print");
        return writing(write, [&](TextSink sink) {
          return print_passes(std::move(sink), {when, std::move(passes), show_types, colour});
        });
      },
      nb::arg("write"), nb::arg("when") = PrintWhen::kAfter, nb::arg("passes") = nb::list(),
      nb::arg("show_types") = false, nb::arg("colour") = false);
  m.def("line_difference", &line_difference, nb::arg("before"), nb::arg("after"),
        nb::arg("colour") = false);
}

}  // namespace relay::python

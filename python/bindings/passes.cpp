// Passes: registered ones, ones written in Python, contexts, instruments.
#include <bindings/bindings.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>

#include <relay/transform/instruments.h>
#include <relay/transform/pass.h>

namespace relay::python {

namespace {

nb::object object_of_option(const PassOption& option) {
  return std::visit([](const auto& value) -> nb::object { return nb::cast(value); }, option);
}

/// A callable that the Python object of a pass or context keeps (`keep`), where the cycle collector
/// sees it: functions refer to their module's names, and those to passes.
class Callable {
 public:
  explicit Callable(nb::handle callable) : callable_(callable) {}
  nb::handle operator*() const { return callable_; }

 private:
  nb::handle callable_;
};

void keep(nb::handle owner, nb::handle callables) { owner.attr("_callables") = callables; }

/// A callable of somebody who cannot keep it; dropped with the interpreter's lock.
class Owned {
 public:
  explicit Owned(nb::object callable)
      : held_(new nb::object(std::move(callable)), [](nb::object* object) {
          if (!nb::is_alive()) return;
          nb::gil_scoped_acquire gil;
          delete object;
        }) {}
  nb::object& operator*() const { return *held_; }

 private:
  std::shared_ptr<nb::object> held_;
};

bool same_functions(const Module& a, const Module& b) {
  if (a.functions().size() != b.functions().size() || a.types() != b.types()) return false;
  for (size_t i = 0; i < a.functions().size(); ++i) {
    const auto &x = a.functions()[i], &y = b.functions()[i];
    if (!(x.name == y.name) || !(x.function == y.function)) return false;
  }
  return true;
}

/// What a pass made of a module: the same object if nothing changed.
nb::object run_pass(const Pass& pass, nb::handle module) {
  const Module& given = nb::cast<const Module&>(module);
  Module result = pass(given);
  if (same_functions(given, result)) return nb::borrow(module);
  return nb::cast(std::move(result));
}

std::string class_name(nb::handle object) {
  return nb::cast<std::string>(
      nb::str(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__")));
}

PassInfo info_of(Name name, int opt_level, std::string doc, std::vector<std::string> required,
                 bool typed) {
  PassInfo info{name, opt_level, {}, std::move(doc), std::move(required)};
  if (typed) info.requires_ = {ProgramState::kTyped};
  return info;
}

/// An object with any of the methods enter_pass_ctx, exit_pass_ctx, should_run, run_before_pass,
/// run_after_pass. Its bound methods are added to `kept`.
PassInstrument instrument_of(nb::object object, nb::list& kept) {
  PassInstrument native;
  if (nb::try_cast(object, native)) return native;
  if (nb::hasattr(object, "_as_instrument"))
    return nb::cast<PassInstrument>(object.attr("_as_instrument")());
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
      nb::gil_scoped_acquire gil;
      (**call)();
    };
  }
  if (auto call = method("exit_pass_ctx")) {
    instrument.exit = [call] {
      nb::gil_scoped_acquire gil;
      (**call)();
    };
  }
  if (auto call = method("should_run")) {
    instrument.should_run = [call](const Module& module, const PassInfo& info) {
      nb::gil_scoped_acquire gil;
      return nb::cast<bool>(
          nb::bool_((**call)(nb::cast(Module(module)), nb::cast(PassInfo(info)))));
    };
  }
  if (auto call = method("run_before_pass")) {
    instrument.before = [call](const Module& module, const PassInfo& info) {
      nb::gil_scoped_acquire gil;
      (**call)(nb::cast(Module(module)), nb::cast(PassInfo(info)));
    };
  }
  if (auto call = method("run_after_pass")) {
    instrument.after = [call](const Module&, const Module& after, const PassInfo& info, double) {
      nb::gil_scoped_acquire gil;
      (**call)(nb::cast(Module(after)), nb::cast(PassInfo(info)));
    };
  }
  return instrument;
}

TextSink sink_of(nb::object write) {
  Owned call(std::move(write));
  return [call](const std::string& text) {
    nb::gil_scoped_acquire gil;
    (*call)(nb::str(text.data(), text.size()));
  };
}

void bind_contexts(nb::module_& m) {
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
          [](nb::pointer_and_handle<PassContext> place, int opt_level,
             std::optional<std::vector<std::string>> required,
             std::optional<std::vector<std::string>> disabled,
             std::optional<std::vector<nb::object>> instruments,
             std::optional<std::map<std::string, PassOption>> config, bool collect_errors,
             bool trace) {
            auto made = std::make_unique<PassContext>();
            made->opt_level = opt_level;
            if (required) made->required_passes = std::move(*required);
            if (disabled) made->disabled_passes = std::move(*disabled);
            if (config) {
              for (const auto& [key, value] : *config) made->set_config(key, value);
            }
            made->fallback_device =
                static_cast<int>(made->config_value<int64_t>("relay.fallback_device_type"));
            if (instruments) {
              nb::list kept;
              for (const nb::object& one : *instruments)
                made->instruments.push_back(instrument_of(one, kept));
              keep(place.h, kept);
            }
            made->collect_errors = collect_errors;
            if (trace) made->trace = std::make_shared<std::vector<PassTrace>>();
            new (place.p) PassContext(std::move(*made));
          },
          nb::arg("opt_level") = 2, nb::arg("required_pass") = nb::none(),
          nb::arg("disabled_pass") = nb::none(), nb::arg("instruments") = nb::none(),
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
          "trace",
          [](const PassContext& self) {
            return self.trace ? *self.trace : std::vector<PassTrace>();
          },
          "The passes that ran so far, where the context was made with trace=True.")
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
            if (PassContext::current_shared() != self)
              throw nb::value_error("contexts are left in the reverse order of entering");
            PassContext::exit();
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
  nb::class_<PassInstrument>(m, "NativeInstrument", "An instrument of the library.")
      .def_ro("name", &PassInstrument::name);
  nb::class_<PassTimes>(m, "PassTimes", "What passes took.")
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
          "Name, begin and duration in seconds, and whether anything changed, of each run.");
  nb::class_<OpCounts>(m, "OpCounts", "How often operators are called after each pass.")
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
      [](nb::object write, double threshold) {
        return show_progress(sink_of(std::move(write)), threshold);
      },
      nb::arg("write"), nb::arg("threshold") = 1.0);
  m.def(
      "print_passes",
      [](nb::object write, PrintWhen when, std::vector<std::string> passes, bool show_types,
         bool colour) {
        return print_passes(sink_of(std::move(write)),
                            {when, std::move(passes), show_types, colour});
      },
      nb::arg("write"), nb::arg("when") = PrintWhen::kAfter, nb::arg("passes") = nb::list(),
      nb::arg("show_types") = false, nb::arg("colour") = false);
  m.def("line_difference", &line_difference, nb::arg("before"), nb::arg("after"),
        nb::arg("colour") = false);
}

}  // namespace

void bind_passes(nb::module_& m) {
  nb::class_<PassInfo>(m, "PassInfo", "Facts about a pass.")
      .def(
          "__init__",
          [](PassInfo* place, int opt_level, Name name,
             std::optional<std::vector<std::string>> required) {
            new (place) PassInfo(
                info_of(name, opt_level, "",
                        required ? std::move(*required) : std::vector<std::string>(), false));
          },
          nb::arg("opt_level"), nb::arg("name"), nb::arg("required") = nb::none())
      .def_prop_ro("name", [](const PassInfo& self) { return self.name; })
      .def_ro("opt_level", &PassInfo::opt_level,
              "A context runs the pass if its own level is at least this.")
      .def_ro("required", &PassInfo::required, "Passes that a sequence runs before this one.")
      .def_ro("doc", &PassInfo::doc)
      .def("__repr__", [](const PassInfo& self) {
        return "PassInfo(name=" + self.name.str() +
               ", opt_level=" + std::to_string(self.opt_level) + ")";
      });
  nb::class_<Pass>(m, "Pass", "A transformation of modules.", nb::is_weak_referenceable(),
                   nb::dynamic_attr())
      .def_prop_ro("info", &Pass::info)
      .def("__call__", &run_pass, nb::arg("mod"),
           "The transformed module, the same object if nothing changed. The argument stays as it "
           "is.")
      .def("__repr__", [](const Pass& self) { return "Pass(" + self.info().name.str() + ")"; });
  m.def(
      "create_pass",
      [](const std::string& name, const PassOptions& options) {
        return std::const_pointer_cast<Pass>(create_pass(name, options));
      },
      nb::arg("name"), nb::arg("options") = PassOptions(),
      "A registered pass. Raises RelayError for unknown names and options.");
  m.def("pass_names", [] {
    std::vector<Name> names;
    for (const PassRegistration* pass : all_passes()) names.push_back(pass->info.name);
    return names;
  });
  m.def(
      "pass_info",
      [](const std::string& name) {
        const PassRegistration* pass = find_pass(name);
        if (pass == nullptr) throw nb::key_error(("there is no pass " + name).c_str());
        nb::list options;
        for (const auto& option : pass->options)
          options.append(
              nb::make_tuple(option.name, option.doc, object_of_option(option.default_value)));
        return nb::make_tuple(nb::cast(PassInfo(pass->info)), options);
      },
      nb::arg("name"),
      "Facts about a registered pass, and name, documentation and default of each of its options.");
  m.def(
      "module_pass",
      [](nb::callable run, Name name, int opt_level, std::string doc,
         std::vector<std::string> required, bool typed) {
        Callable call(run);
        PassInfo info = info_of(name, opt_level, std::move(doc), std::move(required), typed);
        nb::object made = nb::cast(std::const_pointer_cast<Pass>(make_module_pass(
            std::move(info), [call, name](const Module& module, const PassContext&) {
              nb::gil_scoped_acquire gil;
              nb::object result = call_back([&] {
                return (*call)(
                    nb::cast(Module(module)),
                    nb::cast(std::const_pointer_cast<PassContext>(PassContext::current_shared())));
              });
              Module* given = nullptr;
              if (!nb::try_cast(result, given) || given == nullptr)
                throw nb::type_error(("module pass " + name.str() + " gave " + class_name(result) +
                                      ", not an IRModule")
                                         .c_str());
              return *given;
            })));
        keep(made, run);
        return made;
      },
      nb::arg("run"), nb::arg("name"), nb::arg("opt_level"), nb::arg("doc"), nb::arg("required"),
      nb::arg("typed"));
  m.def(
      "function_pass",
      [](nb::callable run, Name name, int opt_level, std::string doc,
         std::vector<std::string> required, bool typed) {
        Callable call(run);
        PassInfo info = info_of(name, opt_level, std::move(doc), std::move(required), typed);
        // One object for the module, however many functions it has.
        nb::object made = nb::cast(std::const_pointer_cast<Pass>(make_prepared_function_pass(
            std::move(info), [call, name](const Module& module, const PassContext&) {
              nb::gil_scoped_acquire gil;
              Owned shared(nb::cast(Module(module)));
              return [call, name, shared](const FunctionRef& function) {
                nb::gil_scoped_acquire inner;
                nb::object result = call_back([&] {
                  return (*call)(nb::cast(function), *shared,
                                 nb::cast(std::const_pointer_cast<PassContext>(
                                     PassContext::current_shared())));
                });
                FunctionRef made;
                if (!nb::try_cast(result, made))
                  throw nb::type_error(("function pass " + name.str() + " gave " +
                                        class_name(result) + ", not a Function")
                                           .c_str());
                return made;
              };
            })));
        keep(made, run);
        return made;
      },
      nb::arg("run"), nb::arg("name"), nb::arg("opt_level"), nb::arg("doc"), nb::arg("required"),
      nb::arg("typed"));
  m.def(
      "sequential",
      [](const std::vector<std::shared_ptr<Pass>>& passes, std::string name, int opt_level,
         std::vector<std::string> required) {
        return std::const_pointer_cast<Pass>(
            make_sequential(std::vector<PassRef>(passes.begin(), passes.end()), std::move(name),
                            opt_level, std::move(required)));
      },
      nb::arg("passes"), nb::arg("name") = "sequential", nb::arg("opt_level") = 0,
      nb::arg("required") = nb::list());
  m.def(
      "standard_pipeline",
      [](int level) { return std::const_pointer_cast<Pass>(standard_pipeline(level)); },
      nb::arg("level") = 3);
  bind_contexts(m);
  bind_instruments(m);
}

}  // namespace relay::python

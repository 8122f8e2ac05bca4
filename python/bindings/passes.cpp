// Passes: registered ones, ones written in Python, contexts, instruments.
#include <map>

#include <bindings/bindings.h>
#include <bindings/callbacks.h>
#include <bindings/errors.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>

#include <relay/support/suggest.h>
#include <relay/transform/instruments.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_report.h>
#include <relay/transform/pass_result.h>

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

/// Something that must live as long as a pass runs; dropped with the interpreter's lock.
class Owned {
 public:
  explicit Owned(nb::object object)
      : held_(new nb::object(std::move(object)), [](nb::object* held) {
          if (!nb::is_alive()) return;
          Locked gil;
          delete held;
        }) {}
  nb::object& operator*() const { return *held_; }

 private:
  std::shared_ptr<nb::object> held_;
};

// Passes that were written in Python, for contexts and passes that name some: their names, which
// are few and are kept, each with a weak reference to the last of that name.
std::map<std::string, PyObject*>& python_passes() {
  static auto& passes = *new std::map<std::string, PyObject*>;
  return passes;
}

bool is_pass_name(const std::string& name) {
  return find_pass(name) != nullptr || python_passes().contains(name);
}

void note_pass_name(const std::string& name) { python_passes().emplace(name, nullptr); }

void note_pass(const std::string& name, nb::handle pass) {
  PyObject*& known = python_passes()[name];
  Py_XDECREF(known);
  known = PyWeakref_NewRef(pass.ptr(), nullptr);
  if (known == nullptr) throw nb::python_error();
}

/// What a sequence asks for a pass that another one requires.
PassRef find_python_pass(std::string_view name) {
  Locked gil;
  auto found = python_passes().find(std::string(name));
  if (found == python_passes().end() || found->second == nullptr) return nullptr;
  nb::object object = nb::steal(PyObject_CallNoArgs(found->second));
  Pass* pass = nullptr;
  if (!object.is_valid()) throw nb::python_error();
  if (!nb::try_cast(object, pass) || pass == nullptr) return nullptr;
  auto owner = std::make_shared<Owned>(std::move(object));
  return PassRef(std::move(owner), pass);
}

void check_pass_names(const std::vector<std::string>& names, const std::string& what) {
  for (const std::string& name : names) {
    if (is_pass_name(name)) continue;
    std::vector<std::string> known;
    for (const auto& [other, pass] : python_passes()) known.push_back(other);
    for (const PassRegistration* pass : all_passes()) known.push_back(pass->info.name.str());
    Diagnostic diagnostic = Diagnostic::error("unknown pass " + name + " in " + what);
    suggest(diagnostic, name, known);
    throw Error(std::move(diagnostic));
  }
}

/// What a failing pass says: how to find the smallest program that it fails on.
std::string how_to_reduce(const Name& pass) {
  std::string predicate =
      "relay.reduce(mod, fails) with a function that says whether the pass fails";
  if (find_pass(pass.view()) == nullptr) return "help: to make the program small: " + predicate;
  return "help: to make the program small, write it to a file (`str(mod)`): relay reduce FILE "
         "--pass " +
         pass.str() + "; or " + predicate;
}

/// The registered pass that an error says it is of; `otherwise` if it says none.
Name failing_pass(std::string_view text, const Name& otherwise) {
  constexpr std::string_view kPass = "pass ";
  for (size_t at = text.find(kPass); at != std::string_view::npos; at = text.find(kPass, at + 1)) {
    std::string_view rest = text.substr(at + kPass.size());
    std::string_view name = rest.substr(0, rest.find_first_of(" \n:"));
    if (find_pass(name) != nullptr) return Name(name);
  }
  return otherwise;
}

/// What a pass made of a module: the same object if nothing changed.
nb::object run_pass(const Pass& pass, nb::handle module) {
  Module* held = nullptr;
  if (!nb::try_cast(module, held) || held == nullptr)
    throw nb::type_error(("a pass takes an IRModule, not " + class_name(module) +
                          (nb::isinstance<Expr>(module) ? ": IRModule.from_expr makes one" : ""))
                             .c_str());
  const Module given = *held;  // which nobody changes meanwhile
  try {
    Module result = interruptible([&] { return pass(given); });
    if (same_functions(given, result)) return nb::borrow(module);
    return nb::cast(std::move(result));
  } catch (const InternalError& error) {
    nb::object exception = object_of_defect(error);
    add_note(exception, how_to_reduce(failing_pass(error.what(), pass.info().name)));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    throw nb::python_error();
  }
}

nb::object current_context() {
  return nb::cast(std::const_pointer_cast<PassContext>(PassContext::current_shared()));
}

/// Whether a function says the same by the same objects: what a pass made of one that it found
/// nothing to do in.
bool same_parts(const Function& a, const Function& b) {
  return a.params() == b.params() && a.body() == b.body() && a.ret_type() == b.ret_type() &&
         a.type_params() == b.type_params() && a.constraints() == b.constraints() &&
         a.attrs() == b.attrs();
}

/// Of a function of a module.
std::string name_of(const Module& module, const FunctionRef& function) {
  for (const auto& entry : module.functions()) {
    if (entry.function == function) return entry.name.str();
  }
  return "?";
}

PassInfo info_of(Name name, int opt_level, std::string doc, std::vector<std::string> required,
                 bool typed) {
  check_pass_names(required, "what " + name.str() + " requires");
  note_pass_name(name.str());
  PassInfo info{name, opt_level, {}, std::move(doc), std::move(required)};
  if (typed) info.requires_ = {ProgramState::kTyped};
  return info;
}

/// Names of passes, of any collection of texts but a text.
std::vector<std::string> names_of(nb::handle given, const std::string& what) {
  if (given.is_none()) return {};
  if (PyUnicode_Check(given.ptr()) || !nb::hasattr(given, "__iter__"))
    throw nb::type_error((what + " is a list of names of passes, not " + shown(given)).c_str());
  std::vector<std::string> names;
  for (nb::handle name : nb::iter(given)) {
    if (!PyUnicode_Check(name.ptr()))
      throw nb::type_error((what + " is a list of names of passes; one is " + shown(name)).c_str());
    names.push_back(nb::cast<std::string>(name));
  }
  check_pass_names(names, what);
  return names;
}

constexpr const char* kInstrumentMethods[] = {"enter_pass_ctx", "exit_pass_ctx", "should_run",
                                              "run_before_pass", "run_after_pass"};

// Whether an object is an instrument; raises TypeError otherwise.
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

/// An object with any of the methods of an instrument. What it needs is added to `kept`.
PassInstrument instrument_of(nb::object object, size_t position, nb::list& kept) {
  PassInstrument native;
  if (nb::try_cast(object, native)) {
    kept.append(object);
    return native;
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

void bind_contexts(nb::module_& m) {
  nb::class_<DiagnosticSink>(m, "DiagnosticSink", "Where a context keeps warnings.");
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
            if (instruments) {
              nb::list kept;
              for (size_t i = 0; i < instruments->size(); ++i)
                made->instruments.push_back(instrument_of((*instruments)[i], i, kept));
              keep(place.h, kept);
              nb::handle(place.h).attr("_instruments") = nb::cast(*instruments);
            }
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
          "trace",
          [](const PassContext& self) {
            return self.trace ? *self.trace : std::vector<PassTrace>();
          },
          "The passes that ran so far, where the context was made with trace=True.")
      .def(
          "report",
          [](const PassContext& self, const Diagnostic& diagnostic) {
            if (diagnostic.severity == Severity::kError || self.diagnostics == nullptr) {
              report_in_pass(diagnostic);
            } else {
              self.diagnostics->add(diagnostic);
            }
          },
          nb::arg("diagnostic"),
          "Reports a diagnostic of the pass that runs, which goes on. A warning is kept in "
          "`diagnostics`. An error makes the pass raise a RelayError in the end, with those of "
          "other functions; a function that it is reported on stays as it was. Outside of a pass "
          "an error is raised at once.")
      .def_prop_ro(
          "diagnostics",
          [](const PassContext& self) {
            return self.diagnostics == nullptr ? std::vector<Diagnostic>()
                                               : self.diagnostics->diagnostics();
          },
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
      .def("__call__", &run_pass, nb::arg("mod").none(),
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
            std::move(info), [call, name](const Module& module, const PassContext& settings) {
              Locked gil;
              nb::object given_module = nb::cast(Module(module)), context = current_context();
              nb::object result = run_pass_part(
                  [&] { return "in pass " + name.str() + '\n' + how_to_reduce(name); },
                  settings.collect_errors,
                  [&] {
                    return call_python(*call, {given_module, context});
                  });
              Module* given = nullptr;
              if (!nb::try_cast(result, given) || given == nullptr)
                throw nb::type_error(("module pass " + name.str() + " gave " + class_name(result) +
                                      ", not an IRModule")
                                         .c_str());
              return *given;
            })));
        keep(made, run);
        note_pass(name.str(), made);
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
            std::move(info), [call, name](const Module& module, const PassContext& settings) {
              Locked gil;
              Owned shared(nb::cast(Module(module)));
              const bool collected = settings.collect_errors;
              return [call, name, shared, collected, module](const FunctionRef& function) {
                Locked inner;
                nb::object given_function = nb::cast(function), context = current_context();
                auto place = [&] {
                  return "pass " + name.str() + " failed on @" + name_of(module, function) + '\n' +
                         how_to_reduce(name);
                };
                nb::object result = run_pass_part(place, collected, [&] {
                  return call_python(*call, {given_function, *shared, context});
                });
                FunctionRef made;
                if (!nb::try_cast(result, made))
                  throw nb::type_error(("function pass " + name.str() + " gave " +
                                        class_name(result) + ", not a Function, on @" +
                                        name_of(module, function))
                                           .c_str());
                return same_parts(*made, *function) ? function : made;
              };
            })));
        keep(made, run);
        note_pass(name.str(), made);
        return made;
      },
      nb::arg("run"), nb::arg("name"), nb::arg("opt_level"), nb::arg("doc"), nb::arg("required"),
      nb::arg("typed"));
  m.def(
      "sequential",
      [](nb::list passes, std::string name, int opt_level, std::vector<std::string> required) {
        check_pass_names(required, "what " + name + " requires");
        // Its object keeps those of its passes, where the cycle collector sees them.
        std::vector<PassRef> parts;
        for (nb::handle item : passes) {
          Pass* pass = nullptr;
          if (!nb::try_cast(item, pass) || pass == nullptr)
            throw nb::type_error(
                ("passes[" + std::to_string(parts.size()) + "] of a Sequential is " + shown(item) +
                 ", not a pass" +
                 (PyCallable_Check(item.ptr()) != 0 ? ": call it to make one" : ""))
                    .c_str());
          parts.emplace_back(PassRef(), pass);
        }
        nb::object made = nb::cast(std::const_pointer_cast<Pass>(
            make_sequential(std::move(parts), name, opt_level, std::move(required))));
        keep(made, passes);
        note_pass(name, made);
        return made;
      },
      nb::arg("passes"), nb::arg("name") = "sequential", nb::arg("opt_level") = 0,
      nb::arg("required") = nb::list());
  m.def(
      "standard_pipeline",
      [](int level, const std::vector<std::string>& required) {
        return std::const_pointer_cast<Pass>(standard_pipeline(level, required));
      },
      nb::arg("level") = 3, nb::arg("required") = nb::list());
  m.def("is_pass_name", &is_pass_name, nb::arg("name"),
        "Whether a pass of that name is registered, or was written in Python.");
  m.def(
      "note_pass", [](const std::string& name) { note_pass_name(name); }, nb::arg("name"),
      "Makes the name of a pass that is yet to be made known to contexts.");
  set_pass_finder(&find_python_pass);
  bind_contexts(m);
  bind_instruments(m);
}

}  // namespace relay::python

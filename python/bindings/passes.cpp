// Passes: registered ones, ones written in Python, contexts, instruments.
#include <algorithm>
#include <map>
#include <utility>

#include <bindings/bindings.h>
#include <bindings/callbacks.h>
#include <bindings/errors.h>
#include <bindings/passes.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>

#include <relay/support/suggest.h>
#include <relay/transform/instruments.h>
#include <relay/transform/pass.h>
#include <relay/transform/pass_report.h>
#include <relay/transform/pass_result.h>
#include <relay/transform/typed_results.h>

namespace relay::python {

namespace {

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

/// The function that a sequence asks for a pass that another one requires.
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

/// The advice for a failing pass: how to find the smallest program that it fails on.
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

/// What Python holds of the module while a pass is called: passes of Python see the attributes of
/// `IRModule.with_attr`, of which the library knows nothing, and the caller gets the object that
/// the last of them gave.
class Held {
 public:
  explicit Held(nb::handle module)
      : attributes_(attributes_of(module)), outer_(std::exchange(innermost_, this)) {}
  ~Held() { innermost_ = outer_; }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  /// The object of a module for a pass of Python.
  static nb::object object_of(const Module& module) {
    nb::object made = nb::cast(Module(module));
    if (innermost_ != nullptr) set_attributes(made, innermost_->attributes_);
    return made;
  }
  /// Notes what a pass of Python gave. A module that knows of no attributes keeps those before.
  static void note(const nb::object& module) {
    if (innermost_ == nullptr) return;
    innermost_->last_ = module;
    if (nb::hasattr(module, "_attributes")) innermost_->attributes_ = attributes_of(module);
  }
  /// The object of the call's result.
  nb::object result(nb::handle given, const Module& before, Module result) const {
    if (same_functions(before, result) && attributes_of(given).is(attributes_))
      return nb::borrow(given);
    if (last_.is_valid() && attributes_of(last_).is(attributes_) &&
        same_functions(nb::cast<const Module&>(last_), result))
      return last_;
    nb::object made = nb::cast(std::move(result));
    set_attributes(made, attributes_);
    return made;
  }

 private:
  static nb::object attributes_of(nb::handle module) {
    return nb::getattr(module, "_attributes", nb::none());
  }
  static void set_attributes(nb::handle module, const nb::object& attributes) {
    if (!attributes.is_none()) nb::setattr(module, "_attributes", attributes);
  }
  nb::object attributes_, last_;
  Held* outer_;
  static thread_local Held* innermost_;
};
thread_local Held* Held::innermost_ = nullptr;

// The attribute of passes whose calls give typed programs (`type_results`).
constexpr const char* kTypedResults = "_typed_results";

/// The module that a pass made of another: the same object if nothing changed.
nb::object run_pass(nb::handle called, nb::handle module) {
  const Pass& pass = nb::cast<const Pass&>(called);
  Module* held = nullptr;
  if (!nb::try_cast(module, held) || held == nullptr)
    throw nb::type_error(("a pass takes an IRModule, not " + class_name(module) +
                          (nb::isinstance<Expr>(module) ? ": IRModule.from_expr makes one" : ""))
                             .c_str());
  const Module given = *held;  // other threads may change it meanwhile
  Held object(module);
  TypedResults typed(nb::hasattr(called, kTypedResults));
  try {
    // Passes and instruments of Python, and what operators ask of it, take the lock for themselves.
    Module result = without_lock([&] { return pass(given); });
    return object.result(module, given, std::move(result));
  } catch (const InternalError& error) {
    nb::object exception = object_of_defect(error);
    add_note(exception, how_to_reduce(failing_pass(error.what(), pass.info().name)));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    throw nb::python_error();
  }
}

/// True if a function says the same by the same objects: what a pass made of one that it found
/// nothing to do in.
bool same_parts(const Function& a, const Function& b) {
  return a.params() == b.params() && a.body() == b.body() && a.ret_type() == b.ret_type() &&
         a.type_params() == b.type_params() && a.constraints() == b.constraints() &&
         a.attrs() == b.attrs();
}

/// The name of a function of a module.
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
  info.result_of = PassInfo::ResultOf::kAuthor;
  if (typed) info.requires_ = {ProgramState::kTyped};
  return info;
}

}  // namespace

nb::object object_of_option(const PassOption& option) {
  return std::visit([](const auto& value) -> nb::object { return nb::cast(value); }, option);
}

void keep(nb::handle owner, nb::handle callables) { owner.attr("_callables") = callables; }

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
      .def_prop_ro(
          "required",
          [](const PassInfo& self) {
            std::vector<std::string> all = self.required;
            const bool typed = std::find(self.requires_.begin(), self.requires_.end(),
                                         ProgramState::kTyped) != self.requires_.end();
            // A pass of Python says itself what it requires.
            if (typed && find_pass(self.name.view()) != nullptr &&
                std::find(all.begin(), all.end(), "InferType") == all.end())
              all.insert(all.begin(), "InferType");
            return all;
          },
          "Passes that a sequence runs before this one: those that it names, and InferType if it "
          "is a registered one that works on typed programs.")
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
              nb::object given_module = Held::object_of(module), context = current_context();
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
              Held::note(result);
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
              Owned shared(Held::object_of(module));
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
      "type_results", [](nb::handle pass) { pass.attr(kTypedResults) = true; }, nb::arg("pass_"),
      "Makes calls of this pass give typed programs where something changed, also what passes that "
      "it runs give to one another.");
  m.def(
      "note_pass", [](const std::string& name) { note_pass_name(name); }, nb::arg("name"),
      "Makes the name of a pass that is yet to be made known to contexts.");
  set_pass_finder(&find_python_pass);
  bind_contexts(m);
  bind_instruments(m);
  bind_partition(m);
}

}  // namespace relay::python

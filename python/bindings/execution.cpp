// Compiling, running, evaluating.
#include <map>
#include <memory>

#include <bindings/arrays.h>
#include <bindings/bindings.h>
#include <bindings/kernels.h>
#include <bindings/machines.h>
#include <bindings/profiles.h>
#include <bindings/values.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>

#include <relay/codegen/codegen.h>
#include <relay/codegen/release.h>
#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/infer/runtime/type_checks.h>
#include <relay/runtime/hand_over.h>
#include <relay/runtime/params.h>
#include <relay/runtime/typed_closure.h>
#include <relay/support/suggest.h>
#include <relay/transform/pass_context.h>
#include <relay/transform/program.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/executable_file.h>
#include <relay/vm/machine/machine.h>

namespace relay::python {

namespace {

constexpr int kMostLevel = 4;  // of optimisation; contexts may have more, for passes of one's own

/// A compiled program.
class Program {
 public:
  Program(std::shared_ptr<const vm::Executable> executable, int threads,
          std::vector<bool> donated = {})
      : machines_(std::make_shared<Machines>(std::move(executable), threads)),
        donated_(std::move(donated)) {}

  const vm::Executable& executable() const { return machines_->executable(); }

  const vm::Entry& entry(const std::string& name) const {
    for (const vm::Entry& entry : executable().entries) {
      if (entry.name == name) return entry;
    }
    std::string names;
    for (const vm::Entry& entry : executable().entries)
      names += (names.empty() ? "" : ", ") + entry.name;
    throw nb::key_error(("the program has no function " + name + "; it has " + names).c_str());
  }

  /// The types of an entry, which keep the program.
  std::shared_ptr<const TypeCheck> check(const vm::Entry& entry) const {
    return {machines_, &entry.params};
  }

  /// True for each parameter of the first entry whose memory results may take over.
  const std::vector<bool>& donated() const { return donated_; }

  /// The name of the program in errors about arguments that were given away; the entry's if empty.
  std::string label;

  /// Makes an array unreadable whose memory was given as parameter i of the first entry.
  void take(nb::object& array, size_t i) {
    const vm::Entry& entry = executable().entries.front();
    const auto bytes = nb::cast<size_t>(array.attr("itemsize"));
    nb::object& dtype = unreadable_[{i, bytes}];
    if (!dtype.is_valid()) {
      const std::string name = label.empty() ? "@" + entry.name : label;
      dtype = unreadable_dtype("in a call of " + name + ", as %" + entry.params.parts[i].what +
                                   ", which is donated: use what the call gave, or a copy from "
                                   "before it",
                               bytes);
    }
    try {
      array.attr("dtype") = dtype;
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;  // a NumPy that does not allow it
    }
  }

  nb::object run(const vm::Entry& entry, std::vector<Value> arguments,
                 vm::Profile* profile = nullptr, const RunLimits& limits = {}) {
    Value result = machines_->with(
        [&](vm::Machine& machine) { return machine.run_with(entry, std::move(arguments)); },
        profile, limits);
    return object_of_value(std::move(result), machines_, {check(entry), &entry.result.type});
  }

 private:
  std::shared_ptr<Machines> machines_;
  std::vector<bool> donated_;
  std::map<std::pair<size_t, size_t>, nb::object> unreadable_;
};

std::string signature_of(const vm::Entry& entry) {
  const auto& params = entry.params.parts;
  std::string text = entry.name + "(";
  for (size_t i = 0; i < params.size(); ++i)
    text += (i > 0 ? ", " : "") + params[i].what + ": " + params[i].text;
  return text + ")";
}

/// The message that no parameter has a name, with those that are meant or that there are.
std::string no_parameter(const vm::Entry& entry, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& param : entry.params.parts) names.push_back(param.what);
  const std::string guess = did_you_mean_or_has(name, names);
  return "@" + entry.name + " has no parameter " + name + (guess.empty() ? "" : "; " + guess);
}

/// Memory of an argument, and true if results may be written over it.
struct MemoryRange {
  const std::byte* begin;
  const std::byte* end;
  bool given;
};

void add_memory(const Value& value, bool given, std::vector<MemoryRange>& out) {
  std::vector<const Value*> open{&value};
  while (!open.empty()) {
    const Value& one = *open.back();
    open.pop_back();
    if (one.is_tuple()) {
      for (const Value& field : one.fields()) open.push_back(&field);
    } else if (one.is_tensor() && !one.is_scalar()) {
      NDArray array = one.array();
      const auto* begin = static_cast<const std::byte*>(array.raw()) - array.byte_offset();
      out.push_back({begin, begin + array.memory_bytes(), given && is_handed_over(array.raw())});
    }
  }
}

/// Memory that is given away must be nobody else's in the call.
void refuse_shared_gifts(const vm::Entry& entry, std::span<const Value> values,
                         const std::vector<bool>& donated) {
  std::vector<MemoryRange> ranges;
  for (size_t i = 0; i < values.size(); ++i) add_memory(values[i], donated[i], ranges);
  std::sort(ranges.begin(), ranges.end(), [](const MemoryRange& a, const MemoryRange& b) {
    return std::less<>()(a.begin, b.begin);
  });
  MemoryRange reach{nullptr, nullptr, false};
  for (const MemoryRange& range : ranges) {
    if (std::less<>()(range.begin, reach.end) && (range.given || reach.given)) {
      throw nb::value_error(("@" + entry.name +
                             " is to write results over an array that it is given twice: two "
                             "arguments share memory, and one of them is donated")
                                .c_str());
    }
    if (std::less<>()(reach.end, range.end)) reach = range;
  }
}

std::vector<Value> bind_arguments(const std::shared_ptr<const TypeCheck>& check,
                                  const vm::Entry& entry, const nb::args& args,
                                  const nb::kwargs& kwargs, Program* taker = nullptr) {
  const std::vector<bool> none;
  const std::vector<bool>& donated = taker == nullptr ? none : taker->donated();
  std::vector<std::pair<size_t, std::vector<nb::object>>> gifts;
  const auto& params = entry.params.parts;
  auto signature = [&] { return signature_of(entry); };
  if (args.size() > params.size()) {
    throw nb::type_error((signature() + " takes " + std::to_string(params.size()) +
                          (params.size() == 1 ? " argument, not " : " arguments, not ") +
                          std::to_string(args.size()))
                             .c_str());
  }
  Memory memory = memory_of_arguments(entry);
  std::vector<Value> values(params.size());
  auto convert = [&](nb::handle object, size_t i) {
    const bool given = !donated.empty() && donated[i] && memory == Memory::kShared;
    auto name = [&] {
      return "argument " + std::to_string(i + 1) + " of @" + entry.name + ", %" + params[i].what;
    };
    if (given) gifts.emplace_back(i, std::vector<nb::object>());
    values[i] = named_value(object, {check, &params[i].type}, given ? Memory::kGiven : memory, name,
                            given ? &gifts.back().second : nullptr);
  };
  for (size_t i = 0; i < args.size(); ++i) convert(args[i], i);
  for (auto [key, object] : kwargs) {
    std::string name = nb::cast<std::string>(key);
    size_t i = params.size(), count = 0;
    for (size_t k = params.size(); k-- > 0;) {
      if (params[k].what != name) continue;
      i = k;
      ++count;
    }
    if (count == 0) throw nb::type_error(no_parameter(entry, name).c_str());
    if (count > 1) {
      throw nb::type_error((signature() + " has " + std::to_string(count) + " parameters named " +
                            name + ": give them by position")
                               .c_str());
    }
    if (values[i]) throw nb::type_error((signature() + " got two values for " + name).c_str());
    convert(object, i);
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (!values[i])
      throw nb::type_error(
          ("@" + entry.name + " needs a value for " + params[i].what + ": " + params[i].text)
              .c_str());
  }
  if (!donated.empty()) refuse_shared_gifts(entry, values, donated);
  // What the machine will refuse takes nothing.
  if (!gifts.empty()) {
    std::vector<const Value*> given;
    for (const Value& value : values) given.push_back(&value);
    TypeMismatch mismatch;
    if (!fits(entry.params, given, false, mismatch)) return values;
  }
  // From here on the program may write to them.
  for (auto& [i, arrays] : gifts) {
    for (nb::object& array : arrays) taker->take(array, i);
  }
  return values;
}

using NamedTensors = std::vector<std::pair<std::string, NDArray>>;

/// Constants of a program, of the types that the parameters are declared with.
NamedTensors params_of(nb::handle object, const Module& module, Name entry) {
  NamedTensors params;
  if (object.is_none()) return params;
  if (!nb::hasattr(object, "items"))
    throw nb::type_error(
        ("params is a dictionary of arrays by names of parameters, not " + shown(object)).c_str());
  auto check = std::make_shared<const TypeCheck>(argument_check(module, entry));
  for (nb::handle item : nb::iter(object.attr("items")())) {
    nb::object name = item[0];
    VarRef var;
    std::string text;
    if (nb::try_cast(name, var)) {
      text = var->name().str();
    } else if (!nb::try_cast(name, text)) {
      throw nb::type_error(("the names of params are texts, not " + shown(name)).c_str());
    }
    size_t i = find_parameter(*module.function(entry), entry, text);
    const TypeCheck::Part& part = check->parts[i];
    auto where = [&] { return "params[" + text + "]"; };
    Value value = named_value(item[1], {check, &part.type}, Memory::kShared, where);
    if (!value.is_tensor())
      throw nb::type_error(
          (where() + ": expected a tensor, found " + value_type_text(value)).c_str());
    TypeCheck::Part told = part;
    told.what = where();
    const Value* values[] = {&value};
    TypeMismatch mismatch;
    if (!fits(*check, {&told, 1}, values, false, mismatch)) {
      TypeCheck parts;
      parts.parts.push_back(std::move(told));
      throw Error(mismatch_error(parts, mismatch, [&](const TypeCheck::Part&) {
        return module.function(entry)->params()[i]->span();
      }));
    }
    params.emplace_back(text, value.array());
  }
  return params;
}

/// For each parameter that the program keeps, true if `given` names it: by name, or by its position
/// among them.
std::vector<bool> donated_parameters(nb::handle given, const vm::Entry& entry) {
  const auto& params = entry.params.parts;
  std::vector<bool> donated(params.size());
  bool any = false;
  for (nb::handle item : nb::iter(given)) {
    any = true;
    std::string name;
    int64_t position = -1;
    if (nb::try_cast(item, name)) {
      bool found = false;
      for (size_t i = 0; i < params.size(); ++i) {
        if (params[i].what != name) continue;
        donated[i] = found = true;
      }
      if (!found) throw nb::value_error(("donate: " + no_parameter(entry, name)).c_str());
    } else if (!PyBool_Check(item.ptr()) && nb::try_cast(item, position)) {
      if (position < 0 || position >= static_cast<int64_t>(params.size())) {
        throw nb::value_error(("donate: " + signature_of(entry) + " has no parameter at position " +
                               std::to_string(position))
                                  .c_str());
      }
      donated[static_cast<size_t>(position)] = true;
    } else {
      throw nb::type_error(
          ("donate holds names and positions of parameters, not " + shown(item)).c_str());
    }
  }
  return any ? donated : std::vector<bool>();
}

/// The function specialised for its declared types, `params` its constants.
Module closed_program(const Module& module, Name entry, const NamedTensors& params) {
  const Function& function = *module.function(entry);
  std::vector<Value> values(function.params().size());
  std::vector<bool> constants(values.size());
  for (const auto& [name, array] : params) {
    size_t i = find_parameter(function, entry, name);
    values[i] = Value(array);
    constants[i] = true;
  }
  return close_program(module, entry, values, constants);
}

}  // namespace

void bind_execution(nb::module_& m) {
  bind_values(m);
  nb::class_<Cancel>(m, "Cancel",
                     "Ends runs from another thread: give it to `Executable.run`, and call "
                     "`cancel`. Runs that get it afterwards end at once.")
      .def(nb::init<>())
      .def("cancel", &Cancel::cancel, nb::call_guard<nb::gil_scoped_release>(),
           "Ends the runs that have it, and those that get it later.")
      .def_prop_ro("cancelled", &Cancel::cancelled);
  nb::class_<Program>(
      m, "Executable",
      "A compiled program: call it with arrays, by position or by name. Several threads may.",
      nb::is_weak_referenceable())
      .def("__call__",
           [](Program& self, nb::args args, nb::kwargs kwargs) {
             const vm::Entry& entry = self.executable().entries.front();
             return self.run(entry, bind_arguments(self.check(entry), entry, args, kwargs, &self));
           })
      .def_rw("_label", &Program::label)
      .def(
          "call",
          [](Program& self, const std::string& name, nb::args args, nb::kwargs kwargs) {
            const vm::Entry& entry = self.entry(name);
            return self.run(entry, bind_arguments(self.check(entry), entry, args, kwargs));
          },
          nb::arg("name"), nb::arg("args"), nb::arg("kwargs"),
          "Calls a function of the program by name.")
      .def(
          "_run",
          [](Program& self, const nb::tuple& positional, const nb::dict& named,
             std::optional<std::string> name, double seconds, Cancel* cancel) {
            const auto args = nb::borrow<nb::args>(positional);
            const auto kwargs = nb::borrow<nb::kwargs>(named);
            const bool first = !name;
            const vm::Entry& entry = first ? self.executable().entries.front() : self.entry(*name);
            RunLimits limits{seconds, cancel};
            return self.run(
                entry,
                bind_arguments(self.check(entry), entry, args, kwargs, first ? &self : nullptr),
                nullptr, limits);
          },
          nb::arg("args"), nb::arg("named"), nb::arg("entry").none(), nb::arg("seconds"),
          nb::arg("cancel").none(),
          nb::sig("def _run(self, args: tuple[typing.Any, ...], named: dict[str, typing.Any], "
                  "entry: str | None, seconds: float, cancel: Cancel | None) -> typing.Any"))
      .def(
          "profile",
          [](Program& self, nb::args args, nb::kwargs kwargs) {
            const vm::Entry& entry = self.executable().entries.front();
            vm::Profile profile;
            self.run(entry, bind_arguments(self.check(entry), entry, args, kwargs), &profile);
            return profile_rows(self.executable(), profile);
          },
          "Runs once and gives what each kernel took: name, calls, seconds, flops, bytes, its "
          "text, and the dtypes and shapes of its tensors.")
      .def(
          "save",
          [](const Program& self, nb::handle path) {
            PyObject* bytes = nullptr;
            if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw nb::python_error();
            const std::string text = nb::steal<nb::bytes>(bytes).c_str();
            Unlocked released;
            require_portable(self.executable());
            vm::save_executable(self.executable(), text);
          },
          nb::arg("path"), nb::sig("def save(self, path: str | os.PathLike[str]) -> None"),
          "Writes a file that `relay run` and `relay.load` take.")
      .def_prop_ro("entries",
                   [](const Program& self) {
                     std::vector<std::string> names;
                     for (const vm::Entry& entry : self.executable().entries)
                       names.push_back(entry.name);
                     return names;
                   })
      .def_prop_ro(
          "parameters",
          [](const Program& self) {
            std::vector<std::pair<std::string, std::string>> params;
            for (const auto& part : self.executable().entries.front().params.parts)
              params.emplace_back(part.what, part.text);
            return params;
          },
          "Names and types of what it is called with.")
      .def_prop_ro(
          "signatures",
          [](const Program& self) {
            nb::dict entries;
            for (const vm::Entry& entry : self.executable().entries) {
              std::vector<std::pair<std::string, std::string>> params;
              for (const auto& part : entry.params.parts) params.emplace_back(part.what, part.text);
              entries[entry.name.c_str()] = nb::make_tuple(params, entry.result.text);
            }
            return entries;
          },
          nb::sig("def signatures(self) -> dict[str, tuple[list[tuple[str, str]], str]]"),
          "By function: names and types of its parameters, and the type of its result.")
      .def_prop_ro(
          "results",
          [](const Program& self) {
            nb::dict entries;
            for (const vm::Entry& entry : self.executable().entries) {
              std::vector<std::pair<std::string, std::string>> results;
              for (const vm::Entry::Result& each : entry.results) {
                results.emplace_back(
                    each.name.empty() ? "output_" + std::to_string(results.size()) : each.name,
                    each.type);
              }
              entries[entry.name.c_str()] = results;
            }
            return entries;
          },
          nb::sig("def results(self) -> dict[str, list[tuple[str, str]]]"),
          "By function: names and types of what it returns, a tuple's fields one by one. Names are "
          "those of the model that the program comes from, else `output_0`, `output_1`, ….")
      .def_prop_ro("target", [](const Program& self) { return self.executable().target; })
      .def_prop_ro(
          "notes", [](const Program& self) { return self.executable().notes; },
          "What makers of the program wrote about it, text by name; files keep it.")
      .def(
          "with_notes",
          [](const Program& self, std::map<std::string, std::string> notes) {
            auto noted = std::make_shared<vm::Executable>(self.executable());
            noted->notes = std::move(notes);
            return std::make_unique<Program>(std::move(noted), 0);
          },
          nb::arg("notes"), "The same program with other notes.")
      .def_prop_ro(
          "kernels",
          [](const Program& self) {
            std::vector<std::string> names;
            for (const vm::Kernel& kernel : self.executable().kernels) names.push_back(kernel.name);
            return names;
          },
          "The names of its kernels.")
      .def_prop_ro(
          "instructions", [](const Program& self) { return vm::disassemble(self.executable()); },
          "What the machine does, as text: functions, graphs, kernels and constants.")
      .def("__repr__",
           [](const Program& self) {
             std::string text = "<relay.Executable for " + self.executable().target + ":";
             for (const vm::Entry& entry : self.executable().entries)
               text += " " + signature_of(entry) + " -> " + entry.result.text + ";";
             text.back() = '>';
             return text;
           })
      .def("bytes",
           [](const Program& self) {
             require_portable(self.executable());
             std::vector<std::byte> bytes = vm::executable_bytes(self.executable());
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(nb::module_::import_("relay").attr("execution").attr("_load_bytes"),
                              nb::make_tuple(self.attr("bytes")()));
      });

  m.def(
      "compile",
      [](const Module& module, nb::handle given, const std::string& target,
         std::optional<int> opt_level, std::optional<std::string> entry, int threads, bool cache,
         nb::handle donate, const std::string& precision) {
        vm::CompileOptions options;
        options.target = codegen::Target::parse(target);
        if (opt_level) {
          options.level = *opt_level;
        } else if (PassContext::inside()) {
          options.level = std::min(PassContext::current().opt_level, kMostLevel);
        }
        if (cache) options.cache = codegen::default_cache();
        if (!precision.empty()) options.precision = *DType::parse(precision);
        Module copy = module;  // which nobody changes meanwhile
        Name name = find_entry(copy, entry.value_or("")).name;
        without_lock([&] { require_typed(copy); });
        NamedTensors params = params_of(given, copy, name);
        std::vector<Diagnostic> warnings;
        options.warnings = &warnings;
        std::shared_ptr<const vm::Executable> made = without_lock([&] {
          Module closed = closed_program(copy, name, params);
          return with_operators(vm::compile(closed, name, options));
        });
        auto program = std::make_unique<Program>(made, threads,
                                                 donated_parameters(donate, made->entries.front()));
        for (const Diagnostic& warning : warnings) {
          if (PyErr_WarnEx(PyExc_UserWarning, render(warning).c_str(), 1) != 0)
            throw nb::python_error();
        }
        return program;
      },
      nb::arg("mod"), nb::arg("params") = nb::none(), nb::arg("target") = "host",
      nb::arg("opt_level") = nb::none(), nb::arg("entry") = nb::none(), nb::arg("threads") = 0,
      nb::arg("cache") = true, nb::arg("donate") = nb::tuple(), nb::arg("precision") = "",
      "Compiles a function and what it calls. `params` are constants of the result, by the names "
      "of parameters.");
  m.def("release_memory", &codegen::release_memory, nb::call_guard<Unlocked>(),
        "Gives back memory that nothing needs now.");
  m.def(
      "load",
      [](const std::string& path, int threads) {
        std::shared_ptr<vm::Executable> executable = vm::load_executable(path);
        refuse_python_kernels(*executable, path);
        return std::make_unique<Program>(std::move(executable), threads);
      },
      nb::arg("path"), nb::arg("threads") = 0, nb::call_guard<Unlocked>(),
      "Reads a compiled program. Running it runs the code in the file: load only files that you "
      "trust.");
  m.def(
      "load_bytes",
      [](nb::bytes bytes) {
        std::shared_ptr<vm::Executable> executable = vm::load_executable(
            {static_cast<const std::byte*>(bytes.data()), bytes.size()}, "<bytes>");
        refuse_python_kernels(*executable, "<bytes>");
        return std::make_unique<Program>(std::move(executable), 0);
      },
      nb::arg("bytes"));
  m.def(
      "evaluate",
      [](const Module& module, nb::args args, std::optional<std::string> entry) {
        Module copy = module;
        Name name = find_entry(copy, entry.value_or("")).name;
        size_t wanted = copy.function(name)->params().size();
        if (args.size() != wanted) {
          throw nb::type_error(("@" + name.str() + " takes " + std::to_string(wanted) +
                                (wanted == 1 ? " argument" : " arguments") + ", not " +
                                std::to_string(args.size()))
                                   .c_str());
        }
        without_lock([&] { require_typed(copy); });
        auto check = std::make_shared<const TypeCheck>(argument_check(copy, name));
        std::vector<Value> values;
        for (nb::handle arg : args) {
          const TypeCheck::Part& part = check->parts[values.size()];
          values.push_back(named_value(arg, {check, &part.type}, Memory::kOwn, [&] {
            return "argument " + std::to_string(values.size() + 1) + " of @" + name.str() + ", %" +
                   part.what;
          }));
        }
        KnownType type;
        Value result = without_lock([&] {
          check_arguments(copy, name, values);
          Module special = close_program(copy, name, values, std::vector<bool>(values.size()));
          Value made = evaluate_function(special, name, values);
          if (!made.is_tensor()) type = returned_type(special, name);
          return made;
        });
        return object_of_value(std::move(result), nullptr, type);
      },
      nb::arg("mod"), nb::arg("args"), nb::arg("entry") = nb::none(),
      "Runs a function in the reference evaluator: slow, and the meaning of every construct.");
}

}  // namespace relay::python

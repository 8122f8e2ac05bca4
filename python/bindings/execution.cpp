// Compiling, running, evaluating; values in and out.
#include <memory>

#include <bindings/arrays.h>
#include <bindings/bindings.h>
#include <bindings/kernels.h>
#include <bindings/machines.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/unique_ptr.h>

#include <relay/codegen/codegen.h>
#include <relay/eval/eval.h>
#include <relay/import/onnx/import.h>
#include <relay/infer/infer.h>
#include <relay/infer/type_checks.h>
#include <relay/ir/constructor_tags.h>
#include <relay/runtime/format.h>
#include <relay/runtime/params.h>
#include <relay/runtime/type_check.h>
#include <relay/transform/pass_context.h>
#include <relay/transform/program.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/executable_file.h>
#include <relay/vm/machine/machine.h>

namespace relay::python {

namespace {

constexpr int kMostLevel = 4;  // of optimisation; contexts may have more, for passes of one's own

/// A value that NumPy has no word for: data, closures, references. Numbers, tensors and tuples are
/// Python's own.
struct ValueObject {
  Value value;
  std::shared_ptr<Machines> machines;  // of the program that made it, if one did: closures need one
};

/// What somebody else holds too (an argument, a constant of the program) is not to be written: such
/// arrays are read-only.
nb::object object_of_value(Value value, const std::shared_ptr<Machines>& machine) {
  switch (value.kind()) {
    case Value::Kind::kNone:
      return nb::none();
    case Value::Kind::kScalar:
    case Value::Kind::kTensor: {
      NDArray array = value.array();
      value = Value();
      if (array.dtype() == kBFloat16) return nb::cast(array);
      return numpy_of(array, array.unique() || array.is_uniform());
    }
    case Value::Kind::kTuple: {
      nb::list fields;
      std::span<Value> own = value.unique_fields();
      for (Value& field : own) fields.append(object_of_value(std::move(field), machine));
      if (own.empty()) {
        for (const Value& field : value.fields()) fields.append(object_of_value(field, machine));
      }
      return nb::tuple(fields);
    }
    default:
      return nb::cast(ValueObject{value, machine});
  }
}

/// A value of anything that is one; `wanted` gives numbers and lists their dtype.
Value value_of(nb::handle object, const TypeInfo* wanted) {
  RecursionScope nesting(" in an argument of a program");
  ValueObject* held = nullptr;
  if (nb::try_cast(object, held) && held != nullptr) return held->value;
  if (wanted != nullptr && wanted->kind == TypeInfo::Kind::kTuple &&
      (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr()))) {
    std::vector<Value> fields;
    size_t i = 0;
    for (nb::handle item : nb::iter(object)) {
      fields.push_back(value_of(item, i < wanted->fields.size() ? &wanted->fields[i] : nullptr));
      ++i;
    }
    return Value::tuple(std::move(fields));
  }
  if (wanted == nullptr && PyTuple_Check(object.ptr())) {
    std::vector<Value> fields;
    for (nb::handle item : nb::iter(object)) fields.push_back(value_of(item, nullptr));
    return Value::tuple(std::move(fields));
  }
  // Arrays keep their dtype, so that a wrong one is reported; Python's numbers have none.
  std::optional<DType> dtype;
  bool plain =
      PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr()) || PyList_Check(object.ptr());
  if (plain && wanted != nullptr && wanted->kind == TypeInfo::Kind::kTensor &&
      wanted->dtype.valid())
    dtype = wanted->dtype;
  return Value(array_of(object, dtype));
}

/// A value as program text has it, up to a length and a depth.
void append_value(std::string& text, const Value& value, int depth) {
  constexpr size_t kMost = 400;
  constexpr int kDeepest = 40;
  if (text.size() > kMost || depth > kDeepest) {
    text += "…";
    return;
  }
  auto fields = [&] {
    const char* between = "(";
    for (const Value& field : value.fields()) {
      text += between;
      append_value(text, field, depth + 1);
      between = ", ";
      if (text.size() > kMost) break;
    }
  };
  switch (value.kind()) {
    case Value::Kind::kScalar:
      text += format_value(value);
      return;
    case Value::Kind::kTensor:
      text += value_type_text(value);
      return;
    case Value::Kind::kTuple:
      if (value.fields().empty()) text += "(";
      fields();
      text += value.fields().size() == 1 ? ",)" : ")";
      return;
    case Value::Kind::kData:
      text += value.constructor()->name.view();
      if (value.fields().empty()) return;
      fields();
      text += ")";
      return;
    case Value::Kind::kReference:
      text += "ref(";
      append_value(text, value.get(), depth + 1);
      text += ")";
      return;
    default:
      text += "<" + std::string(kind_name(value.kind())) + ">";
  }
}

/// A compiled program.
class Program {
 public:
  Program(std::shared_ptr<const vm::Executable> executable, int threads)
      : machines_(std::make_shared<Machines>(std::move(executable), threads)) {}

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

  nb::object run(const vm::Entry& entry, std::span<const Value> arguments,
                 vm::Profile* profile = nullptr) {
    Value result = machines_->with(
        [&](vm::Machine& machine) { return machine.run(entry, arguments); }, profile);
    return object_of_value(std::move(result), machines_);
  }

 private:
  std::shared_ptr<Machines> machines_;
};

std::vector<Value> bind_arguments(const vm::Entry& entry, const nb::args& args,
                                  const nb::kwargs& kwargs) {
  const auto& params = entry.params.parts;
  auto signature = [&] {
    std::string text = entry.name + "(";
    for (size_t i = 0; i < params.size(); ++i)
      text += (i > 0 ? ", " : "") + params[i].what + ": " + params[i].text;
    return text + ")";
  };
  if (args.size() > params.size()) {
    throw nb::type_error((signature() + " takes " + std::to_string(params.size()) +
                          (params.size() == 1 ? " argument, not " : " arguments, not ") +
                          std::to_string(args.size()))
                             .c_str());
  }
  std::vector<Value> values(params.size());
  for (size_t i = 0; i < args.size(); ++i) values[i] = value_of(args[i], &params[i].type);
  for (auto [key, object] : kwargs) {
    std::string name = nb::cast<std::string>(key);
    size_t i = params.size(), count = 0;
    for (size_t k = params.size(); k-- > 0;) {
      if (params[k].what != name) continue;
      i = k;
      ++count;
    }
    if (count == 0) throw nb::type_error((signature() + " has no parameter " + name).c_str());
    if (count > 1) {
      throw nb::type_error((signature() + " has " + std::to_string(count) + " parameters named " +
                            name + ": give them by position")
                               .c_str());
    }
    if (values[i]) throw nb::type_error((signature() + " got two values for " + name).c_str());
    values[i] = value_of(object, &params[i].type);
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (!values[i])
      throw nb::type_error((signature() + " needs a value for " + params[i].what).c_str());
  }
  return values;
}

using NamedTensors = std::vector<std::pair<std::string, NDArray>>;

NamedTensors params_of(nb::handle object) {
  NamedTensors params;
  if (object.is_none()) return params;
  if (!nb::hasattr(object, "items"))
    throw nb::type_error(
        ("params is a dictionary of arrays by names of parameters, not " + shown(object)).c_str());
  for (nb::handle item : nb::iter(object.attr("items")())) {
    nb::object name = item[0];
    VarRef var;
    std::string text;
    if (nb::try_cast(name, var)) {
      text = var->name().str();
    } else if (!nb::try_cast(name, text)) {
      throw nb::type_error(("the names of params are texts, not " + shown(name)).c_str());
    }
    try {
      params.emplace_back(text, array_of(item[1]));
    } catch (const nb::builtin_exception& error) {
      throw nb::type_error(("params[" + text + "]: " + error.what()).c_str());
    }
  }
  return params;
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
  nb::class_<ValueObject>(m, "Value",
                          "A value that is no array: of a data type, a closure, a reference.")
      .def_prop_ro(
          "kind",
          [](const ValueObject& self) -> std::string {
            if (self.value.is_data()) return "data";
            if (self.value.is_closure()) return "closure";
            return self.value.is_reference() ? "reference"
                                             : std::string(kind_name(self.value.kind()));
          },
          "\"data\", \"closure\" or \"reference\".")
      .def_prop_ro(
          "constructor",
          [](const ValueObject& self) -> nb::object {
            if (!self.value.is_data()) return nb::none();
            return nb::cast(self.value.constructor()->name);
          },
          "The name of a data value's constructor; None for other values.")
      .def_prop_ro(
          "tag",
          [](const ValueObject& self) { return self.value.is_data() ? self.value.tag() : -1; })
      .def_prop_ro("fields",
                   [](const ValueObject& self) {
                     nb::list fields;
                     if (self.value.is_data()) {
                       for (const Value& field : self.value.fields())
                         fields.append(object_of_value(field, self.machines));
                     }
                     return fields;
                   })
      .def_prop_rw(
          "value",
          [](const ValueObject& self) {
            if (!self.value.is_reference()) throw nb::type_error("only a reference holds a value");
            return object_of_value(self.value.get(), self.machines);
          },
          [](const ValueObject& self, nb::handle value) {
            if (!self.value.is_reference()) throw nb::type_error("only a reference holds a value");
            self.value.set(value_of(value, static_cast<const TypeInfo*>(nullptr)));
          },
          "What a reference holds.")
      .def("__call__",
           [](const ValueObject& self, nb::args args) {
             if (!self.value.is_closure()) throw nb::type_error("only closures can be called");
             std::vector<Value> values;
             for (nb::handle arg : args)
               values.push_back(value_of(arg, static_cast<const TypeInfo*>(nullptr)));
             Value result;
             if (self.machines) {
               result = self.machines->with(
                   [&](vm::Machine& machine) { return machine.call(self.value, values); });
             } else {
               result = without_lock([&] { return call_closure(self.value, values); });
             }
             return object_of_value(std::move(result), self.machines);
           })
      .def(
          "__eq__",
          [](const ValueObject& self, nb::handle other) {
            ValueObject* value = nullptr;
            return nb::try_cast(other, value) && value != nullptr &&
                   bit_equal(self.value, value->value);
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const ValueObject&) -> size_t {
             throw nb::type_error("unhashable type: a value is equal by its contents");
           })
      .def("__repr__", [](const ValueObject& self) {
        std::string text;
        append_value(text, self.value, 0);
        return text;
      });

  m.def(
      "data_value",
      [](const ConstructorRef& constructor, nb::handle fields) {
        std::vector<Value> values;
        for (nb::handle field : nb::iter(fields))
          values.push_back(value_of(field, static_cast<const TypeInfo*>(nullptr)));
        if (values.size() != constructor->inputs().size()) {
          throw nb::type_error((constructor->name().str() + " takes " +
                                std::to_string(constructor->inputs().size()) + " fields, not " +
                                std::to_string(values.size()))
                                   .c_str());
        }
        if (constructor->ctor_tag() == kUnnumbered) {
          throw nb::value_error(
              ("constructor " + constructor->name().str() + " is of no data type yet").c_str());
        }
        const ConstructorInfo* info = ConstructorInfo::intern(
            constructor->name(), constructor->type_name()->name(),
            static_cast<int32_t>(constructor->ctor_tag()), static_cast<uint32_t>(values.size()));
        return ValueObject{Value::data(info, std::move(values)), nullptr};
      },
      nb::arg("constructor"), nb::arg("fields"), "A value of a data type.");
  m.def(
      "reference_value",
      [](nb::handle initial) {
        return ValueObject{
            Value::reference(value_of(initial, static_cast<const TypeInfo*>(nullptr))), nullptr};
      },
      nb::arg("initial"), "A new mutable cell, which programs that get it write to.");

  nb::class_<Program>(
      m, "Executable",
      "A compiled program: call it with arrays, by position or by name. Several threads may.",
      nb::is_weak_referenceable())
      .def("__call__",
           [](Program& self, nb::args args, nb::kwargs kwargs) {
             const vm::Entry& entry = self.executable().entries.front();
             return self.run(entry, bind_arguments(entry, args, kwargs));
           })
      .def(
          "call",
          [](Program& self, const std::string& name, nb::args args, nb::kwargs kwargs) {
            const vm::Entry& entry = self.entry(name);
            return self.run(entry, bind_arguments(entry, args, kwargs));
          },
          nb::arg("name"), nb::arg("args"), nb::arg("kwargs"),
          "Calls a function of the program by name.")
      .def(
          "profile",
          [](Program& self, nb::args args, nb::kwargs kwargs) {
            const vm::Entry& entry = self.executable().entries.front();
            vm::Profile profile;
            self.run(entry, bind_arguments(entry, args, kwargs), &profile);
            nb::list kernels;
            for (size_t i = 0; i < profile.kernels.size(); ++i) {
              const auto& measured = profile.kernels[i];
              if (measured.calls == 0) continue;
              nb::dict row;
              row["name"] = self.executable().kernels[i].name;
              row["calls"] = measured.calls;
              row["seconds"] = static_cast<double>(measured.nanoseconds) * 1e-9;
              row["flops"] = measured.flops;
              row["bytes"] = measured.bytes;
              kernels.append(row);
            }
            return kernels;
          },
          "Runs once and gives what each kernel took: name, calls, seconds, flops, bytes.")
      .def(
          "save",
          [](const Program& self, const std::string& path) {
            require_portable(self.executable());
            vm::save_executable(self.executable(), path);
          },
          nb::arg("path"), nb::call_guard<Unlocked>(),
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
      .def_prop_ro("target", [](const Program& self) { return self.executable().target; })
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
         std::optional<int> opt_level, std::optional<std::string> entry, int threads, bool cache) {
        auto params = params_of(given);
        vm::CompileOptions options;
        options.target = codegen::Target::parse(target);
        if (opt_level) {
          options.level = *opt_level;
        } else if (PassContext::inside()) {
          options.level = std::min(PassContext::current().opt_level, kMostLevel);
        }
        if (cache) options.cache = codegen::default_cache();
        const Module copy = module;  // which nobody changes meanwhile
        return without_lock([&] {
          Name name = find_entry(copy, entry.value_or("")).name;
          require_typed(copy);
          Module program = closed_program(copy, name, params);
          return std::make_unique<Program>(vm::compile(program, name, options), threads);
        });
      },
      nb::arg("mod"), nb::arg("params") = nb::none(), nb::arg("target") = "host",
      nb::arg("opt_level") = nb::none(), nb::arg("entry") = nb::none(), nb::arg("threads") = 0,
      nb::arg("cache") = true,
      "Compiles a function and what it calls. `params` are constants of the result, by the names "
      "of parameters.");
  m.def(
      "load",
      [](const std::string& path, int threads) {
        std::shared_ptr<vm::Executable> executable = vm::load_executable(path);
        refuse_python_kernels(*executable, path);
        return std::make_unique<Program>(std::move(executable), threads);
      },
      nb::arg("path"), nb::arg("threads") = 0, nb::call_guard<Unlocked>(),
      "Reads a compiled program. What runs is the code in the file: load only what you would run.");
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
        const Module copy = module;
        Name name = find_entry(copy, entry.value_or("")).name;
        size_t wanted = copy.function(name)->params().size();
        if (args.size() != wanted) {
          throw nb::type_error(("@" + name.str() + " takes " + std::to_string(wanted) +
                                (wanted == 1 ? " argument" : " arguments") + ", not " +
                                std::to_string(args.size()))
                                   .c_str());
        }
        std::vector<Value> values;
        for (nb::handle arg : args)
          values.push_back(value_of(arg, static_cast<const TypeInfo*>(nullptr)));
        Value result = without_lock([&] {
          require_typed(copy);
          check_arguments(copy, name, values);
          Module special = close_program(copy, name, values, std::vector<bool>(values.size()));
          return evaluate_function(special, name, values);
        });
        return object_of_value(std::move(result), nullptr);
      },
      nb::arg("mod"), nb::arg("args"), nb::arg("entry") = nb::none(),
      "Runs a function in the reference evaluator: slow, and the meaning of every construct.");
  m.def(
      "from_onnx",
      [](nb::handle model, std::map<std::string, std::vector<int64_t>> shape,
         std::map<std::string, DType> dtypes, std::optional<int64_t> opset, bool freeze) {
        OnnxOptions options;
        options.shapes = std::move(shape);
        options.dtypes = std::move(dtypes);
        options.opset = opset;
        options.freeze = freeze;
        nb::bytes bytes;
        std::string path;
        bool in_memory = nb::try_cast(model, bytes);
        if (!in_memory) path = nb::cast<std::string>(model);
        OnnxModel made;
        {
          Unlocked released;
          made = in_memory ? from_onnx({static_cast<const std::byte*>(bytes.data()), bytes.size()},
                                       options)
                           : from_onnx(path, options);
        }
        nb::dict params;
        for (auto& [name, array] : made.params) params[name.c_str()] = nb::cast(array);
        return nb::make_tuple(nb::cast(std::move(made.module)), params, made.warnings);
      },
      nb::arg("model"), nb::arg("shape"), nb::arg("dtypes"), nb::arg("opset").none(),
      nb::arg("freeze"),
      "A model from a path or bytes: the module, parameters by name, warnings. Raises RelayError.");
}

}  // namespace relay::python

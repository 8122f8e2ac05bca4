// The matrix of dtypes: the example of every operator in the other dtypes that its signature
// allows, in both executors. The cases follow from the registry.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/op/op.h>
#include <relay/parse/parse.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

namespace relay {
namespace {

constexpr DType kTargets[] = {kFloat16, kBFloat16, kFloat64, kInt64, kUInt8};

/// One call of an operator, with values.
struct Sample {
  const Operator* op = nullptr;
  AttrsRef attrs;
  std::vector<Value> arguments;
  std::vector<bool> constant;  // written in the program, so known when it is compiled
};

/// The tensors in a value changed one by one.
Value map_tensors(const Value& value, const std::function<NDArray(const NDArray&)>& change) {
  if (value.is_tensor()) return Value(change(value.array()));
  RELAY_CHECK(value.is_tuple(), "an argument that is no tensor");
  std::vector<Value> fields;
  for (size_t i = 0; i < value.fields().size(); ++i)
    fields.push_back(map_tensors(value.field(i), change));
  return Value::tuple(std::move(fields));
}

std::vector<NDArray> tensors_of(const Value& value) {
  std::vector<NDArray> found;
  map_tensors(value, [&](const NDArray& array) {
    found.push_back(array);
    return array;
  });
  return found;
}

// ---- Examples -----------------------------------------------------------------------------------

/// An argument of the command line: nested lists of numbers, or `random(2, 3)`.
NDArray array_of(std::string text, DType dtype) {
  std::vector<int64_t> shape;
  std::vector<double> numbers;
  if (text.starts_with("random(")) {
    auto extents = nlohmann::json::parse("[" + text.substr(7, text.size() - 8) + "]");
    int64_t size = 1;
    for (const auto& extent : extents) size *= shape.emplace_back(extent.get<int64_t>());
    for (int64_t i = 0; i < size; ++i) numbers.push_back(static_cast<double>(i % 7));
  } else {
    for (const auto& [word, number] : {std::pair("True", "1"), std::pair("False", "0")}) {
      for (size_t at = 0; (at = text.find(word, at)) != std::string::npos;)
        text.replace(at, std::string_view(word).size(), number);
    }
    auto value = nlohmann::json::parse(text);
    for (const auto* at = &value; at->is_array(); at = &at->front()) {
      shape.push_back(static_cast<int64_t>(at->size()));
      if (at->empty()) break;
    }
    std::function<void(const nlohmann::json&)> read = [&](const nlohmann::json& part) {
      if (!part.is_array()) return numbers.push_back(part.get<double>());
      for (const auto& inner : part) read(inner);
    };
    read(value);
  }
  NDArray wide = NDArray::empty(shape, kFloat64);
  std::copy(numbers.begin(), numbers.end(), wide.data<double>());
  return wide.cast(dtype);
}

bool is_closed(const Expr* expr) {
  bool closed = true;
  post_order(expr, [&](const Expr* part) { closed &= !part->is<Var>(); });
  return closed;
}

/// The call that an example shows, with its arguments evaluated.
Sample sample_of(const Operator& op, const OpExample& example) {
  Module module = parse_module("example", "def @main" + example.program.substr(2));
  infer_types_or_throw(module);
  const Function* main = module.function("main");
  std::vector<Value> given;
  std::vector<TypeRef> types;
  for (size_t i = 0; i < example.arguments.size(); ++i) {
    const auto* type = main->params()[i]->annotation()->as<TensorType>();
    RELAY_CHECK(type != nullptr, "a parameter that is no tensor");
    given.emplace_back(array_of(example.arguments[i], type->dtype()));
    types.push_back(value_type(given.back()));
  }
  Module special = specialize(module, "main", types);
  const Function* function = special.function("main");
  const Call* call = nullptr;
  post_order(function->body().get(), [&](const Expr* expr) {
    const auto* candidate = expr->as<Call>();
    const auto* callee = candidate == nullptr ? nullptr : candidate->callee()->as<Op>();
    if (callee != nullptr && callee->op() == &op) call = candidate;
  });
  RELAY_CHECK(call != nullptr, "the example of " + op.name().str() + " does not call it");
  Sample sample{&op, call->attrs(), {}, {}};
  std::vector<ExprRef> args(call->args().begin(), call->args().end());
  for (const ExprRef& arg : args) sample.constant.push_back(is_closed(arg.get()));
  Module inputs;
  inputs.add_function("main", make_function(std::vector<VarRef>(function->params().begin(),
                                                                function->params().end()),
                                            relay::make_tuple(args)));
  infer_types_or_throw(inputs);
  Value values = evaluate_function(inputs, "main", given);
  for (size_t i = 0; i < args.size(); ++i) sample.arguments.push_back(values.field(i));
  return sample;
}

// ---- Cases --------------------------------------------------------------------------------------

/// Inputs that change their dtype together: those of a variable, or one without.
struct Unit {
  std::string name;
  DTypes allowed;
  std::vector<size_t> inputs;
};

std::vector<Unit> units_of(const Operator& op) {
  std::map<std::string, Unit> units;
  for (size_t i = 0; i < op.num_inputs(); ++i) {
    const ValueSpec& spec = op.inputs()[i].spec;
    char variable = spec.variable();
    std::string name = variable == 0 ? op.inputs()[i].name.str() : std::string(1, variable);
    Unit& unit = units[name];
    unit.name = name;
    unit.allowed = variable == 0 ? spec.dtypes() : dtypes_of(op, variable);
    unit.inputs.push_back(i);
  }
  std::vector<Unit> found;
  for (auto& [name, unit] : units) found.push_back(std::move(unit));
  return found;
}

/// A call to be judged.
struct Case {
  std::string name;
  Sample changed;
  /// The same numbers in the example's dtypes; without an operator where there is no such call.
  Sample original;
  DType dtype;  // that it was changed to
};

/// A program that makes the call, and its arguments.
struct Program {
  FunctionRef function;
  std::vector<Value> arguments;
};

ExprRef literal_of(const Value& value) {
  if (value.is_tensor()) return make_constant(value.array());
  std::vector<ExprRef> fields;
  for (size_t i = 0; i < value.fields().size(); ++i) fields.push_back(literal_of(value.field(i)));
  return relay::make_tuple(fields);
}

Program program_of(const Sample& sample) {
  std::vector<VarRef> params;
  std::vector<ExprRef> args;
  std::vector<Value> given;
  for (size_t i = 0; i < sample.arguments.size(); ++i) {
    const Value& value = sample.arguments[i];
    if (sample.constant[i]) {
      args.push_back(literal_of(value));
      continue;
    }
    params.push_back(make_var("x" + std::to_string(i), value_type(value)));
    args.push_back(params.back());
    given.push_back(value);
  }
  return {make_function(params, make_call(make_op(sample.op), args, sample.attrs)), given};
}

/// Why inference refuses the call; empty if it does not.
std::string refusal_of(const Sample& sample) {
  Module module;
  module.add_function("main", program_of(sample).function);
  try {
    infer_types_or_throw(module);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// ---- Results ------------------------------------------------------------------------------------

double tolerance_of(DType dtype) {
  if (dtype == kFloat16) return 4e-3;
  if (dtype == kBFloat16) return 3e-2;
  if (dtype == kFloat64) return 1e-9;
  return dtype == kFloat32 ? 2e-5 : 0;
}

/// How numbers differ by more than `tolerance` of the greatest of them; empty if they do not.
std::string difference(const NDArray& found, const NDArray& wanted, double tolerance) {
  if (shape_text(found.shape()) != shape_text(wanted.shape()))
    return "shape " + shape_text(found.shape()) + " for " + shape_text(wanted.shape());
  double greatest = 1;
  for (int64_t i = 0; i < wanted.size(); ++i) {
    double value = std::abs(wanted.element_as_double(i));
    if (std::isfinite(value)) greatest = std::max(greatest, value);
  }
  for (int64_t i = 0; i < wanted.size(); ++i) {
    double a = found.element_as_double(i), b = wanted.element_as_double(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::abs(a - b) <= tolerance * greatest))
      return "element " + std::to_string(i) + " is " + std::to_string(a) + " for " +
             std::to_string(b);
  }
  return "";
}

/// Whether numbers of another dtype can be held against these: whole numbers of the dtype if that
/// is an integer one.
bool comparable(const NDArray& wanted, DType dtype) {
  if (!dtype.is_integer()) return true;
  bool fits = true;
  for (int64_t i = 0; i < wanted.size(); ++i) {
    double value = wanted.element_as_double(i);
    fits &= value == std::floor(value) && std::abs(value) < 1e15;
    if (dtype == kUInt8) fits &= value >= 0 && value <= 255;
  }
  return fits;
}

struct Outcome {
  std::vector<NDArray> results;
  std::string error;
};

template <class Run>
Outcome outcome(Run&& run) {
  try {
    return {tensors_of(run()), ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

/// What is wrong with a case, or nothing.
std::string judge(const Case& one, const Outcome& native, const Outcome& reference,
                  const Outcome& original) {
  if (native.error != reference.error)
    return "\"" + native.error + "\" natively, \"" + reference.error + "\" in the evaluator";
  bool alone = one.original.op == nullptr;
  if (!native.error.empty())
    return alone || !original.error.empty() ? "" : "fails: " + native.error;
  if (native.results.size() != reference.results.size()) return "another number of results";
  for (size_t k = 0; k < native.results.size(); ++k) {
    const NDArray &a = native.results[k], &b = reference.results[k];
    if (a.dtype() != b.dtype()) return "other dtypes";
    // What is computed in a narrow dtype may say so in a wider result.
    double tolerance =
        a.dtype().is_float() ? std::max(tolerance_of(a.dtype()), tolerance_of(one.dtype)) : 0;
    std::string why = difference(a, b, tolerance);
    if (!why.empty()) return "natively " + why + " of the evaluator";
    if (alone || !original.error.empty() || !comparable(original.results[k], a.dtype())) continue;
    const NDArray& wanted = original.results[k];
    bool floats = a.dtype().is_float() && wanted.dtype().is_float();
    // Steps between are rounded, too.
    double rounded = 2 * std::max(tolerance, tolerance_of(wanted.dtype()));
    why = difference(wanted.dtype().is_float() ? b : b.cast(wanted.dtype()), wanted,
                     floats ? rounded : 0);
    if (!why.empty()) return why + " in " + std::string(wanted.dtype().name());
  }
  return "";
}

void run_cases(std::vector<Case>& cases) {
  if (cases.empty()) return;
  Module module;
  std::vector<Name> names;
  std::vector<Program> programs;
  for (size_t i = 0; i < cases.size(); ++i) {
    programs.push_back(program_of(cases[i].changed));
    names.emplace_back("f" + std::to_string(i));
    module.add_function(names.back(), programs.back().function);
  }
  infer_types_or_throw(module);
  auto executable = vm::compile(module, names);
  vm::Machine machine(executable);
  for (size_t i = 0; i < cases.size(); ++i) {
    Outcome native = outcome([&] { return machine.run(names[i].view(), programs[i].arguments); });
    Outcome reference =
        outcome([&] { return evaluate_function(module, names[i], programs[i].arguments); });
    Outcome original;
    if (cases[i].original.op != nullptr) {
      Program program = program_of(cases[i].original);
      original = outcome([&] {
        Module other;
        other.add_function("main", program.function);
        infer_types_or_throw(other);
        return evaluate_function(other, "main", program.arguments);
      });
    }
    std::string why = judge(cases[i], native, reference, original);
    EXPECT_TRUE(why.empty()) << cases[i].name << ": " << why;
  }
  cases.clear();
}

/// Collects cases and runs them, some compiled together.
class Matrix {
 public:
  ~Matrix() { run_cases(cases_); }
  size_t count() const { return count_; }

  /// Adds a case, unless inference refuses it: says then why.
  std::string add(Case one) {
    std::string refusal = refusal_of(one.changed);
    if (!refusal.empty()) return refusal;
    cases_.push_back(std::move(one));
    ++count_;
    if (cases_.size() == kBatch) run_cases(cases_);
    return "";
  }

 private:
  static constexpr size_t kBatch = 60;
  std::vector<Case> cases_;
  size_t count_ = 0;
};

void each_sample(const std::function<void(const Sample&)>& visit) {
  for (const Operator* op : all_ops()) {
    if (!op->pure()) continue;  // its effect would be seen
    for (const OpExample& example : op->examples()) visit(sample_of(*op, example));
  }
}

/// Changes the tensors of some inputs. A tuple may hold others beside those of the first one's
/// dtype: positions, as a rule.
Sample changed(const Sample& sample, const std::set<size_t>& inputs,
               const std::function<NDArray(const NDArray&)>& change) {
  Sample result = sample;
  for (size_t i : inputs) {
    std::vector<NDArray> tensors = tensors_of(sample.arguments[i]);
    result.arguments[i] = map_tensors(sample.arguments[i], [&](const NDArray& array) {
      return array.dtype() == tensors[0].dtype() ? change(array) : array;
    });
  }
  return result;
}

bool same_numbers(const Sample& a, const Sample& b) {
  for (size_t i = 0; i < a.arguments.size(); ++i) {
    std::vector<NDArray> left = tensors_of(a.arguments[i]), right = tensors_of(b.arguments[i]);
    for (size_t k = 0; k < left.size(); ++k) {
      if (!difference(left[k], right[k], 0).empty()) return false;
    }
  }
  return true;
}

/// Whether another dtype means another result: bits that are read anew, numbers that are drawn.
bool depends_on_dtype(const Operator& op) {
  std::string name = op.name().str();
  return name == "reinterpret" || name.starts_with("random.");
}

Case case_of(const Sample& sample, const std::set<size_t>& inputs, DType dtype, std::string what) {
  Case one{sample.op->name().str() + " with " + what + " of " + std::string(dtype.name()),
           changed(sample, inputs, [&](const NDArray& array) { return array.cast(dtype); }),
           changed(sample, inputs,
                   [&](const NDArray& array) { return array.cast(dtype).cast(array.dtype()); }),
           dtype};
  if (depends_on_dtype(*sample.op) || !same_numbers(one.changed, one.original)) one.original = {};
  return one;
}

DType dtype_of(const Sample& sample, size_t input) {
  std::vector<NDArray> tensors = tensors_of(sample.arguments[input]);
  return tensors.empty() ? DType() : tensors[0].dtype();
}

TEST(OpDtypes, InputsOfEveryDtype) {
  Matrix matrix;
  each_sample([&](const Sample& sample) {
    std::vector<Unit> units = units_of(*sample.op);
    for (const Unit& unit : units) {
      DType own = dtype_of(sample, unit.inputs[0]);
      for (DType dtype : kTargets) {
        if (!unit.allowed.contains(dtype) || own == dtype || !own.valid()) continue;
        std::set<size_t> inputs(unit.inputs.begin(), unit.inputs.end());
        std::string refusal = matrix.add(case_of(sample, inputs, dtype, unit.name));
        if (refusal.empty()) continue;
        // Perhaps with the others that have its dtype now, as far as the relation has a say.
        for (const Unit& other : units) {
          if (other.allowed.contains(dtype) && dtype_of(sample, other.inputs[0]) == own)
            inputs.insert(other.inputs.begin(), other.inputs.end());
        }
        refusal = matrix.add(case_of(sample, inputs, dtype, unit.name + " and others"));
        bool of_width = sample.op->name().view() == "reinterpret";
        EXPECT_TRUE(refusal.empty() || of_width) << refusal;
      }
    }
  });
  EXPECT_GT(matrix.count(), 800u);
}

TEST(OpDtypes, AttributesOfEveryDtype) {
  Matrix matrix;
  each_sample([&](const Sample& sample) {
    if (sample.op->attrs_schema() == nullptr) return;
    for (const AttrField& field : sample.op->attrs_schema()->fields) {
      if (field.kind != AttrKind::kDType) continue;
      for (DType dtype : kTargets) {
        Sample other = sample;
        AttrsRef attrs =
            sample.attrs ? sample.attrs : Attrs::make(*sample.op->attrs_schema(), {}, {});
        std::vector<NamedAttr> values = attrs->fields(false);
        std::erase_if(values, [&](const NamedAttr& attr) { return attr.name == field.name; });
        values.push_back({field.name, AttrValue(dtype), {}});
        other.attrs = Attrs::make(*sample.op->attrs_schema(), values, {});
        Case one{
            sample.op->name().str() + " with " + field.name.str() + " " + std::string(dtype.name()),
            other, depends_on_dtype(*sample.op) ? Sample() : sample, dtype};
        matrix.add(std::move(one));  // not every dtype is one of positions
      }
    }
  });
  EXPECT_GT(matrix.count(), 100u);
}

TEST(OpDtypes, NotANumberGoesWhereTheEvaluatorSays) {
  constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(), -0.0};
  Matrix matrix;
  each_sample([&](const Sample& sample) {
    for (const Unit& unit : units_of(*sample.op)) {
      if (!dtype_of(sample, unit.inputs[0]).is_float()) continue;
      for (DType dtype : {kFloat32, kFloat16, kBFloat16, kFloat64}) {
        if (!unit.allowed.contains(dtype)) continue;
        for (int64_t first = 0; first < 4; ++first) {
          Sample special =
              changed(sample, {unit.inputs.begin(), unit.inputs.end()}, [&](const NDArray& array) {
                NDArray result = array.cast(kFloat64).copy();
                for (int64_t i = first % 3; i < result.size(); i += 3)
                  result.data<double>()[i] = kSpecial[(first + i / 3) % 4];
                return result.cast(dtype);
              });
          Case one{sample.op->name().str() + " with not-a-number in " + unit.name + " of " +
                       std::string(dtype.name()) + ", " + std::to_string(first),
                   special,
                   {},
                   dtype};
          matrix.add(std::move(one));
        }
      }
    }
  });
  EXPECT_GT(matrix.count(), 1000u);
}

}  // namespace
}  // namespace relay

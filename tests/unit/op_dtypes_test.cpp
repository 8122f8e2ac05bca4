// The matrix of dtypes: the example of every operator in the other dtypes that its signature
// allows, in both executors. The cases follow from the registry.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include <relay/eval/eval.h>
#include <relay/infer/infer.h>
#include <relay/support/error.h>
#include <relay/vm/compiler/compile.h>
#include <relay/vm/machine/machine.h>

#include <tests/unit/op_samples.h>

namespace relay::op_dtypes_test {
namespace {

constexpr DType kTargets[] = {kFloat16, kBFloat16, kFloat64, kInt64, kUInt8};

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

/// True if numbers of another dtype can be held against these: whole numbers of the dtype if that
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

/// The fault of a case, or nothing.
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
    // A computation in a narrow dtype may show in a wider result.
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
  std::vector<SampleProgram> programs;
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
      SampleProgram program = program_of(cases[i].original);
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

/// True if another dtype means another result: bits that are read anew, numbers that are drawn.
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
        // Bits are of one width: those of all elements, or of the thresholds in nodes.
        std::string_view name = sample.op->name().view();
        bool of_width = name == "reinterpret" || name == "tree_leaves";
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
        Sample other = with_attribute(sample, field.name, dtype);
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
}  // namespace relay::op_dtypes_test

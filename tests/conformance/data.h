// Cases of recorded data: tests/conformance/oracle and tests/op/data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <relay/ir/module.h>
#include <relay/runtime/value.h>
#include <relay/support/diagnostic.h>

namespace relay::conformance {

using Json = nlohmann::json;

enum class Verdict { kPassed, kFailed, kNotApplicable };

struct Outcome {
  Verdict verdict = Verdict::kPassed;
  std::string detail;

  static Outcome passed() { return {}; }
  static Outcome failed(std::string detail) { return {Verdict::kFailed, std::move(detail)}; }
  static Outcome not_applicable(std::string detail) {
    return {Verdict::kNotApplicable, std::move(detail)};
  }
};

/// The objects of a file with one on each line.
std::vector<Json> read_lines(const std::string& path);
/// `{shape, dtype, values}` as an array.
NDArray read_array(const Json& json);
/// Tensors inside a value, left to right.
std::vector<NDArray> flatten(const Value& value);
/// Why `found` is not `wanted` within |a−b| ≤ tolerance·max(1, |b|), or nothing.
std::optional<std::string> difference(const NDArray& found, const NDArray& wanted,
                                      double tolerance);
/// The first operator that a program calls and that is not declared.
std::optional<std::string> undeclared_operator(const std::string& program);
/// First line of a text.
std::string first_line(const std::string& text);

/// Types of one structure, where `?` of the recorded type may be any dimension of ours.
bool type_agrees(const Type* ours, const Type* recorded);

/// How a program is refused.
struct Refusal {
  bool syntax = false;  // by the parser
  std::vector<Diagnostic> diagnostics;
  std::shared_ptr<const Source> source;  // null where places are of no interest
};
/// Why a refusal is not for the recorded reason (`error`, or the `note` of what TVM accepts), or
/// nothing. It must speak of the same kind of mistake, at the recorded place (`where`, or the
/// operator that the case is named by).
std::optional<std::string> other_reason(const Json& json, const Refusal& refusal);

/// The answer of one of relay/analysis to a recorded question, or nothing if there is none of this
/// form.
std::optional<Json> run_analysis(const std::string& analysis, const Module& module);

/// The executor that runs programs: "eval", "vm", or "vm-direct" (see vm::CompileOptions::direct);
/// and for what instruction set.
extern std::string executor;
extern std::string target;
/// Runs @main on recorded inputs.
Value run_main(const Module& module, const Json& inputs);
/// The same on values.
Value run_main(const Module& module, std::vector<Value> arguments);
/// The tolerance of a recorded output: native mathematics is good to some units in the last place.
double tolerance_of(const Json& json, double otherwise);

// One case each.
Outcome run_op_case(const Json& json);
Outcome run_type_case(const Json& json);
Outcome run_analysis_case(const Json& json);
Outcome run_pass_case(const Json& json);
/// Not applicable where the model needs an operator that is not imported.
Outcome run_onnx_case(const Json& json);
/// The folder, with a slash, of the file that cases are being read from.
extern std::string case_folder;

}  // namespace relay::conformance

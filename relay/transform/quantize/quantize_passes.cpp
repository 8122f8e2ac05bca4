// Quantize and its steps.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <relay/support/error.h>
#include <relay/transform/pass.h>
#include <relay/transform/quantize/quantize.h>

namespace relay::quantizing {
namespace {

using Texts = std::vector<std::string>;

const PassRegistration::Option kInputBits{"nbit_input", "Bits of operands, 2 to 8.", int64_t{8}};
const PassRegistration::Option kWeightBits{
    "nbit_weight", "Bits of operands that are constants, 2 to 8.", int64_t{8}};
const PassRegistration::Option kInputDType{
    "dtype_input", "The integers of operands, int8 or uint8, which makes negative numbers 0.",
    std::string("int8")};
const PassRegistration::Option kWeightDType{
    "dtype_weight",
    "The integers of operands that are constants, int8, or uint8 where none is negative.",
    std::string("int8")};
const PassRegistration::Option kSkipDense{
    "skip_dense_layer", "Products other than convolutions stay as they are.", true};
const PassRegistration::Option kSkipConv{
    "skip_conv_layers",
    "Convolutions that stay as they are, counted from 0 in the order in which they run.",
    Texts{"0"}, OptionEntries::kIntegers};
const PassRegistration::Option kGlobalScale{
    "global_scale", "The greatest number of an operand that is no constant.", 8.0};
const PassRegistration::Option kWeightScale{
    "weight_scale",
    "Scales of constants: power2, the next power of two above the greatest number, or max, the "
    "greatest number itself.",
    std::string("power2")};
const PassRegistration::Option kSimulation{
    "do_simulation", "The result quantises numbers, but computes on floats.", false};

int64_t bits(const PassOptions& options, const std::string& name) {
  const auto value = option<int64_t>(options, name);
  if (value < 2 || value > 8)
    throw Error("option " + name + " is between 2 and 8, not " + std::to_string(value));
  return value;
}

const std::string& word(const PassOptions& options, const std::string& name, const char* first,
                        const char* second) {
  const auto& value = option<std::string>(options, name);
  if (value != first && value != second) {
    throw Error("option " + name + " is " + first + " or " + second + ", not " + value);
  }
  return value;
}

DType dtype(const PassOptions& options, const std::string& name) {
  return word(options, name, "int8", "uint8") == "int8" ? kInt8 : kUInt8;
}

// Of a text that is a number and nothing else.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<int64_t> layers(const PassOptions& options) {
  std::vector<int64_t> numbers;
  for (const std::string& text : option<Texts>(options, "skip_conv_layers")) {
    std::optional<int64_t> layer = number<int64_t>(text);
    if (!layer || *layer < 0)
      throw Error("option skip_conv_layers takes integers from 0 on, not " + text);
    numbers.push_back(*layer);
  }
  return numbers;
}

// `NAME: SCALE`, what a dictionary of options becomes.
std::unordered_map<std::string, double> scales(const PassOptions& options) {
  std::unordered_map<std::string, double> found;
  for (const std::string& text : option<Texts>(options, "scales")) {
    const size_t colon = text.rfind(": ");
    const std::optional<double> scale =
        colon == std::string::npos ? std::nullopt : number<double>(text.substr(colon + 2));
    if (!scale || !is_scale(*scale))
      throw Error("option scales has entries NAME: SCALE with float32 scales above 0, not " + text);
    found[text.substr(0, colon)] = *scale;
  }
  return found;
}

// Those of the options that a step has.
Quantization quantization(const PassOptions& options) {
  Quantization result;
  auto given = [&](const char* name) { return options.count(name) != 0; };
  if (given("nbit_input")) result.input_bits = bits(options, "nbit_input");
  if (given("nbit_weight")) result.weight_bits = bits(options, "nbit_weight");
  if (given("dtype_input")) result.input_dtype = dtype(options, "dtype_input");
  if (given("dtype_weight")) result.weight_dtype = dtype(options, "dtype_weight");
  if (given("skip_dense_layer")) result.skip_products = option<bool>(options, "skip_dense_layer");
  if (given("skip_conv_layers")) result.skip_convolutions = layers(options);
  if (given("weight_scale"))
    result.weights_by_powers = word(options, "weight_scale", "power2", "max") == "power2";
  if (given("global_scale")) {
    result.global_scale = option<double>(options, "global_scale");
    if (!(result.global_scale > 0)) throw Error("option global_scale is greater than 0");
    const double levels = std::exp2(static_cast<double>(result.input_bits - 1));
    if (!is_scale(result.global_scale / levels))
      throw Error("option global_scale gives a scale that is no float32 above 0");
  }
  return result;
}

// The options of a step, out of those of Quantize.
PassRef step(const char* name, const PassOptions& all) {
  PassOptions own;
  for (const auto& option : find_pass(name)->options) {
    auto given = all.find(option.name);
    if (given != all.end()) own.insert(*given);
  }
  return create_pass(name, own);
}

template <class Run>
PassRef make_step(const PassInfo& info, const PassOptions& options, Run run) {
  return make_module_pass(
      info, [chosen = quantization(options), run](const Module& module, const PassContext&) {
        return run(module, chosen);
      });
}

RELAY_REGISTER_PASS({
    {"QuantizePartition",
     1,
     {ProgramState::kTyped},
     "The first step of Quantize: puts `annotation.cast_hint` around operands of sums where "
     "results "
     "of integer computation meet. What an operator computes says which these are."},
    {kInputDType, kSkipDense, kSkipConv},
    [](const PassInfo& info, const PassOptions& options) {
      return make_step(info, options, partition_for_quantization);
    },
});

RELAY_REGISTER_PASS({
    {"QuantizeAnnotate",
     1,
     {ProgramState::kTyped},
     "The second step of Quantize, which does the first where nobody has: quantises and "
     "dequantises "
     "operands of convolutions and products, and what has a hint. Each scale is a parameter "
     "`quantize.scale.KIND.NUMBER` of the entry; KIND is 2 for constants, else 1.",
     {},
     false,
     PassInfo::Signature::kOther},
    {kInputDType, kWeightDType, kSkipDense, kSkipConv},
    [](const PassInfo& info, const PassOptions& options) {
      return make_step(info, options, annotate_quantized);
    },
});

RELAY_REGISTER_PASS({
    {"QuantizeCalibrate",
     1,
     {ProgramState::kTyped},
     "The third step of Quantize: puts numbers in the place of scales. `relay.quantize.calibrate` "
     "in "
     "Python finds those of operands in data, by running the network.",
     {},
     false,
     PassInfo::Signature::kOther},
    {kInputBits,
     kWeightBits,
     kGlobalScale,
     kWeightScale,
     {"scales", "Scales that are known, by name: a dictionary, or entries `NAME: SCALE`.", Texts{},
      OptionEntries::kNumberByName}},
    [](const PassInfo& info, const PassOptions& options) {
      auto run = [given = scales(options)](const Module& module, const Quantization& chosen) {
        return calibrate_quantized(module, chosen, given);
      };
      return make_step(info, options, run);
    },
});

RELAY_REGISTER_PASS({
    {"QuantizeRealize",
     1,
     {ProgramState::kTyped},
     "The last step of Quantize: FakeQuantizationToInteger(use_qat=True)."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      PassRef integers = create_pass("FakeQuantizationToInteger", {{"use_qat", true}});
      return make_module_pass(info, [integers](const Module& module, const PassContext& context) {
        return (*integers)(module, context);
      });
    },
});

RELAY_REGISTER_PASS({
    {"Quantize",
     1,
     {ProgramState::kTyped},
     "Makes a network of floats compute on integers: 8-bit operands of convolutions and products, "
     "sums in 32 bits, and what only moves, adds or bounds numbers between them on integers, too. "
     "Inputs and results keep their types. What is not float32 stays as it is. Nobody may call the "
     "entry. Weights are best constants (`relay opt --params`): one that is a parameter is "
     "quantised at each run, like an input. "
     "One scale serves all operands that are no constants; `relay.quantize.quantize` in Python "
     "also "
     "chooses one for each by data (calibrate_mode kl_divergence, percentile, max), which a "
     "command "
     "line does not have.",
     {},
     false,
     PassInfo::Signature::kOther},
    {kInputBits, kWeightBits, kInputDType, kWeightDType, kSkipDense, kSkipConv, kGlobalScale,
     kWeightScale, kSimulation},
    [](const PassInfo& info, const PassOptions& options) {
      std::vector<PassRef> passes;
      for (const char* name : {"SimplifyInference", "FoldConstant", "FoldScaleAxis",
                               "CanonicalizeOps", "FoldConstant"})
        passes.push_back(create_pass(name));
      for (const char* name : {"QuantizePartition", "QuantizeAnnotate", "QuantizeCalibrate"})
        passes.push_back(step(name, options));
      if (!option<bool>(options, "do_simulation")) {
        passes.push_back(create_pass("QuantizeRealize"));
        passes.push_back(create_pass("FoldConstant", {{"fold_qnn", true}}));
      }
      PassRef all = make_sequential(std::move(passes), info.name.str());
      return make_module_pass(info, [all](const Module& module, const PassContext& context) {
        // Factors go into weights at level 3.
        return (*all)(module, PassContext::current_at(std::max(context.opt_level, 3)));
      });
    },
});

}  // namespace
}  // namespace relay::quantizing

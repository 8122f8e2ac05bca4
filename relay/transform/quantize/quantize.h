// Networks of floats made networks of integers: the steps of the pass Quantize.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <relay/ir/module.h>

namespace relay::quantizing {

/// Which operands are quantised, and how.
struct Quantization {
  int64_t input_bits = 8;
  int64_t weight_bits = 8;
  DType input_dtype = kInt8;
  DType weight_dtype = kInt8;
  bool skip_products = true;
  std::vector<int64_t> skip_convolutions;  // counted from 0 in the order in which they run
  double global_scale = 8;                 // the greatest number of an operand that is no constant
  bool weights_by_powers = true;           // scales of weights are powers of two
};

/// True for a number that is above 0 and finite as float32, as scales are.
bool is_scale(double number);

/// The operands that scales are for.
enum class QuantizedKind : uint8_t { kInput = 1, kWeight = 2 };
/// A variable for a scale: its name tells the kind, `quantize.scale.KIND.NUMBER`.
VarRef make_scale(QuantizedKind kind, size_t number);
/// Nothing for another variable.
std::optional<QuantizedKind> scale_kind(const Var& var);

/// The module, with a hint about its dtype (`annotation.cast_hint`) around each operand of a sum of
/// results that both come from integers. The entry has types.
Module partition_for_quantization(const Module& module, const Quantization& options);

/// The module, with a quantize and a dequantize around operands of convolutions and products, and
/// in the place of hints. Each scale is a new parameter of the entry, which has types.
Module annotate_quantized(const Module& module, const Quantization& options);

/// The module with a number in the place of each scale that `annotate_quantized` made: what `given`
/// has under the parameter's name, that of the constant, or that of the global scale. Integers of
/// fewer bits than their dtype are cut off before. Throws `Error` for a name that is no scale.
Module calibrate_quantized(const Module& module, const Quantization& options,
                           const std::unordered_map<std::string, double>& given);

}  // namespace relay::quantizing

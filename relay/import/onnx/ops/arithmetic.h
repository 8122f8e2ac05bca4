// Arithmetic between values and numbers, for formulas that are written out.
#pragma once

#include <relay/import/onnx/context.h>

namespace relay::onnx {

/// Arithmetic in one dtype: an operand is a value of it, or a number.
class Arithmetic {
 public:
  Arithmetic(NodeContext& node, DType dtype) : node_(node), dtype_(dtype) {}

  struct Operand {
    Operand(GraphValue of) : value(std::move(of)) {}
    Operand(double of) : number(of) {}
    GraphValue value;
    double number = 0;
  };

  GraphValue number(double value) { return node_.scalar(dtype_, value); }
  GraphValue add(const Operand& a, const Operand& b) { return emit("add", a, b); }
  GraphValue subtract(const Operand& a, const Operand& b) { return emit("subtract", a, b); }
  GraphValue multiply(const Operand& a, const Operand& b) { return emit("multiply", a, b); }
  GraphValue divide(const Operand& a, const Operand& b) { return emit("divide", a, b); }
  /// The integers nearest to floats, halves to even ones, within the range of an integer dtype
  /// (still as floats).
  GraphValue rounded_to_range(const GraphValue& x, DType dtype);
  /// The integer nearest to each float, halves to even ones, as a float.
  GraphValue rounded_to_even(const GraphValue& x);

 private:
  GraphValue emit(const char* op, const Operand& a, const Operand& b) {
    return node_.emit(op, {of(a), of(b)});
  }
  GraphValue of(const Operand& x) { return x.value ? x.value : number(x.number); }

  NodeContext& node_;
  DType dtype_;
};

}  // namespace relay::onnx

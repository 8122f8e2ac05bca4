// Values of an ONNX graph while it is converted.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <relay/ir/expr.h>
#include <relay/op/registry/relation.h>
#include <relay/support/error.h>

namespace relay::onnx {

/// The elements of an integer or bool tensor as terms, row-major; `?` where one is not known.
using Elements = std::vector<Dim>;

struct ScaledSum;  // ops/scaled_sum.h

/// A float that follows from extents: a term over a positive number.
struct Fraction {
  Dim numerator;
  int64_t denominator = 1;
};
/// The longest list of them that is kept.
inline constexpr size_t kMostFractions = 16;

/// A value: a tensor with its type, a sequence, or nothing (an input that is not given, an empty
/// optional). A handle; copies are the same value.
///
/// The elements of small integer tensors may be known as terms over the model's named extents, so
/// that arithmetic on shapes folds away: such a value becomes an expression only where one is asked
/// for (`Importer::expr`).
class GraphValue {
 public:
  /// Nothing.
  GraphValue() = default;
  /// A tensor (or a tuple of tensors, as some operators give).
  static GraphValue of(ExprRef expr, TypeRef type) {
    GraphValue result(std::make_shared<State>());
    result.state_->expr = std::move(expr);
    result.state_->type = std::move(type);
    return result;
  }
  /// A tensor whose elements are known; the expression is made when it is asked for.
  static GraphValue of_elements(Elements elements, TypeRef type) {
    GraphValue result = of({}, std::move(type));
    result.state_->elements = std::move(elements);
    return result;
  }
  static GraphValue sequence(std::vector<GraphValue> items) {
    GraphValue result(std::make_shared<State>());
    result.state_->is_sequence = true;
    result.state_->items = std::move(items);
    return result;
  }

  /// Stands for the items that rounds of a loop before this one added to a sequence: equal to its
  /// copies alone, so that each sequence of each loop is told from the others.
  static GraphValue mark() {
    GraphValue result(std::make_shared<State>());
    result.state_->is_mark = true;
    return result;
  }
  bool is_mark() const { return state_ != nullptr && state_->is_mark; }
  bool same_as(const GraphValue& other) const { return state_ == other.state_; }

  /// A sequence that begins with as many items as `before` has rows, which only a run knows, or
  /// with those that a mark stands for.
  static GraphValue sequence_behind(GraphValue before, std::vector<GraphValue> items) {
    GraphValue result = sequence(std::move(items));
    result.state_->before = std::make_shared<const GraphValue>(std::move(before));
    return result;
  }

  /// The same tensor, of which elements are known as well.
  GraphValue knowing(Elements elements) const {
    GraphValue result(std::make_shared<State>(*state_));
    result.state_->elements = std::move(elements);
    return result;
  }

  /// The same tensor of floats, whose elements are these, in order (fractions.h).
  GraphValue of_fractions(std::vector<Fraction> fractions) const {
    GraphValue result(std::make_shared<State>(*state_));
    result.state_->fractions = std::make_shared<const std::vector<Fraction>>(std::move(fractions));
    return result;
  }
  /// The list that `of_fractions` got, or null.
  const std::vector<Fraction>* fractions() const {
    return state_ ? state_->fractions.get() : nullptr;
  }

  /// The same tensor, whose elements are of an ONNX type that the dtype carries (narrow.h); 0 says
  /// that they are of the dtype itself.
  GraphValue of_narrow_type(int64_t number) const {
    if (state_->narrow == number) return *this;
    GraphValue result(std::make_shared<State>(*state_));
    result.state_->narrow = number;
    return result;
  }
  /// The number of the narrow type of the elements, or 0.
  int64_t narrow() const { return state_ ? state_->narrow : 0; }

  /// The same tensor of int64, whose elements are numbers of these words: an ONNX tensor of
  /// strings.
  GraphValue of_strings(std::shared_ptr<const std::vector<std::string>> words) const {
    GraphValue result(std::make_shared<State>(*state_));
    result.state_->strings = std::move(words);
    return result;
  }
  /// The words that the elements are numbers of; null where they are numbers.
  const std::shared_ptr<const std::vector<std::string>>& strings() const {
    static const std::shared_ptr<const std::vector<std::string>> kNone;
    return state_ ? state_->strings : kNone;
  }

  /// The same tensor of int64, whose elements are rows of these tables, counted through one after
  /// the other: an ONNX tensor of strings that only a run knows. A table is uint8 (words, bytes),
  /// with zeros behind a word's end.
  GraphValue of_text(std::vector<GraphValue> tables) const {
    GraphValue result(std::make_shared<State>(*state_));
    result.state_->text = std::make_shared<const std::vector<GraphValue>>(std::move(tables));
    return result;
  }
  /// The tables that `of_text` got, or null.
  const std::vector<GraphValue>* text() const { return state_ ? state_->text.get() : nullptr; }
  /// True if the tensor has strings, of a constant or of a run.
  bool is_text() const { return state_ && (state_->strings || state_->text); }
  /// The same tensor of numbers, which stand for the words that the elements of `other` are.
  GraphValue of_same_words(const GraphValue& other) const {
    if (!other.is_text()) return *this;
    GraphValue result(std::make_shared<State>(*state_));
    result.state_->strings = other.state_->strings;
    result.state_->text = other.state_->text;
    return result;
  }

  /// The same tensor, which stands for (integers - zero) · scale: `parts` are these three, of which
  /// the zero point may be nothing, and `axis` is that of vectors among the last two.
  GraphValue of_integers(std::vector<GraphValue> parts, int64_t axis) const {
    GraphValue result(std::make_shared<State>(*state_));
    result.state_->integers = std::make_shared<const std::vector<GraphValue>>(std::move(parts));
    result.state_->integers_axis = axis;
    return result;
  }
  /// The values that `of_integers` got, or null.
  const std::vector<GraphValue>* integers() const {
    return state_ ? state_->integers.get() : nullptr;
  }
  int64_t integers_axis() const { return state_->integers_axis; }

  /// The same tensor of float32, which stands for a sum of integers.
  GraphValue of_sum(std::shared_ptr<const ScaledSum> sum) const {
    GraphValue result(std::make_shared<State>(*state_));
    result.state_->sum = std::move(sum);
    return result;
  }
  /// The same tensor, which is these parts one after the other along an axis.
  GraphValue of_parts(std::vector<GraphValue> parts, int64_t axis) const {
    GraphValue result(std::make_shared<State>(*state_));
    result.state_->parts = std::make_shared<const std::vector<GraphValue>>(std::move(parts));
    result.state_->parts_axis = axis;
    return result;
  }
  /// The values that `of_parts` got, or null.
  const std::vector<GraphValue>* parts() const { return state_ ? state_->parts.get() : nullptr; }
  int64_t parts_axis() const { return state_->parts_axis; }
  /// The sum that `of_sum` got, or null.
  const ScaledSum* sum() const { return state_ ? state_->sum.get() : nullptr; }

  explicit operator bool() const { return state_ != nullptr; }
  bool is_sequence() const { return state_ != nullptr && state_->is_sequence; }
  const std::vector<GraphValue>& items() const { return state_->items; }
  /// The value that `sequence_behind` got; null if `items` are all.
  const GraphValue* before() const { return state_ ? state_->before.get() : nullptr; }

  const TypeRef& type() const { return state_->type; }
  /// The type that the program shows for the value: extents that only a run decides are `?` there,
  /// where `type` has names for them.
  const TypeRef& shown() const { return state_->shown ? state_->shown : state_->type; }
  bool is_tensor() const { return state_ != nullptr && type() && type()->is<TensorType>(); }
  /// A value that is no tensor, or has not the axis asked for, is the model's mistake: `Error`.
  const TensorType& tensor() const {
    if (!is_tensor()) throw Error("a tensor is needed, and there is another value");
    return *type()->as<TensorType>();
  }
  DType dtype() const { return tensor().dtype(); }
  std::span<const Dim> dims() const { return tensor().dims(); }
  Dim dim(size_t axis) const {
    if (axis >= rank()) throw Error("a tensor of shape " + shape_str(dims()) + " has too few axes");
    return dims()[axis];
  }
  Dim last_dim() const { return dim(rank() - 1); }  // of no axes: too few
  size_t rank() const { return dims().size(); }

  /// The elements as far as they are known; nothing where none is.
  const std::optional<Elements>& elements() const { return state_->elements; }
  /// The contents, of constants and initializers; else empty.
  const NDArray& array() const { return state_->array; }

 private:
  friend class Importer;
  struct State {
    ExprRef expr;  // null: made of the elements, or of the array, when it is asked for
    TypeRef type;
    TypeRef shown;  // null: `type`
    std::optional<Elements> elements;
    NDArray array;
    bool is_sequence = false;
    bool is_mark = false;
    std::vector<GraphValue> items;
    std::shared_ptr<const GraphValue> before;
    size_t level = 0;    // how many loops it was made inside of
    int64_t narrow = 0;  // of TensorProto.DataType
    std::shared_ptr<const std::vector<GraphValue>> integers;
    int64_t integers_axis = -1;
    std::shared_ptr<const ScaledSum> sum;
    std::shared_ptr<const std::vector<GraphValue>> parts;
    int64_t parts_axis = 0;
    std::shared_ptr<const std::vector<std::string>> strings;
    std::shared_ptr<const std::vector<GraphValue>> text;
    std::shared_ptr<const std::vector<Fraction>> fractions;
  };
  explicit GraphValue(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace relay::onnx

// The steps of the interpreter that add to what references hold.
#include <string>
#include <utility>

#include <relay/runtime/kernels/vectors.h>
#include <relay/runtime/type_check.h>
#include <relay/support/error.h>
#include <relay/vm/machine/interpreter.h>

namespace relay::vm {

namespace {

template <class T>
void add_elements(const NDArray& to, const NDArray& more) {
  constexpr int64_t kTogether = 8;  // a number that the compiler knows: vectors at any level
  T* __restrict sum = to.data<T>();
  const T* __restrict from = more.data<T>();
  const int64_t size = to.size();
  with_vectors([&]() RELAY_INLINE {
    int64_t i = 0;
    for (; i + kTogether <= size; i += kTogether) {
      for (int64_t k = 0; k < kTogether; ++k) sum[i + k] += from[i + k];
    }
    for (; i < size; ++i) sum[i] += from[i];
  });
}

template <class T>
void add_number(const NDArray& to, const NDArray& number) {
  const T more = *number.data<T>();
  T* sum = to.data<T>();
  for (int64_t i = 0; i < to.size(); ++i) sum[i] += more;
}

bool are_addends(const Value& a, const Value& b) {
  if (a.kind() != Value::Kind::kTensor || b.kind() != Value::Kind::kTensor) return false;
  const Borrowed left(a), right(b);
  const DType dtype = left->dtype();
  if (dtype != right->dtype() || (dtype != kFloat32 && dtype != kFloat64)) return false;
  return left->device() == kCpu && right->device() == kCpu &&
         same_shape(left->shape(), right->shape());
}

template <class T>
void add_tensor(const Value& cell, Value& more, bool last_use) {
  const Borrowed old(cell.get()), added(more);
  const bool dense = added->is_contiguous();
  if (dense && old->is_contiguous() && old->unique()) return add_elements<T>(*old, *added);
  if (dense && last_use && added->unique() && (old->is_contiguous() || old->is_uniform())) {
    // The cell shares what it holds, as at first, when that is a constant.
    old->is_contiguous() ? add_elements<T>(*added, *old) : add_number<T>(*added, *old);
    return cell.set(std::move(more));
  }
  const NDArray sum = old->copy();
  add_elements<T>(sum, dense ? *added : added->copy());
  cell.set(Value(sum));
}

void add_to(const Value& cell, Value& more, bool last_use) {
  const bool wide = more.dtype() == kFloat64;
  (wide ? add_tensor<double> : add_tensor<float>)(cell, more, last_use);
}

// The verifier has seen that the extents are known.
Shape shape_of(const Graph& graph, const Place& place) {
  Shape shape;
  for (uint32_t extent : place.extents) shape.push_back(graph.dims[extent].value);
  return shape;
}

bool fits(const Graph& graph, const Place& place, const Value& content) {
  if (content.kind() != Value::Kind::kTensor) return false;
  const Borrowed tensor(content);
  if (tensor->dtype() != place.dtype || tensor->rank() != place.extents.size()) return false;
  for (size_t i = 0; i < tensor->rank(); ++i) {
    if (tensor->extent(i) != graph.dims[place.extents[i]].value) return false;
  }
  return tensor->device() == kCpu;
}

[[noreturn]] void refuse_content(const std::string& expected, const Value& found) {
  throw Error("the value read from a reference: expected " + expected + ", found " +
              value_type_text(found));
}

}  // namespace

void Interpreter::add_to_cell(const Code& at, char* registers) {
  Slot& cell = slot_at(registers, at.args[0] & ~kLastUse);
  Slot& more = slot_at(registers, at.args[1] & ~kLastUse);
  if (cell.kind() != Value::Kind::kReference)
    throw Error(std::string("expected a reference, found ") + kind_name(cell.kind()));
  const Value& content = cell.value().get();
  // The words of a check of the read that this step stands for.
  if (!are_addends(content, more.value())) refuse_content(value_type_text(more.value()), content);
  const bool last_use = (at.args[1] & kLastUse) != 0;
  add_to(cell.value(), more.value(), last_use);
  if (last_use) clear_slot(more);
  if ((at.args[0] & kLastUse) != 0) clear_slot(cell);
  Value nothing = Value::unit();
  move_slot(slot_at(registers, at.dst), slot_of(nothing));
}

// The references among the inputs become what they hold. The cells are empty meanwhile, so that the
// graph may compute the sums in place.
void Interpreter::take_contents(const Graph& graph, uint32_t first) {
  for (uint32_t i = first; i < graph.num_inputs; ++i) {
    if (!values_[i].is_reference())
      throw Error(std::string("expected a reference, found ") + kind_name(values_[i].kind()));
    cells_.push_back(std::move(values_[i]));
    const Value& cell = cells_.back();
    const Place& place = graph.places[i];
    if (!cell.get()) {
      // A cell that is there twice: what is added to nothing here is added to the first sum.
      values_[i] = Value(NDArray::zeros(shape_of(graph, place), place.dtype));
      continue;
    }
    if (!fits(graph, place, cell.get())) {
      const NDArray zero = NDArray::scalar(place.dtype, 0.0);
      const Value expected(NDArray::uniform(zero, shape_of(graph, place)));
      refuse_content(value_type_text(expected), cell.get());
    }
    values_[i] = cell.get();
    cell.set(Value());
  }
}

void Interpreter::put_sums() {
  const size_t first = results_.size() - cells_.size();
  for (size_t k = 0; k < cells_.size(); ++k) {
    Value& sum = results_[first + k];
    if (cells_[k].get()) {
      // One cell given for two places, whose types a damaged program may let differ.
      if (!are_addends(cells_[k].get(), sum)) refuse_content(value_type_text(sum), cells_[k].get());
      add_to(cells_[k], sum, true);
    } else {
      cells_[k].set(std::move(sum));
    }
  }
  results_.resize(first);
  cells_.clear();
}

// After a failure.
void Interpreter::give_back(uint32_t first) noexcept {
  for (size_t k = 0; k < cells_.size(); ++k) {
    if (!cells_[k].get() && first + k < values_.size())
      cells_[k].set(std::move(values_[first + k]));
  }
  cells_.clear();
}

}  // namespace relay::vm

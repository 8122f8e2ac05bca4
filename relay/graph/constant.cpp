#include <relay/graph/constant.h>

#include <relay/graph/evaluate_constant.h>

namespace relay::graph {

double bytes_of(const te::TensorInfo& info) {
  double bytes = static_cast<double>(info.dtype.size());
  for (Dim dim : info.dims) bytes *= static_cast<double>(dim.is_int() ? dim.as_int() : 0);
  return bytes;
}

Shape shape_of(const te::TensorInfo& info) {
  Shape shape;
  for (Dim dim : info.dims) shape.push_back(dim.as_int());
  return shape;
}

namespace {

Places places_of(const NDArray& array) {
  Places places(array.rank());
  for (size_t d = 0; d < places.size(); ++d) {
    for (int64_t i = 0; i < array.extent(d); ++i) places[d].push_back(i * array.stride(d));
  }
  return places;
}

}  // namespace

ConstantRef Constant::given(Value value) {
  auto constant = std::make_shared<Constant>();
  constant->value_ = std::move(value);
  return constant;
}

ConstantRef Constant::computed(std::shared_ptr<const te::Computation> computation,
                               std::vector<ConstantRef> inputs, Device device, Shortcut shortcut) {
  auto constant = std::make_shared<Constant>();
  constant->computation_ = std::move(computation);
  constant->inputs_ = std::move(inputs);
  constant->device_ = device;
  constant->shortcut_ = std::move(shortcut);
  return constant;
}

Value Constant::value() const {
  if (computation_ == nullptr) return value_;
  std::lock_guard lock(mutex_);
  if (!value_) value_ = compute();
  return value_;
}

Value Constant::compute() const {
  if (device_ == Device() && inputs_.size() == 1) {
    if (shortcut_) {
      NDArray result = NDArray::empty(shape_of(info()), info().dtype);
      shortcut_(inputs_[0]->value().array(), result.raw(), places_of(result));
      return Value(result);
    }
    // A copy of a constant with a shortcut: the shortcut writes to the places of the copy's
    // elements.
    const Constant& from = *inputs_[0];
    if (from.shortcut_ && from.inputs_.size() == 1 && from.device_ == Device() &&
        !from.has_value()) {
      if (std::optional<Scattered> scattered = scattered_result(*computation_)) {
        from.shortcut_(from.inputs_[0]->value().array(), scattered->result.raw(),
                       scattered->places);
        return Value(scattered->result);
      }
    }
  }
  std::vector<NDArray> arrays;
  for (const ConstantRef& input : inputs_) arrays.push_back(input->value().array());
  return Value(evaluate_constant(*computation_, arrays, device_));
}

bool Constant::has_value() const {
  std::lock_guard lock(mutex_);
  return static_cast<bool>(value_);
}

void Constant::release() const {
  if (computation_ == nullptr) return;
  std::lock_guard lock(mutex_);
  value_ = Value();
}

}  // namespace relay::graph

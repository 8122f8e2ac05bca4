#include <relay/graph/constant.h>

#include <relay/graph/evaluate_constant.h>

namespace relay::graph {

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
  if (value_) return value_;
  std::vector<NDArray> arrays;
  for (const ConstantRef& input : inputs_) arrays.push_back(input->value().array());
  if (shortcut_ && arrays.size() == 1 && device_ == Device()) {
    value_ = Value(shortcut_(arrays[0]));
  } else {
    value_ = Value(evaluate_constant(*computation_, arrays, device_));
  }
  return value_;
}

void Constant::release() const {
  if (computation_ == nullptr) return;
  std::lock_guard lock(mutex_);
  value_ = Value();
}

}  // namespace relay::graph

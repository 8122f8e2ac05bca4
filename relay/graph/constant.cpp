#include <relay/graph/constant.h>

#include <relay/graph/evaluate_constant.h>

namespace relay::graph {

ConstantRef Constant::given(Value value) {
  auto constant = std::make_shared<Constant>();
  constant->value_ = std::move(value);
  return constant;
}

ConstantRef Constant::computed(std::shared_ptr<const te::Computation> computation,
                               std::vector<ConstantRef> inputs, Device device) {
  auto constant = std::make_shared<Constant>();
  constant->computation_ = std::move(computation);
  constant->inputs_ = std::move(inputs);
  constant->device_ = device;
  return constant;
}

const Value& Constant::value() const {
  if (computation_ != nullptr) {
    std::call_once(once_, [&] {
      std::vector<NDArray> arrays;
      for (const ConstantRef& input : inputs_) arrays.push_back(input->value().array());
      value_ = Value(evaluate_constant(*computation_, arrays, device_));
    });
  }
  return value_;
}

}  // namespace relay::graph

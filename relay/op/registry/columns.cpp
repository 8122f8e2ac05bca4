#include <relay/op/registry/columns.h>

#include <relay/op/registry/training.h>

namespace relay {

// Declarations fill them before main: each is made when the first asks, and never destroyed.
OpColumn<ExpandFn>& canonical_form() {
  static auto* column = new OpColumn<ExpandFn>("canonical_form");
  return *column;
}

OpColumn<ExpandFn>& simplified_for_inference() {
  static auto* column = new OpColumn<ExpandFn>("simplified_for_inference");
  return *column;
}

OpColumn<bool>& quantised() {
  static auto* column = new OpColumn<bool>("quantised");
  return *column;
}

OpColumn<ExpandFn>& counted_form() {
  static auto* column = new OpColumn<ExpandFn>("counted_form");
  return *column;
}

OpColumn<LanesFn>& lanes_form() {
  static auto* column = new OpColumn<LanesFn>("lanes_form");
  return *column;
}

OpColumn<bool>& random_in_training() {
  static auto* column = new OpColumn<bool>("random_in_training");
  return *column;
}

OpColumn<bool>& stops_fusion() {
  static auto* column = new OpColumn<bool>("stops_fusion");
  return *column;
}

OpColumn<DeviceUseFn>& devices() {
  static auto* column = new OpColumn<DeviceUseFn>("devices");
  return *column;
}

}  // namespace relay

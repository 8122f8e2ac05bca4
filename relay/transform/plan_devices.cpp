// PlanDevices: the devices of values written out.
#include <relay/infer/devices/devices.h>
#include <relay/transform/pass.h>

namespace relay {
namespace {

RELAY_REGISTER_PASS({
    {"PlanDevices",
     0,
     {ProgramState::kTyped},
     "Finds the device of every value. An `on_device` whose body and result are on different "
     "devices becomes a `device_copy`; others stay only if nothing else gives a value its "
     "device. Copies of numbers, and from a device to itself, are removed. A global function that "
     "is called on "
     "several devices becomes one for each."},
    {},
    [](const PassInfo& info, const PassOptions&) {
      return make_module_pass(
          info, [](const Module& module, const PassContext&) { return plan_devices(module); });
    },
});

}  // namespace
}  // namespace relay

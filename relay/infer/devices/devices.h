// Which device each value is on (language.md §7, D1–D10).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <relay/ir/module.h>
#include <relay/op/registry/columns.h>
#include <relay/runtime/device.h>
#include <relay/support/diagnostic.h>

namespace relay {

/// What a call says of devices; nothing for other expressions and calls that say nothing.
std::optional<DeviceUse> device_use(const Expr* expr);

/// Whether a program says anything of devices. If not, everything is on cpu(0).
bool uses_devices(const Module& module);

/// The devices of what is in a value: of a tuple those of its fields, of anything else one.
struct DeviceTree {
  Device device;
  std::vector<DeviceTree> fields;
};

/// The devices of all values of a typed module, solved by unification. What operators, calls,
/// branches and patterns join is on one device; `device_copy` and `on_device` say which. What
/// nothing is said of is on cpu(0). Keeps pointers into the module.
class Devices {
 public:
  /// `origins`: what functions are called in messages, if not by their names.
  explicit Devices(const Module& module, const std::unordered_map<Name, Name>& origins = {});
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  /// Values that would have to be on two devices. If there are any, the rest means nothing.
  const std::vector<Diagnostic>& problems() const { return problems_; }

  /// Whether there is a tensor (not a number) in the value of an expression or operand.
  bool has_tensor(const Expr* expr) const;
  bool has_tensor(const Expr* parent, size_t operand) const;
  /// The device of the first tensor in it; cpu(0) if there is none.
  Device of(const Expr* expr) const;
  /// Of operand i of an expression. A constant has a device at each of its uses.
  Device of(const Expr* parent, size_t operand) const;
  /// Where a call reads its arguments, or else makes its result; nothing if there are only numbers.
  std::optional<Device> of_call(const Expr* call) const;
  DeviceTree tree(const Expr* expr) const;
  DeviceTree tree(const Expr* parent, size_t operand) const;
  /// A place in the program that says that something is on `device`; unknown for cpu(0), perhaps.
  Span said_of(Device device) const;
  /// The devices of all tensors in a function, in an order that is the same for its copies.
  std::vector<Device> everywhere(const Function* function) const;
  /// All devices that values are on.
  const std::vector<Device>& all() const { return all_; }

 private:
  friend class DeviceSolver;
  struct Graph;
  std::unique_ptr<Graph> graph_;
  std::vector<Diagnostic> problems_;
  std::vector<Device> all_;
};

/// The problems of a typed module, whose global functions are copied for devices where they have to
/// be (relay/infer/devices/device_copies.h).
std::vector<Diagnostic> check_devices(const Module& module);

/// Whether executors have to be able to run what is planned.
enum class DeviceNeed { kAny, kUsable };

/// Writes out what `Devices` finds, with copies of global functions for devices, so that passes can
/// do as they like: an `on_device` whose body and result are on different devices becomes a
/// `device_copy`, any other is left only where a value would else not be known to be on its device
/// (parameters, constants, operators without tensors as inputs). Copies of numbers, and from a
/// device to itself, go. Throws `Error` for problems, and for devices that cannot be used if they
/// have to be. The same module where nothing is said.
Module plan_devices(const Module& module, DeviceNeed need = DeviceNeed::kAny);

}  // namespace relay

// Finds the device of each value (language.md §7, D1–D10).
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

/// The devices that a call requires; nothing for other expressions and other calls.
std::optional<DeviceUse> device_use(const Expr* expr);

/// True if a program names devices. If not, everything is on cpu(0).
bool uses_devices(const Module& module);

/// The devices of the tensors in a value: for a tuple those of its fields, for anything else one.
struct DeviceTree {
  Device device;
  std::vector<DeviceTree> fields;
};

/// The devices of all values of a typed module, solved by unification. Values that operators,
/// calls, branches and patterns join are on one device; `device_copy` and `on_device` name devices.
/// A value without any of these is on cpu(0). Keeps pointers into the module.
class Devices {
 public:
  /// `origins`: the names of functions in messages, if they differ.
  explicit Devices(const Module& module, const std::unordered_map<Name, Name>& origins = {});
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  /// Values that would have to be on two devices. If there are any, ignore the rest.
  const std::vector<Diagnostic>& problems() const { return problems_; }

  /// True if the value of an expression or operand has a tensor (not a number).
  bool has_tensor(const Expr* expr) const;
  bool has_tensor(const Expr* parent, size_t operand) const;
  /// The device of the first tensor in it; cpu(0) if there is none.
  Device of(const Expr* expr) const;
  /// The device of operand i of an expression. A constant has a device at each of its uses.
  Device of(const Expr* parent, size_t operand) const;
  /// The device on which a call reads its arguments, or else makes its result; nothing if there are
  /// only numbers.
  std::optional<Device> of_call(const Expr* call) const;
  DeviceTree tree(const Expr* expr) const;
  DeviceTree tree(const Expr* parent, size_t operand) const;
  /// A place in the program that puts a value on `device`; may be unknown for cpu(0).
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

/// The problems of a typed module, whose global functions are copied for devices if needed
/// (relay/infer/devices/device_copies.h).
std::vector<Diagnostic> check_devices(const Module& module);

/// Says if executors must be able to run the planned program.
enum class DeviceNeed { kAny, kUsable };

/// Writes out the result of `Devices`, with copies of global functions for devices, so that passes
/// need not know of devices. An `on_device` whose body and result are on different devices becomes
/// a `device_copy`; any other is left only if its value would otherwise not be known to be on its
/// device (parameters, constants, operators without tensors as inputs). Copies of numbers, and
/// copies from a device to itself, are removed. Throws `Error` for problems, and for unusable
/// devices if they must be usable. Returns the same module if it names no devices.
Module plan_devices(const Module& module, DeviceNeed need = DeviceNeed::kAny);

}  // namespace relay

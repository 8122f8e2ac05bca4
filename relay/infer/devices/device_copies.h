// Global functions that are called on several devices (language.md §7, D4).
#pragma once

#include <memory>
#include <vector>

#include <relay/infer/devices/devices.h>

namespace relay {

/// A module in which each global function is called on one set of devices, and those devices.
/// `devices` keeps pointers into `module`. If there are problems, the rest means nothing.
struct DeviceCopies {
  Module module;
  std::unique_ptr<Devices> devices;
  std::vector<Diagnostic> problems;
};

/// Makes a copy of each global function for every further set of devices that it is called on, as
/// if calls were replaced by bodies; calls within a recursion are on the same devices. The module
/// itself where one of each is enough. There may be more copies than `kMaxDeviceCopies` on the way:
/// one for each chain of calls; then none are made.
DeviceCopies copy_for_devices(const Module& module);

inline constexpr size_t kMaxDeviceCopies = 4096;

}  // namespace relay

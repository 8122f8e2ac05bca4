// Global functions that are called on several devices (language.md §7, D4).
#pragma once

#include <memory>
#include <vector>

#include <relay/infer/devices/devices.h>

namespace relay {

/// A module in which each global function is called on one set of devices, and those devices.
/// `devices` keeps pointers into `module`. If there are problems, ignore the rest.
struct DeviceCopies {
  Module module;
  std::unique_ptr<Devices> devices;
  std::vector<Diagnostic> problems;
};

/// Copies each global function for every further set of devices on which it is called, as if calls
/// were replaced by bodies; calls within a recursion are on the same devices. Returns the module
/// itself if one of each is enough. Copies on the way number one for each chain of calls; with more
/// than `kMaxDeviceCopies`, none are made.
DeviceCopies copy_for_devices(const Module& module);

inline constexpr size_t kMaxDeviceCopies = 4096;

}  // namespace relay

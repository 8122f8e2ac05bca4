// Plug-ins: shared libraries that declare their own operators (passes, library kernels).
#pragma once

#include <string>

#include <relay/op/op.h>

namespace relay {

/// Counts the changes of the headers that plug-ins are compiled against. Nothing is promised
/// between releases: compile a plug-in with the headers of the relay that loads it.
inline constexpr int kPluginAbi = 1;

/// Loads the shared library at `path` and lets it declare its operators; it stays loaded. Throws
/// `Error` for a file that is not a plug-in, one of another ABI, and declarations that are refused
/// (a name that is taken).
void load_plugin(const std::string& path);

}  // namespace relay

/// The body of a plug-in: declarations by `relay::declare_op`, at the namespace scope of one source
/// file. See examples/plugin.
#define RELAY_PLUGIN()                                              \
  extern "C" int relay_plugin_abi() { return ::relay::kPluginAbi; } \
  static void relay_plugin_declare();                               \
  extern "C" void relay_plugin() { relay_plugin_declare(); }        \
  static void relay_plugin_declare()

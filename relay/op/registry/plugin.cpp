#include <relay/op/registry/plugin.h>

#include <dlfcn.h>

#include <filesystem>

#include <relay/support/error.h>

namespace relay {

namespace {

template <class Function>
Function* symbol_of(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

void load_plugin(const std::string& path) {
  // A bare name would be looked for in the system's folders.
  std::error_code ignored;
  std::string file = std::filesystem::absolute(path, ignored).string();
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = dlerror();
    const std::string why = error == nullptr ? "" : error;
    Diagnostic message = Diagnostic::error("cannot load the plug-in " + path + ": " + why);
    // The Python package hides its symbols, so that other libraries of the process do not meet
    // them.
    if (why.find("undefined symbol") != std::string::npos) {
      message.help(
          "plug-ins are for the command and libraries that `cmake --install` installs, of the "
          "version that they are compiled for; the Python package takes none");
    }
    throw Error(message);
  }
  auto* abi = symbol_of<int()>(library, "relay_plugin_abi");
  auto* declare = symbol_of<void()>(library, "relay_plugin");
  if (abi == nullptr || declare == nullptr) {
    throw Error(path + " is not a plug-in of relay: it has no RELAY_PLUGIN()");
  }
  if (int found = abi(); found != kPluginAbi) {
    throw Error("the plug-in " + path + " was compiled for interface " + std::to_string(found) +
                ", this relay has " + std::to_string(kPluginAbi) + ": compile it again");
  }
  try {
    declare();
  } catch (const Error& error) {
    throw Error("the plug-in " + path + ": " + error.diagnostics().front().message);
  }
}

}  // namespace relay

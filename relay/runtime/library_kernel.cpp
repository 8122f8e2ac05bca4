#include <relay/runtime/library_kernel.h>
#include <relay/support/error.h>

#include <map>
#include <mutex>

namespace relay {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, LibraryKernel, std::less<>> kernels;
};

Registry& registry() {
  static Registry* instance = new Registry;  // static objects of other files register before main
  return *instance;
}

}  // namespace

LibraryKernel find_library_kernel(std::string_view name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  auto found = all.kernels.find(name);
  return found == all.kernels.end() ? nullptr : found->second;
}

bool register_library_kernel(std::string_view name, LibraryKernel kernel) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  bool added = all.kernels.emplace(std::string(name), kernel).second;
  RELAY_CHECK(added, "library kernel " + std::string(name) + " is registered twice");
  return true;
}

}  // namespace relay

#include <relay/op/registry/attached.h>

#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace relay {
namespace {

struct Attached {
  struct Entry {
    ExpandFn rewrite;
    int level;
  };
  std::shared_mutex mutex;
  std::map<std::string, std::unordered_map<const Operator*, Entry>, std::less<>> keys;

  static Attached& instance() {
    static auto* attached = new Attached;
    return *attached;
  }
};

}  // namespace

void attach_rewrite(const Operator* op, std::string_view key, ExpandFn rewrite, int level) {
  Attached& attached = Attached::instance();
  ExpandFn old;  // dropped without the lock
  std::unique_lock lock(attached.mutex);
  auto& entries = attached.keys[std::string(key)];
  auto found = entries.find(op);
  if (!rewrite) {
    if (found == entries.end()) return;
    old = std::move(found->second.rewrite);
    entries.erase(found);
  } else if (found == entries.end()) {
    entries[op] = {std::move(rewrite), level};
  } else if (level >= found->second.level) {
    old = std::move(found->second.rewrite);
    found->second = {std::move(rewrite), level};
  }
  lock.unlock();
}

ExpandFn attached_rewrite(const Operator* op, std::string_view key) {
  Attached& attached = Attached::instance();
  std::shared_lock lock(attached.mutex);
  auto entries = attached.keys.find(key);
  if (entries == attached.keys.end()) return {};
  auto found = entries->second.find(op);
  return found == entries->second.end() ? ExpandFn() : found->second.rewrite;
}

bool any_attached(std::string_view key) {
  Attached& attached = Attached::instance();
  std::shared_lock lock(attached.mutex);
  auto entries = attached.keys.find(key);
  return entries != attached.keys.end() && !entries->second.empty();
}

}  // namespace relay

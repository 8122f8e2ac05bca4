#include <relay/support/fork_mutex.h>
#include <relay/support/span.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace relay {

namespace {
struct Registry {
  ForkMutex mutex;
  uint64_t next = 1;
  // By base. A source removes itself when it dies.
  std::map<uint64_t, std::weak_ptr<const Source>> sources;

  static Registry& instance() {
    static Registry* registry = new Registry;
    return *registry;
  }
};
// As the library is loaded: a child must not wait for a thread that was making it.
[[maybe_unused]] Registry& sources_made_early = Registry::instance();
}  // namespace

Source::~Source() {
  Registry& registry = Registry::instance();
  std::lock_guard lock(registry.mutex);
  registry.sources.erase(base_);
}

std::shared_ptr<const Source> SourceMap::add(std::string name, std::string text) {
  Registry& registry = Registry::instance();
  std::lock_guard lock(registry.mutex);
  uint64_t base = registry.next;
  registry.next += text.size() + 1;  // one past the end is a place too
  auto source = std::make_shared<const Source>(std::move(name), std::move(text), base);
  registry.sources.emplace(base, source);
  return source;
}

std::shared_ptr<const Source> SourceMap::find(Span span) {
  if (!span.known()) return nullptr;
  Registry& registry = Registry::instance();
  std::shared_ptr<const Source> source;
  std::lock_guard lock(registry.mutex);
  auto after = registry.sources.upper_bound(span.begin());
  if (after == registry.sources.begin()) return nullptr;
  source = std::prev(after)->second.lock();
  if (source == nullptr || span.begin() > source->base() + source->text().size()) return nullptr;
  return source;
}

Location SourceMap::locate(Span span) {
  std::shared_ptr<const Source> source = find(span);
  if (source == nullptr) return {};
  std::string_view before = source->text().substr(0, span.begin() - source->base());
  size_t line_start = before.rfind('\n');
  line_start = line_start == std::string_view::npos ? 0 : line_start + 1;
  auto line = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n') + 1);
  return {source->name(), line, static_cast<uint32_t>(before.size() - line_start + 1)};
}

}  // namespace relay

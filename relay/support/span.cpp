#include <relay/support/fork_mutex.h>
#include <relay/support/span.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace relay {

namespace {
struct Entry {
  std::weak_ptr<const Source> source;
  std::vector<size_t> lines;  // where each begins, once a place in the text was asked for
};

struct Registry {
  ForkMutex mutex;
  uint64_t next = 1;
  // By base. A source removes itself when it dies.
  std::map<uint64_t, Entry> sources;

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
  registry.sources.emplace(base, Entry{source, {}});
  return source;
}

namespace {

// The entry of the source that contains `span`, or null. The registry is locked; `source` keeps the
// source until it is not, because its destructor locks the registry, too.
Entry* find_entry(Registry& registry, Span span, std::shared_ptr<const Source>& source) {
  auto after = registry.sources.upper_bound(span.begin());
  if (!span.known() || after == registry.sources.begin()) return nullptr;
  Entry* entry = &std::prev(after)->second;
  source = entry->source.lock();
  if (source == nullptr || span.begin() > source->base() + source->text().size()) return nullptr;
  return entry;
}

std::vector<size_t> line_starts(std::string_view text) {
  std::vector<size_t> starts{0};
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    starts.push_back(at + 1);
  return starts;
}

}  // namespace

std::shared_ptr<const Source> SourceMap::find(Span span) {
  Registry& registry = Registry::instance();
  std::shared_ptr<const Source> source;
  std::lock_guard lock(registry.mutex);
  return find_entry(registry, span, source) == nullptr ? nullptr : source;
}

Location SourceMap::locate(Span span) {
  Registry& registry = Registry::instance();
  std::shared_ptr<const Source> source;
  std::lock_guard lock(registry.mutex);
  Entry* entry = find_entry(registry, span, source);
  if (entry == nullptr) return {};
  if (entry->lines.empty()) entry->lines = line_starts(source->text());
  const size_t offset = span.begin() - source->base();
  const auto next = std::upper_bound(entry->lines.begin(), entry->lines.end(), offset);
  return {source->name(), static_cast<uint32_t>(next - entry->lines.begin()),
          static_cast<uint32_t>(offset - *std::prev(next) + 1)};
}

}  // namespace relay

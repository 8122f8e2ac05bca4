#include <fcntl.h>
#include <relay/runtime/memory.h>
#include <relay/runtime/pool.h>
#include <relay/runtime/reclaim.h>
#include <relay/support/error.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

namespace relay {
namespace {

// Amounts below this are summed up in each thread before the shared account sees them.
constexpr int64_t kSlack = int64_t{1} << 20;
constexpr int64_t kRenewAfterNs = 1'000'000'000;

std::atomic<int64_t> in_use{0};
std::atomic<int64_t> peak{0};
std::atomic<size_t> explicit_limit{0};
std::atomic<size_t> system_limit{0};  // 0: not read yet
std::atomic<int64_t> read_at{0};

// The bytes that this thread has charged (or refunded) and not yet added to `in_use`.
struct Balance {
  int64_t pending = 0;
  ~Balance() { in_use.fetch_add(pending, std::memory_order_relaxed); }
};
thread_local Balance balance;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The number after `key` in a small text file of the kernel; without a key, the first number.
bool read_number(const char* path, std::string_view key, uint64_t* number) {
  // Without streams, which allocate: this happens within runs.
  int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char buffer[8192];
  size_t length = 0;
  while (length < sizeof buffer) {
    ssize_t got = ::read(file, buffer + length, sizeof buffer - length);
    if (got <= 0) break;
    length += static_cast<size_t>(got);
  }
  ::close(file);
  std::string_view text(buffer, length);
  size_t at = 0;
  if (!key.empty()) {
    while (true) {
      at = text.find(key, at);
      if (at == std::string_view::npos) return false;
      if (at == 0 || text[at - 1] == '\n') break;
      at += key.size();
    }
    at = text.find_first_not_of(" \t", at + key.size());
    if (at == std::string_view::npos) return false;
  }
  return std::from_chars(text.data() + at, text.data() + length, *number).ec == std::errc();
}

uint64_t available_memory() {
  uint64_t available = uint64_t{1} << 62;
  uint64_t kib = 0;
  if (read_number("/proc/meminfo", "MemAvailable:", &kib)) available = kib * 1024;
  uint64_t most = 0, current = 0;
  if (read_number("/sys/fs/cgroup/memory.max", {}, &most) &&
      read_number("/sys/fs/cgroup/memory.current", {}, &current)) {
    uint64_t cache = 0;
    read_number("/sys/fs/cgroup/memory.stat", "inactive_file ", &cache);
    current -= std::min(current, cache);
    available = std::min(available, most > current ? most - current : 0);
  }
  return available;
}

/// The bytes that a variable of the environment states; 0 without it, and for what is no size, of
/// which a warning tells: a limit that is ignored in silence protects nobody.
size_t size_in_environment(const char* name) {
  struct Unit {
    std::string_view name;
    size_t bytes;
  };
  constexpr Unit kUnits[] = {{"", 1},          {"B", 1},         {"KiB", 1 << 10},
                             {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", size_t{1} << 40},
                             {"K", 1 << 10},   {"M", 1 << 20},   {"G", 1 << 30},
                             {"KB", 1000},     {"MB", 1000000},  {"GB", 1000000000}};
  const char* given = std::getenv(name);
  if (given == nullptr || *given == '\0') return 0;
  const std::string_view text(given);
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  for (const Unit& known : kUnits) {
    if (error != std::errc() || unit != known.name) continue;
    if (number <= std::numeric_limits<size_t>::max() / known.bytes) return number * known.bytes;
  }
  std::fprintf(
      stderr,
      "warning: %s='%.40s' is no size and is ignored: give bytes, or a number with KiB, MiB "
      "or GiB\n",
      name, given);
  return 0;
}

size_t environment_limit() {
  static const size_t limit = size_in_environment("RELAY_MEMORY_LIMIT");
  return limit;
}

// Pages that were charged but never touched still count as available, so a renewed limit is bounded
// by the machine's whole memory.
size_t read_system_limit() {
  double available = static_cast<double>(available_memory());
  // Memory that is kept is there for values.
  available += static_cast<double>(pool_kept_bytes());
  double limit = static_cast<double>(std::max<int64_t>(in_use.load(std::memory_order_relaxed), 0)) +
                 0.9 * available;
  uint64_t total_kib = 0;
  if (read_number("/proc/meminfo", "MemTotal:", &total_kib))
    limit = std::min(limit, 0.95 * 1024.0 * static_cast<double>(total_kib));
  return static_cast<size_t>(std::max(limit, 1.0));
}

size_t current_limit() {
  if (size_t limit = explicit_limit.load(std::memory_order_relaxed); limit != 0) return limit;
  if (size_t limit = environment_limit(); limit != 0) return limit;
  size_t limit = system_limit.load(std::memory_order_relaxed);
  int64_t now = now_ns();
  int64_t last = read_at.load(std::memory_order_relaxed);
  if (limit == 0 || (now - last > kRenewAfterNs &&
                     read_at.compare_exchange_strong(last, now, std::memory_order_relaxed))) {
    limit = read_system_limit();
    system_limit.store(limit, std::memory_order_relaxed);
    read_at.store(now, std::memory_order_relaxed);
  }
  return limit;
}

std::array<std::atomic<void (*)() noexcept>, 8> reclaimers{};

bool charge_within_limit(int64_t amount) {
  size_t limit = current_limit();
  int64_t before = in_use.fetch_add(amount, std::memory_order_relaxed);
  if (amount <= 0 || (before + amount <= 0) || static_cast<size_t>(before + amount) <= limit) {
    int64_t most = peak.load(std::memory_order_relaxed);
    while (before + amount > most &&
           !peak.compare_exchange_weak(most, before + amount, std::memory_order_relaxed)) {
    }
    return true;
  }
  in_use.fetch_sub(amount, std::memory_order_relaxed);
  return false;
}

bool charge_shared(int64_t amount) {
  if (charge_within_limit(amount)) return true;
  if (reclaimers[0].load(std::memory_order_acquire) == nullptr) return false;
  for (const auto& reclaimer : reclaimers) {
    auto* give_back = reclaimer.load(std::memory_order_acquire);
    if (give_back != nullptr) give_back();
  }
  return charge_within_limit(amount);
}

}  // namespace

size_t memory_limit() { return current_limit(); }

void set_memory_limit(size_t bytes) { explicit_limit.store(bytes, std::memory_order_relaxed); }

size_t memory_in_use() {
  int64_t amount = in_use.load(std::memory_order_relaxed) + balance.pending;
  return static_cast<size_t>(std::max<int64_t>(amount, 0));
}

size_t peak_memory() {
  return std::max(static_cast<size_t>(peak.load(std::memory_order_relaxed)), memory_in_use());
}

void reclaim_with(void (*give_back)() noexcept) {
  for (auto& reclaimer : reclaimers) {
    void (*none)() noexcept = nullptr;
    if (reclaimer.compare_exchange_strong(none, give_back, std::memory_order_acq_rel)) return;
  }
  RELAY_UNREACHABLE("too many kinds of memory to reclaim");
}

bool try_charge_memory(size_t bytes) noexcept {
  if (bytes < static_cast<size_t>(kSlack)) {
    int64_t pending = balance.pending + static_cast<int64_t>(bytes);
    if (pending < kSlack) {
      balance.pending = pending;
      return true;
    }
    balance.pending = 0;  // what is reclaimed changes it
    if (charge_shared(pending)) return true;
    balance.pending += pending - static_cast<int64_t>(bytes);
    return false;
  }
  if (bytes > static_cast<size_t>(std::numeric_limits<int64_t>::max() / 4)) return false;
  return charge_shared(static_cast<int64_t>(bytes));
}

void charge_memory(size_t bytes, const char* what) {
  if (!try_charge_memory(bytes)) throw_out_of_memory(what, bytes);
}

void refund_memory(size_t bytes) noexcept {
  int64_t pending = balance.pending - static_cast<int64_t>(bytes);
  if (pending > -kSlack) {
    balance.pending = pending;
    return;
  }
  in_use.fetch_add(pending, std::memory_order_relaxed);
  balance.pending = 0;
}

size_t stack_limit() {
  // Endless recursion is to fail soon, and one a million deep to run.
  constexpr size_t kDefault = size_t{1} << 30;
  static const size_t limit = [] {
    const size_t bytes = size_in_environment("RELAY_STACK_LIMIT");
    return bytes != 0 ? bytes : kDefault;
  }();
  return limit;
}

std::string too_deep_text(uint64_t calls, size_t limit) {
  return "the recursion is too deep: " + std::to_string(calls) +
         " active calls; together they may take " + std::to_string(limit >> 20) +
         " MiB (RELAY_STACK_LIMIT, in bytes) or what memory there is";
}

void throw_out_of_memory(const char* what, size_t bytes, bool overflow) {
  std::string needs =
      overflow ? "more bytes than can be addressed" : std::to_string(bytes) + " bytes, more than";
  size_t limit = memory_limit();
  size_t used = memory_in_use();
  if (overflow) throw Error(std::string(what) + " needs " + needs);
  // Within the limit, it was the system that refused.
  if (used <= limit && bytes <= limit - used) {
    throw Error(std::string(what) + " needs " + needs + " the system gives");
  }
  if (bytes <= limit) {
    throw Error(std::string(what) + " needs " + needs + " the " +
                std::to_string(limit > used ? limit - used : 0) + " left of the memory limit of " +
                std::to_string(limit) + " bytes");
  }
  throw Error(std::string(what) + " needs " + needs + " the memory limit of " +
              std::to_string(limit) + " bytes");
}

}  // namespace relay

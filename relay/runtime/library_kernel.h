// Library kernels: work that is no index expression (sort, top-k, argwhere, …), by name, over
// strided arrays.
#pragma once

#include <relay/runtime/ndarray.h>

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace relay {

/// The kind of a kernel's parameter, in the order of `KernelParam::Value`.
enum class ParamKind : uint8_t { kInteger, kNumber, kFlag, kWord, kIntegers, kCount };
/// "integer", "number", "flag", "word", "integers".
std::string_view param_kind_name(ParamKind kind);

/// A parameter of a kernel: fixed by the operator's attributes, so known when it is compiled.
struct KernelParam {
  using Value = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>>;

  std::string name;
  Value value;

  KernelParam() = default;
  template <std::integral T>
  KernelParam(std::string name, T value) : name(std::move(name)) {
    if constexpr (std::same_as<T, bool>) {
      this->value = value;
    } else {
      this->value = static_cast<int64_t>(value);
    }
  }
  KernelParam(std::string name, double value) : name(std::move(name)), value(value) {}
  KernelParam(std::string name, std::string word) : name(std::move(name)), value(std::move(word)) {}
  KernelParam(std::string name, const char* word)
      : name(std::move(name)), value(std::string(word)) {}
  KernelParam(std::string name, std::vector<int64_t> list)
      : name(std::move(name)), value(std::move(list)) {}

  ParamKind kind() const { return static_cast<ParamKind>(value.index()); }
  /// "axis=1".
  std::string str() const;
  friend bool operator==(const KernelParam&, const KernelParam&) = default;
};
using KernelParams = std::vector<KernelParam>;

/// The services of the executor for a kernel that it runs.
class LibraryHost {
 public:
  virtual ~LibraryHost() = default;
  /// A fresh tensor for an output with extents that are not known beforehand: `counts` are these
  /// extents, in order.
  virtual NDArray make(size_t output, std::span<const int64_t> counts) = 0;
  /// The number of threads that `run` may use.
  virtual int threads() const { return 1; }
  /// Runs body(context, task) for each task, in any order, perhaps several at once. `body` throws
  /// nothing. Throws if the run must end; without tasks it only does this check, within tasks too.
  virtual void run(int64_t tasks, void (*body)(void* context, int64_t task), void* context);
};

/// One run of a kernel.
class LibraryCall {
 public:
  LibraryCall(std::span<const NDArray> inputs, std::span<const KernelParam> params,
              std::span<NDArray> outputs, LibraryHost& host)
      : inputs(inputs), params(params), outputs(outputs), host_(host) {}

  const std::span<const NDArray> inputs;  // any strides
  const std::span<const KernelParam> params;
  /// Outputs whose extents are known: allocated, contiguous, unset. The others are empty until the
  /// kernel makes them.
  const std::span<NDArray> outputs;

  int64_t integer(std::string_view name) const { return get<int64_t>(name); }
  double number(std::string_view name) const { return get<double>(name); }
  bool flag(std::string_view name) const { return get<bool>(name); }
  const std::string& word(std::string_view name) const { return get<std::string>(name); }
  const std::vector<int64_t>& integers(std::string_view name) const {
    return get<std::vector<int64_t>>(name);
  }

  /// Makes an output with counted extents, once they are known. It owns the result's memory.
  NDArray& make(size_t output, std::initializer_list<int64_t> counts) {
    return outputs[output] = host_.make(output, {counts.begin(), counts.size()});
  }

  int threads() const { return host_.threads(); }
  /// Calls `body(task)` for each task in [0, tasks), on several threads if there are any. Cut work
  /// into tasks by shapes only, so that results do not depend on the number of threads. If tasks
  /// throw, all still run, and the error is that of the first of them.
  template <class F>
  void parallel(int64_t tasks, F&& body);

 private:
  struct Failure;
  void run_tasks(int64_t tasks, void (*body)(void* context, int64_t task), void* context);
  template <class T>
  const T& get(std::string_view name) const;
  const KernelParam& param(std::string_view name) const;

  LibraryHost& host_;
};

template <class T>
const T& LibraryCall::get(std::string_view name) const {
  return std::get<T>(param(name).value);
}

template <class F>
void LibraryCall::parallel(int64_t tasks, F&& body) {
  if (tasks == 1) return body(int64_t{0});
  using Body = std::remove_reference_t<F>;
  run_tasks(
      tasks, [](void* context, int64_t task) { (*static_cast<Body*>(context))(task); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// Fills the outputs. Throws RuntimeError for data that it cannot take; the operator's name is put
/// before the message.
using LibraryKernel = void (*)(LibraryCall& call);

/// The operands and parameters of a kernel. Calls in compiled programs are checked against it
/// before they run.
struct LibrarySignature {
  static constexpr int kAny = -1;
  struct Param {
    std::string name;
    ParamKind kind;
  };
  int inputs = kAny;
  int outputs = kAny;
  std::vector<Param> params;
  /// True if its inputs and outputs may be on different devices: it copies.
  bool across_devices = false;
};

struct LibraryEntry {
  LibraryKernel run = nullptr;
  LibrarySignature signature;
  /// The reason why a call does not fit; empty if it fits.
  std::string mismatch(size_t inputs, size_t outputs, std::span<const KernelParam> params) const;
};

/// The kernel with a name, or null. It lives for ever.
const LibraryEntry* find_library_kernel(std::string_view name);
/// Throws InternalError if the name is taken. Returns true, so that a static object can register.
bool register_library_kernel(std::string_view name, LibraryKernel kernel,
                             LibrarySignature signature);

}  // namespace relay

/// Registers at namespace scope of a source file:
/// `RELAY_LIBRARY_KERNEL("sort", sort_kernel, {1, 1, {{"axis", ParamKind::kInteger}}});`
#define RELAY_LIBRARY_KERNEL(name, function, ...)                      \
  [[maybe_unused]] static const bool relay_library_kernel_##function = \
      ::relay::register_library_kernel(name, function, __VA_ARGS__)

#include <relay/runtime/library_kernel.h>
#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>
#include <relay/support/fork_mutex.h>

#include <array>
#include <exception>
#include <map>
#include <mutex>

namespace relay {
namespace {

struct Registry {
  ForkMutex mutex;
  std::map<std::string, LibraryEntry, std::less<>> kernels;
};

Registry& registry() {
  static Registry* instance = new Registry;  // static objects of other files register before main
  return *instance;
}

constexpr std::array<std::string_view, static_cast<size_t>(ParamKind::kCount)> kKindNames = {
    "integer", "number", "flag", "word", "integers"};
static_assert(std::variant_size_v<KernelParam::Value> == kKindNames.size());

}  // namespace

std::string_view param_kind_name(ParamKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::string KernelParam::str() const {
  struct Text {
    std::string operator()(int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const {
      char text[32];
      std::snprintf(text, sizeof text, "%.9g", number);
      return text;
    }
    std::string operator()(bool flag) const { return flag ? "True" : "False"; }
    std::string operator()(const std::string& word) const { return word; }
    std::string operator()(const std::vector<int64_t>& list) const {
      std::string text;
      for (int64_t number : list) text += (text.empty() ? "" : ", ") + std::to_string(number);
      return "[" + text + "]";
    }
  };
  return name + "=" + std::visit(Text(), value);
}

void LibraryHost::run(int64_t tasks, void (*body)(void* context, int64_t task), void* context) {
  for (int64_t task = 0; task < tasks; ++task) body(context, task);
}

const KernelParam& LibraryCall::param(std::string_view name) const {
  for (const KernelParam& param : params) {
    if (param.name == name) return param;
  }
  RELAY_UNREACHABLE("a library kernel has no parameter " + std::string(name));
}

namespace {
thread_local bool in_task = false;  // of some kernel
}

void LibraryCall::run_tasks(int64_t tasks, void (*body)(void* context, int64_t task),
                            void* context) {
  struct Guarded {
    void (*body)(void* context, int64_t task);
    void* context;
    std::mutex mutex;
    int64_t failed = -1;
    std::exception_ptr error;
  } guarded{body, context, {}, -1, {}};
  auto run = [](void* all, int64_t task) {
    auto& self = *static_cast<Guarded*>(all);
    bool outer = std::exchange(in_task, true);
    try {
      self.body(self.context, task);
    } catch (...) {
      std::lock_guard lock(self.mutex);
      if (self.failed < 0 || task < self.failed) {
        self.failed = task;
        self.error = std::current_exception();
      }
    }
    in_task = outer;
  };
  // A task that shares its work in turn does it alone. No tasks are run by the host between them:
  // that ends a run which has been interrupted.
  if (in_task) {
    for (int64_t task = 0; task < tasks; ++task) {
      host_.run(0, run, &guarded);
      run(&guarded, task);
    }
    if (tasks == 0) host_.run(0, run, &guarded);
  } else {
    host_.run(tasks, run, &guarded);
  }
  if (guarded.error) std::rethrow_exception(guarded.error);
}

std::string LibraryEntry::mismatch(size_t inputs, size_t outputs,
                                   std::span<const KernelParam> params) const {
  auto number = [](const char* what, int wanted, size_t found) -> std::string {
    if (wanted < 0 || static_cast<size_t>(wanted) == found) return {};
    return std::to_string(found) + " " + what + " instead of " + std::to_string(wanted);
  };
  if (std::string wrong = number("inputs", signature.inputs, inputs); !wrong.empty()) return wrong;
  if (std::string wrong = number("outputs", signature.outputs, outputs); !wrong.empty())
    return wrong;
  if (params.size() != signature.params.size()) {
    return std::to_string(params.size()) + " parameters instead of " +
           std::to_string(signature.params.size());
  }
  for (size_t i = 0; i < params.size(); ++i) {
    const LibrarySignature::Param& wanted = signature.params[i];
    if (params[i].name != wanted.name || params[i].kind() != wanted.kind) {
      return "parameter " + params[i].name + ", " + std::string(param_kind_name(params[i].kind())) +
             ", instead of " + wanted.name + ", " + std::string(param_kind_name(wanted.kind));
    }
  }
  return {};
}

const LibraryEntry* find_library_kernel(std::string_view name) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  auto found = all.kernels.find(name);
  return found == all.kernels.end() ? nullptr : &found->second;
}

std::vector<std::string> library_kernel_names() {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  std::vector<std::string> names;
  for (const auto& [name, kernel] : all.kernels) names.push_back(name);
  return names;
}

bool register_library_kernel(std::string_view name, LibraryKernel kernel,
                             LibrarySignature signature) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  bool added =
      all.kernels.emplace(std::string(name), LibraryEntry{kernel, std::move(signature)}).second;
  RELAY_CHECK(added, "library kernel " + std::string(name) + " is registered twice");
  return true;
}

}  // namespace relay

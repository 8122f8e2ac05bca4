#include <relay/vm/compiler/direct.h>

#include <mutex>
#include <vector>

#include <relay/graph/evaluate.h>
#include <relay/runtime/library_kernel.h>
#include <relay/support/fork_mutex.h>

namespace relay::vm {
namespace {

struct Works {
  ForkMutex mutex;
  std::vector<graph::WorkRef> all;
  static Works& instance() {
    static auto* works = new Works;
    return *works;
  }
};

void run_direct(LibraryCall& call) {
  graph::WorkRef work;
  {
    Works& works = Works::instance();
    std::lock_guard lock(works.mutex);
    work = works.all.at(static_cast<size_t>(call.integer("work")));
  }
  Device device;
  if (!call.inputs.empty()) device = call.inputs[0].device();
  if (!call.outputs.empty() && call.outputs[0]) device = call.outputs[0].device();
  std::vector<NDArray> results = graph::evaluate(*work, call.inputs, device);
  for (size_t i = 0; i < results.size(); ++i) {
    if (call.outputs[i]) {
      call.outputs[i].assign(results[i]);
    } else {
      call.outputs[i] = results[i].contiguous();
    }
  }
}

RELAY_LIBRARY_KERNEL(
    kDirectKernel, run_direct,
    {LibrarySignature::kAny, LibrarySignature::kAny, {{"work", ParamKind::kInteger}}, true});

}  // namespace

int64_t register_direct(graph::WorkRef work) {
  Works& works = Works::instance();
  std::lock_guard lock(works.mutex);
  works.all.push_back(std::move(work));
  return static_cast<int64_t>(works.all.size() - 1);
}

}  // namespace relay::vm

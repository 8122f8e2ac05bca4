// Executables changed at random so that they are still well-formed, most of the time.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <relay/runtime/library_operands.h>
#include <relay/support/error.h>
#include <relay/vm/machine/executable_file.h>
#include <tests/unit/machine_testing.h>

namespace relay::vm::testing {

/// A number below `n`, from wherever chance comes.
using Chance = std::function<uint32_t(uint32_t n)>;

class ExecutableEditor {
 public:
  ExecutableEditor(Executable& e, Chance chance) : e_(e), chance_(std::move(chance)) {}

  void edit() {
    if (e_.graphs.empty()) return;
    Graph& g = e_.graphs[chance_(size(e_.graphs))];
    switch (chance_(12)) {
      case 0:
        return any(g.places, [&](Place& place) { place.dtype = dtype(); });
      case 1:
      case 2:
        return any(g.dims, [&](DimInstruction& dim) { dim.value = number(); });
      case 3:
        return any(g.places, [&](Place& place) { extents(place, g); });
      case 4:
        return any(g.places, [&](Place& place) {
          place.alias = chance_(3) == 0 ? kNone : chance_(size(g.places));
          place.offset = chance_(2) == 0 || g.dims.empty() ? kNone : chance_(size(g.dims));
        });
      case 5:
      case 6:
        return any(g.launches, [&](Launch& launch) { arguments(launch, g); });
      case 7:
        return any(g.launches, [&](Launch& launch) {
          any(launch.params, [&](KernelParam& each) { param(each); });
        });
      case 8:
        return any(e_.kernels, [&](Kernel& kernel) {
          const std::vector<std::string> names = library_kernel_names();
          kernel.library = names[chance_(size(names))];
        });
      case 9:
        return any(g.outputs, [&](uint32_t& output) { output = chance_(size(g.places) + 1); });
      case 10:
        if (!g.launches.empty()) g.launches.push_back(g.launches[chance_(size(g.launches))]);
        return;
      default:
        g.num_inputs = chance_(size(g.places) + 2);
        return;
    }
  }

 private:
  template <class T>
  static uint32_t size(const std::vector<T>& list) {
    return static_cast<uint32_t>(list.size());
  }
  template <class T, class F>
  void any(std::vector<T>& list, F change) {
    if (!list.empty()) change(list[chance_(size(list))]);
  }

  DType dtype() { return kAllDTypes[chance_(static_cast<uint32_t>(std::size(kAllDTypes)))]; }

  int64_t number() {
    constexpr int64_t kNumbers[] = {0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    5,
                                    6,
                                    7,
                                    8,
                                    16,
                                    33,
                                    64,
                                    1000,
                                    70000,
                                    -1,
                                    -2,
                                    int64_t{1} << 31,
                                    int64_t{1} << 40,
                                    INT64_MAX,
                                    INT64_MIN};
    return kNumbers[chance_(static_cast<uint32_t>(std::size(kNumbers)))];
  }

  void extents(Place& place, const Graph& g) {
    const uint32_t slot = chance_(8) == 0 || g.dims.empty() ? kNone : chance_(size(g.dims));
    const uint32_t what = chance_(3);
    if (what == 0 || place.extents.empty()) {
      place.extents.push_back(slot);
    } else if (what == 1) {
      place.extents.pop_back();
    } else {
      place.extents[chance_(size(place.extents))] = slot;
    }
  }

  void arguments(Launch& launch, const Graph& g) {
    std::vector<Launch::Argument>& list = launch.arguments;
    if (list.empty()) return;
    const uint32_t at = chance_(size(list));
    switch (chance_(5)) {
      case 0:
        list[at].place = chance_(size(g.places));
        return;
      case 1:
        std::swap(list[at], list[chance_(size(list))]);
        return;
      case 2:
        list[at].written = !list[at].written;
        return;
      case 3:
        list.erase(list.begin() + at);
        return;
      default:
        list.insert(list.begin() + at, list[at]);
    }
  }

  void param(KernelParam& each) {
    switch (each.kind()) {
      case ParamKind::kInteger:
        each.value = number();
        return;
      case ParamKind::kNumber:
        each.value = static_cast<double>(number()) / 2;
        return;
      case ParamKind::kFlag:
        each.value = chance_(2) == 0;
        return;
      case ParamKind::kWord: {
        const char* words[] = {"",     "both",    "values", "indices", "NHWC",       "NCHW",
                               "onnx", "nearest", "linear", "cubic",   "half_pixel", "tensorflow"};
        each.value = std::string(words[chance_(static_cast<uint32_t>(std::size(words)))]);
        return;
      }
      default: {
        auto& list = std::get<std::vector<int64_t>>(each.value);
        if (chance_(4) == 0 || list.empty()) list.push_back(number());
        list[chance_(size(list))] = number();
      }
    }
  }

  Executable& e_;
  Chance chance_;
};

/// Tensors for the inputs of the first graph, where their sizes are numbers; small ones of random
/// elements.
inline std::vector<Value> random_inputs(const Executable& e, const Chance& chance) {
  std::vector<Value> values;
  const Graph& g = e.graphs[0];
  for (uint32_t i = 0; i < g.num_inputs && i < g.places.size(); ++i) {
    Shape shape;
    int64_t count = 1;
    for (uint32_t slot : g.places[i].extents) {
      const int64_t extent = slot < g.dims.size() ? g.dims[slot].value : 0;
      shape.push_back(extent < 0 || extent > 100'000 ? 1 : extent);
      count *= shape.back();
      if (count > 100'000) count = shape.back() = 0;
    }
    NDArray array = NDArray::zeros(shape, kInt32);
    const uint32_t most = chance(5) + 1;
    for (int64_t k = 0; k < array.size() && k < 4096; ++k)
      array.data<int32_t>()[k] = static_cast<int32_t>(chance(most)) - (most > 4 ? 1 : 0);
    values.emplace_back(array.cast(g.places[i].dtype));
  }
  return values;
}

/// Writes, loads and runs it: either it is refused or it runs (or fails) within the machine's
/// memory. Returns whether it ran to its end.
inline bool load_and_run(const Executable& e, const Chance& chance,
                         const std::atomic<bool>& interrupt) {
  try {
    std::shared_ptr<const Executable> loaded = load_executable(executable_bytes(e), "edited");
    MachineOptions options;
    options.stack_bytes = size_t{1} << 20;
    options.threads = 1;
    options.interrupt = &interrupt;
    Machine machine(loaded, options);
    machine.run("main", random_inputs(e, chance));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace relay::vm::testing

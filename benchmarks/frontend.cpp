// Speed of the front end on long programs: nodes a second for parse, infer, print, free and each
// pass, at 10⁴, 10⁵ and 10⁶ operator calls, as a chain of graph nodes and as a chain of lets.
// Linear means that the last column, time at 10⁶ over time at 10⁵, is about 10. A graph has one
// node for each call; a chain of lets has three: let, call and variable.
//   bench_frontend [--least N] [--most N] [--only graph|lets] [--passes A,B,…]
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <relay/infer/infer.h>
#include <relay/ir/visit.h>
#include <relay/parse/parse.h>
#include <relay/print/print.h>
#include <relay/support/error.h>
#include <relay/transform/pass.h>

using namespace relay;

namespace {

// Two operands alternate so that no two calls are equal.
std::string graph_chain(int64_t calls) {
  std::string text =
      "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {\n";
  text += "  %0 = add(%x, %y);\n";
  for (int64_t i = 1; i < calls; ++i) {
    text += fmt::format("  %{} = {}(%{}, %{});\n", i, i % 3 == 0 ? "multiply" : "add", i - 1,
                        i % 2 == 0 ? "x" : "y");
  }
  return text + fmt::format("  %{}\n}}\n", calls - 1);
}

std::string let_chain(int64_t calls) {
  std::string text =
      "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {\n";
  text += "  let %v0 = add(%x, %y);\n";
  for (int64_t i = 1; i < calls; ++i) {
    text += fmt::format("  let %v{} = {}(%v{}, %{});\n", i, i % 3 == 0 ? "multiply" : "add", i - 1,
                        i % 2 == 0 ? "x" : "y");
  }
  return text + fmt::format("  %v{}\n}}\n", calls - 1);
}

// Time of the process, since other work on the machine is not ours: everything here runs on one
// thread.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds(const std::function<void()>& action) {
  // The allocator puts off sorting what was freed until large blocks are asked for, some thousands
  // at a time; that is not the work of whoever asks first.
  for (int i = 0; i < 500; ++i) {
    void* volatile block = std::malloc(size_t{1} << 20);
    std::free(block);
  }
  double start = cpu_seconds();
  action();
  return cpu_seconds() - start;
}

using Times = std::map<std::string, double>;

// Best of a few runs for short ones.
Times measure(const std::string& text, int repeats,
              const std::vector<const PassRegistration*>& passes, std::vector<std::string>& order) {
  Times best;
  auto note = [&](const std::string& what, double time) {
    if (std::find(order.begin(), order.end(), what) == order.end()) order.push_back(what);
    auto [entry, added] = best.try_emplace(what, time);
    if (!added) entry->second = std::min(entry->second, time);
  };
  for (int r = 0; r < repeats; ++r) {
    auto module = std::make_unique<Module>();
    note("parse", seconds([&] { *module = parse_module("chain", text); }));
    note("infer", seconds([&] { infer_types_or_throw(*module); }));
    std::string printed;
    note("print", seconds([&] { printed = print_module(*module); }));
    for (const PassRegistration* pass : passes) {
      PassRef made = create_pass(pass->info.name.view());
      Module result;
      note(pass->info.name.str(), seconds([&] { result = (*made)(*module); }));
    }
    note("free", seconds([&] { module.reset(); }));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  // Memory once fetched from the system stays with the process, at every size: what is timed is our
  // work, not the kernel's clearing of fresh pages, which large blocks would pay in each run and
  // small ones only in the first.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  int64_t least = 10000;
  int64_t most = 1000000;
  std::string only;
  std::vector<const PassRegistration*> passes = all_passes();
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--most") == 0) most = std::strtoll(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--least") == 0) least = std::strtoll(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    if (std::strcmp(argv[i], "--passes") == 0) {
      std::string wanted = "," + std::string(argv[i + 1]) + ",";
      std::erase_if(passes, [&](const PassRegistration* pass) {
        return wanted.find("," + pass->info.name.str() + ",") == std::string::npos;
      });
    }
  }
  try {
    using Make = std::string (*)(int64_t);
    for (auto [name, make] :
         {std::pair<const char*, Make>{"graph", graph_chain}, {"lets", let_chain}}) {
      if (!only.empty() && only != name) continue;
      std::vector<std::string> order;
      std::map<int64_t, Times> all;
      std::map<int64_t, size_t> nodes;
      std::vector<int64_t> sizes;
      for (int64_t size = least; size <= most; size *= 10) sizes.push_back(size);
      for (int64_t size : sizes) {
        std::string text = make(size);
        nodes[size] = count_nodes(parse_module("chain", text).function("main"));
        all[size] = measure(text, 5, passes, order);
      }
      fmt::print("{:28}", name);
      for (int64_t size : sizes) fmt::print("{:>10} nodes", nodes[size]);
      fmt::print("   ratio\n");
      for (const std::string& what : order) {
        fmt::print("{:28}", what);
        for (int64_t size : sizes) {
          fmt::print("{:>12.2f} M/s", static_cast<double>(nodes[size]) / all[size][what] / 1e6);
        }
        if (sizes.size() > 1) {
          int64_t last = sizes.back();
          fmt::print("{:>8.1f}", all[last][what] / all[last / 10][what]);
        }
        fmt::print("\n");
      }
    }
  } catch (const Error& error) {
    fmt::print(stderr, "{}", render(error.diagnostics()));
    return 1;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("peak memory {} MiB\n", usage.ru_maxrss / 1024);
  return 0;
}

#include <algorithm>
#include <unordered_map>

#include <relay/codegen/cache.h>
#include <relay/codegen/codegen.h>
#include <relay/codegen/dim_text.h>
#include <relay/codegen/kernel_key.h>
#include <relay/codegen/llvm/build.h>
#include <relay/codegen/llvm/object.h>
#include <relay/codegen/source_hash.h>
#include <relay/support/error.h>
#include <relay/support/threads.h>

namespace relay::codegen {

namespace {

/// The facts besides the kernel that decide about the code.
std::string key_prefix(const Target& target) {
  return "relay " + std::string(source_hash()) + " abi " + std::to_string(kKernelAbiVersion) +
         " llvm " + llvm_version() + " target " + target.key() + '\n';
}

/// One distinct kernel.
struct Job {
  const lower::Kernel* kernel = nullptr;
  std::string key;
  std::shared_ptr<const KernelBlob> blob;
  CacheEntry entry;  // without the blob
};

void keep(Job& job, CacheEntry entry) {
  job.blob = std::make_shared<const KernelBlob>(std::move(entry.blob));
  entry.blob = {};
  job.entry = std::move(entry);
}

bool from_cache(Job& job, const DiskCache& cache) {
  auto entry = cache.find(job.key);
  if (!entry || !dim_from_text(entry->scratch_bytes, job.kernel->dim_args)) return false;
  keep(job, std::move(*entry));
  return true;
}

}  // namespace

std::vector<CompiledKernel> compile(std::span<const std::shared_ptr<const lower::Kernel>> kernels,
                                    const Target& target, const CompileOptions& options,
                                    std::span<const std::function<void()>> beside) {
  const std::string prefix = key_prefix(target);
  std::vector<Job> jobs;
  std::vector<size_t> job_of;  // for each kernel
  std::unordered_map<std::string, size_t> known;
  std::vector<std::string> keys(kernels.size());
  side_by_side(options.threads, kernels.size(),
               [&](size_t i) { keys[i] = prefix + kernel_key(*kernels[i]); });
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto [found, is_new] = known.try_emplace(std::move(keys[i]), jobs.size());
    job_of.push_back(found->second);
    if (is_new)
      jobs.push_back({.kernel = kernels[i].get(), .key = found->first, .blob = {}, .entry = {}});
  }
  const DiskCache cache(jobs.empty() ? std::filesystem::path() : options.cache);
  std::vector<Job*> missing;
  for (Job& job : jobs) {
    if (!from_cache(job, cache)) missing.push_back(&job);
  }
  // Long ones first, then the other work, then the rest: the work left at the end is short, and no
  // thread waits long for another.
  std::stable_sort(missing.begin(), missing.end(),
                   [](const Job* a, const Job* b) { return a->key.size() > b->key.size(); });
  const size_t long_ones = missing.size() / 2;
  with_stack(options.threads, missing.size() + beside.size(), [&](size_t i) {
    if (i >= long_ones && i < long_ones + beside.size()) return beside[i - long_ones]();
    Job& job = *missing[i < long_ones ? i : i - beside.size()];
    CacheEntry entry = build_kernel(*job.kernel, target);
    cache.add(job.key, entry);
    keep(job, std::move(entry));
  });
  if (!missing.empty()) cache.trim();
  std::vector<CompiledKernel> result;
  result.reserve(kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Job& job = jobs[job_of[i]];
    const auto scratch = dim_from_text(job.entry.scratch_bytes, kernels[i]->dim_args);
    RELAY_CHECK(scratch.has_value(), "scratch size '" + job.entry.scratch_bytes + "'");
    result.push_back({.blob = job.blob,
                      .messages = job.entry.messages,
                      .origins = job.entry.origins,
                      .scratch_bytes = *scratch,
                      .parallel = job.entry.parallel});
  }
  return result;
}

std::string emit_text(const lower::Kernel& kernel, const Target& target, Text text) {
  std::string result;
  with_stack(1, 1, [&](size_t) { result = build_text(kernel, target, text); });
  return result;
}

Assembly emit_assembly(const lower::Kernel& kernel, const Target& target) {
  Assembly result;
  with_stack(1, 1, [&](size_t) { result = build_assembly(kernel, target); });
  return result;
}

}  // namespace relay::codegen

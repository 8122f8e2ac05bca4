// Generated contractions against oneDNN: the products of resnet50, mobilenet_v2 and bert_base at
// batch 1, float32. Each line is the median of ratios measured in turns, in one run; above 1 the
// generated kernel is faster. (With several threads: of the best times; take many turns.) "split":
// time of one worker over that of the slower of two shares. "own": oneDNN in the layouts that it
// prefers, which it would have to reorder to and from (not counted); "plain": row-major operands as
// they are here.
//   bench_kernels_contraction [--threads N] [--only TEXT] [--target NAME] [--turns N] [--asm 1]
//     [--epilogue 1]  with a bias for each row of the output, a residual and relu behind it (oneDNN
//     without)
//     [--symbols 1]   rows of matrices and sizes of images known at run time only
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <relay/codegen/codegen.h>
#include <relay/lower/lower.h>

#include <benchmarks/contraction_problems.h>
#include <benchmarks/measure.h>

using namespace relay;
using bench::median;
using namespace bench::contraction;

namespace {

/// relu(value + bias of dimension 1 + residual).
te::Computation add_epilogue(te::Computation c) {
  te::Stage& stage = c.stages.back();
  auto& map = std::get<te::Map>(stage.body);
  const te::TensorInfo& out = stage.outputs[0];
  c.inputs.push_back({{out.dims[1]}, out.dtype});
  c.inputs.push_back(out);
  auto input = [&](size_t i) { return te::Tensor({-1, static_cast<int32_t>(i)}, c.inputs[i]); };
  std::vector<te::Scalar> at;
  for (const te::Axis& axis : map.axes) at.push_back(te::index_of(axis));
  te::Scalar value = te::Scalar(map.values[0]) + input(c.inputs.size() - 2)({at[1]}) +
                     input(c.inputs.size() - 1)(at);
  map.values[0] = te::max(value, te::constant(0.0, out.dtype)).ref();
  return c;
}

std::vector<Problem> problems() {
  const std::string r = "resnet50", m = "mobilenet_v2", b = "bert_base", o = "odd", l = "nhwc";
  return {conv(r, 1, 3, 64, 7, 2, 224),
          conv(r, 1, 64, 64, 1, 1, 56),
          conv(r, 3, 64, 64, 3, 1, 56),
          conv(r, 4, 64, 256, 1, 1, 56),
          conv(r, 2, 256, 64, 1, 1, 56),
          conv(r, 1, 256, 128, 1, 1, 56),
          conv(r, 1, 128, 128, 3, 2, 56),
          conv(r, 4, 128, 512, 1, 1, 28),
          conv(r, 1, 256, 512, 1, 2, 56),
          conv(r, 3, 512, 128, 1, 1, 28),
          conv(r, 3, 128, 128, 3, 1, 28),
          conv(r, 1, 512, 256, 1, 1, 28),
          conv(r, 1, 256, 256, 3, 2, 28),
          conv(r, 6, 256, 1024, 1, 1, 14),
          conv(r, 1, 512, 1024, 1, 2, 28),
          conv(r, 5, 1024, 256, 1, 1, 14),
          conv(r, 5, 256, 256, 3, 1, 14),
          conv(r, 1, 1024, 512, 1, 1, 14),
          conv(r, 1, 512, 512, 3, 2, 14),
          conv(r, 3, 512, 2048, 1, 1, 7),
          conv(r, 1, 1024, 2048, 1, 2, 14),
          conv(r, 2, 2048, 512, 1, 1, 7),
          conv(r, 2, 512, 512, 3, 1, 7),
          dense(r, 1, 1, 1000, 2048),
          conv(m, 1, 3, 32, 3, 2, 224),
          conv(m, 1, 32, 16, 1, 1, 112),
          conv(m, 1, 16, 96, 1, 1, 112),
          conv(m, 1, 96, 24, 1, 1, 56),
          conv(m, 2, 24, 144, 1, 1, 56),
          conv(m, 1, 144, 24, 1, 1, 56),
          conv(m, 1, 144, 32, 1, 1, 28),
          conv(m, 3, 32, 192, 1, 1, 28),
          conv(m, 2, 192, 32, 1, 1, 28),
          conv(m, 1, 192, 64, 1, 1, 14),
          conv(m, 4, 64, 384, 1, 1, 14),
          conv(m, 3, 384, 64, 1, 1, 14),
          conv(m, 1, 384, 96, 1, 1, 14),
          conv(m, 3, 96, 576, 1, 1, 14),
          conv(m, 2, 576, 96, 1, 1, 14),
          conv(m, 1, 576, 160, 1, 1, 7),
          conv(m, 3, 160, 960, 1, 1, 7),
          conv(m, 2, 960, 160, 1, 1, 7),
          conv(m, 1, 960, 320, 1, 1, 7),
          conv(m, 1, 320, 1280, 1, 1, 7),
          dense(m, 1, 1, 1000, 1280),
          dense(b, 48, 128, 768, 768),
          dense(b, 12, 128, 3072, 768),
          dense(b, 12, 128, 768, 3072),
          batch(b, 12, 12, 128, 128, 64, true),
          batch(b, 12, 12, 128, 64, 128, false),
          dense(b, 1, 1, 768, 768),
          conv(o, 1, 3, 17, 3, 1, 58),
          conv(o, 1, 17, 58, 3, 1, 17),
          conv(o, 1, 58, 3, 1, 1, 58),
          conv(o, 1, 5, 7, 5, 1, 33),
          dense(o, 1, 17, 58, 33),
          dense(o, 1, 3, 130, 1000),
          batch(o, 1, 17, 9, 11, 13, false),
          conv(l, 1, 64, 64, 1, 1, 56, true),
          conv(l, 1, 64, 64, 3, 1, 56, true),
          conv(l, 1, 256, 256, 3, 1, 14, true),
          conv(l, 1, 128, 128, 3, 2, 56, true),
          conv(l, 1, 512, 2048, 1, 1, 7, true),
          conv(l, 1, 3, 64, 7, 2, 224, true)};
}

size_t bytes_of(const te::TensorInfo& info) {
  return static_cast<size_t>(symbols.evaluate(product(info.dims))) * info.dtype.size();
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 1, turns = 9;
  bool assembly = false, epilogue = false;
  std::string only, target_name = "host";
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string name = argv[i];
    if (name == "--threads") threads = std::atoi(argv[i + 1]);
    if (name == "--turns") turns = std::atoi(argv[i + 1]);
    if (name == "--asm") assembly = argv[i + 1][0] == '1';
    if (name == "--epilogue") epilogue = argv[i + 1][0] == '1';
    if (name == "--symbols") with_symbols = argv[i + 1][0] == '1';
    if (name == "--only") only = argv[i + 1];
    if (name == "--target") target_name = argv[i + 1];
  }
  bench::set_openmp_threads(threads, argv);
  codegen::Target target = codegen::Target::parse(target_name);
  bench::Workers workers(threads);
  std::printf("%-13s %-28s %9s %9s %9s %7s %7s %9s %6s\n", "model", "problem", "ms", "GFLOP/s",
              "oneDNN", "own", "plain", "compile", "split");
  std::vector<std::pair<std::string, double>> logs;
  for (const Problem& problem : problems()) {
    if (!only.empty() && (problem.model + " " + problem.text).find(only) == std::string::npos) {
      continue;
    }
    const te::Computation c = epilogue ? add_epilogue(problem.computation) : problem.computation;
    auto contraction = contraction_of(c);
    if (!contraction) {
      std::printf("%-13s %-28s not recognised\n", problem.model.c_str(), problem.text.c_str());
      continue;
    }
    auto kernel = std::make_shared<lower::Kernel>();
    kernel->name = "bench";
    kernel->body = *contraction;
    for (const TypeVarRef& var : symbols.vars) kernel->dim_args.push_back(Dim::symbol(var.get()));
    lower::Lowered lowered = lower::lower(c, "bench", {});
    if (lowered.kernels.size() != 1 || lowered.kernels[0]->implementation != "contraction") {
      std::printf("%s: lower() makes %zu kernels, the first one %s\n", problem.text.c_str(),
                  lowered.kernels.size(), lowered.kernels[0]->implementation.c_str());
    }
    if (assembly) {
      std::puts(codegen::emit_text(*kernel, target, codegen::Text::kAssembly).c_str());
      continue;
    }
    std::shared_ptr<const lower::Kernel> kernels[] = {kernel};
    std::clock_t start = std::clock();
    codegen::CompiledKernel compiled = codegen::compile(kernels, target, {1, {}})[0];
    double compile_ms = 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    const KernelBlob* blobs[] = {compiled.blob.get()};
    auto code = CodeMemory::map(blobs);
    KernelFn fn = code->kernel(0);
    std::vector<te::TensorInfo> tensors = c.inputs;
    tensors.push_back(c.stages.back().outputs[0]);
    std::vector<std::unique_ptr<Memory>> memory;
    std::vector<void*> buffers;
    for (const te::TensorInfo& info : tensors) {
      memory.push_back(std::make_unique<Memory>(bytes_of(info)));
      buffers.push_back(memory.back()->data);
    }
    auto scratch_bytes = static_cast<size_t>(symbols.evaluate(compiled.scratch_bytes));
    std::vector<std::unique_ptr<Memory>> scratch;
    for (int t = 0; t < threads; ++t) scratch.push_back(std::make_unique<Memory>(scratch_bytes));
    std::function<void(int)> work = [&](int t) {
      FailureDetail detail;
      ShareOfTasks tasks(t, threads);
      KernelArgs args{buffers.data(),
                      symbols.values.data(),
                      &tasks,
                      scratch[static_cast<size_t>(t)]->data,
                      kernel_functions(),
                      &detail};
      fn(&args);
    };
    std::function<void()> ours = [&] { workers.run(work); };
    struct Peer {
      std::unique_ptr<onednn::Primitive> primitive;
      std::unique_ptr<Memory> data, weight, out;
      std::vector<double> ratios, times;
    };
    Peer peers[2];
    for (int own = 0; own < 2; ++own) {
      Peer& peer = peers[own];
      peer.primitive = problem.peer(own == 1);
      if (!peer.primitive) continue;
      peer.data = std::make_unique<Memory>(peer.primitive->data_bytes());
      peer.weight = std::make_unique<Memory>(peer.primitive->weight_bytes());
      peer.out = std::make_unique<Memory>(peer.primitive->out_bytes());
    }
    auto timed = [&](const std::function<void()>& action) {
      return bench::timed(action, threads == 1 ? 0.003 : 0.001, threads == 1);
    };
    // How even the work is cut for two workers: one share after the other.
    auto share = [&](int t) {
      return timed([&] {
        FailureDetail detail;
        ShareOfTasks tasks(t, 2);
        KernelArgs args{buffers.data(),   symbols.values.data(), &tasks,
                        scratch[0]->data, kernel_functions(),    &detail};
        fn(&args);
      });
    };
    std::vector<double> times, peer_times, halves;
    for (int turn = 0; turn < turns; ++turn) {
      workers.set_idle(false);
      double mine = timed(ours);
      workers.set_idle(true);
      times.push_back(mine);
      if (threads == 1) halves.push_back(mine / std::max(share(0), share(1)));
      for (int own = 0; own < 2; ++own) {
        Peer& peer = peers[own];
        if (!peer.primitive) continue;
        double theirs =
            timed([&] { peer.primitive->run(peer.data->data, peer.weight->data, peer.out->data); });
        peer.ratios.push_back(theirs / mine);
        peer.times.push_back(theirs);
        if (own == 1) peer_times.push_back(theirs);
      }
    }
    // For several threads the best times are compared: a turn in which one of them had to wait for
    // its processor says nothing.
    auto typical = [&](const std::vector<double>& values) {
      return threads == 1 ? median(values) : *std::min_element(values.begin(), values.end());
    };
    auto ratio = [&](const Peer& peer) {
      if (peer.ratios.empty()) return static_cast<double>(NAN);
      return threads == 1 ? median(peer.ratios) : typical(peer.times) / typical(times);
    };
    double time = typical(times);
    double own = ratio(peers[1]);
    double plain = ratio(peers[0]);
    std::printf("%-13s %-28s %9.3f %9.1f %9.1f %7.2f %7.2f %9.1f %6.2f\n", problem.model.c_str(),
                problem.text.c_str(), time * 1e3, problem.flops / time / 1e9,
                peer_times.empty() ? NAN : problem.flops / typical(peer_times) / 1e9, own, plain,
                compile_ms, halves.empty() ? NAN : median(halves));
    std::fflush(stdout);
    if (own > 0) {
      // Every layer of a model counts, equal ones once.
      logs.emplace_back(problem.model, std::log(own));
    }
  }
  for (const char* model : {"resnet50", "mobilenet_v2", "bert_base", "odd", "nhwc"}) {
    double sum = 0;
    int count = 0;
    for (const auto& [name, value] : logs) {
      if (name != model) continue;
      sum += value;
      ++count;
    }
    if (count > 0) std::printf("%-13s geometric mean %.3f\n", model, std::exp(sum / count));
  }
}

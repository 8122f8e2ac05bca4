// Finds the functions of a program that become kernels, and puts these in their place.
#pragma once

#include <string>
#include <vector>

#include <relay/vm/compiler/native/writer.h>

namespace relay::vm::native {

/// A function that runs one kernel.
struct Replaced {
  std::string name;
  uint32_t position = 0;
  LoopKernel loop;
};

/// Replaces each function with loops over numbers and small tensors by a run of one kernel, which
/// `graphs.size() + k` names for the k-th of the result. Functions and graphs that nothing needs
/// any more are removed.
std::vector<Replaced> replace_loops(
    const Module& module, Executable& executable, std::vector<Source>& sources,
    std::vector<graph::Graph>& graphs,
    const std::function<uint32_t(const graph::ConstantRef&)>& constant);

/// The graph of the machine that runs the kernel of that number.
Graph graph_of(const Replaced& replaced, uint32_t kernel);

}  // namespace relay::vm::native

// Shared by the compilation of one module.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <relay/infer/devices/devices.h>
#include <relay/infer/runtime/flows.h>
#include <relay/vm/compiler/groups.h>
#include <relay/vm/compiler/kernel_table.h>
#include <relay/vm/compiler/native/replace.h>
#include <relay/vm/compiler/prepare.h>
#include <relay/vm/machine/positions.h>

namespace relay::vm {

/// Tables of the executable under construction. Functions are compiled one after the other, in the
/// order of their first mention.
class ProgramBuilder {
 public:
  ProgramBuilder(const Prepared& prepared, Executable& executable, const CompileOptions& options);

  const Module& module() const { return module_; }
  /// The name of an inner function in call traces.
  std::string name_of(const relay::Function* function) const { return prepared_.name_of(function); }
  Executable& executable() { return executable_; }
  GroupCache& groups() { return groups_; }
  PositionTable& positions() { return positions_; }
  Flows& flows() { return flows_; }
  /// True if the module has types with dimensions that are not integers: only then shapes have to
  /// be checked.
  bool open_shapes() const { return open_shapes_; }

  /// The number of a global function; throws Error if there is none.
  uint32_t global(Name name, Span span);
  /// A new, empty function.
  uint32_t add_function(std::string name);
  uint32_t constant(const Value& value);
  /// A constant as graphs know it.
  graph::ConstantRef constant_ref(uint32_t constant);
  /// The same constant on another device.
  uint32_t constant_on(uint32_t constant, Device device);
  /// Null for a program that does not name devices.
  const Devices* devices() const { return devices_.get(); }
  uint32_t constructor(const Constructor* constructor);
  uint32_t message(const std::string& text);
  uint32_t position(Span span) { return positions_.add(span); }
  /// Keeps a graph, which becomes launches after all graphs are known; returns its number.
  uint32_t add_graph(graph::Graph graph);
  /// Keeps a function as it was written, for kernels of whole functions.
  void keep_source(uint32_t number, const Function& function, FunctionTypes types);

  /// Compiles everything that `entries` need.
  void run(std::span<const Name> entries);
  /// The first part of `run`: bytecode, and graphs as computations.
  void collect(std::span<const Name> entries);
  std::vector<graph::Graph> take_graphs() { return std::move(graphs_); }

 private:
  void begin(std::span<const Name> entries);
  void compile_functions();
  bool has_loop_kernels() const;
  void replace_loops();
  void rewrite_graphs();
  void write_graphs();
  uint32_t number_of(const graph::ConstantRef& constant);
  void keep_used_constants();
  void add_entry(Name name);

  const Prepared& prepared_;
  const Module& module_;
  Executable& executable_;
  const CompileOptions& options_;
  GroupCache groups_;
  KernelTable kernels_;
  PositionTable positions_;
  Flows flows_;
  std::unique_ptr<Devices> devices_;
  bool open_shapes_ = false;

  struct Waiting {
    const relay::Function* function;
    std::string name;
    uint32_t number;
  };
  std::deque<Waiting> waiting_;
  std::unordered_map<Name, uint32_t> globals_;
  std::unordered_map<const ConstructorInfo*, uint32_t> constructors_;
  std::unordered_map<const void*, uint32_t> tensors_;
  std::map<std::tuple<uint32_t, DeviceType, int32_t>, uint32_t> elsewhere_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> numbers_;
  std::unordered_map<std::string, uint32_t> messages_;
  std::vector<graph::Graph> graphs_;
  std::vector<native::Source> sources_;     // by function
  std::vector<native::Replaced> replaced_;  // functions that are one kernel
  std::vector<graph::ConstantRef> constant_refs_;  // by number, for those that graphs use
  std::unordered_map<const graph::Constant*, uint32_t> constant_numbers_;
  std::vector<graph::ConstantRef> made_constants_;  // by rewrites: values come last
};

}  // namespace relay::vm

// Compiles one global function, with all functions inside of it, to bytecode: the schedule of
// relay/ir/regions.h written out in a line.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <relay/graph/builder.h>
#include <relay/infer/runtime/declared_shapes.h>
#include <relay/ir/regions.h>
#include <relay/vm/compiler/code.h>
#include <relay/vm/compiler/match.h>
#include <relay/vm/compiler/program.h>
#include <relay/vm/compiler/scopes.h>

namespace relay::vm {

/// The form of a value while code is written. A tuple is in a register only if one is needed.
struct Known {
  enum class Kind : uint8_t { kNone, kRegister, kConstant, kTensor, kTuple };
  Kind kind = Kind::kNone;
  uint32_t index = 0;  // register, constant, or number in Unit::tensors
  std::shared_ptr<const std::vector<Known>> fields;

  static Known in_register(uint32_t reg) { return {Kind::kRegister, reg, nullptr}; }
  static Known constant(uint32_t number) { return {Kind::kConstant, number, nullptr}; }
  static Known tensor(uint32_t number) { return {Kind::kTensor, number, nullptr}; }
  static Known tuple(std::vector<Known> fields) {
    return {Kind::kTuple, 0, std::make_shared<const std::vector<Known>>(std::move(fields))};
  }
};

class FunctionCompiler {
 public:
  /// `number` is the function of the executable to be written.
  FunctionCompiler(ProgramBuilder& program, const relay::Function* root, std::string name,
                   uint32_t number);
  void run();

 private:
  // A result of a graph: in the graph being built, or in a register once that has run.
  struct Tensor {
    uint32_t graph = 0;  // serial number
    uint32_t tensor = 0;
    uint32_t reg = kNone;
  };
  // A write of a reference or a closure that is written once the graph has run.
  struct Postponed {
    uint32_t node = 0;
    uint32_t reference = kNone;     // register of what is written; kNone for a closure
    uint32_t closure = kNone;       // the register that it will be in
    bool adds = false;              // to what the reference holds
    const Type* content = nullptr;  // the type of what is written
    std::vector<Known> values;      // what is written, or captured
  };
  // A sum that the graph puts in the place of what a reference holds.
  struct Cell {
    uint32_t node = 0;
    uint32_t reference = kNone;  // register
    uint32_t added = 0;          // tensor of the graph
  };
  // A function being written.
  struct Unit {
    uint32_t node = 0;  // in regions_
    Unit* parent = nullptr;
    uint32_t number = 0;
    FunctionScope scope;
    Function function;
    std::unordered_map<uint32_t, Known> nodes;
    std::unordered_map<const Var*, Known> vars;
    std::vector<Tensor> tensors;
    // The graph under construction: groups of the current region that have not been run yet.
    std::unique_ptr<graph::Builder> graph;
    uint32_t graph_serial = 0;
    std::vector<uint32_t> members;                    // nodes whose groups are in it
    std::unordered_map<uint32_t, uint32_t> in_graph;  // node → serial number of its graph
    std::unordered_map<uint32_t, uint32_t> inputs;    // register → tensor of the graph
    // Fields of tuples that are in registers: (tuple, index) → register, for this graph's groups.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> fields;
    std::unordered_map<uint32_t, uint32_t> constants;  // constant → tensor of the graph
    std::vector<uint32_t> input_registers;             // of the graph, in order
    std::string graph_name;
    uint32_t graph_position = 0;
    std::unordered_map<uint32_t, TypeRef> made;  // data values, by instruction
    bool graph_acts = false;                     // it has to run even if nothing needs its results
    std::vector<Cell> cells;                     // that it adds to
    bool graph_can_fail = false;
    std::vector<Postponed> postponed;  // until the graph has run
  };
  // A region being written, or the branches of an If or Match.
  struct Task {
    uint32_t region = 0;
    size_t next_step = 0;
    size_t tail_step = 0;
    bool tail = false;
    uint32_t result = kNone;
    bool is_choice = false;
    uint32_t node = 0;
    uint32_t operand = 0;
    uint32_t condition = kNone;
    uint32_t miss = 0;                           // branch of an if
    std::vector<std::vector<uint32_t>> clauses;  // jumps to each clause of a match
    KnownFields fields;                          // of the tuple that a match takes apart
    std::vector<uint32_t> ends;                  // jumps behind it all
  };

  // function_compiler.cpp: order.
  Unit* add_unit(uint32_t node, Unit* parent, std::string name, uint32_t number);
  FunctionTypes unit_types() const;
  void write_unit();
  void advance_region(std::vector<Task>& tasks);
  void advance_choice(std::vector<Task>& tasks);
  uint32_t match_data(uint32_t node, KnownFields& fields);
  void finish_region(Task& task);
  bool write_node(uint32_t node, bool tail);
  bool write_call(uint32_t node, const Call* call, bool tail);
  void write_closure(uint32_t node);
  void make_closure(uint32_t node, const std::vector<uint32_t>& captures, uint32_t dst);

  // postpone.cpp: what waits for the graph.
  void write_reference(uint32_t node, uint32_t reference);
  void write_accumulation(uint32_t node);
  bool adds_in_graph(uint32_t node, const Known& added) const;
  uint32_t write_sum(graph::Builder& graph, const Cell& cell);
  const Type* content_of(const Cell& cell) const;
  void emit_write(const Postponed& write);
  void postpone(Postponed later);
  bool postpone_closure(uint32_t node, const std::vector<Known>& captures);
  bool waits_within(const Known& known) const;
  bool is_postponed(uint32_t reg) const;
  bool may_read_postponed(const Expr* reference) const;
  void write_postponed();

  // values.cpp: where values are.
  Known operand(uint32_t node, size_t i);
  Known value_of(const Expr* expr, uint32_t node);
  Known var_value(const Var* var);
  Known node_value(uint32_t node);
  uint32_t to_register(const Known& known);
  uint32_t operand_register(uint32_t node, size_t i) { return to_register(operand(node, i)); }
  std::vector<uint32_t> operand_registers(uint32_t node, size_t from);
  Known constant(const Expr* expr);

  // group_code.cpp: operators.
  struct Primitive {
    relay::FunctionRef function;
    std::vector<uint32_t> operands;  // of the call, one for each parameter
  };
  struct GroupArgument {
    Known known;
    TypeRef type;  // of one tensor
    Device device;
  };
  void write_failure(uint32_t node, const std::string& message, Span span);
  void write_group(uint32_t node, const Call* call, Primitive primitive);
  bool write_as_numbers(uint32_t node, const Call* call, const Primitive& primitive,
                        std::span<const GroupArgument> arguments);
  std::vector<uint32_t> operator_positions(const relay::Function& primitive);
  bool try_add_to_graph(uint32_t node, const Call* call, const Primitive& primitive,
                        std::span<const GroupArgument> arguments);
  bool add_to_graph(uint32_t node, const Call* call, const Primitive& primitive,
                    std::span<const GroupArgument> arguments);
  void flatten(const Known& known, const TypeRef& type, std::vector<GroupArgument>& out);
  uint32_t field_of(uint32_t tuple, uint32_t index);
  bool waits(const Known& known) const;
  static void set_devices(std::vector<GroupArgument>& arguments, const Type* type,
                          const DeviceTree& devices, size_t& next);
  uint32_t graph_tensor(const GroupArgument& argument);
  struct GroupDevices {
    Device inputs, results;
  };
  GroupDevices devices_of(const Call* call) const;
  static Known structured(const TypeRef& type, const std::vector<Known>& tensors, size_t& next);
  Primitive primitive_around(const Call* call);
  relay::FunctionRef with_numbers_inside(const relay::FunctionRef& function,
                                         std::vector<GroupArgument>& arguments);
  void run_graph();
  void write_graph();
  void find_needed(uint32_t node, std::vector<char>& needed);

  // shape_checks.cpp: declared shapes (T15).
  void write_check(const ShapeComparison& parts,
                   const std::function<Known(const DeclaredShape&)>& value_of);
  void write_check(const ShapeComparison& parts, const Known& value);
  bool is_checked(const Let* let);
  void check_let(const Let* let, const Known& value);
  void check_matched(const Var* var);
  void check_written(uint32_t node, const RefWrite* write);
  void check_open(const Expr* expr, uint32_t node, const char* what);
  void check_arguments(uint32_t node, const Call* call);
  void check_parameters();
  bool result_may_differ(const Expr* value);
  void check_result(const Expr* value, const Known& known);

  ProgramBuilder& program_;
  std::string name_;
  Name global_;
  Regions regions_;
  Scopes scopes_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::unordered_map<uint32_t, uint32_t> function_numbers_;  // of function nodes
  std::unordered_map<const Call*, Primitive> primitives_;
  Unit* unit_ = nullptr;
  std::optional<CodeWriter> code_;
  uint32_t next_serial_ = 1;
};

}  // namespace relay::vm

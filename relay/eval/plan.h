// Functions prepared for the evaluator: steps of E2 in a line, over numbered slots.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <relay/eval/apply.h>
#include <relay/eval/check.h>
#include <relay/infer/devices/devices.h>
#include <relay/infer/runtime/flows.h>
#include <relay/ir/module.h>
#include <relay/runtime/value.h>

namespace relay::eval {

enum class Code : uint8_t {
  kConst,       // dst ← constants[a]
  kGlobal,      // dst ← closure of functions[a]
  kMove,        // dst ← arg 0
  kTuple,       // dst ← (args…)
  kProject,     // dst ← arg 0, field a
  kApply,       // dst ← operator of sites[a] on args
  kConstruct,   // dst ← constructors[a] of args
  kClosure,     // dst ← closure over plans[a], capturing what that plan lists
  kCallGlobal,  // dst ← functions[a](args…)
  kCall,        // dst ← arg 0 called with the other args
  kBranch,      // unless arg 0 continue at a
  kJump,        // continue at a
  kMatch,       // unless arg 0 fits matches[a] (binding its slots) continue at b
  kNoMatch,     // arg 0 fits no clause: fails
  kCheck,       // args fit checks[a]
  kRefCreate,
  kRefRead,
  kRefWrite,
  kReturn  // arg 0
};

inline constexpr uint32_t kNoSlot = ~uint32_t{0};

struct Instruction {
  Code code = Code::kReturn;
  bool tail = false;  // calls: the frame is done
  uint32_t dst = kNoSlot;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t first_arg = 0;  // in Plan::args
  uint32_t num_args = 0;
  Span span;
};

/// An argument slot; `last` marks the last use, which may move the value out.
struct Argument {
  uint32_t slot;
  bool last = false;
};

struct MatchClause {
  PatternRef pattern;
  std::vector<std::pair<const Var*, uint32_t>> slots;
};

/// One function. Slots: parameters, then everything else.
struct Plan {
  std::string name;
  Span span;
  uint32_t num_params = 0;
  uint32_t num_slots = 0;
  uint32_t self = kNoSlot;              // receives the running closure
  std::vector<uint32_t> captures;       // slots of the enclosing plan …
  std::vector<uint32_t> capture_slots;  // … and their slots here
  std::vector<Instruction> code;
  std::vector<const Expr*> sources;  // of the instructions; null for what no expression says
  std::vector<Argument> args;
  std::vector<Value> constants;
  std::vector<Name> functions;
  std::vector<const ConstructorInfo*> constructors;
  std::vector<Plan*> plans;
  std::vector<MatchClause> matches;
  std::vector<ShapeCheck> checks;
  std::vector<std::unique_ptr<ApplySite>> sites;
};

/// All plans of one program. Globals are planned when first called.
class Program {
 public:
  /// Values without a device are on `device`. Throws Error if devices do not fit.
  explicit Program(const Module& module, Device device = kCpu);
  const Module& module() const { return module_; }
  Flows& flows() { return flows_; }
  /// The plan of a global; throws Error if there is none.
  Plan* global(Name name, Span span);
  /// Null for a program that does not name devices.
  const Devices* devices() const { return devices_.get(); }
  /// The device on which the operator of a call runs.
  Device device_of(const Expr* call) const;
  /// The device of an operand; a constant has a device at each use.
  Device device_of(const Expr* parent, size_t operand) const;
  /// Plans a function that has no free variables.
  Plan* add(const FunctionRef& function, std::string name);

 private:
  Module module_;
  Flows flows_{module_};
  std::unique_ptr<Devices> devices_;
  Device device_;
  std::unordered_map<Name, Plan*> globals_;
  std::vector<FunctionRef> functions_;  // keeps expressions alive
  std::vector<std::unique_ptr<Plan>> plans_;
  friend class Planner;
};

/// A function that calls an operator or constructor.
FunctionRef function_around(const Expr* callable);
/// Marks the arguments that are read for the last time. Code only runs forwards, so the last use in
/// the text is the last in time.
void mark_last_uses(Plan& plan);
/// The value of a literal. Literals are constants after specialisation; a remaining one takes the
/// dtype of its type, or T8's.
Value literal_value(const Literal& literal);

}  // namespace relay::eval

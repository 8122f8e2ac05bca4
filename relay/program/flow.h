// Facts that follow values through a whole program: the driver of analyses that flow.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <relay/program/program.h>

namespace relay {

/// A fact about the values that a place of the program may have; 0 is that none comes there.
using Fact = uint64_t;

/// An analysis by abstract interpretation: a lattice of facts, and what expressions make of them.
/// It says nothing of variables, lets, calls of functions, branches, clauses, data values and
/// references: the driver (`Flow`) follows values through these.
class FlowAnalysis {
 public:
  virtual ~FlowAnalysis() = default;
  /// The least fact that covers two that are not 0. Chains of ever greater facts are short.
  virtual Fact join(Fact a, Fact b) const = 0;
  /// The fact about values of which nothing is known, such as arguments of the entry.
  virtual Fact unknown() const = 0;
  /// The fact that a node makes of its parts: a constant or number (no parts), a call of an
  /// operator or constructor (its arguments), a tuple (its fields), a projection out of a tuple
  /// that an operator made, a function literal (its free variables), a new reference (its content).
  /// No part is 0. Greater parts give a greater or equal fact.
  virtual Fact value(const Expr* node, std::span<const Fact> parts) const = 0;
  /// The effect of a node, apart from its operands and from functions that it calls. Effects join
  /// over the body of a function, and over the functions that a call may run.
  virtual Fact effect(const Expr* node) const {
    (void)node;
    return 0;
  }
  /// That of a function of which nothing is known.
  virtual Fact unknown_effect() const { return 0; }
};

/// The facts of a program: the least ones that agree with each other.
///
/// Values are followed into functions by what may be called (0-CFA): a function has one fact for
/// each parameter, whoever calls it. Tuples have facts by field. Fields of constructors have one
/// fact each in the whole program, and so has the content of references. @main (or the only
/// function) is the entry, with unknown arguments; then each function that nothing has reached is
/// one, too. Works on typed and untyped programs, takes a stack of constant depth, and ends since
/// facts only grow: a set of more than 64 functions counts as unknown.
class Flow {
 public:
  /// The views of the program outlive it.
  Flow(const Program& program, const FlowAnalysis& analysis);
  ~Flow();
  Flow(Flow&&) noexcept;

  /// The fact about the values of a node of a global function's view.
  Fact fact(const View& view, uint32_t id) const;
  /// The effect of evaluating a node, apart from its operands: of the functions that a call may
  /// run.
  Fact effect(const View& view, uint32_t id) const;
  /// The functions that the values of a node may be. `known` is false if there may be others.
  struct Functions {
    struct Place {
      const View* view;  // of the global function that it is, or is in
      uint32_t id;
    };
    std::vector<Place> functions;
    bool known = true;
  };
  Functions functions(const View& view, uint32_t id) const;

 private:
  class Driver;
  std::unique_ptr<Driver> driver_;
};

/// Which values are the same whatever the arguments of the program are: the fact is the node that
/// makes the value, or `kVaries`.
class Constancy final : public FlowAnalysis {
 public:
  static constexpr Fact kVaries = 1;
  static bool constant(Fact fact) { return fact > kVaries; }

  Fact join(Fact a, Fact b) const override { return a == b ? a : kVaries; }
  Fact unknown() const override { return kVaries; }
  Fact value(const Expr* node, std::span<const Fact> parts) const override;
};

/// Which calls have an effect (language.md E3), by the functions that they may run: 1 for those
/// that have.
class CallEffects final : public FlowAnalysis {
 public:
  Fact join(Fact a, Fact b) const override { return a | b; }
  Fact unknown() const override { return 1; }
  Fact value(const Expr*, std::span<const Fact>) const override { return 1; }
  Fact effect(const Expr* node) const override;
  Fact unknown_effect() const override { return 1; }
};

}  // namespace relay

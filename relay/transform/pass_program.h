// Facts that passes of a sequence know about the program that they work on.
#pragma once

#include <relay/program/program.h>

namespace relay {

/// The program of the module that a pass was given: views of its functions, effects, the call graph
/// (docs/passes.md says how to ask). The passes of a sequence have one program at one revision
/// after another: a function that is still the same node keeps its view with all columns that were
/// asked for. For any other module, and outside of passes, it is a new program, which nobody keeps.
Program program_of(const Module& module);

/// Keeps the program of the passes that run on this thread, while one of these lives. Passes that a
/// pass runs for itself, on other modules, have a program of their own.
class PassProgram {
 public:
  PassProgram();
  ~PassProgram();
  PassProgram(const PassProgram&) = delete;
  PassProgram& operator=(const PassProgram&) = delete;

  /// A pass works on a module, at this address.
  class Run {
   public:
    explicit Run(const Module& module);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    /// Its result is the next revision: views of functions that are not in it are given back.
    void finish(const Module& result);
  };

 private:
  bool outermost_;
};

}  // namespace relay

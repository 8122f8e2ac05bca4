// The effects of the module that a pass works on.
#pragma once

#include <relay/transform/pass_program.h>

namespace relay {

/// Those of its program, which are found when a pass first asks for them.
class LazyEffects {
 public:
  explicit LazyEffects(const Module& module) : program_(program_of(module)) {}

  const Effects& get() const { return program_.effects(); }
  const Program& program() const { return program_; }

 private:
  Program program_;
};

}  // namespace relay

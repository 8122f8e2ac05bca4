// Measures what the model of this machine says (relay/vm/machine/machine_model.h).
#pragma once

#include <string>

#include <relay/vm/machine/machine_model.h>

namespace relay::tool {

/// A program on made-up arguments, run for a while: the least times, and what its kernels do.
struct MeasuredProgram {
  double run_ns = 0, kernel_ns = 0;
  vm::LaunchWork work;
};
MeasuredProgram measure_program(const std::string& text, int threads);

/// Takes about a second.
vm::MachineModel measure_model(int threads);
/// The model as it was measured before, kept in the user's cache folder; the first four times it
/// measures again, since the machine may have been busy before.
vm::MachineModel known_model(int threads);
/// Measures, and keeps the better of each figure: a busy machine shows less than it can do.
vm::MachineModel best_model(int threads);

}  // namespace relay::tool

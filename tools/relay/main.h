// The command `relay` as a function: of the executable, and of the Python package that brings the
// command along.
#pragma once

namespace relay::tool {

/// Runs a command line, the program's name first, and gives the exit code. It sets where spdlog's
/// messages go; signals stay as the process has them, but while it runs.
int run_command(int argc, const char* const* argv);

}  // namespace relay::tool

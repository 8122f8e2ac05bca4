// The command `relay` as a function: of the executable, and of the Python package that brings the
// command along.
#pragma once

namespace relay::tool {

/// Runs a command line, the program's name first, and gives the exit code. Once in a process: it
/// sets what SIGPIPE does and where messages go.
int run_command(int argc, const char* const* argv);

}  // namespace relay::tool

#include <tools/relay/main.h>

#include <csignal>

int main(int argc, char** argv) {
  // Who started this process may have SIGPIPE ignored; a closed pipe ends a command all the same.
  std::signal(SIGPIPE, SIG_DFL);
  return relay::tool::run_command(argc, argv);
}

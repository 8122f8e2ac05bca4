#include <tools/relay/main.h>

int main(int argc, char** argv) { return relay::tool::run_command(argc, argv); }

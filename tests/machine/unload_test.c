/* The library is closed while its threads exist, asleep or not, and opened again: from C, by
 * dlopen. usage: relay_unload_test LIBRARY PROGRAM */
#include <dlfcn.h>
#include <relay_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)
#define FIND(library, name)                        \
  __typeof__(&relay_##name) name;                  \
  *(void**)&name = dlsym(library, "relay_" #name); \
  CHECK(name != NULL)

static void run_and_close(const char* path, const char* model, unsigned wait) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL);
  FIND(library, program_load);
  FIND(library, program_free);
  FIND(library, machine_new);
  FIND(library, machine_free);
  FIND(library, tensor_copy);
  FIND(library, value_tensor);
  FIND(library, value_free);
  FIND(library, run);
  RelayProgram* program = NULL;
  RelayMachine* machine = NULL;
  CHECK(program_load(model, &program) == RELAY_OK);
  CHECK(machine_new(program, 4, &machine) == RELAY_OK);
  static float zeros[512 * 512];
  int64_t extents[] = {512, 512};
  RelayTensor tensor = {zeros, 2, RELAY_FLOAT, 32, extents, NULL};
  RelayValue* input = tensor_copy(&tensor);
  for (int i = 0; i < 20; ++i) {
    RelayValue* result = NULL;
    CHECK(run(machine, 0, &input, 1, &result) == RELAY_OK);
    CHECK(value_tensor(result, &tensor) == RELAY_OK);
    CHECK(((const float*)tensor.data)[512 * 512 - 1] == 1.0f);
    value_free(result);
  }
  value_free(input);
  machine_free(machine);
  program_free(program);
  usleep(wait);
  CHECK(dlclose(library) == 0);
  usleep(10000);
}

/* Nothing of the library is called any more. */
static void fork_after_closing(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL);
  FIND(library, last_error);
  CHECK(last_error() != NULL);
  CHECK(dlclose(library) == 0);
  pid_t child = fork();
  if (child == 0) _exit(7);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  fork_after_closing(argv[1]);
  run_and_close(argv[1], argv[2], 0);
  run_and_close(argv[1], argv[2], 50000);
  run_and_close(argv[1], argv[2], 0);
  puts("closed three times");
  return 0;
}

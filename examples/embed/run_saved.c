/* A saved program inside a C program, which needs the machine alone and no compiler.
 *
 *   run_saved MODEL.rlx
 */
#include <relay_runtime.h>
#include <stdio.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, relay_last_error());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s MODEL.rlx\n", argv[0]);
    return 2;
  }
  RelayProgram* program = NULL;
  RelayMachine* machine = NULL;
  if (relay_program_load(argv[1], &program) != RELAY_OK) return fail("cannot load");
  if (relay_machine_new(program, 0, &machine) != RELAY_OK) return fail("cannot run");

  float numbers[3] = {1.5f, 0.5f, 0.5f};
  float weights[6] = {1, 0, 0, 0, 1, 0};
  int64_t data_shape[2] = {1, 3};
  int64_t weight_shape[2] = {2, 3};
  RelayTensor tensors[2] = {
      {.data = numbers, .code = RELAY_FLOAT, .bits = 32, .rank = 2, .shape = data_shape},
      {.data = weights, .code = RELAY_FLOAT, .bits = 32, .rank = 2, .shape = weight_shape},
  };
  RelayValue* inputs[2];
  for (int i = 0; i < 2; ++i) {
    inputs[i] = relay_tensor_copy(&tensors[i]);
    if (inputs[i] == NULL) return fail("no input");
  }

  int64_t entry = relay_program_find(program, "main");
  if (entry < 0) return fail("no @main");
  RelayValue* result = NULL;
  if (relay_run(machine, (size_t)entry, inputs, 2, &result) != RELAY_OK) return fail("failed");
  RelayTensor tensor;
  if (relay_value_tensor(result, &tensor) != RELAY_OK) return fail("no tensor");
  const float* elements = tensor.data;
  printf("%s: %.4f %.4f\n", relay_runtime_version(), elements[0], elements[1]);

  relay_value_free(result);
  for (int i = 0; i < 2; ++i) relay_value_free(inputs[i]);
  relay_machine_free(machine);
  relay_program_free(program);
  return 0;
}

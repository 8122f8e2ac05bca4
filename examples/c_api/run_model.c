/* Loads a compiled program and runs one of its functions on zeros.
 *
 *   cc run_model.c -I ../../relay/vm/machine -L ../../build/lib -lrelay_runtime -o run_model
 *   ./run_model model.rlx main
 */
#include <inttypes.h>
#include <relay_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, relay_last_error());
  return 1;
}

/* A tensor of zeros that fits an input; unknown extents are 1. */
static RelayValue* zeros(const RelayProgram* program, size_t entry, size_t input) {
  RelayTensor type;
  int64_t extents[MAX_RANK];
  if (relay_entry_input_tensor(program, entry, input, &type, extents, MAX_RANK) != RELAY_OK) {
    return NULL;
  }
  size_t bytes = type.bits < 8 ? 1 : type.bits / 8;
  for (int32_t i = 0; i < type.rank; ++i) {
    if (extents[i] < 0) extents[i] = 1;
    bytes *= (size_t)extents[i];
  }
  type.data = calloc(bytes > 0 ? bytes : 1, 1);
  if (type.data == NULL) return NULL;
  type.shape = extents;
  RelayValue* value = relay_tensor_copy(&type);
  free(type.data);
  return value;
}

static void print_tensor(const RelayTensor* tensor) {
  static const char* const kFamilies[] = {"int", "uint", "float", "", "bfloat", "", "bool"};
  printf("%s", kFamilies[tensor->code]);
  if (tensor->code != RELAY_BOOL) printf("%u", (unsigned)tensor->bits);
  printf(" (");
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; ++i) {
    printf(i > 0 ? ", %" PRId64 : "%" PRId64, tensor->shape[i]);
    count *= tensor->shape[i];
  }
  printf("):");
  if (tensor->code == RELAY_FLOAT && tensor->bits == 32) {
    const float* elements = tensor->data;
    for (int64_t i = 0; i < count && i < 8; ++i) printf(" %g", elements[i]);
    if (count > 8) printf(" ...");
  }
  printf("\n");
}

static void print_value(const RelayValue* value, int indent) {
  printf("%*s", indent, "");
  RelayTensor tensor;
  if (relay_value_tensor(value, &tensor) == RELAY_OK) {
    print_tensor(&tensor);
    return;
  }
  const char* constructor = relay_value_constructor(value);
  size_t fields = relay_value_num_fields(value);
  printf("%s with %zu fields\n", constructor != NULL ? constructor : "a tuple", fields);
  for (size_t i = 0; i < fields; ++i) {
    RelayValue* field = relay_value_field(value, i);
    if (field == NULL) return;
    print_value(field, indent + 2);
    relay_value_free(field);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s MODEL.rlx [FUNCTION]\n", argv[0]);
    return 2;
  }
  RelayProgram* program = NULL;
  if (relay_program_load(argv[1], &program) != RELAY_OK) return fail("cannot load");
  int64_t entry = relay_program_find(program, argc > 2 ? argv[2] : "main");
  if (entry < 0) {
    fprintf(stderr, "there is no such function\n");
    return 1;
  }
  size_t count = relay_entry_num_inputs(program, (size_t)entry);
  printf("%s(", relay_entry_name(program, (size_t)entry));
  for (size_t i = 0; i < count; ++i) {
    printf("%s%%%s: %s", i > 0 ? ", " : "", relay_entry_input_name(program, (size_t)entry, i),
           relay_entry_input_type(program, (size_t)entry, i));
  }
  printf(") -> %s\n", relay_entry_result_type(program, (size_t)entry));

  RelayMachine* machine = NULL;
  if (relay_machine_new(program, 0, &machine) != RELAY_OK) return fail("cannot run");
  RelayValue** inputs = calloc(count > 0 ? count : 1, sizeof *inputs);
  for (size_t i = 0; i < count; ++i) {
    inputs[i] = zeros(program, (size_t)entry, i);
    if (inputs[i] == NULL) return fail("no input");
  }
  RelayValue* result = NULL;
  if (relay_run(machine, (size_t)entry, inputs, count, &result) != RELAY_OK) return fail("failed");
  print_value(result, 0);

  relay_value_free(result);
  for (size_t i = 0; i < count; ++i) relay_value_free(inputs[i]);
  free(inputs);
  relay_machine_free(machine);
  relay_program_free(program);
  return 0;
}

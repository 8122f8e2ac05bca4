/* The C interface, from C. */
#include <pthread.h>
#include <relay_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: %s\nlast error: %s\n", __FILE__, __LINE__, #condition, \
              relay_last_error());                                                   \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)

static int released = 0;
static void release(void* context) { released += *(int*)context; }

static RelayValue* int32_value(int32_t number) {
  RelayTensor tensor = {&number, 0, RELAY_INT, 32, NULL, NULL};
  return relay_tensor_copy(&tensor);
}

static void* interrupt_soon(void* machine) {
  usleep(50000);
  relay_machine_interrupt((RelayMachine*)machine);
  return NULL;
}

static void check_no_compiler(void) {
  char line[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return;
  while (fgets(line, sizeof line, maps) != NULL) {
    CHECK(strstr(line, "LLVM") == NULL);
    CHECK(strstr(line, "dnnl") == NULL);
  }
  fclose(maps);
}

/* As dlpack.h has them. */
struct Tensor {
  void* data;
  int32_t device[2];
  int32_t ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  struct Tensor tensor;
  void* context;
  void (*deleter)(struct DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags;
  struct Tensor tensor;
};

static float first_element(const RelayValue* value) {
  RelayTensor tensor;
  CHECK(relay_value_tensor(value, &tensor) == RELAY_OK);
  return ((float*)tensor.data)[0];
}

/* Writes to all that a value gives; whether the value has changed. */
static int write_to_exports(const RelayValue* value) {
  float before = first_element(value);
  int writable = relay_value_is_writable(value);
  struct DLManagedTensorVersioned* marked = relay_value_to_dlpack_versioned(value);
  CHECK(marked != NULL && marked->major == 1);
  CHECK((marked->flags & 1) == (writable ? 0 : 1));
  if ((marked->flags & 1) == 0) *(float*)marked->tensor.data += 1;
  marked->deleter(marked);
  struct DLManagedTensor* exported = relay_value_to_dlpack(value);
  CHECK(exported != NULL);
  *(float*)exported->tensor.data += 1;
  exported->deleter(exported);
  return first_element(value) != before;
}

/* What a program goes on to use cannot be changed through its results. */
static void check_results_of_others(RelayMachine* machine) {
  RelayValue* table = NULL;
  CHECK(relay_run(machine, 3, NULL, 0, &table) == RELAY_OK);
  CHECK(!relay_value_is_writable(table) && !write_to_exports(table));
  relay_value_free(table);
  CHECK(relay_run(machine, 3, NULL, 0, &table) == RELAY_OK && first_element(table) == 1);
  RelayValue* both = NULL;
  CHECK(relay_run(machine, 4, &table, 1, &both) == RELAY_OK);
  for (size_t i = 0; i < 3; ++i) {
    RelayValue* field = relay_value_field(both, i);
    CHECK(!write_to_exports(field)); /* the tuple has it, too */
    relay_value_free(field);
  }
  RelayValue *same = relay_value_field(both, 0), *fresh = relay_value_field(both, 1);
  relay_value_free(both);
  CHECK(!relay_value_is_writable(same) && !write_to_exports(same));
  CHECK(relay_value_is_writable(fresh) && write_to_exports(fresh));
  relay_value_free(same);
  relay_value_free(fresh);
  /* A result of its own is neither copied nor marked. */
  RelayValue* copy = NULL;
  CHECK(relay_run(machine, 5, &table, 1, &copy) == RELAY_OK);
  CHECK(relay_value_is_writable(copy) && write_to_exports(copy));
  CHECK(first_element(table) == 1);
  struct DLManagedTensorVersioned* marked = relay_value_to_dlpack_versioned(table);
  RelayValue* imported = relay_tensor_from_dlpack_versioned(marked);
  CHECK(imported != NULL && first_element(imported) == 1 && !write_to_exports(imported));
  relay_value_free(imported);
  relay_value_free(copy);
  relay_value_free(table);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  RelayProgram* program = NULL;
  CHECK(relay_program_load("/nonexistent.rlx", &program) == RELAY_ERROR);
  CHECK(strstr(relay_last_error(), "/nonexistent.rlx") != NULL);
  CHECK(relay_program_load(argv[0], &program) == RELAY_ERROR);
  CHECK(relay_program_load_bytes("abc", 3, &program) == RELAY_ERROR);
  CHECK(relay_program_load(argv[1], &program) == RELAY_OK);
  CHECK(relay_program_num_entries(program) == 6);
  CHECK(strcmp(relay_entry_name(program, 0), "main") == 0);
  CHECK(relay_entry_name(program, 6) == NULL);
  CHECK(relay_entry_num_inputs(program, 0) == 2);
  CHECK(strcmp(relay_entry_input_name(program, 0, 1), "scale") == 0);
  CHECK(strcmp(relay_entry_input_type(program, 0, 0), "Tensor[(?, 2), float32]") == 0);
  CHECK(relay_program_find(program, "divide") == 1 && relay_program_find(program, "x") == -1);
  RelayTensor type;
  int64_t extents[2];
  CHECK(relay_entry_input_tensor(program, 0, 0, &type, extents, 2) == RELAY_OK);
  CHECK(type.rank == 2 && type.code == RELAY_FLOAT && type.bits == 32);
  CHECK(extents[0] == -1 && extents[1] == 2);
  RelayDevice device = {0, 0};
  CHECK(relay_entry_input_device(program, 0, 0, &device) == RELAY_OK);
  CHECK(device.type == 1 && device.id == 0);
  CHECK(relay_entry_input_device(program, 0, 2, &device) == RELAY_ERROR);

  RelayMachine* machine = NULL;
  CHECK(relay_machine_new(program, 1, &machine) == RELAY_OK);
  relay_program_free(program); /* the machine keeps what it needs */

  /* Tensors in and out, shared. */
  float elements[6] = {1, 2, 3, 4, 5, 6};
  int64_t shape[2] = {3, 2};
  RelayTensor matrix = {elements, 2, RELAY_FLOAT, 32, shape, NULL};
  int one = 1;
  float half = 0.5f;
  RelayTensor number = {&half, 0, RELAY_FLOAT, 32, NULL, NULL};
  RelayValue* inputs[2] = {relay_tensor_share(&matrix, release, &one), relay_tensor_copy(&number)};
  CHECK(inputs[0] != NULL && inputs[1] != NULL);
  RelayValue* result = NULL;
  /* Not where the program wants it. */
  RelayDevice second = {1, 1}, none = {99, 0};
  RelayValue* elsewhere[2] = {relay_tensor_on(inputs[0], second), inputs[1]};
  CHECK(elsewhere[0] != NULL);
  CHECK(relay_value_device(elsewhere[0], &device) == RELAY_OK);
  CHECK(device.type == 1 && device.id == 1);
  CHECK(relay_run(machine, 0, elsewhere, 2, &result) == RELAY_ERROR);
  CHECK(strstr(relay_last_error(), "a tensor is on cpu(1), and the program wants it on cpu(0)"));
  relay_value_free(elsewhere[0]);
  CHECK(relay_tensor_on(inputs[0], none) == NULL);
  CHECK(strstr(relay_last_error(), "there is no device of kind 99 and index 0") != NULL);
  CHECK(relay_run(machine, 0, inputs, 2, &result) == RELAY_OK);
  CHECK(relay_value_kind(result) == RELAY_TENSOR);
  RelayTensor out;
  CHECK(relay_value_tensor(result, &out) == RELAY_OK);
  CHECK(out.rank == 2 && out.shape[0] == 3 && ((float*)out.data)[5] == 6);
  struct DLManagedTensor* exported = relay_value_to_dlpack(result);
  CHECK(exported != NULL);
  RelayValue* imported = relay_tensor_from_dlpack(exported);
  CHECK(imported != NULL && relay_value_kind(imported) == RELAY_TENSOR);
  relay_value_free(imported);
  relay_value_free(result);
  CHECK(released == 0);
  CHECK(relay_run(machine, 0, inputs, 1, &result) == RELAY_ERROR);
  CHECK(relay_run(machine, 9, inputs, 2, &result) == RELAY_ERROR);
  RelayValue* swapped[2] = {inputs[1], inputs[0]};
  CHECK(relay_run(machine, 0, swapped, 2, &result) == RELAY_ERROR);
  CHECK(strstr(relay_last_error(), "expected Tensor[(?, 2), float32]") != NULL);
  relay_value_free(inputs[0]);
  relay_value_free(inputs[1]);
  CHECK(released == 1);
  RelayTensor wrong = {elements, 2, 9, 32, shape, NULL};
  CHECK(relay_tensor_copy(&wrong) == NULL);
  CHECK(relay_tensor_share(&wrong, release, &one) == NULL && released == 2);

  /* Data values, tuples, closures, failures. */
  RelayValue* numbers[2] = {int32_value(7), int32_value(2)};
  CHECK(relay_run(machine, 1, numbers, 2, &result) == RELAY_OK);
  CHECK(relay_value_kind(result) == RELAY_DATA);
  CHECK(strcmp(relay_value_constructor(result), "Pair") == 0);
  CHECK(relay_value_num_fields(result) == 2 && relay_value_field(result, 2) == NULL);
  RelayValue* quotient = relay_value_field(result, 0);
  CHECK(relay_value_tensor(quotient, &out) == RELAY_OK && *(int32_t*)out.data == 3);
  RelayValue* tuple = relay_value_field(result, 1);
  CHECK(relay_value_kind(tuple) == RELAY_TUPLE);
  RelayValue* closure = relay_value_field(tuple, 0);
  CHECK(relay_value_kind(closure) == RELAY_CLOSURE);
  RelayValue* sum = NULL;
  CHECK(relay_call(machine, closure, numbers, 1, &sum) == RELAY_OK);
  CHECK(relay_value_tensor(sum, &out) == RELAY_OK && *(int32_t*)out.data == 10);
  /* A closure takes what its type says, and nothing else. */
  RelayValue* other = NULL;
  CHECK(relay_call(machine, closure, &closure, 1, &other) == RELAY_ERROR);
  CHECK(strstr(relay_last_error(), "expected int32, found fn (int32) -> int32") != NULL);
  CHECK(relay_call(machine, closure, &tuple, 1, &other) == RELAY_ERROR);
  CHECK(relay_call(machine, closure, numbers, 2, &other) == RELAY_ERROR);
  CHECK(strstr(relay_last_error(), "takes 1 argument, found 2") != NULL);
  CHECK(relay_call(machine, quotient, numbers, 1, &other) == RELAY_ERROR && other == NULL);
  RelayValue* pair = relay_tuple(numbers, 2);
  CHECK(relay_value_num_fields(pair) == 2);
  relay_value_free(pair);
  relay_value_free(sum);
  relay_value_free(closure);
  relay_value_free(tuple);
  relay_value_free(quotient);
  relay_value_free(result);
  relay_value_free(numbers[1]);
  numbers[1] = int32_value(0);
  CHECK(relay_run(machine, 1, numbers, 2, &result) == RELAY_FAILED);
  CHECK(strcmp(relay_last_error(), "error: integer division by zero") == 0);
  relay_value_free(numbers[0]);
  relay_value_free(numbers[1]);

  check_results_of_others(machine);

  /* Interruption. */
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, interrupt_soon, machine) == 0);
  CHECK(relay_run(machine, 2, NULL, 0, &result) == RELAY_INTERRUPTED);
  pthread_join(thread, NULL);

  /* Deadlines: the machine stays usable, and a time that is over ends a run as it begins. */
  CHECK(relay_run_within(machine, 2, NULL, 0, 0.05, &result) == RELAY_TIMED_OUT);
  CHECK(strcmp(relay_last_error(), "the run did not end within 0.05 s") == 0);
  CHECK(relay_run_within(machine, 2, NULL, 0, -1, &result) == RELAY_TIMED_OUT);
  CHECK(relay_run_within(machine, 99, NULL, 0, 1, &result) == RELAY_ERROR);
  relay_machine_free(machine);
  check_no_compiler();
  puts("c_api_test: passed");
  return 0;
}

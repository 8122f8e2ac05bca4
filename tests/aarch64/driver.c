/* Runs compiled programs on made-up numbers and prints the results: driver THREADS FILE.rlx...
 *
 * The numbers depend on nothing but their place, so that two processors get the same ones: multiples of 1/8 in [-4, 4), integers
 * from 0 to 6, every third bool. */
#include <inttypes.h>
#include <relay_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 16, MAX_INPUTS = 16, OPEN_EXTENT = 5 };

static int complain(const char* what, const char* file) {
  printf("%s: %s: %s\n", file, what, relay_last_error());
  return 1;
}

static void put(char* to, const RelayTensor* type, size_t input, size_t i) {
  const uint32_t mixed = (uint32_t)(i * 2654435761u + input * 40503u) >> 7;
  const float number = (float)(int32_t)(mixed % 64) / 8 - 4;
  const double wide = number;
  const int64_t integer = mixed % 7;
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  const uint16_t upper = (uint16_t)(bits >> 16); /* such a number is a bfloat16 */
  const char truth = mixed % 3 == 0;
  const void* from = type->code == RELAY_BOOL     ? (const void*)&truth
                     : type->code == RELAY_BFLOAT ? (const void*)&upper
                     : type->code != RELAY_FLOAT  ? (const void*)&integer
                     : type->bits == 64           ? (const void*)&wide
                                                  : (const void*)&number;
  memcpy(to, from, type->bits < 8 ? 1 : type->bits / 8);
}

static RelayValue* made_up(const RelayProgram* program, size_t input) {
  RelayTensor type;
  int64_t extents[MAX_RANK];
  if (relay_entry_input_tensor(program, 0, input, &type, extents, MAX_RANK) != RELAY_OK) return NULL;
  const size_t width = type.bits < 8 ? 1 : type.bits / 8;
  size_t count = 1;
  for (int32_t i = 0; i < type.rank; ++i) {
    if (extents[i] < 0) extents[i] = OPEN_EXTENT;
    count *= (size_t)extents[i];
  }
  char* data = calloc(count + 1, width);
  if (data == NULL) return NULL;
  for (size_t i = 0; i < count; ++i) put(data + i * width, &type, input, i);
  type.data = data;
  type.shape = extents;
  RelayValue* value = relay_tensor_copy(&type);
  free(data);
  return value;
}

static void print_element(const RelayTensor* tensor, const char* at) {
  const size_t width = tensor->bits < 8 ? 1 : tensor->bits / 8;
  if (tensor->code == RELAY_FLOAT && width >= 4) {
    float single = 0;
    double number = 0;
    memcpy(width == 8 ? (void*)&number : (void*)&single, at, width);
    printf(" %.17g", width == 8 ? number : (double)single);
    return;
  }
  int64_t integer = 0;
  memcpy(&integer, at, width);
  printf(" %" PRId64, integer);
}

static void print_value(const RelayValue* value) {
  RelayTensor tensor;
  if (relay_value_tensor(value, &tensor) != RELAY_OK) {
    for (size_t i = 0; i < relay_value_num_fields(value); ++i) {
      RelayValue* field = relay_value_field(value, i);
      print_value(field);
      relay_value_free(field);
    }
    return;
  }
  size_t count = 1;
  printf(" %s%u", tensor.code == RELAY_FLOAT ? "float" : "bits", (unsigned)tensor.bits);
  for (int32_t i = 0; i < tensor.rank; ++i) count *= (size_t)tensor.shape[i];
  const size_t width = tensor.bits < 8 ? 1 : tensor.bits / 8;
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i;
    int64_t offset = 0;
    for (int32_t d = tensor.rank; d-- > 0;) {
      const int64_t index = (int64_t)(rest % (size_t)tensor.shape[d]);
      rest /= (size_t)tensor.shape[d];
      int64_t stride = 1;
      for (int32_t k = d + 1; tensor.strides == NULL && k < tensor.rank; ++k) stride *= tensor.shape[k];
      offset += index * (tensor.strides != NULL ? tensor.strides[d] : stride);
    }
    print_element(&tensor, (const char*)tensor.data + offset * (int64_t)width);
  }
}

static int run(const char* file, int threads) {
  RelayProgram* program = NULL;
  RelayMachine* machine = NULL;
  RelayValue* inputs[MAX_INPUTS];
  RelayValue* result = NULL;
  if (relay_program_load(file, &program) != RELAY_OK) return complain("load", file);
  if (relay_machine_new(program, threads, &machine) != RELAY_OK) return complain("machine", file);
  const size_t count = relay_entry_num_inputs(program, 0);
  if (count > MAX_INPUTS) return complain("too many inputs", file);
  for (size_t i = 0; i < count; ++i) {
    inputs[i] = made_up(program, i);
    if (inputs[i] == NULL) return complain("input", file);
  }
  if (relay_run(machine, 0, inputs, count, &result) != RELAY_OK) return complain("run", file);
  const char* name = strrchr(file, '/');
  printf("%s:", name != NULL ? name + 1 : file);
  print_value(result);
  printf("\n");
  relay_value_free(result);
  for (size_t i = 0; i < count; ++i) relay_value_free(inputs[i]);
  relay_machine_free(machine);
  relay_program_free(program);
  return 0;
}

int main(int argc, char** argv) {
  int failed = argc < 3;
  for (int i = 2; i < argc; ++i) failed |= run(argv[i], atoi(argv[1]));
  return failed;
}

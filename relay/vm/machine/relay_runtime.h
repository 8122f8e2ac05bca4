/* The C interface of librelay_runtime: loads compiled programs (.rlx) and runs them. It needs only
 * this header and the library.
 *
 * Functions that can fail return a RelayStatus, or null; `relay_last_error` then gives the reason.
 * Threads may share a program. A machine, and a value that no machine is using, is for one thread
 * at a time. You free each program, machine or value that you get. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RELAY_API __attribute__((visibility("default")))
#else
#define RELAY_API
#endif

typedef struct RelayProgram RelayProgram;
typedef struct RelayMachine RelayMachine;
typedef struct RelayValue RelayValue;
struct DLManagedTensor; /* of dlpack.h */
struct DLManagedTensorVersioned;

typedef enum RelayStatus {
  RELAY_OK = 0,
  RELAY_ERROR = 1,       /* wrong arguments, files or types; lack of memory */
  RELAY_FAILED = 2,      /* the program itself failed while it ran */
  RELAY_INTERRUPTED = 3, /* relay_machine_interrupt */
  RELAY_INTERNAL = 4,    /* a defect of the library */
  RELAY_TIMED_OUT = 5    /* relay_run_within */
} RelayStatus;

typedef enum RelayKind {
  RELAY_TENSOR = 0, /* numbers too: rank 0 */
  RELAY_TUPLE = 1,
  RELAY_DATA = 2, /* a value of a data type: a constructor and its fields */
  RELAY_CLOSURE = 3,
  RELAY_REFERENCE = 4,
  RELAY_OTHER = 5
} RelayKind;

/* Families of element types, as in DLPack. */
typedef enum RelayTypeCode {
  RELAY_INT = 0,
  RELAY_UINT = 1,
  RELAY_FLOAT = 2,
  RELAY_BFLOAT = 4,
  RELAY_BOOL = 6 /* one byte, 0 or 1; bits is 8 or 1 */
} RelayTypeCode;

typedef struct RelayTensor {
  void* data; /* the element at index (0, ..., 0) */
  int32_t rank;
  uint8_t code;           /* RelayTypeCode */
  uint8_t bits;           /* of an element */
  const int64_t* shape;   /* rank extents */
  const int64_t* strides; /* in elements; null: row-major without gaps */
} RelayTensor;

/* The place of a tensor: kind and index as in DLPack; {1, 0} is the processor's own memory.
 * Programs that do not name devices use only that. */
typedef struct RelayDevice {
  int32_t type;
  int32_t id;
} RelayDevice;

/* "relay 0.1.0". */
RELAY_API const char* relay_runtime_version(void);

/* The error of the last failed call on this thread, as text with source lines. Valid until the next
 * failing call on this thread. */
RELAY_API const char* relay_last_error(void);

/* ---- Programs ---- */

RELAY_API RelayStatus relay_program_load(const char* path, RelayProgram** program);
RELAY_API RelayStatus relay_program_load_bytes(const void* bytes, size_t size,
                                               RelayProgram** program);
/* Machines and values keep the parts that they need. */
RELAY_API void relay_program_free(RelayProgram* program);

/* The functions that you can call, and their signatures as text. Null (0) for an index that does
 * not exist. */
RELAY_API size_t relay_program_num_entries(const RelayProgram* program);
RELAY_API const char* relay_entry_name(const RelayProgram* program, size_t entry);
RELAY_API size_t relay_entry_num_inputs(const RelayProgram* program, size_t entry);
RELAY_API const char* relay_entry_input_name(const RelayProgram* program, size_t entry,
                                             size_t input);
RELAY_API const char* relay_entry_input_type(const RelayProgram* program, size_t entry,
                                             size_t input);
RELAY_API const char* relay_entry_result_type(const RelayProgram* program, size_t entry);
/* The tensor type of an input: `type` gets rank, code and bits (data, shape and strides are null),
 * `extents` up to `capacity` extents, -1 for those that may be anything. RELAY_ERROR if it is not a
 * tensor. */
RELAY_API RelayStatus relay_entry_input_tensor(const RelayProgram* program, size_t entry,
                                               size_t input, RelayTensor* type, int64_t* extents,
                                               size_t capacity);
/* The device on which an input tensor must be, as DLPack numbers it. RELAY_ERROR if the input is
 * not a tensor. */
RELAY_API RelayStatus relay_entry_input_device(const RelayProgram* program, size_t entry,
                                               size_t input, RelayDevice* device);
/* The index of an entry, or -1. */
RELAY_API int64_t relay_program_find(const RelayProgram* program, const char* name);

/* ---- Values ---- */

/* Copies the elements. */
RELAY_API RelayValue* relay_tensor_copy(const RelayTensor* tensor);
/* A copy of a tensor value on a device; elements that are there already are not copied. A program
 * accepts inputs only on the devices that it wants. */
RELAY_API RelayValue* relay_tensor_on(const RelayValue* value, RelayDevice device);
/* Uses the elements in place, without a copy; `release(context)` runs when they are not needed any
 * more (also if this fails). `release` may be null. */
RELAY_API RelayValue* relay_tensor_share(const RelayTensor* tensor, void (*release)(void*),
                                         void* context);
/* Takes over a DLPack tensor, which stays on its device. */
RELAY_API RelayValue* relay_tensor_from_dlpack(struct DLManagedTensor* tensor);
RELAY_API RelayValue* relay_tensor_from_dlpack_versioned(struct DLManagedTensorVersioned* tensor);
/* The caller keeps the fields. */
RELAY_API RelayValue* relay_tuple(RelayValue* const* fields, size_t count);
RELAY_API void relay_value_free(RelayValue* value);

RELAY_API RelayKind relay_value_kind(const RelayValue* value);
/* A tensor's elements, valid as long as the value. Write to them only if
 * relay_value_is_writable. */
RELAY_API RelayStatus relay_value_tensor(const RelayValue* value, RelayTensor* tensor);
/* 1 if the value is a tensor whose elements nothing else uses. Constants of a program, its inputs,
 * and fields of a tuple that is not freed yet are used elsewhere, too. */
RELAY_API int relay_value_is_writable(const RelayValue* value);
/* The device of a tensor; numbers are on {1, 0}. */
RELAY_API RelayStatus relay_value_device(const RelayValue* value, RelayDevice* device);
/* A DLPack tensor for a receiver that may write to its elements, or null. It has those of the value
 * if they are writable, else a copy. */
RELAY_API struct DLManagedTensor* relay_value_to_dlpack(const RelayValue* value);
/* The same as a tensor of DLPack 1.0, which is a copy only for a value that is one number many
 * times: elements that are not writable are marked as read-only. */
RELAY_API struct DLManagedTensorVersioned* relay_value_to_dlpack_versioned(const RelayValue* value);
/* For tuples and data values. */
RELAY_API size_t relay_value_num_fields(const RelayValue* value);
RELAY_API RelayValue* relay_value_field(const RelayValue* value, size_t index);
/* The constructor of a data value, or null. */
RELAY_API const char* relay_value_constructor(const RelayValue* value);

/* ---- Running ---- */

/* `threads` workers, the caller among them; 0: as many as there are processors. */
RELAY_API RelayStatus relay_machine_new(const RelayProgram* program, int threads,
                                        RelayMachine** machine);
RELAY_API void relay_machine_free(RelayMachine* machine);
RELAY_API RelayStatus relay_run(RelayMachine* machine, size_t entry, RelayValue* const* inputs,
                                size_t count, RelayValue** result);
/* The same within `seconds`, else it ends with RELAY_TIMED_OUT. */
RELAY_API RelayStatus relay_run_within(RelayMachine* machine, size_t entry,
                                       RelayValue* const* inputs, size_t count, double seconds,
                                       RelayValue** result);
/* Calls a closure that is a result. */
RELAY_API RelayStatus relay_call(RelayMachine* machine, const RelayValue* closure,
                                 RelayValue* const* inputs, size_t count, RelayValue** result);
/* Ends the machine's run with RELAY_INTERRUPTED, from another thread or a signal handler. Runs that
 * begin later are not affected. */
RELAY_API void relay_machine_interrupt(RelayMachine* machine);

#ifdef __cplusplus
}
#endif

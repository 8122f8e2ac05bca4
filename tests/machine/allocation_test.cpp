// Steady runs allocate nothing: every way to the system's allocator is counted here. Kept out of
// the other tests' binary, whose allocations it would count too.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include <relay/runtime/library_kernel.h>
#include <tests/unit/machine_testing.h>

namespace {
std::atomic<uint64_t> allocations{0};
}

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  ++allocations;
  return __libc_realloc(block, size);
}
void* memalign(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  ++allocations;
  *block = __libc_memalign(alignment, size);
  return *block == nullptr ? 12 : 0;
}
}

namespace relay::vm {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

int32_t double_kernel(const KernelArgs* args) {
  auto* in = static_cast<const float*>(args->buffers[0]);
  auto* out = static_cast<float*>(args->buffers[1]);
  return for_pieces(args, args->dims[0], [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = 2 * in[i];
    return 0;
  });
}

void copy_kernel(LibraryCall& call) { call.outputs[0].assign(call.inputs[0]); }
[[maybe_unused]] const bool registered =
    register_library_kernel("allocation_test.copy", copy_kernel, {1, 1, {}});

// Doubles twice, copies by a library kernel, keeps a tuple in a cell, and calls itself down to 0.
std::shared_ptr<Executable> program(bool dynamic) {
  auto e = std::make_shared<Executable>();
  uint32_t twice = kernel(*e, "double", double_kernel, true);
  Kernel library;
  library.name = "copy";
  library.library = "allocation_test.copy";
  e->kernels.push_back(library);
  GraphAssembler g("region");
  uint32_t n = dynamic ? g.extent(0, 0) : g.size(100000);
  uint32_t one = g.size(1);
  uint32_t x = g.input(kFloat32, {n});
  uint32_t a = g.place(kFloat32, {n});
  uint32_t b = g.place(kFloat32, {n});
  uint32_t c = g.place(kFloat32, {n});
  uint32_t view = g.place(kFloat32, {one, n}, c);
  g.launch(twice, {{x, false}, {a, true}}, {n});
  g.launch(twice, {{a, false}, {b, true}}, {n});
  g.launch(1, {{b, false}, {c, true}});
  g.g.outputs = {view, x};
  uint32_t graph = g.add_to(*e);
  uint32_t zero = constant(*e, Value::scalar(int32_t{0}));
  uint32_t down = constant(*e, Value::scalar(int32_t{1}));
  TypeCheck shapes;
  shapes.symbols = {"n"};
  shapes.terms = {
      {DimCode::kSymbol, 0, 0, 0}, {DimCode::kConst, 0, 0, 1}, {DimCode::kMul, 0, 1, 0}};
  TypeInfo named;
  named.kind = TypeInfo::Kind::kTensor;
  named.dtype = kFloat32;
  named.dims = {{TypeInfo::Dim::Kind::kSymbol, 0, "n"}};
  TypeInfo term = named;
  term.dims = {{TypeInfo::Dim::Kind::kTerm, 2, "1 * n"}};
  shapes.parts = {{named, "", "", 0}, {term, "", "", 0}};
  e->checks.push_back(shapes);
  Assembler m("@main", 2, 8);  // tensor, count
  m.list(Op::kCheckShapes, kNone, 0, {0, 0});
  m.op(Op::kConst, 2, zero);
  m.binary(Binary::kEq, kInt32, 3, 1, 2);
  uint32_t branch = m.op(Op::kBranch, kNone, 3);
  m.list(Op::kRunGraph, kNone, graph, {0, 4, 5});
  m.list(Op::kTuple, 6, 0, {4, 5});
  m.op(Op::kRefCreate, 7, 6);
  m.op(Op::kRefRead, 6, 7);
  m.ret(6);
  m.patch_branch(branch);
  m.op(Op::kConst, 2, down);
  m.binary(Binary::kSub, kInt32, 3, 1, 2);
  m.list(Op::kCall, 4, 0, {0, 3});
  m.ret(4);
  entry(*e, "main", m.add_to(*e));
  shapes.parts[1].type = TypeInfo{};
  e->entries[0].params = shapes;
  return e;
}

void check(bool dynamic, int threads) {
  auto e = program(dynamic);
  MachineOptions options;
  options.threads = threads;
  Machine machine(e, options);
  const Entry& main = machine.entry("main");
  Value arguments[] = {Value(NDArray::empty({100000}, kFloat32)), Value::scalar(int32_t{1000})};
  Value result;
  for (int i = 1; i <= 2; ++i) result = machine.run(main, arguments);
  uint64_t before = allocations;
  for (int i = 3; i <= 100; ++i) result = machine.run(main, arguments);
  uint64_t after = allocations;
  EXPECT_GT(before, 0u);  // they are counted
  EXPECT_EQ(after - before, 0u);
  EXPECT_EQ(shape_text(result.field(0).shape()), "(1, 100000)");
}

TEST(MachineAllocation, StaticGraph) { check(false, 1); }
TEST(MachineAllocation, DynamicGraph) { check(true, 1); }
TEST(MachineAllocation, TwoWorkers) { check(true, 2); }

}  // namespace
}  // namespace relay::vm

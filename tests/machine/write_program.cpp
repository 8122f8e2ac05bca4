// Writes the executable that the test of the C interface loads.
#include <cstdio>

#include <relay/vm/machine/executable_file.h>
#include <tests/unit/machine_testing.h>

using namespace relay;               // NOLINT(google-build-using-namespace)
using namespace relay::vm;           // NOLINT(google-build-using-namespace)
using namespace relay::vm::testing;  // NOLINT(google-build-using-namespace)

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Executable e;
  e.constructors = {ConstructorInfo::intern("Pair", "Couple", 0, 2)};
  TypeInfo matrix;
  matrix.kind = TypeInfo::Kind::kTensor;
  matrix.dtype = kFloat32;
  matrix.dims = {{TypeInfo::Dim::Kind::kAny, 0, "?"}, {TypeInfo::Dim::Kind::kInt, 2, "2"}};
  TypeInfo number;
  number.kind = TypeInfo::Kind::kTensor;
  number.dtype = kFloat32;

  // main: gives the matrix back.
  Assembler m("@main", 2, 2);
  m.ret(0);
  entry(e, "main", m.add_to(e));
  e.entries[0].params.parts = {{matrix, "Tensor[(?, 2), float32]", "x", 0},
                               {number, "float32", "scale", 0}};
  e.entries[0].result = {matrix, "Tensor[(?, 2), float32]", "result", 0};

  // divide: integers, may fail. The entry gives Pair(quotient, (fn that adds the quotient,)).
  Assembler f("fn", 1, 3);
  f.f.num_captures = 1;
  f.op(Op::kCapture, 1, 0);
  f.binary(Binary::kAdd, kInt32, 2, 0, 1);
  f.ret(2);
  uint32_t inner = f.add_to(e);
  Assembler d("@divide", 2, 5);
  d.binary(Binary::kDiv, kInt32, 2, 0, 1);
  d.list(Op::kClosure, 3, inner, {2});
  d.list(Op::kTuple, 3, 0, {Assembler::last(3)});
  d.list(Op::kConstruct, 4, 0, {2, 3});
  d.ret(4);
  entry(e, "divide", d.add_to(e));
  TypeInfo integer = number, add, tuple;
  integer.dtype = kInt32;
  add.kind = TypeInfo::Kind::kFunction;
  add.fields = {integer, integer};
  tuple.kind = TypeInfo::Kind::kTuple;
  tuple.fields = {add};
  TypeInfo couple;
  couple.kind = TypeInfo::Kind::kData;
  couple.name = "Couple";
  couple.data = 0;
  e.entries.back().params.data = {{{{"Pair", {integer, tuple}}}, "Couple"}};
  e.entries.back().result = {couple, "Couple", "the result of @divide", 0, true};

  // spin: never ends.
  Assembler s("@spin", 0, 0);
  s.op(Op::kJump, kNone, 0);
  entry(e, "spin", s.add_to(e));

  // table: a constant; and a tuple of the argument, a copy of it and the constant.
  e.constants.push_back(Value(NDArray::from<float>({3}, {1, 2, 3})));
  Assembler t("@table", 0, 1);
  t.op(Op::kConst, 0, 0);
  t.ret(0);
  entry(e, "table", t.add_to(e));
  GraphAssembler g("copy");
  Kernel copy;
  copy.name = "device_copy";
  copy.implementation = "library";
  copy.library = "device_copy";
  e.kernels.push_back(copy);
  uint32_t n = g.extent(0, 0);
  uint32_t from = g.input(kFloat32, {n});
  uint32_t to = g.place(kFloat32, {n});
  g.launch(0, {{from, false}, {to, true}});
  g.g.outputs = {to};
  uint32_t graph = g.add_to(e);
  Assembler b("@both", 1, 4);
  b.list(Op::kRunGraph, kNone, graph, {0, 1});
  b.op(Op::kConst, 2, 0);
  b.list(Op::kTuple, 3, 0, {0, Assembler::last(1), 2});
  b.ret(3);
  entry(e, "both", b.add_to(e));
  Assembler c("@copy", 1, 2);
  c.list(Op::kRunGraph, kNone, graph, {0, 1});
  c.ret(1);
  entry(e, "copy", c.add_to(e));
  save_executable(e, argv[1]);
  std::printf("wrote %s\n", argv[1]);
}

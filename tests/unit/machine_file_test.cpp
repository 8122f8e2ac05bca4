// Executables in files: everything comes back, and nothing damaged is run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <relay/runtime/cpu_features.h>
#include <relay/runtime/memory.h>
#include <relay/support/error.h>
#include <relay/vm/machine/executable_codec.h>
#include <relay/vm/machine/executable_file.h>
#include <relay/vm/machine/positions.h>
#include <tests/unit/machine_testing.h>

namespace relay::vm::machine_file_test {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/relay_file_test_XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() {
    for (const std::string& file : files_) ::unlink(file.c_str());
    ::rmdir(path_.c_str());
  }
  std::string file(const std::string& name) {
    files_.push_back(path_ + "/" + name);
    return files_.back();
  }

 private:
  std::string path_;
  std::vector<std::string> files_;
};

Value i32(int32_t value) { return Value::scalar(value); }

// Something of everything but native code that runs: @main(n, t) counts n down, builds a list on
// the way, takes it apart, and returns (sum, t seen as a column, a constant).
std::shared_ptr<Executable> everything(bool with_blob) {
  auto e = std::make_shared<Executable>();
  auto source = SourceMap::add("file.rly", "fn (%n) { %n }\n");
  PositionTable positions(*e);
  uint32_t position = positions.add(source->span(10, 2));
  e->constructors = {ConstructorInfo::intern("Cons", "List", 0, 2),
                     ConstructorInfo::intern("Nil", "List", 1, 0)};
  e->messages = {"a message"};
  uint32_t zero = constant(*e, i32(0)), one = constant(*e, i32(1));
  uint32_t table = constant(*e, Value(NDArray::from<float>({3}, {1.5f, 2.5f, 3.5f})));
  constant(*e, Value(NDArray::empty({0, 2}, kInt8)));
  constant(*e, Value(NDArray::from<int64_t>({2}, {7, -7})));
  if (with_blob) {
    auto blob = std::make_shared<KernelBlob>();
    blob->bytes.assign(100, std::byte{0xc3});
    blob->entry = 16;
    e->blobs.push_back(blob);
    Kernel native;
    native.name = "native";
    native.implementation = "pointwise";
    native.source = "add(%a, %b)";
    native.blob = 0;
    native.writes = {0, 1};
    native.num_dims = 3;
    e->features = {"sse3", "lzcnt"};
    native.messages = {"index out of range"};
    native.parallel = true;
    e->kernels.push_back(native);
  }
  // down(n, list): n == 0 ? list : down(n - 1, Cons(n, list))
  Assembler d("@down", 2, 6);
  d.op(Op::kConst, 2, zero);
  d.binary(Binary::kEq, kInt32, 3, 0, 2);
  uint32_t branch = d.op(Op::kBranch, kNone, 3);
  d.ret(1);
  d.patch_branch(branch);
  d.op(Op::kConst, 2, one);
  d.binary(Binary::kSub, kInt32, 4, 0, 2);
  d.list(Op::kConstruct, 5, 0, {0, Assembler::last(1)});
  d.list(Op::kTailCall, kNone, 0, {4, Assembler::last(5)});
  uint32_t down = d.add_to(*e);
  // sum(list, f): folds by recursion; f is a closure that captures a number
  Assembler s("@sum", 2, 6);
  s.list(Op::kSwitch, kNone, 0, {1, 5});
  s.list(Op::kUnpack, kNone, 0, {2, 3});
  s.list(Op::kCall, 4, 1, {Assembler::last(3), 1});
  s.list(Op::kCallClosure, 5, 0, {1, 2, 4});
  s.ret(5);
  s.op(Op::kConst, 5, zero);
  s.ret(5);
  uint32_t sum = s.add_to(*e);
  Assembler f("fn", 2, 4);
  f.f.num_captures = 1;
  f.op(Op::kCapture, 2, 0);
  f.binary(Binary::kAdd, kInt32, 3, 0, 1);
  f.binary(Binary::kAdd, kInt32, 3, 3, 2);
  f.ret(3);
  uint32_t inner = f.add_to(*e);
  GraphAssembler g("region");
  uint32_t n = g.extent(0, 0), unit = g.size(1), three = g.size(3);
  uint32_t x = g.input(kFloat32, {n});
  uint32_t view = g.place(kFloat32, {n, unit}, x);
  g.g.places[view].offset = g.size(0);
  uint32_t c = g.place(kFloat32, {three});
  g.g.places[c].constant = table;
  g.g.checks.push_back({n, three, "n must be 3", position});
  g.g.outputs = {view, c};
  uint32_t graph = g.add_to(*e);
  TypeCheck check;
  check.symbols = {"n"};
  check.terms = {{DimCode::kSymbol, 0, 0, 0}, {DimCode::kConst, 0, 0, 0}, {DimCode::kAdd, 0, 1, 0}};
  TypeInfo tensor;
  tensor.kind = TypeInfo::Kind::kTensor;
  tensor.dtype = kFloat32;
  tensor.dims = {{TypeInfo::Dim::Kind::kTerm, 2, "n + 0"}};
  TypeInfo named = tensor;
  named.dims = {{TypeInfo::Dim::Kind::kSymbol, 0, "n"}};
  check.closed = true;
  check.parts = {{tensor, "Tensor[(n + 0), float32]", "%t of @main", position},
                 {named, "Tensor[(n), float32]", "%t of @main", position}};
  e->checks.push_back(check);
  // A list of numbers, and a cell with something and such a list.
  TypeInfo element, list, cell, pair;
  element.kind = TypeInfo::Kind::kTensor;
  list.kind = TypeInfo::Kind::kData;
  list.name = "List";
  list.data = 0;
  pair.kind = TypeInfo::Kind::kTuple;
  pair.fields = {TypeInfo{}, list, tensor};
  cell.kind = TypeInfo::Kind::kReference;
  cell.fields = {pair};
  check.parts = {{list, "List[int32]", "%l of @main", position, true},
                 {cell, "ref((_, List[int32], _))", "%r of @main", position, true}};
  check.data = {DataInfo{{{"Cons", {element, list}}, {"Nil", {}}}, "List"}};
  e->checks.push_back(check);
  Assembler m("@main", 2, 10);
  m.list(Op::kCheckShapes, kNone, 0, {1, 1});
  m.list(Op::kConstruct, 2, 1, {});
  m.list(Op::kCall, 2, down, {0, Assembler::last(2)});
  m.list(Op::kTuple, 7, 0, {0, 2, 1});
  m.op(Op::kRefCreate, 8, 7);
  m.list(Op::kCheckShapes, kNone, 1, {2, 8});
  m.list(Op::kClosure, 3, inner, {0});
  m.list(Op::kCall, 4, sum, {Assembler::last(2), Assembler::last(3)});
  m.list(Op::kRunGraph, kNone, graph, {1, 5, 6});
  m.list(Op::kTuple, 7, 0, {4, Assembler::last(5), Assembler::last(6)});
  m.op(Op::kRefCreate, 8, 7);
  m.op(Op::kRefRead, 9, 8);
  m.ret(9);
  m.f.positions.assign(m.f.code.size(), position);
  entry(*e, "main", m.add_to(*e));
  TypeInfo number;
  number.kind = TypeInfo::Kind::kTensor;
  number.dtype = kInt32;
  e->entries[0].params.parts[0] = {number, "int32", "n", 0};
  tensor.dims = {{TypeInfo::Dim::Kind::kAny, 0, "?"}};
  e->entries[0].params.parts[1] = {tensor, "Tensor[(?), float32]", "t", 0};
  TypeInfo result;
  result.kind = TypeInfo::Kind::kTuple;
  result.fields = {number, TypeInfo{}, TypeInfo{}};
  e->entries[0].result = {result, "(int32, _, _)", "result", 0};
  return e;
}

Value run_main(const std::shared_ptr<Executable>& e, int32_t n) {
  return run(e, "main", {i32(n), Value(NDArray::from<float>({3}, {1, 2, 3}))});
}

TEST(MachineFile, RoundTrip) {
  Folder folder;
  std::string path = folder.file("a.rlx");
  for (bool with_blob : {false, true}) {
    auto e = everything(with_blob);
    save_executable(*e, path);
    auto back = load_executable(path);
    EXPECT_EQ(disassemble(*back), disassemble(*e));
    EXPECT_EQ(executable_bytes(*back), executable_bytes(*e));
    ASSERT_EQ(back->constants.size(), e->constants.size());
    for (size_t i = 0; i < e->constants.size(); ++i) {
      EXPECT_TRUE(bit_equal(back->constants[i], e->constants[i]));
    }
    EXPECT_EQ(back->lines, e->lines);
    if (with_blob) {
      EXPECT_EQ(back->blobs[0]->bytes, e->blobs[0]->bytes);
      EXPECT_EQ(back->blobs[0]->entry, 16u);
      EXPECT_EQ(back->kernels[0].messages, e->kernels[0].messages);
      EXPECT_EQ(back->kernels[0].writes, e->kernels[0].writes);
      EXPECT_EQ(back->kernels[0].num_dims, 3u);
      EXPECT_EQ(back->features, e->features);
      continue;
    }
    Value result = run_main(back, 10);
    EXPECT_TRUE(bit_equal(result, run_main(e, 10)));
    EXPECT_EQ(result.field(0).as<int32_t>(), 155);
  }
}

TEST(MachineFile, LargeConstantsStayInTheFile) {
  Folder folder;
  std::string path = folder.file("a.rlx");
  std::vector<float> many(1 << 20);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
  Value constant_value;
  {
    auto e = everything(false);
    e->constants.emplace_back(NDArray::empty({1 << 20}, kFloat32));
    NDArray array = e->constants.back().array();
    std::copy(many.begin(), many.end(), array.data<float>());
    save_executable(*e, path);
    ASSERT_EQ(::chmod(path.c_str(), 0444), 0);  // nobody may write to it
    size_t before = memory_in_use();
    auto back = load_executable(path);
    EXPECT_LT(memory_in_use(), before + (size_t{1} << 20));
    constant_value = back->constants.back();
  }
  // The tensor outlives its executable and the file's name.
  save_executable(*everything(false), path);
  NDArray array = constant_value.array();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array.raw()) % 64, 0u);
  for (size_t i = 0; i < many.size(); ++i) ASSERT_EQ(array.data<float>()[i], many[i]);
}

// A file that somebody can write to may be cut short or rewritten in place under a program that
// runs: by a copy over it, or a full disk.
TEST(MachineFile, WhatHappensToALoadedFileChangesNothing) {
  Folder folder;
  std::string path = folder.file("a.rlx");
  auto e = std::make_shared<Executable>();
  NDArray many = NDArray::empty({1 << 20}, kFloat32);
  for (int64_t i = 0; i < many.size(); ++i) many.data<float>()[i] = static_cast<float>(i);
  constant(*e, Value(many));
  Assembler m("@main", 0, 1);
  m.op(Op::kConst, 0, 0);
  m.ret(0);
  entry(*e, "main", m.add_to(*e));
  size_t before = memory_in_use();
  for (bool cut : {true, false}) {
    save_executable(*e, path);
    auto back = load_executable(path);
    EXPECT_GT(memory_in_use(), before + many.byte_size() / 2);  // it counts
    if (cut) {
      ASSERT_EQ(::truncate(path.c_str(), 100), 0);
    } else {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const std::string zeros(many.byte_size(), '\0');
      ASSERT_TRUE(file.write(zeros.data(), static_cast<std::streamsize>(zeros.size())).flush());
    }
    EXPECT_TRUE(bit_equal(run(back, "main", {}), Value(many)));
  }
  EXPECT_LT(memory_in_use(), before + many.byte_size() / 2);
}

std::string refusal(std::span<const std::byte> bytes) {
  try {
    load_executable(bytes, "a.rlx");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MachineFile, EveryTruncationIsRefused) {
  std::vector<std::byte> bytes = executable_bytes(*everything(true));
  ASSERT_EQ(refusal(bytes), "");
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_NE(refusal(std::span(bytes).first(size)), "") << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_NE(refusal(bytes), "");
}

TEST(MachineFile, EveryChangedByteIsRefused) {
  std::vector<std::byte> bytes = executable_bytes(*everything(true));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (std::byte flip : {std::byte{1}, std::byte{0x80}, std::byte{0xff}}) {
      bytes[i] ^= flip;
      ASSERT_NE(refusal(bytes), "") << i;
      bytes[i] ^= flip;
    }
  }
}

TEST(MachineFile, RandomBytesAreRefused) {
  std::mt19937_64 random(1);
  std::vector<std::byte> good = executable_bytes(*everything(true));
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes(random() % 2000);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    for (size_t k = 0; k < std::min(bytes.size(), random() % 200); ++k) bytes[k] = good[k];
    ASSERT_NE(refusal(bytes), "");
  }
}

// A file that passes the checksum because whoever changed it made a new one must still be safe:
// either it is refused or it runs (or fails) within the machine's memory.
TEST(MachineFile, ChangedStructureIsRefusedOrRunsSafely) {
  auto e = everything(false);
  ByteWriter writer;
  encode_executable(*e, writer);
  std::mt19937_64 random(7);
  std::vector<std::byte> data(64 * 3);
  auto tensor = [&](ShapeView shape, DType dtype, size_t) { return NDArray::zeros(shape, dtype); };
  int loaded = 0, ran = 0;
  // Endless loops end soon.
  std::atomic<bool> interrupt{false}, done{false};
  std::thread watch([&] {
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      interrupt = true;
    }
  });
  const char* wanted = std::getenv("RELAY_FUZZ_RUNS");
  int runs = wanted != nullptr ? std::atoi(wanted) : 20000;
  for (int i = 0; i < runs; ++i) {
    std::vector<std::byte> bytes = writer.bytes();
    size_t edits = 1 + random() % 3;
    for (size_t k = 0; k < edits; ++k) {
      size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<std::byte>(random());
          break;
        case 1:
          bytes[at] = static_cast<std::byte>(static_cast<uint8_t>(bytes[at]) + 1);
          break;
        case 2:
          bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        default:
          bytes[at] =
              static_cast<std::byte>(static_cast<uint8_t>(bytes[at]) ^ (1u << (random() % 8)));
      }
    }
    auto changed = std::make_shared<Executable>();
    try {
      ByteReader reader(bytes);
      decode_executable(reader, {}, std::span(data).first(128), tensor, *changed);
      verify(*changed);
    } catch (const Error&) {
      continue;
    }
    ++loaded;
    disassemble(*changed);
    try {
      MachineOptions options;
      options.stack_bytes = size_t{1} << 20;
      options.threads = 1;
      options.interrupt = &interrupt;
      Machine machine(changed, options);
      std::vector<Value> args{i32(3), Value(NDArray::from<float>({3}, {1, 2, 3}))};
      for (const Entry& each : changed->entries) {
        if (each.params.parts.size() != 2) continue;
        interrupt = false;
        machine.run(each, args);
        ++ran;
      }
    } catch (const Error&) {
    } catch (const InternalError&) {
    }
  }
  done = true;
  watch.join();
  EXPECT_GT(loaded, 100);
  EXPECT_GT(ran, 10);
}

TEST(MachineFile, UnwritablePlaces) {
  auto e = everything(false);
  EXPECT_THROW(save_executable(*e, "/nonexistent/folder/a.rlx"), Error);
  EXPECT_THROW(load_executable("/nonexistent/folder/a.rlx"), Error);
  EXPECT_THROW(load_executable("/tmp"), Error);
  // A kernel without code cannot be stored, and then no file appears.
  Folder folder;
  std::string path = folder.file("a.rlx");
  kernel(*e, "test", [](const KernelArgs*) { return 0; });
  EXPECT_THROW(save_executable(*e, path), Error);
  struct stat status;
  EXPECT_NE(::stat(path.c_str(), &status), 0);
}

TEST(MachineFile, FullDiskLeavesNothing) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP();
  EXPECT_THROW(save_executable(*everything(true), "/dev/full"), Error);
}

TEST(MachineFile, CodeForAnotherProcessor) {
  auto e = everything(true);
  e->target = "vax";
  auto back = load_executable(executable_bytes(*e), "a.rlx");
  EXPECT_THROW(Machine{back}, Error);
  back = load_executable(executable_bytes(*everything(true)), "a.rlx");
  back->kernel_abi += 1;
  EXPECT_THROW(Machine{back}, Error);
}

std::string start_error(const std::shared_ptr<Executable>& e) {
  try {
    Machine machine(e);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MachineFile, CodeThatUsesWhatTheProcessorLacks) {
  auto e = everything(true);
  e->target = "avx2";
  e->features = {"sse3", "lzcnt", "f16c", "instructions of tomorrow"};
  const std::string text =
      "the program was compiled for avx2, which this machine cannot run: it has no ";
  {
    const WithoutCpuFeatures masked("lzcnt,f16c");
    auto back = load_executable(executable_bytes(*e), "a.rlx");
    EXPECT_EQ(start_error(back), text + "lzcnt, f16c, instructions of tomorrow");
    // Without code there is nothing that could use them.
    e->blobs.clear();
    e->kernels.clear();
    EXPECT_EQ(start_error(e), "");
  }
}

// The operands that a launch gives a kernel are compared with what its code was generated for.
TEST(MachineFile, LaunchesGiveWhatNativeCodeTakes) {
  auto with_launch = [](std::vector<Launch::Argument> arguments, std::vector<uint32_t> dims) {
    auto e = everything(true);
    GraphAssembler g("launches");
    uint32_t n = g.extent(0, 0);
    uint32_t x = g.input(kFloat32, {n});
    uint32_t y = g.place(kFloat32, {n});
    g.g.outputs = {y};
    for (Launch::Argument& argument : arguments) argument.place = argument.place == 0 ? x : y;
    g.launch(0, std::move(arguments), std::move(dims));
    g.add_to(*e);
    return refusal(executable_bytes(*e));
  };
  EXPECT_EQ(with_launch({{0, false}, {1, true}}, {0, 0, 0}), "");
  const std::string text =
      "a.rlx cannot be loaded: the executable is damaged: graph 1 launches: kernel native is "
      "given ";
  const std::string tensors = text + "other tensors than its code reads and writes";
  EXPECT_EQ(with_launch({{0, false}}, {0, 0, 0}), tensors);
  EXPECT_EQ(with_launch({{0, false}, {0, false}, {1, true}}, {0, 0, 0}), tensors);
  EXPECT_EQ(with_launch({{0, false}, {1, false}}, {0, 0, 0}), tensors);
  EXPECT_EQ(with_launch({{1, true}, {0, false}}, {0, 0, 0}), tensors);
  EXPECT_EQ(with_launch({{0, false}, {1, true}}, {0}), text + "1 sizes instead of 3");
}

}  // namespace
}  // namespace relay::vm::machine_file_test

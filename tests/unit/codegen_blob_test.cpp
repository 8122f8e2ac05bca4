// LLVM modules as position-independent blobs, mapped and called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <relay/codegen/codegen.h>
#include <relay/codegen/llvm/object.h>
#include <relay/runtime/cpu_features.h>
#include <relay/runtime/target_names.h>
#include <relay/support/error.h>
#include <relay/support/threads.h>

#include <atomic>
#include <cstring>

namespace relay::codegen::codegen_blob_test {
namespace {

const Target kBaseline{Target::Isa::kBaseline};
/// The plainest target of this machine.
const Target kPlain = Target::parse(kCpuArchitecture == kX86_64 ? "baseline" : "aarch64");

int32_t call(const KernelBlob& blob, void* argument) {
  const KernelBlob* blobs[] = {&blob};
  const auto code = CodeMemory::map(blobs);
  return code->kernel(0)(static_cast<const KernelArgs*>(argument));
}

std::string message_of(const std::string& ir) {
  try {
    blob_of_ir(ir, "kernel", kPlain);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "no error";
}

TEST(CodegenBlob, ConstantsAndLocalFunctionsAreInside) {
  const std::string ir = R"(
    @table = constant [4 x i32] [i32 11, i32 22, i32 33, i32 44]
    define i32 @twice(i32 %x) noinline { %r = mul i32 %x, 2  ret i32 %r }
    define i32 @kernel(ptr %p) {
      %i = load i64, ptr %p
      %at = getelementptr [4 x i32], ptr @table, i64 0, i64 %i
      %x = load i32, ptr %at
      %d = load double, ptr %p
      %y = call i32 @twice(i32 %x)
      ret i32 %y
    })";
  for (std::string_view name : kTargetNames) {
    const Target target = Target::parse(name);
    if (!target.runs_here()) continue;
    const KernelBlob blob = blob_of_ir(ir, "kernel", target);
    EXPECT_LT(blob.entry, blob.bytes.size());
    for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(call(blob, &i), 22 * (i + 1));
  }
}

TEST(CodegenBlob, ManyBlobsInOneMapping) {
  std::vector<KernelBlob> blobs;
  for (int i = 0; i < 20; ++i) {
    blobs.push_back(blob_of_ir("define i32 @kernel(ptr %p) { ret i32 " + std::to_string(i) + " }",
                               "kernel", kPlain));
  }
  std::vector<const KernelBlob*> pointers;
  for (const KernelBlob& blob : blobs) pointers.push_back(&blob);
  const auto code = CodeMemory::map(pointers);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(code->kernel(static_cast<size_t>(i))(nullptr), i);
}

TEST(CodegenBlob, SwitchesNeedNoAddresses) {
  std::string ir =
      "define i32 @kernel(ptr %p) {\n%x = load i64, ptr %p\nswitch i64 %x, label %d [\n";
  std::string cases;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    ir += "i64 " + n + ", label %c" + n + "\n";
    cases += "c" + n + ":\n%v" + n + " = load volatile i64, ptr %p\nret i32 " +
             std::to_string(i * i * 7 % 31) + "\n";
  }
  ir += "]\n" + cases + "d:\nret i32 -1\n}";
  const KernelBlob blob = blob_of_ir(ir, "kernel", kPlain);
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(call(blob, &i), i * i * 7 % 31);
}

TEST(CodegenBlob, MemoryFunctionsAreItsOwn) {
  const KernelBlob blob = blob_of_ir(R"(
    declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
    declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
    define i32 @kernel(ptr %p) {
      %n = load i64, ptr %p
      %a = getelementptr i8, ptr %p, i64 8
      %b = getelementptr i8, ptr %p, i64 1008
      %c = getelementptr i8, ptr %p, i64 2008
      call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 %n, i1 false)
      call void @llvm.memset.p0.i64(ptr %c, i8 7, i64 %n, i1 false)
      ret i32 0
    })",
                                     "kernel", kPlain);
  std::vector<unsigned char> memory(3008);
  const int64_t size = 777;
  std::memcpy(memory.data(), &size, 8);
  for (size_t i = 0; i < 1000; ++i) memory[8 + i] = static_cast<unsigned char>(i);
  EXPECT_EQ(call(blob, memory.data()), 0);
  for (size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(memory[1008 + i], i < 777 ? i % 256 : 0);
    EXPECT_EQ(memory[2008 + i], i < 777 ? 7 : 0);
  }
}

TEST(CodegenBlob, FaultsAreNamed) {
  EXPECT_THAT(message_of("declare float @sinf(float)\n"
                         "define i32 @kernel(ptr %p) { %x = load float, ptr %p\n"
                         "%y = call float @sinf(float %x)\nstore float %y, ptr %p\nret i32 0 }"),
              ::testing::HasSubstr("'sinf'"));
  EXPECT_THAT(message_of("define i32 @kernel(ptr %p) { %x = load float, ptr %p\n"
                         "%y = frem float %x, 3.0\nstore float %y, ptr %p\nret i32 0 }"),
              ::testing::HasSubstr("'fmodf'"));
  EXPECT_THAT(message_of("@state = global i32 0\n"
                         "define i32 @kernel(ptr %p) { %x = load i32, ptr @state\n"
                         "%y = add i32 %x, 1\nstore i32 %y, ptr @state\nret i32 %y }"),
              ::testing::HasSubstr("section"));
  EXPECT_THAT(message_of("@table = constant [2 x ptr] [ptr @a, ptr @b]\n"
                         "define i32 @a() { ret i32 1 }\ndefine i32 @b() { ret i32 2 }\n"
                         "define i32 @kernel(ptr %p) { %i = load i64, ptr %p\n"
                         "%q = getelementptr [2 x ptr], ptr @table, i64 0, i64 %i\n"
                         "%f = load ptr, ptr %q\n%r = call i32 %f()\nret i32 %r }"),
              ::testing::AnyOf(::testing::HasSubstr("position-independent"),
                               ::testing::HasSubstr("section")));
  EXPECT_THAT(message_of("define i32 @other(ptr %p) { ret i32 0 }"),
              ::testing::HasSubstr("'kernel'"));
  EXPECT_THAT(message_of("define i32 @kernel(ptr %p) { ret i64 0 }"), ::testing::HasSubstr("LLVM"));
}

// LLVM ends the process on what it takes for its own defects; here it must not.
TEST(CodegenBlob, FatalErrorsOfLlvmAreExceptions) {
  const std::string message = message_of(
      "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "define i32 @kernel(ptr %p) { %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "ret i32 %x }");
  EXPECT_THAT(message, ::testing::HasSubstr("LLVM"));
  EXPECT_EQ(message_of("define i32 @kernel(ptr %p) { ret i32 1 }"), "no error");
}

TEST(CodegenBlob, MalformedBlobsAreNotMapped) {
  KernelBlob blob = blob_of_ir("define i32 @kernel(ptr %p) { ret i32 1 }", "kernel", kPlain);
  const KernelBlob* blobs[] = {&blob};
  KernelBlob good = blob;
  blob.entry = static_cast<uint32_t>(blob.bytes.size());
  EXPECT_THROW(CodeMemory::map(blobs), Error);
  blob = good;
  for (uint32_t alignment : {0u, 3u, 8192u}) {
    blob.alignment = alignment;
    EXPECT_THROW(CodeMemory::map(blobs), Error);
  }
  EXPECT_NO_THROW(CodeMemory::map({}));
}

// An exception that went through LLVM's frames leaves its objects in the middle of something.
TEST(CodegenBlob, AThreadStartsAfreshAfterAFailure) {
  auto compile = [](const std::string& ir) { return blob_of_ir_here(ir, "kernel", kPlain).bytes; };
  const std::string good = "define i32 @kernel(ptr %p) { %x = load i32, ptr %p ret i32 %x }";
  // An instruction that the target has not, and a register that no processor has.
  const std::string bad[] = {R"(
    declare <4 x i32> @llvm.x86.avx2.psllv.d(<4 x i32>, <4 x i32>)
    define i32 @kernel(ptr %p) {
      %x = load <4 x i32>, ptr %p
      %y = call <4 x i32> @llvm.x86.avx2.psllv.d(<4 x i32> %x, <4 x i32> %x)
      store <4 x i32> %y, ptr %p
      ret i32 0
    })",
                             R"(
    define i32 @kernel(ptr %p) {
      call void asm sideeffect "", "{no such register}"(i32 1)
      ret i32 0
    })"};
  with_stack(1, 1, [&](size_t) {
    const std::vector<std::byte> bytes = compile(good);
    for (const std::string& each : bad) {
      const size_t made = compilers_made();
      EXPECT_EQ(compile(good), bytes);
      EXPECT_EQ(compilers_made(), made);
      EXPECT_THROW(compile(each), InternalError);
      EXPECT_EQ(compile(good), bytes);
      EXPECT_EQ(compilers_made(), made + 1);
    }
  });
}

TEST(CodegenTarget, NamesAndOrder) {
  for (std::string_view name : kTargetNames) EXPECT_EQ(Target::parse(name).name(), name);
  EXPECT_EQ(Target::parse("host").name(), Target::host().name());
  EXPECT_TRUE(Target::host().runs_here());
  EXPECT_EQ(kBaseline.runs_here(), kCpuArchitecture == kX86_64);
  EXPECT_EQ(Target::parse("aarch64").runs_here(), kCpuArchitecture == kAArch64);
  EXPECT_THROW(Target::parse("sse9"), Error);
  EXPECT_THROW(Target::parse(""), Error);
}

TEST(CodegenTarget, CodeOfAnotherArchitectureIsRefused) {
  const std::vector<std::string> arm = code_features(Target::parse("aarch64"));
  EXPECT_EQ(arm, std::vector<std::string>{"aarch64"});
  if (kCpuArchitecture == kX86_64) {
    EXPECT_EQ(missing_cpu_features(arm), arm);
  } else {
    EXPECT_TRUE(missing_cpu_features(arm).empty());
    EXPECT_EQ(missing_cpu_features(code_features(kBaseline)), std::vector<std::string>{"x86-64"});
  }
}

TEST(CodegenTarget, WhatCodeMayUseIsWhatIsAskedFor) {
  if (kCpuArchitecture != kX86_64) GTEST_SKIP();
  using ::testing::Contains;
  EXPECT_TRUE(code_features(kBaseline).empty());
  for (const char* name :
       {"avx2", "avx2-vnni", "avx512", "avx512-vnni", "avx512-bf16", "avx512-amx"}) {
    const Target target = Target::parse(name);
    const std::vector<std::string> all = code_features(target);
    // LLVM's closure, which the machine can be asked for.
    for (const std::string& feature : all) EXPECT_TRUE(is_cpu_feature(feature)) << feature;
    for (std::string_view feature : target.features()) EXPECT_THAT(all, Contains(feature));
    EXPECT_THAT(all, Contains("sse4.2"));
    EXPECT_EQ(target.runs_here(), missing_cpu_features(all).empty());
  }
}

TEST(CodegenTarget, EachInstructionCounts) {
  if (kCpuArchitecture != kX86_64) GTEST_SKIP();
  for (const char* name :
       {"avx512-amx", "avx512-bf16", "avx512-vnni", "avx512", "avx2-vnni", "avx2"}) {
    const Target target = Target::parse(name);
    if (!target.runs_here()) continue;
    for (std::string_view feature : target.features()) {
      const WithoutCpuFeatures masked(feature);
      EXPECT_FALSE(target.runs_here()) << feature;
      EXPECT_TRUE(Target::host().runs_here()) << feature;
      EXPECT_NE(Target::host().name(), target.name()) << feature;
    }
    EXPECT_TRUE(target.runs_here());
  }
  if (!Target::parse("avx2").runs_here()) GTEST_SKIP();
  // A feature that needs the registers of another goes with it; other names mean nothing.
  const WithoutCpuFeatures masked("x87,avx,");
  for (const char* gone : {"avx", "avx2", "fma", "f16c", "avx512f", "avx512vl", "evex512"})
    EXPECT_FALSE(cpu_has(gone)) << gone;
  EXPECT_TRUE(cpu_has("sse4.2") && cpu_has("lzcnt"));
  EXPECT_FALSE(cpu_has("x87"));
}

}  // namespace
}  // namespace relay::codegen::codegen_blob_test

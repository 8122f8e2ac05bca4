// The identity of kernels and the cache of compiled ones.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <relay/codegen/cache.h>
#include <relay/codegen/codegen.h>
#include <relay/codegen/dim_text.h>
#include <relay/codegen/kernel_key.h>
#include <relay/ir/type.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <tests/support/temporary_folder.h>
#include <tests/unit/kernel_testing.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

namespace relay::codegen::codegen_cache_test {
namespace {

using lower::Buffer;
using lower::For;
using lower::LoopKind;
using lower::Nest;
using lower::Stmt;
using lower::Store;
using te::Scalar;
using te::ScalarKind;
using te::ScalarNode;
using testing::TemporaryFolder;

Dim symbol(const char* name) {
  return Dim::symbol(TypeVar::make(Name(name), Kind::kShapeVar).get());
}

struct Options {
  double factor = 2;
  const char* symbol_name = "n";
  uint32_t axis = 0;
  LoopKind kind = LoopKind::kVector;
  std::string message = "negative";
  DType dtype = kFloat32;
};

/// out[i] = in[i] * factor for i < n, which must not be negative.
std::shared_ptr<lower::Kernel> scale_kernel(const Options& options) {
  const Dim n = symbol(options.symbol_name);
  Nest nest;
  nest.buffers = {Buffer{Buffer::Role::kInput, "in", options.dtype, {n}},
                  Buffer{Buffer::Role::kOutput, "out", options.dtype, {n}}};
  nest.num_axes = options.axis + 1;
  const Scalar index = te::index_of({options.axis, n});
  auto load = make_ref<ScalarNode>(ScalarKind::kLoad, options.dtype);
  load->tensor = {-1, 0};
  load->args.push_back(index.ref());
  For loop;
  loop.kind = options.kind;
  loop.axis = options.axis;
  loop.begin = te::index_constant(0).ref();
  loop.end = te::from_dim(n).ref();
  const Scalar value = Scalar(load) * te::constant(options.factor, options.dtype);
  loop.body.push_back(Stmt{Store{1, {index.ref()}, value.ref()}});
  nest.body.push_back(
      Stmt{lower::Check{(te::from_dim(n) >= te::index_constant(0)).ref(), options.message}});
  nest.body.push_back(Stmt{std::move(loop)});
  return testing::nest_kernel(std::move(nest), {n});
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void overwrite(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

TEST(CodegenKey, NamesDoNotCountContentDoes) {
  const std::string key = kernel_key(*scale_kernel({}));
  EXPECT_EQ(key, kernel_key(*scale_kernel({})));
  EXPECT_EQ(key, kernel_key(*scale_kernel({.symbol_name = "other", .axis = 5})));
  auto renamed = scale_kernel({});
  renamed->name = "something";
  EXPECT_EQ(key, kernel_key(*renamed));
  EXPECT_NE(key, kernel_key(*scale_kernel({.factor = 3})));
  EXPECT_NE(key, kernel_key(*scale_kernel({.factor = -0.0})));
  EXPECT_NE(kernel_key(*scale_kernel({.factor = 0.0})),
            kernel_key(*scale_kernel({.factor = -0.0})));
  EXPECT_NE(key, kernel_key(*scale_kernel({.kind = LoopKind::kSerial})));
  EXPECT_NE(key, kernel_key(*scale_kernel({.message = "less than nothing"})));
  EXPECT_NE(key, kernel_key(*scale_kernel({.dtype = kFloat64})));
}

TEST(CodegenKey, TermsSurviveTheirText) {
  const Dim a = symbol("a"), b = symbol("b");
  const std::vector<Dim> symbols = {a, b};
  const Dim x = symbol("x"), y = symbol("y");
  const std::vector<Dim> others = {y, x};  // another order of names
  auto terms = [](Dim p, Dim q) {
    return std::vector<Dim>{Dim(0),
                            Dim(-7),
                            p,
                            q + Dim(3) * p - Dim(5),
                            p * q + Dim(64),
                            floor_div(p + Dim(63), Dim(64)) * Dim(64),
                            ceil_div(q, p),
                            floor_mod(p * q, Dim(7)),
                            min(p, max(q, Dim(4))),
                            *broadcast(p, q)};
  };
  const auto first = terms(a, b);
  const auto second = terms(y, x);
  for (size_t i = 0; i < first.size(); ++i) {
    const std::string text = dim_to_text(first[i], symbols);
    EXPECT_EQ(text, dim_to_text(second[i], others));
    EXPECT_EQ(dim_from_text(text, symbols), first[i]) << text;
    EXPECT_EQ(dim_from_text(text, others), second[i]) << text;
  }
  for (const char* text :
       {"", "s", "s2", "s-1", "(", "(mul,s0", "(mul,s0,s1", "(div,s0,0)", "3 ", "3)", "(sum,1,2)",
        "(sum,1,2,s0", "(power,s0,s1)", "99999999999999999999",
        "(mul,1152921504606846975,1152921504606846975)"}) {
    EXPECT_EQ(dim_from_text(text, symbols), std::nullopt) << text;
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "(mul,s0,";
  EXPECT_EQ(dim_from_text(deep, symbols), std::nullopt);
}

CacheEntry sample_entry() {
  CacheEntry entry;
  for (int i = 0; i < 300; ++i) entry.blob.bytes.push_back(static_cast<std::byte>(i * 7));
  entry.blob.entry = 16;
  entry.messages = {"first", "", "third message"};
  entry.scratch_bytes = "(mul,64,s0)";
  entry.parallel = true;
  return entry;
}

TEST(CodegenCache, EntriesSurviveTheirBytes) {
  const CacheEntry entry = sample_entry();
  const auto bytes = encode_entry(entry, "key");
  const auto back = decode_entry(bytes, "key");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->blob.bytes, entry.blob.bytes);
  EXPECT_EQ(back->blob.entry, entry.blob.entry);
  EXPECT_EQ(back->blob.alignment, entry.blob.alignment);
  EXPECT_EQ(back->messages, entry.messages);
  EXPECT_EQ(back->scratch_bytes, entry.scratch_bytes);
  EXPECT_EQ(back->parallel, entry.parallel);
  EXPECT_FALSE(decode_entry(bytes, "other").has_value());
}

TEST(CodegenCache, DamagedBytesAreRefused) {
  const auto bytes = encode_entry(sample_entry(), "key");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_entry(std::span(bytes).first(size), "key").has_value()) << size;
  }
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    auto damaged = bytes;
    const size_t count = 1 + random() % 4;
    bool changed = false;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = random() % damaged.size();
      const auto bit = static_cast<std::byte>(1u << random() % 8);
      damaged[at] ^= bit;
    }
    changed = damaged != bytes;
    EXPECT_EQ(decode_entry(damaged, "key").has_value(), !changed);
  }
  // Random bytes, and lengths that lie, behind a right checksum do not matter: whoever can write
  // a checksum owns the folder. They must still not be read beyond their end.
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> noise(random() % 200);
    for (std::byte& b : noise) b = static_cast<std::byte>(random());
    EXPECT_FALSE(decode_entry(noise, "key").has_value());
  }
}

TEST(CodegenCache, KernelsComeBackFromDisk) {
  TemporaryFolder folder;
  CompileOptions options;
  options.cache = folder.path() / "made" / "on demand";
  std::vector<std::shared_ptr<const lower::Kernel>> kernels = {
      scale_kernel({}), scale_kernel({.factor = 3}), scale_kernel({.symbol_name = "m"})};
  const auto fresh = compile(kernels, Target::host(), options);
  EXPECT_EQ(fresh[0].blob, fresh[2].blob);  // equal content, compiled once
  const auto kept = options.cache / "kernels";
  struct stat info {};
  ASSERT_EQ(stat(kept.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(files_in(kept).size(), 2u);
  const auto again = compile(kernels, Target::host(), options);
  for (size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(again[i].blob->bytes, fresh[i].blob->bytes);
    EXPECT_EQ(again[i].messages, fresh[i].messages);
    EXPECT_EQ(again[i].scratch_bytes, fresh[i].scratch_bytes);
    EXPECT_EQ(again[i].parallel, fresh[i].parallel);
  }
  // Other targets do not find these.
  compile(kernels, Target::parse("baseline"), options);
  EXPECT_EQ(files_in(kept).size(), Target::host().isa == Target::Isa::kBaseline ? 2u : 4u);
}

TEST(CodegenCache, DamagedFilesAreRewritten) {
  TemporaryFolder folder;
  CompileOptions options;
  options.cache = folder.path();
  const std::vector<std::shared_ptr<const lower::Kernel>> kernels = {scale_kernel({})};
  const auto fresh = compile(kernels, Target::host(), options);
  const auto file = files_in(folder.path() / "kernels").at(0);
  const std::string good = contents(file);
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    std::string bad = good;
    if (round % 3 == 0) {
      bad.resize(random() % good.size());
    } else if (round % 3 == 1) {
      bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    } else {
      bad += static_cast<char>(random());
    }
    overwrite(file, bad);
    const auto result = compile(kernels, Target::host(), options);
    ASSERT_EQ(result[0].blob->bytes, fresh[0].blob->bytes);
    ASSERT_EQ(contents(file), good);
  }
  // A file that is not ours is left alone, or replaced where it has an entry's name.
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/etc/passwd", file);
  EXPECT_EQ(compile(kernels, Target::host(), options)[0].blob->bytes, fresh[0].blob->bytes);
  EXPECT_FALSE(std::filesystem::is_symlink(file));
  EXPECT_EQ(contents(file), good);
}

TEST(CodegenCache, UnusableFoldersAreIgnored) {
  const std::vector<std::shared_ptr<const lower::Kernel>> kernels = {scale_kernel({})};
  TemporaryFolder folder;
  const auto target = Target::host();
  // A file in the place of a folder; a folder that others may write to; one that cannot be made.
  overwrite(folder.path() / "file", "x");
  std::filesystem::create_directory(folder.path() / "open");
  chmod((folder.path() / "open").c_str(), 0777);
  std::filesystem::create_directories(folder.path() / "shown" / "kernels");
  chmod((folder.path() / "shown" / "kernels").c_str(), 0755);
  for (const auto& path : {folder.path() / "file", folder.path() / "open", folder.path() / "shown",
                           folder.path() / "file" / "below", std::filesystem::path("/proc/none")}) {
    EXPECT_FALSE(DiskCache(path).usable()) << path;
    CompileOptions options;
    options.cache = path;
    EXPECT_FALSE(compile(kernels, target, options)[0].blob->bytes.empty());
  }
  EXPECT_TRUE(files_in(folder.path() / "open").empty());
  EXPECT_FALSE(DiskCache({}).usable());
}

TEST(CodegenCache, FullDiskIsIgnored) {
  // A limit on the size of files stands for a full disk.
  const std::vector<std::shared_ptr<const lower::Kernel>> kernels = {scale_kernel({})};
  TemporaryFolder folder;
  EXPECT_EXIT(
      {
        signal(SIGXFSZ, SIG_IGN);
        rlimit limit;
        limit.rlim_cur = limit.rlim_max = 100;
        setrlimit(RLIMIT_FSIZE, &limit);
        CompileOptions options;
        options.cache = folder.path();
        const auto result = compile(kernels, Target::host(), options);
        const bool fine =
            !result[0].blob->bytes.empty() && files_in(folder.path() / "kernels").empty();
        _exit(fine ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(CodegenCache, SizeIsBounded) {
  TemporaryFolder folder;
  const CacheEntry entry = sample_entry();
  const uint64_t size = encode_entry(entry, "key 000").size();
  const DiskCache cache(folder.path(), size * 20);
  for (int i = 0; i < 30; ++i) {
    const std::string key = "key " + std::to_string(100 + i);
    cache.add(key, entry);
    const auto files = files_in(folder.path() / "kernels");
    // In order of age, a second apart.
    const timespec times[2] = {{1000000 + i, 0}, {1000000 + i, 0}};
    for (const auto& file : files) {
      if (std::filesystem::last_write_time(file).time_since_epoch() >
          std::filesystem::file_time_type::clock::now().time_since_epoch() -
              std::chrono::hours(1)) {
        utimensat(AT_FDCWD, file.c_str(), times, 0);
      }
    }
  }
  overwrite(folder.path() / "kernels" / "stranger", "not an entry");
  cache.trim();
  int kept = 0;
  for (int i = 0; i < 30; ++i) {
    const bool found = cache.find("key " + std::to_string(100 + i)).has_value();
    kept += found;
    EXPECT_TRUE(i >= 15 || !found) << i;
    EXPECT_TRUE(i < 15 || found) << i;
  }
  EXPECT_EQ(kept, 15);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "kernels" / "stranger"));
}

TEST(CodegenCache, ManyWritersAtOnce) {
  TemporaryFolder folder;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const DiskCache cache(folder.path(), 20000);
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 300; ++i) {
        const std::string key = "key " + std::to_string(random() % 40);
        CacheEntry entry = sample_entry();
        entry.messages = {key};
        if (const auto found = cache.find(key); found && found->messages[0] != key) ++wrong;
        cache.add(key, entry);
        if (i % 50 == 0) cache.trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CodegenCache, DefaultFolder) {
  const auto restore = [](const char* name) {
    const char* value = std::getenv(name);
    return std::make_pair(std::string(name),
                          value ? std::optional<std::string>(value) : std::nullopt);
  };
  const auto own = restore("RELAY_CACHE_DIR"), xdg = restore("XDG_CACHE_HOME"),
             home = restore("HOME");
  setenv("RELAY_CACHE_DIR", "/a/b", 1);
  setenv("XDG_CACHE_HOME", "/x", 1);
  setenv("HOME", "/h", 1);
  EXPECT_EQ(default_cache(), "/a/b");
  unsetenv("RELAY_CACHE_DIR");
  EXPECT_EQ(default_cache(), "/x/relay");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(default_cache(), "/h/.cache/relay");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(default_cache(), "");
  for (const auto& [name, value] : {own, xdg, home}) {
    if (value) {
      setenv(name.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }
}

}  // namespace
}  // namespace relay::codegen::codegen_cache_test

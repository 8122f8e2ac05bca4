#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <relay/runtime/memory.h>
#include <relay/runtime/npy.h>
#include <relay/runtime/npz.h>
#include <relay/runtime/params.h>
#include <relay/runtime/safetensors.h>
#include <relay/support/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include <tests/unit/test_paths.h>

namespace relay::runtime_files_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RuntimeFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("relay-files-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string data(const std::string& name) {
    return testing::source_dir() + "/tests/unit/data/runtime/" + name;
  }
  static std::string slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string spill(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  size_t files_in_folder() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

NDArray counting(Shape shape, DType dtype) {
  int64_t count = element_count(shape);
  NDArray array = NDArray::empty(Shape{count}, kInt64);
  for (int64_t i = 0; i < count; ++i) array.data<int64_t>()[i] = dtype.is_bool() ? i % 2 : i;
  return array.cast(dtype).reshape(shape);
}

NamedArrays samples() {
  NamedArrays arrays;
  for (DType t : kAllDTypes) arrays.emplace_back(std::string(t.name()), counting({2, 3}, t));
  arrays.emplace_back("scalar", NDArray::scalar(2.5f));
  arrays.emplace_back("empty", NDArray::empty({0, 3}, kFloat32));
  arrays.emplace_back("view.\xc3\xa9", counting({3, 4}, kFloat32).transpose());
  return arrays;
}

void expect_equal(const NamedArrays& a, const NamedArrays& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_TRUE(bit_equal(a[i].second, b[i].second)) << a[i].first;
  }
}

TEST_F(RuntimeFiles, RoundTrips) {
  for (const char* name : {"a.npz", "a.safetensors", "a.params"}) {
    save_params(path(name), samples());
    expect_equal(load_params(path(name)), samples());
    // The contents decide, not the name.
    fs::rename(path(name), path("other"));
    expect_equal(load_params(path("other")), samples());
    save_params(path(name), {});
    EXPECT_TRUE(load_params(path(name)).empty());
  }
  for (const auto& [name, array] : samples()) {
    write_npy(path("a.npy"), array);
    EXPECT_TRUE(bit_equal(read_npy(path("a.npy")), array)) << name;
  }
  EXPECT_THAT(error_of([&] { save_params(path("a.txt"), samples()); }),
              HasSubstr("should end in .npz, .safetensors or .params"));
  EXPECT_THAT(error_of([&] { load_params(path("a.npy")); }), HasSubstr("without a name"));
  for (const char* name : {"a.npz", "a.safetensors", "a.params"}) {
    NDArray one = NDArray::scalar(1);
    EXPECT_THAT(error_of([&] {
                  save_params(path(name), {{"x", one}, {"x", one}});
                }),
                HasSubstr("two "));
  }
  EXPECT_THAT(error_of([&] {
                save_params(path("a.safetensors"), {{"\xff", NDArray::scalar(1)}});
              }),
              HasSubstr("not UTF-8"));
}

TEST_F(RuntimeFiles, NumPyWroteThem) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    NpzReader npz(data(name));
    for (const std::string& array_name : npz.names()) {
      NDArray array = npz.read(array_name);
      EXPECT_TRUE(array.is_contiguous());
      EXPECT_TRUE(bit_equal(
          array, counting(Shape(array.shape().begin(), array.shape().end()), array.dtype())))
          << array_name;
    }
    EXPECT_EQ(npz.names().size(), 19u);
    EXPECT_EQ(npz.read("f2").dtype(), kFloat16);
    EXPECT_EQ(npz.read("bool").dtype(), kBool);
    EXPECT_EQ(npz.read("big_u2").dtype(), kUInt16);
    EXPECT_THAT(npz.read("fortran").shape(), ElementsAre(2, 3, 4));
    EXPECT_THAT(npz.read("empty").shape(), ElementsAre(0, 3));
    EXPECT_TRUE(npz.contains("vector"));
    EXPECT_FALSE(npz.contains("vector.npy"));
    std::string message = error_of([&] { npz.read("vektor"); });
    EXPECT_THAT(message, HasSubstr("there is no array 'vektor'"));
  }
  for (const char* name : {"version1.npy", "version2.npy", "version3.npy"})
    EXPECT_TRUE(bit_equal(read_npy(data(name)), counting({2, 3}, kFloat32)));
  EXPECT_THAT(error_of([&] { read_npy(data("structured.npy")); }), HasSubstr("structured"));
  EXPECT_THAT(error_of([&] { read_npy(data("complex.npy")); }), HasSubstr("'<c8' (complex"));
  EXPECT_THAT(error_of([&] { read_npy(data("text.npy")); }), HasSubstr("(text)"));
  EXPECT_THAT(error_of([&] { read_npy(data("objects.npy")); }), HasSubstr("(Python objects)"));
}

TEST_F(RuntimeFiles, PartsAreWrittenByThreads) {
  {
    OutputFile file(path("parts"));
    file.write("head", 4);
    file.extend(4 + 8 * 1000);
    EXPECT_EQ(file.written(), 8004u);
    std::vector<std::thread> threads;
    for (uint64_t part : {6, 1, 3, 4})
      threads.emplace_back([&file, part] {
        const std::string text(1000, static_cast<char>('a' + part));
        file.rewrite(4 + part * 1000, text.data(), text.size());
      });
    for (std::thread& thread : threads) thread.join();
    file.extend(8004);  // as long as it is
    file.write("tail", 4);
    file.commit();
  }
  std::string expected = "head";
  for (char part : {'\0', 'b', '\0', 'd', 'e', '\0', 'g', '\0'})
    expected += std::string(1000, part);
  EXPECT_EQ(slurp(path("parts")), expected + "tail");
}

TEST_F(RuntimeFiles, ExistingFilesAreReplacedOrKept) {
  std::string old = spill("a.npy", "old contents");
  fs::permissions(old, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(old, path("link.npy"));
  {
    OutputFile file(path("link.npy"));
    file.write("half", 4);
  }
  EXPECT_EQ(slurp(old), "old contents");
  EXPECT_EQ(files_in_folder(), 2u);
  write_npy(path("link.npy"), NDArray::scalar(1.0f));
  EXPECT_TRUE(fs::is_symlink(path("link.npy")));
  EXPECT_EQ(read_npy(old).item_as_double(), 1.0);
  EXPECT_EQ(fs::status(old).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(files_in_folder(), 2u);

  write_npy("/dev/null", NDArray::scalar(1.0f));
  EXPECT_THAT(error_of([&] { write_npy("/dev/full", NDArray::scalar(1.0f)); }),
              HasSubstr("No space left"));
  EXPECT_THAT(error_of([&] { write_npy(folder_.string(), NDArray::scalar(1.0f)); }),
              HasSubstr("it is a directory"));
  EXPECT_THAT(error_of([&] { write_npy(path("no/such/folder.npy"), NDArray::scalar(1.0f)); }),
              HasSubstr("No such file or directory"));
}

TEST_F(RuntimeFiles, Pipes) {
  write_npy(path("a.npy"), counting({100, 1000}, kFloat32));
  std::string bytes = slurp(path("a.npy"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path("pipe"), std::ios::binary) << bytes; });
  NDArray array = read_npy(path("pipe"));
  writer.join();
  EXPECT_TRUE(bit_equal(array, counting({100, 1000}, kFloat32)));
  EXPECT_THAT(error_of([&] { read_npy("/dev/zero"); }), HasSubstr("the device gives more than"));
}

TEST_F(RuntimeFiles, WhatCannotBeRead) {
  EXPECT_THAT(error_of([&] { load_params(path("absent.npz")); }),
              HasSubstr("absent.npz: No such file or directory"));
  EXPECT_THAT(error_of([&] { load_params(folder_.string()); }), HasSubstr("it is a directory"));
  for (const char* name : {"e.npz", "e.safetensors", "e.params", "e"})
    EXPECT_THAT(error_of([&] { load_params(spill(name, "")); }), HasSubstr("the file is empty"));
  EXPECT_THAT(error_of([&] { read_npy(spill("e.npy", "")); }), HasSubstr("the file is empty"));
  EXPECT_THAT(error_of([&] { load_params(spill("t", "just text, nothing else")); }),
              HasSubstr("not a .npz, .safetensors or .params file"));
  EXPECT_THAT(error_of([&] { NpzReader(spill("t", std::string(100000, 'x'))); }),
              HasSubstr("not a zip archive"));
}

// Every prefix of a file, and the file with random changes, either gives an error or arrays; and
// never asks for memory that the file cannot justify.
void abuse(const std::string& original, const std::string& path,
           const std::function<void()>& read) {
  size_t before = memory_in_use();
  auto attempt = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      read();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("memory limit")));
      EXPECT_THAT(error.what(), HasSubstr(path));
      return false;
    }
    return true;
  };
  set_memory_limit(before + (8 << 20));
  ASSERT_TRUE(attempt(original));
  for (size_t length = 0; length < original.size(); ++length)
    EXPECT_FALSE(attempt(original.substr(0, length))) << length;
  attempt(original + "x");
  std::mt19937 random(11);
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = original;
    int changes = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < changes; ++i) {
      size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 2:
          bytes[at] = random() % 2 == 0 ? '\xff' : '\0';
          break;
        case 3:
          bytes.erase(at, 1 + random() % 4);
          break;
      }
    }
    attempt(bytes);
  }
  set_memory_limit(0);
}

NamedArrays few() { return {{"a", counting({2, 2}, kFloat32)}, {"b", counting({3}, kBool)}}; }

TEST_F(RuntimeFiles, AbusedNpy) {
  write_npy(path("x"), counting({2, 3}, kInt16));
  abuse(slurp(path("x")), path("x"), [&] { read_npy(path("x")); });
}

TEST_F(RuntimeFiles, AbusedNpz) {
  write_npz(path("x"), few());
  abuse(slurp(path("x")), path("x"), [&] { NpzReader(path("x")).read_all(); });
}

TEST_F(RuntimeFiles, AbusedDeflatedNpz) {
  abuse(slurp(data("deflated.npz")), path("x"), [&] { NpzReader(path("x")).read_all(); });
}

TEST_F(RuntimeFiles, AbusedSafetensors) {
  write_safetensors(path("x"), few());
  abuse(slurp(path("x")), path("x"), [&] { read_safetensors(path("x")); });
}

TEST_F(RuntimeFiles, AbusedParams) {
  write_tvm_params(path("x"), few());
  abuse(slurp(path("x")), path("x"), [&] { read_tvm_params(path("x")); });
}

std::string npy_text(const std::string& header, const std::string& after = "") {
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  return text + header + after;
}

TEST_F(RuntimeFiles, LyingNpy) {
  auto error = [&](const std::string& header, const std::string& after = "") {
    return error_of([&] { read_npy(spill("x.npy", npy_text(header, after))); });
  };
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 1000000), }"),
              HasSubstr("the header promises 1000000000000000 elements of float32, but only 0"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
              HasSubstr("has too many elements"));
  EXPECT_THAT(error("{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}",
                    "12345678"),
              HasSubstr("promises"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"),
              HasSubstr("extent out of range"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
              HasSubstr("extent out of range"));
  EXPECT_THAT(error("{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }", "ab"),
              HasSubstr("1 bytes follow"));
  EXPECT_THAT(error("{'descr': '|i1', 'descr': '|i1', 'fortran_order': False, 'shape': ()}", "a"),
              HasSubstr("not that of a .npy"));
  EXPECT_THAT(error("{'fortran_order': False, 'shape': ()}", "a"), HasSubstr("not that of a .npy"));
  EXPECT_THAT(error("__import__('os')"), HasSubstr("not that of a .npy"));
  std::string many = "{'descr': '|i1', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 100; ++i) many += "1, ";
  EXPECT_THAT(error(many + ")}", "a"), HasSubstr("too many dimensions"));
  EXPECT_EQ(error("{\"shape\":(),'fortran_order':True,'descr':'|i1'}\n", "a"), "no error");
}

TEST_F(RuntimeFiles, LyingZip) {
  write_npz(path("x.npz"), {{"a", counting({1000}, kFloat32)}, {"b", counting({4}, kFloat32)}});
  const std::string good = slurp(path("x.npz"));
  auto error = [&](const std::string& bytes) {
    return error_of([&] { NpzReader(spill("y.npz", bytes)).read_all(); });
  };
  auto patch = [&](size_t at, const std::string& with) {
    std::string bytes = good;
    return bytes.replace(at, with.size(), with);
  };
  size_t end = good.size() - 22;
  size_t first = good.find("PK\x01\x02"), second = good.find("PK\x01\x02", first + 1);
  ASSERT_NE(second, std::string::npos);
  // The second member is said to be where the first one is, then in the middle of it.
  EXPECT_THAT(error(patch(second + 42, std::string("\0\0\0\0", 4))),
              HasSubstr("is not where the directory says"));
  std::string same_name = patch(second + 46, "a.npy");
  EXPECT_THAT(error(same_name), HasSubstr("occurs twice"));
  EXPECT_THAT(error(patch(first + 8, "\x01")), HasSubstr("is encrypted"));
  EXPECT_THAT(error(patch(first + 10, "\x0e")), HasSubstr("method 14"));
  EXPECT_THAT(error(patch(first + 24, "\xff\xff\xff\x7f")), HasSubstr("two sizes differ"));
  EXPECT_THAT(error(patch(first + 20, std::string("\xff\xff\xff\x7f\xff\xff\xff\x7f", 8))),
              HasSubstr("lies outside of the file"));
  EXPECT_THAT(error(patch(end + 10, std::string("\x09\0", 2))), HasSubstr("several parts"));
  EXPECT_THAT(error(patch(end + 8, std::string("\xf0\xf0\xf0\xf0", 4))),
              HasSubstr("counts more members"));
  EXPECT_THAT(error(patch(end + 8, std::string("\x01\0\x01\0", 4))),
              HasSubstr("lists more members"));
  EXPECT_THAT(error(patch(end + 16, "\xf0\xff\xff\x0f")), HasSubstr("outside of the file"));
  EXPECT_THAT(error(patch(200, "\x01")), HasSubstr("checksum is wrong"));
  // The first member reaches into the second.
  size_t larger = 4128 + 60;
  std::string size{static_cast<char>(larger & 255), static_cast<char>(larger >> 8), 0, 0};
  EXPECT_THAT(error(patch(first + 20, size + size)), HasSubstr("overlap"));
  // Another archive in front, or a comment behind, are fine as far as the format goes.
  std::string comment = good + "hello";
  comment[end + 20] = 5;
  EXPECT_EQ(error(comment), "no error");
}

TEST_F(RuntimeFiles, ZipBomb) {
  // A deflated member that says 100 bytes but holds more, and one that says terabytes.
  std::string bytes = slurp(data("deflated.npz"));
  size_t at = bytes.find("PK\x01\x02");
  std::string shorter = bytes;
  shorter[at + 24] = 100;
  EXPECT_THAT(error_of([&] { NpzReader(spill("x.npz", shorter)).read_all(); }),
              ::testing::AnyOf(HasSubstr("longer than its size"), HasSubstr("cut short"),
                               HasSubstr("bytes follow")));
  std::string longer = bytes;
  longer.replace(at + 24, 4, "\xfe\xff\xff\xff");
  EXPECT_THAT(error_of([&] { NpzReader reader(spill("x.npz", longer)); }),
              HasSubstr("packed ones can hold"));
}

std::string safetensors_text(const std::string& header, const std::string& after) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i) & 255);
  return text + header + after;
}

TEST_F(RuntimeFiles, LyingSafetensors) {
  auto error = [&](const std::string& header, const std::string& after = "") {
    return error_of(
        [&] { read_safetensors(spill("x.safetensors", safetensors_text(header, after))); });
  };
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  EXPECT_EQ(error("{" + a + R"(,"__metadata__":{"format":"pt"}}  )", "xy"), "no error");
  EXPECT_EQ(error("{}", ""), "no error");
  EXPECT_THAT(error("{" + a + "}", "xyz"), HasSubstr("1 bytes at the end belong to no tensor"));
  EXPECT_THAT(error("{" + a + "}", "x"), HasSubstr("claims bytes 0 to 2 of 1"));
  EXPECT_THAT(error("{" + a + "," + a + "}", "xy"), HasSubstr("'a' occurs twice"));
  EXPECT_THAT(error("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "xyz"),
              HasSubstr("'b' overlaps"));
  EXPECT_THAT(error("{" + a + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})", "xyzw"),
              HasSubstr("bytes before tensor 'b' belong to none"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,2]}})", "xy"),
              HasSubstr("does not take 2 bytes"));
  EXPECT_THAT(error(R"({"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})", "xy"),
              HasSubstr("'F8_E4M3', which is not supported"));
  EXPECT_THAT(error(R"({"a":{"dtype":"U8","shape":[2]}})", "xy"), HasSubstr("not complete"));
  EXPECT_THAT(error(R"({"a":{"dtype":"U8","shape":[-2],"data_offsets":[0,2]}})", "xy"),
              HasSubstr("unexpected item"));
  EXPECT_THAT(error(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"),
              HasSubstr("too many elements"));
  EXPECT_THAT(error(std::string(100000, '[')), HasSubstr("not that of a .safetensors"));
  EXPECT_THAT(error(std::string(100000, '{')), HasSubstr("not valid JSON"));
  EXPECT_THAT(error("{" + a + "} trailing", "xy"), HasSubstr("not valid JSON"));
  EXPECT_THAT(
      error_of([&] { read_safetensors(spill("x.safetensors", std::string(8, '\x7f') + "{}")); }),
      HasSubstr("the header claims"));
}

TEST_F(RuntimeFiles, ManyMembers) {
  NamedArrays arrays;
  for (int i = 0; i < 70000; ++i) arrays.emplace_back("p" + std::to_string(i), NDArray::scalar(i));
  write_npz(path("x.npz"), arrays);  // needs ZIP64 for the count
  expect_equal(load_params(path("x.npz")), arrays);
}

}  // namespace
}  // namespace relay::runtime_files_test

// Watch: notices that somebody wrote to arrays that a program took as constants.
#include <bindings/arrays.h>
#include <bindings/bindings.h>

#include <algorithm>
#include <cstring>

namespace relay::python {

namespace {

/// Bytes of arrays as they were, at some places of each.
class Watch {
 public:
  /// Reads `places` words of 8 bytes of each array: from its first to its last one, at irregular
  /// distances, because rows and columns that change together lie at regular ones.
  Watch(const std::vector<NDArray>& arrays, size_t places) : arrays_(arrays) {
    uint64_t state = 1;
    for (const NDArray& array : arrays) {
      const size_t size = array.is_contiguous() ? array.byte_size() : 0;
      if (size < sizeof(uint64_t)) continue;
      const size_t words = size / sizeof(uint64_t), count = std::min(places, words);
      for (size_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const size_t begin = words * i / count, end = words * (i + 1) / count;
        add(static_cast<const std::byte*>(array.raw()) +
            (begin + (state >> 33) % (end - begin)) * sizeof(uint64_t));
      }
    }
  }

  /// True if a word that is watched differs from what it was.
  bool changed() const {
    uint64_t difference = 0;
    for (size_t i = 0; i < at_.size(); ++i) difference |= word(at_[i]) ^ was_[i];
    return difference != 0;
  }

 private:
  static uint64_t word(const std::byte* at) {
    uint64_t read;
    std::memcpy(&read, at, sizeof read);
    return read;
  }

  void add(const std::byte* at) {
    at_.push_back(at);
    was_.push_back(word(at));
  }

  std::vector<NDArray> arrays_;  // they keep the memory
  std::vector<const std::byte*> at_;
  std::vector<uint64_t> was_;
};

}  // namespace

void bind_watch(nb::module_& m) {
  nb::class_<Watch>(m, "Watch",
                    "A sample of the elements of arrays, to notice that somebody writes to them.")
      .def(nb::init<const std::vector<NDArray>&, size_t>(), nb::arg("arrays"),
           nb::arg("places") = 8, "Reads up to `places` places of each array that has no gaps.")
      .def("changed", &Watch::changed, "True if an element at these places has another value now.");
}

}  // namespace relay::python

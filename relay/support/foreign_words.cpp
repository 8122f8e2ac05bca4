#include <relay/support/foreign_words.h>

#include <algorithm>

namespace relay {

namespace {

constexpr ForeignOperator kOperators[] = {
#define RELAY_FOREIGN_OPERATOR(name, ours, note) {name, ours, note},
#define RELAY_FOREIGN_ATTRIBUTE(name, ours)
#define RELAY_FOREIGN_DTYPE(name, ours)
#define RELAY_FOREIGN_WORD(word, kind, ours, help)
#include <relay/support/foreign_words.def>
};

constexpr ForeignAttribute kAttributes[] = {
#define RELAY_FOREIGN_OPERATOR(name, ours, note)
#define RELAY_FOREIGN_ATTRIBUTE(name, ours) {name, ours},
#define RELAY_FOREIGN_DTYPE(name, ours)
#define RELAY_FOREIGN_WORD(word, kind, ours, help)
#include <relay/support/foreign_words.def>
};

constexpr ForeignDType kDTypes[] = {
#define RELAY_FOREIGN_OPERATOR(name, ours, note)
#define RELAY_FOREIGN_ATTRIBUTE(name, ours)
#define RELAY_FOREIGN_DTYPE(name, ours) {name, ours},
#define RELAY_FOREIGN_WORD(word, kind, ours, help)
#include <relay/support/foreign_words.def>
};

constexpr ForeignWord kWords[] = {
#define RELAY_FOREIGN_OPERATOR(name, ours, note)
#define RELAY_FOREIGN_ATTRIBUTE(name, ours)
#define RELAY_FOREIGN_DTYPE(name, ours)
#define RELAY_FOREIGN_WORD(word, kind, ours, help) {word, ForeignWord::Kind::kind, ours, help},
#include <relay/support/foreign_words.def>
};

// Longer ones before their beginnings.
constexpr std::string_view kLibraries[] = {"torch.nn.functional.",
                                           "nn.functional.",
                                           "torch.nn.",
                                           "torch.",
                                           "numpy.",
                                           "np.",
                                           "jax.numpy.",
                                           "jnp.",
                                           "jax.nn.",
                                           "jax.lax.",
                                           "jax.",
                                           "lax.",
                                           "tf.nn.",
                                           "tf.math.",
                                           "tf.",
                                           "F.",
                                           "tvm.relay.",
                                           "relay.",
                                           "onnx.",
                                           "math."};

template <class Entry>
const Entry* find(std::span<const Entry> all, std::string_view name, std::string_view Entry::*key) {
  auto found =
      std::find_if(all.begin(), all.end(), [&](const Entry& entry) { return entry.*key == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::span<const ForeignOperator> foreign_operators() { return kOperators; }
std::span<const ForeignAttribute> foreign_attributes() { return kAttributes; }
std::span<const ForeignDType> foreign_dtypes() { return kDTypes; }
std::span<const ForeignWord> foreign_words() { return kWords; }

std::string_view without_library(std::string_view name) {
  for (std::string_view library : kLibraries) {
    if (name.size() > library.size() && name.starts_with(library))
      return name.substr(library.size());
  }
  return name;
}

const ForeignOperator* foreign_operator(std::string_view name) {
  return find(foreign_operators(), without_library(name), &ForeignOperator::name);
}

std::vector<std::string> foreign_attribute(std::string_view name) {
  std::vector<std::string> names;
  const ForeignAttribute* line = find(foreign_attributes(), name, &ForeignAttribute::name);
  std::string_view rest = line == nullptr ? std::string_view() : line->ours;
  while (!rest.empty()) {
    size_t end = std::min(rest.find(' '), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

std::string_view foreign_dtype(std::string_view name) {
  std::string_view bare = without_library(name);
  const ForeignDType* line = find(foreign_dtypes(), bare, &ForeignDType::name);
  if (line != nullptr) return line->ours;
  return bare.size() < name.size() ? bare : std::string_view();
}

const ForeignWord* foreign_word(std::string_view word) {
  return find(foreign_words(), word, &ForeignWord::word);
}

}  // namespace relay

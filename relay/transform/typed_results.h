// Types on what passes made, for callers that ask for them.
#pragma once

namespace relay {

/// While it lives, the passes of this thread that want a typed program give a typed one, too, where
/// they changed something. A result with a type error is then an error of the pass, unless it is
/// looked at anyway: by instruments, or since the settings ask for it.
class TypedResults {
 public:
  explicit TypedResults(bool wanted);
  ~TypedResults();
  TypedResults(const TypedResults&) = delete;
  TypedResults& operator=(const TypedResults&) = delete;

 private:
  bool outer_;
};

}  // namespace relay

// Types on what passes made, for callers that ask for them.
#pragma once

namespace relay {

/// While one lives that wants it, the passes of this thread give a typed program where they changed
/// something. The result of a pass on typed programs that has a type error is then an error of the
/// pass, unless it is looked at anyway: by instruments, or since the settings ask for it. What
/// other passes made stays untyped if it has one. Instruments see sequences as passes: TVM's
/// callers, who ask for types, expect both.
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

// Declared shapes against those of values.
#include <relay/eval/check.h>

#include <relay/eval/eval.h>
#include <relay/runtime/type_check.h>
#include <relay/support/error.h>

namespace relay::eval {

ShapeCheck::ShapeCheck(const ShapeComparison& parts, const Module& module, Flows& flows) {
  CheckBuilder builder(module, flows);
  for (const DeclaredShape& part : parts.parts) {
    builder.add(part, static_cast<uint32_t>(places_.size()));
    places_.push_back(part.span);
  }
  check_ = builder.finish();
  check_.closed = parts.closed;
}

void ShapeCheck::run(std::span<const Value> values) const {
  std::vector<const Value*> pointers;
  for (const Value& value : values) pointers.push_back(&value);
  TypeMismatch mismatch;
  if (fits(check_, pointers, true, mismatch)) return;
  throw RuntimeError(mismatch_error(
      check_, mismatch, [&](const TypeCheck::Part& part) { return places_[part.position]; }));
}

}  // namespace relay::eval

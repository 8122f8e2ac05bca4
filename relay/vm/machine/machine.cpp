#include <relay/vm/machine/machine.h>

#include <chrono>

#include <relay/runtime/memory.h>
#include <relay/runtime/processors.h>
#include <relay/runtime/team.h>
#include <relay/vm/machine/interpreter.h>
#include <relay/vm/machine/positions.h>

namespace relay::vm {

namespace {

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace

class Machine::State {
 public:
  State(std::shared_ptr<const Executable> executable, MachineOptions options)
      : image(Image::of(executable)), interpreter(image, options) {}

  std::shared_ptr<const Image> image;
  Interpreter interpreter;
  Profile* profile = nullptr;

  template <class Arguments>
  Value run(const LinkedFunction& function, const Value& closure, Arguments arguments) {
    if (profile == nullptr) return interpreter.run(function, closure, std::move(arguments));
    uint64_t begin = now_ns();
    Value result = interpreter.run(function, closure, std::move(arguments));
    profile->total_nanoseconds += now_ns() - begin;
    return result;
  }
};

Machine::Machine(std::shared_ptr<const Executable> executable, MachineOptions options)
    : state_(std::make_unique<State>(std::move(executable), options)) {}
Machine::~Machine() = default;

const Executable& Machine::executable() const { return *state_->image->executable; }

const Entry& Machine::entry(std::string_view name) const {
  std::string known;
  for (const Entry& each : executable().entries) {
    if (each.name == name) return each;
    known += (known.empty() ? "@" : ", @") + each.name;
  }
  throw Error("the program has no entry @" + std::string(name) +
              (known.empty() ? "" : "; it has " + known));
}

void Machine::check_arguments(const Entry& entry, std::span<const Value> arguments) const {
  const std::vector<TypeCheck::Part>& params = entry.params.parts;
  if (arguments.size() != params.size()) {
    throw Error("@" + entry.name + " takes " + std::to_string(params.size()) +
                (params.size() == 1 ? " argument" : " arguments") + ", found " +
                std::to_string(arguments.size()));
  }
  constexpr size_t kFew = 16;
  const Value* few[kFew];
  std::vector<const Value*> many(arguments.size() > kFew ? arguments.size() : 0);
  const Value** values = many.empty() ? few : many.data();
  for (size_t i = 0; i < arguments.size(); ++i) values[i] = &arguments[i];
  TypeMismatch mismatch;
  if (!fits(entry.params, {values, arguments.size()}, false, mismatch)) {
    std::vector<std::shared_ptr<const Source>> sources;
    throw Error(
        argument_error(entry.params, mismatch, entry.name, [&](const TypeCheck::Part& part) {
          return position_span(executable(), part.position, sources);
        }));
  }
}

Value Machine::leave(const Entry& entry, Value result) const {
  if (result.is_tensor()) return result;
  return leave_program(std::move(result),
                       {std::shared_ptr<const TypeCheck>(state_->image->executable, &entry.params),
                        &entry.result.type});
}

Value Machine::run(const Entry& entry, std::span<const Value> arguments) {
  check_arguments(entry, arguments);
  return leave(entry, state_->run(state_->image->functions[entry.function], Value(), arguments));
}

Value Machine::run_with(const Entry& entry, std::vector<Value> arguments) {
  check_arguments(entry, arguments);
  return leave(
      entry, state_->run(state_->image->functions[entry.function], Value(), std::move(arguments)));
}

Value Machine::run(std::string_view name, std::span<const Value> arguments) {
  return run(entry(name), arguments);
}

Value Machine::call(const Value& closure, std::span<const Value> arguments) {
  KnownType type = check_closure_call(closure, arguments);
  Value result = state_->run(*as_machine_closure(closure).function, closure, arguments);
  return leave_program(std::move(result), type.part(type.type->fields.back()));
}

void Profile::restart() {
  kernels.assign(kernels.size(), {});
  events.clear();
  total_nanoseconds = 0;
}

void Machine::set_profile(Profile* profile) {
  state_->profile = profile;
  if (profile != nullptr) profile->kernels.resize(executable().kernels.size());
  state_->interpreter.set_profile(profile);
}

// ---- Interpreter's beginning and end ------------------------------------------------------------

namespace {
const std::atomic<bool> never{false};
}

Interpreter::Interpreter(std::shared_ptr<const Image> image, const MachineOptions& options)
    : image_(std::move(image)),
      options_(options),
      interrupt_(options.interrupt != nullptr ? options.interrupt : &never),
      stack_(options.stack_bytes != 0 ? options.stack_bytes : stack_limit()) {
  workers_ =
      std::make_shared<Workers>(options.threads > 0 ? options.threads : allowed_processors());
  use(image_);
}

Interpreter::~Interpreter() { unwind(); }

void Interpreter::set_profile(Profile* profile) {
  profile_ = profile;
  // Kernels of other executables would need a profile of their own.
  loaded_.front().graphs->set_profile(profile);
}

}  // namespace relay::vm

// Runs decoded bytecode.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <relay/runtime/typed_closure.h>
#include <relay/support/diagnostic.h>
#include <relay/vm/machine/dataflow_runner.h>
#include <relay/vm/machine/frame.h>
#include <relay/vm/machine/image.h>
#include <relay/vm/machine/machine.h>

namespace relay::vm {

/// A function value of the machine. Keeps the image alive.
class MachineClosure final : public TypedClosure {
 public:
  static const char kKind;
  /// Leaves the captured values empty for the caller to fill in.
  static Ref<MachineClosure> make(std::shared_ptr<const Image> image,
                                  const LinkedFunction* function);
  ~MachineClosure() override;
  std::string name() const override { return function->source->name; }
  Ref<Closure> with_type(KnownType type) const override;

  const std::shared_ptr<const Image> image;
  const LinkedFunction* const function;
  std::span<Value> captured() { return {reinterpret_cast<Value*>(this + 1), count_}; }
  std::span<const Value> captured() const {
    return {reinterpret_cast<const Value*>(this + 1), count_};
  }

 private:
  MachineClosure(std::shared_ptr<const Image> image, const LinkedFunction* function);
};

/// The closure in a value; throws Error for anything else.
MachineClosure& as_machine_closure(const Value& value);

class Interpreter {
 public:
  Interpreter(std::shared_ptr<const Image> image, const MachineOptions& options);
  ~Interpreter();

  /// Calls a function of `image` with a closure (or nothing). Throws RuntimeError with a trace.
  Value run(const LinkedFunction& function, const Value& closure, std::span<const Value> arguments);
  /// The same, with arguments that it uses up.
  Value run(const LinkedFunction& function, const Value& closure, std::vector<Value> arguments);
  void set_profile(Profile* profile);

 private:
  Value run_with(const LinkedFunction& function, const Value& closure, size_t count,
                 const std::function<void(Slot* registers)>& bind);

  // Another executable whose closures run here, or our own. The image of another one is held while
  // something runs; between runs only the closures keep it.
  struct Loaded {
    std::shared_ptr<const Image> image;
    std::weak_ptr<const Image> known;
    std::unique_ptr<DataflowRunner> graphs;
  };

  Value loop();
  Frame* push(Frame* caller, const LinkedFunction* function, const Code* call);
  Frame* push_segment(Frame* caller, const LinkedFunction* function, const Code* call);
  Frame* call_closure(Frame* frame, const Code* at);
  Frame* tail_call(Frame* frame, const LinkedFunction* function, Slot closure,
                   const uint32_t* operands, uint32_t count);
  Frame* tail_call_closure(Frame* frame, const Code* at);
  void gather(const Code& at, char* registers);
  void make_tuple(const Code& at, char* registers);
  void construct(const Frame* frame, const Code& at, char* registers);
  void add_to_cell(const Code& at, char* registers);
  void take_contents(const Graph& graph, uint32_t first);
  void put_sums();
  void give_back(uint32_t first) noexcept;
  void unpack(const Code& at, char* registers);
  void make_closure(const Frame* frame, const Code& at, char* registers);
  void self_closure(Frame* frame, const Code& at, char* registers);
  void run_dataflow(const Frame* frame, const Code& at, char* registers);
  void check_shapes(const Frame* frame, const Code& at, char* registers);
  Loaded& loaded(const Image* image);
  void use(const std::shared_ptr<const Image>& image);
  void let_go_of_others() noexcept;
  [[noreturn]] static void fail_with(const Frame* frame, uint32_t message);
  [[noreturn]] static void fail_match(const Value& value);
  static std::string wrong_count(const Function& function, size_t found);
  void unwind();
  // Throws the error with the place and the calls that led to it, innermost first.
  [[noreturn]] void fail(std::vector<Diagnostic> diagnostics, uint32_t position);

  std::shared_ptr<const Image> image_;
  MachineOptions options_;
  const std::atomic<bool>* interrupt_;
  FrameStack stack_;
  Frame* frame_ = nullptr;     // the running one, as of the last step that may fail
  const Code* at_ = nullptr;   // its instruction
  std::vector<Value> values_;  // operands before their use
  std::vector<Value> results_;
  std::vector<Value> cells_;  // that the running graph adds to
  std::vector<Slot> staged_;
  std::vector<const Value*> checked_;
  std::vector<Loaded> loaded_;
  std::shared_ptr<Workers> workers_;
  Profile* profile_ = nullptr;
};

}  // namespace relay::vm

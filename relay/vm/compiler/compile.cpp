#include <relay/vm/compiler/compile.h>

#include <relay/vm/compiler/prepare.h>
#include <relay/vm/compiler/program.h>

namespace relay::vm {
std::shared_ptr<const Executable> compile(const Module& module, std::span<const Name> entries,
                                          const CompileOptions& options) {
  Prepared prepared =
      prepare(module, entries, options.level, options.warnings, options.precision);
  auto executable = std::make_shared<Executable>();
  ProgramBuilder(prepared, *executable, options).run(entries);
  verify(*executable);
  return executable;
}

std::shared_ptr<const Executable> compile(const Module& module, Name entry,
                                          const CompileOptions& options) {
  return compile(module, std::span(&entry, 1), options);
}

std::vector<graph::Graph> compile_graphs(const Module& module, Name entry,
                                         const CompileOptions& options) {
  const std::span<const Name> entries(&entry, 1);
  Prepared prepared =
      prepare(module, entries, options.level, options.warnings, options.precision);
  Executable executable;
  ProgramBuilder program(prepared, executable, options);
  program.collect(entries);
  return program.take_graphs();
}

}  // namespace relay::vm

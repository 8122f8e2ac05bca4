// Executables in files (`.rlx`) and in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <relay/vm/machine/executable.h>

namespace relay::vm {

/// Writes an executable under a temporary name and renames it: there is the whole file or what was
/// there before. So many threads (0: one for each core) make late constants, and no more of these
/// are in memory; one at a time writes. To a pipe they go one by one, made twice. Throws Error.
void save_executable(const Executable& executable, const std::string& path, int threads = 0);

/// Reads a file that `save_executable` wrote. What happens to the file afterwards changes nothing:
/// it is copied, but where nobody may write to it (no permission for anyone, or a read-only file
/// system): then large constants stay in it, mapped, and processes share them. Throws Error for one
/// that is damaged, of another version, or no executable at all; whether this machine can run its
/// code is found out when a Machine is made. What runs is the code in the file: load only what you
/// would run.
std::shared_ptr<Executable> load_executable(const std::string& path);

/// The same in memory.
std::vector<std::byte> executable_bytes(const Executable& executable);
std::shared_ptr<Executable> load_executable(std::span<const std::byte> bytes,
                                            const std::string& name);

/// Whether a file begins like one of ours.
bool is_executable_file(std::span<const std::byte> beginning);

}  // namespace relay::vm

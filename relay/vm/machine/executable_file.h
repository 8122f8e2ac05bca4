// Executables in files (`.rlx`) and in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <relay/vm/machine/executable.h>

namespace relay::vm {

/// Writes an executable under a temporary name and renames it: either the whole file exists or the
/// old one stays. `threads` threads (0: one for each core) make late constants, and no more of
/// these are in memory; one at a time writes. To a pipe they go one by one, made twice. Throws
/// Error.
void save_executable(const Executable& executable, const std::string& path, int threads = 0);

/// Reads a file that `save_executable` wrote. Later changes to the file do not affect the result,
/// because it is copied. The exception is a file that nobody may write to (no permission for
/// anyone, or a read-only file system): its large constants stay in it, mapped, and processes share
/// them. Throws Error for a file that is damaged, of another version, or not an executable; a
/// Machine checks later if this machine can run its code. Running it runs the code in the file, so
/// load only files that you trust.
std::shared_ptr<Executable> load_executable(const std::string& path);

/// The bytes of such a file.
std::vector<std::byte> executable_bytes(const Executable& executable);
std::shared_ptr<Executable> load_executable(std::span<const std::byte> bytes,
                                            const std::string& name);

/// The version of the format: of each file that is written, and of each that can be read.
uint32_t executable_version();

/// True if a file begins like an executable.
bool is_executable_file(std::span<const std::byte> beginning);

}  // namespace relay::vm

#include <relay/reduce/isolate.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include <relay/support/error.h>

namespace relay::reduce {

const char* outcome_text(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::kFine:
      return "does not fail";
    case Outcome::Kind::kThrows:
      return "ends with an error";
    case Outcome::Kind::kIllTyped:
      return "leaves a program that is not well typed";
    case Outcome::Kind::kIllFormed:
      return "leaves a program that is not well formed";
    case Outcome::Kind::kDiffers:
      return "gives another result";
    case Outcome::Kind::kFails:
      return "fails while it runs, which it should not";
    case Outcome::Kind::kRefused:
      return "fails while it runs, as it should";
    case Outcome::Kind::kCrashes:
      return "crashes";
    case Outcome::Kind::kHangs:
      return "does not end in time";
    case Outcome::Kind::kInterrupted:
      return "was interrupted";
  }
  RELAY_UNREACHABLE("unknown outcome");
}

namespace {

// A message without what differs from program to program: numbers, names of variables.
std::string shape_of(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size() && result.size() < 200;) {
    auto is = [&](size_t at, auto test) {
      return at < text.size() && test(static_cast<unsigned char>(text[at])) != 0;
    };
    if (is(i, isdigit)) {
      while (is(i, isdigit)) ++i;
      // A list of numbers, of any length, is one.
      if (result.ends_with("#, ")) {
        result.resize(result.size() - 2);
      } else {
        result += '#';
      }
    } else if (text[i] == '%' || text[i] == '@') {
      result += text[i++];
      while (is(i, isalnum) || (i < text.size() && (text[i] == '_' || text[i] == '.'))) ++i;
    } else {
      result += text[i++];
    }
  }
  return result;
}

}  // namespace

bool same_failure(const Outcome& a, const Outcome& b) {
  return a.kind == b.kind && shape_of(a.text) == shape_of(b.text);
}

namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      throw Error(std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(size_t end) {
    if (ends[end] >= 0) close(std::exchange(ends[end], -1));
  }
};

void write_all(int to, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(to, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void limit(const Limits& limits) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // The sanitizers reserve far more addresses than they use.
  if (limits.memory > 0) {
    struct rlimit most = {limits.memory, limits.memory};
    setrlimit(RLIMIT_AS, &most);
  }
#else
  (void)limits;
#endif
}

// Makes a child in a process group of its own. In the child, `run` gets the pipe's end and does not
// return.
template <class Run>
pid_t start(Pipe& pipe, const Run& run) {
  pid_t child = fork();
  if (child < 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
  if (child != 0) {
    setpgid(child, child);  // both do, so that it is done for whoever comes first
    pipe.close_end(1);
    return child;
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // who waits for it may be killed
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGPIPE}) std::signal(signal, SIG_DFL);
  int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  run(pipe.ends[1]);
  _exit(127);
}

struct Ended {
  int status = 0;
  bool hangs = false;
  bool interrupted = false;
  std::string output;
};

// Reads until the child is done and gone, or kills it with its group.
Ended wait_for(pid_t child, Pipe& pipe, const Limits& limits) {
  Ended ended;
  auto end = Clock::now() + std::chrono::duration<double>(limits.seconds);
  bool open = true;
  bool gone = false;
  std::array<char, 1 << 14> buffer;
  while (!gone) {
    bool late = limits.seconds > 0 && Clock::now() >= end;
    ended.interrupted = limits.interrupt != nullptr && limits.interrupt->load();
    if (late || ended.interrupted) {
      ended.hangs = late && !ended.interrupted;
      break;
    }
    // Whoever holds the pipe may outlive the child, and the child may close it early.
    struct pollfd polled = {pipe.ends[0], POLLIN, 0};
    int ready = open ? poll(&polled, 1, 20) : (usleep(2000), 0);
    if (ready > 0) {
      ssize_t got = read(pipe.ends[0], buffer.data(), buffer.size());
      if (got > 0) {
        size_t room = kMostOutput - std::min(kMostOutput, ended.output.size());
        ended.output.append(buffer.data(), std::min(room, static_cast<size_t>(got)));
        continue;
      }
      if (got == 0 || errno != EINTR) open = false;
    }
    gone = waitpid(child, &ended.status, WNOHANG) == child;
  }
  kill(-child, SIGKILL);  // also what it left behind
  if (!gone) {
    while (waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
    }
    return ended;
  }
  // Output between the last read and the end.
  while (open) {
    struct pollfd polled = {pipe.ends[0], POLLIN, 0};
    if (poll(&polled, 1, 0) <= 0) break;
    ssize_t got = read(pipe.ends[0], buffer.data(), buffer.size());
    if (got <= 0) break;
    size_t room = kMostOutput - std::min(kMostOutput, ended.output.size());
    ended.output.append(buffer.data(), std::min(room, static_cast<size_t>(got)));
  }
  return ended;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

}  // namespace

Outcome run_isolated(const std::function<Outcome()>& body, const Limits& limits) {
  Pipe pipe;
  pid_t child = start(pipe, [&](int to) {
    limit(limits);
    Outcome outcome;
    try {
      outcome = body();
    } catch (const std::bad_alloc&) {
      outcome = {Outcome::Kind::kThrows, "out of memory"};
    } catch (const std::exception& error) {
      outcome = {Outcome::Kind::kThrows, error.what()};
    }
    write_all(
        to, std::string(1, static_cast<char>('A' + static_cast<int>(outcome.kind))) + outcome.text);
    _exit(0);
  });
  Ended ended = wait_for(child, pipe, limits);
  if (ended.interrupted) return {Outcome::Kind::kInterrupted, ""};
  if (ended.hangs) return {Outcome::Kind::kHangs, ""};
  if (WIFSIGNALED(ended.status))
    return {Outcome::Kind::kCrashes, signal_name(WTERMSIG(ended.status))};
  if (ended.output.empty()) {
    return {Outcome::Kind::kCrashes, "exit code " + std::to_string(WEXITSTATUS(ended.status))};
  }
  return {static_cast<Outcome::Kind>(ended.output[0] - 'A'), ended.output.substr(1)};
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string word = "'";
  for (char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

CommandResult run_command(const std::string& command, const Limits& limits) {
  Pipe pipe;
  pid_t child = start(pipe, [&](int to) {
    limit(limits);
    dup2(to, STDOUT_FILENO);
    dup2(to, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  });
  Ended ended = wait_for(child, pipe, limits);
  CommandResult result;
  result.hangs = ended.hangs;
  result.interrupted = ended.interrupted;
  result.output = std::move(ended.output);
  if (ended.hangs || ended.interrupted) return result;
  if (WIFSIGNALED(ended.status)) {
    result.signal = signal_name(WTERMSIG(ended.status));
  } else {
    result.exit_code = WEXITSTATUS(ended.status);
  }
  return result;
}

}  // namespace relay::reduce

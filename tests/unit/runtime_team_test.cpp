// The team: tasks, stages, callers, threads that are late, missing or gone.
#include <gtest/gtest.h>

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <relay/runtime/processors.h>
#include <relay/runtime/team.h>
#include <relay/runtime/team_job.h>
#include <tests/support/child_process.h>

namespace relay::runtime_team_test {
namespace {

using Stage = TeamWork::Stage;

// Stages that are all of one kind.
class Stages : public TeamWork {
 public:
  Stages(uint32_t count, std::function<void(const TeamTurn&)> body, Stage kind = Stage::kShared)
      : count_(count), body_(std::move(body)), kind_(kind) {}
  Stage stage(uint32_t number) override { return number < count_ ? kind_ : Stage::kNone; }
  void work(const TeamTurn& turn) override { body_(turn); }

 private:
  uint32_t count_;
  std::function<void(const TeamTurn&)> body_;
  Stage kind_;
};

template <class Body>
void for_tasks(const TeamTurn& turn, int64_t count, Body&& body, int64_t pieces = 4, int list = 0) {
  TeamTasks tasks(turn, list, pieces);
  int64_t range[2];
  while (tasks.take(&tasks, count, range) != 0) {
    for (int64_t i = range[0]; i < range[1]; ++i) body(i);
  }
}

// Results pass from stage to stage in plain memory, turned around, so that each worker reads what
// another one wrote.
std::vector<int64_t> turn_around(Workers& workers, int64_t n, uint32_t stages) {
  std::vector<int64_t> data[2];
  data[0].resize(static_cast<size_t>(n));
  data[1].resize(static_cast<size_t>(n));
  std::iota(data[0].begin(), data[0].end(), int64_t{0});
  Stages work(stages, [&](const TeamTurn& turn) {
    const std::vector<int64_t>& from = data[turn.stage % 2];
    std::vector<int64_t>& to = data[1 - turn.stage % 2];
    for_tasks(turn, n, [&](int64_t i) {
      // In numbers that wrap around: there are many stages.
      const auto old = static_cast<uint64_t>(from[static_cast<size_t>(n - 1 - i)]);
      to[static_cast<size_t>(i)] = static_cast<int64_t>(3 * old + static_cast<uint64_t>(i));
    });
  });
  workers.run(work);
  return data[stages % 2];
}

TEST(RuntimeTeam, EveryTaskIsDoneOnce) {
  for (int count : {1, 2, 3, 8, 64}) {
    Workers workers(count);
    for (int64_t n : {0, 1, 2, 7, 63, 1000, 20000}) {
      for (int64_t pieces : {1, 3, 16}) {
        std::vector<int> done(static_cast<size_t>(n), 0), second = done;
        Stages work(3, [&](const TeamTurn& turn) {
          for_tasks(
              turn, n, [&](int64_t i) { ++done[static_cast<size_t>(i)]; }, pieces, 0);
          // Another list of the same stage: some are here while others are there.
          for_tasks(
              turn, n, [&](int64_t i) { ++second[static_cast<size_t>(i)]; }, pieces, 1);
        });
        workers.run(work);
        EXPECT_EQ(done, std::vector<int>(static_cast<size_t>(n), 3)) << count << " workers";
        EXPECT_EQ(second, done) << count << " workers";
      }
    }
  }
}

TEST(RuntimeTeam, StagesFollowOneAnother) {
  Workers alone(1);
  const std::vector<int64_t> expected = turn_around(alone, 500, 40);
  for (int count = 2; count <= 64; count += count < 8 ? 1 : 14) {
    Workers workers(count);
    for (int run = 0; run < 5; ++run) EXPECT_EQ(turn_around(workers, 500, 40), expected) << count;
  }
}

TEST(RuntimeTeam, OneWorkerIsTheFirst) {
  Workers workers(4);
  for (Stage kind : {Stage::kShared, Stage::kAlone}) {
    std::vector<int> first(100, 0);
    std::atomic<int> inside{0}, wrong{0};
    Stages work(
        100,
        [&](const TeamTurn& turn) {
          if (turn.first) ++first[turn.stage];
          if (turn.worker < 0 || turn.worker >= 4) ++wrong;
          const int others = inside.fetch_add(1);
          if (kind == Stage::kAlone && others != 0) ++wrong;
          --inside;
        },
        kind);
    for (int run = 1; run <= 20; ++run) {
      workers.run(work);
      ASSERT_EQ(first, std::vector<int>(100, run));
    }
    EXPECT_EQ(wrong, 0);
  }
}

// Each of two tasks ends when the other has begun: two threads are at it at the same time. A thread
// that waits for one caller's next run goes to another caller's.
TEST(RuntimeTeam, OthersHelp) {
  Workers first(2), second(2);
  for (int run = 0; run < 12; ++run) {
    Workers& workers = run % 3 == 0 ? second : first;
    std::atomic<int> begun{0};
    std::atomic<bool> alone{false};
    Stages work(3, [&](const TeamTurn& turn) {
      for_tasks(turn, 2, [&](int64_t) {
        const int wanted = 2 * static_cast<int>(turn.stage + 1);
        const auto begin = std::chrono::steady_clock::now();
        ++begun;
        while (begun < wanted && !alone) {
          std::this_thread::sleep_for(std::chrono::microseconds(100));
          if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(60)) alone = true;
        }
      });
    });
    workers.run(work);
    EXPECT_FALSE(alone);
    if (run > 6) std::this_thread::sleep_for(std::chrono::milliseconds(run));  // until they sleep
  }
}

// The only thread there is has a task of somebody else and keeps it until the second caller is
// done: that one must not wait for it.
TEST(RuntimeTeam, AThreadThatIsBusyElsewhereHoldsNobodyUp) {
  std::atomic<bool> second_done{false}, given_up{false};
  std::atomic<int> kept{0};
  Workers first(2);
  std::thread caller([&] {
    Stages work(1, [&](const TeamTurn& turn) {
      for_tasks(turn, 2, [&](int64_t) {
        const auto begin = std::chrono::steady_clock::now();
        ++kept;
        while (!second_done) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(60)) {
            given_up = true;
            return;
          }
        }
      });
    });
    first.run(work);
  });
  while (kept == 0) std::this_thread::yield();
  Workers second(2), alone(1);
  for (int run = 0; run < 20; ++run) {
    EXPECT_EQ(turn_around(second, 300, 10), turn_around(alone, 300, 10));
  }
  second_done = true;
  caller.join();
  EXPECT_FALSE(given_up);
}

TEST(RuntimeTeam, ManyCallers) {
  Workers alone(1);
  const std::vector<int64_t> expected = turn_around(alone, 200, 12);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 12; ++caller) {
    callers.emplace_back([&, caller] {
      for (int machine = 0; machine < 5; ++machine) {
        Workers workers(2 + caller % 4);
        for (int run = 0; run < 20; ++run) wrong += turn_around(workers, 200, 12) != expected;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(team_status().callers, 0);
}

TEST(RuntimeTeam, WorkWithinWork) {
  Workers outer(3), inner(3), alone(1);
  const std::vector<int64_t> expected = turn_around(alone, 100, 5);
  std::atomic<int> wrong{0};
  for (int run = 0; run < 10; ++run) {
    Stages work(4, [&](const TeamTurn& turn) {
      for_tasks(turn, 6, [&](int64_t task) {
        // Somebody else's workers; those of another task, perhaps busy; the own ones.
        Workers own(2);
        Workers& used = task % 3 == 0 ? own : task % 3 == 1 ? inner : outer;
        wrong += turn_around(used, 100, 5) != expected;
      });
    });
    outer.run(work);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(team_status().callers, 0);
}

TEST(RuntimeTeam, ExceptionsComeToTheCaller) {
  Workers alone(1);
  const std::vector<int64_t> expected = turn_around(alone, 100, 5);
  for (int count : {1, 2, 5}) {
    Workers workers(count);
    for (int run = 0; run < 20; ++run) {
      std::atomic<int> last{0};
      Stages work(10, [&](const TeamTurn& turn) {
        last = static_cast<int>(turn.stage);
        for_tasks(turn, 8, [&](int64_t task) {
          if (turn.stage == 3 && task == run % 8) throw std::runtime_error("task");
        });
      });
      try {
        workers.run(work);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "task");
      }
      EXPECT_EQ(last, 3);
      EXPECT_EQ(turn_around(workers, 100, 5), expected);
    }
    // In between stages, which any worker may ask for.
    class Bad : public TeamWork {
     public:
      Stage stage(uint32_t number) override {
        if (number == 5) throw std::logic_error("stage");
        return Stage::kShared;
      }
      void work(const TeamTurn& turn) override {
        for_tasks(turn, 8, [](int64_t) {});
      }
    };
    for (int run = 0; run < 20; ++run) {
      Bad bad;
      EXPECT_THROW(workers.run(bad), std::logic_error);
    }
    EXPECT_EQ(turn_around(workers, 100, 5), expected);
  }
}

TEST(RuntimeTeam, StoppedTasksAreLeftOut) {
  for (int count : {1, 3}) {
    Workers workers(count);
    std::atomic<bool> stop{false};
    std::atomic<int64_t> done{0};
    std::atomic<bool> told{false};
    Stages work(1, [&](const TeamTurn& turn) {
      TeamTasks tasks(turn, 0, 16, &stop);
      int64_t range[2];
      while (tasks.take(&tasks, 16 * 3, range) != 0) {
        done += range[1] - range[0];
        stop = true;
      }
      if (tasks.stopped()) told = true;
    });
    workers.run(work);
    EXPECT_TRUE(told);
    if (count > 1) {
      EXPECT_LE(done, 3);  // a piece of each
    }
  }
}

TEST(RuntimeTeam, ThreadsFallAsleepAndAreWoken) {
  Workers workers(3), alone(1);
  const std::vector<int64_t> expected = turn_around(alone, 100, 20);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(turn_around(workers, 100, 20), expected);
    const auto begin = std::chrono::steady_clock::now();
    TeamStatus status = team_status();
    while (status.sleeping != status.threads &&
           std::chrono::steady_clock::now() - begin < std::chrono::seconds(30)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      status = team_status();
    }
    EXPECT_EQ(status.sleeping, status.threads);
    EXPECT_EQ(status.engaged, 0);
    EXPECT_GE(status.threads, 1);
  }
}

// ---- Processes ----------------------------------------------------------------------------------

using testing::kForks;
using testing::status_of_child;
TEST(RuntimeTeam, AChildProcessStartsAfresh) {
  if (!kForks) GTEST_SKIP();
  Workers workers(3), alone(1);
  const std::vector<int64_t> expected = turn_around(alone, 300, 20);
  EXPECT_EQ(turn_around(workers, 300, 20), expected);
  // Others are in the middle of runs, with threads of the team, while this one forks.
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      Workers own(3);
      while (!stop) turn_around(own, 300, 20);
    });
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(status_of_child([&] {
                if (team_status().threads != 0 || team_status().callers != 0) return 2;
                for (int run = 0; run < 20; ++run) {
                  if (turn_around(workers, 300, 20) != expected) return 3;
                }
                Workers fresh(3);
                if (turn_around(fresh, 300, 20) != expected) return 4;
                return team_status().callers == 0 ? 0 : 5;
              }),
              0);
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(turn_around(workers, 300, 20), expected);
}

TEST(RuntimeTeam, TheProcessMayEndWhileThreadsWork) {
  if (!kForks) GTEST_SKIP();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(status_of_child([&]() -> int {
                for (int caller = 0; caller < 2; ++caller) {
                  std::thread([] {
                    Workers own(3);
                    while (true) turn_around(own, 300, 20);
                  }).detach();
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(5 * i));
                std::exit(0);
              }),
              0);
  }
}

TEST(RuntimeTeam, WithoutThreadsTheCallerDoesAll) {
  if (!kForks) GTEST_SKIP();
  Workers alone(1);
  const std::vector<int64_t> expected = turn_around(alone, 300, 20);
  EXPECT_EQ(status_of_child([&] {
              limit_team_threads(0);
              Workers workers(8);
              for (int run = 0; run < 20; ++run) {
                if (turn_around(workers, 300, 20) != expected) return 2;
              }
              return team_status().threads;
            }),
            0);
#if !defined(__SANITIZE_ADDRESS__)
  // The system itself refuses: no memory for so many stacks.
  EXPECT_EQ(status_of_child([&] {
              Workers workers(1000);
              std::ifstream statm("/proc/self/statm");
              rlim_t pages = 0;
              statm >> pages;
              rlimit limit{};
              limit.rlim_cur = limit.rlim_max =
                  (pages + 2048) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
              if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
              for (int run = 0; run < 20; ++run) {
                if (turn_around(workers, 300, 20) != expected) return 3;
              }
              return team_status().threads < 999 ? 0 : 4;
            }),
            0);
#endif
}

// Name and blocked signals of each thread of the team in this process.
std::vector<std::pair<std::string, uint64_t>> team_threads() {
  std::vector<std::pair<std::string, uint64_t>> found;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(each.path() / "status");
    std::string name;
    uint64_t blocked = 0;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Name:\t")) name = line.substr(6);
      if (line.starts_with("SigBlk:\t")) blocked = std::stoull(line.substr(8), nullptr, 16);
    }
    if (name.starts_with("relay-")) found.emplace_back(name, blocked);
  }
  return found;
}

TEST(RuntimeTeam, ThreadsHaveNamesAndTakeNoSignals) {
  Workers workers(3);
  turn_around(workers, 300, 20);
  std::vector<std::pair<std::string, uint64_t>> threads;
  for (int i = 0; i < 1000 && threads.empty(); ++i) {  // they name themselves
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    threads = team_threads();
  }
  ASSERT_FALSE(threads.empty());
  for (const auto& [name, blocked] : threads) {
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD, SIGRTMAX}) {
      EXPECT_NE(blocked >> (signal - 1) & 1, 0u) << name << " takes signal " << signal;
    }
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE}) {
      EXPECT_EQ(blocked >> (signal - 1) & 1, 0u) << name << " blocks signal " << signal;
    }
  }
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGINT), 0);  // the caller's mask is as before
}

TEST(RuntimeTeam, PinnedToOneProcessor) {
  Workers alone(1);
  const std::vector<int64_t> expected = turn_around(alone, 300, 20);
  std::thread pinned([&] {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &all)) continue;
      CPU_SET(i, &one);
      break;
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(allowed_processors(), 1);
    Workers workers(4);
    for (int run = 0; run < 20; ++run) EXPECT_EQ(turn_around(workers, 300, 20), expected);
  });
  pinned.join();
  EXPECT_GE(allowed_processors(), 1);
}

// A thread goes to another processor, and may be anywhere afterwards.
TEST(RuntimeProcessors, AThreadMoves) {
  std::thread thread([] {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    std::vector<int> all;
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &before)) all.push_back(i);
    EXPECT_EQ(move_from_processors(all), -1);
    for (int left : all) {
      std::vector<int> taken = all;
      std::erase(taken, left);
      taken.push_back(-1);  // of a worker that is nowhere yet
      EXPECT_EQ(move_from_processors(taken), left);
    }
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  });
  thread.join();
}

// A thread that finds itself where its caller is leaves.
TEST(RuntimeTeam, ThreadsLeaveTheProcessorOfTheirCaller) {
  if (allowed_processors() < 2) GTEST_SKIP() << "one processor";
  TeamJob job(2);
  std::thread thread([&] {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &all)) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(i, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      job.seen(0);
      ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // after the last move
      // Elsewhere already, if the scheduler was quicker.
      job.step_aside(1);
      EXPECT_EQ(job.processors[0], i);
      EXPECT_NE(job.processors[1], i);
    }
  });
  thread.join();
}

// Callers, nested work and exceptions all at once, for as long as RELAY_STRESS_SECONDS says.
TEST(RuntimeTeam, Stress) {
  const char* text = std::getenv("RELAY_STRESS_SECONDS");
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double>(text != nullptr ? std::atof(text) : 1.0);
  Workers alone(1);
  const std::vector<int64_t> expected = turn_around(alone, 97, 7);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&, caller] {
      for (int round = 0; std::chrono::steady_clock::now() < end; ++round) {
        Workers workers(2 + (caller + round) % 7);
        for (int run = 0; run < 10; ++run) wrong += turn_around(workers, 97, 7) != expected;
        Stages throwing(5, [&](const TeamTurn& turn) {
          for_tasks(turn, 9, [&](int64_t task) {
            if (task == 4) wrong += turn_around(workers, 97, 7) != expected;
            if (turn.stage == 2 && task == round % 9) throw std::runtime_error("task");
          });
        });
        try {
          workers.run(throwing);
          ++wrong;
        } catch (const std::runtime_error&) {
        }
        if (round % 16 == caller) std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(team_status().callers, 0);
}

// ---- Processors ---------------------------------------------------------------------------------

TEST(RuntimeProcessors, ControlGroupsLimit) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("relay-cgroup-" + std::to_string(getpid()));
  auto write = [&](const std::string& path, const std::string& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  EXPECT_EQ(cgroup_processors("", root), 0);
  EXPECT_EQ(cgroup_processors("0::/\n", root), 0);
  write("cpu.max", "max 100000\n");
  write("a/cpu.max", "250000 100000\n");
  write("a/b/cpu.max", "max 100000\n");
  write("a/c/cpu.max", "50000 100000\n");
  write("bad/cpu.max", "what\n");
  EXPECT_EQ(cgroup_processors("0::/\n", root), 0);
  EXPECT_EQ(cgroup_processors("0::/a\n", root), 2.5);
  EXPECT_EQ(cgroup_processors("0::/a/b\n", root), 2.5);  // of the group around it
  EXPECT_EQ(cgroup_processors("0::/a/c\n", root), 0.5);
  EXPECT_EQ(cgroup_processors("0::/bad\n", root), 0);
  EXPECT_EQ(cgroup_processors("no colons\n0::/a\n", root), 2.5);
  // The first version, beside the second.
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  write("cpu/d/cpu.cfs_quota_us", "150000\n");
  write("cpu/d/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_processors("4:memory:/d\n2:cpu,cpuacct:/d\n0::/\n", root), 1.5);
  EXPECT_EQ(cgroup_processors("2:cpuset:/d\n", root), 0);
  EXPECT_EQ(cgroup_processors("2:cpu:/\n", root), 0);
  // Named as outside of the container, where the mounted root is its own group.
  write("cpu/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(cgroup_processors("2:cpu:/docker/x\n", root), 3);
  fs::remove_all(root);
}

}  // namespace
}  // namespace relay::runtime_team_test

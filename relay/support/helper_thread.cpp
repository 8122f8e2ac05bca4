#include <relay/support/helper_thread.h>

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <csignal>

namespace relay {

bool start_helper_thread(void* (*run)(void*), void* argument, size_t stack) noexcept {
  static std::atomic<bool> kept{false};
  if (!kept.exchange(true)) {
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(run), &info) != 0)
      dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
  sigset_t all, before;
  sigfillset(&all);
  for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF}) sigdelset(&all, own);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

}  // namespace relay

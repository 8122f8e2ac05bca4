#include <tools/relay/page_server.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <string_view>

#include <fmt/core.h>

#include <relay/support/error.h>

#include <tools/relay/command.h>
#include <tools/relay/native.h>

namespace relay::tool {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostRequest = 16 << 10;
constexpr auto kPatience = std::chrono::seconds(5);  // with one request, and with its answer
constexpr int kTick = 100;                           // milliseconds between looks at Ctrl-C

class Socket {
 public:
  explicit Socket(int handle) : handle_(handle) {}
  ~Socket() {
    if (handle_ >= 0) ::close(handle_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return handle_; }

 private:
  int handle_;
};

std::string new_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
  return token;
}

// True once the socket is ready; false at the deadline or on Ctrl-C.
bool wait_for(int socket, short events, Clock::time_point deadline,
              const std::atomic<bool>* interrupt) {
  while (!*interrupt && Clock::now() < deadline) {
    pollfd poll{socket, events, 0};
    const int ready = ::poll(&poll, 1, kTick);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

// The head of a request; empty if it is too long or too slow.
std::string read_head(int socket, const std::atomic<bool>* interrupt) {
  std::string head;
  const Clock::time_point deadline = Clock::now() + kPatience;
  char bytes[4096];
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (head.size() > kMostRequest || !wait_for(socket, POLLIN, deadline, interrupt)) return {};
    const ssize_t got = ::recv(socket, bytes, sizeof bytes, 0);
    if (got <= 0) return {};
    head.append(bytes, static_cast<size_t>(got));
  }
  return head;
}

void send_all(int socket, std::string_view text, const std::atomic<bool>* interrupt) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (!text.empty() && wait_for(socket, POLLOUT, deadline, interrupt)) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return;
    if (sent > 0) text.remove_prefix(static_cast<size_t>(sent));
  }
}

// The value of a field of the head; empty if it is missing or there twice.
std::string_view field(std::string_view head, std::string_view name) {
  std::string_view found;
  size_t times = 0;
  for (size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at)) {
    at += 2;
    const std::string_view line = head.substr(at, head.find("\r\n", at) - at);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (::strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    found = line.substr(name.size() + 1);
    while (found.starts_with(' ')) found.remove_prefix(1);
    ++times;
  }
  return times == 1 ? found : std::string_view();
}

// The answer to a request: the page for who knows the token and names this host.
void answer(int socket, const std::string& head, const std::string& page, const std::string& token,
            int port, const std::atomic<bool>* interrupt) {
  const std::string_view line = std::string_view(head).substr(0, head.find("\r\n"));
  const std::string_view host = field(head, "Host");
  const bool here =
      host == fmt::format("127.0.0.1:{}", port) || host == fmt::format("localhost:{}", port);
  const bool known = line.starts_with("GET /?token=" + token + " HTTP/1.");
  const char* status = here && known ? "200 OK" : "403 Forbidden";
  const std::string_view body =
      here && known
          ? std::string_view(page)
          : std::string_view("The address that `relay explore` printed opens the page.\n");
  send_all(socket,
           fmt::format("HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n"
                       "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                       "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"
                       "Cross-Origin-Resource-Policy: same-origin\r\n"
                       "Cross-Origin-Opener-Policy: same-origin\r\nConnection: close\r\n\r\n",
                       status, here && known ? "text/html" : "text/plain", body.size()),
           interrupt);
  send_all(socket, body, interrupt);
}

}  // namespace

void serve_page(const std::string& page, int port) {
  const Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const int one = 1;
  if (listener.get() < 0 ||
      ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
      ::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), 16) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0) {
    throw Error(fmt::format("cannot take port {} of the loopback: {}", port, std::strerror(errno)));
  }
  port = ntohs(address.sin_port);
  const std::string token = new_token();
  Interruption interruption;
  print_out(fmt::format("http://127.0.0.1:{}/?token={}\n", port, token));
  while (!*interruption.flag()) {
    const auto soon = Clock::now() + std::chrono::hours(1);
    if (!wait_for(listener.get(), POLLIN, soon, interruption.flag())) continue;
    const Socket client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.get() < 0) continue;
    const std::string head = read_head(client.get(), interruption.flag());
    if (!head.empty()) answer(client.get(), head, page, token, port, interruption.flag());
  }
}

}  // namespace relay::tool

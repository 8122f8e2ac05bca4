#include <relay/runtime/kernels/fft/plan.h>

#include <relay/runtime/kernels/vectors.h>
#include <relay/runtime/reclaim.h>
#include <relay/support/fork_mutex.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <list>
#include <mutex>
#include <numbers>

namespace relay::fft {
namespace {

/// exp(-2 pi i k / n), from an angle of at most an eighth of a turn.
void unit_root(int64_t k, int64_t n, double& re, double& im) {
  k %= n;
  int64_t quarter = 4 * k / n, rest = 4 * k - quarter * n;
  bool far = 2 * rest > n;
  double angle =
      std::numbers::pi / 2 * static_cast<double>(far ? n - rest : rest) / static_cast<double>(n);
  double c = std::cos(angle), s = std::sin(angle);
  if (far) std::swap(c, s);
  const double turned[4][2] = {{c, s}, {-s, c}, {-c, -s}, {s, -c}};
  re = turned[quarter][0];
  im = -turned[quarter][1];
}

/// Powers of exp(-2 pi i / n), many of them: products of two tables.
class Roots {
 public:
  explicit Roots(int64_t n) : n_(n) {
    while (step_ * step_ < n) step_ *= 2;
    for (int64_t k = 0; k < step_ && k < n; ++k) add(fine_, k);
    for (int64_t k = 0; k < n; k += step_) add(coarse_, k);
  }
  void find(int64_t k, double& re, double& im) const {
    const Root &a = coarse_[static_cast<size_t>(k / step_)],
               &b = fine_[static_cast<size_t>(k % step_)];
    re = a.re * b.re - a.im * b.im;
    im = a.re * b.im + a.im * b.re;
  }

 private:
  struct Root {
    double re, im;
  };
  void add(std::vector<Root>& to, int64_t k) const {
    Root root{};
    unit_root(k, n_, root.re, root.im);
    to.push_back(root);
  }
  int64_t n_;
  int64_t step_ = 1;
  std::vector<Root> fine_, coarse_;
};

/// Radices whose product is n, the larger ones of 2 first; empty if a prime factor is too large.
std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> radices;
  int twos = 0;
  for (; n % 2 == 0; n /= 2) ++twos;
  for (; twos >= 3 && twos != 4; twos -= 3) radices.push_back(8);
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  for (int64_t prime = 3; prime <= kLargestRadix; prime += 2) {
    for (; n % prime == 0; n /= prime) radices.push_back(prime);
  }
  if (n > 1) radices.clear();
  return radices;
}

/// The divisor of n nearest to its root, from below.
int64_t middle_divisor(int64_t n) {
  auto root = static_cast<int64_t>(std::sqrt(static_cast<double>(n)));
  for (int64_t d = root; d > 1; --d) {
    if (n % d == 0) return d;
  }
  return 1;
}

/// The least length from n on whose transform is quick.
int64_t quick_length(int64_t n) {
  int64_t best = INT64_MAX;
  for (int64_t odd : {1, 3, 5, 9, 15}) {
    int64_t length = odd;
    while (length < n) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

}  // namespace

template <class T>
const Code<T>& code() {
#if defined(__x86_64__)
  if (has_avx2_fma()) return code_avx2(T{});
#endif
  return code_baseline(T{});
}

template <class T>
bool TilePlan<T>::fits(int64_t n) {
  return n == 1 || !radices_of(n).empty();
}

template <class T>
TilePlan<T>::TilePlan(int64_t n) : n_(n) {
  int64_t length = n;  // of the transforms that are left
  for (int64_t radix : radices_of(n)) {
    Pass pass{radix, length / radix, {}, {}};
    double re, im;
    for (int64_t p = 0; p < pass.m; ++p) {
      for (int64_t k = 1; k < radix; ++k) {
        unit_root(p * k, length, re, im);
        pass.twiddles.push_back(static_cast<T>(re));
        pass.twiddles.push_back(static_cast<T>(im));
      }
    }
    for (int64_t k = 0; k < radix; ++k) {
      unit_root(k, radix, re, im);
      pass.roots.push_back(static_cast<T>(re));
      pass.roots.push_back(static_cast<T>(im));
    }
    length = pass.m;
    passes_.push_back(std::move(pass));
  }
}

template <class T>
size_t TilePlan<T>::bytes() const {
  size_t numbers = 0;
  for (const Pass& pass : passes_) numbers += pass.twiddles.capacity() + pass.roots.capacity();
  return numbers * sizeof(T) + passes_.capacity() * sizeof(Pass);
}

template <class T>
Parts<T> TilePlan<T>::run(Parts<T> x, Parts<T> y, int64_t width) const {
  const Code<T>& loops = code<T>();
  int64_t s = width;
  for (const Pass& pass : passes_) {
    loops.pass(pass.radix, x.r, x.i, y.r, y.i, pass.m, s, pass.twiddles.data(), pass.roots.data());
    s *= pass.radix;
    std::swap(x, y);
  }
  return x;
}

template <class T>
SplitPlan<T>::SplitPlan(int64_t outer_length, int64_t inner_length)
    : outer(outer_length), inner(inner_length), twiddles(outer_length * inner_length) {
  Roots roots(outer_length * inner_length);
  for (int64_t k = 0; k < outer_length; ++k) {
    for (int64_t j = 0; j < inner_length; ++j) {
      double re, im;
      roots.find(k * j, re, im);
      twiddles.r[k * inner_length + j] = static_cast<T>(re);
      twiddles.i[k * inner_length + j] = static_cast<T>(im);
    }
  }
}

template <class T>
size_t SplitPlan<T>::bytes() const {
  auto points = static_cast<size_t>(outer.length() * inner.length());
  return outer.bytes() + inner.bytes() + 2 * points * sizeof(T);
}

template <class T>
ChirpPlan<T>::ChirpPlan(int64_t n)
    : padded(plan_for<T>(quick_length(2 * n - 1))), chirp(n), spectrum(padded->n) {
  int64_t length = padded->n;
  Roots roots(2 * n);
  Numbers<T> conjugate(length);
  std::fill_n(conjugate.r.data(), length, T{});
  std::fill_n(conjugate.i.data(), length, T{});
  double scale = 1.0 / static_cast<double>(length);
  for (int64_t k = 0; k < n; ++k) {
    double re, im;
    auto square = static_cast<int64_t>(static_cast<__int128>(k) * k % (2 * n));
    roots.find(square, re, im);
    chirp.r[k] = static_cast<T>(re);
    chirp.i[k] = static_cast<T>(im);
    for (int64_t at : {k, (length - k) % length}) {
      conjugate.r[at] = static_cast<T>(re * scale);
      conjugate.i[at] = static_cast<T>(-im * scale);
    }
  }
  transform<T>(nullptr, *padded, {conjugate.r.data(), conjugate.i.data()}, spectrum.parts(), 1,
               T{1});
}

template <class T>
size_t ChirpPlan<T>::bytes() const {
  // The spectrum is as long as the padded rows; the chirp is about half of that.
  return padded->bytes() + 4 * static_cast<size_t>(padded->n) * sizeof(T);
}

template <class T>
Plan<T>::Plan(int64_t length) : n(length) {
  // Shorter ones are in the caches as a whole.
  constexpr int64_t kShortest = 256;
  if (!TilePlan<T>::fits(n)) {
    chirp = std::make_unique<ChirpPlan<T>>(n);
    return;
  }
  int64_t outer = n < kShortest ? 1 : middle_divisor(n);
  if (outer >= code<T>().lanes) split = std::make_unique<SplitPlan<T>>(outer, n / outer);
  constexpr int64_t kLongest = 1 << 13;
  if (split == nullptr || n <= kLongest) tile = std::make_unique<TilePlan<T>>(n);
}

template <class T>
size_t Plan<T>::bytes() const {
  return sizeof *this + (tile == nullptr ? 0 : tile->bytes()) +
         (split == nullptr ? 0 : split->bytes()) + (chirp == nullptr ? 0 : chirp->bytes());
}

namespace {

/// The plans that were used last.
template <class T>
class Cache {
 public:
  using Ref = std::shared_ptr<const Plan<T>>;

  static Cache& instance() {
    static Cache* cache = [] {
      reclaim_with([]() noexcept { instance().drop(); });
      return new Cache;
    }();
    return *cache;
  }

  Ref find(int64_t n) {
    std::lock_guard lock(mutex_);
    for (auto at = plans_.begin(); at != plans_.end(); ++at) {
      if ((*at)->n != n) continue;
      plans_.splice(plans_.begin(), plans_, at);
      return plans_.front();
    }
    return nullptr;
  }

  void keep(const Ref& plan) {
    constexpr size_t kMost = 16;
    constexpr size_t kMostBytes = size_t{32} << 20;
    size_t bytes = plan->bytes();
    if (bytes > kMostBytes) return;
    std::list<Ref> rest;  // freed without the lock
    std::lock_guard lock(mutex_);
    plans_.push_front(plan);
    bytes_ += bytes;
    while (plans_.size() > kMost || bytes_ > kMostBytes) {
      bytes_ -= plans_.back()->bytes();
      rest.splice(rest.begin(), plans_, std::prev(plans_.end()));
    }
  }

  void drop() noexcept {
    std::list<Ref> all;
    std::lock_guard lock(mutex_);
    all.swap(plans_);
    bytes_ = 0;
  }

 private:
  ForkMutex mutex_;
  std::list<Ref> plans_;
  size_t bytes_ = 0;  // of them all; what two of them share counts twice
};

// As the library is loaded: a child must not wait for a thread that was making one.
[[maybe_unused]] Cache<float>& floats_made_early = Cache<float>::instance();
[[maybe_unused]] Cache<double>& doubles_made_early = Cache<double>::instance();

}  // namespace

template <class T>
std::shared_ptr<const Plan<T>> plan_for(int64_t n) {
  auto& cache = Cache<T>::instance();
  if (auto known = cache.find(n)) return known;
  auto plan = std::make_shared<const Plan<T>>(n);
  cache.keep(plan);
  return plan;
}

template const Code<float>& code<float>();
template const Code<double>& code<double>();
template class TilePlan<float>;
template class TilePlan<double>;
template struct Plan<float>;
template struct Plan<double>;
template std::shared_ptr<const Plan<float>> plan_for<float>(int64_t n);
template std::shared_ptr<const Plan<double>> plan_for<double>(int64_t n);

}  // namespace relay::fft

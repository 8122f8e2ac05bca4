// Intrusive reference counting shared by IR nodes, types, attributes and run-time objects.
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace relay {

/// Owning pointer to an object that counts its own references.
///
/// `T` provides `void retain() const noexcept` and `void release() const noexcept`. A `Ref` is one
/// pointer wide; visitors borrow the raw pointer with `get()` and never touch the count.
template <class T>
class Ref {
 public:
  using element_type = T;

  constexpr Ref() noexcept = default;
  constexpr Ref(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)

  /// Shares ownership of `pointer`, which may be null.
  explicit Ref(T* pointer) noexcept : pointer_(pointer) {
    if (pointer_ != nullptr) pointer_->retain();
  }

  Ref(const Ref& other) noexcept : Ref(other.pointer_) {}
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}

  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  Ref(const Ref<U>& other) noexcept : Ref(other.get()) {}  // NOLINT(google-explicit-constructor)
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  Ref(Ref<U>&& other) noexcept : pointer_(other.detach()) {}  // NOLINT(google-explicit-constructor)

  ~Ref() {
    if (pointer_ != nullptr) pointer_->release();
  }

  Ref& operator=(const Ref& other) noexcept {
    Ref copy(other);
    std::swap(pointer_, copy.pointer_);
    return *this;
  }
  Ref& operator=(Ref&& other) noexcept {
    Ref moved(std::move(other));
    std::swap(pointer_, moved.pointer_);
    return *this;
  }

  /// Takes over a reference that is already counted (a fresh object starts with one).
  static Ref adopt(T* pointer) noexcept {
    Ref result;
    result.pointer_ = pointer;
    return result;
  }
  /// Gives the counted reference to the caller.
  [[nodiscard]] T* detach() noexcept { return std::exchange(pointer_, nullptr); }

  T* get() const noexcept { return pointer_; }
  T& operator*() const noexcept { return *pointer_; }
  T* operator->() const noexcept { return pointer_; }
  explicit operator bool() const noexcept { return pointer_ != nullptr; }

  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.pointer_ == b.pointer_; }
  friend bool operator==(const Ref& a, const T* b) noexcept { return a.pointer_ == b; }

 private:
  T* pointer_ = nullptr;
};

/// Creates an object whose count starts at one.
template <class T, class... Args>
[[nodiscard]] Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace relay

template <class T>
struct std::hash<relay::Ref<T>> {
  std::size_t operator()(const relay::Ref<T>& ref) const noexcept {
    return std::hash<T*>()(ref.get());
  }
};

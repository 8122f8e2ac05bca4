#include <relay/codegen/llvm/elf.h>

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <relay/support/error.h>

namespace relay::codegen {

namespace {

class Linker {
 public:
  explicit Linker(std::span<const std::byte> object) : object_(object) {
    header_ = read<Elf64_Ehdr>(0);
    RELAY_CHECK(std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
                    (header_.e_machine == EM_X86_64 || header_.e_machine == EM_AARCH64) &&
                    header_.e_type == ET_REL,
                "LLVM wrote no object for a known processor");
    sections_.resize(header_.e_shnum);
    for (size_t i = 0; i < sections_.size(); ++i) {
      sections_[i] = read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr));
    }
    RELAY_CHECK(header_.e_shstrndx < sections_.size(), "object without section names");
  }

  KernelBlob link(const std::string& function) {
    place();
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_SYMTAB) symbols_ = &section;
    }
    RELAY_CHECK(symbols_ != nullptr, "object without symbols");
    for (const Elf64_Shdr& section : sections_) {
      RELAY_CHECK(section.sh_type != SHT_REL, "relocations without addends");
      if (section.sh_type == SHT_RELA) relocate(section);
    }
    find_entry(function);
    return std::move(blob_);
  }

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};
  static constexpr uint64_t kPage = 4096;  // as instructions count, whatever the system's are

  template <class T>
  T read(uint64_t offset) const {
    RELAY_CHECK(offset <= object_.size() && object_.size() - offset >= sizeof(T),
                "object cut short");
    T value;
    std::memcpy(&value, object_.data() + offset, sizeof(T));
    return value;
  }

  std::string text(const Elf64_Shdr& strings, uint64_t index) const {
    const uint64_t begin = strings.sh_offset + index;
    uint64_t end = begin;
    while (read<char>(end) != 0) ++end;
    return {reinterpret_cast<const char*>(object_.data()) + begin, end - begin};
  }

  std::string section_name(const Elf64_Shdr& section) const {
    return text(sections_[header_.e_shstrndx], section.sh_name);
  }

  /// Code first, then constants, each at its alignment.
  void place() {
    offsets_.assign(sections_.size(), kNowhere);
    uint64_t end = 0;
    // AArch64 finds constants by the distance between pages and the place in a page.
    uint64_t alignment = header_.e_machine == EM_AARCH64 ? kPage : 64;
    for (const bool code : {true, false}) {
      for (size_t i = 0; i < sections_.size(); ++i) {
        const Elf64_Shdr& section = sections_[i];
        if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_size == 0) continue;
        if (((section.sh_flags & SHF_EXECINSTR) != 0) != code) continue;
        const std::string name = section_name(section);
        if (name.starts_with(".eh_frame")) continue;  // nothing unwinds through a kernel
        RELAY_CHECK(
            (section.sh_flags & (SHF_WRITE | SHF_TLS)) == 0 && section.sh_type == SHT_PROGBITS,
            "kernel with a section that a blob cannot hold: " + name);
        const uint64_t align = std::max<uint64_t>(section.sh_addralign, 1);
        alignment = std::max(alignment, align);
        end = (end + align - 1) / align * align;
        offsets_[i] = end;
        blob_.bytes.resize(end, std::byte{0xcc});
        RELAY_CHECK(section.sh_offset <= object_.size() &&
                        object_.size() - section.sh_offset >= section.sh_size,
                    "object cut short");
        const std::byte* from = object_.data() + section.sh_offset;
        blob_.bytes.insert(blob_.bytes.end(), from, from + section.sh_size);
        end += section.sh_size;
      }
    }
    RELAY_CHECK(alignment <= kPage, "constants aligned beyond a page");
    RELAY_CHECK(end < (uint64_t{1} << 31), "kernel of more than 2 GiB");
    blob_.alignment = static_cast<uint32_t>(alignment);
  }

  Elf64_Sym symbol(uint64_t index) const {
    RELAY_CHECK(index < symbols_->sh_size / sizeof(Elf64_Sym), "symbol out of range");
    return read<Elf64_Sym>(symbols_->sh_offset + index * sizeof(Elf64_Sym));
  }

  std::string symbol_name(const Elf64_Sym& symbol) const {
    if (ELF64_ST_TYPE(symbol.st_info) == STT_SECTION && symbol.st_shndx < sections_.size()) {
      return section_name(sections_[symbol.st_shndx]);
    }
    RELAY_CHECK(symbols_->sh_link < sections_.size(), "object without symbol names");
    return text(sections_[symbols_->sh_link], symbol.st_name);
  }

  uint64_t address(const Elf64_Sym& symbol) const {
    if (symbol.st_shndx == SHN_UNDEF) {
      throw InternalError("generated code refers to '" + symbol_name(symbol) +
                          "', which it does not define");
    }
    RELAY_CHECK(symbol.st_shndx < sections_.size() && offsets_[symbol.st_shndx] != kNowhere,
                "symbol '" + symbol_name(symbol) + "' is not in the blob");
    return offsets_[symbol.st_shndx] + symbol.st_value;
  }

  void relocate(const Elf64_Shdr& section) {
    RELAY_CHECK(section.sh_info < sections_.size(), "relocations of no section");
    const uint64_t base = offsets_[section.sh_info];
    if (base == kNowhere) return;  // debugging or unwinding information
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section.sh_size; at += sizeof(Elf64_Rela)) {
      const auto entry = read<Elf64_Rela>(section.sh_offset + at);
      const Elf64_Sym to = symbol(ELF64_R_SYM(entry.r_info));
      const uint32_t type = ELF64_R_TYPE(entry.r_info);
      const uint64_t place = base + entry.r_offset;
      const auto target = static_cast<int64_t>(address(to)) + entry.r_addend;
      const bool known = header_.e_machine == EM_X86_64
                             ? relocate_x86(type, place, target - static_cast<int64_t>(place))
                             : relocate_aarch64(type, place, target);
      if (!known) {
        throw InternalError("generated code is not position-independent: relocation " +
                            std::to_string(type) + " against '" + symbol_name(to) + "'");
      }
    }
  }

  std::byte* linked(uint64_t place, size_t bytes) {
    RELAY_CHECK(place <= blob_.bytes.size() && blob_.bytes.size() - place >= bytes,
                "relocation out of range");
    return blob_.bytes.data() + place;
  }

  template <class T>
  void write(uint64_t place, int64_t value) {
    const auto narrow = static_cast<T>(value);
    RELAY_CHECK(narrow == value, "relocation overflows");
    std::memcpy(linked(place, sizeof(T)), &narrow, sizeof(T));
  }

  bool relocate_x86(uint32_t type, uint64_t place, int64_t value) {
    switch (type) {
      case R_X86_64_PC32:
      case R_X86_64_PLT32:
        write<int32_t>(place, value);
        return true;
      case R_X86_64_PC64:
        write<int64_t>(place, value);
        return true;
      default:
        return false;
    }
  }

  /// Puts `count` low bits of the value into the instruction, from bit `first` on.
  void patch(uint64_t place, uint64_t value, unsigned count, unsigned first) {
    uint32_t instruction = 0;
    std::byte* at = linked(place, sizeof(instruction));
    std::memcpy(&instruction, at, sizeof(instruction));
    const uint32_t mask = ((uint32_t{1} << count) - 1) << first;
    instruction = (instruction & ~mask) | (static_cast<uint32_t>(value << first) & mask);
    std::memcpy(at, &instruction, sizeof(instruction));
  }

  static void check_reach(int64_t value, unsigned bits) {
    const int64_t limit = int64_t{1} << (bits - 1);
    RELAY_CHECK(value >= -limit && value < limit, "relocation overflows");
  }

  bool relocate_aarch64(uint32_t type, uint64_t place, int64_t target) {
    const int64_t distance = target - static_cast<int64_t>(place);
    const auto in_page = static_cast<uint64_t>(target) % kPage;
    switch (type) {
      case R_AARCH64_PREL32:
        write<int32_t>(place, distance);
        return true;
      case R_AARCH64_PREL64:
        write<int64_t>(place, distance);
        return true;
      case R_AARCH64_CALL26:
      case R_AARCH64_JUMP26:
        check_reach(distance, 28);
        patch(place, static_cast<uint64_t>(distance) >> 2, 26, 0);
        return true;
      case R_AARCH64_ADR_PREL_PG_HI21: {
        const auto pages = (static_cast<uint64_t>(target) / kPage) - (place / kPage);
        patch(place, pages & 3, 2, 29);
        patch(place, pages >> 2, 19, 5);
        return true;
      }
      case R_AARCH64_ADD_ABS_LO12_NC:
      case R_AARCH64_LDST8_ABS_LO12_NC:
        patch(place, in_page, 12, 10);
        return true;
      case R_AARCH64_LDST16_ABS_LO12_NC:
        patch(place, in_page >> 1, 12, 10);
        return true;
      case R_AARCH64_LDST32_ABS_LO12_NC:
        patch(place, in_page >> 2, 12, 10);
        return true;
      case R_AARCH64_LDST64_ABS_LO12_NC:
        patch(place, in_page >> 3, 12, 10);
        return true;
      case R_AARCH64_LDST128_ABS_LO12_NC:
        patch(place, in_page >> 4, 12, 10);
        return true;
      default:
        return false;
    }
  }

  void find_entry(const std::string& function) {
    for (uint64_t i = 0; i < symbols_->sh_size / sizeof(Elf64_Sym); ++i) {
      const Elf64_Sym candidate = symbol(i);
      if (ELF64_ST_TYPE(candidate.st_info) == STT_FUNC && symbol_name(candidate) == function) {
        blob_.entry = static_cast<uint32_t>(address(candidate));
        return;
      }
    }
    throw InternalError("the object does not define '" + function + "'");
  }

  std::span<const std::byte> object_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Shdr> sections_;
  std::vector<uint64_t> offsets_;  // of each section in the blob
  const Elf64_Shdr* symbols_ = nullptr;
  KernelBlob blob_;
};

}  // namespace

KernelBlob link_object(std::span<const std::byte> object, const std::string& function) {
  return Linker(object).link(function);
}

}  // namespace relay::codegen

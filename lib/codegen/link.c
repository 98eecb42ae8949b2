/* The linker: see link.h.
 *
 * Instructions of all objects come first, then a stub for each function that is not defined, then
 * data and, behind them, a slot for each such function, to which its stub jumps. Distances inside
 * of an image are final when it is laid out; an absolute address is a place to rebase, and an
 * address outside of the image is an import. Data are never written by code, so all sections that
 * are not instructions are one. */
#include "codegen/link.h"

#include <elf.h>
#include <string.h>

#include "support/diag.h"

#define STUB 16
#define NOWHERE UINT64_MAX

typedef struct Object {
  const char *bytes;
  size_t size;
  const Elf64_Shdr *sections;
  uint32_t nsections;
  const Elf64_Sym *symbols;
  uint32_t nsymbols;
  const char *section_names, *names;
  uint64_t *at; /* of each section, in the image; NOWHERE: not in it */
  bool lines;
} Object;

/* A symbol that needs an address in memory. */
typedef struct Slot {
  const char *name; /* NULL: the image defines the symbol */
  const Object *object;
  uint32_t symbol;
} Slot;

typedef struct Linker {
  GlowContext *ctx;
  GlowArena *arena;
  Object *objects;
  uint32_t nobjects;
  uint16_t machine;
  const char *wrong; /* the first thing; NULL: nothing */
  GLOW_VEC(Slot) slots;
  GLOW_VEC(uint64_t) rebases;
  GLOW_VEC(GlowCodeImport) imports;
  GLOW_VEC(GlowCodeFunction) functions;
  GLOW_VEC(GlowBytes) names;
  uint64_t names_size;
  uint64_t stubs, used, text, table, data; /* offsets: of stubs, ends, of slots, the end of all */
  char *memory;
} Linker;

static void fail(Linker *l, const char *why) { l->wrong = l->wrong ? l->wrong : why; }

/* ---- Reading --------------------------------------------------------------------------------- */

static bool inside(const Object *o, uint64_t offset, uint64_t count, uint64_t size) {
  return offset <= o->size && count <= (o->size - offset) / size;
}

static bool read_symbols(Object *o) {
  for (uint32_t i = 0; i < o->nsections; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    if (s->sh_type != SHT_SYMTAB)
      continue;
    if (!inside(o, s->sh_offset, s->sh_size, 1) || s->sh_link >= o->nsections ||
        !inside(o, o->sections[s->sh_link].sh_offset, o->sections[s->sh_link].sh_size, 1))
      return false;
    o->symbols = (const void *)(o->bytes + s->sh_offset);
    o->nsymbols = (uint32_t)(s->sh_size / sizeof(Elf64_Sym));
    o->names = o->bytes + o->sections[s->sh_link].sh_offset;
  }
  return o->symbols != NULL;
}

static bool read_object(Linker *l, GlowBytes bytes, Object *o) {
  const Elf64_Ehdr *h = bytes.data;
  *o = (Object){.bytes = bytes.data, .size = bytes.size};
  if (bytes.size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
      h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
      h->e_type != ET_REL || h->e_shstrndx >= h->e_shnum ||
      !inside(o, h->e_shoff, h->e_shnum, sizeof(Elf64_Shdr)))
    return false;
  if (l->machine && l->machine != h->e_machine)
    return false;
  l->machine = h->e_machine;
  o->sections = (const void *)(o->bytes + h->e_shoff);
  o->nsections = h->e_shnum;
  if (!inside(o, o->sections[h->e_shstrndx].sh_offset, o->sections[h->e_shstrndx].sh_size, 1))
    return false;
  o->section_names = o->bytes + o->sections[h->e_shstrndx].sh_offset;
  for (uint32_t i = 0; i < o->nsections; i++) {
    const Elf64_Shdr *s = &o->sections[i];
    if (s->sh_type != SHT_NOBITS && !inside(o, s->sh_offset, s->sh_size, 1))
      return false;
    o->lines = o->lines || strcmp(o->section_names + s->sh_name, ".debug_line") == 0;
  }
  o->at = GLOW_NEW_ARRAY(l->arena, uint64_t, o->nsections);
  return read_symbols(o);
}

/* ---- Symbols --------------------------------------------------------------------------------- */

/* The address of a symbol in the image, or NOWHERE. */
static uint64_t place_of(const Object *o, const Elf64_Sym *s) {
  if (s->st_shndx == SHN_UNDEF || s->st_shndx >= o->nsections || o->at[s->st_shndx] == NOWHERE)
    return NOWHERE;
  return o->at[s->st_shndx] + s->st_value;
}

/* The object and the symbol that define a symbol: another object may. False: none does. */
static bool find_definition(const Linker *l, const Object **o, const Elf64_Sym **s) {
  if ((*s)->st_shndx != SHN_UNDEF)
    return true;
  const char *name = (*o)->names + (*s)->st_name;
  for (uint32_t i = 0; i < l->nobjects; i++) {
    const Object *other = &l->objects[i];
    for (uint32_t k = 0; k < other->nsymbols; k++) {
      const Elf64_Sym *t = &other->symbols[k];
      if (t->st_shndx != SHN_UNDEF && ELF64_ST_BIND(t->st_info) != STB_LOCAL &&
          strcmp(other->names + t->st_name, name) == 0) {
        *o = other;
        *s = t;
        return true;
      }
    }
  }
  return false;
}

/* The slot of a symbol, which is made if there is none. */
static uint32_t slot_of(Linker *l, const Object *o, uint32_t symbol) {
  const Elf64_Sym *s = &o->symbols[symbol];
  const Object *owner = o;
  bool defined = find_definition(l, &owner, &s);
  Slot slot = {.object = owner, .symbol = (uint32_t)(s - owner->symbols)};
  slot.name = defined ? NULL : o->names + s->st_name;
  for (uint32_t i = 0; i < l->slots.count; i++) {
    const Slot *t = &l->slots.data[i];
    if (defined ? !t->name && t->object == slot.object && t->symbol == slot.symbol
                : t->name && strcmp(t->name, slot.name) == 0)
      return i;
  }
  glow_vec_push(l->arena, &l->slots, slot);
  return l->slots.count - 1;
}

static uint64_t add_name(Linker *l, const char *name) {
  uint64_t at = l->names_size;
  GlowBytes b = {name, strlen(name) + 1};
  glow_vec_push(l->arena, &l->names, b);
  l->names_size += b.size;
  return at;
}

/* ---- Layout ---------------------------------------------------------------------------------- */

static uint64_t align(uint64_t at, uint64_t to) { return to ? (at + to - 1) / to * to : at; }

/* Unwinding is for debuggers alone. */
static bool is_wanted(const Object *o, const Elf64_Shdr *s) {
  const char *name = o->section_names + s->sh_name;
  return (s->sh_flags & SHF_ALLOC) && (o->lines || strcmp(name, ".eh_frame") != 0);
}

/* Gives places to sections that are instructions, or that are not. */
static uint64_t place_sections(Linker *l, bool code, uint64_t at) {
  for (uint32_t i = 0; i < l->nobjects; i++) {
    Object *o = &l->objects[i];
    for (uint32_t k = 0; k < o->nsections; k++) {
      const Elf64_Shdr *s = &o->sections[k];
      if (code)
        o->at[k] = NOWHERE;
      if (!is_wanted(o, s) || code != !!(s->sh_flags & SHF_EXECINSTR))
        continue;
      const char *name = o->section_names + s->sh_name;
      bool writes = (s->sh_flags & SHF_WRITE) && strncmp(name, ".data.rel.ro", 12) != 0;
      if (s->sh_size && (writes || (s->sh_flags & SHF_TLS) || s->sh_addralign > GLOW_CODE_PAGE))
        fail(l, glow_str_printf(l->ctx, "unknown kind of section '%s'", name));
      at = align(at, s->sh_addralign);
      o->at[k] = at;
      at += s->sh_size;
    }
  }
  return at;
}

static bool has_relocations(const Object *o, const Elf64_Shdr *s) {
  return s->sh_type == SHT_RELA && s->sh_info < o->nsections && o->at[s->sh_info] != NOWHERE;
}

/* Calls f for all relocations of sections that are in the image. */
typedef void Each(Linker *l, const Object *o, const Elf64_Shdr *table, const Elf64_Rela *r);
static void each_relocation(Linker *l, Each *f) {
  for (uint32_t i = 0; i < l->nobjects; i++) {
    const Object *o = &l->objects[i];
    for (uint32_t k = 0; k < o->nsections; k++) {
      const Elf64_Shdr *s = &o->sections[k];
      if (!has_relocations(o, s))
        continue;
      const Elf64_Rela *r = (const void *)(o->bytes + s->sh_offset);
      for (uint64_t n = s->sh_size / sizeof *r; n && !l->wrong; n--, r++)
        if (ELF64_R_SYM(r->r_info) < o->nsymbols)
          f(l, o, s, r);
        else
          fail(l, "a relocation has no symbol");
    }
  }
}

/* Whether a relocation means the slot of its symbol. */
static bool is_indirect(uint16_t machine, uint32_t type) {
  switch (machine) {
  case EM_X86_64:
    return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX ||
           type == R_X86_64_REX_GOTPCRELX;
  case EM_AARCH64:
    return type == R_AARCH64_ADR_GOT_PAGE || type == R_AARCH64_LD64_GOT_LO12_NC;
  case EM_RISCV:
    return type == R_RISCV_GOT_HI20;
  default:
    return false;
  }
}

static bool is_nothing(uint16_t machine, uint32_t type) {
  return type == 0 || (machine == EM_RISCV && (type == R_RISCV_RELAX || type == R_RISCV_ALIGN));
}

static void find_slot(Linker *l, const Object *o, const Elf64_Shdr *table, const Elf64_Rela *r) {
  uint32_t symbol = (uint32_t)ELF64_R_SYM(r->r_info), type = (uint32_t)ELF64_R_TYPE(r->r_info);
  const Object *owner = o;
  const Elf64_Sym *s = &o->symbols[symbol];
  (void)table;
  if (!is_nothing(l->machine, type) &&
      (is_indirect(l->machine, type) || !find_definition(l, &owner, &s)))
    slot_of(l, o, symbol);
}

static void lay_out(Linker *l) {
  l->stubs = align(place_sections(l, true, 0), STUB);
  uint64_t after = align(l->stubs, GLOW_CODE_PAGE); /* before the number of stubs is known */
  place_sections(l, false, after);
  each_relocation(l, find_slot);
  l->used = l->stubs + STUB * (uint64_t)l->slots.count;
  l->text = align(l->used, GLOW_CODE_PAGE);
  l->table = align(place_sections(l, false, l->text), 8);
  l->data = l->table + 8 * (uint64_t)l->slots.count;
}

/* ---- Fields of instructions ------------------------------------------------------------------ */

static uint32_t get32(const char *at) {
  uint32_t v;
  memcpy(&v, at, sizeof v);
  return v;
}
static void put32(char *at, uint32_t v) { memcpy(at, &v, sizeof v); }
static void put64(char *at, uint64_t v) { memcpy(at, &v, sizeof v); }
static void set32(char *at, uint32_t mask, uint32_t v) { put32(at, (get32(at) & ~mask) | v); }

static void set16(char *at, uint16_t mask, uint16_t v) {
  uint16_t was;
  memcpy(&was, at, sizeof was);
  was = (uint16_t)((was & ~mask) | v);
  memcpy(at, &was, sizeof was);
}

static bool fits(int64_t v, int bits) {
  return v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1);
}

/* `v` as adrp has it, in pages. */
static uint32_t page_field(uint64_t v) {
  return (uint32_t)((v & 3) << 29 | (v >> 2 & 0x7FFFF) << 5);
}
static uint32_t branch_field(uint64_t v) { /* of RISC-V, 13 bits */
  return (uint32_t)((v >> 12 & 1) << 31 | (v >> 5 & 0x3F) << 25 | (v >> 1 & 0xF) << 8 |
                    (v >> 11 & 1) << 7);
}
static uint32_t jump_field(uint64_t v) { /* of RISC-V, 21 bits */
  return (uint32_t)((v >> 20 & 1) << 31 | (v >> 1 & 0x3FF) << 21 | (v >> 11 & 1) << 20 |
                    (v >> 12 & 0xFF) << 12);
}
/* The same of short instructions, 9 and 12 bits. */
static uint16_t short_branch_field(uint64_t v) {
  return (uint16_t)((v >> 8 & 1) << 12 | (v >> 3 & 3) << 10 | (v >> 6 & 3) << 5 |
                    (v >> 1 & 3) << 3 | (v >> 5 & 1) << 2);
}
static uint16_t short_jump_field(uint64_t v) {
  return (uint16_t)((v >> 11 & 1) << 12 | (v >> 4 & 1) << 11 | (v >> 8 & 3) << 9 |
                    (v >> 10 & 1) << 8 | (v >> 6 & 1) << 7 | (v >> 7 & 1) << 6 | (v >> 1 & 7) << 3 |
                    (v >> 5 & 1) << 2);
}
/* The upper 20 bits of a distance whose lower 12 are signed. */
static uint32_t high_field(int64_t v) { return (uint32_t)(v + 0x800) & 0xFFFFF000; }

static void write_stub(const Linker *l, uint32_t i) {
  char *at = l->memory + l->stubs + STUB * (uint64_t)i;
  uint64_t from = l->stubs + STUB * (uint64_t)i, to = l->table + 8 * (uint64_t)i;
  int64_t d = (int64_t)(to - from);
  switch (l->machine) {
  case EM_X86_64: /* jmp *slot(%rip) */
    memcpy(at, "\xFF\x25", 2);
    put32(at + 2, (uint32_t)(d - 6));
    break;
  case EM_AARCH64: /* adrp x16, slot; ldr x16, [x16, slot]; br x16 */
    put32(at, 0x90000010 | page_field((to >> 12) - (from >> 12)));
    put32(at + 4, 0xF9400210 | (uint32_t)((to & 0xFFF) >> 3) << 10);
    put32(at + 8, 0xD61F0200);
    break;
  default: /* auipc t3, slot; ld t3, slot(t3); jr t3 */
    put32(at, 0x00000E17 | high_field(d));
    put32(at + 4, 0x000E3E03 | (uint32_t)d << 20);
    put32(at + 8, 0x000E0067);
  }
}

/* ---- Relocations ----------------------------------------------------------------------------- */

/* One relocation: at `place` (P), of a symbol at S with addend A. */
typedef struct Fix {
  char *at;
  uint64_t place, target; /* P and S + A */
  int64_t distance;       /* target - place */
} Fix;

typedef enum Applied { APPLIED, TOO_FAR, UNKNOWN } Applied;

static Applied store32(const Fix *f) {
  put32(f->at, (uint32_t)f->distance);
  return fits(f->distance, 32) ? APPLIED : TOO_FAR;
}

static Applied apply_x86(uint32_t type, const Fix *f) {
  switch (type) {
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    return store32(f);
  case R_X86_64_PC64:
    put64(f->at, (uint64_t)f->distance);
    return APPLIED;
  default:
    return UNKNOWN;
  }
}

/* The lower 12 bits of an address, in elements of 1 << shift bytes. */
static Applied low12(const Fix *f, int shift) {
  set32(f->at, 0x3FFC00, (uint32_t)((f->target & 0xFFF) >> shift) << 10);
  return f->target & (((uint64_t)1 << shift) - 1) ? TOO_FAR : APPLIED;
}

static Applied apply_aarch64(uint32_t type, const Fix *f) {
  switch (type) {
  case R_AARCH64_CALL26:
  case R_AARCH64_JUMP26:
    set32(f->at, 0x3FFFFFF, (uint32_t)(f->distance >> 2) & 0x3FFFFFF);
    return fits(f->distance, 28) ? APPLIED : TOO_FAR;
  case R_AARCH64_CONDBR19:
    set32(f->at, 0xFFFFE0, ((uint32_t)(f->distance >> 2) & 0x7FFFF) << 5);
    return fits(f->distance, 21) ? APPLIED : TOO_FAR;
  case R_AARCH64_TSTBR14:
    set32(f->at, 0x7FFE0, ((uint32_t)(f->distance >> 2) & 0x3FFF) << 5);
    return fits(f->distance, 16) ? APPLIED : TOO_FAR;
  case R_AARCH64_ADR_PREL_PG_HI21:
  case R_AARCH64_ADR_GOT_PAGE: {
    int64_t pages = (int64_t)((f->target >> 12) - (f->place >> 12));
    set32(f->at, 0x60FFFFE0, page_field((uint64_t)pages));
    return fits(pages, 21) ? APPLIED : TOO_FAR;
  }
  case R_AARCH64_ADD_ABS_LO12_NC:
  case R_AARCH64_LDST8_ABS_LO12_NC:
    return low12(f, 0);
  case R_AARCH64_LDST16_ABS_LO12_NC:
    return low12(f, 1);
  case R_AARCH64_LDST32_ABS_LO12_NC:
    return low12(f, 2);
  case R_AARCH64_LDST64_ABS_LO12_NC:
  case R_AARCH64_LD64_GOT_LO12_NC:
    return low12(f, 3);
  case R_AARCH64_LDST128_ABS_LO12_NC:
    return low12(f, 4);
  case R_AARCH64_PREL32:
    return store32(f);
  case R_AARCH64_PREL64:
    put64(f->at, (uint64_t)f->distance);
    return APPLIED;
  default:
    return UNKNOWN;
  }
}

static Applied apply_riscv(uint32_t type, const Fix *f) {
  int64_t d = f->distance;
  bool far = !fits(d + 0x800, 32);
  switch (type) {
  case R_RISCV_CALL:
  case R_RISCV_CALL_PLT: /* auipc, jalr */
    set32(f->at, 0xFFFFF000, high_field(d));
    set32(f->at + 4, 0xFFF00000, (uint32_t)d << 20);
    return far ? TOO_FAR : APPLIED;
  case R_RISCV_PCREL_HI20:
  case R_RISCV_GOT_HI20:
    set32(f->at, 0xFFFFF000, high_field(d));
    return far ? TOO_FAR : APPLIED;
  case R_RISCV_PCREL_LO12_I:
    set32(f->at, 0xFFF00000, (uint32_t)d << 20);
    return APPLIED;
  case R_RISCV_PCREL_LO12_S:
    set32(f->at, 0xFE000F80, ((uint32_t)d & 0xFE0) << 20 | ((uint32_t)d & 0x1F) << 7);
    return APPLIED;
  case R_RISCV_BRANCH:
    set32(f->at, 0xFE000F80, branch_field((uint64_t)d));
    return fits(d, 13) ? APPLIED : TOO_FAR;
  case R_RISCV_JAL:
    set32(f->at, 0xFFFFF000, jump_field((uint64_t)d));
    return fits(d, 21) ? APPLIED : TOO_FAR;
  case R_RISCV_RVC_BRANCH:
    set16(f->at, 0x1C7C, short_branch_field((uint64_t)d));
    return fits(d, 9) ? APPLIED : TOO_FAR;
  case R_RISCV_RVC_JUMP:
    set16(f->at, 0x1FFC, short_jump_field((uint64_t)d));
    return fits(d, 12) ? APPLIED : TOO_FAR;
  case R_RISCV_32_PCREL:
    return store32(f);
  case R_RISCV_ADD32:
    put32(f->at, get32(f->at) + (uint32_t)f->target);
    return APPLIED;
  case R_RISCV_SUB32:
    put32(f->at, get32(f->at) - (uint32_t)f->target);
    return APPLIED;
  default:
    return UNKNOWN;
  }
}

/* What the symbol of a relocation stands for in the image. An address of another object's function
 * is that of its stub. */
static uint64_t target_of(Linker *l, const Object *o, uint32_t symbol, uint32_t type) {
  const Elf64_Sym *s = &o->symbols[symbol];
  if (is_indirect(l->machine, type))
    return l->table + 8 * (uint64_t)slot_of(l, o, symbol);
  const Object *owner = o;
  if (find_definition(l, &owner, &s))
    return place_of(owner, s);
  return l->stubs + STUB * (uint64_t)slot_of(l, o, symbol);
}

/* RISC-V's lower half of a distance names the instruction that has the upper half. */
static const Elf64_Rela *upper_half(const Object *o, const Elf64_Shdr *table, const Elf64_Rela *r) {
  uint64_t at = o->symbols[ELF64_R_SYM(r->r_info)].st_value;
  const Elf64_Rela *all = (const void *)(o->bytes + table->sh_offset);
  uint64_t count = table->sh_size / sizeof *all;
  for (uint64_t i = 0; i < count; i++) {
    uint32_t type = (uint32_t)ELF64_R_TYPE(all[i].r_info);
    if (all[i].r_offset == at && (type == R_RISCV_PCREL_HI20 || type == R_RISCV_GOT_HI20))
      return &all[i];
  }
  return NULL;
}

static bool is_absolute(uint16_t machine, uint32_t type) {
  return (machine == EM_X86_64 && type == R_X86_64_64) ||
         (machine == EM_AARCH64 && type == R_AARCH64_ABS64) ||
         (machine == EM_RISCV && type == R_RISCV_64);
}

/* 8 bytes that are an address. */
static void put_address(Linker *l, uint64_t place, uint64_t target) {
  put64(l->memory + place, target);
  if (place < l->text)
    fail(l, "an address lies among instructions");
  glow_vec_push(l->arena, &l->rebases, place);
}

static void put_import(Linker *l, uint64_t place, const char *name, uint64_t addend) {
  GlowCodeImport import = {place, add_name(l, name)};
  put64(l->memory + place, addend);
  glow_vec_push(l->arena, &l->imports, import);
}

/* Bytes that a relocation changes, at least. */
static uint64_t room_of(uint16_t machine, uint32_t type) {
  if (machine == EM_RISCV && (type == R_RISCV_RVC_BRANCH || type == R_RISCV_RVC_JUMP))
    return 2;
  bool wide = (machine == EM_X86_64 && type == R_X86_64_PC64) ||
              (machine == EM_AARCH64 && type == R_AARCH64_PREL64) ||
              (machine == EM_RISCV && (type == R_RISCV_CALL || type == R_RISCV_CALL_PLT));
  return wide ? 8 : 4;
}

static void relocate(Linker *l, const Object *o, const Elf64_Shdr *table, const Elf64_Rela *r) {
  uint32_t symbol = (uint32_t)ELF64_R_SYM(r->r_info), type = (uint32_t)ELF64_R_TYPE(r->r_info);
  const Elf64_Shdr *section = &o->sections[table->sh_info];
  if (is_nothing(l->machine, type))
    return;
  if (r->r_offset > section->sh_size ||
      section->sh_size - r->r_offset < room_of(l->machine, type)) {
    fail(l, "a relocation lies outside of its section");
    return;
  }
  uint64_t place = o->at[table->sh_info] + r->r_offset;
  const Elf64_Rela *means = r;
  if (l->machine == EM_RISCV && (type == R_RISCV_PCREL_LO12_I || type == R_RISCV_PCREL_LO12_S))
    means = upper_half(o, table, r);
  uint64_t target = NOWHERE;
  if (means)
    target = target_of(l, o, (uint32_t)ELF64_R_SYM(means->r_info),
                       (uint32_t)ELF64_R_TYPE(means->r_info));
  const Object *owner = o;
  const Elf64_Sym *s = &o->symbols[symbol];
  if (is_absolute(l->machine, type) && section->sh_size - r->r_offset >= 8) {
    if (!find_definition(l, &owner, &s))
      put_import(l, place, o->names + s->st_name, (uint64_t)r->r_addend);
    else if (target != NOWHERE)
      put_address(l, place, target + (uint64_t)r->r_addend);
    else
      fail(l, "an address leads to a section that is left out");
    return;
  }
  Applied a = UNKNOWN;
  if (target != NOWHERE) {
    Fix f = {.at = l->memory + place, .place = place - r->r_offset + means->r_offset};
    f.target = target + (uint64_t)means->r_addend;
    f.distance = (int64_t)(f.target - f.place);
    a = l->machine == EM_X86_64    ? apply_x86(type, &f)
        : l->machine == EM_AARCH64 ? apply_aarch64(type, &f)
                                   : apply_riscv(type, &f);
  }
  if (a != APPLIED)
    fail(l, glow_str_printf(l->ctx, "%s relocation %u of machine %u in section '%s', symbol '%s'",
                            a == UNKNOWN ? "unknown" : "out of range:", type, l->machine,
                            o->section_names + section->sh_name, o->names + s->st_name));
}

/* ---- The image ------------------------------------------------------------------------------- */

static void copy_sections(Linker *l) {
  for (uint32_t i = 0; i < l->nobjects; i++) {
    const Object *o = &l->objects[i];
    for (uint32_t k = 0; k < o->nsections; k++) {
      const Elf64_Shdr *s = &o->sections[k];
      if (o->at[k] != NOWHERE && s->sh_type != SHT_NOBITS && s->sh_size)
        memcpy(l->memory + o->at[k], o->bytes + s->sh_offset, s->sh_size);
    }
  }
}

static void fill_slots(Linker *l) {
  for (uint32_t i = 0; i < l->slots.count; i++) {
    const Slot *slot = &l->slots.data[i];
    uint64_t at = l->table + 8 * (uint64_t)i;
    if (slot->name) {
      put_import(l, at, slot->name, 0);
    } else {
      uint64_t place = place_of(slot->object, &slot->object->symbols[slot->symbol]);
      if (place == NOWHERE)
        fail(l, "a symbol lies in a section that is left out");
      put_address(l, at, place);
    }
    write_stub(l, i);
  }
}

static const GlowLinkLine *line_of(const GlowLinkLine *lines, uint32_t count, const char *name) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(lines[i].function, name) == 0)
      return &lines[i];
  return NULL;
}

static void list_functions(Linker *l, const GlowLinkLine *lines, uint32_t count) {
  for (uint32_t i = 0; i < l->nobjects && count; i++) {
    const Object *o = &l->objects[i];
    for (uint32_t k = 0; k < o->nsymbols; k++) {
      const Elf64_Sym *s = &o->symbols[k];
      if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || place_of(o, s) == NOWHERE)
        continue;
      const char *name = o->names + s->st_name;
      const GlowLinkLine *line = line_of(lines, count, name);
      GlowCodeFunction f = {
          .at = place_of(o, s), .size = s->st_size, .line = line ? line->line : 0};
      f.name = add_name(l, name);
      f.file = add_name(l, line ? line->file : "");
      glow_vec_push(l->arena, &l->functions, f);
    }
  }
}

static uint64_t find_program(const Linker *l, const char *name) {
  for (uint32_t i = 0; i < l->nobjects; i++) {
    const Object *o = &l->objects[i];
    for (uint32_t k = 0; k < o->nsymbols; k++)
      if (ELF64_ST_BIND(o->symbols[k].st_info) != STB_LOCAL &&
          strcmp(o->names + o->symbols[k].st_name, name) == 0 &&
          place_of(o, &o->symbols[k]) != NOWHERE)
        return place_of(o, &o->symbols[k]);
  }
  return NOWHERE;
}

/* An object as debuggers want it: sections have addresses. Relocations of its lines are theirs. */
static void put_object(const Object *o, GlowText *out) {
  static const char zeros[8];
  GlowCodeObject head = {o->size};
  glow_text_bytes(out, &head, sizeof head);
  size_t begin = out->size;
  glow_text_bytes(out, o->bytes, o->size);
  for (uint32_t k = 0; k < o->nsections; k++) {
    Elf64_Shdr s = o->sections[k];
    if (o->at[k] != NOWHERE)
      s.sh_addr = o->at[k];
    else
      s.sh_flags &= ~(uint64_t)SHF_ALLOC;
    memcpy(out->data + begin + ((const char *)&o->sections[k] - o->bytes), &s, sizeof s);
  }
  glow_text_bytes(out, zeros, (8 - o->size % 8) % 8);
}

static void write_image(Linker *l, uint64_t program, GlowText *out) {
  GlowCodeHead h = {.version = GLOW_CODE_VERSION,
                    .machine = l->machine,
                    .text = l->text,
                    .data = l->data - l->text,
                    .used = l->used,
                    .program = program,
                    .rebases = l->rebases.count,
                    .imports = l->imports.count,
                    .functions = l->functions.count,
                    .names = l->names_size};
  memcpy(h.magic, GLOW_CODE_MAGIC, sizeof h.magic);
  size_t head = out->size;
  glow_text_bytes(out, &h, sizeof h);
  glow_text_bytes(out, l->memory, l->data);
  glow_text_bytes(out, l->rebases.data, l->rebases.count * sizeof *l->rebases.data);
  glow_text_bytes(out, l->imports.data, l->imports.count * sizeof *l->imports.data);
  glow_text_bytes(out, l->functions.data, l->functions.count * sizeof *l->functions.data);
  for (uint32_t i = 0; i < l->names.count; i++)
    glow_text_bytes(out, l->names.data[i].data, l->names.data[i].size);
  size_t begin = out->size;
  for (uint32_t i = 0; i < l->nobjects; i++)
    if (l->objects[i].lines)
      put_object(&l->objects[i], out);
  h.objects = out->size - begin;
  memcpy(out->data + head, &h, sizeof h);
}

static void read_objects(Linker *l, const GlowBytes *objects) {
  l->objects = GLOW_NEW_ARRAY(l->arena, Object, l->nobjects);
  for (uint32_t i = 0; i < l->nobjects; i++)
    if (!read_object(l, objects[i], &l->objects[i]))
      fail(l, "an object cannot be read");
  if (!l->wrong && l->machine != EM_X86_64 && l->machine != EM_AARCH64 && l->machine != EM_RISCV)
    fail(l, glow_str_printf(l->ctx, "unknown machine %u", l->machine));
}

const char *glow_link(GlowContext *ctx, const GlowBytes *objects, uint32_t count,
                      const char *program, const GlowLinkLine *lines, uint32_t nlines,
                      GlowText *out) {
  Linker l = {.ctx = ctx, .arena = glow_arena_create(ctx), .nobjects = count};
  read_objects(&l, objects);
  if (!l.wrong)
    lay_out(&l);
  if (!l.wrong) {
    l.memory = GLOW_NEW_ARRAY(l.arena, char, l.data);
    copy_sections(&l);
    fill_slots(&l);
    each_relocation(&l, relocate);
    list_functions(&l, lines, nlines);
  }
  uint64_t at = l.wrong ? 0 : find_program(&l, program);
  if (at == NOWHERE)
    fail(&l, "there is no program");
  if (!l.wrong)
    write_image(&l, at, out);
  glow_arena_destroy(l.arena);
  return l.wrong;
}

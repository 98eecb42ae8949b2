/* What a tool says about itself, from its table of options: --help, --version, completion. */
#include "support/cmdline_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

enum { HELP_COLUMN = 30 };

GlowArity glow_option_arity(const GlowOption *o) {
  switch (o->kind) {
  case GLOW_OPT_FLAG:
  case GLOW_OPT_ONE_OF:
  case GLOW_OPT_CALL:
    return GLOW_NO_VALUE;
  case GLOW_OPT_OPTIONAL:
    return GLOW_OPTIONAL_VALUE;
  default:
    return GLOW_ONE_VALUE;
  }
}

/* ---- Help ------------------------------------------------------------------------------------ */

static void print_option(const GlowOption *o) {
  bool optional = o->value && glow_option_arity(o) == GLOW_OPTIONAL_VALUE;
  const char *separator = !o->value ? "" : !optional ? (o->two_dashes ? "=" : " ") : "";
  const char *open = optional && o->value[0] != '[' ? "[=" : "", *close = *open ? "]" : "";
  int width = printf("  %s%s%s%s%s%s", glow_option_dashes(o), o->name, separator, open,
                     o->value ? o->value : "", close);
  if (width > HELP_COLUMN - 2) {
    printf("\n");
    width = 0;
  }
  printf("%*s%s\n", HELP_COLUMN - width, "", o->help ? o->help : "");
}

/* Prints a heading only if an option below it is printed. */
static void print_table(const GlowOptionTable *t, bool hidden) {
  const char *heading = NULL;
  for (size_t i = 0; i < t->count; i++) {
    const GlowOption *o = &t->rows[i];
    if (o->kind == GLOW_OPT_HEADING)
      heading = o->name;
    if (o->kind == GLOW_OPT_HEADING || (o->hidden && !hidden))
      continue;
    if (heading)
      printf("\n%s:\n", heading);
    heading = NULL;
    print_option(o);
  }
}

static bool any_hidden(const GlowOptionTable *t) {
  for (size_t i = 0; i < t->count; i++)
    if (t->rows[i].hidden)
      return true;
  return false;
}

void glow_cmdline_print_help(const GlowOptionTables *t, bool hidden) {
  printf("OVERVIEW: %s\n\nUSAGE: %s %s\n\nOPTIONS:\n", t->cmd->overview, t->cmd->name,
         t->cmd->usage);
  print_table(&t->table[0], hidden);
  print_table(&t->table[1], hidden);
  if (!hidden && any_hidden(&t->table[0]))
    printf("\nThere are more options: --help-hidden\n");
}

void glow_cmdline_print_version(GlowContext *ctx, const GlowCommand *cmd) {
  struct utsname host;
  printf("glow " GLOW_VERSION_STRING "\n");
  const char *llvm = cmd->llvm ? cmd->llvm(ctx) : NULL;
  if (llvm)
    printf("  LLVM:    %s\n", llvm);
  if (uname(&host) == 0)
    printf("  host:    %s %s%s%s\n", host.machine, host.sysname, cmd->host ? ", " : "",
           cmd->host ? cmd->host : "");
  if (cmd->targets)
    printf("  targets: %s\n", cmd->targets);
}

/* ---- Completion ------------------------------------------------------------------------------ */

/* The words of a placeholder such as `auto|always|never`; none unless it has a bar. */
static void print_choices(const char *value) {
  value += strspn(value, "[=");
  for (const char *s = strchr(value, '|') ? value : ""; *s && *s != ']'; s++)
    putchar(*s == '|' ? ' ' : *s);
}

static void print_words(const GlowOptionTables *t) {
  for (int i = 0; i < 2; i++)
    for (size_t k = 0; k < t->table[i].count; k++) {
      const GlowOption *o = &t->table[i].rows[k];
      if (o->kind == GLOW_OPT_HEADING || o->hidden)
        continue;
      bool equals = o->two_dashes && glow_option_arity(o) == GLOW_ONE_VALUE;
      printf(" %s%s%s", glow_option_dashes(o), o->name, equals ? "=" : "");
    }
  for (size_t i = 0; i < t->cmd->nunknown_names; i++)
    printf(" -%s", t->cmd->unknown_names[i]);
}

/* Prints `-name=|--name=) words="..." ;;` for each option with a list of values. A value that is
 * not optional may also be the next word. */
static void print_values(const GlowOptionTables *t) {
  for (int i = 0; i < 2; i++)
    for (size_t k = 0; k < t->table[i].count; k++) {
      const GlowOption *o = &t->table[i].rows[k];
      if (o->kind == GLOW_OPT_HEADING || !o->value || !strchr(o->value, '|'))
        continue;
      printf("    -%s=|--%s=", o->name, o->name);
      if (glow_option_arity(o) == GLOW_ONE_VALUE)
        printf("|-%s|--%s", o->name, o->name);
      printf(") words=\"");
      print_choices(o->value);
      printf("\" ;;\n");
    }
}

/* Bash splits words at `=`, so `--color=al` arrives as three words. The printed function looks back
 * one or two words to find the option. Arguments that are not options complete as files. */
void glow_cmdline_print_completion(const GlowOptionTables *t) {
  char function[64];
  snprintf(function, sizeof function, "_%s", t->cmd->name);
  for (char *s = function; *s; s++)
    *s = *s == '-' ? '_' : *s;
  printf("# Completion of %s for bash. Made from its table of options by --print-completion.\n",
         t->cmd->name);
  printf("%s() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} option= words=\n"
         "  if [[ $cur == = ]]; then\n"
         "    option=${COMP_WORDS[COMP_CWORD-1]}= cur=\n"
         "  elif [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then\n"
         "    option=${COMP_WORDS[COMP_CWORD-2]}=\n"
         "  elif [[ $cur != -* && ${COMP_WORDS[COMP_CWORD-1]} == -* ]]; then\n"
         "    option=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  fi\n"
         "  case $option in\n",
         function);
  print_values(t);
  printf("  '') [[ $cur == -* ]] && words=\"");
  print_words(t);
  printf("\" ;;\n"
         "  esac\n"
         "  COMPREPLY=()\n"
         "  if [[ -n $words ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace "
         "2>/dev/null\n"
         "  else\n"
         "    compopt -o filenames 2>/dev/null\n"
         "    local IFS=$'\\n'\n"
         "    COMPREPLY=($(compgen -f -- \"$cur\"))\n"
         "  fi\n"
         "  return 0\n"
         "}\n"
         "complete -F %s %s\n",
         function, t->cmd->name);
}

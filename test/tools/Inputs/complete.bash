# Prints what the completions in ./glow-opt and ./glow-run offer for some command lines.
source ./glow-opt
source ./glow-run

offer() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  printf '[%s]\n' "$*"
  local function=$(complete -p "$1" | sed 's/.*-F \([^ ]*\) .*/\1/')
  $function
  [[ ${#COMPREPLY[@]} -eq 0 ]] || printf '%s\n' "${COMPREPLY[@]}"
}

offer glow-opt -verify-e
offer glow-opt -fold-b
offer glow-opt --verify-r
offer glow-run --labe
offer glow-run --color =
offer glow-run --color = n
offer glow-run --channel-order = b
offer glow-run -channel-order b
offer glow-run --color mo
offer glow-opt mo
offer glow-opt -o tw
offer glow-run --labels = mo
offer glow-opt --nothing
echo end

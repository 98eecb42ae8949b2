"""Whether Vim's syntax files know all words of the language: check_vim.py SOURCE GENERATED_SYNTAX WORDS."""
import os
import re
import sys

source, syntax, words_path = sys.argv[1:]


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


known = set()
for text in (read(source, "utils/vim/syntax/glow.vim"), read(syntax)):
    for words in re.findall(r"^syntax keyword \w+ (.*)$", text, re.M):
        known.update(words.split())
wanted = set(read(words_path).split())
keywords = set(re.findall(r'\{"(\w+)", GLOW_TOK_\w+\}', read(source, "lib/ir/parse.c")))
assert len(wanted) > 100 and len(keywords) > 20, "the lists of words are not where they were"
missing = sorted((wanted | keywords) - known)
print("missing:", missing)
sys.exit(bool(missing))

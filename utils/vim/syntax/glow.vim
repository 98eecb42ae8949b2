" Syntax of Glow's texts. Operators, instructions and element kinds come from glow-words.vim, which
" is generated from their descriptions.
if exists("b:current_syntax")
  finish
endif

syntax case match
runtime syntax/glow-words.vim

syntax keyword glowStorage module declare extent step placeholder variable constant
syntax keyword glowFunction func program gradient of from wrt keeping seedable forward with
syntax keyword glowStatement return yield pred alloc dealloc tensorview at loc
syntax keyword glowInitializer splat random resource eval payload elided
syntax keyword glowConstant true false none inf nan
syntax keyword glowKind seq opt

syntax match glowNumber /\v<-?\d+(\.\d*)?([eE][+-]?\d+)?>/
syntax region glowString start=/"/ skip=/\\./ end=/"/ oneline
syntax match glowValue /%\([A-Za-z0-9_.$\/-]\+\|"\([^"\\]\|\\.\)*"\)/
syntax match glowGlobal /@\([A-Za-z0-9_.$\/-]\+\|"\([^"\\]\|\\.\)*"\)/
syntax match glowQualifier /@\(in\|out\|inout\)\>\ze[ ,]/
syntax match glowRegion /\^[A-Za-z0-9_.$\/-]\+/

syntax match glowComment /;.*$/ contains=glowTest,@Spell
syntax match glowTest /;\s*\(RUN\|REQUIRES\|UNSUPPORTED\|XFAIL\|[A-Z0-9_-]*CHECK[A-Z0-9_-]*\):.*$/ contained
syntax match glowTest /expected-\(error\|warning\|note\|remark\).*$/ contained

highlight default link glowStorage StorageClass
highlight default link glowFunction Keyword
highlight default link glowStatement Statement
highlight default link glowInitializer PreProc
highlight default link glowConstant Constant
highlight default link glowKind Type
highlight default link glowOperator Function
highlight default link glowInstruction Function
highlight default link glowNumber Number
highlight default link glowString String
highlight default link glowValue Identifier
highlight default link glowGlobal Special
highlight default link glowQualifier StorageClass
highlight default link glowRegion Label
highlight default link glowComment Comment
highlight default link glowTest SpecialComment

let b:current_syntax = "glow"

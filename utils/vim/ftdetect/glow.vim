" Texts of Glow: graphs (.gg) and programs (.gir).
autocmd BufNewFile,BufRead *.gg,*.gir setfiletype glow

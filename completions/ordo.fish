complete --keep-order --exclusive --command ordo --arguments "(ORDO_COMPLETE=fish ordo -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"

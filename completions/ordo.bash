_ordo() {
    local IFS=$'\013' words=() word rest=${COMP_LINE:0:COMP_POINT} index=-1 piece blank
    for ((piece = 0; piece <= COMP_CWORD; piece++)); do
        blank=${rest%%[![:blank:]]*}
        rest=${rest#"$blank"}
        word=${COMP_WORDS[piece]}
        ((piece < COMP_CWORD)) || word=$rest
        rest=${rest#"$word"}
        if ((index < 0)) || [[ -n $blank ]]; then
            words[++index]=$word
        else
            words[index]+=$word
        fi
    done
    local begun=${words[index]} space=true
    begun=${begun%"$2"}
    compopt +o nospace 2>/dev/null && space=false
    COMPREPLY=($(ORDO_COMPLETE=bash _CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$index _CLAP_COMPLETE_COMP_TYPE=$COMP_TYPE \
        _CLAP_COMPLETE_SPACE=$space "ordo" -- "${words[@]}" 2>/dev/null)) || { unset COMPREPLY; return; }
    for piece in "${!COMPREPLY[@]}"; do
        printf -v word %q "${COMPREPLY[piece]#"$begun"}"
        COMPREPLY[piece]=${word//\\,/,}
    done
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=/:,] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -F _ordo ordo

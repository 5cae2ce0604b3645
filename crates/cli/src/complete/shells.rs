//! The shells that can ask. Two need scripts of their own. Bash takes `:` and `=` for the ends of words:
//! `disk.img:/etc` and `scheme=sync` arrive in three pieces, and only the last one is replaced by the answer. And zsh
//! ends each word with a blank unless it is told not to, also one that goes on: `disk.img:/`, `scheme=`.

use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

/// All of them.
pub(super) const ALL: Shells<'static> =
    Shells(&[&Own { script: BASH, answers: &Bash }, &Elvish, &Fish, &Powershell, &Own { script: ZSH, answers: &Zsh }]);

/// Bash, with the pieces of a word joined before the question, and cut off the answers.
/// `words` are the pieces joined where no blank is between them in the line. What of the current word is before the
/// piece that bash replaces (`$2`) is cut off each answer.
const BASH: &str = r#"_ordo() {
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
    COMPREPLY=($(VAR=bash _CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$index _CLAP_COMPLETE_COMP_TYPE=$COMP_TYPE \
        _CLAP_COMPLETE_SPACE=$space "COMPLETER" -- "${words[@]}" 2>/dev/null)) || { unset COMPREPLY; return; }
    for piece in "${!COMPREPLY[@]}"; do
        printf -v word %q "${COMPREPLY[piece]#"$begun"}"
        COMPREPLY[piece]=${word//\\,/,}
    done
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=/:,] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -F _ordo BIN
"#;

/// Zsh, with words that go on apart from those that end. `:` parts a word from its help, and is escaped inside of it.
const ZSH: &str = r#"#compdef BIN
_ordo() {
    local -a going_on=() others=()
    local line word
    for line in "${(@f)$(VAR=zsh _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) COMPLETER -- "${words[@]}" 2>/dev/null)}"; do
        word=${${line//\\:/$'\1'}%%:*}
        [[ $word == *[/=,$'\1'] ]] && going_on+=("$line") || others+=("$line")
    done
    local none=1
    [[ -n $going_on ]] && _describe -V 'values' going_on -S '' && none=0
    [[ -n $others ]] && _describe -V 'values' others && none=0
    return none
}
compdef _ordo BIN
"#;

/// A script of ours for a shell whose answers are those of `answers`.
struct Own {
    script: &'static str,
    answers: &'static dyn EnvCompleter,
}

impl EnvCompleter for Own {
    fn name(&self) -> &'static str {
        self.answers.name()
    }

    fn is(&self, name: &str) -> bool {
        self.answers.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        _name: &str,
        bin: &str,
        completer: &str,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        let script = self.script.replace("VAR", var).replace("COMPLETER", completer).replace("BIN", bin);
        to.write_all(script.as_bytes())
    }

    fn write_complete(
        &self,
        command: &mut clap::Command,
        words: Vec<OsString>,
        current_dir: Option<&Path>,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        self.answers.write_complete(command, words, current_dir, to)
    }
}

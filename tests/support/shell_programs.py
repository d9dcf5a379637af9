"""Random bash command lines, and a sandbox that says which programs each one really ran and which files it wrote."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

# A rule goes on to the next ⇒; its alternatives are parted by ¦ or a line end; the first is for too deep a nesting.
# «x» is replaced by an alternative of x; «'x» quotes it as one word, «`x» escapes it for inside of backquotes, and «~x»
# spells it in an odd way. VAR, NAME and DELIM become fresh names for each use of an alternative.
# What is smuggled: p a program, s a simple command, h any command, cs a word with a command in it.
_SOURCE = r"""
line ⇒ «stmt»¦ «stmt»¦ «stmt»⏎«stmt»¦ «stmt»; «stmt»¦ «cmd» & «stmt»¦ «stmt» # ; rm a¦ «stmt» &&⏎ # then⏎«stmt»
# rm a⏎«stmt»¦ «stmt» ;⏎⏎↹«stmt»¦ «stmt» &⏎«stmt»¦ cd sub; «stmt»¦ «cmd»␍⏎«stmt»
stmt ⇒ «cmd»¦ «cmd»¦ «cmd»¦ «cmd» && «cmd»¦ «cmd» || «cmd»¦ «cmd» | «reader»¦ for ((VAR=0; VAR<1; VAR++)) { «stmt»⏎}
if ! «cmd»; then ls; else «stmt»⏎fi¦ «cmd» |& «reader»¦ cat <(«stmt»⏎)¦ ( «stmt» )¦ { «stmt»⏎}¦ if «cmd»; then «stmt»⏎fi
«cmd» 2>&1 | «reader»¦ for VAR in a b.txt; do cat $VAR; «cmd»⏎done¦ VAR=$(«cmd»); echo "$VAR"¦ VAR() { «stmt»⏎}; VAR
time «cmd»¦ ! «cmd»¦ while «cmd»; do «stmt»⏎break; done¦ until «cmd»; do break; done¦ case x in (y) ls ;; *) «stmt»⏎esac
select VAR in a b; do «cmd»⏎break; done <<< 1¦ «cmd» <<< "$(«cmd»)"¦ while read -r VAR; do echo "$VAR"; «cmd»⏎done < a
case «arg» in a) «cmd» ;;& *) «cmd» ;; esac¦ function VAR { «stmt»⏎}⏎VAR a¦ { «cmd»⏎} | «reader» > /dev/null
{ cat <<DELIM⏎$(«cmd»)⏎DELIM⏎}¦ [[ -f a ]] && «cmd»¦ ((1 > 0)) && «cmd»¦ echo "$(«stmt»⏎)"¦ coproc { «stmt»⏎}
cmd ⇒ «calm»¦ «calm»¦ «calm»¦ «calm» «redirect»¦ «redirect» «calm»¦ A=1 «calm»¦ echo «arg» «arg»¦ «wrap» «calm»
git log «arg»¦ cat «arg»
calm ⇒ git status¦ git log -n1¦ git diff -- a¦ ls -l sub¦ cat a b.txt¦ echo hi¦ { cat <<'DELIM'⏎$(rm a)⏎DELIM⏎}¦ wc -l a
grep -n foo a¦ echo ${VAR:-rm a}¦ head -n 1 a¦ sort b.txt¦ echo rm a¦ shopt -s expand_aliases⏎alias VAR='git log'⏎VAR¦ :
VAR=(git log); "${VAR[@]}"¦ grep 'rm -rf' a¦ git log --grep="rm; touch x"¦ echo '$(rm a)'¦ { cat <<-DELIM⏎↹rm a⏎↹DELIM⏎}
echo \; rm a¦ find . -name a -exec cat {} \;¦ echo "a; rm b"¦ echo 'a⏎rm b'¦ echo \> f¦ { cat <<\DELIM⏎`rm a`⏎DELIM⏎}
echo "a > f"¦ [[ a > f ]]¦ git commit -m "it's rm"¦ echo $((1 > 0))¦ test a \> f¦ «~tool» a¦ set -- rm a; echo "$@"
«~tool» a¦ «~tool» «arg»¦ echo $'\'; rm a'¦ read VAR <<< rm; ls¦ echo "\"; rm a"¦ echo \'a\'¦ echo a | xargs git log
command git log¦ echo a#b¦ echo {rm,a}¦ printf '%s' rm¦ VAR=rm; echo $VAR¦ printf -v VAR rm; echo "$VAR"¦ eval 'git log'
ls «arg»¦ git show «arg»⏎ls¦ echo a␣rm b¦ git␣log¦ /bin/ls a¦ VAR=git; $VAR log¦ find sub -name 'c*'¦ echo a > /dev/null
bash -c 'git log'¦ eval "ls a"¦ trap 'git log' EXIT¦ exec 3< a; cat <&3
tool ⇒ git¦ ls¦ cat¦ echo¦ grep¦ head¦ sort¦ wc
reader ⇒ cat¦ cat¦ grep foo¦ wc -l¦ sort¦ head -n 1¦ cat - a¦ grep -v rm | wc
redirect ⇒ 2>&1¦ < a¦ >/dev/null¦ 2>/dev/null¦ >&2¦ &>/dev/null¦ 3<&0¦ <<< rm¦ 2>&-¦ <b.txt >&1
wrap ⇒ env¦ env -i¦ env A=1 B=2¦ env -u HOME¦ timeout 5¦ timeout -k 1 5¦ nice -n 5¦ nice¦ timeout --signal=KILL 5¦ nohup
stdbuf -o 0 -eL¦ «wrap» «wrap»¦ setsid -w¦ stdbuf -o0¦ command¦ command -p¦ env -¦ setsid
arg ⇒ a¦ b.txt¦ sub/c¦ 'a b'¦ "a"¦ -n¦ --¦ *.txt¦ {a,b.txt}¦ "$HOME"¦ ${VAR:-a}¦ ~¦ "${VAR:-$(«cmd»)}"¦ "$(«cmd»)"¦ [ab]
?¦ x=y¦ ''¦ $'a\tb'¦ \a¦ $(«cmd»)¦ `«`cmd»`¦ <(«cmd»)¦ $((1+2))¦ ${#VAR}¦ sub\⏎/c
p ⇒ rm¦ rm¦ rm¦ curl¦ touch¦ foo
h ⇒ rm a¦ «s»¦ «s»¦ rm -rf sub¦ touch ../outside/f¦ foo¦ curl x¦ echo a > f¦ echo a >> ../outside/g¦ rm 'a b' "c"; ls
cp a f¦ git log | tee f
s ⇒ «p» a¦ «p» «arg»¦ «~p» a¦ «p» a¦ «wrap» «p» a¦ /bin/«p» a
sub ⇒ PATH[$(«h»)]¦ PATH[`«`h»`]
cs ⇒ $(«h»)¦ "$(«h»)"¦ `«`h»`¦ "`«`h»`"¦ x$(ls; «h»)¦ ${VAR:-$(«h»)}¦ "$(echo "$(«h»)")"¦ "${VAR:=`«`h»`}"¦ $[«sub»]
$(«h»⏎)¦ ${HOME/$(«h»)/x}¦ ${VAR[$(«h»)]}¦ $((VAR[$(«h»)]))¦ ${HOME:«sub»}¦ <(«h»)
prompt ⇒ $(«h»)¦ `«`h»`¦ x$(«h»)
bind ⇒ k=«p»¦ k=«~p»¦ read k <<< «p»¦ printf -v k «p»¦ printf -v k '\x72m'¦ k=RM; k=${k,,}¦ for k in git «p»; do :; done
mapfile -t k <<< «p»¦ declare k=«p»¦ export k=«p»¦ k=r; k+=m¦ k=xx«p»; k=${k#xx}¦ read -r _ k <<< 'git «p»'¦ : ${k:=«p»}
k=$(echo «p»)¦ k=(«p» a)¦ k='\x72m'; k=${k@E}¦ eval k=«p»¦ k='«p» a'¦ let z=1 k=0; k=rm¦ k=«p»zz; k=${k%zz}
k=r-m; k=${k/-/}¦ k=xrmx; k=${k:1:2}
use ⇒ $k a¦ ${k} «arg»¦ "$k" a¦ "${k[@]}"¦ eval $k a¦ env $k a¦ VAR=k; ${!VAR} a¦ VAR() { "$@"; }; VAR $k a¦ ${k:-git} a
bash -c "$k a"¦ declare -n VAR=k; $VAR a¦ VAR=($k a); "${VAR[@]}"¦ export k; bash -c '$k a'¦ VAR() { $k a; }; VAR
set -- $k a; "$@"¦ set -- "$k"; $1 a¦ echo a | xargs $k¦ : $k; $_ a¦ ${k:+$k} a¦ $k$nil a¦ k=$k sh -c '$k a'
echo $k a | sh¦ `echo $k` a
into ⇒ >¦ >>¦ >|¦ 1<>¦ &>¦ &>>¦ >&¦ 3>¦ 2>¦ {VAR}>¦ 2>&1 >
file ⇒ f¦ a¦ ../outside/f¦ sub/f¦ sub/../../outside/f¦ ~/f¦ $HOME/f¦ /tmp/f¦ \f¦ $(echo f)¦ ${VAR:-f}¦ 'f g'¦ f{1,}
enter ⇒ cd ../outside¦ cd sub¦ pushd ../outside¦ CDPATH=.. cd outside¦ cd .. && cd outside¦ VAR=..; cd $VAR/outside¦ cd
cd sub/../../outside¦ cd -P ..¦ cd sub; cd "$OLDPWD/../outside"¦ cd ~¦ HOME=../outside; cd¦ builtin cd /tmp
cd sub; cd -
text ⇒ rm a¦ foo¦ !rm a¦ sh -c 'rm a'¦ system("rm a")¦ ./rx
run ⇒ eval¦ builtin eval¦ command eval¦ ev''al¦ bash -c¦ sh -c¦ dash -c¦ bash <<<¦ . /dev/stdin <<<¦ compgen -C
env sh -c
alias ⇒ alias VAR=«'h»⏎VAR¦ alias git=«'h»⏎git log¦ BASH_ALIASES[VAR]=«'h»⏎VAR¦ alias ls='ls; ' VAR=«p»⏎ls VAR a
feed ⇒ echo a | xargs¦ echo a b | xargs -n1¦ printf 'a\0' | xargs -0¦ xargs -a b.txt
lang ⇒ python3 -c¦ perl -e¦ awk¦ sed -n¦ node -e¦ ssh host
odd ⇒ echo \# a¦ echo a#b¦ echo ${#}¦ echo 'a\'¦ echo $#¦ echo "`echo '#'`"¦ echo "a⏎"¦ echo a \⏎
path ⇒ ./r?¦ /bin/r?¦ /bin/[r]m¦ /usr/bin/?m¦ /bin/«p»¦ /usr/bin/«p»¦ ./rx¦ $PWD/rx¦ ~/../project/rx¦ ../project/rx
./sub/git
setting ⇒ PAGER¦ GIT_PAGER¦ GIT_SSH_COMMAND¦ GIT_EXTERNAL_DIFF¦ LD_PRELOAD¦ GIT_DIR
trick ⇒ «~p» a¦ «~p» «arg»¦ «s»¦ «h»¦ «wrap» «~p» a¦ «run» «'h»¦ «run» «'h»¦ «run» «'h»¦ shopt -s expand_aliases⏎«alias»
git() { «h»; }; git log¦ «run» «'h»¦ shopt -s expand_aliases⏎«alias»¦ git() { «h»; }; export -f git; bash -c 'git log'
shopt -s expand_aliases⏎«alias»¦ «feed» «p»¦ «feed» «wrap» «p»¦ trap «'h» EXIT¦ «bind»; «use»¦ set -- x «p» a; shift; $*
exec «into» «file»; echo a; ls x¦ «bind»⏎«use»¦ «bind»; «use»¦ «bind» && «use»¦ { cat <<DELIM⏎\$(rm a) \\$(«h»)⏎DELIM⏎}
bash -c '$0 a' «p»¦ VAR=m; r$VAR a¦ IFS=,; VAR=«p»,a; $VAR¦ ${VAR:-«p»} a¦ ((VAR[$(«h»)]=1))¦ declare -i VAR; VAR=«'sub»
{ read VAR; $VAR a; } <<< «p»¦ ${VAR:=«p»} a; $VAR b¦ tar -cf x --checkpoint=1 --checkpoint-action=exec=«'text» a¦ $(<a)
echo «p» | while read VAR; do $VAR a; done¦ cd() { «h»; }; cd sub¦ VAR=«'prompt»; : "${VAR@P}"¦ VAR() { $1 a; }; VAR «p»
mapfile -C «'h» -c 1 VAR <<< x¦ { cat <<"DELIM"⏎ DELIM⏎DELIM⏎«h»⏎}¦ { cat <<DELIM <<'NAME'⏎NAME⏎DELIM⏎$(rm a)⏎NAME⏎«h»⏎}
command_not_found_handle() { «h»; }; nosuch¦ VAR=«'sub»; [[ $VAR -eq 0 ]]¦ BASH_ENV=sub/env.sh bash -c 'git log'¦ sh < a
{ cat <<-DELIM⏎↹`«`h»`⏎↹DELIM⏎}¦ shopt -s extglob⏎/bin/@(rm|foo) a¦ trap «'h» ERR; false¦ { cat <<'DELIM'; «h»⏎a⏎DELIM⏎}
VAR=«'sub»; echo $((VAR))¦ let «'sub»¦ unset «'sub»¦ git() if :; then «h»; fi; git log¦ { cat > «file» <<DELIM⏎x⏎DELIM⏎}
printf -v «'sub» x¦ read «'sub» <<< x¦ [[ -v «'sub» ]]¦ test -v «'sub»¦ select VAR in «p»; do $VAR a; break; done <<< 1
echo «p» | xargs -I{} env {} a¦ VAR[$(«h»)]=1¦ «cs»¦ echo «cs»¦ git log «cs»¦ cat <<< «cs»¦ for VAR in «cs»; do :; done
VAR=«cs»¦ VAR=«cs» git log¦ VAR=(«cs»)¦ echo «'h» | sh -s¦ echo x | tee >(«h»)¦ find a -exec bash -c «'h» _ {} ';'¦ ./r*
declare VAR=«cs»¦ echo {a,«cs»}¦ { bash <<DELIM⏎«h»⏎DELIM⏎}¦ case «cs» in *) ls;; esac¦ { ls x; echo a; } «into» «file»
[[ «cs» ]]¦ [[ x =~ «cs» ]]¦ $(echo «p» a)¦ [ «cs» ]¦ find sub -name 'c*' -delete¦ > f«cs» ls¦ env -C ../outside touch f
$(printf '\162m') a¦ echo a > >(«h»)¦ bash <(echo «'h»)¦ echo «'h» | xargs -d '\n' bash -c¦ exec {VAR}>f; echo a >&$VAR
{ cat <<DELIM⏎«cs»⏎DELIM⏎}¦ . sub/env.sh¦ bash -c '"$@"' _ «p» a¦ echo «'h» | bash¦ case x in x) ls ;& y) «h» ;; esac
source <(echo «'h»)¦ PS4=«'prompt»; set -x; :¦ source ./a¦ cat a | sh¦ eval "$(cat a)"¦ export BASH_ENV=./a; bash -c ls
git log | sh¦ hash -p /bin/rm git; git a¦ xargs env < a¦ {«p»,-rf,a}¦ {«p»,a}¦ r{m,} a¦ export «setting»=./rx; git diff
find . -name a -exec «p» {} \;¦ /bin/{rm,a}¦ compgen -W «'prompt»¦ git() { "$@"; }; git «p» a¦ ls a nosuch «into» «file»
find a -fprintf ../outside/f x¦ eval "echo a; `echo rm` a"¦ trap «'h» DEBUG; :¦ for ((«sub»; 0; )); do :; done¦ exec «s»
exec -a git «p» a¦ coproc «s»¦ env 'BASH_FUNC_git%%=() { rm a; }' bash -c 'git log'¦ echo a | xargs -I{} «p» {}¦ «p»↹a
VAR=«'h»; eval $VAR¦ (exec -c «p» a)¦ \command «s»¦ env -S '«p» a'¦ env -iS'«p» a'¦ declare -a VAR='($(rm a))'¦ ls ␍⏎«h»
PATH=sub:$PATH; git log¦ env -i PATH=/bin «p» a¦ echo «p» a | xargs env¦ find . -exec «p» {} +¦ git -c alias.x=«'text» x
echo a |& «s»¦ coproc VAR { «h»⏎}¦ < a «p» a¦ >/dev/null «s»¦ «enter»; echo a > f¦ «setting»=«'text» git log¦ # ls \⏎«h»
git() { ls; } > f; git¦ «enter» && ls >> f¦ («enter»; : > f)¦ «enter»; touch f¦ «setting»=«'text» git log¦ «into» «file»
echo a «into» «file»¦ «into» «file» echo a¦ cp a «file»¦ [ a > «file» ]¦ echo a | tee «file»¦ git --exec-path=sub log
exec 3> f; echo x >&3¦ sort -o «file» a¦ set -C; echo a >| a¦ PATH=sub git log¦ env PATH=sub git log¦ (( $(«h») 1 ))
echo a # '⏎«h» # '⏎:¦ echo $'\''; «h» #'⏎:¦ «p»␣a¦ ls; # a⏎«h»¦ «lang» «'text»¦ «lang» «'text»¦ «odd»; «h»¦ «odd»; «h»
«odd»; «h»¦ «path» a¦ «path» a¦ «path» a
"""
_MARKS = str.maketrans({"⏎": "\n", "↹": "\t", "␍": "\r", "␣": "\N{NO-BREAK SPACE}"})
_GRAMMAR = {
    symbol: [part.strip().translate(_MARKS) for part in re.split(r"[¦\n]", text)]
    for symbol, text in re.findall(r"([a-z]+) ⇒ (.+(?:\n(?!.* ⇒ ).+)*)", _SOURCE)
}
_SLOT = re.compile("«([~'`]?)([a-z]+)»")
_DEEPEST = 6

_WRAPPERS = ("env", "xargs", "find", "timeout", "nice", "nohup", "setsid", "stdbuf", "bash", "sh", "dash", "sleep")
_TOOLS = ("cat", "head", "sort", "grep", "wc", "tee", "touch", "cp", "ls", "echo", "printf", "true", "false", "test")
_LOGGED = ("git", "rm", "curl", "make", "python3", "perl", "sed", "awk", "node", "ssh", "foo", "tar", "mv", "ln")
_BINS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")
_REAL, _LOGS, _DRIVER = Path("/run/real"), Path("/run/log"), Path("/run/driver.py")
# A privileged bash takes no functions and no BASH_ENV from its environment, but hands all of it on; dash would not.
_SHIM = f"""#!{_REAL}/bash -p
printf '%s\\0' "$#" "${{0##*/}}" "$@" >> {_LOGS}/$$
"""
_SECONDS = 5.0
_TEXTS = {"a": "foo from-a\n", "b.txt": "b\na\n", "sub/c": "c\n", "sub/env.sh": "foo from-env\n"}
_SCRIPTS = {"rx": _SHIM, "sub/git": f'#!{_REAL}/bash -p\nexec /usr/bin/foo sub/git "$@"\n'}


class Ran(NamedTuple):
    """What a command line did."""

    programs: frozenset[tuple[str, ...]]
    """The argv of every program that ran, its first word as a base name."""
    written: frozenset[str]
    """Files created, changed or removed: relative to the project, or absolute if outside of it."""


def generate(random: Random) -> str:
    """A command line from a grammar of bash."""
    return compose(random)[0]


def compose(random: Random) -> tuple[str, list[str]]:
    """A command line, and the tricks in it: none for about a third of the lines."""
    writer = _Writer(random, tricks=random.choices((0, 1, 2), (34, 44, 22))[0])
    line = writer.write("line")
    if writer.tricks and not writer.used:
        trick = writer.write("trick")
        line = random.choice((f"{line}\n{trick}", f"{trick}; {line}", f"{trick}\n{line}", f"{trick} && {line}"))
    return line, writer.used


class _Writer:
    """Expands symbols of the grammar, with so many tricks at most."""

    def __init__(self, random: Random, tricks: int) -> None:
        self.random = random
        self.tricks = tricks
        self.used: list[str] = []
        self._names = 0

    def write(self, symbol: str, depth: int = 0) -> str:
        if symbol in ("cmd", "h") and self.tricks and self.random.random() < 0.5:
            symbol = "trick"
        choices = _GRAMMAR[symbol]
        template = choices[0] if depth > _DEEPEST else self.random.choice(choices)
        if symbol == "trick":
            self.tricks -= 1
            self.used.append(template)
        self._names += 1
        for mark in ("VAR", "NAME", "DELIM"):
            template = template.replace(mark, f"{mark[0].lower()}{self._names}")
        return _SLOT.sub(lambda slot: self._spelled(slot[1], self.write(slot[2], depth + 1)), template)

    def _spelled(self, manner: str, text: str) -> str:
        match manner:
            case "'":
                double = re.sub(r'([\\"$`])', r"\\\1", text)
                ansi = re.sub(r"[\\'\nm]", lambda found: f"\\x{ord(found[0]):02x}", text)
                return self.random.choice((shlex.quote(text), shlex.quote(text), f'"{double}"', f"$'{ansi}'"))
            case "`":
                return re.sub(r"([\\`])", r"\\\1", text)
            case "~":
                return self._disguised(text)
        return text

    def _disguised(self, word: str) -> str:
        cut = self.random.randrange(1, len(word))
        head, tail = word[:cut], word[cut:]
        code, rest = ord(tail[0]), tail[1:]
        plain = (word, f"'{word}'", f'"{word}"', f"\\{word}", f"{head}\\{tail}", f'{head}"{tail}"', f'$"{word}"')
        pieces = (f"{head}''{tail}", f'{head}""{tail}', f"{head}\\\n{tail}", f"''{word}", f"$''{head}'{tail}'")
        ansi = (f"$'{head}\\x{code:02x}{rest}'", f"{head}$'\\{code:03o}{rest}'", f"$'{head}\\u{code:04x}{rest}'")
        expanded = (f"{head}${{nil}}{tail}", f"{head}$@{tail}", f"$(echo {head}){tail}", f"{head}`echo {tail}`")
        return self.random.choice((*plain, *pieces, *ansi, *expanded))


def execute(commands: Sequence[str], scratch: Path, extra: Sequence[str] = ()) -> list[Ran]:
    """Run each command line in a fresh project folder by a real bash, with PATH holding only shims.

    `extra` are programs of this machine that are there as well.

    The sandbox has its own scratch folder in memory, with project, outside and home in it; the real one stays as it is.
    """
    workers = os.cpu_count() or 1
    scratch = scratch.resolve()
    results = [Ran(frozenset(), frozenset())] * len(commands)
    with tempfile.TemporaryDirectory() as shims, ThreadPoolExecutor(workers) as pool:
        for name in (*_WRAPPERS, *_TOOLS, *_LOGGED, *extra):
            shim = Path(shims, name)
            shim.write_text(_SHIM + (f"echo foo {name}\n" if name in _LOGGED else f'exec {_REAL}/{name} "$@"\n'))
            shim.chmod(0o755)
        sandbox = _sandbox(shims, scratch, extra)
        jobs = [json.dumps({"commands": commands[n::workers], "scratch": str(scratch)}) for n in range(workers)]
        start = partial(subprocess.run, sandbox, stdout=subprocess.PIPE, text=True, check=True)
        for n, done in enumerate(pool.map(lambda job: start(input=job), jobs)):
            found = json.loads(done.stdout)
            results[n::workers] = [Ran(frozenset(map(tuple, ran)), frozenset(files)) for ran, files in found]
    return results


def _sandbox(shims: str, scratch: Path, extra: Sequence[str]) -> list[str]:
    """The words that start the driver as the first process of a sandbox in which every program is a shim."""
    words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/run"]
    words += ["--dir", str(_LOGS), "--ro-bind", str(Path(__file__).resolve()), str(_DRIVER)]
    words += ["--dir" if scratch.is_relative_to("/tmp") else "--tmpfs", str(scratch)]
    real = {name: shutil.which(name) or f"/bin/{name}" for name in (*_WRAPPERS, *_TOOLS, *extra)}
    for name, path in {**real, "python": sys.executable}.items():
        words += ["--ro-bind", str(Path(path).resolve()), str(_REAL / name)]
    for folder in map(Path, _BINS):
        if folder.is_dir() and not folder.is_symlink():
            words += ["--ro-bind", shims, str(folder)]
    words += ["--unshare-all", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", "--clearenv"]
    words += ["--setenv", "PYTHONHOME", sys.base_prefix, "--setenv", "PYTHONUTF8", "1"]
    return [*words, str(_REAL / "python"), "-S", "-B", str(_DRIVER), "--drive"]


def _drive(commands: list[str], scratch: str) -> None:
    """Inside of the sandbox, as its first process, which none of the others can end."""
    signal.signal(signal.SIGALRM, lambda *_: _kill_others())
    json.dump([_observe(command, Path(scratch)) for command in commands], sys.stdout)


def _kill_others() -> None:
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def _observe(command: str, scratch: Path) -> tuple[list[list[str]], list[str]]:
    project = scratch / "project"
    _set_up(scratch, project)
    before = _files(scratch)
    os.chdir(project)
    _run(command, scratch / "home")
    after = _files(scratch)
    changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    names = [str(path.relative_to(project) if path.is_relative_to(project) else path) for path in changed]
    return [argv for log in _LOGS.iterdir() for argv in _parsed(log)], names


def _set_up(scratch: Path, project: Path) -> None:
    for old in (*_LOGS.iterdir(), *scratch.glob("*"), *Path("/tmp").glob("*")):
        shutil.rmtree(old, ignore_errors=True)
        old.unlink(missing_ok=True)
    for folder in (project / "sub", scratch / "outside", scratch / "home"):
        folder.mkdir(parents=True)
    for name, text in (_TEXTS | _SCRIPTS).items():
        (project / name).write_text(text)
        (project / name).chmod(0o755 if name in _SCRIPTS else 0o644)
        os.utime(project / name, (1, 1))


def _run(command: str, home: Path) -> None:
    """Run the command and wait for all that it leaves behind; SIGPIPE stays ignored, so no race cuts it short."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "FUNCNEST": "8"}
    null = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_RDWR, 0) for number in range(3)]
    signal.setitimer(signal.ITIMER_REAL, _SECONDS, 0.2)
    os.posix_spawn(_REAL / "bash", ["bash", "-c", command], environment, file_actions=null, setsid=True)
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _files(scratch: Path) -> dict[Path, tuple[int, ...]]:
    found: dict[Path, tuple[int, ...]] = {}
    for root in ("/tmp", "/dev/shm", str(scratch)):
        for path in (Path(folder, name) for folder, _, names in os.walk(root) for name in names):
            state = path.lstat()
            found[path] = (state.st_mtime_ns, state.st_size, state.st_ino, state.st_mode)
    return found


def _parsed(log: Path) -> Iterator[list[str]]:
    fields = log.read_bytes().decode(errors="surrogateescape").split("\0")[:-1]
    while fields:
        end = 2 + int(fields[0])
        yield fields[1:end]
        fields = fields[end:]


def _check(scratch: Path) -> None:
    tree = [".", "./a", "./b.txt", "./rx", "./sub", "./sub/c", "./sub/env.sh", "./sub/git"]
    expected: dict[str, tuple[list[str], list[str]]] = {
        "env -i rm x": (["env -i rm x", "rm x"], []),
        "/bin/rm x": (["rm x"], []),
        "$(echo r)m x": (["rm x"], []),
        "x=rm; $x a": (["rm a"], []),
        "find . -exec rm {} \\;": (["find . -exec rm {} ';'", *(f"rm {name}" for name in tree)], []),
        "echo a > ../outside/f": ([], [f"{scratch}/outside/f"]),
        "bash -c 'rm a'": (["bash -c 'rm a'", "rm a"], []),
        "cat <(rm a)": (["cat /dev/fd/63", "rm a"], []),
        "setsid rm '' $'\\n' & echo a >> a": (["setsid rm '' '\n'", "rm '' '\n'"], ["a"]),
        "find sub -name c -delete; sleep 60": (["find sub -name c -delete", "sleep 60"], ["sub/c"]),
        "git log | sh; touch /tmp/x a": (["git log", "sh", "foo git", "touch /tmp/x a"], ["/tmp/x", "a"]),
        "git() { foo; }; export -f git; bash -c 'git log'": (["bash -c 'git log'", "foo"], []),
    }
    for (command, (programs, written)), ran in zip(expected.items(), execute(list(expected), scratch), strict=True):
        assert ran == Ran(frozenset(tuple(shlex.split(text)) for text in programs), frozenset(written)), (command, ran)
    print(f"{len(expected)} hand-written commands did exactly what they should")


def _measure(seed: int, scratch: Path) -> None:
    random = Random(seed)
    start = time.monotonic()
    lines, tricks = zip(*(compose(random) for _ in range(2000)), strict=True)
    results = execute(lines, scratch)
    print(f"{time.monotonic() - start:.1f} s to generate and execute {len(lines)}")
    parses = execute([f"bash -n -c {shlex.quote(line)} && touch parses" for line in lines], scratch)
    print(f"{sum('parses' in ran.written for ran in parses)} parse, {tricks.count([])} have no trick")
    print(f"{len({trick for used in tricks for trick in used})} of {len(set(_GRAMMAR['trick']))} tricks occurred")
    removed = sum(any(argv[0] == "rm" for argv in ran.programs) for ran in results)
    print(f"{removed} ran rm, {sum(bool(ran.written) for ran in results)} wrote files")


if __name__ == "__main__":
    if "--drive" in sys.argv:
        _drive(**json.load(sys.stdin))
    else:
        with tempfile.TemporaryDirectory() as folder:
            _check(Path(folder).resolve())
            _measure(int(sys.argv[1]) if len(sys.argv) > 1 else 0, Path(folder).resolve())

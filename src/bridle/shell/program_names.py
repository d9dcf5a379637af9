"""Canonical names of programs (`python3.12` is `python`), and lists of those that are harmless, write or run others."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from bridle.shell.words import names

SHELLS = names("sh bash dash zsh ksh ash mksh lksh pdksh oksh loksh yash posh osh ysh")
CALM = names(
    "ls cat head tail grep rg wc sort uniq find echo printf diff stat file which tree du df date basename dirname cut "
    "tr nl cmp md5sum sha256sum jq yq column realpath readlink id whoami uname nproc free ps test true false sleep seq"
)
"""Programs that are harmless with any arguments. Paths in the arguments are checked separately."""
CHANGE_NO_FILE = CALM - names("sort uniq find file tree jq yq column free") | {"pwd"}
"""Programs that change no file, with any arguments; the others of `CALM` may write one."""
QUIET = CALM | names(
    "dir vdir tac egrep fgrep comm diff3 whereis cal paste join fold fmt expand rev yes sha1sum sha224sum sha384sum "
    "sha512sum cksum sum b2sum base32 base64 basenc xxd od hexdump strings groups who w logname hostname arch uptime "
    "pgrep pidof lsof [ fd pwd printenv tty locale numfmt factor tsort sed shuf iconv"
)
"""Programs that only read, with any arguments, and obey only variables that are known to change behavior."""
CHANGES = names(
    "rm rmdir mv cp ln touch mkdir chmod chown chgrp install dd tee truncate rsync shred unlink mkfifo mknod patch"
)
"""Programs that change the files named in their arguments."""
UNPACKS = names("tar bsdtar cpio unzip 7z 7za unrar pax ar rsync split csplit mktemp gunzip bunzip2 unxz")
"""Programs that create files whose names are not in their arguments."""
INSPECT = names(
    "cloc tokei zgrep zcat bzcat xzcat zipinfo kill pkill killall sync flake8 mypy pylint shellcheck hadolint "
    "yamllint markdownlint tsc"
)
"""Programs that write to none of the files that they are given, besides those of `QUIET`."""
FORMATTERS = names("gofmt rustfmt clang-format ruff black isort eslint prettier stylelint")
PLAIN = QUIET | CHANGES | INSPECT | FORMATTERS | names("gzip gunzip bzip2 xz zstd unzip mktemp sdiff")
"""Programs that do not run their arguments as commands."""
_RUNNERS = names(
    "python pypy ipython bpython ptpython micropython circuitpython jython graalpy pydoc idle pdb 2to3 node "
    "nodejs deno bun bunx qjs d8 perl ruby jruby irb erb php phpdbg hhvm lua luajit texlua luatex tclsh jimsh "
    "wish expect Rscript R julia java jshell kotlin scala groovy guile racket sbcl clisp ecl csi chez gosh "
    "mit-scheme octave gnuplot maxima gp swipl gprolog ghc ghci runghc runhaskell ocaml elixir iex erl erlc "
    "escript swift dotnet dart zig nim crystal v make gmake bmake pmake dmake remake nmake mk cmake ninja samu "
    "samurai meson scons just task rake gradle gradlew mvn mvnw mvnd ant bazel sbt lein invoke fab doit mage "
    "earthly npm npx pnpm pnpx yarn yarnpkg corepack lerna nx turbo tsx ts-node pip pipx pipenv easy_install uv "
    "uvx rye poetry pdm hatch conda mamba micromamba pixi tox nox pytest py.test nosetests cargo rustup rustc go "
    "gccgo gem bundle bundler composer pre-commit nodemon chokidar mise rtx asdf rbenv pyenv nodenv jenv volta "
    "fnm nvm n rvm chruby-exec nix nix-shell guix direnv dotenv dotenvx foreman honcho doppler op chamber "
    "aws-vault vault sops envchain teller infisical ssh ssh-agent ssh-add ssh-keygen ssh-keyscan ssh-copy-id sftp "
    "mosh telnet nc ncat netcat socat docker docker-compose podman nerdctl kubectl helm lxc lxc-attach incus "
    "machinectl toolbox distrobox schroot flatpak flatpak-spawn multipass vagrant terraform salt-call puppet "
    "chef-client pssh clush dsh vi vim nvim nvi elvis view ex ed emacs emacsclient nano rnano pico joe jed mcedit "
    "kak hx micro ne less more man info gdb lldb rr strace ltrace perf valgrind heaptrack hyperfine multitime "
    "bpftrace trace-cmd sqlite3 psql mysql mongo mongosh redis-cli screen tmux zellij dtach abduco crontab at "
    "batch systemctl launchctl osascript watch watchexec watchman watchman-make fswatch entr inotifywait chrt "
    "schedtool cpulimit uclampset coresched caffeinate flock lckdo setlock lockf script scriptlive parallel sem "
    "xjobs pexec chronic ifne pee mispipe vipe retry cronic run-one busybox toybox coreutils awk mawk nawk gawk "
    "igawk original-awk bwk goawk m4 bc dc jq fzf sk rga mail openssl tcpdump start-stop-daemon daemon daemonize "
    "supervisord runsv chpst setuidgid softlimit envdir execlineb dpkg apt apt-get yum dnf brew snap su su-exec "
    "gosu runuser pkexec doas sudo sg newgrp newrole fish pwsh powershell csh tcsh bsd-csh elvish nu xonsh rc es "
    "scsh setarch linux32 linux64 i386 i486 i586 i686 x86_64 uname26 arch choom prlimit fakeroot fakechroot "
    "faketime libfaketime eatmydata pseudo xvfb-run xinit startx dbus-launch dbus-run-session cgexec proot chroot "
    "unshare nsenter setpriv capsh runcon aa-exec sandbox-exec firejail bwrap numactl rlwrap unbuffer xterm urxvt "
    "konsole kitty alacritty foot wezterm gnome-terminal x-terminal-emulator torsocks torify tsocks proxychains "
    "socksify trickle wine box64 catchsegv sotruss mtrace ldd tini dumb-init catatonit open xdg-open rsync scp "
    "zip tar bsdtar cpio split wget curl aria2c yt-dlp gpg hg hub lazygit gitui tig gitk yadm sl svn bzr fossil "
    "jj repo ld gold ar gcc-ar gcc g++ gfortran gnat gdc tcc cc c++ cpp c89 c99 c89-gcc c99-gcc ccache distcc "
    "sccache logrotate run-parts run-mailcap update-alternatives ldconfig insmod modprobe mount ip iptables nft "
    "ffmpeg convert magick pandoc latexmk latex pdflatex xelatex lualatex tex gs dot ctags cscope exiftool csplit "
    "gvim rvim rview rgvim vimdiff gvimdiff evim eview git-shell editor sensible-editor sensible-browser "
    "sensible-pager select-editor cpack groff troff nroff gtroff ditroff pic gpic groffer grog pygmentize gio "
    "gtk-launch gtk4-launch dex exo-open kde-open kioclient x-www-browser www-browser gnome-open"
)
_RUNS_OTHERS = re.compile(
    r"(ansible|git-|ld-linux|ld-musl|ld\.|clang|qemu-|env-|systemd-|s6-|php-|kube|proxychains|mongo|julia|pypy).*"
)
"""Families of programs that run other programs."""
_GNU = CHANGES | UNPACKS | names("env timeout nice nohup stdbuf xargs find sed awk make sort date shuf uniq chroot")
_ALIASES = dict.fromkeys(("mawk", "nawk", "gawk", "original-awk"), "awk")
_ALIASES |= {"rbash": "bash", "rzsh": "zsh", "rksh": "ksh"}
_ALIASES |= {"fdfind": "fd", "batcat": "bat", "nodejs": "node", "pydoc": "python"}
_KNOWN = SHELLS | PLAIN | _RUNNERS | _GNU | _ALIASES.keys() | names("git bat ag ack delta ionice taskset setsid")
_ENDINGS = (
    re.compile(r"[-_.]?\d[\w.]*$"),
    re.compile(r"\.[A-Za-z]\w*$"),
    re.compile(r"-(static|dbg|debug|nox|gtk|cli|cgi|bin|remote|build|c|config|multiarch|wrapped|real|berry|x86.*)$"),
    re.compile(
        r"^(x86_64|i\d86|aarch64|arm\w*|riscv\w*|powerpc\w*|mips\w*|s390x|sparc\w*|avr|m68k|loongarch\w*)-(\w+-){0,3}"
    ),
)
"""Parts to strip from a name: versions, variants of a distribution, build variants, and target machines."""
MOST_SPELLINGS = 40
LONGEST_NAME = 60


def program(text: str) -> str:
    """Return the canonical name of a program, without its path, version and variant."""
    called = posixpath.basename(text)
    return _known_as(called) if len(called) <= LONGEST_NAME else called


@lru_cache(maxsize=4096)
def _known_as(called: str) -> str:
    spelled = [called]
    for name in spelled:
        if name in _KNOWN or _RUNS_OTHERS.fullmatch(name):
            return _ALIASES.get(name, name)
        shorter = [name.lower(), *(ending.sub("", name) for ending in _ENDINGS)]
        if name.startswith("g") and name[1:].lstrip("_") in _GNU:
            shorter.append(name[1:].lstrip("_"))
        spelled += [other for other in shorter if other and other not in spelled][: MOST_SPELLINGS - len(spelled)]
    return called


def runs_others(name: str) -> bool:
    """Return whether a program runs others by nature, or can be told to by options too many to list."""
    return name in _RUNNERS or _RUNS_OTHERS.fullmatch(name) is not None

"""All keys, as the help shows them."""

HELP = """\
enter            send the prompt; while a turn runs, it is steered
shift+enter      a new line (also alt+enter, ctrl+j)
up, down         what was asked before
@ and tab        a file or an agent        / and tab   a command
ctrl+c           end the turn and keep everything; again, or when nothing runs: leave
f5               raise the limit of which most is used, by half
ctrl+t           continue, after a limit was reached
f2 f3 f4         sessions, model, agent
f8 f9            undo the last turn with its files, redo it
ctrl+p           everything else: new session, fork, compact, diff, resume, themes
tab, enter       go through calls and thoughts, and open them; the mouse does as well
o a r            to a question of permission: once, always, reject; esc puts it off, ctrl+r asks again
"""

"""The help text with all keys."""

HELP = """\
enter         send the prompt; while a turn runs, steer it
shift+enter   a new line (also alt+enter, ctrl+j)
up, down      what was asked before
@ / and tab   a file or an agent, a command
ctrl+v        paste, also an image; long text stands as a mark
ctrl+c        end the turn and keep everything; again: leave
ctrl+t        go on, after a limit or when a process died
f5            raise the limit of which most is used, by half
ctrl+r        ask again what was put off
f2 f3 f4      sessions, model, agent
f6 f7         subagents, commands in the background
f8 f9         undo the last turn with its files, redo it
ctrl+o        copy the last answer; ctrl+c copies what is marked
ctrl+p        all else: new session, fork, compact, diff, themes
tab, enter    go through calls and thoughts, and open them
arrows, enter choose an answer to an ask and give it; esc: later

Everything works with the mouse as well.
A file that is dropped here goes with the prompt.
"""

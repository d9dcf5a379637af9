"""The first thing that runs in a sandbox with a doorway: it makes the proxy's address there, and becomes the command.

It is run as a script, by itself and without Bridle's packages. The socket on which it listens belongs to the network of
the sandbox; handed out to Bridle, it is answered from outside. So nothing of the sandbox stands in between.
"""

from __future__ import annotations

import os
import socket
import sys

PORT = 3128


def main(words: list[str]) -> None:
    """Hand out the listening socket through the handle that is named first; then run the command after `--`."""
    split = words.index("--")
    with socket.socket(fileno=int(words[0])) as egress_proxy, socket.create_server(("127.0.0.1", PORT)) as listener:
        socket.send_fds(egress_proxy, [b"!"], [listener.fileno()])
        egress_proxy.recv(1)
    command = words[split + 1 :]
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])

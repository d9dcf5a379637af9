"""First process in a sandbox with an egress proxy: passes a listening socket out to the proxy, then execs the command.

It runs as a standalone script, without Bridle's packages. Its listening socket belongs to the sandbox's network. It
hands the socket to Bridle, which answers it from outside, so that nothing in the sandbox stands in between.
"""

from __future__ import annotations

import os
import socket
import sys

PORT = 3128


def main(words: list[str]) -> None:
    """Send the listening socket through the handle in the first word; then run the command after `--`."""
    split = words.index("--")
    with socket.socket(fileno=int(words[0])) as egress_proxy, socket.create_server(("127.0.0.1", PORT)) as listener:
        socket.send_fds(egress_proxy, [b"!"], [listener.fileno()])
        egress_proxy.recv(1)
    command = words[split + 1 :]
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])

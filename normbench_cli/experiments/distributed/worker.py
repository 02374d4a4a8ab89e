"""The main function of a process that rank 0 started on its machine."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import NoReturn

import torch

from normbench_cli.device import is_lost_connection, process_group, rendezvous_store
from normbench_cli.errors import EXIT_ERROR, first_sentence
from normbench_cli.experiments.distributed.task import follow


def main() -> NoReturn:
    """Arguments, as JSON: the module search path; rank, number of processes, port and threads."""
    rank, size, port, threads = json.loads(sys.argv[2])
    threading.Thread(target=end_with_the_first, daemon=True).start()
    torch.set_num_threads(threads)
    code = 0
    try:
        with process_group(rank, size, rendezvous_store(port)):
            follow(local_rank=rank)
    except Exception as error:  # of any kind: rank 0 reports the last line
        code = EXIT_ERROR
        if not is_lost_connection(error):
            sys.stderr.write(f"{type(error).__name__}: {first_sentence(error)}\n")
    sys.stderr.flush()
    os._exit(code)


def end_with_the_first() -> None:
    """End this process when rank 0 ends, which closes its end of the pipe."""
    with os.fdopen(os.dup(0), "rb") as stream:
        stream.read()
    os._exit(EXIT_ERROR)

"""Serve one model file on a free loopback port and write the address to a file."""

import os
import sys
import threading

import xllamacpp


def main() -> None:
    model, address_file = sys.argv[1:3]
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    params.warmup = False
    params.cpuparams.n_threads = 2
    params.cpuparams_batch.n_threads = 2
    server = xllamacpp.Server(params)
    with open(address_file + ".new", "w", encoding="utf-8") as out:
        out.write(server.listening_address)
    os.rename(address_file + ".new", address_file)
    threading.Event().wait()


main()

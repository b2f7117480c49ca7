#!/usr/bin/env python3
"""An embedding service for `--embeddings`, on this machine alone: a small static model that comes in its package.

    pip install wordllama tokenizers safetensors numpy
    python vectors.py 8190 &
    cargo bench -p scrubjay --bench recall -- --embeddings http://127.0.0.1:8190
"""
import http.server
import importlib.util
import json
import os
import sys

import numpy
import safetensors.numpy
from tokenizers import Tokenizer

PACKAGE = os.path.dirname(importlib.util.find_spec("wordllama").origin)
TABLE = next(iter(safetensors.numpy.load_file(f"{PACKAGE}/weights/l2_supercat_256.safetensors").values())).astype(numpy.float32)
WORDS = Tokenizer.from_file(f"{PACKAGE}/tokenizers/l2_supercat_tokenizer_config.json")
WORDS.no_padding()
WORDS.no_truncation()


def vector(ids):
    return TABLE[ids].mean(0).tolist() if ids else [0.0] * TABLE.shape[1]


class Service(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        cut = WORDS.encode_batch(texts, add_special_tokens=False)
        made = {"data": [{"index": at, "embedding": vector(text.ids)} for at, text in enumerate(cut)]}
        body = json.dumps(made).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service).serve_forever()

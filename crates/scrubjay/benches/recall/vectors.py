#!/usr/bin/env python3
"""Vectors for `--embeddings`: every text and question of the conversation sets, by a small static model that comes in its package.

    pip install wordllama tokenizers safetensors numpy
    python vectors.py ../shared/bench vectors.json
"""
import gzip
import importlib.util
import json
import os
import sys

import numpy
import safetensors.numpy
from tokenizers import Tokenizer


def texts(folder):
    for sample in json.load(open(f"{folder}/locomo/locomo_dev.json")):
        for name, turns in sample["conversation"].items():
            if name.startswith("session_") and isinstance(turns, list):
                for turn in turns:
                    photo = f" [shares a photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                    yield f"{turn['speaker']}: {turn['text']}{photo}"
        yield from (asked["question"] for asked in sample["qa"])
    for chat in json.load(gzip.open(f"{folder}/beam/beam_100k_dev.json.gz", "rt")):
        yield from (f"{message['role']}: {message['content']}" for message in chat["messages"])
        yield from (asked["question"] for questions in chat["probing_questions"].values() for asked in questions)


def main():
    folder, target = sys.argv[1:]
    package = os.path.dirname(importlib.util.find_spec("wordllama").origin)
    weights = safetensors.numpy.load_file(f"{package}/weights/l2_supercat_256.safetensors")
    table = next(iter(weights.values())).astype(numpy.float32)
    words = Tokenizer.from_file(f"{package}/tokenizers/l2_supercat_tokenizer_config.json")
    words.no_padding()
    words.no_truncation()
    vectors = {}
    for text in dict.fromkeys(texts(folder)):
        ids = words.encode(text, add_special_tokens=False).ids
        if ids:
            mean = table[ids].mean(0)
            vectors[text] = [round(float(x), 4) for x in mean / numpy.linalg.norm(mean)]
    json.dump(vectors, open(target, "w"))


main()

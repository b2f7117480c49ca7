#!/usr/bin/env python3
"""Vectors for `--embeddings`: every text and question of the conversation sets, by a small static model.

    pip install wordllama
    python vectors.py ../shared/bench vectors.json
"""
import gzip
import json
import sys

import wordllama


def texts(folder):
    for sample in json.load(open(f"{folder}/locomo/locomo_dev.json")):
        talk = sample["conversation"]
        for name, turns in talk.items():
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
    all_texts = list(dict.fromkeys(texts(folder)))
    vectors = wordllama.WordLlama.load().embed(all_texts, norm=True)
    json.dump({text: [round(float(x), 4) for x in vector] for text, vector in zip(all_texts, vectors)}, open(target, "w"))


main()

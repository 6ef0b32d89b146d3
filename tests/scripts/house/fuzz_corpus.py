#!/usr/bin/env python3
# ONCE
"""The packed seeds of the fuzzing harnesses (tests/fuzz/corpus.py): packing an archive's own seeds
gives the same archive, none has become smaller, and adding to one keeps what it has.
"""
import os
import random
import shutil
import sys
import unittest

FUZZ = os.path.join(os.environ["SRC"], "tests", "fuzz")
sys.path.insert(0, FUZZ)
sys.dont_write_bytecode = True
import corpus  # noqa: E402

# How many seeds there were: raise a number where seeds were added.
AT_LEAST = {"text": 143, "binary": 16, "npy": 96, "command": 192, "spirv": 113}


class Archives(unittest.TestCase):
    def setUp(self):
        shutil.rmtree("scratch", ignore_errors=True)
        os.mkdir("scratch")

    def test_only_archives(self):
        self.assertEqual(sorted(os.listdir(corpus.FOLDER)), sorted(n + ".tar.xz" for n in corpus.NAMES))
        self.assertEqual(sorted(AT_LEAST), sorted(corpus.NAMES))

    def test_none_lost(self):
        for name, count in AT_LEAST.items():
            self.assertGreaterEqual(len(corpus.load(name)), count, name)

    def test_packed_from_their_own_seeds(self):
        """Order, times and modes of the files do not matter."""
        for name in corpus.NAMES:
            corpus.unpack(name, "scratch")
            for seed in random.sample(sorted(corpus.load(name)), 5):
                os.utime(os.path.join("scratch", name, seed), (1e9, 1e9))
                os.chmod(os.path.join("scratch", name, seed), 0o600)
            seeds = list(corpus.files_in(os.path.join("scratch", name)).items())
            random.shuffle(seeds)
            self.assertEqual(corpus.stream_of(dict(seeds)), corpus.stored_stream(name), name)

    def test_same_bytes(self):
        for folder in ("a", "b"):
            os.makedirs(os.path.join("scratch", folder))
            corpus.save("npy", corpus.load("npy"), os.path.join("scratch", folder))
        packed = []
        for folder in ("a", "b"):
            with open(corpus.archive_of("npy", os.path.join("scratch", folder)), "rb") as f:
                packed.append(f.read())
        self.assertEqual(packed[0], packed[1])

    def test_add(self):
        shutil.copy(corpus.archive_of("npy"), "scratch")
        before = corpus.load("npy")
        with open("seed_of_today", "wb") as f:
            f.write(b"\0\xff")
        corpus.add("npy", ["seed_of_today"], "scratch")
        self.assertEqual(corpus.load("npy", "scratch"), dict(before, seed_of_today=b"\0\xff"))
        with open("seed_of_today", "wb") as f:
            f.write(b"other")
        self.assertRaises(ValueError, corpus.add, "npy", ["seed_of_today"], "scratch")
        self.assertEqual(len(corpus.load("npy", "scratch")), len(before) + 1)

    def test_names_stay_in_the_folder(self):
        for name in ("", "/etc/seed", "../seed", "a/../../seed", "a//b", "."):
            self.assertRaises(ValueError, corpus.stream_of, {name: b""})


if __name__ == "__main__":
    unittest.main()

"""trueprobe against what its users would take instead: minicons, lm-eval, the authors' loops, bias-bench's way.

Networks of bert-base's and gpt2's shape with random weights and real tokenizers; every method gets the same distinct
texts, methods take turns within a round, ratios are medians over rounds, and every number that two methods both give
is compared. `make bench-peers` runs it in an environment of its own and writes docs/performance.md.

    python -m bench.peers [--minutes 15] [--sizes 100,400,2680] [--tasks seat,crows_pairs] [--rounds 3] [--quick]
"""

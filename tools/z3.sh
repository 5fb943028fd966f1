#!/bin/sh
# Decides by z3 whether verdicts about pairs of conditions are right: tools/z3.sh FILE, which the test
# `random_pairs_are_written` of `src/compare` writes.
#
# The Python package `z3-solver` comes from the package index of pip, once per machine, outside of the checkout:
#   ${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/z3-VERSION
# The status is 1 where a verdict is wrong, and 3 where Python or the package cannot be had.
#
# Called by the Makefile.
set -eu

version=5.4.1.0
folder=${BAYPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bayplan}/z3-$version
command -v python3 >/dev/null || { echo 'z3: needs Python 3' >&2; exit 3; }
if ! [ -e "$folder/ready" ]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    python3 -m pip install --quiet --no-deps --target "$folder" "z3-solver==$version" >&2 || exit 3
    touch "$folder/ready"
fi
exec python3 - "$1" "$folder/bin/z3" <<'PYTHON'
import os, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

begun = time.monotonic()
declared, *lines = open(sys.argv[1]).read().splitlines()
# A word, and whether the pair may be refused more after the change, and less.
ALLOWED = {
    'same': {(False, False)}, 'stricter': {(True, False)}, 'looser': {(False, True)}, 'incomparable': {(True, True)},
    'same-or-stricter': {(False, False), (True, False)}, 'same-or-looser': {(False, False), (False, True)},
}
# A process that is asked much more takes longer for each question.
BATCH = 5000

def decided(lines):
    with tempfile.NamedTemporaryFile('w', suffix='.smt2') as asked:
        asked.write(f'(set-option :timeout 10000){declared}\n')
        for line in lines:
            old, new, _ = line.split('\t')
            for formula in (f'(and (not {old}) {new})', f'(and {old} (not {new}))'):
                asked.write(f'(push)(assert {formula})(check-sat)(pop)\n')
        asked.flush()
        command = [sys.argv[2], asked.name]
        answers = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if len(answers) != 2 * len(lines) or not set(answers) <= {'sat', 'unsat', 'unknown'}:
        sys.exit(f'z3 gave {len(answers)} answers to {2 * len(lines)} questions, such as {answers[:3]}')
    return answers

answers = []
with ThreadPoolExecutor(os.cpu_count()) as pool:
    for batch in pool.map(decided, (lines[at:at + BATCH] for at in range(0, len(lines), BATCH))):
        answers += batch
        if sys.stderr.isatty():
            print(f'\r{len(answers) // 2} of {len(lines)} pairs', end='', file=sys.stderr)
if sys.stderr.isatty():
    print('\r\033[K', end='', file=sys.stderr)
counts, wrong, undecided = {}, 0, 0
for line, found in zip(lines, zip(answers[::2], answers[1::2])):
    old, new, word = line.split('\t')
    counts[word] = counts.get(word, 0) + 1
    if 'unknown' in found:
        undecided += 1
    elif word in ALLOWED and tuple(of == 'sat' for of in found) not in ALLOWED[word]:
        wrong += 1
        print(f'{word} is wrong: z3 says {found}\n  {old}\n  {new}', file=sys.stderr)
words = ', '.join(f'{count} {word}' for word, count in sorted(counts.items()))
print(f'{len(lines)} pairs in {time.monotonic() - begun:.0f} s: {words}; z3 decides {undecided} not, {wrong} are wrong')
sys.exit(1 if wrong or undecided else 0)
PYTHON

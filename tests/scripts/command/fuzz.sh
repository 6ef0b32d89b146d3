#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the seeds of tests/fuzz/corpus through the harnesses, on every build.  Where libFuzzer's
# programs are built too (clang with sanitizers), each then fuzzes on from a seed that is printed;
# VYRE_SEED sets it.  Modules are mutated on every build.  It stops after a number of inputs, so that a faster machine tries no others, or
# after 8 seconds; VYRE_FUZZ_SECONDS sets these alone.  Findings are kept under BUILD/fuzz/found.
set -u
fuzz=$SRC/tests/fuzz
seconds=${VYRE_FUZZ_SECONDS:-8}
seed=${VYRE_SEED:-$VYRE_FRESH_SEED}
declare -A runs=([text]=900 [binary]=3000 [npy]=200000 [command]=150000 [spirv]=1500)
failed=0

"$fuzz/corpus.py" unpack corpus || exit 1
for name in text binary npy command spirv; do
    if ! "$BUILD/tests/fuzz/replay_$name" "corpus/$name" >replay.log 2>&1; then
        echo "replay_$name failed on the last of these:"
        tail -n 40 replay.log
        failed=1
    fi
done
if ! "$BUILD/tests/fuzz/mutate_spirv" "$seed" 600 corpus/spirv/* >mutate.log 2>&1; then
    mkdir -p "$BUILD/fuzz/found"
    cp mutated.spv "$BUILD/fuzz/found/spirv-$seed.spv"
    echo "mutate_spirv, VYRE_SEED=$seed, on $BUILD/fuzz/found/spirv-$seed.spv:"
    tail -n 40 mutate.log
    failed=1
fi
[ -x "$BUILD/tests/fuzz/fuzz_text" ] || exit $failed

found=$BUILD/fuzz/found
mkdir -p "$found"
# The binary form follows the table of operations, so current seeds are made from the texts.
for file in corpus/text/*.vyre; do
    mkdir -p new_binary
    "$VYRE_GRAD" print "$file" --quiet -o "new_binary/$(basename "$file" .vyre).vyb" 2>/dev/null
done
for name in text binary npy command spirv; do
    mkdir -p "new_$name"
    options=(-seed="$((seed % 2147483647 + 1))" -max_total_time="$seconds" -timeout=600
             -rss_limit_mb=4096 -artifact_prefix="$found/$name-" -print_final_stats=1)
    [ "${VYRE_FUZZ_SECONDS:-}" ] || options+=(-runs="${runs[$name]}")
    options+=(-max_len=$([ $name = spirv ] && echo 16384 || echo 4096))
    [ $name = text ] && options+=(-dict="$fuzz/text.dict")
    if ! "$BUILD/tests/fuzz/fuzz_$name" "${options[@]}" "new_$name" "corpus/$name" \
        >fuzz.log 2>&1; then
        echo "fuzz_$name, VYRE_SEED=$seed:"
        grep -aE '^(finding:|SUMMARY:|==.*ERROR)|runtime error|Test unit written' fuzz.log
        tail -n 60 fuzz.log
        failed=1
    else
        echo "fuzz_$name: $(grep -a number_of_executed_units fuzz.log), VYRE_SEED=$seed"
    fi
done
exit $failed

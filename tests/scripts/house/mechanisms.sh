#!/bin/sh
# ONCE
# Each file of the rooms that docs/mechanisms.md weighs has a place in its measurement, and the
# functions that it looks for exist.
exec "$SRC/tools/mechanisms" --check

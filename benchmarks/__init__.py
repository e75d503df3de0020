"""Speed, measured side by side with the peers in one run; `python -m benchmarks` prints the table.

Figures are reported, not asserted; `--check` turns missed targets into exit code 1.
"""

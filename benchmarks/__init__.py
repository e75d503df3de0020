"""Speed, start-up and memory, beside other libraries in the same run: `python -m benchmarks --help`.

What the figures mean, and how to install the other libraries, is in this folder's README.md.
"""

"""Verifies each line of standard input with the snippet of the page."""

import sys

import access_token

for line in sys.stdin:
    try:
        print("accepted", access_token.caller_of(line.strip(), "read"), flush=True)
    except Exception as error:
        print("refused", repr(error), flush=True)

"""A board for people: a local web page on which a person plays against agents.

`table` is the game between them and knows no web; `server` answers the page, which lies in `static`.
"""

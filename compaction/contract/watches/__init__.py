"""The invariants that are decided request by request, each group of them a watch.

A watch follows the views of one conversation and looks again only at what changed. What all of them
need to know of a view is found out once, by `standing`.
"""

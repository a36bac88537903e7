"""Caching rules, prices and bills."""

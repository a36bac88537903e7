"""Catalogue of a herbarium."""

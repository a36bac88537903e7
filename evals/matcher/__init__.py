"""Whether a text still says an annotated fact."""

"""A model in the loop: what is asked, recorded, graded and scored."""
